use futures_util::FutureExt;

use super::*;

fn delta(block: u32, kind: DeltaKind, text: &str) -> FoldDelta {
    FoldDelta { block, offset: 0, kind, text: text.to_owned() }
}

#[tokio::test(start_paused = true)]
async fn text_is_due_a_second_after_it_came_and_only_what_is_new() {
    let mut unrecorded = Unrecorded::new(MessageId::from_u128(1));
    unrecorded.add(&delta(0, DeltaKind::Thinking, "hm"));
    assert_eq!(unrecorded.is_due().now_or_never(), None, "there is no text");
    let since = Instant::now();
    unrecorded.add(&delta(1, DeltaKind::Text, "Hel"));
    unrecorded.is_due().await;
    assert_eq!(since.elapsed(), PAUSE);
    let piece = |block, text: &str, complete| PartialPiece { block, text: text.to_owned(), complete };
    let partial = |pieces| Body::System(System::Partial(Partial { message: MessageId::from_u128(1), pieces }));
    assert_eq!(unrecorded.take(), partial(vec![piece(1, "Hel", false)]));
    assert_eq!(unrecorded.is_due().now_or_never(), None);
    unrecorded.add(&delta(1, DeltaKind::Text, "lo."));
    unrecorded.ended(1, true);
    unrecorded.add(&delta(2, DeltaKind::Text, "And"));
    assert_eq!(unrecorded.take(), partial(vec![piece(1, "lo.", true), piece(2, "And", false)]));
}

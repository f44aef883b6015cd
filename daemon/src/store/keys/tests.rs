use proptest::prelude::*;

use super::*;

fn session(number: u128) -> SessionId {
    SessionId::from_u128(number)
}

#[test]
fn a_sessions_events_lie_together_in_order_and_rows_lie_together() {
    let mut keys = vec![meta(), quarantine(session(1)), unsettled(session(9)), label(Label::new(1, "a"), session(1))];
    for id in [session(1), session(2), session(u128::MAX)] {
        keys.push(row(id));
        keys.extend([1, 2, 255, 256, u64::MAX].map(|seq| event(id, Seq(seq))));
    }
    keys.sort();
    let within = |range: Range| keys.iter().filter(|key| **key >= range.from && **key < range.to).cloned().collect::<Vec<_>>();
    assert_eq!(within(events(session(2), Seq(2), Seq(256))), [event(session(2), Seq(2)), event(session(2), Seq(255))]);
    assert_eq!(within(all_of(session(1))).len(), 5);
    let all = rows(session(0), session(u128::MAX));
    assert_eq!(within(all), [row(session(1)), row(session(2)), row(session(u128::MAX))]);
    assert_eq!(within(all_unsettled()), [unsettled(session(9))]);
    assert_eq!(within(all_quarantined()), [quarantine(session(1))]);
    assert_eq!(within(labelled(Label::new(1, "a"))).len(), 1);
    assert_eq!(within(labelled(Label::new(2, "a"))).len(), 0, "name spaces do not mix");
}

#[test]
fn a_key_tells_what_it_ends_with() {
    assert_eq!(seq_of(&event(session(7), Seq(513))), Some(Seq(513)));
    assert_eq!(seq_of(&meta()), None);
    for key in [row(session(7)), unsettled(session(7)), quarantine(session(7)), label(Label::new(1, "x"), session(7))] {
        assert_eq!(session_of(&key), Some(session(7)));
    }
    assert_eq!(session_of(&meta()), None);
}

proptest! {
    #[test]
    fn a_value_comes_back_or_is_found_out(content in prop::collection::vec(any::<u8>(), 0..200), at: prop::sample::Index, flip in 1..=255u8) {
        let key = event(session(1), Seq(1));
        let mut value = frame(&key, &content);
        prop_assert_eq!(unframe(&key, &value), Ok(&content[..]));
        prop_assert_eq!(unframe(&event(session(1), Seq(2)), &value), Err(BadValue::Sum));
        let at = at.index(value.len());
        value[at] ^= flip;
        prop_assert!(unframe(&key, &value).is_err());
        value.truncate(at);
        prop_assert!(unframe(&key, &value).is_err());
    }
}

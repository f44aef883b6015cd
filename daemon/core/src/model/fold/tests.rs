//! The fold: good streams byte for byte, odd ones repaired, none panics.

use proptest::prelude::*;

use super::*;

fn start() -> StreamEvent {
    let usage = UsageUpdate { input: Some(10), cache_read: Some(5), output: Some(1), ..UsageUpdate::default() };
    StreamEvent::MessageStart { api_id: "msg_1".into(), model: "m".into(), usage }
}

fn text(index: u32) -> StreamEvent {
    StreamEvent::BlockStart { index, block: BlockStart::Text { text: String::new() } }
}

fn call(index: u32, id: &str, name: &str) -> StreamEvent {
    StreamEvent::BlockStart { index, block: BlockStart::ToolUse { id: ToolUseId::new(id), name: name.into(), input: None } }
}

fn thinking(index: u32) -> StreamEvent {
    StreamEvent::BlockStart { index, block: BlockStart::Thinking { thinking: String::new(), signature: String::new() } }
}

fn says(index: u32, text: &str) -> StreamEvent {
    StreamEvent::Piece { index, piece: Piece::Text(text.into()) }
}

fn input(index: u32, text: &str) -> StreamEvent {
    StreamEvent::Piece { index, piece: Piece::InputJson(text.into()) }
}

fn stop(index: u32) -> StreamEvent {
    StreamEvent::BlockStop { index }
}

fn ends(reason: &str) -> [StreamEvent; 2] {
    let usage = UsageUpdate { output: Some(7), ..UsageUpdate::default() };
    [StreamEvent::MessageDelta { stop_reason: Some(reason.into()), refusal: None, usage }, StreamEvent::MessageStop]
}

fn fold(events: impl IntoIterator<Item = StreamEvent>) -> (Folded, Vec<FoldDelta>) {
    let mut folder = Folder::new(Arc::default());
    let deltas = events.into_iter().filter_map(|event| folder.feed(event).expect("a good stream")).collect();
    (folder.finish(), deltas)
}

fn tool_use(id: &str, name: &str, input: &str) -> Block {
    Block::ToolUse { id: ToolUseId::new(id), name: name.into(), input: Json::parse(input).expect("json") }
}

#[test]
fn a_good_stream_becomes_its_message() {
    let events = [
        start(),
        StreamEvent::Ping,
        thinking(0),
        StreamEvent::Piece { index: 0, piece: Piece::Thinking("hm \u{e4}".into()) },
        StreamEvent::Piece { index: 0, piece: Piece::Signature("sig==".into()) },
        stop(0),
        text(1),
        says(1, "Hä"),
        says(1, "llo"),
        stop(1),
        call(2, "t1", "Read"),
        input(2, "{\"file_path\": "),
        input(2, "\"a\"}"),
        stop(2),
    ];
    let (folded, deltas) = fold(events.into_iter().chain(ends("tool_use")));
    assert_eq!(
        folded.blocks,
        [
            Block::Thinking { thinking: "hm ä".into(), signature: "sig==".into() },
            Block::text("Hällo"),
            tool_use("t1", "Read", r#"{"file_path": "a"}"#),
        ]
    );
    assert_eq!((folded.end, folded.stop_reason.as_deref()), (FoldEnd::Whole, Some("tool_use")));
    assert_eq!(folded.usage, Usage { input: 10, output: 7, cache_read: 5, ..Usage::default() });
    assert_eq!(folded.repairs, []);
    let offsets: Vec<(u32, u64, &str)> = deltas.iter().map(|it| (it.block, it.offset, it.text.as_str())).collect();
    assert_eq!(offsets, [(0, 0, "hm ä"), (1, 0, "Hä"), (1, 3, "llo"), (2, 0, "{\"file_path\": "), (2, 14, "\"a\"}")]);
}

#[test]
fn interleaved_blocks_keep_their_order() {
    let events = [start(), text(0), says(0, "a"), call(1, "chatcmpl-1", "ls"), says(0, "b"), input(1, ""), stop(0), stop(1)];
    let (folded, _) = fold(events.into_iter().chain(ends("tool_use")));
    assert_eq!(folded.blocks, [Block::text("ab"), tool_use("chatcmpl-1", "ls", "{}")]);
    assert_eq!(folded.calls().count(), 1);
}

#[test]
fn blank_text_is_dropped() {
    let (folded, _) = fold([start(), text(0), says(0, "\n "), stop(0), text(1), says(1, "x"), stop(1)].into_iter().chain(ends("end_turn")));
    assert_eq!(folded.blocks, [Block::text("x")]);
}

#[test]
fn a_call_cut_at_the_output_limit_is_dropped_and_a_complete_one_stays() {
    let events = [start(), call(0, "a", "Read"), input(0, "{}"), stop(0), call(1, "b", "Write"), input(1, "{\"content\": \"half"), stop(1)];
    let (folded, _) = fold(events.into_iter().chain(ends("max_tokens")));
    assert_eq!(folded.blocks, [tool_use("a", "Read", "{}")]);
    assert_eq!(folded.repairs, [Repair::CutCall { call: ToolUseId::new("b"), name: "Write".into() }]);
    assert!(folded.is_at_limit());

    let (folded, _) = fold([start(), call(0, "a", "Write"), stop(0)].into_iter().chain(ends("max_tokens")));
    assert_eq!(folded.blocks, [], "nothing of its input came: cut, not empty");
}

#[test]
fn a_bad_input_is_kept_readable_and_marked() {
    let (folded, _) = fold([start(), call(0, "a", "Read"), input(0, "{\"x\": }"), stop(0)].into_iter().chain(ends("tool_use")));
    let (_, _, input) = folded.calls().next().expect("the call stays");
    assert_eq!(repair::unreadable_input(input).map(|it| it.text).as_deref(), Some("{\"x\": }"));
    assert!(matches!(&folded.repairs[..], [Repair::Input { .. }]));
}

#[test]
fn odd_names_and_taken_ids_are_repaired_and_that_thinking_is_dropped() {
    let mut folder = Folder::new(Arc::new(HashSet::from([ToolUseId::new("old")])));
    let events = [
        start(),
        StreamEvent::BlockStart { index: 0, block: BlockStart::Thinking { thinking: "t".into(), signature: "s".into() } },
        call(1, "old", "Read"),
        call(2, "x", "Read File!"),
        call(3, "x", "Read"),
    ];
    for event in events.into_iter().chain(ends("tool_use")) {
        folder.feed(event).expect("a good stream");
    }
    let folded = folder.finish();
    let calls: Vec<(&str, &str)> = folded.calls().map(|(id, name, _)| (id.as_str(), name)).collect();
    assert_eq!(calls[0], ("old_2", "Read"));
    assert!(calls[1].1.starts_with("Read_File__"), "{}", calls[1].1);
    assert_eq!(calls[2], ("x_2", "Read"));
    assert_eq!(folded.blocks.len(), 3, "the thinking is gone");
    assert_eq!(folded.repairs.last(), Some(&Repair::Thinking { blocks: 1 }));
}

#[test]
fn a_cut_stream_is_never_whole() {
    let (folded, _) = fold([start(), thinking(0), text(1), says(1, "par"), call(2, "a", "Bash"), input(2, "{}")]);
    assert_eq!(folded.end, FoldEnd::Cut);
    assert_eq!(folded.blocks, [Block::text("par")], "an open call and unsigned thinking do not stay");
}

#[test]
fn unknown_blocks_pass_and_take_their_input() {
    let json = Json::parse(r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#).expect("json");
    let events = [start(), StreamEvent::BlockStart { index: 0, block: BlockStart::Other { json } }, input(0, r#"{"q":"x"}"#), stop(0)];
    let (folded, _) = fold(events.into_iter().chain(ends("end_turn")));
    let Block::Other { json } = &folded.blocks[0] else { panic!("{:?}", folded.blocks) };
    assert!(json.as_str().contains(r#""input":{"q":"x"}"#), "{json}");
}

#[test]
fn nonsense_is_a_protocol_error() {
    for events in [vec![text(0)], vec![start(), start()], vec![start(), text(0), text(0)], vec![start(), says(0, "x")]] {
        let mut folder = Folder::new(Arc::default());
        let error = events.into_iter().find_map(|event| folder.feed(event).err()).expect("an error");
        assert_eq!(error.class, ErrorClass::Protocol);
    }
}

fn any_event() -> impl Strategy<Value = StreamEvent> {
    let index = 0..4_u32;
    let piece = prop_oneof![
        ".{0,6}".prop_map(Piece::Text),
        ".{0,6}".prop_map(Piece::Thinking),
        ".{0,6}".prop_map(Piece::Signature),
        "[{}\":a1,]{0,6}".prop_map(Piece::InputJson),
        Just(Piece::Other),
    ];
    let json = prop_oneof![Just("{}"), Just("[1]"), Just("\"x\""), Just(r#"{"a":1}"#)].prop_map(|it| Json::parse(it).expect("json"));
    let block = prop_oneof![
        ".{0,3}".prop_map(|text| BlockStart::Text { text }),
        (".{0,3}", ".{0,3}").prop_map(|(thinking, signature)| BlockStart::Thinking { thinking, signature }),
        ".{0,3}".prop_map(|data| BlockStart::RedactedThinking { data }),
        ("[ab ]{0,2}", "[aB_ ]{0,3}", proptest::option::of(json.clone())).prop_map(|(id, name, input)| BlockStart::ToolUse {
            id: ToolUseId::new(id),
            name,
            input
        }),
        json.prop_map(|json| BlockStart::Other { json }),
    ];
    prop_oneof![
        1 => Just(start()),
        4 => (index.clone(), block).prop_map(|(index, block)| StreamEvent::BlockStart { index, block }),
        6 => (index.clone(), piece).prop_map(|(index, piece)| StreamEvent::Piece { index, piece }),
        3 => index.prop_map(|index| StreamEvent::BlockStop { index }),
        1 => proptest::option::of("tool_use|max_tokens|refusal|end_turn").prop_map(|stop_reason| StreamEvent::MessageDelta {
            stop_reason,
            refusal: None,
            usage: UsageUpdate { output: Some(u64::MAX), ..UsageUpdate::default() }
        }),
        1 => Just(StreamEvent::MessageStop),
        1 => Just(StreamEvent::Ping),
    ]
}

#[test]
fn a_call_is_complete_when_its_block_is_and_unsure_while_only_the_end_can_tell() {
    let mut folder = Folder::new(Arc::default());
    let mut feed = |events: Vec<StreamEvent>| {
        let mut completed = Vec::new();
        for event in events {
            folder.feed(event).expect("a good stream");
            completed.extend(folder.take_completed());
        }
        completed
    };
    let sure =
        |id: &str| vec![Completed::Call { id: ToolUseId::new(id), name: "Read".into(), input: Json::parse(r#"{"a":1}"#).expect("json") }];
    assert_eq!(feed(vec![start(), text(0), says(0, "hi"), stop(0), call(1, "a", "Read"), input(1, r#"{"a""#), input(1, ":1}")]), []);
    assert_eq!(feed(vec![stop(1)]), sure("a"));
    assert_eq!(feed(vec![call(2, "b", "Read"), stop(2)]), [Completed::Unsure], "an empty input may be a cut one");
    assert_eq!(feed(vec![call(3, "c", "Read"), input(3, r#"{"a":"#), stop(3)]), [Completed::Unsure], "an odd input");
    assert_eq!(
        feed(vec![call(4, "d", "Read"), call(5, "e", "Read"), input(5, r#"{"a":1}"#), stop(5)]),
        [Completed::Unsure],
        "out of order"
    );
    assert_eq!(feed(vec![input(4, r#"{"a":1}"#), stop(4)]), sure("d"));
}

proptest! {
    #[test]
    fn any_sequence_folds_into_a_lawful_message(events in proptest::collection::vec(any_event(), 0..40)) {
        let mut folder = Folder::new(Arc::new(HashSet::from([ToolUseId::new("a")])));
        let _ = folder.feed(start());
        let mut stopped = false;
        let mut completed = Vec::new();
        for event in events {
            let is_stop = event == StreamEvent::MessageStop;
            // Pieces after a block's end are no provider's: what was said to be complete is compared by the executor.
            let is_piece = matches!(event, StreamEvent::Piece { .. });
            let fed = folder.feed(event);
            if is_piece {
                completed.clear();
            }
            if let Some(Completed::Call { id, name, input }) = folder.take_completed() {
                completed.push((id, name, input));
            }
            stopped |= is_stop && fed.is_ok();
        }
        let folded = folder.finish();
        for (id, name, input) in completed {
            prop_assert!(folded.calls().any(|call| call == (&id, name.as_str(), &input)), "{} was complete and is not in the message", id);
        }
        prop_assert_eq!(folded.end == FoldEnd::Whole, stopped);
        let mut ids = HashSet::from([ToolUseId::new("a")]);
        for (id, name, input) in folded.calls() {
            prop_assert!(ids.insert(id.clone()), "{} twice", id);
            prop_assert!(repair::is_good_id(id.as_str()) && repair::is_good_name(name) && input.is_object());
        }
        prop_assert!(folded.blocks.iter().all(|block| block.as_text().is_none_or(|text| !text.trim().is_empty())));
    }
}

//! Normalisation: rows by example, and the laws for any history at all.

use proptest::prelude::*;

use super::super::pairing::check;
use super::*;

const MODEL: &str = "claude-opus-5-5";

fn user(content: Vec<Block>) -> Said {
    Said::user(content.into_iter().map(Arc::new).collect())
}

fn model(content: Vec<Block>) -> Said {
    Said::assistant(MODEL.into(), content.into_iter().map(Arc::new).collect())
}

fn call(id: &str) -> Block {
    Block::ToolUse { id: ToolUseId::new(id), name: "Read".into(), input: Json::empty_object() }
}

fn result(id: &str) -> Block {
    result_saying(id, id)
}

fn result_saying(id: &str, text: &str) -> Block {
    Block::ToolResult { tool_use_id: ToolUseId::new(id), content: vec![ResultPart::Text { text: text.into() }], is_error: false }
}

fn thinking() -> Block {
    Block::Thinking { thinking: "hm".into(), signature: "sig".into() }
}

/// One line a message: `user: hi | result a`.
fn shown(messages: &[ApiMessage]) -> Vec<String> {
    let block = |block: &Arc<Block>| match &**block {
        Block::Text { text } => text.clone(),
        Block::Thinking { .. } | Block::RedactedThinking { .. } => "thinking".into(),
        Block::ToolUse { id, .. } => format!("call {id}"),
        Block::ToolResult { tool_use_id, is_error, .. } => format!("{} {tool_use_id}", if *is_error { "error" } else { "result" }),
        Block::Image { .. } => "image".into(),
        Block::Other { json } => json.to_string(),
    };
    messages
        .iter()
        .map(|message| {
            let blocks: Vec<String> = message.content.iter().map(block).collect();
            format!("{}: {}", if message.role == Role::User { "user" } else { "model" }, blocks.join(" | "))
        })
        .collect()
}

fn lines(history: &[Said]) -> (Vec<String>, Repairs) {
    let normal = normalize(history, MODEL);
    assert_eq!(check(&normal.messages), Ok(()), "{:?}", shown(&normal.messages));
    (shown(&normal.messages), normal.repairs)
}

#[test]
fn a_good_history_goes_out_as_it_is_and_shares_its_blocks() {
    let history = [
        user(vec![Block::text("hi")]),
        model(vec![thinking(), call("a"), call("b")]),
        user(vec![result("b")]),
        user(vec![Block::text("note")]),
        user(vec![result("a")]),
        model(vec![Block::text("done")]),
        user(vec![Block::text("thanks")]),
    ];
    let (lines, repairs) = lines(&history);
    assert_eq!(
        lines,
        ["user: hi", "model: thinking | call a | call b", "user: result a | result b | note", "model: done", "user: thanks"],
        "results first, in the calls' order"
    );
    assert!(repairs.is_empty(), "{repairs}");
    let normal = normalize(&history, MODEL);
    assert!(Arc::ptr_eq(&normal.messages[1].content[0], &history[1].content[0]));
}

#[test]
fn missing_orphaned_and_duplicate_results() {
    let (lines, repairs) = lines(&[
        user(vec![Block::text("hi"), result("nobody's")]),
        model(vec![call("a"), call("b")]),
        user(vec![result("b"), result_saying("b", "again")]),
        model(vec![Block::text("x")]),
        user(vec![result("a")]),
        user(vec![Block::text("go")]),
    ]);
    assert_eq!(lines, ["user: hi", "model: call a | call b", "user: error a | result b", "model: x", "user: go"]);
    assert_eq!((repairs.missing_results, repairs.orphaned_results, repairs.duplicate_results), (1, 2, 1));
}

#[test]
fn a_history_cut_after_its_calls_is_paired() {
    let (lines, repairs) = lines(&[user(vec![Block::text("hi")]), model(vec![call("a")])]);
    assert_eq!(lines, ["user: hi", "model: call a", "user: error a"]);
    assert_eq!(repairs.to_string(), "missing results added: 1");
}

#[test]
fn blank_and_empty_messages() {
    let (lines, repairs) = lines(&[
        user(vec![Block::text("hi")]),
        model(vec![Block::text(" \n")]),
        model(vec![]),
        user(vec![Block::text("")]),
        model(vec![thinking()]),
        model(vec![Block::text("a"), thinking()]),
    ]);
    assert_eq!(lines, ["user: hi", "model: (no content) | a", "user: Continue."]);
    assert_eq!((repairs.blank_texts, repairs.filled_messages, repairs.orphaned_thinking, repairs.added_messages), (2, 1, 2, 1));
}

#[test]
fn another_models_thinking_and_internals_stay_at_home() {
    let internal = Block::Other { json: Json::parse(r#"{"type":"server_tool_use","id":"x"}"#).expect("json") };
    let said =
        |writer: &str| Said::assistant(writer.into(), vec![Arc::new(thinking()), Arc::new(internal.clone()), Arc::new(Block::text("x"))]);
    let history = |writer: &str| [user(vec![Block::text("hi")]), said(writer), user(vec![Block::text("go")])];
    let (own, repairs) = lines(&history("claude-opus-5-5-20260922"));
    assert_eq!((own[1].as_str(), repairs.total()), (r#"model: thinking | {"type":"server_tool_use","id":"x"} | x"#, 0));
    let (other, repairs) = lines(&history("claude-sonnet-5-5"));
    assert_eq!((other[1].as_str(), repairs.foreign_thinking, repairs.internal_blocks), ("model: x", 1, 1));
}

#[test]
fn calls_twice_and_odd_calls() {
    let odd = Block::ToolUse { id: ToolUseId::new("c"), name: "Read File".into(), input: Json::parse("[1]").expect("json") };
    let (lines, repairs) = lines(&[
        user(vec![Block::text("hi")]),
        model(vec![call("a")]),
        user(vec![result("a")]),
        model(vec![call("a"), odd]),
        user(vec![result("a"), result_saying("c", "  ")]),
    ]);
    assert_eq!(lines, ["user: hi", "model: call a", "user: result a", "model: call c", "user: result c"]);
    assert_eq!((repairs.duplicate_calls, repairs.odd_calls, repairs.orphaned_results, repairs.blank_results), (1, 1, 1, 1));
}

#[test]
fn nothing_at_all_is_still_a_request() {
    assert_eq!(lines(&[]).0, ["user: Continue."]);
}

fn any_block() -> impl Strategy<Value = Block> {
    let json = prop_oneof![Just("{}"), Just("[]"), Just(r#"{"type":"fallback"}"#), Just(r#"{"type":"tool_result"}"#)]
        .prop_map(|text| Json::parse(text).expect("json"));
    let part = prop_oneof![
        "[a ]{0,2}".prop_map(|text| ResultPart::Text { text }),
        Just(ResultPart::Image { media_type: "image/png".into(), data: "x".into() })
    ];
    prop_oneof![
        "[a \n]{0,2}".prop_map(Block::text),
        Just(thinking()),
        Just(Block::RedactedThinking { data: "r".into() }),
        ("[abc!]?", "[R ]{0,2}", json.clone()).prop_map(|(id, name, input)| Block::ToolUse { id: ToolUseId::new(id), name, input }),
        ("[abc!]?", proptest::collection::vec(part, 0..3)).prop_map(|(id, content)| Block::ToolResult {
            tool_use_id: ToolUseId::new(id),
            content,
            is_error: false
        }),
        Just(Block::Image { media_type: "image/png".into(), data: "x".into() }),
        json.prop_map(|json| Block::Other { json }),
    ]
}

fn any_said() -> impl Strategy<Value = Said> {
    let writer = prop_oneof![Just(None), Just(Some(MODEL)), Just(Some("claude-sonnet-5"))];
    (any::<bool>(), writer, proptest::collection::vec(any_block(), 0..4)).prop_map(|(is_user, writer, content)| Said {
        role: if is_user { Role::User } else { Role::Assistant },
        content: content.into_iter().map(Arc::new).collect(),
        model: writer.map(Arc::from),
    })
}

/// A round as the engine stores one: an answer, its results in any order with attachments between, then a tail.
fn any_round(number: usize) -> impl Strategy<Value = Vec<Said>> {
    let calls: Vec<String> = (0..3).map(|call| format!("r{number}c{call}")).collect();
    let noise = proptest::collection::vec(prop_oneof![Just(thinking()), Just(Block::text(" ")), Just(Block::text("words"))], 0..3);
    (noise, 0..=3_usize, any::<bool>(), any::<bool>()).prop_flat_map(move |(mut content, count, attach, foreign)| {
        let called = calls[..count].to_vec();
        content.extend(called.iter().map(|id| call(id)));
        let answer = Said { model: Some(if foreign { "claude-sonnet-5" } else { MODEL }.into()), ..model(content) };
        Just(called).prop_shuffle().prop_map(move |results| {
            let mut round = vec![answer.clone()];
            for id in results {
                round.push(user(vec![result(&id)]));
                if attach {
                    round.push(user(vec![Block::text("attached")]));
                }
            }
            round.push(user(vec![Block::text("next")]));
            round
        })
    })
}

fn any_rounds() -> impl Strategy<Value = Vec<Vec<Said>>> {
    (any_round(0), any_round(1), any_round(2), any_round(3)).prop_map(|(a, b, c, d)| vec![a, b, c, d])
}

/// The messages as one row of (role, block).
fn row(messages: &[ApiMessage]) -> Vec<(Role, Arc<Block>)> {
    messages.iter().flat_map(|message| message.content.iter().map(|block| (message.role, Arc::clone(block)))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_history_becomes_a_lawful_request_and_again_the_same(history in proptest::collection::vec(any_said(), 0..10)) {
        let once = normalize(&history, MODEL);
        prop_assert_eq!(check(&once.messages), Ok(()), "{:?}", shown(&once.messages));
        let again: Vec<Said> = once
            .messages
            .iter()
            .map(|message| Said { role: message.role, content: message.content.clone(), model: Some(MODEL.into()) })
            .collect();
        let twice = normalize(&again, MODEL);
        prop_assert_eq!(&twice.messages, &once.messages);
        prop_assert!(twice.repairs.is_empty(), "{}", twice.repairs);
    }

    #[test]
    fn a_longer_history_begins_with_the_shorter_ones_request(rounds in any_rounds(), tail in proptest::collection::vec(any_said(), 0..4)) {
        let mut history = vec![user(vec![Block::text("hi")])];
        let mut before = row(&normalize(&history, MODEL).messages);
        for said in rounds.into_iter().chain([tail]) {
            history.extend(said);
            let after = row(&normalize(&history, MODEL).messages);
            prop_assert!(after.starts_with(&before), "{:?}\n{:?}", before, after);
            before = after;
        }
    }
}

#[test]
fn an_answer_that_paused_itself_is_sent_back_as_it_is() {
    let history = [user(vec![Block::text("hi")]), model(vec![Block::text("searching")])];
    assert_eq!(shown(&resend(&history, MODEL).messages), ["user: hi", "model: searching"]);
    assert_eq!(shown(&normalize(&history, MODEL).messages), ["user: hi", "model: searching", "user: Continue."]);
    // What it goes on with joins it, so that nothing sent before changes.
    let longer = [history[0].clone(), history[1].clone(), model(vec![Block::text("found")]), user(vec![Block::text("thanks")])];
    assert_eq!(shown(&normalize(&longer, MODEL).messages), ["user: hi", "model: searching | found", "user: thanks"]);
    assert_eq!(shown(&resend(&[], MODEL).messages), ["user: Continue."]);
}

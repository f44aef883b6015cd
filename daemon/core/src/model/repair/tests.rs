//! Repairs: what is odd, what it becomes.

use agentd_types::{Json, ToolUseId};

use super::*;

#[test]
fn names_are_good_or_made_good() {
    for good in ["Read", "mcp__a-b__c", &"x".repeat(64)] {
        assert!(is_good_name(good), "{good}");
    }
    for odd in ["", "Read File", "größe", &"x".repeat(129), "a.b"] {
        assert!(!is_good_name(odd), "{odd}");
        assert!(is_good_name(&good_name(odd)), "{odd} became {}", good_name(odd));
    }
    assert_ne!(good_name("a.b"), good_name("a:b"), "two odd names stay two");
    assert!(good_name("Read File").starts_with("Read_File_"));
}

#[test]
fn ids_become_unique_and_stay_when_they_can() {
    let id = ToolUseId::new("toolu_1");
    assert_eq!(good_id(&id, |_| false), id);
    let taken = [ToolUseId::new("toolu_1"), ToolUseId::new("toolu_1_2")];
    assert_eq!(good_id(&id, |it| taken.contains(it)).as_str(), "toolu_1_3");
    assert!(is_good_id(good_id(&ToolUseId::new("functions.x:0"), |_| false).as_str()));
}

#[test]
fn inputs_are_objects_byte_for_byte_or_errors() {
    assert_eq!(read_input("").map(|it| it.as_str().to_owned()), Ok("{}".to_owned()));
    assert_eq!(read_input(r#"{"b": 1,  "a":2.0}"#).map(|it| it.as_str().to_owned()), Ok(r#"{"b": 1,  "a":2.0}"#.to_owned()));
    assert!(read_input(r#"{"a": "#).is_err_and(|it| it.cut));
    assert!(read_input("[1]").is_err_and(|it| !it.cut));
    assert!(read_input(r#"{"a" 1}"#).is_err_and(|it| !it.cut));
}

#[test]
fn a_stand_in_is_recognised_and_nothing_else_is() {
    let json = stand_in("{\"a\": \"x\ny", "control character");
    assert_eq!(unreadable_input(&json).map(|it| it.text), Some("{\"a\": \"x\ny".to_owned()));
    assert_eq!(unreadable_input(&Json::empty_object()), None);
    assert_eq!(unreadable_input(&read_input(r#"{"file_path":"a"}"#).expect("an object")), None);
}

//! An answer is what was meant, or none.

use agentd_types::question::Choice;
use agentd_types::{RequestId, Timestamp, ToolUseId};
use proptest::prelude::*;

use super::*;

fn question(labels: &[&str], asks: Asks, multi_select: bool) -> Question {
    let options = labels.iter().map(|label| Choice { label: (*label).to_owned(), description: String::new() }).collect();
    let (header, question) = ("h".to_owned(), "q?".to_owned());
    Question { id: RequestId::from_u128(1), agent: None, asks, header, question, options, multi_select, asked_at: Timestamp(0) }
}

fn call() -> Asks {
    Asks::Call { tool_use: ToolUseId::new("t"), place: 0 }
}

fn answer(question: &Question, given: &[&str]) -> Result<Vec<String>, BadChoice> {
    read(question, &given.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
}

#[test]
fn a_number_a_label_or_free_text() {
    let one = question(&["Red", "Blue", "1"], call(), false);
    assert_eq!(answer(&one, &["2"]), Ok(vec!["Blue".to_owned()]));
    assert_eq!(answer(&one, &[" blue "]), Ok(vec!["Blue".to_owned()]));
    assert_eq!(answer(&one, &["1"]), Ok(vec!["1".to_owned()]), "a label as it stands comes first");
    assert_eq!(answer(&one, &["9"]), Ok(vec!["9".to_owned()]));
    assert_eq!(answer(&one, &["neither, really"]), Ok(vec!["neither, really".to_owned()]));
    assert_eq!(answer(&one, &["1", "2"]), Err(BadChoice::TooMany { given: 2 }));
    assert!(matches!(answer(&one, &[" "]), Err(BadChoice::None { options }) if options == "1 Red, 2 Blue, 3 1"));
}

#[test]
fn several_where_several_may_be() {
    let many = question(&["Red", "Blue"], call(), true);
    assert_eq!(answer(&many, &["1,2"]), Ok(vec!["Red".to_owned(), "Blue".to_owned()]));
    assert_eq!(answer(&many, &["2", "red", "Red"]), Ok(vec!["Blue".to_owned(), "Red".to_owned()]));
    assert_eq!(answer(&many, &["1, and then some"]), Ok(vec!["1, and then some".to_owned()]));
}

#[test]
fn whether_to_go_on_is_one_of_two() {
    let resume = question(&["continue", "drop"], Asks::Resume, false);
    assert_eq!(answer(&resume, &["Continue"]), Ok(vec!["continue".to_owned()]));
    assert_eq!(answer(&resume, &["2"]), Ok(vec!["drop".to_owned()]));
    let odd = answer(&resume, &["maybe"]).unwrap_err().to_string();
    assert_eq!(odd, "`maybe` is no option; choose one of: 1 continue, 2 drop");
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(labels in prop::collection::vec(".{0,8}", 0..4), given in prop::collection::vec(".{0,12}", 0..4), many: bool) {
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let question = question(&labels, call(), many);
        if let Ok(chosen) = read(&question, &given) {
            prop_assert!(!chosen.is_empty() && (many || chosen.len() == 1));
        }
    }
}

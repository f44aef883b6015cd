use proptest::prelude::*;

use super::{EditError, Which, edit};

#[test]
fn exact_unique_and_told_otherwise() {
    assert_eq!(edit("a\nb\nc\n", "b", "x\ny", Which::Only).unwrap().lines, (2, 3));
    assert_eq!(edit("a", "z", "x", Which::Only), Err(EditError::NotFound));
    assert_eq!(edit("a\na", "a", "x", Which::Only), Err(EditError::Several { count: 2, at: vec![1, 2] }));
    assert_eq!(edit("a\na", "a", "x", Which::All).unwrap().text, "x\nx");
    assert_eq!(edit("a", "a", "a", Which::Only), Err(EditError::NoChange));
    assert_eq!(edit("a", "", "x", Which::Only), Err(EditError::Empty));
}

#[test]
fn line_ends_stay_what_they_are() {
    assert_eq!(edit("a\r\nb\r\n", "a\nb", "x\ny", Which::Only).unwrap().text, "x\r\ny\r\n");
    assert_eq!(edit("a\r\nb\r\n", "b", "x\ny", Which::Only).unwrap().text, "a\r\nx\r\ny\r\n");
    assert_eq!(edit("a\r\nb\r\n", "a\r\n", "a\n", Which::Only).unwrap().text, "a\nb\r\n");
    assert_eq!(edit("a\r\nb", "a\nb", "a\r\nb", Which::Only), Err(EditError::NoChange));
    assert_eq!(edit("a\nb\r\n", "a\nb", "x", Which::Only).unwrap().text, "x\r\n");
}

#[test]
fn an_overlapping_match_is_not_the_only_one() {
    assert_eq!(edit("aaa", "aa", "x", Which::Only), Err(EditError::Several { count: 2, at: vec![1, 1] }));
    assert_eq!(edit("éaé a", "é", "x", Which::All).unwrap().text, "xax a");
}

proptest! {
    #[test]
    fn what_is_not_replaced_is_untouched(before in "[a-c\r\n]{0,12}", after in "[a-c\r\n]{0,12}", new in "[x-z\n]{0,6}") {
        let text = format!("{before}OLD{after}");
        let edited = edit(&text, "OLD", &new, Which::Only).unwrap();
        let ends = text.matches('\n').count();
        let new = if ends > 0 && ends == text.matches("\r\n").count() { new.replace('\n', "\r\n") } else { new };
        prop_assert_eq!(edited.text, format!("{before}{new}{after}"));
    }
}

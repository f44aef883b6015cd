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
    assert_eq!(edit("a\nb\r\n", "a\nb", "x", Which::Only).unwrap().text, "x\r\n");
}

proptest! {
    #[test]
    fn what_is_not_replaced_is_untouched(before in "[a-c\r\n]{0,12}", after in "[a-c\r\n]{0,12}", new in "[x-z\n]{0,6}") {
        let text = format!("{before}OLD{after}");
        let edited = edit(&text, "OLD", &new, Which::Only).unwrap();
        prop_assert_eq!(edited.text, format!("{before}{new}{after}"));
    }
}

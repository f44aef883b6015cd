use proptest::prelude::*;

use super::{EditError, Likeness, Which, edit};
use crate::tools::line_ends::{near, with};

fn only(text: &str, old: &str, new: &str) -> Result<String, EditError> {
    edit(text, old, new, Which::Only).map(|edited| edited.text)
}

fn all(text: &str, old: &str, new: &str) -> Result<String, EditError> {
    edit(text, old, new, Which::All).map(|edited| edited.text)
}

#[test]
fn exact_unique_and_told_otherwise() {
    assert_eq!(edit("a\nb\nc\n", "b", "x\ny", Which::Only).unwrap().lines, (2, 3));
    assert_eq!(only("a", "z", "x"), Err(EditError::NotFound { near: vec![] }));
    assert_eq!(only("a\na", "a", "x"), Err(EditError::Several { count: 2, at: vec![1, 2] }));
    assert_eq!(all("a\na", "a", "x").unwrap(), "x\nx");
    assert_eq!(only("a", "a", "a"), Err(EditError::NoChange));
    assert_eq!(only("a", "", "x"), Err(EditError::Empty));
    let told = only("x\n  if a {\n", "\tif a {\n\t\tb", "c").unwrap_err().to_string();
    assert!(told.contains("(its first line is like line 2)"), "{told}");
}

#[test]
fn line_ends_stay_what_they_are() {
    assert_eq!(only("a\r\nb\r\n", "a\nb", "x\ny").unwrap(), "x\r\ny\r\n");
    assert_eq!(only("a\r\nb\r\n", "b", "x\ny").unwrap(), "a\r\nx\r\ny\r\n");
    assert_eq!(only("a\r\nb\r\n", "a\r\n", "a\n").unwrap(), "a\nb\r\n");
    assert_eq!(only("a\r\nb", "a\nb", "a\r\nb"), Err(EditError::NoChange));
    assert_eq!(only("a\nb\r\n", "a\nb", "x").unwrap(), "x\r\n");
    assert_eq!(only("a\r\nb\r\n", "\nb", "c").unwrap(), "ac\r\n");
}

#[test]
fn mixed_line_ends_are_matched_and_what_is_common_keeps_its_own() {
    assert_eq!(only("a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc").unwrap(), "a\r\nB\nc\r\n");
    assert_eq!(only("a\nb\nc\r\nd", "c\nd", "c\nnew\nd").unwrap(), "a\nb\nc\r\nnew\r\nd");
    assert_eq!(all("a\nx\na\r\nx", "a\nx", "b\nx").unwrap(), "b\nx\nb\r\nx");
    assert_eq!(only("a\nx\na\r\nx", "a\nx", "b\nx").unwrap(), "b\nx\na\r\nx");
}

#[test]
fn quotes_and_spaces_are_forgiven_where_that_is_one_place() {
    let edited = edit("say \u{201c}it\u{2019}s\u{201d}\n", "say \"it's\"", "say \"it's here\"", Which::Only).unwrap();
    assert_eq!((edited.text.as_str(), edited.likeness), ("say \u{201c}it\u{2019}s here\u{201d}\n", Likeness::Characters));
    assert_eq!(only("a  \r\nb\t\r\nc\r\n", "a\nb\nc", "a\nb\nd").unwrap(), "a  \r\nb\t\r\nd\r\n");
    assert_eq!(only("a\nb\n", "a \nb", "a \nc").unwrap(), "a\nc\n");
    let told = only("\u{2018}a\u{2019}\n\u{2019}a'\n", "'a'", "b").unwrap_err();
    assert_eq!(told, EditError::SeveralAlike { count: 2, at: vec![1, 2] });
    assert!(matches!(all("\u{2018}a\u{2019}\n\u{2019}a'\n", "'a'", "b"), Err(EditError::SeveralAlike { .. })));
    // The exact one is meant, even where others are like it.
    assert_eq!(only("'a' \u{2018}a\u{2019}", "'a'", "b").unwrap(), "b \u{2018}a\u{2019}");
    // Quotes are what is to be changed.
    assert_eq!(only("x = 'a'", "'a'", "\u{2018}a\u{2019}").unwrap(), "x = \u{2018}a\u{2019}");
    assert_eq!(only("x = \u{2018}a\u{2019}", "'a'", "\"a\"").unwrap(), "x = \"a\"");
}

#[test]
fn an_overlapping_match_is_not_the_only_one() {
    assert_eq!(only("aaa", "aa", "x"), Err(EditError::Several { count: 2, at: vec![1, 1] }));
    assert_eq!(all("éaé a", "é", "x").unwrap(), "xax a");
}

proptest! {
    #[test]
    fn what_is_not_replaced_is_untouched(before in "[a-c\r\n]{0,12}", after in "[a-c\r\n]{0,12}", new in "[x-z\n]{0,6}") {
        let text = format!("{before}OLD{after}");
        let edited = only(&text, "OLD", &new).unwrap();
        let new = with(&new, near(&text, before.len(), before.len() + 3));
        prop_assert_eq!(edited, format!("{before}{new}{after}"));
    }

    #[test]
    fn any_edit_keeps_what_is_outside(text in "[ab '\"\u{2019}\u{201c}\u{a0}\t\r\n]{0,20}", old in "[ab '\"\t\n]{1,5}", new in "[abX' \n]{0,5}") {
        for which in [Which::Only, Which::All] {
            let Ok(edited) = edit(&text, &old, &new, which) else { continue };
            prop_assert!(edited.text != text && edited.replaced > 0 && edited.lines.0 <= edited.lines.1);
            if which == Which::Only {
                // One stretch was replaced, and it was no longer than what `old` stood for.
                let head = text.chars().zip(edited.text.chars()).take_while(|(a, b)| a == b).count();
                let tail = text.chars().rev().zip(edited.text.chars().rev()).take_while(|(a, b)| a == b).count();
                let stretch = text.chars().count().saturating_sub(head + tail);
                let spaces = text.chars().filter(|c| c.is_whitespace()).count();
                prop_assert!(stretch <= old.chars().count() + spaces);
            }
            if edited.likeness == Likeness::Exact && which == Which::Only {
                let at = text.find(&old).unwrap();
                let new = with(&new, near(&text, at, at + old.len()));
                // With line ends of the place, and common ends as they were.
                prop_assert_eq!(edited.text.replace("\r\n", "\n"), format!("{}{new}{}", &text[..at], &text[at + old.len()..]).replace("\r\n", "\n"));
                prop_assert!(edited.text.starts_with(&text[..at]) && edited.text.ends_with(&text[at + old.len()..]));
            }
        }
    }
}

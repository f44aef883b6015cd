//! Nothing that controls a terminal gets through.

use super::*;

#[test]
fn plain_text_is_not_touched() {
    assert!(matches!(printable("a\tb\nÄ 漢 🙂"), Cow::Borrowed(_)));
}

#[test]
fn controls_are_shown() {
    assert_eq!(printable("\u{1b}[2Jgone\u{7}\u{7f}"), "␛[2Jgone␇␡");
    assert_eq!(printable("one\r\ntwo\rthree"), "one\ntwo␍three");
    assert_eq!(printable("\u{9b}31m \u{202e}txt"), "\u{fffd}31m \u{fffd}txt");
}

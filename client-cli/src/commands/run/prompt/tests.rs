//! Prompt and pipe.

use super::*;

#[test]
fn what_is_piped_goes_below_the_prompt_or_in_its_place() {
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(joined(some("explain"), "a\nb\n".to_owned()), some("explain\n\na\nb\n"));
    assert_eq!(joined(some("explain"), " \n".to_owned()), some("explain"));
    assert_eq!(joined(None, "do it\n".to_owned()), some("do it\n"), "word for word");
    assert_eq!(joined(None, "\n".to_owned()), None);
}

#[test]
fn stdin_is_bounded_text() {
    assert_eq!(read(&b"hi"[..]).ok().as_deref(), Some("hi"));
    assert!(read(&b"\xff"[..]).is_err());
    assert!(read(std::io::repeat(b'x')).is_err());
}

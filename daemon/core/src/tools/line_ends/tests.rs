use super::{LineEnd, near, only, with};

#[test]
fn a_text_has_one_kind_or_none() {
    assert_eq!(only("a\nb\n"), Some(LineEnd::Lf));
    assert_eq!(only("a\r\nb"), Some(LineEnd::CrLf));
    assert_eq!((only("a"), only("a\rb"), only("a\nb\r\n")), (None, None, None));
}

#[test]
fn the_nearest_line_end_counts() {
    let text = "a\r\nb\nc";
    assert_eq!(near(text, 0, 3), LineEnd::CrLf);
    assert_eq!(near(text, 3, 4), LineEnd::CrLf);
    assert_eq!(near(text, 5, 6), LineEnd::Lf);
    assert_eq!(near("x\r\n", 0, 1), LineEnd::CrLf);
    assert_eq!(near("x", 0, 1), LineEnd::Lf);
}

#[test]
fn text_that_names_its_crs_is_left() {
    assert_eq!(with("a\nb", LineEnd::CrLf), "a\r\nb");
    assert_eq!(with("a\r\nb\n", LineEnd::CrLf), "a\r\nb\n");
    assert_eq!(with("a\nb", LineEnd::Lf), "a\nb");
}

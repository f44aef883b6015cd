//! Base URLs and statuses.

use super::*;

#[test]
fn base_urls_are_read_leniently() {
    for text in ["https://api.example.com", "https://api.example.com/", "https://api.example.com/v1", " https://api.example.com/v1/ "] {
        let base = BaseUrl::parse(text).expect(text);
        assert_eq!(base.to_string(), "https://api.example.com");
        assert_eq!(base.with_path("/v1/messages").as_str(), "https://api.example.com/v1/messages");
    }
    let deep = BaseUrl::parse("http://127.0.0.1:8080/api/v1").expect("a URL");
    assert_eq!(deep.with_path("/v1/messages").as_str(), "http://127.0.0.1:8080/api/v1/messages");
    assert!(deep.is_loopback());
    assert!(BaseUrl::parse("http://[::1]:80").expect("a URL").is_loopback());
    assert!(!BaseUrl::parse("http://10.0.0.1").expect("a URL").is_loopback());
}

#[test]
fn bad_base_urls_say_why_and_show_no_password() {
    for text in ["", "api.example.com", "ftp://x", "https://x/?a=b"] {
        assert!(BaseUrl::parse(text).is_err(), "{text}");
    }
    let error = BaseUrl::parse("https://me:secret@x.example").expect_err("a password").to_string();
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn statuses_have_classes() {
    assert_eq!(class_of(529), ErrorClass::Overloaded);
    assert_eq!(class_of(503), ErrorClass::Server);
    assert_eq!(class_of(422), ErrorClass::InvalidRequest);
    assert_eq!(class_of(302), ErrorClass::InvalidRequest);
}

use super::*;

#[test]
fn a_beginning_is_a_range_of_ids() {
    let id = |text: &str| text.parse::<SessionId>().unwrap();
    let (from, to) = beginning("0198c0de-7").unwrap();
    assert_eq!(from, id("0198c0de-7000-0000-0000-000000000000"));
    assert_eq!(to, id("0198c0de-7fff-ffff-ffff-ffffffffffff"));
    let whole = "0198c0de-7a3b-7f00-8000-000000000001";
    assert_eq!(beginning(whole), Some((id(whole), id(whole))));
    assert_eq!(beginning("f").unwrap().1, SessionId::from_u128(u128::MAX));
    for none in ["", "-", "xyz", "0198c0de-7a3b-7f00-8000-0000000000011"] {
        assert_eq!(beginning(none), None, "{none}");
    }
}

//! Answers on the command line.

use super::*;

#[test]
fn answers_name_their_request() {
    assert!(matches!(answer("2=allow"), Ok((2, Decision::Allow { scope: AllowScope::Once, .. }))));
    assert!(matches!(answer("1=deny"), Ok((1, Decision::Deny { message: None }))));
    for wrong in ["", "allow", "0=allow", "x=allow", "1=maybe", "-1=deny", "1="] {
        assert!(matches!(answer(wrong), Err(Failure::Usage(text)) if text.contains("N=allow")), "{wrong}");
    }
}

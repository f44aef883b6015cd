//! Who goes over, and who does not.

use super::*;
use crate::query::{ModelFailure, ToolBatch, Withheld};

fn failed(kind: FailureKind) -> ReplyEnd {
    ReplyEnd::Failed(ModelFailure { kind, status: Some(529), message: "why".into() })
}

#[test]
fn overload_and_refusal_go_over_and_nothing_else() {
    let overloaded = failed(FailureKind::Api(ErrorClass::Overloaded.name().into()));
    assert_eq!(go_over(&overloaded).map(|it| it.error), Some("overloaded_error"));
    assert_eq!(go_over(&failed(FailureKind::Refusal(Some("cyber".into())))).map(|it| it.error), Some("refusal"));
    for class in [ErrorClass::RateLimit, ErrorClass::Server, ErrorClass::Authentication, ErrorClass::StreamCut] {
        assert_eq!(go_over(&failed(FailureKind::Api(class.name().into()))), None, "{class:?}");
    }
    for end in [
        failed(FailureKind::OutputLimit),
        ReplyEnd::Whole { calls: ToolBatch::default() },
        ReplyEnd::OutputLimit { calls: ToolBatch::default() },
        ReplyEnd::Withheld(Withheld::PromptTooLong),
    ] {
        assert_eq!(go_over(&end), None, "{end:?}");
    }
}

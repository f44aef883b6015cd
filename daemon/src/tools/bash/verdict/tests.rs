use proptest::prelude::*;

use super::{Counts, answers, counts, ended, last_command};
use crate::processes::{Exit, Status};

fn exit(status: Status) -> Exit {
    Exit { status, survivors: Vec::new() }
}

#[test]
fn exit_code_1_of_commands_that_answer_is_no_failure() {
    for command in [
        "grep x f",
        "cat f | grep -q x",
        "rg x",
        "egrep 'a|b' f",
        "fgrep \"a;b\" f",
        "find . -name x",
        "diff a b",
        "test -f x",
        "[ -f x ]",
        "git diff --exit-code",
        "git grep x",
        "cd sub && grep x f",
        "LC_ALL=C grep x f",
        "grep \\| f",
        "grep \"a\\\"|b\" f",
        "grep x f\n",
        "grep x f; ",
    ] {
        assert_eq!(counts(command, Status::Code(1)), Counts::AsSuccess, "{command}");
        assert_eq!(counts(command, Status::Code(2)), Counts::AsFailure, "{command}");
    }
    for command in ["false", "git status", "grep x f | head", "greppy", "make test", "echo 'x; grep'", "grep x f; false", "=grep x", ""] {
        assert!(!answers(command), "{command}");
    }
}

#[test]
fn the_end_is_told_in_words() {
    assert_eq!(ended(&exit(Status::Code(0)), "hello"), "hello");
    assert_eq!(ended(&exit(Status::Code(0)), ""), "(no output)");
    assert_eq!(ended(&exit(Status::Code(3)), "hello"), "exit code 3\nhello");
    assert_eq!(ended(&exit(Status::Code(3)), ""), "exit code 3");
    assert_eq!(ended(&exit(Status::Code(137)), ""), "exit code 137 (128 + 9: SIGKILL)");
    assert_eq!(ended(&exit(Status::Code(255)), ""), "exit code 255");
    assert_eq!(ended(&exit(Status::Signal(15)), "x"), "ended by SIGTERM (signal 15)\nx");
    assert_eq!(ended(&exit(Status::Signal(40)), ""), "ended by signal 40");
    assert_eq!(ended(&Exit { status: Status::Code(0), survivors: vec![7, 9] }, "x"), "x\nstill running: pid 7, 9");
}

proptest! {
    #[test]
    fn any_line_is_read(line in "\\PC{0,60}", code in any::<i32>()) {
        let _ = last_command(&line);
        let _ = ended(&exit(Status::Code(code)), &line);
        let _ = ended(&exit(Status::Signal(code)), &line);
    }

    #[test]
    fn quotes_hide_operators(inner in "[^']{0,20}") {
        prop_assert_eq!(last_command(&format!("grep '{inner}' f")), vec!["grep".to_owned(), inner, "f".to_owned()]);
    }
}

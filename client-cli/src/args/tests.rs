//! Command lines as people and scripts write them.

use clap::CommandFactory;

use super::*;

fn parse(line: &str) -> Args {
    try_parse(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn try_parse(line: &str) -> Result<Args, clap::Error> {
    Args::read(std::iter::once("agent").chain(line.split(' ')).map(Into::into))
}

#[test]
fn the_command_line_is_consistent() {
    Args::command().debug_assert();
    PrintArgs::command().debug_assert();
}

#[test]
fn options_stand_before_or_after() {
    for line in ["--json --socket /s ls", "ls --json --socket /s", "--socket /s ls --json"] {
        let args = parse(line);
        assert!(args.global.json && args.global.socket.is_some() && matches!(args.command, Some(Command::Ls { .. })), "{line}");
    }
    for line in ["send s hello --now", "send --now s hello", "send s --now hello"] {
        let Some(Command::Send { session, text, now: true, .. }) = parse(line).command else { panic!("{line}") };
        assert_eq!((session.as_str(), text.as_str()), ("s", "hello"));
    }
}

#[test]
fn prompts_of_p_stand_anywhere() {
    for line in ["-p hello --model m", "--model m -p hello", "-p --model m hello", "hello --model m --print", "--print=hello --model m"] {
        let args = parse(line);
        assert_eq!((args.print.as_deref(), args.run.made.model.as_deref()), (Some("hello"), Some("m")), "{line}");
    }
    assert_eq!(parse("-p ls").print.as_deref(), Some("ls"), "a prompt that is called like a command");
    assert_eq!(parse("-p").print.as_deref(), Some(""), "it comes on stdin");
    assert!(try_parse("-p two words").is_err());
}

#[test]
fn a_slip_is_told_the_command_it_resembles() {
    let error = try_parse("sned s hello").expect_err("no such command").to_string();
    assert!(error.contains("'sned'") && error.contains("'send'"), "{error}");
}

#[test]
fn flags_of_existing_scripts_are_understood() {
    let args = parse("-p go --allowedTools Read,Edit --disallowedTools Bash --output-format stream-json --max-turns 3");
    assert_eq!(args.run.made.allowed_tools, ["Read,Edit"]);
    assert_eq!((args.run.output_format, args.run.max_turns), (Format::StreamJson, Some(3)));
}

#[test]
fn options_that_a_command_would_not_heed_are_noticed() {
    assert!(parse("--model m ls").has_stray_options());
    assert!(parse("--print=hello ls").has_stray_options());
    for line in ["run --model m", "--json ls", "-p hello --model m", "ls"] {
        assert!(!parse(line).has_stray_options(), "{line}");
    }
}

#[test]
fn contradictions_are_refused() {
    let lines = [
        "run --session s --name n x",
        "run --continue --session s x",
        "send s x --now --later",
        "allow s r --always --session",
        "log s --from 1 --tail 2",
        "run --detach --input-format stream-json",
        "new n --detach",
        "ls extra",
        "run --on-ask maybe x",
    ];
    for line in lines {
        let error = try_parse(line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn help_and_version_are_no_failures() {
    for line in ["--help", "--version", "run --help"] {
        assert_eq!(try_parse(line).expect_err(line).exit_code(), 0, "{line}");
    }
}

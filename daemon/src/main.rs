//! The binary `agentd`: arguments, tracing, exit code. It never decides anything.

fn main() {}

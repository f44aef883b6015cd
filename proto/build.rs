//! Compiles `agent/v1/*.proto` without a protoc. It never writes outside `OUT_DIR`.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use prost::Message;

const FILES: [&str; 8] = [
    "agent/v1/message.proto",
    "agent/v1/sessions.proto",
    "agent/v1/queue.proto",
    "agent/v1/permissions.proto",
    "agent/v1/tasks.proto",
    "agent/v1/event.proto",
    "agent/v1/events.proto",
    "agent/v1/admin.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    // The compiler below is not asked which files it read.
    println!("cargo::rerun-if-changed=agent");
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    let out = Path::new(&out);

    let descriptors = protox::compile(FILES, ["."])?;
    fs::write(out.join("fds.bin"), descriptors.encode_to_vec())?;

    // What everyone sees: typed messages, and clients.
    tonic_prost_build::configure().bytes(".").build_server(false).compile_fds(descriptors.clone())?;

    // The daemon's servers. Two answers are taken from `frame`, which writes events that are encoded already; every other message is
    // the one of the pass above (the longest path wins, and messages with a path are not generated again).
    if env::var_os("CARGO_FEATURE_SERVER").is_some() {
        let servers = out.join("server");
        fs::create_dir_all(&servers)?;
        tonic_prost_build::configure()
            .build_client(false)
            .extern_path(".agent.v1", "crate::v1")
            .extern_path(".agent.v1.SubscribeResponse", "crate::frame::SubscribeFrame")
            .extern_path(".agent.v1.ReadEventsResponse", "crate::frame::EventPage")
            .out_dir(servers)
            .compile_fds(descriptors)?;
    }
    Ok(())
}

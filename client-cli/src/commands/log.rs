//! The transcript, and the plain view.

use agentd_client::{Connection, LinkState, Update};
use agentd_tui::plain::{self, Access};
use agentd_types::{Event, Seq};

use super::connected;
use crate::args::{Format, Global};
use crate::exit::{Exit, Failure};
use crate::output::text::Transcript;
use crate::output::{Out, stream};

/// Events of one page.
const PAGE: u32 = 500;

pub async fn run(
    global: &Global,
    session: &str,
    from: Option<u64>,
    tail: Option<u32>,
    follow: bool,
    format: Format,
) -> Result<Exit, Failure> {
    let format = if global.json { Format::StreamJson } else { format };
    let connection = connected(global).await?;
    let mut transcript = Transcript::default();
    let mut cursor = Seq(from.unwrap_or(1).saturating_sub(1));
    if let Some(tail) = tail {
        let (events, last) = connection.read_before(session, None, tail).await?;
        print_all(&mut transcript, &events, format)?;
        cursor = last;
    } else {
        cursor = history(&connection, session, cursor, &mut transcript, format).await?;
    }
    if !follow {
        return Ok(Exit::Done);
    }
    let mut attach = connection.attach(session, Some(cursor), false).await?;
    loop {
        match attach.next().await? {
            Update::Event(event) => print(&mut transcript, &event, format)?,
            Update::Draining => return Ok(Exit::Done),
            Update::Link(LinkState::Lost { why }) => Out::note(&format!("· the link is lost ({why}); dialling again")),
            Update::Snapshot(_)
            | Update::Delta(_)
            | Update::Progress(_)
            | Update::Countdown(_)
            | Update::Lagged { .. }
            | Update::Link(LinkState::Up) => {}
        }
    }
}

/// Everything after `cursor`, page by page; the last seq printed.
async fn history(
    connection: &Connection,
    session: &str,
    mut cursor: Seq,
    transcript: &mut Transcript,
    format: Format,
) -> Result<Seq, Failure> {
    loop {
        let (events, last) = connection.read_after(session, cursor, PAGE).await?;
        print_all(transcript, &events, format)?;
        match events.last() {
            Some(event) if event.seq < last => cursor = event.seq,
            Some(event) => return Ok(event.seq),
            None => return Ok(cursor),
        }
    }
}

fn print_all(transcript: &mut Transcript, events: &[Event], format: Format) -> Result<(), Failure> {
    events.iter().try_for_each(|event| print(transcript, event, format))
}

fn print(transcript: &mut Transcript, event: &Event, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => transcript.print(event),
        Format::Json | Format::StreamJson => Out::json(&stream::logged(event)),
    }
}

pub async fn attach(global: &Global, session: &str, plain: bool, read_only: bool) -> Result<Exit, Failure> {
    let connection = connected(global).await?;
    if !plain {
        Out::note("the full-screen view is not built yet: this is the plain one (--plain)");
    }
    let access = if read_only { Access::ReadOnly } else { Access::Full };
    plain::run(&connection, session, access).await?;
    Ok(Exit::Done)
}

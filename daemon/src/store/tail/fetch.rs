//! Reading records back from their segments. It never looks at the index.

use std::sync::Arc;

use agentd_types::{Seq, SessionId};
use bytes::Bytes;

use super::{Found, Indexed, Tail, TailError};
use crate::store::file::File;
use crate::store::journal::Place;
use crate::store::limits::{READ_GAP, READ_SPAN};
use crate::store::record::{self, BadRecord, Kind, Spot};
use crate::store::segment::path_of;

impl Tail {
    /// The events of the records a plan names, in order.
    pub(in crate::store) fn fetch(&self, session: SessionId, plan: Vec<Found>) -> Result<Vec<(Seq, Bytes)>, TailError> {
        let (mut events, mut run, mut open) = (Vec::new(), Vec::new(), None);
        for found in plan {
            match found {
                Found::Stored(record) => {
                    if !run.first().zip(run.last()).is_none_or(|(first, last)| is_near(first, last, &record)) {
                        self.fetch_run(session, &std::mem::take(&mut run), &mut open, &mut events)?;
                    }
                    run.push(record);
                }
                Found::Fresh(first, fresh) => {
                    self.fetch_run(session, &std::mem::take(&mut run), &mut open, &mut events)?;
                    events.extend((first.0..).map(Seq).zip(fresh.iter().cloned()));
                }
            }
        }
        self.fetch_run(session, &run, &mut open, &mut events)?;
        Ok(events)
    }

    /// Reads records that lie near each other with one call.
    fn fetch_run(
        &self,
        session: SessionId,
        run: &[Indexed],
        open: &mut Option<(u32, Arc<dyn File>)>,
        events: &mut Vec<(Seq, Bytes)>,
    ) -> Result<(), TailError> {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(()) };
        let segment = first.place.segment;
        let path = || path_of(&self.dir, segment);
        let file = match open {
            Some((number, file)) if *number == segment => Arc::clone(file),
            Some(_) | None => {
                let file = self.files.open(&path()).map_err(|source| TailError::Io { path: path(), source })?;
                *open = Some((segment, Arc::clone(&file)));
                file
            }
        };
        let start = first.place.offset;
        let mut buffer = vec![0; (last.place.offset - start + last.place.len) as usize];
        file.read_at(&mut buffer, u64::from(start)).map_err(|source| TailError::Io { path: path(), source })?;
        let buffer = Bytes::from(buffer);
        for record in run {
            let Place { offset, len, .. } = record.place;
            let from = (offset - start) as usize;
            let bytes = buffer.slice(from..from + len as usize);
            let damaged = |why| TailError::Damaged { session, path: path(), offset, why };
            let (header, found) = record::decode(&bytes, Spot { segment, offset: u64::from(offset) }).map_err(damaged)?;
            if header.kind != (Kind::Events { session, first: record.first, count: record.count }) {
                return Err(damaged(BadRecord::Fields));
            }
            events.extend((record.first.0..).map(Seq).zip(found));
        }
        Ok(())
    }
}

fn is_near(first: &Indexed, last: &Indexed, next: &Indexed) -> bool {
    let (first, last, next) = (first.place, last.place, next.place);
    next.segment == first.segment
        && next.offset.saturating_sub(last.offset + last.len) <= READ_GAP
        && next.offset + next.len - first.offset <= READ_SPAN
}

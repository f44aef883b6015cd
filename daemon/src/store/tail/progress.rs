//! How far apply and checkpoint have come, and who waits for them. It never touches a file.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::PoisonError;
use std::time::Duration;

use agentd_types::{Seq, SessionId};

use super::Tail;
use crate::store::journal::Place;

/// Sessions whose cold copies lag behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// From which event on nobody knows what the cold copy holds for sure.
    pub written: HashMap<SessionId, Seq>,
    pub deleted: HashSet<SessionId>,
}

impl Touched {
    /// The cold copy lags behind from `from` on, or before.
    pub fn write(&mut self, session: SessionId, from: Seq) {
        self.written.entry(session).and_modify(|least| *least = from.min(*least)).or_insert(from);
    }

    pub fn delete(&mut self, session: SessionId) {
        self.written.remove(&session);
        self.deleted.insert(session);
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.written.is_empty() && self.deleted.is_empty()
    }
}

/// Why something behind the journal does not get on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck(pub String);

/// Segments that a checkpoint may free, once everything before its start is behind the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freed {
    pub touched: Touched,
    /// Ascending.
    pub segments: Vec<u32>,
    /// Records up to this one must be in the database first.
    upto: u64,
}

/// Whether somebody waits for a checkpoint.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Wanted {
    #[default]
    No,
    Now,
}

#[derive(Default)]
pub(super) struct Progress {
    full: VecDeque<u32>,
    segment: u32,
    /// The last committed record.
    number: u64,
    touched: Touched,
    /// Why the applier does not get on.
    stuck: Option<String>,
    /// Why the last checkpoint failed.
    failed: Option<String>,
    /// Attempts, successful or not.
    checkpoints: u64,
    /// Appends wait for room: what failed is tried again at once.
    wanted: Wanted,
    over: bool,
}

impl Progress {
    pub(super) fn start(&mut self, full: Vec<u32>, segment: u32, number: u64, touched: Touched) {
        (self.full, self.segment, self.number, self.touched) = (full.into(), segment, number, touched);
    }

    pub(super) fn touch(&mut self, session: SessionId, first: Seq, place: Place) {
        self.touched.write(session, first);
        self.pass(place);
    }

    pub(super) fn touch_deleted(&mut self, session: SessionId, place: Place) {
        self.touched.delete(session);
        self.pass(place);
    }

    /// Only what is published counts: a segment is full when something behind it is.
    fn pass(&mut self, place: Place) {
        self.number = place.number;
        if place.segment != self.segment {
            self.full.push_back(self.segment);
            self.segment = place.segment;
        }
    }

    /// What a checkpoint waits for to change.
    pub(super) fn marks(&self) -> (usize, bool) {
        (self.full.len(), self.touched.is_empty())
    }

    pub(super) fn gets_on(&mut self) {
        self.stuck = None;
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }
}

impl Tail {
    /// Waits until everything committed before this call is in the database, or `patience` is over.
    ///
    /// # Errors
    /// The applier does not get on, or takes too long.
    pub fn wait_applied(&self, patience: Duration) -> Result<(), Stuck> {
        let upto = self.index().queue.pushed();
        self.wait_for(upto, patience)
    }

    fn wait_for(&self, upto: u64, patience: Duration) -> Result<(), Stuck> {
        let waits = |index: &mut super::Index| index.queue.popped() < upto && index.progress.stuck.is_none() && !index.progress.over;
        let mut index = self.index();
        if waits(&mut index) {
            index.queue.want(upto);
            self.work.notify_all();
        }
        let (index, _) = self.progress.wait_timeout_while(index, patience, waits).unwrap_or_else(PoisonError::into_inner);
        match &index.progress.stuck {
            _ if index.queue.popped() >= upto => Ok(()),
            Some(why) => Err(Stuck(why.clone())),
            None => Err(Stuck("the database does not take what was committed in time".to_owned())),
        }
    }

    /// The applier cannot get on, for now.
    pub fn stuck(&self, why: String) {
        self.index().progress.stuck = Some(why);
        self.progress.notify_all();
    }

    /// Why applier or checkpoint do not get on, if they do not.
    #[must_use]
    pub fn trouble(&self) -> Option<Stuck> {
        let index = self.index();
        index.progress.stuck.clone().or_else(|| index.progress.failed.clone()).map(Stuck)
    }

    /// The last committed record.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.index().progress.number
    }

    /// Segments there are.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.index().progress.full.len() + 1
    }

    /// Whether a checkpoint has anything to do.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        let index = self.index();
        !index.progress.touched.is_empty() || !index.progress.full.is_empty()
    }

    /// Waits until a checkpoint is due: `full` segments are, or nothing new came for `settle` and something is behind.
    /// `false`: it is over.
    pub fn wait_for_checkpoint(&self, full: usize, settle: Duration) -> bool {
        let mut index = self.index();
        loop {
            if index.progress.over {
                return false;
            }
            if index.progress.full.len() >= full {
                return true;
            }
            if index.progress.touched.is_empty() {
                index = self.progress.wait(index).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            // Appends do not wake it: whether any came shows afterwards.
            let before = index.progress.number;
            let waits = |index: &mut super::Index| index.progress.full.len() < full && !index.progress.over;
            let (woken, timeout) = self.progress.wait_timeout_while(index, settle, waits).unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() && woken.progress.number == before {
                return true;
            }
            index = woken;
        }
    }

    /// What a checkpoint that starts now brings behind the journal. It belongs to the checkpoint from now on.
    #[must_use]
    pub fn begin_checkpoint(&self) -> Freed {
        let mut index = self.index();
        let upto = index.queue.pushed();
        let touched = std::mem::take(&mut index.progress.touched);
        index.progress.wanted = Wanted::No;
        Freed { touched, segments: index.progress.full.iter().copied().collect(), upto }
    }

    /// Waits until the database holds what the checkpoint began with.
    ///
    /// # Errors
    /// As `wait_applied`.
    pub fn wait_for_begun(&self, begun: &Freed, patience: Duration) -> Result<(), Stuck> {
        self.wait_for(begun.upto, patience)
    }

    /// These are gone.
    pub fn freed(&self, segments: &[u32]) {
        self.index().progress.full.retain(|segment| !segments.contains(segment));
        self.progress.notify_all();
    }

    /// A checkpoint has ended; what it did not bring behind is for the next one.
    pub fn end_checkpoint(&self, outcome: Result<(), (Touched, String)>) {
        let mut index = self.index();
        index.progress.checkpoints += 1;
        match outcome {
            Ok(()) => index.progress.failed = None,
            Err((touched, why)) => {
                index.progress.failed = Some(why);
                let all = &mut index.progress.touched;
                for (session, from) in touched.written {
                    if !all.deleted.contains(&session) {
                        all.write(session, from);
                    }
                }
                all.deleted.extend(touched.deleted);
            }
        }
        drop(index);
        self.progress.notify_all();
    }

    /// Waits until there are fewer than `most` segments.
    ///
    /// # Errors
    /// A checkpoint failed meanwhile, or none made room in time.
    pub fn wait_for_room(&self, most: usize, patience: Duration) -> Result<(), Stuck> {
        let mut index = self.index();
        let before = index.progress.checkpoints;
        if index.progress.full.len() + 1 >= most {
            index.progress.wanted = Wanted::Now;
            self.progress.notify_all();
        }
        let waits = |index: &mut super::Index| {
            let failed = index.progress.checkpoints > before && index.progress.failed.is_some();
            index.progress.full.len() + 1 >= most && !failed && index.progress.stuck.is_none() && !index.progress.over
        };
        let (index, _) = self.progress.wait_timeout_while(index, patience, waits).unwrap_or_else(PoisonError::into_inner);
        if index.progress.full.len() + 1 < most {
            return Ok(());
        }
        let why = index.progress.stuck.as_ref().or(index.progress.failed.as_ref());
        Err(Stuck(why.cloned().unwrap_or_else(|| "nothing made room in time".to_owned())))
    }

    /// Waits `pause`, or less if somebody wants a checkpoint now, or it is over: then the answer is `true`.
    pub fn wait_out(&self, pause: Duration) -> bool {
        let goes_on = |index: &mut super::Index| !index.progress.over && index.progress.wanted == Wanted::No;
        let (index, _) = self.progress.wait_timeout_while(self.index(), pause, goes_on).unwrap_or_else(PoisonError::into_inner);
        index.progress.over
    }

    /// Ends the waiting of applier and checkpoint.
    pub fn end(&self) {
        self.index().progress.over = true;
        self.work.notify_all();
        self.progress.notify_all();
    }
}

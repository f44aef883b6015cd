//! What the shim inherits is reset or closed; its own signals ring a bell that `poll` can wait for. Never used by the daemon.
//!
//! All unsafe code of the room is here: the standard library and rustix have no call for it, and each call is made
//! while the process has one thread.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::pipe::PipeFlags;

/// Where the handler writes.
static BELL: OnceLock<OwnedFd> = OnceLock::new();
/// Whether somebody asked this process to end.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Those that ask a shim to end its tree.
const ASKING: [i32; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// A readable end means: a child has ended, or somebody asks us to end.
pub struct Bell(OwnedFd);

impl Bell {
    /// What `poll` waits for.
    pub fn as_fd(&self) -> &OwnedFd {
        &self.0
    }

    /// Takes what was rung. Who reaps after it misses no child.
    pub fn silence(&self) {
        let mut rung = [0; 64];
        while rustix::io::read(&self.0, &mut rung).is_ok_and(|bytes| bytes > 0) {}
    }

    /// Whether TERM, INT or HUP came.
    pub fn asked(&self) -> bool {
        ASKED.load(Ordering::Relaxed)
    }
}

/// Async-signal-safe: an atomic store, an atomic load, and one write that neither blocks nor touches errno's readers
/// (rustix calls the kernel itself).
extern "C" fn ring(signal: libc::c_int) {
    if ASKING.contains(&signal) {
        ASKED.store(true, Ordering::Relaxed);
    }
    if let Some(bell) = BELL.get() {
        // Full means it rings already.
        let _ = rustix::io::write(bell, b"!");
    }
}

/// Closes every descriptor but the three pipes: whoever started the daemon may have left it some, and a tree would hold
/// them open. To be called before anything is opened.
pub fn close_inherited() {
    // SAFETY: nothing of this process owns a descriptor above 2 yet; the flags are none.
    if unsafe { libc::close_range(3, libc::c_uint::MAX, 0) } == 0 {
        return;
    }
    // A kernel older than 5.9.
    for fd in 3..4096 {
        // SAFETY: as above; one that is not open is an error and nothing else.
        unsafe { libc::close(fd) };
    }
}

/// Resets what was inherited (ignored signals, the mask), for the tree as well, and hangs up the bell. SIGPIPE stays
/// ignored here: the daemon may be gone; the standard library gives it back to the child.
///
/// # Errors
/// No pipe, or the system refuses.
pub fn take_over() -> io::Result<Bell> {
    let (hears, rings) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    BELL.set(rings).map_err(|_| io::Error::other("signals are taken over once"))?;
    for signal in 1..=libc::SIGRTMAX() {
        // Fails for those that cannot be changed (KILL, STOP, the C library's own): they are as they should be.
        if signal != libc::SIGPIPE {
            // SAFETY: SIG_DFL is a valid disposition; no other thread is there to be surprised.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    for signal in ASKING.into_iter().chain([libc::SIGCHLD]) {
        // SAFETY: all zeroes is a valid `sigaction` (an empty mask, no flags, the default disposition).
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = ring as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_NOCLDSTOP;
        // SAFETY: `action` is whole, its handler async-signal-safe and static.
        if unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // SAFETY: `none` is written by sigemptyset before it is read.
    let masked = unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut())
    };
    if masked == 0 { Ok(Bell(hears)) } else { Err(io::Error::last_os_error()) }
}

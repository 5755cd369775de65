//! Where threads may run: the processors allowed to us, and whether we may choose among them.

/// What the scheduler allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// How many processors this process may run on.
    pub(super) allowed: u32,
    /// Whether it may pin itself to some of them.
    pub(super) may_pin: bool,
}

/// Asks for the processors allowed to this thread, and for leave to run on just those; absent where it cannot be asked.
#[cfg(target_os = "linux")]
pub(super) fn placement() -> Option<Placement> {
    // On a thread of its own, as a thread keeps what it has asked for.
    let asked = std::thread::spawn(|| {
        let allowed = rustix::thread::sched_getaffinity(None).ok()?;
        let may_pin = rustix::thread::sched_setaffinity(None, &allowed).is_ok();
        Some(Placement { allowed: allowed.count(), may_pin })
    });
    asked.join().ok().flatten()
}

/// Only Linux is asked.
#[cfg(not(target_os = "linux"))]
pub(super) fn placement() -> Option<Placement> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn where_it_can_be_asked_some_processor_is_allowed() {
        if let Some(placement) = super::placement() {
            assert!(placement.allowed >= 1 && super::super::cpu::cores() <= placement.allowed as usize);
        }
    }
}

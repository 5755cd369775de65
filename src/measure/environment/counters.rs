//! Whether the processor's performance counters can be read: by opening the counter of instructions and looking
//! whether it counts.

use std::fs::File;
use std::io::{self, Read as _};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counters {
    Available,
    /// The machine has none, or its hypervisor hides them.
    None,
    NotPermitted,
}

impl Counters {
    pub(super) fn word(self) -> &'static str {
        match self {
            Counters::Available => "available",
            Counters::None => "none",
            Counters::NotPermitted => "not permitted",
        }
    }
}

/// `EPERM` and `EACCES`: the system call is filtered, or the counters are closed to ordinary users.
const REFUSED: [i32; 2] = [1, 13];

/// What an error of opening a counter means; other codes say that there is no such counter.
fn refusal(code: Option<i32>) -> Counters {
    if code.is_some_and(|code| REFUSED.contains(&code)) { Counters::NotPermitted } else { Counters::None }
}

/// Opens a counter; absent on systems that we do not know how to ask.
pub(super) fn counters() -> Option<Counters> {
    let mut counter = match open_instruction_counter()? {
        Ok(counter) => counter,
        Err(error) => return Some(refusal(error.raw_os_error())),
    };
    // Under some hypervisors a counter opens and never moves.
    let mut count = [0; 8];
    let counts = counter.read_exact(&mut count).is_ok() && u64::from_ne_bytes(count) > 0;
    Some(if counts { Counters::Available } else { Counters::None })
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn open_instruction_counter() -> Option<io::Result<File>> {
    None
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[expect(
    unsafe_code,
    reason = "opening a performance counter has no safe wrapper in the standard library or in rustix"
)]
fn open_instruction_counter() -> Option<io::Result<File>> {
    use std::ffi::{c_int, c_long};
    use std::os::fd::FromRawFd as _;

    /// The number of the system call `perf_event_open`.
    const OPEN: c_long = if cfg!(target_arch = "x86_64") { 298 } else { 241 };
    /// `PERF_COUNT_HW_INSTRUCTIONS`, of the kind `PERF_TYPE_HARDWARE`, which is zero.
    const INSTRUCTIONS: u64 = 1;
    /// `exclude_kernel` and `exclude_hv`: what ordinary users may count.
    const OWN_CODE_ONLY: u64 = (1 << 5) | (1 << 6);
    /// `PERF_FLAG_FD_CLOEXEC`: worker processes do not inherit it.
    const CLOSE_ON_EXEC: c_long = 1 << 3;

    /// The head of `perf_event_attr`, its version 0: the kernel takes every later field as zero.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        kind: u32,
        size: u32,
        config: u64,
        sample_period: u64,
        sample_type: u64,
        read_format: u64,
        flags: u64,
        wakeup_events: u32,
        breakpoint_type: u32,
        config_1: u64,
    }

    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
    }
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        config: INSTRUCTIONS,
        flags: OWN_CODE_ONLY,
        ..Attributes::default()
    };
    let (this_thread, any_cpu, no_group): (c_long, c_long, c_long) = (0, -1, -1);
    // SAFETY: the arguments are those of `perf_event_open`, each as wide as a register: a pointer to attributes that
    // live until the call returns and whose `size` is theirs, a thread, a processor, a group and flags. The kernel reads
    // the attributes, writes at most their `size`, and keeps no pointer.
    let result = unsafe { syscall(OPEN, &raw const attributes, this_thread, any_cpu, no_group, CLOSE_ON_EXEC) };
    Some(match c_int::try_from(result) {
        // SAFETY: the kernel has just made this descriptor for us, and nobody else knows of it.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { File::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_an_absence() {
        assert_eq!([Some(1), Some(13)].map(refusal), [Counters::NotPermitted; 2]);
        assert_eq!([Some(2), Some(19), Some(38), Some(95), None].map(refusal), [Counters::None; 5]);
    }

    #[test]
    fn asking_twice_gives_the_same_answer() {
        assert_eq!(counters(), counters());
    }
}

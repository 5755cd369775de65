//! How much memory a stretch of work holds at its peak, by an allocator that counts.
//!
//! The count is exact and the same on every run, other than the resident size of a process, which depends on the
//! system and on what ran before.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

static TALLY: Tally = Tally::new();

/// The system's allocator, counting. A program that wants peak memory measured makes it its global allocator.
#[derive(Debug)]
pub struct CountingAllocator;

#[expect(unsafe_code, reason = "an allocator is an unsafe trait")]
// SAFETY: every call is handed to the system's allocator unchanged; the counters touch no memory of the caller.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TALLY.hold(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        TALLY.hold(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same here.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        TALLY.hold(size as i64 - layout.size() as i64);
        // SAFETY: the caller keeps the contract of `realloc`, which is the same here.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        TALLY.hold(-(layout.size() as i64));
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same here.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Runs `work` and gives, beside its result, the most bytes it held at one time on top of what was held before;
/// absent where [`CountingAllocator`] is not the global allocator. Only one stretch at a time can be watched.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    TALLY.peak(work)
}

/// Has the threads of this process share what they free, and keeps it for them: for work that takes and frees much, and times
/// nothing. Where the allocator is glibc's, whose threads else have a heap each and give back what they soon take again, that
/// is a fifth of the memory and a third of the pages that the system hands out (`mallopt(3)`); elsewhere it is nothing.
pub fn share_and_keep() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const HEAPS: libc::c_int = 2;
        const NEVER: libc::c_int = libc::c_int::MAX;
        /// The largest that glibc takes.
        const APART_FROM: libc::c_int = 32 << 20;
        #[expect(unsafe_code, reason = "a setting of the C library")]
        // SAFETY: the calls take numbers, and glibc does nothing where it cannot take one.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, HEAPS);
            libc::mallopt(libc::M_TRIM_THRESHOLD, NEVER);
            libc::mallopt(libc::M_MMAP_THRESHOLD, APART_FROM);
        }
    }
}

/// Bytes held since a stretch began, and the most of them at one time.
///
/// Outside of a stretch nothing is counted: to count takes longer than most allocations, the more so with several threads.
struct Tally {
    state: AtomicU8,
    allocated: AtomicI64,
    peak: AtomicI64,
}

/// No allocation was seen yet, so nobody counts.
const SILENT: u8 = 0;

/// There is an allocator that counts, and nothing to be counted.
const IDLE: u8 = 1;

const WATCHING: u8 = 2;

impl Tally {
    const fn new() -> Tally {
        Tally { state: AtomicU8::new(SILENT), allocated: AtomicI64::new(0), peak: AtomicI64::new(0) }
    }

    fn hold(&self, bytes: i64) {
        match self.state.load(Ordering::Relaxed) {
            WATCHING => {
                let allocated = self.allocated.fetch_add(bytes, Ordering::Relaxed) + bytes;
                self.peak.fetch_max(allocated, Ordering::Relaxed);
            }
            SILENT => self.state.store(IDLE, Ordering::Relaxed),
            _ => {}
        }
    }

    fn peak<T>(&self, work: impl FnOnce() -> T) -> (T, Option<u64>) {
        // A program has allocated something by now, unless nobody counts.
        if self.state.load(Ordering::Relaxed) == SILENT {
            return (work(), None);
        }
        self.allocated.store(0, Ordering::Relaxed);
        self.peak.store(0, Ordering::Relaxed);
        self.state.store(WATCHING, Ordering::SeqCst);
        let result = work();
        self.state.store(IDLE, Ordering::SeqCst);
        (result, u64::try_from(self.peak.load(Ordering::Relaxed)).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_most_that_was_held_at_one_time() {
        let tally = Tally::new();
        tally.hold(9000);
        tally.hold(-8000);
        let (result, bytes) = tally.peak(|| {
            tally.hold(500);
            tally.hold(-500);
            tally.hold(-500);
            tally.hold(200);
            "done"
        });
        assert_eq!((result, bytes), ("done", Some(500)));
        assert_eq!(tally.peak(|| tally.hold(-500)).1, Some(0));
        let silent = Tally::new();
        assert_eq!(silent.peak(|| ()).1, None);
    }
}

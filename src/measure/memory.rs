//! How much memory a stretch of work holds at its peak, by an allocator that counts.
//!
//! The count is exact and the same on every run, other than the resident size of a process, which depends on the
//! system and on what ran before.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

static TALLY: Tally = Tally { held: AtomicI64::new(0), peak: AtomicI64::new(0) };

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

/// Bytes held, and the most that were held since a stretch began.
struct Tally {
    held: AtomicI64,
    peak: AtomicI64,
}

impl Tally {
    fn hold(&self, bytes: i64) {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(held, Ordering::Relaxed);
    }

    fn peak<T>(&self, work: impl FnOnce() -> T) -> (T, Option<u64>) {
        let before = self.held.load(Ordering::Relaxed);
        self.peak.store(before, Ordering::Relaxed);
        let result = work();
        let peak = self.peak.load(Ordering::Relaxed) - before;
        // A program holds something at any time, so a count of nothing means that nobody counts.
        (result, u64::try_from(peak).ok().filter(|_| before > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_most_that_was_held_at_one_time() {
        let tally = Tally { held: AtomicI64::new(1000), peak: AtomicI64::new(9000) };
        let (result, bytes) = tally.peak(|| {
            tally.hold(500);
            tally.hold(-500);
            tally.hold(200);
            "done"
        });
        assert_eq!((result, bytes), ("done", Some(500)));
        let silent = Tally { held: AtomicI64::new(0), peak: AtomicI64::new(0) };
        assert_eq!(silent.peak(|| ()).1, None);
    }
}

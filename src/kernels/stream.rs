//! Stores that bypass the cache, and lines that are fetched into it before they are needed.
//!
//! Usual stores to an array that does not stay in the cache read its old lines before they overwrite them. Streaming stores
//! save that read, but lose where the array would have stayed in the cache, so they are a variant for the tuner. Targets
//! other than x86-64 use usual stores, and fetch nothing ahead.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "no safe store goes past the cache; the fusion gate takes 0.7 of the time with them")
)]

use super::wide::Width;

/// Hints of x86-64, to L1.
pub(super) const READ: i32 = 3;
pub(super) const WRITE: i32 = 7;

/// Asks for the line of an address, which need not be valid.
#[inline(always)]
pub(super) fn prefetch<T, const HINT: i32>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has SSE, and a hint does nothing where the address or the CPU does not allow it.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<HINT>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Elements stored together: 64 bytes of `f32`, one cache line.
pub(super) const LINE: usize = 16;

/// Whole lines of an array, each aligned to its size.
pub(super) struct Lines<'a, T>(&'a mut [[T; LINE]]);

/// The elements before the first whole line, the lines, and the elements after them.
#[inline(always)]
pub(super) fn lines<T>(target: &mut [T]) -> (&mut [T], Lines<'_, T>, &mut [T]) {
    // Where the address cannot be aligned, there are no lines.
    let before = target.as_ptr().align_offset(size_of::<[T; LINE]>()).min(target.len());
    let (before, rest) = target.split_at_mut(before);
    let (lines, after) = rest.as_chunks_mut::<LINE>();
    (before, Lines(lines), after)
}

impl<T: Copy> Lines<'_, T> {
    #[inline(always)]
    pub(super) fn elements(&self) -> usize {
        self.0.len() * LINE
    }

    /// Stores the given lines past the cache. Call [`finish`] after the last.
    #[inline(always)]
    pub(super) fn store(self, width: Width, lines: impl Iterator<Item = [T; LINE]>) {
        for (slot, line) in self.0.iter_mut().zip(lines) {
            #[cfg(target_arch = "x86_64")]
            if size_of::<[T; LINE]>() == 64 {
                if width.is_avx512() {
                    // SAFETY: the width is proof of AVX-512; `lines` aligned the slot, whose size was checked.
                    unsafe { x86::store_line(slot, line) }
                } else {
                    // SAFETY: `lines` aligned the slot, whose size was checked.
                    unsafe { x86::store_quarters(slot, line) }
                }
                continue;
            }
            let _ = width;
            *slot = line;
        }
    }
}

/// Makes the stores visible before any that follow, also to other threads.
#[inline(always)]
pub(super) fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has SSE.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::LINE;
    use std::arch::x86_64::{__m128, __m512, _mm_stream_ps, _mm512_stream_ps};

    /// # Safety A line has 64 bytes, `slot` can be written and lies at a multiple of 64.
    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(super) unsafe fn store_line<T: Copy>(slot: *mut [T; LINE], line: [T; LINE]) {
        // SAFETY: the caller promises that both have 64 bytes; any bits are a vector.
        let line: __m512 = unsafe { std::mem::transmute_copy(&line) };
        // SAFETY: the caller promises room and alignment.
        unsafe { _mm512_stream_ps(slot.cast(), line) }
    }

    /// # Safety A line has 64 bytes, `slot` can be written and lies at a multiple of 16.
    #[inline(always)]
    pub(super) unsafe fn store_quarters<T: Copy>(slot: *mut [T; LINE], line: [T; LINE]) {
        // SAFETY: the caller promises that both have 64 bytes; any bits are vectors.
        let line: [__m128; 4] = unsafe { std::mem::transmute_copy(&line) };
        for (index, quarter) in line.into_iter().enumerate() {
            // SAFETY: the caller promises room for four of them and alignment; every x86-64 has SSE.
            unsafe { _mm_stream_ps(slot.cast::<f32>().add(index * 4), quarter) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Copy + PartialEq + std::fmt::Debug>(width: Width, start: usize, zero: T, number: impl Fn(usize) -> T) {
        let mut values = [zero; 5 * LINE];
        let (before, lines, _) = lines(&mut values[start..]);
        let (first, elements) = (start + before.len(), lines.elements());
        assert!(before.len() < LINE && elements >= 2 * LINE);
        lines.store(width, (0..).map(|line| std::array::from_fn(|index| number(line * LINE + index))));
        finish();
        assert_eq!(values[first..].as_ptr().addr() % size_of::<[T; LINE]>(), 0);
        for (place, &value) in values.iter().enumerate() {
            let inside = (first..first + elements).contains(&place);
            assert_eq!(value, if inside { number(place - first) } else { zero });
        }
    }

    #[test]
    fn lines_are_stored_and_nothing_else() {
        for width in Width::all() {
            for start in 0..LINE {
                check(width, start, 0.0f32, |index| index as f32 + 0.5);
                check(width, start, 0u16, |index| index as u16 + 1);
            }
        }
        assert_eq!(lines::<f32>(&mut []).1.elements(), 0);
    }
}

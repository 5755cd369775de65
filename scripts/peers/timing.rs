//! Buffers, blocks and medians.

use std::alloc::{Layout, alloc};
use std::hint::black_box;
use std::ops::{Deref, DerefMut};
use std::time::Instant;

/// Samples of a block.
const SAMPLES: usize = 12;
/// How long a call is repeated before they are taken, in seconds: after work on other data the shared cache takes some
/// forty calls of 40 us to settle.
const SETTLING_SECONDS: f64 = 3e-3;
/// The least a sample lasts, in seconds.
const SAMPLE_SECONDS: f64 = 30e-6;
/// The size of a huge page, at a multiple of which buffers begin.
const HUGE_PAGE: usize = 1 << 21;

/// Random numbers from a seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.next() >> 40) as f32 / (1u32 << 24) as f32)
    }
}

/// Numbers in huge pages where the system has them. It lives as long as the process.
pub struct Buffer(&'static mut [f32]);

impl Buffer {
    pub fn random(length: usize, random: &mut Random) -> Buffer {
        let layout = Layout::from_size_align((length * 4).next_multiple_of(HUGE_PAGE), HUGE_PAGE).expect("a sane size");
        // SAFETY: the layout is not empty; the memory is large enough, aligned, written before it is read, and never
        // given back. Huge pages are asked for before the first touch.
        let values = unsafe {
            let memory = alloc(layout).cast::<f32>();
            assert!(!memory.is_null(), "out of memory");
            #[cfg(target_os = "linux")]
            madvise(memory.cast(), layout.size(), MADV_HUGEPAGE);
            (0..length).for_each(|place| memory.add(place).write(random.between(-1.0, 1.0)));
            std::slice::from_raw_parts_mut(memory, length)
        };
        Buffer(values)
    }
}

#[cfg(target_os = "linux")]
const MADV_HUGEPAGE: i32 = 14;

#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn madvise(address: *mut u8, length: usize, advice: i32) -> i32;
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        self.0
    }
}

/// A call with how often it is made a sample.
pub struct Timed<'a> {
    call: Box<dyn FnMut() + 'a>,
    calls: usize,
}

impl<'a> Timed<'a> {
    pub fn new(mut call: impl FnMut() + 'a) -> Timed<'a> {
        (0..3).for_each(|_| call());
        let mut calls = 1;
        while sample(&mut call, calls) < SAMPLE_SECONDS && calls < 1 << 20 {
            calls *= 2;
        }
        Timed { call: Box::new(call), calls }
    }

    /// The median time of a call in a block.
    pub fn block(&mut self) -> f64 {
        let start = Instant::now();
        while start.elapsed().as_secs_f64() < SETTLING_SECONDS {
            (self.call)();
        }
        let mut times: Vec<f64> = (0..SAMPLES).map(|_| sample(&mut self.call, self.calls)).collect();
        median(&mut times) / self.calls as f64
    }
}

fn sample(call: &mut dyn FnMut(), calls: usize) -> f64 {
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed().as_secs_f64()
}

/// The middle one; it sorts them.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The copy that kernels which move values are held against.
#[inline(never)]
pub fn copy(from: &[f32], to: &mut [f32]) {
    black_box(to).copy_from_slice(black_box(from));
}

/// The triad `c = a + b / 2`.
#[inline(never)]
pub fn triad(a: &[f32], b: &[f32], c: &mut [f32]) {
    for ((c, a), b) in black_box(c).iter_mut().zip(black_box(a)).zip(black_box(b)) {
        *c = a + 0.5 * b;
    }
}

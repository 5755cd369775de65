//! Turns a kernel into a workload: its result is checked on poisoned outputs before it is timed.

use rayon::ThreadPoolBuilder;

use crate::MeasureError;
use crate::memory::{self, Buffer};
use crate::workload::{Calibrator, Class, Companion, Limit, Order, Prepared, Workload};
use sprag_base::stats::random::SplitMix64;
use sprag_kernels::{Form, KernelError};
use sprag_model::{Benchmark, Parity, ParityStatus, Role};

#[derive(Clone, Copy, Debug)]
pub(super) struct Make<'a> {
    pub(super) form: Form<()>,
    pub(super) seed: u64,
    /// The configuration of the fast form; the first where absent.
    pub(super) configuration: Option<&'a str>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum MakeError {
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("it has no configuration `{0}`")]
    Configuration(String),
    #[error("cannot start its threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

impl Make<'_> {
    /// The form in the requested configuration.
    pub(super) fn configured<C: Copy>(&self, candidates: &[C], name: fn(C) -> String) -> Result<Form<C>, MakeError> {
        let Some(wanted) = self.configuration else { return Ok(self.form.untuned(candidates)) };
        let place = candidates.iter().position(|candidate| name(*candidate) == wanted);
        let place = place.ok_or_else(|| MakeError::Configuration(wanted.to_owned()))?;
        Ok(self.form.untuned(&candidates[place..]))
    }
}

pub(super) fn names<C: Copy>(candidates: &[C], name: fn(C) -> String) -> Vec<String> {
    candidates.iter().map(|candidate| name(*candidate)).collect()
}

pub(super) fn threads(form: Form<()>) -> u32 {
    if form == Form::Parallel(()) { 2 } else { 1 }
}

/// Makes a kernel on inputs that follow from a seed.
pub(super) type Maker = fn(&Make<'_>) -> Result<Runnable, MakeError>;

/// One call of a kernel on its inputs; it writes all results into the slice.
type Call = Box<dyn FnMut(&mut [f32]) -> Result<(), KernelError> + Send>;

pub(super) struct Runnable {
    pub(super) length: usize,
    /// The content of the slice before the first call, for a kernel that changes a part of it in place.
    pub(super) before: Option<Buffer>,
    pub(super) call: Call,
}

impl Runnable {
    /// A kernel that writes all of its `length` elements.
    pub(super) fn new(
        length: usize,
        call: impl FnMut(&mut [f32]) -> Result<(), KernelError> + Send + 'static,
    ) -> Result<Runnable, MakeError> {
        Ok(Runnable { length, before: None, call: Box::new(call) })
    }

    /// A slice to call it on. Without content it is poison, so that elements that are not written show.
    fn output(&self) -> Buffer {
        match &self.before {
            Some(before) => Buffer::with(self.length, |position| before[position]),
            None => Buffer::filled(self.length, f32::NAN),
        }
    }
}

#[derive(Clone)]
pub(super) struct CpuKernel {
    pub(super) name: &'static str,
    pub(super) params: Vec<(&'static str, String)>,
    /// Higher where the work or the meaning of its ratio has changed, which starts new series.
    pub(super) version: u32,
    pub(super) work: (&'static str, f64),
    /// The largest difference of the fast form from the reference, absolute and relative alike; 0 requires equal values.
    pub(super) tolerance: f64,
    pub(super) forms: &'static [Form<()>],
    pub(super) class: Class,
    pub(super) companion: Calibrator,
    pub(super) limit: Option<Limit>,
    pub(super) configurations: Vec<String>,
    pub(super) make: Maker,
}

impl CpuKernel {
    pub(super) fn workload(&self, suite: &str, form: Form<()>) -> Result<Workload, MeasureError> {
        let mut params = self.params.clone();
        if threads(form) > 1 {
            params.push(("threads", threads(form).to_string()));
        }
        let variant = if form == Form::Reference { "reference" } else { "fast" };
        let (make, tolerance) = (self.make, self.tolerance);
        Ok(Workload {
            benchmark: Benchmark { version: self.version, ..Benchmark::new(suite, self.name, &params, variant)? },
            // On a shared machine a second thread waits for the other users of its core.
            role: if threads(form) > 1 { Role::Reported } else { Role::Tracked },
            class: self.class,
            threads: threads(form),
            work: self.work,
            companion: Companion::Calibration(self.companion),
            limit: self.limit,
            configurations: if form == Form::Fast(()) { self.configurations.clone() } else { Vec::new() },
            tuned_with: None,
            prepare: Box::new(move |order| prepare(make, form, tolerance, order).map_err(|error| error.to_string())),
        })
    }

    pub(super) fn control(&self, suite: &str) -> Result<Workload, MeasureError> {
        Ok(self.workload(suite, Form::Fast(()))?.control(suite, self.name)?)
    }
}

fn prepare(make: Maker, form: Form<()>, tolerance: f64, order: &Order<'_>) -> Result<Prepared, MakeError> {
    let wanted = Make { form, seed: order.seed, configuration: order.configuration };
    let (made, peak_bytes) = memory::peak(|| {
        let mut made = make(&wanted)?;
        if threads(form) > 1 {
            let pool = ThreadPoolBuilder::new().num_threads(threads(form) as usize).build()?;
            let mut call = made.call;
            made.call = Box::new(move |output| pool.install(|| call(output)));
        }
        let mut output = made.output();
        (made.call)(&mut output)?;
        Ok::<_, MakeError>((made, output))
    });
    let (mut made, mut output) = made?;
    let parity =
        if order.check { parity(make, &wanted, tolerance, &mut made, &output)? } else { crate::parity::unchecked() };
    let mut call = made.call;
    let call = move || {
        let result = call(std::hint::black_box(&mut output));
        result.expect("a call that succeeded when it was checked succeeds again on the same inputs");
    };
    Ok(Prepared { parity, peak_bytes, call: Box::new(call), meter: None })
}

fn parity(
    make: Maker,
    wanted: &Make<'_>,
    tolerance: f64,
    made: &mut Runnable,
    output: &[f32],
) -> Result<Parity, MakeError> {
    if wanted.form == Form::Reference {
        let mut second = made.output();
        (made.call)(&mut second)?;
        return Ok(repeatable(output, &second));
    }
    let mut reference = make(&Make { form: Form::Reference, seed: wanted.seed, configuration: None })?;
    let mut expected = reference.output();
    (reference.call)(&mut expected)?;
    Ok(crate::parity::compare(output, &expected, tolerance))
}

/// Nothing here checks the reference itself (the golden cases do that): it must write all its output, and the same twice.
fn repeatable(first: &[f32], second: &[f32]) -> Parity {
    let same = first.iter().zip(second).all(|(a, b)| a.to_bits() == b.to_bits() && !a.is_nan());
    let status = if same { ParityStatus::Reference } else { ParityStatus::Mismatch };
    Parity { status, max_abs_error: None, tolerance: None }
}

pub(super) fn normal(count: usize, seed: u64) -> Buffer {
    let mut random = SplitMix64::new(seed);
    Buffer::with(count, |_| random.normal() as f32)
}

pub(super) fn uniform(count: usize, low: f64, high: f64, seed: u64) -> Buffer {
    let mut random = SplitMix64::new(seed);
    Buffer::with(count, |_| (low + (high - low) * random.uniform()) as f32)
}

/// `count` distinct tile ids below `tiles`, drawn at random and sorted.
pub(crate) fn tile_ids(tiles: u32, count: usize, seed: u64) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..tiles).collect();
    SplitMix64::new(seed).shuffle(&mut ids);
    ids.truncate(count);
    ids.sort_unstable();
    ids
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const ORDER: Order<'_> = Order { seed: 1, configuration: None, check: true, is_twin: false };

    fn half_written(_: &Make<'_>) -> Result<Runnable, MakeError> {
        Runnable::new(8, |output| {
            let half = output.len() / 2;
            output[..half].fill(1.0);
            Ok(())
        })
    }

    #[test]
    fn a_configuration_is_selected_by_name_or_refused() {
        let make = |configuration| Make { form: Form::Fast(()), seed: 1, configuration };
        let form = |name| make(name).configured(&[8, 16], |number| format!("block={number}")).ok();
        let expected = (Some(Form::Fast(8)), Some(Form::Fast(16)), None);
        assert_eq!((form(None), form(Some("block=16")), form(Some("block=9"))), expected);
        assert_eq!(names(&[8, 16], |number| format!("block={number}")), ["block=8", "block=16"]);
    }

    fn in_place(_: &Make<'_>) -> Result<Runnable, MakeError> {
        let made = Runnable::new(4, |output| {
            output[1] = 5.0;
            Ok(())
        })?;
        Ok(Runnable { before: Some(Buffer::filled(4, 2.0)), ..made })
    }

    fn wrong_when_fast(wanted: &Make<'_>) -> Result<Runnable, MakeError> {
        let value = if wanted.form == Form::Fast(()) { 1.01 } else { 1.0 };
        Runnable::new(8, move |output| {
            output.fill(value);
            Ok(())
        })
    }

    #[test]
    fn output_that_is_not_written_is_a_mismatch() {
        for form in [Form::Reference, Form::Fast(())] {
            let prepared = prepare(half_written, form, 1e-5, &ORDER).expect("the kernel runs");
            let expected = if form == Form::Reference { ParityStatus::Mismatch } else { ParityStatus::Exact };
            // Both forms leave the same half unwritten; only the check of the reference itself finds that.
            assert_eq!(prepared.parity.status, expected);
        }
        let prepared = prepare(in_place, Form::Reference, 0.0, &ORDER).expect("the kernel runs");
        assert_eq!(prepared.parity.status, ParityStatus::Reference);
    }

    #[test]
    fn a_wrong_fast_form_is_a_mismatch_unless_the_check_is_left_out() {
        let status = |tolerance, order| {
            prepare(wrong_when_fast, Form::Fast(()), tolerance, order).map(|one| one.parity.status).ok()
        };
        assert_eq!(status(1e-5, &ORDER), Some(ParityStatus::Mismatch));
        assert_eq!(status(0.1, &ORDER), Some(ParityStatus::Within));
        assert_eq!(status(1e-5, &Order { check: false, ..ORDER }), Some(ParityStatus::Unchecked));
    }

    #[test]
    fn ids_are_distinct_sorted_and_follow_from_the_seed() {
        let ids = tile_ids(256, 32, 124);
        assert_eq!(ids.len(), 32);
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]) && ids.iter().all(|id| *id < 256));
        assert_eq!(ids, tile_ids(256, 32, 124));
        assert_ne!(ids, tile_ids(256, 32, 125));
        assert!(uniform(100, 0.1, 0.9, 1).iter().all(|value| (0.1..0.9).contains(value)));
    }

    #[test]
    fn only_the_parallel_form_runs_in_a_pool_of_two_threads() {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        fn counted(_: &Make<'_>) -> Result<Runnable, MakeError> {
            Runnable::new(1, |_| {
                let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
                THREADS.store(threads, Ordering::Relaxed);
                Ok(())
            })
        }
        let threads = |form| {
            prepare(counted, form, 0.0, &Order { check: false, ..ORDER }).expect("the kernel runs");
            THREADS.load(Ordering::Relaxed)
        };
        assert_eq!([Form::Fast(()), Form::Parallel(())].map(threads), [1, 2]);
    }
}

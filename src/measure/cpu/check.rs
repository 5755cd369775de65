//! From a kernel to a workload: its result is checked on poisoned outputs before anyone times it.

use crate::kernels::KernelError;
use crate::measure::MeasureError;
use crate::measure::workload::{self, Prepared, Workload};
use crate::model::benchmark::{Benchmark, Parity, ParityStatus};

/// Which form of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The plain one.
    Reference,
    /// The quick one.
    Fast,
}

/// One call of a kernel on inputs it holds; it writes all it computes into the slice.
pub(super) type Call = Box<dyn FnMut(&mut [f32]) -> Result<(), KernelError>>;

/// A kernel ready to be run.
pub(super) struct Runnable {
    /// How many elements it writes.
    pub(super) length: usize,
    /// One call.
    pub(super) call: Call,
}

/// A kernel at one size.
pub(super) struct Kernel {
    /// Its name.
    pub(super) name: &'static str,
    /// Its sizes.
    pub(super) params: Vec<(&'static str, String)>,
    /// The throughput metric and the work of a call.
    pub(super) work: (&'static str, f64),
    /// How far the fast form may be from the reference, absolute and relative alike; 0 asks for equal values.
    pub(super) tolerance: f64,
    /// Whether there is a fast form.
    pub(super) has_fast: bool,
    /// Makes it on inputs that follow from a seed.
    pub(super) make: fn(Form, u64) -> Result<Runnable, KernelError>,
}

impl Kernel {
    /// The workload of one form under the name of a suite.
    pub(super) fn workload(&self, suite: &str, form: Form) -> Result<Workload, MeasureError> {
        let variant = match form {
            Form::Reference => "reference",
            Form::Fast => "fast",
        };
        let (make, tolerance) = (self.make, self.tolerance);
        Ok(Workload {
            benchmark: Benchmark::new(suite, self.name, &self.params, variant)?,
            work: self.work,
            prepare: Box::new(move |seed| prepare(make, form, tolerance, seed).map_err(|error| error.to_string())),
        })
    }
}

fn prepare(
    make: fn(Form, u64) -> Result<Runnable, KernelError>,
    form: Form,
    tolerance: f64,
    seed: u64,
) -> Result<Prepared, KernelError> {
    let Runnable { length, mut call } = make(form, seed)?;
    let mut output = vec![f32::NAN; length];
    call(&mut output)?;
    let parity = match form {
        Form::Fast => {
            let mut reference = make(Form::Reference, seed)?;
            let mut expected = vec![f32::NAN; length];
            (reference.call)(&mut expected)?;
            workload::compare(&output, &expected, tolerance)
        }
        Form::Reference => {
            let mut again = vec![f32::NAN; length];
            call(&mut again)?;
            repeatable(&output, &again)
        }
    };
    let call = move || {
        let result = call(std::hint::black_box(&mut output));
        result.expect("a call that succeeded when it was checked succeeds again on the same inputs");
    };
    Ok(Prepared { parity, call: Box::new(call) })
}

/// The reference has nobody to be compared with here (the golden cases do that): it must write all its output, and
/// the same again.
fn repeatable(first: &[f32], second: &[f32]) -> Parity {
    let same = first.iter().zip(second).all(|(a, b)| a.to_bits() == b.to_bits() && !a.is_nan());
    let status = if same { ParityStatus::Reference } else { ParityStatus::Mismatch };
    Parity { status, max_abs_error: None, tolerance: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half_written(_: Form, _: u64) -> Result<Runnable, KernelError> {
        let call = |output: &mut [f32]| {
            let half = output.len() / 2;
            output[..half].fill(1.0);
            Ok(())
        };
        Ok(Runnable { length: 8, call: Box::new(call) })
    }

    fn wrong_when_fast(form: Form, _: u64) -> Result<Runnable, KernelError> {
        let value = if form == Form::Fast { 1.01 } else { 1.0 };
        let call = move |output: &mut [f32]| {
            output.fill(value);
            Ok(())
        };
        Ok(Runnable { length: 8, call: Box::new(call) })
    }

    #[test]
    fn output_that_is_not_written_is_a_mismatch() {
        for form in [Form::Reference, Form::Fast] {
            let prepared = prepare(half_written, form, 1e-5, 1).expect("the kernel runs");
            let expected = if form == Form::Reference { ParityStatus::Mismatch } else { ParityStatus::Exact };
            // Half a fast result beside half a reference is equal; the reference's own check is what tells.
            assert_eq!(prepared.parity.status, expected);
        }
    }

    #[test]
    fn a_fast_form_that_is_off_is_a_mismatch() {
        let status = |tolerance| prepare(wrong_when_fast, Form::Fast, tolerance, 1).map(|one| one.parity.status);
        assert_eq!(status(1e-5), Ok(ParityStatus::Mismatch));
        assert_eq!(status(0.1), Ok(ParityStatus::Within));
    }
}

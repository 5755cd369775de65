//! Checks that a form of an operation computes what the CPU reference computes, before it is timed.
//!
//! Outputs are poisoned, so that missing results are NaN; inputs are random. Every form and configuration is checked at
//! uneven shapes and at the timed shape: there against the CPU where that is fast, else against the plain CUDA form, which
//! the small shapes have verified.

use std::rc::Rc;

use super::DeviceError;
use super::device::{CheckResult, Device};
use super::instance::{Instance, Supply};
use super::operation::{ExpectedBuffer, GpuForm, Operation};
use super::program::{Content, CudaKernel, DeviceProgram, Dtype};
use sprag_model::{Parity, ParityStatus};

/// The CPU checks programs up to this size.
pub(super) const MOST_CPU_BYTES: usize = 64 << 20;

/// The set of buffers for checks at uneven shapes, which no benchmark uses.
const SET: u32 = 1 << 18;

const COMPARE_BLOCK: u32 = 256;

/// Each block takes several parts of the data.
const COMPARE_BLOCKS: u32 = 1024;

/// The largest mean error as a share of the mean expected size: where 8-bit roundings cancel, single elements may exceed it.
pub(super) const MOST_MEAN_SHARE: f64 = 0.25;

/// The parity of a form at the uneven shapes of its operation, once a process.
pub fn uneven(
    device: &Rc<Device>,
    operation: &Operation,
    dtype: Dtype,
    form: GpuForm,
    seed: u64,
) -> Result<Parity, DeviceError> {
    // The shapes distinguish operations of one name, such as the modes of an unpack.
    let shapes: Vec<String> = operation.uneven().iter().map(|one| one.label()).collect();
    let key = format!("{} {} {dtype:?} {form:?}", operation.name, shapes.join(", "));
    match device.checked_once(&key, || check_uneven(device, operation, dtype, form, seed))? {
        (parity, None) => Ok(parity),
        (parity, Some(shape)) => Err(DeviceError::Wrong { shape, error: parity.max_abs_error }),
    }
}

pub fn check_uneven(
    device: &Rc<Device>,
    operation: &Operation,
    dtype: Dtype,
    form: GpuForm,
    seed: u64,
) -> Result<CheckResult, DeviceError> {
    let mut worst = (exact(), None);
    for shape in operation.uneven() {
        let program = shape.program(dtype, form);
        let instance = Instance::new(device, program, Supply::of_set(seed, SET))?;
        let parity = against_cpu(&instance, &shape, dtype)?;
        let is_wrong = parity.status == ParityStatus::Mismatch;
        worst.0 = worse(worst.0, parity);
        if is_wrong {
            return Ok((worst.0, Some(shape.label())));
        }
    }
    Ok(worst)
}

/// Runs the instance on poisoned outputs and compares them with the results of the CPU.
pub fn against_cpu(instance: &Instance, operation: &Operation, dtype: Dtype) -> Result<Parity, DeviceError> {
    // Read before the call, so that a kernel which writes to its inputs is not compared with its own result.
    let inputs = instance.inputs()?;
    run_poisoned(instance)?;
    let expected = operation.expected(dtype, &inputs).map_err(DeviceError::Program)?;
    let outputs = instance.program().buffers.iter().filter(|spec| spec.content == Content::Output).count();
    if expected.len() != outputs {
        let fault = format!("{} of {outputs} outputs of `{}` are expected", expected.len(), operation.name);
        return Err(DeviceError::Program(fault));
    }
    let mut worst = exact();
    for one in expected {
        let got = instance.values(one.buffer)?;
        worst = worse(worst, judged(&got, &one));
    }
    if instance.inputs()? != inputs {
        return Err(DeviceError::Program(format!("`{}` writes to its inputs", operation.name)));
    }
    Ok(worst)
}

/// Compares element by element and on average. Expected results are numbers, so a NaN in either is a mismatch.
pub fn judged(got: &[f32], expected: &ExpectedBuffer) -> Parity {
    let parity = crate::parity::compare(got, &expected.values, expected.tolerance);
    let error = |(a, b): (&f32, &f32)| if a == b { 0.0 } else { (f64::from(*a) - f64::from(*b)).abs() };
    let errors: f64 = got.iter().zip(&expected.values).map(error).sum();
    let sizes: f64 = expected.values.iter().filter(|value| value.is_finite()).map(|value| f64::from(value.abs())).sum();
    let is_number = expected.values.iter().all(|value| !value.is_nan());
    // Infinite sums stem from infinities, which are compared one by one.
    let is_near = !errors.is_finite() || errors <= MOST_MEAN_SHARE * sizes;
    match is_number && is_near {
        true => parity,
        false => Parity { status: ParityStatus::Mismatch, ..parity },
    }
}

/// Whether the CPU would take long to compute the expected results.
pub fn is_beyond_cpu(program: &DeviceProgram) -> bool {
    program.bytes() > MOST_CPU_BYTES
}

pub fn at_shape(
    device: &Rc<Device>,
    instance: &Instance,
    operation: &Operation,
    (dtype, form): (Dtype, GpuForm),
    supply: Supply,
) -> Result<Parity, DeviceError> {
    if !is_beyond_cpu(instance.program()) {
        return against_cpu(instance, operation, dtype);
    }
    // The small shapes have verified the plain form; the plain form itself must only write all results at this shape.
    let plain = match form {
        GpuForm::Reference => None,
        GpuForm::Tuned(_) => {
            uneven(device, operation, dtype, GpuForm::Reference, supply.seed)?;
            // The inputs are shared, the outputs must not be.
            let apart = Supply { outputs: SET, ..supply };
            let plain = Instance::new(device, operation.program(dtype, GpuForm::Reference), apart)?;
            run_poisoned(&plain)?;
            Some(plain)
        }
    };
    let other = plain.as_ref().unwrap_or(instance);
    run_poisoned(instance)?;
    let mut worst = None;
    let outputs = instance.program().buffers.iter().enumerate().filter(|(_, spec)| spec.content == Content::Output);
    for (place, spec) in outputs {
        let Some(element) = spec.data.dtype() else {
            return Err(DeviceError::Program(format!("the output `{}` cannot be compared", spec.name)));
        };
        let tolerance = (operation.tolerance)(dtype);
        let parity = on_device(device, (instance, other), place, element, spec.count, tolerance)?;
        worst = Some(worst.map_or(parity.clone(), |worst| worse(worst, parity)));
    }
    worst.ok_or_else(|| DeviceError::Program(format!("`{}` has no output", operation.name)))
}

fn run_poisoned(instance: &Instance) -> Result<(), DeviceError> {
    instance.poison()?;
    instance.call()
}

/// Compares two buffers on the device.
fn on_device(
    device: &Rc<Device>,
    (got, expected): (&Instance, &Instance),
    place: usize,
    element: Dtype,
    count: usize,
    tolerance: f64,
) -> Result<Parity, DeviceError> {
    let kernel = CudaKernel::built_in("compare.cu", "compare", element);
    let function = device.function(&kernel)?;
    let blocks = count.div_ceil(COMPARE_BLOCK as usize).clamp(1, COMPARE_BLOCKS as usize);
    let largest = device.context.allocate(blocks * 4)?;
    let beyond = device.context.allocate(blocks * 4)?;
    let not_numbers = device.context.allocate(blocks * 4)?;
    let arguments = [
        got.buffer(place).address(),
        expected.buffer(place).address(),
        count as u64,
        u64::from((tolerance as f32).to_bits()),
        largest.address(),
        beyond.address(),
        not_numbers.address(),
    ];
    device.context.launch(&function, [blocks as u32, 1, 1], [COMPARE_BLOCK, 1, 1], 0, &arguments)?;
    let (largest, beyond, not_numbers) = (largest.download()?, beyond.download()?, not_numbers.download()?);
    let errors = largest.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes")));
    let error = errors.fold(0.0_f32, f32::max);
    let is_unwritten = not_numbers.iter().any(|byte| *byte != 0);
    let wrong = is_unwritten || beyond.iter().any(|byte| *byte != 0);
    let status = match (wrong, error > 0.0) {
        (true, _) => ParityStatus::Mismatch,
        (false, true) => ParityStatus::Within,
        (false, false) => ParityStatus::Exact,
    };
    let finite = (error.is_finite() && !is_unwritten).then_some(f64::from(error));
    Ok(Parity { status, max_abs_error: finite, tolerance: Some(tolerance) })
}

fn exact() -> Parity {
    Parity { status: ParityStatus::Exact, max_abs_error: Some(0.0), tolerance: Some(0.0) }
}

/// A mismatch is worse than any other, then the larger error.
pub fn worse(a: Parity, b: Parity) -> Parity {
    let rank = |one: &Parity| (one.status == ParityStatus::Mismatch, one.status != ParityStatus::Exact);
    let error = |one: &Parity| one.max_abs_error.unwrap_or(f64::INFINITY);
    let b_is_worse = (rank(&b), error(&b)) > (rank(&a), error(&a));
    let tolerance = a.tolerance.into_iter().chain(b.tolerance).reduce(f64::max);
    let worse = if b_is_worse { b } else { a };
    Parity { tolerance, ..worse }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::operation::checks;

    #[test]
    fn a_result_must_also_be_near_on_average() {
        let expected = |values: &[f32]| ExpectedBuffer { buffer: 0, values: values.to_vec(), tolerance: 1.5 };
        let check = |got: &[f32], values: &[f32], is_right: bool| {
            let status = judged(got, &expected(values)).status;
            assert_eq!(status != ParityStatus::Mismatch, is_right, "{got:?} {values:?}");
        };
        check(&[1.0, -2.0, 2.9], &[1.0, -2.0, 3.0], true);
        check(&[0.0, 0.0, 0.0], &[1.0, -2.0, 3.0], false);
        check(&[1.0, -2.0, 1.0], &[1.0, -2.0, 3.0], false);
        check(&[0.0], &[0.0], true);
        check(&[f32::NAN], &[f32::NAN], false);
        check(&[f32::INFINITY, 1.0], &[f32::INFINITY, 1.0], true);
    }

    /// A kernel that writes zeros is wrong for every operation and element type.
    #[test]
    fn zeros_are_never_right() {
        for operation in Operation::every() {
            for shape in operation.uneven() {
                for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::E4m3] {
                    let inputs = checks::inputs(&shape.program(dtype, GpuForm::Reference));
                    let expected = shape.expected(dtype, &inputs).expect("the inputs fit");
                    let is_wrong = |one: &ExpectedBuffer| {
                        let zeros = vec![0.0; one.values.len()];
                        judged(&zeros, one).status == ParityStatus::Mismatch
                    };
                    let is_nothing = expected.iter().all(|one| one.values.iter().all(|value| *value == 0.0));
                    let name = format!("{shape:?} {dtype:?}");
                    assert!(is_nothing || expected.iter().any(is_wrong), "{name}");
                }
            }
        }
    }

    #[test]
    fn the_worse_parity_wins() {
        let parity = |status, error| Parity { status, max_abs_error: error, tolerance: Some(1e-3) };
        let within = parity(ParityStatus::Within, Some(1e-4));
        let further = parity(ParityStatus::Within, Some(2e-4));
        let wrong = parity(ParityStatus::Mismatch, Some(1e-9));
        let poisoned = parity(ParityStatus::Mismatch, None);
        assert_eq!(worse(exact(), within.clone()), within);
        assert_eq!(worse(further.clone(), within.clone()), further);
        assert_eq!(worse(within, wrong.clone()).status, ParityStatus::Mismatch);
        assert_eq!(worse(wrong, poisoned.clone()), poisoned);
        assert_eq!(exact().status, ParityStatus::Exact);
    }
}

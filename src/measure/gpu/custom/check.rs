//! Checks that a kernel of the user computes what its reference does and writes nothing else, before it is timed.

use std::hash::{DefaultHasher, Hasher};

use rayon::prelude::*;

use super::expression::Names;
use super::kernel::label;
use super::number::{Numbers, decode};
use super::reference::{self, Case};
use crate::gpu::DeviceError;
use crate::gpu::instance::{Instance, Supply};
use crate::gpu::parity::{self, MOST_MEAN_SHARE};
use sprag_model::{Parity, ParityStatus};

impl Case<'_> {
    /// The parity with these constants, checked once a process.
    pub(super) fn checked_once(
        &self,
        constants: &Names,
        seed: u64,
        instance: Option<&Instance>,
    ) -> Result<Parity, DeviceError> {
        let name = &self.kernel.settings.name;
        let key = format!("{name} {} {}", label(self.shape), label(constants));
        let check = || {
            let parity = match instance {
                Some(instance) => self.check(instance, Supply::of_set(seed, 0))?,
                None => {
                    let program = self.kernel.program(self.shape, constants).map_err(DeviceError::Custom)?;
                    let supply = Supply::of_set(seed, 0);
                    self.check(&Instance::new(self.device, program, supply)?, supply)?
                }
            };
            Ok((parity, None))
        };
        self.device.checked_once(&key, check).map(|(parity, _)| parity)
    }

    fn check(&self, instance: &Instance, supply: Supply) -> Result<Parity, DeviceError> {
        let at = label(self.shape);
        let expected = reference::expected(self, supply)?;
        instance.poison()?;
        if let Some(fault) = self.call(instance)? {
            return Err(DeviceError::Parity(fault));
        }
        let results = self.buffers().filter(|(_, argument)| argument.role.is_result());
        let mut worst: Option<Parity> = None;
        for (number, (place, argument)) in results.enumerate() {
            let got = Numbers { data: argument.element, bytes: instance.buffer(place).download()? };
            let wanted = expected.as_ref().and_then(|all| all.get(number));
            let parity = compare(&got, wanted, self.kernel.tolerance(argument.element))
                .map_err(|fault| DeviceError::Parity(format!("`{}` at {at}: {fault}", argument.name)))?;
            worst = Some(worst.map_or(parity.clone(), |worst| parity::worse(worst, parity)));
        }
        Ok(worst.unwrap_or_else(crate::parity::unchecked))
    }

    /// Calls a kernel; what it writes where it may not. Inputs, which other kernels share, then have their content again.
    pub(super) fn call(&self, instance: &Instance) -> Result<Option<String>, DeviceError> {
        let inputs = || self.buffers().filter(|(_, argument)| !argument.is_written());
        let digests = || -> Result<Vec<Vec<u64>>, DeviceError> {
            let digests = |(place, _): (usize, _)| {
                let mut all = Vec::new();
                instance.buffer(place).read(READ, |part| all.extend(digests(&part))).map(|()| all)
            };
            inputs().map(digests).collect()
        };
        let before = digests()?;
        instance.call()?;
        let at = label(self.shape);
        let mut fault = None;
        for (place, argument) in self.buffers() {
            let overrun = instance.buffer(place).overrun()?;
            fault = fault.or(overrun.map(|overrun| format!("`{}` at {at}: {overrun}", argument.name)));
        }
        if let Some(changed) = digests()?.iter().zip(&before).position(|(after, before)| after != before) {
            let name = inputs().nth(changed).map_or("", |(_, argument)| &argument.name);
            let text = "the kernel writes to it, but its role is not `update`";
            fault = fault.or(Some(format!("`{name}` at {at}: {text}")));
            instance.refill()?;
        }
        Ok(fault)
    }
}

/// Bytes that are read at once.
const READ: usize = 64 << 20;

/// A digest of each part.
fn digests(bytes: &[u8]) -> Vec<u64> {
    let digest = |part: &[u8]| {
        let mut hasher = DefaultHasher::new();
        hasher.write(part);
        hasher.finish()
    };
    bytes.par_chunks(PART).map(digest).collect()
}

/// Elements, or bytes, that one thread compares at a time.
const PART: usize = 1 << 20;

/// How two buffers differ: `first` are the place and values of the first of the `wrong` elements.
#[derive(Default)]
struct Differences {
    largest: f64,
    errors: f64,
    sizes: f64,
    first: Option<(usize, f64, f64)>,
    wrong: usize,
}

impl Differences {
    fn and(self, later: Differences) -> Differences {
        Differences {
            largest: self.largest.max(later.largest),
            errors: self.errors + later.errors,
            sizes: self.sizes + later.sizes,
            first: self.first.or(later.first),
            wrong: self.wrong + later.wrong,
        }
    }
}

/// Compares two buffers element by element and on average; without a reference all must be numbers.
fn compare(got: &Numbers, expected: Option<&Numbers>, tolerance: f64) -> Result<Parity, String> {
    let Some(expected) = expected else {
        let parts = got.bytes.par_chunks(PART * got.data.bytes()).enumerate();
        let nan = parts.find_map_first(|(part, bytes)| {
            let place = decode(got.data, bytes).position(|number| number.as_f64().is_nan())?;
            Some(part * PART + place)
        });
        return match nan {
            Some(place) => Err(format!("element {place} is NaN: not written, or the result")),
            None => Ok(crate::parity::unchecked()),
        };
    };
    let size = got.data.bytes();
    let (count, wanted) = (got.bytes.len() / size, expected.bytes.len() / expected.data.bytes());
    if count != wanted {
        return Err(format!("it has {count} elements, the reference has {wanted}"));
    }
    let parts = got.bytes.par_chunks(PART * size).zip(expected.bytes.par_chunks(PART * expected.data.bytes()));
    let parts = parts.enumerate().map(|(part, (got_bytes, wanted_bytes))| {
        let pairs = decode(got.data, got_bytes).zip(decode(expected.data, wanted_bytes));
        let mut all = Differences::default();
        for (place, (got, wanted)) in pairs.enumerate() {
            let (error, size) = (got.distance(wanted), wanted.as_f64().abs());
            // Not so for a NaN in either, nor for a number where the reference is infinite.
            let is_within = error == 0.0 || (size.is_finite() && error <= tolerance * (1.0 + size));
            if !is_within {
                all.wrong += 1;
                all.first = all.first.or(Some((part * PART + place, got.as_f64(), wanted.as_f64())));
            }
            all.largest = all.largest.max(error);
            all.errors += error;
            all.sizes += if size.is_finite() { size } else { 0.0 };
        }
        all
    });
    let parts: Vec<Differences> = parts.collect();
    let Differences { largest, errors, sizes, first, wrong } =
        parts.into_iter().reduce(Differences::and).unwrap_or_default();
    if let Some((place, got, wanted)) = first {
        let unwritten = if got.is_nan() { " (not written, or computed so)" } else { "" };
        let all = format!("{wrong} of {count} elements differ by more than {tolerance:e}");
        return Err(format!("element {place} is {got}{unwritten}, the reference has {wanted}; {all}"));
    }
    // Where all are small, a result of zeros would be within the tolerance.
    if errors.is_finite() && sizes > 0.0 && errors > MOST_MEAN_SHARE * sizes {
        let percent = 100.0 * errors / sizes;
        return Err(format!("its elements differ from the reference by {percent:.0} % on average"));
    }
    let status = if largest > 0.0 { ParityStatus::Within } else { ParityStatus::Exact };
    Ok(Parity { status, max_abs_error: Some(largest), tolerance: Some(tolerance) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::custom::number::{Number, encode};
    use crate::gpu::program::Data;

    fn floats(values: &[f64]) -> Numbers {
        let bytes = encode(Data::F64, values.iter().map(|value| Number::Float(*value))).expect("they fit");
        Numbers { data: Data::F64, bytes }
    }

    #[test]
    fn a_result_is_right_within_its_tolerance_and_on_average() {
        let check = |got: &[f64], wanted: &[f64], expected: Result<ParityStatus, &str>| {
            let status = compare(&floats(got), Some(&floats(wanted)), 0.1).map(|parity| parity.status);
            assert_eq!(status, expected.map_err(str::to_owned), "{got:?} {wanted:?}");
        };
        check(&[1.0, -2.0], &[1.0, -2.0], Ok(ParityStatus::Exact));
        check(&[1.1, -2.0], &[1.0, -2.0], Ok(ParityStatus::Within));
        check(&[f64::INFINITY], &[f64::INFINITY], Ok(ParityStatus::Exact));
        let infinite = "element 0 is 3, the reference has inf; 1 of 1 elements differ by more than 1e-1";
        check(&[3.0], &[f64::INFINITY], Err(infinite));
        check(&[1.0, 2.0], &[1.0], Err("it has 2 elements, the reference has 1"));
        let wrong = "element 1 is 3, the reference has 2; 1 of 2 elements differ by more than 1e-1";
        check(&[1.0, 3.0], &[1.0, 2.0], Err(wrong));
        let unwritten = "element 0 is NaN (not written, or computed so), the reference has 2; 1 of 1 elements differ by more than 1e-1";
        check(&[f64::NAN], &[2.0], Err(unwritten));
        let both = "element 0 is NaN (not written, or computed so), the reference has NaN; 1 of 1 elements differ by more than 1e-1";
        check(&[f64::NAN], &[f64::NAN], Err(both));
        check(&[0.0, 0.0], &[0.01, 0.02], Err("its elements differ from the reference by 100 % on average"));
        check(&[1e-9, 0.0], &[0.0, 0.0], Ok(ParityStatus::Within));
        let unchecked = compare(&floats(&[1.0]), None, 0.0).map(|parity| parity.status);
        assert_eq!(unchecked, Ok(ParityStatus::Unchecked));
        let nan = compare(&floats(&[1.0, f64::NAN]), None, 0.0);
        assert_eq!(nan, Err("element 1 is NaN: not written, or the result".to_owned()));
    }
}

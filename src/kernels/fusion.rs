//! FusionGate: mixes a detail map into a base map by a gate computed from two proxies a pixel.
//!
//! With boundary `p` and uncertainty `q`, in which NaN and -Inf become 0 and +Inf becomes 1:
//! `z = softplus(wb) p + softplus(wu) q + bias`, `alpha = 1 / (1 + e^-z)`, `fused = base + alpha (detail - base)`, where
//! alpha is shared by all channels. `softplus(x) = ln(1 + e^x)`, and `x` itself above 20. Arithmetic is `f32`; alpha is
//! rounded to the element type, and `fused` computed from that and rounded once. Non-finite values of base and detail
//! pass through. Base, detail and fused are `[B,C,H,W]`, the proxies and alpha `[B,1,H,W]`.
//!
//! The fast forms compute alpha with a polynomial for the exponential function. Alpha and fused agree with the reference
//! within 2e-6, absolute and relative.

use rayon::prelude::*;

use crate::element::Element;
use crate::shape::{MapShape, check_length};
use crate::stream::{self, LINE};
use crate::wide::{self, Width, Work};
use crate::{Form, KernelError};

/// Above this, `ln(1 + e^x)` equals x in `f32`.
const SOFTPLUS_THRESHOLD: f32 = 20.0;

/// `wb` and `wu`, whose softplus weighs the proxies, and the bias.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    pub boundary_log_weight: f32,
    pub uncertainty_log_weight: f32,
    pub bias: f32,
}

impl Default for Mix {
    fn default() -> Self {
        Mix { boundary_log_weight: 1.0, uncertainty_log_weight: 1.0, bias: 0.0 }
    }
}

/// `base` and `detail` are `[B,C,H,W]`, the proxies `[B,1,H,W]`.
#[derive(Clone, Copy, Debug)]
pub struct FusionInputs<'a, T> {
    pub base: &'a [T],
    pub detail: &'a [T],
    pub boundary: &'a [T],
    pub uncertainty: &'a [T],
}

/// `alpha` is `[B,1,H,W]`, `fused` is `[B,C,H,W]`. The fast forms compute alpha first; every configuration gives the same bits.
pub fn run<T: Element>(
    form: Form<Stores>,
    inputs: &FusionInputs<'_, T>,
    shape: MapShape,
    gate: &Mix,
    alpha: &mut [T],
    fused: &mut [T],
) -> Result<(), KernelError> {
    run_at(Width::widest(), form, inputs, shape, gate, alpha, fused)
}

fn run_at<T: Element>(
    width: Width,
    form: Form<Stores>,
    inputs: &FusionInputs<'_, T>,
    shape: MapShape,
    gate: &Mix,
    alpha: &mut [T],
    fused: &mut [T],
) -> Result<(), KernelError> {
    shape.check()?;
    check_length("base", inputs.base.len(), shape.elements())?;
    check_length("detail", inputs.detail.len(), shape.elements())?;
    check_length("boundary", inputs.boundary.len(), shape.pixels())?;
    check_length("uncertainty", inputs.uncertainty.len(), shape.pixels())?;
    check_length("alpha", alpha.len(), shape.pixels())?;
    check_length("fused", fused.len(), shape.elements())?;
    let (plane, sample) = (shape.plane(), shape.channels * shape.plane());
    let fill_alpha = |first: usize, alpha: &mut [T]| {
        let pixels = first..first + alpha.len();
        let (boundary, uncertainty) = (&inputs.boundary[pixels.clone()], &inputs.uncertainty[pixels]);
        wide::run(width, Alphas { gate, boundary, uncertainty, alpha });
    };
    let mix_planes = |stores: Stores, first: usize, alpha: &[T], fused: &mut [T]| {
        let elements = first..first + fused.len();
        let (base, detail) = (&inputs.base[elements.clone()], &inputs.detail[elements]);
        wide::run(width, Planes { stores, base, detail, alpha: &alpha[first / sample * plane..][..plane], fused });
    };
    match form {
        Form::Reference => reference(inputs, shape, gate, alpha, fused),
        Form::Fast(stores) => {
            fill_alpha(0, alpha);
            for (index, fused) in fused.chunks_exact_mut(sample).enumerate() {
                mix_planes(stores, index * sample, alpha, fused);
            }
        }
        Form::Parallel(stores) => {
            let threads = rayon::current_num_threads();
            let pixels = alpha.len().div_ceil(threads);
            alpha.par_chunks_mut(pixels).enumerate().for_each(|(index, alpha)| fill_alpha(index * pixels, alpha));
            let part = shape.channels.div_ceil(threads) * plane;
            let alpha = &*alpha;
            fused.par_chunks_exact_mut(sample).enumerate().for_each(|(index, fused)| {
                let parts = fused.par_chunks_mut(part).enumerate();
                parts.for_each(|(place, fused)| mix_planes(stores, index * sample + place * part, alpha, fused));
            });
        }
    }
    Ok(())
}

fn reference<T: Element>(inputs: &FusionInputs<'_, T>, shape: MapShape, gate: &Mix, alpha: &mut [T], fused: &mut [T]) {
    for (position, slot) in alpha.iter_mut().enumerate() {
        let boundary = sanitise(inputs.boundary[position].to_f32());
        let uncertainty = sanitise(inputs.uncertainty[position].to_f32());
        let z = softplus(gate.boundary_log_weight) * boundary
            + softplus(gate.uncertainty_log_weight) * uncertainty
            + gate.bias;
        *slot = T::from_f32(1.0 / (1.0 + (-z).exp()));
        let (sample, pixel) = (position / shape.plane(), position % shape.plane());
        for channel in 0..shape.channels {
            let element = (sample * shape.channels + channel) * shape.plane() + pixel;
            let base = inputs.base[element].to_f32();
            let detail = inputs.detail[element].to_f32();
            fused[element] = T::from_f32(base + slot.to_f32() * (detail - base));
        }
    }
}

/// `ln(1 + e^x)`, and x itself above 20.
pub fn softplus(x: f32) -> f32 {
    if x > SOFTPLUS_THRESHOLD { x } else { x.exp().ln_1p() }
}

#[inline(always)]
fn sanitise(proxy: f32) -> f32 {
    if proxy.is_finite() {
        proxy
    } else if proxy > 0.0 {
        1.0
    } else {
        0.0
    }
}

/// How results reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    Plain,
    /// Past the cache, for maps that outgrow it. Where the CPU cannot, through it.
    Streaming,
}

pub const CANDIDATES: &[Stores] = &[Stores::Plain, Stores::Streaming];

impl Stores {
    /// The name under which a tuned variant is recorded.
    pub fn name(self) -> String {
        match self {
            Stores::Plain => "stores=plain".to_owned(),
            Stores::Streaming => "stores=streaming".to_owned(),
        }
    }
}

/// Computes the gates of some pixels.
struct Alphas<'a, T> {
    gate: &'a Mix,
    boundary: &'a [T],
    uncertainty: &'a [T],
    alpha: &'a mut [T],
}

impl<T: Element> Work for Alphas<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Width) {
        let Alphas { gate, boundary, uncertainty, alpha } = self;
        let boundary_weight = softplus(gate.boundary_log_weight);
        let uncertainty_weight = softplus(gate.uncertainty_log_weight);
        for ((slot, boundary), uncertainty) in alpha.iter_mut().zip(boundary).zip(uncertainty) {
            let boundary = boundary_weight * sanitise(boundary.to_f32());
            let z = boundary + uncertainty_weight * sanitise(uncertainty.to_f32()) + gate.bias;
            *slot = T::from_f32(logistic(z));
        }
    }
}

/// Mixes some planes of one sample.
struct Planes<'a, T> {
    stores: Stores,
    base: &'a [T],
    detail: &'a [T],
    alpha: &'a [T],
    fused: &'a mut [T],
}

impl<T: Element> Work for Planes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self, width: Width) {
        let Planes { stores, base, detail, alpha, fused } = self;
        let plane = alpha.len();
        let inputs = base.chunks_exact(plane).zip(detail.chunks_exact(plane));
        for (fused, (base, detail)) in fused.chunks_exact_mut(plane).zip(inputs) {
            match stores {
                Stores::Plain => mix_all(alpha, base, detail, fused),
                Stores::Streaming => mix_lines(width, alpha, base, detail, fused),
            }
        }
        if stores == Stores::Streaming {
            stream::finish();
        }
    }
}

#[inline(always)]
fn mix<T: Element>(alpha: T, base: T, detail: T) -> T {
    let base = base.to_f32();
    T::from_f32(base + alpha.to_f32() * (detail.to_f32() - base))
}

#[inline(always)]
fn mix_all<T: Element>(alpha: &[T], base: &[T], detail: &[T], fused: &mut [T]) {
    for (((slot, &alpha), &base), &detail) in fused.iter_mut().zip(alpha).zip(base).zip(detail) {
        *slot = mix(alpha, base, detail);
    }
}

/// Stores whole lines past the cache, and the elements before and after them through it.
#[inline(always)]
fn mix_lines<T: Element>(width: Width, alpha: &[T], base: &[T], detail: &[T], fused: &mut [T]) {
    let (before, lines, after) = stream::lines(fused);
    let (first, last) = (before.len(), before.len() + lines.elements());
    mix_all(&alpha[..first], &base[..first], &detail[..first], before);
    mix_all(&alpha[last..], &base[last..], &detail[last..], after);
    let inputs = alpha[first..last].as_chunks::<LINE>().0.iter();
    let inputs = inputs.zip(base[first..last].as_chunks::<LINE>().0).zip(detail[first..last].as_chunks::<LINE>().0);
    lines.store(width, inputs.map(|((alpha, base), detail)| mix_line(alpha, base, detail)));
}

#[inline(always)]
fn mix_line<T: Element>(alpha: &[T; LINE], base: &[T; LINE], detail: &[T; LINE]) -> [T; LINE] {
    let mut line = [T::default(); LINE];
    for index in 0..LINE {
        line[index] = mix(alpha[index], base[index], detail[index]);
    }
    line
}

/// Beyond this, `1 / (1 + e^x)` is 0 or 1 within 1e-37.
const LIMIT: f32 = 87.0;

/// Its sum with a small number has the nearest integer in its low bits: 1.5 * 2^23.
const ROUNDING: f32 = 12_582_912.0;

/// ln 2 as a sum, the first part with few digits.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// From the highest power to the square.
const POLYNOMIAL: [f32; 6] = [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];

/// Fraction bits and exponent offset of binary32.
const FRACTION_BITS: u32 = 23;
const EXPONENT_OFFSET: u32 = 127;

/// `1 / (1 + e^-z)` to about 2e-7.
#[inline(always)]
fn logistic(z: f32) -> f32 {
    1.0 / (1.0 + exponential(-z))
}

/// `e^x`, with `x` clamped to the limit.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    let x = if x > LIMIT { LIMIT } else { x };
    let x = if x < -LIMIT { -LIMIT } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUNDING;
    let n = shifted - ROUNDING;
    let r = x - n * LN_2[0] - n * LN_2[1];
    let polynomial = POLYNOMIAL[1..].iter().fold(POLYNOMIAL[0], |sum, factor| sum * r + factor);
    let scale = f32::from_bits(shifted.to_bits().wrapping_add(EXPONENT_OFFSET) << FRACTION_BITS);
    (polynomial * (r * r) + r + 1.0) * scale
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{bits, check_forms, values};

    const PIXEL: MapShape = MapShape { batch: 1, channels: 2, height: 1, width: 1 };

    #[test]
    fn slices_of_the_wrong_length_are_refused() {
        let right = [2, 2, 1, 1, 1, 2];
        for (place, what) in ["base", "detail", "boundary", "uncertainty", "alpha", "fused"].into_iter().enumerate() {
            let mut lengths = right;
            lengths[place] += 1;
            let [base, detail, boundary, uncertainty, mut alpha, mut fused] =
                lengths.map(|length| vec![0.0f32; length]);
            let inputs = FusionInputs { base: &base, detail: &detail, boundary: &boundary, uncertainty: &uncertainty };
            for form in [Form::Reference, Form::Fast(CANDIDATES[0]), Form::Parallel(CANDIDATES[0])] {
                let refused = run(form, &inputs, PIXEL, &Mix::default(), &mut alpha, &mut fused);
                assert_eq!(refused, Err(KernelError::Length { what, expected: right[place], got: lengths[place] }));
            }
        }
    }

    #[test]
    fn proxies_that_are_not_finite_and_values_beyond_reach_agree_too() {
        let proxies = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e38, -3e38, 90.0, -90.0, 1e-40, 0.0, 20.0];
        let shape = MapShape { batch: 1, channels: 1, height: 10, width: 10 };
        let boundary: Vec<f32> = (0..100).map(|pixel| proxies[pixel / 10]).collect();
        let uncertainty: Vec<f32> = (0..100).map(|pixel| proxies[pixel % 10]).collect();
        let base: Vec<f32> = (0..100).map(|pixel| proxies[(pixel * 7 + pixel / 10) % 10]).collect();
        let detail = vec![1.0f32; 100];
        let inputs = FusionInputs { base: &base, detail: &detail, boundary: &boundary, uncertainty: &uncertainty };
        check_all(&inputs, shape, &Mix::default());
    }

    /// Every configuration at every width gives the same bits, and those agree with the reference.
    fn check_all(inputs: &FusionInputs<'_, f32>, shape: MapShape, gate: &Mix) {
        let run = |width, form| {
            let mut output = vec![9.0; shape.pixels() + shape.elements()];
            let (alpha, fused) = output.split_at_mut(shape.pixels());
            run_at(width, form, inputs, shape, gate, alpha, fused).unwrap();
            output
        };
        let plain = run(Width::widest(), Form::Reference);
        let quick = run(Width::widest(), Form::Fast(CANDIDATES[0]));
        for (plain, quick) in plain.iter().zip(&quick) {
            let same = plain == quick || plain.is_nan() && quick.is_nan();
            assert!(same || (plain - quick).abs() <= 2e-6 + 2e-6 * plain.abs(), "{plain} and {quick}");
        }
        for width in Width::all() {
            check_forms(CANDIDATES, |form| assert_eq!(bits(&run(width, form)), bits(&quick), "{form:?} at {width:?}"));
        }
    }

    proptest! {
        #[test]
        fn all_forms_agree(
            (batch, channels, height, width) in (1usize..3, 1usize..5, 1usize..9, 1usize..30),
            (boundary_log_weight, uncertainty_log_weight, bias) in (-3.0f32..3.0, -3.0f32..3.0, -3.0f32..3.0),
        ) {
            let shape = MapShape { batch, channels, height, width };
            let (base, detail) = (values(shape.elements(), 0), values(shape.elements(), 99));
            let (boundary, uncertainty) = (values(shape.pixels(), 7), values(shape.pixels(), 5));
            let inputs = FusionInputs { base: &base, detail: &detail, boundary: &boundary, uncertainty: &uncertainty };
            check_all(&inputs, shape, &Mix { boundary_log_weight, uncertainty_log_weight, bias });
        }
    }

    #[test]
    fn the_exponential_is_near_that_of_double_precision() {
        let check = |x: f32| {
            let expected = f64::from(x).exp();
            let error = (f64::from(exponential(x)) - expected).abs() / expected;
            assert!(error < 2e-7, "e^{x} is off by {error:e}");
        };
        for step in -8700..=8700i16 {
            check(f32::from(step) * 0.01);
        }
        [0.0, -0.0, 1e-30, 0.346_573_6, -0.346_573_6].into_iter().for_each(check);
    }

    #[test]
    fn the_logistic_saturates_and_keeps_nan() {
        assert_eq!(logistic(0.0), 0.5);
        assert_eq!(logistic(f32::INFINITY), 1.0);
        assert!(logistic(f32::NEG_INFINITY) < 1e-37 && logistic(-1e30) >= 0.0);
        assert!(logistic(f32::NAN).is_nan());
    }
}

//! The two passes of the quick fusion gate, and how they are tuned.

use super::super::element::Element;
use super::super::exponential::logistic;
use super::super::shape::MapShape;
use super::super::stream::{self, LINE};
use super::super::wide::{Width, Work};
use super::{Gate, Inputs, sanitise, softplus};

/// How the mixing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How the mixed map is stored.
    pub stores: Stores,
}

/// How results reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    Plain,
    /// Past it: for maps that outgrow the cache. Where the CPU cannot, through it.
    Streaming,
}

/// The configurations worth trying, the usual one first.
pub const CANDIDATES: &[Config] = &[Config { stores: Stores::Plain }, Config { stores: Stores::Streaming }];

impl Config {
    /// The words under which a tuned variant is recorded, such as `stores=streaming`.
    pub fn name(self) -> String {
        let stores = match self.stores {
            Stores::Plain => "plain",
            Stores::Streaming => "streaming",
        };
        format!("stores={stores}")
    }
}

/// The gates of some pixels.
pub(super) struct Alphas<'a, T> {
    boundary_weight: f32,
    uncertainty_weight: f32,
    bias: f32,
    boundary: &'a [T],
    uncertainty: &'a [T],
    alpha: &'a mut [T],
}

impl<'a, T: Element> Alphas<'a, T> {
    /// The pixels from `first` on, as many as `alpha` holds.
    pub(super) fn new(gate: &Gate, inputs: &Inputs<'a, T>, first: usize, alpha: &'a mut [T]) -> Self {
        Alphas {
            boundary_weight: softplus(gate.boundary_log_weight),
            uncertainty_weight: softplus(gate.uncertainty_log_weight),
            bias: gate.bias,
            boundary: &inputs.boundary[first..][..alpha.len()],
            uncertainty: &inputs.uncertainty[first..][..alpha.len()],
            alpha,
        }
    }
}

impl<T: Element> Work for Alphas<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: Width) {
        let Alphas { boundary_weight, uncertainty_weight, bias, boundary, uncertainty, alpha } = self;
        for ((slot, boundary), uncertainty) in alpha.iter_mut().zip(boundary).zip(uncertainty) {
            let boundary = boundary_weight * sanitise(boundary.to_f32());
            let z = boundary + uncertainty_weight * sanitise(uncertainty.to_f32()) + bias;
            *slot = T::from_f32(logistic(z));
        }
    }
}

/// Some planes of one sample.
pub(super) struct Planes<'a, T> {
    config: Config,
    base: &'a [T],
    detail: &'a [T],
    alpha: &'a [T],
    fused: &'a mut [T],
}

impl<'a, T: Element> Planes<'a, T> {
    /// The planes from element `first` on, as many as `fused` holds.
    pub(super) fn new(
        config: Config,
        inputs: &Inputs<'a, T>,
        shape: MapShape,
        first: usize,
        alpha: &'a [T],
        fused: &'a mut [T],
    ) -> Self {
        let sample = first / (shape.channels * shape.plane());
        Planes {
            config,
            base: &inputs.base[first..][..fused.len()],
            detail: &inputs.detail[first..][..fused.len()],
            alpha: &alpha[sample * shape.plane()..][..shape.plane()],
            fused,
        }
    }
}

impl<T: Element> Work for Planes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self, width: Width) {
        let Planes { config: Config { stores }, base, detail, alpha, fused } = self;
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

/// Whole lines past the cache, what comes before and after them through it.
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

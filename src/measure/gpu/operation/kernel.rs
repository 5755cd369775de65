//! What is declared of a CUDA kernel: from this the suite, the parity checks, `sprag kernels` and the reports follow.

use super::super::program::{Dtype, Program};
use super::ff_path::FfPath;
use super::inputs::{Expected, Inputs};
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::Overlap;
use std::fmt::Debug;
use std::ops::Deref;
use std::rc::Rc;

/// A CUDA kernel, or several that make one operation, at one shape.
pub trait CudaKernel: Debug {
    fn name(&self) -> &'static str;

    /// Its sizes, as parameters of a benchmark.
    fn params(&self) -> Vec<(&'static str, String)>;

    /// The throughput metric, and how many units one call works through.
    fn work(&self) -> (&'static str, f64);

    /// The bytes that a call must read and write at least; absent where intermediate results make that no bound.
    fn bytes_moved(&self, dtype: Dtype) -> Option<usize>;

    /// The configurations of the tuned form, the one used untuned first.
    fn candidates(&self) -> Vec<Config>;

    fn program(&self, dtype: Dtype, form: Form) -> Program;

    /// What its outputs must come to, by the CPU reference.
    fn expected(&self, dtype: Dtype, inputs: &Inputs) -> Result<Vec<Expected>, String>;

    /// How far the two forms may be from each other, absolute and relative alike: what moves and mixes elements rounds at
    /// the same points in both, what sums rounds in another order.
    fn tolerance(&self, _dtype: Dtype) -> f64 {
        0.0
    }

    /// Shapes of the same operation that nothing divides evenly, small enough for the CPU to check in moments.
    fn uneven(&self) -> Vec<Operation>;

    /// The tiles that the host chooses in each call, where it does.
    fn selection(&self) -> Option<&FfPath> {
        None
    }

    /// Its sizes as one text, for messages.
    fn label(&self) -> String {
        let parts: Vec<String> = self.params().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        parts.join(" ")
    }
}

#[derive(Clone, Debug)]
pub struct Operation(Rc<dyn CudaKernel>);

impl Operation {
    pub fn new(kernel: impl CudaKernel + 'static) -> Operation {
        Operation(Rc::new(kernel))
    }
}

impl Deref for Operation {
    type Target = dyn CudaKernel;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// The distance of two forms that sum in another order.
pub(super) fn summed_tolerance(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F32 => 1e-5,
        Dtype::F16 => 4e-3,
        Dtype::Bf16 => 2e-2,
        Dtype::E4m3 => 0.13,
    }
}

pub(super) fn map_params(shape: MapShape) -> Vec<(&'static str, String)> {
    vec![
        ("b", shape.batch.to_string()),
        ("c", shape.channels.to_string()),
        ("h", shape.height.to_string()),
        ("w", shape.width.to_string()),
    ]
}

pub(super) fn overlap_word(overlap: Overlap) -> &'static str {
    match overlap {
        Overlap::Override => "override",
        Overlap::Blend(_) => "blend",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain code, one thread an output.
    Reference,
    Tuned(Config),
}

/// How a tuned kernel is built and launched. A kernel ignores what it has no use for, and its candidates leave it zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Config {
    pub block: u32,
    /// Bytes that a thread reads or writes at once, at most: 4, 8 or 16. Rows that are not so aligned take less.
    pub vector: u32,
    /// Independent accesses of a thread that are under way together.
    pub unroll: u32,
    /// How much a block takes before it ends: steps of a long scan, tiles that a warp reads together, rounds of a copy,
    /// channels of a gate.
    pub chunk: u32,
}

impl Config {
    /// Its name, such as `block256 vector16 unroll4`; what is zero is left out.
    pub fn name(self) -> String {
        let parts = [("block", self.block), ("vector", self.vector), ("unroll", self.unroll), ("chunk", self.chunk)];
        let named: Vec<String> =
            parts.iter().filter(|(_, value)| *value > 0).map(|(word, value)| format!("{word}{value}")).collect();
        named.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_what_is_set() {
        let config = Config { block: 256, vector: 16, unroll: 4, chunk: 0 };
        assert_eq!(config.name(), "block256 vector16 unroll4");
        assert_eq!(Config::default().name(), "");
    }
}

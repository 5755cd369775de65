//! What is declared of an operation: from this the suite, the parity checks, `sprag kernels` and the reports follow.

use super::super::program::{DeviceProgram, Dtype};
use super::ff_path::FfPath;
use super::inputs::{Expected, HostInputs};
use sprag_kernels::shape::MapShape;
use std::fmt;
use std::rc::Rc;

/// A CUDA kernel, or several that make one operation, at one shape: a value, whatever its code computes.
#[derive(Clone)]
pub struct Operation {
    /// Its name, as benchmarks bear it.
    pub name: &'static str,
    /// Its sizes, as parameters of a benchmark.
    pub params: Vec<(&'static str, String)>,
    /// The throughput metric, and how many units one call works through.
    pub work: (&'static str, f64),
    /// Elements that a call must read and write at least; absent where intermediate results make that no bound.
    pub elements_moved: Option<usize>,
    /// The configurations of the tuned form, the one used untuned first.
    pub candidates: Vec<LaunchConfig>,
    /// How far the two forms may be from each other, absolute and relative alike: what moves and mixes elements rounds
    /// at the same points in both, what sums rounds in another order.
    pub tolerance: fn(Dtype) -> f64,
    /// The tiles that the host chooses in each call, where it does.
    pub selection: Option<Rc<FfPath>>,
    pub code: Code,
}

type ProgramOf = dyn Fn(Dtype, Form) -> DeviceProgram;
type ExpectedOf = dyn Fn(Dtype, &HostInputs) -> Result<Vec<Expected>, String>;

/// What a call does on the device, what must come out of it, and at which shapes that is checked.
#[derive(Clone)]
pub struct Code {
    program: Rc<ProgramOf>,
    expected: Rc<ExpectedOf>,
    uneven: Rc<dyn Fn() -> Vec<Operation>>,
}

impl Code {
    pub fn new<S: 'static>(
        shape: S,
        program: fn(&S, Dtype, Form) -> DeviceProgram,
        expected: fn(&S, Dtype, &HostInputs) -> Result<Vec<Expected>, String>,
        uneven: fn(&S) -> Vec<Operation>,
    ) -> Code {
        let shape = Rc::new(shape);
        let (for_program, for_expected) = (shape.clone(), shape.clone());
        Code {
            program: Rc::new(move |dtype, form| program(&for_program, dtype, form)),
            expected: Rc::new(move |dtype, inputs| expected(&for_expected, dtype, inputs)),
            uneven: Rc::new(move || uneven(&shape)),
        }
    }
}

impl Operation {
    /// Its sizes as one text, for messages.
    pub fn label(&self) -> String {
        self.params.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    pub fn bytes_moved(&self, dtype: Dtype) -> Option<usize> {
        self.elements_moved.map(|elements| elements * dtype.bytes())
    }

    pub fn program(&self, dtype: Dtype, form: Form) -> DeviceProgram {
        (self.code.program)(dtype, form)
    }

    /// What its outputs must come to, by the CPU reference.
    pub fn expected(&self, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<Expected>, String> {
        (self.code.expected)(dtype, inputs)
    }

    /// Shapes of the same operation that nothing divides evenly, small enough for the CPU to check in moments.
    pub fn uneven(&self) -> Vec<Operation> {
        (self.code.uneven)()
    }

    /// The configuration of that name, the first where none is named.
    pub fn configuration(&self, name: Option<&str>) -> Result<LaunchConfig, String> {
        let Some(name) = name else { return Ok(self.candidates[0]) };
        let found = self.candidates.iter().copied().find(|candidate| candidate.name() == name);
        found.ok_or_else(|| format!("it has no configuration `{name}`"))
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.label())
    }
}

/// The distance of two forms that round at the same points.
pub(super) fn exact(_dtype: Dtype) -> f64 {
    0.0
}

/// The distance of two forms that sum in another order.
pub(super) fn summed(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F32 => 1e-5,
        Dtype::F16 => 4e-3,
        Dtype::Bf16 => 2e-2,
        Dtype::E4m3 => 0.13,
    }
}

pub(super) fn map_params(shape: MapShape) -> Vec<(&'static str, String)> {
    let MapShape { batch, channels, height, width } = shape;
    [("b", batch), ("c", channels), ("h", height), ("w", width)].map(|(name, size)| (name, size.to_string())).to_vec()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain code, one thread an output.
    Reference,
    Tuned(LaunchConfig),
}

/// How a tuned kernel is built and launched. A kernel ignores what it has no use for, and its candidates leave it zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaunchConfig {
    pub block: u32,
    /// Bytes that a thread reads or writes at once, at most: 4, 8 or 16. Rows that are not so aligned take less.
    pub vector: u32,
    /// Independent accesses of a thread that are under way together.
    pub unroll: u32,
    /// How much a block takes before it ends: steps of a long scan, tiles that a warp reads together, rounds of a copy,
    /// channels of a gate.
    pub chunk: u32,
}

impl LaunchConfig {
    /// Block, vector, unroll and chunk.
    pub(super) const fn new(block: u32, vector: u32, unroll: u32, chunk: u32) -> LaunchConfig {
        LaunchConfig { block, vector, unroll, chunk }
    }

    /// Its name, such as `block256 vector16 unroll4`; what is zero is left out.
    pub fn name(self) -> String {
        let parts = [("block", self.block), ("vector", self.vector), ("unroll", self.unroll), ("chunk", self.chunk)];
        let named = parts.iter().filter(|(_, value)| *value > 0).map(|(word, value)| format!("{word}{value}"));
        named.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_states_what_is_set() {
        assert_eq!(LaunchConfig::new(256, 16, 4, 0).name(), "block256 vector16 unroll4");
        assert_eq!(LaunchConfig::default().name(), "");
    }
}

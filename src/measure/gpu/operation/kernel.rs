//! The declaration of an operation, from which the suite, the parity checks, `sprag kernels` and the reports follow.

use std::fmt;
use std::rc::Rc;

use crate::gpu::custom::number;
use crate::gpu::program::{
    Argument, BufferSpec, Content, CudaKernel, Data, DeviceProgram, Dtype, Fill, GpuStep, Launch,
};
use sprag_kernels::element::Element;

/// One or several CUDA kernels that make one operation, at one shape.
#[derive(Clone)]
pub struct Operation {
    pub name: &'static str,
    pub params: Vec<(&'static str, String)>,
    /// The throughput metric, and the units of one call.
    pub work: (&'static str, f64),
    /// Bytes that a call must read and write at least; absent where intermediate results make that no bound.
    pub bytes_moved: Option<Rc<BytesMoved>>,
    /// The configurations of the tuned form, the untuned one first.
    pub candidates: Vec<LaunchConfig>,
    /// How far the two forms may be from each other, absolute and relative alike. Forms that move and mix elements round at
    /// the same points; forms that sum round in another order.
    pub tolerance: fn(Dtype) -> f64,
    /// The host's choice of tiles in each call, where it makes one.
    pub selection: Option<Rc<SelectTiles>>,
    pub code: Code,
}

pub(super) type BytesMoved = dyn Fn(Dtype) -> usize;
pub type SelectTiles = dyn Fn() -> Result<TileSelection, String>;
type ProgramOf = dyn Fn(Dtype, GpuForm) -> DeviceProgram;
type ExpectedOf = dyn Fn(Dtype, &HostInputs) -> Result<Vec<ExpectedBuffer>, String>;

/// Coarse and fine tiles of all samples, as many in each, in Hilbert order, and what they cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TileSelection {
    pub l0: Vec<i32>,
    pub l1: Vec<i32>,
    pub spent_b1: f64,
    pub spent_b2: f64,
}

/// The program of a call, its expected results, and the shapes at which they are checked.
#[derive(Clone)]
pub struct Code {
    program: Rc<ProgramOf>,
    expected: Rc<ExpectedOf>,
    uneven: Rc<dyn Fn() -> Vec<Operation>>,
}

impl Code {
    pub fn new<S: 'static>(
        shape: S,
        program: fn(&S, Dtype, GpuForm) -> DeviceProgram,
        expected: fn(&S, Dtype, &HostInputs) -> Result<Vec<ExpectedBuffer>, String>,
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
    pub fn label(&self) -> String {
        self.params.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    pub fn bytes_moved(&self, dtype: Dtype) -> Option<usize> {
        self.bytes_moved.as_ref().map(|bytes| bytes(dtype))
    }

    pub fn program(&self, dtype: Dtype, form: GpuForm) -> DeviceProgram {
        (self.code.program)(dtype, form)
    }

    /// The outputs of the CPU reference.
    pub fn expected(&self, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<ExpectedBuffer>, String> {
        (self.code.expected)(dtype, inputs)
    }

    /// Shapes of the same operation that nothing divides evenly, small enough for the CPU.
    pub fn uneven(&self) -> Vec<Operation> {
        (self.code.uneven)()
    }

    /// The configuration of that name; the first without a name.
    pub fn configuration(&self, name: Option<&str>) -> Result<LaunchConfig, String> {
        let Some(name) = name else { return Ok(self.candidates[0]) };
        let chosen = self.candidates.iter().copied().find(|candidate| candidate.name() == name);
        chosen.ok_or_else(|| format!("it has no configuration `{name}`"))
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.label())
    }
}

/// What a call moves that reads and writes so many elements.
pub(super) fn moves(elements: usize) -> Option<Rc<BytesMoved>> {
    Some(Rc::new(move |dtype| elements * dtype.bytes()))
}

/// The tolerance of two forms that round at the same points.
pub(super) fn exact(_dtype: Dtype) -> f64 {
    0.0
}

/// The tolerance of two forms that sum in another order.
pub(in crate::gpu) fn summed(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F32 => 1e-5,
        Dtype::F16 => 4e-3,
        Dtype::Bf16 => 2e-2,
        Dtype::E4m3 => 0.13,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuForm {
    /// One thread per output.
    Reference,
    Tuned(LaunchConfig),
}

/// How a tuned kernel is built and launched. Candidates leave unused parts zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaunchConfig {
    pub block: u32,
    /// The most bytes that a thread reads or writes at once: 4, 8 or 16. Less aligned rows take less.
    pub vector: u32,
    /// Independent accesses of a thread that are in flight together.
    pub unroll: u32,
    /// How much a block takes: steps of a long scan, tiles that a warp reads together, rounds of a copy, channels.
    pub chunk: u32,
}

impl LaunchConfig {
    pub(super) const fn new(block: u32, vector: u32, unroll: u32, chunk: u32) -> LaunchConfig {
        LaunchConfig { block, vector, unroll, chunk }
    }

    /// Such as `block256 vector16 unroll4`, without zeros.
    pub fn name(self) -> String {
        let parts = [("block", self.block), ("vector", self.vector), ("unroll", self.unroll), ("chunk", self.chunk)];
        let named = parts.iter().filter(|(_, value)| *value > 0).map(|(word, value)| format!("{word}{value}"));
        named.collect::<Vec<_>>().join(" ")
    }
}

pub(super) const PLAIN_BLOCK: u32 = 256;

#[derive(Debug)]
pub(super) struct ProgramBuilder {
    program: DeviceProgram,
    dtype: Dtype,
    /// The next stream of random values.
    streams: u64,
}

pub(super) struct Call {
    pub(super) kernel: CudaKernel,
    pub(super) grid: [usize; 3],
    pub(super) block: u32,
    pub(super) shared: usize,
}

impl ProgramBuilder {
    /// A program whose maps, tiles and tokens have elements of that type.
    pub(super) fn new(dtype: Dtype) -> Self {
        ProgramBuilder { program: DeviceProgram { buffers: Vec::new(), steps: Vec::new() }, dtype, streams: 0 }
    }

    pub(super) fn buffer(&mut self, name: &'static str, data: Data, count: usize, content: Content) -> usize {
        self.program.buffers.push(BufferSpec { name: name.into(), data, count, content, guard: 0 });
        self.program.buffers.len() - 1
    }

    /// An input of random values, independent of all others.
    pub(super) fn random(&mut self, name: &'static str, data: Data, count: usize, fill: Fill) -> usize {
        let stream = self.streams;
        self.streams += 1;
        self.buffer(name, data, count, Content::Made(fill, stream))
    }

    pub(super) fn normal(&mut self, name: &'static str, count: usize) -> usize {
        self.random(name, self.dtype.into(), count, Fill::Normal(1.0))
    }

    /// Uniform in 0..1.
    pub(super) fn uniform(&mut self, name: &'static str, count: usize) -> usize {
        self.random(name, self.dtype.into(), count, Fill::Uniform(0.0, 1.0))
    }

    pub(super) fn integers(&mut self, name: &'static str, values: Vec<i32>) -> usize {
        self.buffer(name, Data::I32, values.len(), Content::Integers(values))
    }

    pub(super) fn output(&mut self, name: &'static str, count: usize) -> usize {
        self.buffer(name, self.dtype.into(), count, Content::Output)
    }

    pub(super) fn scratch(&mut self, name: &'static str, data: Data, count: usize) -> usize {
        self.buffer(name, data, count, Content::Scratch)
    }

    pub(super) fn zero(&mut self, place: usize) {
        self.program.steps.push(GpuStep::Zero(place));
    }

    pub(super) fn launch(&mut self, call: Call, arguments: Vec<Argument>) {
        // `DeviceProgram::fault` reports a grid that does not fit.
        let grid = call.grid.map(|blocks| u32::try_from(blocks).unwrap_or(0));
        let shared = u32::try_from(call.shared).unwrap_or(u32::MAX);
        let launch = Launch { kernel: call.kernel, grid, block: [call.block, 1, 1], shared, arguments };
        self.program.steps.push(GpuStep::Launch(launch));
    }

    /// Launches a plain kernel: one thread per value.
    pub(super) fn plain(&mut self, file: &'static str, entry: &'static str, values: usize, arguments: Vec<Argument>) {
        let grid = [values.div_ceil(PLAIN_BLOCK as usize), 1, 1];
        let kernel = kernel(file, entry, self.dtype, &[]);
        self.launch(Call { kernel, grid, block: PLAIN_BLOCK, shared: 0 }, arguments);
    }

    pub(super) fn finish(self) -> DeviceProgram {
        self.program
    }
}

pub(super) fn kernel(
    file: &'static str,
    entry: &'static str,
    dtype: Dtype,
    defines: &[(&'static str, u32)],
) -> CudaKernel {
    let defines = defines.iter().map(|(name, value)| ((*name).into(), i64::from(*value))).collect();
    CudaKernel { defines, ..CudaKernel::built_in(file, entry, dtype) }
}

pub(super) fn int(value: usize) -> Argument {
    Argument::I32(i32::try_from(value).expect("the sizes of a profile fit 31 bits, as its check makes sure"))
}

pub(super) fn long(value: usize) -> Argument {
    Argument::I64(i64::try_from(value).expect("no buffer has more than 2^63 elements"))
}

/// Buffers, then other arguments.
pub(super) fn arguments(places: &[usize], rest: &[Argument]) -> Vec<Argument> {
    places.iter().map(|place| Argument::Buffer(*place)).chain(rest.iter().copied()).collect()
}

pub(super) fn optional(place: Option<usize>) -> Argument {
    place.map_or(Argument::Null, Argument::Buffer)
}

/// The bytes that a thread may access at once in pieces of so many elements: at most as configured, at least one element.
pub(super) fn vector(config: LaunchConfig, dtype: Dtype, piece: usize) -> u32 {
    let aligned = 1_u32 << (piece * dtype.bytes()).trailing_zeros().min(4);
    config.vector.min(aligned).max(dtype.bytes() as u32)
}

/// The elements of one access: as many as `bytes` hold, at most `most`, such that their number divides `multiple`.
pub(super) fn elements_at_once(bytes: u32, dtype: Dtype, most: usize, multiple: usize) -> usize {
    let fits =
        |count: &usize| count * dtype.bytes() <= bytes as usize && *count <= most && multiple.is_multiple_of(*count);
    [16, 8, 4, 2].into_iter().find(fits).unwrap_or(1)
}

/// The content of the input buffers of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostInputs {
    pub buffers: Vec<(Data, Vec<u8>)>,
}

/// The expected content of an output buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedBuffer {
    pub buffer: usize,
    /// Widened to `f32`.
    pub values: Vec<f32>,
    /// Absolute and relative: `|got - expected| <= tolerance * (1 + |expected|)`.
    pub tolerance: f64,
}

/// Evaluates an expression with a type parameter for the element type of a [`Dtype`](crate::gpu::program::Dtype).
macro_rules! with_element {
    ($dtype:expr, $name:ident => $body:expr) => {
        match $dtype {
            $crate::gpu::program::Dtype::F32 => {
                type $name = f32;
                $body
            }
            $crate::gpu::program::Dtype::F16 => {
                type $name = half::f16;
                $body
            }
            $crate::gpu::program::Dtype::Bf16 => {
                type $name = half::bf16;
                $body
            }
            $crate::gpu::program::Dtype::E4m3 => {
                type $name = sprag_kernels::element::E4m3;
                $body
            }
        }
    };
}

pub(super) use with_element;

/// The values of a buffer in `f32`.
pub fn widen(data: Data, bytes: &[u8]) -> Vec<f32> {
    match data {
        Data::F32 => bytes.as_chunks().0.iter().map(|one| f32::from_le_bytes(*one)).collect(),
        other => number::decode(other, bytes).map(|number| number.as_f64() as f32).collect(),
    }
}

impl HostInputs {
    fn buffer(&self, place: usize) -> Result<&(Data, Vec<u8>), String> {
        self.buffers.get(place).ok_or_else(|| format!("there is no input {place}"))
    }

    pub fn floats(&self, place: usize) -> Result<Vec<f32>, String> {
        self.buffer(place).map(|(data, bytes)| widen(*data, bytes))
    }

    /// Values of a buffer with elements of that very type.
    pub fn elements<T: Element>(&self, place: usize) -> Result<Vec<T>, String> {
        Ok(self.floats(place)?.into_iter().map(T::from_f32).collect())
    }

    /// Integers that are ids or places, so not negative.
    pub fn ids(&self, place: usize) -> Result<Vec<u32>, String> {
        let integers = self.buffer(place)?.1.as_chunks().0.iter().map(|one| i32::from_le_bytes(*one));
        let unsigned = |value: i32| u32::try_from(value).map_err(|_| format!("input {place} holds {value}"));
        integers.map(unsigned).collect()
    }
}

impl ExpectedBuffer {
    pub fn new<T: Element>(buffer: usize, values: &[T], tolerance: f64) -> Self {
        ExpectedBuffer { buffer, values: values.iter().map(|value| value.to_f32()).collect(), tolerance }
    }
}

#[cfg(test)]
mod tests {
    use crate::gpu::program::Dtype;

    use half::{bf16, f16};

    use super::*;

    #[test]
    fn an_access_is_as_wide_as_rows_allow() {
        let check = |bytes, dtype, most, multiple, expected| {
            assert_eq!(elements_at_once(bytes, dtype, most, multiple), expected, "{bytes} {dtype:?} {multiple}");
        };
        check(16, Dtype::F32, 8, 128, 4);
        check(16, Dtype::F16, 8, 128, 8);
        check(16, Dtype::E4m3, 8, 128, 8);
        check(16, Dtype::E4m3, 16, 128, 16);
        check(16, Dtype::F16, 8, 12, 4);
        check(4, Dtype::F16, 8, 128, 2);
        check(16, Dtype::Bf16, 8, 7, 1);
        let check = |most: u32, dtype: Dtype, piece: usize, expected: u32| {
            let config = LaunchConfig { vector: most, ..LaunchConfig::default() };
            assert_eq!(vector(config, dtype, piece), expected, "{most} {dtype:?} {piece}");
        };
        check(16, Dtype::F32, 8, 16);
        check(8, Dtype::F32, 8, 8);
        check(16, Dtype::F16, 4, 8);
        check(16, Dtype::F16, 3, 2);
        check(16, Dtype::Bf16, 6, 4);
        check(16, Dtype::E4m3, 5, 1);
        check(16, Dtype::E4m3, 48, 16);
        check(2, Dtype::F32, 7, 4);
    }

    #[test]
    fn a_name_states_what_is_set() {
        assert_eq!(LaunchConfig::new(256, 16, 4, 0).name(), "block256 vector16 unroll4");
        assert_eq!(LaunchConfig::default().name(), "");
    }

    #[test]
    fn every_value_has_a_thread_and_a_grid_beyond_reach_is_a_fault() {
        for (values, blocks) in [(1, 1), (256, 1), (257, 2)] {
            let mut builder = ProgramBuilder::new(Dtype::F32);
            builder.plain("copy.cu", "copy_reference", values, Vec::new());
            let program = builder.finish();
            let launch = program.launches().next().expect("one was added");
            assert_eq!((launch.grid, launch.block[0]), ([blocks, 1, 1], PLAIN_BLOCK));
        }
        let mut builder = ProgramBuilder::new(Dtype::F32);
        let kernel = kernel("empty.cu", "empty", Dtype::F32, &[]);
        builder.launch(Call { kernel, grid: [1 << 40, 1, 1], block: 1, shared: 0 }, Vec::new());
        assert!(builder.finish().fault().is_some());
    }

    #[test]
    fn bytes_are_decoded_by_their_type() {
        let f16s = (Data::F16, vec![0x00, 0x3c, 0x00, 0xc0]);
        let inputs = HostInputs { buffers: vec![f16s, (Data::I32, vec![5, 0, 0, 0, 255, 255, 255, 255])] };
        assert_eq!(inputs.elements::<f16>(0), Ok(vec![f16::from_f32(1.0), f16::from_f32(-2.0)]));
        assert_eq!(inputs.floats(1), Ok(vec![5.0, -1.0]));
        assert_eq!(inputs.ids(1), Err("input 1 holds -1".to_owned()));
        assert_eq!(inputs.floats(2), Err("there is no input 2".to_owned()));
        for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::E4m3] {
            assert_eq!(widen(dtype.into(), &[0; 8]).len(), 8 / dtype.bytes());
        }
        let expected = ExpectedBuffer { buffer: 2, values: vec![1.5], tolerance: 0.0 };
        assert_eq!(ExpectedBuffer::new(2, &[bf16::from_f32(1.5)], 0.0), expected);
    }
}

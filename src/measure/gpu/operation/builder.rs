//! A program that is put together: buffers get their places in the order in which they are added, steps run in theirs.

use super::super::program::{
    Argument, BufferSpec, Content, CudaKernel, Data, DeviceProgram, Distribution, Dtype, Launch, Random, Step,
};
use super::LaunchConfig;
use std::collections::BTreeMap;

/// Threads of a block of a reference kernel.
pub(super) const PLAIN_BLOCK: u32 = 256;

#[derive(Debug)]
pub(super) struct ProgramBuilder {
    program: DeviceProgram,
    dtype: Dtype,
    /// Streams of random values that are taken.
    streams: u64,
}

/// The code of a launch, and how many threads run it.
pub(super) struct Call {
    pub(super) kernel: CudaKernel,
    pub(super) grid: [usize; 3],
    pub(super) block: u32,
    /// Bytes of dynamic shared memory.
    pub(super) shared: usize,
}

impl ProgramBuilder {
    /// A program whose maps, tiles and tokens have elements of that type.
    pub(super) fn new(dtype: Dtype) -> Self {
        ProgramBuilder { program: DeviceProgram { buffers: Vec::new(), steps: Vec::new() }, dtype, streams: 0 }
    }

    pub(super) fn buffer(&mut self, name: &'static str, data: Data, count: usize, content: Content) -> usize {
        self.program.buffers.push(BufferSpec { name, data, count, content });
        self.program.buffers.len() - 1
    }

    /// An input of random values, independent of all others.
    pub(super) fn random(&mut self, name: &'static str, data: Data, count: usize, distribution: Distribution) -> usize {
        let stream = self.streams;
        self.streams += 1;
        self.buffer(name, data, count, Content::Random(Random { distribution, stream }))
    }

    pub(super) fn normal(&mut self, name: &'static str, count: usize) -> usize {
        self.random(name, Data::Element(self.dtype), count, Distribution::Normal(1.0))
    }

    /// An input of elements that are uniform in 0..1.
    pub(super) fn uniform(&mut self, name: &'static str, count: usize) -> usize {
        self.random(name, Data::Element(self.dtype), count, Distribution::Uniform(0.0, 1.0))
    }

    pub(super) fn integers(&mut self, name: &'static str, values: Vec<i32>) -> usize {
        self.buffer(name, Data::I32, values.len(), Content::Integers(values))
    }

    pub(super) fn output(&mut self, name: &'static str, count: usize) -> usize {
        self.buffer(name, Data::Element(self.dtype), count, Content::Output)
    }

    pub(super) fn scratch(&mut self, name: &'static str, data: Data, count: usize) -> usize {
        self.buffer(name, data, count, Content::Scratch)
    }

    /// A step that sets a buffer to zero.
    pub(super) fn zero(&mut self, place: usize) {
        self.program.steps.push(Step::Zero(place));
    }

    pub(super) fn launch(&mut self, call: Call, arguments: Vec<Argument>) {
        // A grid that no device takes becomes one that `DeviceProgram::fault` names.
        let grid = call.grid.map(|blocks| u32::try_from(blocks).unwrap_or(0));
        let shared = u32::try_from(call.shared).unwrap_or(u32::MAX);
        let launch = Launch { kernel: call.kernel, grid, block: call.block, shared, arguments };
        self.program.steps.push(Step::Launch(launch));
    }

    /// A launch of a plain kernel: one thread a value.
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
    CudaKernel { file, entry, dtype, defines: defines.iter().copied().collect::<BTreeMap<_, _>>() }
}

/// An `int` argument.
pub(super) fn int(value: usize) -> Argument {
    Argument::I32(i32::try_from(value).expect("the sizes of a profile fit 31 bits, as its check makes sure"))
}

/// A `long long` argument.
pub(super) fn long(value: usize) -> Argument {
    Argument::I64(i64::try_from(value).expect("no buffer has more than 2^63 elements"))
}

pub(super) fn buffers(places: &[usize]) -> Vec<Argument> {
    places.iter().map(|place| Argument::Buffer(*place)).collect()
}

/// A buffer argument, or a null pointer.
pub(super) fn optional(place: Option<usize>) -> Argument {
    place.map_or(Argument::Null, Argument::Buffer)
}

/// The bytes that a thread may access at once where pieces of so many elements follow one another: at most what the
/// configuration says, and at least one element.
pub(super) fn vector(config: LaunchConfig, dtype: Dtype, piece: usize) -> u32 {
    let aligned = 1_u32 << (piece * dtype.bytes()).trailing_zeros().min(4);
    config.vector.min(aligned).max(dtype.bytes() as u32)
}

/// How many elements go into one access: as many as `bytes` hold and at most `most`, such that `multiple` is a multiple
/// of their number.
pub(super) fn elements_at_once(bytes: u32, dtype: Dtype, most: usize, multiple: usize) -> usize {
    let fits =
        |count: &usize| count * dtype.bytes() <= bytes as usize && *count <= most && multiple.is_multiple_of(*count);
    [16, 8, 4, 2].into_iter().find(fits).unwrap_or(1)
}

#[cfg(test)]
mod tests {
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
    fn every_value_has_a_thread_and_a_grid_beyond_reach_is_a_fault() {
        for (values, blocks) in [(1, 1), (256, 1), (257, 2)] {
            let mut builder = ProgramBuilder::new(Dtype::F32);
            builder.plain("copy.cu", "copy_reference", values, Vec::new());
            let program = builder.finish();
            let launch = program.launches().next().expect("one was added");
            assert_eq!((launch.grid, launch.block), ([blocks, 1, 1], PLAIN_BLOCK));
        }
        let mut builder = ProgramBuilder::new(Dtype::F32);
        let kernel = kernel("empty.cu", "empty", Dtype::F32, &[]);
        builder.launch(Call { kernel, grid: [1 << 40, 1, 1], block: 1, shared: 0 }, Vec::new());
        assert!(builder.finish().fault().is_some());
    }
}

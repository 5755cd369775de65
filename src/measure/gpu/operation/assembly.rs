//! A program that is put together: buffers get their places in the order in which they are added, steps run in theirs.

use std::collections::BTreeMap;

use super::super::program::{
    Argument, BufferSpec, Content, Data, Distribution, Dtype, Kernel, Launch, Program, Random, Step,
};

#[derive(Debug)]
pub(super) struct Assembly {
    program: Program,
    streams: u64,
}

/// The code of a launch, and how many threads run it.
pub(super) struct Call {
    pub(super) kernel: Kernel,
    pub(super) grid: [usize; 3],
    pub(super) block: u32,
    /// Bytes of dynamic shared memory.
    pub(super) shared: usize,
}

impl Assembly {
    pub(super) fn new() -> Self {
        Assembly { program: Program { buffers: Vec::new(), steps: Vec::new() }, streams: 0 }
    }

    pub(super) fn buffer(&mut self, name: &'static str, data: Data, count: usize, content: Content) -> usize {
        self.program.buffers.push(BufferSpec { name, data, count, content });
        self.program.buffers.len() - 1
    }

    /// Adds an input of random values, independent of all others.
    pub(super) fn random(&mut self, name: &'static str, data: Data, count: usize, distribution: Distribution) -> usize {
        let stream = self.streams;
        self.streams += 1;
        self.buffer(name, data, count, Content::Random(Random { distribution, stream }))
    }

    /// Adds a step that sets a buffer to zero.
    pub(super) fn zero(&mut self, place: usize) {
        self.program.steps.push(Step::Zero(place));
    }

    pub(super) fn launch(&mut self, call: Call, arguments: Vec<Argument>) {
        // A grid that no device takes becomes one that `Program::fault` names.
        let grid = call.grid.map(|blocks| u32::try_from(blocks).unwrap_or(0));
        let shared = u32::try_from(call.shared).unwrap_or(u32::MAX);
        let launch = Launch { kernel: call.kernel, grid, block: call.block, shared, arguments };
        self.program.steps.push(Step::Launch(launch));
    }

    pub(super) fn finish(self) -> Program {
        self.program
    }
}

pub(super) fn kernel(file: &'static str, entry: &'static str, dtype: Dtype, defines: &[(&'static str, u32)]) -> Kernel {
    Kernel { file, entry, dtype, defines: defines.iter().copied().collect::<BTreeMap<_, _>>() }
}

/// An `int` argument.
pub(super) fn int(value: usize) -> Argument {
    Argument::I32(i32::try_from(value).expect("the sizes of a profile fit 32 bits, as its check makes sure"))
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

/// How many elements go into one access: as many as `bytes` hold and at most `most`, such that all of `multiples` are
/// multiples of their number.
pub(super) fn elements_at_once(bytes: u32, dtype: Dtype, most: usize, multiples: &[usize]) -> usize {
    let fits = |count: usize| {
        let size = count * dtype.bytes();
        size <= bytes as usize && count <= most && multiples.iter().all(|multiple| multiple.is_multiple_of(count))
    };
    [16, 8, 4, 2].into_iter().find(|count| fits(*count)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_is_as_wide_as_all_rows_allow() {
        let check = |bytes, dtype, most, multiples: &[usize], expected| {
            assert_eq!(elements_at_once(bytes, dtype, most, multiples), expected, "{bytes} {dtype:?} {multiples:?}");
        };
        check(16, Dtype::F32, 8, &[128], 4);
        check(16, Dtype::F16, 8, &[128], 8);
        check(16, Dtype::E4m3, 8, &[128], 8);
        check(16, Dtype::E4m3, 16, &[128], 16);
        check(16, Dtype::F16, 8, &[12, 64], 4);
        check(4, Dtype::F16, 8, &[128], 2);
        check(16, Dtype::Bf16, 8, &[7], 1);
        check(4, Dtype::F32, 8, &[7], 1);
    }

    #[test]
    fn a_grid_beyond_reach_is_a_fault() {
        let mut assembly = Assembly::new();
        let kernel = kernel("empty.cu", "empty", Dtype::F32, &[]);
        assembly.launch(Call { kernel, grid: [1 << 40, 1, 1], block: 1, shared: 0 }, Vec::new());
        assert!(assembly.finish().fault().is_some());
    }
}

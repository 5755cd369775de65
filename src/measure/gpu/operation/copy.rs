//! What other kernels are timed beside: a copy in the device's memory, `kernels/copy.cu`, and an empty launch.

use super::super::program::{Argument, Dtype, Kernel, Launch, Program, Step};
use super::inputs::with_element;
use super::kernel::{CudaKernel, Operation};
use super::{Config, Expected, Form, Inputs, launch};
use std::collections::BTreeMap;

/// The configurations worth trying, the one used untuned first. Here `chunk` is the number of rounds of a block.
pub const CANDIDATES: &[Config] = &[
    Config { block: 256, vector: 16, unroll: 4, chunk: 1 },
    Config { block: 512, vector: 16, unroll: 4, chunk: 1 },
    Config { block: 256, vector: 16, unroll: 8, chunk: 1 },
    Config { block: 128, vector: 16, unroll: 8, chunk: 1 },
    Config { block: 1024, vector: 16, unroll: 2, chunk: 1 },
    Config { block: 256, vector: 16, unroll: 4, chunk: 4 },
    Config { block: 256, vector: 16, unroll: 4, chunk: 16 },
    Config { block: 256, vector: 8, unroll: 4, chunk: 1 },
];

const FILE: &str = "copy.cu";

/// How many elements are copied; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    pub elements: usize,
}

/// The copy at one size: others are timed beside it.
pub(super) fn checked() -> Vec<Operation> {
    vec![Operation::new(Copy { elements: 1 << 20 })]
}

impl CudaKernel for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn params(&self) -> Vec<(&'static str, String)> {
        vec![("n", self.elements.to_string())]
    }

    fn work(&self) -> (&'static str, f64) {
        ("elements_per_s", self.elements as f64)
    }

    fn bytes_moved(&self, dtype: Dtype) -> Option<usize> {
        Some(2 * self.elements * dtype.bytes())
    }

    fn candidates(&self) -> Vec<Config> {
        CANDIDATES.to_vec()
    }

    fn program(&self, dtype: Dtype, form: Form) -> Program {
        let elements = self.elements;
        let buffers = vec![launch::normal("from", dtype, elements, 0), launch::output("to", dtype, elements)];
        let arguments = vec![Argument::Buffer(0), Argument::Buffer(1), launch::long(elements)];
        let step = match form {
            Form::Reference => launch::plain(FILE, "copy_reference", dtype, elements, arguments),
            Form::Tuned(config) => Step::Launch(tuned(elements, dtype, config, arguments)),
        };
        Program { buffers, steps: vec![step] }
    }

    fn expected(&self, dtype: Dtype, inputs: &Inputs) -> Result<Vec<Expected>, String> {
        with_element!(dtype, T => Ok(vec![Expected::new(1, &inputs.elements::<T>(0)?, 0.0)]))
    }

    fn uneven(&self) -> Vec<Operation> {
        [1, 31, 4096, 70_001].map(|elements| Operation::new(Copy { elements })).to_vec()
    }
}

fn tuned(elements: usize, dtype: Dtype, config: Config, arguments: Vec<Argument>) -> Launch {
    let Config { block, vector, unroll, chunk } = config;
    // Elements after the last whole vector fall to the first block.
    let vectors = elements * dtype.bytes() / vector as usize;
    let blocks = launch::count(vectors.div_ceil((block * unroll * chunk) as usize).max(1));
    let defines = BTreeMap::from([("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("CHUNK", chunk)]);
    let kernel = Kernel { file: FILE, entry: "copy", dtype, defines };
    Launch { kernel, grid: [blocks, 1, 1], block, shared: 0, arguments }
}

/// A kernel that does nothing, `kernels/empty.cu`, as one launch of one block: the floor of every launch. It has no inputs
/// and no outputs, so nothing to compare.
pub fn empty_program(dtype: Dtype) -> Program {
    let kernel = Kernel { file: "empty.cu", entry: "empty", dtype, defines: BTreeMap::new() };
    let launch = Launch { kernel, grid: [1, 1, 1], block: 32, shared: 0, arguments: Vec::new() };
    Program { buffers: Vec::new(), steps: vec![Step::Launch(launch)] }
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;

    #[test]
    fn every_form_covers_every_element() {
        checks::names_are_distinct(CANDIDATES);
        for elements in [1, 15, 16, 4096, 100_003] {
            let shape = Copy { elements };
            checks::programs(
                CANDIDATES,
                |dtype, form| shape.program(dtype, form),
                |launch, config| {
                    let (bytes, vector) = (elements * launch.kernel.dtype.bytes(), config.vector as usize);
                    let piece = (config.block * config.unroll * config.chunk) as usize * vector;
                    let blocks = launch.grid[0] as usize;
                    assert!(blocks * piece >= bytes / vector * vector && (blocks - 1) * piece <= bytes);
                    // The rest is less than a vector, and the first block has a thread for each element of it.
                    assert!(vector / launch.kernel.dtype.bytes() <= launch.block as usize);
                },
            );
            let program = shape.program(Dtype::F16, Form::Reference);
            let expected = shape.expected(Dtype::F16, &checks::inputs(&program)).unwrap();
            assert_eq!((expected[0].buffer, expected[0].values.len()), (1, elements));
        }
    }

    #[test]
    fn the_empty_kernel_is_one_block() {
        let program = empty_program(Dtype::F32);
        assert!(
            program.fault().is_none() && matches!(&program.steps[..], [Step::Launch(launch)] if launch.grid == [1; 3])
        );
    }
}

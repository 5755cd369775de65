//! What other kernels are timed with: a copy in the device's memory, `kernels/copy.cu`, and an empty launch.

use crate::gpu::operation::kernel::{
    Call, Code, Operation, ProgramBuilder, arguments, exact, kernel, long, moves, with_element,
};
use crate::gpu::operation::{ExpectedBuffer, GpuForm, HostInputs, LaunchConfig};
use crate::gpu::program::{DeviceProgram, Dtype};

/// The untuned configuration first. Here `chunk` is the rounds of a block.
const CANDIDATES: &[LaunchConfig] = &[
    LaunchConfig::new(256, 16, 4, 1),
    LaunchConfig::new(512, 16, 4, 1),
    LaunchConfig::new(256, 16, 8, 1),
    LaunchConfig::new(128, 16, 8, 1),
    LaunchConfig::new(1024, 16, 2, 1),
    LaunchConfig::new(256, 16, 4, 4),
    LaunchConfig::new(256, 16, 4, 16),
    LaunchConfig::new(256, 8, 4, 1),
];

const FILE: &str = "copy.cu";

pub(super) fn checked() -> Vec<Operation> {
    vec![copy(1 << 20)]
}

pub fn copy(elements: usize) -> Operation {
    Operation {
        name: "copy",
        params: vec![("n", elements.to_string())],
        work: ("elements_per_s", elements as f64),
        bytes_moved: moves(2 * elements),
        candidates: CANDIDATES.to_vec(),
        tolerance: exact,
        selection: None,
        code: Code::new(elements, program, expected, |_| [1, 31, 4096, 70_001].map(copy).to_vec()),
    }
}

/// A copy of 32-bit floats in the untuned configuration.
pub fn plain_copy(elements: usize) -> DeviceProgram {
    program(&elements, Dtype::F32, GpuForm::Tuned(CANDIDATES[0]))
}

/// A kernel that does nothing, `kernels/empty.cu`, as one launch of one block: the lower bound of every launch.
pub fn empty_program() -> DeviceProgram {
    let mut program = ProgramBuilder::new(Dtype::F32);
    let kernel = kernel("empty.cu", "empty", Dtype::F32, &[]);
    program.launch(Call { kernel, grid: [1, 1, 1], block: 32, shared: 0 }, Vec::new());
    program.finish()
}

fn program(elements: &usize, dtype: Dtype, form: GpuForm) -> DeviceProgram {
    let mut program = ProgramBuilder::new(dtype);
    let places = [program.normal("from", *elements), program.output("to", *elements)];
    let arguments = arguments(&places, &[long(*elements)]);
    match form {
        GpuForm::Reference => program.plain(FILE, "copy_reference", *elements, arguments),
        GpuForm::Tuned(LaunchConfig { block, vector, unroll, chunk }) => {
            // The first block also copies the elements after the last whole vector.
            let vectors = elements * dtype.bytes() / vector as usize;
            let blocks = vectors.div_ceil((block * unroll * chunk) as usize).max(1);
            let defines = [("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("CHUNK", chunk)];
            let kernel = kernel(FILE, "copy", dtype, &defines);
            program.launch(Call { kernel, grid: [blocks, 1, 1], block, shared: 0 }, arguments);
        }
    }
    program.finish()
}

fn expected(_: &usize, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<ExpectedBuffer>, String> {
    with_element!(dtype, T => Ok(vec![ExpectedBuffer::new(1, &inputs.elements::<T>(0)?, 0.0)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_kernel_is_one_block() {
        let program = empty_program();
        assert_eq!(program.fault(), None);
        assert!(program.launches().map(|launch| launch.grid).eq([[1; 3]]));
    }
}

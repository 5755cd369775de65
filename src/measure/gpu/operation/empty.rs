//! A kernel that does nothing, `kernels/empty.cu`: the floor of every launch.

use super::super::program::{Dtype, Kernel, Launch, Program, Step};
use super::{Config, Form};
use std::collections::BTreeMap;

/// There is nothing to choose.
pub const CANDIDATES: &[Config] = &[Config { block: 32, vector: 0, unroll: 0, chunk: 0 }];

/// One launch of one block. It has no inputs and no outputs, so nothing to compare.
pub fn program(dtype: Dtype, form: Form) -> Program {
    let block = match form {
        Form::Reference => CANDIDATES[0].block,
        Form::Tuned(config) => config.block,
    };
    let kernel = Kernel { file: "empty.cu", entry: "empty", dtype, defines: BTreeMap::new() };
    let launch = Launch { kernel, grid: [1, 1, 1], block, shared: 0, arguments: Vec::new() };
    Program { buffers: Vec::new(), steps: vec![Step::Launch(launch)] }
}

#[cfg(test)]
mod tests {
    use super::super::checks;
    use super::*;

    #[test]
    fn it_is_one_block() {
        checks::programs(CANDIDATES, program, |launch, _| assert_eq!(launch.grid, [1, 1, 1]));
    }
}

//! What the launches of all operations have in common: vectors that fit, plain kernels, arguments.

use super::super::program::{Argument, BufferSpec, Content, Data, Distribution, Dtype, Kernel, Launch, Random, Step};
use super::Config;
use std::collections::BTreeMap;

/// Threads of a block of a reference kernel.
pub(super) const PLAIN_BLOCK: u32 = 256;

/// The bytes that a thread may access at once where pieces of so many elements follow one another: at most what the
/// configuration says, and at least one element.
pub(super) fn vector(config: Config, dtype: Dtype, piece: usize) -> u32 {
    let bytes = piece * dtype.bytes();
    let aligned = 1_u32 << bytes.trailing_zeros().min(4);
    let element = count(dtype.bytes());
    config.vector.min(aligned).max(element)
}

/// A launch of a reference kernel: one thread an output.
pub(super) fn plain(
    file: &'static str,
    entry: &'static str,
    dtype: Dtype,
    outputs: usize,
    arguments: Vec<Argument>,
) -> Step {
    Step::Launch(Launch {
        kernel: Kernel { file, entry, dtype, defines: BTreeMap::new() },
        grid: [count(outputs.div_ceil(PLAIN_BLOCK as usize)), 1, 1],
        block: PLAIN_BLOCK,
        shared: 0,
        arguments,
    })
}

pub(super) fn output(name: &'static str, dtype: Dtype, count: usize) -> BufferSpec {
    BufferSpec { name, data: Data::Element(dtype), count, content: Content::Output }
}

/// An input of about standard normal elements.
pub(super) fn normal(name: &'static str, dtype: Dtype, count: usize, stream: u64) -> BufferSpec {
    let content = Content::Random(Random { distribution: Distribution::Normal(1.0), stream });
    BufferSpec { name, data: Data::Element(dtype), count, content }
}

/// An input of elements that are uniform in 0..1.
pub(super) fn uniform(name: &'static str, dtype: Dtype, count: usize, stream: u64) -> BufferSpec {
    let content = Content::Random(Random { distribution: Distribution::Uniform(0.0, 1.0), stream });
    BufferSpec { name, data: Data::Element(dtype), count, content }
}

pub(super) fn integers(name: &'static str, values: Vec<i32>) -> BufferSpec {
    BufferSpec { name, data: Data::I32, count: values.len(), content: Content::Integers(values) }
}

/// A size as an `int`.
pub(super) fn int(value: usize) -> Argument {
    Argument::I32(i32::try_from(value).expect("shapes are made of sides, channels and tiles that fit 31 bits"))
}

/// A size as a `long long`.
pub(super) fn long(value: usize) -> Argument {
    Argument::I64(i64::try_from(value).expect("what lies in memory has fewer elements than 2^63"))
}

/// A size as blocks or threads; what does not fit becomes the largest number, which no device takes.
pub(super) fn count(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_fits_its_piece() {
        let check = |most: u32, dtype: Dtype, piece: usize, expected: u32| {
            let config = Config { vector: most, ..Config::default() };
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
    fn every_output_has_a_thread() {
        let check = |outputs: usize, blocks: u32| {
            let Step::Launch(launch) = plain("copy.cu", "copy_reference", Dtype::F32, outputs, Vec::new()) else {
                panic!("a launch")
            };
            assert_eq!((launch.grid, launch.block), ([blocks, 1, 1], PLAIN_BLOCK));
        };
        check(1, 1);
        check(256, 1);
        check(257, 2);
    }
}

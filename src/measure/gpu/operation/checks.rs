//! What the tests of all operations check alike.

use super::super::program::{BufferSpec, Content, Data, Dtype, Launch, Program, Step};
use super::inputs::with_element;
use super::tiled::Draw;
use super::{Config, Form, Inputs, Tiled, source};
use half::{bf16, f16};
use sprag_base::stats::random::SplitMix64;
use sprag_kernels::element::{E4m3, Element};
use sprag_kernels::shape::MapShape;
use std::collections::BTreeSet;

/// Shapes that do not divide evenly, with tiles of all kinds of sides, none and many, and more columns than a block.
pub(super) fn tiled_shapes() -> Vec<Tiled> {
    let shape = |(batch, channels, rows, columns, side, count): (usize, usize, usize, usize, usize, usize), draw| {
        let map = MapShape { batch, channels, height: rows * side, width: columns * side };
        Tiled::drawn(map, side, count, draw, 7).unwrap()
    };
    let mut shapes = vec![shape((1, 2, 1, 1030, 1, 9), Draw::Distinct), shape((1, 3, 2, 2, 8, 0), Draw::Distinct)];
    for sizes in [(2, 5, 3, 4, 3, 5), (1, 7, 2, 3, 8, 3), (3, 1, 4, 4, 1, 20), (1, 33, 3, 5, 16, 7), (2, 3, 1, 1, 6, 1)]
    {
        shapes.push(shape(sizes, Draw::Distinct));
        shapes.push(shape(sizes, Draw::Repeating));
    }
    shapes
}

pub(super) fn names_are_distinct(candidates: &[Config]) {
    let names: BTreeSet<String> = candidates.iter().map(|config| config.name()).collect();
    assert_eq!(names.len(), candidates.len());
}

/// Every form in every element type can be, of a file that is there, and has the buffers of the reference; the tuned launches
/// are handed on.
pub(super) fn programs(
    candidates: &[Config],
    program: impl Fn(Dtype, Form) -> Program,
    check: impl Fn(&Launch, Config),
) {
    let kept = |program: &Program| -> Vec<BufferSpec> {
        program.buffers.iter().filter(|spec| spec.content != Content::Scratch).cloned().collect()
    };
    for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::E4m3] {
        let plain = program(dtype, Form::Reference);
        assert_eq!(plain.fault(), None);
        for &config in candidates {
            let tuned = program(dtype, Form::Tuned(config));
            assert_eq!(tuned.fault(), None, "{}", config.name());
            assert_eq!(kept(&tuned), kept(&plain), "{}", config.name());
            for step in &tuned.steps {
                if let Step::Launch(launch) = step {
                    assert!(source(launch.kernel.file).is_some_and(|text| text.contains(launch.kernel.entry)));
                    check(launch, config);
                }
            }
        }
    }
}

pub(in crate::gpu) fn inputs(program: &Program) -> Inputs {
    let given = |spec: &&BufferSpec| !matches!(spec.content, Content::Output | Content::Scratch);
    Inputs::new(program.buffers.iter().take_while(given).map(bytes).collect())
}

fn bytes(spec: &BufferSpec) -> Vec<u8> {
    let mut random = SplitMix64::new(spec.count as u64);
    match (&spec.content, spec.data) {
        (Content::Integers(values), _) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        (Content::Floats(values), _) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        (_, Data::Element(dtype)) => with_element!(dtype, T => {
            (0..spec.count).flat_map(|_| T::from_f32(random.uniform() as f32).le_bytes()).collect()
        }),
        (_, Data::F32 | Data::I32) => (0..spec.count).flat_map(|_| (random.uniform() as f32).to_le_bytes()).collect(),
    }
}

trait Bytes: Element {
    fn le_bytes(self) -> Vec<u8>;
}

impl Bytes for f32 {
    fn le_bytes(self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }
}

impl Bytes for f16 {
    fn le_bytes(self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }
}

impl Bytes for bf16 {
    fn le_bytes(self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }
}

impl Bytes for E4m3 {
    fn le_bytes(self) -> Vec<u8> {
        vec![self.to_bits()]
    }
}

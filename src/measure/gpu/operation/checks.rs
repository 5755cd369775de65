//! Properties of the programs of all operations.

use crate::gpu::operation::{GpuForm, HostInputs, LaunchConfig, Operation, Tiled, source};
use crate::gpu::program::{Argument, BufferSpec, Content, Data, DeviceProgram, Dtype, Launch};
use crate::gpu::settings::Profile;
use half::{bf16, f16};
use sprag_base::stats::random::SplitMix64;
use sprag_kernels::element::{E4m3, Element as _};
use std::collections::BTreeSet;

const DTYPES: [Dtype; 4] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::E4m3];

pub(in crate::gpu) fn inputs(program: &DeviceProgram) -> HostInputs {
    let given = |spec: &&BufferSpec| !matches!(spec.content, Content::Output | Content::Scratch);
    HostInputs { buffers: program.buffers.iter().take_while(given).map(|spec| (spec.data, bytes(spec))).collect() }
}

fn bytes(spec: &BufferSpec) -> Vec<u8> {
    let mut random = SplitMix64::new(spec.count as u64);
    let mut drawn = (0..spec.count).map(|_| random.uniform() as f32);
    match (&spec.content, spec.data) {
        (Content::Integers(values), _) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        (Content::Floats(values), _) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        (_, Data::Element(Dtype::F16)) => drawn.flat_map(|value| f16::from_f32(value).to_le_bytes()).collect(),
        (_, Data::Element(Dtype::Bf16)) => drawn.flat_map(|value| bf16::from_f32(value).to_le_bytes()).collect(),
        (_, Data::Element(Dtype::E4m3)) => drawn.map(|value| E4m3::from_f32(value).to_bits()).collect(),
        _ => drawn.by_ref().flat_map(f32::to_le_bytes).collect(),
    }
}

#[test]
fn expected_outputs_are_those_of_the_program() {
    for shape in Operation::every().iter().flat_map(Operation::uneven) {
        for dtype in DTYPES {
            let program = shape.program(dtype, GpuForm::Reference);
            let expected = shape.expected(dtype, &inputs(&program)).expect("the inputs fit");
            let outputs = program.buffers.iter().enumerate().filter(|(_, spec)| spec.content == Content::Output);
            let outputs: BTreeSet<(usize, usize)> = outputs.map(|(place, spec)| (place, spec.count)).collect();
            let expected: BTreeSet<(usize, usize)> =
                expected.iter().map(|one| (one.buffer, one.values.len())).collect();
            assert_eq!(expected, outputs, "{shape:?} {dtype:?}");
            assert!(shape.expected(dtype, &HostInputs::default()).is_err(), "{shape:?}");
        }
    }
}

#[test]
fn every_form_can_be_launched() {
    let operations = Operation::every().into_iter().flat_map(|one| [one.uneven(), vec![one]].concat());
    for operation in operations.chain(Operation::all(&Profile::LARGE)) {
        launches(&operation, |_, _| ());
    }
}

/// The names of configurations differ. Every form in every element type can be launched, its file exists, and it has the
/// buffers of the reference. Calls `check` with every launch of the tuned forms.
pub(super) fn launches(operation: &Operation, check: impl Fn(&Launch, LaunchConfig)) {
    let names: BTreeSet<String> = operation.candidates.iter().map(|config| config.name()).collect();
    assert_eq!(names.len(), operation.candidates.len());
    let shared = |program: &DeviceProgram| -> Vec<BufferSpec> {
        program.buffers.iter().filter(|spec| spec.content != Content::Scratch).cloned().collect()
    };
    for dtype in DTYPES {
        let plain = operation.program(dtype, GpuForm::Reference);
        let tuned = operation.candidates.iter().map(|config| GpuForm::Tuned(*config));
        for form in tuned.chain([GpuForm::Reference]) {
            let program = operation.program(dtype, form);
            assert_eq!(program.fault(), None, "{operation:?} {dtype:?} {form:?}");
            assert_eq!(shared(&program), shared(&plain), "{operation:?} {dtype:?} {form:?}");
            for launch in program.launches() {
                assert!(source(launch.kernel.source.name()).is_some_and(|text| text.contains(&*launch.kernel.entry)));
                // Beyond that a block must ask for shared memory, which only a few kernels do.
                assert!(launch.shared <= 48 << 10, "{operation:?} {launch:?}");
                if let GpuForm::Tuned(config) = form {
                    check(launch, config);
                }
            }
        }
    }
}

/// The blocks of a launch, whose arguments from `place` on are those of bands, cover the map; returns the cells of a block.
pub(super) fn bands_cover(tiles: &Tiled, launch: &Launch, place: usize) -> usize {
    let (map, side) = (tiles.map(), tiles.tile_size());
    let [Argument::I32(cells), Argument::I32(parts), Argument::I32(group)] = launch.arguments[place..] else {
        panic!("{:?}", launch.arguments)
    };
    let [x, y, z] = launch.grid.map(|blocks| blocks as usize);
    let (cells, parts, group) = (cells as usize, parts as usize, group as usize);
    assert!(parts * cells * side >= map.width && (parts - 1) * cells * side < map.width);
    assert_eq!((x, z), (map.height / side * parts, map.batch));
    assert!(y * group >= map.channels && (y - 1) * group < map.channels);
    assert_eq!(side * launch.kernel.dtype.bytes() % launch.kernel.defines["VECTOR"] as usize, 0);
    cells
}

//! Properties of the programs of all operations.

use crate::gpu::custom::number::{Number, encode};
use crate::gpu::operation::{GpuForm, HostInputs, Operation, source};
use crate::gpu::program::{BufferSpec, Content, DeviceProgram, Dtype};
use crate::gpu::settings::Profile;
use sprag_base::stats::random::SplitMix64;
use std::collections::BTreeSet;

const DTYPES: [Dtype; 4] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::E4m3];

pub(in crate::gpu) fn inputs(program: &DeviceProgram) -> HostInputs {
    let given = |spec: &&BufferSpec| !matches!(spec.content, Content::Output | Content::Scratch);
    HostInputs { buffers: program.buffers.iter().take_while(given).map(|spec| (spec.data, bytes(spec))).collect() }
}

fn bytes(spec: &BufferSpec) -> Vec<u8> {
    let mut random = SplitMix64::new(spec.count as u64);
    let drawn = (0..spec.count).map(|_| Number::Float(random.uniform()));
    match &spec.content {
        Content::Integers(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Content::Floats(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        _ => encode(spec.data, drawn).expect("it fits"),
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
        check_launches(&operation);
    }
}

/// The names of configurations differ. Every form in every element type can be launched, its file exists, and it has the
/// buffers of the reference, scratch after all others. That blocks reach every element, `kernels check` shows.
fn check_launches(operation: &Operation) {
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
            assert!(
                program.buffers.iter().map(|buffer| buffer.content == Content::Scratch).is_sorted(),
                "{operation:?}"
            );
            for launch in program.launches() {
                assert!(source(launch.kernel.source.name()).is_some_and(|text| text.contains(&*launch.kernel.entry)));
                // Beyond that a block must ask for shared memory, which only a few kernels do.
                assert!(launch.shared <= 48 << 10, "{operation:?} {launch:?}");
            }
        }
    }
}

//! TileSSM scan: tokens `[B,K,C]` in one or both directions, as `kernels/scan.cu` computes it.
//!
//! A configuration with a chunk takes the long form, which cuts the steps into chunks and is one pass over memory even
//! where there are few channels; one without takes the short form, a thread for each few channels. A second direction
//! is a second launch, which merges its outputs into those of the first.

use super::super::program::{Argument, Content, Data, Distribution, Dtype, Program};
use super::super::settings::Profile;
use super::assembly::{Assembly, Call, buffers, elements_at_once, int, kernel, optional};
use super::inputs::with_element;
use super::kernel::{CudaKernel, Operation, summed_tolerance};
use super::{Config, Expected, Form, Inputs};
use sprag_kernels::scan::{self, DEFAULT_CLAMP, Direction, ScanShape, Scratch};

/// Threads of a block of the reference.
const PLAIN_BLOCK: u32 = 128;
/// The most channels of a thread: more do not fit its registers.
const MOST_CHANNELS: usize = 8;
/// The most steps that a short scan loads ahead where it merges: it loads the other direction's outputs too.
const MOST_MERGED_STEPS: u32 = 16;
/// Words before those of the chunks in the status of a long scan, for its ticket counter.
const TICKET_WORDS: usize = 2;

/// Scans with at most so many steps use the short form untuned: chunks would be few and short.
const SHORT_STEPS: usize = 1024;

/// Scans that nothing divides evenly: samples, steps, channels.
const SCANS: [[usize; 3]; 6] = [[1, 1, 1], [2, 7, 3], [1, 129, 5], [3, 300, 33], [1, 515, 8], [2, 64, 130]];

/// The configurations worth trying, the one used untuned first.
const CANDIDATES: &[Config] = &[
    Config { block: 128, vector: 8, unroll: 16, chunk: 128 },
    Config { block: 256, vector: 8, unroll: 8, chunk: 128 },
    Config { block: 128, vector: 16, unroll: 8, chunk: 128 },
    Config { block: 256, vector: 4, unroll: 16, chunk: 256 },
    Config { block: 256, vector: 8, unroll: 16, chunk: 256 },
    Config { block: 512, vector: 4, unroll: 8, chunk: 256 },
    Config { block: 128, vector: 4, unroll: 16, chunk: 0 },
    Config { block: 32, vector: 4, unroll: 16, chunk: 0 },
    Config { block: 64, vector: 8, unroll: 8, chunk: 0 },
    Config { block: 32, vector: 4, unroll: 32, chunk: 0 },
];

/// A scan. There is at least one sample, one step and one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanOperation {
    /// Samples, steps and channels.
    pub tokens: ScanShape,
    pub way: Way,
    /// The state before the first step.
    pub initial: Initial,
}

pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    let [batch, steps, channels] =
        [profile.scan.batch, profile.scan.steps, profile.scan.channels].map(|size| size as usize);
    let tokens = ScanShape { batch, steps, channels };
    vec![Operation::new(ScanOperation { tokens, way: Way::Forward, initial: Initial::Zero })]
}

impl CudaKernel for ScanOperation {
    fn name(&self) -> &'static str {
        "tile_ssm_scan"
    }

    fn params(&self) -> Vec<(&'static str, String)> {
        vec![
            ("b", self.tokens.batch.to_string()),
            ("steps", self.tokens.steps.to_string()),
            ("c", self.tokens.channels.to_string()),
            ("way", self.way.word().to_owned()),
            ("initial", self.initial.word().to_owned()),
        ]
    }

    fn work(&self) -> (&'static str, f64) {
        ("tokens_per_s", (self.tokens.batch * self.tokens.steps) as f64)
    }

    fn bytes_moved(&self, dtype: Dtype) -> Option<usize> {
        Some(2 * self.tokens.elements() * dtype.bytes())
    }

    fn candidates(&self) -> Vec<Config> {
        let mut candidates = CANDIDATES.to_vec();
        let is_short = self.tokens.steps <= SHORT_STEPS;
        // A stable sort keeps the order within each form.
        candidates.sort_by_key(|config| (config.chunk == 0) != is_short);
        candidates
    }

    fn program(&self, dtype: Dtype, form: Form) -> Program {
        let mut assembly = Assembly::new();
        let places = Places::add(&mut assembly, self, dtype);
        let plan = Plan::new(self, dtype, form);
        let status = (plan.status_words > 0)
            .then(|| assembly.buffer("status", Data::I32, plan.status_words * 2, Content::Scratch));
        for reversed in [false, true] {
            if !matches!(self.way, Way::Both(_)) && reversed != (self.way == Way::Backward) {
                continue;
            }
            if let Some(status) = status {
                assembly.zero(status);
            }
            let merge = match self.way {
                Way::Both(merge) if reversed => merge.code(),
                _ => 0,
            };
            assembly.launch(plan.call(dtype, reversed, merge), places.arguments(self, &plan, status));
        }
        assembly.finish()
    }

    fn expected(&self, dtype: Dtype, inputs: &Inputs) -> Result<Vec<Expected>, String> {
        let places = Places::of(self);
        let parameters = places.parameters.map(|place| inputs.floats(place));
        let [decay, input_gain, output_gain, state_bias] = parameters;
        let (decay, input_gain, output_gain, state_bias) = (decay?, input_gain?, output_gain?, state_bias?);
        let parameters = scan::Parameters {
            decay: &decay,
            input_gain: &input_gain,
            output_gain: &output_gain,
            state_bias: &state_bias,
        };
        let gate = places.gate.map(|place| inputs.floats(place)).transpose()?;
        let direction = match self.way {
            Way::Forward => Direction::Forward(parameters),
            Way::Backward => Direction::Backward(parameters),
            Way::Both(merge) => {
                let merge = match merge {
                    Merge::Sum => scan::Merge::Sum,
                    Merge::Average => scan::Merge::Average,
                    Merge::Even | Merge::Gated | Merge::GatedBySample => scan::Merge::Gated(gate.as_deref()),
                };
                Direction::Bidirectional { forward: parameters, backward: parameters, merge }
            }
        };
        let tolerance = tolerance(self.way, dtype);
        with_element!(dtype, T => {
            let tokens = inputs.elements::<T>(places.tokens)?;
            let initial = places.initial.map(|place| inputs.elements::<T>(place)).transpose()?;
            let reads =
                scan::Inputs { tokens: &tokens, shape: self.tokens, init_state: initial.as_deref(), clamp: DEFAULT_CLAMP };
            let mut outputs = vec![T::default(); self.tokens.elements()];
            let mut final_state = vec![T::default(); direction.final_states(self.tokens)];
            scan::reference(&reads, &direction, &mut outputs, &mut final_state, &mut Scratch::default())
                .map_err(|error| error.to_string())?;
            Ok(vec![
                Expected::new(places.outputs, &outputs, tolerance),
                Expected::new(places.final_state, &final_state, tolerance),
            ])
        })
    }

    fn tolerance(&self, dtype: Dtype) -> f64 {
        summed_tolerance(dtype)
    }

    fn uneven(&self) -> Vec<Operation> {
        // Every way and initial state, each at some of the sizes.
        let merges = [Merge::Sum, Merge::Average, Merge::Even, Merge::Gated, Merge::GatedBySample];
        let ways: Vec<Way> = [Way::Forward, Way::Backward].into_iter().chain(merges.map(Way::Both)).collect();
        let initials = [Initial::Zero, Initial::Shared, Initial::EachWay];
        let mut scans = Vec::new();
        for (number, [batch, steps, channels]) in SCANS.into_iter().enumerate() {
            let tokens = ScanShape { batch, steps, channels };
            for (place, way) in ways.iter().enumerate() {
                // Forward and backward at every size, the merges in turn.
                if place < 2 || (place + number) % merges.len() < 2 {
                    let initial = initials[(place + number) % initials.len()];
                    // One direction has one state.
                    let initial = match (way, initial) {
                        (Way::Forward | Way::Backward, Initial::EachWay) => Initial::Shared,
                        _ => initial,
                    };
                    scans.push(Operation::new(ScanOperation { tokens, way: *way, initial }));
                }
            }
        }
        scans
    }
}

/// How far a device may be from the reference: what is summed in another order may be rounded to the other neighbour.
/// Where two directions are merged their outputs may nearly cancel, so that the distance of neighbours is not that at
/// the sum but at the outputs, which are below sixteen.
fn tolerance(way: Way, dtype: Dtype) -> f64 {
    let neighbour = match dtype {
        Dtype::F32 => return 1e-5,
        Dtype::F16 => 2.0_f64.powi(-10),
        Dtype::Bf16 => 2.0_f64.powi(-7),
        Dtype::E4m3 => 2.0_f64.powi(-3),
    };
    if matches!(way, Way::Both(_)) { 8.0 * neighbour } else { neighbour }
}

/// Where the buffers of a call stand.
struct Places {
    tokens: usize,
    /// Decay, input gain, output gain and state bias.
    parameters: [usize; 4],
    initial: Option<usize>,
    gate: Option<usize>,
    outputs: usize,
    final_state: usize,
}

impl Places {
    fn of(shape: &ScanOperation) -> Self {
        // The places do not depend on the element type.
        Places::add(&mut Assembly::new(), shape, Dtype::F32)
    }

    fn add(assembly: &mut Assembly, shape: &ScanOperation, dtype: Dtype) -> Self {
        let ScanShape { batch, channels, .. } = shape.tokens;
        let element = Data::Element(dtype);
        let (gains, states) = (Distribution::Uniform(0.05, 1.55), Distribution::Normal(1.0));
        let rows = shape.initial.rows();
        let gates = match shape.way {
            Way::Both(Merge::Gated) => channels,
            Way::Both(Merge::GatedBySample) => batch * channels,
            _ => 0,
        };
        let directions = if matches!(shape.way, Way::Both(_)) { 2 } else { 1 };
        Places {
            tokens: assembly.random("tokens", element, shape.tokens.elements(), Distribution::Normal(1.0)),
            parameters: [
                assembly.random("decay", Data::F32, channels, Distribution::Uniform(0.1, 0.9)),
                assembly.random("input gain", Data::F32, channels, gains),
                assembly.random("output gain", Data::F32, channels, gains),
                assembly.random("state bias", Data::F32, channels, Distribution::Normal(0.1)),
            ],
            initial: (rows > 0).then(|| assembly.random("initial", element, batch * rows * channels, states)),
            // Beyond 0 and 1 too: the kernel clamps.
            gate: (gates > 0).then(|| assembly.random("gate", Data::F32, gates, Distribution::Uniform(-0.25, 1.25))),
            outputs: assembly.buffer("outputs", element, shape.tokens.elements(), Content::Output),
            final_state: assembly.buffer("final state", element, batch * directions * channels, Content::Output),
        }
    }

    /// The arguments of a launch, which do not depend on its direction.
    fn arguments(&self, shape: &ScanOperation, plan: &Plan, status: Option<usize>) -> Vec<Argument> {
        let ScanShape { batch, steps, channels } = shape.tokens;
        let gate_rows = if shape.way == Way::Both(Merge::GatedBySample) { batch } else { 1 };
        let final_rows = if matches!(shape.way, Way::Both(_)) { 2 } else { 1 };
        let mut arguments = buffers(&[self.tokens]);
        arguments.extend(buffers(&self.parameters));
        arguments.extend([optional(self.initial), optional(self.gate)]);
        arguments.extend(buffers(&[self.outputs, self.final_state]));
        arguments.extend([int(batch), int(steps), int(channels), Argument::F32(DEFAULT_CLAMP)]);
        arguments.extend([int(shape.initial.rows()), int(final_rows), int(gate_rows)]);
        if plan.entry == "scan_long" {
            arguments.push(optional(status));
        }
        arguments
    }
}

impl Initial {
    fn rows(self) -> usize {
        match self {
            Initial::Zero => 0,
            Initial::Shared => 1,
            Initial::EachWay => 2,
        }
    }
}

/// How a launch covers the tokens.
struct Plan {
    entry: &'static str,
    blocks: usize,
    block: u32,
    defines: Vec<(&'static str, u32)>,
    /// Words of 64 bits in the status; none where blocks need not tell one another anything.
    status_words: usize,
}

impl Plan {
    fn new(shape: &ScanOperation, dtype: Dtype, form: Form) -> Plan {
        let ScanShape { batch, steps, channels } = shape.tokens;
        let Form::Tuned(config) = form else {
            let blocks = (batch * channels).div_ceil(PLAIN_BLOCK as usize);
            return Plan { entry: "scan_reference", blocks, block: PLAIN_BLOCK, defines: Vec::new(), status_words: 0 };
        };
        let group = elements_at_once(config.vector, dtype, MOST_CHANNELS, &[channels]);
        let vector = (group * dtype.bytes()) as u32;
        let mut defines = vec![("BLOCK", config.block), ("VECTOR", vector), ("UNROLL", config.unroll)];
        if config.chunk == 0 {
            let blocks = (batch * channels / group).div_ceil(config.block as usize);
            return Plan { entry: "scan_short", blocks, block: config.block, defines, status_words: 0 };
        }
        defines.push(("CHUNK", config.chunk));
        // A block is so many threads along the channels as its rows of `unroll` steps leave.
        let lanes = (config.block * config.unroll / config.chunk) as usize;
        let columns = channels.div_ceil(lanes * group);
        let chunks = steps.div_ceil(config.chunk as usize);
        let status_words = if chunks > 1 { TICKET_WORDS + chunks * batch * channels } else { 0 };
        Plan { entry: "scan_long", blocks: chunks * batch * columns, block: config.block, defines, status_words }
    }

    fn call(&self, dtype: Dtype, reversed: bool, merge: u32) -> Call {
        let mut defines = self.defines.clone();
        let merges_ahead = merge > 0 && self.entry == "scan_short";
        for (_, steps) in defines.iter_mut().filter(|(name, _)| merges_ahead && *name == "UNROLL") {
            *steps = MOST_MERGED_STEPS.min(*steps);
        }
        defines.extend([("REVERSED", u32::from(reversed)), ("MERGE", merge)]);
        let kernel = kernel("scan.cu", self.entry, dtype, &defines);
        Call { kernel, grid: [self.blocks, 1, 1], block: self.block, shared: 0 }
    }
}

/// Which way the tokens are read. Both directions have the same parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Forward,
    Backward,
    Both(Merge),
}

impl Way {
    pub fn word(self) -> &'static str {
        match self {
            Way::Forward => "forward",
            Way::Backward => "backward",
            Way::Both(Merge::Sum) => "sum",
            Way::Both(Merge::Average) => "average",
            Way::Both(Merge::Even) => "even",
            Way::Both(Merge::Gated) => "gated",
            Way::Both(Merge::GatedBySample) => "gated_by_sample",
        }
    }
}

impl Initial {
    pub fn word(self) -> &'static str {
        match self {
            Initial::Zero => "zero",
            Initial::Shared => "shared",
            Initial::EachWay => "each_way",
        }
    }
}

/// How two directions become one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    Sum,
    Average,
    /// Half of each, by a gate that is not given.
    Even,
    Gated,
    /// By a gate a sample and channel.
    GatedBySample,
}

/// The state before the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    Zero,
    /// `[B,C]`, for every direction.
    Shared,
    /// `[B,2,C]`, the forward state first.
    EachWay,
}

impl Merge {
    /// The value of the macro `MERGE`.
    pub(super) fn code(self) -> u32 {
        match self {
            Merge::Sum => 1,
            Merge::Average => 2,
            Merge::Even | Merge::Gated | Merge::GatedBySample => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::program::{Kernel, Launch, Step};
    use super::*;

    const TYPES: [Dtype; 4] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::E4m3];
    const WAYS: [Way; 7] = [
        Way::Forward,
        Way::Backward,
        Way::Both(Merge::Sum),
        Way::Both(Merge::Average),
        Way::Both(Merge::Even),
        Way::Both(Merge::Gated),
        Way::Both(Merge::GatedBySample),
    ];

    fn shapes() -> Vec<ScanOperation> {
        let sizes = [(1, 1, 1), (1, 256, 128), (2, 300, 7), (3, 17, 24), (2, 1025, 130), (8, 16_384, 1024)];
        let initials = [Initial::Zero, Initial::Shared, Initial::EachWay].into_iter().cycle();
        let tokens = sizes.map(|(batch, steps, channels)| ScanShape { batch, steps, channels });
        let all = tokens.iter().flat_map(|tokens| WAYS.map(|way| (*tokens, way)));
        all.zip(initials).map(|((tokens, way), initial)| ScanOperation { tokens, way, initial }).collect()
    }

    fn launches(program: &Program) -> Vec<&Launch> {
        let launches = program.steps.iter().filter_map(|step| match step {
            Step::Launch(launch) => Some(launch),
            Step::Zero(_) => None,
        });
        launches.collect()
    }

    /// Steps and channels that the blocks of a launch reach, over all samples, and how many of either one block has.
    fn reach(launch: &Launch, shape: &ScanOperation, dtype: Dtype) -> (usize, usize) {
        let Kernel { entry, defines, .. } = &launch.kernel;
        let (blocks, block) = (launch.grid[0] as usize, launch.block as usize);
        let group = defines.get("VECTOR").map_or(1, |bytes| *bytes as usize / dtype.bytes());
        if *entry != "scan_long" {
            return (shape.tokens.steps, blocks * block * group);
        }
        let [unroll, chunk] = ["UNROLL", "CHUNK"].map(|name| defines[name] as usize);
        assert!(chunk.is_multiple_of(unroll) && block.is_multiple_of(chunk / unroll), "{launch:?}");
        let width = block / (chunk / unroll) * group;
        let columns = shape.tokens.channels.div_ceil(width);
        assert!(blocks.is_multiple_of(columns * shape.tokens.batch), "{launch:?}");
        (blocks / (columns * shape.tokens.batch) * chunk, columns * width * shape.tokens.batch)
    }

    #[test]
    fn every_form_reaches_every_element_and_no_launch_is_faulty() {
        for (shape, dtype) in shapes().iter().flat_map(|shape| TYPES.map(|dtype| (shape, dtype))) {
            let forms = CANDIDATES.iter().map(|config| Form::Tuned(*config));
            for form in forms.chain([Form::Reference]) {
                let program = shape.program(dtype, form);
                assert_eq!(program.fault(), None, "{shape:?} {dtype:?} {form:?}");
                let launches = launches(&program);
                assert_eq!(launches.len(), if matches!(shape.way, Way::Both(_)) { 2 } else { 1 });
                for launch in launches {
                    let (steps, states) = reach(launch, shape, dtype);
                    assert!(steps >= shape.tokens.steps, "{shape:?} {dtype:?} {form:?}: {steps} steps");
                    assert!(states >= shape.tokens.states(), "{shape:?} {dtype:?} {form:?}: {states} states");
                }
            }
        }
    }

    #[test]
    fn every_form_has_the_same_inputs_and_outputs() {
        for shape in shapes() {
            let reference = shape.program(Dtype::F16, Form::Reference).buffers;
            for config in CANDIDATES {
                let tuned = shape.program(Dtype::F16, Form::Tuned(*config)).buffers;
                let (shared, scratch) = tuned.split_at(reference.len());
                assert_eq!(shared, reference, "{shape:?} {}", config.name());
                assert!(scratch.iter().all(|buffer| buffer.content == Content::Scratch));
            }
        }
    }

    #[test]
    fn what_chunks_tell_one_another_is_cleared_before_each_launch() {
        let tokens = ScanShape { batch: 2, steps: 300, channels: 7 };
        let shape = ScanOperation { tokens, way: Way::Both(Merge::Sum), initial: Initial::Zero };
        let long = shape.program(Dtype::F32, Form::Tuned(CANDIDATES[0]));
        let status = long.buffers.len() - 1;
        assert_eq!(long.buffers[status].count, 2 * (2 + 3 * 2 * 7));
        assert!(matches!(&long.steps[..], [Step::Zero(a), Step::Launch(_), Step::Zero(b), Step::Launch(_)]
            if (*a, *b) == (status, status)));
        let one_chunk = ScanOperation { tokens: ScanShape { steps: 128, ..tokens }, ..shape };
        assert_eq!(one_chunk.program(Dtype::F32, Form::Tuned(CANDIDATES[0])).buffers.len(), status);
    }

    #[test]
    fn candidates_have_names_of_their_own() {
        let names: std::collections::BTreeSet<String> = CANDIDATES.iter().map(|config| config.name()).collect();
        assert_eq!(names.len(), CANDIDATES.len());
    }

    #[test]
    fn the_reference_is_read_from_the_inputs_of_the_program() {
        let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let tokens = ScanShape { batch: 1, steps: 2, channels: 1 };
        let shape = ScanOperation { tokens, way: Way::Both(Merge::Gated), initial: Initial::EachWay };
        let values: [&[f32]; 7] = [&[4.0, 0.0], &[0.5], &[1.0], &[2.0], &[0.0], &[2.0, 0.0], &[7.0]];
        let inputs = Inputs::new(values.iter().map(|values| bytes(values)).collect());
        let expected = shape.expected(Dtype::F32, &inputs).unwrap();
        // The gate, clamped to one, takes the forward outputs alone.
        assert_eq!((expected[0].buffer, expected[0].values.as_slice()), (7, [6.0, 3.0].as_slice()));
        assert_eq!((expected[1].buffer, expected[1].values.as_slice()), (8, [1.5, 2.0].as_slice()));
        assert!(shape.expected(Dtype::F32, &Inputs::default()).is_err());
    }
}

//! TileSSM scan: tokens `[B,K,C]` in one or both directions, as `kernels/scan.cu` computes it.
//!
//! A configuration without a chunk takes the form by columns: a block goes through all steps of a few channels. One with a
//! chunk takes the long form, which cuts the steps into chunks for scans that have too few channels to fill a device. Both
//! are one pass over memory. A second direction is a second launch, which merges its outputs into those of the first.

use crate::gpu::operation::kernel::{
    Call, Code, Operation, ProgramBuilder, arguments, elements_at_once, int, kernel, moves, optional, summed,
    with_element,
};
use crate::gpu::operation::{ExpectedBuffer, GpuForm, HostInputs, LaunchConfig};
use crate::gpu::program::{Argument, Data, DeviceProgram, Dtype, Fill};
use crate::gpu::settings::Profile;
use sprag_base::words;
use sprag_kernels::scan::{self, Buffers, DEFAULT_CLAMP, ScanOrder, ScanShape};

const PLAIN_BLOCK: u32 = 128;
/// The most channels that fit the registers of a thread.
const MOST_CHANNELS: usize = 4;
/// Words of the ticket counter before those of the chunks in the status of a long scan.
const TICKET_WORDS: usize = 2;

/// Scans with more steps, and fewer states than `FEW_STATES`, use the long form untuned.
const MANY_STEPS: usize = 1024;
/// Channels over all samples that leave most of a device idle if a block takes all steps of its channels.
const FEW_STATES: usize = 2048;

/// Scans that nothing divides evenly: samples, steps, channels.
const SCANS: [[usize; 3]; 6] = [[1, 1, 1], [2, 7, 3], [1, 129, 5], [3, 300, 33], [1, 515, 8], [2, 64, 130]];

/// In the order of what an H200 favoured with many channels.
const CANDIDATES: &[LaunchConfig] = &[
    LaunchConfig::new(512, 8, 8, 0),
    LaunchConfig::new(512, 4, 16, 0),
    LaunchConfig::new(256, 4, 16, 0),
    LaunchConfig::new(256, 8, 8, 0),
    LaunchConfig::new(128, 8, 8, 0),
    LaunchConfig::new(64, 4, 16, 0),
    LaunchConfig::new(128, 8, 16, 128),
    LaunchConfig::new(256, 4, 16, 256),
    LaunchConfig::new(512, 4, 8, 256),
];

/// A scan of at least one sample, step and channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenScan {
    pub tokens: ScanShape,
    pub way: ScanWay,
    pub initial: InitialState,
}

pub(super) fn timed(profile: &Profile) -> Vec<Operation> {
    vec![TokenScan { tokens: profile.tokens(), way: ScanWay::Forward, initial: InitialState::Zero }.operation()]
}

impl TokenScan {
    pub fn operation(self) -> Operation {
        let ScanShape { batch, steps, channels } = self.tokens;
        let mut candidates = CANDIDATES.to_vec();
        let has_few_states = self.tokens.states() < FEW_STATES;
        let is_long = has_few_states && steps > MANY_STEPS;
        // The smallest blocks first where few channels shall occupy many multiprocessors. A stable sort.
        candidates.sort_by_key(|config| {
            let block = if has_few_states && config.chunk == 0 { config.block } else { 0 };
            ((config.chunk > 0) != is_long, block)
        });
        let sizes = [("b", batch), ("steps", steps), ("c", channels)].map(|(name, size)| (name, size.to_string()));
        let words = [("way", self.way.word()), ("initial", self.initial.word())];
        Operation {
            name: "tile_ssm_scan",
            params: sizes.into_iter().chain(words.map(|(name, word)| (name, word.to_owned()))).collect(),
            work: ("tokens_per_s", (batch * steps) as f64),
            bytes_moved: moves(2 * self.tokens.elements()),
            candidates,
            tolerance: summed,
            selection: None,
            code: Code::new(self, TokenScan::program, TokenScan::expected, |_| uneven()),
        }
    }

    fn program(&self, dtype: Dtype, form: GpuForm) -> DeviceProgram {
        let mut builder = ProgramBuilder::new(dtype);
        let places = Places::add(&mut builder, self);
        let plan = Plan::new(self, dtype, form);
        let status = (plan.status_words > 0).then(|| builder.scratch("status", Data::I32, plan.status_words * 2));
        for reversed in [false, true] {
            if !matches!(self.way, ScanWay::Both(_)) && reversed != (self.way == ScanWay::Backward) {
                continue;
            }
            if let Some(status) = status {
                builder.zero(status);
            }
            let merge = match self.way {
                ScanWay::Both(merge) if reversed => merge.code(),
                _ => 0,
            };
            builder.launch(plan.call(dtype, reversed, merge), places.arguments(self, &plan, status));
        }
        builder.finish()
    }

    fn expected(&self, dtype: Dtype, inputs: &HostInputs) -> Result<Vec<ExpectedBuffer>, String> {
        let places = Places::add(&mut ProgramBuilder::new(dtype), self);
        let [decay, input_gain, output_gain, state_bias] = places.parameters.map(|place| inputs.floats(place));
        let (decay, input_gain, output_gain, state_bias) = (decay?, input_gain?, output_gain?, state_bias?);
        let parameters = scan::Recurrence {
            decay: &decay,
            input_gain: &input_gain,
            output_gain: &output_gain,
            state_bias: &state_bias,
        };
        let gate = places.gate.map(|place| inputs.floats(place)).transpose()?;
        let direction = match self.way {
            ScanWay::Forward => ScanOrder::Forward(parameters),
            ScanWay::Backward => ScanOrder::Backward(parameters),
            ScanWay::Both(merge) => {
                let merge = match merge {
                    ScanMerge::Sum => scan::Merge::Sum,
                    ScanMerge::Average => scan::Merge::Average,
                    ScanMerge::Even | ScanMerge::Gated | ScanMerge::GatedBySample => {
                        scan::Merge::Gated(gate.as_deref())
                    }
                };
                ScanOrder::Bidirectional { forward: parameters, backward: parameters, merge }
            }
        };
        let tolerance = tolerance(self.way, dtype);
        with_element!(dtype, T => {
            let tokens = inputs.elements::<T>(places.tokens)?;
            let initial = places.initial.map(|place| inputs.elements::<T>(place)).transpose()?;
            let reads =
                scan::ScanInputs { tokens: &tokens, shape: self.tokens, init_state: initial.as_deref(), clamp: DEFAULT_CLAMP };
            let mut outputs = vec![T::default(); self.tokens.elements()];
            let mut final_state = vec![T::default(); direction.final_states(self.tokens)];
            scan::run(sprag_kernels::Form::Reference, &reads, &direction, &mut outputs, &mut final_state, &mut Buffers::default())
                .map_err(|error| error.to_string())?;
            Ok(vec![
                ExpectedBuffer::new(places.outputs, &outputs, tolerance),
                ExpectedBuffer::new(places.final_state, &final_state, tolerance),
            ])
        })
    }
}

fn uneven() -> Vec<Operation> {
    // Every way and initial state, each at some of the sizes.
    let merges = [ScanMerge::Sum, ScanMerge::Average, ScanMerge::Even, ScanMerge::Gated, ScanMerge::GatedBySample];
    let ways: Vec<ScanWay> =
        [ScanWay::Forward, ScanWay::Backward].into_iter().chain(merges.map(ScanWay::Both)).collect();
    let initials = [InitialState::Zero, InitialState::Shared, InitialState::EachWay];
    let mut scans = Vec::new();
    for (number, [batch, steps, channels]) in SCANS.into_iter().enumerate() {
        let tokens = ScanShape { batch, steps, channels };
        for (place, way) in ways.iter().enumerate() {
            // Forward and backward at every size, the merges in turn.
            if place < 2 || (place + number) % merges.len() < 2 {
                let initial = initials[(place + number) % initials.len()];
                // One direction has one state.
                let initial = match (way, initial) {
                    (ScanWay::Forward | ScanWay::Backward, InitialState::EachWay) => InitialState::Shared,
                    _ => initial,
                };
                scans.push(TokenScan { tokens, way: *way, initial }.operation());
            }
        }
    }
    scans
}

/// How far a device may be from the reference: sums in another order may be rounded to the other neighbour. The outputs of
/// two merged directions may nearly cancel, so that the distance of neighbours is that at the outputs, which are below
/// sixteen, not at the sum.
fn tolerance(way: ScanWay, dtype: Dtype) -> f64 {
    match (dtype, way) {
        (Dtype::F32, _) => 1e-5,
        (_, ScanWay::Both(_)) => 8.0 * dtype.epsilon(),
        _ => dtype.epsilon(),
    }
}

/// The buffers of a call.
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
    fn add(builder: &mut ProgramBuilder, shape: &TokenScan) -> Self {
        let ScanShape { batch, channels, .. } = shape.tokens;
        let gains = Fill::Uniform(0.05, 1.55);
        let rows = shape.initial.rows();
        let gates = match shape.way {
            ScanWay::Both(ScanMerge::Gated) => channels,
            ScanWay::Both(ScanMerge::GatedBySample) => batch * channels,
            _ => 0,
        };
        let directions = if matches!(shape.way, ScanWay::Both(_)) { 2 } else { 1 };
        Places {
            tokens: builder.normal("tokens", shape.tokens.elements()),
            parameters: [
                builder.random("decay", Data::F32, channels, Fill::Uniform(0.1, 0.9)),
                builder.random("input gain", Data::F32, channels, gains.clone()),
                builder.random("output gain", Data::F32, channels, gains),
                builder.random("state bias", Data::F32, channels, Fill::Normal(0.1)),
            ],
            initial: (rows > 0).then(|| builder.normal("initial", batch * rows * channels)),
            // Also beyond 0 and 1: the kernel clamps.
            gate: (gates > 0).then(|| builder.random("gate", Data::F32, gates, Fill::Uniform(-0.25, 1.25))),
            outputs: builder.output("outputs", shape.tokens.elements()),
            final_state: builder.output("final state", batch * directions * channels),
        }
    }

    fn arguments(&self, shape: &TokenScan, plan: &Plan, status: Option<usize>) -> Vec<Argument> {
        let ScanShape { batch, steps, channels } = shape.tokens;
        let gate_rows = if shape.way == ScanWay::Both(ScanMerge::GatedBySample) { batch } else { 1 };
        let final_rows = if matches!(shape.way, ScanWay::Both(_)) { 2 } else { 1 };
        let [decay, input_gain, output_gain, state_bias] = self.parameters;
        let places = [self.tokens, decay, input_gain, output_gain, state_bias];
        let mut all = arguments(&places, &[optional(self.initial), optional(self.gate)]);
        let sizes = [int(batch), int(steps), int(channels), Argument::F32(DEFAULT_CLAMP)];
        all.extend(arguments(&[self.outputs, self.final_state], &sizes));
        all.extend([int(shape.initial.rows()), int(final_rows), int(gate_rows)]);
        if plan.entry == "scan_long" {
            all.push(optional(status));
        }
        all
    }
}

struct Plan {
    entry: &'static str,
    blocks: usize,
    block: u32,
    defines: Vec<(&'static str, u32)>,
    /// 64-bit words of the status; none where blocks do not communicate.
    status_words: usize,
}

impl Plan {
    fn new(shape: &TokenScan, dtype: Dtype, form: GpuForm) -> Plan {
        let ScanShape { batch, steps, channels } = shape.tokens;
        let GpuForm::Tuned(config) = form else {
            let blocks = (batch * channels).div_ceil(PLAIN_BLOCK as usize);
            return Plan { entry: "scan_reference", blocks, block: PLAIN_BLOCK, defines: Vec::new(), status_words: 0 };
        };
        let group = elements_at_once(config.vector, dtype, MOST_CHANNELS, channels);
        let vector = (group * dtype.bytes()) as u32;
        let mut defines = vec![("BLOCK", config.block), ("VECTOR", vector), ("UNROLL", config.unroll)];
        if config.chunk == 0 {
            // The rows of a block are four times the bytes of a vector.
            let lanes = (config.block / (4 * vector)) as usize;
            let blocks = batch * channels.div_ceil(lanes * group);
            return Plan { entry: "scan_columns", blocks, block: config.block, defines, status_words: 0 };
        }
        defines.push(("CHUNK", config.chunk));
        // The rows of `unroll` steps of a block leave so many threads along the channels.
        let lanes = (config.block * config.unroll / config.chunk) as usize;
        let columns = channels.div_ceil(lanes * group);
        let chunks = steps.div_ceil(config.chunk as usize);
        let status_words = if chunks > 1 { TICKET_WORDS + chunks * batch * channels } else { 0 };
        Plan { entry: "scan_long", blocks: chunks * batch * columns, block: config.block, defines, status_words }
    }

    fn call(&self, dtype: Dtype, reversed: bool, merge: u32) -> Call {
        let mut defines = self.defines.clone();
        defines.extend([("REVERSED", u32::from(reversed)), ("MERGE", merge)]);
        let kernel = kernel("scan.cu", self.entry, dtype, &defines);
        Call { kernel, grid: [self.blocks, 1, 1], block: self.block, shared: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanWay {
    Forward,
    Backward,
    Both(ScanMerge),
}

impl ScanWay {
    pub fn word(self) -> &'static str {
        match self {
            ScanWay::Forward => "forward",
            ScanWay::Backward => "backward",
            ScanWay::Both(ScanMerge::Sum) => "sum",
            ScanWay::Both(ScanMerge::Average) => "average",
            ScanWay::Both(ScanMerge::Even) => "even",
            ScanWay::Both(ScanMerge::Gated) => "gated",
            ScanWay::Both(ScanMerge::GatedBySample) => "gated_by_sample",
        }
    }
}

impl InitialState {
    fn rows(self) -> usize {
        match self {
            InitialState::Zero => 0,
            InitialState::Shared => 1,
            InitialState::EachWay => 2,
        }
    }
}

words!(InitialState { Zero: "zero", Shared: "shared", EachWay: "each_way" });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanMerge {
    Sum,
    Average,
    /// Half of each: a gate that is not given.
    Even,
    Gated,
    GatedBySample,
}

/// The state before the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialState {
    Zero,
    /// `[B,C]`, for every direction.
    Shared,
    /// `[B,2,C]`, the forward state first.
    EachWay,
}

impl ScanMerge {
    fn code(self) -> u32 {
        match self {
            ScanMerge::Sum => 1,
            ScanMerge::Average => 2,
            ScanMerge::Even | ScanMerge::Gated | ScanMerge::GatedBySample => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::program::GpuStep;

    #[test]
    fn the_status_of_chunks_is_cleared_before_each_launch() {
        let tokens = ScanShape { batch: 2, steps: 300, channels: 7 };
        let shape = TokenScan { tokens, way: ScanWay::Both(ScanMerge::Sum), initial: InitialState::Zero };
        let chunked = GpuForm::Tuned(LaunchConfig::new(128, 8, 16, 128));
        let long = shape.program(Dtype::F32, chunked);
        let status = long.buffers.len() - 1;
        assert_eq!(long.buffers[status].count, 2 * (2 + 3 * 2 * 7));
        assert!(matches!(&long.steps[..], [GpuStep::Zero(a), GpuStep::Launch(_), GpuStep::Zero(b), GpuStep::Launch(_)]
            if (*a, *b) == (status, status)));
        let one_chunk = TokenScan { tokens: ScanShape { steps: 128, ..tokens }, ..shape };
        assert_eq!(one_chunk.program(Dtype::F32, chunked).buffers.len(), status);
    }

    #[test]
    fn the_reference_is_read_from_the_inputs_of_the_program() {
        let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let tokens = ScanShape { batch: 1, steps: 2, channels: 1 };
        let shape = TokenScan { tokens, way: ScanWay::Both(ScanMerge::Gated), initial: InitialState::EachWay };
        let values: [&[f32]; 7] = [&[4.0, 0.0], &[0.5], &[1.0], &[2.0], &[0.0], &[2.0, 0.0], &[7.0]];
        let types = [Data::F32; 7];
        let inputs = HostInputs { buffers: types.into_iter().zip(values.map(bytes)).collect() };
        let expected = shape.expected(Dtype::F32, &inputs).unwrap();
        // The gate, clamped to one, takes the forward outputs alone.
        assert_eq!((expected[0].buffer, expected[0].values.as_slice()), (7, [6.0, 3.0].as_slice()));
        assert_eq!((expected[1].buffer, expected[1].values.as_slice()), (8, [1.5, 2.0].as_slice()));
    }
}

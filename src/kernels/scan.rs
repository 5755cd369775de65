//! TileSSM scan: a first-order recurrence a channel along the tokens of a sample, in one or both directions.
//!
//! With decay `d`, input gain `gi`, output gain `go` and bias `b` of a channel, and a token `x` with NaN replaced by 0 and
//! clamped to `[-L, L]`: `u = gi x + b`, `s = d s + (1-d) u`, `y = go s`. The decay is clamped to `[1e-6, 1 - 1e-6]`.
//! Arithmetic and state are `f32`; outputs are rounded to the element type at each step, the final state at the end.
//!
//! Backward runs over the reversed tokens and reverses the outputs. Bidirectional runs both and merges them in the
//! element type: the sum, `0.5 (yf + yb)`, or `g yf + (1-g) yb` with the gate clamped to [0, 1], 0.5 by default.

use super::element::Element;
use super::shape::check_length;
use super::tile::ChannelBlock;
use super::wide::{self, Width, Work};
use super::{Form, KernelError};
use rayon::prelude::*;

/// The default limit of tokens, L.
pub const DEFAULT_CLAMP: f32 = 1e4;

/// The smallest decay; the largest is one less this.
pub const DECAY_MARGIN: f64 = 1e-6;

/// The shape of tokens: `[B,K,C]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanShape {
    pub batch: usize,
    /// Tokens a sample, K; may be zero.
    pub steps: usize,
    pub channels: usize,
}

impl ScanShape {
    pub fn elements(self) -> usize {
        self.states().saturating_mul(self.steps)
    }

    pub fn states(self) -> usize {
        self.batch.saturating_mul(self.channels)
    }
}

/// The parameters of one direction, each `[C]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recurrence<'a> {
    /// The share of the state that a step preserves.
    pub decay: &'a [f32],
    pub input_gain: &'a [f32],
    pub output_gain: &'a [f32],
    pub state_bias: &'a [f32],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Merge<'a> {
    /// `yf + yb`.
    Sum,
    /// `0.5 (yf + yb)`.
    Average,
    /// `g yf + (1-g) yb` with `g` of `[C]` or `[B,C]`, else 0.5.
    Gated(Option<&'a [f32]>),
}

impl<'a> Merge<'a> {
    pub fn parse(name: &str, gate: Option<&'a [f32]>) -> Result<Self, KernelError> {
        match name {
            "sum" => Ok(Merge::Sum),
            "avg" => Ok(Merge::Average),
            "gated" => Ok(Merge::Gated(gate)),
            _ => Err(KernelError::MergeMode(name.to_owned())),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScanOrder<'a> {
    Forward(Recurrence<'a>),
    Backward(Recurrence<'a>),
    Bidirectional { forward: Recurrence<'a>, backward: Recurrence<'a>, merge: Merge<'a> },
}

impl ScanOrder<'_> {
    /// Elements of the final state: B * C, or B * 2 * C with the forward state first for both directions.
    pub fn final_states(&self, shape: ScanShape) -> usize {
        match self {
            ScanOrder::Forward(_) | ScanOrder::Backward(_) => shape.states(),
            ScanOrder::Bidirectional { .. } => shape.states().saturating_mul(2),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ScanInputs<'a, T> {
    /// `[B,K,C]`.
    pub tokens: &'a [T],
    pub shape: ScanShape,
    /// The state before the first step: zero where absent, `[B,C]`, or `[B,2,C]` with the forward state first.
    pub init_state: Option<&'a [T]>,
    /// The limit of tokens; its sign does not matter.
    pub clamp: f32,
}

/// Working memory of a call, reused by later ones.
#[derive(Clone, Debug, Default)]
pub struct Buffers<T> {
    state: Vec<f32>,
    decay: Vec<f32>,
    backward: Vec<T>,
}

fn check<T>(
    inputs: &ScanInputs<'_, T>,
    direction: &ScanOrder<'_>,
    y: &[T],
    final_state: &[T],
) -> Result<(), KernelError> {
    let shape = inputs.shape;
    if shape.batch == 0 || shape.channels == 0 {
        return Err(KernelError::Empty { what: "tokens" });
    }
    if !inputs.clamp.is_finite() {
        return Err(KernelError::NotFinite { what: "clamp", position: 0 });
    }
    check_length("tokens", inputs.tokens.len(), shape.elements())?;
    check_length("y", y.len(), shape.elements())?;
    check_length("final_state", final_state.len(), direction.final_states(shape))?;
    if let Some(init_state) = inputs.init_state.filter(|state| state.len() != shape.states() * 2) {
        check_length("init_state", init_state.len(), shape.states())?;
    }
    let parameters = |parameters: &Recurrence<'_>| {
        check_length("decay", parameters.decay.len(), shape.channels)?;
        check_length("input_gain", parameters.input_gain.len(), shape.channels)?;
        check_length("output_gain", parameters.output_gain.len(), shape.channels)?;
        check_length("state_bias", parameters.state_bias.len(), shape.channels)
    };
    match direction {
        ScanOrder::Forward(one) | ScanOrder::Backward(one) => parameters(one),
        ScanOrder::Bidirectional { forward, backward, merge } => {
            parameters(forward)?;
            parameters(backward)?;
            match merge {
                Merge::Gated(Some(gate)) if gate.len() != shape.states() => {
                    check_length("merge_gate", gate.len(), shape.channels)
                }
                _ => Ok(()),
            }
        }
    }
}

/// `y` is `[B,K,C]`; `final_state` is `[B,C]`, or `[B,2,C]` with the forward state first for both directions. All forms give
/// equal results. The fast ones keep the state of a block of channels in registers; threads share the samples, or the
/// channels of each where there are fewer samples than threads.
pub fn run<T: Element>(
    form: Form<ChannelBlock>,
    inputs: &ScanInputs<'_, T>,
    direction: &ScanOrder<'_>,
    y: &mut [T],
    final_state: &mut [T],
    scratch: &mut Buffers<T>,
) -> Result<(), KernelError> {
    run_at(Width::widest(), form, inputs, direction, y, final_state, scratch)
}

fn run_at<T: Element>(
    width: Width,
    form: Form<ChannelBlock>,
    inputs: &ScanInputs<'_, T>,
    direction: &ScanOrder<'_>,
    y: &mut [T],
    final_state: &mut [T],
    scratch: &mut Buffers<T>,
) -> Result<(), KernelError> {
    check(inputs, direction, y, final_state)?;
    let (form, parallel) = ((form, width), matches!(form, Form::Parallel(_)));
    match direction {
        ScanOrder::Forward(parameters) => one_way(inputs, parameters, [0, 1], y, final_state, scratch, form),
        ScanOrder::Backward(parameters) => one_way(inputs, parameters, [1, 1], y, final_state, scratch, form),
        ScanOrder::Bidirectional { forward, backward, merge } => {
            let mut reversed = std::mem::take(&mut scratch.backward);
            reversed.resize(y.len(), T::default());
            one_way(inputs, forward, [0, 2], y, final_state, scratch, form);
            one_way(inputs, backward, [1, 2], &mut reversed, final_state, scratch, form);
            merge_all(y, &reversed, inputs.shape, merge, parallel);
            scratch.backward = reversed;
        }
    }
    Ok(())
}

/// Direction 1 reads backwards. A sample has `states` states in `final_state`.
fn one_way<T: Element>(
    inputs: &ScanInputs<'_, T>,
    parameters: &Recurrence<'_>,
    [direction, states]: [usize; 2],
    y: &mut [T],
    final_state: &mut [T],
    scratch: &mut Buffers<T>,
    (form, width): (Form<ChannelBlock>, Width),
) {
    let ScanShape { batch, steps, channels } = inputs.shape;
    let largest = (1.0 - DECAY_MARGIN) as f32;
    scratch.decay.clear();
    scratch.decay.extend(parameters.decay.iter().map(|decay| decay.clamp(DECAY_MARGIN as f32, largest)));
    scratch.state.clear();
    match inputs.init_state {
        None => scratch.state.resize(inputs.shape.states(), 0.0),
        Some(initial) => {
            let (rows, row) = if initial.len() == inputs.shape.states() { (1, 0) } else { (2, direction) };
            for sample in 0..batch {
                let row = sample * rows + row;
                scratch.state.extend(initial[row * channels..][..channels].iter().map(|value| value.to_f32()));
            }
        }
    }
    let pass = Pass {
        tokens: inputs.tokens,
        steps,
        channels,
        first: 0,
        parameters,
        decay: &scratch.decay,
        limit: inputs.clamp.abs(),
        reversed: direction == 1,
    };
    let sample = |index: usize| pass.sample(index * steps * channels);
    match form {
        // No steps leave the states as they are.
        _ if steps == 0 => {}
        Form::Reference | Form::Fast(_) => {
            let states = scratch.state.chunks_exact_mut(channels);
            for (index, (state, y)) in states.zip(y.chunks_exact_mut(steps * channels)).enumerate() {
                let pass = sample(index);
                match form {
                    Form::Fast(config) => {
                        wide::run(width, Sweep { pass, config, state, rows: FullRows { y, channels } })
                    }
                    _ => streams(&pass, state, y),
                }
            }
        }
        Form::Parallel(config) => {
            let states = scratch.state.par_chunks_exact_mut(channels);
            let samples = states.zip(y.par_chunks_exact_mut(steps * channels)).enumerate();
            // Few samples leave threads idle unless channels are shared out too.
            let threads = rayon::current_num_threads();
            let parts = if batch < threads { threads.div_ceil(batch) } else { 1 };
            samples.for_each(|(index, (state, y))| share_channels(sample(index), config, width, parts, state, y));
        }
    }
    for (sample, state) in scratch.state.chunks_exact(channels).enumerate() {
        let row = if states == 2 { sample * 2 + direction } else { sample };
        for (target, &state) in final_state[row * channels..][..channels].iter_mut().zip(state) {
            *target = T::from_f32(state);
        }
    }
}

fn streams<T: Element>(pass: &Pass<'_, T>, state: &mut [f32], y: &mut [T]) {
    for channel in 0..pass.channels {
        let decay = pass.decay[channel];
        for step in 0..pass.steps {
            let token = pass.token(step);
            let x = sanitise(pass.tokens[token * pass.channels + channel].to_f32(), pass.limit);
            let u = pass.parameters.input_gain[channel] * x + pass.parameters.state_bias[channel];
            state[channel] = decay * state[channel] + (1.0 - decay) * u;
            y[token * pass.channels + channel] = T::from_f32(pass.parameters.output_gain[channel] * state[channel]);
        }
    }
}

/// Splits one sample into `parts`, each of whole blocks of channels with its piece of every row.
fn share_channels<T: Element>(
    pass: Pass<'_, T>,
    config: ChannelBlock,
    width: Width,
    parts: usize,
    state: &mut [f32],
    y: &mut [T],
) {
    let channels = pass.channels;
    let part = channels.div_ceil(parts).next_multiple_of(config.channel_block.max(1)).min(channels);
    if part == channels {
        return wide::run(width, Sweep { pass, config, state, rows: FullRows { y, channels } });
    }
    let mut tables: Vec<Vec<&mut [T]>> = (0..channels.div_ceil(part)).map(|_| Vec::with_capacity(pass.steps)).collect();
    for row in y.chunks_exact_mut(channels) {
        tables.iter_mut().zip(row.chunks_mut(part)).for_each(|(table, piece)| table.push(piece));
    }
    state.par_chunks_mut(part).zip(tables).enumerate().for_each(|(index, (state, rows))| {
        wide::run(width, Sweep { pass: Pass { first: index * part, ..pass }, config, state, rows });
    });
}

fn merge_all<T: Element>(y: &mut [T], backward: &[T], shape: ScanShape, merge: &Merge<'_>, parallel: bool) {
    if !parallel {
        return merge_into(y, backward, 0, shape, merge);
    }
    let rows = (shape.batch * shape.steps).div_ceil(rayon::current_num_threads()).max(1);
    let part = rows * shape.channels;
    y.par_chunks_mut(part).zip(backward.par_chunks(part)).enumerate().for_each(|(index, (y, backward))| {
        merge_into(y, backward, index * rows, shape, merge);
    });
}

/// Merges the outputs of the second direction into those of the first, from row `first` on.
fn merge_into<T: Element>(y: &mut [T], backward: &[T], first: usize, shape: ScanShape, merge: &Merge<'_>) {
    let channels = shape.channels;
    for (row, (forward, backward)) in y.chunks_exact_mut(channels).zip(backward.chunks_exact(channels)).enumerate() {
        let row = first + row;
        for channel in 0..channels {
            let (yf, yb) = (forward[channel].to_f32(), backward[channel].to_f32());
            let round = |value: f32| T::from_f32(value).to_f32();
            let merged = match merge {
                Merge::Sum => yf + yb,
                Merge::Average => 0.5 * round(yf + yb),
                Merge::Gated(gate) => {
                    let gate = gate.map_or(0.5, |gate| {
                        let row = if gate.len() == channels { 0 } else { row / shape.steps };
                        gate[row * channels + channel]
                    });
                    let gate = round(gate.clamp(0.0, 1.0));
                    round(gate * yf) + round(round(1.0 - gate) * yb)
                }
            };
            forward[channel] = T::from_f32(merged);
        }
    }
}

/// Candidate blocks of channels whose state stays in registers. Others are treated as the next smaller of 16 to 128.
pub const CANDIDATES: &[ChannelBlock] = &[
    ChannelBlock { channel_block: 32 },
    ChannelBlock { channel_block: 64 },
    ChannelBlock { channel_block: 128 },
    ChannelBlock { channel_block: 16 },
];

/// One direction over one sample: channels from `first` on of tokens `[K,C]`, with clamped decay.
#[derive(Clone, Copy)]
struct Pass<'a, T> {
    tokens: &'a [T],
    steps: usize,
    channels: usize,
    first: usize,
    parameters: &'a Recurrence<'a>,
    decay: &'a [f32],
    limit: f32,
    reversed: bool,
}

impl<T> Pass<'_, T> {
    /// The same over the sample whose tokens start at `start`.
    fn sample(self, start: usize) -> Self {
        Pass { tokens: &self.tokens[start..][..self.steps * self.channels], ..self }
    }

    #[inline(always)]
    fn token(&self, step: usize) -> usize {
        if self.reversed { self.steps - 1 - step } else { step }
    }
}

/// Where outputs go: the row of a token, from the first channel of the pass on.
trait Rows<T> {
    fn row(&mut self, token: usize) -> &mut [T];
}

struct FullRows<'a, T> {
    y: &'a mut [T],
    channels: usize,
}

impl<T> Rows<T> for FullRows<'_, T> {
    #[inline(always)]
    fn row(&mut self, token: usize) -> &mut [T] {
        &mut self.y[token * self.channels..][..self.channels]
    }
}

impl<T> Rows<T> for Vec<&mut [T]> {
    #[inline(always)]
    fn row(&mut self, token: usize) -> &mut [T] {
        self[token]
    }
}

/// A pass over as many channels as there are states.
struct Sweep<'a, T, R> {
    pass: Pass<'a, T>,
    config: ChannelBlock,
    state: &'a mut [f32],
    rows: R,
}

impl<T: Element, R: Rows<T>> Work for Sweep<'_, T, R> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, _: Width) {
        let done = match self.config.channel_block {
            128.. => self.blocks::<128>(0),
            64.. => self.blocks::<64>(0),
            32.. => self.blocks::<32>(0),
            _ => 0,
        };
        // Smaller blocks take the remaining channels.
        let done = self.blocks::<16>(done);
        let done = self.blocks::<4>(done);
        self.blocks::<1>(done);
    }
}

impl<T: Element, R: Rows<T>> Sweep<'_, T, R> {
    /// Scans the whole blocks from `start` on; returns the first remaining channel.
    #[inline(always)]
    fn blocks<const BLOCK: usize>(&mut self, start: usize) -> usize {
        let end = start + (self.state.len() - start) / BLOCK * BLOCK;
        for channel in (start..end).step_by(BLOCK) {
            self.block::<BLOCK>(channel);
        }
        end
    }

    #[inline(always)]
    fn block<const BLOCK: usize>(&mut self, channel: usize) {
        let Pass { tokens, channels, parameters, limit, .. } = self.pass;
        let first = self.pass.first + channel;
        let decay = part::<_, BLOCK>(self.pass.decay, first);
        let input_gain = part::<_, BLOCK>(parameters.input_gain, first);
        let output_gain = part::<_, BLOCK>(parameters.output_gain, first);
        let state_bias = part::<_, BLOCK>(parameters.state_bias, first);
        let mut renewal = [0.0; BLOCK];
        for lane in 0..BLOCK {
            renewal[lane] = 1.0 - decay[lane];
        }
        let mut state = part::<_, BLOCK>(self.state, channel);
        for step in 0..self.pass.steps {
            let token = self.pass.token(step);
            let inputs = part::<_, BLOCK>(tokens, token * channels + first);
            let mut outputs = [T::default(); BLOCK];
            for lane in 0..BLOCK {
                let x = sanitise(inputs[lane].to_f32(), limit);
                let u = input_gain[lane] * x + state_bias[lane];
                state[lane] = decay[lane] * state[lane] + renewal[lane] * u;
                outputs[lane] = T::from_f32(output_gain[lane] * state[lane]);
            }
            self.rows.row(token)[channel..][..BLOCK].copy_from_slice(&outputs);
        }
        self.state[channel..][..BLOCK].copy_from_slice(&state);
    }
}

/// `BLOCK` values from `first` on.
#[inline(always)]
fn part<V: Copy, const BLOCK: usize>(values: &[V], first: usize) -> [V; BLOCK] {
    *values[first..].first_chunk().expect("the lengths of all lists were checked")
}

/// Replaces NaN by zero and clamps the token.
#[inline(always)]
fn sanitise(token: f32, limit: f32) -> f32 {
    let token = if token.is_nan() { 0.0 } else { token };
    let token = if token < -limit { -limit } else { token };
    if token > limit { limit } else { token }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_forms, values};
    use proptest::prelude::*;

    const HALF: Recurrence<'_> =
        Recurrence { decay: &[0.5], input_gain: &[1.0], output_gain: &[2.0], state_bias: &[0.0] };

    #[test]
    fn wrong_lengths_and_limits_are_refused() {
        let shape = ScanShape { batch: 1, steps: 2, channels: 1 };
        let good = ScanInputs { tokens: &[0.0f32; 2], shape, init_state: None, clamp: 1.0 };
        let run = |inputs: &ScanInputs<'_, f32>, direction: &ScanOrder<'_>, states: usize| {
            let (mut y, mut states) = ([0.0; 2], vec![0.0; states]);
            super::run(Form::Reference, inputs, direction, &mut y, &mut states, &mut Buffers::default())
        };
        let forward = ScanOrder::Forward(HALF);
        assert_eq!(run(&good, &forward, 1), Ok(()));
        assert!(run(&good, &forward, 2).is_err());
        assert!(run(&ScanInputs { clamp: f32::NAN, ..good }, &forward, 1).is_err());
        assert!(run(&ScanInputs { init_state: Some(&[0.0; 3]), ..good }, &forward, 1).is_err());
        assert!(run(&good, &ScanOrder::Forward(Recurrence { decay: &[], ..HALF }), 1).is_err());
        let merge = Merge::Gated(Some(&[0.5; 2]));
        assert!(run(&good, &ScanOrder::Bidirectional { forward: HALF, backward: HALF, merge }, 2).is_err());
        assert!(Merge::parse("max", None).is_err());
    }

    proptest! {
        #[test]
        fn all_forms_are_equal(
            (batch, steps, channels) in (1usize..4, 0usize..9, prop::sample::select(vec![1, 2, 7, 16, 19, 33, 70, 150])),
            (way, merge, with_state) in (0u8..3, 0u8..4, any::<bool>()),
        ) {
            let shape = ScanShape { batch, steps, channels };
            // Decays and gates lie between 0 and 1.
            let values = |count, offset| values(count, offset).iter().map(|value| value + 0.5).collect::<Vec<f32>>();
            let (mut tokens, init) = (values(shape.elements(), 3), values(shape.states() * 2, 40));
            let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2e4, -2e4, -0.0];
            tokens.iter_mut().step_by(5).zip(odd).for_each(|(token, odd)| *token = odd);
            let lists: Vec<Vec<f32>> = (0..8).map(|list| values(channels, list * 31)).collect();
            let parameters = |first: usize| Recurrence {
                decay: &lists[first], input_gain: &lists[first + 1],
                output_gain: &lists[first + 2], state_bias: &lists[first + 3],
            };
            let gate = values(shape.states(), 77);
            let merge = [Merge::Sum, Merge::Average, Merge::Gated(None), Merge::Gated(Some(&gate))][merge as usize];
            let (forward, backward) = (parameters(0), parameters(4));
            let direction = match way {
                0 => ScanOrder::Forward(forward),
                1 => ScanOrder::Backward(backward),
                _ => ScanOrder::Bidirectional { forward, backward, merge },
            };
            let init_state = with_state.then_some(init.as_slice());
            let inputs = ScanInputs { tokens: &tokens, shape, init_state, clamp: DEFAULT_CLAMP };
            let run = |width, form| {
                let mut y = vec![9.0; tokens.len()];
                let mut state = vec![9.0; direction.final_states(shape)];
                run_at(width, form, &inputs, &direction, &mut y, &mut state, &mut Buffers::default()).unwrap();
                y.extend(state);
                y
            };
            let plain = run(Width::widest(), Form::Reference);
            for width in Width::all() {
                check_forms(CANDIDATES, |form| assert_eq!(plain, run(width, form), "{form:?} at {width:?}"));
            }
        }
    }
}

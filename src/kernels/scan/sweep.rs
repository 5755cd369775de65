//! One pass over the tokens of a sample, a block of channels at a time.

use super::super::element::Element;
use super::super::wide::{Width, Work};
use super::Parameters;

/// How the channels are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Channels whose state and parameters are kept at hand from the first token to the last: 16, 32, 64 or 128. Any
    /// other number counts as the next smaller of these, at least 16.
    pub channel_block: usize,
}

/// The configurations worth trying, the usual one first.
pub const CANDIDATES: &[Config] = &[
    Config { channel_block: 32 },
    Config { channel_block: 64 },
    Config { channel_block: 128 },
    Config { channel_block: 16 },
];

impl Config {
    /// The words under which a tuned variant is recorded, such as `channel_block=32`.
    pub fn name(self) -> String {
        format!("channel_block={}", self.channel_block)
    }
}

/// One direction over one sample: tokens `[K,C]`, of which the channels from `first` on are scanned; the decay is
/// already clamped.
#[derive(Clone, Copy)]
pub(super) struct Pass<'a, T> {
    pub(super) tokens: &'a [T],
    pub(super) steps: usize,
    pub(super) channels: usize,
    pub(super) first: usize,
    pub(super) parameters: &'a Parameters<'a>,
    pub(super) decay: &'a [f32],
    pub(super) limit: f32,
    pub(super) reversed: bool,
}

impl<T> Pass<'_, T> {
    /// The same over the sample whose tokens begin at `start`.
    pub(super) fn sample(self, start: usize) -> Self {
        Pass { tokens: &self.tokens[start..][..self.steps * self.channels], ..self }
    }

    #[inline(always)]
    pub(super) fn token(&self, step: usize) -> usize {
        if self.reversed { self.steps - 1 - step } else { step }
    }
}

/// Where outputs go: the row of a token, from the first channel of the pass on.
pub(super) trait Rows<T> {
    fn row(&mut self, token: usize) -> &mut [T];
}

/// All channels of `[K,C]`.
pub(super) struct FullRows<'a, T> {
    pub(super) y: &'a mut [T],
    pub(super) channels: usize,
}

impl<T> Rows<T> for FullRows<'_, T> {
    #[inline(always)]
    fn row(&mut self, token: usize) -> &mut [T] {
        &mut self.y[token * self.channels..][..self.channels]
    }
}

/// A piece of each row.
impl<T> Rows<T> for Vec<&mut [T]> {
    #[inline(always)]
    fn row(&mut self, token: usize) -> &mut [T] {
        self[token]
    }
}

/// A pass on its way; as many channels as there are states.
pub(super) struct Sweep<'a, T, R> {
    pub(super) pass: Pass<'a, T>,
    pub(super) config: Config,
    pub(super) state: &'a mut [f32],
    pub(super) rows: R,
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
        // What is left over goes in ever smaller blocks.
        let done = self.blocks::<16>(done);
        let done = self.blocks::<4>(done);
        self.blocks::<1>(done);
    }
}

impl<T: Element, R: Rows<T>> Sweep<'_, T, R> {
    /// Scans as many whole blocks as there are from `start` on, and gives the first channel that is left.
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

/// So many values from `first` on.
#[inline(always)]
fn part<V: Copy, const BLOCK: usize>(values: &[V], first: usize) -> [V; BLOCK] {
    *values[first..].first_chunk().expect("the lengths of all lists were checked")
}

/// Frees a token of NaN and clamps it.
#[inline(always)]
pub(super) fn sanitise(token: f32, limit: f32) -> f32 {
    let token = if token.is_nan() { 0.0 } else { token };
    let token = if token < -limit { -limit } else { token };
    if token > limit { limit } else { token }
}

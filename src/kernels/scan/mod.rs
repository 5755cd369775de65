//! TileSSM scan: a first-order recurrence a channel along the tokens of a sample, in one or both directions.
//!
//! With decay `d`, input gain `gi`, output gain `go` and bias `b` a channel, and a token `x` freed of NaN (0) and
//! clamped to `[-L, L]` (which takes infinities to the limits): `u = gi x + b`, `s = d s + (1-d) u`, `y = go s`. The
//! decay is clamped to `[1e-6, 1 - 1e-6]`, gains and bias are not. All arithmetic is `f32` and the state stays
//! `f32`; outputs are rounded to the element type at each step, the final state at the end.
//!
//! Backward runs over the tokens reversed and reverses the outputs. Bidirectional runs both and merges them in the
//! element type: the sum, `0.5 (yf + yb)`, or `g yf + (1-g) yb` with the gate clamped to [0, 1], 0.5 by default.

mod forms;
mod sweep;

pub use forms::{fast, parallel, reference, tuned};
pub use sweep::{CANDIDATES, Config};

use super::KernelError;
use super::shape::check_length;

/// The limit of tokens, L, where none is asked for.
pub const DEFAULT_CLAMP: f32 = 1e4;

/// The smallest decay; the largest is one less this.
pub const DECAY_MARGIN: f64 = 1e-6;

/// The shape of tokens: `[B,K,C]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanShape {
    /// Samples, B.
    pub batch: usize,
    /// Tokens a sample, K; may be zero.
    pub steps: usize,
    /// Channels, C.
    pub channels: usize,
}

impl ScanShape {
    /// Elements of the tokens, B * K * C.
    pub fn elements(self) -> usize {
        self.states().saturating_mul(self.steps)
    }

    /// Elements of a state in one direction, B * C.
    pub fn states(self) -> usize {
        self.batch.saturating_mul(self.channels)
    }
}

/// The parameters of one direction, each `[C]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters<'a> {
    /// How much of the state a step keeps.
    pub decay: &'a [f32],
    /// Factor of a token.
    pub input_gain: &'a [f32],
    /// Factor of the state.
    pub output_gain: &'a [f32],
    /// Added to a token after its gain.
    pub state_bias: &'a [f32],
}

/// How two directions become one output.
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
    /// The merge named `sum`, `avg` or `gated`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn parse(name: &str, gate: Option<&'a [f32]>) -> Result<Self, KernelError> {
        match name {
            "sum" => Ok(Merge::Sum),
            "avg" => Ok(Merge::Average),
            "gated" => Ok(Merge::Gated(gate)),
            _ => Err(KernelError::MergeMode(name.to_owned())),
        }
    }
}

/// Which way the tokens are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Direction<'a> {
    Forward(Parameters<'a>),
    Backward(Parameters<'a>),
    Bidirectional {
        /// Parameters of the first-to-last scan.
        forward: Parameters<'a>,
        /// Parameters of the last-to-first scan.
        backward: Parameters<'a>,
        /// How the two become one.
        merge: Merge<'a>,
    },
}

impl Direction<'_> {
    /// Elements of the final state: B * C, or B * 2 * C with the forward state first for both directions.
    pub fn final_states(&self, shape: ScanShape) -> usize {
        match self {
            Direction::Forward(_) | Direction::Backward(_) => shape.states(),
            Direction::Bidirectional { .. } => shape.states().saturating_mul(2),
        }
    }
}

/// What a scan reads.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, T> {
    /// `[B,K,C]`.
    pub tokens: &'a [T],
    pub shape: ScanShape,
    /// The state before the first step: zero where absent, `[B,C]` for both directions, or `[B,2,C]` with the forward
    /// state first.
    pub init_state: Option<&'a [T]>,
    /// The limit of tokens; its sign does not matter.
    pub clamp: f32,
}

/// Room for the running state and for the outputs of the second direction; it grows to a call and is reused.
#[derive(Clone, Debug, Default)]
pub struct Scratch<T> {
    state: Vec<f32>,
    decay: Vec<f32>,
    backward: Vec<T>,
}

fn check<T>(inputs: &Inputs<'_, T>, direction: &Direction<'_>, y: &[T], final_state: &[T]) -> Result<(), KernelError> {
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
    let parameters = |parameters: &Parameters<'_>| {
        check_length("decay", parameters.decay.len(), shape.channels)?;
        check_length("input_gain", parameters.input_gain.len(), shape.channels)?;
        check_length("output_gain", parameters.output_gain.len(), shape.channels)?;
        check_length("state_bias", parameters.state_bias.len(), shape.channels)
    };
    match direction {
        Direction::Forward(one) | Direction::Backward(one) => parameters(one),
        Direction::Bidirectional { forward, backward, merge } => {
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

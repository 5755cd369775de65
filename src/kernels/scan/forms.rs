//! The forms of the scan, and what they share: directions, initial states and the merge.

use super::super::KernelError;
use super::super::element::Element;
use super::super::wide::{self, Width};
use super::sweep::{FullRows, Pass, Sweep, sanitise};
use super::{CANDIDATES, Config, DECAY_MARGIN, Direction, Inputs, Merge, Parameters, ScanShape, Scratch, check};
use rayon::prelude::*;

/// Scans stream by stream: for each sample and channel, token after token. `y` is `[B,K,C]`; `final_state` is
/// `[B,C]`, or `[B,2,C]` with the forward state first for both directions.
///
/// # Errors
/// No samples or channels, a limit that is not finite, slices of the wrong length.
pub fn reference<T: Element>(
    inputs: &Inputs<'_, T>,
    direction: &Direction<'_>,
    y: &mut [T],
    final_state: &mut [T],
    scratch: &mut Scratch<T>,
) -> Result<(), KernelError> {
    run(inputs, direction, y, final_state, scratch, Form::Streams)
}

/// The same, tuned as is usual. Equal to [`reference()`].
///
/// # Errors
/// As [`reference()`].
pub fn fast<T: Element>(
    inputs: &Inputs<'_, T>,
    direction: &Direction<'_>,
    y: &mut [T],
    final_state: &mut [T],
    scratch: &mut Scratch<T>,
) -> Result<(), KernelError> {
    tuned(CANDIDATES[0], inputs, direction, y, final_state, scratch)
}

/// The same, a block of channels at a time, whose state stays in registers. Equal to [`reference()`].
///
/// # Errors
/// As [`reference()`].
pub fn tuned<T: Element>(
    config: Config,
    inputs: &Inputs<'_, T>,
    direction: &Direction<'_>,
    y: &mut [T],
    final_state: &mut [T],
    scratch: &mut Scratch<T>,
) -> Result<(), KernelError> {
    run(inputs, direction, y, final_state, scratch, Form::Blocks(config, Width::widest()))
}

/// As [`tuned()`], with samples, or the channels of each where there are fewer samples than threads, shared out among
/// the threads of the current rayon pool.
///
/// # Errors
/// As [`reference()`].
pub fn parallel<T: Element>(
    config: Config,
    inputs: &Inputs<'_, T>,
    direction: &Direction<'_>,
    y: &mut [T],
    final_state: &mut [T],
    scratch: &mut Scratch<T>,
) -> Result<(), KernelError> {
    run(inputs, direction, y, final_state, scratch, Form::Pool(config, Width::widest()))
}

/// How the passes of a call are done.
#[derive(Clone, Copy)]
enum Form {
    Streams,
    Blocks(Config, Width),
    Pool(Config, Width),
}

fn run<T: Element>(
    inputs: &Inputs<'_, T>,
    direction: &Direction<'_>,
    y: &mut [T],
    final_state: &mut [T],
    scratch: &mut Scratch<T>,
    form: Form,
) -> Result<(), KernelError> {
    check(inputs, direction, y, final_state)?;
    match direction {
        Direction::Forward(parameters) => one_way(inputs, parameters, Slot::FORWARD, y, final_state, scratch, form),
        Direction::Backward(parameters) => one_way(inputs, parameters, Slot::BACKWARD, y, final_state, scratch, form),
        Direction::Bidirectional { forward, backward, merge } => {
            let mut reversed = std::mem::take(&mut scratch.backward);
            reversed.resize(y.len(), T::default());
            let slot = Slot { states: 2, ..Slot::FORWARD };
            one_way(inputs, forward, slot, y, final_state, scratch, form);
            let slot = Slot { states: 2, ..Slot::BACKWARD };
            one_way(inputs, backward, slot, &mut reversed, final_state, scratch, form);
            merge_all(y, &reversed, inputs.shape, merge, form);
            scratch.backward = reversed;
        }
    }
    Ok(())
}

/// Which direction, and how many states a sample has in `final_state`.
#[derive(Clone, Copy)]
struct Slot {
    direction: usize,
    states: usize,
}

impl Slot {
    const FORWARD: Slot = Slot { direction: 0, states: 1 };
    const BACKWARD: Slot = Slot { direction: 1, states: 1 };
}

fn one_way<T: Element>(
    inputs: &Inputs<'_, T>,
    parameters: &Parameters<'_>,
    slot: Slot,
    y: &mut [T],
    final_state: &mut [T],
    scratch: &mut Scratch<T>,
    form: Form,
) {
    let ScanShape { batch, steps, channels } = inputs.shape;
    let largest = (1.0 - DECAY_MARGIN) as f32;
    scratch.decay.clear();
    scratch.decay.extend(parameters.decay.iter().map(|decay| decay.clamp(DECAY_MARGIN as f32, largest)));
    scratch.state.clear();
    match inputs.init_state {
        None => scratch.state.resize(inputs.shape.states(), 0.0),
        Some(states) => {
            let rows = if states.len() == inputs.shape.states() { (1, 0) } else { (2, slot.direction) };
            for sample in 0..batch {
                let row = sample * rows.0 + rows.1;
                scratch.state.extend(states[row * channels..][..channels].iter().map(|value| value.to_f32()));
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
        reversed: slot.direction == 1,
    };
    let sample = |index: usize| pass.sample(index * steps * channels);
    match form {
        // No steps leave the states as they are.
        _ if steps == 0 => {}
        Form::Streams => {
            for (index, (state, y)) in
                scratch.state.chunks_exact_mut(channels).zip(y.chunks_exact_mut(steps * channels)).enumerate()
            {
                streams(&sample(index), state, y);
            }
        }
        Form::Blocks(config, width) => {
            for (index, (state, y)) in
                scratch.state.chunks_exact_mut(channels).zip(y.chunks_exact_mut(steps * channels)).enumerate()
            {
                wide::run(width, Sweep { pass: sample(index), config, state, rows: FullRows { y, channels } });
            }
        }
        Form::Pool(config, width) => {
            let states = scratch.state.par_chunks_exact_mut(channels);
            let samples = states.zip(y.par_chunks_exact_mut(steps * channels)).enumerate();
            // Few samples leave threads idle unless channels are shared out too.
            let threads = rayon::current_num_threads();
            let parts = if batch < threads { threads.div_ceil(batch) } else { 1 };
            samples.for_each(|(index, (state, y))| share_channels(sample(index), config, width, parts, state, y));
        }
    }
    for (sample, state) in scratch.state.chunks_exact(channels).enumerate() {
        let row = if slot.states == 2 { sample * 2 + slot.direction } else { sample };
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

/// One sample in so many parts, each with whole blocks of channels and its piece of every row.
fn share_channels<T: Element>(
    pass: Pass<'_, T>,
    config: Config,
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

fn merge_all<T: Element>(y: &mut [T], backward: &[T], shape: ScanShape, merge: &Merge<'_>, form: Form) {
    if !matches!(form, Form::Pool(..)) {
        return merge_into(y, backward, 0, shape, merge);
    }
    let rows = (shape.batch * shape.steps).div_ceil(rayon::current_num_threads()).max(1);
    let part = rows * shape.channels;
    y.par_chunks_mut(part).zip(backward.par_chunks(part)).enumerate().for_each(|(index, (y, backward))| {
        merge_into(y, backward, index * rows, shape, merge);
    });
}

/// Merges the outputs of the second direction into those of the first, row `first` and those after it.
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

#[cfg(test)]
mod tests {
    use super::super::{DEFAULT_CLAMP, Direction};
    use super::*;
    use proptest::prelude::*;

    const HALF: Parameters<'_> =
        Parameters { decay: &[0.5], input_gain: &[1.0], output_gain: &[2.0], state_bias: &[0.0] };

    fn one_channel(tokens: &[f32], direction: &Direction<'_>, init: Option<&[f32]>) -> (Vec<f32>, Vec<f32>) {
        let shape = ScanShape { batch: 1, steps: tokens.len(), channels: 1 };
        let inputs = Inputs { tokens, shape, init_state: init, clamp: 8.0 };
        let mut results = [reference::<f32>, fast::<f32>].map(|form| {
            let (mut y, mut state) = (vec![9.0; tokens.len()], vec![9.0; direction.final_states(shape)]);
            form(&inputs, direction, &mut y, &mut state, &mut Scratch::default()).unwrap();
            (y, state)
        });
        assert_eq!(results[0], results[1]);
        std::mem::take(&mut results[0])
    }

    #[test]
    fn the_recurrence_by_hand() {
        let check = |tokens: &[f32], direction: &Direction<'_>, y: &[f32], state: &[f32]| {
            assert_eq!(one_channel(tokens, direction, None), (y.to_vec(), state.to_vec()));
        };
        check(&[4.0, 0.0], &Direction::Forward(HALF), &[4.0, 2.0], &[1.0]);
        check(&[4.0, 0.0], &Direction::Backward(HALF), &[4.0, 0.0], &[2.0]);
        let both = |merge| Direction::Bidirectional { forward: HALF, backward: HALF, merge };
        check(&[4.0, 0.0], &both(Merge::Sum), &[8.0, 2.0], &[1.0, 2.0]);
        check(&[4.0, 0.0], &both(Merge::Average), &[4.0, 1.0], &[1.0, 2.0]);
        check(&[4.0, 0.0], &both(Merge::Gated(None)), &[4.0, 1.0], &[1.0, 2.0]);
        check(&[4.0, 0.0], &both(Merge::Gated(Some(&[7.0]))), &[4.0, 2.0], &[1.0, 2.0]);
        // NaN counts as zero, infinities as the limit.
        check(&[f32::NAN, f32::INFINITY, -9.0], &Direction::Forward(HALF), &[0.0, 8.0, -4.0], &[-2.0]);
        check(&[], &Direction::Forward(HALF), &[], &[0.0]);
    }

    #[test]
    fn initial_states_feed_their_direction() {
        let both = Direction::Bidirectional { forward: HALF, backward: HALF, merge: Merge::Sum };
        assert_eq!(one_channel(&[0.0], &both, Some(&[4.0])), (vec![8.0], vec![2.0, 2.0]));
        assert_eq!(one_channel(&[0.0], &both, Some(&[4.0, 0.0])), (vec![4.0], vec![2.0, 0.0]));
        assert_eq!(one_channel(&[0.0], &Direction::Backward(HALF), Some(&[4.0, 2.0])), (vec![2.0], vec![1.0]));
    }

    #[test]
    fn decays_are_kept_inside_the_open_interval() {
        let scan = |decay: f32| {
            let decay = [decay];
            one_channel(&[1.0], &Direction::Forward(Parameters { decay: &decay, ..HALF }), Some(&[0.5])).1[0]
        };
        assert_eq!(scan(-0.5), scan(DECAY_MARGIN as f32));
        assert_eq!(scan(2.0), scan((1.0 - DECAY_MARGIN) as f32));
        assert!(scan(2.0) > 0.5 && scan(2.0) < 0.500_01);
    }

    #[test]
    fn wrong_lengths_and_limits_are_refused() {
        let shape = ScanShape { batch: 1, steps: 2, channels: 1 };
        let good = Inputs { tokens: &[0.0f32; 2], shape, init_state: None, clamp: 1.0 };
        let run = |inputs: &Inputs<'_, f32>, direction: &Direction<'_>, states: usize| {
            fast(inputs, direction, &mut [0.0; 2], &mut vec![0.0; states], &mut Scratch::default())
        };
        let forward = Direction::Forward(HALF);
        assert_eq!(run(&good, &forward, 1), Ok(()));
        assert!(run(&good, &forward, 2).is_err());
        assert!(run(&Inputs { clamp: f32::NAN, ..good }, &forward, 1).is_err());
        assert!(run(&Inputs { init_state: Some(&[0.0; 3]), ..good }, &forward, 1).is_err());
        assert!(run(&good, &Direction::Forward(Parameters { decay: &[], ..HALF }), 1).is_err());
        let merge = Merge::Gated(Some(&[0.5; 2]));
        assert!(run(&good, &Direction::Bidirectional { forward: HALF, backward: HALF, merge }, 2).is_err());
        assert!(Merge::parse("max", None).is_err());
    }

    proptest! {
        #[test]
        fn all_forms_are_equal(
            (batch, steps, channels) in (1usize..4, 0usize..9, prop::sample::select(vec![1, 2, 7, 16, 19, 33, 70, 150])),
            (way, merge, with_state) in (0u8..3, 0u8..4, any::<bool>()),
        ) {
            let shape = ScanShape { batch, steps, channels };
            let values = |count: usize, offset: usize| {
                (0..count).map(|i| ((i + offset) as f32 * 0.618).fract()).collect::<Vec<f32>>()
            };
            let (mut tokens, init) = (values(shape.elements(), 3), values(shape.states() * 2, 40));
            let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2e4, -2e4, -0.0];
            tokens.iter_mut().step_by(5).zip(odd).for_each(|(token, odd)| *token = odd);
            let lists: Vec<Vec<f32>> = (0..8).map(|list| values(channels, list * 31)).collect();
            let parameters = |first: usize| Parameters {
                decay: &lists[first], input_gain: &lists[first + 1],
                output_gain: &lists[first + 2], state_bias: &lists[first + 3],
            };
            let gate = values(shape.states(), 77);
            let merge = [Merge::Sum, Merge::Average, Merge::Gated(None), Merge::Gated(Some(&gate))][merge as usize];
            let (forward, backward) = (parameters(0), parameters(4));
            let direction = match way {
                0 => Direction::Forward(forward),
                1 => Direction::Backward(backward),
                _ => Direction::Bidirectional { forward, backward, merge },
            };
            let init_state = with_state.then_some(init.as_slice());
            let inputs = Inputs { tokens: &tokens, shape, init_state, clamp: DEFAULT_CLAMP };
            let run = |form: Form| {
                let mut y = vec![9.0; tokens.len()];
                let mut state = vec![9.0; direction.final_states(shape)];
                run(&inputs, &direction, &mut y, &mut state, &mut Scratch::default(), form).unwrap();
                y.extend(state);
                y
            };
            let plain = run(Form::Streams);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            for &config in CANDIDATES {
                for width in Width::all() {
                    prop_assert_eq!(&plain, &run(Form::Blocks(config, width)), "{} at {:?}", config.name(), width);
                }
                let shared = pool.install(|| run(Form::Pool(config, Width::widest())));
                prop_assert_eq!(&plain, &shared, "{}, parallel", config.name());
            }
        }
    }
}

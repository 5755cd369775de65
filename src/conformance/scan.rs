//! Cases of `tile_ssm_scan`: within a tolerance of the element type.

use serde::Deserialize;
use serde_json::Value;

use crate::case::{Call, Form, judge_forms};
use crate::expected::{Results, Tolerance, floats};
use crate::failure::Outcome;
use crate::tensor::{Tensor, for_dtype};
use sprag_kernels::element::Element;
use sprag_kernels::scan::{self, Buffers, Merge, Recurrence, ScanOrder, ScanShape};

type Case = Call<Inputs, Params>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    tokens: Tensor,
    decay: Tensor,
    input_gain: Tensor,
    output_gain: Tensor,
    state_bias: Tensor,
    init_state: Option<Tensor>,
    merge_gate: Option<Tensor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    direction: Way,
    merge_mode: String,
    clamp_value: f64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Way {
    Forward,
    Backward,
    Bidirectional,
}

pub(crate) fn run(case: Value) -> Outcome {
    judge_forms(case, |form, case: &Case| for_dtype!(case.inputs.tokens.dtype, scan_as(form, case)))
}

fn scan_as<T: Element>(form: Form, Call { inputs, params }: &Case) -> Outcome<Results> {
    let [batch, steps, channels] = *inputs.tokens.axes()?;
    let shape = ScanShape { batch, steps, channels };
    let tokens = inputs.tokens.floats::<T>()?;
    let parameter = |tensor: &Tensor| tensor.check_shape(&[channels]).and_then(|()| tensor.floats::<f32>());
    let (decay, input_gain) = (parameter(&inputs.decay)?, parameter(&inputs.input_gain)?);
    let (output_gain, state_bias) = (parameter(&inputs.output_gain)?, parameter(&inputs.state_bias)?);
    let parameters =
        Recurrence { decay: &decay, input_gain: &input_gain, output_gain: &output_gain, state_bias: &state_bias };
    if let Some(state) = &inputs.init_state {
        let is_both = state.shape.len() == 3;
        state.check_shape(&if is_both { vec![batch, 2, channels] } else { vec![batch, channels] })?;
    }
    if let Some(gate) = &inputs.merge_gate {
        let is_sampled = gate.shape.len() == 3;
        gate.check_shape(&if is_sampled { vec![batch, 1, channels] } else { vec![channels] })?;
    }
    let init_state = inputs.init_state.as_ref().map(Tensor::floats::<T>).transpose()?;
    let gate = inputs.merge_gate.as_ref().map(Tensor::floats::<f32>).transpose()?;
    let merge = Merge::parse(&params.merge_mode, gate.as_deref())?;
    let (direction, state_shape) = match params.direction {
        Way::Forward => (ScanOrder::Forward(parameters), vec![batch, channels]),
        Way::Backward => (ScanOrder::Backward(parameters), vec![batch, channels]),
        Way::Bidirectional => {
            let both = ScanOrder::Bidirectional { forward: parameters, backward: parameters, merge };
            (both, vec![batch, 2, channels])
        }
    };
    let mut y = vec![T::default(); tokens.len()];
    let mut final_state = vec![T::default(); direction.final_states(shape)];
    let clamp = params.clamp_value as f32;
    let tensors = scan::ScanInputs { tokens: &tokens, shape, init_state: init_state.as_deref(), clamp };
    scan::run(form.untuned(scan::CANDIDATES), &tensors, &direction, &mut y, &mut final_state, &mut Buffers::default())?;
    let dtype = inputs.tokens.dtype;
    let tolerance = Tolerance::rounded(dtype, Tolerance::new(1e-5, 1e-5));
    Ok(vec![
        ("y", floats(&inputs.tokens.shape, dtype, &y, tolerance)),
        ("final_state", floats(&state_shape, dtype, &final_state, tolerance)),
    ])
}

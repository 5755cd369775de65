//! Cases of `tile_ssm_scan`: within a tolerance of the element type.

use anyhow::{Result, anyhow};
use serde_json::Value;

use super::case::{Fields, Form, Stop, judge, unknown};
use super::expected::{Floats, Tolerance, floats};
use super::tensor::{Tensor, for_dtype, result, shared_dtype};
use sprag_kernels::element::Element;
use sprag_kernels::scan::{self, Direction, Merge, Parameters, ScanShape, Scratch};

struct Inputs {
    tokens: Tensor,
    /// Decay, input gain, output gain, state bias.
    parameters: [Tensor; 4],
    init_state: Option<Tensor>,
    merge_gate: Option<Tensor>,
    direction: Way,
    merge_mode: String,
    clamp: f32,
    dtype: &'static str,
    tolerance: Tolerance,
}

#[derive(Clone, Copy)]
enum Way {
    Forward,
    Backward,
    Bidirectional,
}

struct Scanned {
    y: Floats,
    final_state: Floats,
    tolerance: Tolerance,
}

pub(super) fn run(case: &Value) -> Result<()> {
    judge(case, &["inputs", "params"], Form::BOTH, read, scan, |name, expected, got| match name {
        "y" => floats(name, expected, &got.y, got.tolerance),
        "final_state" => floats(name, expected, &got.final_state, got.tolerance),
        _ => unknown(name),
    })
}

fn read(case: &Fields<'_>) -> Result<Inputs, Stop> {
    const PARAMETERS: [&str; 4] = ["decay", "input_gain", "output_gain", "state_bias"];
    let names = ["tokens", "init_state", "merge_gate"].into_iter().chain(PARAMETERS).collect::<Vec<_>>();
    let inputs = Fields::of(case.get("inputs")?, "`inputs`", &names)?;
    let params = Fields::of(case.get("params")?, "`params`", &["direction", "merge_mode", "clamp_value"])?;
    let tokens = Tensor::named(&inputs, "tokens")?;
    let [decay, input_gain, output_gain, state_bias] = PARAMETERS.map(|name| Tensor::named(&inputs, name));
    let dtype = shared_dtype(&[&tokens])?;
    Ok(Inputs {
        tokens,
        parameters: [decay?, input_gain?, output_gain?, state_bias?],
        init_state: Tensor::optional(&inputs, "init_state")?,
        merge_gate: Tensor::optional(&inputs, "merge_gate")?,
        direction: match params.text("direction")? {
            "forward" => Way::Forward,
            "backward" => Way::Backward,
            "bidirectional" => Way::Bidirectional,
            other => return Err(anyhow!("direction `{other}` is unknown to this build").into()),
        },
        merge_mode: params.text("merge_mode")?.to_owned(),
        clamp: params.number("clamp_value")? as f32,
        dtype,
        tolerance: match dtype {
            "float16" => Tolerance::new(4e-3, 0.0),
            "bfloat16" => Tolerance::new(2e-2, 0.0),
            _ => Tolerance::new(1e-5, 1e-5),
        },
    })
}

fn scan(form: Form, inputs: &Inputs) -> Result<Scanned, Stop> {
    for_dtype!(inputs.dtype, scan_as(form, inputs))
}

fn scan_as<T: Element>(form: Form, inputs: &Inputs) -> Result<Scanned, Stop> {
    let [batch, steps, channels] = *inputs.tokens.axes()?;
    let shape = ScanShape { batch, steps, channels };
    let tokens = inputs.tokens.floats::<T>()?;
    for parameter in &inputs.parameters {
        parameter.check_shape(&[channels])?;
    }
    let [decay, input_gain, output_gain, state_bias] = inputs.parameters.each_ref().map(Tensor::floats::<f32>);
    let (decay, input_gain, output_gain, state_bias) = (decay?, input_gain?, output_gain?, state_bias?);
    let parameters =
        Parameters { decay: &decay, input_gain: &input_gain, output_gain: &output_gain, state_bias: &state_bias };
    if let Some(state) = &inputs.init_state {
        let expected = if state.shape.len() == 3 { vec![batch, 2, channels] } else { vec![batch, channels] };
        state.check_shape(&expected)?;
    }
    if let Some(gate) = &inputs.merge_gate {
        let expected = if gate.shape.len() == 3 { vec![batch, 1, channels] } else { vec![channels] };
        gate.check_shape(&expected)?;
    }
    let init_state = inputs.init_state.as_ref().map(Tensor::floats::<T>).transpose()?;
    let gate = inputs.merge_gate.as_ref().map(Tensor::floats::<f32>).transpose()?;
    let merge = Merge::parse(&inputs.merge_mode, gate.as_deref())?;
    let (direction, state_shape) = match inputs.direction {
        Way::Forward => (Direction::Forward(parameters), vec![batch, channels]),
        Way::Backward => (Direction::Backward(parameters), vec![batch, channels]),
        Way::Bidirectional => {
            let both = Direction::Bidirectional { forward: parameters, backward: parameters, merge };
            (both, vec![batch, 2, channels])
        }
    };
    let mut y = vec![T::default(); tokens.len()];
    let mut final_state = vec![T::default(); direction.final_states(shape)];
    let kernel = match form {
        Form::Reference => scan::reference,
        Form::Fast => scan::fast,
    };
    let tensors = scan::Inputs { tokens: &tokens, shape, init_state: init_state.as_deref(), clamp: inputs.clamp };
    kernel(&tensors, &direction, &mut y, &mut final_state, &mut Scratch::default())?;
    Ok(Scanned {
        y: result(&inputs.tokens.shape, inputs.dtype, &y),
        final_state: result(&state_shape, inputs.dtype, &final_state),
        tolerance: inputs.tolerance,
    })
}

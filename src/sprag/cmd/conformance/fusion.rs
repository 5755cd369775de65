//! Cases of `fusion_gate`: within a tolerance of the element type. Both apis of the original compute the same.

use anyhow::{Result, anyhow};
use serde_json::Value;

use super::case::{Fields, Form, Stop, judge, unknown};
use super::expected::{Floats, Tolerance, floats};
use super::tensor::{Tensor, for_dtype, result, shared_dtype};
use sprag_kernels::element::Element;
use sprag_kernels::fusion::{self, Gate};

struct Inputs {
    base: Tensor,
    detail: Tensor,
    boundary: Tensor,
    uncertainty: Tensor,
    gate: Gate,
    dtype: &'static str,
    tolerance: Tolerance,
}

struct Fused {
    alpha: Floats,
    fused: Floats,
    tolerance: Tolerance,
}

pub(super) fn run(case: &Value) -> Result<()> {
    judge(case, &["api", "inputs", "params"], Form::BOTH, read, fuse, |name, expected, got| match name {
        "alpha" => floats(name, expected, &got.alpha, got.tolerance),
        "fused" => floats(name, expected, &got.fused, got.tolerance),
        _ => unknown(name),
    })
}

fn read(case: &Fields<'_>) -> Result<Inputs, Stop> {
    let api = case.text("api")?;
    if !["module", "reference"].contains(&api) {
        return Err(anyhow!("api `{api}` is unknown to this build").into());
    }
    let inputs = Fields::of(case.get("inputs")?, "`inputs`", &["base", "detail", "boundary", "uncertainty"])?;
    let names = ["boundary_log_weight", "uncertainty_log_weight", "bias"];
    let params = Fields::of(case.get("params")?, "`params`", &names)?;
    let [base, detail, boundary, uncertainty] =
        ["base", "detail", "boundary", "uncertainty"].map(|name| Tensor::named(&inputs, name));
    let (base, detail, boundary, uncertainty) = (base?, detail?, boundary?, uncertainty?);
    let dtype = shared_dtype(&[&base, &detail, &boundary, &uncertainty])?;
    let tolerance = match dtype {
        "float16" => Tolerance::new(4e-3, 0.0),
        "bfloat16" => Tolerance::new(2e-2, 0.0),
        _ => Tolerance::new(2e-6, 2e-6),
    };
    let gate = Gate {
        boundary_log_weight: params.number("boundary_log_weight")? as f32,
        uncertainty_log_weight: params.number("uncertainty_log_weight")? as f32,
        bias: params.number("bias")? as f32,
    };
    Ok(Inputs { base, detail, boundary, uncertainty, gate, dtype, tolerance })
}

fn fuse(form: Form, inputs: &Inputs) -> Result<Fused, Stop> {
    for_dtype!(inputs.dtype, fuse_as(form, inputs))
}

fn fuse_as<T: Element>(form: Form, inputs: &Inputs) -> Result<Fused, Stop> {
    let shape = inputs.base.map_shape()?;
    inputs.detail.check_shape(&inputs.base.shape)?;
    let alpha_shape = [shape.batch, 1, shape.height, shape.width];
    for proxy in [&inputs.boundary, &inputs.uncertainty] {
        if proxy.shape.len() == 3 {
            proxy.check_shape(&[shape.batch, shape.height, shape.width])?;
        } else {
            proxy.check_shape(&alpha_shape)?;
        }
    }
    let [base, detail, boundary, uncertainty] =
        [&inputs.base, &inputs.detail, &inputs.boundary, &inputs.uncertainty].map(|tensor| tensor.floats::<T>());
    let (base, detail, boundary, uncertainty) = (base?, detail?, boundary?, uncertainty?);
    let tensors = fusion::Inputs { base: &base, detail: &detail, boundary: &boundary, uncertainty: &uncertainty };
    let (mut alpha, mut fused) = (vec![T::default(); shape.pixels()], vec![T::default(); base.len()]);
    match form {
        Form::Reference => fusion::reference(&tensors, shape, &inputs.gate, &mut alpha, &mut fused)?,
        Form::Fast => fusion::fast(&tensors, shape, &inputs.gate, &mut alpha, &mut fused)?,
    }
    Ok(Fused {
        alpha: result(&alpha_shape, inputs.dtype, &alpha),
        fused: result(&inputs.base.shape, inputs.dtype, &fused),
        tolerance: inputs.tolerance,
    })
}

//! Cases of `fusion_gate`: within a tolerance of the element type. Both apis of the original compute the same.

use serde::Deserialize;
use serde_json::Value;

use crate::case::{Form, judge_forms};
use crate::expected::{Results, Tolerance, floats};
use crate::failure::Outcome;
use crate::tensor::{Tensor, for_dtype, shared_dtype};
use sprag_kernels::element::Element;
use sprag_kernels::fusion::{self, Mix};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "api")]
    _api: Api,
    inputs: Inputs,
    params: Params,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Api {
    Module,
    Reference,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    base: Tensor,
    detail: Tensor,
    boundary: Tensor,
    uncertainty: Tensor,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    boundary_log_weight: f64,
    uncertainty_log_weight: f64,
    bias: f64,
}

pub(crate) fn run(case: Value) -> Outcome {
    judge_forms(case, fuse)
}

fn fuse(form: Form, case: &Case) -> Outcome<Results> {
    let Inputs { base, detail, boundary, uncertainty } = &case.inputs;
    let dtype = shared_dtype([base, detail, boundary, uncertainty])?;
    for_dtype!(dtype, fuse_as(form, case))
}

fn fuse_as<T: Element>(form: Form, case: &Case) -> Outcome<Results> {
    let Inputs { base, detail, boundary, uncertainty } = &case.inputs;
    let shape = base.map_shape()?;
    detail.check_shape(&base.shape)?;
    let alpha_shape = [shape.batch, 1, shape.height, shape.width];
    for proxy in [boundary, uncertainty] {
        let plane_shape = [shape.batch, shape.height, shape.width];
        proxy.check_shape(if proxy.shape.len() == 3 { &plane_shape } else { &alpha_shape[..] })?;
    }
    let gate = Mix {
        boundary_log_weight: case.params.boundary_log_weight as f32,
        uncertainty_log_weight: case.params.uncertainty_log_weight as f32,
        bias: case.params.bias as f32,
    };
    let (base_values, detail) = (base.floats::<T>()?, detail.floats::<T>()?);
    let (boundary, uncertainty) = (boundary.floats::<T>()?, uncertainty.floats::<T>()?);
    let tensors =
        fusion::FusionInputs { base: &base_values, detail: &detail, boundary: &boundary, uncertainty: &uncertainty };
    let (mut alpha, mut fused) = (vec![T::default(); shape.pixels()], vec![T::default(); base_values.len()]);
    fusion::run(form.untuned(fusion::CANDIDATES), &tensors, shape, &gate, &mut alpha, &mut fused)?;
    let tolerance = Tolerance::rounded(base.dtype, Tolerance::new(2e-6, 2e-6));
    Ok(vec![
        ("alpha", floats(&alpha_shape, base.dtype, &alpha, tolerance)),
        ("fused", floats(&base.shape, base.dtype, &fused, tolerance)),
    ])
}

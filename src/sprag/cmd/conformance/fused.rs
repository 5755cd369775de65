//! Cases of `fused_pack_op_unpack`: within 1e-6; a SHA-256 holds because nothing is contracted.

use anyhow::Result;
use serde_json::Value;

use super::case::{Fields, Form, Stop, judge, unknown};
use super::expected::{Floats, Integers, Tolerance, floats, integer_tensor};
use super::pack::origin_tensor;
use super::tensor::{Tensor, for_dtype, result};
use sprag_kernels::element::Element;
use sprag_kernels::fused::{self, Affine, Choice, Scratch};
use sprag_kernels::tile::origins;

const TOLERANCE: Tolerance = Tolerance::new(1e-6, 1e-6);

struct Inputs {
    map: Tensor,
    indices: Tensor,
    tile_size: usize,
    require_unique: bool,
    affine: Affine,
}

struct Merged {
    merged: Floats,
    origins: Integers,
}

pub(super) fn run(case: &Value) -> Result<()> {
    judge(case, &["inputs", "params"], Form::BOTH, read, merge, |name, expected, got| match name {
        "merged" => floats(name, expected, &got.merged, TOLERANCE),
        "origins" => integer_tensor(name, expected, &got.origins),
        _ => unknown(name),
    })
}

fn read(case: &Fields<'_>) -> Result<Inputs, Stop> {
    let inputs = Fields::of(case.get("inputs")?, "`inputs`", &["feature_map", "indices"])?;
    let names = ["tile_size", "value_scale", "value_bias", "gate_scale", "gate_bias", "require_unique_indices"];
    let params = Fields::of(case.get("params")?, "`params`", &names)?;
    Ok(Inputs {
        map: Tensor::named(&inputs, "feature_map")?,
        indices: Tensor::named(&inputs, "indices")?,
        tile_size: params.integer("tile_size")?,
        require_unique: params.flag("require_unique_indices")?,
        affine: Affine {
            value_scale: params.number("value_scale")? as f32,
            value_bias: params.number("value_bias")? as f32,
            gate_scale: params.number("gate_scale")? as f32,
            gate_bias: params.number("gate_bias")? as f32,
        },
    })
}

fn merge(form: Form, inputs: &Inputs) -> Result<Merged, Stop> {
    for_dtype!(inputs.map.dtype, merge_as(form, inputs))
}

fn merge_as<T: Element>(form: Form, inputs: &Inputs) -> Result<Merged, Stop> {
    let shape = inputs.map.map_shape()?;
    let [_, tiles] = *inputs.indices.axes()?;
    inputs.indices.check_shape(&[shape.batch, tiles])?;
    let map = inputs.map.floats::<T>()?;
    let indices: Vec<u32> = inputs.indices.integers()?;
    let choice = Choice { indices: &indices, tile_size: inputs.tile_size, require_unique: inputs.require_unique };
    let mut merged = vec![T::default(); map.len()];
    let kernel = match form {
        Form::Reference => fused::reference,
        Form::Fast => fused::fast,
    };
    kernel(&map, shape, &choice, &inputs.affine, &mut merged, &mut Scratch::default())?;
    Ok(Merged {
        merged: result(&inputs.map.shape, inputs.map.dtype, &merged),
        origins: origin_tensor(shape.batch, tiles, &origins(&indices, shape, inputs.tile_size)?),
    })
}

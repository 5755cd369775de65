//! Cases of `tile_pack`: bit-exact. Order mode `as_is` packs in the order given; any other orders each row first.

use anyhow::Result;
use serde_json::Value;

use super::case::{Fields, Form, Stop, judge, unknown};
use super::expected::{Floats, Integers, Tolerance, floats, integer_tensor, widen};
use super::tensor::{Tensor, for_dtype, result};
use sprag_kernels::element::Element;
use sprag_kernels::ordering::{OrderMode, order_rows};
use sprag_kernels::shape::Grid;
use sprag_kernels::tile::{Origin, origins, pack};

struct Inputs {
    map: Tensor,
    indices: Tensor,
    tile_size: usize,
    order_mode: String,
}

struct Packed {
    packed: Floats,
    indices: Integers,
    origins: Integers,
    grid: Integers,
}

pub(super) fn run(case: &Value) -> Result<()> {
    judge(case, &["inputs", "params"], Form::BOTH, read, pack_rows, |name, expected, got| match name {
        "packed" => floats(name, expected, &got.packed, Tolerance::EXACT),
        "indices" => integer_tensor(name, expected, &got.indices),
        "origins" => integer_tensor(name, expected, &got.origins),
        "grid" => integer_tensor(name, expected, &got.grid),
        _ => unknown(name),
    })
}

fn read(case: &Fields<'_>) -> Result<Inputs, Stop> {
    let inputs = Fields::of(case.get("inputs")?, "`inputs`", &["feature_map", "indices"])?;
    let params = Fields::of(case.get("params")?, "`params`", &["tile_size", "order_mode"])?;
    Ok(Inputs {
        map: Tensor::named(&inputs, "feature_map")?,
        indices: Tensor::named(&inputs, "indices")?,
        tile_size: params.integer("tile_size")?,
        order_mode: params.text("order_mode")?.to_owned(),
    })
}

fn pack_rows(form: Form, inputs: &Inputs) -> Result<Packed, Stop> {
    for_dtype!(inputs.map.dtype, pack_as(form, inputs))
}

fn pack_as<T: Element>(form: Form, inputs: &Inputs) -> Result<Packed, Stop> {
    let shape = inputs.map.map_shape()?;
    let [batch, tiles] = *inputs.indices.axes()?;
    inputs.indices.check_shape(&[shape.batch, tiles])?;
    let tile_size = inputs.tile_size;
    let map = inputs.map.floats::<T>()?;
    let mut indices: Vec<u32> = inputs.indices.integers()?;
    let grid = Grid::of_map(shape, tile_size)?;
    if inputs.order_mode != "as_is" {
        order_rows(&mut indices, batch, grid, OrderMode::parse(&inputs.order_mode)?)?;
    }
    let mut packed = vec![T::default(); indices.len() * shape.channels * tile_size * tile_size];
    match form {
        Form::Reference => pack::reference(&map, shape, tile_size, &indices, &mut packed)?,
        Form::Fast => pack::fast(&map, shape, tile_size, &indices, &mut packed)?,
    }
    Ok(Packed {
        packed: result(&[batch, tiles, shape.channels, tile_size, tile_size], inputs.map.dtype, &packed),
        origins: origin_tensor(batch, tiles, &origins(&indices, shape, tile_size)?),
        grid: Integers { shape: vec![2], dtype: "int64", values: widen(&[grid.height(), grid.width()]) },
        indices: Integers { shape: vec![batch, tiles], dtype: "int64", values: widen(&indices) },
    })
}

/// Origins as the original reports them: `[B,K,2]`, row before column.
pub(super) fn origin_tensor(batch: usize, tiles: usize, origins: &[Origin]) -> Integers {
    let values = origins.iter().flat_map(|origin| [i64::from(origin.y), i64::from(origin.x)]).collect();
    Integers { shape: vec![batch, tiles, 2], dtype: "int64", values }
}

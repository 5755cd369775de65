//! Cases of the kernels that move tiles.
//!
//! `tile_pack` is bit-exact; order mode `as_is` packs in the order given, any other orders each row first.
//! `tile_unpack` is bit-exact where every tile overrides, else within 1e-6: api `priority_map` runs steps on one
//! priority map, api `levels` runs once with a level for each tile. `fused_pack_op_unpack` is within 1e-6, and a
//! SHA-256 holds because nothing is contracted.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::case::{Call, Form, judge_forms};
use crate::expected::{Results, Tolerance, exactly, floats};
use crate::failure::{Failure, Outcome, fails, narrow, require};
use crate::tensor::{Dtype, Integers, Tensor, for_dtype, id_tensor, shared_dtype};
use sprag_kernels::element::Element;
use sprag_kernels::fused::{self, Affine, FusedChoice, Scratch};
use sprag_kernels::ordering::{OrderMode, order_rows};
use sprag_kernels::shape::{Grid, MapShape};
use sprag_kernels::tile::{Corner, Overlap, Placement, Tiles, origins, pack, unpack_levels, unpack_priority};

/// Absolute and relative, where numbers are computed and not only moved.
const ROUNDING: Tolerance = Tolerance::new(1e-6, 1e-6);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapInputs {
    feature_map: Tensor,
    indices: Tensor,
}

impl MapInputs {
    /// The shape of the map, the number of tiles of a sample, and their ids.
    fn ids(&self) -> Outcome<(MapShape, usize, Vec<u32>)> {
        let shape = self.feature_map.map_shape()?;
        let [_, tiles] = *self.indices.axes()?;
        self.indices.check_shape(&[shape.batch, tiles])?;
        Ok((shape, tiles, self.indices.integers()?))
    }
}

/// Origins as the original reports them: `[B,K,2]`, row before column.
fn origin_tensor(batch: usize, tiles: usize, origins: &[Corner]) -> Integers {
    id_tensor(&[batch, tiles, 2], origins.iter().flat_map(|origin| [origin.y, origin.x]))
}

type PackCase = Call<MapInputs, PackParams>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackParams {
    tile_size: usize,
    order_mode: String,
}

pub(crate) fn run_pack(case: Value) -> Outcome {
    judge_forms(case, |form, case: &PackCase| for_dtype!(case.inputs.feature_map.dtype, pack_as(form, case)))
}

fn pack_as<T: Element>(form: Form, Call { inputs, params }: &PackCase) -> Outcome<Results> {
    let (shape, tiles, mut indices) = inputs.ids()?;
    let tile_size = params.tile_size;
    let map = inputs.feature_map.floats::<T>()?;
    let grid = Grid::of_map(shape, tile_size)?;
    if params.order_mode != "as_is" {
        order_rows(&mut indices, shape.batch, grid, OrderMode::parse(&params.order_mode)?)?;
    }
    let mut packed = vec![T::default(); indices.len() * shape.channels * tile_size * tile_size];
    pack::run(form.untuned(pack::CANDIDATES), &map, shape, tile_size, &indices, &mut packed)?;
    let packed_shape = [shape.batch, tiles, shape.channels, tile_size, tile_size];
    let origins = origin_tensor(shape.batch, tiles, &origins(&indices, shape, tile_size)?);
    Ok(vec![
        ("packed", floats(&packed_shape, inputs.feature_map.dtype, &packed, Tolerance::EXACT)),
        ("origins", exactly(origins)),
        ("grid", exactly(id_tensor(&[2], [grid.height(), grid.width()]))),
        ("indices", exactly(id_tensor(&[shape.batch, tiles], indices))),
    ])
}

type FusedCase = Call<MapInputs, FusedParams>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FusedParams {
    tile_size: usize,
    value_scale: f64,
    value_bias: f64,
    gate_scale: f64,
    gate_bias: f64,
    require_unique_indices: bool,
}

pub(crate) fn run_fused(case: Value) -> Outcome {
    judge_forms(case, |form, case: &FusedCase| for_dtype!(case.inputs.feature_map.dtype, fuse_as(form, case)))
}

fn fuse_as<T: Element>(form: Form, Call { inputs, params }: &FusedCase) -> Outcome<Results> {
    let (shape, tiles, indices) = inputs.ids()?;
    let map = inputs.feature_map.floats::<T>()?;
    let tile_size = params.tile_size;
    let choice = FusedChoice { indices: &indices, tile_size, require_unique: params.require_unique_indices };
    let affine = Affine {
        value_scale: params.value_scale as f32,
        value_bias: params.value_bias as f32,
        gate_scale: params.gate_scale as f32,
        gate_bias: params.gate_bias as f32,
    };
    let mut merged = vec![T::default(); map.len()];
    fused::run(form.untuned(fused::CANDIDATES), &map, shape, &choice, &affine, &mut merged, &mut Scratch::default())?;
    let merged = floats(&inputs.feature_map.shape, inputs.feature_map.dtype, &merged, ROUNDING);
    let origins = origin_tensor(shape.batch, tiles, &origins(&indices, shape, tile_size)?);
    Ok(vec![("merged", merged), ("origins", exactly(origins))])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnpackCase {
    api: Api,
    /// The map `base_map`, and what `params` or `steps` are applied to.
    inputs: BTreeMap<String, Tensor>,
    params: Option<LevelParams>,
    steps: Option<Vec<Step>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Api {
    PriorityMap,
    Levels,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelParams {
    overlap_mode: String,
    blend_alpha: f64,
    assume_priority_sorted: bool,
}

/// One call on the priority map; tensors are named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    packed: String,
    origins: String,
    level_priority: i64,
    overlap_mode: String,
    blend_alpha: f64,
}

pub(crate) fn run_unpack(case: Value) -> Outcome {
    judge_forms(case, unpack)
}

fn unpack(form: Form, case: &UnpackCase) -> Outcome<Results> {
    let is_float = |tensor: &&Tensor| matches!(tensor.dtype, Dtype::Float32 | Dtype::Float16 | Dtype::BFloat16);
    let dtype = shared_dtype(case.inputs.values().filter(is_float))?;
    match (case.api, &case.steps, &case.params) {
        (Api::PriorityMap, Some(steps), None) => for_dtype!(dtype, unpack_steps(form, case, steps)),
        (Api::Levels, None, Some(params)) => for_dtype!(dtype, unpack_at_levels(form, case, params)),
        _ => Err(fails("api `priority_map` goes with `steps`, and `levels` with `params`")),
    }
}

impl UnpackCase {
    fn tensor(&self, name: &str) -> Outcome<&Tensor> {
        self.inputs.get(name).ok_or_else(|| fails(format!("tensor `{name}` is absent")))
    }

    fn refuse_other_than(&self, used: &BTreeSet<&str>) -> Outcome {
        let other = self.inputs.keys().find(|name| !used.contains(name.as_str()));
        require(other.is_none(), || format!("tensor `{}` is unknown to this build", other.map_or("", |name| name)))
    }
}

/// Starts with the priority map among the inputs, where there is one, and else at zero.
fn unpack_steps<T: Element>(form: Form, case: &UnpackCase, steps: &[Step]) -> Outcome<Results> {
    require(!steps.is_empty(), || "`steps` is empty".to_owned())?;
    let named = steps.iter().flat_map(|step| [step.packed.as_str(), step.origins.as_str()]);
    case.refuse_other_than(&named.chain(["base_map", "priority_map"]).collect())?;
    let base = case.tensor("base_map")?;
    let shape = base.map_shape()?;
    let map_shape = [shape.batch, shape.height, shape.width];
    let mut priority_map: Vec<i8> = match case.inputs.get("priority_map") {
        Some(given) => given.check_shape(&map_shape).and_then(|()| given.integers())?,
        None => vec![0; shape.pixels()],
    };
    let mut current = base.floats::<T>()?;
    let mut merged = vec![T::default(); current.len()];
    let mut tolerance = Tolerance::EXACT;
    for step in steps {
        let overlap = Overlap::parse(&step.overlap_mode, step.blend_alpha)?;
        if overlap != Overlap::Override {
            tolerance = ROUNDING;
        }
        let tiles = PlacedTiles::<T>::new(case.tensor(&step.packed)?, None, Some(case.tensor(&step.origins)?), shape)?;
        let rule =
            unpack_priority::PriorityRule { level_priority: narrow("level_priority", step.level_priority)?, overlap };
        unpack_priority::run(form, &current, shape, &tiles.tiles(), rule, &mut merged, &mut priority_map)?;
        current.copy_from_slice(&merged);
    }
    let data = priority_map.into_iter().map(i64::from).collect();
    let priority_map = Integers { shape: map_shape.to_vec(), dtype: Dtype::Int8, data };
    let merged = floats(&base.shape, base.dtype, &merged, tolerance);
    Ok(vec![("merged", merged), ("priority_map", exactly(priority_map))])
}

fn unpack_at_levels<T: Element>(form: Form, case: &UnpackCase, params: &LevelParams) -> Outcome<Results> {
    case.refuse_other_than(&BTreeSet::from(["base_map", "packed", "indices", "origins", "levels"]))?;
    let (base, packed) = (case.tensor("base_map")?, case.tensor("packed")?);
    let shape = base.map_shape()?;
    let tiles = PlacedTiles::<T>::new(packed, case.inputs.get("indices"), case.inputs.get("origins"), shape)?;
    let levels = case.inputs.get("levels");
    if let Some(levels) = levels {
        levels.check_shape(&packed.shape[..2])?;
    }
    let levels: Option<Vec<i32>> = levels.map(Tensor::integers).transpose()?;
    let overlap = Overlap::parse(&params.overlap_mode, params.blend_alpha)?;
    let rule = unpack_levels::LevelsRule {
        levels: levels.as_deref(),
        assume_priority_sorted: params.assume_priority_sorted,
        overlap,
    };
    let base_values = base.floats::<T>()?;
    let mut merged = vec![T::default(); base_values.len()];
    unpack_levels::run(
        form.untuned(unpack_levels::CANDIDATES),
        Some(&base_values),
        shape,
        &tiles.tiles(),
        rule,
        &mut merged,
        &mut unpack_levels::UnpackScratch::default(),
    )?;
    let tolerance = if overlap == Overlap::Override { Tolerance::EXACT } else { ROUNDING };
    Ok(vec![("merged", floats(&base.shape, base.dtype, &merged, tolerance))])
}

/// Packed tiles and their places, in the types of the kernel.
struct PlacedTiles<T> {
    packed: Vec<T>,
    places: Places,
    tile_size: usize,
}

enum Places {
    Indices(Vec<u32>),
    Origins(Vec<Corner>),
}

impl<T: Element> PlacedTiles<T> {
    /// Either `indices` or `origins` place the tiles.
    fn new(packed: &Tensor, indices: Option<&Tensor>, origins: Option<&Tensor>, shape: MapShape) -> Outcome<Self> {
        let [_, tiles, _, tile_size, _] = *packed.axes()?;
        packed.check_shape(&[shape.batch, tiles, shape.channels, tile_size, tile_size])?;
        let places = match (indices, origins) {
            (Some(indices), None) => {
                indices.check_shape(&[shape.batch, tiles])?;
                Places::Indices(indices.integers()?)
            }
            (None, Some(origins)) => {
                origins.check_shape(&[shape.batch, tiles, 2])?;
                let pixels: Vec<u32> = origins.integers()?;
                Places::Origins(pixels.chunks_exact(2).map(|pixel| Corner { y: pixel[0], x: pixel[1] }).collect())
            }
            (None, None) => return Err(Failure::Refused("neither indices nor origins are given".to_owned())),
            (Some(_), Some(_)) => return Err(fails("both indices and origins are given")),
        };
        Ok(PlacedTiles { packed: packed.floats()?, places, tile_size })
    }

    fn tiles(&self) -> Tiles<'_, T> {
        let placement = match &self.places {
            Places::Indices(indices) => Placement::Indices(indices),
            Places::Origins(origins) => Placement::Origins(origins),
        };
        Tiles { packed: &self.packed, placement, tile_size: self.tile_size }
    }
}

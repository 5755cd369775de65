//! Cases of `tile_unpack`: bit-exact where every tile overrides, else within 1e-6. Api `priority_map` runs steps on one
//! priority map; api `levels` runs once with a level a tile.

use anyhow::{Result, anyhow};
use serde_json::Value;

use super::case::{Fields, Form, Stop, judge, list, unknown};
use super::expected::{Floats, Integers, Tolerance, floats, integer_tensor};
use super::tensor::{Tensor, for_dtype, result, shared_dtype};
use sprag_kernels::element::Element;
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::{Origin, Overlap, Placement, Tiles, unpack_levels, unpack_priority};

/// Absolute and relative, where tiles are blended.
const BLEND: Tolerance = Tolerance::new(1e-6, 1e-6);

struct Inputs {
    base: Tensor,
    dtype: &'static str,
    work: Work,
}

enum Work {
    Steps(Vec<Step>),
    Levels { scatter: Box<Scatter>, levels: Option<Tensor>, assume_priority_sorted: bool },
}

struct Step {
    scatter: Scatter,
    level_priority: i8,
}

/// Tiles, where they belong and how they are written.
struct Scatter {
    packed: Tensor,
    placement: Tensor,
    by_origin: bool,
    overlap: Overlap,
}

struct Merged {
    merged: Floats,
    priority_map: Option<Integers>,
    tolerance: Tolerance,
}

pub(super) fn run(case: &Value) -> Result<()> {
    let fields = ["api", "inputs", "params", "steps"];
    judge(case, &fields, Form::BOTH, read, unpack, |name, expected, got| match (name, &got.priority_map) {
        ("merged", _) => floats(name, expected, &got.merged, got.tolerance),
        ("priority_map", Some(map)) => integer_tensor(name, expected, map),
        _ => unknown(name),
    })
}

fn read(case: &Fields<'_>) -> Result<Inputs, Stop> {
    let (base, work) = match (case.text("api")?, case.optional("steps"), case.optional("params")) {
        ("priority_map", Some(steps), None) => read_steps(case, steps)?,
        ("levels", None, Some(params)) => read_levels(case, params)?,
        (api, ..) => {
            return Err(anyhow!("api `{api}` with these fields is unknown to this build").into());
        }
    };
    let mut tensors = vec![&base];
    match &work {
        Work::Steps(steps) => tensors.extend(steps.iter().map(|step| &step.scatter.packed)),
        Work::Levels { scatter, .. } => tensors.push(&scatter.packed),
    }
    let dtype = shared_dtype(&tensors)?;
    Ok(Inputs { base, dtype, work })
}

fn read_steps(case: &Fields<'_>, steps: &Value) -> Result<(Tensor, Work), Stop> {
    let inputs = Fields::any(case.get("inputs")?, "`inputs`")?;
    let mut used = vec!["base_map"];
    let mut work = Vec::new();
    for step in list("steps", steps)? {
        let fields = ["packed", "origins", "level_priority", "overlap_mode", "blend_alpha"];
        let step = Fields::of(step, "a step", &fields)?;
        let (packed, origins) = (step.text("packed")?, step.text("origins")?);
        used.extend([packed, origins]);
        work.push(Step {
            scatter: Scatter {
                packed: Tensor::named(&inputs, packed)?,
                placement: Tensor::named(&inputs, origins)?,
                by_origin: true,
                overlap: Overlap::parse(step.text("overlap_mode")?, step.number("blend_alpha")?)?,
            },
            level_priority: step.integer("level_priority")?,
        });
    }
    Fields::of(case.get("inputs")?, "`inputs`", &used)?;
    if work.is_empty() {
        return Err(anyhow!("`steps` is empty").into());
    }
    Ok((Tensor::named(&inputs, "base_map")?, Work::Steps(work)))
}

fn read_levels(case: &Fields<'_>, params: &Value) -> Result<(Tensor, Work), Stop> {
    let names = ["base_map", "packed", "indices", "origins", "levels"];
    let inputs = Fields::of(case.get("inputs")?, "`inputs`", &names)?;
    let params = Fields::of(params, "`params`", &["overlap_mode", "blend_alpha", "assume_priority_sorted"])?;
    let (indices, origins) = (Tensor::optional(&inputs, "indices")?, Tensor::optional(&inputs, "origins")?);
    let by_origin = origins.is_some();
    let placement = match (indices, origins) {
        (Some(placement), None) | (None, Some(placement)) => placement,
        (None, None) => return Err(Stop::Refused("neither indices nor origins are given".to_owned())),
        (Some(_), Some(_)) => return Err(anyhow!("both indices and origins are given").into()),
    };
    let overlap = Overlap::parse(params.text("overlap_mode")?, params.number("blend_alpha")?)?;
    let work = Work::Levels {
        scatter: Box::new(Scatter { packed: Tensor::named(&inputs, "packed")?, placement, by_origin, overlap }),
        levels: Tensor::optional(&inputs, "levels")?,
        assume_priority_sorted: params.flag("assume_priority_sorted")?,
    };
    Ok((Tensor::named(&inputs, "base_map")?, work))
}

fn unpack(form: Form, inputs: &Inputs) -> Result<Merged, Stop> {
    for_dtype!(inputs.dtype, unpack_as(form, inputs))
}

fn unpack_as<T: Element>(form: Form, inputs: &Inputs) -> Result<Merged, Stop> {
    let shape = inputs.base.map_shape()?;
    let base = inputs.base.floats::<T>()?;
    let mut merged = vec![T::default(); base.len()];
    let (priority_map, overrides) = match &inputs.work {
        Work::Steps(steps) => {
            let mut priority_map = vec![0; shape.pixels()];
            let mut current = base;
            for step in steps {
                let held = Held::<T>::read(&step.scatter, shape)?;
                let rule = unpack_priority::Rule { level_priority: step.level_priority, overlap: step.scatter.overlap };
                let kernel = match form {
                    Form::Reference => unpack_priority::reference,
                    Form::Fast => unpack_priority::fast,
                };
                kernel(&current, shape, &held.tiles(), rule, &mut merged, &mut priority_map)?;
                current.copy_from_slice(&merged);
            }
            let values = priority_map.into_iter().map(i64::from).collect();
            let map = Integers { shape: vec![shape.batch, shape.height, shape.width], dtype: "int8", values };
            (Some(map), steps.iter().all(|step| step.scatter.overlap == Overlap::Override))
        }
        Work::Levels { scatter, levels, assume_priority_sorted } => {
            let held = Held::<T>::read(scatter, shape)?;
            if let Some(levels) = levels {
                levels.check_shape(&scatter.placement.shape[..2])?;
            }
            let levels: Option<Vec<i32>> = levels.as_ref().map(Tensor::integers).transpose()?;
            let rule = unpack_levels::Rule {
                levels: levels.as_deref(),
                assume_priority_sorted: *assume_priority_sorted,
                overlap: scatter.overlap,
            };
            let kernel = match form {
                Form::Reference => unpack_levels::reference,
                Form::Fast => unpack_levels::fast,
            };
            kernel(&base, shape, &held.tiles(), rule, &mut merged, &mut unpack_levels::Scratch::default())?;
            (None, scatter.overlap == Overlap::Override)
        }
    };
    Ok(Merged {
        merged: result(&inputs.base.shape, inputs.dtype, &merged),
        priority_map,
        tolerance: if overrides { Tolerance::EXACT } else { BLEND },
    })
}

/// Packed tiles and their places, in the types of the kernel.
struct Held<T> {
    packed: Vec<T>,
    indices: Vec<u32>,
    origins: Vec<Origin>,
    by_origin: bool,
    tile_size: usize,
}

impl<T: Element> Held<T> {
    fn read(scatter: &Scatter, shape: MapShape) -> Result<Self, Stop> {
        let [_, tiles, _, tile_size, _] = *scatter.packed.axes()?;
        scatter.packed.check_shape(&[shape.batch, tiles, shape.channels, tile_size, tile_size])?;
        let mut held = Held {
            packed: scatter.packed.floats()?,
            indices: Vec::new(),
            origins: Vec::new(),
            by_origin: scatter.by_origin,
            tile_size,
        };
        if scatter.by_origin {
            scatter.placement.check_shape(&[shape.batch, tiles, 2])?;
            let pixels: Vec<u32> = scatter.placement.integers()?;
            held.origins = pixels.chunks_exact(2).map(|pixel| Origin { y: pixel[0], x: pixel[1] }).collect();
        } else {
            scatter.placement.check_shape(&[shape.batch, tiles])?;
            held.indices = scatter.placement.integers()?;
        }
        Ok(held)
    }

    fn tiles(&self) -> Tiles<'_, T> {
        let placement =
            if self.by_origin { Placement::Origins(&self.origins) } else { Placement::Indices(&self.indices) };
        Tiles { packed: &self.packed, placement, tile_size: self.tile_size }
    }
}

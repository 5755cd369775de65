//! Every operation of the suite at its shapes: one value to name, launch and check whichever it is.

use super::super::program::{Dtype, Program};
use super::super::settings::Profile;
use super::fused::Fused;
use super::fusion_gate::FusionGate;
use super::tile_unpack::TileUnpack;
use super::tile_unpack_anywhere::TileUnpackAnywhere;
use super::{Config, Expected, Form, Inputs, Rule, Tiled, shapes};
use super::{copy, ff_path, fused, fusion_gate, scan, tile_pack, tile_unpack, tile_unpack_anywhere};
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::Overlap;

/// Scans with at most so many steps use the short form untuned: chunks would be few and short.
const SHORT_STEPS: usize = 1024;

#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Takes tiles out of maps.
    TilePack(Tiled),
    /// Puts tiles back into a copy of maps.
    TileUnpack(TileUnpack),
    /// Puts tiles back that lie anywhere.
    TileUnpackAnywhere(TileUnpackAnywhere),
    /// Mixes two maps by a gate.
    FusionGate(FusionGate),
    Scan(scan::Shape),
    /// Applies a gate to the tiles of a copy of maps.
    Fused(Fused),
    /// The feature-fusion module from end to end.
    FfPath(ff_path::Shape),
    /// Copies: what others are measured against.
    Copy(copy::Copy),
}

impl Operation {
    /// The operations that a suite measures at a profile, in the order in which tables list them.
    pub fn all(profile: &Profile) -> Vec<Operation> {
        shapes::of(profile)
    }

    /// Every operation there is, timed or not: each stands for its uneven shapes.
    pub fn every() -> Vec<Operation> {
        shapes::every()
    }

    /// Shapes of the same operation that nothing divides evenly, small enough for the CPU to check in moments.
    pub fn uneven(&self) -> Vec<Operation> {
        shapes::uneven(self)
    }

    /// Its name, as benchmarks bear it.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::TilePack(_) => "tile_pack",
            Operation::TileUnpack(_) => "tile_unpack",
            Operation::TileUnpackAnywhere(_) => "tile_unpack_anywhere",
            Operation::FusionGate(_) => "fusion_gate",
            Operation::Scan(_) => "tile_ssm_scan",
            Operation::Fused(_) => "fused_pack_op_unpack",
            Operation::FfPath(_) => "ff_path",
            Operation::Copy(_) => "copy",
        }
    }

    /// Its sizes, as parameters of a benchmark.
    pub fn params(&self) -> Vec<(&'static str, String)> {
        let tiles = |tiles: &Tiled| {
            let mut params = map_params(tiles.map());
            params.extend([("t", tiles.tile_size().to_string()), ("k", tiles.per_sample().to_string())]);
            params
        };
        let overlap = |rule: &Rule| ("overlap", overlap_word(rule).to_owned());
        match self {
            Operation::TilePack(shape) => tiles(shape),
            Operation::TileUnpack(shape) => tiles(shape.tiles()).into_iter().chain([overlap(shape.rule())]).collect(),
            Operation::TileUnpackAnywhere(shape) => {
                let mut params = map_params(shape.map());
                params.extend([("t", shape.tile_size().to_string()), ("k", shape.per_sample().to_string())]);
                params.push(overlap(shape.rule()));
                params
            }
            Operation::FusionGate(shape) => map_params(shape.map),
            Operation::Scan(shape) => vec![
                ("b", shape.tokens.batch.to_string()),
                ("steps", shape.tokens.steps.to_string()),
                ("c", shape.tokens.channels.to_string()),
                ("way", shape.way.word().to_owned()),
                ("initial", shape.initial.word().to_owned()),
            ],
            Operation::Fused(shape) => tiles(&shape.tiles),
            Operation::FfPath(shape) => {
                let chosen = shape.selection();
                let mut params = map_params(shape.map());
                params.extend([("l0", chosen.l0_each.to_string()), ("l1", chosen.l1_each.to_string())]);
                params
            }
            Operation::Copy(shape) => vec![("n", shape.elements.to_string())],
        }
    }

    /// Its sizes as one text, for messages.
    pub fn label(&self) -> String {
        let parts: Vec<String> = self.params().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        parts.join(" ")
    }

    /// The throughput metric, and how many units one call works through.
    pub fn work(&self) -> (&'static str, f64) {
        match self {
            Operation::TilePack(tiles) => ("tiles_per_s", tiles.ids().len() as f64),
            Operation::TileUnpack(shape) => ("tiles_per_s", shape.tiles().ids().len() as f64),
            Operation::TileUnpackAnywhere(shape) => ("tiles_per_s", (shape.per_sample() * shape.map().batch) as f64),
            Operation::FusionGate(shape) => ("elements_per_s", shape.map.elements() as f64),
            Operation::Scan(shape) => ("tokens_per_s", (shape.tokens.batch * shape.tokens.steps) as f64),
            Operation::Fused(shape) => ("tiles_per_s", shape.tiles.ids().len() as f64),
            Operation::FfPath(shape) => ("frames_per_s", shape.map().batch as f64),
            Operation::Copy(shape) => ("elements_per_s", shape.elements as f64),
        }
    }

    /// The bytes that a call must read and write at least; absent where intermediate results make that no bound.
    pub fn bytes_moved(&self, dtype: Dtype) -> Option<usize> {
        let elements = match self {
            Operation::TilePack(tiles) => 2 * tiles.packed_elements(),
            // Every pixel is read from one of the two, and written once.
            Operation::TileUnpack(shape) => 2 * shape.tiles().map().elements(),
            Operation::TileUnpackAnywhere(shape) => 2 * shape.map().elements(),
            Operation::FusionGate(shape) => 3 * shape.map.elements() + 3 * shape.map.pixels(),
            Operation::Scan(shape) => 2 * shape.tokens.elements(),
            Operation::Fused(shape) => 2 * shape.tiles.map().elements(),
            Operation::FfPath(_) => return None,
            Operation::Copy(shape) => 2 * shape.elements,
        };
        Some(elements * dtype.bytes())
    }

    /// The configurations of the tuned form, the one used untuned first.
    pub fn candidates(&self) -> Vec<Config> {
        match self {
            Operation::TilePack(_) => tile_pack::CANDIDATES.to_vec(),
            Operation::TileUnpack(_) => tile_unpack::CANDIDATES.to_vec(),
            Operation::TileUnpackAnywhere(_) => tile_unpack_anywhere::CANDIDATES.to_vec(),
            Operation::FusionGate(_) => fusion_gate::CANDIDATES.to_vec(),
            Operation::Scan(shape) => {
                let mut candidates = scan::CANDIDATES.to_vec();
                let is_short = shape.tokens.steps <= SHORT_STEPS;
                // A stable sort keeps the order within each form.
                candidates.sort_by_key(|config| (config.chunk == 0) != is_short);
                candidates
            }
            Operation::Fused(_) => fused::CANDIDATES.to_vec(),
            Operation::FfPath(_) => ff_path::CANDIDATES.to_vec(),
            Operation::Copy(_) => copy::CANDIDATES.to_vec(),
        }
    }

    /// What a call does on the device.
    pub fn program(&self, dtype: Dtype, form: Form) -> Program {
        match self {
            Operation::TilePack(shape) => tile_pack::program(shape, dtype, form),
            Operation::TileUnpack(shape) => tile_unpack::program(shape, dtype, form),
            Operation::TileUnpackAnywhere(shape) => tile_unpack_anywhere::program(shape, dtype, form),
            Operation::FusionGate(shape) => fusion_gate::program(shape, dtype, form),
            Operation::Scan(shape) => scan::program(shape, dtype, form),
            Operation::Fused(shape) => fused::program(shape, dtype, form),
            Operation::FfPath(shape) => ff_path::program(shape, dtype, form),
            Operation::Copy(shape) => copy::program(shape, dtype, form),
        }
    }

    /// What its outputs must come to, by the CPU reference.
    ///
    /// # Errors
    /// Inputs that do not fit the shape.
    pub fn expected(&self, dtype: Dtype, inputs: &Inputs) -> Result<Vec<Expected>, String> {
        match self {
            Operation::TilePack(shape) => tile_pack::expected(shape, dtype, inputs),
            Operation::TileUnpack(shape) => tile_unpack::expected(shape, dtype, inputs),
            Operation::TileUnpackAnywhere(shape) => tile_unpack_anywhere::expected(shape, dtype, inputs),
            Operation::FusionGate(shape) => fusion_gate::expected(shape, dtype, inputs),
            Operation::Scan(shape) => scan::expected(shape, dtype, inputs),
            Operation::Fused(shape) => fused::expected(shape, dtype, inputs),
            Operation::FfPath(shape) => ff_path::expected(shape, dtype, inputs),
            Operation::Copy(shape) => copy::expected(shape, dtype, inputs),
        }
    }

    /// How far the two forms may be from each other, absolute and relative alike: what moves and mixes elements rounds at
    /// the same points in both, what sums rounds in another order.
    pub fn tolerance(&self, dtype: Dtype) -> f64 {
        match self {
            Operation::TilePack(_)
            | Operation::TileUnpack(_)
            | Operation::TileUnpackAnywhere(_)
            | Operation::Fused(_)
            | Operation::Copy(_) => 0.0,
            Operation::FfPath(_) => ff_path::tolerance(dtype),
            _ => match dtype {
                Dtype::F32 => 1e-5,
                Dtype::F16 => 4e-3,
                Dtype::Bf16 => 2e-2,
                Dtype::E4m3 => 0.13,
            },
        }
    }
}

/// The shape of a map as parameters.
pub(super) fn map_params(shape: MapShape) -> Vec<(&'static str, String)> {
    vec![
        ("b", shape.batch.to_string()),
        ("c", shape.channels.to_string()),
        ("h", shape.height.to_string()),
        ("w", shape.width.to_string()),
    ]
}

fn overlap_word(rule: &Rule) -> &'static str {
    match rule.overlap {
        Overlap::Override => "override",
        Overlap::Blend(_) => "blend",
    }
}

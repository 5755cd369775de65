//! Seeded inputs of the fixed workloads that are timed.
//!
//! [`cpu`] holds those of the CPU suite: one image of 128 by 128, and tile kernels on 64 channels of 128 by 128 pixels
//! with ten given tiles of 16. [`profile`] holds those of the other suites: 128 channels of 128 by 128 pixels, 32 of
//! the 256 tiles of 8, and 256 scan steps. Each workload draws from streams of its own, so that none depends on
//! another. All values are `f32`; those of a half type are had by rounding.

pub mod cpu;
pub mod profile;

use super::ff::{self, Config, Parameters, Proxy};
use super::fused::{Affine, Choice};
use super::fusion::{self, Gate};
use super::ordering::OrderMode;
use super::scan::{self, DEFAULT_CLAMP, Direction, ScanShape};
use super::shape::MapShape;
use super::tile::{Overlap, Placement, Tiles, unpack_levels, unpack_priority};

/// The seed of the suites where none is asked for.
pub const DEFAULT_SEED: u64 = 123;

/// An image for [`infer`](super::infer), `[1,3,128,128]`, uniform in [0, 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Infer {
    /// Its shape.
    pub shape: MapShape,
    /// Its pixels.
    pub image: Vec<f32>,
}

/// A map and tiles for [`tile::pack`](super::tile::pack).
#[derive(Clone, Debug, PartialEq)]
pub struct Pack {
    /// Shape of the map.
    pub shape: MapShape,
    /// Side of a tile in pixels.
    pub tile_size: usize,
    /// The order that the timed call puts the tiles in first, if any.
    pub order: Option<OrderMode>,
    /// The map, standard normal.
    pub map: Vec<f32>,
    /// Tile ids, `[B,K]`.
    pub indices: Vec<u32>,
}

/// Tiles for [`unpack_priority`]; the timed call starts from a priority map of zeros.
#[derive(Clone, Debug, PartialEq)]
pub struct UnpackPriority {
    /// Shape of the map.
    pub shape: MapShape,
    /// Side of a tile in pixels.
    pub tile_size: usize,
    /// The map below, standard normal.
    pub base: Vec<f32>,
    /// The tiles, standard normal.
    pub packed: Vec<f32>,
    /// Their ids in the order of packing.
    pub indices: Vec<u32>,
    /// Priority 2, override.
    pub rule: unpack_priority::Rule,
}

/// Tiles for [`unpack_levels`].
#[derive(Clone, Debug, PartialEq)]
pub struct UnpackLevels {
    /// Shape of the map.
    pub shape: MapShape,
    /// Side of a tile in pixels.
    pub tile_size: usize,
    /// The map below, standard normal.
    pub base: Vec<f32>,
    /// The tiles, standard normal.
    pub packed: Vec<f32>,
    /// Their ids, ascending in each sample.
    pub indices: Vec<u32>,
    /// A level of 0, 1 or 2 each.
    pub levels: Vec<i32>,
}

/// Two maps, standard normal, and two proxies, uniform in [0, 1), for [`fusion`].
#[derive(Clone, Debug, PartialEq)]
pub struct Fusion {
    /// Shape of the maps.
    pub shape: MapShape,
    /// `[B,C,H,W]`.
    pub base: Vec<f32>,
    /// `[B,C,H,W]`.
    pub detail: Vec<f32>,
    /// `[B,1,H,W]`.
    pub boundary: Vec<f32>,
    /// `[B,1,H,W]`.
    pub uncertainty: Vec<f32>,
    /// The default gate.
    pub gate: Gate,
}

/// Tokens, standard normal, and parameters for a forward [`scan`]: decay in [0.1, 0.9), gains in [0.05, 1.55), bias a
/// tenth of a standard normal.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Shape of the tokens.
    pub shape: ScanShape,
    /// `[B,K,C]`.
    pub tokens: Vec<f32>,
    /// `[C]`.
    pub decay: Vec<f32>,
    /// `[C]`.
    pub input_gain: Vec<f32>,
    /// `[C]`.
    pub output_gain: Vec<f32>,
    /// `[C]`.
    pub state_bias: Vec<f32>,
}

/// A map and tiles, each once, for [`fused`](super::fused).
#[derive(Clone, Debug, PartialEq)]
pub struct Fused {
    /// Shape of the map.
    pub shape: MapShape,
    /// Side of a tile in pixels.
    pub tile_size: usize,
    /// The map, standard normal.
    pub map: Vec<f32>,
    /// Tile ids, ascending in each sample.
    pub indices: Vec<u32>,
    /// The default map of a pixel.
    pub affine: Affine,
}

/// Features and utilities, standard normal, proxies, uniform in [0, 1), and parameters for [`ff`].
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureFusion {
    /// Shape of the features.
    pub shape: MapShape,
    /// `[B,C,H,W]`.
    pub dense: Vec<f32>,
    /// One a coarse tile.
    pub utilities: Vec<f32>,
    /// One a coarse tile.
    pub split_utilities: Vec<f32>,
    /// `[B,1,H,W]`.
    pub boundary: Vec<f32>,
    /// `[B,1,H,W]`.
    pub uncertainty: Vec<f32>,
    /// Tiles of 16 and 8, budgets of 16 and 8.
    pub config: Config,
    /// Seeded as [`profile::feature_fusion`] says.
    pub parameters: Parameters,
}

impl UnpackPriority {
    /// The tiles as the kernel takes them.
    pub fn tiles(&self) -> Tiles<'_, f32> {
        let placement = Placement::Indices(&self.indices);
        Tiles { packed: &self.packed, placement, tile_size: self.tile_size }
    }
}

impl UnpackLevels {
    /// The tiles as the kernel takes them.
    pub fn tiles(&self) -> Tiles<'_, f32> {
        let placement = Placement::Indices(&self.indices);
        Tiles { packed: &self.packed, placement, tile_size: self.tile_size }
    }

    /// The rule as the kernel takes it: levels given, override.
    pub fn rule(&self) -> unpack_levels::Rule<'_> {
        let overlap = Overlap::Override;
        unpack_levels::Rule { levels: Some(&self.levels), assume_priority_sorted: false, overlap }
    }
}

impl Fusion {
    /// The maps as the kernel takes them.
    pub fn inputs(&self) -> fusion::Inputs<'_, f32> {
        let Fusion { base, detail, boundary, uncertainty, .. } = self;
        fusion::Inputs { base, detail, boundary, uncertainty }
    }
}

impl Scan {
    /// The tokens as the kernel takes them: no initial state, the default limit.
    pub fn inputs(&self) -> scan::Inputs<'_, f32> {
        scan::Inputs { tokens: &self.tokens, shape: self.shape, init_state: None, clamp: DEFAULT_CLAMP }
    }

    /// The parameters as the kernel takes them: forward.
    pub fn direction(&self) -> Direction<'_> {
        let Scan { decay, input_gain, output_gain, state_bias, .. } = self;
        Direction::Forward(scan::Parameters { decay, input_gain, output_gain, state_bias })
    }
}

impl Fused {
    /// The tiles as the kernel takes them: each once.
    pub fn choice(&self) -> Choice<'_> {
        Choice { indices: &self.indices, tile_size: self.tile_size, require_unique: true }
    }
}

impl FeatureFusion {
    /// The inputs as the module takes them.
    pub fn inputs(&self) -> ff::Inputs<'_> {
        let proxy = |values| Some(Proxy { values, height: self.shape.height, width: self.shape.width });
        ff::Inputs {
            dense: &self.dense,
            shape: self.shape,
            utilities: &self.utilities,
            split_utilities: Some(&self.split_utilities),
            boundary: proxy(&self.boundary),
            uncertainty: proxy(&self.uncertainty),
        }
    }
}

//! The feature-fusion module that the GPU suite times end to end: choose tiles on two levels, compute them heavily,
//! and fuse the result with the dense features.
//!
//! Per sample, a two-stage choice (a tile costs `max(cost_heavy - cost_cheap, 1e-9)`, a split `split_overhead`) gives
//! coarse tiles and their split children. The heavy path then runs on the coarse tiles of all samples and, if any
//! sample has children, once more on the children with the result of the first run as its input. A heavy path packs
//! tiles in Hilbert order, scans their means in both directions, modulates each tile by the outcome, refines it,
//! unpacks it, and passes the map through a fusion gate against its own input. A sample without tiles still passes
//! the gate, with its input on both sides.
//!
//! The two forms compute the same with the reference and the fast forms of the kernels inside.

mod film;
mod forward;
mod parameters;
mod path;
mod refine;
mod resize;

pub use forward::{choose, fast, reference};
pub use parameters::{Film, Parameters, PathParameters, Refine, ScanParameters, TensorShape, tensors};
pub use resize::Proxy;

use super::shape::MapShape;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FfConfig {
    /// Side of a coarse tile in pixels.
    pub tile_size_l0: usize,
    /// Side of a fine tile in pixels: half of the coarse.
    pub tile_size_l1: usize,
    /// How many coarse tiles a sample may have.
    pub kmax_l0: usize,
    /// How many fine tiles a sample may have.
    pub kmax_l1: usize,
    /// What the coarse tiles of a sample may cost.
    pub budget_b1: f64,
    /// What the splits of a sample may cost.
    pub budget_b2: f64,
    pub cost_heavy: f64,
    /// Cost of a tile that is left alone.
    pub cost_cheap: f64,
    pub split_overhead: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct FfInputs<'a> {
    /// Dense features, `[B,C,H,W]`.
    pub dense: &'a [f32],
    pub shape: MapShape,
    /// Utility of each coarse tile, `[B, H/t * W/t]`.
    pub utilities: &'a [f32],
    /// Utility of splitting each coarse tile; the utilities themselves where absent.
    pub split_utilities: Option<&'a [f32]>,
    /// Boundary proxy; all ones where absent.
    pub boundary: Option<Proxy<'a>>,
    /// Uncertainty proxy; all ones where absent.
    pub uncertainty: Option<Proxy<'a>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Coarse tiles, best first.
    pub l0: Vec<u32>,
    /// Fine tiles, in Hilbert order.
    pub l1: Vec<u32>,
    /// `l0`, padded with -1 to its limit.
    pub l0_kmax_buffer: Vec<i64>,
    /// `l1`, padded with -1 to its limit.
    pub l1_kmax_buffer: Vec<i64>,
    /// What the coarse tiles cost.
    pub spent_b1: f64,
    pub spent_b2: f64,
}

/// What a call computes; it grows to a call and is reused.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The fused features of the last path, `[B,C,H,W]`.
    pub heavy_features: Vec<f32>,
    /// The gate of the last path, `[B,1,H,W]`.
    pub alpha: Vec<f32>,
    /// The fused features of the last path less the input of that path, `[B,C,H,W]`.
    pub detail_map: Vec<f32>,
    pub chosen: Vec<Chosen>,
}

/// Room to work in; it grows to a call and is reused.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    boundary: Vec<f32>,
    uncertainty: Vec<f32>,
    coarse: Vec<f32>,
    path: path::Workspace,
}

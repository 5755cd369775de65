//! The operations of the GPU suite: for each its shapes, its programs in both forms, and what it must come to.

mod inputs;
mod launch;
mod rule;
mod tiled;
mod assembly;
mod shapes;
mod kernel;
mod catalogue;

pub mod copy;
pub mod ff_path;
pub mod fused;
pub mod fusion_gate;
pub mod scan;
pub mod tile_pack;
pub mod tile_unpack;
pub mod tile_unpack_anywhere;

#[cfg(test)]
pub(super) mod checks;

pub use self::catalogue::{files, service_kernels, source};
pub(super) use self::inputs::with_element;
pub use self::inputs::{Expected, Inputs, Stored};
pub use self::kernel::{Config, CudaKernel, Form, Operation};
pub use self::rule::Rule;
pub use self::scan::{Initial, Merge, Way};
pub use self::tiled::{Draw, Tiled};

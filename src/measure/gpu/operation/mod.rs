//! The operations of the GPU suite: for each its shapes, its programs in both forms, and what it must come to.

mod inputs;
mod builder;
mod tiled;
mod kernel;
mod catalogue;

pub mod copy;
pub mod ff_path;
pub mod fused;
pub mod fusion_gate;
pub mod scan;
pub mod tile_pack;
pub mod tile_unpack;

#[cfg(test)]
pub(super) mod checks;

pub use self::catalogue::{files, service_kernels, source};
pub(super) use self::inputs::with_element;
pub use self::inputs::{Expected, HostInputs, Stored};
pub use self::kernel::{Code, Form, LaunchConfig, Operation};
pub use self::scan::{InitialState, ScanWay, TokenScan};
pub use self::tiled::{Draw, Tiled};

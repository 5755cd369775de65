//! The feature-fusion module end to end: tiles chosen on the host, then two heavy paths on the device, the fine one on
//! the result of the coarse one.

mod shape;
mod layout;
mod plain;
mod fused;
mod call;

pub(super) use self::call::timed;
pub use self::shape::{FfPath, Selection, config};

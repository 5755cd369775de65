//! Tiles: gathering them from a map and scattering them back.
//!
//! Two scatters exist. [`unpack_priority`] takes one priority a call and keeps a map of priorities a pixel from call
//! to call; [`unpack_levels`] takes a level a tile and keeps nothing.

pub mod pack;
pub mod place;
pub mod unpack_levels;
pub mod unpack_priority;

mod config;
mod rows;

pub use config::TileConfig;
pub use place::{Origin, Overlap, Placement, Tiles, origins};

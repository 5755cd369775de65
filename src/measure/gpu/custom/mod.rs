//! CUDA kernels of the user: described in `sprag.toml`, compiled or loaded, checked, and timed like the built-in ones.

pub mod expression;
pub mod settings;
pub mod source;
pub mod number;
pub mod fill;
pub mod kernel;
pub mod check;
mod reference;
pub mod suite;

//! The files of the systems that went before: reports, baselines, gates and texts of Apex-X, Trueno and tt-metal.
//!
//! Golden files pin what the originals read and write byte for byte, oddities included: Python's words for errors, its
//! numbers that JSON lacks, its ways of writing floats.

pub mod json;
mod python;

pub mod apex_x;
pub mod trueno;
pub mod tt_metal;

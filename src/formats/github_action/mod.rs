//! What github-action-benchmark reads and writes: its history `data.js`, of all the tools whose output it understands,
//! and the two plain lists that a program may hand to it, of numbers where smaller or bigger is better.

pub(super) mod custom;
pub(super) mod data_js;

mod bench;
mod tool;

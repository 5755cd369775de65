//! What nvbench writes: JSON of version 1, and the files of single times beside it (`--jsonbin`).
//!
//! A state is a benchmark on one device with one value of each axis. The time on the device of isolated launches counts
//! (`nv/cold/time/gpu`), by its median; files of before 2026 have the mean alone. The times of batches and of the host
//! are kept beside it. Numbers stand in quotes, infinite ones too.

mod file;
mod report;
mod state;

pub(super) use report::FORMAT;

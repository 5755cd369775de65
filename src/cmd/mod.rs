//! The commands: one file or folder a subcommand, and the only place where stages meet.
//!
//! A command takes plain values and an `out` to write to; what it was asked on the command line is parsed before.

pub mod conformance;

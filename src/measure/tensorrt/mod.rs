//! Engines of TensorRT, timed by its own program `trtexec` as a process: nothing of TensorRT is linked, and whatever
//! version is installed can be used. What it cannot do is a reason with a code, never a panic.
//!
//! Each process times one case of a sweep and leaves the times of all its calls in a file. The unit of replication is
//! the process, as everywhere: the cases take turns, in turned order every other round, and what is tracked is the
//! median over processes.

pub mod reason;
mod find;
mod transcript;
mod arguments;
mod times;
pub mod layers;
mod once;
pub mod engine;
pub mod sweep;
pub mod measurements;

pub use find::find;
pub use transcript::Version;

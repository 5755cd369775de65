//! The report of the seed's GPU suite, `apex_x_gpu_benchmark`, schema version 1: as JSON and as Markdown.
//!
//! One sample is a single call with a wait for the device after it, timed by the host. Fields that name Python, torch or
//! Triton hold null where their type allows it, else `none`, and what they say of availability is `false`. The keys of
//! the benchmarks keep the seed's names, so that its comparisons find them: `torch_reference` and `torch_eager` are our
//! plain kernels, `triton_dispatch` and `torch_triton_fastpath` our tuned ones, whose backend is called `cuda`.

mod environment;
mod config;
mod launches;
mod benchmarks;
mod report;
mod markdown;

pub use benchmarks::{Backend, Benchmarks, Calls, EndToEnd, Operation, Path, Selection, TensorRt};
pub use config::GpuConfig;
pub use environment::{Device, Environment};
pub use launches::{Chosen, TimedOperation, TunedForm};
pub use markdown::to_markdown;
pub use report::{GpuReport, Outcome, SCHEMA_VERSION, SUITE};

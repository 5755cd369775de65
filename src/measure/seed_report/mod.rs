//! The reports that the tools of the seed, Apex-X, read: single calls, timed in one more process, and what they are of.

pub mod cpu;
mod engine;
pub mod calls;
mod gpu;

pub use cpu::cpu_report;
pub use gpu::{GpuReportOptions, gpu_report};

//! The files of the seed, Apex-X: its reports, so that its own tools can read what we measure, and its baselines, so
//! that what was measured there can be held against them here.

pub mod suite;
pub mod single_calls;
pub mod cpu_report;
pub mod gpu_report;
pub mod gpu_launches;
pub mod gpu_markdown;
pub mod trt_report;
pub mod runtime_caps;
mod metrics;
pub mod compare;
pub mod compare_text;
pub mod attestation;
pub mod baseline_template;
pub mod import;
pub mod schema;

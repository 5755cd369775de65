//! A release checked against its records: commit and tag, history, the files that people reviewed, and the folder of evidence.

pub mod error;
pub mod branch;
pub mod identity;
pub mod artifacts;
pub mod declared;
pub mod inputs;
pub mod reviewed;
pub mod fill;
pub mod sign;
pub mod published;
pub mod write;
pub mod folder;
pub mod rederive;

pub use error::{Fault, ReleaseError, Result};

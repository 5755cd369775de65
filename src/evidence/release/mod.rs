//! A release checked against its records: its commit and tag, the history that it is judged by, the files that people
//! reviewed, and the folder that an attestation wrote.

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

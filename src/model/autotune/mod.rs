//! Which configuration a tuned kernel runs with: what a run used, and what is kept from one run to the next.
//!
//! [`Registry`] counts the launches of one run, by the rules of the seed, Apex-X, whose report shows them. [`Store`] is
//! ours: choices that hold for the same code, compiler, driver, device, element type and shape, kept between runs.

mod registry;
mod key;
mod store;

pub use key::Key;
pub use registry::{Entry, Launched, Registry, Snapshot, Source, Summary, normalised, shape_bucket};
pub use store::{NewerVersion, Reading, SCHEMA_VERSION, Store, Stored};

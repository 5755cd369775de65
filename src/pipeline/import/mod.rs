//! What other tools wrote, as runs.

pub mod word;
pub mod convert;
pub mod source;
mod one;
mod plan;
mod record;

pub use one::foreign;
pub use plan::ImportOptions;
pub use record::import;

//! What other tools wrote, as runs.

pub mod word;
pub mod convert;
pub mod source;
mod plan;
mod record;

pub use plan::ImportOptions;
pub use record::import;
pub use source::foreign;

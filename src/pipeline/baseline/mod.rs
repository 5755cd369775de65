//! What later runs are compared with: taken from runs, reviewed, accepted, archived, listed and compared.

mod words;
mod take;
mod place;
mod source;
mod emit;
mod accept;
mod list;
mod diff;

pub use accept::{AcceptOptions, accept};
pub use diff::{DiffOptions, diff};
pub use emit::{EmitOptions, emit};
pub use list::list;

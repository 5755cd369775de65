//! Releases: their checklists filled from the history of a project, attested, verified, and reported on its site.

mod load;
mod findings;
mod table;
mod apex_x;
mod attest;
mod verify;
mod waive;
mod reports;

pub use apex_x::Summary;
pub use attest::{Attested, Form, attest};
pub use findings::fill;
pub use load::LoadedRelease;
pub use reports::reports;
pub use table::table;
pub use verify::{Verified, verify};
pub use waive::{Proposal, Subject, WaiveOptions, propose};

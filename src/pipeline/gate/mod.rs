//! What judging shares: the recorded runs, what they are judged against, the judging, and what can be done about doubt.

mod policy_file;
mod records;
mod base;
mod past;
mod judge;
mod remedies;

pub use base::{Against, Base, Bases, MeasuredSuite};
pub use judge::{judge, not_run};
pub use policy_file::PolicyFile;
pub use records::Records;
pub use remedies::fit_advice;

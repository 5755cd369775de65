//! What judging shares: the recorded runs, what they are judged against, the judging, and what can be done about doubt.

mod request;
mod records;
mod base;
mod past;
mod judge;
mod remedies;
mod outcome;
mod text;
pub mod summary;
pub mod reports;
pub mod apex_x;
mod foreign_files;
pub mod foreign;
mod check;
pub mod calibrate;

pub use base::{Against, Base, Bases, MeasuredSuite};
pub use check::{MeasureSuites, check};
pub use judge::{judge, not_run};
pub use outcome::{base_error, exit_code, finish, outcome, refuse_aside, stop_bisection};
pub use records::Records;
pub use remedies::fit_advice;
pub use request::{CheckRequest, CompareRequest, GateRequest, Inconclusive, PrintFormat};
pub use text::{suite_text, table_text};

//! What the commands that judge share: the recorded runs they look at, what these are held against, and how it comes out.

mod outcome;
mod of_files;
mod terminal;

pub(super) use of_files::of_files;
pub(super) use outcome::{exit_code, finish, for_bisection, of_base, refuse_aside, stop_bisection};
pub(super) use sprag_pipeline::gate::{
    Against, Base, Bases, MeasuredSuite, PolicyFile, Records, fit_advice, judge, not_run,
};
pub(super) use terminal::{suite_text, table_text};

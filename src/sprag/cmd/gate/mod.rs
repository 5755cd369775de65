//! What the commands that judge share: the recorded runs they look at, what these are held against, and how it comes out.

mod base;
mod past;
mod judge;
mod means;
mod outcome;
mod of_files;
mod terminal;
mod policy_file;

pub(super) use base::{Against, Base, Bases, Held};
pub(super) use judge::{judge, not_run};
pub(super) use means::fit_advice;
pub(super) use of_files::of_files;
pub(super) use outcome::{exit_code, finish, for_bisection, of_base, refuse_aside, stop_bisection};
pub(super) use policy_file::PolicyFile;
pub(super) use sprag_pipeline::records::Records;
pub(super) use terminal::{suite_text, table_text};

//! `sprag baseline`: what later runs are held against. Taken from runs, reviewed, accepted, archived, listed and compared.

mod take;
mod learnt;
mod place;
mod emit;
mod source;
mod take_over;
mod accept;
mod words;
mod list;
mod diff;

pub(super) use accept::accept;
pub(super) use diff::diff;
pub(super) use emit::emit;
pub(super) use list::list;

//! The user's own `git`, as a program: the only way to a remote, since credentials, keys and proxies are set up for it.
//!
//! It is called by an absolute path with an argument list, in an environment that is cleaned, with every hook, pager,
//! prompt, submodule and clean-up of its own switched off, within a time, and with bounded output. Nothing it says is
//! believed before it is parsed, and nothing of it reaches a terminal unescaped.

mod words;
mod program;
mod environment;
mod answer;
mod call;

pub use answer::Fault;
pub(super) use answer::{Fetched, Pushed};
pub use call::CallError;
pub(super) use call::{Place, Transport};
pub(super) use words::printable;

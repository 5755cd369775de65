//! What joins the stages: a project's history is loaded and analysed, runs are judged, a site is published, and what took
//! long is cached. Commands parse their arguments, call this crate and print.

pub mod error;
pub mod exit;
pub mod text;
pub mod notices;
pub mod config;
pub mod project;
pub mod distinct;
pub mod policy;
pub mod revision;
pub mod import;
pub mod run_file;
pub mod gate;
pub mod choose;
pub mod cache;
pub mod ledger;
pub mod study;
pub mod selection;
pub mod trend;
pub mod acceptance;
pub mod shard;
pub mod measuring;
pub mod pending;
pub mod moment;
pub mod records;
pub mod init;
pub mod doctor;
pub mod export;
mod swap;
pub mod atomic_folder;
pub mod method;
pub mod release;
pub mod publish;
pub mod compare;
pub mod baseline;
pub mod demo;
pub mod testing;

pub use error::{Advice, Error, Result, Trouble};

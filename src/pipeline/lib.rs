//! Joins the stages: loads and analyses histories, judges runs, publishes sites. Commands only parse, call this and print.

pub mod error;
pub mod text;
pub mod config;
pub mod project;
pub mod options;
pub mod policy;
pub mod import;
pub mod run_file;
pub mod gate;
pub mod cache;
pub mod builds;
pub mod ledger;
pub mod study;
pub mod trend;
mod snapshots;
mod span;
pub mod measuring;
pub mod fleet;
pub mod pending;
pub mod records;
pub mod init;
pub mod doctor;
pub mod export;
pub mod dataset;
pub mod detect;
pub mod atomic_folder;
pub mod release;
pub mod publish;
pub mod bench;
pub mod compare;
pub mod backfill;
pub mod bisect;
pub mod baseline;
pub mod demo;
pub mod testing;

pub use error::{Advice, Error, Result, refuse};

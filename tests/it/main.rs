//! Whole-program tests, one binary. Its table of contents:

/// The fixture: a temporary project in which the binary runs.
mod sandbox;

/// The main job: measure, record, analyse, render, tell.
mod weekly;
/// What a run holds, how long it may take, and what befalls its workers.
mod measuring;
/// Two builds against each other.
mod compare;
/// Suites that are other people's programs.
mod command;
/// Baselines and the check.
mod gate;
/// What users get wrong, and what befalls them.
mod bad_input;
/// The report of the seed's CPU suite.
mod seed_report;
/// Parts of a suite.
mod shards;
/// Counts of instructions, with and without Valgrind.
#[cfg(unix)]
mod instructions;
/// Golden cases from the command line.
mod conformance;
/// What the doctor finds, in text and JSON.
mod doctor;
/// The demo.
mod demo;
/// Killed, or on a full disk.
mod interrupted;
/// The house rules: imports, doors, file length, module docs.
mod tidy;

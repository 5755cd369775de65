//! Whole-program tests, one binary. Its table of contents:

// Fixtures: a temporary project, crafted runs and their repository, a release, clones of a remote, an emulated GPU.
mod clones;
mod crafted;
#[cfg(target_os = "linux")]
mod emulator;
mod released;
mod sandbox;

// Measuring: weekly builds, runs, shards, instruction counts, commands of others, built commits, the library.
mod command;
#[cfg(target_os = "linux")]
mod commits;
#[cfg(target_os = "linux")]
mod builds;
#[cfg(target_os = "linux")]
mod backfill;
#[cfg(target_os = "linux")]
mod commits_compared;
mod compare;
mod demo;
mod doctor;
#[cfg(unix)]
mod instructions;
mod measuring;
mod shards;
#[cfg(target_os = "linux")]
mod terminal;
mod testing;
mod weekly;

// GPU and TensorRT, on the emulator and with a script in place of `trtexec`.
#[cfg(target_os = "linux")]
mod emulated;
#[cfg(target_os = "linux")]
mod gpu;
#[cfg(target_os = "linux")]
mod gpu_faults;
#[cfg(target_os = "linux")]
mod gpu_missing;
#[cfg(target_os = "linux")]
mod gpu_report;
#[cfg(target_os = "linux")]
mod gpu_tuning;
#[cfg(target_os = "linux")]
mod cuda;
#[cfg(target_os = "linux")]
mod trt;
#[cfg(target_os = "linux")]
mod trt_default;
#[cfg(target_os = "linux")]
mod trt_machine;

// The gate: its bases, rules, reports, baselines and error rates.
mod baseline_list;
mod baselines;
mod bisect;
mod calibrate;
mod false_alarms;
mod first_day;
mod foreign_gate;
mod gate;
mod gate_against;
mod gate_bisect;
mod gate_reports;
mod ledger;
mod apex_x_gate;
mod apex_x_report;

// The history: records added, checked, shared, imported and exported, and what faults leave of it.
mod bad_input;
#[cfg(target_os = "linux")]
mod wrong_inputs;
mod cache;
mod event_records;
mod export;
#[cfg(target_os = "linux")]
mod faults;
mod archive;
mod fsck;
mod history_add;
mod import;
mod interrupted;
mod sync;
mod sync_refused;

// Changes over time, and sites.
mod dataset;
mod detect;
mod odd_histories;
mod partial_clones;
mod real_cases;
mod site_check;
#[cfg(target_os = "linux")]
mod site_grown;
mod trend;

// Releases, replay manifests and published schemas.
mod release;
mod release_evidence;
mod release_trust;
mod replay;
mod schemas;

// Projects that `sprag init` sets up, and workflows.
#[cfg(unix)]
mod action;
mod init;
mod workflow_files;
mod workflow_rules;
#[cfg(unix)]
mod workflow_scripts;
mod workflows;

// Rules of the source code.
mod cycles;
mod tidy;

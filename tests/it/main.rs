//! Whole-program tests, one binary. Its table of contents:

/// The fixture: a temporary project in which the binary runs.
mod sandbox;
/// Run files, made without measuring.
mod run_files;
/// Projects whose runs are written down.
mod crafted;
/// A release of such a project.
mod released;
/// A remote and its clones, in such a project.
mod clones;
/// A driver, a compiler and a device that are made of files in `tests/cuda`.
#[cfg(target_os = "linux")]
mod emulator;

/// The main job: measure, record, analyse, render, tell.
mod weekly;
/// The content of a run, its time budget, and failing workers.
mod measuring;
/// Two builds against each other.
mod compare;
/// Suites that are other people's programs.
mod command;
/// Commits that are built aside and measured.
#[cfg(target_os = "linux")]
mod commits;
/// Two such commits against each other.
#[cfg(target_os = "linux")]
mod commits_compared;
/// Baselines and the check, from runs that were measured.
mod gate;
/// The bases that a run is compared with, and the rules.
mod gate_against;
mod gate_bisect;
/// What a gate found, as it is reported.
mod gate_reports;
/// Baselines taken, proposed, accepted and archived.
mod baselines;
/// Baselines listed and compared with one another.
mod baseline_list;
/// How often the gate is wrong, on a history.
mod calibrate;
/// How often its rule is wrong, on simulated noise.
mod false_alarms;
/// The cache of decoded runs.
mod cache;
/// Wrong input and failing surroundings.
mod bad_input;
/// Run files that are recorded.
mod history_add;
/// The report of the seed's CPU suite.
mod seed_report;
/// The measured report of the seed's GPU suite.
#[cfg(target_os = "linux")]
mod gpu_report;
/// Reports and baselines of the seed.
mod seed_gate;
/// Texts of Criterion and ground truths of tt-metal, judged.
mod foreign_gate;
/// Engines of TensorRT, with a script in its place.
#[cfg(target_os = "linux")]
mod trt;
/// The case of a sweep that gives no shapes.
#[cfg(target_os = "linux")]
mod trt_default;
/// What a sweep takes from its machine, and leaves there.
#[cfg(target_os = "linux")]
mod trt_machine;
/// Parts of a suite.
mod shards;
/// Whether a site is what a clean rebuild gives.
mod site_check;
/// A site that grows: what a clean build gives, and nothing written twice.
#[cfg(target_os = "linux")]
mod site_grown;
/// Counts of instructions, with and without Valgrind.
#[cfg(unix)]
mod instructions;
/// What the doctor finds, in text and JSON.
mod doctor;
/// What other tools measured, as records.
mod import;
mod demo;
mod detect;
/// Events of many series over a history.
mod trend;
/// What is accepted and waived, and what that changes.
mod ledger;
/// Sites of histories that hold little, or text that would harm a page that believed it.
mod odd_histories;
/// Changes that other projects acknowledged.
mod real_cases;
/// The recorded runs: listed, checked, repaired and proven.
mod fsck;
/// Event records in the history.
mod event_records;
/// The history in other forms.
mod export;
/// Manifests of deterministic runs.
mod replay;
/// Releases: their checklists, what is attested of them, and whether it holds.
mod release;
/// What verifies of them, and what does not.
mod release_evidence;
/// Damage, and evidence that nobody reviewed.
mod release_trust;
mod schemas;
/// Killed, or on a full disk.
mod interrupted;
/// Every system call that writes failing in turn.
#[cfg(target_os = "linux")]
mod faults;
/// Clones that share one history by way of a remote.
mod sync;
/// Rivals, refusals, rewritten remotes and harmful checkouts.
mod sync_refused;
/// The emulator: what it computes, what it refuses.
#[cfg(target_os = "linux")]
mod emulated;
/// The GPU suite, on a device that the CPU plays.
#[cfg(target_os = "linux")]
mod gpu;
/// The choice of configurations there.
#[cfg(target_os = "linux")]
mod gpu_tuning;
/// Kernels and devices that fail.
#[cfg(target_os = "linux")]
mod gpu_faults;
/// Machines on which the GPU cannot be used.
#[cfg(target_os = "linux")]
mod gpu_missing;
/// The library in the tests of other crates, and its example.
mod testing;
mod makefile;
/// Workflow files, as their rules look at them.
mod workflow_files;
/// What must hold of them.
mod workflow_rules;
/// Whose code they run, and where.
mod workflow_trust;
/// Our workflows, and what breaks a rule.
mod workflows;
#[cfg(unix)]
mod workflow_scripts;
/// The action that installs and runs a release, and the table of exit codes.
#[cfg(unix)]
mod action;
/// Projects that are set up.
mod init;
/// No file imports one that imports it.
mod cycles;
/// The house rules: doors of heavy crates, files, clocks, `unsafe`, file length, module docs.
mod tidy;

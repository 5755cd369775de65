//! A suite of built-in kernels, of the CPU or of a device: from its description to a finished run.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::instructions::{Count, CountPlan, LIMIT, Uncounted, Valgrind};
use crate::plan::{NO_SUCH_BENCHMARK, Protocol};
use crate::process::WorkerCommand;
use crate::protocol::{self, Configurations, SuiteResult};
use crate::suite::description::{
    self, CommitProgram, Effort, Extent, MeasureOptions, Observer, ProjectContext, SuiteError, SuiteOutcome, SuiteSpec,
    built_from_fault,
};
use crate::tune::{self, TuneChoice};
use crate::workload::{self, Workload};
use crate::{MeasureError, clock, environment};
use sprag_base::files::{WriteError, read_bounded, write_atomic};
use sprag_base::text;
use sprag_model::autotune::{Key, NewerVersion, Reading, Stored, TuneStore};
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::{Estimate, Measurement, Metric, Role, Run, RunStatus, Shard};

pub(super) struct KernelBench<'a> {
    pub(super) workloads: Vec<Workload>,
    /// Absent for the CPU.
    pub(super) device: Option<BenchDevice>,
    /// The program of a commit; this program where absent.
    pub(super) program: Option<&'a CommitProgram>,
}

pub(super) struct BenchDevice {
    pub(super) model: String,
    pub(super) facts: BTreeMap<String, String>,
    pub(super) settings: BTreeMap<String, Value>,
    pub(super) arguments: [String; 2],
    /// How long one of them may send nothing.
    pub(super) patience: Duration,
    pub(super) tuned: TunedConfigurations,
}

pub(super) fn measure(
    context: &ProjectContext<'_>,
    suite: &SuiteSpec,
    options: &MeasureOptions<'_>,
    bench: &mut KernelBench<'_>,
    observer: &dyn Observer,
) -> Result<SuiteOutcome, SuiteError> {
    let KernelBench { workloads, device, program } = bench;
    let name = suite.name.as_str();
    let mut selected = select(name, &suite.include, options.filters, workloads)?;
    // Threads pinned to one processor only take turns.
    let all = selected.len();
    selected.retain(|workload| workload.threads == 1 || options.effort.pin.is_none());
    if selected.len() < all {
        let left_out = text::count(all - selected.len(), "benchmark");
        observer.note(&format!("{left_out} on two threads left out: workers are pinned to one processor"));
    }
    if selected.is_empty() {
        return Ok(SuiteOutcome::Nothing(workload::names(workloads)));
    }
    let (selected, share) = match options.shard {
        None => (selected, None),
        Some(shard) => match share_of(shard, selected) {
            Some((part, occupied)) => (part, Some(shard.settings(&occupied))),
            None => return Ok(SuiteOutcome::EmptyShard(shard)),
        },
    };
    let mut protocol = options.effort.protocol(suite.processes);
    if let Some(device) = &device {
        protocol.patience_seconds = device.patience.as_secs_f64();
    }
    let model = device.as_ref().map(|device| device.model.as_str());
    let machine = description::machine(context, model);
    let mut facts = device.as_ref().map(|device| device.facts.clone()).unwrap_or_default();
    facts.extend(program.as_ref().map(|program| program.facts.clone()).unwrap_or_default());
    let mut run = description::new_run(name, context.commit.clone(), machine, environment::environment(&facts));
    run.config = config(&protocol, options);
    run.config.extend(device.iter().flat_map(|device| device.settings.clone()));
    run.config.extend(share.into_iter().flatten());
    let mut command = WorkerCommand::for_task("time")?;
    if let Some(program) = &program {
        command.program.clone_from(&program.path);
    }
    if let Some(device) = &device {
        command.arguments.extend(device.arguments.clone());
    }
    let tuned = device.as_mut().map(|device| &mut device.tuned);
    let incumbents = match &tuned {
        Some(tuned) => tuned.in_use(),
        None => (context.incumbents)(&run.suite, &run.machine.id, &run.environment.key),
    };
    let wanted = Wanted { suite: name, selected: &selected, incumbents: &incumbents, effort: options.effort };
    let choices = tune(&wanted, tuned, &protocol, &command, observer);
    let configurations = configurations(&choices, &selected, &incumbents);
    run.autotune = match device.as_ref().map(|device| &device.tuned) {
        Some(tuned) => choices.iter().map(|choice| tuned.entry(choice)).collect(),
        None => choices.iter().map(TuneChoice::to_json).collect(),
    };
    let extent = options.effort.extent_text(protocol.processes, "worker process");
    observer.begin(&format!("suite {name}: {} benchmarks {extent}", selected.len()), u64::from(protocol.processes));
    let mut step = |done: u32| observer.step(u64::from(done));
    match protocol::measure(name, &selected, &configurations, &protocol, &command, &mut step) {
        Ok(SuiteResult { measurements, reasons, stop, workers }) => {
            run.config.insert("stop_reason".to_owned(), Value::from(stop.word()));
            run.config.insert("workers".to_owned(), Value::from(workers));
            let built_from = built_from_fault(context.root, context.built_from).filter(|_| program.is_none());
            if let Some(fault) = &built_from {
                observer.warn(&format!("{fault}; build it again"));
            }
            run.quality = description::quality(&run, reasons, built_from);
            run.measurements = measurements;
            if program.is_some() {
                remove_undefined(&mut run, observer)?;
            }
            if options.count_instructions {
                count(&mut run, &selected, &configurations, protocol.seed, observer)?;
            }
        }
        Err(error) if program.is_some() => return Err(SuiteError::CommitProgram(error)),
        Err(error) => {
            run.status = RunStatus::Failed;
            run.reason = Some(error.to_string());
        }
    }
    Ok(SuiteOutcome::Run(Box::new(run)))
}

/// Removes the benchmarks that the program of a commit does not define, which is not a failure of it.
fn remove_undefined(run: &mut Run, observer: &dyn Observer) -> Result<(), SuiteError> {
    let all = run.measurements.len();
    run.measurements.retain(|one| one.failure.as_deref() != Some(NO_SUCH_BENCHMARK));
    let unknown = all - run.measurements.len();
    if run.measurements.is_empty() {
        return Err(SuiteError::NoneAtCommit);
    }
    if unknown > 0 {
        let left_out = text::count(unknown, "benchmark");
        observer.note(&format!("{left_out} left out: not defined by that commit"));
    }
    Ok(())
}

/// The benchmarks after the configuration and the user's filters, perhaps none.
pub fn select<'a>(
    name: &str,
    include: &[String],
    filters: &[String],
    workloads: &'a [Workload],
) -> Result<Vec<&'a Workload>, SuiteError> {
    let included = workload::select(workloads.iter(), include);
    if included.is_empty() {
        return Err(SuiteError::Include { suite: name.to_owned(), include: include.to_vec() });
    }
    Ok(workload::select(included.into_iter(), filters))
}

/// The workloads of this shard, and the shards that have any; `None` where it has the control alone, which all measure.
fn share_of(shard: Shard, selected: Vec<&Workload>) -> Option<(Vec<&Workload>, Vec<u32>)> {
    let is_control = |workload: &Workload| workload.role == Role::Control;
    let occupied = shard.occupied(selected.iter().filter(|one| !is_control(one)).map(|one| &one.benchmark));
    let is_part = |workload: &&Workload| is_control(workload) || shard.holds(&workload.benchmark);
    occupied.contains(&shard.index()).then(|| (selected.into_iter().filter(is_part).collect(), occupied))
}

struct Wanted<'a> {
    suite: &'a str,
    selected: &'a [&'a Workload],
    incumbents: &'a Configurations,
    effort: Effort,
}

/// Chooses configurations. A quick run and one with a budget take those in use unless new ones are requested, as do
/// benchmarks of a device whose configuration was chosen before, and all where tuning fails.
fn tune(
    wanted: &Wanted<'_>,
    tuned: Option<&mut TunedConfigurations>,
    protocol: &Protocol,
    command: &WorkerCommand,
    observer: &dyn Observer,
) -> Vec<TuneChoice> {
    let tunable: Vec<&Workload> = wanted.selected.iter().copied().filter(|one| tune::is_tunable(one)).collect();
    // A budget is for measuring; a run without one has tuned.
    let is_short = matches!(wanted.effort.extent, Extent::Quick | Extent::Budget(_));
    let is_short = is_short && !tuned.as_ref().is_some_and(|tuned| tuned.is_retuning);
    let is_settled = |one: &&Workload| is_short || tuned.as_ref().is_some_and(|tuned| tuned.is_settled(one));
    let (settled, open): (Vec<&Workload>, Vec<&Workload>) = tunable.into_iter().partition(is_settled);
    let mut choices: Vec<TuneChoice> =
        settled.into_iter().filter_map(|workload| tune::untried(workload, wanted.incumbents)).collect();
    if open.is_empty() {
        return choices;
    }
    observer.begin(&format!("suite {}: choosing configurations", wanted.suite), 3);
    let mut step = |done: u32| observer.step(u64::from(done));
    choices.extend(match tune::tune(wanted.suite, &open, wanted.incumbents, protocol, command, &mut step) {
        Ok(choices) => {
            for choice in &choices {
                for (name, reason) in &choice.failures {
                    observer.warn(&format!("the configuration {name} of {} was not tried: {reason}", choice.benchmark));
                }
            }
            if let Some(tuned) = tuned {
                tuned.save(&choices, observer);
            }
            choices
        }
        Err(error) => {
            observer.warn(&format!("configurations were not tuned: {error}"));
            open.into_iter().filter_map(|workload| tune::untried(workload, wanted.incumbents)).collect()
        }
    });
    choices
}

fn configurations(choices: &[TuneChoice], selected: &[&Workload], incumbents: &Configurations) -> Configurations {
    let chosen: Configurations = choices.iter().map(|one| (one.benchmark.clone(), one.selected.clone())).collect();
    let configuration = |workload: &&Workload| {
        let id = workload.benchmark.id();
        let leader = workload.tuned_with.as_ref().unwrap_or(&id);
        let configuration = chosen.get(leader).or_else(|| incumbents.get(leader))?.clone();
        Some((id, configuration))
    };
    selected.iter().filter(|workload| !workload.configurations.is_empty()).filter_map(configuration).collect()
}

fn config(protocol: &Protocol, options: &MeasureOptions<'_>) -> BTreeMap<String, Value> {
    let mut config = description::settings(protocol, options);
    config.extend([
        ("rounds".to_owned(), Value::from(protocol.rounds)),
        ("block_samples".to_owned(), Value::from(protocol.block_samples)),
        ("sample_seconds".to_owned(), Value::from(protocol.sample_seconds)),
        ("series_seconds".to_owned(), Value::from(protocol.series_seconds)),
    ]);
    config
}

const SETTING: &str = "count_instructions";

const VERSION_FACT: &str = "valgrind";

/// The attributes of the widest instructions of the counted code, of counts that differ, and of the reason for no count.
const ISA: &str = "instructions_isa";
const VARIED: &str = "instructions_varied";
const FAILURE: &str = "instructions_failure";

/// After so many time-outs, the remaining benchmarks are not tried.
const MOST_TIME_OUTS: usize = 2;

/// Counts the benchmarks of a run that were timed on one thread. Failures become part of the run.
pub(super) fn count(
    run: &mut Run,
    workloads: &[&Workload],
    configurations: &Configurations,
    seed: u64,
    observer: &dyn Observer,
) -> Result<(), MeasureError> {
    run.config.insert(SETTING.to_owned(), Value::from(true));
    let valgrind = match Valgrind::find() {
        Ok(valgrind) => valgrind,
        Err(reason) => {
            observer.end();
            observer.warn(&format!("instructions are not counted: {reason}"));
            observer.note("Valgrind is the package `valgrind` of most Linux distributions; times do not need it");
            doubt(run, format!("instructions were not counted: {reason}"));
            return Ok(());
        }
    };
    run.environment.facts.insert(VERSION_FACT.to_owned(), valgrind.version.clone());
    let counted: Vec<&&Workload> =
        workloads.iter().filter(|one| one.threads == 1 && one.role != Role::Control).collect();
    let benchmarks = text::count(counted.len(), "benchmark");
    let message = format!("suite {}: counting instructions of {benchmarks}", run.suite);
    observer.begin(&message, counted.len() as u64);
    let command = WorkerCommand::for_task("count")?;
    let mut time_outs = 0;
    for (place, workload) in (1..).zip(counted) {
        let fits = |one: &&mut Measurement| *one.benchmark == workload.benchmark && one.failure.is_none();
        if let Some(measurement) = run.measurements.iter_mut().find(fits) {
            let id = workload.benchmark.id();
            let plan = CountPlan {
                suite: run.suite.clone(),
                configuration: configurations.get(&id).cloned(),
                benchmark: id,
                seed,
            };
            let counted = if time_outs < MOST_TIME_OUTS {
                valgrind.count(&command, &plan, LIMIT)
            } else {
                let reason = format!("callgrind_failed: not tried after {MOST_TIME_OUTS} benchmarks took too long");
                Err(Uncounted { reason, time_is_up: false })
            };
            time_outs += usize::from(counted.as_ref().is_err_and(|uncounted| uncounted.time_is_up));
            attach(measurement, counted);
        }
        observer.step(place);
    }
    let failed = run.measurements.iter().filter(|one| one.attributes.contains_key(FAILURE)).count();
    if failed > 0 {
        let plural = if failed == 1 { "benchmark was" } else { "benchmarks were" };
        doubt(run, format!("instructions of {failed} {plural} not counted, see `{FAILURE}`"));
    }
    Ok(())
}

/// Adds the count after all other estimates, where no gate on times sees it.
fn attach(measurement: &mut Measurement, result: Result<Count, Uncounted>) {
    let count = match result {
        Ok(count) => count,
        Err(uncounted) => {
            measurement.attributes.insert(FAILURE.to_owned(), uncounted.reason);
            return;
        }
    };
    measurement.attributes.insert(ISA.to_owned(), count.isa);
    if count.first != count.second {
        measurement.attributes.insert(VARIED.to_owned(), format!("{} {}", count.first, count.second));
    }
    measurement.estimates.push(Estimate {
        workers: vec![count.first as f64],
        ..Estimate::new(Metric::instructions(), count.first as f64, 2)
    });
}

fn doubt(run: &mut Run, reason: String) {
    run.quality.clean = false;
    run.quality.reasons.push(reason);
}

/// In the private folder of a project.
const FILE_NAME: &str = "autotune.json";

/// The configurations chosen before for these kernels, this compiler, driver and device.
pub(super) struct TunedConfigurations {
    store: TuneStore,
    /// Absent where the project has no writable folder.
    file: Option<PathBuf>,
    keys: BTreeMap<String, Key>,
    is_retuning: bool,
    date: DateTime<Utc>,
}

impl TunedConfigurations {
    pub(super) fn load(
        private_folder: &Result<PathBuf, String>,
        keys: BTreeMap<String, Key>,
        is_retuning: bool,
        observer: &dyn Observer,
    ) -> TunedConfigurations {
        let file = match private_folder {
            Ok(folder) => Some(folder.join(FILE_NAME)),
            Err(error) => {
                observer.warn(&format!("{error}; tuning results are not saved"));
                None
            }
        };
        let store = file.as_deref().map(|file| load(file, observer)).unwrap_or_default();
        TunedConfigurations { store, file, keys, is_retuning, date: clock::now() }
    }

    pub(super) fn in_use(&self) -> Configurations {
        let stored = |(id, key): (&String, &Key)| Some((id.clone(), self.store.get(key)?.selected.clone()));
        self.keys.iter().filter_map(stored).collect()
    }

    /// Whether a choice was made and no new one is requested.
    pub(super) fn is_settled(&self, workload: &Workload) -> bool {
        let stored = self.keys.get(&workload.benchmark.id()).and_then(|key| self.store.get(key));
        !self.is_retuning && stored.is_some_and(|stored| workload.configurations.contains(&stored.selected))
    }

    pub(super) fn save(&mut self, choices: &[TuneChoice], observer: &dyn Observer) {
        let mut new = TuneStore::default();
        for choice in choices {
            let ratio =
                choice.candidates.iter().find(|(name, _)| *name == choice.selected).and_then(|(_, ratio)| *ratio);
            // Where not even the chosen one could be timed, there is no result.
            let (Some(key), Some(ratio)) = (self.keys.get(&choice.benchmark), ratio) else { continue };
            let stored = Stored {
                selected: choice.selected.clone(),
                ratio: (ratio < 1.0).then_some(ratio),
                date: self.date,
                candidates: choice.candidates.iter().cloned().collect(),
            };
            new.keep(key.clone(), stored);
        }
        self.store = std::mem::take(&mut self.store).merged(new.clone());
        if let Some(Err(error)) = self.file.as_deref().map(|file| save(file, new, observer)) {
            observer.warn(&format!("{error}; tuning results are not saved"));
        }
    }

    pub(super) fn entry(&self, choice: &TuneChoice) -> Value {
        let mut entry = choice.to_json();
        if let (Some(fields), Some(key)) = (entry.as_object_mut(), self.keys.get(&choice.benchmark)) {
            fields.insert("key".to_owned(), json!(key.digest()));
        }
        entry
    }
}

/// The choices of earlier runs; none with a warning where the file cannot be used.
fn load(file: &Path, observer: &dyn Observer) -> TuneStore {
    let reading = read(file).unwrap_or_else(|newer| {
        observer.warn(&format!("`{}` {newer}; tuning begins afresh", file.display()));
        observer.hint(&newer.hint());
        Reading::default()
    });
    if let Some(damage) = reading.damage {
        observer.warn(&format!("`{}` {damage}; tuning begins afresh", file.display()));
    }
    reading.store
}

/// Adds choices to the file. A damaged file is replaced; one of a newer version is left, with a warning.
fn save(file: &Path, new: TuneStore, observer: &dyn Observer) -> Result<(), WriteError> {
    match read(file) {
        Ok(before) => write_atomic(file, before.store.merged(new).to_json().as_bytes()),
        Err(newer) => {
            observer.warn(&format!("`{}` {newer}; tuning results are not saved", file.display()));
            observer.hint(&newer.hint());
            Ok(())
        }
    }
}

fn read(file: &Path) -> Result<Reading, NewerVersion> {
    match read_bounded(file, MAX_RECORD_BYTES) {
        Ok(bytes) => TuneStore::from_json(&bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Reading::default()),
        Err(error) => Ok(Reading { store: TuneStore::default(), damage: Some(format!("cannot be read: {error}")) }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use sprag_model::Benchmark;

    use super::*;

    fn choice(op: &str) -> TuneStore {
        let text = || "x".to_owned();
        let key = Key {
            op: op.to_owned(),
            bucket: text(),
            dtype: text(),
            source_digest: text(),
            nvrtc: text(),
            driver: text(),
            device: text(),
            compute_capability: text(),
        };
        let date = chrono::DateTime::from_timestamp(1_790_000_000, 0).expect("a date");
        let mut store = TuneStore::default();
        store.keep(key, Stored { selected: text(), ratio: None, date, candidates: BTreeMap::new() });
        store
    }

    #[test]
    fn what_two_processes_add_is_joined() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("deep").join(FILE_NAME);
        assert_eq!(load(&file, &()), TuneStore::default());
        save(&file, choice("a"), &()).expect("it can be written");
        save(&file, choice("b"), &()).expect("it can be written");
        assert_eq!(load(&file, &()), choice("a").merged(choice("b")));
    }

    #[test]
    fn a_damaged_file_is_replaced_and_a_newer_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(FILE_NAME);
        fs::write(&file, "{\"schema_version\": 1, \"cho").expect("it can be written");
        assert_eq!(load(&file, &()), TuneStore::default());
        save(&file, choice("a"), &()).expect("it can be written");
        assert_eq!(load(&file, &()), choice("a"));
        let newer = "{\"schema_version\": 99}";
        fs::write(&file, newer).expect("it can be written");
        assert_eq!(load(&file, &()), TuneStore::default());
        save(&file, choice("a"), &()).expect("it is no error");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), newer);
        // A folder in its place cannot be read.
        assert_eq!(load(folder.path(), &()), TuneStore::default());
    }

    fn counted(result: Result<Count, Uncounted>) -> Measurement {
        let benchmark = Benchmark::new("cpu", "x", &[], "fast").expect("the name is a word");
        let mut measurement = crate::pool::empty(benchmark, Role::Tracked);
        attach(&mut measurement, result);
        measurement
    }

    #[test]
    fn a_count_is_an_estimate_and_a_different_second_one_is_shown() {
        let check = |second: u64, varied: Option<&str>| {
            let one = counted(Ok(Count { first: 5_877_587, second, isa: "avx2".into() }));
            assert_eq!(one.estimate("instructions").map(|count| (count.value, count.n)), Some((5_877_587.0, 2)));
            assert_eq!(one.attributes.get(ISA).map(String::as_str), Some("avx2"));
            assert_eq!(one.attributes.get(VARIED).map(String::as_str), varied);
        };
        check(5_877_587, None);
        check(12, Some("5877587 12"));
        let one = counted(Err(Uncounted { reason: "callgrind_failed: x".into(), time_is_up: false }));
        assert!(one.estimates.is_empty() && one.failure.is_none());
        assert_eq!(one.attributes[FAILURE], "callgrind_failed: x");
    }
}

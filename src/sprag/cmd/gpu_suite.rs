//! The suite of CUDA kernels: from the configuration and the device to what is measured, or why nothing is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::autotune;
use super::kernel_suite::{self, Bench, BenchDevice};
use super::progress::Progress;
use super::project::Project;
use super::suites::{self, Measured, Wish};
use crate::config::{GpuDtype, GpuProfile, Suite};
use sprag_measure::gpu::precision::AskedDtype;
use sprag_measure::gpu::scope::Scope;
use sprag_measure::gpu::settings::Profile;
use sprag_measure::gpu::suite as kernels;
use sprag_measure::gpu::{facts, lock, probe};
use sprag_measure::protocol::Configurations;
use sprag_measure::tune::Choice;
use sprag_measure::workload::{self, Workload};
use sprag_measure::{MeasureError, clock, environment};
use sprag_model::autotune::{Key, Store, Stored};
use sprag_model::commit::Commit;
use sprag_model::run::{Run, RunStatus};

/// The compute capability of a device with every element type.
const TODAY: (u32, u32) = (9, 0);

/// What the suite is to run in place of what its configuration says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GpuWish {
    pub(super) profile: Option<Profile>,
    /// The only element type, where the device has it.
    pub(super) dtype: Option<AskedDtype>,
}

impl GpuWish {
    /// What runs on a device of that compute capability.
    fn scope(&self, suite: &Suite, capability: Option<(u32, u32)>, compiled: Option<PathBuf>) -> Scope {
        let of_suite = || suite.profiles().into_iter().map(profile).collect();
        let mut dtypes = Vec::new();
        // Without a device nothing runs; the benchmarks are those that one of today would run.
        let capability = capability.or(Some(TODAY));
        for dtype in self.asked(suite).into_iter().map(|one| one.effective(capability).dtype) {
            // Where 8-bit elements fall back, their substitute may be there already.
            if !dtypes.contains(&dtype) {
                dtypes.push(dtype);
            }
        }
        Scope { profiles: self.profile.map_or_else(of_suite, |one| vec![one]), dtypes, compiled }
    }

    /// The element types that are asked for.
    fn asked(&self, suite: &Suite) -> Vec<AskedDtype> {
        self.dtype.map_or_else(|| suite.dtypes().into_iter().map(asked).collect(), |one| vec![one])
    }

    /// The settings that a run records: what runs, and why an element type that was asked for does not.
    fn recorded(&self, suite: &Suite, scope: &Scope, capability: Option<(u32, u32)>) -> BTreeMap<String, Value> {
        let (asked, mut recorded) = (self.asked(suite), scope.recorded());
        let words: Vec<&str> = asked.iter().map(|one| one.word()).collect();
        recorded.insert("requested_dtypes".to_owned(), json!(words));
        let reason = asked.iter().find_map(|one| one.effective(capability).fallback_reason);
        recorded.extend(reason.map(|reason| ("dtype_fallback_reason".to_owned(), Value::from(reason))));
        recorded
    }
}

fn profile(named: GpuProfile) -> Profile {
    match named {
        GpuProfile::Fixed => Profile::FIXED,
        GpuProfile::Large => Profile::LARGE,
    }
}

fn asked(named: GpuDtype) -> AskedDtype {
    match named {
        GpuDtype::Fp16 => AskedDtype::Fp16,
        GpuDtype::Bf16 => AskedDtype::Bf16,
        GpuDtype::Fp32 => AskedDtype::Fp32,
        GpuDtype::Fp8 => AskedDtype::Fp8,
    }
}

/// Every benchmark that there is without a device, to name them by.
///
/// # Errors
/// When `name` cannot be part of a benchmark's name.
pub(super) fn workloads(name: &str, suite: &Suite, wish: &Wish<'_>) -> Result<Vec<Workload>, MeasureError> {
    kernels::workloads(name, &wish.gpu.scope(suite, None, None))
}

/// Measures the suite, or this shard's part of it. Without a device that can be used, the run is skipped and says why.
///
/// # Errors
/// When the configuration leaves no benchmark at all.
pub(super) fn measure(
    project: &Project,
    name: &str,
    suite: &Suite,
    wish: &Wish<'_>,
    commit: Option<Commit>,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    progress.begin(&format!("suite {name}: looking for a CUDA device"), 1);
    // Asked for first: a device that breaks as it is tried out is the same machine as when it did not.
    let model = probe::device().ok().map(|device| device.name);
    let found = facts::read();
    let capability = found.as_ref().ok().map(|found| found.compute_capability);
    let scope = wish.gpu.scope(suite, capability, compiled(project));
    let workloads = kernels::workloads(name, &scope)?;
    let device = match found {
        Ok(found) => found,
        Err(error) => {
            let run = skipped(project, name, suite, wish, &workloads, model)?;
            return Ok(run.map_or(Measured::Nothing, |run| {
                Measured::Run(Box::new(Run { commit, reason: Some(error.to_string()), ..run }))
            }));
        }
    };
    let tuned = Tuned::load(project, kernels::keys(name, &scope, &device)?, wish.retune);
    let mut bench = Bench {
        device: Some(BenchDevice {
            model: device.model.clone(),
            facts: device.facts.clone(),
            settings: wish.gpu.recorded(suite, &scope, capability),
            told: serde_json::to_string(&scope).expect("a scope holds nothing that JSON cannot"),
            tuned,
        }),
        workloads,
        program: None,
    };
    let hash = device.facts.get("gpu_uuid_hash").map_or("device", String::as_str);
    let _lock =
        lock::acquire(hash, || super::note(&format!("another run measures on {}; waiting for it", device.model)));
    kernel_suite::measure(project, name, suite, wish, commit, &mut bench, progress)
}

/// The folder that keeps compiled kernels. Without a folder of its own, the project compiles in every worker.
pub(super) fn compiled(project: &Project) -> Option<PathBuf> {
    project.private_folder().ok().map(|folder| folder.join("compiled"))
}

/// A run of this suite where there is nothing to measure on; `None` where filters leave nothing of it.
fn skipped(
    project: &Project,
    name: &str,
    suite: &Suite,
    wish: &Wish<'_>,
    workloads: &[Workload],
    model: Option<String>,
) -> anyhow::Result<Option<Run>> {
    let included = kernel_suite::select(name, suite, &[], workloads)?;
    if workload::select(included.into_iter(), wish.filters).is_empty() {
        return Ok(None);
    }
    let machine = environment::machine(project.machine_name().as_deref(), model.as_deref());
    let mut run = suites::new_run(name, None, machine, environment::environment(&BTreeMap::new()));
    run.status = RunStatus::Skipped;
    // It is skipped as a whole, so every shard says so.
    if let Some(shard) = wish.shard {
        run.config.extend(shard.settings(&(1..=shard.count()).collect::<Vec<_>>()));
    }
    Ok(Some(run))
}

/// The configurations that were chosen before, for exactly these kernels, this compiler, driver and device.
pub(super) struct Tuned {
    store: Store,
    /// Absent where the project has no folder of its own that can be written.
    file: Option<PathBuf>,
    keys: BTreeMap<String, Key>,
    is_retuning: bool,
    date: DateTime<Utc>,
}

impl Tuned {
    fn load(project: &Project, keys: BTreeMap<String, Key>, is_retuning: bool) -> Tuned {
        let file = match project.private_folder() {
            Ok(folder) => Some(folder.join(autotune::FILE_NAME)),
            Err(error) => {
                super::warn(&format!("{error:#}; what is tuned is not kept"));
                None
            }
        };
        let store = file.as_deref().map(autotune::load).unwrap_or_default();
        Tuned { store, file, keys, is_retuning, date: clock::now() }
    }

    /// The configuration in use, by benchmark.
    pub(super) fn in_use(&self) -> Configurations {
        let stored = |(id, key): (&String, &Key)| Some((id.clone(), self.store.get(key)?.selected.clone()));
        self.keys.iter().filter_map(stored).collect()
    }

    /// Whether choices are to be made anew, which also a run that tries nothing else then does.
    pub(super) fn is_retuning(&self) -> bool {
        self.is_retuning
    }

    /// Whether nothing is to be tried for a benchmark: a choice was made, and no new one is asked for.
    pub(super) fn is_settled(&self, workload: &Workload) -> bool {
        let stored = self.keys.get(&workload.benchmark.id()).and_then(|key| self.store.get(key));
        !self.is_retuning && stored.is_some_and(|stored| workload.configurations.contains(&stored.selected))
    }

    /// Keeps what was chosen now, for the next run.
    pub(super) fn keep(&mut self, choices: &[Choice]) {
        let mut new = Store::default();
        for choice in choices {
            let ratio =
                choice.candidates.iter().find(|(name, _)| *name == choice.selected).and_then(|(_, ratio)| *ratio);
            // Where not even the chosen one could be timed, nothing was learnt.
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
        if let Some(Err(error)) = self.file.as_deref().map(|file| autotune::save(file, new)) {
            super::warn(&format!("{error:#}; what was tuned is not kept"));
        }
    }

    /// The entry of a run's record: the choice, and what it was made for.
    pub(super) fn entry(&self, choice: &Choice) -> Value {
        let mut entry = choice.to_json();
        if let (Some(fields), Some(key)) = (entry.as_object_mut(), self.keys.get(&choice.benchmark)) {
            fields.insert("key".to_owned(), json!(key.digest()));
        }
        entry
    }
}

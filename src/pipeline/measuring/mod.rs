//! From the suites of a project to runs: what each suite runs, and at which commit.

pub mod apex_x_report;
pub mod run_text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::builds::Builds;
use crate::config::{self, GpuProfile, SuiteKind};
use crate::error::Exit;
use crate::gate::Records;
use crate::project::Project;
use crate::text::{note, warn};
use crate::{Advice, cache, refuse};
use sprag_base::files::check_writable;
use sprag_formats::compat::apex_x::trt_report::SweepReport;
use sprag_history as history;
use sprag_measure::gpu::custom::settings::CustomScope;
use sprag_measure::gpu::settings::{AskedDtype, Profile};
use sprag_measure::protocol::Configurations;
use sprag_measure::suite::{
    self, CudaSuite, Effort, GpuSuite, MeasureOptions, Observer, ProjectContext, SuiteOutcome, SuiteSpec, SuiteSubject,
    TrtSuite, Work,
};
use sprag_measure::tensorrt::plugin_of_environment;
use sprag_measure::tensorrt::sweep::{self, TimingSettings};
use sprag_measure::{environment, tune};
use sprag_model::run::is_filtered;
use sprag_model::{Commit, Run, RunStatus};

#[derive(Clone, Copy)]
pub struct MeasureHost<'a> {
    pub observer: &'a dyn Observer,
    /// The digest of the program's sources; empty if unknown.
    pub built_from: &'a str,
}

pub struct SuiteRequest<'a> {
    pub options: MeasureOptions<'a>,
    pub gpu: GpuOverride,
    pub trt: &'a TrtOptions,
    pub commit: Option<&'a Commit>,
    /// Where a commit is built; in a temporary folder if absent.
    pub builds: Option<&'a Builds<'a>>,
}

impl<'a> SuiteRequest<'a> {
    pub fn all(effort: Effort, trt: &'a TrtOptions) -> SuiteRequest<'a> {
        SuiteRequest {
            options: MeasureOptions::all(effort),
            gpu: GpuOverride::default(),
            trt,
            commit: None,
            builds: None,
        }
    }
}

/// Options that replace the configuration of a GPU suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuOverride {
    pub profile: Option<Profile>,
    pub dtype: Option<AskedDtype>,
}

impl GpuOverride {
    pub fn suite(&self, project: &Project, settings: &config::Suite) -> GpuSuite {
        let profile = |named: GpuProfile| match named {
            GpuProfile::Fixed => Profile::FIXED,
            GpuProfile::Large => Profile::LARGE,
        };
        let configured = || settings.profiles().into_iter().map(profile).collect();
        GpuSuite {
            profiles: self.profile.map_or_else(configured, |one| vec![one]),
            dtypes: self.dtype.map_or_else(|| settings.dtypes(), |one| vec![one]),
            private_folder: project.private_folder().map_err(|error| error.to_string()),
        }
    }
}

/// The kernels of a suite of the kind `cuda`.
pub fn custom_scope(project: &Project, suite: &str) -> crate::Result<(CustomScope, Duration)> {
    let selected = project.config.select(&[suite.to_owned()])?;
    let settings = selected.first().map(|(_, settings)| *settings).filter(|one| one.kind == SuiteKind::Cuda);
    let Some(settings) = settings else {
        return refuse(
            format!("the suite `{suite}` is not of the kind `cuda`"),
            "leave `--suite` out for Sprag's own kernels",
        );
    };
    let scope = CustomScope { root: project.root.clone(), kernels: settings.kernel.clone(), compiled: None };
    Ok((scope, Duration::from_secs(settings.timeout_seconds())))
}

pub struct MeasuredSuites {
    pub runs: Vec<Run>,
    pub sweeps: Vec<SweepReport>,
}

pub fn measure(
    project: &Project,
    suites: &[(&str, &config::Suite)],
    request: &SuiteRequest<'_>,
    host: MeasureHost<'_>,
) -> crate::Result<MeasuredSuites> {
    if let Some(fault) = project.store_fault() {
        warn(&format!("{fault}; the runs will name no commit"));
    }
    let commit = match project.find_store() {
        _ if request.commit.is_some() => request.commit.cloned(),
        Some(store) => history::measured_commit(store).unwrap_or_else(|error| {
            warn(&format!("{error}; the runs will name no commit"));
            None
        }),
        None => None,
    };
    let context = ProjectContext {
        root: &project.root,
        machine_name: project.machine_name(),
        commit,
        built_from: host.built_from,
        incumbents: &|suite, machine, environment_key| incumbents(project, suite, machine, environment_key),
    };
    let mut measured = MeasuredSuites { runs: Vec::new(), sweeps: Vec::new() };
    let (mut names, mut has_empty_shard) = (Vec::new(), false);
    for (name, settings) in suites {
        let suite = description(project, name, settings, request)?;
        match measure_suite(project, &context, &suite, settings, request, host)? {
            SuiteOutcome::Run(run) => measured.runs.push(*run),
            SuiteOutcome::Sweep(run, report) => {
                measured.runs.push(*run);
                measured.sweeps.push(*report);
            }
            SuiteOutcome::Nothing(of_suite) => names.extend(of_suite),
            SuiteOutcome::EmptyShard(shard) => {
                host.observer.end();
                note(&format!("the shard {shard} holds no benchmark of `{name}`: nothing to measure or to record"));
                has_empty_shard = true;
            }
        }
    }
    if measured.runs.is_empty() && !has_empty_shard {
        return Err(nothing_left(request.options.filters, names.iter().map(String::as_str)).into());
    }
    Ok(measured)
}

fn measure_suite(
    project: &Project,
    context: &ProjectContext<'_>,
    suite: &SuiteSpec,
    settings: &config::Suite,
    request: &SuiteRequest<'_>,
    host: MeasureHost<'_>,
) -> crate::Result<SuiteOutcome> {
    let aside = Builds::aside(project, host.observer);
    let builds = || request.builds.unwrap_or(&aside);
    let measure = |subject| -> crate::Result<SuiteOutcome> {
        let start = Instant::now();
        let outcome = suite::measure(context, suite, &request.options, subject, host.observer)?;
        if let SuiteOutcome::Run(run) = &outcome
            && let Some(workers) = run.config.get("workers").and_then(serde_json::Value::as_f64)
            && !run.is_partial()
            && workers > 0.0
        {
            cache::note_seconds(project, &suite.name, start.elapsed().as_secs_f64() / workers);
        }
        Ok(outcome)
    };
    let options = &request.options;
    if matches!(suite.work, Work::Command(_))
        && options.shard.is_none_or(|shard| shard.holds_suite(&suite.name))
        && let Some(names) = foresee(project, &suite.name, options.filters, context.commit.as_ref())
    {
        return Ok(SuiteOutcome::Nothing(names));
    }
    Ok(match (request.commit, &suite.work) {
        (Some(commit), Work::Cpu | Work::Gpu(_)) => {
            let build = builds().program(settings, commit)?;
            measure(SuiteSubject::Program(&build.program))?
        }
        (Some(commit), Work::Command(_)) => {
            if let Some(shard) = options.shard.filter(|shard| !shard.holds_suite(&suite.name)) {
                return Ok(SuiteOutcome::EmptyShard(shard));
            }
            let tree = builds().tree(settings, commit)?;
            measure(SuiteSubject::Checkout(&tree.root))?
        }
        (Some(commit), Work::Cuda(_)) => {
            let tree = builds().tree(settings, commit)?;
            let suite = SuiteSpec { work: Work::Cuda(cuda_suite(project, settings, &tree.root)), ..suite.clone() };
            suite::measure(context, &suite, &request.options, SuiteSubject::Checkout(&tree.root), host.observer)?
        }
        _ => measure(SuiteSubject::WorkingTree)?,
    })
}

/// The kernels in the tree of files at `root`.
pub fn cuda_suite(project: &Project, settings: &config::Suite, root: &Path) -> CudaSuite {
    CudaSuite {
        root: root.to_owned(),
        kernels: settings.kernel.clone(),
        time_out: settings.limited(settings.timeout_seconds()),
        private_folder: project.private_folder().map_err(|error| error.to_string()),
    }
}

fn description(
    project: &Project,
    name: &str,
    settings: &config::Suite,
    request: &SuiteRequest<'_>,
) -> crate::Result<SuiteSpec> {
    let work = match settings.kind {
        SuiteKind::Cpu => Work::Cpu,
        SuiteKind::Gpu => Work::Gpu(request.gpu.suite(project, settings)),
        SuiteKind::Cuda => Work::Cuda(cuda_suite(project, settings, &project.root)),
        SuiteKind::Command => Work::Command(settings.command_settings().into()),
        SuiteKind::Trt => Work::Trt(Box::new(request.trt.plan(project, name, settings)?)),
    };
    Ok(SuiteSpec { name: name.to_owned(), include: settings.include.clone(), processes: settings.processes(), work })
}

pub fn exit(runs: &[Run]) -> Exit {
    let failed = runs.iter().any(|run| {
        run.status == RunStatus::Failed || run.measurements.iter().any(|measurement| measurement.failed().is_some())
    });
    if failed {
        Exit::Failed
    } else if !runs.is_empty() && runs.iter().all(|run| run.status == RunStatus::Skipped) {
        Exit::NotMeasured
    } else {
        Exit::Done
    }
}

/// The benchmarks of the last run of a command, where it is of that commit and none of them contains one of the texts. Of another
/// commit it is only noted: there may be new ones, which the first process shows.
pub fn foresee(project: &Project, suite: &str, filters: &[String], commit: Option<&Commit>) -> Option<Vec<String>> {
    if filters.is_empty() || project.find_store().is_none() {
        return None;
    }
    let machine = environment::machine(project.machine_name().as_deref(), None);
    let newest = Records::open(project).and_then(|records| records.newest(suite, machine.short_id()));
    let newest = newest.unwrap_or_else(|error| {
        warn(&format!("the last run of `{suite}` was not read: {}", error.chain()));
        None
    });
    let last = newest?.run;
    let benchmarks = || last.measurements.iter().map(|one| &one.benchmark);
    if benchmarks().any(|one| filters.iter().any(|text| one.id().contains(text.as_str()))) {
        return None;
    }
    let is_same =
        last.commit.as_ref().zip(commit).is_some_and(|(last, now)| last.sha == now.sha && !last.dirty && !now.dirty);
    if !is_filtered(&last.config) && is_same && !last.measurements.is_empty() {
        let names: BTreeSet<String> = benchmarks().map(|one| one.name.clone()).collect();
        return Some(names.into_iter().collect());
    }
    let texts = filters.join("` or `");
    note(&format!(
        "no benchmark of the last run of `{suite}` contains `{texts}`; its first process shows whether one does now"
    ));
    None
}

/// With the nearest name.
pub fn nothing_left<'a>(filters: &[String], names: impl Iterator<Item = &'a str>) -> Advice {
    let names: Vec<&str> = names.collect();
    let near = filters.iter().find_map(|text| config::nearest(text, &names));
    let mut seen = BTreeSet::new();
    let distinct: Vec<&str> = names.into_iter().filter(|name| seen.insert(*name)).collect();
    Advice::new(
        format!("no benchmark of the suites that were asked for contains `{}`", filters.join("` or `")),
        match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if distinct.is_empty() => "run without `--filter` to see what there is".to_owned(),
            None => format!("their benchmarks: {}", distinct.join(", ")),
        },
    )
}

/// The configurations of the newest run in that environment.
pub fn incumbents(project: &Project, suite: &str, machine: &str, environment_key: &str) -> Configurations {
    if project.find_store().is_none() {
        return Configurations::default();
    }
    let fits = |run: &Run| run.environment.key == environment_key && !run.autotune.is_empty();
    let newest = Records::open(project).and_then(|records| records.newest_that(suite, machine, &fits));
    let newest = newest.unwrap_or_else(|error| {
        warn(&format!("the configurations of the last run of `{suite}` are not used: {}", error.chain()));
        None
    });
    newest.map(|run| tune::recorded(&run.autotune)).unwrap_or_default()
}

const DEFAULT_SEED: u64 = 123;

/// Relative paths count from the user's folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrtOptions {
    pub engine: Option<(PathBuf, String)>,
    pub plugin: Option<PathBuf>,
    /// Of the environment, if neither an option nor a setting names one.
    pub usual_plugin: Option<PathBuf>,
    pub trtexec: Option<PathBuf>,
    pub shape_cases: Vec<String>,
    pub warmup: Option<u32>,
    pub iterations: Option<u32>,
    pub seed: Option<u64>,
    pub profile: Option<PathBuf>,
}

impl TrtOptions {
    /// For commands without these options.
    pub fn none(folder: &Path) -> TrtOptions {
        let usual_plugin = plugin_of_environment(folder).map(|(path, _)| path);
        TrtOptions { usual_plugin, ..TrtOptions::default() }
    }

    /// Refuses options unless exactly one TensorRT suite would run, and checks each such suite.
    pub fn check_given(&self, project: &Project, asked: &[(&str, &config::Suite)]) -> crate::Result<()> {
        let suites = asked.iter().filter(|(_, suite)| suite.kind == SuiteKind::Trt).count();
        // GPU suites have the other options too.
        let is_own = self.trtexec.is_some() || !self.shape_cases.is_empty() || self.profile.is_some();
        let none = TrtOptions { usual_plugin: self.usual_plugin.clone(), ..TrtOptions::default() };
        let message = match suites {
            0 if is_own => Some("these options are for a suite of TensorRT, and none would run".to_owned()),
            2.. if *self != none => {
                Some(format!("these options are for one suite of TensorRT, and {suites} would run"))
            }
            _ => None,
        };
        if let Some(message) = message {
            return refuse(message, "name the suite, as with `--suite trt`");
        }
        self.check(project, asked)?;
        if let Some(profile) = &self.profile {
            check_writable(&profile.join("layers.json"))?;
        }
        Ok(())
    }

    /// Finds faults before measuring.
    pub fn check(&self, project: &Project, asked: &[(&str, &config::Suite)]) -> Result<(), Advice> {
        let suites = asked.iter().filter(|(_, suite)| suite.kind == SuiteKind::Trt);
        suites.into_iter().try_for_each(|(name, suite)| self.plan(project, name, suite).map(drop))
    }

    pub fn plan(&self, project: &Project, name: &str, suite: &config::Suite) -> Result<TrtSuite, Advice> {
        let in_project = |path: &Option<PathBuf>| path.as_ref().map(|path| project.root.join(path));
        let configured = || Some((in_project(&suite.engine)?, suite.engine.as_ref()?.display().to_string()));
        let Some((engine, engine_text)) = self.engine.clone().or_else(configured) else {
            let message = format!("the suite `{name}` has no engine configured");
            return refuse(message, "name the file that TensorRT has built: `--trt-engine-path model.plan`");
        };
        let is_option = !self.shape_cases.is_empty();
        let shape_cases = if is_option { self.shape_cases.clone() } else { suite.shape_cases.clone() };
        let place =
            if is_option { "`--shape-case`".to_owned() } else { format!("`suites.{name}.shape_cases` in sprag.toml") };
        Ok(TrtSuite {
            engine,
            engine_text,
            plugin: self.plugin.clone().or_else(|| in_project(&suite.plugin_lib)).or_else(|| self.usual_plugin.clone()),
            trtexec: self.trtexec.clone().or_else(|| in_project(&suite.trtexec)),
            cases: sweep::number_cases(&shape_cases).map_err(|fault| {
                let message = format!("{place} {fault}");
                Advice::new(message, "write it as `name=dims` pieces, such as `image=1x3x128x128;centers=1024x2`")
            })?,
            shape_cases,
            settings: TimingSettings {
                warmup_milliseconds: suite.warmup_milliseconds(),
                skipped_calls: self.warmup.unwrap_or(0),
                iterations: self.iterations.unwrap_or_else(|| suite.iterations()),
                // A number of calls replaces the duration.
                duration_seconds: if self.iterations.is_some() { 0 } else { suite.duration_seconds() },
            },
            seed: self.seed.unwrap_or(DEFAULT_SEED),
            time_out: Duration::from_secs(suite.timeout_seconds()),
            layers_folder: self.profile.clone(),
        })
    }
}

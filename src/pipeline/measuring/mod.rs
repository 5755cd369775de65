//! From the suites of a project to runs: what each suite runs, at which commit, and what it comes to.

pub mod commit_build;
pub mod trt;
pub mod apex_x_report;
pub mod run_text;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::config::{self, GpuProfile, SuiteKind};
use crate::error::Exit;
use crate::gate::Records;
use crate::measuring::commit_build::Worktree;
use crate::measuring::trt::TrtOptions;
use crate::project::Project;
use crate::text::{note, warn};
use crate::{Advice, refuse};
use sprag_formats::compat::apex_x::trt_report::SweepReport;
use sprag_history as history;
use sprag_measure::command::CHECKOUT_WITHOUT;
use sprag_measure::command::suite::{self as processes, CommandSuite};
use sprag_measure::gpu::settings::AskedDtype;
use sprag_measure::gpu::settings::Profile;
use sprag_measure::protocol::Configurations;
use sprag_measure::suite::{
    self, CommandSettings, Effort, GpuSuite, MeasureOptions, Observer, ProjectContext, Subject, Suite, SuiteOutcome,
    Work,
};
use sprag_measure::tune;
use sprag_model::commit::Commit;
use sprag_model::run::{Run, RunStatus};

#[derive(Clone, Copy)]
pub struct MeasureHost<'a> {
    pub observer: &'a dyn Observer,
    /// The digest of the sources that the program was built from; empty where they were not at hand.
    pub built_from: &'a str,
}

pub struct SuiteRequest<'a> {
    pub options: MeasureOptions<'a>,
    pub gpu: GpuOverride,
    pub trt: &'a TrtOptions,
    pub commit: Option<&'a Commit>,
}

impl<'a> SuiteRequest<'a> {
    pub fn all(effort: Effort, trt: &'a TrtOptions) -> SuiteRequest<'a> {
        SuiteRequest { options: MeasureOptions::all(effort), gpu: GpuOverride::default(), trt, commit: None }
    }
}

/// What the command line has a GPU suite run in place of what its configuration says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuOverride {
    pub profile: Option<Profile>,
    /// The only element type, where the device has it.
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

pub struct MeasuredSuites {
    /// One run a suite that was not empty.
    pub runs: Vec<Run>,
    pub sweeps: Vec<SweepReport>,
}

/// Measures the suites one after another.
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
            SuiteOutcome::Nothing => names.extend(suite::benchmark_names(&suite)?),
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
    suite: &Suite,
    settings: &config::Suite,
    request: &SuiteRequest<'_>,
    host: MeasureHost<'_>,
) -> crate::Result<SuiteOutcome> {
    let measure = |subject| suite::measure(context, suite, &request.options, subject, host.observer);
    Ok(match (request.commit, &suite.work) {
        (Some(commit), Work::Cpu) => {
            let build = commit_build::build(project, settings, commit, host.observer)?;
            measure(Subject::Program(&build.program))?
        }
        (Some(commit), Work::Command(command)) => {
            let options = &request.options;
            if let Some(shard) = options.shard.filter(|shard| !shard.holds_suite(&suite.name)) {
                return Ok(SuiteOutcome::EmptyShard(shard));
            }
            let tree = Worktree::check_out(project, commit)?;
            let mut built = suite::command::command_suite(&tree.root, command, options.effort.protocol(1))?;
            build_commit(&mut built, &tree.root, commit, host)?;
            measure(Subject::Checkout(&tree.root))?
        }
        _ => measure(Subject::WorkingTree)?,
    })
}

/// Builds a commit in its worktree, and has it measured without another build step.
pub fn build_commit(
    command_suite: &mut CommandSuite,
    root: &Path,
    commit: &Commit,
    host: MeasureHost<'_>,
) -> crate::Result<()> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if !real(&command_suite.folder).starts_with(real(root)) {
        return refuse(
            format!("its `cwd` leads out of the project, so {} would not be what is measured", commit.short()),
            "name a folder of the project as `cwd` of the suite in sprag.toml",
        );
    }
    command_suite.without = &CHECKOUT_WITHOUT;
    if !command_suite.build.is_empty() {
        let words = command_suite.build.join(" ");
        host.observer.begin(&format!("building {} with `{words}`", commit.short()), 1);
        let built = processes::build(command_suite);
        let places = |text: &str| suite::command::without_places(text, root);
        built.map_err(|error| commit_build::failed(commit, &places(&error.to_string())))?;
        command_suite.build.clear();
    }
    Ok(())
}

fn description(
    project: &Project,
    name: &str,
    settings: &config::Suite,
    request: &SuiteRequest<'_>,
) -> crate::Result<Suite> {
    let work = match settings.kind {
        SuiteKind::Cpu => Work::Cpu,
        SuiteKind::Gpu => Work::Gpu(request.gpu.suite(project, settings)),
        SuiteKind::Command => Work::Command(command_settings(settings)),
        SuiteKind::Trt => Work::Trt(Box::new(request.trt.plan(project, name, settings)?)),
    };
    Ok(Suite { name: name.to_owned(), include: settings.include.clone(), processes: settings.processes(), work })
}

pub fn command_settings(settings: &config::Suite) -> CommandSettings {
    CommandSettings {
        command: settings.command.clone(),
        folder: settings.cwd.clone(),
        variables: settings.env.clone(),
        build: settings.build.clone(),
        time_out: Duration::from_secs(settings.timeout_seconds()),
        build_time_out: Duration::from_secs(settings.build_timeout_seconds()),
        most_bytes: settings.max_output_bytes(),
        format: settings.format(),
        output: settings.output().map(Path::to_owned),
    }
}

/// What measuring came to, before anything is compared.
pub fn exit(runs: &[Run]) -> Exit {
    let failed = runs.iter().any(|run| {
        run.status == RunStatus::Failed || run.measurements.iter().any(|measurement| measurement.failure.is_some())
    });
    if failed {
        Exit::Failed
    } else if !runs.is_empty() && runs.iter().all(|run| run.status == RunStatus::Skipped) {
        Exit::NotMeasured
    } else {
        Exit::Done
    }
}

/// That filters leave no benchmark of those names, with the nearest name there is.
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
            None => format!("there are {}", distinct.join(", ")),
        },
    )
}

/// The configurations that the newest run of a suite used on a machine in an environment.
pub fn incumbents(project: &Project, suite: &str, machine: &str, environment_key: &str) -> Configurations {
    // A history that cannot be read is reported when it is written to.
    let Ok(records) = Records::open(project) else { return Configurations::default() };
    let fits = |run: &Run| run.environment.key == environment_key && !run.autotune.is_empty();
    let newest = records.newest_that(suite, machine, &fits);
    newest.map(|run| tune::recorded(&run.autotune)).unwrap_or_default()
}

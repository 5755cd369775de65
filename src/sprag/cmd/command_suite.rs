//! A suite of the kind `command`: any program, measured by itself, its output read by the format that the suite names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::effort::Extent;
use super::progress::Progress;
use super::project::Project;
use super::suites::{self, Measured, Wish};
use super::worktree::{ELSEWHERE, Worktree};
use super::{Advice, commit_program, kernel_suite};
use crate::config::{OutputFormat, Suite};
use sprag_formats::{FormatError, criterion, custom};
use sprag_measure::command::results::ResultPlace;
use sprag_measure::command::suite::{self, CommandSuite};
use sprag_measure::environment;
use sprag_measure::plan::Protocol;
use sprag_measure::protocol::SuiteResult;
use sprag_model::commit::Commit;
use sprag_model::foreign::{Output, Reported};
use sprag_model::run::{Run, RunStatus};
use sprag_model::sample::Measurement;

/// A reader of a format: the benchmarks of a suite out of what a process wrote.
type Read = fn(&str, &[Output]) -> Result<Vec<Reported>, FormatError>;

/// Measures the suite. A command cannot be divided, so one of several shards measures all of it.
///
/// # Errors
/// When this program cannot tell where it lies, and when a commit that is wished for cannot be built. A command that
/// cannot be run gives a run that says so.
pub(super) fn measure(
    project: &Project,
    name: &str,
    settings: &Suite,
    wish: &Wish<'_>,
    commit: Option<Commit>,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    if let Some(shard) = wish.shard.filter(|shard| !shard.holds_suite(name)) {
        return Ok(Measured::EmptyShare(shard));
    }
    let worktree = wish.commit.map(|commit| Worktree::of(project, commit)).transpose()?;
    let root = worktree.as_ref().map_or(project.root.as_path(), |worktree| worktree.root.as_path());
    let protocol = wish.effort.protocol(settings.processes());
    let mut command_suite = command_suite(root, settings, protocol)?;
    let machine = environment::machine(project.machine_name().as_deref(), None);
    let mut run = suites::new_run(name, commit, machine, environment::environment(&BTreeMap::new()));
    run.config = config(settings, &command_suite.protocol, wish);

    let own = |text: &str| without_places(text, root);
    if let Some(commit) = wish.commit {
        build_commit(&mut command_suite, root, commit, progress)?;
    } else if !settings.build.is_empty() {
        progress.begin(&format!("suite {name}: building with `{}`", settings.build.join(" ")), 1);
    }
    let told = suite::build(&command_suite).and_then(|()| {
        let processes = command_suite.protocol.processes;
        let extent = match wish.effort.extent {
            Extent::Budget(seconds) => format!("within {seconds} s"),
            _ if processes == 1 => "in 1 process".to_owned(),
            _ => format!("in {processes} processes"),
        };
        let command = settings.command.join(" ");
        progress.begin(&format!("suite {name}: `{command}` {extent}"), u64::from(processes));
        suite::measure(&command_suite, &reader(name, settings), &mut |done| progress.step(u64::from(done)))
    });
    match told {
        Err(error) => fail(&mut run, &own(&error.to_string())),
        Ok(SuiteResult { measurements, reasons, stop, workers }) => {
            run.config.insert("stop_reason".to_owned(), Value::from(stop.word()));
            run.config.insert("workers".to_owned(), Value::from(workers));
            let included = select(measurements, &settings.include);
            if included.is_empty() {
                let texts = settings.include.join("` or `");
                fail(&mut run, &format!("`suites.{name}.include` leaves no benchmark: none contains `{texts}`"));
                return Ok(Measured::Run(Box::new(run)));
            }
            run.measurements = select(included, wish.filters);
            if run.measurements.is_empty() {
                return Ok(Measured::Nothing);
            }
            for measurement in &mut run.measurements {
                measurement.failure = measurement.failure.as_deref().map(own);
            }
            run.quality = kernel_suite::quality(&run, reasons.iter().map(|reason| own(reason)).collect(), None);
            check_recordable(&mut run);
        }
    }
    Ok(Measured::Run(Box::new(run)))
}

/// Fails the run where its record could not be read back, as one that is too large: others decided what it holds.
fn check_recordable(run: &mut Run) {
    if let Err(error) = Run::from_record(&run.to_record().2) {
        run.measurements.clear();
        fail(run, &format!("what the command reported cannot be recorded: its record {error}"));
    }
}

fn fail(run: &mut Run, reason: &str) {
    run.status = RunStatus::Failed;
    run.reason = Some(reason.to_owned());
}

/// Builds a commit in its worktree, and has it measured without another build step.
///
/// # Errors
/// When it cannot be built, or the folder of the suite does not lie in the worktree.
pub(super) fn build_commit(
    command_suite: &mut CommandSuite,
    root: &Path,
    commit: &Commit,
    progress: &Progress,
) -> anyhow::Result<()> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if !real(&command_suite.folder).starts_with(real(root)) {
        return Err(Advice {
            message: format!("its `cwd` leads out of the project, so {} would not be what is measured", commit.short()),
            hint: "name a folder of the project as `cwd` of the suite in sprag.toml".to_owned(),
        }
        .into());
    }
    command_suite.without = &ELSEWHERE;
    if !command_suite.build.is_empty() {
        let words = command_suite.build.join(" ");
        progress.begin(&format!("building {} with `{words}`", commit.short()), 1);
        let built = suite::build(command_suite);
        built.map_err(|error| commit_program::failed(commit, &without_places(&error.to_string(), root)))?;
        command_suite.build.clear();
    }
    Ok(())
}

/// Reads what a process of the suite called `name` wrote.
pub(super) fn reader(name: &str, settings: &Suite) -> impl Fn(&[Output]) -> Result<Vec<Reported>, String> {
    let (read, _) = format(settings.format());
    move |outputs| read(name, outputs).map_err(|error| error.to_string())
}

/// The reader of a format, and which files of a folder it reads.
fn format(format: OutputFormat) -> (Read, &'static [&'static str]) {
    match format {
        OutputFormat::Custom => (custom::read, custom::FILES),
        OutputFormat::Criterion => (criterion::read, criterion::FILES),
    }
}

/// The suite in the tree of files at `root`.
///
/// # Errors
/// When this program cannot tell where it lies.
pub(super) fn command_suite(root: &Path, settings: &Suite, protocol: Protocol) -> anyhow::Result<CommandSuite> {
    let folder = settings.cwd.as_ref().map_or_else(|| root.to_owned(), |cwd| root.join(cwd));
    let (_, names) = format(settings.format());
    Ok(CommandSuite {
        command: settings.command.clone(),
        variables: settings.env.clone(),
        without: &[],
        build: settings.build.clone(),
        protocol,
        time_out: Duration::from_secs(settings.timeout_seconds()),
        build_time_out: Duration::from_secs(settings.build_timeout_seconds()),
        most_bytes: settings.max_output_bytes(),
        results: settings.output().map(|output| ResultPlace { path: folder.join(output), names }),
        guard: Some(kernel_suite::own_command(&["guard"])?),
        folder,
    })
}

fn config(settings: &Suite, protocol: &Protocol, wish: &Wish<'_>) -> BTreeMap<String, Value> {
    let mut config = suites::settings(protocol, wish);
    config.extend([
        (suites::COMMAND.to_owned(), Value::from(settings.command.clone())),
        ("format".to_owned(), Value::from(settings.format().word())),
        ("timeout_seconds".to_owned(), Value::from(settings.timeout_seconds())),
    ]);
    config
}

/// The measurements whose id contains one of the texts; all where there is no text.
fn select(measurements: Vec<Measurement>, texts: &[String]) -> Vec<Measurement> {
    let wanted = |id: &str| texts.is_empty() || texts.iter().any(|text| id.contains(text.as_str()));
    measurements.into_iter().filter(|measurement| wanted(&measurement.benchmark.id())).collect()
}

/// `text` without the places of this machine, which programs like to name and no record should hold: the project's
/// folder becomes `.`, the home folder `~`.
pub(super) fn without_places(text: &str, root: &Path) -> String {
    let home = std::env::home_dir().unwrap_or_default();
    let mut text = text.to_owned();
    for (place, word) in [(root, "."), (&home, "~")] {
        let place = place.to_string_lossy();
        let place = place.trim_end_matches('/');
        // A short place such as `/` would take separators out of every path.
        if place.len() > 1 {
            text = replaced(&text, place, word);
        }
    }
    text
}

/// `text` with every `place` that is not the beginning of a longer name replaced.
fn replaced(text: &str, place: &str, word: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(place) {
        let after = &rest[at + place.len()..];
        let is_whole = !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        done.push_str(&rest[..at]);
        done.push_str(if is_whole { word } else { place });
        rest = after;
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::benchmark::{Benchmark, Parity, ParityStatus};
    use sprag_model::environment::{Environment, Machine};
    use sprag_model::record::MAX_RECORD_BYTES;
    use sprag_model::sample::Role;

    #[test]
    fn what_cannot_be_recorded_fails_the_run() {
        let machine = Machine::named("m", "CPU");
        let mut run = suites::new_run("theirs", None, machine, Environment::from_facts(BTreeMap::new()));
        let measurement = |failure: String| Measurement {
            benchmark: Benchmark::new("theirs", "a", &[], "default").expect("the name is a word").into(),
            role: Role::Tracked,
            attributes: BTreeMap::new(),
            parity: Parity { status: ParityStatus::Unchecked, max_abs_error: None, tolerance: None },
            estimates: Vec::new(),
            failure: Some(failure),
        };
        run.measurements = vec![measurement("short".to_owned())];
        check_recordable(&mut run);
        assert_eq!((run.status, run.measurements.len()), (RunStatus::Ok, 1));
        run.measurements = vec![measurement("x".repeat(MAX_RECORD_BYTES))];
        check_recordable(&mut run);
        assert_eq!((run.status, run.measurements.len()), (RunStatus::Failed, 0));
        assert!(
            run.reason.as_ref().is_some_and(|reason| reason.contains("more than the 33554432")),
            "{:?}",
            run.reason
        );
    }

    #[test]
    fn places_of_this_machine_stay_out_of_records() {
        let check = |text: &str, expected: &str| assert_eq!(without_places(text, Path::new("/srv/project")), expected);
        check("no folder `/srv/project/bench`", "no folder `./bench`");
        check("nothing to hide", "nothing to hide");
        assert_eq!(without_places("in /srv/project/a", Path::new("/srv/project/")), "in ./a");
        check("in /srv/project-2/a", "in /srv/project-2/a");
        assert_eq!(without_places("a/b", Path::new("/")), "a/b");
    }
}

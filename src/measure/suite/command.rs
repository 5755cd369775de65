//! A suite of the kind `command`: any program, measured by itself, its output read by the format that the suite names.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::command::suite::{CommandSettings, CommandSuite, ResultPlace};
use crate::command::{CHECKOUT_WITHOUT, suite as processes};
use crate::plan::Protocol;
use crate::process::WorkerCommand;
use crate::protocol::SuiteResult;
use crate::suite::description::{
    self, MeasureOptions, Observer, ProjectContext, SuiteError, SuiteOutcome, SuiteSpec, SuiteSubject,
};
use crate::{MeasureError, environment};
use sprag_formats::OutputFormat;
use sprag_model::foreign::{Output, Reported};
use sprag_model::{Benchmark, Run, RunStatus};

/// Measures the suite. A command cannot be divided, so one of several shards measures all of it.
pub(super) fn measure(
    context: &ProjectContext<'_>,
    suite: &SuiteSpec,
    settings: &CommandSettings,
    options: &MeasureOptions<'_>,
    subject: SuiteSubject<'_>,
    observer: &dyn Observer,
) -> Result<SuiteOutcome, SuiteError> {
    let name = suite.name.as_str();
    if let Some(shard) = options.shard.filter(|shard| !shard.holds_suite(name)) {
        return Ok(SuiteOutcome::EmptyShard(shard));
    }
    let root = match subject {
        SuiteSubject::Checkout(root) => root,
        SuiteSubject::WorkingTree | SuiteSubject::Program(_) => context.root,
    };
    let mut command_suite = command_suite(root, settings, options.effort.protocol(suite.processes))?;
    let environment = environment::environment_of_programs(&BTreeMap::new());
    let mut run = description::new_run(name, context.commit.clone(), description::machine(context, None), environment);
    run.config = config(settings, &command_suite.protocol, options);

    let selection = Requested::new(name, settings.format, &suite.include, options.filters);
    if settings.timed.as_ref().is_some_and(|timed| !selection.wants(timed)) {
        return Ok(selection.nothing(run));
    }
    let own = |text: &str| without_places(text, root);
    if matches!(subject, SuiteSubject::Checkout(_)) {
        command_suite.without = &CHECKOUT_WITHOUT;
        command_suite.settings.build.clear();
    } else if !settings.build.is_empty() {
        observer.begin(&format!("suite {name}: building with `{}`", settings.build.join(" ")), 1);
    }
    let measured = processes::build(&command_suite).and_then(|()| {
        let processes = command_suite.protocol.processes;
        let extent = options.effort.extent_text(processes, "process");
        let command = settings.command.join(" ");
        observer.begin(&format!("suite {name}: `{command}` {extent}"), u64::from(processes));
        let read = |outputs: &[Output]| selection.read(outputs);
        processes::measure(&command_suite, &read, &mut |done| observer.step(u64::from(done)))
    });
    match measured {
        Err(error) => fail(&mut run, &own(&error.to_string())),
        Ok(SuiteResult { measurements, reasons, stop, workers }) => {
            run.config.insert("stop_reason".to_owned(), Value::from(stop.word()));
            run.config.insert("workers".to_owned(), Value::from(workers));
            if measurements.is_empty() {
                return Ok(selection.nothing(run));
            }
            run.measurements = measurements;
            for measurement in &mut run.measurements {
                measurement.failure = measurement.failure.as_deref().map(own);
            }
            run.quality = description::quality(&run, reasons.iter().map(|reason| own(reason)).collect(), None);
            check_recordable(&mut run);
        }
    }
    Ok(SuiteOutcome::Run(Box::new(run)))
}

/// The benchmarks of a command that are asked for, and all that it reported.
pub struct Requested<'a> {
    suite: &'a str,
    format: OutputFormat,
    include: &'a [String],
    filters: &'a [String],
    /// Names by their ids.
    reported: RefCell<BTreeMap<String, String>>,
}

impl<'a> Requested<'a> {
    pub fn new(suite: &'a str, format: OutputFormat, include: &'a [String], filters: &'a [String]) -> Requested<'a> {
        Requested { suite, format, include, filters, reported: RefCell::default() }
    }

    /// Reads what a process wrote.
    pub fn read(&self, outputs: &[Output]) -> Result<Vec<Reported>, String> {
        let reported = self.format.read(self.suite, outputs)?;
        Ok(reported.into_iter().filter(|one| self.wants(&one.benchmark)).collect())
    }

    pub fn wants(&self, benchmark: &Benchmark) -> bool {
        let id = benchmark.id();
        let is_wanted = [self.include, self.filters].iter().all(|texts| description::is_selected(&id, texts));
        self.reported.borrow_mut().insert(id, benchmark.name.clone());
        is_wanted
    }

    /// Why none is wanted, where that is due to `include`.
    pub fn include_fault(&self) -> Option<String> {
        let is_any = self.reported.borrow().keys().any(|id| description::is_selected(id, self.include));
        let (suite, texts) = (self.suite, self.include.join("` or `"));
        (!is_any).then(|| format!("`suites.{suite}.include` leaves no benchmark: none contains `{texts}`"))
    }

    pub fn names(&self) -> Vec<String> {
        self.reported.borrow().values().cloned().collect()
    }

    fn nothing(&self, mut run: Run) -> SuiteOutcome {
        match self.include_fault() {
            Some(fault) => {
                fail(&mut run, &fault);
                SuiteOutcome::Run(Box::new(run))
            }
            None => SuiteOutcome::Nothing(self.names()),
        }
    }
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

/// The suite in the tree of files at `root`.
pub fn command_suite(
    root: &Path,
    settings: &CommandSettings,
    protocol: Protocol,
) -> Result<CommandSuite, MeasureError> {
    let folder = settings.folder.as_ref().map_or_else(|| root.to_owned(), |folder| root.join(folder));
    Ok(CommandSuite {
        settings: settings.clone(),
        without: &[],
        protocol,
        results: settings.output.as_ref().map(|output| ResultPlace::new(&folder, output, settings.format.files())),
        guard: Some(WorkerCommand::for_this_program(&["guard"])?),
        folder,
    })
}

fn config(settings: &CommandSettings, protocol: &Protocol, options: &MeasureOptions<'_>) -> BTreeMap<String, Value> {
    let mut config = description::settings(protocol, options);
    config.extend([
        (description::COMMAND.to_owned(), Value::from(settings.command.clone())),
        ("format".to_owned(), Value::from(settings.format.name())),
        ("timeout_seconds".to_owned(), Value::from(settings.time_out.as_secs())),
    ]);
    config
}

/// `text` without places of this machine: the project's folder becomes `.`, the home folder `~`.
pub fn without_places(text: &str, root: &Path) -> String {
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

/// Replaces every `place` that is not the start of a longer name.
fn replaced(text: &str, place: &str, word: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(place) {
        let after = &rest[at + place.len()..];
        let is_complete = !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        done.push_str(&rest[..at]);
        done.push_str(if is_complete { word } else { place });
        rest = after;
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use sprag_model::record::MAX_RECORD_BYTES;
    use sprag_model::{Environment, Machine, Measurement, Role};

    use super::*;

    #[test]
    fn what_cannot_be_recorded_fails_the_run() {
        let machine = Machine::named("m", "CPU");
        let mut run = description::new_run("theirs", None, machine, Environment::from_facts(BTreeMap::new()));
        let measurement = |failure: String| Measurement {
            failure: Some(failure),
            ..crate::pool::empty(
                Benchmark::new("theirs", "a", &[], "default").expect("the name is a word"),
                Role::Tracked,
            )
        };
        run.measurements = vec![measurement("short".to_owned())];
        check_recordable(&mut run);
        assert_eq!((run.status, run.measurements.len()), (RunStatus::Ok, 1));
        run.measurements = vec![measurement("x".repeat(MAX_RECORD_BYTES))];
        check_recordable(&mut run);
        assert_eq!((run.status, run.measurements.len()), (RunStatus::Failed, 0));
        assert!(run.reason.is_some_and(|reason| reason.contains("more than the 33554432")));
    }

    #[test]
    fn local_paths_stay_out_of_records() {
        let check = |text: &str, expected: &str| assert_eq!(without_places(text, Path::new("/srv/project")), expected);
        check("no folder `/srv/project/bench`", "no folder `./bench`");
        check("nothing to hide", "nothing to hide");
        check("in /srv/project-2/a", "in /srv/project-2/a");
        assert_eq!(without_places("in /srv/project/a", Path::new("/srv/project/")), "in ./a");
        assert_eq!(without_places("a/b", Path::new("/")), "a/b");
    }
}

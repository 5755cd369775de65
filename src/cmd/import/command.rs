//! The command: reads, converts, records.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use chrono::{DateTime, NaiveDate, Utc};

use super::convert::{self, IMPORT, NO_MACHINE, Place};
use super::{source, word};
use crate::cli::ImportArgs;
use crate::cmd::project::Project;
use crate::cmd::text::{columns, count, printable};
use crate::cmd::{Advice, Exit, note, warn};
use crate::formats::registry::{FORMATS, Format};
use crate::history::{self, Record, Store};
use crate::measure::clock;
use crate::model::commit::Commit;
use crate::model::imported::{Imported, ImportedCommit, ImportedRun};
use crate::model::run::{RecordedRun, Run};

/// The word that stands for no commit at `--commit`.
const NO_COMMIT: &str = "none";

/// How many notes of a source are printed; the rest is counted.
const MOST_NOTES: usize = 10;

/// Imports what the arguments name.
///
/// # Errors
/// When a file cannot be read or is of no format, or the history cannot take the runs. Nothing is recorded then.
pub(crate) fn run(folder: &Path, args: &ImportArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if args.list {
        let rows: Vec<Vec<String>> =
            FORMATS.iter().map(|format| vec![format.name.to_owned(), format.title.to_owned()]).collect();
        write!(out, "{}", columns(&rows, &[]))?;
        return Ok(Exit::Done);
    }
    let project = Project::open(folder)?;
    let store = project.store()?;
    let target = history::target(store, project.config.history.reference.as_deref())?;
    let past = history::load(store, &target).context("cannot read the history")?;
    let mut import = Import {
        args,
        time: args.time.as_deref().map(time_of).transpose()?,
        head: Head::of(store, args)?,
        store,
        known: Known::of(&past.runs),
        runs: Vec::new(),
        present: 0,
    };
    let mut read = Vec::new();
    for path in &args.paths {
        let path = folder.join(path);
        let outputs = source::read(&path, args.max_bytes.unwrap_or(source::MOST_BYTES))?;
        let (format, outputs) = source::format(&path, outputs, args.format.as_deref())?;
        let imported = (format.read)(&outputs)
            .with_context(|| format!("cannot import `{}` as {}", path.display(), format.name))?;
        tell_notes(&imported);
        read.push((format, imported));
    }
    // The order of the arguments decides no name: suites are known before the first run is made.
    for (format, imported) in &read {
        import.take(format, imported)?;
    }
    import.tell_what_was_assumed();
    let Import { runs, present, .. } = import;
    summary(&runs, present, args.dry_run, out)?;
    if args.dry_run || runs.is_empty() {
        return Ok(Exit::Done);
    }
    let records: Vec<Record> = runs.iter().map(Record::of).collect();
    let appended = history::append(store, &target, &records, clock::now()).context("nothing was imported")?;
    appended.warnings.iter().for_each(|warning| warn(warning));
    let branch = appended.reference.trim_start_matches("refs/heads/");
    writeln!(out, "recorded {} on {}", count(appended.added.len(), "run"), printable(branch))?;
    Ok(Exit::Done)
}

/// An import under way.
struct Import<'a> {
    args: &'a ImportArgs,
    store: &'a Store,
    /// The time given for runs whose source tells none.
    time: Option<DateTime<Utc>>,
    head: Head,
    known: Known,
    runs: Vec<Run>,
    /// Runs that the history has already.
    present: usize,
}

/// The commit of runs whose source names none.
enum Head {
    /// The one that was named, or none at all.
    Given(Option<Commit>),
    /// The one that is checked out; whether any run took it.
    Assumed(Option<Commit>, bool),
}

impl Head {
    fn of(store: &Store, args: &ImportArgs) -> anyhow::Result<Head> {
        Ok(match args.commit.as_deref() {
            Some(NO_COMMIT) => Head::Given(None),
            Some(revision) => Head::Given(history::commit_at(store, revision)?),
            None => Head::Assumed(history::measured_commit(store)?, false),
        })
    }

    fn take(&mut self) -> Option<Commit> {
        match self {
            Head::Given(commit) => commit.clone(),
            Head::Assumed(commit, taken) => {
                *taken = true;
                commit.clone()
            }
        }
    }
}

/// What the history holds of earlier imports.
struct Known {
    /// What tells the imported runs apart.
    imports: BTreeSet<Identity>,
    /// The word of each suite, and the name that it has in its source.
    suites: BTreeMap<String, String>,
}

impl Known {
    fn of(runs: &[RecordedRun]) -> Known {
        let mut known = Known { imports: BTreeSet::new(), suites: BTreeMap::new() };
        for run in runs.iter().map(|recorded| &recorded.run) {
            known.enter(run);
        }
        known
    }

    fn enter(&mut self, run: &Run) {
        let told = |key: &str| run.config.get(IMPORT).and_then(|import| import.get(key)?.as_str());
        let name = told("suite").unwrap_or(&run.suite).to_owned();
        self.suites.entry(run.suite.clone()).or_insert(name);
        self.imports.extend(Identity::of(run));
    }

    fn holds(&self, run: &Run) -> bool {
        Identity::of(run).is_some_and(|identity| self.imports.contains(&identity))
    }
}

/// What an import is known by. The commit is part of it: counts free of noise may be the same of two commits.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    suite: String,
    digest: String,
    machine: String,
    commit: Option<String>,
}

impl Identity {
    fn of(run: &Run) -> Option<Identity> {
        let digest = run.config.get(IMPORT)?.get("sha256")?.as_str()?.to_owned();
        let commit = run.commit.as_ref().map(|commit| commit.sha.clone());
        Some(Identity { suite: run.suite.clone(), digest, machine: run.machine.id.clone(), commit })
    }
}

impl Import<'_> {
    fn take(&mut self, format: &Format, imported: &Imported) -> anyhow::Result<()> {
        let suites: BTreeSet<&Option<String>> = imported.runs.iter().map(|run| &run.suite).collect();
        for run in &imported.runs {
            let suite = self.suite(run, &imported.tool, suites.len() > 1);
            let (commit, commit_time) = self.commit(run)?;
            let time = run.time.or(self.time).or(commit_time).ok_or_else(|| Advice {
                message: "the source does not tell when it was measured, nor of which commit".to_owned(),
                hint: "give the time with `--time`, such as 2026-11-21T12:00:00Z, or the commit with `--commit`"
                    .to_owned(),
            })?;
            let machine = self.args.machine.clone().or_else(|| run.machine.clone());
            let machine = machine.unwrap_or_else(|| NO_MACHINE.to_owned());
            let place = Place { suite, commit, machine, time };
            let converted = convert::run(format.name, imported, run, place);
            if self.known.holds(&converted) {
                self.present += 1;
                continue;
            }
            self.known.enter(&converted);
            self.runs.push(converted);
        }
        Ok(())
    }

    /// The word of the suite: the given one, with that of the source behind where it has several; the source's; the tool's.
    fn suite(&self, run: &ImportedRun, tool: &str, several: bool) -> String {
        let named = run.suite.as_deref();
        let name = match (self.args.suite.as_deref(), named) {
            (Some(given), Some(named)) if several => format!("{given} {named}"),
            (Some(given), _) => given.to_owned(),
            (None, named) => named.unwrap_or(tool).to_owned(),
        };
        let source = named.map_or_else(|| name.clone(), str::to_owned);
        let others = |word: &str| self.known.suites.get(word).is_some_and(|known| *known != source && *known != word);
        word::suite(&name, &others)
    }

    /// The commit of a run, and when it was committed.
    fn commit(&mut self, run: &ImportedRun) -> anyhow::Result<(Option<Commit>, Option<DateTime<Utc>>)> {
        let Some(named) = &run.commit else {
            let commit = self.head.take();
            let time = commit.as_ref().map(|commit| commit.commit_time);
            return Ok((commit, time));
        };
        let time = named.time.or(run.time).or(self.time);
        // What the repository knows of it is better than what the source tells.
        if let Some(known) = history::find_commit(self.store, &named.sha)? {
            let time = known.commit_time;
            return Ok((Some(Commit { branch: named.branch.clone(), ..known }), Some(time)));
        }
        Ok((time.and_then(|time| described(named, time)), time))
    }

    fn tell_what_was_assumed(&self) {
        if let Head::Assumed(commit, true) = &self.head {
            match commit {
                Some(commit) => note(&format!(
                    "the source names no commit: taken as measured at {} (HEAD); `--commit` names another, or `none`",
                    commit.short()
                )),
                None => note("the source names no commit, and there is none to take it for; `--commit` names one"),
            }
        }
        let unknown = self.runs.iter().any(|run| run.machine.name == NO_MACHINE);
        if unknown && self.args.machine.is_none() {
            note(&format!("the source names no machine: called `{NO_MACHINE}`; `--machine` gives it a name"));
        }
    }
}

/// A commit that this repository does not hold, as its source describes it; absent where its id is cut short.
fn described(named: &ImportedCommit, time: DateTime<Utc>) -> Option<Commit> {
    use chrono::SubsecRound as _;
    let time = time.trunc_subsecs(0);
    (named.sha.len() == 40).then(|| Commit {
        sha: named.sha.clone(),
        parents: Vec::new(),
        author_time: time,
        commit_time: time,
        subject: named.subject.clone().unwrap_or_default(),
        branch: named.branch.clone(),
        dirty: false,
    })
}

/// A time as RFC 3339 has it, or a date.
fn time_of(text: &str) -> anyhow::Result<DateTime<Utc>> {
    let date = || text.parse::<NaiveDate>().ok().and_then(|date| date.and_hms_opt(0, 0, 0)).map(|time| time.and_utc());
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc()).ok().or_else(date);
    time.ok_or_else(|| {
        let message = format!("`{}` is no time", printable(text));
        Advice { message, hint: "write it as 2026-11-21T12:00:00Z or 2026-11-21".to_owned() }.into()
    })
}

fn tell_notes(imported: &Imported) {
    for text in imported.notes.iter().take(MOST_NOTES) {
        note(text);
    }
    if imported.notes.len() > MOST_NOTES {
        note(&format!("{} more like these", imported.notes.len() - MOST_NOTES));
    }
}

/// One line a suite and machine: how many runs, of when, with how many benchmarks.
fn summary(runs: &[Run], present: usize, dry: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Run>> = BTreeMap::new();
    for run in runs {
        groups.entry((&run.suite, &run.machine.name)).or_default().push(run);
    }
    for ((suite, machine), runs) in groups {
        let commits: BTreeSet<&str> = runs.iter().filter_map(|run| Some(run.commit.as_ref()?.sha.as_str())).collect();
        let names: BTreeSet<String> =
            runs.iter().flat_map(|run| &run.measurements).map(|one| one.benchmark.id()).collect();
        let failed = runs.iter().flat_map(|run| &run.measurements).filter(|one| one.failure.is_some()).count();
        let days = runs.iter().map(|run| run.timestamp.date_naive());
        let (first, last) = (days.clone().min().unwrap_or_default(), days.max().unwrap_or_default());
        let when = if first == last { first.to_string() } else { format!("{first} to {last}") };
        let failed = if failed > 0 { format!(", {} without a value", count(failed, "result")) } else { String::new() };
        writeln!(
            out,
            "{}: {} of {} on {}, {when}, {}{failed}",
            printable(suite),
            count(runs.len(), "run"),
            count(commits.len(), "commit"),
            printable(machine),
            count(names.len(), "benchmark"),
        )?;
    }
    if present > 0 {
        writeln!(out, "{} imported before", count(present, "run"))?;
    }
    if dry {
        writeln!(out, "nothing was recorded (--dry-run)")?;
    }
    Ok(())
}

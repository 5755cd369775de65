//! Which runs of a source are new, where each belongs, and what is assumed or doubtful of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};

use super::convert::{self, ImportSource, ImportTarget};
use crate::text::{count, note, printable, short, warn};
use crate::{Advice, refuse};
use sprag_formats::{Format, word};
use sprag_history::{self as history, HistoryError, Store};
use sprag_measure::clock;
use sprag_model::environment::NO_MACHINE;
use sprag_model::record::YEARS;
use sprag_model::run::IMPORT;
use sprag_model::{Better, Commit, Imported, ImportedRun, Machine, Observation, RunHead, Unit};

/// The value of `--commit` for no commit.
const NO_COMMIT: &str = "none";

/// So many machines whose names differ in digits alone are pointed out.
const MANY_OF_A_KIND: usize = 5;

pub struct ImportOptions {
    pub paths: Vec<PathBuf>,
    pub format: Option<String>,
    pub suite: Option<String>,
    pub machine: Option<String>,
    pub commit: Option<String>,
    pub time: Option<String>,
    /// Which direction is better, of all values, in place of what the source says.
    pub better: Option<Better>,
    pub dry_run: bool,
    pub max_bytes: Option<u64>,
    pub allow_future: bool,
}

pub(super) struct Planned {
    pub source: Arc<ImportSource>,
    pub run: ImportedRun,
    pub place: ImportTarget,
}

pub(super) struct Plan<'a> {
    options: &'a ImportOptions,
    store: &'a Store,
    /// For runs without a time in the source.
    time: Option<DateTime<Utc>>,
    /// The commit of runs whose source names none.
    head: Option<Commit>,
    is_head_used: bool,
    commits: BTreeMap<String, Option<Commit>>,
    earlier: EarlierImports,
    pub present: usize,
    odd_times: usize,
    cut_short: usize,
    /// The runs that are taken as measured at the commit of HEAD, and the first and the last of their own times.
    at_head: usize,
    head_times: Option<(DateTime<Utc>, DateTime<Utc>)>,
    /// Names in the source that this repository resolves.
    resolved: BTreeMap<String, String>,
    future: usize,
    machines: BTreeSet<String>,
    metrics: Metrics,
}

struct EarlierImports {
    imports: BTreeSet<Identity>,
    suites: BTreeMap<String, String>,
    times: BTreeMap<(String, String, Option<String>), BTreeSet<DateTime<Utc>>>,
}

impl EarlierImports {
    fn new(heads: &[RunHead]) -> EarlierImports {
        let mut earlier = EarlierImports { imports: BTreeSet::new(), suites: BTreeMap::new(), times: BTreeMap::new() };
        for head in heads {
            let noted = |key: &str| head.config.get(IMPORT).and_then(|import| import.get(key)?.as_str());
            earlier.name(&head.suite, noted("suite").unwrap_or(&head.suite));
            let commit = head.commit.as_ref().map(|commit| commit.sha.clone());
            let (suite, machine) = (head.suite.clone(), head.machine.id.clone());
            let times = earlier.times.entry((suite.clone(), machine.clone(), commit.clone())).or_default();
            times.insert(head.timestamp);
            if let Some(digest) = noted("sha256") {
                earlier.imports.insert(Identity { suite, digest: digest.to_owned(), machine, commit });
            }
        }
        earlier
    }

    fn name(&mut self, suite: &str, name: &str) {
        self.suites.entry(suite.to_owned()).or_insert_with(|| name.to_owned());
    }
}

/// The commit is part of it: exact counts may be the same at two commits.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    suite: String,
    digest: String,
    machine: String,
    commit: Option<String>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        options: &'a ImportOptions,
        store: &'a Store,
        time: Option<DateTime<Utc>>,
        heads: &[RunHead],
    ) -> crate::Result<Plan<'a>> {
        let head = match options.commit.as_deref() {
            Some(NO_COMMIT) => None,
            Some(revision) => history::commit_at(store, revision)?,
            None => history::measured_commit(store)?,
        };
        Ok(Plan {
            options,
            store,
            time,
            head,
            is_head_used: false,
            commits: BTreeMap::new(),
            earlier: EarlierImports::new(heads),
            present: 0,
            odd_times: 0,
            cut_short: 0,
            at_head: 0,
            head_times: None,
            resolved: BTreeMap::new(),
            future: 0,
            machines: BTreeSet::new(),
            metrics: Metrics::default(),
        })
    }

    /// The runs of a part of a source that are not in the history yet.
    pub(super) fn take(&mut self, format: &'static Format, imported: Imported) -> crate::Result<Vec<Planned>> {
        let Imported { tool, tool_version, runs, has_suites, .. } = imported;
        let source = Arc::new(ImportSource { format: format.name, tool, tool_version });
        let mut planned = Vec::new();
        for mut run in runs {
            let suite = self.suite(&run, &source.tool, has_suites);
            let (commit, commit_time) = self.commit(&run)?;
            self.odd_times += run.time.iter().filter(|time| !convert::is_recordable(time)).count();
            let mut times = [run.time, self.time, commit_time].into_iter().flatten();
            let time = times.find(convert::is_recordable).ok_or_else(|| {
                Advice::new(
                    "the source names neither the time nor the commit of the measurement",
                    "give the time with `--time`, such as 2026-11-21T12:00:00Z, or the commit with `--commit`",
                )
            })?;
            let machine = self.options.machine.clone().or_else(|| run.machine.clone());
            let machine = machine.unwrap_or_else(|| NO_MACHINE.to_owned());
            let identity = Identity {
                suite: suite.clone(),
                digest: run.digest.clone(),
                machine: Machine::named(&machine, NO_MACHINE).id,
                commit: commit.as_ref().map(|commit| commit.sha.clone()),
            };
            self.earlier.name(&suite, run.suite.as_deref().unwrap_or(&suite));
            if self.earlier.imports.contains(&identity) {
                self.present += 1;
                continue;
            }
            let key = (identity.suite.clone(), identity.machine.clone(), identity.commit.clone());
            let taken = self.earlier.times.entry(key).or_default();
            let second = time.trunc_subsecs(0);
            let time = if run.time == Some(time) { second } else { first_free(taken, second) };
            taken.insert(time);
            self.earlier.imports.insert(identity);
            if let Some(better) = self.options.better {
                let observations = run.entries.iter_mut().flat_map(|entry| &mut entry.observations);
                observations.for_each(|observation| observation.metric.better = better);
            }
            let place = ImportTarget { suite, commit, machine, time };
            self.watch(&run, &place);
            planned.push(Planned { source: Arc::clone(&source), run, place });
        }
        Ok(planned)
    }

    /// Takes down what is assumed of a run, and what may be wrong.
    fn watch(&mut self, run: &ImportedRun, place: &ImportTarget) {
        let soon = clock::now() + TimeDelta::days(1);
        let times = [Some(place.time), place.commit.as_ref().map(|commit| commit.commit_time)];
        self.future += usize::from(times.into_iter().flatten().any(|time| time > soon));
        self.machines.insert(place.machine.clone());
        match (&run.commit, &place.commit) {
            (Some(named), Some(commit)) if named.named_at.is_some() => {
                self.resolved.insert(named.sha.clone(), commit.sha.clone());
            }
            (None, Some(_)) => {
                self.at_head += 1;
                let widened = |(first, last): (DateTime<Utc>, DateTime<Utc>), time| (first.min(time), last.max(time));
                self.head_times =
                    run.time.map(|time| widened(self.head_times.unwrap_or((time, time)), time)).or(self.head_times);
            }
            _ => {}
        }
        for entry in &run.entries {
            let observations = entry.observations.iter();
            observations.for_each(|one| self.metrics.add((&place.suite, &entry.series, entry.variant.as_deref()), one));
        }
    }

    /// Refuses runs of several days that name no commit: HEAD was not what all of them measured.
    pub(super) fn refuse_one_commit(&self) -> crate::Result<()> {
        let (None, Some(head), Some((first, last))) = (&self.options.commit, &self.head, self.head_times) else {
            return Ok(());
        };
        if last - first <= TimeDelta::days(1) {
            return Ok(());
        }
        let (runs, commit) = (count(self.at_head, "run"), head.short());
        refuse(
            format!(
                "the source does not name the commits of {runs} from {} to {}; HEAD, {commit}, was not what all of them \
                 measured",
                first.date_naive(),
                last.date_naive()
            ),
            "import the files of one commit at a time with `--commit`, or write the commit into them (with Google \
             Benchmark by `--benchmark_context=git_commit=ID`). `--commit none` records them without one, which \
             shows no trend",
        )
    }

    /// The given name, with that of the source appended if it has several; else the source's; else the tool's.
    fn suite(&self, run: &ImportedRun, tool: &str, several: bool) -> String {
        let named = run.suite.as_deref();
        let name = match (self.options.suite.as_deref(), named) {
            (Some(given), Some(named)) if several => format!("{given} {named}"),
            (Some(given), _) => given.to_owned(),
            (None, named) => named.unwrap_or(tool).to_owned(),
        };
        let source = named.map_or_else(|| name.clone(), str::to_owned);
        let others = |word: &str| self.earlier.suites.get(word).is_some_and(|other| *other != source && *other != word);
        word::suite(&name, &others)
    }

    fn use_head(&mut self) -> Option<Commit> {
        self.is_head_used = true;
        self.head.clone()
    }

    fn commit(&mut self, run: &ImportedRun) -> crate::Result<(Option<Commit>, Option<DateTime<Utc>>)> {
        let Some(named) = &run.commit else {
            let commit = self.use_head();
            let time = commit.as_ref().map(|commit| commit.commit_time);
            return Ok((commit, time));
        };
        let time = named.time.or(run.time).or(self.time);
        // The repository knows the commit better than the source.
        let local = match self.commits.get(&named.sha) {
            Some(local) => local.clone(),
            None => {
                let local = match &named.named_at {
                    Some(place) => Some(resolved(self.store, &named.sha, place)?),
                    None => history::find_commit(self.store, &named.sha)?,
                };
                self.commits.insert(named.sha.clone(), local.clone());
                local
            }
        };
        if let Some(local) = local {
            let time = local.commit_time;
            return Ok((Some(Commit { branch: named.branch.clone(), ..local }), Some(time)));
        }
        if let Some(described) = time.and_then(|time| convert::described(named, time)) {
            return Ok((Some(described), time));
        }
        // A short id of an absent commit names nothing.
        if self.options.commit.is_some() {
            let commit = self.use_head();
            let time = commit.as_ref().map(|commit| commit.commit_time).or(time);
            return Ok((commit, time));
        }
        self.cut_short += 1;
        Ok((None, time))
    }

    pub(super) fn note_assumptions(&self) {
        let names = &self.resolved;
        if let Some((name, sha)) = names.first_key_value() {
            let commit = short(sha, 12);
            let others = match names.len() - 1 {
                0 => String::new(),
                others => format!(", and {} more", count(others, "name")),
            };
            note(&format!("the source names commits by what they are called here: `{name}` is {commit}{others}"));
        }
        match (&self.options.commit, &self.head) {
            _ if !self.is_head_used => {}
            (Some(revision), Some(commit)) if !commit.sha.starts_with(revision.as_str()) => {
                note(&format!("`{}` is {}", printable(revision), commit.short()));
            }
            (Some(_), _) => {}
            (None, Some(commit)) => note(&format!(
                "the source names no commit: taken as measured at {} (HEAD); `--commit` names another, or `none`",
                commit.short()
            )),
            (None, None) => {
                note("the source names no commit, and there is no HEAD to use; `--commit` names one");
            }
        }
        if self.cut_short > 0 {
            note(&format!(
                "the source names the commit of {} by the start of an id that is not in this repository. No commit is \
                 recorded; `git fetch` may bring it, or `--commit` names one",
                count(self.cut_short, "run")
            ));
        }
        if self.odd_times > 0 {
            let (runs, first, last) = (count(self.odd_times, "run"), YEARS.start(), YEARS.end());
            note(&format!("the source dates {runs} outside the years {first} to {last}, which is ignored"));
        }
        if self.options.machine.is_none() {
            if self.machines.contains(NO_MACHINE) {
                note(&format!("the source names no machine: called `{NO_MACHINE}`; `--machine` gives it a name"));
            }
            self.offer_one_machine();
        }
        self.metrics.warn();
    }

    pub(super) fn refuse_future(&self) -> crate::Result<()> {
        if self.future == 0 || self.options.allow_future {
            return Ok(());
        }
        let is = if self.future == 1 { "is" } else { "are" };
        let message =
            format!("{} {is} dated more than a day after the clock of this machine", count(self.future, "run"));
        refuse(message, "check the clocks of both machines, or give `--time`; `--allow-future` imports it anyway")
    }

    /// Points out machines whose names differ in digits alone, as those of runners do that live for one run.
    fn offer_one_machine(&self) {
        let mut kinds: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for machine in &self.machines {
            kinds.entry(kind(machine)).or_default().push(machine);
        }
        for (kind, machines) in kinds.iter().filter(|(_, machines)| machines.len() >= MANY_OF_A_KIND) {
            let name = if kind.is_empty() { "runners" } else { kind };
            warn(&format!(
                "{} have names like `{}`, and each gets its own series; if they are equal, `--machine {}` makes them one",
                count(machines.len(), "machine"),
                printable(machines[0]),
                printable(name),
            ));
        }
    }
}

/// The name of a machine without its parts that have digits.
fn kind(machine: &str) -> String {
    let parts = machine.split(|c: char| !c.is_alphanumeric());
    let words = parts.filter(|part| !part.is_empty() && !part.contains(|c: char| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join("-")
}

/// The first unit and direction of each metric of a source, and where they change.
#[derive(Default)]
struct Metrics {
    first: HashMap<String, (Unit, Better, String)>,
    /// The key of the last one in `first`.
    key: String,
    changed: BTreeMap<String, String>,
}

impl Metrics {
    fn add(&mut self, (suite, series, variant): (&str, &str, Option<&str>), observation: &Observation) {
        let Observation { metric, source_unit, .. } = observation;
        self.key.clear();
        for part in [suite, "/", series, " @", variant.unwrap_or_default(), "\0", &metric.name] {
            self.key.push_str(part);
        }
        // The spelling matters where nothing is converted.
        let spelling = if metric.unit == Unit::One { source_unit.as_str() } else { "" };
        let Some(first) = self.first.get(&self.key) else {
            self.first.insert(self.key.clone(), (metric.unit, metric.better, spelling.to_owned()));
            return;
        };
        if (first.0, first.1, &*first.2) == (metric.unit, metric.better, spelling) {
            return;
        }
        let shown = |(unit, better, spelling): &(Unit, Better, String)| {
            let unit = if *unit == Unit::One { spelling } else { unit.symbol() };
            let better = better.word();
            format!("`{}`, {better} is better", printable(unit))
        };
        let series = format!("`{}` of `{}`", printable(&metric.name), printable(series));
        let is = (metric.unit, metric.better, spelling.to_owned());
        self.changed.entry(series).or_insert_with(|| format!("{}; then {}", shown(first), shown(&is)));
    }

    fn warn(&self) {
        if let Some((series, what)) = self.changed.first_key_value() {
            let others = match self.changed.len() - 1 {
                0 => String::new(),
                others => format!(", and so do {}", count(others, "other")),
            };
            warn(&format!(
                "{series} changes its unit or direction ({what}){others}; all points are shown with the last, so the \
                 change looks like one of the code"
            ));
        }
    }
}

/// The next free second: a later import is newer, even if all runs have the time of the commit.
fn first_free(taken: &BTreeSet<DateTime<Utc>>, second: DateTime<Utc>) -> DateTime<Utc> {
    let mut free = second;
    for _ in taken.range(second..).zip(0..).take_while(|(time, later)| **time == second + TimeDelta::seconds(*later)) {
        free += TimeDelta::seconds(1);
    }
    free
}

fn resolved(store: &Store, name: &str, place: &str) -> crate::Result<Commit> {
    match history::commit_at(store, name) {
        Ok(Some(commit)) => Ok(commit),
        Ok(None) | Err(HistoryError::Revision { .. }) => refuse(
            format!("{place}: `{}` names no commit of this repository", printable(name)),
            "write the id of the commit there, seven hexadecimal digits or more, or a tag or branch that is \
                   here (`git fetch --tags`); or nothing, and give `--commit`",
        ),
        Err(error) => Err(error.into()),
    }
}

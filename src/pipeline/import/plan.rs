//! Which runs of the sources are new, and of which suite, commit, machine and time each is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};

use crate::Advice;
use crate::import::convert::{NO_MACHINE, Place, Source};
use crate::import::{convert, word};
use crate::notices::{note, warn};
use crate::text::{count, printable};
use sprag_formats::Format;
use sprag_history::{self as history, HistoryError, Store};
use sprag_measure::clock;
use sprag_model::commit::Commit;
use sprag_model::environment::Machine;
use sprag_model::head::RunHead;
use sprag_model::imported::{Imported, ImportedRun};
use sprag_model::record::YEARS;
use sprag_model::run::IMPORT;

/// The word that stands for no commit at `--commit`.
const NO_COMMIT: &str = "none";

/// What is imported, and what the user says of it.
pub struct ImportOptions {
    pub paths: Vec<PathBuf>,
    pub format: Option<String>,
    pub suite: Option<String>,
    pub machine: Option<String>,
    pub commit: Option<String>,
    pub time: Option<String>,
    pub dry_run: bool,
    pub max_bytes: Option<u64>,
}

/// A run to be recorded.
pub(super) struct Planned {
    pub source: Arc<Source>,
    pub run: ImportedRun,
    pub place: Place,
}

impl Planned {
    /// The name that the source has for its commit where that is no id, and the id.
    fn looked_up(&self) -> Option<(&str, &str)> {
        let named = self.run.commit.as_ref().filter(|named| named.named_at.is_some())?;
        Some((&named.sha, &self.place.commit.as_ref()?.sha))
    }
}

/// An import under way.
pub(super) struct Plan<'a> {
    options: &'a ImportOptions,
    store: &'a Store,
    /// The time given for runs whose source tells none.
    time: Option<DateTime<Utc>>,
    head: Head,
    /// What the repository knows of the commits that sources name.
    commits: BTreeMap<String, Option<Commit>>,
    earlier: EarlierImports,
    pub runs: Vec<Planned>,
    /// Runs that the history has already.
    pub present: usize,
    /// Runs whose source tells a time that no record can be of.
    odd_times: usize,
    /// Runs whose source names a commit by the start of an id that nothing here begins with.
    cut_short: usize,
}

/// The commit of runs whose source names none.
enum Head {
    /// The one that was named, or none at all; whether any run took it.
    Given(Option<Commit>, bool),
    /// The one that is checked out; whether any run took it.
    Assumed(Option<Commit>, bool),
}

impl Head {
    fn new(store: &Store, options: &ImportOptions) -> crate::Result<Head> {
        Ok(match options.commit.as_deref() {
            Some(NO_COMMIT) => Head::Given(None, false),
            Some(revision) => Head::Given(history::commit_at(store, revision)?, false),
            None => Head::Assumed(history::measured_commit(store)?, false),
        })
    }

    fn take(&mut self) -> Option<Commit> {
        match self {
            Head::Given(commit, taken) | Head::Assumed(commit, taken) => {
                *taken = true;
                commit.clone()
            }
        }
    }
}

/// What the history holds of earlier imports, and what this one adds.
struct EarlierImports {
    /// What tells the imported runs apart.
    imports: BTreeSet<Identity>,
    /// The word of each suite, and the name that it has in its source.
    suites: BTreeMap<String, String>,
    /// The seconds at which runs of a suite, machine and commit are recorded.
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
        if !self.suites.contains_key(suite) {
            self.suites.insert(suite.to_owned(), name.to_owned());
        }
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

impl<'a> Plan<'a> {
    pub(super) fn new(
        options: &'a ImportOptions,
        store: &'a Store,
        time: Option<DateTime<Utc>>,
        heads: &[RunHead],
    ) -> crate::Result<Plan<'a>> {
        Ok(Plan {
            options,
            store,
            time,
            head: Head::new(store, options)?,
            commits: BTreeMap::new(),
            earlier: EarlierImports::new(heads),
            runs: Vec::new(),
            present: 0,
            odd_times: 0,
            cut_short: 0,
        })
    }

    /// Takes in what a source holds.
    pub(super) fn take(&mut self, format: &'static Format, imported: Imported) -> crate::Result<()> {
        let Imported { tool, tool_version, runs, .. } = imported;
        let several = runs.iter().map(|run| &run.suite).collect::<BTreeSet<_>>().len() > 1;
        let source = Arc::new(Source { format: format.name, tool, tool_version });
        for run in runs {
            let suite = self.suite(&run, &source.tool, several);
            let (commit, commit_time) = self.commit(&run)?;
            self.odd_times += run.time.iter().filter(|time| !convert::is_recordable(time)).count();
            let mut times = [run.time, self.time, commit_time].into_iter().flatten();
            let time = times.find(convert::is_recordable).ok_or_else(|| Advice {
                message: "the source does not tell when it was measured, nor of which commit".to_owned(),
                hint: "give the time with `--time`, such as 2026-11-21T12:00:00Z, or the commit with `--commit`"
                    .to_owned(),
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
            let own_time = run.time.is_some_and(|own| own == time);
            if !self.earlier.imports.contains(&identity) {
                let key = (identity.suite.clone(), identity.machine.clone(), identity.commit.clone());
                let times = self.earlier.times.entry(key).or_default();
                let second = time.trunc_subsecs(0);
                let time = if own_time { second } else { first_free(times, second) };
                times.insert(time);
                self.earlier.imports.insert(identity);
                let place = Place { suite, commit, machine, time };
                self.runs.push(Planned { source: Arc::clone(&source), run, place });
            } else {
                self.present += 1;
            }
        }
        Ok(())
    }

    /// The word of the suite: the given one, with that of the source behind where it has several; the source's; the tool's.
    fn suite(&self, run: &ImportedRun, tool: &str, several: bool) -> String {
        let named = run.suite.as_deref();
        let name = match (self.options.suite.as_deref(), named) {
            (Some(given), Some(named)) if several => format!("{given} {named}"),
            (Some(given), _) => given.to_owned(),
            (None, named) => named.unwrap_or(tool).to_owned(),
        };
        let source = named.map_or_else(|| name.clone(), str::to_owned);
        let others = |word: &str| self.earlier.suites.get(word).is_some_and(|known| *known != source && *known != word);
        word::suite(&name, &others)
    }

    /// The commit of a run, and when it was committed.
    fn commit(&mut self, run: &ImportedRun) -> crate::Result<(Option<Commit>, Option<DateTime<Utc>>)> {
        let Some(named) = &run.commit else {
            let commit = self.head.take();
            let time = commit.as_ref().map(|commit| commit.commit_time);
            return Ok((commit, time));
        };
        let time = named.time.or(run.time).or(self.time);
        // What the repository knows of it is better than what the source tells.
        let known = match self.commits.get(&named.sha) {
            Some(known) => known.clone(),
            None => {
                let found = match &named.named_at {
                    Some(place) => Some(looked_up(self.store, &named.sha, place)?),
                    None => history::find_commit(self.store, &named.sha)?,
                };
                self.commits.insert(named.sha.clone(), found.clone());
                found
            }
        };
        if let Some(known) = known {
            let time = known.commit_time;
            return Ok((Some(Commit { branch: named.branch.clone(), ..known }), Some(time)));
        }
        if let Some(described) = time.and_then(|time| convert::described(named, time)) {
            return Ok((Some(described), time));
        }
        // An id that is cut short names no commit to whoever does not hold it.
        if let Head::Given(..) = self.head {
            let commit = self.head.take();
            let time = commit.as_ref().map(|commit| commit.commit_time).or(time);
            return Ok((commit, time));
        }
        self.cut_short += 1;
        Ok((None, time))
    }

    pub(super) fn note_assumptions(&self) {
        let names: BTreeMap<&str, &str> = self.runs.iter().filter_map(Planned::looked_up).collect();
        if let Some((name, sha)) = names.first_key_value() {
            let commit = sha.get(..12).unwrap_or(sha);
            let others = match names.len() - 1 {
                0 => String::new(),
                others => format!(", and {} more", count(others, "name")),
            };
            note(&format!("the source names commits by what they are called here: `{name}` is {commit}{others}"));
        }
        if let (Head::Given(Some(commit), true), Some(revision)) = (&self.head, &self.options.commit)
            && !commit.sha.starts_with(revision.as_str())
        {
            note(&format!("`{}` is {}", printable(revision), commit.short()));
        }
        if let Head::Assumed(commit, true) = &self.head {
            match commit {
                Some(commit) => note(&format!(
                    "the source names no commit: taken as measured at {} (HEAD); `--commit` names another, or `none`",
                    commit.short()
                )),
                None => note("the source names no commit, and there is none to take it for; `--commit` names one"),
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
            note(&format!(
                "the source tells of {runs} a time outside the years {first} to {last}, which does not count"
            ));
        }
        let soon = clock::now() + TimeDelta::days(1);
        let future = self.runs.iter().filter(|planned| planned.place.time > soon).count();
        if future > 0 {
            warn(&format!(
                "{} dated in the future; is the clock of that machine right?",
                match future {
                    1 => "1 run is".to_owned(),
                    many => format!("{many} runs are"),
                }
            ));
        }
        let unknown = self.runs.iter().any(|planned| planned.place.machine == NO_MACHINE);
        if unknown && self.options.machine.is_none() {
            note(&format!("the source names no machine: called `{NO_MACHINE}`; `--machine` gives it a name"));
        }
    }
}

/// That second, or the next one that is not taken: what was imported later is the newer, also where all of it has the time
/// of the commit.
fn first_free(taken: &BTreeSet<DateTime<Utc>>, second: DateTime<Utc>) -> DateTime<Utc> {
    let mut free = second;
    for _ in taken.range(second..).zip(0..).take_while(|(time, later)| **time == second + TimeDelta::seconds(*later)) {
        free += TimeDelta::seconds(1);
    }
    free
}

/// The commit that a source names by something else than its id.
fn looked_up(store: &Store, name: &str, place: &str) -> crate::Result<Commit> {
    match history::commit_at(store, name) {
        Ok(Some(commit)) => Ok(commit),
        Ok(None) | Err(HistoryError::Revision { .. }) => Err(Advice {
            message: format!("{place}: `{}` names no commit of this repository", printable(name)),
            hint: "write the id of the commit there, seven hexadecimal digits or more, or a tag or branch that is \
                   here (`git fetch --tags`); or nothing, and give `--commit`"
                .to_owned(),
        }
        .into()),
        Err(error) => Err(error.into()),
    }
}

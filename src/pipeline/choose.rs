//! Which run a gate looks at: the newest run of this machine at HEAD.

use crate::config::{Suite, SuiteKind};
use crate::gate::Records;
use crate::notices::warn;
use crate::project::Project;
use crate::{Advice, Error};
use sprag_history::{self as history, Entry};
use sprag_measure::{environment, gpu};
use sprag_model::commit::NO_COMMIT;
use sprag_model::environment::Machine;
use sprag_model::head::RunHead;
use sprag_model::run::{Quarantined, RecordedRun, Run};
use sprag_model::shard::{self, IncompleteRun};

/// A suite that a gate was asked about: its run, or that it has none.
pub enum Chosen {
    Run(Box<RecordedRun>),
    /// No run of this machine at HEAD.
    Nothing {
        suite: String,
        /// The class of this machine, under which a baseline would lie.
        machine_class: String,
        /// The eight digits by which records of this machine are named.
        machine: String,
    },
}

impl Chosen {
    /// The run, where there is one.
    pub fn run(&self) -> Option<&Run> {
        match self {
            Chosen::Run(recorded) => Some(&recorded.run),
            Chosen::Nothing { .. } => None,
        }
    }
}

/// What to judge: for each asked suite the newest whole run of this machine at HEAD. A complete set of shards is one whole
/// run; it bears the id of the newest of them. Where none has a run, the advice says why and what to do.
pub fn choose(
    project: &Project,
    records: &Records<'_>,
    suites: &[String],
) -> crate::Result<(Vec<Chosen>, Option<Advice>)> {
    let wanted = project.config.select(suites).map_err(Error::message)?;
    let store = project.store()?;
    let listing = records.listing();
    listing.quarantined.iter().for_each(warn_of);
    let head = history::measured_commit(store)?.map(|commit| commit.sha);
    let name = project.machine_name();
    let (mut chosen, mut missing, mut filtered) = (Vec::new(), Vec::new(), Vec::new());
    let mut machines = Vec::new();
    let short = head.as_deref().map_or(NO_COMMIT, |sha| sha.get(..12).unwrap_or(sha));
    for (suite, settings) in wanted {
        let machine = machine_of(name.as_deref(), settings);
        // The names tell which records may be of this machine at this commit; no others are read.
        machines.push((suite, machine.short_id().to_owned()));
        let named = |one: &&Entry| one.suite() == suite && one.machine() == machine.short_id() && one.commit() == short;
        let entries: Vec<Entry> = listing.entries.iter().filter(named).cloned().collect();
        let mut runs = records.read_sound(entries)?;
        let fits = |one: &RecordedRun| {
            one.run.machine.id == machine.id && one.run.commit.as_ref().map(|commit| &commit.sha) == head.as_ref()
        };
        runs.retain(fits);
        let heads: Vec<RunHead> = runs.iter().map(RunHead::new).collect();
        let assembly = shard::assemble(&heads);
        let newest = assembly.whole.last();
        // An older set that was never finished is no news.
        let unfinished =
            assembly.incomplete.last().filter(|set| newest.is_none_or(|one| one.newest().timestamp < set.newest));
        if let Some(set) = unfinished {
            warn(&set.sentence());
        }
        let whole = newest.and_then(|whole| Some((whole.newest(), whole.run(&runs)?)));
        chosen.push(match whole {
            Some((RunHead { path, id, .. }, run)) => {
                let (path, id, run) = (path.clone(), id.clone(), run.into_owned());
                Chosen::Run(Box::new(RecordedRun { path, id, run }))
            }
            None => {
                missing.extend(unfinished.map(IncompleteRun::sentence));
                let some_only = runs.iter().filter(|one| one.run.is_filtered());
                filtered.extend(some_only.max_by_key(|one| (one.run.timestamp, &one.id)).map(filtered_words));
                Chosen::Nothing {
                    suite: suite.to_owned(),
                    machine: machine.short_id().to_owned(),
                    machine_class: machine.class,
                }
            }
        });
    }
    if chosen.iter().all(|one| matches!(one, Chosen::Nothing { .. })) {
        let commit = head.as_deref().map_or("an empty repository", |_| short);
        let is_asked =
            |one: &Entry| machines.iter().any(|(suite, machine)| one.suite() == *suite && one.machine() == machine);
        let nearest = records.near(short, &is_asked)?;
        let nothing = format!("the history has no complete run of this machine at {commit}");
        let (message, hint) = match (missing.is_empty(), filtered.is_empty()) {
            (true, true) => (nothing, "measure it with `sprag run --record`, or name a run file with `--run`"),
            (false, _) => (
                format!("{nothing}: {}", missing.join("; ")),
                "measure it with `sprag run --record`, or name a run file with `--run`",
            ),
            (true, false) => (
                format!("{}; a gate needs a run without `--filter`", filtered.join("; ")),
                "measure all with `sprag run --record`, or name a run file with `--run`",
            ),
        };
        return Ok((chosen, Some(Advice { message, hint: format!("{hint}{nearest}") })));
    }
    for words in &filtered {
        warn(&format!("{words}; a gate needs a run without `--filter`"));
    }
    Ok((chosen, None))
}

/// The machine that runs of the suite bear here; `name` is what its owner calls it.
pub fn machine_of(name: Option<&str>, settings: &Suite) -> Machine {
    let gpu_model = match settings.kind {
        SuiteKind::Cpu | SuiteKind::Command => None,
        SuiteKind::Gpu | SuiteKind::Trt => gpu::probe::device().ok().map(|device| device.name),
    };
    environment::machine(name, gpu_model.as_deref())
}

/// What a run of some benchmarks only is: `the newest run (0123abcd) holds 2 benchmarks of cpu (`--filter scan`)`.
fn filtered_words(recorded: &RecordedRun) -> String {
    let run = &recorded.run;
    let filters: Vec<String> = run.filters().iter().map(|text| format!("--filter {text}")).collect();
    let count = match run.measurements.len() {
        1 => "1 benchmark".to_owned(),
        count => format!("{count} benchmarks"),
    };
    let id = recorded.id.get(..8).unwrap_or(&recorded.id);
    format!("the newest run ({id}) holds {count} of {} (`{}`)", run.suite, filters.join(" "))
}

fn warn_of(bad: &Quarantined) {
    warn(&format!("`{}` {}; quarantined", bad.path, bad.reason));
}

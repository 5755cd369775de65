//! A generated repository with half a year of code and runs, and changes planted in it.
//!
//! The seed decides everything, down to the ids of the commits. The planted changes are listed, so that anyone can
//! compare them with what Sprag finds.

mod runs;

use std::fs;
use std::path::Path;

use chrono::{DateTime, Datelike, TimeDelta, Utc};

use self::runs::{BASELINES, COMMITS, FASTER, Recorder, SLOWER, cpu_machines, stream};
use crate::Error;
use crate::error::WithContext as _;
use sprag_analysis::reference::{self, Ground};
use sprag_base::stats::random::SplitMix64;
use sprag_evidence::checklist::CHECKLIST_PATH;
use sprag_evidence::releases::RELEASES_PATH;
use sprag_history::{self as history, Author, NewCommit, Record, Store};
use sprag_model::baseline::BaselineAcceptance;
use sprag_model::{Baseline, Commit, Policy, RecordedRun, Run, RunStatus};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoFacts {
    pub commits: usize,
    pub runs: usize,
    /// The newest commit, which records runs.
    pub tip: String,
    pub planted: Vec<String>,
}

/// `folder` must be empty or absent. The newest run is of the day before `now`, or of a fixed day.
pub fn generate(folder: &Path, seed: u64, now: Option<DateTime<Utc>>) -> crate::Result<DemoFacts> {
    refuse_unless_empty(folder)?;
    let author = Author { name: "Sprag Demo".to_owned(), email: "demo@example.org".to_owned() };
    let store = history::create(folder, &author)?;
    let mut recorder = Recorder::new(seed);
    let mut commits: Vec<Commit> = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    let fixed = DateTime::from_timestamp(START, 0).expect("the first day is in the calendar");
    let midnight = |now: DateTime<Utc>| now - TimeDelta::seconds(now.timestamp().rem_euclid(86_400));
    let start = now.map_or(fixed, |now| midnight(now) - TimeDelta::days(day(COMMITS - 1) + 1));
    for (position, change) in Project::new(seed, start).changes().into_iter().enumerate() {
        let files = match position {
            BASELINES => baselines(&runs, &change.author, change.time)?,
            LISTED => release(&commits[RELEASED].sha, &change.author, change.time),
            _ => Vec::new(),
        };
        let commit = commit_code(&store, change, files, commits.last())?;
        runs.extend(recorder.measure(position, &commit));
        commits.push(commit);
    }
    runs.sort_by_key(|run| run.timestamp);
    let tip = record(&store, &runs)?;
    history::check_out(&store)?;
    Ok(DemoFacts { commits: commits.len(), runs: runs.len(), tip, planted: runs::sentences(&commits) })
}

fn refuse_unless_empty(folder: &Path) -> crate::Result<()> {
    match fs::read_dir(folder).map(|entries| entries.take(1).count()) {
        Ok(0) => Ok(()),
        Ok(_) => Err(Error::message(format!(
            "`{}` is not empty; name a folder that is empty or does not exist yet",
            folder.display()
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot look into `{}`", folder.display())),
    }
}

fn commit_code(
    store: &Store,
    change: Change,
    more_files: Vec<(String, String)>,
    parent: Option<&Commit>,
) -> crate::Result<Commit> {
    let Change { subject, author, time, tag, mut files } = change;
    files.extend(more_files);
    let sha = history::commit_files(store, &NewCommit { files, author, time, message: format!("{subject}\n") })?;
    if let Some(tag) = tag {
        history::tag(store, tag, &sha)?;
    }
    Ok(Commit {
        sha,
        parents: parent.iter().map(|parent| parent.sha.clone()).collect(),
        author_time: time,
        commit_time: time,
        subject,
        branch: Some("main".to_owned()),
        dirty: false,
    })
}

/// Appends the runs, which are in order of time, one commit a month; returns the newest.
fn record(store: &Store, runs: &[Run]) -> crate::Result<String> {
    let target = history::target(store, None)?;
    let month = |time: DateTime<Utc>| (time.year(), time.month());
    let mut tip = None;
    for runs in runs.chunk_by(|a, b| month(a.timestamp) == month(b.timestamp)) {
        let newest = runs.last().expect("a chunk is never empty").timestamp;
        let records: Vec<Record> = runs.iter().map(Record::from_run).collect();
        tip = history::append(store, &target, &records, newest)?.commit;
    }
    tip.context("no run was generated")
}

/// Monday, 18 May 2026.
const START: i64 = 1_779_062_400;

/// Right after the newest release.
const LISTED: usize = RELEASED + 1;

/// The newest release: measured on every machine, with baselines of the release before.
const RELEASED: usize = 117;

const RELEASES: [(usize, &str, &str); 4] = [
    (35, "v0.1.0", "Release 0.1.0"),
    (72, "v0.2.0", "Release 0.2.0"),
    (106, "v0.3.0", "Release 0.3.0"),
    (RELEASED, "v0.4.0", "Release 0.4.0"),
];

const KERNELS: [&str; 5] = ["tile_pack", "tile_unpack", "fusion_gate", "tile_ssm_scan", "infer"];

const AUTHORS: [(&str, &str); 4] = [
    ("Ada Berg", "ada.berg@example.org"),
    ("Noor Haddad", "noor.haddad@example.org"),
    ("Mei Tanaka", "mei.tanaka@example.org"),
    ("Tomas Ruiz", "tomas.ruiz@example.org"),
];

/// Each is done at most once to each kernel.
const SUBJECTS: &str = include_str!("../../../templates/demo/subjects.txt");

struct Change {
    subject: String,
    author: Author,
    time: DateTime<Utc>,
    tag: Option<&'static str>,
    files: Vec<(String, String)>,
}

/// Days after the first one; commits are made from Monday to Friday.
fn day(position: usize) -> i64 {
    (position / 5 * 7 + position % 5) as i64
}

struct Project {
    random: SplitMix64,
    start: DateTime<Utc>,
    /// Remaining pairs of a subject and a kernel.
    open: Vec<(&'static str, usize)>,
    /// Of each kernel: unrolling, blocks fetched ahead, number of changes.
    state: [(u32, u32, u32); KERNELS.len()],
    version: &'static str,
}

impl Project {
    fn new(seed: u64, start: DateTime<Utc>) -> Project {
        let mut random = stream(seed, "project");
        let pairs = |subject: &'static str| (0..KERNELS.len()).map(move |kernel| (subject, kernel));
        let mut open: Vec<(&str, usize)> = SUBJECTS.lines().flat_map(pairs).collect();
        random.shuffle(&mut open);
        Project { random, start, open, state: [(1, 0, 0); KERNELS.len()], version: "v0.0.0" }
    }

    /// Oldest first.
    fn changes(mut self) -> Vec<Change> {
        (0..COMMITS).map(|position| self.change(position)).collect()
    }

    fn change(&mut self, position: usize) -> Change {
        let release = RELEASES.iter().find(|(at, _, _)| *at == position);
        let mut files = Vec::new();
        let mut kernel = None;
        let subject = if position == 0 {
            files.push(("sprag.toml".to_owned(), CONFIGURATION.to_owned()));
            files.push(("bench.sh".to_owned(), SCRIPT.to_owned()));
            files.push((".gitignore".to_owned(), "/target\n/_site\n/.sprag\n".to_owned()));
            files.push(("README.md".to_owned(), self.readme()));
            "Begin with tiles, gates and scans".to_owned()
        } else if let Some((_, tag, subject)) = release {
            self.version = tag;
            files.push(("README.md".to_owned(), self.readme()));
            (*subject).to_owned()
        } else if position == BASELINES {
            "Take baselines from the runs of 0.3.0".to_owned()
        } else if position == LISTED {
            "Say what a release rests on".to_owned()
        } else if position == SLOWER.position {
            kernel = Some(0);
            "Handle ragged edges in tile_pack".to_owned()
        } else if position == FASTER.position {
            kernel = Some(2);
            "Fold the activation into fusion_gate".to_owned()
        } else {
            let (subject, number) = self.open.pop().expect("there are more things to do than commits");
            kernel = Some(number);
            format!("{subject} {}", KERNELS[number])
        };
        if let Some(kernel) = kernel {
            let (unrolled, ahead) = (self.random.below(4), self.random.below(3));
            let (.., changed) = self.state[kernel];
            self.state[kernel] = (1 << unrolled, ahead as u32, changed + 1);
        }
        files.push(("src/kernels.rs".to_owned(), self.source(position)));
        files.extend(["cpu", "gpu"].map(|suite| (format!("times/{suite}.tsv"), runs::times(suite, position))));
        let (name, email) = AUTHORS[self.random.below(AUTHORS.len())];
        let author = Author { name: name.to_owned(), email: email.to_owned() };
        let minute = 8 * 60 + self.random.below(9 * 60) as i64;
        let time = self.start + TimeDelta::days(day(position)) + TimeDelta::minutes(minute);
        Change { subject, author, time, tag: release.map(|(_, tag, _)| *tag), files }
    }

    fn readme(&self) -> String {
        format!(include_str!("../../../templates/demo/README.md"), &self.version[1..])
    }

    fn source(&self, position: usize) -> String {
        let mut text = format!(include_str!("../../../templates/demo/kernels.rs.txt"), position + 1);
        for (kernel, (unrolled, ahead, changed)) in KERNELS.iter().zip(self.state) {
            let name = kernel.to_uppercase();
            text.push_str(&format!(
                "\n/// `{kernel}`.\npub const {name}: Shape = Shape {{ unrolled: {unrolled}, ahead: {ahead}, changed: \
                 {changed} }};\n"
            ));
        }
        text
    }
}

/// One for the suite `cpu` on each class of machine: path and content.
fn baselines(runs: &[Run], author: &Author, time: DateTime<Utc>) -> crate::Result<Vec<(String, String)>> {
    cpu_machines()
        .into_iter()
        .map(|machine| {
            let of_machine = runs.iter().filter(|run| run.machine == machine && run.status == RunStatus::Ok);
            let baseline =
                take(of_machine).with_context(|| format!("no runs of `{}` to take a baseline from", machine.name))?;
            let why = "v0.3.0 is released: this is what later work is held to".to_owned();
            let by = format!("{} <{}>", author.name, author.email);
            let accepted = BaselineAcceptance { by, at_utc: time, why, replaces: None, metrics: None };
            let baseline = Baseline { accepted: Some(accepted), ..baseline };
            Ok((Baseline::path(&baseline.suite, &baseline.machine_class), baseline.to_json()))
        })
        .collect()
}

fn take<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<Baseline> {
    let mut all: Vec<RecordedRun> = runs.cloned().map(RecordedRun::from).collect();
    let newest = all.pop()?;
    let alike = |one: &&RecordedRun| one.run.environment.key == newest.run.environment.key;
    let before: Vec<&RecordedRun> = all.iter().filter(alike).collect();
    reference::baseline(&[&newest], &before, Ground::Joined, &Policy::default(), &[])
}

const WAIVED: TimeDelta = TimeDelta::days(60);

const CONFIGURATION: &str = include_str!("../../../templates/demo/sprag.toml");

/// In place of benchmarks, so that what the pages propose can be tried.
const SCRIPT: &str = include_str!("../../../templates/demo/bench.sh");

const CHECKLIST: &str = include_str!("../../../templates/demo/checklist.toml");

/// Path and content of each. One release is that commit; the next is not tagged yet.
fn release(released: &str, author: &Author, time: DateTime<Utc>) -> Vec<(String, String)> {
    let day = |time: DateTime<Utc>| time.format("%Y-%m-%d").to_string();
    let by = format!("{} <{}>", author.name, author.email);
    let releases =
        format!(include_str!("../../../templates/demo/releases.toml"), day(time), by = by, released = released);
    let waiver = |item: &str, reason: &str| {
        format!(
            "[[waive]]\nrelease = \"v0.4.0\"\nitem = \"{item}\"\nreason = \"{reason}\"\nauthor = \"{by}\"\ndate = \"{}\"\n\
             commit = \"{released}\"\nexpires = \"{}\"\n",
            day(time),
            day(time + WAIVED)
        )
    };
    let ledger = [
        waiver("cpu_perf_regression", "What cannot be judged on one machine was measured by hand, and did not move"),
        waiver("events", "The drift of infer is known, and its cure is not ready"),
    ];
    vec![
        (CHECKLIST_PATH.to_owned(), CHECKLIST.to_owned()),
        (RELEASES_PATH.to_owned(), releases),
        ("ledger/v0.4.0.toml".to_owned(), ledger.join("\n")),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use sprag_model::metric::TIME;
    use sprag_model::series::slug;
    use sprag_model::{Baseline, RunStatus};

    /// The relative change of each benchmark's time against the baseline of its class.
    fn changes(folder: &Path, run: &Run) -> Vec<(String, f64)> {
        let path = folder.join(format!("baselines/cpu.{}.json", slug(&run.machine.class, 60)));
        let baseline = Baseline::from_json(&fs::read(path).unwrap()).unwrap();
        assert_eq!(baseline.environment.key, run.environment.key);
        let change = |id: String, value: f64| {
            let base = &baseline.metrics[&Baseline::key(&id, TIME)];
            (id, value / base.value - 1.0)
        };
        let measurements = run.measurements.iter();
        measurements.map(|m| change(m.benchmark.id(), m.estimate(TIME).unwrap().value)).collect()
    }

    #[test]
    fn only_planted_changes_are_present() {
        for seed in [1, 2] {
            let folder = tempfile::TempDir::new().unwrap();
            let facts = generate(folder.path(), seed, None).unwrap();
            let store = history::open(folder.path()).unwrap();
            let loaded = history::load(&store, &history::target(&store, None).unwrap()).unwrap();
            assert_eq!((loaded.quarantined.len(), &loaded.warnings[..]), (0, &[][..]));
            assert_eq!((loaded.runs.len(), loaded.tip.as_ref()), (facts.runs, Some(&facts.tip)));
            assert!((150..=195).contains(&facts.runs), "{}", facts.runs);
            let line = history::commit_line(&store, None).unwrap();
            let tags: Vec<&str> = line.commits.iter().flat_map(|commit| &commit.tags).map(String::as_str).collect();
            assert_eq!(tags, ["v0.1.0", "v0.2.0", "v0.3.0", "v0.4.0"]);
            let subjects: BTreeSet<&str> = line.commits.iter().map(|commit| commit.subject.as_str()).collect();
            assert_eq!(subjects.len(), COMMITS);
            assert_eq!((line.commits.len(), facts.commits), (COMMITS, COMMITS));
            let measured = history::measured_commit(&store).unwrap().unwrap();
            assert_eq!((&measured.sha, measured.dirty), (&line.commits[COMMITS - 1].sha, false));
            let runs = || loaded.runs.iter().map(|run| &run.run);
            let at_tip: Vec<&Run> = runs().filter(|run| run.commit.as_ref() == Some(&measured)).collect();
            assert_eq!(at_tip.len(), 3);
            for run in at_tip.iter().filter(|run| run.suite == "cpu") {
                for (benchmark, change) in changes(folder.path(), run) {
                    let planted = benchmark.starts_with("cpu/tile_pack") && benchmark.ends_with("@fast");
                    let expected = if planted { 0.12..0.2 } else { -0.05..0.05 };
                    assert!(expected.contains(&change), "seed {seed}: {benchmark} {change}");
                }
            }
            assert_eq!(runs().filter(|run| run.status == RunStatus::Skipped).count(), 1);
            let slower = &line.commits[SLOWER.position].sha[..12];
            assert!(facts.planted[0].contains(slower), "{:?}", facts.planted);
        }
    }

    #[test]
    fn the_seed_decides_everything() {
        let tip = |seed| generate(tempfile::TempDir::new().unwrap().path(), seed, None).unwrap().tip;
        let first = tip(1);
        assert_eq!(first, tip(1));
        assert_ne!(first, tip(2));
    }

    #[test]
    fn a_demo_of_today_ends_yesterday() {
        let folder = tempfile::TempDir::new().unwrap();
        let now = DateTime::from_timestamp(START + 400 * 86_400 + 12_345, 0).unwrap();
        let facts = generate(folder.path(), 1, Some(now)).unwrap();
        let store = history::open(folder.path()).unwrap();
        let loaded = history::load(&store, &history::target(&store, None).unwrap()).unwrap();
        let newest = loaded.runs.iter().map(|run| run.run.timestamp).max().unwrap();
        assert_eq!(((now.date_naive() - newest.date_naive()).num_days(), facts.commits), (1, COMMITS));
    }

    #[test]
    fn a_folder_with_something_in_it_is_refused() {
        let folder = tempfile::TempDir::new().unwrap();
        fs::write(folder.path().join("mine"), "x").unwrap();
        let error = generate(folder.path(), 1, None).unwrap_err();
        assert!(error.to_string().contains("is not empty"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(generate(&folder.path().join("mine"), 1, None).is_err());
    }
}

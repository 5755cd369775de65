//! The demo: a generated repository with half a year of code and runs, and changes planted in it.
//!
//! Everything comes from a seed: the same seed gives the same commits, down to their ids. What was planted, and where,
//! is told, so that anybody can hold what Sprag finds against it.

mod files;
mod machines;
mod planted;
mod project;
mod runs;

use std::fs;
use std::path::Path;

use crate::error::Context as _;
use chrono::{DateTime, Datelike, Utc};

use crate::Error;
use sprag_history::{self as history, Author, NewCommit, Record, Store};
use sprag_model::commit::Commit;
use sprag_model::run::Run;

use self::project::{BASELINES, Change, LISTED, Project, RELEASED};
use self::runs::Recorder;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoFacts {
    pub commits: usize,
    pub runs: usize,
    /// The newest commit, which is one that records runs.
    pub tip: String,
    pub planted: Vec<String>,
}

/// Generates the repository in `folder`, which must be empty or absent.
pub fn generate(folder: &Path, seed: u64) -> crate::Result<DemoFacts> {
    refuse_unless_empty(folder)?;
    let author = Author { name: "Sprag Demo".to_owned(), email: "demo@example.org".to_owned() };
    let store = history::create(folder, &author)?;
    let mut recorder = Recorder::new(seed);
    let mut commits: Vec<Commit> = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    for (position, change) in Project::new(seed).changes().into_iter().enumerate() {
        let files = match position {
            BASELINES => files::baselines(&runs, &change.author, change.time)?,
            LISTED => files::release(&commits[RELEASED].sha, &change.author, change.time),
            _ => Vec::new(),
        };
        let commit = commit_code(&store, change, files, commits.last())?;
        runs.extend(recorder.measure(position, &commit));
        commits.push(commit);
    }
    runs.sort_by_key(|run| run.timestamp);
    let tip = record(&store, &runs)?;
    history::check_out(&store)?;
    Ok(DemoFacts { commits: commits.len(), runs: runs.len(), tip, planted: planted::sentences(&commits) })
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

/// Appends the runs, which are in order of time, one commit a month; gives the newest.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use sprag_model::baseline::Baseline;
    use sprag_model::metric::TIME;
    use sprag_model::run::RunStatus;
    use sprag_model::series::slug;

    /// The newest run of a machine against the baseline of its class: the relative change of each benchmark's time.
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
    fn what_was_planted_is_there_and_nothing_else() {
        for seed in [1, 2] {
            let folder = tempfile::TempDir::new().unwrap();
            let facts = generate(folder.path(), seed).unwrap();
            let store = history::open(folder.path()).unwrap();
            let loaded = history::load(&store, &history::target(&store, None).unwrap()).unwrap();
            assert_eq!((loaded.quarantined.len(), &loaded.warnings[..]), (0, &[][..]));
            assert_eq!((loaded.runs.len(), loaded.tip.as_ref()), (facts.runs, Some(&facts.tip)));
            assert!((150..=195).contains(&facts.runs), "{}", facts.runs);
            let line = history::commit_line(&store, None).unwrap();
            assert_eq!((line.commits.len(), facts.commits), (planted::COMMITS, planted::COMMITS));
            let tags: Vec<&str> = line.commits.iter().flat_map(|commit| &commit.tags).map(String::as_str).collect();
            assert_eq!(tags, ["v0.1.0", "v0.2.0", "v0.3.0", "v0.4.0"]);
            let subjects: BTreeSet<&str> = line.commits.iter().map(|commit| commit.subject.as_str()).collect();
            assert_eq!(subjects.len(), planted::COMMITS);
            let measured = history::measured_commit(&store).unwrap().unwrap();
            assert_eq!((&measured.sha, measured.dirty), (&line.commits[planted::COMMITS - 1].sha, false));
            let at_tip: Vec<&Run> =
                loaded.runs.iter().map(|run| &run.run).filter(|run| run.commit == Some(measured.clone())).collect();
            assert_eq!(at_tip.len(), 3);
            for run in at_tip.iter().filter(|run| run.suite == "cpu") {
                for (benchmark, change) in changes(folder.path(), run) {
                    let planted = benchmark.starts_with("cpu/tile_pack") && benchmark.ends_with("@fast");
                    let expected = if planted { 0.12..0.2 } else { -0.05..0.05 };
                    assert!(expected.contains(&change), "seed {seed}: {benchmark} {change}");
                }
            }
            let skipped = loaded.runs.iter().filter(|run| run.run.status == RunStatus::Skipped).count();
            assert_eq!(skipped, 1);
            assert!(
                facts.planted[0].contains(&line.commits[planted::SLOWER.position].sha[..12]),
                "{:?}",
                facts.planted
            );
        }
    }

    #[test]
    fn the_seed_decides_everything() {
        let tip = |seed| generate(tempfile::TempDir::new().unwrap().path(), seed).unwrap().tip;
        let first = tip(1);
        assert_eq!(first, tip(1));
        assert_ne!(first, tip(2));
    }

    #[test]
    fn a_folder_with_something_in_it_is_refused() {
        let folder = tempfile::TempDir::new().unwrap();
        fs::write(folder.path().join("mine"), "x").unwrap();
        let error = generate(folder.path(), 1).unwrap_err();
        assert!(error.to_string().contains("is not empty"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(generate(&folder.path().join("mine"), 1).is_err());
    }
}

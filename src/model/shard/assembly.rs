//! Assembles the runs of shards: finds the sets that are complete, and merges each into one run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::{MERGED, OCCUPIED, SHARD, Shard};
use crate::{Benchmark, Measurement, Quality, RecordedRun, Run, RunHead, RunStatus, run};

#[derive(Debug, Default)]
pub struct Assembly<'a> {
    /// Oldest first.
    pub complete: Vec<CompleteRun<'a>>,
    /// Oldest first.
    pub incomplete: Vec<IncompleteRun>,
}

/// A run of a full suite: one record, or the newest of each shard.
#[derive(Clone, Debug)]
pub struct CompleteRun<'a> {
    divided: bool,
    members: Vec<&'a RunHead>,
}

/// A set of shards of which some are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncompleteRun {
    pub suite: String,
    /// Abbreviated; absent where the runs have none.
    pub commit: Option<String>,
    /// The time of the newest run.
    pub newest: DateTime<Utc>,
    pub missing: Vec<Shard>,
}

/// Sorts runs into complete ones and incomplete sets of shards, without filtered runs.
///
/// The shards of a set have the same suite, commit, machine, environment key and division; the newest run of each counts.
pub fn assemble<'a>(runs: impl IntoIterator<Item = &'a RunHead>) -> Assembly<'a> {
    let mut assembly = Assembly::default();
    let mut sets: BTreeMap<_, BTreeMap<Shard, &RunHead>> = BTreeMap::new();
    for run in runs {
        if run::is_filtered(&run.config) {
            continue;
        }
        let Some(shard) = Shard::from_config(&run.config) else {
            // A run whose shard cannot be read belongs to no set, and is not complete.
            if !run::is_partial(&run.config) {
                assembly.complete.push(CompleteRun::undivided(run));
            }
            continue;
        };
        let commit = run.commit.as_ref().map(|commit| (&commit.sha, commit.dirty));
        let key = (&run.suite, commit, &run.machine.id, &run.environment.key, shard.count(), needed(run, shard));
        let newest = sets.entry(key).or_default().entry(shard).or_insert(run);
        if run.age() > newest.age() {
            *newest = run;
        }
    }
    for ((suite, _, _, _, count, needed), set) in sets {
        let present: BTreeSet<u32> = set.keys().map(|shard| shard.index()).collect();
        let missing: Vec<Shard> = needed.difference(&present).map(|&index| Shard { index, count }).collect();
        let complete = CompleteRun { divided: count > 1, members: set.into_values().collect() };
        if missing.is_empty() {
            assembly.complete.push(complete);
        } else {
            let newest = complete.newest();
            assembly.incomplete.push(IncompleteRun {
                suite: suite.clone(),
                commit: newest.commit.as_ref().map(|commit| commit.short().to_owned()),
                newest: newest.timestamp,
                missing,
            });
        }
    }
    assembly.complete.sort_by(|a, b| a.newest().age().cmp(&b.newest().age()));
    assembly.incomplete.sort_by_key(|set| set.newest);
    assembly
}

impl IncompleteRun {
    /// Such as `the shards 2/4, 3/4 of cpu at 0123456789ab are missing`.
    pub fn sentence(&self) -> String {
        let commit = self.commit.as_deref().unwrap_or("no commit");
        let list: Vec<String> = self.missing.iter().map(Shard::to_string).collect();
        let (word, verb) = if list.len() == 1 { ("shard", "is") } else { ("shards", "are") };
        format!("the {word} {} of {} at {commit} {verb} missing", list.join(", "), self.suite)
    }
}

impl<'a> CompleteRun<'a> {
    pub fn undivided(run: &'a RunHead) -> CompleteRun<'a> {
        CompleteRun { divided: false, members: vec![run] }
    }

    pub fn members(&self) -> &[&'a RunHead] {
        &self.members
    }

    /// The newest member, whose id and time a merged run has.
    pub fn newest(&self) -> &'a RunHead {
        self.members.iter().max_by_key(|one| one.age()).expect("a whole run has a member")
    }

    /// The run of the full suite, made of the records of its members; absent where one of those is not given.
    ///
    /// Benchmarks are sorted; of a benchmark that two shards measured, such as a control, the newer one counts. Settings are
    /// those on which all members agree. It is `ok` or `skipped` only where every shard is.
    pub fn run<'r>(&self, records: &'r [RecordedRun]) -> Option<Cow<'r, Run>> {
        let mut by_age = self.members.clone();
        by_age.sort_by(|a, b| a.age().cmp(&b.age()));
        let record = |head: &&RunHead| records.iter().find(|one| one.path == head.path).map(|one| &one.run);
        let runs: Vec<&'r Run> = by_age.iter().map(record).collect::<Option<_>>()?;
        Some(match runs[..] {
            [only] if !self.divided => Cow::Borrowed(only),
            _ => Cow::Owned(self.merge(&runs)),
        })
    }

    /// Merges the runs of all members, given oldest first.
    fn merge(&self, runs: &[&Run]) -> Run {
        let newest = runs[runs.len() - 1];
        let measurements: BTreeMap<&Benchmark, &Measurement> =
            runs.iter().flat_map(|run| &run.measurements).map(|one| (&*one.benchmark, one)).collect();
        let agreed = |(key, value): (&String, &Value)| {
            let same = runs.iter().all(|run| run.config.get(key) == Some(value));
            (same && key != SHARD && key != OCCUPIED).then(|| (key.clone(), value.clone()))
        };
        let mut config: BTreeMap<String, Value> = newest.config.iter().filter_map(agreed).collect();
        config.insert(MERGED.to_owned(), Value::from(runs.len()));
        let mut autotune: Vec<Value> = Vec::new();
        for choice in runs.iter().flat_map(|run| &run.autotune) {
            if !autotune.contains(choice) {
                autotune.push(choice.clone());
            }
        }
        let (status, reason) = self.status();
        Run {
            suite: newest.suite.clone(),
            timestamp: newest.timestamp,
            commit: newest.commit.clone(),
            machine: newest.machine.clone(),
            environment: newest.environment.clone(),
            config,
            status,
            reason,
            quality: self.quality(),
            measurements: measurements.into_values().cloned().collect(),
            autotune,
        }
    }

    /// The common status of all, else `failed`, as part of the suite did not run.
    fn status(&self) -> (RunStatus, Option<String>) {
        let first = self.newest().status;
        let agreed = self.members.iter().all(|one| one.status == first);
        let reason = |one: &&'a RunHead| one.reason.as_deref().unwrap_or("no reason given");
        let unfinished = self.members.iter().filter(|one| one.status != RunStatus::Ok);
        let reasons = self.attributed(unfinished.map(|one| (*one, reason(one))).collect());
        let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        (if agreed { first } else { RunStatus::Failed }, reason)
    }

    fn quality(&self) -> Quality {
        let reasons = |one: &&'a RunHead| {
            let head: &'a RunHead = one;
            head.quality.reasons.iter().map(move |reason| (head, reason.as_str()))
        };
        let clean = self.members.iter().all(|one| one.quality.clean);
        Quality { clean, reasons: self.attributed(self.members.iter().flat_map(reasons).collect()) }
    }

    /// Reasons with the names of their shards; a reason of all members occurs once, without a name.
    fn attributed(&self, reasons: Vec<(&RunHead, &str)>) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for (head, reason) in &reasons {
            let is_common = reasons.iter().filter(|(_, other)| other == reason).count() >= self.members.len();
            let text = match Shard::from_config(&head.config) {
                Some(shard) if !is_common => format!("shard {shard}: {reason}"),
                _ => (*reason).to_owned(),
            };
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }
}

/// The shards with a benchmark, or all where the run does not list them: those of which a record is needed.
fn needed(run: &RunHead, shard: Shard) -> BTreeSet<u32> {
    let listed = run.config.get(OCCUPIED).and_then(|list| BTreeSet::<u32>::deserialize(list).ok());
    let fits = |list: &BTreeSet<u32>| {
        list.contains(&shard.index()) && list.iter().all(|index| (1..=shard.count()).contains(index))
    };
    listed.filter(fits).unwrap_or_else(|| (1..=shard.count()).collect())
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use proptest::prelude::*;

    use super::*;
    use crate::run::FILTER;
    use crate::{Environment, Machine};

    fn measurement(name: &str) -> Measurement {
        Measurement::new(Benchmark::new("cpu", name, &[], "fast").expect("the name is a word"), Vec::new())
    }

    /// The run of one shard of a suite of six benchmarks and a control that every shard has.
    fn shard(index: u64, count: u64, hour: u32) -> RecordedRun {
        let shard = Shard::new(index, count).expect("the numbers fit");
        let all = ["a", "b", "c", "d", "e", "f"].map(measurement);
        let occupied = shard.occupied(all.iter().map(|one| &*one.benchmark));
        let mut measurements: Vec<Measurement> = all.into_iter().filter(|one| shard.holds(&one.benchmark)).collect();
        let mut control = measurement("control");
        control.attributes.insert("of".to_owned(), format!("{shard} at {hour}"));
        measurements.push(control);
        let time = Utc.with_ymd_and_hms(2026, 11, 20, hour, 0, 0).single().expect("a time");
        let config = BTreeMap::from_iter(shard.settings(&occupied));
        Run { config, measurements, ..Run::new("cpu", time, Machine::named("m", "CPU")) }.into()
    }

    /// All shards that have anything besides the control.
    fn set(count: u64, hour: u32) -> Vec<RecordedRun> {
        (1..=count).map(|index| shard(index, count, hour)).filter(|one| one.run.measurements.len() > 1).collect()
    }

    fn heads(runs: &[RecordedRun]) -> Vec<RunHead> {
        runs.iter().map(RunHead::new).collect()
    }

    fn merged(runs: &[RecordedRun]) -> Option<Run> {
        match &assemble(&heads(runs)).complete[..] {
            [one] => Some(one.run(runs).expect("all records are given").into_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_complete_set_of_shards_is_one_run() {
        for count in [1, 2, 3, 4, 20] {
            let runs = set(count, 1);
            let mut run = merged(&runs).expect("none is missing");
            run.measurements.sort_by(|a, b| a.benchmark.cmp(&b.benchmark));
            let names: Vec<&str> = run.measurements.iter().map(|one| one.benchmark.name.as_str()).collect();
            assert_eq!(names, ["a", "b", "c", "control", "d", "e", "f"], "{count}");
            assert!(!run.is_partial() && runs.iter().all(|one| one.run.is_partial() == (count > 1)));
            assert_eq!(run.config.contains_key(SHARD), count == 1);
        }
    }

    #[test]
    fn the_newest_of_each_shard_counts() {
        let mut runs = set(2, 1);
        runs.push(shard(1, 2, 5));
        let heads = heads(&runs);
        let assembly = assemble(&heads);
        assert_eq!(assembly.complete[0].newest().id, runs[2].id);
        assert_eq!(assembly.complete[0].run(&runs[..1]), None);
        let run = merged(&runs).expect("none is missing");
        let control = run.measurements.iter().find(|one| one.benchmark.name == "control");
        assert_eq!(control.map(|one| one.attributes["of"].as_str()), Some("1/2 at 5"));
    }

    #[test]
    fn runs_of_different_sets_are_not_merged() {
        let check = |change: fn(&mut Run), expected: &str| {
            let mut runs = set(2, 1);
            change(&mut runs[1].run);
            let heads = heads(&runs);
            let assembly = assemble(&heads);
            assert!(assembly.complete.is_empty());
            let sentences: Vec<String> = assembly.incomplete.iter().map(IncompleteRun::sentence).collect();
            assert!(sentences.iter().any(|one| one == expected), "{sentences:?}");
        };
        let (first, second) =
            ("the shard 1/2 of cpu at no commit is missing", "the shard 2/2 of cpu at no commit is missing");
        check(|run| run.suite = "gpu".to_owned(), "the shard 1/2 of gpu at no commit is missing");
        check(|run| run.machine = Machine::named("n", "CPU"), second);
        check(|run| run.environment = Environment::from_facts(BTreeMap::from([("libc".into(), "musl".into())])), first);
        check(|run| drop(run.config.insert(SHARD.to_owned(), Value::from("7/2"))), second);
        let mut filtered = set(2, 1);
        for one in &mut filtered {
            one.run.config.insert(FILTER.to_owned(), Value::from(vec!["a"]));
        }
        let heads = heads(&filtered);
        assert!(assemble(&heads).complete.is_empty() && assemble(&heads).incomplete.is_empty());
    }

    #[test]
    fn a_failed_shard_fails_the_suite() {
        let mut runs = set(2, 1);
        runs[0].run.quality = Quality { clean: false, reasons: vec!["busy".into(), "rough".into()] };
        runs[1].run.quality = Quality { clean: false, reasons: vec!["busy".into()] };
        let run = merged(&runs).expect("none is missing");
        assert_eq!((run.status, run.quality.reasons), (RunStatus::Ok, vec!["busy".into(), "shard 1/2: rough".into()]));
        for (place, status, reason) in
            [(1, RunStatus::Failed, "shard 2/2: no such device"), (0, RunStatus::Skipped, "no such device")]
        {
            runs[place].run.status = RunStatus::Skipped;
            runs[place].run.reason = Some("no such device".into());
            let run = merged(&runs).expect("none is missing");
            assert_eq!((run.status, run.reason.as_deref()), (status, Some(reason)));
        }
    }

    proptest! {
        #[test]
        fn merging_is_a_set_union(
            count in 1_u64..9, order in proptest::collection::vec(any::<u32>(), 24), twice in any::<u32>(), lost in any::<usize>(),
        ) {
            let runs = set(count, 1);
            let expected = merged(&runs);
            prop_assert!(expected.is_some());
            // Repeated runs and another order give the same.
            let repeated = runs.iter().enumerate().filter(|(place, _)| twice >> place & 1 == 1).map(|(_, one)| one);
            let mut keyed: Vec<(u32, &RecordedRun)> = order.into_iter().zip(runs.iter().chain(repeated)).collect();
            keyed.sort_by_key(|(key, _)| *key);
            let shuffled: Vec<RecordedRun> = keyed.into_iter().map(|(_, one)| one.clone()).collect();
            prop_assert_eq!(merged(&shuffled), expected);
            // A lost run is named.
            let lost = &runs[lost % runs.len()];
            let rest: Vec<RecordedRun> = runs.iter().filter(|one| one.id != lost.id).cloned().collect();
            let heads = heads(&rest);
            let assembly = assemble(&heads);
            prop_assert!(assembly.complete.is_empty());
            if !rest.is_empty() {
                prop_assert_eq!(assembly.incomplete[0].missing.first().copied(), Shard::from_config(&lost.run.config));
                prop_assert_eq!(assembly.incomplete[0].missing.len(), 1);
            }
        }
    }
}

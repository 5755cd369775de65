//! Putting the runs of shards together: which belong to one set, which are missing, and the whole run they make.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{MERGED, OCCUPIED, SHARD, Shard};
use crate::benchmark::Benchmark;
use crate::head::RunHead;
use crate::run::{self, Quality, RecordedRun, Run, RunStatus};
use crate::sample::Measurement;

#[derive(Debug, Default)]
pub struct Assembly<'a> {
    /// Runs of whole suites, divided or not, oldest first.
    pub whole: Vec<CompleteRun<'a>>,
    /// Sets of shards of which some are missing, oldest first.
    pub incomplete: Vec<IncompleteRun>,
}

/// A run of a whole suite: one record, or the newest of each shard.
#[derive(Clone, Debug)]
pub struct CompleteRun<'a> {
    divided: bool,
    members: Vec<&'a RunHead>,
}

/// A set of shards of which some are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncompleteRun {
    pub suite: String,
    /// The start of the commit's name; absent where the runs name none.
    pub commit: Option<String>,
    /// When the newest of its runs began.
    pub newest: DateTime<Utc>,
    pub missing: Vec<Shard>,
}

/// Sorts runs into whole ones and incomplete sets of shards. Runs of some benchmarks only (`--filter`) are neither.
///
/// Shards are of one set where suite, commit, machine, environment key and division are equal; of each shard the
/// newest run counts.
pub fn assemble<'a>(runs: impl IntoIterator<Item = &'a RunHead>) -> Assembly<'a> {
    let mut assembly = Assembly::default();
    let mut sets: BTreeMap<_, BTreeMap<Shard, &RunHead>> = BTreeMap::new();
    for run in runs {
        if run::is_filtered(&run.config) {
            continue;
        }
        let Some(shard) = Shard::from_config(&run.config) else {
            // A shard that cannot be read is of no set, and no whole run either.
            if !run::is_partial(&run.config) {
                assembly.whole.push(CompleteRun::undivided(run));
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
        let missing: Vec<Shard> =
            needed.difference(&present).filter_map(|index| Shard::new((*index).into(), count.into()).ok()).collect();
        let whole = CompleteRun { divided: count > 1, members: set.into_values().collect() };
        if missing.is_empty() {
            assembly.whole.push(whole);
        } else {
            let newest = whole.newest();
            assembly.incomplete.push(IncompleteRun {
                suite: suite.clone(),
                commit: newest.commit.as_ref().map(|commit| commit.short().to_owned()),
                newest: newest.timestamp,
                missing,
            });
        }
    }
    assembly.whole.sort_by(|a, b| a.newest().age().cmp(&b.newest().age()));
    assembly.incomplete.sort_by_key(|set| set.newest);
    assembly
}

impl IncompleteRun {
    /// What is missing, in words: `the shards 2/4, 3/4 of cpu at 0123456789ab are missing`.
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

    /// The newest of them: a merged run goes by its id and time.
    pub fn newest(&self) -> &'a RunHead {
        self.members.iter().max_by_key(|one| one.age()).expect("a whole run has a member")
    }

    /// The run of the whole suite, made of the records of its members; absent where one of those is not given.
    ///
    /// Benchmarks are united and sorted; where two shards measured the same one (a control, say), the newer counts.
    /// Settings are those on which all agree. It is `ok` or `skipped` only where every shard is.
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

    /// Unites the runs of all members, oldest first.
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

    /// One status where all agree. Else it failed: part of the suite did not run.
    fn status(&self) -> (RunStatus, Option<String>) {
        let first = self.newest().status;
        let agreed = self.members.iter().all(|one| one.status == first);
        let reasons: Vec<(String, &str)> = self
            .members
            .iter()
            .filter(|one| one.status != RunStatus::Ok)
            .map(|one| (name(one), one.reason.as_deref().unwrap_or("no reason given")))
            .collect();
        let reason = (!reasons.is_empty()).then(|| attributed(&reasons, self.members.len()).join("; "));
        (if agreed { first } else { RunStatus::Failed }, reason)
    }

    fn quality(&self) -> Quality {
        let reasons: Vec<(String, &str)> = self
            .members
            .iter()
            .flat_map(|one| one.quality.reasons.iter().map(|reason| (name(one), reason.as_str())))
            .collect();
        let clean = self.members.iter().all(|one| one.quality.clean);
        Quality { clean, reasons: attributed(&reasons, self.members.len()) }
    }
}

fn name(run: &RunHead) -> String {
    Shard::from_config(&run.config).map_or_else(String::new, |shard| format!("shard {shard}"))
}

/// Reasons with the shards that gave them; what all of them say stands once, without a name.
fn attributed(reasons: &[(String, &str)], members: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for (name, reason) in reasons {
        let same = reasons.iter().filter(|(_, other)| other == reason).count();
        let text = if same >= members { (*reason).to_owned() } else { format!("{name}: {reason}") };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// The places of which a record is needed: those that hold a benchmark, or all where the run does not say.
fn needed(run: &RunHead, shard: Shard) -> BTreeSet<u32> {
    let numbers = |list: &Vec<Value>| -> Option<BTreeSet<u32>> {
        list.iter().map(|one| one.as_u64().and_then(|number| u32::try_from(number).ok())).collect()
    };
    let listed = run.config.get(OCCUPIED).and_then(Value::as_array).and_then(numbers);
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
    use crate::benchmark::{Parity, ParityStatus};
    use crate::environment::{Environment, Machine};
    use crate::run::FILTER;

    fn measurement(name: &str) -> Measurement {
        Measurement {
            benchmark: Benchmark::new("cpu", name, &[], "fast").expect("the name is a word").into(),
            role: Default::default(),
            attributes: BTreeMap::new(),
            parity: Parity { status: ParityStatus::Exact, max_abs_error: None, tolerance: None },
            estimates: Vec::new(),
            failure: None,
        }
    }

    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    /// The run of one shard of a suite of six benchmarks and a control that every shard has.
    fn shard(index: u64, count: u64, hour: u32) -> RecordedRun {
        let shard = Shard::new(index, count).expect("the numbers fit");
        let all: Vec<Measurement> = NAMES.iter().map(|name| measurement(name)).collect();
        let occupied = shard.occupied(all.iter().map(|one| &*one.benchmark));
        let mut measurements: Vec<Measurement> = all.into_iter().filter(|one| shard.holds(&one.benchmark)).collect();
        let mut control = measurement("control");
        control.attributes.insert("of".to_owned(), format!("{shard} at {hour}"));
        measurements.push(control);
        recorded(Run {
            suite: "cpu".to_owned(),
            timestamp: Utc.with_ymd_and_hms(2026, 11, 20, hour, 0, 0).single().expect("a time"),
            commit: None,
            machine: Machine::named("m", "CPU"),
            environment: Environment::from_facts(BTreeMap::new()),
            config: BTreeMap::from_iter(shard.settings(&occupied)),
            status: RunStatus::Ok,
            reason: None,
            quality: Quality { clean: true, reasons: Vec::new() },
            measurements,
            autotune: Vec::new(),
        })
    }

    fn recorded(run: Run) -> RecordedRun {
        let (id, path, _) = run.to_record();
        RecordedRun { path, id, run }
    }

    /// All shards that hold anything: the control alone is no reason for a record.
    fn set(count: u64, hour: u32) -> Vec<RecordedRun> {
        (1..=count).map(|index| shard(index, count, hour)).filter(|one| one.run.measurements.len() > 1).collect()
    }

    fn heads(runs: &[RecordedRun]) -> Vec<RunHead> {
        runs.iter().map(RunHead::new).collect()
    }

    fn only_whole(runs: &[RecordedRun]) -> Option<Run> {
        match &assemble(&heads(runs)).whole[..] {
            [one] => Some(one.run(runs).expect("all records are given").into_owned()),
            _ => None,
        }
    }

    fn names(run: &Run) -> Vec<&str> {
        run.measurements.iter().map(|one| one.benchmark.name.as_str()).collect()
    }

    #[test]
    fn a_set_of_shards_is_a_whole_run() {
        for count in [1, 2, 3, 4, 20] {
            let runs = set(count, 1);
            let mut whole = only_whole(&runs).expect("none is missing");
            whole.measurements.sort_by(|a, b| a.benchmark.cmp(&b.benchmark));
            assert_eq!(names(&whole), ["a", "b", "c", "control", "d", "e", "f"], "{count}");
            assert!(!whole.is_partial() && runs.iter().all(|one| one.run.is_partial() == (count > 1)));
            assert_eq!(whole.config.contains_key(SHARD), count == 1);
        }
    }

    #[test]
    fn the_newest_of_each_shard_counts() {
        let mut runs = set(2, 1);
        runs.push(shard(1, 2, 5));
        let heads = heads(&runs);
        let assembly = assemble(&heads);
        assert_eq!(assembly.whole[0].newest().id, runs[2].id);
        assert_eq!(assembly.whole[0].run(&runs[..1]), None);
        let whole = only_whole(&runs).expect("none is missing");
        let control = whole.measurements.iter().find(|one| one.benchmark.name == "control").cloned();
        assert_eq!(control.map(|one| one.attributes["of"].clone()).as_deref(), Some("1/2 at 5"));
    }

    #[test]
    fn what_is_not_of_one_set_is_not_merged() {
        let check = |change: fn(&mut Run), expected: &str| {
            let mut runs = set(2, 1);
            change(&mut runs[1].run);
            let heads = heads(&runs);
            let assembly = assemble(&heads);
            assert!(assembly.whole.is_empty());
            let sentences: Vec<String> = assembly.incomplete.iter().map(IncompleteRun::sentence).collect();
            assert!(sentences.iter().any(|one| one == expected), "{sentences:?}");
        };
        check(|run| run.suite = "gpu".to_owned(), "the shard 1/2 of gpu at no commit is missing");
        check(|run| run.machine = Machine::named("n", "CPU"), "the shard 2/2 of cpu at no commit is missing");
        check(
            |run| run.environment = Environment::from_facts(BTreeMap::from([("libc".into(), "musl".into())])),
            "the shard 1/2 of cpu at no commit is missing",
        );
        let filter = |run: &mut Run| run.config.insert(FILTER.to_owned(), Value::from(vec!["a"]));
        check(
            |run| drop(run.config.insert(SHARD.to_owned(), Value::from("7/2"))),
            "the shard 2/2 of cpu at no commit is missing",
        );
        let mut filtered = set(2, 1);
        filtered.iter_mut().for_each(|one| drop(filter(&mut one.run)));
        let heads = heads(&filtered);
        assert!(assemble(&heads).whole.is_empty() && assemble(&heads).incomplete.is_empty());
    }

    #[test]
    fn a_shard_that_failed_fails_the_whole() {
        let mut runs = set(2, 1);
        runs[0].run.quality = Quality { clean: false, reasons: vec!["busy".into(), "rough".into()] };
        runs[1].run.quality = Quality { clean: false, reasons: vec!["busy".into()] };
        let whole = only_whole(&runs).expect("none is missing");
        assert_eq!(
            (whole.status, whole.quality.reasons),
            (RunStatus::Ok, vec!["busy".into(), "shard 1/2: rough".into()])
        );
        runs[1].run.status = RunStatus::Skipped;
        runs[1].run.reason = Some("no such device".into());
        let whole = only_whole(&runs).expect("none is missing");
        assert_eq!(whole.status, RunStatus::Failed);
        assert_eq!(whole.reason.as_deref(), Some("shard 2/2: no such device"));
        runs[0].run.status = RunStatus::Skipped;
        runs[0].run.reason = Some("no such device".into());
        let whole = only_whole(&runs).expect("none is missing");
        assert_eq!((whole.status, whole.reason.as_deref()), (RunStatus::Skipped, Some("no such device")));
    }

    proptest! {
        #[test]
        fn merging_is_a_set_union(
            count in 1_u64..9, order in proptest::collection::vec(any::<u32>(), 24), twice in any::<u32>(), lost in any::<usize>(),
        ) {
            let runs = set(count, 1);
            let whole = only_whole(&runs);
            prop_assert!(whole.is_some());
            // Some of them twice, in any order: the same.
            let mut shuffled: Vec<RecordedRun> = runs.clone();
            shuffled.extend(runs.iter().enumerate().filter(|(place, _)| twice >> place & 1 == 1).map(|(_, one)| one.clone()));
            let mut keyed: Vec<(u32, RecordedRun)> = order.into_iter().zip(shuffled).collect();
            keyed.sort_by_key(|(key, _)| *key);
            let shuffled: Vec<RecordedRun> = keyed.into_iter().map(|(_, one)| one).collect();
            prop_assert_eq!(only_whole(&shuffled), whole);
            // One lost: none, and the lost one is named.
            let lost = &runs[lost % runs.len()];
            let rest: Vec<RecordedRun> = runs.iter().filter(|one| one.id != lost.id).cloned().collect();
            let heads = heads(&rest);
            let assembly = assemble(&heads);
            prop_assert!(assembly.whole.is_empty());
            if !rest.is_empty() {
                prop_assert_eq!(&assembly.incomplete[0].missing, &Shard::from_config(&lost.run.config).into_iter().collect::<Vec<_>>());
            }
        }
    }
}

//! What surrounded a run: the facts of its environment and the settings of the protocol, as far as they differ from those of the
//! run of its suite before it on its machine.
//!
//! Only an older run takes part, so that a page stays as it is whatever is measured later. All facts and settings of the newest
//! runs stand on the page of the machine.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::catalog::Catalog;
use crate::date;
use crate::number;
use sprag_base::json;
use sprag_model::environment::KEY_FACTS;
use sprag_model::head::RunHead;
use sprag_model::run::RecordedRun;

/// What surrounded a run.
pub(super) struct Surroundings {
    /// The key, and whether anything differs.
    pub(super) words: String,
    /// What the rows are held against.
    pub(super) note: String,
    /// What differs, or all of it where there was no run before.
    pub(super) rows: Vec<FactRow>,
    /// Whether there was a run before.
    pub(super) has_before: bool,
}

/// A fact or a setting.
pub(super) struct FactRow {
    pub(super) name: String,
    /// What it was in the run before.
    pub(super) was: String,
    pub(super) is: String,
    /// Whether the key covers it.
    pub(super) counts: bool,
}

pub(super) fn surroundings(catalog: &Catalog<'_>, recorded: &RecordedRun) -> Surroundings {
    let run = &recorded.run;
    let before = before(catalog, &run.machine.id, &run.suite, (run.timestamp, &recorded.id));
    let none = (BTreeMap::new(), BTreeMap::new());
    let (facts, config) = before.map_or((&none.0, &none.1), |head| (&head.environment.facts, &head.config));
    let mut rows = facts_that_differ(facts, &run.environment.facts);
    rows.extend(settings_that_differ(config, &run.config));
    let key = &run.environment.key;
    let (words, note) = match before {
        None => (
            "the first run of its suite there, see below",
            "There was no run of its suite on this machine before.".to_owned(),
        ),
        Some(before) => {
            let words = match (before.environment.key == *key, rows.is_empty()) {
                (true, true) => "all facts and settings as in the run before",
                (true, false) => "as in the run before; what else differs stands below",
                (false, _) => "not that of the run before, see below",
            };
            let time = date::moment(before.timestamp);
            (words, format!("What differs from the run before it of its suite on this machine, of {time}."))
        }
    };
    Surroundings { words: format!("Environment {key}: {words}."), note, rows, has_before: before.is_some() }
}

/// The run of that suite before a run of that age on its machine.
pub(super) fn before<'a>(
    catalog: &Catalog<'a>,
    machine: &str,
    suite: &str,
    age: (DateTime<Utc>, &str),
) -> Option<&'a RunHead> {
    let newest_first = &catalog.machines.get(machine)?.runs;
    let older = &newest_first[newest_first.partition_point(|head| head.timestamp > age.0)..];
    let of_suite = || older.iter().copied().filter(|head| head.suite == suite && head.age() < age);
    let newest = of_suite().next()?.timestamp;
    of_suite().take_while(|head| head.timestamp == newest).max_by_key(|head| head.age())
}

/// The facts that differ, those of the key first.
fn facts_that_differ(was: &BTreeMap<String, String>, is: &BTreeMap<String, String>) -> Vec<FactRow> {
    let row = |row: FactRow| FactRow {
        counts: KEY_FACTS.contains(&row.name.as_str()),
        name: row.name.replace('_', " "),
        ..row
    };
    let mut rows: Vec<FactRow> = differing(was, is, String::clone).map(row).collect();
    rows.sort_by_key(|row| !row.counts);
    rows
}

fn settings_that_differ(was: &BTreeMap<String, Value>, is: &BTreeMap<String, Value>) -> Vec<FactRow> {
    differing(was, is, json::to_canonical).collect()
}

/// A row for each name that has another value, or a value in one of them alone.
fn differing<'a, T: PartialEq>(
    was: &'a BTreeMap<String, T>,
    is: &'a BTreeMap<String, T>,
    text: impl Fn(&T) -> String + 'a,
) -> impl Iterator<Item = FactRow> + 'a {
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let differ = names.into_iter().filter(|name| was.get(*name) != is.get(*name));
    differ.map(move |name| {
        let of = |values: &BTreeMap<String, T>| values.get(name).map_or_else(|| number::NONE.to_owned(), &text);
        FactRow { name: name.clone(), was: of(was), is: of(is), counts: false }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;

    #[test]
    fn a_run_is_held_against_the_one_before_it() {
        let sample = sample_data::rich();
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let of = |run: &RecordedRun| {
            let Surroundings { words, note, rows, has_before } = surroundings(&catalog, run);
            let names: Vec<String> =
                rows.iter().map(|row| format!("{} {} {} {}", row.name, row.was, row.is, row.counts)).collect();
            (format!("{words} {note}"), names, has_before)
        };
        let mut runs: Vec<&RecordedRun> = sample.runs.iter().filter(|run| run.run.suite == "cpu").collect();
        let machine = runs[1].run.machine.id.clone();
        runs.retain(|run| run.run.machine.id == machine);
        runs.sort_by_key(|run| run.run.timestamp);
        let (words, rows, has_before) = of(runs[0]);
        assert!(words.contains("the first run of its suite there") && !has_before, "{words}");
        assert_eq!(rows.len(), runs[0].run.environment.facts.len() + runs[0].run.config.len());
        let (words, rows, _) = of(runs[1]);
        assert!(words.contains(": as in the run before; what else differs"), "{words}");
        assert!(words.contains("of its suite on this machine, of 2\u{202f}Mar 2026"), "{words}");
        assert_eq!(rows, ["load 1m 0.0 0.1 false"]);
        let mut alike = runs[1].clone();
        alike.run.environment = runs[0].run.environment.clone();
        let (words, rows, _) = of(&alike);
        assert!(words.contains("all facts and settings as in the run before."), "{words}");
        assert!(rows.is_empty(), "{rows:?}");
        let changed = runs.windows(2).find(|pair| pair[0].run.environment.key != pair[1].run.environment.key);
        let (words, rows, _) = of(changed.expect("its compiler changed")[1]);
        assert!(words.contains("not that of the run before"), "{words}");
        assert!(rows.len() == 2 && rows[0].starts_with("compiler ") && rows[0].ends_with(" true"), "{rows:?}");
    }

    #[test]
    fn of_runs_that_began_at_one_time_each_has_another_one_before_it() {
        let mut sample = sample_data::rich();
        let like = sample.runs.iter().max_by_key(|run| run.run.timestamp).expect("it has runs").clone();
        let later = like.run.timestamp + chrono::Duration::days(1);
        for (number, suite) in ["one", "other", "one", "one", "other"].into_iter().enumerate() {
            let mut run = like.clone();
            (run.id, run.run.suite, run.run.timestamp) = (format!("{number:016}"), suite.to_owned(), later);
            sample.runs.push(run);
        }
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let id = |number: usize| format!("{number:016}");
        let before = |number: usize, suite: &str| {
            before(&catalog, &like.run.machine.id, suite, (later, &id(number))).map(|head| head.id.clone())
        };
        let found =
            [(0, "one"), (1, "other"), (2, "one"), (3, "one"), (4, "other")].map(|(at, suite)| before(at, suite));
        assert_eq!(found, [None, None, Some(id(0)), Some(id(2)), Some(id(1))]);
    }
}

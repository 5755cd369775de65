//! A machine: its environment now and over time, what it measures, and its runs; and the list of machines.

use std::collections::{BTreeMap, BTreeSet};

use super::frame::{Part, history_page, subject_page};
use super::{cell, machine_trust};
use crate::catalog::{Catalog, MachineRuns};
use crate::mark::Mark;
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::sheet::{Rows, Section, Sheet};
use crate::text::{short_digest, shortened};
use crate::{ReportError, date, link};
use sprag_base::json;
use sprag_model::environment::{FactChange, KEY_FACTS};
use sprag_model::head::RunHead;
use sprag_model::page::Page;
use sprag_model::trend::SeriesTrend;

/// The runs that the page lists, and the changes of the environment, the newest of each.
const RUNS: usize = 50;
const CHANGES: usize = 50;

/// The longest fact in a table, in characters.
const FACT: usize = 300;

/// Whether runs may be compared where a fact of the key, another fact, or a setting differs.
const MEANINGS: [&str; 3] = ["must be equal", "may differ", "setting"];

pub(crate) fn machine(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Result<Page, ReportError> {
    let machine = of.machine;
    link::file_word("machine", &machine.id)?;
    let days = |run: Option<&&RunHead>| run.map_or(String::new(), |run| date::day(run.timestamp));
    let lede = format!(
        "{}; {} from {} to {}. Its id is {}.",
        shortened(&machine.class, FACT),
        counted(of.runs.len(), "run", "runs"),
        days(of.runs.last()),
        days(of.runs.first()),
        machine.id
    );
    let mut sections = vec![suites(catalog, of)];
    sections.extend(machine_trust::sections(catalog, of));
    sections.extend([changes(catalog, of), facts(of), runs(catalog, of)]);
    let sheet = Sheet {
        crumb: Phrase::default().link(link::MACHINE_LIST, "Machines").text(format!(" / {}", machine.name)),
        headline: machine.name.clone().into(),
        lede: lede.into(),
        sections,
        ..Sheet::default()
    };
    let place = (link::machine(&machine.id), Part::Machines, machine.name.clone());
    subject_page(catalog, place, of.runs.first().copied(), sheet)
}

/// The newest run of each suite, with all of its runs.
fn by_suite<'a>(of: &MachineRuns<'a>) -> BTreeMap<&'a str, Vec<&'a RunHead>> {
    let mut runs: BTreeMap<&str, Vec<&RunHead>> = BTreeMap::new();
    for run in &of.runs {
        runs.entry(&run.suite).or_default().push(run);
    }
    runs
}

fn suites(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    let series = |suite: &str| -> Vec<&SeriesTrend> {
        let is_of = |one: &&SeriesTrend| one.suite == suite && one.machine.id == of.machine.id;
        catalog.trend.series.iter().filter(is_of).collect()
    };
    let rows = by_suite(of).into_iter().map(|(suite, runs)| (suite, runs, series(suite)));
    let noise = |all: &[&SeriesTrend]| {
        let noise = all.iter().filter_map(|one| one.noise.filter(|noise| noise.is_relative));
        cell::median_share(noise.map(|noise| noise.deviation))
    };
    let note = "Noise is the deviation of a commit's value from its level. Detectable is the minimum detectable effect: the smallest \
                change that shows once eight points are measured after it. Both are medians over the series.";
    Rows::new("Suites that this machine measures", rows)
        .column("Suite", "full", |(suite, ..)| *suite)
        .column("Newest run, UTC", "nb", |(_, runs, _)| cell::began(catalog, runs[0]))
        .column("Status", "", |(_, runs, _)| Mark::of_status(runs[0].status))
        .column("Runs", "n opt2", |(_, runs, _)| count(runs.len()))
        .column("Series judged", "n named", |(.., all)| {
            let judged = all.iter().filter(|one| one.not_judged.is_empty()).count();
            format!("{} of {}", count(judged), count(all.len()))
        })
        .column("Noise", "n opt2", |(.., all)| noise(all))
        .column("Detectable", "n push named", |(.., all)| {
            cell::median_detectable(all.iter().filter_map(|one| one.detectable))
        })
        .section("suites", "What it measures", note, "")
}

/// The facts and settings of the newest run of each suite, first those that must be equal for a comparison. Where suites
/// differ, each value names those that have it.
fn facts(of: &MachineRuns<'_>) -> Section {
    let mut values: BTreeMap<(usize, String), BTreeMap<String, Vec<&str>>> = BTreeMap::new();
    for (suite, runs) in by_suite(of) {
        let facts = runs[0].environment.facts.iter().map(|(name, value)| {
            let rank = usize::from(!KEY_FACTS.contains(&name.as_str()));
            ((rank, name.replace('_', " ")), shortened(value, FACT))
        });
        let settings = runs[0].config.iter();
        let settings = settings.map(|(name, value)| ((2, name.clone()), shortened(&json::to_canonical(value), FACT)));
        for (name, value) in facts.chain(settings) {
            values.entry(name).or_default().entry(value).or_default().push(suite);
        }
    }
    let words = |values: &BTreeMap<String, Vec<&str>>| {
        let words = values.iter().map(|(value, suites)| match values.len() {
            1 => value.clone(),
            _ => format!("{value} ({})", suites.join(", ")),
        });
        Phrase::default().id(words.collect::<Vec<String>>().join("; "))
    };
    Rows::new("Facts of the environment and settings", values)
        .column("Fact or setting", "nb", |((_, name), _)| name.clone())
        .column("Value", "full any", |(_, values)| words(values))
        .column("To compare runs", "", |((rank, _), _)| MEANINGS[*rank])
        .section("facts", "Its environment and settings in the newest runs", "", "No fact was recorded.")
}

/// Where the environment of a run differs from that of the run before of the same suite, the newest first.
fn changes(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    let mut last: BTreeMap<&str, &RunHead> = BTreeMap::new();
    let mut all: Vec<(&RunHead, Vec<FactChange>)> = Vec::new();
    for run in of.runs.iter().rev() {
        let before = last.insert(&run.suite, run);
        let Some(before) = before.filter(|before| before.environment.key != run.environment.key) else { continue };
        let facts = before.environment.differences(&run.environment);
        // Suites that meet the same change list it once.
        if all.last().is_none_or(|(_, seen)| *seen != facts) {
            all.push((run, facts));
        }
    }
    let what = |facts: &[FactChange]| {
        facts.iter().enumerate().fold(Phrase::default(), |words, (place, one)| {
            let words = words.text(format!("{}{}: ", if place > 0 { "; " } else { "" }, one.fact.replace('_', " ")));
            words.id(shortened(&one.was, FACT)).text(" → ").id(shortened(&one.is, FACT))
        })
    };
    let note = format!(
        "{}, the newest first. A step between values on two sides of one is attributed to the machine, not to a commit.",
        counted(all.len(), "change", "changes")
    );
    Rows::new("Changes of the environment, newest first", all.into_iter().rev())
        .first(CHANGES)
        .column("First run", "nb", |(run, _)| {
            Phrase::default().to(catalog.run_place(&run.id), date::day(run.timestamp))
        })
        .column("Commit", "", |(run, _)| cell::commit(catalog, run))
        .column("What changed", "full any", |(_, facts)| what(facts))
        .section("changes", "How its environment changed", note, "No fact that must be equal for a comparison changed.")
}

fn runs(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    Rows::new("Runs of this machine, newest first", &of.runs)
        .first(RUNS)
        .column("Began, UTC", "nb", |run| cell::began(catalog, run))
        .column("Suite", "", |run| run.suite.clone())
        .column("Status", "", |run| Mark::of_status(run.status))
        .column("Numbers", "", |run| Mark::of_run_quality(run))
        .column("Commit", "", |run| cell::commit(catalog, run))
        .column("Environment", "opt", |run| Phrase::default().id(short_digest(&run.environment.key)))
        .section("runs", "Runs", "", "")
}

/// The page that lists all machines, the one that ran last first.
pub(crate) fn machine_list(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let mut machines: Vec<&MachineRuns<'_>> = catalog.machines.values().collect();
    machines.sort_by_key(|one| (one.runs.first().map(|run| std::cmp::Reverse(run.timestamp)), &one.machine.id));
    let distinct = |one: &MachineRuns<'_>, of: fn(&RunHead) -> &str| -> BTreeSet<String> {
        one.runs.iter().map(|run| of(run).to_owned()).collect()
    };
    let section = Rows::new("Machines, the one that ran last first", machines)
        .column("Machine", "full", |one| {
            Phrase::default().link(link::machine(&one.machine.id), one.machine.name.clone())
        })
        .column("Class", "any", |one| one.machine.class.clone())
        .column("Suites", "any", |one| distinct(one, |run| &run.suite).into_iter().collect::<Vec<String>>().join(", "))
        .column("Runs", "n named", |one| count(one.runs.len()))
        .column("Environments", "n opt2", |one| count(distinct(one, |run| &run.environment.key).len()))
        .column("Newest run, UTC", "nb push", |one| cell::or_none(one.runs.first(), |run| date::moment(run.timestamp)))
        .section("machines", "Newest first", "", number::NONE);
    let sheet = Sheet {
        headline: counted(catalog.machines.len(), "machine", "machines").into(),
        lede: "Values of one machine are never compared with those of another.".into(),
        sections: vec![section],
        ..Sheet::default()
    };
    history_page(catalog, (link::MACHINE_LIST.to_owned(), Part::Machines, "Machines".to_owned()), sheet)
}

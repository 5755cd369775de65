//! A machine: its environment now and over time, what it measures, and its runs.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::frame::{Frame, Part, page};
use super::{cell, machine_trust};
use crate::catalog::{Catalog, MachineRuns};
use crate::mark::Mark;
use crate::number::{self, count, counted};
use crate::sheet::{Block, Cell, Section};
use crate::text::{short_commit, short_digest, shortened};
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

/// What facts of the key, other facts and settings mean for what may be compared.
const MEANINGS: [&str; 3] = ["decides", "told only", "setting"];

#[derive(Template)]
#[template(path = "machine.html")]
struct MachinePage {
    frame: Frame,
    name: String,
    lede: String,
    suites: Vec<SuiteRow>,
    trust: Vec<Section>,
    facts: Vec<(String, String, &'static str)>,
    changes: Vec<ChangeRow>,
    changes_note: String,
    runs: Vec<RunRow>,
    runs_note: String,
}

struct SuiteRow {
    suite: String,
    runs: String,
    newest: String,
    run_page: String,
    status: Mark,
    judged: String,
    noise: String,
    could_see: String,
}

/// A moment at which the environment changed.
struct ChangeRow {
    day: String,
    commit: String,
    run_page: String,
    facts: Vec<FactChange>,
}

struct RunRow {
    time: String,
    page: String,
    suite: String,
    commit: String,
    status: Mark,
    quality: Mark,
    environment: String,
}

pub(crate) fn machine(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Result<Page, ReportError> {
    let machine = of.machine;
    link::file_word("machine", &machine.id)?;
    let path = link::machine(&machine.id);
    let days = |run: Option<&&RunHead>| run.map_or(String::new(), |run| date::day(run.timestamp));
    let lede = format!(
        "{}; {} from {} to {}. Its id is {}.",
        shortened(&machine.class, FACT),
        counted(of.runs.len(), "run", "runs"),
        days(of.runs.last()),
        days(of.runs.first()),
        machine.id
    );
    let changes = environment_changes(catalog, of);
    let template = MachinePage {
        frame: Frame::new(catalog, &path, Part::Machines, machine.name.clone(), lede.clone())
            .of_one(catalog, of.runs.first().copied()),
        name: machine.name.clone(),
        lede,
        suites: suites(catalog, of),
        trust: machine_trust::sections(catalog, of),
        facts: facts(of),
        changes_note: match changes.len() {
            0 => "Nothing that decides whether runs may be compared changed on this machine.".to_owned(),
            some => format!(
                "{}, the newest first. Values on two sides of one are told apart as the machine, not as a commit.",
                counted(some, "change", "changes")
            ),
        },
        changes: changes.into_iter().take(CHANGES).collect(),
        runs: of.runs.iter().take(RUNS).map(|run| run_row(catalog, run)).collect(),
        runs_note: match of.runs.len().saturating_sub(RUNS) {
            0 => String::new(),
            more => format!("The newest {}; {} are left out.", count(RUNS), counted(more, "older run", "older runs")),
        },
    };
    page(path, &template)
}

fn suites(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Vec<SuiteRow> {
    let mut runs: BTreeMap<&str, Vec<&RunHead>> = BTreeMap::new();
    for run in &of.runs {
        runs.entry(&run.suite).or_default().push(run);
    }
    let row = |(suite, runs): (&str, Vec<&RunHead>)| {
        let is_of = |one: &&SeriesTrend| one.suite == suite && one.machine.id == of.machine.id;
        let series: Vec<&SeriesTrend> = catalog.trend.series.iter().filter(is_of).collect();
        let judged = series.iter().filter(|one| one.not_judged.is_empty()).count();
        let noise = series.iter().filter_map(|one| one.noise.filter(|noise| noise.is_relative));
        let newest = runs[0];
        SuiteRow {
            suite: suite.to_owned(),
            runs: count(runs.len()),
            newest: date::moment(newest.timestamp),
            run_page: catalog.run_place(&newest.id).unwrap_or_default(),
            status: Mark::of_status(newest.status),
            judged: format!("{} of {}", count(judged), count(series.len())),
            noise: cell::median_share(noise.map(|noise| noise.deviation)),
            could_see: cell::could_see(series.iter().filter_map(|one| one.detectable)),
        }
    };
    runs.into_iter().map(row).collect()
}

/// The facts and settings of the newest run of each suite: name, value, and what it means; those first that decide what may be
/// compared. Where suites differ, each value names those that have it.
fn facts(of: &MachineRuns<'_>) -> Vec<(String, String, &'static str)> {
    let mut newest: BTreeMap<&str, &RunHead> = BTreeMap::new();
    for run in &of.runs {
        newest.entry(&run.suite).or_insert(run);
    }
    let mut values: BTreeMap<(usize, String), BTreeMap<String, Vec<&str>>> = BTreeMap::new();
    for (suite, run) in newest {
        let facts = run.environment.facts.iter().map(|(name, value)| {
            let rank = usize::from(!KEY_FACTS.contains(&name.as_str()));
            ((rank, name.replace('_', " ")), shortened(value, FACT))
        });
        let settings = run.config.iter();
        let settings = settings.map(|(name, value)| ((2, name.clone()), shortened(&json::to_canonical(value), FACT)));
        for (name, value) in facts.chain(settings) {
            values.entry(name).or_default().entry(value).or_default().push(suite);
        }
    }
    let row = |((rank, name), values): ((usize, String), BTreeMap<String, Vec<&str>>)| {
        let is_one = values.len() == 1;
        let words = values.into_iter().map(|(value, suites)| match is_one {
            true => value,
            false => format!("{value} ({})", suites.join(", ")),
        });
        (name, words.collect::<Vec<String>>().join("; "), MEANINGS[rank])
    };
    values.into_iter().map(row).collect()
}

/// Where the environment of a run differs from that of the run before of the same suite, the newest first.
fn environment_changes(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Vec<ChangeRow> {
    let mut last: BTreeMap<&str, &RunHead> = BTreeMap::new();
    let mut seen = Vec::new();
    for run in of.runs.iter().rev() {
        let before = last.insert(&run.suite, run);
        let Some(before) = before.filter(|before| before.environment.key != run.environment.key) else { continue };
        let facts = before.environment.differences(&run.environment);
        // Suites that meet the same change tell it once.
        if seen.last().is_none_or(|(_, result): &(&RunHead, Vec<FactChange>)| *result != facts) {
            seen.push((run, facts));
        }
    }
    let row = |(run, facts): (&RunHead, Vec<FactChange>)| ChangeRow {
        day: date::day(run.timestamp),
        commit: run.commit.as_ref().map_or(number::NONE, |commit| short_commit(&commit.sha)).to_owned(),
        run_page: catalog.run_place(&run.id).unwrap_or_default(),
        facts: facts
            .into_iter()
            .map(|one| FactChange {
                fact: one.fact.replace('_', " "),
                was: shortened(&one.was, FACT),
                is: shortened(&one.is, FACT),
            })
            .collect(),
    };
    seen.into_iter().rev().map(row).collect()
}

fn run_row(catalog: &Catalog<'_>, run: &RunHead) -> RunRow {
    RunRow {
        time: date::moment(run.timestamp),
        page: catalog.run_place(&run.id).unwrap_or_default(),
        suite: run.suite.clone(),
        commit: run.commit.as_ref().map_or(number::NONE, |commit| short_commit(&commit.sha)).to_owned(),
        status: Mark::of_status(run.status),
        quality: Mark::of_run_quality(run),
        environment: short_digest(&run.environment.key).to_owned(),
    }
}

#[derive(Template)]
#[template(path = "machine_list.html")]
struct MachineListPage {
    frame: Frame,
    headline: String,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    page: String,
    class: String,
    suites: String,
    runs: String,
    environments: String,
    newest: String,
}

/// The page that lists all machines, the one that ran last first.
pub(crate) fn machine_list(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let headline = counted(catalog.machines.len(), "machine", "machines");
    let frame = Frame::new(catalog, link::MACHINE_LIST, Part::Machines, "Machines".to_owned(), headline.clone());
    let mut machines: Vec<&MachineRuns<'_>> = catalog.machines.values().collect();
    machines.sort_by_key(|one| (one.runs.first().map(|run| std::cmp::Reverse(run.timestamp)), &one.machine.id));
    let rows = machines.into_iter().map(row).collect();
    page(link::MACHINE_LIST.to_owned(), &MachineListPage { frame, headline, rows })
}

fn row(one: &MachineRuns<'_>) -> Row {
    let suites: BTreeSet<&str> = one.runs.iter().map(|run| run.suite.as_str()).collect();
    let environments: BTreeSet<&str> = one.runs.iter().map(|run| run.environment.key.as_str()).collect();
    Row {
        name: one.machine.name.clone(),
        page: link::machine(&one.machine.id),
        class: one.machine.class.clone(),
        suites: suites.into_iter().collect::<Vec<_>>().join(", "),
        runs: count(one.runs.len()),
        environments: count(environments.len()),
        newest: one.runs.first().map_or_else(|| number::NONE.to_owned(), |run| date::moment(run.timestamp)),
    }
}

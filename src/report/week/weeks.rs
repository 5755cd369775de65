//! Which weeks there are, and what happened in each.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, Days, NaiveDate, Utc};

use crate::catalog::Catalog;
use sprag_model::environment::FactChange;
use sprag_model::event::{Event, EventState};
use sprag_model::head::RunHead;
use sprag_model::movers::MoverRow;
use sprag_model::rollup::WeekRow;
use sprag_model::run::is_filtered;

/// How many weeks have a report: half a year.
pub const WEEKS: usize = 26;

/// The weeks before a week that show what runs regularly.
const WINDOW: u64 = 4;

/// In how many of them a suite ran on a machine that is expected to run there again.
const REGULAR: usize = 2;

/// A week in which something ran.
pub(crate) struct Week<'a> {
    pub(crate) monday: NaiveDate,
    /// Whether no run is newer.
    pub(crate) is_newest: bool,
    /// Its runs, newest first.
    pub(crate) runs: Vec<&'a RunHead>,
    /// The newest run of each suite on each machine that did not run in it, though it did in at least [`REGULAR`] of the
    /// [`WINDOW`] weeks before.
    pub(crate) missing: Vec<&'a RunHead>,
    /// The newest commit of the branch that was measured before it.
    pub(crate) start: Option<usize>,
    /// The newest one that was measured until its end.
    pub(crate) end: Option<usize>,
    /// How many commits of the line were measured in it.
    pub(crate) measured: usize,
    /// Each suite on each machine with what in its environment differs from the newest run before the week.
    pub(crate) environment: Vec<(&'a RunHead, Vec<FactChange>)>,
    /// The events that are sure and began in it.
    pub(crate) began: Vec<&'a Event>,
    /// Those that were reverted in it.
    pub(crate) ended: Vec<&'a Event>,
    /// The weekly figures of its suites.
    pub(crate) suites: Vec<&'a WeekRow>,
    /// Its judged series, compared with the week before that has them, the worst first.
    pub(crate) movers: &'a [MoverRow],
}

/// The weeks that have a report, newest first.
pub(crate) fn weeks<'a>(catalog: &Catalog<'a>) -> Vec<Week<'a>> {
    let mut runs: BTreeMap<NaiveDate, Vec<&RunHead>> = BTreeMap::new();
    for run in &catalog.runs {
        runs.entry(monday(run.timestamp)).or_default().push(run);
    }
    let mut earlier = Earlier::default();
    let older = runs.len().saturating_sub(WEEKS);
    let newest = runs.keys().next_back().copied();
    let mut weeks = Vec::new();
    for (number, (monday, runs)) in runs.into_iter().enumerate() {
        let before = earlier.clone();
        let measured = earlier.take(catalog, &runs);
        if number >= older {
            weeks.push(Week {
                is_newest: Some(monday) == newest,
                ..week(catalog, monday, runs, &before, &earlier, measured)
            });
        }
    }
    weeks.reverse();
    weeks
}

/// What ran until some moment.
#[derive(Clone, Default)]
struct Earlier<'a> {
    /// The newest commit of the line that was measured.
    commit: Option<usize>,
    /// The newest run of each suite on each machine.
    runs: BTreeMap<(&'a str, &'a str), &'a RunHead>,
    /// The newest weeks in which each ran unfiltered.
    weeks: BTreeMap<(&'a str, &'a str), BTreeSet<NaiveDate>>,
}

impl<'a> Earlier<'a> {
    /// Takes in runs, newest first; gives how many commits of the line they measured.
    fn take(&mut self, catalog: &Catalog<'a>, runs: &[&'a RunHead]) -> usize {
        let commits = runs.iter().filter_map(|run| catalog.position(&run.commit.as_ref()?.sha));
        let commits: BTreeSet<usize> = commits.collect();
        self.commit = self.commit.max(commits.last().copied());
        for run in runs.iter().rev() {
            self.runs.insert((&run.suite, &run.machine.id), run);
            if !is_filtered(&run.config) {
                let weeks = self.weeks.entry((&run.suite, &run.machine.id)).or_default();
                weeks.insert(monday(run.timestamp));
                while weeks.len() as u64 > WINDOW {
                    weeks.pop_first();
                }
            }
        }
        commits.len()
    }

    /// The newest run of each that ran regularly before a week, by its Monday.
    fn regular(&self, week: NaiveDate) -> impl Iterator<Item = &'a RunHead> {
        let first = week.checked_sub_days(Days::new(7 * WINDOW)).unwrap_or(week);
        let is_regular = move |weeks: &BTreeSet<NaiveDate>| weeks.range(first..week).count() >= REGULAR;
        self.runs.iter().filter(move |(place, _)| self.weeks.get(place).is_some_and(is_regular)).map(|(_, run)| *run)
    }
}

fn week<'a>(
    catalog: &Catalog<'a>,
    monday: NaiveDate,
    runs: Vec<&'a RunHead>,
    before: &Earlier<'a>,
    until: &Earlier<'a>,
    measured: usize,
) -> Week<'a> {
    let newest: BTreeMap<(&str, &str), &RunHead> =
        runs.iter().rev().map(|run| ((run.suite.as_str(), run.machine.id.as_str()), *run)).collect();
    let differences = |(place, run): (&(&str, &str), &&'a RunHead)| {
        let was = before.runs.get(place)?;
        Some((*run, was.environment.differences(&run.environment)))
    };
    let is_here = |run: &&RunHead| newest.contains_key(&(run.suite.as_str(), run.machine.id.as_str()));
    let is_within = |time: DateTime<Utc>| self::monday(time) == monday;
    let sure = || catalog.trend.events.iter().filter(|event| event.sure);
    let since = |id: &str| catalog.event(id).map(|event| event.since);
    let is_ended = |event: &&Event| match &event.state {
        EventState::TakenBack { by } => since(by).is_some_and(is_within),
        EventState::Standing => false,
    };
    Week {
        monday,
        is_newest: false,
        missing: before.regular(monday).filter(|run| !is_here(run)).collect(),
        start: before.commit,
        end: until.commit,
        measured,
        environment: newest.iter().filter_map(differences).collect(),
        began: sure().filter(|event| is_within(event.since)).collect(),
        ended: sure().filter(is_ended).collect(),
        suites: catalog.analysis.weeks.iter().filter(|row| row.week == monday).collect(),
        movers: catalog.movers.iter().find(|week| week.week == monday).map_or(&[], |week| &week.movers),
        runs,
    }
}

/// The Monday before or at a time.
fn monday(time: DateTime<Utc>) -> NaiveDate {
    let day = time.date_naive();
    day.checked_sub_days(Days::new(u64::from(day.weekday().num_days_from_monday()))).unwrap_or(day)
}

//! The matrix of a suite: kernels down, parameters across, a table a machine and kind of kernel.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::cell;
use super::frame::{Frame, Part};
use super::page;
use crate::model::analysis::SeriesAnalysis;
use crate::model::page::Page;
use crate::model::unit::Scale;
use crate::model::verdict::{Comparison, Counts, Verdict};
use crate::report::ReportError;
use crate::report::catalog::Catalog;
use crate::report::link;
use crate::report::mark::{self, Mark, Tone};
use crate::report::number;
use crate::report::order::{self, natural};
use crate::report::phrase::Phrase;

/// The steps of a tint: below the first, below the second, above.
const STEPS: [f64; 2] = [0.03, 0.07];

/// The cells that the matrices of a suite show, so that the page stays below a megabyte.
const CELLS: usize = 2500;

#[derive(Template)]
#[template(path = "matrix.html")]
struct MatrixPage {
    frame: Frame,
    suite: String,
    others: Vec<(String, String)>,
    headline: Phrase,
    machines: Vec<MachineSection>,
    rest: String,
}

struct MachineSection {
    id: String,
    heading: String,
    note: Phrase,
    tables: Vec<Table>,
}

struct Table {
    caption: String,
    heading: String,
    columns: Vec<String>,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    variant: String,
    cells: Vec<Cell>,
}

#[derive(Clone)]
struct Cell {
    class: &'static str,
    page: String,
    value: String,
    below: String,
}

/// The matrix page of a suite.
pub(in crate::report) fn matrix(catalog: &Catalog<'_>, suite: &str) -> Result<Page, ReportError> {
    link::file_word("suite", suite)?;
    let path = link::matrix(suite);
    let mut by_machine: BTreeMap<(&str, &str), Vec<&SeriesAnalysis>> = BTreeMap::new();
    for series in catalog.analysis.series.iter().filter(|series| series.judged && series.series.suite == suite) {
        by_machine.entry((&series.series.machine_name, &series.series.machine)).or_default().push(series);
    }
    let mut left = CELLS;
    let machines: Vec<MachineSection> = by_machine
        .iter()
        .enumerate()
        .map(|(position, ((name, machine), series))| {
            let shown = present(series);
            let shown = &shown[..shown.len().min(left)];
            left -= shown.len();
            MachineSection {
                id: format!("machine-{}", position + 1),
                heading: format!("{suite} on {name}"),
                note: note(catalog, suite, machine),
                tables: tables(shown, name),
            }
        })
        .collect();
    let headline = headline(catalog, suite);
    let others = catalog.matrix_suites.iter().filter(|other| **other != suite);
    let newest = catalog.runs.iter().copied().find(|run| run.suite == suite);
    let frame = Frame::new(catalog, &path, Part::Matrix, format!("Matrix of {suite}"), headline.words());
    let template = MatrixPage {
        frame: frame.of_one(catalog, newest),
        suite: suite.to_owned(),
        others: others.map(|other| ((*other).to_owned(), link::matrix(other))).collect(),
        headline,
        machines,
        rest: if left == 0 {
            format!("Only the first {} cells are shown; the list of series has all.", number::count(CELLS))
        } else {
            String::new()
        },
    };
    page(path, &template)
}

fn headline(catalog: &Catalog<'_>, suite: &str) -> Phrase {
    let own = || catalog.analysis.suites.iter().filter(|other| other.suite == suite).flat_map(|s| &s.comparisons);
    let counts = Counts::of(own());
    let (worse, better) = mark::words(own());
    let cells = |n: usize| number::counted(n, "cell", "cells");
    let mut headline = Phrase::default();
    if counts.regressed > 0 {
        headline = headline.mark(Mark::new(Tone::Worse, "▲", format!("{} {worse}", cells(counts.regressed))));
    }
    if counts.improved > 0 {
        let (join, improved) =
            if counts.regressed > 0 { (", ", number::count(counts.improved)) } else { ("", cells(counts.improved)) };
        headline = headline.text(join).mark(Mark::new(Tone::Better, "▼", format!("{improved} {better}")));
    }
    if headline.parts.is_empty() && counts.judged() > 0 {
        return headline.text(format!(
            "None of {} in {suite} changed",
            number::counted(counts.judged(), "judged cell", "judged cells")
        ));
    }
    if headline.parts.is_empty() {
        return headline.text(format!("None of {} in {suite} is judged", cells(counts.total())));
    }
    headline.text(format!(
        " in {suite}, {} of {} judged",
        number::count(counts.judged()),
        number::count(counts.total())
    ))
}

fn note(catalog: &Catalog<'_>, suite: &str, machine: &str) -> Phrase {
    let Some(newest) = catalog.analysis.suites.iter().find(|other| other.suite == suite && other.machine == machine)
    else {
        return Phrase::default();
    };
    let note = match &newest.baseline {
        Ok(facts) => Phrase::plain("Newest median; below it the change against ").id(&facts.path).text("."),
        Err(reason) => Phrase::plain(format!("Newest median. No baseline: {reason}.")),
    };
    match &newest.reason {
        Some(reason) => note
            .text(" The newest run ")
            .mark(Mark::of_status(newest.status))
            .text(format!(": {reason}. Values are those of the run before.")),
        None => note,
    }
}

/// The series of the newest run that measured anything, and those that it should have had.
fn present<'a>(series: &[&'a SeriesAnalysis]) -> Vec<&'a SeriesAnalysis> {
    let newest_of = |series: &SeriesAnalysis| series.series.newest().map(|point| (point.time, point.run.clone()));
    let newest = series.iter().filter_map(|series| newest_of(series)).max();
    let missing = |series: &SeriesAnalysis| series.comparison.as_ref().is_some_and(|c| c.verdict == Verdict::Missing);
    series.iter().copied().filter(|series| newest_of(series) == newest || missing(series)).collect()
}

/// A table for each set of parameter names and metric: kernels of one kind share their columns.
fn tables(series: &[&SeriesAnalysis], machine: &str) -> Vec<Table> {
    let mut kinds: BTreeMap<(Vec<String>, &str), Vec<&SeriesAnalysis>> = BTreeMap::new();
    for series in series {
        let names = order::parameters(&series.series.params).into_iter().map(|(name, _)| name.to_owned()).collect();
        kinds.entry((names, &series.series.metric.name)).or_default().push(series);
    }
    kinds.values().map(|series| table(series, machine)).collect()
}

fn table(series: &[&SeriesAnalysis], machine: &str) -> Table {
    let metric = &series[0].series.metric;
    let values: Vec<f64> = series.iter().map(|series| series.latest.current).collect();
    let scale = cell::group_scale(metric.unit, &values);
    let columns: BTreeSet<Column<'_>> = series.iter().map(|series| Column(&series.series.params)).collect();
    let mut rows: BTreeMap<(&str, &str), BTreeMap<Column<'_>, Cell>> = BTreeMap::new();
    for series in series {
        let row = rows.entry((&series.series.name, &series.series.variant)).or_default();
        row.insert(Column(&series.series.params), cell_of(series, scale));
    }
    let absent =
        Cell { class: "nc", page: String::new(), value: number::NONE.to_owned(), below: "not in the suite".to_owned() };
    Table {
        caption: format!(
            "{} on {machine}: newest value and change against the baseline, kernel by parameters",
            metric.name
        ),
        heading: number::column(&metric.name, scale),
        columns: columns.iter().map(|column| column.words()).collect(),
        rows: rows
            .into_iter()
            .map(|((name, variant), cells)| Row {
                name: name.to_owned(),
                variant: format!("@{variant}"),
                cells: columns.iter().map(|column| cells.get(column).unwrap_or(&absent).clone()).collect(),
            })
            .collect(),
    }
}

/// A set of parameters, ordered so that 512 comes before 4096.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Column<'a>(&'a str);

impl Column<'_> {
    fn words(self) -> String {
        let words = self.0.trim_start_matches('{').trim_end_matches('}').replace(',', ", ");
        if words.is_empty() { "no parameters".to_owned() } else { words }
    }
}

impl Ord for Column<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        natural(self.0, other.0)
    }
}

impl PartialOrd for Column<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn cell_of(series: &SeriesAnalysis, scale: Scale) -> Cell {
    let page = link::series(&series.series.id);
    let value = number::value(scale, series.latest.current);
    let Some(comparison) = &series.comparison else {
        return Cell { class: "nc", page, value, below: "not judged".to_owned() };
    };
    let (class, below) = tint(comparison);
    let value = if comparison.verdict == Verdict::Missing { number::NONE.to_owned() } else { value };
    Cell { class, page, value, below }
}

/// The class of a cell and what stands below its value.
fn tint(comparison: &Comparison) -> (&'static str, String) {
    let mark = Mark::of_comparison(comparison);
    let Some(effect) = comparison.effect else { return ("nc", mark.word) };
    let step = STEPS.iter().filter(|step| effect.change.abs() >= **step).count();
    let figure = number::percent(effect.change);
    match comparison.verdict {
        Verdict::Regressed => (["w1", "w2", "w3"][step], format!("{} {figure}", mark.glyph)),
        Verdict::Improved => (["b1", "b2", "b3"][step], format!("{} {figure}", mark.glyph)),
        Verdict::Unchanged => ("", figure),
        Verdict::Inconclusive(_) | Verdict::NotComparable(_) | Verdict::Missing | Verdict::NoBaseline => {
            ("nc", format!("{} {}", mark.glyph, mark.word))
        }
    }
}

//! The matrix of a suite: kernels down, sizes or machines across, the fitted level of each with its change since the newest
//! release, judged as two commits are compared.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::cell;
use super::frame::{Frame, Part};
use super::html::page;
use super::matrix_cell::{self, Cell};
use super::matrix_limits::{Limits, Shares};
use crate::ReportError;
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::compare::newest::{self, Newest};
use crate::compare::pairs::Pairs;
use crate::compare::words::{Kind, Row};
use crate::link;
use crate::mark::{self, Mark, Tone};
use crate::number;
use crate::order::{self, natural};
use crate::phrase::Phrase;
use crate::text::shortened;
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::page::Page;
use sprag_model::series::Series;

/// The cells that the matrices of a suite show, so that the page stays below a megabyte.
const CELLS: usize = 2500;

/// The longest name of a release, in characters.
const TAG: usize = 40;

#[derive(Template)]
#[template(path = "matrix.html")]
struct MatrixPage {
    frame: Frame,
    suite: String,
    others: Vec<(String, String)>,
    headline: Phrase,
    sections: Vec<Section>,
    rest: String,
    is_compared: bool,
}

struct Section {
    id: String,
    heading: String,
    notes: Vec<Phrase>,
    tables: Vec<Table>,
    limits: Option<Limits>,
}

struct Table {
    caption: String,
    heading: String,
    columns: Vec<String>,
    rows: Vec<TableRow>,
}

struct TableRow {
    name: String,
    variant: String,
    cells: Vec<Cell>,
}

/// A machine with the judged series of the suite.
struct Place<'a> {
    machine: &'a str,
    name: &'a str,
    newest: Option<Newest>,
    series: Vec<&'a SeriesAnalysis>,
    shares: Shares<'a>,
}

impl<'a> Place<'a> {
    fn of(catalog: &Catalog<'a>, data: &Data, suite: &str, machine: &'a str, name: &'a str) -> Place<'a> {
        let suites = &catalog.analysis.suites;
        let run = suites.iter().find(|other| other.suite == suite && other.machine == machine);
        let baseline = run.and_then(|run| run.baseline.as_ref().ok()?.commit.as_deref());
        let newest = newest::newest(data, catalog.line, (suite, machine), baseline);
        let here = |one: &&SeriesAnalysis| one.series.suite == suite && one.series.machine == machine;
        // What neither commit has was given up long ago.
        let is_shown = |one: &&SeriesAnalysis| {
            one.judged && newest.as_ref().is_none_or(|newest| newest.rows.contains_key(&one.series.id))
        };
        let all = || catalog.analysis.series.iter().filter(here);
        Place { machine, name, series: all().filter(is_shown).collect(), shares: Shares::of(catalog, all()), newest }
    }

    fn row(&self, series: &Series) -> Option<&Row> {
        self.newest.as_ref()?.rows.get(&series.id)
    }

    /// Whether no kernel has several sizes.
    fn has_one_size_each(&self) -> bool {
        let mut seen = BTreeSet::new();
        self.series.iter().all(|one| seen.insert((&one.series.name, &one.series.variant, &one.series.metric)))
    }

    /// Whether there are no two commits to hold against each other.
    fn is_one(&self) -> bool {
        self.newest.as_ref().is_none_or(|newest| newest.pair[0] == newest.pair[1])
    }
}

pub(crate) fn matrix(catalog: &Catalog<'_>, data: &Data, suite: &str) -> Result<Page, ReportError> {
    link::file_word("suite", suite)?;
    let path = link::matrix(suite);
    let judged = || catalog.analysis.series.iter().filter(|one| one.judged && one.series.suite == suite);
    let machines: BTreeSet<(&str, &str)> =
        judged().map(|one| (one.series.machine_name.as_str(), one.series.machine.as_str())).collect();
    let mut left = CELLS;
    let mut places: Vec<Place<'_>> =
        machines.into_iter().map(|(name, machine)| Place::of(catalog, data, suite, machine, name)).collect();
    for place in &mut places {
        place.series.truncate(left);
        left -= place.series.len();
    }
    let pairs = Pairs::of(data, catalog);
    let notes = |place: &Place<'_>| notes(catalog, data, &pairs, suite, place);
    let limits = |place: &Place<'_>, number: usize| Limits::of(&place.shares, place.name, number);
    let sections: Vec<Section> = if places.len() > 1 && places.iter().all(Place::has_one_size_each) {
        let mut sections = vec![Section {
            id: "machines".to_owned(),
            heading: format!("{suite} by machine"),
            notes: places.iter().map(|place| Phrase::plain(format!("{}: ", place.name)).then(notes(place))).collect(),
            tables: tables(&places, true),
            limits: None,
        }];
        sections.extend(places.iter().enumerate().filter_map(|(number, place)| {
            let limits = Some(limits(place, number + 1)?);
            let (id, heading) = (format!("machine-{}", number + 1), format!("{suite} on {}", place.name));
            Some(Section { id, heading, notes: Vec::new(), tables: Vec::new(), limits })
        }));
        sections
    } else {
        let section = |(number, place): (usize, &Place<'_>)| Section {
            id: format!("machine-{}", number + 1),
            heading: format!("{suite} on {}", place.name),
            notes: vec![notes(place)],
            tables: tables(std::slice::from_ref(place), false),
            limits: limits(place, number + 1),
        };
        places.iter().enumerate().map(section).collect()
    };
    let headline = headline(&places, suite);
    let others = catalog.matrix_suites.iter().filter(|other| **other != suite);
    let newest = catalog.runs.iter().copied().find(|run| run.suite == suite);
    let frame = Frame::new(catalog, &path, Part::Matrix, format!("Matrix of {suite}"), headline.words());
    let template = MatrixPage {
        frame: frame.of_one(catalog, newest),
        suite: suite.to_owned(),
        others: others.map(|other| ((*other).to_owned(), link::matrix(other))).collect(),
        headline,
        is_compared: catalog.is_compared(),
        sections,
        rest: if left == 0 {
            format!("Only the first {} cells are shown; the list of series has all.", number::count(CELLS))
        } else {
            String::new()
        },
    };
    page(path, &template)
}

fn headline(places: &[Place<'_>], suite: &str) -> Phrase {
    let compared = || places.iter().filter(|place| !place.is_one());
    let rows = || compared().flat_map(|place| place.series.iter().filter_map(|one| place.row(&one.series)));
    let count = |kind: Kind| rows().filter(|row| row.kind == kind).count();
    let (worse, better) = (count(Kind::Worse), count(Kind::Better));
    let judged = worse + better + count(Kind::Same);
    let all: usize = places.iter().map(|place| place.series.len()).sum();
    let is_speed =
        places.iter().flat_map(|place| &place.series).all(|one| mark::worse_word(&one.series.metric) == "slower");
    let words = if is_speed { ["slower", "faster"] } else { ["worse", "better"] };
    let cells = |n: usize| number::counted(n, "cell", "cells");
    let mut headline = Phrase::default();
    if worse > 0 {
        headline = headline.mark(Mark::new(Tone::Worse, "▲", format!("{} {}", cells(worse), words[0])));
    }
    if better > 0 {
        let (join, count) = if worse > 0 { (", ", number::count(better)) } else { ("", cells(better)) };
        headline = headline.text(join).mark(Mark::new(Tone::Better, "▼", format!("{count} {}", words[1])));
    }
    if headline.parts.is_empty() && judged > 0 {
        let judged = number::counted(judged, "judged cell", "judged cells");
        return headline.text(format!("None of {judged} in {suite} changed"));
    }
    if headline.parts.is_empty() {
        return headline.text(format!("None of {} in {suite} is judged", cells(all)));
    }
    headline.text(format!(" in {suite}, {} of {} judged", number::count(judged), number::count(all)))
}

/// What the cells of a machine show, and what its newest run lacked.
fn notes(catalog: &Catalog<'_>, data: &Data, pairs: &Pairs, suite: &str, place: &Place<'_>) -> Phrase {
    let note = match &place.newest {
        None => Phrase::plain("Newest values. No commit of them is known."),
        Some(newest) => {
            let [a, b] = newest.pair.map(|number| &data.commits[number]);
            let note = Phrase::plain("Level at ").id(b.name());
            if place.is_one() {
                note.text(", the only commit that was measured.")
            } else {
                let page =
                    pairs.page(data, newest.pair[0], newest.pair[1]).unwrap_or_else(|| link::compared(&a.sha, &b.sha));
                let note = note.text("; below it the change since ").link(page, a.name());
                match &newest.release {
                    Some(release) => {
                        note.text(format!(", the last that was measured up to {}.", shortened(release, TAG)))
                    }
                    None => note.text("."),
                }
            }
        }
    };
    let run = catalog.analysis.suites.iter().find(|other| other.suite == suite && other.machine == place.machine);
    match run.and_then(|run| Some((run.status, run.reason.as_ref()?))) {
        Some((status, reason)) => {
            note.text(" The newest run ").mark(Mark::of_status(status)).text(format!(": {reason}."))
        }
        None => note,
    }
}

/// A series with the number of its machine.
type Placed<'a> = (usize, &'a SeriesAnalysis);

/// A row: the name, the parameters where these do not stand across, and the variant.
type Kernel<'a> = (&'a str, Column<'a>, &'a str);

/// A column: the number of the machine, or nought and the parameters.
type Across<'a> = (usize, Column<'a>);

/// A table for each set of parameter names and metric: kernels of one kind share their columns, which are the parameters, or
/// the machines.
fn tables(places: &[Place<'_>], by_machine: bool) -> Vec<Table> {
    let mut kinds: BTreeMap<(Vec<&str>, &str), Vec<Placed<'_>>> = BTreeMap::new();
    for (number, place) in places.iter().enumerate() {
        for series in &place.series {
            let names = order::parameters(&series.series.params).into_iter().map(|(name, _)| name);
            let names = if by_machine { Vec::new() } else { names.collect() };
            kinds.entry((names, &series.series.metric.name)).or_default().push((number, series));
        }
    }
    kinds.values().map(|all| table(places, all, by_machine)).collect()
}

fn table(places: &[Place<'_>], all: &[Placed<'_>], by_machine: bool) -> Table {
    let metric = &all[0].1.series.metric;
    let row_of = |number: usize, series: &SeriesAnalysis| places[number].row(&series.series);
    let values: Vec<f64> =
        all.iter().map(|(number, series)| matrix_cell::value(series, row_of(*number, series))).collect();
    let scale = cell::group_scale(metric.unit, &values);
    let mut columns = BTreeSet::new();
    let mut rows: BTreeMap<Kernel<'_>, BTreeMap<Across<'_>, Cell>> = BTreeMap::new();
    for &(number, series) in all {
        let (place, of) = (&places[number], &series.series);
        // The parameters stand across, or beside the kernel where the machines do.
        let (column, beside) =
            if by_machine { ((number, Column("")), &*of.params) } else { ((0, Column(&of.params)), "") };
        columns.insert(column);
        let share = place.shares.of_benchmark(&of.benchmark);
        let cell = matrix_cell::cell(series, place.row(of), scale, share, place.is_one());
        rows.entry((&of.name, Column(beside), &of.variant)).or_default().insert(column, cell);
    }
    let across = if by_machine { "machine" } else { "parameters" };
    let on = if by_machine { String::new() } else { format!(" on {}", places[0].name) };
    let head = |(number, column): &Across<'_>| {
        if by_machine { places[*number].name.to_owned() } else { column.words() }
    };
    let row = |((name, Column(params), variant), cells): (Kernel<'_>, BTreeMap<_, Cell>)| TableRow {
        name: format!("{name}{params}"),
        variant: format!("@{variant}"),
        cells: columns.iter().map(|column| cells.get(column).cloned().unwrap_or_else(matrix_cell::absent)).collect(),
    };
    Table {
        caption: format!("{}{on}: level and change, kernel by {across}", metric.name),
        heading: number::column(&metric.name, scale),
        columns: columns.iter().map(head).collect(),
        rows: rows.into_iter().map(row).collect(),
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

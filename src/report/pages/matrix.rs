//! The matrix of a suite: kernels down, sizes or machines across, the fitted level of each with its change since the newest
//! release, judged as two commits are compared.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::cell;
use super::frame::{Frame, Part, page};
use crate::catalog::Catalog;
use crate::chart::roofline::{self, Bar, Roofline};
use crate::compare::data::Data;
use crate::compare::pairs::{Newest, Pairs, newest as compared_newest};
use crate::compare::words::{ComparedRow, Kind};
use crate::mark::{self, Mark, Tone};
use crate::order::{self, natural};
use crate::phrase::Phrase;
use crate::text::{short_benchmark, shortened};
use crate::{ReportError, link, number};
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::metric::LIMIT_SHARE;
use sprag_model::page::Page;
use sprag_model::series::Series;
use sprag_model::unit::Scale;

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
    sections: Vec<MatrixSection>,
    rest: String,
    is_compared: bool,
}

struct MatrixSection {
    id: String,
    heading: String,
    notes: Vec<Phrase>,
    tables: Vec<HeatTable>,
    limits: Option<Limits>,
}

struct HeatTable {
    caption: String,
    heading: String,
    columns: Vec<String>,
    rows: Vec<HeatRow>,
}

struct HeatRow {
    name: String,
    variant: String,
    cells: Vec<HeatCell>,
}

/// A machine with the judged series of the suite.
struct MachineSeries<'a> {
    machine: &'a str,
    name: &'a str,
    newest: Option<Newest>,
    series: Vec<&'a SeriesAnalysis>,
    shares: BTreeMap<&'a str, (&'a str, f64)>,
}

impl<'a> MachineSeries<'a> {
    fn new(catalog: &Catalog<'a>, data: &Data, suite: &str, machine: &'a str, name: &'a str) -> MachineSeries<'a> {
        let suites = &catalog.analysis.suites;
        let run = suites.iter().find(|other| other.suite == suite && other.machine == machine);
        let baseline = run.and_then(|run| run.baseline.as_ref().ok()?.commit.as_deref());
        let newest = compared_newest(data, catalog.line, (suite, machine), baseline);
        let here = |one: &&SeriesAnalysis| one.series.suite == suite && one.series.machine == machine;
        // What neither commit has was removed long ago.
        let is_shown = |one: &&SeriesAnalysis| {
            one.judged && newest.as_ref().is_none_or(|newest| newest.rows.contains_key(&one.series.id))
        };
        let all = || catalog.analysis.series.iter().filter(here);
        MachineSeries {
            machine,
            name,
            series: all().filter(is_shown).collect(),
            shares: shares(catalog, all()),
            newest,
        }
    }

    fn row(&self, series: &Series) -> Option<&ComparedRow> {
        self.newest.as_ref()?.rows.get(&series.id)
    }

    /// Whether no kernel has several sizes.
    fn has_one_size_each(&self) -> bool {
        let mut seen = BTreeSet::new();
        self.series.iter().all(|one| seen.insert((&one.series.name, &one.series.variant, &one.series.metric)))
    }

    /// Whether there are no two commits to compare.
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
    let mut places: Vec<MachineSeries<'_>> =
        machines.into_iter().map(|(name, machine)| MachineSeries::new(catalog, data, suite, machine, name)).collect();
    for place in &mut places {
        place.series.truncate(left);
        left -= place.series.len();
    }
    let pairs = Pairs::new(data, catalog);
    let notes = |place: &MachineSeries<'_>| notes(catalog, data, &pairs, suite, place);
    let sections: Vec<MatrixSection> = if places.len() > 1 && places.iter().all(MachineSeries::has_one_size_each) {
        let mut sections = vec![MatrixSection {
            id: "machines".to_owned(),
            heading: format!("{suite} by machine"),
            notes: places.iter().map(|place| Phrase::plain(format!("{}: ", place.name)).then(notes(place))).collect(),
            tables: tables(&places, true),
            limits: None,
        }];
        sections.extend(places.iter().enumerate().filter_map(|(number, place)| {
            let limits = Some(limits(place, number + 1)?);
            let (id, heading) = (format!("machine-{}", number + 1), format!("{suite} on {}", place.name));
            Some(MatrixSection { id, heading, notes: Vec::new(), tables: Vec::new(), limits })
        }));
        sections
    } else {
        let section = |(number, place): (usize, &MachineSeries<'_>)| MatrixSection {
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
        frame: frame.for_subject(catalog, newest),
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

fn headline(places: &[MachineSeries<'_>], suite: &str) -> Phrase {
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
fn notes(catalog: &Catalog<'_>, data: &Data, pairs: &Pairs, suite: &str, place: &MachineSeries<'_>) -> Phrase {
    let note = match &place.newest {
        None => Phrase::plain("Newest values. Their commits are unknown."),
        Some(newest) => {
            let [a, b] = newest.pair.map(|number| &data.commits[number]);
            let note = Phrase::plain("Level at ").id(b.name());
            if place.is_one() {
                note.text(", the only measured commit.")
            } else {
                let page =
                    pairs.page(data, newest.pair[0], newest.pair[1]).unwrap_or_else(|| link::compared(&a.sha, &b.sha));
                let note = note.text("; below it the change since ").link(page, a.name());
                match &newest.release {
                    Some(release) => note.text(format!(", the last measured up to {}.", shortened(release, TAG))),
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

/// A row: the name, the parameters where these are no columns, and the variant.
type Kernel<'a> = (&'a str, Parameters<'a>, &'a str);

/// A column: the number of the machine, or nought and the parameters.
type Across<'a> = (usize, Parameters<'a>);

/// A table for each set of parameter names and metric: kernels of one kind share their columns, which are the parameters, or
/// the machines.
fn tables(places: &[MachineSeries<'_>], by_machine: bool) -> Vec<HeatTable> {
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

fn table(places: &[MachineSeries<'_>], all: &[Placed<'_>], by_machine: bool) -> HeatTable {
    let metric = &all[0].1.series.metric;
    let row_of = |number: usize, series: &SeriesAnalysis| places[number].row(&series.series);
    let values: Vec<f64> = all.iter().map(|(number, series)| value(series, row_of(*number, series))).collect();
    let scale = cell::group_scale(metric.unit, &values);
    let mut columns = BTreeSet::new();
    let mut rows: BTreeMap<Kernel<'_>, BTreeMap<Across<'_>, HeatCell>> = BTreeMap::new();
    for &(number, series) in all {
        let (place, of) = (&places[number], &series.series);
        // The parameters are the columns, or part of the row where the machines are the columns.
        let (column, in_row) =
            if by_machine { ((number, Parameters("")), &*of.params) } else { ((0, Parameters(&of.params)), "") };
        columns.insert(column);
        let share = place.shares.get(&*of.benchmark).map(|(_, share)| *share);
        let cell = cell(series, place.row(of), scale, share, place.is_one());
        rows.entry((&of.name, Parameters(in_row), &of.variant)).or_default().insert(column, cell);
    }
    let across = if by_machine { "machine" } else { "parameters" };
    let on = if by_machine { String::new() } else { format!(" on {}", places[0].name) };
    let head = |(number, column): &Across<'_>| {
        if by_machine { places[*number].name.to_owned() } else { column.words() }
    };
    let row = |((name, Parameters(params), variant), cells): (Kernel<'_>, BTreeMap<_, HeatCell>)| HeatRow {
        name: format!("{name}{params}"),
        variant: format!("@{variant}"),
        cells: columns.iter().map(|column| cells.get(column).cloned().unwrap_or_else(absent)).collect(),
    };
    HeatTable {
        caption: format!("{}{on}: level and change, kernel by {across}", metric.name),
        heading: number::column(&metric.name, scale),
        columns: columns.iter().map(head).collect(),
        rows: rows.into_iter().map(row).collect(),
    }
}

/// A set of parameters, ordered so that 512 comes before 4096.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Parameters<'a>(&'a str);

impl Parameters<'_> {
    fn words(self) -> String {
        let words = self.0.trim_start_matches('{').trim_end_matches('}').replace(',', ", ");
        if words.is_empty() { "no parameters".to_owned() } else { words }
    }
}

impl Ord for Parameters<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        natural(self.0, other.0)
    }
}

impl PartialOrd for Parameters<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The steps of a tint: below the first, below the second, above.
const STEPS: [f64; 2] = [0.03, 0.07];

#[derive(Clone, Debug, PartialEq)]
struct HeatCell {
    /// The tint of the verdict, `nc` where there is none.
    class: &'static str,
    /// The page of the series, or nothing.
    page: String,
    value: String,
    below: String,
    /// How near it comes to its limit, or nothing.
    share: String,
}

/// The value in the cell of a series: its level at the newest commit, else what was measured there, else the newest value.
fn value(series: &SeriesAnalysis, row: Option<&ComparedRow>) -> f64 {
    row.and_then(|row| row.levels[1].or(row.measured)).unwrap_or(series.latest.current)
}

/// The cell of a series; `is_one` where there is no other commit to compare with.
fn cell(
    series: &SeriesAnalysis,
    row: Option<&ComparedRow>,
    scale: Scale,
    share: Option<f64>,
    is_one: bool,
) -> HeatCell {
    let (class, below) = match row {
        Some(row) if !is_one => tint(row),
        _ => ("nc", "not compared".to_owned()),
    };
    let is_missing = row.is_some_and(|row| row.kind == Kind::Missing && row.measured.is_none());
    HeatCell {
        class,
        page: link::series(&series.series.id),
        value: if is_missing { number::NONE.to_owned() } else { number::value(scale, value(series, row)) },
        below,
        share: share.map_or(String::new(), |share| format!("{} of limit", number::percent_size(share))),
    }
}

/// The cell of a kernel that has no series there.
fn absent() -> HeatCell {
    HeatCell {
        class: "nc",
        page: String::new(),
        value: number::NONE.to_owned(),
        below: "not measured".to_owned(),
        share: String::new(),
    }
}

/// The class of a cell and the words below its value.
fn tint(row: &ComparedRow) -> (&'static str, String) {
    let [_, glyph, word] = &row.mark;
    let size = row.relative.unwrap_or(f64::INFINITY).abs();
    let step = STEPS.iter().filter(|step| size >= **step).count();
    let result = || {
        if row.relative.is_some() { format!("{glyph} {}", row.change) } else { format!("{glyph} {word}") }
    };
    match row.kind {
        Kind::Worse => (["w1", "w2", "w3"][step], result()),
        Kind::Better => (["b1", "b2", "b3"][step], result()),
        Kind::Same => ("", format!("{glyph} {word}")),
        Kind::Doubt | Kind::Environment | Kind::Missing => ("nc", format!("{glyph} {}", row.why())),
    }
}

impl ComparedRow {
    /// A few words for a cell without verdict.
    fn why(&self) -> &str {
        match self.kind {
            Kind::Doubt if self.reason == "its level drifts" => "drifts",
            Kind::Doubt if self.levels == [None; 2] => "too few points",
            Kind::Missing if self.measured.is_some() => "new",
            _ => &self.mark[2],
        }
    }
}

/// The bars that are drawn, and the rows of their table.
const MOST: usize = 30;

/// The series of the share of its limit of each benchmark on a machine, and that share: the newest level, else the newest value.
fn shares<'a>(
    catalog: &Catalog<'a>,
    series: impl Iterator<Item = &'a SeriesAnalysis>,
) -> BTreeMap<&'a str, (&'a str, f64)> {
    let result = series.filter(|one| one.series.metric.name == LIMIT_SHARE && !one.series.is_auxiliary());
    let share = |one: &'a SeriesAnalysis| {
        let level = catalog.fit(&one.series.id).and_then(|fit| fit.newest_level());
        (one.series.benchmark.as_str(), (one.series.id.as_str(), level.unwrap_or(one.latest.current)))
    };
    result.map(share).collect()
}

/// A picture and a table of the shares.
struct Limits {
    id: String,
    note: String,
    picture: String,
    /// The kernel, its page and its share, the nearest to the limit first.
    rows: Vec<[String; 3]>,
}

/// The limits of a machine, the one of that number in the page; nothing where no share was measured.
fn limits(place: &MachineSeries<'_>, number: usize) -> Option<Limits> {
    let mut all: Vec<(&str, &str, f64)> =
        place.shares.iter().map(|(benchmark, (series, share))| (*benchmark, *series, *share)).collect();
    all.sort_by(|(.., a), (.., b)| b.total_cmp(a));
    let [last, first] = [all.last()?.2, all.first()?.2].map(number::percent_size);
    let range = if last == first { first } else { format!("{last} to {first}") };
    let kernels = number::counted(all.len(), "kernel reaches", "kernels reach");
    let cut = match all.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" {} more are in the list of series.", number::count(more)),
    };
    let note = format!("{kernels} {range} of the limit on this machine.{cut}");
    all.truncate(MOST);
    let bar = |(name, _, share): &(&str, &str, f64)| Bar {
        name: short_benchmark(name).to_owned(),
        limit: String::new(),
        share: *share,
        figure: number::percent_size(*share),
    };
    let row = |(name, series, share): &(&str, &str, f64)| {
        [short_benchmark(name).to_owned(), link::series(series), number::percent_size(*share)]
    };
    let roofline = Roofline {
        id: format!("roof-{number}"),
        title: format!("Kernels against their limits on {}", place.name),
        description: note.clone(),
        bars: all.iter().map(bar).collect(),
    };
    let rows = all.iter().map(row).collect();
    Some(Limits { id: format!("limits-{number}"), picture: roofline::draw(&roofline), rows, note })
}

#[cfg(test)]
mod tests {

    use super::*;

    fn row(kind: Kind, relative: Option<f64>) -> ComparedRow {
        ComparedRow {
            kind,
            mark: [String::new(), "▲".to_owned(), "slower".to_owned()],
            change: relative.map_or(number::NONE.to_owned(), number::percent),
            levels: [Some(1.0), Some(1.1)],
            relative,
            measured: Some(1.1),
            ..ComparedRow::default()
        }
    }

    #[test]
    fn a_tint_says_how_much_and_words_say_it_too() {
        let of = |kind, relative| tint(&row(kind, relative));
        assert_eq!(of(Kind::Worse, Some(0.081)), ("w3", "▲ +8.1\u{202f}%".to_owned()));
        assert_eq!(of(Kind::Worse, Some(0.03)), ("w2", "▲ +3.0\u{202f}%".to_owned()));
        assert_eq!(of(Kind::Better, Some(-0.02)), ("b1", "▲ \u{2212}2.0\u{202f}%".to_owned()));
        assert_eq!(of(Kind::Worse, None), ("w3", "▲ slower".to_owned()));
        assert_eq!(of(Kind::Same, None).0, "");
        assert_eq!(of(Kind::Doubt, None).0, "nc");
        let short = ComparedRow { levels: [None; 2], ..row(Kind::Doubt, None) };
        assert_eq!(tint(&short).1, "▲ too few points");
    }
}

//! The matrix of a suite: kernels by size or machine, the fitted level of each with its change since the newest release.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::frame::prelude::*;
use crate::chart::bar;
use crate::compare::data::Data;
use crate::compare::pairs::{Newest, Pairs, newest as compared_newest};
use crate::compare::words::{ComparedRow, Kind};
use crate::mark;
use crate::order::{self, natural};
use crate::text::without_brackets;
use sprag_model::metric::LIMIT_SHARE;
use sprag_model::{Scale, Series, SeriesAnalysis, SuiteAnalysis};

/// The most cells of a suite, so that the page stays below a megabyte.
const CELLS: usize = 2500;

const TAG: usize = 40;

const LEGEND: &str = "<ul class=\"legend\"><li><i class=\"b3\"></i>▼ better, 7 % or more</li><li><i class=\"b2\"></i>3 to 7 %</li><li><i class=\"b1\"></i>below 3 %</li><li><i></i>no change</li><li><i class=\"w1\"></i>▲ worse, below 3 %</li><li><i class=\"w2\"></i>3 to 7 %</li><li><i class=\"w3\"></i>7 % or more</li><li><i class=\"nc\"></i>not compared, with the reason</li></ul>";

#[derive(Template)]
#[template(path = "partials/heat.html")]
struct HeatTable {
    label: String,
    caption: String,
    heading: String,
    columns: Vec<String>,
    rows: Vec<HeatRow>,
}

struct HeatRow {
    name: String,
    /// Of the series in its first cell.
    page: String,
    variant: String,
    cells: Vec<HeatCell>,
}

impl HeatRow {
    /// Its name in the parts between which a line may break.
    fn name_parts(&self) -> impl Iterator<Item = &str> {
        self.name.split_inclusive(['{', ','])
    }
}

/// The judged series of a suite on a machine, and its shares of limits by benchmark.
struct MachineSeries<'a> {
    run: Option<&'a SuiteAnalysis>,
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
        let is_shown = |one: &&SeriesAnalysis| {
            one.judged && newest.as_ref().is_none_or(|newest| newest.rows.contains_key(&one.series.id))
        };
        let all = || catalog.analysis.series.iter().filter(here);
        MachineSeries { run, name, series: all().filter(is_shown).collect(), shares: shares(catalog, all()), newest }
    }

    fn row(&self, series: &Series) -> Option<&ComparedRow> {
        self.newest.as_ref()?.rows.get(&series.id)
    }

    /// Whether no kernel has several sizes.
    fn has_one_size_each(&self) -> bool {
        let mut seen = BTreeSet::new();
        self.series.iter().all(|one| seen.insert((&one.series.name, &one.series.variant, &one.series.metric)))
    }

    fn is_one(&self) -> bool {
        self.newest.as_ref().is_none_or(|newest| newest.pair[0] == newest.pair[1])
    }
}

pub(crate) fn matrix(catalog: &Catalog<'_>, data: &Data, suite: &str) -> Result<Page, ReportError> {
    link::file_word("suite", suite)?;
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
    let notes = |place: &MachineSeries<'_>| notes(data, &pairs, place);
    let by_machine = places.len() > 1 && places.iter().all(MachineSeries::has_one_size_each);
    let mut sections = Vec::new();
    if by_machine {
        let mut alike: Vec<(Phrase, String)> = Vec::new();
        for place in &places {
            let (note, name) = (notes(place), shortened(place.name, TAG));
            match alike.iter_mut().find(|(other, _)| *other == note) {
                Some((_, names)) => *names += &format!(", {name}"),
                None => alike.push((note, name)),
            }
        }
        let notes = alike.into_iter().map(|(note, names)| Phrase::plain(names + ": ").then(note));
        let section = Section::new("machines", format!("{suite} by machine"));
        sections.push(with_tables(catalog, notes.fold(section, Section::paragraph), &places, true));
    }
    for (number, place) in (1..).zip(&places) {
        if !by_machine {
            let section =
                Section::new(format!("machine-{number}"), format!("{suite} on {}", shortened(place.name, TAG)));
            sections.push(with_tables(catalog, section.paragraph(notes(place)), std::slice::from_ref(place), false));
        }
        sections.extend(limits(catalog, place, number));
    }
    sections.push(Section::default().drawn(LEGEND.to_owned()));
    let sheet = Sheet {
        crumb: crumb(catalog, suite),
        headline: headline(&places, suite),
        lede: lede(catalog, left == 0),
        sections,
        ..Sheet::default()
    };
    let newest = catalog.runs.iter().copied().find(|run| run.suite == suite);
    subject_page(catalog, (&link::matrix(suite), "Matrix"), &format!("Matrix of {suite}"), newest, sheet)
}

fn crumb(catalog: &Catalog<'_>, suite: &str) -> Phrase {
    let others = catalog.matrix_suites.iter().filter(|other| **other != suite).enumerate();
    others.fold(Phrase::plain(format!("Matrix / {suite}")), |crumb, (place, other)| {
        crumb.text(if place == 0 { "; other suites: " } else { " " }).link(link::matrix(other), *other)
    })
}

fn lede(catalog: &Catalog<'_>, is_cut: bool) -> Phrase {
    let mut lede = Phrase::plain("Levels are fitted to all runs. A cell is tinted where its level changed");
    if catalog.is_compared() {
        lede = lede.text(", by ").link(format!("{}#rule", link::COMPARE), "the rule for comparing commits");
    }
    let cut = format!(" Only the first {} cells are shown; the list of series has all.", count(CELLS));
    lede.text(if is_cut { format!(".{cut}") } else { ".".to_owned() })
}

fn headline(places: &[MachineSeries<'_>], suite: &str) -> Phrase {
    let compared = || places.iter().filter(|place| !place.is_one());
    let rows = || compared().flat_map(|place| place.series.iter().filter_map(|one| place.row(&one.series)));
    let [worse, better, same] =
        [Kind::Worse, Kind::Better, Kind::Same].map(|kind| rows().filter(|row| row.kind == kind).count());
    let judged = worse + better + same;
    let all: usize = places.iter().map(|place| place.series.len()).sum();
    let words = mark::words(places.iter().flat_map(|place| &place.series).map(|one| &one.series.metric));
    let cells = |n: usize| counted(n, "cell", "cells");
    if worse + better == 0 {
        return Phrase::plain(match judged {
            0 => format!("None of {} in {suite} is compared", cells(all)),
            some => format!("None of {} in {suite} changed", counted(some, "compared cell", "compared cells")),
        });
    }
    let mut headline = Phrase::default();
    if worse > 0 {
        headline = headline.mark(Mark::new(Tone::Worse, "▲", format!("{} {}", cells(worse), words[0])));
    }
    if better > 0 {
        let (join, better) = if worse > 0 { (", ", count(better)) } else { ("", cells(better)) };
        headline = headline.text(join).mark(Mark::new(Tone::Better, "▼", format!("{better} {}", words[1])));
    }
    headline.text(format!(" in {suite}, {} of {} compared", count(judged), count(all)))
}

/// What the cells of a machine show, and why its newest run failed or was skipped.
fn notes(data: &Data, pairs: &Pairs, place: &MachineSeries<'_>) -> Phrase {
    let note = match &place.newest {
        None => Phrase::plain("Newest values. Their commits are unknown."),
        Some(newest) => {
            let [a, b] = newest.pair.map(|number| &data.commits[number]);
            let note = Phrase::plain("Level at ").id(b.name());
            let page = pairs.page(data, newest.pair[0], newest.pair[1]);
            let page = page.unwrap_or_else(|| link::compared(&a.sha, &b.sha));
            let since = || note.clone().text("; below it the change since ").link(page, a.name());
            match &newest.release {
                _ if place.is_one() => note.text(", the only measured commit."),
                Some(release) => since().text(format!(", the last measured up to {}.", shortened(release, TAG))),
                None => since().text("."),
            }
        }
    };
    let Some((status, reason)) = place.run.and_then(|run| Some((run.status, run.reason.as_ref()?))) else {
        return note;
    };
    note.text(" The newest run ").mark(Mark::of_status(status)).text(format!(": {reason}."))
}

/// A series with the number of its machine.
type Placed<'a> = (usize, &'a SeriesAnalysis);

/// A row: the name, the parameters that are not columns, and the variant.
type Kernel<'a> = (&'a str, Parameters<'a>, &'a str);

/// A column: the number of the machine, or nought and the parameters.
type Across<'a> = (usize, Parameters<'a>);

/// A table for each set of parameter names and metric; its columns are the parameters, or the machines.
fn with_tables(catalog: &Catalog<'_>, section: Section, places: &[MachineSeries<'_>], by_machine: bool) -> Section {
    let mut kinds: BTreeMap<(Vec<&str>, &str), Vec<Placed<'_>>> = BTreeMap::new();
    for (number, place) in places.iter().enumerate() {
        for series in &place.series {
            let names = order::parameters(&series.series.params).into_iter().map(|(name, _)| name);
            let names = if by_machine { Vec::new() } else { names.collect() };
            kinds.entry((names, &series.series.metric.name)).or_default().push((number, series));
        }
    }
    let heading = section.heading.words();
    let tables = (1..).zip(kinds.values()).flat_map(|(number, all)| {
        let table = table(catalog, places, all, by_machine);
        let label = format!("{heading}, {}, table {number}", table.heading);
        side_by_side(HeatTable { label, ..table })
    });
    tables.fold(section, Section::drawn)
}

/// A long table of few columns in parts that fill the width of the page.
fn side_by_side(mut table: HeatTable) -> Vec<String> {
    // In pixels, of the page, of a name and of a column. At most five rows are not parted.
    let name = table.rows.iter().map(|row| 8 * (row.name.len() + row.variant.len())).max().unwrap_or(0);
    let width = name.clamp(144, 256) + 28 + 120 * table.columns.len();
    let (most, label) = (table.rows.len().div_ceil(5), table.label.clone());
    let rows = table.rows.len().div_ceil((1184 / width).min(most).max(1));
    let mut parts = Vec::new();
    while !table.rows.is_empty() {
        let rest = table.rows.split_off(rows.min(table.rows.len()));
        // Only a formatter that fails could fail.
        parts.push(table.render().unwrap_or_default());
        table = HeatTable { rows: rest, label: format!("{label}, part {}", parts.len() + 1), ..table };
    }
    parts
}

fn table(catalog: &Catalog<'_>, places: &[MachineSeries<'_>], all: &[Placed<'_>], by_machine: bool) -> HeatTable {
    let metric = &all[0].1.series.metric;
    let row_of = |number: usize, series: &SeriesAnalysis| places[number].row(&series.series);
    let values: Vec<f64> = all.iter().map(|(number, series)| value(series, row_of(*number, series))).collect();
    let scale = cell::group_scale(metric.unit, &values);
    let mut columns = BTreeSet::new();
    let mut rows: BTreeMap<Kernel<'_>, BTreeMap<Across<'_>, HeatCell>> = BTreeMap::new();
    for &(number, series) in all {
        let (place, of) = (&places[number], &series.series);
        let (column, in_row) =
            if by_machine { ((number, Parameters("")), &*of.params) } else { ((0, Parameters(&of.params)), "") };
        columns.insert(column);
        let share = place.shares.get(&*of.benchmark).map(|(_, share)| *share);
        let page = catalog.series_place(&of.id);
        let cell = HeatCell { page, ..cell(series, place.row(of), scale, share, place.is_one()) };
        rows.entry((&of.name, Parameters(in_row), &of.variant)).or_default().insert(column, cell);
    }
    let across = if by_machine { "machine" } else { "parameters" };
    let on = if by_machine { String::new() } else { format!(" on {}", shortened(places[0].name, TAG)) };
    let head = |(number, column): &Across<'_>| {
        if by_machine { shortened(places[*number].name, TAG) } else { column.words() }
    };
    let row = |((name, Parameters(params), variant), cells): (Kernel<'_>, BTreeMap<_, HeatCell>)| HeatRow {
        name: format!("{name}{params}"),
        page: cells.values().next().map_or_else(String::new, |cell| cell.page.clone()),
        variant: format!("@{variant}"),
        cells: columns.iter().map(|column| cells.get(column).cloned().unwrap_or_else(absent)).collect(),
    };
    HeatTable {
        label: String::new(),
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
        let words = without_brackets(self.0);
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

/// The changes at which a tint gets stronger.
const STEPS: [f64; 2] = [0.03, 0.07];

#[derive(Clone, Debug, Default, PartialEq)]
struct HeatCell {
    /// The tint: `nc` without a verdict.
    class: &'static str,
    page: String,
    value: String,
    below: String,
    share: String,
}

/// The level at the newest commit, else what was measured there, else the newest value.
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
        Some(row) if !is_one => (tint(row.kind, row.relative), below(row)),
        _ => ("nc", "not compared".to_owned()),
    };
    let is_missing = row.is_some_and(|row| row.kind == Kind::Missing && row.measured.is_none());
    HeatCell {
        class,
        value: if is_missing { number::NONE.to_owned() } else { number::value(scale, value(series, row)) },
        below,
        share: share.map_or(String::new(), |share| match share > 1.0 {
            true => cell::of_limit(share).words(),
            false => format!("{} of limit", percent_size(share)),
        }),
        ..HeatCell::default()
    }
}

fn absent() -> HeatCell {
    let (value, below) = (number::NONE.to_owned(), "not measured".to_owned());
    HeatCell { class: "nc", value, below, ..HeatCell::default() }
}

fn tint(kind: Kind, relative: Option<f64>) -> &'static str {
    let size = relative.map_or(f64::INFINITY, f64::abs);
    let step = STEPS.iter().filter(|step| size >= **step).count();
    match kind {
        Kind::Worse => ["w1", "w2", "w3"][step],
        Kind::Better => ["b1", "b2", "b3"][step],
        Kind::Same => "",
        Kind::Doubt | Kind::Environment | Kind::Missing => "nc",
    }
}

fn below(row: &ComparedRow) -> String {
    let [_, glyph, word] = &row.mark;
    let words = match row.kind {
        Kind::Worse | Kind::Better if row.relative.is_some() => &row.change,
        Kind::Doubt if row.reason == "its level drifts" => "drifts",
        Kind::Doubt if row.levels == [None; 2] => "too few points",
        Kind::Missing if row.measured.is_some() => "new",
        _ => word,
    };
    format!("{glyph} {words}")
}

/// The kernels that the table of shares has.
const MOST: usize = 30;

/// By benchmark, the series of its share of the limit, and that share: the newest level, else the newest value.
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

/// A table of the shares, those nearest to the limit first.
fn limits(catalog: &Catalog<'_>, place: &MachineSeries<'_>, number: usize) -> Option<Section> {
    let mut all: Vec<(&str, &str, f64)> =
        place.shares.iter().map(|(benchmark, (series, share))| (*benchmark, *series, *share)).collect();
    all.sort_by(|(.., a), (.., b)| b.total_cmp(a));
    let [last, first] = [all.last()?.2, all.first()?.2].map(percent_size);
    let range = if last == first { first } else { format!("{last} to {first}") };
    let kernels = number::counted(all.len(), "kernel reaches", "kernels reach");
    let rest = number::beyond(all.len(), MOST, "more are in the list of series.");
    let beyond = cell::beyond_limit(all.iter().map(|(.., share)| *share));
    let note = format!("{kernels} {range} of the limit on this machine.{beyond} {rest}").trim_end().to_owned();
    all.truncate(MOST);
    let heading = format!("Kernels against their limits on {}", place.name);
    let rows = Rows::new(format!("{heading}: share of the limit by kernel"), all)
        .column("Kernel", "any", |(name, series, _)| {
            Phrase::page_name(Some(catalog.series_place(series)), short_benchmark(name))
        })
        .column("Share of the limit, drawn", "g", |(.., share)| {
            Cell::Drawn(bar::draw(*share, false, &percent_size(*share)))
        })
        .column("Of the limit", "n", |(.., share)| cell::of_limit(*share));
    Some(Section::new(format!("limits-{number}"), heading).paragraph(note).rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data::{self, Sample};
    use crate::site_checks::{check_balance, text};
    use sprag_model::Metric;

    fn html(sample: &Sample) -> String {
        let catalog = sample.catalog();
        let page = matrix(&catalog, &Data::new(&catalog), "cpu").expect("it renders");
        check_balance(&page.path, text(&page));
        text(&page).to_owned()
    }

    fn columns(page: &str) -> Vec<&str> {
        let head = page.split("<thead>").nth(1).and_then(|rest| rest.split("</thead>").next()).expect("it has a table");
        head.split("<th scope=\"col\">").skip(2).filter_map(|rest| rest.split('<').next()).collect()
    }

    #[test]
    fn sizes_are_columns_where_there_are_several() {
        let page = html(&sample_data::rich());
        assert_eq!(columns(&page), ["n=512", "n=4096"]);
        assert_eq!(page.matches("<h2").count(), 2, "a section a machine");
    }

    #[test]
    fn machines_are_columns_where_there_is_one_size() {
        let mut sample = sample_data::rich();
        sample.analysis.series.retain(|one| one.series.params == "{n=512}");
        let page = html(&sample);
        assert_eq!(columns(&page).len(), 2, "{:?}", columns(&page));
        assert!(page.contains("cpu by machine") && columns(&page)[0] == "epyc-9354");
        assert_eq!(page.matches("<h2").count(), 1);
    }

    #[test]
    fn a_suite_whose_commits_are_unknown_shows_values() {
        let mut sample = sample_data::rich();
        sample.trend.series.clear();
        let page = html(&sample);
        assert!(page.contains("Their commits are unknown") && page.contains("not compared"));
        assert!(page.contains("None of ") && !page.contains("#rule"), "there is no page of the rule");
    }

    #[test]
    fn shares_of_limits_are_in_cells_and_in_a_table() {
        let mut sample = sample_data::rich();
        assert!(!html(&sample).contains("against their limits"));
        let judged = sample.analysis.series.iter().find(|one| one.judged && one.series.suite == "cpu");
        let mut share = judged.expect("one of the suite is judged").clone();
        share.series.id = "cpu-share".to_owned();
        (share.series.metric, share.judged, share.latest.current) = (Metric::limit_share(), false, 0.857);
        sample.analysis.series.push(share);
        let page = html(&sample);
        assert!(page.contains("<span class=\"of\">85.7\u{202f}% of limit</span>"), "in its cell");
        assert_eq!(page.matches("class=\"bar\"").count(), 1, "one bar");
        assert!(page.contains("<td class=\"n\">85.7\u{202f}%</td>") && page.contains("series/cpu-share.html"));
        assert!(page.contains("1 kernel reaches 85.7\u{202f}% of the limit"), "{page}");
        sample.analysis.series.last_mut().expect("it is there").latest.current = 1.3;
        let page = html(&sample);
        assert!(page.contains("<span class=\"of\">130.0\u{202f}% &#62; limit</span>"), "{page}");
        assert!(page.contains("class=\"bar beyond\"") && page.contains("cannot be"), "{page}");
    }

    #[test]
    fn a_tint_shows_how_much_changed() {
        for (kind, relative, expected) in [
            (Kind::Worse, Some(0.081), "w3"),
            (Kind::Worse, Some(0.03), "w2"),
            (Kind::Better, Some(-0.02), "b1"),
            (Kind::Worse, None, "w3"),
            (Kind::Same, None, ""),
            (Kind::Doubt, None, "nc"),
        ] {
            assert_eq!(tint(kind, relative), expected);
        }
    }
}

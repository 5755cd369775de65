//! The benchmarks of each suite next to its machines, for the digest: newest value and change against the baseline, worst first.

use std::collections::HashMap;

use super::cell::{self, Judgement, failure};
use super::frame::prelude::*;
use crate::fit::FitTurn;
use crate::reasons;
use crate::text::{capital, short_commit};
use sprag_model::{Comparison, Counts, Metric, Scale, SuiteAnalysis, Verdict};

/// The machines that one table shows.
const MACHINES: usize = 3;

/// The rows that all tables together show, and those that each shows in any case.
const ROWS: usize = 24;
const FEWEST_ROWS: usize = 2;

/// Without any verdict, suites of more tables are a row each.
const TABLES: usize = 2;

/// The longest subject of a commit in a sentence, in characters.
const SUBJECT: usize = 90;

/// How many failed benchmarks of a suite are named.
const NAMED: usize = 50;

/// One metric of a benchmark, with what each machine measured of it.
struct GridRow<'a> {
    benchmark: &'a str,
    metric: &'a Metric,
    of_machines: Vec<Option<&'a Comparison>>,
}

impl<'a> GridRow<'a> {
    fn comparisons(&self) -> impl Iterator<Item = &'a Comparison> {
        self.of_machines.iter().flatten().copied()
    }

    fn has_verdict(&self) -> bool {
        self.comparisons().any(|one| one.verdict != Verdict::NoBaseline)
    }

    fn has_turn(&self, catalog: &Catalog<'_>) -> bool {
        self.comparisons().any(|one| newest_turn(catalog, one).is_some())
    }

    fn is_bad(&self) -> bool {
        self.comparisons().any(|one| Judgement::new(one).is_bad)
    }

    fn newest(&self) -> Option<f64> {
        self.comparisons().find_map(|one| one.current)
    }
}

pub(super) fn sections(catalog: &Catalog<'_>) -> Vec<Section> {
    let mut suites: Vec<Vec<&SuiteAnalysis>> = Vec::new();
    for suite in &catalog.analysis.suites {
        match suites.iter_mut().find(|group| group[0].suite == suite.suite && group.len() < MACHINES) {
            Some(group) => group.push(suite),
            None => suites.push(vec![suite]),
        }
    }
    let mut grids: Vec<_> = suites.into_iter().map(|group| (rows(&group), group)).collect();
    let any_verdict = grids.iter().any(|(rows, _)| rows.iter().any(GridRow::has_verdict));
    if !any_verdict && grids.len() > TABLES {
        return vec![overview(catalog)];
    }
    if !any_verdict {
        let size = |row: &GridRow<'_>| {
            let turns = row.comparisons().filter_map(|one| newest_turn(catalog, one)?.relative);
            turns.map(|one| one.value.abs()).fold(0.0, f64::max)
        };
        grids.iter_mut().for_each(|(rows, _)| rows.sort_by(|one, other| size(other).total_cmp(&size(one))));
    }
    let all = |most: usize| grids.iter().map(|(rows, _)| rows.len().min(most)).sum::<usize>();
    let most = (FEWEST_ROWS..=ROWS).rev().find(|most| all(*most) <= ROWS).unwrap_or(FEWEST_ROWS);
    let grids = grids.into_iter().enumerate();
    grids.map(|(place, (rows, group))| section(catalog, place + 1, &group, rows, (most, any_verdict))).collect()
}

/// A suite on a machine, and those of its metrics whose trend has a change, the largest first.
struct Overview<'a> {
    suite: &'a SuiteAnalysis,
    changed: Vec<(&'a Comparison, f64)>,
}

impl<'a> Overview<'a> {
    fn new(catalog: &Catalog<'_>, suite: &'a SuiteAnalysis) -> Overview<'a> {
        let size = |one| Some(newest_turn(catalog, one)?.relative.map_or(0.0, |one| one.value.abs()));
        let mut changed: Vec<(&Comparison, f64)> =
            suite.comparisons.iter().filter_map(|one| Some((one, size(one)?))).collect();
        changed.sort_by(|one, other| other.1.total_cmp(&one.1));
        Overview { suite, changed }
    }

    fn largest(&self) -> Option<&'a Comparison> {
        self.changed.first().map(|(one, _)| *one)
    }
}

/// A row a suite, that with the largest newest change first.
fn overview(catalog: &Catalog<'_>) -> Section {
    let mut rows: Vec<Overview<'_>> =
        catalog.analysis.suites.iter().map(|suite| Overview::new(catalog, suite)).collect();
    rows.sort_by(|one, other| {
        let [one, other] = [one, other].map(|row| row.changed.first().map_or(-1.0, |(_, size)| *size));
        other.total_cmp(&one)
    });
    let remarks = rows.iter().flat_map(|row| {
        let label = place(row.suite);
        remarks(row.suite).into_iter().map(move |words| (label.clone(), words))
    });
    let remarks: Vec<(String, Phrase)> = remarks.collect();
    let fit = |one: &Comparison| catalog.fit(one.series.as_deref()?);
    let series = |one: &Comparison| catalog.series(one.series.as_deref()?);
    let section = Rows::new("Suites: newest run and largest newest change", rows)
        .first(ROWS)
        .column("Suite", "full", |row| {
            Phrase::default().to(cell::matrix_page(catalog, &row.suite.suite), row.suite.suite.clone())
        })
        .column("Machine", "any", |row| row.suite.machine_name.clone())
        .column("Newest run", "any", |row| {
            let run = Phrase::from(Mark::of_status(row.suite.status)).text(" ");
            let run = run.to(catalog.run_page(&row.suite.run), date::moment(row.suite.time));
            let rough = (!row.suite.quality.clean).then(|| Mark::of_quality(&row.suite.quality));
            let run = rough.into_iter().fold(run, |run, mark| run.text(" ").mark(mark));
            Cell::noted(run, row.suite.reason.as_deref().map(Phrase::quoted).unwrap_or_default())
        })
        .column("With a change", "n opt2", |row| {
            format!("{} of {}", count(row.changed.len()), count(row.suite.comparisons.len()))
        })
        .column("Largest newest change", "any", |row| {
            let name = |one: &Comparison| {
                let page = series(one).map(|series| catalog.series_place(&series.series.id));
                Phrase::page_name(page, short_benchmark(&one.benchmark))
            };
            row.largest().map_or_else(Phrase::default, name)
        })
        .column("Its trend", "g opt2", |row| {
            let drawn = row.largest().and_then(|one| Some(cell::sparkline(series(one)?, fit(one).as_ref())));
            Cell::Drawn(drawn.unwrap_or_default())
        })
        .column("Change", "n push", |row| {
            row.largest().map_or_else(|| number::NONE.into(), |one| cell::newest_change(fit(one).as_ref(), &one.metric))
        })
        .section(
            "suite-1",
            "Suites",
            "No suite has a baseline, so nothing is judged. The matrix of a suite has all of it.",
            "",
        );
    remarks.into_iter().fold(section, |section, (label, words)| section.item(label, words))
}

fn place(suite: &SuiteAnalysis) -> String {
    format!("{} on {}", suite.suite, suite.machine_name)
}

/// The worst first: by the place that a row has in the list of the machine where it is worst.
fn rows<'a>(group: &[&'a SuiteAnalysis]) -> Vec<GridRow<'a>> {
    let mut rows: Vec<((u8, usize), GridRow<'a>)> = Vec::new();
    let mut places: HashMap<(&str, &str), usize> = HashMap::new();
    for (machine, suite) in group.iter().enumerate() {
        for (place, comparison) in suite.comparisons.iter().enumerate() {
            let rank = (comparison.severity(), place);
            let (benchmark, metric) = (comparison.benchmark.as_str(), &comparison.metric);
            let index = *places.entry((benchmark, &metric.name)).or_insert_with(|| {
                rows.push((rank, GridRow { benchmark, metric, of_machines: vec![None; group.len()] }));
                rows.len() - 1
            });
            let (worst, row) = &mut rows[index];
            *worst = rank.min(*worst);
            row.of_machines[machine] = Some(comparison);
        }
    }
    rows.sort_by_key(|(rank, _)| *rank);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn section(
    catalog: &Catalog<'_>,
    number: usize,
    group: &[&SuiteAnalysis],
    rows: Vec<GridRow<'_>>,
    (most, any_verdict): (usize, bool),
) -> Section {
    let first = group[0];
    let heading = match group {
        [only] => format!("{} on {}", only.suite, only.machine_name),
        several => format!("{} on {}", first.suite, counted(several.len(), "machine", "machines")),
    };
    let mut section = Section::new(format!("suite-{number}"), heading);
    for suite in group {
        section = section.item(suite.machine_name.clone(), note(suite, catalog, ""));
    }
    for suite in group {
        // With several machines each line says of which it is.
        let label = if group.len() > 1 { suite.machine_name.as_str() } else { "" };
        section = remarks(suite).into_iter().fold(section, |section, words| section.item(label.to_owned(), words));
    }
    if rows.is_empty() {
        return section.paragraph("No metric of it was compared with anything.");
    }
    let (shown, without): (Vec<GridRow<'_>>, Vec<GridRow<'_>>) =
        rows.into_iter().partition(|row| if any_verdict { row.has_verdict() } else { row.has_turn(catalog) });
    let lacks = if any_verdict { "a baseline" } else { "a known change" };
    let folded = format!("{} without {lacks}", counted(without.len(), "metric", "metrics"));
    let beyond: Vec<&GridRow<'_>> = [&shown, &without].into_iter().flat_map(|rows| rows.iter().skip(most)).collect();
    let left_out = Counts::from_comparisons(beyond.iter().flat_map(|row| row.comparisons()));
    let rest = rest(catalog, &first.suite, beyond.len(), &left_out);
    let shown = table(catalog, group, shown, (most, any_verdict));
    section.rows(shown).rows(table(catalog, group, without, (most, any_verdict)).folded(folded)).paragraph(rest)
}

/// The benchmarks of a suite that failed, and the reasons that several verdicts share.
pub(super) fn remarks(suite: &SuiteAnalysis) -> Vec<Phrase> {
    let failures = suite.failures.iter().take(NAMED).map(|(id, reason)| failure(id, reason));
    let more = number::beyond(suite.failures.len(), NAMED, "more failed; the page of the run names them.");
    let more = (!more.is_empty()).then(|| more.into());
    let reason = |one: reasons::Shared<'_>| Phrase::from(one.counted()).text(": ").join(Phrase::quoted(one.reason));
    failures.chain(more).chain(reasons::shared(&suite.comparisons).into_iter().map(reason)).collect()
}

fn table<'a>(
    catalog: &Catalog<'_>,
    group: &[&SuiteAnalysis],
    mut rows: Vec<GridRow<'a>>,
    (most, any_verdict): (usize, bool),
) -> Rows<(Scale, GridRow<'a>)> {
    rows.truncate(most);
    let metric_of = |row: &GridRow<'_>| (row.metric.clone(), row.newest());
    let groups = cell::by_metric(rows, metric_of, cell::metric_words);
    let series = |comparison: &Comparison| comparison.series.as_deref().and_then(|id| catalog.series(id));
    // A machine that skipped the suite has a line above, and no column.
    let machines = group.iter().map(|suite| suite.machine_name.as_str()).enumerate();
    let machines: Vec<(usize, &str)> = machines.filter(|(place, _)| !group[*place].comparisons.is_empty()).collect();
    let names: Vec<&str> = machines.iter().map(|(_, name)| *name).collect();
    let what = if any_verdict { "judged metrics, worst first" } else { "metrics, largest newest change first" };
    let caption = format!("{} on {}: {what}", group[0].suite, names.join(", "));
    // One metric and unit needs no row of its own.
    let (head, table) = match <[_; 1]>::try_from(groups) {
        Ok([(heading, rows)]) => (capital(&heading), Rows::new(caption, rows)),
        Err(groups) => ("Benchmark".to_owned(), Rows::grouped(caption, groups)),
    };
    let mut table = table.column(head, "full", |(_, row)| {
        let page = row.comparisons().find_map(series).map(|series| catalog.series_place(&series.series.id));
        Phrase::page_name(page, short_benchmark(row.benchmark))
    });
    for (machine, name) in &machines {
        let machine = *machine;
        let of = |row: &GridRow<'a>| row.of_machines[machine];
        table = table
            .column(format!("Trend on {name}"), "g opt2", move |(_, row)| {
                let series = of(row).and_then(series);
                let picture = |one| cell::sparkline(one, catalog.fit(&one.series.id).as_ref());
                Cell::Drawn(series.map_or(String::new(), picture))
            })
            .column(if machines.len() == 1 { "Newest" } else { name }.to_owned(), "n machine", move |(scale, row)| {
                or_none(of(row).and_then(|one| one.current), |value| number::value(*scale, value))
            })
            .column(if any_verdict { "Change" } else { "Newest change" }, "n push", move |(_, row)| match of(row) {
                Some(one) if any_verdict => change(one),
                Some(one) => {
                    let fit = one.series.as_deref().and_then(|id| catalog.fit(id));
                    cell::newest_change(fit.as_ref(), &one.metric)
                }
                None => number::NONE.into(),
            });
    }
    if let ([(machine, _)], true) = (&machines[..], any_verdict) {
        let machine = *machine;
        let judged = move |row: &GridRow<'a>| row.of_machines[machine].map(Judgement::new);
        let figure = move |row: &GridRow<'a>, of: fn(Judgement) -> String| judged(row).map_or_else(String::new, of);
        table = table
            .column("Interval", "n ci opt", move |(_, row)| figure(row, |one| one.interval))
            .column("Limit", "n opt", move |(_, row)| figure(row, |one| one.limit))
            .column("Detectable", "n opt2", move |(_, row)| figure(row, |one| one.detectable))
            .column("Verdict", "verdict", move |(_, row)| {
                judged(row).map_or_else(Phrase::default, |one| one.mark.into())
            });
    }
    table.tint(|(_, row)| row.is_bad())
}

/// The change with the glyph and colour of its verdict, and its word where the sign of the change does not say it.
fn change(comparison: &Comparison) -> Phrase {
    let mark = Judgement::new(comparison).mark;
    let Some(effect) = comparison.effect else { return mark.into() };
    let percent = number::percent(effect.change);
    let is_obvious = matches!(comparison.verdict, Verdict::Regressed | Verdict::Improved | Verdict::Unchanged);
    let word = if is_obvious && !comparison.is_accepted() { percent } else { format!("{} {percent}", mark.word) };
    Mark { word, ..mark }.into()
}

fn newest_turn<'a>(catalog: &Catalog<'a>, comparison: &Comparison) -> Option<FitTurn<'a>> {
    let fit = catalog.fit(comparison.series.as_deref()?)?;
    fit.newest_level().and(fit.turns.last().copied())
}

/// How many rows are left out, and where they are.
pub(super) fn rest(catalog: &Catalog<'_>, suite: &str, rows: usize, left_out: &Counts) -> Phrase {
    if rows == 0 {
        return Phrase::default();
    }
    let words = Phrase::plain(counted(rows, "more row is in the ", "more rows are in the "));
    let words = match cell::matrix_page(catalog, suite) {
        Some(page) => words.link(page, "matrix"),
        None => words.text("record of the run"),
    };
    words.text(format!(": {}.", left_out.words()))
}

/// The newest run of a suite on a machine and its baseline, in a line.
pub(super) fn note(suite: &SuiteAnalysis, catalog: &Catalog<'_>, subject: &str) -> Phrase {
    let note = run_note(suite, catalog, subject);
    match &suite.baseline {
        Ok(facts) => {
            let commit = facts.commit.as_deref().map_or("no commit", short_commit);
            note.text(" Baseline ").id(commit).text(format!(" of {}.", date::day(facts.time)))
        }
        Err(reason) => note.text(" No baseline: ").join(Phrase::quoted(&reason.to_string())).text("."),
    }
}

fn run_note(suite: &SuiteAnalysis, catalog: &Catalog<'_>, subject: &str) -> Phrase {
    let mut note = Phrase::from(Mark::of_status(suite.status)).text(match &suite.reason {
        Some(reason) => format!(": {reason}. Newest run "),
        None => " ".to_owned(),
    });
    note = note.to(catalog.run_page(&suite.run), date::moment(suite.time));
    if let Some(commit) = &suite.commit {
        note = note.text(" at ").join(cell::commit_link(catalog, &commit.sha));
        if !subject.is_empty() {
            note = note.text(format!(" “{}”", shortened(subject, SUBJECT)));
        }
        if commit.dirty {
            note = note.text(" with ").mark(Mark::new(Tone::Doubt, "◆", "uncommitted changes"));
        }
    }
    note = note.text(".");
    if !suite.quality.clean {
        let reasons = suite.quality.reasons.join("; ");
        let reasons = if reasons.is_empty() { "no reason was recorded" } else { &reasons };
        note = note.text(" ").mark(Mark::of_quality(&suite.quality)).text(format!(": {reasons}."));
    }
    // The means are of what was judged at last, maybe at an earlier commit.
    match suite.mean_baseline.filter(|_| suite.counts.judged() > 0) {
        Some((series, change)) => {
            let mean = format!(" Geometric mean of {} series against the baseline: ", count(series));
            note.text(format!("{mean}{} (positive is worse).", number::percent(change)))
        }
        None => note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use crate::sheet::{Block, Table};

    fn tables(section: &Section) -> Vec<&Table> {
        let mut tables = Vec::new();
        for block in &section.blocks {
            if let Block::Table(table) = block {
                tables.push(table);
            }
        }
        tables
    }

    #[test]
    fn rows_without_a_verdict_are_folded_and_what_is_left_out_is_counted() {
        let mut sample = sample_data::rich();
        sample.analysis.suites.truncate(1);
        let suite = &mut sample.analysis.suites[0];
        suite.comparisons.truncate(2);
        let listed = suite.comparisons[1].clone();
        for number in 0..30 {
            let benchmark = format!("cpu/new_{number} @fast");
            suite.comparisons.push(Comparison {
                benchmark,
                verdict: Verdict::NoBaseline,
                effect: None,
                ..listed.clone()
            });
        }
        let sections = sections(&sample.catalog());
        let [judged, folded] = tables(&sections[0])[..] else { panic!("two tables: {sections:?}") };
        assert_eq!((judged.rows.len(), judged.folded.as_deref()), (2, None));
        assert_eq!((folded.rows.len(), folded.folded.as_deref()), (24, Some("30 metrics without a baseline")));
        assert!(sections[0].prose().ends_with("6 more rows are in the matrix: 6 without a baseline."), "{sections:?}");
        let dash = Cell::from(number::NONE.to_owned());
        let interval = folded.columns.iter().position(|column| column.head == "Interval");
        assert!(interval.is_some_and(|place| folded.rows.iter().all(|row| row.cells[place] == dash)), "{folded:?}");
    }

    #[test]
    fn a_table_has_three_machines_and_the_worst_row_of_any_comes_first() {
        let mut sample = sample_data::rich();
        let mut suite = sample.analysis.suites[0].clone();
        suite.comparisons.truncate(2);
        suite.comparisons.iter_mut().for_each(|one| one.verdict = Verdict::Unchanged);
        sample.analysis.suites =
            (0..4).map(|number| SuiteAnalysis { machine_name: format!("m{number}"), ..suite.clone() }).collect();
        sample.analysis.suites[2].comparisons[1].verdict = Verdict::Inconclusive("noise".to_owned());
        let sections = sections(&sample.catalog());
        let headings: Vec<String> = sections.iter().map(|section| section.heading.words()).collect();
        assert_eq!(headings, ["cpu on 3 machines", "cpu on m3"]);
        let first = tables(&sections[0])[0].rows[0].cells[0].clone();
        assert_eq!(
            first,
            Cell::from(Phrase::page_name(
                sample.catalog().series_page(suite.comparisons[1].series.as_deref().unwrap_or_default()),
                short_benchmark(&suite.comparisons[1].benchmark),
            ))
        );
    }

    #[test]
    fn without_any_verdict_what_did_not_change_is_folded_and_many_suites_are_a_row_each() {
        let mut sample = sample_data::rich();
        for one in sample.analysis.suites.iter_mut().flat_map(|suite| &mut suite.comparisons) {
            (one.verdict, one.effect) = (Verdict::NoBaseline, None);
        }
        sample.analysis.suites.truncate(1);
        let sections = sections(&sample.catalog());
        let [changed, folded] = tables(&sections[0])[..] else { panic!("two tables: {sections:?}") };
        assert!(changed.folded.is_none() && !changed.rows.is_empty());
        assert!(
            folded.folded.as_deref().is_some_and(|words| words.ends_with("metrics without a known change")),
            "{folded:?}"
        );
        let suite = &sample.analysis.suites[0];
        let named = |number: usize| SuiteAnalysis { suite: format!("s{number}"), ..suite.clone() };
        sample.analysis.suites = (0..40).map(named).collect();
        let overview = super::sections(&sample.catalog());
        let [table] = tables(&overview[0])[..] else { panic!("a table: {overview:?}") };
        assert_eq!((overview.len(), table.rows.len()), (1, ROWS));
    }
}

//! A series: its sentence, its trend, what it is compared with, its points, and where else its kernel runs; and the list of series.

use std::collections::BTreeMap;

use askama::Template;

use super::cell::{self, Judgement};
use super::frame::{Frame, history_page, page};
use super::series_values::{self, PointRow};
use super::{series_chart, series_elsewhere, series_fit};
use crate::catalog::Catalog;
use crate::chart::{script, trend_chart};
use crate::fit::Fit;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::order::{natural, parameters};
use crate::phrase::Phrase;
use crate::sheet::{Block, Cell, Rows, Section, Sheet};
use crate::text::short_benchmark;
use crate::{ReportError, Settings, date, link, reasons};
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::metric::{Better, Metric, RATIO};
use sprag_model::page::Page;
use sprag_model::sample::Role;
use sprag_model::unit::Scale;
use sprag_model::verdict::Verdict;

#[derive(Template)]
#[template(path = "series.html")]
struct SeriesPage {
    frame: Frame,
    sheet: Sheet,
    chart: String,
    data: String,
    /// How many runs share a dot; empty where none do.
    several: String,
    is_fitted: bool,
    points: Vec<PointRow>,
    is_marked: bool,
    points_note: String,
    value_column: String,
    interval_column: String,
}

impl SeriesPage {
    /// Whether the chart holds a mark of that class: the key explains no other.
    fn draws(&self, class: &str) -> bool {
        self.chart.contains(&format!("class=\"{class}\""))
    }
}

pub(crate) fn series(catalog: &Catalog<'_>, of: &SeriesAnalysis) -> Result<Page, ReportError> {
    let series = &of.series;
    link::file_word("series", &series.id)?;
    let path = link::series(&series.id);
    let name = short_benchmark(&series.benchmark);
    // Suites may have kernels of one name; the headline is below a crumb that names the suite, the title is alone.
    let title = format!("{name}, {} of {} on {}", series.metric.name, series.suite, series.machine_name);
    let fit = catalog.fit(&series.id);
    let fit = fit.as_ref();
    let sentence = fit.map_or_else(|| of.sentence.clone(), Fit::sentence);
    let scale = series.metric.unit.scale(fit.and_then(Fit::newest_level).unwrap_or(of.latest.current));
    let spread = series_values::distribution(series, fit, scale);
    let trend = series_chart::trend(catalog, of, fit, &sentence, scale, spread.is_some());
    let several = trend_chart::runs_a_dot(trend.dots.len());
    let (points, points_note) = series_values::rows(catalog, series, scale);
    let newest = series.newest().and_then(|point| catalog.run(&point.run));
    let mut sections = Vec::new();
    sections.extend(fit.map(|fit| series_fit::turns(catalog, fit, scale)));
    sections.push(newest_value(of, scale));
    sections.extend(fit.and_then(|fit| series_fit::before_after(fit, scale)));
    sections.extend(fit.map(|fit| series_fit::detectable(fit.series, scale)));
    sections.extend(spread);
    sections.extend(series_elsewhere::sizes(catalog, of));
    sections.extend(series_elsewhere::elsewhere(catalog, of));
    let template = SeriesPage {
        frame: Frame::new(catalog, &path, "Series", &title, sentence.clone()).for_subject(catalog, newest),
        sheet: Sheet {
            crumb: crumb(catalog, of),
            headline: headline(of, name),
            lede: format!("{sentence} {}", about(of)).into(),
            sections,
            ..Sheet::default()
        },
        chart: trend_chart::draw(&trend),
        data: script::data(&trend, series_chart::names_commits(catalog, &trend)),
        several: if several > 1 { count(several) } else { String::new() },
        is_fitted: trend.fit.is_some(),
        is_marked: points.iter().any(|row| !row.marks.is_empty()),
        points,
        points_note,
        value_column: number::column("Median", scale),
        interval_column: number::column("95\u{202f}% interval", scale),
    };
    page(path, &template)
}

fn crumb(catalog: &Catalog<'_>, of: &SeriesAnalysis) -> Phrase {
    let series = &of.series;
    let mut trail = vec![series.name.clone()];
    let parameters = series_elsewhere::parameters(&series.params);
    if !parameters.is_empty() {
        trail.push(parameters);
    }
    trail.push(format!("@{}", series.variant));
    if series.version > 1 {
        trail.push(format!("version {}", series.version));
    }
    trail.extend([series.metric.name.clone(), series.machine_name.clone()]);
    let crumb = Phrase::default().link(link::SERIES_LIST, "Series").text(" / ");
    crumb.to(cell::matrix_page(catalog, &series.suite), series.suite.clone()).text(format!(" / {}", trail.join(" / ")))
}

fn headline(of: &SeriesAnalysis, name: &str) -> Phrase {
    let metric = &of.series.metric.name;
    let subject = Phrase::plain(format!("{name}, {metric} "));
    let Some(comparison) = &of.comparison else {
        return subject.text(if of.at_tip { "is shown, not judged" } else { "is not in the newest run" });
    };
    let size = comparison.effect.map_or(String::new(), |effect| number::percent_size(effect.change) + " ");
    let mark = Mark::of_comparison(comparison);
    match comparison.verdict {
        Verdict::Regressed | Verdict::Improved => {
            let word = format!("{size}{}", mark.word);
            let words = subject.text("is ").mark(Mark { word, ..mark }).text(" than its baseline");
            match &comparison.answer {
                None => words,
                Some(answer) => words.text(", ").join(reasons::accepted(answer)),
            }
        }
        Verdict::Unchanged => subject.text("did not change against its baseline"),
        Verdict::Inconclusive(_) => subject.text("is ").mark(mark),
        Verdict::NotComparable(_) => subject.text("is ").mark(mark).text(" with its baseline"),
        Verdict::Missing => subject.text("is ").mark(mark).text(" in the newest run"),
        Verdict::NoBaseline => subject.text("has ").mark(mark),
    }
}

fn about(of: &SeriesAnalysis) -> String {
    let series = &of.series;
    let better = match series.metric.better {
        Better::Lower => "Lower is better.",
        Better::Higher => "Higher is better.",
    };
    let why = match series.role {
        Role::Control if series.metric.name == RATIO => {
            "A/A control: one kernel timed against itself. It should be 1; the deviation is noise. Never gated."
                .to_owned()
        }
        Role::Control => {
            "A/A control: one kernel timed against itself; its ratio shows the noise. Never gated.".to_owned()
        }
        _ if series.is_auxiliary() => {
            format!("{better} A calibration kernel: ratios divide by its time. Never gated.")
        }
        Role::Reported if parameters(&series.params).iter().any(|(name, _)| *name == "threads") => {
            format!("{better} Reported, never gated: other programs may use the other cores of a shared machine.")
        }
        Role::Reported => format!("{better} Reported, never gated."),
        Role::Tracked if of.judged => format!("{better} The gate judges this metric."),
        Role::Tracked => format!("{better} The gate judges another metric of this benchmark."),
    };
    format!("{why} Machine class: {}.", series.machine_class)
}

fn newest_value(of: &SeriesAnalysis, scale: Scale) -> Section {
    let value = |value: Option<f64>| cell::or_none(value, |value| number::value(scale, value));
    let (latest, now) = (&of.latest, value(Some(of.latest.current)));
    let none = || number::NONE.to_owned();
    let plain = |change: Option<f64>| Judgement {
        change: cell::percent(change),
        interval: none(),
        limit: none(),
        detectable: none(),
        mark: Mark::new(Tone::Plain, "–", "not judged"),
        reason: Phrase::default(),
        is_bad: false,
    };
    let mut rows = vec![("the run before", value(latest.previous), now.clone(), plain(latest.change_previous))];
    match &of.comparison {
        // The headline says that there is none.
        Some(comparison) if comparison.verdict == Verdict::NoBaseline => {}
        Some(comparison) => {
            let judgement = Judgement::new(comparison);
            let rule = Phrase::plain(format!("rule {}", comparison.rule));
            let reason = match judgement.reason.parts.is_empty() {
                true => rule,
                false => judgement.reason.text("; ").join(rule),
            };
            let judgement = Judgement { reason, ..judgement };
            rows.push(("the baseline", value(comparison.baseline), value(comparison.current), judgement));
        }
        None => rows.push(("the baseline", value(latest.baseline), now, plain(latest.change_baseline))),
    }
    Rows::new("The newest value against others", rows)
        .column("Against", "full", |(against, ..)| *against)
        .column(number::column("Before", scale), "n from", |(_, before, ..)| before.clone())
        .column(number::column("Newest", scale), "n", |(_, _, now, _)| now.clone())
        .column("Change", "n push", |(.., judgement)| judgement.change.clone())
        .column("95\u{202f}% interval", "n ci", |(.., judgement)| judgement.interval.clone())
        .column("Limit", "n opt2", |(.., judgement)| judgement.limit.clone())
        .column("Detectable", "n opt2", |(.., judgement)| judgement.detectable.clone())
        .column("Verdict", "full", |(.., judgement)| Cell::noted(judgement.mark.clone(), judgement.reason.clone()))
        .tint(|(.., judgement)| judgement.is_bad)
        .section("newest", "Newest value", "", "")
}

/// The series that the list shows, so that it stays below a megabyte.
const ROWS: usize = 1000;

pub(crate) fn series_list(catalog: &Catalog<'_>, settings: &Settings) -> Result<Page, ReportError> {
    let all = &catalog.analysis.series;
    let mut by_suite: BTreeMap<&str, Vec<&SeriesAnalysis>> = BTreeMap::new();
    for series in all {
        by_suite.entry(&series.series.suite).or_default().push(series);
    }
    let mut left = ROWS;
    let mut sections = Vec::new();
    for (suite, mut series) in by_suite {
        series.sort_by(|a, b| order(a, b));
        series.truncate(left);
        left -= series.len();
        sections.push(suite_section(catalog, format!("suite-{}", sections.len() + 1), suite, series));
    }
    let judged = all.iter().filter(|series| series.judged).count();
    let rest = match all.iter().all(|series| series.series.role.is_tracked()) {
        true => "one metric a benchmark. The others are for the reader.",
        false => {
            "one metric of each tracked benchmark. Its other metrics are for the reader, and so are controls, calibration kernels \
             and kernels on several threads."
        }
    };
    let mut lede = format!("{} judged, {rest}", counted(judged, "is", "are"));
    if all.len() > ROWS {
        lede += &format!(" Only the first {} are listed; the pages of the runs lead to the rest.", count(ROWS));
    }
    let sheet = Sheet {
        headline: counted(all.len(), "series", "series").into(),
        lede: lede.into(),
        note: downloads(settings),
        has_filter: true,
        sections,
        ..Sheet::default()
    };
    history_page(catalog, (link::SERIES_LIST, "Series"), "Series", sheet)
}

fn downloads(settings: &Settings) -> Phrase {
    let [first, rest @ ..] = settings.downloads.as_slice() else { return Phrase::default() };
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let begun = Phrase::plain("All values, for other programs: ").link(first.0.clone(), name(&first.0));
    rest.iter().fold(begun, |words, (path, _)| words.text(", ").link(path.clone(), name(path))).text(".")
}

fn suite_section(catalog: &Catalog<'_>, id: String, suite: &str, series: Vec<&SeriesAnalysis>) -> Section {
    let (auxiliary, kernels) = series.into_iter().partition(|series| series.series.is_auxiliary());
    let groups = |series: Vec<_>, heading: fn(&Metric, Scale) -> String| {
        let metric_of = |one: &&SeriesAnalysis| (one.series.metric.clone(), Some(one.latest.current));
        cell::by_metric(series, metric_of, heading)
    };
    let groups = groups(kernels, cell::metric_words).into_iter().chain(groups(auxiliary, cell::auxiliary_words));
    let judged = groups.map(|(heading, rows)| {
        let rows = rows.into_iter().map(|(scale, one)| (scale, one, Judgement::of_series(one)));
        (heading, rows.collect::<Vec<(Scale, &SeriesAnalysis, (Phrase, Mark))>>())
    });
    let rows = Rows::grouped(format!("Series of {suite}"), judged)
        .column("Benchmark", "full", |(_, one, _)| {
            Phrase::default().link(link::series(&one.series.id), short_benchmark(&one.series.benchmark))
        })
        .column("Machine", "place", |(_, one, _)| one.series.machine_name.clone())
        .column("Fit", "g opt2", |(_, one, _)| {
            let fit = catalog.fit(&one.series.id);
            Cell::Drawn(fit.map_or(String::new(), |fit| cell::fit_sparkline(one, Some(&fit))))
        })
        .column("Newest", "n", |(scale, one, _)| number::value(*scale, one.latest.current))
        .column("Runs", "n opt2", |(_, one, _)| count(one.latest.points))
        .column("Newest run", "nb opt", |(_, one, _)| {
            one.series.newest().map_or(String::new(), |point| date::day(point.time))
        })
        .column("Against baseline", "n push", |(.., (change, _))| change.clone())
        .column("Verdict", "verdict", |(.., (_, mark))| mark.clone());
    let matrix = cell::matrix_page(catalog, suite);
    let matrix = matrix.map_or_else(Phrase::default, |page| Phrase::default().link(page, format!("Matrix of {suite}")));
    Section::new(id, suite).paragraph(matrix).rows(rows)
}

fn order(a: &SeriesAnalysis, b: &SeriesAnalysis) -> std::cmp::Ordering {
    (a.series.is_auxiliary().cmp(&b.series.is_auxiliary()))
        .then_with(|| b.judged.cmp(&a.judged))
        .then_with(|| a.series.metric.name.cmp(&b.series.metric.name))
        .then_with(|| natural(&a.series.benchmark, &b.series.benchmark))
        .then_with(|| a.series.machine_name.cmp(&b.series.machine_name))
        .then_with(|| a.series.id.cmp(&b.series.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use sprag_model::sample::CALIBRATION;

    #[test]
    fn a_page_says_why_its_series_is_not_judged() {
        let of = sample_data::rich().analysis.series.into_iter().find(|one| one.judged).expect("one is judged");
        let check = |role: Role, variant: &str, params: &str, judged: bool, expected: &str| {
            let mut of = SeriesAnalysis { judged, ..of.clone() };
            of.series.role = role;
            of.series.variant = variant.to_owned();
            of.series.params = params.to_owned();
            let text = about(&of);
            assert!(text.contains(expected), "`{expected}` is not in `{text}`");
            assert_eq!(text.contains("The gate judges"), role == Role::Tracked, "{text}");
            assert_eq!(text.contains("is better"), role != Role::Control, "{text}");
        };
        check(Role::Tracked, "fast", "", true, "The gate judges this metric.");
        check(Role::Tracked, "fast", "", false, "another metric of this benchmark");
        check(Role::Reported, "fast", "{c=1,threads=2}", false, "the other cores of a shared machine");
        check(Role::Reported, "fast", "{c=1}", false, "Reported, never gated. Machine");
        check(Role::Reported, CALIBRATION, "{bytes=1}", false, "ratios divide by its time");
        check(Role::Control, "control", "{of=x}", false, "It should be 1");
    }
}

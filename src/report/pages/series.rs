//! A series: its sentence, its trend, what it is held against, its points, and where else its kernel runs.

use askama::Template;

use super::cell::{Change, Judgement};
use super::elsewhere::{self, Elsewhere};
use super::frame::{Frame, Part, page};
use super::points::{self, PointRow};
use super::series_chart;
use super::series_fit::{self, BeforeAfter, Fact, TurnRow};
use super::series_newest::{self, Newest};
use super::sizes::{self, SizeRow};
use crate::catalog::Catalog;
use crate::chart::{buckets, script, trend_chart};
use crate::fit::Fit;
use crate::mark::{Mark, Tone};
use crate::order::parameters;
use crate::phrase::Phrase;
use crate::text::short_benchmark;
use crate::{ReportError, answer, link, number};
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::metric::{Better, RATIO};
use sprag_model::page::Page;
use sprag_model::sample::Role;
use sprag_model::unit::Scale;
use sprag_model::verdict::Verdict;

#[derive(Template)]
#[template(path = "series.html")]
struct SeriesPage {
    frame: Frame,
    suite: String,
    matrix: String,
    trail: String,
    headline: Phrase,
    sentence: String,
    about: String,
    /// The trend as a picture and as data.
    chart: String,
    data: String,
    several: String,
    is_fitted: bool,
    turns: Vec<TurnRow>,
    turns_note: String,
    column_from: String,
    column_to: String,
    column_before: String,
    column_now: String,
    changes: Vec<ChangeRow>,
    before_after: Option<BeforeAfter>,
    newest: Option<Newest>,
    facts: Vec<Fact>,
    sizes: Vec<SizeRow>,
    points: Vec<PointRow>,
    is_marked: bool,
    points_note: String,
    value_column: String,
    interval_column: String,
    elsewhere: Vec<Elsewhere>,
}

impl SeriesPage {
    /// Whether the chart holds a mark of that class: the key explains no other.
    fn draws(&self, class: &str) -> bool {
        let mark = format!("class=\"{class}\"");
        self.chart.contains(&mark)
    }

    /// Whether the same benchmark is drawn as it is on other machines.
    fn is_elsewhere_drawn(&self) -> bool {
        self.elsewhere.iter().any(Elsewhere::is_drawn)
    }
}

struct ChangeRow {
    against: String,
    before: String,
    now: String,
    change: Change,
    interval: String,
    limit: String,
    could_see: String,
    mark: Mark,
    reason: Phrase,
    bad: bool,
}

pub(crate) fn series(catalog: &Catalog<'_>, of: &SeriesAnalysis) -> Result<Page, ReportError> {
    let series = &of.series;
    link::file_word("series", &series.id)?;
    let path = link::series(&series.id);
    let scale = series.metric.unit.scale(of.latest.current);
    let name = short_benchmark(&series.benchmark);
    // Suites may have kernels of one name; the headline stands below a crumb that names the suite, the title stands alone.
    let title = format!("{name}, {} of {} on {}", series.metric.name, series.suite, series.machine_name);
    let fit = catalog.fit(&series.id);
    let fit = fit.as_ref();
    let sentence = fit.map_or_else(|| of.sentence.clone(), Fit::sentence);
    let scale = fit.and_then(Fit::newest_level).map_or(scale, |level| series.metric.unit.scale(level));
    let spread = series_newest::at_newest(series, fit, scale);
    let trend = series_chart::trend(catalog, of, fit, &sentence, scale, spread.is_some());
    let several = buckets::runs_a_dot(trend.dots.len());
    let (turns, turns_note) = fit.map_or_else(Default::default, |fit| series_fit::turns(catalog, fit, scale));
    let (mut points, points_note) = points::rows(catalog, series, scale);
    points::without_known_places(&mut points, &trend.dots);
    let newest = series.newest().and_then(|point| catalog.run(&point.run));
    let names_commits = series_chart::names_commits(catalog, &trend);
    let template = SeriesPage {
        frame: Frame::new(catalog, &path, Part::Series, title, sentence.clone()).of_one(catalog, newest),
        suite: series.suite.clone(),
        matrix: if catalog.matrix_suites.contains(series.suite.as_str()) {
            link::matrix(&series.suite)
        } else {
            String::new()
        },
        trail: trail(of),
        headline: headline(of, name),
        sentence,
        about: about(of),
        chart: trend_chart::draw(&trend),
        data: script::data(&trend, names_commits),
        several: if several > 1 { number::count(several) } else { String::new() },
        is_fitted: trend.fit.is_some(),
        turns,
        turns_note,
        column_from: number::column("Before", scale),
        column_to: number::column("After", scale),
        before_after: fit.and_then(|fit| series_fit::before_after(fit, scale)),
        newest: spread,
        facts: fit.map_or_else(Vec::new, |fit| series_fit::facts(fit.series, scale)),
        sizes: sizes::rows(catalog, of),
        column_before: number::column("Before", scale),
        column_now: number::column("Newest", scale),
        changes: changes(of, scale),
        is_marked: points.iter().any(|row| !row.marks.is_empty()),
        points,
        points_note,
        value_column: number::column("Median", scale),
        interval_column: number::column("95\u{202f}% interval", scale),
        elsewhere: elsewhere::groups(catalog, of),
    };
    page(path, &template)
}

fn trail(of: &SeriesAnalysis) -> String {
    let series = &of.series;
    let mut parts = vec![series.name.clone()];
    let parameters = series.params.trim_start_matches('{').trim_end_matches('}');
    if !parameters.is_empty() {
        parts.push(parameters.replace(',', ", "));
    }
    parts.push(format!("@{}", series.variant));
    if series.version > 1 {
        parts.push(format!("version {}", series.version));
    }
    parts.push(series.metric.name.clone());
    parts.push(series.machine_name.clone());
    parts.join(" / ")
}

fn headline(of: &SeriesAnalysis, name: &str) -> Phrase {
    let metric = &of.series.metric.name;
    let subject = Phrase::default().text(format!("{name}, {metric} "));
    let Some(comparison) = &of.comparison else {
        let words = if of.at_tip { "is shown, not judged" } else { "is not in the newest run" };
        return subject.text(words);
    };
    let size = comparison.effect.map_or(String::new(), |effect| number::percent_size(effect.change) + " ");
    let mark = Mark::of_comparison(comparison);
    match comparison.verdict {
        Verdict::Regressed | Verdict::Improved => {
            let word = format!("{size}{}", mark.word);
            let words = subject.text("is ").mark(Mark { word, ..mark }).text(" than its baseline");
            match &comparison.answer {
                None => words,
                Some(answer) => words.text(", ").join(answer::said(answer)),
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
            "One kernel timed against itself: 1 is the truth, and what it is off by is noise. Never judged.".to_owned()
        }
        Role::Control => "Of one kernel timed against itself, whose ratio shows the noise. Never judged.".to_owned(),
        _ if series.is_auxiliary() => {
            format!("{better} A calibration kernel: what others are divided by. Never judged.")
        }
        Role::Reported if parameters(&series.params).iter().any(|(name, _)| *name == "threads") => {
            format!("{better} Reported, never judged: the other cores of a shared machine belong to whoever has them.")
        }
        Role::Reported => format!("{better} Reported, never judged."),
        Role::Tracked if of.judged => format!("{better} The gate judges this metric."),
        Role::Tracked => format!("{better} The gate judges another metric of this benchmark."),
    };
    format!("{why} Machine class: {}.", series.machine_class)
}

fn changes(of: &SeriesAnalysis, scale: Scale) -> Vec<ChangeRow> {
    let value = |value: Option<f64>| value.map_or(number::NONE.to_owned(), |value| number::value(scale, value));
    let now = value(Some(of.latest.current));
    let mut rows = vec![ChangeRow {
        against: "the run before".to_owned(),
        before: value(of.latest.previous),
        now: now.clone(),
        change: Change::plain(of.latest.change_previous),
        interval: number::NONE.to_owned(),
        limit: number::NONE.to_owned(),
        could_see: number::NONE.to_owned(),
        mark: Mark::new(Tone::Plain, "–", "not judged"),
        reason: Phrase::default(),
        bad: false,
    }];
    let row = match &of.comparison {
        // The headline says that there is none.
        Some(comparison) if comparison.verdict == Verdict::NoBaseline => return rows,
        Some(comparison) => {
            let judgement = Judgement::new(comparison);
            let rule = Phrase::plain(format!("rule {}", comparison.rule));
            ChangeRow {
                against: "the baseline".to_owned(),
                before: value(comparison.baseline),
                now: value(comparison.current),
                change: judgement.change,
                interval: judgement.interval,
                limit: judgement.limit,
                could_see: judgement.could_see,
                mark: judgement.mark,
                reason: if judgement.reason.parts.is_empty() { rule } else { judgement.reason.text("; ").join(rule) },
                bad: judgement.bad,
            }
        }
        None => ChangeRow {
            against: "the baseline".to_owned(),
            before: value(of.latest.baseline),
            now,
            change: Change::plain(of.latest.change_baseline),
            interval: number::NONE.to_owned(),
            limit: number::NONE.to_owned(),
            could_see: number::NONE.to_owned(),
            mark: Mark::new(Tone::Plain, "–", "not judged"),
            reason: Phrase::default(),
            bad: false,
        },
    };
    rows.push(row);
    rows
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
        check(Role::Reported, "fast", "{c=1}", false, "Reported, never judged. Machine");
        check(Role::Reported, CALIBRATION, "{bytes=1}", false, "what others are divided by");
        check(Role::Control, "control", "{of=x}", false, "1 is the truth");
    }
}

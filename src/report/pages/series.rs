//! A series: its sentence, its trend, what it is compared with, its points, and the other series of its kernel; and the list of series.

use std::collections::BTreeMap;

use askama::Template;

use super::cell::{self, Judgement};
use super::frame::prelude::*;
use super::frame::{Frame, page};
use super::list::list_pages;
use super::series_chart::PointRow;
use super::{event, series_chart, series_fit};
use crate::chart::mini::Mini;
use crate::chart::{script, trend_chart};
use crate::fit::Fit;
use crate::order::{natural, parameters};
use crate::sheet::Block;
use crate::text::{decoded, without_brackets};
use crate::trend::words;
use crate::{Settings, reasons, summary};
use sprag_model::metric::RATIO;
use sprag_model::{Better, Metric, Role, Scale, SeriesAnalysis, Verdict};

#[derive(Template)]
#[template(path = "series.html")]
struct SeriesPage {
    frame: Frame,
    sheet: Sheet,
    chart: String,
    data: String,
    /// How many runs share a dot; empty where none do.
    several: String,
    /// Whether it has enough runs to look at parts of them.
    has_parts: bool,
    others: Vec<(&'static str, Vec<(String, String)>)>,
    /// The page of its chart alone.
    alone: Option<String>,
    points: Vec<PointRow>,
    is_marked: bool,
    points_note: String,
    value_column: String,
    interval_column: String,
}

/// A series of fewer runs has no tools for parts of it.
const FEW: usize = 10;

impl SeriesPage {
    /// Whether the chart has marks of a class, which its key must explain.
    fn draws(&self, class: &str) -> bool {
        self.chart.contains(&format!("class=\"{class}\""))
    }
}

/// A chart without what is around it.
#[derive(Template)]
#[template(path = "chart.html")]
struct ChartPage<'a> {
    title: &'a str,
    headline: String,
    /// Its suite and machine.
    place: String,
    sentence: &'a str,
    to: &'a str,
    chart: &'a str,
}

/// A site of more judged series has the charts of those with a change as pages, for it would be mostly files that nobody opens.
const MOST_CHARTS: usize = 500;

fn has_chart_page(catalog: &Catalog<'_>, of: &SeriesAnalysis, fit: Option<&Fit<'_>>) -> bool {
    let are_few = || catalog.analysis.series.iter().filter(|one| one.judged).nth(MOST_CHARTS).is_none();
    of.judged && (fit.is_some_and(|fit| !fit.turns.is_empty()) || are_few())
}

/// What a page says of a series above its chart.
pub(super) struct Head<'a> {
    pub(super) fit: Option<Fit<'a>>,
    pub(super) scale: Scale,
    pub(super) headline: Phrase,
    pub(super) sentence: String,
    /// The verdict of the gate, that sentence, and what the gate does with the metric.
    pub(super) sentences: [Phrase; 3],
}

impl<'a> Head<'a> {
    pub(super) fn new(catalog: &Catalog<'a>, of: &SeriesAnalysis) -> Head<'a> {
        let fit = catalog.fit(&of.series.id);
        let sentence = fit.as_ref().map_or_else(|| of.sentence.clone(), Fit::sentence);
        let typical = fit.as_ref().and_then(Fit::newest_level).unwrap_or(of.latest.current);
        Head {
            scale: of.series.metric.unit.scale(typical),
            headline: headline(of, fit.as_ref(), &short_benchmark(&of.series.benchmark)),
            sentences: [gate(of), sentence.clone().into(), about(of).into()],
            sentence,
            fit,
        }
    }
}

/// The page of a series, and for one that is judged the page of its chart alone.
pub(crate) fn series(catalog: &Catalog<'_>, of: &SeriesAnalysis) -> Result<Vec<Page>, ReportError> {
    let series = &of.series;
    link::file_word("series", &series.id)?;
    let path = link::series(&series.id);
    let name = &*short_benchmark(&series.benchmark);
    // The title names the suite, because suites may have kernels of one name.
    let title = format!("{name}, {} of {} on {}", series.metric.name, series.suite, series.machine_name);
    let Head { fit, scale, headline, sentence, sentences } = Head::new(catalog, of);
    let fit = fit.as_ref();
    let spread = series_fit::distribution(series, fit, scale);
    let trend = series_chart::trend(catalog, of, fit, &sentence, scale, spread.is_some());
    let several = trend_chart::runs_a_dot(trend.dots.len());
    let (points, points_note) = series_chart::rows(catalog, series, scale);
    let newest = series.newest().and_then(|point| catalog.run(&point.run));
    let sections = [
        fit.map(|fit| series_fit::turns(catalog, fit, scale)),
        Some(newest_value(of, scale)),
        fit.and_then(|fit| series_fit::before_after(fit, scale)),
        fit.map(|fit| series_fit::detectable(fit.series, scale)),
        spread,
        sizes(catalog, of),
        elsewhere(catalog, of, fit),
    ];
    let chart = trend_chart::draw(&trend);
    let alone = (has_chart_page(catalog, of, fit) && !chart.is_empty()).then(|| link::chart(&series.id));
    let embedded = alone.clone().map(|path| {
        let (title, headline, sentence, to, chart) =
            (&*title, headline.words(), &*sentence, &*link::series(&series.id), &*chart);
        let place = format!("{} on {}", series.suite, series.machine_name);
        page(path, &ChartPage { title, headline, place, sentence, to, chart })
    });
    let template = SeriesPage {
        frame: Frame::new(catalog, &path, "Series", &title, sentence.clone()).for_subject(catalog, newest),
        sheet: Sheet {
            crumb: crumb(catalog, of),
            headline,
            lede: sentences.into_iter().fold(Phrase::default(), Phrase::then),
            sections: sections.into_iter().flatten().collect(),
            ..Sheet::default()
        },
        chart,
        has_parts: trend.dots.len() >= FEW,
        others: series_chart::others(catalog, series),
        alone,
        data: script::data(&trend, series_chart::names_commits(catalog, &trend)),
        several: if several > 1 { count(several) } else { String::new() },
        is_marked: points.iter().any(|row| !row.marks.is_empty()),
        points,
        points_note,
        value_column: number::column("Median", scale),
        interval_column: number::column("95\u{202f}% interval", scale),
    };
    std::iter::once(page(path, &template)).chain(embedded).collect()
}

fn crumb(catalog: &Catalog<'_>, of: &SeriesAnalysis) -> Phrase {
    let series = &of.series;
    let mut trail = vec![decoded(&series.name).into_owned()];
    let parameters = without_brackets(&series.params);
    if !parameters.is_empty() {
        trail.push(parameters);
    }
    trail.push(format!("@{}", decoded(&series.variant)));
    if series.version > 1 {
        trail.push(format!("version {}", series.version));
    }
    trail.extend([series.metric.name.clone(), series.machine_name.clone()]);
    let crumb = Phrase::linked(link::SERIES_LIST, "Series").text(" / ");
    crumb.to(cell::matrix_page(catalog, &series.suite), series.suite.clone()).text(format!(" / {}", trail.join(" / ")))
}

/// What the fit says, such as `infer, time: 5.4 % slower since 30 Oct 2026, 2 suspects`.
fn headline(of: &SeriesAnalysis, fit: Option<&Fit<'_>>, name: &str) -> Phrase {
    let subject = Phrase::plain(format!("{name}, {}: ", of.series.metric.name));
    subject.join(fit.map_or_else(
        || {
            let newest = of.latest.current;
            let runs = counted(of.series.points.len(), "run", "runs");
            format!("{} now, {runs}", number::quantity(of.series.metric.unit.scale(newest), newest)).into()
        },
        series_fit::story,
    ))
}

/// The verdict of the gate; nothing where it does not judge the metric, which another sentence says.
fn gate(of: &SeriesAnalysis) -> Phrase {
    let Some(comparison) = &of.comparison else {
        return if of.at_tip { Phrase::default() } else { "It is not in the newest run.".into() };
    };
    let size = comparison.effect.map_or(String::new(), |effect| percent_size(effect.change) + " ");
    let detectable = comparison.effect.and_then(|effect| effect.detectable).map(percent_size);
    let mark = Mark::of_comparison(comparison);
    let words = Phrase::plain("Gate: ");
    let words = match comparison.verdict {
        Verdict::Regressed | Verdict::Improved => {
            let word = format!("{size}{}", mark.word);
            let words = words.mark(Mark { word, ..mark }).text(" than its baseline");
            match &comparison.answer {
                None => words,
                Some(answer) => words.text(", ").join(reasons::accepted(answer)),
            }
        }
        Verdict::Unchanged => {
            let size = detectable.map_or(String::new(), |size| format!("; the minimum detectable effect is {size}"));
            words.text(format!("no change against its baseline{size}"))
        }
        Verdict::NotComparable(_) => words.mark(mark).text(" with its baseline"),
        Verdict::Missing => words.mark(mark).text(" in the newest run"),
        Verdict::Inconclusive(_) | Verdict::NoBaseline => words.mark(mark),
    };
    words.text(".")
}

fn about(of: &SeriesAnalysis) -> String {
    let series = &of.series;
    let better = match series.metric.better {
        Better::Lower => "Lower is better.",
        Better::Higher => "Higher is better.",
    };
    let has_threads = || parameters(&series.params).iter().any(|(name, _)| *name == "threads");
    let (better, why) = match series.role {
        Role::Control if series.metric.name == RATIO => {
            ("A/A control:", "one kernel timed against itself. It should be 1; the deviation is noise. Never gated.")
        }
        Role::Control => ("A/A control:", "one kernel timed against itself; its ratio shows the noise. Never gated."),
        _ if series.is_auxiliary() => (better, "A calibration kernel: ratios divide by its time. Never gated."),
        Role::Reported if has_threads() => {
            (better, "Reported, never gated: other programs may use the other cores of a shared machine.")
        }
        Role::Reported => (better, "Reported, never gated."),
        Role::Tracked if of.judged => (better, "The gate uses this metric."),
        Role::Tracked => (better, "The gate uses another metric of this benchmark."),
    };
    format!("{better} {why} Machine class: {}.", series.machine_class)
}

fn newest_value(of: &SeriesAnalysis, scale: Scale) -> Section {
    let value = |value: Option<f64>| or_none(value, |value| number::value(scale, value));
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
        // The sentences above say that there is none.
        Some(comparison) if comparison.verdict == Verdict::NoBaseline => {}
        Some(comparison) => {
            let judgement = Judgement::new(comparison);
            let rule = Phrase::plain(format!("rule {}", comparison.rule));
            let reason = if judgement.reason.parts.is_empty() { rule } else { judgement.reason.text("; ").join(rule) };
            let judgement = Judgement { reason, ..judgement };
            rows.push(("the baseline", value(comparison.baseline), value(comparison.current), judgement));
        }
        None => rows.push(("the baseline", value(latest.baseline), now, plain(latest.change_baseline))),
    }
    let note = match rows.iter().any(|(.., judgement)| judgement.detectable != number::NONE) {
        true => "Detectable is here that of the gate, from one run; that of the trend, from eight points, is below.",
        false => "",
    };
    Rows::new("The newest value against others", rows)
        .column("Against", "full", |(against, ..)| *against)
        .column(number::column("Before", scale), "n from", |(_, before, ..)| before.clone())
        .column(number::column("Newest", scale), "n", |(_, _, now, _)| now.clone())
        .column("Change", "n push", |(.., judgement)| judgement.change.clone())
        .column("Interval", "n ci", |(.., judgement)| judgement.interval.clone())
        .column("Limit", "n opt2", |(.., judgement)| judgement.limit.clone())
        .column("Detectable", "n opt2", |(.., judgement)| judgement.detectable.clone())
        .column("Verdict", "full", |(.., judgement)| Cell::noted(judgement.mark.clone(), judgement.reason.clone()))
        .tint(|(.., judgement)| judgement.is_bad)
        .section("newest", "Newest value", note, "")
}

pub(crate) fn series_list(catalog: &Catalog<'_>, settings: &Settings) -> Result<Vec<Page>, ReportError> {
    let all = &catalog.analysis.series;
    let mut by_suite: BTreeMap<&str, Vec<&SeriesAnalysis>> = BTreeMap::new();
    for series in all {
        by_suite.entry(&series.series.suite).or_default().push(series);
    }
    let mut sections = Vec::new();
    for (suite, mut series) in by_suite {
        series.sort_by(|a, b| order(a, b));
        sections.push(suite_section(catalog, format!("suite-{}", sections.len() + 1), suite, series));
    }
    let rest = match all.iter().all(|series| series.series.role.is_tracked()) {
        true if all.iter().all(|series| series.judged) => "",
        true => " The others are reported only.",
        false => " Other metrics, controls, calibration kernels and kernels on several threads are reported only.",
    };
    let counts = summary::counts(catalog.analysis);
    let judged = match (counts.total(), counts.no_baseline) {
        (0, _) => "nothing was compared".to_owned(),
        (total, none) if total == none => "no suite has a baseline, so nothing is judged".to_owned(),
        _ => summary::judged(&counts),
    };
    let with_page = all.iter().filter(|one| catalog.has_page(&one.series.id)).count();
    let viewed = match with_page {
        _ if !catalog.has_viewer() => String::new(),
        one => {
            let have = counted(one, "has", "have");
            format!(
                " {have} a page, as it changed or was asked for. Filter or sort the list for all others (needs script)."
            )
        }
    };
    let lede = format!("The gate uses one metric a benchmark: {judged}.{rest}{viewed}");
    let sheet = Sheet {
        headline: counted(all.len(), "series", "series").into(),
        lede: lede.into(),
        note: downloads(settings),
        sections,
        ..Sheet::default()
    };
    list_pages(catalog, (link::SERIES_LIST, "Series"), "Series", sheet)
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
            Phrase::linked(catalog.series_place(&one.series.id), short_benchmark(&one.series.benchmark))
        })
        .column("Machine", "place by-machine", |(_, one, _)| one.series.machine_name.clone())
        .column("Fit", "g opt2", |(_, one, _)| {
            let fit = catalog.fit(&one.series.id).filter(|_| catalog.has_page(&one.series.id));
            Cell::Drawn(fit.map_or(String::new(), |fit| cell::sparkline(one, Some(&fit))))
        })
        .column("Newest", "n grouped", |(scale, one, _)| number::value(*scale, one.latest.current))
        .column("Runs", "n opt2", |(_, one, _)| count(one.series.points.len()))
        .column("Newest run", "nb opt", |(_, one, _)| {
            one.series.newest().map_or(String::new(), |point| date::day(point.time))
        })
        .column("Newest change", "n push by-size", |(_, one, _)| {
            cell::newest_change(catalog.fit(&one.series.id).as_ref(), &one.series.metric)
        })
        .column("Against baseline", "n push by-size", |(.., (change, _))| change.clone())
        .column("Verdict", "verdict by-verdict", |(.., (_, mark))| mark.clone())
        .facet("change", |(_, one, _)| cell::way(catalog.fit(&one.series.id).as_ref(), &one.series.metric).to_owned())
        .for_script(|(_, one, _)| !catalog.has_page(&one.series.id));
    let matrix = cell::matrix_page(catalog, suite);
    let matrix = matrix.map_or_else(Phrase::default, |page| Phrase::linked(page, format!("Matrix of {suite}")));
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

/// The other series that a group lists, and the sizes.
const OTHERS: usize = 40;

/// The most small multiples of other series.
const DRAWN: usize = 6;

/// The series of a benchmark by its parameters; none where there is no other.
fn sizes(catalog: &Catalog<'_>, of: &SeriesAnalysis) -> Option<Section> {
    let own = &of.series;
    let is_alike = |other: &&SeriesAnalysis| {
        let series = &other.series;
        (series.variant == own.variant && series.machine == own.machine)
            && (series.metric == own.metric && series.version == own.version)
    };
    let mut all: Vec<&SeriesAnalysis> =
        catalog.kernel(&own.suite, &own.name).iter().copied().filter(is_alike).collect();
    if all.len() < 2 {
        return None;
    }
    all.sort_by(|a, b| natural(&a.series.params, &b.series.params));
    let place = all.iter().position(|other| other.series.id == own.id).unwrap_or(0);
    let first = place.saturating_sub(OTHERS / 2).min(all.len().saturating_sub(OTHERS));
    let rows = all.into_iter().skip(first).take(OTHERS).map(|other| (other, catalog.fit(&other.series.id)));
    let section = Rows::new("The same benchmark with other parameters", rows)
        .column("Parameters", "full", |(other, _)| {
            let name = without_brackets(&other.series.params);
            match other.series.id == own.id {
                true => Phrase::default().strong(name).text(" (this page)"),
                false => Phrase::linked(catalog.series_place(&other.series.id), name),
            }
        })
        .column("Level", "n", |(other, fit)| {
            let newest = fit.as_ref().and_then(|fit| fit.newest_level()).unwrap_or(other.latest.current);
            number::quantity(other.series.metric.unit.scale(newest), newest)
        })
        .column("Newest change", "n push", |(other, fit)| cell::newest_change(fit.as_ref(), &other.series.metric))
        .column("At", "", |(_, fit)| {
            let turn = fit.as_ref().and_then(|fit| Some((fit, fit.turns.last()?)));
            turn.map_or(String::new(), |(fit, turn)| fit.commit(turn.begin))
        })
        .section("sizes", "By size", "The same variant on the same machine with other parameters.", "");
    Some(section)
}

/// Around the newest change of a series, the others; each against its own level before. A note, and the pictures.
fn around(catalog: &Catalog<'_>, of: &Fit<'_>, others: &[&SeriesAnalysis]) -> Option<(String, String)> {
    let turn = of.turns.last()?;
    let at: Vec<f64> = of.series.pooled.iter().map(|point| event::place(catalog, point)).collect();
    let range = (*at.get(turn.begin.checked_sub(1)?)?, at[turn.end.min(at.len() - 1)]);
    let places = event::window(&at, range);
    let of_other = |other: &&SeriesAnalysis| {
        let fit = catalog.fit(&other.series.id)?;
        let before = fit.series.pooled.iter().rposition(|point| event::place(catalog, point) <= range.0)?;
        let level =
            fit.pieces().into_iter().find(|piece| piece.points.contains(&before)).filter(|one| one.to != 0.0)?;
        let label = format!("{} on {}", words::name(&other.series.benchmark), other.series.machine_name);
        let mini = Mini { suspects: range, label, ..event::against(catalog, &fit, level.to, places) };
        let series = Phrase::linked(catalog.series_place(&other.series.id), short_benchmark(&other.series.benchmark));
        (!mini.dots.is_empty()).then(|| (series, words::name(&other.series.machine_name), mini))
    };
    let drawn: Vec<_> = others.iter().filter_map(of_other).take(DRAWN).collect();
    if drawn.is_empty() {
        return None;
    }
    let which = match drawn.len() {
        all if all == others.len() => String::new(),
        some => format!(" {some} of {} are drawn.", others.len()),
    };
    let (dots, pictures) = event::draw_multiples(drawn, places);
    let note = format!(
        "Change against the level before the newest change here, whose range is tinted; one scale for all. Each dot is the median \
         of {dots}.{which}"
    );
    Some((note, pictures))
}

/// The other series of a kernel, by what they differ in; `fit` is that of the series itself.
fn elsewhere(catalog: &Catalog<'_>, of: &SeriesAnalysis, fit: Option<&Fit<'_>>) -> Option<Section> {
    let own = &of.series;
    let mut groups: [(&'static str, Vec<&SeriesAnalysis>); 3] = [
        ("Other variants and machines", Vec::new()),
        ("Other metrics of this benchmark", Vec::new()),
        ("Other versions of this benchmark", Vec::new()),
    ];
    for other in catalog.kernel(&own.suite, &own.name).iter().copied().filter(|other| other.series.id != own.id) {
        let series = &other.series;
        let is_here = series.benchmark == own.benchmark && series.machine == own.machine;
        let same_metric = series.metric == own.metric;
        if same_metric && series.version != own.version {
            groups[2].1.extend(is_here.then_some(other));
        } else if same_metric && series.params == own.params {
            groups[0].1.push(other);
        } else if is_here && series.version == own.version {
            groups[1].1.push(other);
        }
    }
    for (_, series) in &mut groups {
        series.sort_by(|a, b| {
            natural(&a.series.benchmark, &b.series.benchmark)
                .then_with(|| a.series.machine_name.cmp(&b.series.machine_name))
                .then_with(|| a.series.metric.name.cmp(&b.series.metric.name))
        });
        series.truncate(OTHERS);
    }
    let (note, pictures) = fit.and_then(|fit| around(catalog, fit, &groups[0].1)).unwrap_or_default();
    let groups = groups.map(|(heading, series)| {
        let rows = series.into_iter().map(|other| (other, Judgement::of_series(other)));
        (heading.to_owned(), rows.collect::<Vec<(&SeriesAnalysis, (Phrase, Mark))>>())
    });
    let newest = |other: &SeriesAnalysis| {
        number::quantity(other.series.metric.unit.scale(other.latest.current), other.latest.current)
    };
    let rows = Rows::grouped("Other series of the same kernel", groups)
        .column("Benchmark", "full", |(other, _)| {
            Phrase::linked(catalog.series_place(&other.series.id), short_benchmark(&other.series.benchmark))
        })
        .column("Metric", "", |(other, _)| other.series.metric.name.clone())
        .column("Machine", "place", |(other, _)| other.series.machine_name.clone())
        .column("Newest", "n", |(other, _)| newest(other))
        .column("Against baseline", "n push", |(_, (change, _))| change.clone())
        .column("Verdict", "full", |(_, (_, mark))| mark.clone());
    let section = Section::new("elsewhere", "The same kernel elsewhere").paragraph(note).drawn(pictures).rows(rows);
    section.unless_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use sprag_model::sample::CALIBRATION;

    #[test]
    fn a_page_says_why_its_series_is_not_judged() {
        let of = sample_data::rich().analysis.series.into_iter().find(|one| one.judged).expect("one is judged");
        for (role, variant, params, judged, expected) in [
            (Role::Tracked, "fast", "", true, "The gate uses this metric."),
            (Role::Tracked, "fast", "", false, "another metric of this benchmark"),
            (Role::Reported, "fast", "{c=1,threads=2}", false, "the other cores of a shared machine"),
            (Role::Reported, "fast", "{c=1}", false, "Reported, never gated. Machine"),
            (Role::Reported, CALIBRATION, "{bytes=1}", false, "ratios divide by its time"),
            (Role::Control, "control", "{of=x}", false, "It should be 1"),
        ] {
            let mut of = SeriesAnalysis { judged, ..of.clone() };
            (of.series.role, of.series.variant, of.series.params) = (role, variant.to_owned(), params.to_owned());
            let text = about(&of);
            assert!(text.contains(expected), "`{expected}` is not in `{text}`");
            assert_eq!(text.contains("The gate uses"), role == Role::Tracked, "{text}");
            assert_eq!(text.contains("is better"), role != Role::Control, "{text}");
        }
    }

    #[test]
    fn of_many_series_those_with_a_change_have_their_chart_as_a_page() {
        let mut sample = sample_data::rich();
        let judged: Vec<SeriesAnalysis> = sample.analysis.series.iter().filter(|one| one.judged).cloned().collect();
        let count = |sample: &sample_data::Sample, has_change: bool| {
            let catalog = sample.catalog();
            let changed = |one: &&SeriesAnalysis| {
                catalog.fit(&one.series.id).is_some_and(|fit| !fit.turns.is_empty()) == has_change
            };
            let one = judged.iter().find(changed).expect("the sample has it");
            series(&catalog, one).expect("it is rendered").len()
        };
        assert_eq!((count(&sample, true), count(&sample, false)), (2, 2));
        let more = (0..=MOST_CHARTS).map(|_| judged[0].clone());
        sample.analysis.series.extend(more);
        assert_eq!((count(&sample, true), count(&sample, false)), (2, 1));
    }

    #[test]
    fn others_are_drawn_around_the_newest_change_and_listed() {
        let sample = sample_data::rich();
        let catalog = sample.catalog();
        let html = |of: &SeriesAnalysis, fit: Option<&Fit<'_>>| {
            let section = elsewhere(&catalog, of, fit)?;
            let drawn = section.blocks.iter().find_map(|block| match block {
                Block::Drawn(markup) => Some(markup.matches("<svg").count()),
                _ => None,
            });
            Some((drawn, section.table().expect("it has rows").rows.len()))
        };
        let of_one = |of: &SeriesAnalysis| Some((html(of, None)?, html(of, catalog.fit(&of.series.id).as_ref())?));
        let all: Vec<_> = sample.analysis.series.iter().filter_map(of_one).collect();
        assert!(all.iter().all(|(without, with)| without.0.is_none() && without.1 == with.1));
        let drawn: Vec<(usize, usize)> = all.iter().filter_map(|(_, (drawn, rows))| Some(((*drawn)?, *rows))).collect();
        assert!(!drawn.is_empty() && drawn.iter().all(|(drawn, rows)| (1..=*rows).contains(drawn)), "{drawn:?}");
    }
}

//! The digest: the verdict of the newest runs, with the evidence below it, as a page and as Markdown.

use super::cell::{self, Judgement};
use super::digest_grid::{self, note, remarks};
use super::event_list;
use super::frame::prelude::*;
use super::week::{week_rows, weeks};
use crate::catalog::SiteInput;
use crate::number::fixed;
use crate::sheet::{Banner, terminal};
use crate::trend::summary as trend_summary;
use crate::{reasons, summary};
use sprag_model::calibration::Tally;
use sprag_model::{Analysis, Comparison, Counts, HistoryFacts, RunStatus, Scale, SuiteAnalysis, Trend};

/// The judged metrics that all suites together list in Markdown, and those that each suite lists in any case.
const MARKDOWN_ROWS: usize = 400;
const FEWEST_ROWS: usize = 2;

const WEEK_ROWS: usize = 12;

/// How many failed benchmarks of a suite, damaged records and warnings are named.
const NAMED: usize = 50;

/// The longest reason why a record is left out, in characters.
const REASON: usize = 200;

const LATE: usize = 5;

pub(crate) fn digest(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let analysis = catalog.analysis;
    if analysis.suites.is_empty() {
        return history_page(catalog, (link::DIGEST, "Digest"), "No runs yet", empty(&analysis.history));
    }
    let summary = summary::summarise(analysis, catalog.trend);
    let day = analysis.as_of.map_or(String::new(), date::day);
    let mut sections = vec![events(catalog, &summary.headline)];
    sections.extend(digest_grid::sections(catalog));
    sections.extend(environment(&analysis.suites));
    sections.push(trust(catalog));
    sections.extend(records(&analysis.history));
    let sheet = Sheet {
        crumb: format!("Weekly digest, newest run {day}").into(),
        headline: summary.headline,
        lede: summary.lede,
        banners: banners(catalog),
        facts: summary.facts,
        sections,
        ..Sheet::default()
    };
    history_page(catalog, (link::DIGEST, "Digest"), &format!("Digest, {day}"), sheet)
}

/// The digest for a build's summary or a message; `sprag trend` has the events.
pub fn digest_markdown(analysis: &Analysis, trend: &Trend) -> String {
    without_history(analysis, trend).markdown()
}

/// The digest for a terminal of that width.
pub fn digest_text(analysis: &Analysis, trend: &Trend, width: Option<usize>) -> String {
    terminal::write(&without_history(analysis, trend), width)
}

fn without_history(analysis: &Analysis, trend: &Trend) -> Sheet {
    let sheet = sheet(&Catalog::new(&SiteInput::without_history(analysis, trend)), MARKDOWN_ROWS);
    let headline = Phrase::plain(format!("{}: ", analysis.project)).join(sheet.headline);
    Sheet { headline, ..sheet }
}

fn sheet(catalog: &Catalog<'_>, rows: usize) -> Sheet {
    let analysis = catalog.analysis;
    let suites = &analysis.suites;
    if suites.is_empty() {
        return empty(&analysis.history);
    }
    let summary = summary::summarise(analysis, catalog.trend);
    let all = |most: usize| suites.iter().map(|suite| suite.comparisons.len().min(most)).sum::<usize>();
    let most = (FEWEST_ROWS..=rows).rev().find(|most| all(*most) <= rows).unwrap_or(FEWEST_ROWS);
    let mut sections: Vec<Section> =
        suites.iter().enumerate().map(|(place, suite)| suite_section(place + 1, suite, most, catalog)).collect();
    sections.push(week_section(catalog));
    sections.extend(environment(suites));
    sections.extend(records(&analysis.history));
    Sheet { headline: summary.headline, lede: summary.lede, facts: summary.facts, sections, ..Sheet::default() }
}

fn empty(history: &HistoryFacts) -> Sheet {
    let first = Section::new("first", "Measure the first run")
        .paragraph("On the machine whose speed matters, in the repository of the kernels:")
        .commands(vec!["sprag weekly".to_owned()])
        .paragraph("It runs every suite, records the results in git and renders this site again. From the second run on, pages show changes.")
        .paragraph(Phrase::plain("Verdicts need a baseline: ").id("sprag baseline emit").text(" takes one."));
    Sheet {
        headline: "No runs yet".into(),
        lede: "The history holds no record that can be read, so there is nothing to judge.".into(),
        sections: [first].into_iter().chain(records(history)).collect(),
        ..Sheet::default()
    }
}

fn banners(catalog: &Catalog<'_>) -> Vec<Banner> {
    let analysis = catalog.analysis;
    let mut banners = Vec::new();
    let mut banner = |tone: Tone, words: Phrase| banners.push(Banner { tone, words });
    let quarantined = analysis.history.quarantined.len();
    if quarantined > 0 {
        let records = format!("{} quarantined", counted(quarantined, "record is", "records are"));
        let words = Phrase::default().strong(records).text(" and left out: ");
        banner(Tone::Worse, words.link(format!("{}#records", link::DIGEST), "which, and why").text("."));
    }
    let late = summary::late_suites(analysis);
    if !late.is_empty() {
        let name = |suite: &&SuiteAnalysis| {
            format!("{} on {} since {}", suite.suite, suite.machine_name, date::day(suite.last))
        };
        let names: Vec<String> = late.iter().take(LATE).map(name).collect();
        let due = counted(analysis.every_days as usize, "day", "days");
        let words = Phrase::default().strong(format!("{} late:", counted(late.len(), "suite is", "suites are")));
        banner(Tone::Doubt, words.text(format!(" {}. A run is due every {due}.", names.join("; "))));
    }
    if catalog.line.shallow {
        let words = Phrase::default().strong("The repository is shallow.");
        banner(Tone::Plain, words.text(" Older commits are unknown here, so older points are ordered by their time."));
    }
    banners
}

/// The rate of false alarms of the gate, and what it is of.
fn reruns(catalog: &Catalog<'_>) -> [String; 2] {
    let tally = catalog.input.reruns.iter().fold(Tally::default(), |sum, one| sum.plus(one.tally));
    let inconclusive = match tally.inconclusive {
        0 => String::new(),
        some => format!("; {} inconclusive", count(some)),
    };
    let of = || format!("{} of {}", count(tally.changed()), counted(tally.judged, "rerun", "reruns"));
    match tally.judged {
        0 => ["unknown".to_owned(), "No commit was measured twice.".to_owned()],
        _ => [error_rate(tally), format!("{} of an unchanged commit{inconclusive}.", of())],
    }
}

pub(super) fn error_rate(tally: Tally) -> String {
    let percent = 100.0 * tally.changed() as f64 / tally.judged.max(1) as f64;
    format!("{}{}%", fixed(percent, if percent > 0.0 && percent < 1.0 { 2 } else { 1 }), number::NARROW)
}

fn events(catalog: &Catalog<'_>, headline: &Phrase) -> Section {
    let present = trend_summary::present(catalog.trend);
    let present = if *headline == present { Phrase::default() } else { present.text(".") };
    let listed = catalog.trend.events.iter().filter(|one| trend_summary::is_listed(one));
    let all = match listed.clone().count().saturating_sub(catalog.trend.most_events()) {
        0 => "All events".to_owned(),
        more => format!("All events, {} more than here", count(more)),
    };
    let mut note = present.then(Phrase::linked(link::EVENT_LIST, all)).text(".").then(event_list::feeds());
    if !weeks(catalog).is_empty() {
        note = note.text(" ").link(link::WEEK_LIST, "Weekly reports").text(".");
    }
    let rows = event_list::rows("Events", catalog, listed.take(catalog.trend.most_events()));
    rows.column("95\u{202f}% interval", "n ci opt2", |of| event_list::interval_of(of))
        .section("events", "Events", note, "No event is present.")
}

fn week_section(catalog: &Catalog<'_>) -> Section {
    let note = format!("{} These figures are not verdicts.", super::week::WEEK_NOTE);
    let table = Rows::new("Weeks, newest first", &catalog.analysis.weeks).first(WEEK_ROWS);
    let table = table.column("Week of", "nb", |row| date::calendar_day(row.week));
    week_rows(catalog, table, |row| row).section("weeks", "Week by week", note, "No week has a measured run yet.")
}

fn place(suite: &SuiteAnalysis) -> String {
    format!("{}, {}", suite.suite, suite.machine_name)
}

/// What differs in the environment; one of the four facts above says where nothing does.
fn environment(suites: &[SuiteAnalysis]) -> Option<Section> {
    let rows = suites.iter().flat_map(|suite| suite.environment_changes.iter().flatten().map(move |one| (suite, one)));
    Rows::new("What differs from the run before, by suite and machine", rows)
        .column("Suite, machine", "full", |(suite, _)| place(suite))
        .column("Fact", "", |(_, change)| cell::fact(&change.fact))
        .column("Was", "", |(_, change)| Phrase::code(change.was.clone()))
        .column("Is", "", |(_, change)| Phrase::code(change.is.clone()))
        .section("environment", "Environment since the run before", "", "")
        .unless_empty()
}

/// How far the figures above can be trusted.
fn trust(catalog: &Catalog<'_>) -> Section {
    let analysis = catalog.analysis;
    // Where no metric was compared the trends say what they could show.
    let (of, sizes) = match summary::detectable(analysis) {
        None => (" of the trends", summary::detectable_in(catalog.trend)),
        some => ("", some),
    };
    let (size, range) = match sizes.map(|sizes| sizes.map(percent_size)) {
        None => ("unknown".to_owned(), "No metric was compared.".to_owned()),
        Some([smallest, _, largest]) if smallest == largest => (smallest, format!("In all{of}.")),
        Some([smallest, median, largest]) => (median, format!("In the median{of}, of {smallest} to {largest}.")),
    };
    let ran = || analysis.suites.iter().filter(|suite| suite.status == RunStatus::Ok);
    let runs = match (ran().count(), ran().filter(|suite| !suite.quality.clean).count()) {
        (0, _) => Mark::new(Tone::Doubt, "○", "none worked"),
        (_, 0) => Mark::new(Tone::Better, "✓", "all clean"),
        (_, some) => Mark::new(Tone::Doubt, "?", format!("{} rough", count(some))),
    };
    let left_out = match analysis.history.quarantined.len() {
        0 => Mark::new(Tone::Better, "✓", "none"),
        some => Mark::new(Tone::Worse, "✕", count(some)),
    };
    let [rate, of] = reruns(catalog);
    Section::new("trust", "Can these figures be trusted?").facts(vec![
        Fact::new("False alarms of the gate", rate, of),
        Fact::new("Minimum detectable effect", size, range),
        Fact::new("Newest runs", runs, format!("Of {} that worked.", counted(ran().count(), "suite", "suites"))),
        Fact::new("Records left out", left_out, format!("Of {}.", counted(catalog.runs.len(), "run", "runs"))),
    ])
}

fn records(history: &HistoryFacts) -> Option<Section> {
    let warning = |words: &String| Phrase::from(Mark::new(Tone::Doubt, "?", "warning")).text(format!(" {words}"));
    let note =
        "No analysis uses these: files that are damaged or dated in the future (quarantined), and retracted runs.";
    let section = Rows::new("Records that are left out", history.quarantined.iter().chain(&history.retracted))
        .first(NAMED)
        .column("File", "full", |record| Phrase::code(record.path.clone()))
        .column("Reason", "any", |record| shortened(&record.reason.to_string(), REASON))
        .section("records", "Records", note, "")
        .items(history.warnings.iter().take(NAMED).map(warning));
    (!section.blocks.is_empty()).then_some(section)
}

fn suite_section(number: usize, suite: &SuiteAnalysis, most: usize, catalog: &Catalog<'_>) -> Section {
    let heading = format!("{} on {}", suite.suite, suite.machine_name);
    let subject = suite.commit.as_ref().map_or("", |commit| commit.subject.as_str());
    let section = Section::new(format!("suite-{number}"), heading.clone()).paragraph(note(suite, catalog, subject));
    let section = section.items(remarks(suite));
    let shared = reasons::shared(&suite.comparisons);
    let shown: Vec<&Comparison> = suite.comparisons.iter().take(most).collect();
    if shown.is_empty() {
        return section.paragraph("No metric of it was compared with anything.");
    }
    let metric_of = |comparison: &&Comparison| (comparison.metric.clone(), comparison.current);
    let groups = cell::by_metric(shown, metric_of, cell::metric_words).into_iter().map(|(heading, rows)| {
        let judged = |(scale, comparison): (Scale, _)| (scale, comparison, Judgement::new(comparison));
        (heading, rows.into_iter().map(judged).collect::<Vec<(Scale, &Comparison, Judgement)>>())
    });
    let series = |comparison: &Comparison| comparison.series.as_deref().and_then(|id| catalog.series(id));
    // The change against the previous run belongs to the newest value, so a missing one has none.
    let previous = |comparison: &Comparison| {
        comparison.current.and_then(|_| series(comparison)).and_then(|series| series.latest.change_previous)
    };
    let name = |comparison: &Comparison| {
        let page = series(comparison).map(|series| catalog.series_place(&series.series.id));
        Phrase::page_name(page, short_benchmark(&comparison.benchmark))
    };
    let table = Rows::grouped(format!("{heading}: judged metrics, worst first"), groups)
        .column("Benchmark", "full", |(_, comparison, _)| name(comparison))
        .column("Newest", "n", |(scale, comparison, _)| {
            or_none(comparison.current, |value| number::value(*scale, value))
        })
        .column("Against previous", "n opt", |(_, comparison, _)| cell::percent(previous(comparison)))
        .column("Against baseline", "n push", |(.., judgement)| judgement.change.clone())
        .column("Interval", "n ci opt", |(.., judgement)| judgement.interval.clone())
        .column("Limit", "n opt", |(.., judgement)| judgement.limit.clone())
        .column("Detectable", "n opt2", |(.., judgement)| judgement.detectable.clone())
        .column("Verdict", "verdict", |(_, comparison, judgement)| {
            Cell::noted(judgement.mark.clone(), Phrase::quoted(&reasons::own(comparison, &shared)))
        })
        .tint(|(.., judgement)| judgement.is_bad);
    section.rows(table).paragraph(rest(suite, most, catalog))
}

fn rest(suite: &SuiteAnalysis, most: usize, catalog: &Catalog<'_>) -> Phrase {
    let left_out = Counts::from_comparisons(suite.comparisons.get(most..).unwrap_or_default());
    digest_grid::rest(catalog, &suite.suite, left_out.total(), &left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use sprag_model::calibration::Reruns;

    #[test]
    fn the_digest_states_the_false_alarm_rate_of_the_gate_or_that_it_is_unknown() {
        let check = |tallies: &[[usize; 4]], expected: &str| {
            let mut sample = sample_data::rich();
            let rerun = |[judged, regressed, improved, inconclusive]: [usize; 4]| {
                let tally = Tally { judged, regressed, improved, inconclusive, share: None };
                Reruns { tally, ..sample.reruns[0].clone() }
            };
            sample.reruns = tallies.iter().copied().map(rerun).collect();
            assert_eq!(reruns(&sample.catalog()).join(": ").replace('\u{202f}', " "), expected);
        };
        check(&[], "unknown: No commit was measured twice.");
        check(&[[1, 0, 0, 0]], "0.0 %: 0 of 1 rerun of an unchanged commit.");
        check(&[[1_000, 2, 1, 7], [204, 0, 0, 0]], "0.25 %: 3 of 1 204 reruns of an unchanged commit; 7 inconclusive.");
    }

    #[test]
    fn the_digest_reads_well_as_markdown() {
        let sample = sample_data::rich();
        insta::assert_snapshot!(digest_markdown(&sample.analysis, &sample.trend));
        insta::assert_snapshot!("empty", digest_markdown(&sample_data::empty(), &Trend::default()));
    }
}

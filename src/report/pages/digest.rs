//! The digest: the verdict of the newest runs, with the evidence below it, as a page and as Markdown.

use chrono::NaiveDate;

use super::cell::{self, Judgement};
use super::digest_grid::{self, note, remarks};
use super::event_list;
use super::frame::prelude::*;
use super::week::{week_rows, weeks};
use crate::catalog::SiteInput;
use crate::number::fixed;
use crate::sheet::{Banner, terminal};
use crate::text::short_commit;
use crate::trend::summary as trend_summary;
use crate::{reasons, summary};
use sprag_base::stats::describe;
use sprag_model::calibration::Tally;
use sprag_model::release::Released;
use sprag_model::{
    Analysis, CommitLine, Comparison, Counts, FactChange, HistoryFacts, Ledger, Scale, SuiteAnalysis, Trend,
};

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
    let mut sections = vec![events(catalog)];
    sections.extend(digest_grid::sections(catalog));
    sections.extend([environment(&analysis.suites), trust(catalog)]);
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
    let (line, ledger, releases) = (CommitLine::default(), Ledger::default(), Released::default());
    let (line, ledger, releases, today) = (&line, &ledger, &releases, NaiveDate::default());
    let (heads, movers, newest, reruns) = (&[], &[], &[], &[]);
    let input = SiteInput {
        analysis,
        trend,
        line,
        heads,
        movers,
        newest,
        ledger,
        today,
        releases,
        reruns,
        url: None,
        commit_url: None,
        asked: None,
    };
    let sheet = sheet(&Catalog::new(&input), MARKDOWN_ROWS);
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
    sections.extend([week_section(catalog), environment(suites), baselines(suites)]);
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

fn reruns(catalog: &Catalog<'_>) -> String {
    let tally = catalog.input.reruns.iter().fold(Tally::default(), |sum, one| sum.plus(one.tally));
    let reruns = counted(tally.judged, "rerun", "reruns");
    let inconclusive = match tally.inconclusive {
        0 => String::new(),
        some => format!("; {} inconclusive", count(some)),
    };
    match tally.judged {
        0 => "unknown: no commit was measured twice".to_owned(),
        _ => format!(
            "{} of {reruns} ({}) of an unchanged commit{inconclusive}",
            count(tally.changed()),
            error_rate(tally)
        ),
    }
}

pub(super) fn error_rate(tally: Tally) -> String {
    let percent = 100.0 * tally.changed() as f64 / tally.judged.max(1) as f64;
    format!("{}{}%", fixed(percent, if percent > 0.0 && percent < 1.0 { 2 } else { 1 }), number::NARROW)
}

fn events(catalog: &Catalog<'_>) -> Section {
    let mut note = trend_summary::headline(catalog.trend)
        .text(" ")
        .link(link::EVENT_LIST, "All events")
        .text(".")
        .then(event_list::feeds());
    if !weeks(catalog).is_empty() {
        note = note.text(" ").link(link::WEEK_LIST, "Weekly reports").text(".");
    }
    let listed = catalog.trend.events.iter().filter(|one| trend_summary::is_listed(one));
    let rows = event_list::digest_rows(catalog, listed).first(catalog.trend.most_events());
    rows.section("events", "Events", note, "No event is present.")
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

fn environment(suites: &[SuiteAnalysis]) -> Section {
    let mut rows: Vec<(&SuiteAnalysis, [Phrase; 3])> = Vec::new();
    for suite in suites {
        let changed = |change: &FactChange| {
            let [was, is] = [&change.was, &change.is].map(|value| Phrase::code(value.clone()));
            (suite, [cell::fact(&change.fact).into(), was, is])
        };
        let none = |words: &str| (suite, [words.into(), Phrase::default(), Phrase::default()]);
        match suite.environment_changes.as_deref() {
            None => rows.push(none("no run came before")),
            Some([]) => rows.push(none("no relevant difference")),
            Some(changes) => rows.extend(changes.iter().map(changed)),
        }
    }
    let heading = "Environment since the run before";
    if suites.iter().all(|suite| suite.environment_changes.as_ref().is_some_and(Vec::is_empty)) {
        let suites = counted(suites.len(), "suite", "suites");
        return Section::new("environment", heading).paragraph(format!("No relevant difference in {suites}.")).half();
    }
    Rows::new("What differs from the run before, by suite and machine", rows)
        .column("Suite, machine", "full", |(suite, _)| place(suite))
        .column("Fact", "", |(_, [fact, ..])| fact.clone())
        .column("Was", "", |(_, [_, was, _])| was.clone())
        .column("Is", "", |(_, [.., is])| is.clone())
        .section("environment", heading, "", "")
        .half()
}

fn baselines(suites: &[SuiteAnalysis]) -> Section {
    let path = |suite: &&SuiteAnalysis| match &suite.baseline {
        Ok(facts) => Cell::Words(Phrase::code(facts.path.clone())),
        Err(reason) => {
            let reason = reason.to_string();
            let (word, note) = match reason.strip_prefix("there is no ") {
                Some(file) => ("not taken", file),
                None => ("none", &*reason),
            };
            Cell::noted(Mark::new(Tone::Plain, "○", word), Phrase::quoted(note))
        }
    };
    let taken = |suite: &&SuiteAnalysis| match &suite.baseline {
        Ok(facts) => Phrase::default()
            .id(facts.commit.as_deref().map_or("no commit", short_commit))
            .text(format!(" {}", date::day(facts.time))),
        Err(_) => number::NONE.into(),
    };
    Rows::new("The baseline of each suite and machine", suites)
        .column("Suite, machine", "full", |suite| place(suite))
        .column("Baseline", "any", path)
        .column("Taken at", "", taken)
        .section("baselines", "Baselines", "", "")
        .half()
}

/// How far the figures above can be trusted.
fn trust(catalog: &Catalog<'_>) -> Section {
    let analysis = catalog.analysis;
    let comparisons = || analysis.suites.iter().flat_map(|suite| &suite.comparisons);
    let mut detectable: Vec<f64> = comparisons().filter_map(|one| one.effect?.detectable).collect();
    detectable.sort_by(f64::total_cmp);
    let range = match detectable.as_slice() {
        [] => Phrase::plain("unknown: no metric was compared"),
        [smallest, .., largest] => Phrase::plain(format!(
            "{} in the median, {} to {}",
            percent_size(describe::median_of_sorted(&detectable).unwrap_or_default()),
            percent_size(*smallest),
            percent_size(*largest)
        )),
        [only] => Phrase::plain(percent_size(*only)),
    };
    let rough = analysis.suites.iter().filter(|suite| !suite.quality.clean).count();
    let runs = match rough {
        0 => Mark::new(Tone::Better, "✓", "all clean").into(),
        some => Phrase::from(Mark::new(Tone::Doubt, "?", format!("{some} of {} rough", analysis.suites.len()))),
    };
    let quarantined = analysis.history.quarantined.len();
    let left_out = match quarantined {
        0 => Mark::new(Tone::Better, "✓", "none").into(),
        some => Phrase::from(Mark::new(Tone::Worse, "✕", count(some))),
    };
    let rows = [
        ("False alarms of the gate".to_owned(), Cell::from(reruns(catalog))),
        ("Minimum detectable effect".to_owned(), range.into()),
        ("Newest runs".to_owned(), runs.into()),
        ("Records left out".to_owned(), left_out.into()),
    ];
    Rows::new("Checks of the figures", rows)
        .column("Check", "full", |(check, _)| check.clone())
        .column("State", "any", |(_, state)| state.clone())
        .section("trust", "Can these figures be trusted?", "", "")
        .half()
}

fn records(history: &HistoryFacts) -> Option<Section> {
    let warning = |words: &String| Phrase::from(Mark::new(Tone::Doubt, "?", "warning")).text(format!(" {words}"));
    let note =
        "No analysis uses these: files that are damaged or dated in the future (quarantined), and retracted runs.";
    let section = Rows::new("Records that are left out", history.quarantined.iter().chain(&history.retracted))
        .first(NAMED)
        .column("File", "full", |record| Phrase::code(record.path.clone()))
        .column("Reason", "any", |record| shortened(&record.reason, REASON))
        .section("records", "Records", note, "")
        .items(history.warnings.iter().take(NAMED).map(warning));
    (!section.blocks.is_empty()).then_some(section)
}

fn suite_section(number: usize, suite: &SuiteAnalysis, most: usize, catalog: &Catalog<'_>) -> Section {
    let heading = format!("{} on {}", suite.suite, suite.machine_name);
    let section = Section::new(format!("suite-{number}"), heading.clone()).paragraph(note(suite, catalog));
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
    use sprag_model::Verdict;
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
            assert_eq!(reruns(&sample.catalog()).replace('\u{202f}', " "), expected);
        };
        check(&[], "unknown: no commit was measured twice");
        check(&[[1, 0, 0, 0]], "0 of 1 rerun (0.0 %) of an unchanged commit");
        check(&[[1_000, 2, 1, 7], [204, 0, 0, 0]], "3 of 1 204 reruns (0.25 %) of an unchanged commit; 7 inconclusive");
    }

    #[test]
    fn rows_that_are_left_out_are_counted_by_verdict() {
        let mut sample = sample_data::rich();
        let comparisons = &mut sample.analysis.suites[0].comparisons;
        comparisons.truncate(3);
        comparisons[1].verdict = Verdict::NoBaseline;
        comparisons[2].verdict = Verdict::NoBaseline;
        let catalog = sample.catalog();
        let rest = |most: usize| rest(&sample.analysis.suites[0], most, &catalog).words();
        assert_eq!(rest(1), "2 more rows are in the matrix: 2 without a baseline.");
        assert_eq!(rest(2), "1 more row is in the matrix: 1 without a baseline.");
        assert_eq!(rest(3), "");
    }

    #[test]
    fn the_digest_reads_well_as_markdown() {
        let sample = sample_data::rich();
        insta::assert_snapshot!(digest_markdown(&sample.analysis, &sample.trend));
        insta::assert_snapshot!("empty", digest_markdown(&sample_data::empty(), &Trend::default()));
    }
}

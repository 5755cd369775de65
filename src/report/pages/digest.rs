//! The digest: the verdict of the newest runs, with the evidence below it.

use std::collections::BTreeSet;

use chrono::NaiveDate;

use super::frame::{Part, history_page};
use super::{cell, event_list, suite_section};
use crate::catalog::Catalog;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted, fixed};
use crate::phrase::Phrase;
use crate::sheet::{Banner, Cell, Rows, Section, Sheet};
use crate::text::short_commit;
use crate::trend::summary as trend_summary;
use crate::{ReportError, date, link, summary, week};
use sprag_model::analysis::{HistoryFacts, SuiteAnalysis};
use sprag_model::calibration::Tally;
use sprag_model::page::Page;
use sprag_model::rollup::WeekRow;

/// The newest weeks that the roll-up shows, a line a suite and machine.
const WEEK_ROWS: usize = 12;

/// The damaged records and the warnings that are named, of each.
const RECORDS: usize = 50;

/// The late suites that a banner names.
const LATE: usize = 5;

/// The events that the digest lists.
const EVENTS: usize = 8;

pub(crate) fn digest(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let analysis = catalog.analysis;
    if analysis.suites.is_empty() {
        return empty(catalog);
    }
    let summary = summary::summarise(analysis, catalog.trend);
    let day = analysis.as_of.map_or(String::new(), date::day);
    let mut sections = vec![events(catalog)];
    sections.extend(suite_section::all(catalog));
    sections.extend([weeks(catalog), environment(&analysis.suites), baselines(&analysis.suites)]);
    sections.extend(records(&analysis.history));
    let sheet = Sheet {
        crumb: format!("Weekly digest, newest run {day}").into(),
        headline: summary.headline,
        lede: summary.lede,
        facts: summary.facts,
        note: reruns(catalog),
        banners: banners(catalog),
        sections,
        ..Sheet::default()
    };
    history_page(catalog, (link::DIGEST.to_owned(), Part::Digest, format!("Digest, {day}")), sheet)
}

/// The digest of a history without runs: what to do.
fn empty(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let first = Section::new("first", "Measure the first run")
        .paragraph("On the machine whose speed matters, in the repository of the kernels:")
        .commands(vec!["sprag weekly".to_owned()])
        .paragraph("It runs every suite, records the results in git and renders this site again. From the second run on, pages show changes.")
        .paragraph(Phrase::plain("Verdicts need a baseline: ").id("sprag baseline emit").text(" takes one."));
    let sheet = Sheet {
        headline: "No runs yet".into(),
        lede: "The history holds no record that can be read, so there is nothing to judge.".into(),
        sections: [first].into_iter().chain(records(&catalog.analysis.history)).collect(),
        ..Sheet::default()
    };
    history_page(catalog, (link::DIGEST.to_owned(), Part::Digest, "No runs yet".to_owned()), sheet)
}

fn banners(catalog: &Catalog<'_>) -> Vec<Banner> {
    let analysis = catalog.analysis;
    let mut banners = Vec::new();
    let mut banner = |tone: Tone, words: Phrase| banners.push(Banner { tone, words });
    let quarantined = analysis.history.quarantined.len();
    if quarantined > 0 {
        let words = Phrase::default()
            .strong(format!("{} quarantined", counted(quarantined, "record is", "records are")))
            .text(" and left out: ")
            .link(format!("{}#records", link::DIGEST), "which, and why")
            .text(".");
        banner(Tone::Worse, words);
    }
    let late = summary::late_suites(analysis);
    if !late.is_empty() {
        let name = |suite: &&SuiteAnalysis| {
            format!("{} on {} since {}", suite.suite, suite.machine_name, date::day(suite.last))
        };
        let names: Vec<String> = late.iter().take(LATE).map(name).collect();
        let due = counted(analysis.every_days as usize, "day", "days");
        let words = Phrase::default()
            .strong(format!("{} late:", counted(late.len(), "suite is", "suites are")))
            .text(format!(" {}. A run is due every {due}.", names.join("; ")));
        banner(Tone::Doubt, words);
    }
    if catalog.line.shallow {
        let words = Phrase::default().strong("The repository is shallow.");
        banner(Tone::Plain, words.text(" Older commits are unknown here, so older points are ordered by their time."));
    }
    banners
}

/// How often the gate was wrong where a commit was measured again.
fn reruns(catalog: &Catalog<'_>) -> Phrase {
    let tally = catalog.reruns.iter().fold(Tally::default(), |sum, one| sum.plus(one.tally));
    let sentence = match tally.judged {
        0 => Phrase::plain(
            "The gate's false-alarm rate is unknown: no commit has been measured twice in the same environment yet.",
        ),
        judged => Phrase::plain("False alarms of the gate: ")
            .strong(format!(
                "{} of {} ({})",
                count(tally.changed()),
                counted(judged, "rerun", "reruns"),
                error_rate(tally)
            ))
            .text(match tally.inconclusive {
                0 => " of an unchanged commit.".to_owned(),
                some => format!(" of an unchanged commit; {} inconclusive.", count(some)),
            }),
    };
    sentence.text(" ").link(link::METHOD, "How changes are judged").text(".")
}

/// The share of reruns that a rule called changed.
pub(super) fn error_rate(tally: Tally) -> String {
    let percent = 100.0 * tally.changed() as f64 / tally.judged.max(1) as f64;
    format!("{}{}%", fixed(percent, if percent > 0.0 && percent < 1.0 { 2 } else { 1 }), number::NARROW)
}

/// The events that are present, the worst first.
fn events(catalog: &Catalog<'_>) -> Section {
    let note = trend_summary::headline(catalog.trend)
        .text(" ")
        .link(link::EVENT_LIST, "All events")
        .text(" include possible chance and reverted ones.")
        .then(event_list::feeds());
    let listed = catalog.trend.events.iter().filter(|one| trend_summary::is_listed(one));
    event_list::section(catalog, listed, EVENTS, ("events", "Events"), note, "No event is present.")
}

fn weeks(catalog: &Catalog<'_>) -> Section {
    let reports: BTreeSet<NaiveDate> = week::weeks(catalog).iter().map(|week| week.monday).collect();
    let rows = &catalog.analysis.weeks;
    let before = std::iter::once(None).chain(rows.iter().map(|row| Some(row.week)));
    let day = |(row, before): &(&WeekRow, Option<NaiveDate>)| {
        let page = reports.contains(&row.week).then(|| link::week(row.week)).filter(|_| *before != Some(row.week));
        Phrase::default().to(page, date::calendar_day(row.week))
    };
    let worst = |(row, _): &(&WeekRow, Option<NaiveDate>)| {
        let worst = row.worst_series.as_deref().and_then(|id| catalog.series(id));
        match worst {
            Some(worst) => cell::series_link(catalog, &worst.series.id, &worst.series.benchmark),
            None => number::NONE.into(),
        }
    };
    let note = Phrase::plain(
        "Weekly medians of the judged series, compared with the week measured before: geometric mean, worst and best. Positive \
         is worse. These figures are not verdicts. ",
    );
    Rows::new("Weeks, newest first", rows.iter().zip(before))
        .first(WEEK_ROWS)
        .column("Week of", "nb", day)
        .column("Suite", "", |(row, _)| row.suite.clone())
        .column("Machine", "place", |(row, _)| row.machine_name.clone())
        .column("Runs", "n opt2", |(row, _)| count(row.runs))
        .column("Series", "n opt2", |(row, _)| count(row.series))
        .column("Compared", "n opt2", |(row, _)| count(row.compared))
        .column("Mean change", "n push", |(row, _)| cell::percent(row.change))
        .column("Worst", "n named", |(row, _)| cell::percent(row.worst))
        .column("Worst series", "opt", worst)
        .column("Best", "n opt2", |(row, _)| cell::percent(row.best))
        .section(
            "weeks",
            "Week by week",
            note.link(link::WEEK_LIST, "Weekly reports").text("."),
            "No week has a measured run yet.",
        )
}

fn place(suite: &SuiteAnalysis) -> String {
    format!("{}, {}", suite.suite, suite.machine_name)
}

fn environment(suites: &[SuiteAnalysis]) -> Section {
    let mut rows: Vec<(&SuiteAnalysis, [Phrase; 3])> = Vec::new();
    for suite in suites {
        let none = |words: &str| [words.into(), Phrase::default(), Phrase::default()];
        match suite.environment_changes.as_deref() {
            None => rows.push((suite, none("no run came before"))),
            Some([]) => rows.push((suite, none("no relevant difference"))),
            Some(changes) => rows.extend(changes.iter().map(|change| {
                let [was, is] = [&change.was, &change.is].map(|value| Phrase::default().id(value.clone()));
                (suite, [cell::fact(&change.fact).into(), was, is])
            })),
        }
    }
    Rows::new("What differs from the run before, by suite and machine", rows)
        .column("Suite, machine", "full", |(suite, _)| place(suite))
        .column("Fact", "", |(_, [fact, ..])| fact.clone())
        .column("Was", "", |(_, [_, was, _])| was.clone())
        .column("Is", "", |(_, [.., is])| is.clone())
        .section("environment", "Environment since the run before", "", "")
        .half()
}

fn baselines(suites: &[SuiteAnalysis]) -> Section {
    let path = |suite: &&SuiteAnalysis| match &suite.baseline {
        Ok(facts) => Cell::Words(Phrase::default().id(facts.path.clone())),
        Err(reason) => Cell::noted(Mark::new(Tone::Plain, "○", "none"), Phrase::quoted(&reason.to_string())),
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

/// The damaged records and the warnings, where there are any.
fn records(history: &HistoryFacts) -> Option<Section> {
    let warning =
        |words: &String| Phrase::default().mark(Mark::new(Tone::Doubt, "?", "warning")).text(format!(" {words}"));
    let note = "These files of the history cannot be used and are left out (quarantined). All others are used.";
    let section = Rows::new("Records that are left out", &history.quarantined)
        .first(RECORDS)
        .column("File", "full", |record| Phrase::default().id(record.path.clone()))
        .column("Reason", "any", |record| record.reason.clone())
        .section("records", "Records", note, "")
        .items(history.warnings.iter().take(RECORDS).map(warning));
    (!section.blocks.is_empty()).then_some(section)
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
            let rerun = |[judged, regressed, improved, inconclusive]: &[usize; 4]| Reruns {
                tally: Tally {
                    judged: *judged,
                    regressed: *regressed,
                    improved: *improved,
                    inconclusive: *inconclusive,
                    share: None,
                },
                ..sample.reruns[0].clone()
            };
            sample.reruns = tallies.iter().map(rerun).collect();
            let heads = sample.heads();
            let words = reruns(&Catalog::new(&sample.input(&heads))).words().replace('\u{202f}', " ");
            assert_eq!(words, format!("{expected} How changes are judged."));
        };
        let unknown =
            "The gate's false-alarm rate is unknown: no commit has been measured twice in the same environment yet.";
        check(&[], unknown);
        check(&[[1, 0, 0, 0]], "False alarms of the gate: 0 of 1 rerun (0.0 %) of an unchanged commit.");
        check(
            &[[1_000, 2, 1, 7], [204, 0, 0, 0]],
            "False alarms of the gate: 3 of 1 204 reruns (0.25 %) of an unchanged commit; 7 inconclusive.",
        );
    }
}

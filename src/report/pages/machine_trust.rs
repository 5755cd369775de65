//! Whether the numbers of a machine can be trusted: how restless they were month by month, what reruns tell, and which runs
//! are rough and why.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Utc};

use super::{cell, trust};
use crate::catalog::{Catalog, MachineRuns};
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::sheet::{Row, Section};
use crate::text::{short_commit, shortened};
use crate::{date, link};
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::head::RunHead;
use sprag_model::series::Point;

/// The newest rows of months, one a suite, and the newest rough runs that a page lists.
const MONTHS: usize = 18;
const ROUGH: usize = 10;

/// The longest reason, in characters.
const REASON: usize = 300;

/// Facts of a run by which its month is told: what the host took of the processor, and how often the group was held back.
const STEAL: &str = "steal_share";
const HELD_BACK: &str = "throttled_periods";

/// A month, such that the newest comes first, and a suite.
type Place<'a> = (Reverse<(i32, u32)>, &'a str);

#[derive(Default)]
struct Month {
    runs: usize,
    rough: usize,
    steal: Vec<f64>,
    /// How many runs tell whether they were held back, and how many were.
    held_back: [usize; 2],
    within: Vec<f64>,
    between: Vec<f64>,
}

/// The sections of a machine that tell it.
pub(super) fn sections(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Vec<Section> {
    vec![noise(catalog, of), reruns(catalog, of), rough(catalog, of)]
}

fn place<'a>(suite: &'a str, time: DateTime<Utc>) -> Place<'a> {
    (Reverse((time.year(), time.month())), suite)
}

fn noise(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    let mut months: BTreeMap<Place<'_>, Month> = BTreeMap::new();
    for run in &of.runs {
        let month = months.entry(place(&run.suite, run.timestamp)).or_default();
        let fact = |name: &str| run.environment.facts.get(name)?.parse::<f64>().ok().filter(|value| value.is_finite());
        month.runs += 1;
        month.rough += usize::from(!run.quality.clean);
        month.steal.extend(fact(STEAL));
        if let Some(periods) = fact(HELD_BACK) {
            month.held_back[0] += 1;
            month.held_back[1] += usize::from(periods > 0.0);
        }
    }
    let series = catalog.analysis.series.iter();
    for one in series.filter(|one| one.judged && one.series.machine == of.machine.id) {
        tell(one, &mut months);
    }
    let has_steal = months.values().any(|month| !month.steal.is_empty());
    let has_held_back = months.values().any(|month| month.held_back[0] > 0);
    let mut note =
        "Medians over the judged series. Within a run: half of the 95 % interval over its processes. From run to \
                    run: how far a value lies from the one of the run before in the same environment."
            .to_owned();
    let mut columns = vec![
        ("Month", "nb"),
        ("Suite", "any"),
        ("Runs", "n"),
        ("Rough", "n"),
        ("Within a run", "n"),
        ("From run to run", "n"),
    ];
    if has_steal {
        note += " Host took: the share of the processor time that went to others on the same host.";
        columns.push(("Host took", "n opt"));
    }
    if has_held_back {
        note += " Held back: runs in which the control group throttled the processes, of those that tell.";
        columns.push(("Held back", "n opt"));
    }
    let row = |(place, month): (&Place<'_>, &Month)| {
        let mut cells = cells(place, month);
        cells.extend(has_steal.then(|| cell::median_share(month.steal.iter().copied())));
        cells.extend(has_held_back.then(|| held_back(month)));
        Row::new(cells.into_iter().map(Phrase::plain))
    };
    Section::of_table(
        ("noise", "How restless it is, month by month", Phrase::plain(note), "It has no run."),
        ("Noise by month and suite, newest first", &columns),
        months.iter().take(MONTHS).map(row).collect(),
    )
    .wide()
    .note_equal_columns(&["Suite"])
}

/// Adds what a series tells to its months.
fn tell<'a>(one: &'a SeriesAnalysis, months: &mut BTreeMap<Place<'a>, Month>) {
    let points = &one.series.points;
    let before = std::iter::once(None).chain(points.iter().map(Some));
    for (point, before) in points.iter().zip(before) {
        let Some(month) = months.get_mut(&place(&one.series.suite, point.time)) else { continue };
        month.within.extend(point.interval.map(|(low, high)| (high - low) / 2.0 / point.value).filter(is_share));
        let is_like = |before: &&Point| before.environment_key == point.environment_key;
        let step = before.filter(is_like).map(|before| (point.value / before.value - 1.0).abs());
        month.between.extend(step.filter(is_share));
    }
}

fn is_share(share: &f64) -> bool {
    share.is_finite() && *share >= 0.0
}

fn cells((Reverse((year, number)), suite): &Place<'_>, month: &Month) -> Vec<String> {
    let share = |shares: &[f64]| cell::median_share(shares.iter().copied());
    vec![
        format!("{} {year}", date::month(*number)),
        (*suite).to_owned(),
        count(month.runs),
        count(month.rough),
        share(&month.within),
        share(&month.between),
    ]
}

fn held_back(month: &Month) -> String {
    let [result, held] = month.held_back;
    if result == 0 { number::NONE.to_owned() } else { format!("{} of {}", count(held), count(result)) }
}

fn reruns(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    let of_machine = catalog.reruns.iter().filter(|one| one.machine == of.machine.id);
    let rows = of_machine.map(|one| {
        let tally = one.tally;
        let cells = [
            one.suite.clone(),
            count(tally.judged),
            count(tally.regressed),
            count(tally.improved),
            count(tally.inconclusive),
            trust::share(tally),
        ];
        Row::new(cells.map(Phrase::plain))
    });
    let note = Phrase::plain(
        "A commit measured in two sessions of one environment did not change. What the rule of the gate says of its values, \
         held against the sessions before, is wrong where it calls a change: ",
    )
    .link(link::METHOD, "how it is judged")
    .text(".");
    Section::of_table(
        (
            "reruns",
            "The same commit again",
            note,
            "It measured no commit in two sessions of one environment, so nothing tells how often the rule calls a change where \
             there is none.",
        ),
        (
            "What the rule says of reruns, by suite",
            &[
                ("Suite", "any"),
                ("Pairs", "n"),
                ("Called worse", "n"),
                ("Called better", "n"),
                ("In doubt", "n opt2"),
                ("Wrong", "n push"),
            ],
        ),
        rows.collect(),
    )
    .wide()
}

fn rough(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    let all: Vec<&RunHead> = of.runs.iter().copied().filter(|run| !run.quality.clean).collect();
    let row = |run: &&RunHead| {
        let time = date::moment(run.timestamp);
        let time = match catalog.run_place(&run.id) {
            Some(page) => Phrase::default().link(page, time),
            None => Phrase::plain(time),
        };
        let commit = run.commit.as_ref().map_or(number::NONE, |commit| short_commit(&commit.sha));
        let reasons = match run.quality.reasons.is_empty() {
            true => "no reason is recorded".to_owned(),
            false => run.quality.reasons.join("; "),
        };
        Row::new([
            time,
            Phrase::plain(run.suite.clone()),
            Phrase::default().id(commit),
            Phrase::plain(shortened(&reasons, REASON)),
        ])
    };
    let rows: Vec<Row> = all.iter().take(ROUGH).map(row).collect();
    let note = Phrase::default()
        .mark(Mark::new(Tone::Doubt, "?", format!("{} of {}", count(all.len()), counted(of.runs.len(), "run", "runs"))))
        .text(format!(" {} rough", if all.len() == 1 { "is" } else { "are" }))
        .text(match all.len() > ROUGH {
            true => format!("; the newest {} are listed.", count(ROUGH)),
            false => ".".to_owned(),
        });
    Section::of_table(
        ("rough", "What spoke against its runs", note, "Nothing spoke against any of its runs."),
        (
            "Rough runs, newest first",
            &[("Began, UTC", "nb"), ("Suite", "any push"), ("Commit", "opt2"), ("What was wrong", "any full")],
        ),
        rows,
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sample_data::{self, Sample};
    use crate::sheet::{Cell, Sheet};

    /// What the page of the first machine that has `suite` says, after a change of the heads and of the sample.
    fn result(number: usize, change: impl FnOnce(&mut Sample), heads: impl FnOnce(&mut Vec<RunHead>)) -> [String; 3] {
        let mut sample = sample_data::rich();
        change(&mut sample);
        let machine = sample.runs[number].run.machine.id.clone();
        let mut all = sample.heads();
        heads(&mut all);
        let catalog = Catalog::new(&sample.input(&all));
        let sections = sections(&catalog, &catalog.machines[machine.as_str()]);
        let text = |section| Sheet { sections: vec![section], ..Sheet::default() }.markdown().replace('\u{202f}', " ");
        let [noise, reruns, rough] = sections.try_into().expect("there are three");
        [text(noise), text(reruns), text(rough)]
    }

    #[test]
    fn a_month_has_the_noise_of_its_runs() {
        let steal = |heads: &mut Vec<RunHead>| {
            for (place, head) in heads.iter_mut().filter(|head| head.suite == "cpu").enumerate() {
                let facts = &mut Arc::make_mut(&mut head.environment).facts;
                facts.insert(STEAL.to_owned(), "0.02".to_owned());
                facts.insert(HELD_BACK.to_owned(), if place % 8 == 0 { "3" } else { "0" }.to_owned());
            }
        };
        let [noise, ..] = result(0, |_| (), steal);
        let newest = noise.lines().find(|line| line.starts_with("| Nov 2026 | cpu")).expect("it ran then");
        assert_eq!(newest.matches('|').count(), 9, "{newest}");
        assert!(newest.contains("| 5 | 0 |") && newest.contains("| 2.0 % |") && newest.contains(" of 5 |"), "{newest}");
        let [noise, ..] = result(0, |_| (), |_| ());
        assert!(!noise.contains("Host took") && !noise.contains("Held back"), "{noise}");
    }

    #[test]
    fn months_do_not_change_with_what_is_measured_later() {
        let table = |heads: &[RunHead], sample: &Sample| {
            let catalog = Catalog::new(&sample.input(heads));
            let section = noise(&catalog, &catalog.machines[sample.runs[0].run.machine.id.as_str()]);
            let rows = &section.table().expect("it has rows").rows;
            let words = |cell: &Cell| match cell {
                Cell::Words(words) => words.words(),
                Cell::Drawn(_) => String::new(),
            };
            rows.iter().map(|row| row.cells.iter().map(words).collect()).collect::<Vec<Vec<String>>>()
        };
        let mut sample = sample_data::rich();
        let all = table(&sample.heads(), &sample);
        let newest = sample.runs.iter().map(|run| run.run.timestamp).max().expect("it has runs");
        let is_before = |time: DateTime<Utc>| (time.year(), time.month()) < (newest.year(), newest.month());
        sample.runs.retain(|run| is_before(run.run.timestamp));
        for one in &mut sample.analysis.series {
            one.series.points.retain(|point| is_before(point.time));
        }
        let before = table(&sample.heads(), &sample);
        let named = |rows: &[Vec<String>], month: &str| rows.iter().find(|row| row[0] == month).cloned();
        assert!(named(&before, "Nov 2026").is_none() && named(&before, "Oct 2026").is_some());
        let (mut now, mut then) = (named(&all, "Oct 2026").expect("one"), named(&before, "Oct 2026").expect("one"));
        // Where all rows are of one suite, a sentence tells it.
        now.retain(|cell| cell != "cpu");
        then.retain(|cell| cell != "cpu");
        assert_eq!(now, then);
    }

    #[test]
    fn reruns_and_rough_runs_are_told_or_said_to_be_none() {
        let [_, reruns, rough] = result(0, |_| (), |_| ());
        assert!(reruns.contains("| cpu | 240 | 2 | 1 | 12 | 1.2 % |"), "{reruns}");
        assert!(rough.contains("Nothing spoke against any of its runs."), "{rough}");
        let [_, reruns, rough] = result(1, |_| (), |_| ());
        assert!(reruns.contains("It measured no commit in two sessions"), "{reruns}");
        assert!(rough.contains("2 of 74 runs are rough."), "{rough}");
        assert!(rough.contains("the A/A control differed by 0.9 %, more than 0.5 %"), "{rough}");
        let unsaid = |heads: &mut Vec<RunHead>| {
            heads.iter_mut().for_each(|head| head.quality = sprag_model::run::Quality::default());
        };
        let [_, _, rough] = result(1, |_| (), unsaid);
        assert!(rough.contains("74 of 74 runs are rough; the newest 10 are listed."), "{rough}");
        assert!(rough.contains("no reason is recorded"), "{rough}");
    }
}

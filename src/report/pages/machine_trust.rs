//! Whether the numbers of a machine can be trusted: noise by month, what reruns show, and which runs are rough and why.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chrono::{DateTime, Datelike, Utc};

use super::{cell, digest};
use crate::catalog::{Catalog, MachineRuns};
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::sheet::{Rows, Section};
use crate::text::shortened;
use crate::{date, link};
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::head::RunHead;
use sprag_model::series::Point;

/// The newest rows of months, one a suite, and the newest rough runs that a page lists.
const MONTHS: usize = 18;
const ROUGH: usize = 10;

/// The longest reason, in characters.
const REASON: usize = 300;

/// Facts of a run that its month sums up: what the host took of the processor, and how often the group was throttled.
const STEAL: &str = "steal_share";
const THROTTLED: &str = "throttled_periods";

/// A month, such that the newest comes first, and a suite.
type Place<'a> = (Reverse<(i32, u32)>, &'a str);

#[derive(Default)]
struct Month {
    runs: usize,
    rough: usize,
    steal: Vec<f64>,
    /// How many runs recorded whether they were throttled, and how many were.
    throttled: [usize; 2],
    within: Vec<f64>,
    between: Vec<f64>,
}

/// The sections of a machine that answer it.
pub(super) fn sections(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> [Section; 3] {
    [noise(catalog, of), reruns(catalog, of), rough(catalog, of)]
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
        if let Some(periods) = fact(THROTTLED) {
            month.throttled[0] += 1;
            month.throttled[1] += usize::from(periods > 0.0);
        }
    }
    let series = catalog.analysis.series.iter();
    for one in series.filter(|one| one.judged && one.series.machine == of.machine.id) {
        add(one, &mut months);
    }
    let has_steal = months.values().any(|month| !month.steal.is_empty());
    let has_throttled = months.values().any(|month| month.throttled[0] > 0);
    let share = |shares: &[f64]| cell::median_share(shares.iter().copied());
    let mut note = "Medians over the judged series. Within a run: half of the 95 % interval over its processes. From run to run: the \
                    distance of a value from that of the run before in the same environment."
        .to_owned();
    let mut rows = Rows::new("Noise by month and suite, newest first", months.into_iter().take(MONTHS))
        .column("Month", "nb", |((Reverse((year, number)), _), _)| format!("{} {year}", date::month(*number)))
        .column("Suite", "any", |((_, suite), _)| *suite)
        .column("Runs", "n", |(_, month)| count(month.runs))
        .column("Rough", "n", |(_, month)| count(month.rough))
        .column("Within a run", "n", |(_, month)| share(&month.within))
        .column("From run to run", "n", |(_, month)| share(&month.between));
    if has_steal {
        note += " Host took: the share of the processor time that went to others on the same host.";
        rows = rows.column("Host took", "n opt", |(_, month)| share(&month.steal));
    }
    if has_throttled {
        note += " Throttled: runs whose control group was throttled, of those that recorded it.";
        rows = rows.column("Throttled", "n opt", |(_, month)| match month.throttled {
            [0, _] => number::NONE.to_owned(),
            [all, throttled] => format!("{} of {}", count(throttled), count(all)),
        });
    }
    rows.section("noise", "Noise by month", note, "It has no run.").wide().note_equal_columns(&["Suite"])
}

/// Adds the noise of a series to its months.
fn add<'a>(one: &'a SeriesAnalysis, months: &mut BTreeMap<Place<'a>, Month>) {
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

fn reruns(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    let note = Phrase::plain(
        "A commit measured in two sessions of one environment did not change, so each change that the gate reports is a false \
         alarm: ",
    )
    .link(link::METHOD, "how changes are judged")
    .text(".");
    let nothing =
        "The gate's false-alarm rate is unknown here: no commit was measured in two sessions of one environment.";
    Rows::new(
        "What the gate says of reruns, by suite",
        catalog.reruns.iter().filter(|one| one.machine == of.machine.id),
    )
    .column("Suite", "any", |one| one.suite.clone())
    .column("Pairs", "n", |one| count(one.tally.judged))
    .column("Called worse", "n", |one| count(one.tally.regressed))
    .column("Called better", "n", |one| count(one.tally.improved))
    .column("Inconclusive", "n opt2", |one| count(one.tally.inconclusive))
    .column("Wrong", "n push", |one| digest::error_rate(one.tally))
    .section("reruns", "Reruns of the same commit", note, nothing)
    .wide()
}

fn rough(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    let all: Vec<&RunHead> = of.runs.iter().copied().filter(|run| !run.quality.clean).collect();
    let reasons = |run: &RunHead| match run.quality.reasons.is_empty() {
        true => "no reason is recorded".to_owned(),
        false => run.quality.reasons.join("; "),
    };
    let share = format!("{} of {}", count(all.len()), counted(of.runs.len(), "run", "runs"));
    let verb = if all.len() == 1 { "is" } else { "are" };
    let note = Phrase::from(Mark::new(Tone::Doubt, "?", share)).text(format!(" {verb} rough."));
    Rows::new("Rough runs, newest first", all)
        .first(ROUGH)
        .column("Began, UTC", "nb", |run| cell::began(catalog, run))
        .column("Suite", "any push", |run| run.suite.clone())
        .column("Commit", "opt2", |run| cell::commit(catalog, run))
        .column("What was wrong", "any full", |run| shortened(&reasons(run), REASON))
        .section("rough", "Rough runs", note, "No run of it is rough.")
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
        let [noise, reruns, rough] = sections;
        [text(noise), text(reruns), text(rough)]
    }

    #[test]
    fn a_month_has_the_noise_of_its_runs() {
        let steal = |heads: &mut Vec<RunHead>| {
            for (place, head) in heads.iter_mut().filter(|head| head.suite == "cpu").enumerate() {
                let facts = &mut Arc::make_mut(&mut head.environment).facts;
                facts.insert(STEAL.to_owned(), "0.02".to_owned());
                facts.insert(THROTTLED.to_owned(), if place % 8 == 0 { "3" } else { "0" }.to_owned());
            }
        };
        let [noise, ..] = result(0, |_| (), steal);
        let newest = noise.lines().find(|line| line.starts_with("| Nov 2026 | cpu")).expect("it ran then");
        assert_eq!(newest.matches('|').count(), 9, "{newest}");
        assert!(newest.contains("| 5 | 0 |") && newest.contains("| 2.0 % |") && newest.contains(" of 5 |"), "{newest}");
        let [noise, ..] = result(0, |_| (), |_| ());
        assert!(!noise.contains("Host took") && !noise.contains("Throttled"), "{noise}");
    }

    #[test]
    fn months_do_not_change_with_what_is_measured_later() {
        let table = |heads: &[RunHead], sample: &Sample| {
            let catalog = Catalog::new(&sample.input(heads));
            let section = noise(&catalog, &catalog.machines[sample.runs[0].run.machine.id.as_str()]);
            let rows = &section.table().expect("it has rows").rows;
            let words = |cell: &Cell| match cell {
                Cell::Words(words) => words.words(),
                Cell::Noted(..) | Cell::Drawn(_) => String::new(),
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
        // Where all rows are of one suite, the note names it.
        now.retain(|cell| cell != "cpu");
        then.retain(|cell| cell != "cpu");
        assert_eq!(now, then);
    }

    #[test]
    fn reruns_and_rough_runs_are_listed_or_said_to_be_none() {
        let [_, reruns, rough] = result(0, |_| (), |_| ());
        assert!(reruns.contains("| cpu | 240 | 2 | 1 | 12 | 1.2 % |"), "{reruns}");
        assert!(rough.contains("No run of it is rough."), "{rough}");
        let [_, reruns, rough] = result(1, |_| (), |_| ());
        assert!(reruns.contains("no commit was measured in two sessions"), "{reruns}");
        assert!(rough.contains("2 of 74 runs are rough."), "{rough}");
        assert!(rough.contains("the A/A control differed by 0.9 %, more than 0.5 %"), "{rough}");
        let unsaid = |heads: &mut Vec<RunHead>| {
            heads.iter_mut().for_each(|head| head.quality = sprag_model::run::Quality::default());
        };
        let [_, _, rough] = result(1, |_| (), unsaid);
        assert!(rough.contains("74 of 74 runs are rough."), "{rough}");
        assert!(rough.contains("no reason is recorded"), "{rough}");
    }
}

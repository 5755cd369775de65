//! A machine: what it measures, whether its numbers can be trusted, its environment, and its runs; and the list of machines.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, Utc};

use super::digest;
use super::event::draw_multiples;
use super::frame::prelude::*;
use crate::catalog::MachineRuns;
use crate::chart::mini::Mini;
use crate::fit::Fit;
use crate::text::short_digest;
use crate::trend::{summary, words};
use sprag_base::json;
use sprag_base::stats::describe;
use sprag_model::environment::KEY_FACTS;
use sprag_model::{Disagreement, FactChange, Point, RunHead, Series, SeriesAnalysis, SeriesTrend};

/// What the page lists of each, the newest: runs, changes of the environment, months, of which a suite has one each, and rough runs.
const RUNS: usize = 50;
const CHANGES: usize = 50;
const MONTHS: usize = 18;
const ROUGH: usize = 10;

/// The longest fact and reason, in characters.
const FACT: usize = 300;
const REASON: usize = 300;

/// Whether runs may be compared where a fact of the key, another fact, or a setting differs.
const MEANINGS: [&str; 3] = ["must be equal", "may differ", "setting"];

pub(crate) fn machine(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Result<Page, ReportError> {
    let machine = of.machine;
    link::file_word("machine", &machine.id)?;
    let days = |run: Option<&&RunHead>| run.map_or(String::new(), |run| date::day(run.timestamp));
    let (class, runs_here) = (shortened(&machine.class, FACT), counted(of.runs.len(), "run", "runs"));
    let (first, last) = (days(of.runs.last()), days(of.runs.first()));
    let lede = format!("{class}; {runs_here} from {first} to {last}. Its id is {}.", machine.id);
    let trust = [noise(catalog, of), reruns(catalog, of), rough(catalog, of)];
    let environment = [changes(catalog, of), facts(of), runs(catalog, of)];
    let sections = [suites(catalog, of)].into_iter().chain(calibration(catalog, of)).chain(trust).chain(environment);
    let sections = disagreements(catalog, Some(&machine.id)).into_iter().chain(sections).collect();
    let sheet = Sheet {
        crumb: Phrase::linked(link::MACHINE_LIST, "Machines").text(format!(" / {}", machine.name)),
        headline: machine.name.clone().into(),
        lede: lede.into(),
        sections,
        ..Sheet::default()
    };
    let newest = of.runs.first().copied();
    subject_page(catalog, (&link::machine(&machine.id), "Machines"), &machine.name, newest, sheet)
}

/// Those that disagree with others of their class; nothing where none does.
fn disagreements(catalog: &Catalog<'_>, machine: Option<&str>) -> Option<Section> {
    let all = catalog.analysis.disagreements.iter();
    let is_listed = |one: &&Disagreement| machine.is_none_or(|id| one.machines().any(|other| other.id == id));
    let sentences: Vec<Phrase> = summary::disagreements(all.filter(is_listed)).collect();
    let section = || Section::new("disagree", "Machines of one class that disagree").items(sentences.clone());
    (!sentences.is_empty()).then(section)
}

fn by_suite<'a>(of: &MachineRuns<'a>) -> BTreeMap<&'a str, Vec<&'a RunHead>> {
    let mut runs: BTreeMap<&str, Vec<&RunHead>> = BTreeMap::new();
    for run in &of.runs {
        runs.entry(&run.suite).or_default().push(run);
    }
    runs
}

fn suites(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    let series = |suite: &str| -> Vec<&SeriesTrend> {
        let is_of = |one: &&SeriesTrend| one.suite == suite && one.machine.id == of.machine.id;
        catalog.trend.series.iter().filter(is_of).collect()
    };
    let rows = by_suite(of).into_iter().map(|(suite, runs)| (suite, runs, series(suite)));
    let noise = |all: &[&SeriesTrend]| {
        let noise = all.iter().filter_map(|one| one.noise.filter(|noise| noise.is_relative));
        cell::median_share(noise.map(|noise| noise.deviation))
    };
    let note = "Noise is the deviation of a commit's value from its level. Detectable is the minimum detectable effect: the smallest \
                change that shows once eight points are measured after it. Both are medians over the series.";
    Rows::new("Suites that this machine measures", rows)
        .column("Suite", "full", |(suite, ..)| *suite)
        .column("Newest run, UTC", "nb", |(_, runs, _)| cell::began(catalog, runs[0]))
        .column("Status", "", |(_, runs, _)| Mark::of_status(runs[0].status))
        .column("Runs", "n opt2", |(_, runs, _)| count(runs.len()))
        .column("Series examined", "n named", |(.., all)| {
            let judged = all.iter().filter(|one| one.not_judged.is_empty()).count();
            format!("{} of {}", count(judged), count(all.len()))
        })
        .column("Noise", "n opt2", |(.., all)| noise(all))
        .column("Detectable", "n push named", |(.., all)| {
            cell::median_detectable(all.iter().filter_map(|one| one.detectable))
        })
        .section("suites", "What it measures", note, "")
}

/// Facts of a run: the share of the processor time that the host took, and how often the control group was throttled.
const STEAL: &str = "steal_share";
const THROTTLED: &str = "throttled_periods";

/// A month, the newest first, and a suite.
type MonthOfSuite<'a> = (Reverse<(i32, u32)>, &'a str);

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

fn month_of<'a>(suite: &'a str, time: DateTime<Utc>) -> MonthOfSuite<'a> {
    (Reverse((time.year(), time.month())), suite)
}

fn noise(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    let mut months: BTreeMap<MonthOfSuite<'_>, Month> = BTreeMap::new();
    for run in &of.runs {
        let month = months.entry(month_of(&run.suite, run.timestamp)).or_default();
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
        add_noise(one, &mut months);
    }
    let has_steal = months.values().any(|month| !month.steal.is_empty());
    let has_throttled = months.values().any(|month| month.throttled[0] > 0);
    let share = |shares: &[f64]| cell::median_share(shares.iter().copied());
    let within = "Medians over the judged series. Within a run: half of the 95 % interval over its processes.";
    let between = "From run to run: the distance of a value from that of the run before in the same environment.";
    let mut note = format!("{within} {between}");
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

/// The newest values that a small picture of a control or a calibration kernel shows, and the pictures.
const DOTS: usize = 60;
const DRAWN: usize = 6;

/// What should not move: controls and calibration kernels, else judged series without a change.
fn calibration(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Option<Section> {
    let here = |one: &&SeriesAnalysis| one.series.machine == of.machine.id && one.series.points.len() > 1;
    let all = || catalog.analysis.series.iter().filter(here);
    let is_flat = |fit: Fit<'_>| fit.turns.is_empty() && fit.newest_level().is_some() && fit.present_modes().is_none();
    let mut still: Vec<&Series> = all().map(|one| &one.series).filter(|one| one.is_auxiliary()).collect();
    let has_controls = !still.is_empty();
    if !has_controls {
        let flat = all().filter(|one| one.judged && catalog.fit(&one.series.id).is_some_and(is_flat));
        still = flat.map(|one| &one.series).collect();
    }
    let total = still.len();
    still.truncate(DRAWN);
    let mini = |series: &&Series| {
        let values: Vec<f64> = series.points.iter().rev().take(DOTS).rev().map(|point| point.value).collect();
        let median = describe::median(&values).filter(|median| *median != 0.0).unwrap_or(1.0);
        let dots: Vec<(f64, f64)> = (0..).map(f64::from).zip(values.iter().map(|value| value / median)).collect();
        let last = dots.len().saturating_sub(1) as f64;
        let gap = DOTS as f64 - 1.0 - last;
        let mini = Mini {
            dots: dots.into_iter().map(|(at, value)| (at + gap, value)).collect(),
            levels: vec![[(gap, 1.0), (DOTS as f64 - 1.0, 1.0)]],
            suspects: (0.0, 0.0),
            at: -1.0,
            tone: Tone::Plain,
            label: format!("{} around its median", words::name(&short_benchmark(&series.benchmark))),
        };
        let name = words::name(&short_benchmark(&series.benchmark));
        let place = format!("{}, {}", series.suite, series.metric.name);
        (Phrase::default().name(catalog.series_page(&series.id), name), place, mini)
    };
    let (_, pictures) = draw_multiples(still.iter().map(mini).collect(), (0.0, DOTS as f64 - 1.0));
    let what = match has_controls {
        true => "Controls and calibration kernels do the same work in every run, so what moves here is the machine.",
        false => "It measures no control. No change was found in these judged series, so what moves in them is noise.",
    };
    let note = format!(
        "{what} Each dot is a run, at most the newest {DOTS}, against their median; one scale for all. {} of {} are drawn.",
        count(still.len()),
        count(total)
    );
    let section = Section::new("calibration", "Noise of what does not change").paragraph(note);
    (!still.is_empty()).then(|| section.drawn(pictures))
}

fn add_noise<'a>(one: &'a SeriesAnalysis, months: &mut BTreeMap<MonthOfSuite<'a>, Month>) {
    let points = &one.series.points;
    let before = std::iter::once(None).chain(points.iter().map(Some));
    for (point, before) in points.iter().zip(before) {
        let Some(month) = months.get_mut(&month_of(&one.series.suite, point.time)) else { continue };
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
    let unchanged = "A commit measured in two sessions of one environment did not change, so each change that the gate reports is a false alarm: ";
    let note = Phrase::plain(unchanged).link(link::METHOD, "how changes are judged").text(".");
    let nothing =
        "The gate's false-alarm rate is unknown here: no commit has been measured twice in the same environment yet.";
    let rows = catalog.input.reruns.iter().filter(|one| one.machine == of.machine.id);
    Rows::new("What the gate says of reruns, by suite", rows)
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
    let reasons = |run: &RunHead| {
        let reasons = run.quality.reasons.join("; ");
        if reasons.is_empty() { "no reason is recorded".to_owned() } else { reasons }
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

/// The facts and settings of the newest run of each suite; where suites differ, each value names those that have it.
fn facts(of: &MachineRuns<'_>) -> Section {
    let mut values: BTreeMap<(usize, String), BTreeMap<String, Vec<&str>>> = BTreeMap::new();
    for (suite, runs) in by_suite(of) {
        let facts = runs[0].environment.facts.iter().map(|(name, value)| {
            let rank = usize::from(!KEY_FACTS.contains(&name.as_str()));
            ((rank, name.replace('_', " ")), shortened(value, FACT))
        });
        let settings = runs[0].config.iter();
        let settings = settings.map(|(name, value)| ((2, name.clone()), shortened(&json::to_canonical(value), FACT)));
        for (name, value) in facts.chain(settings) {
            values.entry(name).or_default().entry(value).or_default().push(suite);
        }
    }
    let words = |values: &BTreeMap<String, Vec<&str>>| {
        let words = values.iter().map(|(value, suites)| match values.len() {
            1 => value.clone(),
            _ => format!("{value} ({})", suites.join(", ")),
        });
        Phrase::code(words.collect::<Vec<String>>().join("; "))
    };
    Rows::new("Facts of the environment and settings", values)
        .column("Fact or setting", "nb", |((_, name), _)| name.clone())
        .column("Value", "full any", |(_, values)| words(values))
        .column("To compare runs", "", |((rank, _), _)| MEANINGS[*rank])
        .section("facts", "Its environment and settings in the newest runs", "", "No fact was recorded.")
}

/// Where the environment of a run differs from that of the run before of its suite.
fn changes(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    let mut last: BTreeMap<&str, &RunHead> = BTreeMap::new();
    let mut all: Vec<(&RunHead, Vec<FactChange>)> = Vec::new();
    for run in of.runs.iter().rev() {
        let before = last.insert(&run.suite, run);
        let Some(before) = before.filter(|before| before.environment.key != run.environment.key) else { continue };
        let facts = before.environment.differences(&run.environment);
        // Suites that meet the same change list it once.
        if all.last().is_none_or(|(_, seen)| *seen != facts) {
            all.push((run, facts));
        }
    }
    let what = |facts: &[FactChange]| {
        facts.iter().enumerate().fold(Phrase::default(), |words, (place, one)| {
            let words = words.text(format!("{}{}: ", if place > 0 { "; " } else { "" }, one.fact.replace('_', " ")));
            words.id(shortened(&one.was, FACT)).text(" → ").id(shortened(&one.is, FACT))
        })
    };
    let changes = counted(all.len(), "change", "changes");
    let step = "A step between values on two sides of one is attributed to the machine, not to a commit.";
    let note = format!("{changes}, the newest first. {step}");
    Rows::new("Changes of the environment, newest first", all.into_iter().rev())
        .first(CHANGES)
        .column("First run", "nb", |(run, _)| {
            Phrase::default().to(catalog.run_place(&run.id), date::day(run.timestamp))
        })
        .column("Commit", "", |(run, _)| cell::commit(catalog, run))
        .column("What changed", "full any", |(_, facts)| what(facts))
        .section("changes", "How its environment changed", note, "No fact that must be equal for a comparison changed.")
}

fn runs(catalog: &Catalog<'_>, of: &MachineRuns<'_>) -> Section {
    Rows::new("Runs of this machine, newest first", &of.runs)
        .first(RUNS)
        .column("Began, UTC", "nb", |run| cell::began(catalog, run))
        .column("Suite", "", |run| run.suite.clone())
        .column("Status", "", |run| Mark::of_status(run.status))
        .column("Numbers", "", |run| Mark::of_run_quality(run))
        .column("Commit", "", |run| cell::commit(catalog, run))
        .column("Environment", "opt", |run| Phrase::code(short_digest(&run.environment.key)))
        .section("runs", "Runs", "", "")
}

pub(crate) fn machine_list(catalog: &Catalog<'_>) -> Result<Page, ReportError> {
    let mut machines: Vec<&MachineRuns<'_>> = catalog.machines.values().collect();
    machines.sort_by_key(|one| (one.runs.first().map(|run| std::cmp::Reverse(run.timestamp)), &one.machine.id));
    let distinct = |one: &MachineRuns<'_>, of: fn(&RunHead) -> &str| -> BTreeSet<String> {
        one.runs.iter().map(|run| of(run).to_owned()).collect()
    };
    let section = Rows::new("Machines, the one that ran last first", machines)
        .column("Machine", "full", |one| Phrase::linked(link::machine(&one.machine.id), one.machine.name.clone()))
        .column("Class", "any", |one| one.machine.class.clone())
        .column("Suites", "any", |one| distinct(one, |run| &run.suite).into_iter().collect::<Vec<String>>().join(", "))
        .column("Runs", "n named", |one| count(one.runs.len()))
        .column("Environments", "n opt2", |one| count(distinct(one, |run| &run.environment.key).len()))
        .column("Newest run, UTC", "nb push", |one| or_none(one.runs.first(), |run| date::moment(run.timestamp)))
        .section("machines", "Newest first", "", number::NONE);
    let sheet = Sheet {
        headline: counted(catalog.machines.len(), "machine", "machines").into(),
        lede: "Values of one machine are never compared with those of another.".into(),
        sections: disagreements(catalog, None).into_iter().chain([section]).collect(),
        ..Sheet::default()
    };
    history_page(catalog, (link::MACHINE_LIST, "Machines"), "Machines", sheet)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sample_data::{self, Sample};

    /// The noise by month, the reruns and the rough runs of the machine of a run, as Markdown; `change` changes the heads.
    fn trust(sample: &Sample, run: usize, change: impl FnOnce(&mut Vec<RunHead>)) -> [String; 3] {
        let mut heads = sample.heads();
        change(&mut heads);
        let catalog = Catalog::new(&sample.input(&heads));
        let of = &catalog.machines[sample.runs[run].run.machine.id.as_str()];
        [noise(&catalog, of), reruns(&catalog, of), rough(&catalog, of)]
            .map(|section| Sheet { sections: vec![section], ..Sheet::default() }.markdown().replace('\u{202f}', " "))
    }

    #[test]
    fn a_month_has_the_noise_of_its_runs() {
        let sample = sample_data::rich();
        let [noise, ..] = trust(&sample, 0, |heads| {
            for (place, head) in heads.iter_mut().filter(|head| head.suite == "cpu").enumerate() {
                let facts = &mut Arc::make_mut(&mut head.environment).facts;
                facts.insert(STEAL.to_owned(), "0.02".to_owned());
                facts.insert(THROTTLED.to_owned(), if place % 8 == 0 { "3" } else { "0" }.to_owned());
            }
        });
        let newest = noise.lines().find(|line| line.starts_with("| Nov 2026 | cpu")).expect("it ran then");
        assert_eq!(newest.matches('|').count(), 9, "{newest}");
        assert!(newest.contains("| 5 | 0 |") && newest.contains("| 2.0 % |") && newest.contains(" of 5 |"), "{newest}");
        let [noise, ..] = trust(&sample, 0, |_| ());
        assert!(!noise.contains("Host took") && !noise.contains("Throttled"), "{noise}");
    }

    #[test]
    fn reruns_and_rough_runs_are_listed_or_said_to_be_none() {
        let sample = sample_data::rich();
        let [_, reruns, rough] = trust(&sample, 0, |_| ());
        assert!(reruns.contains("| cpu | 240 | 2 | 1 | 12 | 1.2 % |"), "{reruns}");
        assert!(rough.contains("No run of it is rough."), "{rough}");
        let [_, reruns, rough] = trust(&sample, 1, |_| ());
        assert!(reruns.contains("no commit has been measured twice"), "{reruns}");
        assert!(rough.contains("2 of 74 runs are rough."), "{rough}");
        assert!(rough.contains("the A/A control differed by 0.9 %, more than 0.5 %"), "{rough}");
        let [_, _, rough] = trust(&sample, 1, |heads| {
            heads.iter_mut().for_each(|head| head.quality = sprag_model::run::Quality::default());
        });
        assert!(rough.contains("74 of 74 runs are rough.") && rough.contains("no reason is recorded"), "{rough}");
    }

    #[test]
    fn the_noise_of_a_month_depends_on_no_later_run() {
        let october = |sample: &Sample| {
            let [noise, ..] = trust(sample, 0, |_| ());
            let line = noise.lines().find(|line| line.starts_with("| Oct 2026")).expect("it ran then");
            (line.replace("| cpu ", ""), noise.contains("Nov 2026"))
        };
        let mut sample = sample_data::rich();
        let (with_later, true) = october(&sample) else { panic!("the newest month is listed") };
        let is_before = |time: DateTime<Utc>| (time.year(), time.month()) < (2026, 11);
        sample.runs.retain(|run| is_before(run.run.timestamp));
        for one in &mut sample.analysis.series {
            one.series.points.retain(|point| is_before(point.time));
        }
        assert_eq!(october(&sample), (with_later, false));
    }
}

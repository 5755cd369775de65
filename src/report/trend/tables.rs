//! The report of a trend: its events, the newest values outside their range, what is judged, movers, noise, schedule.

use std::collections::BTreeMap;

use super::{event, summary, words};
use crate::date;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::sheet::{Row, Section, Sheet, Table};
use sprag_model::trend::Due;
use sprag_model::{
    ApartSeries, Budget, Event, GeomeanRow, Level, MoverRow, NewestApart, SeriesTrend, SuiteNoiseRow, Trend,
};

const MOST_MOVERS: usize = 10;

const MOST_ROWS: usize = 40;

/// The movers of the overview.
const MOST_SHOWN_MOVERS: usize = 5;

pub(super) fn sections(trend: &Trend) -> Vec<Section> {
    let days = against(trend.tables.days);
    let tables = [
        coverage(trend),
        movers(trend),
        movers_by_size(trend),
        geomeans(&format!("Geometric means, {days}"), &trend.tables.geomeans),
        noise(&trend.tables.noise),
        schedule(&trend.schedule),
        Some(budget(&trend.budget)),
    ];
    tables.into_iter().flatten().collect()
}

fn against(days: u32) -> String {
    match days {
        1 => "the last day against the one before".to_owned(),
        days => format!("{days} days against the {days} before"),
    }
}

/// A section of the first rows, and how many there are beyond; nothing without rows.
fn table<T>(
    heading: &str,
    columns: &[(&'static str, &'static str)],
    all: &[T],
    most: usize,
    row: impl Fn(&T) -> Row,
) -> Option<Section> {
    let section = Section::new("", heading).with(Table::new(columns, all.iter().take(most).map(row).collect()));
    section.paragraph(words::and_more(all.len(), most)).unless_empty()
}

fn coverage(trend: &Trend) -> Option<Section> {
    let coverage = &trend.coverage;
    let total = counted(coverage.total, "series is", "series are");
    let title = format!("Coverage: {} of {total} examined", count(coverage.judged));
    let columns = [("Series", "n"), ("Why not", ""), ("What to do", "")];
    let rows = coverage.reasons.iter().take(MOST_ROWS).map(|one| {
        let (why, what) = words::reason(&one.reason);
        Row::new([count(one.series).into(), words::name(why).into(), what])
    });
    let mut section = Section::new("", title).with(Table::new(&columns, rows.collect()));
    let left_out = |of: fn(&SeriesTrend) -> usize| trend.series.iter().filter(|one| of(one) > 0).count();
    let (dirty, elsewhere) = (left_out(|one| one.dirty), left_out(|one| one.elsewhere));
    let parts = [(dirty, "runs of changed trees"), (elsewhere, "runs of commits off the branch")];
    let parts = parts.into_iter().filter(|(series, _)| *series > 0);
    let parts: Vec<String> =
        parts.map(|(series, what)| format!("{what}, in {}", counted(series, "series", "series"))).collect();
    if !parts.is_empty() {
        section = section.paragraph(format!("Left out: {}.", parts.join("; ")));
    }
    section = section.paragraph(visible(trend).unwrap_or_default());
    (!section.blocks.is_empty()).then_some(section)
}

/// The change that half of the judged series would show, and that which nine in ten would.
fn visible(trend: &Trend) -> Option<String> {
    // Stale series count, because their noise was measured.
    let judged = trend.series.iter().filter(|one| one.judged);
    let mut sizes: Vec<f64> = judged.filter_map(|one| one.detectable).filter(|size| size.is_finite()).collect();
    sizes.sort_by(f64::total_cmp);
    let at = |share: f64| sizes.get((share * sizes.len() as f64) as usize).or(sizes.last()).copied();
    let [half, most] = [number::detectable(at(0.5)?), number::detectable(at(0.9)?)];
    let shares = match half == most {
        true => "nine in ten of these series".to_owned(),
        false => format!("half of these series, one of {most} in nine in ten"),
    };
    Some(format!("With eight points after it, a change of {half} would be seen in {shares}."))
}

fn movers(trend: &Trend) -> Option<Section> {
    let rows: Vec<&MoverRow> = trend.tables.movers.iter().collect();
    moved(&format!("Movers, {}, worst first", against(trend.tables.days)), trend, &rows)
}

/// Those that got worse by most: the first of each unit, then the second of each. Nothing where shares list the same.
fn movers_by_size(trend: &Trend) -> Option<Section> {
    let moved_at_all = |one: &&MoverRow| one.difference != 0.0;
    let mut rows: Vec<&MoverRow> = trend.tables.movers.iter().filter(moved_at_all).collect();
    rows.sort_by_key(|one| (one.rank_in_unit, one.unit));
    if rows.iter().take(MOST_MOVERS).copied().eq(trend.tables.movers.iter().filter(moved_at_all).take(MOST_MOVERS)) {
        return None;
    }
    moved("Largest absolute changes, by unit", trend, &rows)
}

fn moved(heading: &str, trend: &Trend, rows: &[&MoverRow]) -> Option<Section> {
    let series: BTreeMap<&str, &SeriesTrend> = trend.series.iter().map(|one| (one.series.as_str(), one)).collect();
    let columns =
        [("Change", "n"), ("Difference", "n"), ("Before → now", "n"), ("Runs", "n"), ("Machine", ""), ("Series", "")];
    table(heading, &columns, rows, MOST_MOVERS, |one| {
        let present = series.get(one.series.as_str());
        let name = present.map_or(&one.series, |present| &present.benchmark);
        let name = Phrase::code(words::name(name));
        Row::new([
            number::or_none(one.change, number::percent).into(),
            number::quantity(one.unit.scale(one.difference), one.difference).into(),
            words::values(one.unit, one.before, one.now).into(),
            format!("{} → {}", count(one.runs_before), count(one.runs_now)).into(),
            words::name(present.map_or(&one.machine, |present| &present.machine.name)).into(),
            match present {
                Some(present) => {
                    let way = words::way_of_mover(&present.metric, one);
                    name.text(format!(" {}, {way}", words::name(&present.metric.name)))
                }
                None => name,
            },
        ])
    })
}

fn geomeans(heading: &str, rows: &[GeomeanRow]) -> Option<Section> {
    let columns =
        [("Change", "n"), ("Interval, %", "n"), ("Worst", "n"), ("Series", "n"), ("Machine", ""), ("Suite", "")];
    table(heading, &columns, rows, MOST_ROWS, |one| {
        let dtype = one.dtype.as_ref().map_or_else(String::new, |dtype| format!(", {}", words::name(dtype)));
        Row::new([
            number::percent(one.change),
            number::or_none(one.interval, number::percent_interval),
            number::percent(one.worst),
            count(one.series),
            words::name(&one.machine_name),
            format!("{}{dtype}", words::name(&one.suite)),
        ])
    })
}

fn noise(rows: &[SuiteNoiseRow]) -> Option<Section> {
    let columns = [("Of processes", "n"), ("Of runs", "n"), ("Series", "n"), ("Machine", ""), ("Suite", "")];
    let size = |size: Option<f64>| number::or_none(size, number::percent_size);
    table("Noise of judged series, median and 90th percentile", &columns, rows, MOST_ROWS, |one| {
        Row::new([
            format!("{}, {}", size(one.between_workers_median), size(one.between_workers_p90)),
            format!("{}, {}", size(one.between_runs_median), size(one.between_runs_p90)),
            count(one.series),
            words::name(&one.machine_name),
            words::name(&one.suite),
        ])
    })
}

fn schedule(all: &[Due]) -> Option<Section> {
    let columns = [("", ""), ("Newest run", "n"), ("Days", "n"), ("Allowed", "n"), ("Machine", ""), ("Suite", "")];
    table("Schedule", &columns, all, MOST_ROWS, |due| {
        let mark = match due.stale {
            true => Mark::new(Tone::Doubt, "?", "stale"),
            false => Mark::new(Tone::Plain, "✓", "in time"),
        };
        Row::new([
            Phrase::from(mark),
            date::day(due.newest).into(),
            count(due.days.max(0) as usize).into(),
            count(due.allowed.max(0) as usize).into(),
            words::name(&due.machine.name).into(),
            words::name(&due.suite).into(),
        ])
    })
}

fn budget(budget: &Budget) -> Section {
    let points = |points: usize| counted(points, "point", "points");
    let (allowed, expected, examined) = (rate(budget.allowed), rate(budget.expected), points(budget.points));
    let mut text = format!(
        "Budget: {allowed} per {} points, which is at most {expected} in the {examined} examined.",
        count(1000)
    );
    let test = &budget.self_test;
    text += &match test.rate {
        Some(result) => {
            let alarms = format!("{} in {}", count(test.alarms), points(test.points));
            let left_out =
                test.left_out.map(|left_out| format!(", without {} of drifts and two modes,", points(left_out)));
            let left_out = left_out.unwrap_or_default();
            format!(" Simulated noise like that of this history{left_out} gives {} ({alarms}).", rate(result))
        }
        None => " This history has too little noise to test that.".to_owned(),
    };
    if let Some(raised) = budget.raised {
        let series = counted(raised, "series", "series");
        text += &format!(" The limits are higher in {series} whose noise looks like changes.");
    }
    text += &format!(" At most {} of the confirmed events are chance.", number::percent_size(budget.false_discovery));
    let section = Section::new("", "False alarms").paragraph(text);
    if !test.exceeded {
        return section;
    }
    let advice = " treat events with care, or report fewer with `--sensitivity strict` or a larger `--least`.";
    section.paragraph(Phrase::from(Mark::new(Tone::Doubt, "?", "over budget:")).join(Phrase::quoted(advice)))
}

fn rate(rate: f64) -> String {
    if rate >= 10.0 {
        return number::fixed(rate, 0);
    }
    let text = number::fixed(rate, if rate >= 1.0 { 1 } else { 2 });
    if rate > 0.0 && rate < 0.01 { number::rough(rate) } else { text }
}

const MOST_COMMITS: usize = 8;

fn newest_section(trend: &Trend) -> Option<Section> {
    if trend.newest.is_empty() {
        return None;
    }
    let series: usize = trend.newest.iter().map(|one| one.series.len()).sum();
    let title = match series {
        1 => " the newest value of 1 series is outside its usual range".to_owned(),
        many => format!(" the newest values of {} series are outside their usual range", count(many)),
    };
    let title = Phrase::from(Mark::new(Tone::Doubt, "?", "Unconfirmed:")).text(title);
    let section = trend.newest.iter().take(MOST_COMMITS).fold(Section::new("", title), commit);
    Some(section.paragraph(words::and_more(trend.newest.len(), MOST_COMMITS)))
}

fn commit(section: Section, apart: &NewestApart) -> Section {
    let columns = [("Change", "n"), ("Level → newest", "n"), ("Series", "")];
    let rows = apart.series.iter().take(event::MOST_MEMBERS).map(series).collect();
    let section = section.paragraph(head(apart)).with(Table { label: "newest", ..Table::new(&columns, rows) });
    let section = section.paragraph(words::and_more(apart.series.len(), event::MOST_MEMBERS));
    event::command(section, &apart.command)
}

pub(crate) fn head(apart: &NewestApart) -> Phrase {
    let decides = counted(apart.runs, "more run decides", "more runs decide");
    let head = Phrase::plain("On ").text(words::name(&apart.machine.name)).text(" at ");
    let by_hand = if apart.checkout { ", its newest commit checked out there" } else { "" };
    head.id(words::name(apart.commit.short())).text(format!(": {decides}{by_hand}."))
}

/// The difference of a value from its level.
pub(crate) fn change(apart: &ApartSeries) -> String {
    let Level { value: level, .. } = apart.level;
    let share = (apart.value / level - 1.0) * level.signum();
    if level == 0.0 { number::NONE.to_owned() } else { number::percent(share) }
}

fn series(apart: &ApartSeries) -> Row {
    let name = Phrase::code(words::name(&apart.benchmark));
    Row::new([
        change(apart).into(),
        words::values(apart.metric.unit, apart.level.value, apart.value).into(),
        name.text(format!(" {}, {}", words::name(&apart.metric.name), words::way(&apart.metric, apart.worse))),
    ])
}

/// The largest changes that are larger than the noise of their series.
fn movers_above_noise(trend: &Trend) -> Option<Section> {
    let noisy = trend.series.iter().filter(|one| one.judged && !one.exact);
    let least: BTreeMap<&str, f64> = noisy.filter_map(|one| Some((one.series.as_str(), one.detectable?))).collect();
    let is_shown = |one: &&MoverRow| {
        let (change, least) = (one.change, least.get(one.series.as_str()));
        change.zip(least).is_some_and(|(change, least)| change.abs() >= *least)
    };
    let rows: Vec<&MoverRow> = trend.tables.movers.iter().filter(is_shown).take(MOST_SHOWN_MOVERS).collect();
    moved(&format!("Moved beyond their noise, {}", against(trend.tables.days)), trend, &rows)
}

/// What asks for action, within a screen: a line for each event, what to measure next, and what moved most.
pub(super) fn overview(trend: &Trend, all: bool) -> Sheet {
    let listed: Vec<&Event> = trend.events.iter().filter(|one| all || summary::is_listed(one)).collect();
    let columns = [("Event", ""), ("Change", "n"), ("Since", ""), ("Cause", ""), ("Series", "")];
    let shown: Vec<&Event> = listed.iter().copied().take(trend.most_events()).collect();
    let events = table("Events", &columns, &shown, shown.len(), |one| event::line(one));
    let events = events.map(|section| section.paragraph(summary::others(listed.len(), trend, all).unwrap_or_default()));
    let hidden = if all { None } else { summary::hidden(trend) };
    let next = listed.iter().find_map(|one| Some((*one, one.next.as_ref()?)));
    let next = next.map(|(one, next)| {
        let section = |words| Section::new("", "Next").paragraph(Phrase::from(event::mark(one)).text(": ").join(words));
        match event::bisection(one, next) {
            Some(line) => section("measure commits until one is certain".into()).commands(vec![line]),
            None => event::command(section(event::step(one, next)), &next.command),
        }
    });
    let details = listed.first().map(|one| {
        let one = Phrase::plain("One event in full: ").id(format!("sprag trend --event {}", words::name(&one.id)));
        Section::default().paragraph(one.text("; all of it: ").id("sprag trend --details").text("."))
    });
    let mut sections = vec![Section::default().items(summary::lines(trend))];
    sections.extend(events);
    sections.extend(hidden.map(|hidden| Section::default().paragraph(hidden)));
    sections.extend(next);
    sections.extend(newest_section(trend));
    sections.extend(movers_above_noise(trend));
    sections.extend(details);
    Sheet { headline: summary::headline(trend), sections, ..Sheet::default() }
}

/// With the first events only, or with all of them.
pub(super) fn sheet(trend: &Trend, all: bool, most: usize) -> Sheet {
    let mut sections = vec![Section::default().items(summary::lines(trend))];
    sections.extend(events(trend, all, most));
    if trend.coverage.total > 0 {
        sections.extend(newest_section(trend));
        sections.extend(self::sections(trend));
    }
    Sheet { headline: summary::headline(trend), sections, ..Sheet::default() }
}

/// The part for the digest of a scheduled build: what changed over the history, and what may be about to.
pub(super) fn digest(trend: &Trend) -> Sheet {
    let headline = Phrase::plain("Over the whole history: ").join(summary::headline(trend));
    let sections = events(trend, false, trend.most_events()).chain(newest_section(trend)).collect();
    Sheet { headline, sections, ..Sheet::default() }
}

fn events(trend: &Trend, all: bool, most: usize) -> impl Iterator<Item = Section> {
    let listed = trend.events.iter().filter(move |one| all || summary::is_listed(one));
    let others = if most < usize::MAX { summary::others(listed.clone().count(), trend, all) } else { None };
    let hidden = if all { None } else { summary::hidden(trend) };
    let words = others.into_iter().chain(hidden).map(|words| Section::default().paragraph(words));
    listed.take(most).map(event::section).chain(words)
}

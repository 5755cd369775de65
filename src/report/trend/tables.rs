//! The tables beside the events: what is judged, what moved lately, how restless the rest is, what is due.

use std::collections::BTreeMap;

use super::document::{Block, Document, Grid, Room, Section, cell};
use super::{event, summary, words};
use crate::date;
use crate::gate::share;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use sprag_model::change_point::Level;
use sprag_model::movers::{GeomeanRow, MoverRow, SuiteNoiseRow};
use sprag_model::trend::{ApartSeries, Budget, Due, NewestApart, SeriesTrend, Trend};

const MOST_MOVERS: usize = 10;

/// The rows of any other table.
const MOST_ROWS: usize = 40;

/// Each reason why a series is not judged: its word, what it means, and what to do about it.
const REASONS: [(&str, &str, &str); 6] = [
    ("too_short", "too few points", "record more commits: `sprag run --record`"),
    ("stale", "the newest point is too old for the schedule", "run the suite where it is due"),
    ("missing_at_tip", "the newest run has no value of it", "find out why, unless it was removed"),
    ("environment_changed", "too few points in the new environment", "record more runs in it"),
    ("failing", "the benchmark failed in the newest run", "mend it: `sprag run` says what is wrong"),
    ("no_commit", "none of its runs is of a known commit", "fetch the commits, or name their `--branch`"),
];

/// What the word of a reason means, and what to do about it.
pub(crate) fn reason(word: &str) -> (&str, Phrase) {
    let present = REASONS.iter().find(|(present, _, _)| *present == word);
    present.map_or((word, Phrase::default()), |(_, why, what)| (*why, sentence(what)))
}

/// All of them, in their order.
pub(super) fn sections(trend: &Trend) -> Vec<Section> {
    let days = against(trend.tables.days);
    let tables = [
        coverage(trend),
        movers(trend),
        movers_by_size(trend),
        grid_section(&format!("Geometric means, {days}"), geomeans(&trend.tables.geomeans)),
        grid_section("Noise of judged series, median and 90th percentile", noise(&trend.tables.noise)),
        grid_section("Schedule", schedule(&trend.schedule)),
        Some(budget(&trend.budget)),
    ];
    tables.into_iter().flatten().collect()
}

/// The days that are held against those before them.
fn against(days: u32) -> String {
    match days {
        1 => "the last day against the one before".to_owned(),
        days => format!("{days} days against the {days} before"),
    }
}

fn grid_section(title: &str, grid: Grid) -> Option<Section> {
    (!grid.rows.is_empty()).then(|| Section { title: cell(title), blocks: vec![Block::Grid(grid)] })
}

/// The first rows of a table, and how many there are beyond.
fn grid<T>(heads: &[(&'static str, bool)], all: &[T], most: usize, row: impl Fn(&T) -> Vec<Phrase>) -> Grid {
    let more = all.len().saturating_sub(most);
    Grid {
        heads: heads.to_vec(),
        rows: all.iter().take(most).map(row).collect(),
        more: (more > 0).then(|| cell(format!("and {} more", count(more)))),
        ..Grid::default()
    }
}

/// Which series are not judged and why, and what was left out of others; nothing where that is none.
fn coverage(trend: &Trend) -> Option<Section> {
    let coverage = &trend.coverage;
    let title = format!(
        "Coverage: {} of {} judged",
        count(coverage.judged),
        counted(coverage.total, "series is", "series are")
    );
    let reasons =
        grid(&[("Series", true), ("Why not", false), ("What to do", false)], &coverage.reasons, MOST_ROWS, |one| {
            let (why, what) = reason(&one.reason);
            vec![cell(count(one.series)), cell(words::name(why)), what]
        });
    let mut blocks = Vec::new();
    if !reasons.rows.is_empty() {
        blocks.push(Block::Grid(reasons));
    }
    let left_out = |of: fn(&SeriesTrend) -> usize| trend.series.iter().filter(|one| of(one) > 0).count();
    let (dirty, elsewhere) = (left_out(|one| one.dirty), left_out(|one| one.elsewhere));
    let mut parts = Vec::new();
    if dirty > 0 {
        parts.push(format!("runs of changed trees, in {}", counted(dirty, "series", "series")));
    }
    if elsewhere > 0 {
        parts.push(format!("runs of commits off the branch, in {}", counted(elsewhere, "series", "series")));
    }
    if !parts.is_empty() {
        blocks.push(Block::Line(cell(format!("Left out: {}.", parts.join("; ")))));
    }
    blocks.extend(visible(trend).map(|line| Block::Line(cell(line))));
    (!blocks.is_empty()).then(|| Section { title: cell(title), blocks })
}

/// From how large a change on the judged series show it, half of them and nine in ten.
fn visible(trend: &Trend) -> Option<String> {
    // Also of those that are stale: their noise is known.
    let judged = trend.series.iter().filter(|one| one.judged);
    let mut sizes: Vec<f64> = judged.filter_map(|one| one.detectable).filter(|size| size.is_finite()).collect();
    sizes.sort_by(f64::total_cmp);
    let at = |share: f64| sizes.get((share * sizes.len() as f64) as usize).or(sizes.last()).copied();
    let [half, most] = [number::could_see(at(0.5)?), number::could_see(at(0.9)?)];
    Some(if half == most {
        format!("With eight points after it, a change of {half} would be seen in nine in ten of these series.")
    } else {
        format!(
            "With eight points after it, a change of {half} would be seen in half of these series, one of {most} in nine in ten."
        )
    })
}

/// Words with names between backticks.
fn sentence(words: &str) -> Phrase {
    words.split('`').enumerate().fold(Phrase::default(), |sentence, (place, part)| match (part, place % 2) {
        ("", _) => sentence,
        (part, 0) => sentence.text(part),
        (part, _) => sentence.id(part),
    })
}

fn movers(trend: &Trend) -> Option<Section> {
    let rows: Vec<&MoverRow> = trend.tables.movers.iter().collect();
    grid_section(&format!("Movers, {}, the worst first", against(trend.tables.days)), moved(trend, &rows))
}

/// Those that got worse by most, in base units: the first of each unit, then the second of each, and so on. Nothing where that
/// is what the table by shares lists.
fn movers_by_size(trend: &Trend) -> Option<Section> {
    let moved_at_all = |one: &&MoverRow| one.difference != 0.0;
    let mut rows: Vec<&MoverRow> = trend.tables.movers.iter().filter(moved_at_all).collect();
    rows.sort_by_key(|one| (one.rank_in_unit, one.unit));
    if rows.iter().take(MOST_MOVERS).copied().eq(trend.tables.movers.iter().filter(moved_at_all).take(MOST_MOVERS)) {
        return None;
    }
    grid_section("The same by their size, the worst of each unit in turn", moved(trend, &rows))
}

fn moved(trend: &Trend, rows: &[&MoverRow]) -> Grid {
    let series: BTreeMap<&str, &SeriesTrend> = trend.series.iter().map(|one| (one.series.as_str(), one)).collect();
    let heads = [
        ("Change", true),
        ("Difference", true),
        ("Before → now", true),
        ("Runs", true),
        ("Machine", false),
        ("Series", false),
    ];
    grid(&heads, rows, MOST_MOVERS, |one| {
        let present = series.get(one.series.as_str());
        let scale = one.unit.scale(if one.before == 0.0 { one.now } else { one.before });
        let name = present.map_or(&one.series, |present| &present.benchmark);
        let name = Phrase::default().id(words::name(name));
        let change = one.change.map_or_else(|| number::NONE.to_owned(), share::percent);
        // What rounds to nothing is not slower by nothing.
        let is_nothing = one.change.is_some() && !change.contains(|digit| matches!(digit, '1'..='9'));
        vec![
            cell(change),
            cell(number::quantity(one.unit.scale(one.difference), one.difference)),
            cell(format!("{} → {}", number::value(scale, one.before), number::quantity(scale, one.now))),
            cell(format!("{} → {}", count(one.runs_before), count(one.runs_now))),
            cell(words::name(present.map_or(&one.machine, |present| &present.machine.name))),
            match present {
                Some(present) => {
                    let way = if is_nothing { "unchanged" } else { words::way(&present.metric, one.worse) };
                    name.text(format!(" {}, {way}", words::name(&present.metric.name)))
                }
                None => name,
            },
        ]
    })
}

fn geomeans(rows: &[GeomeanRow]) -> Grid {
    let heads = [
        ("Change", true),
        ("Interval, %", true),
        ("Worst", true),
        ("Series", true),
        ("Machine", false),
        ("Suite", false),
    ];
    grid(&heads, rows, MOST_ROWS, |one| {
        let dtype = one.dtype.as_ref().map_or_else(String::new, |dtype| format!(", {}", words::name(dtype)));
        vec![
            cell(share::percent(one.change)),
            cell(one.interval.map_or_else(|| number::NONE.to_owned(), share::percent_interval)),
            cell(share::percent(one.worst)),
            cell(count(one.series)),
            cell(words::name(&one.machine_name)),
            cell(format!("{}{dtype}", words::name(&one.suite))),
        ]
    })
}

fn noise(rows: &[SuiteNoiseRow]) -> Grid {
    let heads = [("Of processes", true), ("Of runs", true), ("Series", true), ("Machine", false), ("Suite", false)];
    let size = |size: Option<f64>| size.map_or_else(|| number::NONE.to_owned(), share::percent_size);
    grid(&heads, rows, MOST_ROWS, |one| {
        vec![
            cell(format!("{}, {}", size(one.between_workers_median), size(one.between_workers_p90))),
            cell(format!("{}, {}", size(one.between_runs_median), size(one.between_runs_p90))),
            cell(count(one.series)),
            cell(words::name(&one.machine_name)),
            cell(words::name(&one.suite)),
        ]
    })
}

fn schedule(all: &[Due]) -> Grid {
    let heads =
        [("", false), ("Newest run", true), ("Days", true), ("Allowed", true), ("Machine", false), ("Suite", false)];
    grid(&heads, all, MOST_ROWS, |due| {
        let mark = match due.stale {
            true => Mark::new(Tone::Doubt, "?", "stale"),
            false => Mark::new(Tone::Plain, "✓", "in time"),
        };
        vec![
            Phrase::default().mark(mark),
            cell(date::day(due.newest)),
            cell(count(due.days.max(0) as usize)),
            cell(count(due.allowed.max(0) as usize)),
            cell(words::name(&due.machine.name)),
            cell(words::name(&due.suite)),
        ]
    })
}

fn budget(budget: &Budget) -> Section {
    let points = |points: usize| counted(points, "point", "points");
    let mut text = format!(
        "{} in 1{}000 points are allowed, at most {} in the {} looked at.",
        rate(budget.allowed),
        number::NARROW,
        rate(budget.expected),
        points(budget.points)
    );
    let test = &budget.self_test;
    text += &match test.rate {
        Some(result) => format!(
            " The noise of this history alone gives {} ({} in {}).",
            rate(result),
            count(test.alarms),
            points(test.points)
        ),
        None => " There is not enough noise in this history to test that.".to_owned(),
    };
    text += &format!(" Of the events called sure at most {} are chance.", number::percent_size(budget.false_discovery));
    let mut blocks = vec![Block::Line(cell(text))];
    if test.exceeded {
        let warning = Phrase::default().mark(Mark::new(Tone::Doubt, "?", "more than is allowed:"));
        blocks.push(Block::Line(
            warning
                .text(" take events with care, or tell fewer of them with ")
                .id("--sensitivity strict")
                .text(" or a larger ")
                .id("--least")
                .text("."),
        ));
    }
    Section { title: cell("False alarms"), blocks }
}

/// A rate or a count in as many digits as say something.
fn rate(rate: f64) -> String {
    if rate >= 10.0 {
        return number::fixed(rate, 0);
    }
    let text = number::fixed(rate, if rate >= 1.0 { 1 } else { 2 });
    if rate > 0.0 && rate < 0.01 { number::rough(rate) } else { text }
}

/// The commits that are told of.
const MOST: usize = 8;

/// The newest points that lie apart, where there are any.
pub(super) fn newest_section(trend: &Trend, room: &Room) -> Option<Section> {
    if trend.newest.is_empty() {
        return None;
    }
    let series: usize = trend.newest.iter().map(|one| one.series.len()).sum();
    let title = match series {
        1 => " the newest point of 1 series lies apart".to_owned(),
        many => format!(" the newest points of {} series lie apart", count(many)),
    };
    let mut blocks: Vec<Block> = trend.newest.iter().take(MOST).flat_map(|one| commit(one, room)).collect();
    let more = trend.newest.len().saturating_sub(MOST);
    if more > 0 {
        blocks.push(Block::Line(cell(format!("And {}.", counted(more, "more commit", "more commits")))));
    }
    let title = Phrase::default().mark(Mark::new(Tone::Doubt, "?", "Not a change yet:")).text(title);
    Some(Section { title, blocks })
}

fn commit(apart: &NewestApart, room: &Room) -> Vec<Block> {
    let head = head(apart);
    let more = apart.series.len().saturating_sub(room.members);
    let grid = Grid {
        label: "newest",
        heads: vec![("Change", true), ("Level → newest", true), ("Series", false)],
        rows: apart.series.iter().take(room.members).map(series).collect(),
        more: (more > 0).then(|| cell(format!("and {} more", count(more)))),
        ..Grid::default()
    };
    vec![Block::Line(head), Block::Grid(grid), event::command(&apart.command)]
}

/// Where they lie, and how many runs settle it.
pub(crate) fn head(apart: &NewestApart) -> Phrase {
    let settles = counted(apart.runs, "more run settles it", "more runs settle it");
    let head = Phrase::plain("On ").text(words::name(&apart.machine.name)).text(" at ");
    let by_hand = if apart.checkout { ", its newest commit checked out there" } else { "" };
    head.id(words::name(apart.commit.short())).text(format!(": {settles}{by_hand}."))
}

/// How far a value lies from its level.
pub(crate) fn change(apart: &ApartSeries) -> String {
    let Level { value: level, .. } = apart.level;
    let share = (apart.value / level - 1.0) * level.signum();
    if level == 0.0 { number::NONE.to_owned() } else { share::percent(share) }
}

fn series(apart: &ApartSeries) -> Vec<Phrase> {
    let Level { value: level, .. } = apart.level;
    let name = Phrase::default().id(words::name(&apart.benchmark));
    vec![
        cell(change(apart)),
        cell(words::values(&apart.metric, level, apart.value)),
        name.text(format!(" {}, {}", words::name(&apart.metric.name), words::way(&apart.metric, apart.worse))),
    ]
}

/// What is told of a trend; `all` lists events that may be chance or were taken back, too.
pub(super) fn document(trend: &Trend, all: bool, room: &Room) -> Document {
    let is_listed = |one: &&sprag_model::event::Event| all || summary::is_listed(one);
    let events = trend.events.iter().filter(is_listed).map(|one| event::section(one, room)).collect();
    let sections = [newest_section(trend, room)].into_iter().flatten().chain(sections(trend));
    Document {
        headline: summary::headline(trend),
        lines: summary::lines(trend),
        events,
        hidden: if all { None } else { summary::hidden(trend) },
        sections: if trend.coverage.total == 0 { Vec::new() } else { sections.collect() },
    }
}

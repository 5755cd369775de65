//! All series between two commits: the rows in their order, counts, geometric means.

use std::collections::BTreeMap;

use serde::Serialize;

use super::data::{Data, SeriesData};
use super::drawn;
use super::mean;
use super::rule::{self, Moment, Outcome, Verdict};
use super::words::{self, ComparedRow, Kind};
use crate::mark;
use crate::number::{self, NARROW};

/// The heading of what kernels are held against.
const AUXILIARY: &str = "Controls and calibration";

/// Two commits against each other, ready to show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Table {
    /// The pieces of the headline: class, glyph and words of each.
    pub(crate) headline: Vec<[String; 3]>,
    /// The words for worse and better that fit all rows.
    pub(crate) words: [String; 2],
    /// Where environments differ: the strong words and those after them.
    pub(crate) banners: Vec<[String; 2]>,
    /// Each suite and element type on each machine.
    pub(crate) summary: Vec<SummaryRow>,
    /// How far the scale of drawn changes reaches, such as `±10 %`; empty where none is drawn.
    pub(crate) scale: String,
    /// The rows by what is said, those of what kernels are held against last.
    pub(crate) groups: Vec<Group>,
}

/// A suite and element type on a machine: figures ready to show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SummaryRow {
    /// The suite, and the element type where its benchmarks have one.
    pub(crate) suite: String,
    /// What people call the machine.
    pub(crate) machine: String,
    /// How many series, how many of them worse, better, unchanged, without verdict.
    pub(crate) counts: [usize; 5],
    /// The geometric mean of the changes, positive is worse.
    pub(crate) mean: String,
    /// Its interval, in percent; empty where there is none.
    pub(crate) interval: String,
}

/// Rows of which the same is said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Group {
    pub(crate) heading: String,
    /// How many rows there are.
    #[serde(skip)]
    pub(crate) count: usize,
    /// The rows, or the first ones where not all were asked for.
    pub(crate) rows: Vec<ComparedRow>,
}

/// A judged series with what is said of it.
struct Judged<'a> {
    series: &'a SeriesData,
    outcome: Outcome<'a>,
    kind: Kind,
}

impl Group {
    /// Whether it is of what kernels are held against, of which anything may be said.
    pub(crate) fn is_auxiliary(&self) -> bool {
        self.heading == AUXILIARY
    }
}

/// The table of the commits of two numbers, with all its rows.
#[cfg(test)]
pub(super) fn table(data: &Data, a: usize, b: usize) -> Table {
    listed(data, a, b, |_, all| all)
}

/// The table of the commits of two numbers, with so many rows of a kind of which there are so many: to put a row into words
/// costs more than to judge it.
pub(crate) fn listed(data: &Data, a: usize, b: usize, most: impl Fn(Kind, usize) -> usize) -> Table {
    let [kernels, auxiliary] = judged(data, a, b);
    let words = words_of(&kernels);
    let (banners, headline) = (banners(data, &kernels), headline(&kernels, words));
    let summary = summary(&kernels);
    let headings = [
        (Kind::Worse, capital(words[0])),
        (Kind::Better, capital(words[1])),
        (Kind::Doubt, "Inconclusive".to_owned()),
        (Kind::Same, "No change".to_owned()),
        (Kind::Environment, "Not comparable".to_owned()),
        (Kind::Missing, "Missing".to_owned()),
    ];
    let drawn = kernels.iter().chain(&auxiliary).filter_map(|one| words::drawn(one.series, &one.outcome));
    let span = drawn::span(drawn);
    let mut groups: Vec<Group> = headings
        .into_iter()
        .map(|(kind, heading)| {
            let count = kernels.iter().filter(|one| one.kind == kind).count();
            Group { heading, count, rows: rows(data, &kernels, kind, most(kind, count)) }
        })
        .collect();
    let auxiliary: Vec<ComparedRow> = auxiliary.iter().map(|one| words::row(data, one.series, &one.outcome)).collect();
    groups.push(Group { heading: AUXILIARY.to_owned(), count: auxiliary.len(), rows: auxiliary });
    groups.retain(|group| group.count > 0);
    let scale = span.map_or_else(String::new, |span| draw(&mut groups, span));
    Table { headline, words: words.map(str::to_owned), banners, summary, scale, groups }
}

/// Gives the rows their places on the scale of all, and the scale in words.
fn draw(groups: &mut [Group], span: f64) -> String {
    for row in groups.iter_mut().flat_map(|group| &mut group.rows) {
        row.places = row.drawn.map(|drawn| drawn.places(span));
    }
    format!("±{:.0}{NARROW}%", span * 100.0)
}

/// Only what changed between the commits of two numbers: the headline, and the rows of what got worse and better.
pub(crate) fn changed(data: &Data, a: usize, b: usize) -> (Vec<[String; 3]>, Vec<ComparedRow>) {
    let [kernels, _] = judged(data, a, b);
    let worse_first = [Kind::Worse, Kind::Better].into_iter().flat_map(|kind| rows(data, &kernels, kind, usize::MAX));
    (headline(&kernels, words_of(&kernels)), worse_first.collect())
}

/// The kernels with what is said of each, and what they are held against.
fn judged(data: &Data, a: usize, b: usize) -> [Vec<Judged<'_>>; 2] {
    let judge = |series| {
        let outcome = rule::judge(series, Moment::new(data, a), Moment::new(data, b))?;
        Some(Judged { series, kind: words::kind(series, &outcome).0, outcome })
    };
    let (auxiliary, kernels) = data.series.iter().filter_map(judge).partition(|one| one.series.auxiliary);
    [kernels, auxiliary]
}

/// The words for worse and better that fit all of them.
fn words_of(kernels: &[Judged<'_>]) -> [&'static str; 2] {
    let is_speed = kernels.iter().all(|one| mark::worse_word(&one.series.metric) == "slower");
    if is_speed { ["slower", "faster"] } else { ["worse", "better"] }
}

/// The rows of which that is said, the largest change first, and at most so many.
fn rows(data: &Data, kernels: &[Judged<'_>], kind: Kind, most: usize) -> Vec<ComparedRow> {
    let mut of_kind: Vec<&Judged<'_>> = kernels.iter().filter(|one| one.kind == kind).collect();
    of_kind.sort_by(|one, other| size(other).total_cmp(&size(one)));
    of_kind.iter().take(most).map(|one| words::row(data, one.series, &one.outcome)).collect()
}

/// By what rows of a group are sorted; the largest first.
fn size(one: &Judged<'_>) -> f64 {
    if matches!(one.kind, Kind::Worse | Kind::Better) { one.outcome.relative.unwrap_or(f64::MAX).abs() } else { 0.0 }
}

pub(crate) fn capital(word: &str) -> String {
    word[..1].to_ascii_uppercase() + &word[1..]
}

fn headline(kernels: &[Judged<'_>], words: [&str; 2]) -> Vec<[String; 3]> {
    let [all, worse, better, same, none] = counts(kernels.iter());
    let piece = |class: &str, glyph: &str, words: String| [class.to_owned(), glyph.to_owned(), words];
    if all == 0 {
        return vec![piece("", "", "Nothing was measured at either commit".to_owned())];
    }
    let mut pieces = Vec::new();
    if worse > 0 {
        pieces.push(piece("worse", "▲", format!("{} {},", number::count(worse), words[0])));
    }
    if better > 0 {
        pieces.push(piece("better", "▼", format!("{} {},", number::count(better), words[1])));
    }
    if worse + better + same == 0 {
        return vec![piece("", "", format!("No verdict of {}", number::counted(none, "series", "series")))];
    }
    if worse + better == 0 {
        pieces.push(piece("", "", "No change found:".to_owned()));
    }
    pieces.push(piece("", "", format!("{} unchanged, {} without verdict", number::count(same), number::count(none))));
    pieces
}

/// How many series, how many of them worse, better, unchanged, without verdict.
fn counts<'a>(kernels: impl Iterator<Item = &'a Judged<'a>>) -> [usize; 5] {
    let mut counts = [0; 5];
    for one in kernels {
        let place = match one.kind {
            Kind::Worse => 1,
            Kind::Better => 2,
            Kind::Same => 3,
            Kind::Doubt | Kind::Environment | Kind::Missing => 4,
        };
        counts[0] += 1;
        counts[place] += 1;
    }
    counts
}

fn banners(data: &Data, kernels: &[Judged<'_>]) -> Vec<[String; 2]> {
    let mut by_machine: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for one in kernels.iter().filter(|one| one.outcome.verdict == Verdict::NotComparable) {
        *by_machine.entry((&one.series.machine_name, words::differences(data, &one.outcome))).or_default() += 1;
    }
    let banner = |((machine, facts), count): ((&str, String), usize)| {
        let get = if count == 1 { "gets" } else { "get" };
        [
            format!("Environments differ on {machine}:"),
            format!("{facts}. {} of it {get} no verdict.", number::counted(count, "series", "series")),
        ]
    };
    by_machine.into_iter().map(banner).collect()
}

fn summary(kernels: &[Judged<'_>]) -> Vec<SummaryRow> {
    let mut places: BTreeMap<[&str; 4], Vec<&Judged<'_>>> = BTreeMap::new();
    for one in kernels {
        let series = one.series;
        let place = [&*series.suite, &series.dtype, &series.machine_name, &series.machine];
        places.entry(place).or_default().push(one);
    }
    let row = |([suite, dtype, machine, _], of_place): ([&str; 4], Vec<&Judged<'_>>)| {
        let result = of_place.iter().map(|one| (one.series, &one.outcome, one.kind));
        let mean = mean::mean(result);
        SummaryRow {
            suite: if dtype.is_empty() { suite.to_owned() } else { format!("{suite}, {dtype}") },
            machine: machine.to_owned(),
            counts: counts(of_place.iter().copied()),
            mean: mean.map_or(number::NONE.to_owned(), |mean| number::percent(mean.value)),
            interval: mean.and_then(|mean| mean.interval).map_or(String::new(), number::percent_interval),
        }
    };
    places.into_iter().map(row).collect()
}

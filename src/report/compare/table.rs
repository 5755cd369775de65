//! All series between two commits: rows, counts, geometric means.

use std::collections::BTreeMap;

use serde::Serialize;

use super::data::{Data, SeriesData};
use super::rule::{self, Moment, Outcome, Verdict};
use super::words::{self, ComparedRow, Kind};
use crate::mark;
use crate::number::{self, NARROW};
use crate::text::capital;
use sprag_model::Better;

pub(super) const AUXILIARY: &str = "Controls and calibration";

/// The kinds in the order of their groups; the headings of the first two are the words for worse and better.
pub(super) const GROUPS: [(Kind, &str); 6] = [
    (Kind::Worse, ""),
    (Kind::Better, ""),
    (Kind::Doubt, "Inconclusive"),
    (Kind::Same, "No change"),
    (Kind::Environment, "Not comparable"),
    (Kind::Missing, "Missing"),
];

/// Sentences that this file and the script fill alike, a `{}` for each text.
pub(super) const NOTHING_MEASURED: &str = "Nothing was measured at either commit";
pub(super) const NO_VERDICT: &str = "No verdict of {} series";
pub(super) const NO_CHANGE: &str = "No change found:";
pub(super) const UNCHANGED: [&str; 2] = ["{} unchanged", "{} unchanged, {} without verdict"];
pub(super) const DETECTABLE: &str = "minimum detectable effect {}";
pub(super) const DIFFERENT: [&str; 2] = ["Environments differ on {}:", "{}. {} series of it {} no verdict."];

/// How far a scale of drawn changes may reach to either side.
const SPANS: [f64; 7] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];

/// The share of the rows that the scale fits, so that one extreme change does not flatten the others.
const USUAL: f64 = 0.9;

/// How far a difference of two points may lie from none, in deviations of one: the bound of 95 % of a normal distribution.
const REACH: f64 = 1.959_964 * std::f64::consts::SQRT_2;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Table {
    /// The pieces of the headline: class, glyph and words of each.
    pub(crate) headline: Vec<[String; 3]>,
    pub(crate) words: [String; 2],
    /// Where environments differ: the strong words and those after them.
    pub(crate) banners: Vec<[String; 2]>,
    pub(crate) summary: Vec<SummaryRow>,
    /// How far the scale of drawn changes reaches, such as `±10 %`; empty where none is drawn.
    pub(crate) scale: String,
    /// By kind; controls and calibration kernels are the last.
    pub(crate) groups: Vec<Group>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SummaryRow {
    /// The suite, and the element type where its benchmarks have one.
    pub(crate) suite: String,
    pub(crate) machine: String,
    /// How many series, how many of them worse, better, unchanged, without verdict.
    pub(crate) counts: [usize; 5],
    /// The geometric mean of the changes, positive is worse.
    pub(crate) mean: String,
    pub(crate) interval: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Group {
    pub(crate) heading: String,
    #[serde(skip)]
    pub(crate) count: usize,
    /// Of what did not change: how small a change would have shown.
    pub(crate) detectable: String,
    /// May be only the first ones.
    pub(crate) rows: Vec<ComparedRow>,
}

impl Group {
    /// Whether it has controls and calibration kernels, of any kind.
    pub(crate) fn is_auxiliary(&self) -> bool {
        self.heading == AUXILIARY
    }
}

struct Judged<'a> {
    series: &'a SeriesData,
    outcome: Outcome<'a>,
    kind: Kind,
}

impl Judged<'_> {
    /// By which rows of a group are sorted, the largest first.
    fn size(&self) -> f64 {
        match self.kind {
            Kind::Worse | Kind::Better => self.outcome.relative.unwrap_or(f64::MAX).abs(),
            _ => 0.0,
        }
    }
}

/// The table of two commits by their numbers; `most` gives the number of rows of a kind from how many there are.
pub(crate) fn listed(data: &Data, a: usize, b: usize, most: impl Fn(Kind, usize) -> usize) -> Table {
    let [kernels, auxiliary] = judged(data, a, b);
    let words = words_of(&kernels);
    let span = span(kernels.iter().chain(&auxiliary).map(|one| &one.outcome));
    let mut groups: Vec<Group> = GROUPS
        .into_iter()
        .map(|(kind, heading)| {
            let heading = match kind {
                Kind::Worse => capital(words[0]),
                Kind::Better => capital(words[1]),
                _ => heading.to_owned(),
            };
            let of_kind = || kernels.iter().filter(|one| one.kind == kind);
            let count = of_kind().count();
            let detectable = match kind {
                Kind::Same => detectable(of_kind().map(|one| one.series.shows)),
                _ => String::new(),
            };
            Group { heading, count, detectable, rows: rows(data, &kernels, kind, most(kind, count), span) }
        })
        .collect();
    let row = |one: &Judged<'_>| words::row(data, one.series, &one.outcome, span);
    groups.push(Group {
        heading: AUXILIARY.to_owned(),
        count: auxiliary.len(),
        detectable: String::new(),
        rows: auxiliary.iter().map(row).collect(),
    });
    groups.retain(|group| group.count > 0);
    Table {
        headline: headline(&kernels, words),
        words: words.map(str::to_owned),
        banners: banners(data, &kernels),
        summary: summary(&kernels),
        scale: span.map_or(String::new(), |span| format!("±{:.0}{NARROW}%", span * 100.0)),
        groups,
    }
}

/// From the smallest to the largest; nothing where one of a series is unknown.
fn detectable(shows: impl Iterator<Item = Option<f64>>) -> String {
    let Some(mut all) = shows.collect::<Option<Vec<f64>>>().filter(|all| !all.is_empty()) else {
        return String::new();
    };
    all.sort_by(f64::total_cmp);
    let [least, most] = [all[0], all[all.len() - 1]].map(number::percent_size);
    filled(DETECTABLE, &[&if least == most { least } else { format!("{least} to {most}") }])
}

/// The geometric means and their intervals in the order of the summary.
pub(super) fn averages(data: &Data, (a, b): (usize, usize)) -> Vec<[String; 2]> {
    summary(&judged(data, a, b)[0]).into_iter().map(|row| [row.mean, row.interval]).collect()
}

/// The headline, and the rows of what got worse and better.
pub(crate) fn changed(data: &Data, a: usize, b: usize) -> (Vec<[String; 3]>, Vec<ComparedRow>) {
    let [kernels, _] = judged(data, a, b);
    let of_kind = |kind| rows(data, &kernels, kind, usize::MAX, None);
    (headline(&kernels, words_of(&kernels)), [of_kind(Kind::Worse), of_kind(Kind::Better)].concat())
}

/// The kernels; and the controls and calibration kernels.
fn judged(data: &Data, a: usize, b: usize) -> [Vec<Judged<'_>>; 2] {
    let judge = |series| {
        let outcome = rule::judge(series, Moment::new(data, a), Moment::new(data, b))?;
        Some(Judged { series, kind: words::kind(series, &outcome), outcome })
    };
    let (auxiliary, kernels) = data.series.iter().filter_map(judge).partition(|one| one.series.auxiliary);
    [kernels, auxiliary]
}

fn words_of(kernels: &[Judged<'_>]) -> [&'static str; 2] {
    mark::words(kernels.iter().map(|one| &one.series.metric))
}

fn rows(data: &Data, kernels: &[Judged<'_>], kind: Kind, most: usize, span: Option<f64>) -> Vec<ComparedRow> {
    let mut of_kind: Vec<&Judged<'_>> = kernels.iter().filter(|one| one.kind == kind).collect();
    of_kind.sort_by(|one, other| other.size().total_cmp(&one.size()));
    of_kind.iter().take(most).map(|one| words::row(data, one.series, &one.outcome, span)).collect()
}

fn span<'a>(outcomes: impl Iterator<Item = &'a Outcome<'a>>) -> Option<f64> {
    let size = |outcome| {
        let (change, interval) = words::shown_change(outcome);
        let (low, high) = interval.unwrap_or_default();
        Some(change?.abs().max(low.abs()).max(high.abs()))
    };
    let mut sizes: Vec<f64> = outcomes.filter_map(size).collect();
    sizes.sort_by(f64::total_cmp);
    let usual = *sizes.get((USUAL * sizes.len().checked_sub(1)? as f64) as usize)?;
    Some(SPANS.into_iter().find(|span| *span >= usual).unwrap_or(1.0))
}

fn headline(kernels: &[Judged<'_>], words: [&str; 2]) -> Vec<[String; 3]> {
    let [all, worse, better, same, none] = counts(kernels.iter());
    let piece = |class: &str, glyph: &str, words: String| [class.to_owned(), glyph.to_owned(), words];
    if all == 0 {
        return vec![piece("", "", NOTHING_MEASURED.to_owned())];
    }
    let mut pieces = Vec::new();
    if worse > 0 {
        pieces.push(piece("worse", "▲", format!("{} {},", number::count(worse), words[0])));
    }
    if better > 0 {
        pieces.push(piece("better", "▼", format!("{} {},", number::count(better), words[1])));
    }
    if worse + better + same == 0 {
        return vec![piece("", "", filled(NO_VERDICT, &[&number::count(none)]))];
    }
    if worse + better == 0 {
        pieces.push(piece("", "", NO_CHANGE.to_owned()));
    }
    pieces.push(piece("", "", filled(UNCHANGED[none.min(1)], &[&number::count(same), &number::count(none)])));
    pieces
}

fn filled(sentence: &str, texts: &[&str]) -> String {
    let texts = texts.iter().copied().take(sentence.matches("{}").count()).chain([""]);
    sentence.split("{}").zip(texts).flat_map(|(words, text)| [words, text]).collect()
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
        [filled(DIFFERENT[0], &[machine]), filled(DIFFERENT[1], &[&facts, &number::count(count), get])]
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
        let changes: Vec<Change> = of_place.iter().filter_map(|one| change(one)).collect();
        let mean = mean(&changes);
        SummaryRow {
            suite: if dtype.is_empty() { suite.to_owned() } else { format!("{suite}, {dtype}") },
            machine: machine.to_owned(),
            counts: counts(of_place.iter().copied()),
            mean: mean.map_or(number::NONE.to_owned(), |(mean, _)| number::percent(mean)),
            interval: mean.and_then(|(_, interval)| interval).map_or(String::new(), number::percent_interval),
        }
    };
    places.into_iter().map(row).collect()
}

/// A change on the scale of logarithms, positive is worse.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    log: f64,
    /// How far the interval reaches down and up from there.
    reach: Option<(f64, f64)>,
}

/// The geometric mean of changes less 1, positive is worse, and its 95 % interval; that is absent where one of a change is, and
/// where it has no width. It is from the mean of the lower ends to that of the upper ends, because the errors of one run are not
/// independent.
fn mean(changes: &[Change]) -> Option<(f64, Option<(f64, f64)>)> {
    let count = changes.len() as f64;
    let log = changes.iter().map(|one| one.log).sum::<f64>() / count;
    let reach: Option<Vec<(f64, f64)>> = changes.iter().map(|one| one.reach).collect();
    let interval = reach.and_then(|reach| {
        let joined = |side: fn(&(f64, f64)) -> f64| reach.iter().map(side).sum::<f64>() / count;
        let (down, up) = (joined(|one| one.0), joined(|one| one.1));
        (down + up > 0.0).then(|| ((log - down).exp_m1(), (log + up).exp_m1()))
    });
    (!changes.is_empty()).then(|| (log.exp_m1(), interval))
}

/// What a series adds to the mean: nothing where it is not judged or has no verdict.
fn change(one: &Judged<'_>) -> Option<Change> {
    let Judged { series, outcome, kind } = one;
    let (log, reach) = match kind {
        _ if !series.judged => return None,
        Kind::Worse | Kind::Better => {
            let log = (1.0 + outcome.relative?).ln();
            (log, outcome.interval.map(|(low, high)| (log - (1.0 + low).ln(), (1.0 + high).ln() - log)))
        }
        Kind::Same => (0.0, unchanged(series.deviation, [outcome.a?.value, outcome.b?.value])),
        Kind::Doubt | Kind::Environment | Kind::Missing => return None,
    };
    let reach = reach.filter(|(down, up)| down.is_finite() && up.is_finite());
    log.is_finite().then(|| match series.metric.better {
        Better::Lower => Change { log, reach },
        Better::Higher => Change { log: -log, reach: reach.map(turned) },
    })
}

fn turned((down, up): (f64, f64)) -> (f64, f64) {
    (up, down)
}

/// How far an unchanged series may have moved down and up: between none and what was measured at the two commits, within their noise.
fn unchanged(deviation: Option<f64>, [a, b]: [f64; 2]) -> Option<(f64, f64)> {
    let noise = REACH * deviation?;
    let moved = if a == b { 0.0 } else { (b / a).ln() };
    (!moved.is_nan()).then(|| ((noise - moved).max(0.0), (noise + moved).max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::data::PointData;

    #[test]
    fn one_wild_change_does_not_flatten_the_others() {
        let outcome = |change: f64| {
            let interval = Some((change - 0.01, change + 0.01));
            Outcome { relative: Some(change), interval, ..Outcome::bare(Verdict::Open(0)) }
        };
        let mut all: Vec<Outcome<'_>> = (0..20).map(|i| outcome(0.002 * f64::from(i))).collect();
        assert_eq!(span(all.iter()), Some(0.05));
        all.push(outcome(7.0));
        let spans = [&all[..], &all[20..], &all[..0]].map(|some| span(some.iter()));
        assert_eq!(spans, [Some(0.05), Some(1.0), None]);
    }

    /// What is called unchanged though the second value is so many times the first.
    fn same(deviation: Option<f64>, ratio: f64) -> Change {
        Change { log: 0.0, reach: unchanged(deviation, [2.0, 2.0 * ratio]) }
    }

    #[test]
    fn a_mean_has_the_interval_of_changes_that_err_together() {
        let changed = |change: f64, low: f64, high: f64| {
            let [log, low, high] = [change, low, high].map(f64::ln_1p);
            Change { log, reach: Some((log - low, high - log)) }
        };
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        let noise = (REACH * 0.01).exp();
        // Of two, one that did not move reaches by its noise, and the mean by half of both.
        let half = ((1.1f64.ln() + noise.ln()) / 2.0).exp();
        for (changes, expected) in [
            (&[changed(0.1, 0.08, 0.13)][..], (0.1, 0.08, 0.13)),
            (&[changed(0.21, 0.1, 0.331); 4], (0.21, 0.1, 0.331)),
            (&[changed(0.21, 0.1, 0.331), same(Some(0.01), 1.0)], (0.1, 1.1 / half - 1.0, 1.1 * half - 1.0)),
            // All got a third slower at the newest commit, of which one point says little: each is called unchanged.
            (&[same(Some(0.01), 1.3); 5], (0.0, 0.0, 1.3 * noise - 1.0)),
        ] {
            let (value, interval) = mean(changes).expect("there is a change");
            let (low, high) = interval.expect("each has an interval");
            assert!(near(value, expected.0) && near(low, expected.1) && near(high, expected.2), "{changes:?}");
        }
        // Without the interval of one change there is none of the mean.
        for changes in [
            &[same(None, 1.0), same(Some(0.1), 1.0)][..],
            &[same(Some(0.0), 1.0)],
            &[same(Some(0.1), -1.0)],
            &[same(Some(0.1), -1.0), same(Some(0.1), 1.0)],
        ] {
            assert_eq!(mean(changes), Some((0.0, None)), "{changes:?}");
        }
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn a_change_is_positive_where_it_is_worse() {
        let mut series = rule::example();
        (series.metric.better, series.deviation) = (Better::Higher, Some(0.0));
        let points = [series.points[0].clone(), PointData { value: 0.75, ..series.points[1].clone() }];
        let mean_of = |outcome: Outcome<'_>, kind: Kind| {
            let one = Judged { series: &series, outcome, kind };
            let (value, interval) = mean(&[change(&one).expect("it has a verdict")]).expect("there is a change");
            let (low, high) = interval.expect("it has one");
            [value, low, high].map(|one| (one * 1e4).round() / 1e4)
        };
        // Half the rate is twice the time; three quarters are a third more, though that is called unchanged.
        let half = Outcome { relative: Some(-0.5), interval: Some((-0.6, -0.2)), ..Outcome::bare(Verdict::Open(0)) };
        assert_eq!(mean_of(half, Kind::Worse), [1.0, 0.25, 1.5]);
        let same = Outcome { a: Some(&points[0]), b: Some(&points[1]), ..Outcome::bare(Verdict::Short) };
        assert_eq!(mean_of(same, Kind::Same), [0.0, 0.0, 0.3333]);
    }
}

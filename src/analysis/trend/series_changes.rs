//! One series: its points on the axis, and what changed in them.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut, Range, RangeInclusive};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::axis::{Axis, Pooled};
use super::common::CommonNoise;
use super::steady;
use crate::changes::context::Context;
use crate::changes::detect::changes_in_context;
use crate::changes::detectable::detectable;
use crate::changes::exact;
use crate::changes::newest::{self, Apart};
use crate::changes::sensitivity::Sensitivity;
use crate::changes::unstable;
use sprag_base::digest::sha256_hex;
use sprag_model::metric::{ABOVE_FLOOR, INSTRUCTIONS, LIMIT_SHARE, RATIO, TIME};
use sprag_model::sample::CALIBRATION;
use sprag_model::{Better, Changes, Metric, PooledPoint, Role, Series, Unit};

/// The most by which the self-test raises the limits of a series.
pub(super) const MOST_RAISE: f64 = 2.0;

/// From how many points with several equal values on a series is treated as exact, if none has values that differ.
const SHOWN_EXACT: usize = 5;

/// How much evidence a change of a metric needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    pub name: String,
    pub least: f64,
    pub sensitivity: Sensitivity,
}

impl Setting {
    /// With limits that are so many times as high.
    pub(super) fn raised(&self, factor: f64) -> Setting {
        Setting { sensitivity: self.sensitivity.raised(factor), ..self.clone() }
    }
}

/// A change or a drift that was reported before: of a series, between two commits of its axis.
#[derive(Hash, PartialEq)]
pub(super) struct ReportedRange {
    pub(super) is_drift: bool,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// What is found in a series for itself, with as much of its points as its part in events takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Detection {
    /// The id of the series.
    pub id: String,
    /// How many points it has.
    pub count: usize,
    /// All of them until it is [`Detection::thinned`], then these only where something was found, else the first and the last.
    pub(super) points: Vec<DetectionPoint>,
    /// The value of each as it is analysed: without the noise that its run has in common, where that was taken out.
    pub(super) values: Vec<f64>,
    /// The value of the newest point.
    pub(super) newest: f64,
    /// How many of the points are of another commit or environment than all before.
    pub(super) environments: usize,
    borders: Vec<Border>,
    /// The deviation of the noise before what is common was taken out.
    pub(super) raw_noise: Option<f64>,
    pub(super) dirty: usize,
    pub(super) elsewhere: usize,
    pub(super) is_exact: bool,
    pub changes: Changes,
    pub(super) apart: Option<Apart>,
    /// By what factor its limits are higher, as noise like its own looks like changes.
    pub(super) raised: f64,
    /// To how many points the changes are fitted: the reported figures may leave out the newest few.
    fitted: usize,
    pub(super) tested: Tested,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct DetectionPoint {
    /// The place of its commit on the axis.
    pub(super) place: usize,
    pub(super) time: DateTime<Utc>,
}

/// What the residues of a series show in several orders: how many points they are, and the alarms in each order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tested {
    pub(super) points: usize,
    pub(super) alarms: Vec<usize>,
}

/// The values of a series as they are analysed.
#[derive(Clone)]
pub(super) struct AnalysedValues {
    values: Vec<f64>,
    /// The deviation of the noise before what is common was taken out, where it was.
    raw_noise: Option<f64>,
    is_exact: bool,
    /// What is detected in them at [`Sensitivity::BALANCED`] without a context, if that is known.
    detected: Option<Changes>,
}

impl AnalysedValues {
    pub(super) fn new(series: &Series, pooled: &Pooled, common: &CommonNoise) -> AnalysedValues {
        let raw: Vec<f64> = pooled.points.iter().map(|point| point.value).collect();
        let is_exact = is_exact(&series.metric, &pooled.points, &raw);
        let quieter = if is_exact { None } else { common.taken_out(series, pooled) };
        let detected = if is_exact || quieter.is_some() { None } else { common.detected(series).cloned() };
        let (values, raw_noise) = quieter.map_or((raw, None), |(values, noise)| (values, Some(noise)));
        AnalysedValues { values, raw_noise, is_exact, detected }
    }
}

impl Hash for AnalysedValues {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.raw_noise.map(f64::to_bits), self.is_exact, self.values.len()).hash(state);
        self.values.iter().for_each(|value| value.to_bits().hash(state));
    }
}

/// A point that is the first of a new environment.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Border {
    index: usize,
    before: String,
    after: String,
}

impl Detection {
    /// What is found, after the SHA-256 of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let detection = rmp_serde::to_vec(self).expect("plain values can be written");
        [sha256_hex(&detection).as_bytes(), &detection].concat()
    }

    /// Reads what [`Detection::to_bytes`] wrote; absent for other bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Detection> {
        let (digest, detection) = bytes.split_at_checked(64)?;
        if sha256_hex(detection).as_bytes() == digest { rmp_serde::from_slice(detection).ok() } else { None }
    }

    /// Whether it can be of a series of so many points along so many commits. The digest shows damage, but anyone can write one, and
    /// what joins detections relies on each index and on finite numbers.
    pub(super) fn is_possible(&self, count: usize, commits: usize) -> bool {
        let Changes { points: changes, drifts, modes, levels, noise } = &self.changes;
        let sizes = if self.is_quiet() { [count, 2 * count.min(1), 0] } else { [count; 3] };
        let ends = changes.iter().flat_map(|one| [one.index, one.first, one.last]);
        let newest = modes.iter().map(|one| one.newest);
        let mut inner = ends.chain(self.borders.iter().map(|one| one.index)).chain(newest);
        let of_modes = modes.iter().map(|one| (one.begin, one.end));
        let mut spans = drifts.iter().map(|one| (one.begin, one.end)).chain(of_modes);
        let chances = changes.iter().map(|one| one.chance).chain(drifts.iter().map(|one| one.chance));
        let mut chances = chances.chain(modes.iter().flat_map(|one| [one.chance, one.share.unwrap_or_default()]));
        let of_changes = changes.iter().flat_map(|one| [&one.before, &one.after]);
        let of_levels = levels.iter().chain(of_changes).flat_map(|one| [one.value, one.lower, one.upper]);
        let of_drifts = drifts.iter().flat_map(|one| [one.before, one.after]);
        let of_modes = modes.iter().flat_map(|one| [one.low, one.high]);
        let of_noise = noise.iter().flat_map(|one| [one.deviation, one.inflation]);
        let numbers = of_levels.chain(of_drifts).chain(of_modes).chain(of_noise);
        [self.count, self.points.len(), self.values.len()] == sizes
            && self.points.is_sorted_by_key(|point| point.place)
            && self.points.iter().all(|point| point.place < commits)
            && inner.all(|index| (1..count).contains(&index))
            && changes.is_sorted_by(|one, next| one.index < next.index)
            && changes.iter().all(|one| one.first <= one.last)
            && spans.all(|(begin, end)| begin < end && end <= count)
            && self.apart.is_none_or(|one| one.begin < count)
            && (changes.last().map_or(0, |one| one.index)..=count).contains(&self.fitted)
            && (levels.is_empty() || levels.len() == changes.len() + 1)
            && self.tested.alarms.iter().chain([&self.tested.points]).all(|tested| *tested <= 2 * count)
            && chances.all(|chance| (0.0..=1.0).contains(&chance))
            && (1.0..=MOST_RAISE).contains(&self.raised)
            && numbers.chain(self.values.iter().copied()).chain([self.newest]).all(f64::is_finite)
    }

    /// Whether nothing was found, so that no event depends on its points.
    fn is_quiet(&self) -> bool {
        let Changes { points, drifts, modes, .. } = &self.changes;
        points.is_empty() && drifts.is_empty() && modes.is_empty() && self.apart.is_none()
    }

    /// Without what [`Detection::with_points`] puts back.
    pub(super) fn without_points(self) -> Detection {
        Detection { points: Vec::new(), values: Vec::new(), ..self }
    }

    pub(super) fn with_points(self, pooled: &Pooled, values: AnalysedValues) -> Detection {
        let points =
            pooled.points.iter().map(|point| DetectionPoint { place: point.place, time: point.time }).collect();
        let newest = pooled.points.last().map_or(0.0, |point| point.value);
        Detection { points, values: values.values, newest, ..self }
    }

    /// Without what no event can depend on.
    pub(super) fn thinned(mut self) -> Detection {
        if self.is_quiet() {
            self.points = self.points.first().into_iter().chain(self.points.last()).copied().collect();
            self.values = Vec::new();
        }
        self
    }

    /// A point next to a change, or the first or the last one.
    pub(super) fn point(&self, index: usize) -> &DetectionPoint {
        &self.points[if index + 1 == self.count { self.points.len() - 1 } else { index }]
    }

    /// Whether a point is the first of a new environment.
    pub(super) fn is_border(&self, index: usize) -> bool {
        self.borders.iter().any(|border| border.index == index)
    }

    /// The keys of the environments before and after such a point.
    pub(super) fn border(&self, index: usize) -> Option<(String, String)> {
        let border = self.borders.iter().find(|border| border.index == index)?;
        Some((border.before.clone(), border.after.clone()))
    }

    /// How many points there are since the environment last changed, if it did.
    pub(super) fn since_border(&self) -> Option<usize> {
        self.borders.last().map(|border| self.count - border.index)
    }
}

/// What is found in a series, and what is known of it.
pub(super) struct SeriesChanges<'a> {
    pub(super) series: &'a Series,
    pub(super) axis: Arc<Axis>,
    pub(super) is_judged: bool,
    pub(super) setting: Setting,
    pub(super) detection: Detection,
}

impl Deref for SeriesChanges<'_> {
    type Target = Detection;

    fn deref(&self) -> &Detection {
        &self.detection
    }
}

impl DerefMut for SeriesChanges<'_> {
    fn deref_mut(&mut self) -> &mut Detection {
        &mut self.detection
    }
}

/// What the changes of a series follow from besides its values and its setting.
pub(super) struct Observed<'p> {
    pub(super) reported: &'p [ReportedRange],
    pub(super) pooled: &'p Pooled,
    pub(super) joins_unstable: bool,
}

impl<'a> SeriesChanges<'a> {
    pub(super) fn new(
        series: &'a Series,
        axis: Arc<Axis>,
        is_judged: bool,
        setting: Setting,
        &Observed { reported, pooled: Pooled { points, dirty, elsewhere }, joins_unstable }: &Observed<'_>,
        AnalysedValues { values, raw_noise, is_exact, detected }: AnalysedValues,
    ) -> SeriesChanges<'a> {
        let more_is_better = series.metric.better == Better::Higher;
        let ranges = |is_drift: bool| -> Vec<RangeInclusive<usize>> {
            reported.iter().filter(|one| one.is_drift == is_drift).filter_map(|range| indices(points, range)).collect()
        };
        let (reported, drifts) = (ranges(false), ranges(true));
        let borders: Vec<usize> = (1..points.len()).filter(|index| is_border(points, *index)).collect();
        let runs: Vec<usize> = points.iter().map(|point| point.runs).collect();
        let sensitivity = &setting.sensitivity;
        let detect = |values: &[f64], context: &Context<'_>| match is_exact {
            true if context.joins_unstable => exact::joined_changes(values, sensitivity),
            true => exact::changes(values, sensitivity),
            false => changes_in_context(values, sensitivity, context),
        };
        let context = Context {
            reported: &reported,
            reported_drifts: &drifts,
            borders: &borders,
            runs: &runs,
            more_is_better,
            joins_unstable,
        };
        let detected = detected.filter(|_| *sensitivity == Sensitivity::BALANCED && context.is_blank());
        let mut changes = detected.unwrap_or_else(|| detect(&values, &context));
        let blank = Context { more_is_better, ..Context::default() };
        let apart = newest::apart(&values, &changes, sensitivity, |values| detect(values, &blank));
        let mut fitted = values.len();
        for until in steady::until(&changes, values.len()).filter(|_| !is_exact) {
            let before = |ranges: &[RangeInclusive<usize>]| -> Vec<RangeInclusive<usize>> {
                ranges.iter().filter(|range| *range.end() < until).cloned().collect()
            };
            let (reported, drifts) = (before(&reported), before(&drifts));
            let borders = &borders[..borders.partition_point(|border| *border < until)];
            let context =
                Context { reported: &reported, reported_drifts: &drifts, borders, runs: &runs[..until], ..context };
            let steady = detect(&values[..until], &context);
            if steady::are_alike(&steady, until, &changes) {
                (changes, fitted) = (steady, until);
                break;
            }
        }
        let key = |index: usize| points[index].environment_key.to_string();
        let border = |index| Border { index, before: key(index - 1), after: key(index) };
        // Runs of the newest commit, however many, do not show the level before it.
        let environments: BTreeSet<(usize, &str)> =
            points.iter().map(|point| (point.place, &*point.environment_key)).collect();
        let detection = Detection {
            id: series.id.clone(),
            count: points.len(),
            points: points.iter().map(|point| DetectionPoint { place: point.place, time: point.time }).collect(),
            values,
            newest: points.last().map_or(0.0, |point| point.value),
            environments: environments.len(),
            borders: borders.into_iter().map(border).collect(),
            raw_noise,
            dirty: *dirty,
            elsewhere: *elsewhere,
            is_exact,
            changes,
            apart,
            raised: 1.0,
            fitted,
            tested: Tested::default(),
        };
        SeriesChanges { series, axis, is_judged, setting, detection }
    }

    /// The same points with limits that are so many times as high.
    pub(super) fn raised(self, factor: f64, observed: &Observed<'_>) -> SeriesChanges<'a> {
        if factor <= 1.0 {
            return self;
        }
        let setting = self.setting.raised(factor);
        let new = SeriesChanges { setting, ..self }.repeated(observed);
        SeriesChanges { detection: Detection { raised: factor, ..new.detection }, ..new }
    }

    /// With one finding for changes that go up and down again and again, which no self-test takes for noise.
    pub(super) fn joined(self, observed: &Observed<'_>) -> SeriesChanges<'a> {
        let Changes { points, drifts, modes, .. } = &self.changes;
        if points.len() + drifts.len() + modes.len() < unstable::FEWEST {
            return self;
        }
        let (raised, tested) = (self.raised, self.tested.clone());
        let new = self.repeated(&Observed { joins_unstable: true, ..*observed });
        SeriesChanges { detection: Detection { raised, tested, ..new.detection }, ..new }
    }

    fn repeated(self, observed: &Observed<'_>) -> SeriesChanges<'a> {
        let Detection { values, raw_noise, is_exact, .. } = self.detection;
        let values = AnalysedValues { values, raw_noise, is_exact, detected: None };
        SeriesChanges::new(self.series, self.axis, self.is_judged, self.setting, observed, values)
    }

    /// The smallest relative change that can be found, judged by the newest level.
    pub(super) fn detectable(&self) -> Option<f64> {
        if self.is_exact {
            return Some(self.setting.least);
        }
        let noise = self.changes.noise.as_ref()?;
        let newest = self.changes.points.last().map_or(0, |point| point.index);
        let step = detectable(noise, self.fitted - newest, &self.setting.sensitivity);
        if noise.is_relative {
            return Some(step);
        }
        let level = self.newest.abs();
        (level > 0.0).then(|| (step / level).max(self.setting.least))
    }

    /// The points that are the first after a change at that place: one for each environment of the next commit.
    pub(super) fn indices_at(&self, place: usize) -> Range<usize> {
        let first = self.points.partition_point(|point| point.place < place);
        let after = self.points.partition_point(|point| point.place <= place);
        first..after.max(first + 1).min(self.points.len())
    }

    /// A change turned such that positive is worse.
    pub(super) fn worse(&self, relative: f64) -> Option<f64> {
        worse(self.series, relative)
    }
}

/// A relative change turned such that positive is worse: itself, or the inverse ratio less 1 where larger values are better. There
/// is none where nothing of these is left, or less than nothing.
pub(super) fn worse(series: &Series, relative: f64) -> Option<f64> {
    let turned = match series.metric.better {
        Better::Lower => relative,
        Better::Higher => 1.0 / (1.0 + relative).max(0.0) - 1.0,
    };
    turned.is_finite().then_some(turned)
}

/// Whether a series has a say in events. The judged metric of a benchmark has one. So has what is measured next to it
/// and not computed from the same time: bytes, instructions, what a program counts. Of controls and calibration
/// kernels, only what shows whether the machine moved has one.
pub(super) fn is_considered(series: &Series, is_judged: bool) -> bool {
    let name = series.metric.name.as_str();
    match series.role {
        _ if is_judged => true,
        Role::Control => name == RATIO,
        _ if series.variant == CALIBRATION => name == TIME,
        Role::Reported => false,
        Role::Tracked => {
            !matches!(name, TIME | RATIO | LIMIT_SHARE | ABOVE_FLOOR) && series.metric.unit != Unit::PerSecond
        }
    }
}

/// Whether the values of a series are without noise: several points have several values, and none has values that differ. One
/// value a commit shows nothing, but instructions are counted, and so is what only ever goes from one level to the next.
fn is_exact(metric: &Metric, points: &[PooledPoint], values: &[f64]) -> bool {
    let several = points.iter().filter(|point| point.processes > 1).count();
    let alike = points.iter().filter(|point| point.alike).count();
    let is_shown = several >= SHOWN_EXACT || metric.name == INSTRUCTIONS || counts(metric, values);
    alike == several && exact::is_steady(values) && is_shown
}

/// Whether a metric is a count or a size whose every value but the newest stays for two points or more. What wanders, as
/// memory does that is handed out in pages, has values that come alone.
fn counts(metric: &Metric, values: &[f64]) -> bool {
    let is_integer = values.iter().all(|value| value.fract() == 0.0);
    let mut runs = values.chunk_by(|one, next| one == next).map(<[f64]>::len);
    runs.next_back();
    matches!(metric.unit, Unit::Byte | Unit::One) && is_integer && runs.all(|points| points > 1)
}

/// Whether the environment changed for good between a point and the one before: a point of another environment alone, as of
/// an old commit that is measured later, is not a border. The newest point may be the first of a new environment.
fn is_border(points: &[PooledPoint], index: usize) -> bool {
    let key = |index: usize| points.get(index).map(|point| &point.environment_key);
    let before = index.checked_sub(1).and_then(key);
    let stays = key(index + 1).is_none_or(|next| Some(next) == key(index));
    let was_there = index.checked_sub(2).and_then(key).is_none_or(|earlier| Some(earlier) == before);
    before.is_some() && key(index) != before && stays && was_there
}

/// The points that may be the first after a change between two commits, or those in the ramp of a drift.
fn indices(points: &[PooledPoint], range: &ReportedRange) -> Option<RangeInclusive<usize>> {
    let first = points.partition_point(|point| point.place < range.first);
    if range.is_drift {
        let end = points.partition_point(|point| point.place <= range.last);
        return (first < end).then(|| first..=end - 1);
    }
    let first = first.max(1);
    let last = points.partition_point(|point| point.place < range.last);
    (first <= last && last < points.len()).then_some(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::axis::axes;
    use crate::trend::example::{MACHINE, alone, line, noisy, series};

    fn analysed<'a>(series: &'a Series, reported: &[ReportedRange]) -> SeriesChanges<'a> {
        let axes = axes(std::slice::from_ref(series), &line(200), &[]);
        alone(series, Arc::clone(&axes[MACHINE]), reported)
    }

    #[test]
    fn a_reported_change_stays_while_the_data_support_it() {
        let retained = |step: f64, reported: &[ReportedRange]| {
            let series = noisy("a", 60, 2, &[(0, 1.0), (40, 1.0 + step)], 3);
            analysed(&series, reported).changes.points.iter().map(|point| point.index).collect::<Vec<_>>()
        };
        let reported = [ReportedRange { is_drift: false, first: 37, last: 42 }];
        assert_eq!(retained(0.1, &[]), [20]);
        assert_eq!(retained(0.1, &reported), [20]);
        assert_eq!(retained(0.0, &reported), Vec::<usize>::new());
        // Between the two there is a change that is no longer found as a new one, and is retained.
        let between = (1..40).map(|step| f64::from(step) / 1000.0).filter(|step| retained(*step, &[]).is_empty());
        assert!(between.filter(|step| retained(*step, &reported).len() == 1).count() > 2);
    }

    #[test]
    fn equal_values_of_a_commit_show_that_there_is_no_noise() {
        let mut counts = series("a", &[]);
        counts.metric = Metric::peak_memory();
        for place in 0..12 {
            let value = if place < 7 { 640.0 } else { 648.0 };
            let mut point = crate::trend::example::point(place, value);
            point.workers = [value; 3].into();
            counts.points.push(point);
        }
        let seen = analysed(&counts, &[]);
        assert!(seen.is_exact && seen.changes.points.len() == 1 && seen.changes.points[0].chance == 0.0);
        assert_eq!(seen.detectable(), Some(0.004));
        counts.points[3].workers = [640.0, 641.0].into();
        assert!(!analysed(&counts, &[]).is_exact);
    }

    #[test]
    fn what_goes_from_level_to_level_is_exact_with_one_value_a_commit_too() {
        let of = |metric: Metric, value: &dyn Fn(usize) -> f64| {
            let values: Vec<(usize, f64)> = (0..60).map(|place| (place, value(place))).collect();
            let counts = Series { metric, ..series("a", &values) };
            let seen = analysed(&counts, &[]);
            let places: Vec<usize> = seen.changes.points.iter().map(|point| point.index).collect();
            (seen.is_exact, places, seen.changes.drifts.len())
        };
        let levels = [(0, 100e3), (30, 105e3), (35, 108e3), (40, 104e3), (46, 110e3), (52, 112e3), (59, 114e3)];
        let steps = |place: usize| levels.iter().rev().find(|one| one.0 <= place).map_or(0.0, |one| one.1);
        let cycles = || Metric { name: "cycles".to_owned(), ..Metric::ratio() };
        for metric in [cycles(), Metric { name: "size".to_owned(), ..Metric::peak_memory() }, Metric::instructions()] {
            assert_eq!(of(metric, &steps), (true, vec![30, 35, 40, 46, 52], 0));
        }
        // Levels of times are noise that ticks, and shares are none of counts.
        assert!(!of(Metric::time(), &steps).0 && !of(Metric::ratio(), &|place| steps(place) / 3e5).0);
        // Memory that wanders by a page now and then, or with each commit, and what grows with each.
        let page = |is_more: bool| 640.0 * 4096.0 + if is_more { 8192.0 } else { 0.0 };
        let wanders = |place: usize| page(place > 30) + page(matches!(place, 7 | 22 | 41));
        assert!(!of(Metric::peak_memory(), &wanders).0);
        assert!(!of(Metric::peak_memory(), &|place| page(place * 7 % 3 == 0)).0);
        assert!(!of(Metric::peak_memory(), &|place| 1e6 + 500.0 * place as f64).0);
    }

    #[test]
    fn what_is_worse_below_zero_is_so_too() {
        let of = |levels: [f64; 2], better: Better| {
            let mut scores = noisy("a", 60, 1, &[(0, levels[0]), (30, levels[1])], 3);
            scores.metric.better = better;
            let seen = analysed(&scores, &[]);
            seen.worse(seen.changes.points[0].relative())
        };
        let check = |levels: [f64; 2], better: Better, expected: f64| {
            let worse = of(levels, better).expect("a size");
            assert!((worse - expected).abs() < 0.02, "{levels:?}, {better:?}: {worse}");
        };
        check([-1.0, -2.0], Better::Lower, -1.0);
        check([-2.0, -1.0], Better::Lower, 0.5);
        check([-2.0, -1.0], Better::Higher, -1.0 / 3.0);
        check([-2.0, -3.0], Better::Higher, 1.0);
        check([1.0, 2.0], Better::Lower, 1.0);
        // Of what more than all was lost there is no share.
        assert_eq!(of([-1.0, -3.0], Better::Higher), None);
    }

    #[test]
    fn a_metric_has_a_say_once() {
        let of = |metric: &str, unit: Unit, role: Role, variant: &str, judged: bool| {
            let mut one = series("a", &[]);
            one.metric = Metric { name: metric.to_owned(), unit, ..Metric::ratio() };
            (one.role, one.variant) = (role, variant.to_owned());
            is_considered(&one, judged)
        };
        assert!(of("ratio", Unit::One, Role::Tracked, "fast", true));
        for derived in ["ratio", "time", "limit_share", "above_floor"] {
            assert!(!of(derived, Unit::One, Role::Tracked, "fast", false), "{derived}");
        }
        assert!(!of("tiles_per_s", Unit::PerSecond, Role::Tracked, "fast", false));
        assert!(of("instructions", Unit::One, Role::Tracked, "fast", false));
        assert!(of("peak_memory", Unit::Byte, Role::Tracked, "fast", false));
        assert!(!of("time", Unit::Second, Role::Reported, "fast", false));
        assert!(of("time", Unit::Second, Role::Tracked, CALIBRATION, false));
        assert!(of("ratio", Unit::One, Role::Control, "fast", false));
    }
}

//! Two modes: what goes back and forth between the same two levels is one finding, and no list of changes.
//!
//! Changes between neighbours are compared with two levels for all points there and a Markov chain between them, of which the likeliest
//! path says which point is of which mode (Viterbi 1967). What either leaves of the points is normal noise of its own deviation. The
//! cheaper of the two explanations by twice the logarithm of the likelihood is reported, with the price of a change for each change and
//! each mode; a change back to an earlier level is unlikely by accident and costs more. Where the mean stay is long, each one is a change.
//!
//! Three things remain changes: a place from which on both modes are at other levels, one from which on the chain is another, so that
//! a mode became much more frequent, and the ends of a stay that the lengths of the others make improbable.

use super::input::Input;
use super::noise::inflation_about;
use super::ramp::Ramp;
use super::ramps::Levelled;
use super::side::{median, trimmed_mean};
use sprag_base::stats::describe;
use sprag_model::Modes;

/// The least share of the points that a mode has: fewer are outliers.
const LEAST_SHARE: f64 = 0.15;

/// The least distance of two modes, in deviations of the points about them: at 3, points of overlapping modes are a list of changes;
/// at 2, two waves of autocorrelated noise are modes.
const APART: f64 = 2.5;

/// The fewest times that points go from one mode to the other: a regression and its fix may come twice.
const FEWEST_SWITCHES: usize = 5;

/// The longest mean stay in a mode, in points: longer ones are changes, each worth a report. At 20, 877 more of 12,960 series with
/// stays of 3 to 20 points in the mean are lists of changes.
pub(super) const LONGEST_STAY: usize = 45;

/// The chance of so long a stay, given the others, below which it is a change. Without it, 60 points after stays of 5 to 15 are none; at
/// 0.005, three more of 692 reported changes vanishes as series grow.
const IMPROBABLE: f64 = 0.003;

/// What a change of the chain must save for each e-fold of the changes there are, since any of many may look like one: without it,
/// 2,006 more of those series are lists of changes.
const OF_MANY: f64 = 3.0;

/// What a change of the levels must save, in prices of a change: it brings two levels and a place. Without such changes, 576 of 1,440
/// moves of both modes by 2 to 12 % are missed.
const MOVED: f64 = 3.0;

/// Where the search for a change of both levels begins: at each of so many equal parts, for at most so many steps.
const STARTS: usize = 8;
const STEPS: usize = 4;

/// The modes between some of the cuts, in order, which are no longer needed there; without a chance.
pub(super) fn instead_of_changes(input: &Input<'_>, cuts: &mut Vec<usize>, ramps: &mut Vec<(Ramp, f64)>) -> Vec<Modes> {
    let values = &input.scaled.values[..];
    let bounds: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([values.len()]).collect();
    let levelled = Levelled::new(values, ramps);
    let search = Search { input, ramps, flat: levelled.without_ramps() };
    let mut spans = Vec::new();
    search.between(&bounds, &mut spans);
    for span in &spans {
        let [begin, end] = span.bounds;
        cuts.retain(|cut| *cut <= begin || end <= *cut);
        cuts.extend(span.cuts.iter().filter(|cut| 0 < **cut && **cut < values.len()));
        ramps.retain(|(ramp, _)| ramp.end <= begin || end <= ramp.begin);
    }
    cuts.sort_unstable();
    cuts.dedup();
    spans.into_iter().flat_map(|span| span.modes).collect()
}

struct Search<'a> {
    input: &'a Input<'a>,
    ramps: &'a [(Ramp, f64)],
    /// The values without the ramps.
    flat: &'a [f64],
}

/// Points of two modes.
struct Span {
    bounds: [usize; 2],
    /// The changes that remain.
    cuts: Vec<usize>,
    modes: Vec<Modes>,
    fit: Fit,
}

/// Two levels and what is left of the points.
struct Fit {
    levels: [f64; 2],
    is_high: Vec<bool>,
    residuals: Vec<f64>,
    /// The deviation about the levels, and the least that is believed.
    deviation: f64,
    least: f64,
}

impl Search<'_> {
    /// Adds the spans of two modes between the first and the last bound: all, or those next to the change that explains most.
    fn between(&self, bounds: &[usize], spans: &mut Vec<Span>) {
        let [begin, cuts @ .., end] = bounds else { return };
        if cuts.is_empty() && self.ramps.iter().all(|(ramp, _)| ramp.end <= *begin || *end <= ramp.begin) {
            return;
        }
        let span = self.span(bounds);
        if let Some([before, after]) = self.moved(bounds, span.as_ref()) {
            self.between(&before, spans);
            return self.between(&after, spans);
        }
        if let Some(span) = span {
            return spans.push(span);
        }
        let explained = |place: &usize| gain(self.flat, [bounds[place - 1], bounds[*place], bounds[place + 1]]);
        let largest = (1..bounds.len() - 1).max_by(|one, other| explained(one).total_cmp(&explained(other)));
        for part in largest.map_or([&[][..]; 2], |place| [&bounds[..=place], &bounds[place..]]) {
            self.between(part, spans);
        }
    }

    /// All points between two bounds as two modes, where that is the better explanation than the cuts between them.
    fn span(&self, bounds: &[usize]) -> Option<Span> {
        let [begin, cuts @ .., end] = bounds else { return None };
        let price = self.input.sensitivity.penalty;
        let within: Vec<&Ramp> =
            self.ramps.iter().map(|(ramp, _)| ramp).filter(|ramp| *begin < ramp.end && ramp.begin < *end).collect();
        // A drift that was reported before stays.
        if within.iter().any(|ramp| ramp.is_retained) || cuts.len() + within.len() == 0 {
            return None;
        }
        let fit = self.fit([*begin, *end])?;
        let gap = fit.levels[1] - fit.levels[0];
        // Where a mode is several levels, what is left of the points is correlated. Without that, 300 series of five levels have 124
        // modes instead of 84.
        if gap <= APART * fit.deviation * inflation_about(&fit.residuals, &[], fit.deviation) {
            return None;
        }
        let about_level = |pair: &[usize]| {
            let part = &self.flat[pair[0]..pair[1]];
            let level = trimmed_mean(&mut part.to_vec());
            part.iter().map(move |value| value - level).collect::<Vec<_>>()
        };
        let residuals: Vec<f64> = bounds.windows(2).flat_map(about_level).collect();
        let of_changes = deviation(&residuals, gap).max(fit.least);
        // Of the logarithm of the chance that a further level is by accident one of the two, the half: levels are not evenly spread.
        let comes_back = |pair: &[usize]| (gap * ((pair[1] - pair[0]) as f64).sqrt() / of_changes).ln().max(0.0);
        let back: f64 = bounds.windows(2).skip(2).map(comes_back).sum();
        let as_changes = noise(&residuals, of_changes) + back + price * (cuts.len() + within.len()) as f64;
        if noise(&fit.residuals, fit.deviation) + chain(&fit.is_high) + 2.0 * price >= as_changes {
            return None;
        }
        let stays = improbable(&fit.is_high).into_iter().map(|stay| stay.map(|place| snapped(begin + place, bounds)));
        let stays: Vec<usize> = stays.flatten().collect();
        let mut remaining = lasting(&fit.is_high, bounds, &stays, price);
        let mut modes = Vec::new();
        for pair in remaining.clone().windows(2) {
            match self.goes_back([pair[0], pair[1]], &fit, *begin) {
                Some(one) => modes.push(one),
                None => remaining.extend(cuts.iter().filter(|cut| pair[0] < **cut && **cut < pair[1])),
            }
        }
        // Modes are there to make one finding of several: with the bounds, which remain, there are no more than before.
        let is_less = !modes.is_empty() && modes.len() + remaining.len() - 2 <= cuts.len() + within.len();
        is_less.then_some(Span { bounds: [*begin, *end], cuts: remaining, modes, fit })
    }

    /// Points that go back and forth often, from the first one on that is at another level than the one before.
    fn goes_back(&self, [begin, end]: [usize; 2], fit: &Fit, first: usize) -> Option<Modes> {
        let is_high = &fit.is_high[begin - first..end - first];
        let mut switches = (1..is_high.len()).filter(|place| is_high[*place] != is_high[place - 1]);
        let alike = switches.next()?;
        let switches = 1 + switches.count();
        let share = is_high[alike..].iter().filter(|one| **one).count() as f64 / (is_high.len() - alike) as f64;
        let [low, high] = fit.levels.map(|level| self.input.scaled.in_units(level));
        let is_often = switches >= FEWEST_SWITCHES && is_high.len() <= LONGEST_STAY * switches;
        let is_shared = (LEAST_SHARE..=1.0 - LEAST_SHARE).contains(&share);
        let newest = (1..is_high.len()).rev().find(|place| is_high[*place] != is_high[place - 1])?;
        (is_often && is_shared).then(|| Modes {
            begin: begin + alike,
            end,
            low,
            high,
            share: Some(share),
            newest: begin + newest,
            is_high: is_high[newest],
            chance: 0.0,
        })
    }

    fn fit(&self, [begin, end]: [usize; 2]) -> Option<Fit> {
        let values = &self.input.scaled.values[begin..end];
        let (levels, tick) = two_levels(values)?;
        let gap = levels[1] - levels[0];
        if gap <= 0.0 {
            return None;
        }
        let least = (tick / 12.0_f64.sqrt()).max(self.input.scaled.floor());
        let nearest = |value: &f64| value - levels[usize::from(*value > levels[0].midpoint(levels[1]))];
        let about = deviation(&values.iter().map(nearest).collect::<Vec<_>>(), gap).max(least);
        let is_high = path(values, levels, about, self.input.sensitivity.penalty / 2.0);
        let residuals: Vec<f64> =
            values.iter().zip(&is_high).map(|(value, high)| value - levels[usize::from(*high)]).collect();
        let deviation = deviation(&residuals, gap).max(least);
        Some(Fit { levels, is_high, residuals, deviation, least })
    }

    /// The points before and after a change of the levels between which they go back and forth, with the cuts of either.
    fn moved(&self, bounds: &[usize], single: Option<&Span>) -> Option<[Vec<usize>; 2]> {
        let [begin, cuts @ .., end] = bounds else { return None };
        if single.is_none() && cuts.len() < FEWEST_SWITCHES {
            return None;
        }
        let place = snapped(begin + move_of_levels(&self.input.scaled.values[*begin..*end])?, bounds);
        let before: Vec<usize> = bounds.iter().copied().filter(|cut| *cut < place).chain([place]).collect();
        let after: Vec<usize> =
            std::iter::once(place).chain(bounds.iter().copied().filter(|cut| *cut > place)).collect();
        let sides = [self.span(&before), self.span(&after)];
        let [Some(one), Some(other)] = &sides else {
            // Next to a change to other levels the points may be of two modes on one side only.
            let is_one_sided = single.is_none() && sides.iter().any(Option::is_some) && cuts.contains(&place);
            return is_one_sided.then_some([before, after]);
        };
        let least = self.input.sensitivity.least;
        let differ = |state: usize| self.input.scaled.differ(one.fit.levels[state], other.fit.levels[state], least);
        let is_much = |single: &Span| {
            let residuals = [&one.fit.residuals[..], &other.fit.residuals].concat();
            let inflation = inflation_about(&residuals, &[], one.fit.deviation.max(other.fit.deviation));
            let [before, between, after] =
                [one, single, other].map(|span| noise(&span.fit.residuals, span.fit.deviation));
            between - before - after > MOVED * self.input.sensitivity.penalty * inflation.powi(2)
        };
        ((0..2).any(differ) && single.is_none_or(is_much)).then_some([before, after])
    }
}

/// What a change between two bounds explains, in squares.
pub(super) fn gain(flat: &[f64], [begin, cut, end]: [usize; 3]) -> f64 {
    let level = |from: usize, to: usize| describe::mean(&flat[from..to]).unwrap_or_default();
    let (before, after) = ((cut - begin) as f64, (end - cut) as f64);
    (level(cut, end) - level(begin, cut)).powi(2) * before * after / (before + after)
}

/// The deviation of residuals. What lies farther away than the other mode is an outlier of any explanation.
fn deviation(residuals: &[f64], gap: f64) -> f64 {
    let squares: f64 = residuals.iter().map(|one| one.clamp(-gap, gap).powi(2)).sum();
    (squares / residuals.len() as f64).sqrt()
}

/// Twice the negative logarithm of the likelihood of normal noise.
fn noise(residuals: &[f64], deviation: f64) -> f64 {
    2.0 * residuals.len() as f64 * deviation.ln()
}

/// A place, or a bound at most two points away.
fn snapped(place: usize, bounds: &[usize]) -> usize {
    let nearest = bounds.iter().copied().min_by_key(|bound| bound.abs_diff(place));
    nearest.filter(|bound| bound.abs_diff(place) <= 2).unwrap_or(place)
}

/// The likeliest place from which on two levels are others: with the levels known, that with the least squares, until the levels stay.
fn move_of_levels(values: &[f64]) -> Option<usize> {
    let located = |start: usize| {
        let mut located = (f64::INFINITY, start * values.len() / STARTS);
        for _ in 0..STEPS {
            let ((before, _), (after, _)) = two_levels(&values[..located.1]).zip(two_levels(&values[located.1..]))?;
            let reach = (before[1] - before[0]).max(after[1] - after[0]).powi(2);
            let squares = |levels: [f64; 2], value: f64| {
                levels.map(|level| (value - level).powi(2)).into_iter().fold(reach, f64::min)
            };
            let mut sum = 0.0;
            let places = values.iter().enumerate().map(|(place, value)| {
                sum += squares(before, *value) - squares(after, *value);
                (sum, place + 1)
            });
            let (least, place) = places.min_by(|one, other| one.0.total_cmp(&other.0))?;
            let rest: f64 = values.iter().map(|value| squares(after, *value)).sum();
            if std::mem::replace(&mut located, (least + rest, place)).1 == place {
                break;
            }
        }
        Some(located)
    };
    (1..STARTS).filter_map(located).min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, place)| place)
}

/// Whether each point is of the higher mode, on the likeliest path where each change of the mode has that price.
fn path(values: &[f64], levels: [f64; 2], deviation: f64, price: f64) -> Vec<bool> {
    let reach = (levels[1] - levels[0]).powi(2);
    let mut costs = [0.0_f64; 2];
    let mut switched: Vec<[bool; 2]> = Vec::with_capacity(values.len());
    for value in values {
        let from = [costs[1] + price < costs[0], costs[0] + price < costs[1]];
        let cost = |state: usize| {
            let cost = if from[state] { costs[1 - state] + price } else { costs[state] };
            cost + (value - levels[state]).powi(2).min(reach) / deviation.powi(2)
        };
        costs = [cost(0), cost(1)];
        switched.push(from);
    }
    let mut is_high = vec![costs[1] < costs[0]; values.len()];
    for place in (1..values.len()).rev() {
        is_high[place - 1] = is_high[place] ^ switched[place][usize::from(is_high[place])];
    }
    is_high
}

/// The stays that are too long to be like the others, as first points and ends. By a law without memory, of its own rate in each mode,
/// the longest of `k` others is exceeded `f` times with the chance `1/(1+f) * 2/(2+f) * ... * k/(k+f)`. The newest stay is the only
/// newest one, any other is the longest of all.
fn improbable(is_high: &[bool]) -> Vec<[usize; 2]> {
    let mut begin = 0;
    let bounds = is_high.chunk_by(|one, next| one == next).map(|stay| {
        begin += stay.len();
        [begin - stay.len(), begin]
    });
    let bounds: Vec<[usize; 2]> = bounds.collect();
    let length = |stay: &[usize; 2]| (stay[1] - stay[0]) as f64;
    let of_mode = |high: bool| bounds.iter().filter(move |stay| is_high[stay[0]] == high);
    let typical = [false, true].map(|high| median(&mut of_mode(high).map(length).collect::<Vec<f64>>()));
    let mut stays: Vec<(f64, [usize; 2])> =
        bounds.iter().map(|stay| (length(stay) / typical[usize::from(is_high[stay[0]])], *stay)).collect();
    stays.sort_by(|one, other| other.0.total_cmp(&one.0));
    let is_improbable = |place: &usize| {
        let [(longest, bounds), (next, _)] = [stays[*place], stays[*place + 1]];
        let others = stays.len() - 1 - place;
        let chance: f64 = (1..=others).map(|count| 1.0 / (1.0 + longest / next / count as f64)).product();
        chance * if bounds[1] == is_high.len() { 1.0 } else { others as f64 + 1.0 } < IMPROBABLE
    };
    (1..stays.len()).map(|place| place - 1).take_while(is_improbable).map(|place| stays[place].1).collect()
}

/// The two levels with the least squares, and the least difference of two values of one of them, zero where each has one value only;
/// nothing where one level has too few points.
fn two_levels(values: &[f64]) -> Option<([f64; 2], f64)> {
    let mut sorted = values.to_vec();
    describe::sort(&mut sorted);
    let (count, middle) = (sorted.len(), *sorted.get(sorted.len() / 2)?);
    let all: f64 = sorted.iter().map(|value| value - middle).sum();
    let least = (LEAST_SHARE * count as f64).ceil().max(2.0) as usize;
    let mut sum: f64 = sorted.iter().take(least - 1).map(|value| value - middle).sum();
    let mut best: Option<(f64, usize)> = None;
    for low in least..=count.checked_sub(least)? {
        sum += sorted[low - 1] - middle;
        let saved = sum * sum / low as f64 + (all - sum).powi(2) / (count - low) as f64;
        if best.is_none_or(|(most, _)| saved > most) {
            best = Some((saved, low));
        }
    }
    let (low, high) = sorted.split_at_mut(best?.1);
    let gaps = [&*low, &*high].into_iter().flat_map(|level| level.windows(2).map(|pair| pair[1] - pair[0]));
    let tick = gaps.filter(|gap| *gap > 0.0).reduce(f64::min).unwrap_or_default();
    Some(([trimmed_mean(low), trimmed_mean(high)], tick))
}

/// Twice the negative logarithm of the likelihood of a chain of two states.
fn chain(is_high: &[bool]) -> f64 {
    let mut counts = [[0.0_f64; 2]; 2];
    is_high.windows(2).for_each(|pair| counts[usize::from(pair[0])][usize::from(pair[1])] += 1.0);
    let term = |count: f64, all: f64| if count > 0.0 { -2.0 * count * (count / all).ln() } else { 0.0 };
    counts.iter().map(|[one, other]| term(*one, one + other) + term(*other, one + other)).sum()
}

/// The ends of stays, and of the bounds those at which the chain changes: the one that saves least goes first.
fn lasting(is_high: &[bool], bounds: &[usize], stays: &[usize], price: f64) -> Vec<usize> {
    let least_saved = price + OF_MANY * (bounds.len() as f64 - 1.0).ln();
    let mut bounds = [bounds, stays].concat();
    bounds.sort_unstable();
    bounds.dedup();
    let saved = |bounds: &[usize], place: usize| {
        let [begin, cut, end] = [place - 1, place, place + 1].map(|place| bounds[place] - bounds[0]);
        chain(&is_high[begin..end]) - chain(&is_high[begin..cut]) - chain(&is_high[cut..end])
    };
    loop {
        let others = (1..bounds.len() - 1).filter(|place| !stays.contains(&bounds[*place]));
        match others.map(|place| (place, saved(&bounds, place))).min_by(|one, other| one.1.total_cmp(&other.1)) {
            Some((place, least)) if least < least_saved => bounds.remove(place),
            _ => return bounds,
        };
    }
}

#[cfg(test)]
mod tests {
    use crate::changes::detect::changes;
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;

    /// Points with noise of 1 % about levels, each with its number of points.
    fn noisy(levels: &[(usize, f64)]) -> Vec<f64> {
        let mut random = SplitMix64::new(5);
        let points = levels.iter().flat_map(|(count, level)| vec![*level; *count]);
        points.map(|level| level * (1.0 + 0.01 * random.normal())).collect()
    }

    /// How many changes there are, and the modes: first point, end, levels and share.
    fn detected(values: &[f64]) -> (usize, Vec<[i64; 5]>) {
        let detected = changes(values, &Sensitivity::BALANCED);
        let rounded = |value: f64| value.round() as i64;
        let modes = detected.modes.iter().map(|one| {
            assert!(one.chance < 1e-4);
            [
                one.begin as i64,
                one.end as i64,
                rounded(one.low),
                rounded(one.high),
                rounded(10.0 * one.share.unwrap_or_default()),
            ]
        });
        (detected.points.len(), modes.collect())
    }

    #[test]
    fn what_alternates_between_two_levels_is_one_finding() {
        let lengths = [14, 9, 21, 12, 8, 17, 11, 15, 9, 24];
        let alternating: Vec<(usize, f64)> =
            lengths.iter().enumerate().map(|(place, count)| (*count, [100.0, 120.0][place % 2])).collect();
        assert_eq!(detected(&noisy(&alternating)), (0, vec![[14, 140, 100, 120, 6]]));
        // A lasting change after it stays one, and what returns once or goes on to other levels is not a mode.
        let (changes, modes) = detected(&noisy(&[&alternating[..], &[(60, 170.0)]].concat()));
        assert_eq!((changes, modes.len()), (1, 1));
        assert_eq!(detected(&noisy(&[(40, 100.0), (20, 120.0), (40, 100.0)])), (2, vec![]));
        let stairs: Vec<(usize, f64)> = (0..8).map(|place| (15, 100.0 * 1.1_f64.powi(place))).collect();
        assert_eq!(detected(&noisy(&stairs)), (7, vec![]));
    }

    /// So many points at 100 and so many times that in turn, with stays of random length within the bounds.
    fn alternating(count: usize, stays: [usize; 2], high: f64, random: &mut SplitMix64) -> Vec<f64> {
        let mut levels = Vec::new();
        let mut level = [100.0, 100.0 * high];
        while levels.len() < count {
            levels.extend(vec![level[0]; stays[0] + random.below(stays[1] - stays[0] + 1)]);
            level.reverse();
        }
        levels.truncate(count);
        levels
    }

    /// How many of a hundred series are reported with these changes, a point or two off, and so many modes.
    fn reported(expected: usize, noise: f64, levels: impl Fn(&mut SplitMix64) -> (Vec<f64>, Option<usize>)) -> usize {
        let is_reported = |seed: &u64| {
            let random = &mut SplitMix64::new(*seed);
            let (levels, change) = levels(random);
            let values: Vec<f64> = levels.iter().map(|level| level * (1.0 + noise * random.normal())).collect();
            let detected = changes(&values, &Sensitivity::BALANCED);
            let places: Vec<usize> = detected.points.iter().map(|point| point.index).collect();
            let is_there = |change: usize| matches!(places[..], [place] if place.abs_diff(change) <= 2);
            change.map_or(places.is_empty(), is_there) && detected.modes.len() == expected && detected.drifts.is_empty()
        };
        (0..100).filter(is_reported).count()
    }

    #[test]
    fn stays_of_random_length_are_one_finding() {
        for (stays, count, high, noise) in [
            ([3, 20], 300, 1.1, 0.005),
            ([5, 15], 600, 1.6, 0.003),
            ([10, 20], 200, 1.05, 0.005),
            ([18, 20], 150, 1.1, 0.02),
        ] {
            let single = reported(1, noise, |random| (alternating(count, stays, high, random), None));
            assert!(single >= 95, "{stays:?}: {single}");
        }
    }

    #[test]
    fn an_improbable_stay_is_a_change() {
        for count in [60, 100, 200] {
            let lasting = reported(1, 0.005, |random| {
                let mut levels = alternating(300, [5, 15], 1.1, random);
                levels.extend([100.0, 110.0, 110.0]);
                let change = levels.len() - 2;
                levels.extend(vec![110.0; count - 2]);
                (levels, Some(change))
            });
            assert!(lasting >= 95, "{count}: {lasting}");
        }
        // Each long stay is a change.
        let regressions = [(60, 100.0), (60, 110.0)].repeat(3);
        assert_eq!(detected(&noisy(&[&regressions[..], &[(60, 100.0), (200, 110.0)]].concat())), (7, vec![]));
    }

    #[test]
    fn other_levels_of_both_modes_are_one_change() {
        for (high, count) in [(1.1, 100), (1.2, 120), (1.2, 200)] {
            let moved = reported(2, 0.003, |random| {
                let before = alternating(count, [2, 8], high, random);
                let after = alternating(count, [2, 8], high, random).into_iter().map(|level| 1.08 * level);
                (before.into_iter().chain(after).collect(), Some(count))
            });
            assert!(moved >= 95, "{high}: {moved}");
        }
    }

    #[test]
    fn a_mode_that_becomes_frequent_is_a_change() {
        let mut random = SplitMix64::new(8);
        let mut mode = |high: f64| (1, if random.uniform() < high { 120.0 } else { 100.0 });
        let levels: Vec<(usize, f64)> = (0..200).map(|place| mode(if place < 100 { 0.08 } else { 0.92 })).collect();
        assert_eq!(detected(&noisy(&levels)).0, 1);
    }
}

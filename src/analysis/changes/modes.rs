//! Two modes: what goes back and forth between the same two levels is one finding, and no list of changes.
//!
//! Changes between neighbours are compared with two levels for all points there, each point on the nearer one. What either leaves of
//! the points is normal noise of its own deviation, and points go from one mode to the other by a Markov chain. The cheaper of the two
//! explanations by twice the logarithm of the likelihood is reported, with the price of a change for each change and each mode. A
//! change at which the chain itself changes stays one: there a mode became much more frequent.

use super::input::Input;
use super::ramp::Ramp;
use super::ramps::Levelled;
use super::scale::Scaled;
use super::side::trimmed_mean;
use sprag_base::stats::describe;
use sprag_model::Modes;

/// The least share of the points that a mode has: fewer are outliers.
const LEAST_SHARE: f64 = 0.15;

/// The least distance of two modes, in deviations of the points about them.
const APART: f64 = 4.0;

/// The fewest times that points go from one mode to the other: there and back, twice.
const FEWEST_SWITCHES: usize = 4;

/// The modes between some of the cuts, in order, which are no longer needed there; without a chance.
pub(super) fn instead_of_changes(input: &Input<'_>, cuts: &mut Vec<usize>, ramps: &mut Vec<(Ramp, f64)>) -> Vec<Modes> {
    let values = &input.scaled.values[..];
    let bounds: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([values.len()]).collect();
    let levelled = Levelled::new(values, ramps);
    let search = Search { input, ramps, flat: levelled.without_ramps() };
    let mut spans = Vec::new();
    search.between(&bounds, &mut spans);
    for span in &spans {
        cuts.retain(|cut| !span.replaced.contains(cut));
        ramps.retain(|(ramp, _)| ramp.end <= span.bounds[0] || span.bounds[1] <= ramp.begin);
    }
    let modes =
        |span: &Span| span.parts(cuts).into_iter().map(|part| span.modes(part, input.scaled)).collect::<Vec<_>>();
    spans.iter().flat_map(modes).collect()
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
    replaced: Vec<usize>,
    levels: [f64; 2],
}

impl Search<'_> {
    /// Adds the spans of two modes between the first and the last bound: all, or those next to the change that explains most.
    fn between(&self, bounds: &[usize], spans: &mut Vec<Span>) {
        let [begin, cuts @ .., end] = bounds else { return };
        if cuts.is_empty() && self.ramps.iter().all(|(ramp, _)| ramp.end <= *begin || *end <= ramp.begin) {
            return;
        }
        if let Some(span) = self.span([*begin, *end], cuts) {
            return spans.push(span);
        }
        let gain = |place: &usize| {
            let level = |from: usize, to: usize| describe::mean(&self.flat[from..to]).unwrap_or_default();
            let [begin, cut, end] = [bounds[place - 1], bounds[*place], bounds[place + 1]];
            let (before, after) = ((cut - begin) as f64, (end - cut) as f64);
            (level(cut, end) - level(begin, cut)).powi(2) * before * after / (before + after)
        };
        let largest = (1..bounds.len() - 1).max_by(|one, other| gain(one).total_cmp(&gain(other)));
        for part in largest.map_or([&[][..]; 2], |place| [&bounds[..=place], &bounds[place..]]) {
            self.between(part, spans);
        }
    }

    /// All points between two bounds as two modes, where that is the better explanation than these cuts.
    fn span(&self, [begin, end]: [usize; 2], cuts: &[usize]) -> Option<Span> {
        let price = self.input.sensitivity.penalty;
        let is_within = |ramp: &Ramp| begin < ramp.end && ramp.begin < end;
        let within: Vec<&Ramp> = self.ramps.iter().map(|(ramp, _)| ramp).filter(|ramp| is_within(ramp)).collect();
        // A drift that was reported before stays.
        if within.iter().any(|ramp| ramp.is_retained) {
            return None;
        }
        let values = &self.input.scaled.values[begin..end];
        let (levels, tick) = two_levels(values)?;
        let (gap, middle) = (levels[1] - levels[0], levels[0].midpoint(levels[1]));
        if gap <= 0.0 {
            return None;
        }
        let least = (tick / 12.0_f64.sqrt()).max(self.input.scaled.floor());
        // What lies farther away than the other mode is an outlier of either explanation.
        let deviation = |residuals: &mut dyn Iterator<Item = f64>| {
            let squares: f64 = residuals.map(|one| one.clamp(-gap, gap).powi(2)).sum();
            (squares / values.len() as f64).sqrt().max(least)
        };
        let of_modes = deviation(&mut values.iter().map(|value| value - levels[usize::from(*value > middle)]));
        if gap <= APART * of_modes {
            return None;
        }
        let bounds: Vec<usize> = std::iter::once(begin).chain(cuts.iter().copied()).chain([end]).collect();
        let about_level = |pair: &[usize]| {
            let part = &self.flat[pair[0]..pair[1]];
            let level = trimmed_mean(&mut part.to_vec());
            part.iter().map(move |value| value - level).collect::<Vec<_>>()
        };
        let of_changes = deviation(&mut bounds.windows(2).flat_map(about_level));
        let is_high: Vec<bool> = self.input.scaled.values.iter().map(|value| *value > middle).collect();
        let noise = |deviation: f64| 2.0 * values.len() as f64 * deviation.ln();
        let as_modes = noise(of_modes) + chain(&is_high[begin..end]) + 2.0 * price;
        if as_modes >= noise(of_changes) + price * (cuts.len() + within.len()) as f64 {
            return None;
        }
        let replaced = replaced(&is_high, bounds, price);
        let span = Span { bounds: [begin, end], replaced, levels };
        let stay: Vec<usize> = cuts.iter().copied().filter(|cut| !span.replaced.contains(cut)).collect();
        let parts = span.parts(&stay);
        let goes_back = |part: &[usize; 2]| {
            let switches = is_high[part[0]..part[1]].windows(2).filter(|pair| pair[0] != pair[1]);
            let share = span.modes(*part, self.input.scaled).share;
            switches.count() >= FEWEST_SWITCHES && (LEAST_SHARE..=1.0 - LEAST_SHARE).contains(&share)
        };
        (!parts.is_empty() && parts.iter().all(goes_back)).then_some(span)
    }
}

impl Span {
    /// The points between those of the cuts that stay, where one was replaced.
    fn parts(&self, stay: &[usize]) -> Vec<[usize; 2]> {
        let [begin, end] = self.bounds;
        let inner = stay.iter().copied().filter(|cut| begin < *cut && *cut < end);
        let bounds: Vec<usize> = std::iter::once(begin).chain(inner).chain([end]).collect();
        // Without a change it is a ramp that is replaced.
        let is_within = |part: &[usize; 2], cut: &usize| part[0] < *cut && *cut < part[1];
        let is_replaced = |part: &[usize; 2]| bounds.len() == 2 || self.replaced.iter().any(|cut| is_within(part, cut));
        bounds.windows(2).map(|pair| [pair[0], pair[1]]).filter(is_replaced).collect()
    }

    /// The modes from the first point on that is at another level than the one before.
    fn modes(&self, [begin, end]: [usize; 2], scaled: &Scaled) -> Modes {
        let middle = self.levels[0].midpoint(self.levels[1]);
        let is_high = |place: usize| scaled.values[place] > middle;
        let begin = (begin + 1..end).find(|place| is_high(*place) != is_high(begin)).unwrap_or(begin);
        let high = (begin..end).filter(|place| is_high(*place)).count();
        let [low, above] = self.levels.map(|level| scaled.in_units(level));
        Modes { begin, end, low, high: above, share: high as f64 / (end - begin) as f64, chance: 0.0 }
    }
}

/// The two levels with the least squares, and the least difference of two values; nothing where one level has too few points.
fn two_levels(values: &[f64]) -> Option<([f64; 2], f64)> {
    let mut sorted = values.to_vec();
    describe::sort(&mut sorted);
    let tick = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
    let (count, middle) = (sorted.len(), sorted[sorted.len() / 2]);
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
    Some(([trimmed_mean(low), trimmed_mean(high)], tick))
}

/// Twice the negative logarithm of the likelihood of a chain of two states.
fn chain(is_high: &[bool]) -> f64 {
    let mut counts = [[0.0_f64; 2]; 2];
    is_high.windows(2).for_each(|pair| counts[usize::from(pair[0])][usize::from(pair[1])] += 1.0);
    let term = |count: f64, all: f64| if count > 0.0 { -2.0 * count * (count / all).ln() } else { 0.0 };
    counts.iter().map(|[one, other]| term(*one, one + other) + term(*other, one + other)).sum()
}

/// The cuts between these bounds at which the chain does not change: the one that saves least goes first.
fn replaced(is_high: &[bool], mut bounds: Vec<usize>, price: f64) -> Vec<usize> {
    let mut replaced = Vec::new();
    let saved = |bounds: &[usize], place: usize| {
        let [begin, cut, end] = [bounds[place - 1], bounds[place], bounds[place + 1]];
        chain(&is_high[begin..end]) - chain(&is_high[begin..cut]) - chain(&is_high[cut..end])
    };
    loop {
        let each = (1..bounds.len() - 1).map(|place| (place, saved(&bounds, place)));
        match each.min_by(|one, other| one.1.total_cmp(&other.1)) {
            Some((place, least)) if least < price => replaced.push(bounds.remove(place)),
            _ => break,
        }
    }
    replaced.sort_unstable();
    replaced
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
            [one.begin as i64, one.end as i64, rounded(one.low), rounded(one.high), rounded(10.0 * one.share)]
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

    #[test]
    fn a_mode_that_becomes_frequent_is_a_change() {
        let mut random = SplitMix64::new(8);
        let mut mode = |high: f64| (1, if random.uniform() < high { 120.0 } else { 100.0 });
        let levels: Vec<(usize, f64)> = (0..200).map(|place| mode(if place < 100 { 0.08 } else { 0.92 })).collect();
        assert_eq!(detected(&noisy(&levels)).0, 1);
    }
}

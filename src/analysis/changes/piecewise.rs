//! Climbs that bend: staircases that levels and straight lines in a row explain better than steps.
//!
//! A large climb is not a straight ramp on the scale on which a series is analysed, and many steps follow it closely. So
//! steps in one direction are compared with lines. Each line has the price of a ramp, and each joint that of a step.
//! Consecutive lines are one ramp, which bends. A step at a joint remains if it is larger than the slope of the points
//! on both sides explains.

use super::ramp::{Knot, NARROWEST, OVER, Ramp};
use sprag_base::stats::lines::{self, LinePiece, Prices};

/// The most points on either side of a step by whose slope it is judged: farther away a climb may bend.
const MOST_ON_A_SIDE: usize = 40;

/// Steps in one direction one after the other, in deviations.
pub(super) struct Climb<'a> {
    /// The points, and the place of the first one in the series.
    pub(super) points: &'a [f64],
    pub(super) begin: usize,
    /// The steps, from the first of the points on.
    pub(super) steps: &'a [usize],
    /// Whether they lead up.
    pub(super) rises: bool,
}

/// What explains them at a lower price: steps that stay, and ramps whose sizes are in deviations.
pub(super) struct Explained {
    pub(super) cost: f64,
    pub(super) steps: Vec<usize>,
    pub(super) ramps: Vec<Ramp>,
}

impl Climb<'_> {
    /// The lines and levels between some of these `places`, the steps and others in order, that cost least; `None` where none of
    /// them is a line. `price` is that of a step, `of_ramp` that of a ramp of so many points, and a step must be so `clear` to
    /// stand out of a slope.
    pub(super) fn explained(
        &self,
        places: impl Iterator<Item = usize>,
        price: f64,
        of_ramp: &dyn Fn(usize) -> f64,
        clear: f64,
    ) -> Option<Explained> {
        let count = self.points.len();
        let bounds: Vec<usize> = std::iter::once(0).chain(places).chain([count]).collect();
        let prices = Prices { joint: price, line: of_ramp, narrowest: NARROWEST };
        let (cost, pieces) = lines::cheapest(self.points, &bounds, prices);
        let ranges = climbing(&pieces);
        let mut steps: Vec<usize> = self.steps.to_vec();
        let mut ramps = Vec::new();
        for (first, last) in ranges {
            let joints = pieces[first.saturating_sub(1)..(last + 2).min(pieces.len())].windows(2);
            let stands = |pair: &[LinePiece]| {
                self.steps.contains(&pair[1].begin) && self.is_clear([pair[0].begin, pair[1].begin, pair[1].end], clear)
            };
            let significant: Vec<usize> = joints.filter(|pair| stands(pair)).map(|pair| pair[1].begin).collect();
            let ramp = self.ramp(&pieces, (first, last), &significant);
            if (ramp.size > 0.0) != self.rises {
                continue;
            }
            let (begin, end) = (pieces[first].begin, pieces[last].end);
            steps.retain(|step| *step < begin || end < *step || significant.contains(step));
            ramps.push(ramp);
        }
        let steps = steps.into_iter().map(|step| step + self.begin).collect();
        (!ramps.is_empty()).then_some(Explained { cost, steps, ramps })
    }

    /// The ramp from the first line to the last one of those between some of these places that cost least, and what they cost;
    /// its size is in deviations.
    pub(super) fn single_ramp(&self, bounds: &[usize], price: f64) -> Option<(Ramp, f64)> {
        let prices = Prices { joint: price, line: &|_| price, narrowest: NARROWEST };
        let (cost, pieces) = lines::cheapest(self.points, bounds, prices);
        let first = pieces.iter().position(|piece| piece.is_line)?;
        let last = pieces.iter().rposition(|piece| piece.is_line)?;
        Some((self.ramp(&pieces, (first, last), &[]), cost))
    }

    /// Whether the points around the middle of three places step further there than lines of one slope do, by so many deviates.
    pub(super) fn is_clear(&self, [begin, cut, end]: [usize; 3], clear: f64) -> bool {
        let wide = (cut - begin).min(end - cut).min(MOST_ON_A_SIDE);
        let count = wide as f64;
        let (before, after) = (&self.points[cut - wide..cut], &self.points[cut..cut + wide]);
        let middle = (count - 1.0) / 2.0;
        let moment = |points: &[f64]| -> f64 {
            points.iter().enumerate().map(|(place, value)| (place as f64 - middle) * value).sum()
        };
        let mean = |points: &[f64]| points.iter().sum::<f64>() / count;
        let places = count * (count * count - 1.0) / 6.0;
        let slope = if places > 0.0 { (moment(before) + moment(after)) / places } else { 0.0 };
        let lever = if places > 0.0 { count * count / places } else { 0.0 };
        let step = mean(after) - mean(before) - slope * count;
        let out = step / (2.0 / count + lever).sqrt();
        wide > 1 && if self.rises { out >= clear } else { out <= -clear }
    }

    /// The ramp of the pieces from one to another, without the significant steps.
    fn ramp(&self, pieces: &[LinePiece], (first, last): (usize, usize), significant: &[usize]) -> Ramp {
        let meets = |joint: usize| 0 < joint && joint < pieces.len() && !significant.contains(&pieces[joint].begin);
        // Where lines meet the course goes through the middle between their edges.
        let gap = |joint: usize| pieces[joint].edges[0] - pieces[joint - 1].edges[1];
        let half = |joint: usize| if meets(joint) { gap(joint) / 2.0 } else { 0.0 };
        let mut level = 0.0;
        let mut knots = vec![(pieces[first].begin, 0.0)];
        for (piece, joint) in pieces[first..=last].iter().zip(first..) {
            level += half(joint) + piece.edges[1] - piece.edges[0] + half(joint + 1);
            knots.push((piece.end, level));
        }
        let of_all = |(place, level): (usize, f64)| Knot { place: self.begin + place, share: level / level_of(&knots) };
        let knots_of_all = knots.iter().map(|knot| of_all(*knot)).collect();
        let around = (
            if meets(first) { pieces[first - 1].begin } else { pieces[first].begin },
            if meets(last + 1) { pieces[last + 1].end } else { pieces[last].end },
        );
        Ramp {
            begin: self.begin + pieces[first].begin,
            end: self.begin + pieces[last].end,
            around: (self.begin + around.0, self.begin + around.1),
            size: level,
            is_retained: false,
            knots: knots_of_all,
        }
    }
}

fn level_of(knots: &[(usize, f64)]) -> f64 {
    knots.last().map_or(0.0, |knot| knot.1)
}

/// The first and the last piece of each climb: lines with no more than short levels between them.
fn climbing(pieces: &[LinePiece]) -> Vec<(usize, usize)> {
    let mut climbs: Vec<(usize, usize)> = Vec::new();
    for (place, piece) in pieces.iter().enumerate().filter(|(_, piece)| piece.is_line) {
        match climbs.last_mut() {
            Some(climb) if piece.begin - pieces[climb.1].end < OVER => climb.1 = place,
            _ => climbs.push((place, place)),
        }
    }
    climbs
}

#[cfg(test)]
mod tests {
    use crate::changes::detect;
    use crate::changes::sensitivity::Sensitivity;
    use sprag_base::stats::random::SplitMix64;
    use sprag_model::Changes;

    /// So many points on a course over the share of them that lies behind, with noise that is a share of it.
    fn detected_changes(points: usize, course: impl Fn(f64) -> f64, noise: f64, seed: u64) -> Changes {
        let mut random = SplitMix64::new(seed);
        let mut value = |place: usize| course(place as f64 / (points - 1) as f64) * (1.0 + noise * random.normal());
        let values: Vec<f64> = (0..points).map(&mut value).collect();
        detect::changes(&values, &Sensitivity::BALANCED)
    }

    /// A level over the share of the points that lies behind.
    type Course<'a> = &'a dyn Fn(f64) -> f64;

    #[test]
    fn a_large_climb_on_a_long_series_is_a_drift_and_no_stairs() {
        let broken = |share: f64| if share < 0.5 { 1.0 + 0.03 * share } else { 1.015 + 0.17 * (share - 0.5) };
        let courses: [(&str, usize, Course<'_>, f64); 7] = [
            ("half as much again", 1000, &|share| 1.0 + 0.5 * share, 0.005),
            ("twice", 3000, &|share| 1.0 + share, 0.02),
            ("half", 3000, &|share| 1.0 - 0.5 * share, 0.02),
            ("three times", 3000, &|share| 1.0 + 2.0 * share, 0.01),
            ("ever steeper", 1000, &|share| 1.0 + 0.1 * share * share, 0.002),
            ("to rest", 1000, &|share| 1.0 + 0.1 / (1.0 + (-10.0 * (share - 0.5)).exp()), 0.002),
            ("broken", 1000, &broken, 0.002),
        ];
        for (name, points, course, noise) in courses {
            let (mut changes, mut drifts, mut covered) = (0, 0, 0);
            for seed in 0..10 {
                let detected = detected_changes(points, course, noise, seed);
                changes += detected.points.len();
                drifts += detected.drifts.len();
                let width: usize = detected.drifts.iter().map(|drift| drift.end - drift.begin).sum();
                covered += usize::from(2 * width > points);
                let [drift] = &detected.drifts[..] else { continue };
                let [before, after] = [drift.begin, drift.end].map(|at| course(at as f64 / points as f64));
                let near = |estimated: f64, truth: f64| (estimated / truth - 1.0).abs() < 5.0 * noise;
                assert!(near(drift.before, before) && near(drift.after, after), "{name}, {seed}: {drift:?}");
            }
            assert!(
                changes <= 4 && drifts <= 15 && covered >= 9,
                "{name}: {changes} changes and {drifts} drifts of ten climbs, {covered} of which they cover"
            );
        }
    }

    #[test]
    fn a_step_that_stands_out_of_a_climb_is_reported_with_its_own_size() {
        for (climb, step) in [(0.1, 0.012), (0.04, 0.01), (0.15, 0.02)] {
            let course = |share: f64| (1.0 + climb * share * share) * if share < 0.6 { 1.0 } else { 1.0 + step };
            let detected = (0..20).filter(|seed| {
                let changes = detected_changes(1000, course, 0.002, *seed);
                let is_step = |at: usize, size: f64| at.abs_diff(600) <= 2 && (size / step - 1.0).abs() < 0.4;
                changes.points.iter().any(|point| is_step(point.index, point.relative()))
            });
            let detected = detected.count();
            assert!(detected >= 17, "{detected} of 20 steps of {step} in a climb of {climb}");
        }
    }
}

//! The geometric mean of the changes of some series, with what is known of it.

use super::data::SeriesData;
use super::rule::Outcome;
use super::words::Kind;
use sprag_model::metric::Better;

/// A geometric mean of changes, positive is worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    /// The mean, less 1.
    pub(super) value: f64,
    /// Its 95 % interval; absent where that of one of the changes is, and where it has no width.
    pub(super) interval: Option<(f64, f64)>,
}

/// A change on the scale of logarithms, positive is worse.
struct Change {
    log: f64,
    /// How far the interval reaches down and up from there.
    reach: Option<(f64, f64)>,
}

/// The normal quantile of a 95 % interval.
const QUANTILE: f64 = 1.959_964;

/// The mean over the judged series that have a verdict, where one without change counts as unchanged. Its interval is from the mean
/// of their lower ends to that of their upper ends: series of one run share what befell it, so their errors are not taken as
/// independent, which would make it too narrow. What is called unchanged may have changed all the same, as where few points are
/// measured after it: its change lies between none and what was measured at the two commits, give or take the noise of both.
pub(super) fn mean<'a>(judged: impl Iterator<Item = (&'a SeriesData, &'a Outcome<'a>, Kind)>) -> Option<Mean> {
    let changes: Vec<Change> = judged.filter_map(|(series, outcome, kind)| change(series, outcome, kind)).collect();
    let count = changes.len() as f64;
    if changes.is_empty() {
        return None;
    }
    let log = changes.iter().map(|one| one.log).sum::<f64>() / count;
    let reach: Option<Vec<(f64, f64)>> = changes.iter().map(|one| one.reach).collect();
    let interval = reach.and_then(|reach| {
        let joined = |side: fn(&(f64, f64)) -> f64| reach.iter().map(side).sum::<f64>() / count;
        let (down, up) = (joined(|one| one.0), joined(|one| one.1));
        (down + up > 0.0).then(|| ((log - down).exp_m1(), (log + up).exp_m1()))
    });
    Some(Mean { value: log.exp_m1(), interval })
}

fn change(series: &SeriesData, outcome: &Outcome<'_>, kind: Kind) -> Option<Change> {
    if !series.judged {
        return None;
    }
    let (log, reach) = match kind {
        Kind::Worse | Kind::Better => {
            let log = (1.0 + outcome.relative?).ln();
            (log, outcome.interval.map(|(low, high)| (log - (1.0 + low).ln(), (1.0 + high).ln() - log)))
        }
        Kind::Same => (0.0, unchanged(series, outcome)),
        Kind::Doubt | Kind::Environment | Kind::Missing => return None,
    };
    let reach = reach.filter(|(down, up)| down.is_finite() && up.is_finite());
    let one = match series.metric.better {
        Better::Lower => Change { log, reach },
        Better::Higher => Change { log: -log, reach: reach.map(|(down, up)| (up, down)) },
    };
    one.log.is_finite().then_some(one)
}

/// How far what is called unchanged may have moved down and up.
fn unchanged(series: &SeriesData, outcome: &Outcome<'_>) -> Option<(f64, f64)> {
    let noise = QUANTILE * std::f64::consts::SQRT_2 * series.deviation?;
    let (a, b) = (outcome.a?.value, outcome.b?.value);
    let moved = if a == b { 0.0 } else { (b / a).ln() };
    (!moved.is_nan()).then(|| ((noise - moved).max(0.0), (noise + moved).max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::super::data::Data;
    use super::super::rule::Through;
    use super::super::rule::Verdict;
    use super::*;
    use crate::catalog::Catalog;
    use crate::compare::segments::Segment;
    use crate::sample_data;

    use super::super::columns::Column;
    use crate::compare::columns::PointData;

    /// What is said of a series: the change and its interval, or none, and then what was measured, one after the other; its
    /// deviation; whether lower is better.
    type GivenChange = (Result<(f64, f64, f64), f64>, Option<f64>, bool);

    /// The mean of judged series.
    fn mean_of(result: &[GivenChange]) -> Option<Mean> {
        let sample = sample_data::rich();
        let heads = sample.heads();
        let any = Data::new(&Catalog::new(&sample.input(&heads))).series.swap_remove(0);
        let column = Column { column: 0, number: 0, environment: "e".into() };
        let point = |value: f64| PointData { of: column.clone().into(), value, spread: None };
        let points: Vec<[PointData; 2]> =
            result.iter().map(|(change, ..)| [point(2.0), point(2.0 * change.err().unwrap_or(1.0))]).collect();
        let one = |((change, deviation, lower), points): (&GivenChange, &'_ [PointData; 2])| {
            let mut series =
                SeriesData { judged: true, deviation: *deviation, levels: Vec::<Segment>::new(), ..any.clone() };
            series.metric.better = if *lower { Better::Lower } else { Better::Higher };
            (series, change.ok(), points.clone())
        };
        let all: Vec<_> = result.iter().zip(&points).map(one).collect();
        let outcomes: Vec<(&SeriesData, Outcome<'_>, Kind)> = all
            .iter()
            .map(|(series, change, points)| {
                let verdict = change.map_or(Verdict::Same { came_back: false }, |_| Verdict::Changed(Through::One(0)));
                let outcome = Outcome {
                    verdict,
                    a: Some(&points[0]),
                    b: Some(&points[1]),
                    before: None,
                    after: None,
                    relative: change.map(|(change, ..)| change),
                    interval: change.map(|(_, low, high)| (low, high)),
                    as_of: [None; 2],
                };
                (series, outcome, if change.is_some() { Kind::Worse } else { Kind::Same })
            })
            .collect();
        mean(outcomes.iter().map(|(series, outcome, kind)| (*series, outcome, *kind)))
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn the_mean_of_one_change_has_its_interval() {
        let mean = mean_of(&[(Ok((0.1, 0.08, 0.13)), None, true)]).expect("there is one");
        let (low, high) = mean.interval.expect("it has one");
        assert!(near(mean.value, 0.1) && near(low, 0.08) && near(high, 0.13));
        // Where higher is better, half the rate is twice the time.
        let mean = mean_of(&[(Ok((-0.5, -0.6, -0.2)), None, false)]).expect("there is one");
        let (low, high) = mean.interval.expect("it has one");
        assert!(near(mean.value, 1.0) && near(low, 0.25) && near(high, 1.5));
    }

    #[test]
    fn series_may_err_together() {
        let four = mean_of(&[(Ok((0.21, 0.1, 0.331)), None, true); 4]).expect("there are four");
        let (low, high) = four.interval.expect("it has one");
        assert!(near(four.value, 0.21) && near(low, 0.1) && near(high, 0.331));
        // Of two, one that did not move reaches by its noise, and the mean by half of both.
        let mixed =
            mean_of(&[(Ok((0.21, 0.1, 0.331)), None, true), (Err(1.0), Some(0.01), true)]).expect("there are two");
        let (low, high) = mixed.interval.expect("it has one");
        let half = ((1.1f64.ln() + QUANTILE * 2f64.sqrt() * 0.01) / 2.0).exp();
        assert!(near(mixed.value, 0.1) && near(low, 1.1 / half - 1.0) && near(high, 1.1 * half - 1.0));
    }

    #[test]
    fn what_is_not_told_yet_is_in_the_interval() {
        // All got a third slower at the newest commit, of which one point says little: each is called unchanged.
        let mean = mean_of(&[(Err(1.3), Some(0.01), true); 5]).expect("there are five");
        let (low, high) = mean.interval.expect("it has one");
        let noise = (QUANTILE * 2f64.sqrt() * 0.01).exp();
        assert!(near(mean.value, 0.0) && near(low, 0.0) && near(high, 1.3 * noise - 1.0), "{low} {high}");
        // Where higher is better, three quarters of the rate are a third more.
        let mean = mean_of(&[(Err(0.75), Some(0.0), false)]).expect("there is one");
        assert!(mean.interval.is_some_and(|(low, high)| near(low, 0.0) && near(high, 1.0 / 0.75 - 1.0)));
    }

    #[test]
    fn without_the_interval_of_one_there_is_none_of_the_mean() {
        let none = Some(Mean { value: 0.0, interval: None });
        assert_eq!(mean_of(&[(Err(1.0), None, true), (Err(1.0), Some(0.1), true)]), none);
        assert_eq!(mean_of(&[(Err(1.0), Some(0.0), true)]), none);
        assert_eq!(mean_of(&[(Err(-1.0), Some(0.1), true)]), none);
        assert_eq!(mean_of(&[(Err(-1.0), Some(0.1), true), (Err(1.0), Some(0.1), true)]), none);
        assert_eq!(mean_of(&[]), None);
    }
}

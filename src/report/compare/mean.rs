//! The geometric mean of the changes of some series, with what is known of it.

use super::data::SeriesData;
use super::rule::Outcome;
use super::words::Kind;
use crate::model::metric::Better;

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

/// The mean over the judged series that have a verdict. One without change counts as unchanged, and its change may be as large as
/// the smallest that shows, either way. The intervals of the changes are joined as independent, each by how far it reaches to either
/// side (the method of variance estimates recovery: Zou and Donner, Statistics in Medicine 27, 2008).
pub(super) fn mean<'a>(told: impl Iterator<Item = (&'a SeriesData, &'a Outcome<'a>, Kind)>) -> Option<Mean> {
    let changes: Vec<Change> = told.filter_map(|(series, outcome, kind)| change(series, outcome, kind)).collect();
    let count = changes.len() as f64;
    if changes.is_empty() {
        return None;
    }
    let log = changes.iter().map(|one| one.log).sum::<f64>() / count;
    let reach: Option<Vec<(f64, f64)>> = changes.iter().map(|one| one.reach).collect();
    let interval = reach.and_then(|reach| {
        let joined =
            |side: fn(&(f64, f64)) -> f64| reach.iter().map(side).map(|one| one * one).sum::<f64>().sqrt() / count;
        let (down, up) = (joined(|one| one.0), joined(|one| one.1));
        (down + up > 0.0).then(|| ((log - down).exp_m1(), (log + up).exp_m1()))
    });
    Some(Mean { value: log.exp_m1(), interval })
}

fn change(series: &SeriesData, outcome: &Outcome<'_>, kind: Kind) -> Option<Change> {
    if !series.judged {
        return None;
    }
    let (change, ends) = match kind {
        Kind::Worse | Kind::Better => (outcome.relative?, outcome.interval),
        Kind::Same => (0.0, series.shows.map(|shows| (1.0 / (1.0 + shows) - 1.0, shows))),
        Kind::Doubt | Kind::Environment | Kind::Missing => return None,
    };
    let log = (1.0 + change).ln();
    let ends = ends.map(|(low, high)| (log - (1.0 + low).ln(), (1.0 + high).ln() - log));
    let reach = ends.filter(|(down, up)| down.is_finite() && up.is_finite());
    let one = match series.metric.better {
        Better::Lower => Change { log, reach },
        Better::Higher => Change { log: -log, reach: reach.map(|(down, up)| (up, down)) },
    };
    one.log.is_finite().then_some(one)
}

#[cfg(test)]
mod tests {
    use super::super::data::{Data, Stretch};
    use super::super::rule::{Through, Verdict};
    use super::*;
    use crate::report::catalog::Catalog;
    use crate::report::sample_data;

    /// What is said of a series: the change and its interval, or none; the smallest that shows; whether lower is better.
    type Told = (Option<(f64, f64, f64)>, Option<f64>, bool);

    /// The mean of judged series.
    fn of(told: &[Told]) -> Option<Mean> {
        let sample = sample_data::rich();
        let heads = sample.heads();
        let any = Data::of(&Catalog::new(&sample.input(&heads))).series.swap_remove(0);
        let series: Vec<SeriesData> = told
            .iter()
            .map(|(_, shows, lower)| {
                let mut one = SeriesData { judged: true, shows: *shows, levels: Vec::<Stretch>::new(), ..any.clone() };
                one.metric.better = if *lower { Better::Lower } else { Better::Higher };
                one
            })
            .collect();
        let outcomes: Vec<(Outcome<'_>, Kind)> = told
            .iter()
            .map(|(change, ..)| {
                let verdict = change.map_or(Verdict::Same { came_back: false }, |_| Verdict::Changed(Through::One(0)));
                let outcome = Outcome {
                    verdict,
                    a: None,
                    b: None,
                    before: None,
                    after: None,
                    relative: change.map(|(change, ..)| change),
                    interval: change.map(|(_, low, high)| (low, high)),
                };
                (outcome, if change.is_some() { Kind::Worse } else { Kind::Same })
            })
            .collect();
        mean(series.iter().zip(&outcomes).map(|(series, (outcome, kind))| (series, outcome, *kind)))
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-12
    }

    #[test]
    fn the_mean_of_one_change_has_its_interval() {
        let mean = of(&[(Some((0.1, 0.08, 0.13)), None, true)]).expect("there is one");
        let (low, high) = mean.interval.expect("it has one");
        assert!(near(mean.value, 0.1) && near(low, 0.08) && near(high, 0.13));
        // Where higher is better, half the rate is twice the time.
        let mean = of(&[(Some((-0.5, -0.6, -0.2)), None, false)]).expect("there is one");
        let (low, high) = mean.interval.expect("it has one");
        assert!(near(mean.value, 1.0) && near(low, 0.25) && near(high, 1.5));
    }

    #[test]
    fn intervals_are_joined_as_independent_and_grow_narrower_with_their_number() {
        let four = of(&[(Some((0.21, 0.1, 0.331)), None, true); 4]).expect("there are four");
        let (low, high) = four.interval.expect("it has one");
        // Each reaches by ln(1.1) to either side: the mean by half of that.
        assert!(
            near(four.value, 0.21) && near(low, 1.21 / 1.1f64.sqrt() - 1.0) && near(high, 1.21 * 1.1f64.sqrt() - 1.0)
        );
        // What is not told may be as large as the smallest that shows.
        let mixed = of(&[(Some((0.21, 0.1, 0.331)), None, true), (None, Some(0.1), true)]).expect("there are two");
        let (low, high) = mixed.interval.expect("it has one");
        let half = (2f64.sqrt() * 1.1f64.ln() / 2.0).exp();
        assert!(near(mixed.value, 0.1) && near(low, 1.1 / half - 1.0) && near(high, 1.1 * half - 1.0));
    }

    #[test]
    fn without_the_interval_of_one_there_is_none_of_the_mean() {
        assert_eq!(of(&[(None, None, true), (None, Some(0.1), true)]), Some(Mean { value: 0.0, interval: None }));
        assert_eq!(of(&[(None, Some(0.0), true)]), Some(Mean { value: 0.0, interval: None }));
        assert_eq!(of(&[]), None);
    }
}

//! How two levels of a series stand to each other, and what lies between them.

use super::data::{SeriesData, Stretch};

/// What lies between two levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    /// One change, at the commit of that number.
    One(usize),
    /// One drift, from the commit of a number, and over at that of another.
    Drift(usize, usize),
    /// A drift and other changes.
    Drifts,
    Several(usize),
}

/// How two levels stand to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    /// What is told: -1 and 1 are a change down and up, 0 is none.
    pub(super) sign: i8,
    /// The other level over the one, less 1.
    pub(super) relative: Option<f64>,
    pub(super) interval: Option<(f64, f64)>,
}

/// How two levels stand to each other, at commits so many apart; nothing where one of them drifts, or a drift lies between and comes
/// to nothing that is clear. Where a drift is all that there is, what it moves between them may be less than counts.
pub(super) fn between(series: &SeriesData, from: usize, to: usize, apart: usize) -> Option<Judged> {
    let (low, high) = (from.min(to), from.max(to));
    let stretches = &series.levels[low..=high];
    if series.changes[low..high].iter().all(|step| step.is_edge) && is_slow(stretches, apart, series.least) {
        return Some(Judged { sign: 0, relative: None, interval: None });
    }
    let (a, b) = (series.levels[from].level()?, series.levels[to].level()?);
    let sign = if b[0] > a[0] { 1 } else { -1 };
    if from.abs_diff(to) == 1 {
        let told = series.changes[from.min(to)].relative;
        let told = if from < to { told } else { told.and_then(turned) };
        return Some(match told {
            Some([value, lower, upper]) => Judged { sign, relative: Some(value), interval: Some((lower, upper)) },
            None => Judged { sign, relative: None, interval: None },
        });
    }
    let relative = (a[0] > 0.0).then(|| b[0] / a[0] - 1.0);
    let counts = relative.is_none_or(|size| size.abs() >= series.least);
    let clear = if b[0] > a[0] {
        b[0] - a[0] > (a[2] - a[0]).hypot(b[0] - b[1])
    } else {
        a[0] - b[0] > (a[0] - a[1]).hypot(b[2] - b[0])
    };
    // What drifts and comes to nothing that is clear, nobody can call unchanged.
    if !(clear && counts) && series.changes[low..high].iter().any(|step| step.is_edge) {
        return None;
    }
    let interval = (a[1] > 0.0 && b[1] > 0.0).then(|| {
        let ratio = (b[0] / a[0]).ln();
        let down = (b[0] / b[1]).ln().hypot((a[2] / a[0]).ln());
        let up = (b[2] / b[0]).ln().hypot((a[0] / a[1]).ln());
        ((ratio - down).exp_m1(), (ratio + up).exp_m1())
    });
    Some(Judged { sign: if clear && counts { sign } else { 0 }, relative, interval })
}

/// A relative change seen from the other side.
fn turned([value, lower, upper]: [f64; 3]) -> Option<[f64; 3]> {
    let turn = |one: f64| 1.0 / (1.0 + one) - 1.0;
    (lower > -1.0).then(|| [turn(value), turn(upper), turn(lower)])
}

/// What lies between two levels, the earlier one first.
pub(super) fn through(series: &SeriesData, low: usize, high: usize) -> Through {
    let at = |step: usize| series.changes[step].at.number;
    match high - low {
        1 => Through::One(at(low)),
        _ if is_one_drift(series, low, high) => Through::Drift(at(low), at(low + 1)),
        _ if series.levels[low + 1..high].iter().any(|stretch| stretch.level().is_none()) => Through::Drifts,
        steps => Through::Several(steps),
    }
}

/// Whether what lies between two levels, the earlier one first, is a drift and nothing else: no change leads into it or out of it.
fn is_one_drift(series: &SeriesData, low: usize, high: usize) -> bool {
    high == low + 2
        && series.levels[low + 1].level().is_none()
        && series.changes[low..high].iter().all(|step| step.is_edge)
}

/// Whether nothing that lies in those stretches moves as much as counts between commits so many apart: one level, or drifts by their
/// pace.
fn is_slow(stretches: &[Stretch], apart: usize, least: f64) -> bool {
    stretches.iter().all(|stretch| match stretch {
        Stretch::Level(_) => true,
        Stretch::Drift(pace) => pace.is_some_and(|pace| pace * (apart as f64) < least),
    })
}

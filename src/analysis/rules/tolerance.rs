//! The rule `tolerance`: a fixed allowance on a stored value.
//!
//! `allowed = value * (1 + ratio) + abs`, evaluated in that order in double precision; a metric of which less is
//! better fails when `current > allowed`. The order matters at the border: 0.35, 0.6 and 0.25 allow
//! 0.8099999999999999, so 0.81 fails. A metric of which more is better follows the same formula with the two
//! sides exchanged: it fails when `value > current * (1 + ratio) + abs`. An allowance of more than a hundred times the value
//! is a slip of the unit, and decides nothing.

use super::power;
use sprag_model::evidence::Decision;
use sprag_model::rule::MOST_FACTOR;
use sprag_model::{Better, Effect, TwoSides, Verdict};

pub fn decide(ratio: f64, abs: f64, evidence: &TwoSides) -> Decision {
    let (value, current, interval) = (evidence.base.value, evidence.current.value, evidence.current.interval);
    let worst_of = |base: f64| base * (1.0 + ratio) + abs;
    let (passes, improves, allowed) = match evidence.better {
        Better::Lower => (current <= worst_of(value), value > worst_of(current), worst_of(value)),
        Better::Higher => (value <= worst_of(current), current > worst_of(value), (value - abs) / (1.0 + ratio)),
    };
    let verdict = if value > 0.0 && abs > MOST_FACTOR * value {
        let times = (allowed / value).round();
        Verdict::NotComparable(format!(
            "`abs` allows {times:.0} times the value: its unit is that of the metric, such as s"
        ))
    } else if !passes {
        // Also reached by NaN, which no comparison lets pass.
        Verdict::Regressed
    } else if improves {
        Verdict::Improved
    } else {
        Verdict::Unchanged
    };
    let effect = Effect {
        change: current / value - 1.0,
        interval: interval.map(|(low, high)| (low / value - 1.0, high / value - 1.0)),
        // A change of the allowance alone is caught in half of all runs.
        detectable: interval
            .map(|interval| (allowed / value - 1.0).abs() + power::margin(power::error(interval)) / value),
    };
    Decision { allowed: Some(allowed), effect, verdict, p_value: None, note: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::Side;

    fn decided(better: Better, (value, ratio, abs): (f64, f64, f64), current: Side) -> Decision {
        decide(ratio, abs, &TwoSides::new(better, Side::once(value), current))
    }

    #[test]
    fn the_order_of_operations_decides_at_the_border() {
        let check = |value, ratio, abs, current, expected: Verdict| {
            assert_eq!(decided(Better::Lower, (value, ratio, abs), Side::once(current)).verdict, expected, "{current}");
        };
        check(0.35, 0.6, 0.25, 0.81, Verdict::Regressed);
        check(0.35, 0.6, 0.25, 0.8099999999999999, Verdict::Unchanged);
        check(2.0, 0.5, 0.25, 3.25, Verdict::Unchanged);
        check(2.0, 0.5, 0.25, 3.2500000000000004, Verdict::Regressed);
        check(1.0, 0.0, 0.0, 1.0, Verdict::Unchanged);
        check(1.0, 0.25, 0.0, 0.79, Verdict::Improved);
        check(1.0, 0.25, 0.0, 0.8, Verdict::Unchanged);
        check(1.0, 0.25, 0.0, f64::NAN, Verdict::Regressed);
        check(1.0, 0.25, 0.0, f64::INFINITY, Verdict::Regressed);
    }

    #[test]
    fn more_is_better_turns_the_sides() {
        let check = |current, expected: Verdict| {
            assert_eq!(decided(Better::Higher, (100.0, 0.25, 0.0), Side::once(current)).verdict, expected, "{current}");
        };
        check(80.0, Verdict::Unchanged);
        check(79.0, Verdict::Regressed);
        check(125.0, Verdict::Unchanged);
        check(126.0, Verdict::Improved);
        check(f64::NAN, Verdict::Regressed);
        let decision = decided(Better::Higher, (100.0, 0.25, 0.0), Side::once(90.0));
        assert_eq!(decision.allowed, Some(80.0));
        assert_eq!(decision.effect.detectable, None);
    }

    #[test]
    fn the_effect_is_relative_to_the_baseline() {
        let decision = decided(Better::Lower, (2.0, 0.1, 0.0), Side { interval: Some((2.0, 2.2)), ..Side::once(2.1) });
        assert!((decision.effect.change - 0.05).abs() < 1e-12);
        let (low, high) = decision.effect.interval.expect("an interval was given");
        assert!(low.abs() < 1e-12 && (high - 0.1).abs() < 1e-12);
        // The tolerance of 10 %, and 0.8416 of the standard error of 5 % / 1.96.
        let detectable = decision.effect.detectable.expect("an interval was given");
        assert!((detectable - 0.121_470).abs() < 1e-6, "{detectable}");
    }
}

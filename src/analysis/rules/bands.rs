//! The rule `bands`: two bands of relative change, one that fails and one that is reported.
//!
//! `change = (current - base) / base`, evaluated in that order in double precision. Comparisons are strict: `change >
//! fail` has regressed, `change > warn` is in the warning band, `change < -warn` has improved. For a metric of which
//! more is better the two sides are exchanged. That is Trueno's rule, which [`report`] applies unchanged, to single
//! numbers.
//!
//! [`decide`] also looks at the intervals of both sides, where there are any. A regression or an improvement of which
//! they overlap is none, since one and the same program could give the same data. The interval of the change combines
//! those of the sides on a logarithmic scale. Each limit lies as far from the change as the root of the summed squares
//! of the two distances that reach that way. (Zou and Donner, "Construction of confidence limits about effect
//! measures", Statistics in Medicine 27, 2008.)

use std::collections::{BTreeMap, BTreeSet};

use super::power;
use sprag_base::number::percent;
use sprag_model::evidence::Decision;
use sprag_model::{Band, BandReport, BandRow, Better, Effect, Rule, Side, TwoSides, Verdict};

/// The rule as Trueno has it: 5 % fails, 2 % is reported.
pub const DEFAULT: Rule = Rule::Bands { fail: 0.05, warn: 0.02 };

pub fn change(base: f64, current: f64) -> f64 {
    (current - base) / base
}

/// The band in which a change for the worse lies; one for the better is below zero.
pub fn band(change: f64, fail: f64, warn: f64) -> Band {
    if change > fail {
        Band::Regressed
    } else if change > warn {
        Band::Warned
    } else if change < -warn {
        Band::Improved
    } else {
        Band::Unchanged
    }
}

/// Compares names with their nanoseconds, no name twice a side, by their numbers alone.
///
/// # Errors
/// A name whose base is zero, for which there is no relative change.
pub fn report(
    base: &[(String, f64)],
    current: &[(String, f64)],
    (fail, warn): (f64, f64),
) -> Result<BandReport, String> {
    let now: BTreeMap<&str, f64> = current.iter().map(|(name, nanos)| (name.as_str(), *nanos)).collect();
    let sorted: BTreeMap<&str, f64> = base.iter().map(|(name, nanos)| (name.as_str(), *nanos)).collect();
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for (name, base_nanos) in &sorted {
        let (name, base_nanos) = ((*name).to_owned(), *base_nanos);
        match now.get(name.as_str()) {
            Some(_) if base_nanos == 0.0 => return Err(name),
            Some(&current_nanos) => {
                let change = change(base_nanos, current_nanos);
                rows.push(BandRow { name, base_nanos, current_nanos, change, band: band(change, fail, warn) });
            }
            None => missing.push(name),
        }
    }
    let names: BTreeSet<&str> = sorted.into_keys().collect();
    let new = current.iter().filter(|(name, _)| !names.contains(name.as_str())).map(|(name, _)| name.clone()).collect();
    Ok(BandReport { fail, warn, rows, missing, new })
}

/// Judges one metric by its values and, where both sides have them, by their intervals.
///
/// A value that is not above zero, or is not a finite number, makes the verdict NotComparable; then the change is 0 and is
/// not to be shown.
pub fn decide(fail: f64, warn: f64, evidence: &TwoSides) -> Decision {
    let (base, current) = (&evidence.base, &evidence.current);
    if let Some(reason) = refusal(base, "baseline").or_else(|| refusal(current, "current value")) {
        let effect = Effect { change: 0.0, interval: None, detectable: None };
        return Decision { allowed: None, effect, verdict: Verdict::NotComparable(reason), p_value: None, note: None };
    }
    let (worsening, allowed) = match evidence.better {
        Better::Lower => (change(base.value, current.value), base.value * (1.0 + fail)),
        Better::Higher => (change(current.value, base.value), base.value / (1.0 + fail)),
    };
    let both = interval(base).zip(interval(current));
    let overlap = both.is_some_and(|(base, current)| base.0 <= current.1 && current.0 <= base.1);
    let percent = |share: f64| percent(share, 1);
    let worse = |limits: &str| format!("{} worse, {limits}", percent(worsening));
    let bands = format!("where {} warns and {} fails", percent(warn), percent(fail));
    let (verdict, note) = match band(worsening, fail, warn) {
        Band::Regressed if overlap => {
            let limit = format!("beyond the {} that are allowed", percent(fail));
            let reason = format!("{}, but the intervals of the two sides overlap: take more samples", worse(&limit));
            (Verdict::Inconclusive(reason), None)
        }
        Band::Regressed => (Verdict::Regressed, None),
        Band::Warned => (Verdict::Unchanged, Some(format!("in the warning band: {}", worse(&bands)))),
        Band::Improved if overlap => {
            let note = format!("{} better, but the intervals of the two sides overlap", percent(-worsening));
            (Verdict::Unchanged, Some(note))
        }
        Band::Improved => (Verdict::Improved, None),
        Band::Unchanged => (Verdict::Unchanged, None),
    };
    let effect = Effect {
        change: change(base.value, current.value),
        interval: both.map(|both| change_interval((base.value, both.0), (current.value, both.1))),
        detectable: interval(current).map(|now| {
            // The change must leave the band, and the intervals, which go along with their values, must part.
            let ends = |side: &Side, (low, high): (f64, f64)| (low / side.value, high / side.value);
            let (least, most) = ends(current, now);
            let apart = interval(base).map(|then| ends(base, then)).map_or(0.0, |then| match evidence.better {
                Better::Lower => then.1 / least - 1.0,
                Better::Higher => 1.0 - then.0 / most,
            });
            (allowed / base.value - 1.0).abs().max(apart) + power::margin(power::error(now)) / current.value
        }),
    };
    Decision { allowed: Some(allowed), effect, verdict, p_value: None, note }
}

/// Why a side gives no relative change, if that is so.
fn refusal(side: &Side, what: &str) -> Option<String> {
    let fine = side.value.is_finite() && side.value > 0.0;
    (!fine).then(|| format!("the {what} is {}, and a relative change needs a value above zero", side.value))
}

/// The interval of a side, where it has one that a ratio can be taken of.
fn interval(side: &Side) -> Option<(f64, f64)> {
    side.interval.filter(|(low, high)| *low > 0.0 && low <= high && high.is_finite())
}

/// The interval of the change from one value to the other, each with its own.
fn change_interval(base: (f64, (f64, f64)), current: (f64, (f64, f64))) -> (f64, f64) {
    let reach = |value: f64, limit: f64| (limit / value).ln();
    let (base_low, base_high) = (reach(base.0, base.1.0), reach(base.0, base.1.1));
    let (now_low, now_high) = (reach(current.0, current.1.0), reach(current.0, current.1.1));
    let ratio = current.0 / base.0;
    (ratio * (-now_low.hypot(base_high)).exp() - 1.0, ratio * now_high.hypot(base_low).exp() - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(value: f64, interval: Option<(f64, f64)>) -> Side {
        Side { value, interval, ..Side::default() }
    }

    fn judged(better: Better, base: f64, current: f64) -> Decision {
        decide(0.05, 0.02, &TwoSides::new(better, side(base, None), side(current, None)))
    }

    #[test]
    fn the_bands_are_strict_and_in_the_order_of_operations() {
        let check = |base: f64, current: f64, expected: Band| {
            assert_eq!(band(change(base, current), 0.05, 0.02), expected, "{base} {current}");
        };
        // Exactly 5 % and 2 % more to the digit: rounding decides.
        check(61.2, 64.26, Band::Regressed);
        check(90.2, 94.71, Band::Warned);
        check(51.4, 52.428, Band::Unchanged);
        check(85.6, 87.312, Band::Warned);
        check(61.7, 60.466, Band::Improved);
        check(89.7, 87.906, Band::Unchanged);
        check(1.0, f64::NAN, Band::Unchanged);
    }

    #[test]
    fn sides_are_compared_by_name() {
        let side = |list: &[(&str, f64)]| list.iter().map(|(name, ns)| ((*name).to_owned(), *ns)).collect::<Vec<_>>();
        let report_of = report(
            &side(&[("b", 10.0), ("a", 10.0), ("gone", 0.0)]),
            &side(&[("z", 1.0), ("a", 10.0), ("b", 11.0), ("y", 1.0)]),
            (0.05, 0.02),
        )
        .expect("what is compared is not zero");
        assert_eq!(report_of.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((report_of.missing, report_of.new), (vec!["gone".to_owned()], vec!["z".to_owned(), "y".to_owned()]));
        assert_eq!(report(&side(&[("a", 0.0)]), &side(&[("a", 1.0)]), (0.05, 0.02)), Err("a".to_owned()));
    }

    #[test]
    fn values_alone_are_judged_by_the_bands() {
        let check = |better: Better, current: f64, expected: Verdict, has_note: bool| {
            let decision = judged(better, 100.0, current);
            assert_eq!((decision.verdict, decision.note.is_some()), (expected, has_note), "{better:?} {current}");
        };
        check(Better::Lower, 105.1, Verdict::Regressed, false);
        check(Better::Lower, 104.9, Verdict::Unchanged, true);
        check(Better::Lower, 101.9, Verdict::Unchanged, false);
        check(Better::Lower, 97.9, Verdict::Improved, false);
        check(Better::Higher, 95.1, Verdict::Regressed, false);
        check(Better::Higher, 95.3, Verdict::Unchanged, true);
        check(Better::Higher, 98.1, Verdict::Unchanged, false);
        check(Better::Higher, 102.1, Verdict::Improved, false);
        let note = judged(Better::Lower, 100.0, 103.0).note.expect("it is in the warning band");
        assert_eq!(note, "in the warning band: 3.0 % worse, where 2.0 % warns and 5.0 % fails");
        assert_eq!(judged(Better::Lower, 100.0, 103.0).allowed, Some(105.0));
    }

    #[test]
    fn intervals_that_overlap_decide_nothing() {
        let check = |base: (f64, f64), current: (f64, f64), better: Better, expected: &str| {
            let middle = |(low, high): (f64, f64)| (low + high) / 2.0;
            let evidence = TwoSides::new(better, side(middle(base), Some(base)), side(middle(current), Some(current)));
            let decision = decide(0.05, 0.02, &evidence);
            assert_eq!(decision.verdict.word(), expected, "{decision:?}");
            let (low, high) = decision.effect.interval.expect("both sides have one");
            assert!(low <= decision.effect.change && decision.effect.change <= high);
            decision
        };
        let torn = check((90.0, 110.0), (100.0, 120.0), Better::Lower, "inconclusive");
        assert_eq!(
            torn.verdict.reason(),
            Some(
                "10.0 % worse, beyond the 5.0 % that are allowed, but the intervals of the two sides overlap: take more \
                 samples"
            )
        );
        check((99.0, 101.0), (109.0, 111.0), Better::Lower, "regressed");
        check((99.0, 101.0), (109.0, 111.0), Better::Higher, "improved");
        check((99.0, 101.0), (89.0, 91.0), Better::Higher, "regressed");
        assert!(check((90.0, 110.0), (85.0, 95.0), Better::Lower, "unchanged").note.is_some());
        check((99.0, 101.0), (89.0, 91.0), Better::Lower, "improved");
        // Two sides of 1 % each: the change is known to the root of two of that.
        let decision = check((99.0, 101.0), (99.0, 101.0), Better::Lower, "unchanged");
        let (low, high) = decision.effect.interval.expect("both sides have one");
        assert!((low + 0.0141).abs() < 2e-4 && (high - 0.0141).abs() < 2e-4, "{low} {high}");
        // The band of 5 %, and 0.8416 of the standard error of 1 % / 1.96.
        assert!(decision.effect.detectable.is_some_and(|size| (size - 0.054_294).abs() < 1e-6));
    }

    #[test]
    fn what_has_no_share_is_refused() {
        let check = |base: f64, current: f64, words: &str| {
            let decision = judged(Better::Lower, base, current);
            let Verdict::NotComparable(reason) = decision.verdict else { panic!("{base} {current} is compared") };
            assert!(reason.contains(words), "{reason}");
            assert_eq!((decision.allowed, decision.effect.change), (None, 0.0));
        };
        check(0.0, 1.0, "the baseline is 0, and");
        check(-2.0, 1.0, "the baseline is -2");
        check(f64::NAN, 1.0, "the baseline is NaN");
        check(1.0, 0.0, "the current value is 0");
        check(1.0, f64::INFINITY, "the current value is inf");
    }
}

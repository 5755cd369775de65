//! Numbers as pages print them: U+2212 for minus, U+202F before a unit and between thousands, an en dash for none.

use sprag_base::stats::describe;
use sprag_model::Scale;
use sprag_model::unit::significant;

pub const NARROW: char = '\u{202f}';

pub const NONE: &str = "–";

/// The steps to which an estimated size is rounded up: the numbers of R10 (ISO 3) in two digits at most.
const STEPS: [f64; 10] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];

/// Beyond these a plain number is longer than anyone reads, or mostly zeros: it has an exponent.
const PLAIN: std::ops::Range<f64> = 1e-6..1e9;

/// From here on a change is a factor; below, it rounds to less than 1000 %.
const AS_FACTOR: f64 = 9.995;

/// From here on a factor has an exponent.
const PLAIN_FACTOR_BELOW: f64 = 1e6;

/// A change with its sign, such as `+8.1 %`; from a thousand percent on a factor, such as `x13.3`.
pub fn percent(change: f64) -> String {
    if !change.is_finite() {
        return NONE.to_owned();
    }
    factor(change).unwrap_or_else(|| format!("{}{NARROW}%", signed(change)))
}

/// A change of a thousand percent and more as a factor; `None` for a smaller one.
pub(crate) fn factor(change: f64) -> Option<String> {
    if !change.is_finite() || change < AS_FACTOR {
        return None;
    }
    let factor = 1.0 + change;
    Some(match factor {
        _ if factor >= PLAIN_FACTOR_BELOW => format!("x{factor:.1e}"),
        _ if factor >= 99.95 => format!("x{factor:.0}"),
        _ => format!("x{factor:.1}"),
    })
}

pub fn percent_size(share: f64) -> String {
    if !share.is_finite() {
        return NONE.to_owned();
    }
    factor(share.abs()).unwrap_or_else(|| format!("{}{NARROW}%", signed(share.abs()).trim_start_matches('+')))
}

/// An interval of changes, such as `+7.6 to +8.6`, without the percent sign.
pub fn percent_interval((low, high): (f64, f64)) -> String {
    let bound = |bound: f64| match bound.is_finite() {
        true => factor(bound).unwrap_or_else(|| signed(bound)),
        false => NONE.to_owned(),
    };
    format!("{} to {}", bound(low), bound(high))
}

/// How many times as large something is, such as `×4.1`.
pub fn times(factor: f64) -> String {
    if !factor.is_finite() {
        return NONE.to_owned();
    }
    let decimals = usize::from(factor < 9.95);
    format!("×{}", thousands(&format!("{factor:.decimals$}")))
}

pub fn count(n: usize) -> String {
    thousands(&n.to_string())
}

/// An estimated size, rounded up to one of ten steps to a power of ten, so that another point seldom changes it.
pub fn step_up(size: f64) -> f64 {
    if !size.is_normal() || size < 0.0 {
        return size;
    }
    let unit = 10f64.powi(size.log10().floor() as i32);
    let step = STEPS.into_iter().find(|step| size <= step * unit * (1.0 + f64::EPSILON * 8.0));
    step.map_or(10.0 * unit, |step| step * unit)
}

/// A minimum detectable effect as every page shows it: [`step_up`].
pub fn detectable(size: f64) -> String {
    percent_size(step_up(size))
}

/// What a value is in words, or [`NONE`].
pub(crate) fn or_none<T>(value: Option<T>, words: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), words)
}

/// How many of all are beyond the first so many, such as `3 more`; empty where there are none.
pub(crate) fn beyond(all: usize, most: usize, words: &str) -> String {
    match all.saturating_sub(most) {
        0 => String::new(),
        more => format!("{} {words}", count(more)),
    }
}

/// The counts that are not zero, each with its words.
pub(crate) fn nonzero(counts: &[(usize, &str)]) -> Vec<String> {
    let present = counts.iter().filter(|(n, _)| *n > 0);
    present.map(|(n, words)| format!("{} {words}", count(*n))).collect()
}

/// The smallest, the median and the largest; `None` of none.
pub fn range(values: impl Iterator<Item = f64>) -> Option<[f64; 3]> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    Some([*values.first()?, describe::median_of_sorted(&values)?, *values.last()?])
}

pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

pub fn value(scale: Scale, value: f64) -> String {
    let shown = value / scale.factor;
    if !shown.is_finite() {
        return NONE.to_owned();
    }
    if shown != 0.0 && !PLAIN.contains(&shown.abs()) {
        return typeset(&format!("{shown:.3e}"));
    }
    typeset(&scale.number(value))
}

pub fn interval(scale: Scale, (low, high): (f64, f64)) -> String {
    format!("{} to {}", value(scale, low), value(scale, high))
}

/// A value with three digits, without the unit.
pub fn short_value(scale: Scale, value: f64) -> String {
    let shown = value / scale.factor;
    if !shown.is_finite() || (shown != 0.0 && !PLAIN.contains(&shown.abs())) {
        return self::value(scale, value);
    }
    typeset(&significant(shown, 3))
}

pub fn short_quantity(scale: Scale, value: f64) -> String {
    with_unit(scale, short_value(scale, value))
}

pub fn quantity(scale: Scale, number: f64) -> String {
    with_unit(scale, value(scale, number))
}

fn with_unit(scale: Scale, value: String) -> String {
    if scale.symbol.is_empty() { value } else { format!("{value}{NARROW}{}", scale.symbol) }
}

pub fn fixed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    if text.len() > 24 { typeset(&format!("{number:.3e}")) } else { typeset(&text) }
}

/// A number of any size in two digits, such as `1.2e−7`.
pub fn rough(number: f64) -> String {
    format!("{number:.1e}").replace('-', "\u{2212}")
}

/// The name of a column of values: `Newest, ms`, or only `Newest` where they have no unit.
pub fn column(name: &str, scale: Scale) -> String {
    if scale.symbol.is_empty() { name.to_owned() } else { format!("{name}, {}", scale.symbol) }
}

fn signed(change: f64) -> String {
    let percent = change * 100.0;
    let digits = thousands(&format!("{:.1}", percent.abs()));
    match (is_zero(&digits), percent < 0.0) {
        (true, _) => digits,
        (false, true) => format!("\u{2212}{digits}"),
        (false, false) => format!("+{digits}"),
    }
}

fn typeset(plain: &str) -> String {
    match plain.strip_prefix('-') {
        Some(digits) if is_zero(digits) => digits.to_owned(),
        Some(digits) => format!("\u{2212}{}", thousands(digits)),
        None => thousands(plain),
    }
}

fn is_zero(digits: &str) -> bool {
    digits.chars().all(|c| matches!(c, '0' | '.'))
}

fn thousands(digits: &str) -> String {
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (overall, rest) = digits.split_at(end);
    let mut text = String::with_capacity(digits.len() + 8);
    for (position, digit) in overall.chars().enumerate() {
        if position > 0 && (overall.len() - position) % 3 == 0 {
            text.push(NARROW);
        }
        text.push(digit);
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::Unit;

    #[test]
    fn an_estimated_size_has_few_steps() {
        for (size, expected) in [
            (0.0, 0.0),
            (0.004, 0.004),
            (0.0041, 0.005),
            (0.022, 0.025),
            (0.03, 0.03),
            (0.1, 0.1),
            (0.119, 0.12),
            (0.81, 1.0),
            (3.0, 3.0),
        ] {
            assert!((step_up(size) - expected).abs() <= 1e-12 * expected, "{size}: {}", step_up(size));
        }
        assert!(step_up(f64::NAN).is_nan() && step_up(f64::INFINITY).is_infinite());
    }

    #[test]
    fn changes_have_a_sign_and_no_false_precision() {
        for (change, expected) in [
            (0.081, "+8.1\u{202f}%"),
            (-0.124, "\u{2212}12.4\u{202f}%"),
            (-0.0004, "0.0\u{202f}%"),
            (9.99, "+999.0\u{202f}%"),
            (9.996, "x11.0"),
            (98.96, "x100"),
            (2.9e17, "x2.9e17"),
            (f64::NAN, NONE),
            (f64::INFINITY, NONE),
        ] {
            assert_eq!(percent(change), expected);
        }
        assert_eq!((percent_size(20.0), percent_size(-0.0141)), ("x21.0".to_owned(), "1.4\u{202f}%".to_owned()));
        assert_eq!(percent_interval((0.5, 1e20)), "+50.0 to x1.0e20");
        assert_eq!(percent_interval((-0.005, 0.086)), "\u{2212}0.5 to +8.6");
        let times = [0.04, 2.13, 9.96, 12_345.6, f64::NAN].map(times);
        assert_eq!(times, ["×0.0", "×2.1", "×10", "×12\u{202f}346", NONE]);
    }

    #[test]
    fn values_have_four_digits_and_thousands() {
        for (value, typical, expected) in [
            (0.001297, 0.001, "1.297\u{202f}ms"),
            (21.7404, 0.001, "21\u{202f}740\u{202f}ms"),
            (-0.0012, 0.001, "\u{2212}1.200\u{202f}ms"),
            (1e300, 1.0, "1.000e300\u{202f}s"),
            (1e-12, 1.0, "1.000e-12\u{202f}s"),
            (-0.0, 0.0, "0\u{202f}ns"),
        ] {
            assert_eq!(quantity(Unit::Second.scale(typical), value), expected);
        }
        assert_eq!((fixed(-0.004, 2), fixed(-0.006, 2)), ("0.00".to_owned(), "\u{2212}0.01".to_owned()));
        assert_eq!((count(1_388_204), counted(1, "run", "runs")), ("1\u{202f}388\u{202f}204".into(), "1 run".into()));
        assert_eq!(column("Newest", Unit::One.scale(1.0)), "Newest");
    }
}

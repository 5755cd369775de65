//! Numbers as pages print them: U+2212 for minus, U+202F before a unit and between thousands, an en dash for none.

use sprag_model::unit::{Scale, significant};

/// The narrow no-break space before a unit and between thousands.
pub const NARROW: char = '\u{202f}';

/// What is shown where there is no number.
pub const NONE: &str = "–";

/// From here on a [`rough_count`] goes by steps.
const ROUGH_FROM: usize = 10;

/// The steps of a size that was estimated: the numbers of R10 (ISO 3) in two digits at most, as pages show them.
const STEPS: [f64; 10] = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];

/// From here on plain digits are longer than anyone reads, so the number is written with an exponent.
const PLAIN_BELOW: f64 = 1e9;

/// From here on a change is a factor; below, it rounds to less than 1000 %.
const AS_FACTOR: f64 = 9.995;

/// From here on a factor is written with an exponent.
const PLAIN_FACTOR_BELOW: f64 = 1e6;

/// Below this a plain number is mostly zeros.
const PLAIN_FROM: f64 = 1e-6;

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

/// A share or a size without a sign, such as `8.1 %`.
pub fn percent_size(share: f64) -> String {
    if !share.is_finite() {
        return NONE.to_owned();
    }
    factor(share.abs()).unwrap_or_else(|| format!("{}{NARROW}%", signed(share.abs()).trim_start_matches('+')))
}

/// An interval of changes, such as `+7.6 to +8.6`; the head of its column says that it is in percent.
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

/// A count with thousands apart.
pub fn count(n: usize) -> String {
    thousands(&n.to_string())
}

/// A count of what grows with every run, of which a reader asks whether it is large: exact while it is small, then by steps, so
/// that a page that shows it stays as it is: `100+`, which is a hundred or more.
pub fn rough_count(n: usize) -> String {
    let tens = std::iter::successors(Some(1), |ten: &usize| ten.checked_mul(10));
    let steps = tens.flat_map(|ten| [1, 2, 5].map(|times| ten.saturating_mul(times)));
    let step = steps.filter(|step| (ROUGH_FROM..=n).contains(step)).max();
    match step {
        Some(step) => format!("{}+", count(step)),
        None => count(n),
    }
}

/// A size that was estimated, up to the next of ten steps to a power of ten: another point seldom changes it, and less is known of it.
pub fn step_up(size: f64) -> f64 {
    if !size.is_normal() || size < 0.0 {
        return size;
    }
    let unit = 10f64.powi(size.log10().floor() as i32);
    let step = STEPS.into_iter().find(|step| size <= step * unit * (1.0 + f64::EPSILON * 8.0));
    step.map_or(10.0 * unit, |step| step * unit)
}

/// The minimum detectable effect of a series as every page shows it: [`step_up`].
pub fn detectable(size: f64) -> String {
    percent_size(step_up(size))
}

/// A count with its noun.
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A value in the unit of `scale`, without the unit.
pub fn value(scale: Scale, value: f64) -> String {
    let shown = value / scale.factor;
    if !shown.is_finite() {
        return NONE.to_owned();
    }
    if shown != 0.0 && !(PLAIN_FROM..PLAIN_BELOW).contains(&shown.abs()) {
        return typeset(&format!("{shown:.3e}"));
    }
    typeset(&scale.number(value))
}

/// An interval of values in the unit of `scale`, such as `1.2 to 1.3`, without the unit.
pub fn interval(scale: Scale, (low, high): (f64, f64)) -> String {
    format!("{} to {}", value(scale, low), value(scale, high))
}

/// A value in the unit of `scale` with three digits, without the unit.
pub fn short_value(scale: Scale, value: f64) -> String {
    let shown = value / scale.factor;
    if !shown.is_finite() || (shown != 0.0 && !(PLAIN_FROM..PLAIN_BELOW).contains(&shown.abs())) {
        return self::value(scale, value);
    }
    typeset(&significant(shown, 3))
}

/// A [`short_value`] with its unit.
pub fn short_quantity(scale: Scale, value: f64) -> String {
    with_unit(scale, short_value(scale, value))
}

/// A value with its unit.
pub fn quantity(scale: Scale, number: f64) -> String {
    with_unit(scale, value(scale, number))
}

fn with_unit(scale: Scale, value: String) -> String {
    if scale.symbol.is_empty() { value } else { format!("{value}{NARROW}{}", scale.symbol) }
}

/// A number with that many decimals.
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

/// Plain ASCII digits with the minus and the thousands that print uses.
fn typeset(plain: &str) -> String {
    match plain.strip_prefix('-') {
        Some(digits) if is_zero(digits) => digits.to_owned(),
        Some(digits) => format!("\u{2212}{}", thousands(digits)),
        None => thousands(plain),
    }
}

/// Whether rounding left nothing: that has no sign.
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

    #[test]
    fn how_many_times_is_told_in_two_digits_or_whole() {
        let said = [0.04, 2.13, 9.94, 9.96, 41.4, 12_345.6, f64::NAN].map(times);
        assert_eq!(said, ["×0.0", "×2.1", "×9.9", "×10", "×41", "×12\u{202f}346", NONE]);
    }
    use sprag_model::unit::Unit;

    #[test]
    fn a_rough_count_seldom_changes() {
        let check = |n: usize, expected: &str| assert_eq!(rough_count(n).replace(NARROW, " "), expected);
        for (n, expected) in
            [(0, "0"), (1, "1"), (9, "9"), (10, "10+"), (19, "10+"), (20, "20+"), (50, "50+"), (99, "50+")]
        {
            check(n, expected);
        }
        check(187, "100+");
        check(4999, "2 000+");
        check(usize::MAX - 1, "10 000 000 000 000 000 000+");
    }

    #[test]
    fn an_estimated_size_has_few_steps() {
        let check = |size: f64, expected: f64| {
            let step = step_up(size);
            assert!((step - expected).abs() <= 1e-12 * expected.abs(), "{size}: {step}");
        };
        for (size, expected) in [(0.0, 0.0), (0.004, 0.004), (0.0041, 0.005), (0.022, 0.025), (0.1, 0.1), (0.119, 0.12)]
        {
            check(size, expected);
        }
        check(0.81, 1.0);
        check(3.0, 3.0);
        check(0.03, 0.03);
        assert!(step_up(f64::NAN).is_nan() && step_up(f64::INFINITY).is_infinite());
    }

    #[test]
    fn changes_bear_a_sign_and_no_false_precision() {
        let check = |change: f64, expected: &str| assert_eq!(percent(change), expected);
        check(0.081, "+8.1\u{202f}%");
        check(-0.124, "\u{2212}12.4\u{202f}%");
        check(-0.0004, "0.0\u{202f}%");
        check(0.9996, "+100.0\u{202f}%");
        check(9.99, "+999.0\u{202f}%");
        check(9.996, "x11.0");
        check(12.3456, "x13.3");
        check(98.96, "x100");
        check(4567.0, "x4568");
        check(2.9e17, "x2.9e17");
        check(-0.999, "\u{2212}99.9\u{202f}%");
        check(f64::NAN, "–");
        check(f64::INFINITY, "–");
        assert_eq!(percent_size(20.0), "x21.0");
        assert_eq!(percent_interval((0.5, 1e20)), "+50.0 to x1.0e20");
        assert_eq!(percent_size(-0.0141), "1.4\u{202f}%");
        assert_eq!(percent_interval((-0.005, 0.086)), "\u{2212}0.5 to +8.6");
    }

    #[test]
    fn values_have_four_digits_and_thousands() {
        let check = |value: f64, typical: f64, expected: &str| {
            assert_eq!(quantity(Unit::Second.scale(typical), value), expected);
        };
        check(0.001297, 0.001, "1.297\u{202f}ms");
        check(21.7404, 0.001, "21\u{202f}740\u{202f}ms");
        check(-0.0012, 0.001, "\u{2212}1.200\u{202f}ms");
        check(1e300, 1.0, "1.000e300\u{202f}s");
        check(1e-12, 1.0, "1.000e-12\u{202f}s");
        check(-0.0, 0.0, "0\u{202f}ns");
        assert_eq!((fixed(-0.004, 2), fixed(-0.006, 2)), ("0.00".to_owned(), "\u{2212}0.01".to_owned()));
        assert_eq!(count(1_388_204), "1\u{202f}388\u{202f}204");
        assert_eq!(counted(1, "run", "runs"), "1 run");
        assert_eq!(column("Newest", Unit::One.scale(1.0)), "Newest");
    }
}

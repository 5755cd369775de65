//! Figures and names of trends in words.

use crate::gate::share;
use crate::mark::{better_word, worse_word};
use crate::number::{self, NARROW};
use crate::text::shortened;
use sprag_model::change_point::Level;
use sprag_model::metric::Metric;

/// The longest name, in characters.
const NAME: usize = 160;

/// The longest sentence, in characters.
const SENTENCE: usize = 400;

/// The longest subject of a commit, such that a line of a terminal holds it.
const SUBJECT: usize = 56;

/// Up to how many there is told to be one that is chance.
const MOST_ALIKE: f64 = 1e6;

/// The steps in which they are told, times a power of ten.
const STEPS_ALIKE: [f64; 4] = [1.0, 2.0, 3.0, 5.0];

/// A change from which on three digits of the values before and after it show it.
const LARGE: f64 = 0.05;

/// From this share of chance on it is told in tenths.
const TENTHS_FROM: f64 = 0.4;

/// A name, cut where it is very long.
pub(crate) fn name(name: &str) -> String {
    shortened(name, NAME)
}

/// A sentence, cut where it is very long.
pub(crate) fn sentence(sentence: &str) -> String {
    shortened(sentence, SENTENCE)
}

/// The subject of a commit, cut to fit beside it.
pub(crate) fn subject(subject: &str) -> String {
    shortened(subject, SUBJECT)
}

/// A change with its interval, such as `+8.1 % (+7.6 to +8.6)`.
pub(crate) fn change(relative: &Level) -> String {
    let is_known = relative.lower.is_finite() && relative.upper.is_finite();
    // That of an exact series is a point.
    let is_wide = is_known && (relative.lower, relative.upper) != (relative.value, relative.value);
    let interval = || format!(" ({})", share::percent_interval((relative.lower, relative.upper)));
    format!("{}{}", share::percent(relative.value), if is_wide { interval() } else { String::new() })
}

/// Two values in one unit, such as `1.200 → 1.297 ms`.
pub(crate) fn values(metric: &Metric, before: f64, after: f64) -> String {
    let scale = metric.unit.scale(if before == 0.0 { after } else { before });
    format!("{} → {}", number::value(scale, before), number::quantity(scale, after))
}

/// Likewise, for a sentence: as many digits as it takes to see a change of that size.
pub(crate) fn values_in_words(metric: &Metric, before: f64, after: f64) -> String {
    if (after - before).abs() < LARGE * before.abs() {
        return values(metric, before, after);
    }
    let scale = metric.unit.scale(if before == 0.0 { after } else { before });
    format!("{} → {}", number::short_value(scale, before), number::short_quantity(scale, after))
}

/// The word for a change that is so much worse: `slower`, `smaller`, `better`.
pub(crate) fn way(metric: &Metric, worse: Option<f64>) -> &'static str {
    match worse {
        Some(worse) if worse > 0.0 => worse_word(metric),
        Some(worse) if worse < 0.0 => better_word(metric),
        _ => "changed",
    }
}

/// How many of so many like it are chance, such as `1 of 2 000 like it is chance`.
pub(crate) fn chance(false_discovery: f64) -> String {
    if !false_discovery.is_finite() || false_discovery >= TENTHS_FROM {
        let tenths = (false_discovery * 10.0).round();
        let tenths = if tenths.is_finite() { tenths.clamp(0.0, 10.0) as usize } else { 10 };
        return if tenths == 10 {
            "all like it are chance".to_owned()
        } else {
            format!("{tenths} of 10 like it are chance")
        };
    }
    if false_discovery * MOST_ALIKE < 1.0 {
        return format!("less than 1 of {} like it is chance", number::count(MOST_ALIKE as usize));
    }
    // In steps, to the safe side: no more is known, and one more commit changes the next digit.
    let alike = 1.0 / false_discovery;
    let unit = 10f64.powi(alike.log10().floor() as i32);
    let step = STEPS_ALIKE.into_iter().rev().find(|step| step * unit <= alike * (1.0 + 1e-9)).unwrap_or(1.0);
    format!("1 of {} like it is chance", number::count((step * unit).round() as usize))
}

/// A probability in whole percents.
pub(crate) fn probability(probability: f64) -> String {
    let percent = match probability * 100.0 {
        percent if !percent.is_finite() => return number::NONE.to_owned(),
        percent if percent > 0.0 && percent < 0.5 => "<1".to_owned(),
        percent if (99.5..100.0).contains(&percent) => ">99".to_owned(),
        percent => format!("{percent:.0}"),
    };
    format!("{percent}{NARROW}%")
}

/// How many commits are left in effect.
pub(super) fn left(left: f64) -> String {
    match number::fixed(left, 1) {
        one if one == "1.0" => "1 commit is left then".to_owned(),
        more => format!("about {} commits are left then", more.strip_suffix(".0").unwrap_or(&more)),
    }
}

/// Names one after the other: `a, b and c`.
pub(crate) fn joined(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_told_as_one_of_so_many() {
        let check = |rate: f64, expected: &str| assert_eq!(chance(rate).replace(NARROW, " "), expected);
        check(0.0005, "1 of 2 000 like it is chance");
        check(0.05, "1 of 20 like it is chance");
        check(0.3, "1 of 3 like it is chance");
        check(1.0 / 237_933.0, "1 of 200 000 like it is chance");
        check(1.0 / 99_600.0, "1 of 50 000 like it is chance");
        check(1.0 / 83.4, "1 of 50 like it is chance");
        check(1.0 / 30.0, "1 of 30 like it is chance");
        check(1.0 / 29.0, "1 of 20 like it is chance");
        check(0.72, "7 of 10 like it are chance");
        check(1.0, "all like it are chance");
        check(0.0, "less than 1 of 1 000 000 like it is chance");
        check(f64::NAN, "all like it are chance");
    }

    #[test]
    fn probabilities_are_never_more_certain_than_they_are() {
        let check = |share: f64, expected: &str| assert_eq!(probability(share).replace(NARROW, " "), expected);
        check(0.624, "62 %");
        check(0.004, "<1 %");
        check(0.0, "0 %");
        check(0.9961, ">99 %");
        check(1.0, "100 %");
        check(f64::NAN, "–");
    }

    #[test]
    fn words_agree_with_their_numbers() {
        assert_eq!((left(1.0), left(1.04)), ("1 commit is left then".to_owned(), "1 commit is left then".to_owned()));
        assert_eq!(
            (left(2.0), left(3.26)),
            ("about 2 commits are left then".into(), "about 3.3 commits are left then".into())
        );
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(
            [joined(&names[..0]), joined(&names[..1]), joined(&names[..2]), joined(&names)].join("|"),
            "|a|a and b|a, b and c"
        );
    }

    #[test]
    fn a_change_has_its_interval_where_there_is_one() {
        let level = |value: f64, lower: f64, upper: f64| change(&Level { value, lower, upper }).replace(NARROW, " ");
        assert_eq!(level(0.081, 0.076, 0.086), "+8.1 % (+7.6 to +8.6)");
        assert_eq!(level(0.081, 0.081, 0.081), "+8.1 %");
        assert_eq!(level(0.081, f64::NEG_INFINITY, f64::NAN), "+8.1 %");
        assert_eq!(values(&Metric::time(), 0.0, 0.002), "0 → 2.000\u{202f}ms");
        let in_words = |after: f64| values_in_words(&Metric::time(), 1.234_56e-3, after).replace(NARROW, " ");
        assert_eq!(in_words(1.25e-3), "1.235 → 1.250 ms");
        assert_eq!(in_words(1.876_54e-3), "1.23 → 1.88 ms");
        let bytes = |before: f64| values_in_words(&Metric::peak_memory(), before, 2.0 * before).replace(NARROW, " ");
        assert_eq!(bytes(0.0), "0 → 0 B");
        assert_eq!(way(&Metric::time(), Some(0.1)), "slower");
        assert_eq!(way(&Metric::peak_memory(), Some(-0.1)), "smaller");
        assert_eq!(way(&Metric::time(), None), "changed");
    }
}

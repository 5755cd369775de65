//! Figures and names of trends in words.

use crate::mark::{better_word, worse_word};
use crate::number::{self, NARROW};
use crate::text::{shortened, visible};
use sprag_model::change_point::Level;
use sprag_model::metric::Metric;
use sprag_model::unit::Unit;

const NAME: usize = 160;

const SENTENCE: usize = 400;

/// The longest subject of a commit, such that a line of a terminal holds it.
const SUBJECT: usize = 56;

/// Up to how many findings one is said to be a false alarm.
const MOST_ALIKE: f64 = 1e6;

/// The steps in which they are counted, times a power of ten.
const STEPS_ALIKE: [f64; 4] = [1.0, 2.0, 3.0, 5.0];

/// A change from which on three digits of the values before and after it show it.
const LARGE: f64 = 0.05;

/// From this share of chance on it is said in tenths.
const TENTHS_FROM: f64 = 0.4;

/// A name, cut where it is very long.
pub(crate) fn name(name: &str) -> String {
    shortened(name, NAME)
}

/// A sentence, cut where it is very long.
pub(crate) fn sentence(sentence: &str) -> String {
    shortened(sentence, SENTENCE)
}

/// The subject of a commit, cut to fit next to it.
pub(crate) fn subject(subject: &str) -> String {
    shortened(subject, SUBJECT)
}

/// A change with its interval, such as `+8.1 % (+7.6 to +8.6)`.
pub(crate) fn change(relative: &Level) -> String {
    let is_finite = relative.lower.is_finite() && relative.upper.is_finite();
    // That of an exact series is a point.
    let is_wide = is_finite && (relative.lower, relative.upper) != (relative.value, relative.value);
    let interval = || format!(" ({})", number::percent_interval((relative.lower, relative.upper)));
    format!("{}{}", number::percent(relative.value), if is_wide { interval() } else { String::new() })
}

/// Two values in one unit, such as `1.200 → 1.297 ms`.
pub(crate) fn values(unit: Unit, before: f64, after: f64) -> String {
    let scale = unit.scale(if before == 0.0 { after } else { before });
    format!("{} → {}", number::value(scale, before), number::quantity(scale, after))
}

/// Likewise, for a sentence: as many digits as it takes to see a change of that size.
pub(crate) fn values_in_words(metric: &Metric, before: f64, after: f64) -> String {
    if (after - before).abs() < LARGE * before.abs() {
        return values(metric.unit, before, after);
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

/// How many findings as strong are false alarms: `1 in 2 000`, `7 in 10`, `all`.
pub(crate) fn false_alarms(rate: f64) -> String {
    if !rate.is_finite() || rate >= TENTHS_FROM {
        let tenths = (rate * 10.0).round();
        let tenths = if tenths.is_finite() { tenths.clamp(0.0, 10.0) as usize } else { 10 };
        return if tenths == 10 { "all".to_owned() } else { format!("{tenths} in 10") };
    }
    if rate * MOST_ALIKE < 1.0 {
        return format!("less than 1 in {}", number::count(MOST_ALIKE as usize));
    }
    // In steps, to the safe side: the data show no more, and one more commit changes the next digit.
    let alike = 1.0 / rate;
    let unit = 10f64.powi(alike.log10().floor() as i32);
    let step = STEPS_ALIKE.into_iter().rev().find(|step| step * unit <= alike * (1.0 + 1e-9)).unwrap_or(1.0);
    format!("1 in {}", number::count((step * unit).round() as usize))
}

/// The same in a sentence: `about 1 in 2 000 findings this strong is a false alarm`.
pub(crate) fn chance(rate: f64) -> String {
    let words = false_alarms(rate);
    let about = if words.starts_with(|first: char| first.is_ascii_digit()) { "about " } else { "" };
    let verb = if words.contains("1 in") { "is a false alarm" } else { "are false alarms" };
    format!("{about}{words} findings this strong {verb}")
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

/// How many suspects are left in effect.
pub(super) fn left(left: f64) -> String {
    match number::fixed(left, 1) {
        one if one == "1.0" => "1 suspect".to_owned(),
        more => format!("about {} suspects", more.strip_suffix(".0").unwrap_or(&more)),
    }
}

/// How many of all are not among the first so many; empty where that is none.
pub(super) fn and_more(all: usize, most: usize) -> String {
    match all.saturating_sub(most) {
        0 => String::new(),
        more => format!("… and {} more", number::count(more)),
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

/// A command as one line that can be pasted, each word quoted where a shell would take it for more than itself; `None` where a word holds what acts unseen, or
/// what a log of GitHub takes for a command: nobody can see what such a line does.
pub(crate) fn shell_line(words: &[String]) -> Option<String> {
    let is_seen = |word: &String| visible(word) == word.as_str() && !word.contains("##[");
    (!words.is_empty() && words.iter().all(is_seen))
        .then(|| words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(" "))
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+@%=".contains(c);
    // Some shells look up what follows an equals sign in front.
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_the_words_that_were_meant() {
        let check = |words: &[&str], expected: Option<&str>| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(shell_line(&words).as_deref(), expected);
        };
        check(&["sprag", "run", "--commit", "1a2b3c", "--suite=cpu"], Some("sprag run --commit 1a2b3c --suite=cpu"));
        check(&["sprag", "", "a b", "=ls", "~"], Some("sprag '' 'a b' '=ls' '~'"));
        check(&["--filter", "cpu/a{n=5} @fast"], Some("--filter 'cpu/a{n=5} @fast'"));
        check(&["$(rm -r x)", "it's", "`x`;!"], Some(r"'$(rm -r x)' 'it'\''s' '`x`;!'"));
        check(&["-e", "a\\b\"c"], Some("-e 'a\\b\"c'"));
        check(&["sprag", "a\nb"], None);
        check(&["sprag", "\u{202e}a"], None);
        check(&["sprag", "##[error]a"], None);
        check(&[], None);
    }

    #[test]
    fn chance_is_one_in_so_many() {
        let check = |rate: f64, expected: &str| assert_eq!(false_alarms(rate).replace(NARROW, " "), expected);
        check(0.0005, "1 in 2 000");
        check(0.05, "1 in 20");
        check(0.3, "1 in 3");
        check(1.0 / 237_933.0, "1 in 200 000");
        check(1.0 / 99_600.0, "1 in 50 000");
        check(1.0 / 83.4, "1 in 50");
        check(1.0 / 30.0, "1 in 30");
        check(1.0 / 29.0, "1 in 20");
        check(0.72, "7 in 10");
        check(1.0, "all");
        check(0.0, "less than 1 in 1 000 000");
        check(f64::NAN, "all");
        assert_eq!(chance(0.05), "about 1 in 20 findings this strong is a false alarm");
        assert_eq!(chance(0.7), "about 7 in 10 findings this strong are false alarms");
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
        assert_eq!((left(1.0), left(1.04)), ("1 suspect".to_owned(), "1 suspect".to_owned()));
        assert_eq!((left(2.0), left(3.26)), ("about 2 suspects".into(), "about 3.3 suspects".into()));
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
        assert_eq!(values(Unit::Second, 0.0, 0.002), "0 → 2.000\u{202f}ms");
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

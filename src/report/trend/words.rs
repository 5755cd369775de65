//! Figures and names of trends in words.

use crate::mark::{better_word, worse_word};
use crate::number::{self, NARROW};
use crate::phrase::Phrase;
use crate::text::{decoded, shortened, visible};
use sprag_model::{Level, Metric, MoverRow, Unit};

/// The longest name and the longest sentence, in characters.
const NAME: usize = 160;
const SENTENCE: usize = 400;

/// The longest subject of a commit that fits into a line of a terminal.
const SUBJECT: usize = 56;

/// Rarer false alarms than one in so many findings are not counted.
const MOST_ALIKE: f64 = 1e6;

/// Findings are counted in these steps, times a power of ten.
const STEPS_ALIKE: [f64; 4] = [1.0, 2.0, 3.0, 5.0];

/// From this share on three digits of two values show their change.
const LARGE: f64 = 0.05;

/// From this rate on false alarms are given in tenths.
const TENTHS_FROM: f64 = 0.4;

pub(crate) fn name(name: &str) -> String {
    shortened(&decoded(name), NAME)
}

pub(crate) fn sentence(sentence: &str) -> String {
    shortened(sentence, SENTENCE)
}

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

pub(crate) fn values(unit: Unit, before: f64, after: f64) -> String {
    let scale = unit.scale(if before == 0.0 { after } else { before });
    format!("{} → {}", number::value(scale, before), number::quantity(scale, after))
}

/// With as few digits as show the change.
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

/// The word for the change of a mover: a change that is shown as zero is none.
pub(crate) fn way_of_mover(metric: &Metric, row: &MoverRow) -> &'static str {
    let is_zero = |change: f64| !number::percent(change).contains(|digit| matches!(digit, '1'..='9'));
    if row.change.is_some_and(is_zero) { "unchanged" } else { way(metric, row.worse) }
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

pub(crate) fn chance(rate: f64) -> String {
    let words = false_alarms(rate);
    let about = if words.starts_with(|first: char| first.is_ascii_digit()) { "about " } else { "" };
    let verb = if words.contains("1 in") { "is a false alarm" } else { "are false alarms" };
    format!("{about}{words} findings this strong {verb}")
}

pub fn probability(probability: f64) -> String {
    let percent = match probability * 100.0 {
        percent if !percent.is_finite() => return number::NONE.to_owned(),
        percent if percent > 0.0 && percent < 0.5 => "<1".to_owned(),
        percent if (99.5..100.0).contains(&percent) => ">99".to_owned(),
        percent => format!("{percent:.0}"),
    };
    format!("{percent}{NARROW}%")
}

/// How many suspects are left, as an effective number.
pub(super) fn left(left: f64) -> String {
    match number::fixed(left, 1) {
        one if one == "1.0" => "1 suspect".to_owned(),
        more => format!("about {} suspects", more.strip_suffix(".0").unwrap_or(&more)),
    }
}

pub(super) fn and_more(all: usize, most: usize) -> String {
    if all > most { format!("… and {} more", number::count(all - most)) } else { String::new() }
}

/// Such as `a, b and c`.
pub(crate) fn joined(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// A command to paste, quoted for a POSIX shell; `None` where a word is invisible, or a command to a log of GitHub.
pub(crate) fn shell_line(words: &[String]) -> Option<String> {
    let is_seen = |word: &String| visible(word) == word.as_str() && !word.contains("##[");
    (!words.is_empty() && words.iter().all(is_seen))
        .then(|| words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(" "))
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,+@%=".contains(c);
    // Some shells expand a word that begins with an equals sign.
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The reasons why a series is not examined: the word, its meaning, and what to do.
const REASONS: [(&str, &str, &str); 6] = [
    ("too_short", "too few points", "record more commits: `sprag run --record`"),
    ("stale", "the newest point is too old for the schedule", "run the suite where it is due"),
    ("missing_at_tip", "the newest run has no value of it", "find out why, unless it was removed"),
    ("environment_changed", "too few points in the new environment", "record more runs in it"),
    ("failing", "the benchmark failed in the newest run", "fix it: `sprag run` says what is wrong"),
    ("no_commit", "none of its runs is of a known commit", "fetch the commits, or name their `--branch`"),
];

pub(crate) fn reason(word: &str) -> (&str, Phrase) {
    let present = REASONS.iter().find(|(present, _, _)| *present == word);
    present.map_or((word, Phrase::default()), |(_, why, what)| (*why, Phrase::quoted(what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_the_words_that_were_meant() {
        for (words, expected) in [
            (&["sprag", "run", "--commit", "1a2b3c", "--suite=cpu"][..], Some("sprag run --commit 1a2b3c --suite=cpu")),
            (&["sprag", "", "a b", "=ls", "~"], Some("sprag '' 'a b' '=ls' '~'")),
            (&["--filter", "cpu/a{n=5} @fast"], Some("--filter 'cpu/a{n=5} @fast'")),
            (&["$(rm -r x)", "it's", "`x`;!"], Some(r"'$(rm -r x)' 'it'\''s' '`x`;!'")),
            (&["-e", "a\\b\"c"], Some("-e 'a\\b\"c'")),
            (&["sprag", "a\nb"], None),
            (&["sprag", "\u{202e}a"], None),
            (&["sprag", "##[error]a"], None),
            (&[], None),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(shell_line(&words).as_deref(), expected);
        }
    }

    #[test]
    fn chance_is_one_in_so_many() {
        assert_eq!(false_alarms(0.05).replace(NARROW, " "), "1 in 20");
        let rates = [0.0005, 0.3, 1.0 / 237_933.0, 1.0 / 99_600.0, 1.0 / 83.4, 1.0 / 30.0, 1.0 / 29.0, 0.72, 0.0];
        let words = rates.map(|rate| false_alarms(rate).replace(NARROW, " "));
        let expected =
            ["1 in 2 000", "1 in 3", "1 in 200 000", "1 in 50 000", "1 in 50", "1 in 30", "1 in 20", "7 in 10"];
        assert_eq!((&words[..8], &*words[8]), (&expected.map(str::to_owned)[..], "less than 1 in 1 000 000"));
        assert_eq!([false_alarms(1.0), false_alarms(f64::NAN)], ["all", "all"]);
        assert_eq!(chance(0.05), "about 1 in 20 findings this strong is a false alarm");
        assert_eq!(chance(0.7), "about 7 in 10 findings this strong are false alarms");
    }

    #[test]
    fn probabilities_are_never_more_certain_than_they_are() {
        let words = [0.624, 0.004, 0.0, 0.9961, 1.0, f64::NAN].map(|share| probability(share).replace(NARROW, " "));
        assert_eq!(words, ["62 %", "<1 %", "0 %", ">99 %", "100 %", "–"]);
    }

    #[test]
    fn words_agree_with_their_numbers() {
        assert_eq!((left(1.0), left(1.04)), ("1 suspect".to_owned(), "1 suspect".to_owned()));
        assert_eq!((left(2.0), left(3.26)), ("about 2 suspects".into(), "about 3.3 suspects".into()));
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([0, 1, 2, 3].map(|count| joined(&names[..count])), ["", "a", "a and b", "a, b and c"]);
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
        // A change that is shown as zero is not listed as one.
        let mut row = crate::trend::example::trend().tables.movers[0].clone();
        for (change, expected) in [(4e-4, "unchanged"), (-4e-4, "unchanged"), (0.0, "unchanged"), (6e-4, "slower")] {
            (row.change, row.worse) = (Some(change), Some(change));
            assert_eq!(way_of_mover(&Metric::time(), &row), expected);
        }
    }
}

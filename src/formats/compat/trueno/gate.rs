//! Trueno's own check: what it reads of two texts, and what it prints of one compared with the other. [`super::import`]
//! reads more.
//!
//! A benchmark is a line that begins with a name without blanks, `time:`, and three times in brackets, of which the one in
//! the middle counts. Times are digits and points with `ns`, `µs` (U+00B5 alone), `us`, `ms` or `s`. All other lines are
//! passed over, such as those with the name on the line before or with a blank in it, with colours, and with `ps`. Of a
//! repeated name the last time counts, in the place of the first.

use std::collections::BTreeMap;

use crate::compat::python;
use crate::compat::python::fixed;
use sprag_model::bands::{Band, BandReport, BandRow};

/// Why the original ends without a report, in the last line of its errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextGateError {
    #[error("UnicodeDecodeError: {0}")]
    Encoding(String),
    #[error("ValueError: could not convert string to float: '{0}'")]
    Number(String),
    #[error("Error: No benchmarks found in {0}")]
    Nothing(&'static str),
    #[error("ZeroDivisionError: float division by zero")]
    ZeroBase,
}

/// Nanoseconds by name.
pub type Times = [(String, f64)];

/// Holds one text against the other by the rule, which fails where a base is zero.
///
/// # Errors
/// Where the original reports nothing.
pub fn judge<E>(
    baseline: &[u8],
    current: &[u8],
    rule: impl FnOnce(&Times, &Times) -> Result<BandReport, E>,
) -> Result<BandReport, TextGateError> {
    let [baseline, current] = [decode(baseline)?, decode(current)?];
    let [baseline, current] = [read(baseline)?, read(current)?];
    for (side, name) in [(&baseline, "baseline"), (&current, "current")] {
        if side.is_empty() {
            return Err(TextGateError::Nothing(name));
        }
    }
    rule(&baseline, &current).map_err(|_| TextGateError::ZeroBase)
}

/// Nanoseconds of each unit.
const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("µs", 1e3), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

pub fn decode(bytes: &[u8]) -> Result<&str, TextGateError> {
    python::decode(bytes).map_err(TextGateError::Encoding)
}

/// The benchmarks of a text with their nanoseconds, in the order of their names' first lines.
pub fn read(text: &str) -> Result<Vec<(String, f64)>, TextGateError> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut result: Vec<(String, f64)> = Vec::new();
    for line in text.split(['\n', '\r']) {
        let Some((name, digits, factor)) = benchmark(line.trim_matches(is_blank)) else { continue };
        let number: f64 = digits.parse().map_err(|_| TextGateError::Number(digits.to_owned()))?;
        let nanos = number * factor;
        match places.get(name) {
            Some(place) => result[*place].1 = nanos,
            None => {
                places.insert(name, result.len());
                result.push((name.to_owned(), nanos));
            }
        }
    }
    Ok(result)
}

/// The name, the time in the middle as digits, and its factor.
fn benchmark(line: &str) -> Option<(&str, &str, f64)> {
    let (name, rest) = line.split_at(line.find(is_blank)?);
    let rest = past_blanks(past_blanks(rest)?.strip_prefix("time:")?)?.strip_prefix('[')?;
    let (_, rest) = quantity(rest)?;
    let (middle, rest) = quantity(past_blanks(rest)?)?;
    let (_, rest) = quantity(past_blanks(rest)?)?;
    rest.starts_with(']').then_some((name, middle.0, middle.1))
}

/// The digits and the factor that the text begins with, and what comes after them.
fn quantity(text: &str) -> Option<((&str, f64), &str)> {
    let (digits, rest) = text.split_at(text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?);
    let rest = rest.trim_start_matches(is_blank);
    let (unit, factor) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit)).filter(|_| !digits.is_empty())?;
    Some(((digits, *factor), &rest[unit.len()..]))
}

/// What comes after the blanks that the text begins with, one at least.
fn past_blanks(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(is_blank);
    (rest.len() < text.len()).then_some(rest)
}

/// White space as Python has it, which the four separators of ASCII are, too.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

const WIDTH: usize = 60;

pub fn report_text(report: &BandReport) -> String {
    let [thick, thin] = ["=", "-"].map(|stroke| stroke.repeat(WIDTH));
    let [fail, warn] = [report.fail, report.warn].map(|share| fixed(share * 100.0, 0));
    let mut lines = vec![thick.clone(), "BENCHMARK REGRESSION REPORT".to_owned(), thick.clone(), String::new()];
    let blocks = [
        (Band::Regressed, format!("REGRESSIONS (>{fail}% slower)"), "+", " (FAIL)"),
        (Band::Warned, format!("WARNINGS ({warn}%-{fail}% slower)"), "+", ""),
        (Band::Improved, format!("IMPROVEMENTS (>{warn}% faster)"), "", ""),
    ];
    for (band, title, sign, end) in blocks {
        let rows: Vec<&BandRow> = report.in_band(band).collect();
        if rows.is_empty() {
            continue;
        }
        lines.extend([format!("{title}: {}", rows.len()), thin.clone()]);
        for row in rows {
            lines.push(format!("  {}", row.name));
            lines.push(format!("    Baseline: {}", time_text(row.base_nanos)));
            lines.push(format!("    Current:  {}", time_text(row.current_nanos)));
            lines.push(format!("    Change:   {sign}{}%{end}", fixed(row.change * 100.0, 1)));
            lines.push(String::new());
        }
    }
    let lists = [
        ("MISSING (in baseline, not in current)", &report.missing),
        ("NEW (in current, not in baseline)", &report.new),
    ];
    for (title, names) in lists {
        if !names.is_empty() {
            lines.extend([format!("{title}: {}", names.len()), thin.clone()]);
            lines.extend(names.iter().map(|name| format!("  {name}")));
            lines.push(String::new());
        }
    }
    let count = |band: Band| report.in_band(band).count();
    lines.extend([thick.clone(), "SUMMARY".to_owned(), thick.clone()]);
    let counts = [
        ("Total benchmarks:", report.rows.len() + report.missing.len()),
        ("Regressions:", count(Band::Regressed)),
        ("Warnings:", count(Band::Warned)),
        ("Improvements:", count(Band::Improved)),
        ("Unchanged:", count(Band::Unchanged)),
        ("Missing:", report.missing.len()),
        ("New:", report.new.len()),
    ];
    lines.extend(counts.map(|(label, count)| format!("  {label:<17} {count}")));
    lines.extend([String::new(), result_line(report), thick]);
    lines.join("\n")
}

pub fn result_line(report: &BandReport) -> String {
    let count = |band: Band| report.in_band(band).count();
    match (count(Band::Regressed), count(Band::Warned)) {
        (0, 0) => "RESULT: PASS".to_owned(),
        (0, warned) => format!("RESULT: PASS (with warnings) - {warned} warning(s)"),
        (regressed, _) => format!("RESULT: FAIL - {regressed} regression(s) detected"),
    }
}

fn time_text(nanos: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (factor, unit) = units.into_iter().find(|(factor, _)| nanos >= *factor).unwrap_or((1.0, "ns"));
    format!("{}{unit}", fixed(nanos / factor, 2))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, words in "(a|time:|\\[|\\]|1|\\.|µs|ns| |\n|\t){0,30}") {
            let _ = decode(&bytes).map(read);
            let _ = read(&words);
        }
    }

    /// What no golden case holds.
    #[test]
    fn a_line_is_read_as_the_original_reads_it() {
        let check = |line: &str, expected: &[(&str, f64)]| {
            let read = read(line).expect("it has numbers");
            assert_eq!(
                read.iter().map(|(name, nanos)| (name.as_str(), *nanos)).collect::<Vec<_>>(),
                expected,
                "{line}"
            );
        };
        check("  a/b\ttime:\t[1.5ns\t2.5ns\u{1f}3.5ns] and more", &[("a/b", 2.5)]);
        check("a time: [1 ms 2. s .3 s]", &[("a", 2e9)]);
        check("a time: [1 ns 2 ns 3 ns]\rb time: [1 ns 4 ns 3 ns]", &[("a", 2.0), ("b", 4.0)]);
        check("time: time: [1 ns 2 ns 3 ns]", &[("time:", 2.0)]);
        check("\u{feff}a time: [. ns 2 ns . ns]", &[("\u{feff}a", 2.0)]);
        let passed_over = [
            "a time:[1 ns 2 ns 3 ns]", "a time: [ 1 ns 2 ns 3 ns]", "a time: [1 ns 2 ns 3 ns ]", "a time: [1 ns 2 ns]",
            "a time: [1 ns2 ns 3 ns]", "a time: [-1 ns 2 ns 3 ns]", "a time: [1e3 ns 2 ns 3 ns]",
            "a thrpt: [1 ns 2 ns 3 ns]",
        ];
        for line in passed_over {
            check(line, &[]);
        }
    }

    #[test]
    fn labels_and_times_are_rounded_to_even() {
        assert_eq!(
            [0.125, 999.5, 999_999.9, f64::INFINITY].map(time_text),
            ["0.12ns", "999.50ns", "1000.00µs", "infs"]
        );
        let report = |fail: f64, warn: f64, change: f64, band: Band| {
            let row = BandRow { name: "a".to_owned(), base_nanos: 100.0, current_nanos: 100.0, change, band };
            report_text(&BandReport { fail, warn, rows: vec![row], missing: Vec::new(), new: Vec::new() })
        };
        assert!(report(0.075, 0.025, 0.05, Band::Warned).contains("\nWARNINGS (2%-8% slower): 1\n"));
        let failed = report(-0.01, 0.02, -0.001, Band::Regressed);
        assert!(failed.contains("REGRESSIONS (>-1% slower): 1") && failed.contains("+-0.1% (FAIL)"), "{failed}");
    }
}

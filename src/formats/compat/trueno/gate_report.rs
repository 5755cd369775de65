//! The report of Trueno's check as text: what it prints of one side held against the other.

use crate::compat::python::fixed;
use sprag_model::bands::{Band, BandReport, BandRow};

/// How wide the rules between the parts are.
const WIDTH: usize = 60;

/// The report, without a line feed at the end.
pub fn text(report: &BandReport) -> String {
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
            lines.push(format!("    Baseline: {}", time(row.base_nanos)));
            lines.push(format!("    Current:  {}", time(row.current_nanos)));
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

/// The line that says how the check came out.
pub fn result_line(report: &BandReport) -> String {
    let count = |band: Band| report.in_band(band).count();
    match (count(Band::Regressed), count(Band::Warned)) {
        (0, 0) => "RESULT: PASS".to_owned(),
        (0, warned) => format!("RESULT: PASS (with warnings) - {warned} warning(s)"),
        (regressed, _) => format!("RESULT: FAIL - {regressed} regression(s) detected"),
    }
}

fn time(nanos: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (factor, unit) = units.into_iter().find(|(factor, _)| nanos >= *factor).unwrap_or((1.0, "ns"));
    format!("{}{unit}", fixed(nanos / factor, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_decimals_in_the_largest_unit_that_fits() {
        let check = |nanos: f64, expected: &str| assert_eq!(time(nanos), expected);
        check(999.5, "999.50ns");
        check(1000.0, "1.00µs");
        check(999_999.9, "1000.00µs");
        check(1_234_567.0, "1.23ms");
        check(32.5e9, "32.50s");
        check(0.125, "0.12ns");
        check(f64::INFINITY, "infs");
    }

    #[test]
    fn labels_are_rounded_to_even() {
        let report = |fail: f64, warn: f64, change: f64, band: Band| {
            let row = BandRow {
                name: "a".to_owned(),
                base_nanos: 100.0,
                current_nanos: 100.0 * (1.0 + change),
                change,
                band,
            };
            text(&BandReport { fail, warn, rows: vec![row], missing: Vec::new(), new: vec!["b".to_owned()] })
        };
        assert!(report(0.075, 0.025, 0.05, Band::Warned).contains("\nWARNINGS (2%-8% slower): 1\n"));
        let failed = report(-0.01, 0.02, -0.001, Band::Regressed);
        assert!(failed.contains("REGRESSIONS (>-1% slower): 1") && failed.contains("+-0.1% (FAIL)"), "{failed}");
        assert!(failed.contains("\n  Total benchmarks: 1\n  Regressions:      1\n") && failed.contains("NEW"));
        assert!(failed.ends_with(&format!("\n\nRESULT: FAIL - 1 regression(s) detected\n{}", "=".repeat(WIDTH))));
    }
}

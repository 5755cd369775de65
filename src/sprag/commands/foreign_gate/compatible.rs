//! What the original would print of two files, and how that exits here.

use std::io::Write;

use super::files::{Kind, Pair};
use crate::commands::{Advice, Exit, text, warn};
use sprag_analysis::rules::bands;
use sprag_analysis::rules::rank::Parameters;
use sprag_analysis::sample_gate;
use sprag_formats::compat::trueno::{gate as text_gate, gate_report as text_report};
use sprag_formats::compat::tt_metal::{gate as samples, gate_report as sample_report};
use sprag_model::rule::Rule;

/// Prints Trueno's report, or what tt-metal finds with its summary as JSON; control characters of names are escaped.
///
/// # Errors
/// Where the original ends without a result; it takes that for slower or for skipped.
pub(super) fn judge(pair: &Pair, rule: &Rule, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let (baseline, current) = (&pair.baseline.bytes[..], &pair.current.bytes[..]);
    let passes = match (pair.kind, rule) {
        (Kind::Text, Rule::Bands { fail, warn }) => {
            let report = text_gate::judge(baseline, current, |was, is| bands::report(was, is, (*fail, *warn)));
            let report = report.map_err(|error| ended("Trueno", &error.to_string()))?;
            for line in text_report::text(&report).lines() {
                writeln!(out, "{}", text::printable(line))?;
            }
            report.passes()
        }
        (Kind::GroundTruth, Rule::Rank { noise_threshold, significance, mad_multiplier }) => {
            let parameters = Parameters::of(*noise_threshold, *significance, *mad_multiplier);
            let mut warnings = Vec::new();
            let results =
                samples::judge(baseline, current, &mut warnings, |was, is| sample_gate::check(was, is, &parameters));
            for warning in &warnings {
                warn(warning);
            }
            let results = results.map_err(|error| ended("tt-metal", &format!("{}: {error}", error.kind())))?;
            writeln!(out, "{}", sample_report::json(&results))?;
            sample_report::summary(&results).regressions == 0
        }
        (_, rule) => {
            let message = format!("no original judges such files by the rule `{}`", rule.name());
            return Err(Advice { message, hint: "leave `--compatible` out".to_owned() }.into());
        }
    };
    Ok(if passes { Exit::Done } else { Exit::Failed })
}

/// The error of an original that ends without a result.
fn ended(original: &str, last: &str) -> Advice {
    let message = format!("{original}'s own check ends without a result: {last}");
    Advice { message, hint: "leave `--compatible` out: Sprag's reader takes more, and says what is wrong".to_owned() }
}

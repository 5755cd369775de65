//! `sprag compare` of two foreign files, by the rule of their kind, or as the project says.

use std::io::Write;
use std::path::Path;

use super::check::{Asked, judge};
use super::files;
use super::rules::FileRules;
use crate::cli::CompareArgs;
use crate::commands::distinct::NamedFile;
use crate::commands::{Advice, Exit, gate, gate_reports};

/// Compares two texts of Criterion or two ground truths of tt-metal; `None` where the two sides are not that.
///
/// # Errors
/// When a file cannot be read, or they cannot be compared.
pub(in crate::commands) fn compare(
    folder: &Path,
    args: &CompareArgs,
    files: Vec<NamedFile<'_>>,
    out: &mut dyn Write,
) -> anyhow::Result<Option<Exit>> {
    let Some(pair) = files::pair_of(folder, &args.base, &args.other)? else { return Ok(None) };
    files::refuse_itself(folder, &pair)?;
    if !args.suites.is_empty() {
        let message = "`--suite` names suites of Sprag, and these files are of another tool".to_owned();
        return Err(Advice { message, hint: "leave it out".to_owned() }.into());
    }
    let rules = FileRules::read(folder, args.policy.as_deref(), pair.kind)?;
    let wishes = gate_reports::parse(&args.reports)?;
    gate_reports::check(folder, &wishes, files)?;
    let asked = Asked { command: "compare", inconclusive: args.inconclusive, only_changed: args.only_changed };
    let judged = judge(&pair, &rules, asked)?;
    gate_reports::print_comparison(folder, args, (&judged.gate, &wishes), &judged.text, out)?;
    Ok(Some(if args.bisect { gate::for_bisection(&judged.gate, judged.exit) } else { judged.exit }))
}

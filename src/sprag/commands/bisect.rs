//! `sprag bisect`: the commit that made the difference between two ends.

use std::io::Write;
use std::path::Path;

use crate::cli::{BisectArgs, BisectFormat};
use crate::commands::effort::{check_pin, seconds};
use crate::commands::progress::{BUILT_FROM, Progress};
use sprag_base::files::{check_writable, write_atomic};
use sprag_pipeline::bisect::{BisectReport, BisectRequest, Recording, bisect, markdown, plan, terminal};
use sprag_pipeline::error::{Exit, WithContext as _};
use sprag_pipeline::measuring::MeasureHost;
use sprag_pipeline::options::shard_option;
use sprag_pipeline::{Result, refuse};

/// Less does not measure anything, and more is a typing error.
const BUDGETS: (f64, f64) = (1.0, 7.0 * 86_400.0);

pub(super) fn run(folder: &Path, args: BisectArgs, out: &mut dyn Write) -> Result<Exit> {
    check_pin(args.pin)?;
    let output = args.out.as_ref().map(|output| folder.join(output));
    let reports = args.reports.iter().map(|(format, path)| (*format, folder.join(path)));
    let files: Vec<_> = reports.chain(output.clone().map(|output| (args.format, output))).collect();
    for (place, (_, file)) in files.iter().enumerate() {
        if files[..place].iter().any(|(_, other)| other == file) {
            return refuse(format!("two reports are for `{}`", file.display()), "name a file for each");
        }
        check_writable(file)?;
    }
    let request = BisectRequest {
        folder: folder.to_owned(),
        budget: seconds("--budget", &args.budget, BUDGETS)?,
        ends: args.good.map(|good| ends(good, args.bad)),
        event: args.event,
        resume: args.resume,
        suite: args.suite,
        filters: args.filters,
        metric: args.metric,
        first_parent: args.first_parent,
        confidence: args.confidence,
        steps: args.steps,
        recording: match args.output_runs {
            Some(path) => Recording::Folder(folder.join(path)),
            None if args.record => Recording::History,
            None => Recording::None,
        },
        shard: shard_option(args.shard.as_deref())?,
        instructions: args.instructions,
        pin: args.pin,
    };
    let progress = Progress::new();
    if args.dry_run {
        out.write_all(plan(&request, &progress)?.as_bytes())?;
        return Ok(Exit::Done);
    }
    let (report, exit) = bisect(&request, MeasureHost { observer: &progress, built_from: BUILT_FROM })?;
    let Some(report) = report else { return Ok(exit) };
    for (format, file) in files {
        write_atomic(&file, text(format, &report)?.as_bytes())?;
    }
    if output.is_none() {
        out.write_all(text(args.format, &report)?.as_bytes())?;
    }
    Ok(exit)
}

fn text(format: BisectFormat, report: &BisectReport) -> Result<String> {
    Ok(match format {
        BisectFormat::Table => terminal(report),
        BisectFormat::Md => markdown(report),
        BisectFormat::Json => serde_json::to_string_pretty(report).context("cannot write the report")? + "\n",
    })
}

/// Also as git writes a range: `GOOD..BAD`, in which an end that is left out is `HEAD`.
fn ends(good: String, bad: Option<String>) -> (String, String) {
    let head = || "HEAD".to_owned();
    match (good.split_once(".."), bad) {
        (Some((good, bad)), None) if !bad.starts_with('.') => {
            let end = |text: &str| if text.is_empty() { head() } else { text.to_owned() };
            (end(good), end(bad))
        }
        (_, bad) => (good.clone(), bad.unwrap_or_else(head)),
    }
}

#[cfg(test)]
mod tests {
    use super::ends;

    #[test]
    fn the_ends_may_be_written_as_a_range() {
        let check = |good: &str, bad: Option<&str>, expected: [&str; 2]| {
            assert_eq!(ends(good.to_owned(), bad.map(str::to_owned)), expected.map(str::to_owned).into(), "{good}");
        };
        check("v1", None, ["v1", "HEAD"]);
        check("v1", Some("v2"), ["v1", "v2"]);
        check("v1..v2", None, ["v1", "v2"]);
        check("v1..", None, ["v1", "HEAD"]);
        check("v1...v2", None, ["v1...v2", "HEAD"]);
        check("v1..v2", Some("v3"), ["v1..v2", "v3"]);
    }
}

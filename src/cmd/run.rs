//! `sprag run`: measure, and record where asked to.

use std::io::Write;
use std::path::Path;

use super::progress::Progress;
use super::project::{Project, check_writable, write_whole};
use super::suites::{self, Wish};
use super::{Advice, Exit, pending, text};
use crate::cli::RunArgs;
use crate::model::run::Run;

pub(super) fn run(folder: &Path, args: &RunArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    let asked = project.config.select(&args.suites).map_err(anyhow::Error::msg)?;
    if args.output_run.is_some() && asked.len() > 1 {
        return Err(Advice {
            message: format!("`--output-run` takes the record of one suite, and {} would run", asked.len()),
            hint: "name the suite with `--suite`".to_owned(),
        }
        .into());
    }
    if let Some(path) = &args.output_run {
        check_writable(&folder.join(path))?;
    }
    if args.record {
        pending::foretell(&project)?;
    }
    let progress = Progress::new();
    let wish = Wish { quick: args.quick, filters: &args.filters };
    let runs = suites::measure(&project, &asked, &wish, &progress)?;
    progress.end();
    for run in &runs {
        out.write_all(table(run).as_bytes())?;
    }
    if args.record {
        pending::record(&project, &runs)?;
    }
    if let (Some(path), [run]) = (&args.output_run, &runs[..]) {
        write_whole(&folder.join(path), &run.to_record().2)?;
    }
    Ok(suites::exit(&runs))
}

/// A run as a table for a terminal.
fn table(run: &Run) -> String {
    let mut head = format!("{} on {}: {}", run.suite, run.machine.name, run.status.word());
    if let Some(commit) = &run.commit {
        head.push_str(&format!(" at {}{}", commit.short(), if commit.dirty { " (changed files)" } else { "" }));
    }
    if let Some(reason) = &run.reason {
        head.push_str(&format!(", {reason}"));
    }
    let mut table = format!("{}\n", text::printable(&head));
    let mut rows = vec![["benchmark", "time", "95 % interval", "throughput", "parity"].map(str::to_owned).to_vec()];
    for measurement in &run.measurements {
        let id = measurement.benchmark.id();
        if let Some(failure) = &measurement.failure {
            rows.push(vec![text::printable(&id), format!("failed: {}", text::printable(failure))]);
            continue;
        }
        let cell = |index: usize| match measurement.estimates.get(index) {
            Some(estimate) => estimate.metric.unit.scale(estimate.value).text(estimate.value),
            None => "–".to_owned(),
        };
        let interval = measurement.estimates.first().and_then(|estimate| {
            let (low, high) = estimate.interval?;
            let scale = estimate.metric.unit.scale(estimate.value);
            Some(format!("{} to {}", scale.number(low), scale.number(high)))
        });
        let parity = match measurement.parity.max_abs_error {
            Some(error) if error > 0.0 => format!("within, {error:.1e}"),
            _ => format!("{:?}", measurement.parity.status).to_lowercase(),
        };
        rows.push(vec![text::printable(&id), cell(0), interval.unwrap_or("–".to_owned()), cell(1), parity]);
    }
    if rows.len() > 1 {
        table.push_str(&text::columns(&rows, &[1, 3]));
    }
    for reason in &run.quality.reasons {
        table.push_str(&format!("note: {}\n", text::printable(reason)));
    }
    table
}

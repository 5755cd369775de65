//! `sprag run`: measure, and record where asked to.

use std::io::Write;
use std::path::Path;

use super::effort::Effort;
use super::progress::Progress;
use super::project::{Project, check_writable, write_whole};
use super::suites::{self, Wish};
use super::{Advice, Exit, pending, seed_report, shard, text};
use crate::cli::RunArgs;
use crate::config::SuiteKind;
use crate::model::metric::{INSTRUCTIONS, LIMIT_SHARE, RATIO};
use crate::model::run::Run;
use crate::model::sample::Estimate;
use crate::model::unit::Unit;

pub(super) fn run(folder: &Path, args: &RunArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let effort = Effort::of(&args.effort)?;
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
    if args.count_instructions && !asked.iter().any(|(_, suite)| suite.kind == SuiteKind::Cpu) {
        return Err(Advice {
            message: "`--count-instructions` counts CPU kernels, and no suite of them would run".to_owned(),
            hint: "name a suite of kind `cpu` with `--suite`".to_owned(),
        }
        .into());
    }
    let shard = shard::wanted(args.shard.as_deref())?;
    let report = seed_report::wanted(folder, args, &asked)?;
    if args.record {
        pending::foretell(&project)?;
    }
    let progress = Progress::new();
    let wish = Wish { effort, filters: &args.filters, shard, count_instructions: args.count_instructions };
    let runs = suites::measure(&project, &asked, &wish, &progress)?;
    progress.end();
    for run in &runs {
        out.write_all(table(run).as_bytes())?;
    }
    // A shard may hold nothing of any suite.
    if args.record && !runs.is_empty() {
        pending::record(&project, &runs)?;
    }
    if let (Some(path), [run]) = (&args.output_run, &runs[..]) {
        write_whole(&folder.join(path), &run.to_record().2)?;
    }
    let exit = suites::exit(&runs);
    match report {
        Some(report) if !seed_report::write(&report, &progress, out)? => Ok(Exit::Failed),
        _ => Ok(exit),
    }
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
    let head = ["benchmark", "time", "ratio", "95 % interval", "could show", "of limit", "throughput", "parity"];
    let is_counted = run.measurements.iter().any(|one| one.estimate(INSTRUCTIONS).is_some());
    let more = is_counted.then_some("instructions");
    let mut rows = vec![head.into_iter().chain(more).map(str::to_owned).collect::<Vec<String>>()];
    for measurement in &run.measurements {
        let id = measurement.benchmark.id();
        if let Some(failure) = &measurement.failure {
            rows.push(vec![text::printable(&id), format!("failed: {}", text::printable(failure))]);
            continue;
        }
        let none = || "–".to_owned();
        let shown = |estimate: Option<&Estimate>| {
            estimate.map_or_else(none, |one| one.metric.unit.scale(one.value).text(one.value))
        };
        // What a gate looks at has the interval that matters.
        let judged = measurement.judged().or(measurement.estimate(RATIO)).or(measurement.estimates.first());
        let interval = judged.and_then(|one| {
            let (low, high) = one.interval?;
            let scale = one.metric.unit.scale(one.value);
            Some(format!("{} to {}", scale.number(low), scale.number(high)))
        });
        let detectable = judged.and_then(|one| one.detectable).map(|size| format!("{:.1} %", size * 100.0));
        let limit = measurement.estimate(LIMIT_SHARE).map(|one| format!("{:.0} %", one.value * 100.0));
        let throughput = measurement.estimates.iter().find(|one| one.metric.unit == Unit::PerSecond);
        let parity = match measurement.parity.max_abs_error {
            Some(error) if error > 0.0 => format!("within, {error:.1e}"),
            _ => format!("{:?}", measurement.parity.status).to_lowercase(),
        };
        let mut row = vec![
            text::printable(&id),
            shown(measurement.estimates.first()),
            shown(measurement.estimate(RATIO)),
            interval.unwrap_or_else(none),
            detectable.unwrap_or_else(none),
            limit.unwrap_or_else(none),
            shown(throughput),
            parity,
        ];
        // To the last digit: it is exact.
        row.extend(measurement.estimate(INSTRUCTIONS).map(|one| format!("{:.0}", one.value)));
        rows.push(row);
    }
    if rows.len() > 1 {
        table.push_str(&text::columns(&rows, &[1, 2, 4, 5, 6, 8]));
    }
    for reason in &run.quality.reasons {
        table.push_str(&format!("note: {}\n", text::printable(reason)));
    }
    table
}

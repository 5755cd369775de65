//! `sprag check` and `sprag compare`: a run against its base, or two commits, tags or files.

use std::io::Write;
use std::path::Path;

use crate::cli::{CheckArgs, CompareArgs, JudgeArgs};
use crate::commands::effort;
use crate::commands::progress::{BUILT_FROM, Progress};
use sprag_measure::suite::Observer as _;
use sprag_pipeline::compare::{compare_interleaved, stored};
use sprag_pipeline::error::{Exit, WithContext as _};
use sprag_pipeline::gate::{self, CheckRequest, CompareRequest, GateRequest, PrintFormat, calibrate};
use sprag_pipeline::measuring::{self, MeasureHost, SuiteRequest, TrtOptions};
use sprag_pipeline::project::Project;
use sprag_pipeline::{Result, refuse};

pub(super) fn check(folder: &Path, args: CheckArgs, out: &mut dyn Write) -> Result<Exit> {
    if args.calibrate {
        return calibrated(folder, &args, out);
    }
    gate::stop_bisection(args.judge.bisect, checked(folder, args, out))
}

fn checked(folder: &Path, args: CheckArgs, out: &mut dyn Write) -> Result<Exit> {
    if !args.measure && args.effort.is_given() {
        let message = "`--quick`, `--rigorous`, `--budget` and `--pin` say how to measure, and nothing is measured";
        return refuse(message, "add `--measure`, or leave them out");
    }
    let mut gate = request(folder, args.suites, args.judge);
    if gate.print == PrintFormat::Json {
        gate.reports.push("json=-".to_owned());
        gate.print = PrintFormat::Table;
    }
    let request = CheckRequest {
        gate,
        run: args.run,
        measure: args.measure.then(|| effort::from_args(&args.effort)).transpose()?,
        against: args.against,
        baseline: args.baseline,
        compatible: args.compatible,
        summary: args.summary,
        trend_output: args.trend_output,
    };
    let mut measure: Box<gate::MeasureSuites<'_>> = Box::new(|project, asked, effort| {
        let trt = TrtOptions::none(folder);
        trt.check(project, asked)?;
        let progress = Progress::new();
        let host = MeasureHost { observer: &progress, built_from: BUILT_FROM };
        let runs = measuring::measure(project, asked, &SuiteRequest::all(effort, &trt), host)?.runs;
        progress.end();
        Ok(runs)
    });
    gate::check(&request, &mut *measure, out)
}

fn request(folder: &Path, suites: Vec<String>, args: JudgeArgs) -> GateRequest {
    let JudgeArgs { policy, tolerance, reports, format, json, bisect, inconclusive } = args;
    let (folder, print) = (folder.to_owned(), if json { PrintFormat::Json } else { format });
    GateRequest { folder, suites, policy, tolerance, reports, print, only_changed: false, bisect, inconclusive }
}

fn calibrated(folder: &Path, args: &CheckArgs, out: &mut dyn Write) -> Result<Exit> {
    if !args.judge.reports.is_empty() {
        let message = "`--calibrate` prints how often rules are wrong, and writes no reports";
        return refuse(message, "`--json` prints it for programs");
    }
    let policy = args.judge.policy.as_ref().map(|path| folder.join(path));
    let calibration = calibrate::calibration(&Project::open(folder)?, &args.suites, policy.as_deref())?;
    if args.judge.json || args.judge.format == PrintFormat::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(&calibration).context("cannot write the figures")?)?;
    } else {
        out.write_all(calibrate::terminal(&calibration).as_bytes())?;
    }
    let is_replayed = calibration.pairs.reruns + calibration.pairs.neighbours > 0;
    Ok(if is_replayed || calibration.resampled_series > 0 { Exit::Done } else { Exit::Inconclusive })
}

pub(super) fn compare(folder: &Path, args: CompareArgs, out: &mut dyn Write) -> Result<Exit> {
    gate::stop_bisection(args.judge.bisect, compared(folder, args, out))
}

fn compared(folder: &Path, args: CompareArgs, out: &mut dyn Write) -> Result<Exit> {
    if args.judge.bisect && [&args.base, &args.other].iter().any(|side| side.starts_with("HEAD")) {
        gate::refuse_aside(&Project::open(folder)?)?;
    }
    let CompareArgs { base, other, filters, config_from, only_changed, .. } = args;
    let gate = GateRequest { only_changed, ..request(folder, args.suites, args.judge) };
    let request = CompareRequest { gate, base, other, filters, config_from };
    if args.measure {
        let (effort, progress) = (effort::from_args(&args.effort)?, Progress::new());
        let host = MeasureHost { observer: &progress, built_from: BUILT_FROM };
        return compare_interleaved(&request, effort, host, out);
    }
    if args.effort.is_given() || !request.filters.is_empty() {
        let message = "`--filter`, `--quick`, `--rigorous`, `--budget` and `--pin` say what to measure, and nothing is \
                       measured";
        return refuse(message, "add `--measure`, or leave them out");
    }
    stored::compare(&request, out)
}

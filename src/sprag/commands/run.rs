//! `sprag run` and `sprag bench`: measure, and record if asked to.

use std::io::Write;
use std::path::Path;

use crate::cli::{BenchArgs, PlanArgs, RunArgs};
use crate::commands::progress::{BUILT_FROM, Progress};
use crate::commands::{effort, report_options, run_options};
use sprag_base::files::{check_writable, write_atomic};
use sprag_measure::suite::{MeasureOptions, Observer as _};
use sprag_pipeline::bench::{self, BenchRequest};
use sprag_pipeline::builds::commit_build;
use sprag_pipeline::config::SuiteKind;
use sprag_pipeline::error::Exit;
use sprag_pipeline::measuring::{self, MeasureHost, SuiteRequest, apex_x_report, run_text};
use sprag_pipeline::options::{NamedFile, check_distinct, shard_option};
use sprag_pipeline::pending;
use sprag_pipeline::project::Project;
use sprag_pipeline::{Result, fleet, refuse};

pub(super) fn run(folder: &Path, args: &RunArgs, out: &mut dyn Write) -> Result<Exit> {
    let effort = effort::from_args(&args.effort)?;
    let mut project = Project::open(folder)?;
    if let Some(commit) = &args.config_from {
        project.use_config_of(commit)?;
    }
    let mut asked = project.config.select(&args.suites)?;
    let commit = args.commit.as_deref().map(|named| commit_build::commit(&project, named)).transpose()?;
    if commit.is_some() {
        asked = commit_build::measurable(&project, &asked, !args.suites.is_empty())?;
    }
    if args.output_run.is_some() && asked.len() > 1 {
        let message = format!("`--output-run` takes the record of one suite, and {} would run", asked.len());
        return refuse(message, "name the suite with `--suite`");
    }
    check_distinct(folder, &files(args))?;
    if let Some(path) = &args.output_run {
        check_writable(&folder.join(path))?;
    }
    if args.count_instructions && !asked.iter().any(|(_, suite)| suite.kind == SuiteKind::Cpu) {
        let message = "`--count-instructions` counts CPU kernels, and no suite of them would run";
        return refuse(message, "name a suite of kind `cpu` with `--suite`");
    }
    if args.retune && !asked.iter().any(|(_, suite)| matches!(suite.kind, SuiteKind::Gpu | SuiteKind::Cuda)) {
        return refuse(
            "`--retune` chooses the configurations of CUDA kernels, and no suite of them would run",
            "name a suite of kind `gpu` or `cuda` with `--suite`; CPU kernels are tuned in every ordinary run",
        );
    }
    let shard = shard_option(args.shard.as_deref())?;
    let trt = report_options::trt(folder, args);
    trt.check_given(&project, &asked)?;
    run_options::check(args, &asked)?;
    let report = report_options::report(folder, args, &asked)?;
    if args.record {
        pending::foretell(&project, commit.as_ref())?;
    }
    let progress = Progress::new();
    let options = MeasureOptions {
        effort,
        filters: &args.filters,
        shard,
        count_instructions: args.count_instructions,
        retune: args.retune,
    };
    let host = MeasureHost { observer: &progress, built_from: BUILT_FROM };
    let request = SuiteRequest {
        options,
        gpu: report_options::gpu_override(args)?,
        trt: &trt,
        commit: commit.as_ref(),
        builds: None,
    };
    let measured = measuring::measure(&project, &asked, &request, host)?;
    let runs = &measured.runs;
    progress.end();
    for run in runs {
        out.write_all(run_text::table(run).as_bytes())?;
    }
    // A shard may hold nothing of any suite.
    if args.record && !runs.is_empty() {
        pending::record_runs(&project, runs)?;
    }
    if let (Some(path), [run]) = (&args.output_run, &runs[..]) {
        write_atomic(&folder.join(path), &run.to_record().2)?;
    }
    let exit = measuring::exit(runs);
    match report {
        Some(report) if !apex_x_report::write(&report, &measured, &project, &progress, out)? => Ok(Exit::Failed),
        _ => Ok(exit),
    }
}

pub(super) fn plan(folder: &Path, args: &PlanArgs, out: &mut dyn Write) -> Result<Exit> {
    let plan = fleet::plan(&Project::open(folder)?, &folder.join(&args.machines), &args.suites)?;
    out.write_all(plan.text(args.format)?.as_bytes())?;
    plan.notes.iter().for_each(|note| sprag_pipeline::text::note(note));
    Ok(Exit::Done)
}

pub(super) fn bench(folder: &Path, args: BenchArgs, out: &mut dyn Write) -> Result<Exit> {
    let progress = Progress::new();
    let host = MeasureHost { observer: &progress, built_from: BUILT_FROM };
    effort::check_pin(args.pin)?;
    let BenchArgs { runs, warmup, pin, record, name, words } = args;
    bench::bench(&BenchRequest { folder: folder.to_owned(), words, runs, warmup, pin, name, record }, host, out)
}

fn files(args: &RunArgs) -> [NamedFile<'_>; 3] {
    [
        NamedFile::written("--output", args.output.as_deref(), "the report of Apex-X"),
        NamedFile::written("--output-md", args.report.output_md.as_deref(), "the same as Markdown"),
        NamedFile::written("--output-run", args.output_run.as_deref(), "the record"),
    ]
}

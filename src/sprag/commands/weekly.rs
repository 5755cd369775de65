//! `sprag weekly`: the scheduled build, from measuring to the digest.

use std::io::Write;
use std::path::Path;

use crate::cli::{DigestFormat, WeeklyArgs};
use crate::commands::effort;
use crate::commands::progress::{BUILT_FROM, Progress};
use sprag_analysis::digest;
use sprag_measure::clock;
use sprag_measure::suite::Observer as _;
use sprag_model::ledger::day;
use sprag_model::{Counts, NoBaseline, Run, Trend};
use sprag_pipeline::error::Exit;
use sprag_pipeline::measuring::{self, MeasureHost, SuiteRequest, TrtOptions};
use sprag_pipeline::pending;
use sprag_pipeline::project::Project;
use sprag_pipeline::text;
use sprag_pipeline::trend::{self, TrendOptions};
use sprag_pipeline::{Result, ledger, publish, study};
use sprag_report as report;

pub(super) fn run(folder: &Path, args: &WeeklyArgs, out: &mut dyn Write) -> Result<Exit> {
    let effort = effort::from_args(&args.effort)?;
    let project = Project::open(folder)?;
    // `--out` counts from the user's folder, the setting from the root of the project.
    let site_folder = args.out.as_ref().map(|path| folder.join(path));
    // Faults are reported before minutes of measuring.
    pending::foretell(&project, None)?;
    publish::check(&project, site_folder.as_deref())?;
    ledger::read(&project)?;
    trend::refuse_partial(&project)?;
    let asked = project.config.select(&[])?;
    let progress = Progress::new();
    let trt = TrtOptions::none(folder);
    trt.check(&project, &asked)?;
    let host = MeasureHost { observer: &progress, built_from: BUILT_FROM };
    let request = SuiteRequest::all(effort, &trt);
    let runs = measuring::measure(&project, &asked, &request, host)?.runs;
    progress.end();
    pending::record_runs(&project, &runs)?;
    progress.begin("analysing the history", 1);
    let mut study = study::study(&project)?;
    // The digest is as of now, the site as of the newest run.
    let now = clock::now();
    let (options, present) = (TrendOptions::events(now), Some(study.present()));
    let (output, as_of_newest) = trend::analyse_both(&project, &study, &options, present, &|_| true)?;
    // A shallow clone does not show what is new.
    let has_news = !output.steps.is_empty() && !study.line.shallow;
    if has_news {
        trend::record(&project, &output.steps)?;
    }
    progress.begin("rendering the site", 1);
    let site = match as_of_newest {
        // Recorded events change what is output, so the history is analysed again.
        Some(trend) if !has_news => publish::publish_trend(&project, &mut study, trend, site_folder.as_deref())?,
        _ => publish::publish(&project, &mut study::study(&project)?, site_folder.as_deref())?,
    };
    progress.end();
    trend::answer_newest(&mut study, &output.trend, now);
    let (digest, events) = match args.format {
        DigestFormat::Md => {
            (report::digest_markdown(&study.analysis, &output.trend), report::trend::digest(&output.trend))
        }
        DigestFormat::Table => {
            let width = text::width();
            let digest = report::digest_text(&study.analysis, &output.trend, width);
            (digest, report::trend::overview(&output.trend, false, width))
        }
    };
    write!(out, "{digest}\n{events}")?;
    writeln!(out, "\nSite: {}", site.join("index.html").display())?;
    Ok(exit(&study, &output.trend, &runs))
}

/// Only what was measured now decides.
fn exit(study: &study::Study, trend: &Trend, runs: &[Run]) -> Exit {
    let mut counts = Counts::default();
    let mut unusable = false;
    for run in runs {
        let baseline_file = digest::find_baseline(&study.baselines, &run.suite, &run.machine.class);
        if let Err(fault @ NoBaseline::Unusable { .. }) = &baseline_file {
            text::warn(&format!("{fault}; nothing of `{}` was judged", run.suite));
            unusable = true;
        }
        let mut comparisons = digest::judge(run, &baseline_file);
        let base = baseline_file.as_ref().ok().and_then(|(_, baseline)| baseline.commit.as_deref());
        trend::answer_run(&study.ledger, &trend.events, &study.line, day(clock::now()), (run, base, &mut comparisons));
        counts = counts.plus(Counts::from_comparisons(&comparisons));
    }
    match (counts.failing() > 0, unusable) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::Usage,
        (false, false) => measuring::exit(runs),
    }
}

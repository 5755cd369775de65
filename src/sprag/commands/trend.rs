//! `sprag trend`: what changed over the recorded history, and which commits are suspect.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::cli::{DetectionArgs, TrendArgs, TrendFormat};
use sprag_analysis::trend::analyse::TrendOutput;
use sprag_base::files::{check_writable, write_atomic};
use sprag_measure::clock;
use sprag_model::{Series, Trend};
use sprag_pipeline::config::FILE_NAME;
use sprag_pipeline::dataset::Opened;
use sprag_pipeline::error::Exit;
use sprag_pipeline::project::Project;
use sprag_pipeline::trend::{self, DetectionOptions, SeriesFilter, TrendOptions, analyse, record};
use sprag_pipeline::{Advice, Result, refuse, text};
use sprag_report as report;

pub(super) fn run(folder: &Path, args: &TrendArgs, out: &mut dyn Write) -> Result<Exit> {
    let project = Project::open(folder)?;
    if let Some(output) = &args.output {
        check_writable(&folder.join(output))?;
    }
    refuse_parts(args)?;
    let output = if args.from.is_empty() { analysed(&project, args)? } else { joined(folder, &project, args)? };
    let text = match args.format {
        TrendFormat::Table => {
            let width = args.output.is_none().then(text::width).flatten();
            table(&project, args, &output.trend, width)?.into_bytes()
        }
        TrendFormat::Md => report::trend::markdown(&output.trend, args.all).into_bytes(),
        TrendFormat::Json => report::trend::json(&output.trend),
    };
    match &args.output {
        Some(output) => write_atomic(&folder.join(output), &text)?,
        None => out.write_all(&text)?,
    }
    if args.record {
        record(&project, &output.steps)?;
    }
    Ok(Exit::Done)
}

pub(super) fn detection(args: &DetectionArgs) -> DetectionOptions {
    let DetectionArgs { sensitivity, least, all_parents, .. } = *args;
    // Before the first commit HEAD names none.
    let branch = Some(args.branch.clone()).filter(|branch| branch != "HEAD");
    DetectionOptions { sensitivity, least, branch, all_parents }
}

fn options(args: &TrendArgs) -> TrendOptions {
    TrendOptions {
        now: args.as_of.unwrap_or_else(clock::now),
        detection: detection(&args.detection),
        days: Some(args.days),
    }
}

fn analysed(project: &Project, args: &TrendArgs) -> Result<TrendOutput> {
    let options = options(args);
    let study = options.detection.study(project)?;
    if args.record {
        trend::check_recordable(&study)?;
    }
    let series: Vec<&Series> = study.analysis.series.iter().map(|one| &one.series).collect();
    let selection = SeriesFilter::new(&args.suites, args.machine.as_deref(), &args.filters, &series)?;
    trend::warn_unmatched(project, &study);
    trend::warn_early(args.as_of, study.heads.iter().map(|head| head.timestamp).max());
    let output = analyse(project, &study, &options, &|one| selection.has(one))?;
    if selection.is_all() {
        trend::warn_unknown(&study.ledger, &output.trend);
    }
    Ok(output)
}

/// The same from partial results, which engines detected in the parts of a dataset.
fn joined(folder: &Path, project: &Project, args: &TrendArgs) -> Result<TrendOutput> {
    let dataset = args.dataset.as_ref().expect("`--from` requires it");
    if let Some(option) = detection(&args.detection).given() {
        let message = format!("`{option}` changes what is detected, and `--from` joins what was detected before");
        return refuse(message, format!("give `{option}` to `sprag export series`, and detect in the parts of that"));
    }
    let opened = Opened::open(&folder.join(dataset))?;
    trend::warn_early(args.as_of, opened.as_of());
    let selection = SeriesFilter::new(&args.suites, args.machine.as_deref(), &args.filters, &opened.series())?;
    let from: Vec<PathBuf> = args.from.iter().map(|path| folder.join(path)).collect();
    let (output, ledger) = opened.join(project, &from, &options(args), &|one| selection.has(one), args.record)?;
    if selection.is_all() {
        trend::warn_unknown(&ledger, &output.trend);
    }
    Ok(output)
}

fn table(project: &Project, args: &TrendArgs, trend: &Trend, width: Option<usize>) -> Result<String> {
    let Some(id) = &args.event else {
        let write = if args.details { report::trend::table } else { report::trend::overview };
        return Ok(write(trend, args.all, width));
    };
    let worst = || trend::worst_of(project, &trend.events).map(|event| &event.id);
    let Some(id) = (if id == trend::WORST { worst() } else { Some(id) }) else {
        return Ok(format!("{}\n", trend::NOTHING_OPEN));
    };
    report::trend::event(trend, id, width).ok_or_else(|| {
        let several = trend.events.iter().filter(|one| one.id.starts_with(id.as_str())).count() > 1;
        let subject = if several { "several events have" } else { "no event has" };
        let message = format!("{subject} an id that starts with `{}`", text::printable(id));
        Advice::new(message, "`sprag trend --all` lists the events with their ids").into()
    })
}

/// Recorded events are of the whole history: a part of it would retract the others.
fn refuse_parts(args: &TrendArgs) -> Result<()> {
    let others = [
        ("--suite", !args.suites.is_empty()),
        ("--machine", args.machine.is_some()),
        ("--filter", !args.filters.is_empty()),
    ];
    let other = others.into_iter().find(|(_, is_given)| *is_given).map(|one| one.0);
    match other.or(detection(&args.detection).given()).filter(|_| args.record) {
        None => Ok(()),
        Some(other) => refuse(
            format!("`--record` writes the state of all events, so it cannot be combined with `{other}`"),
            format!("leave out `{other}`, or `--record`; write permanent settings into `{FILE_NAME}`"),
        ),
    }
}

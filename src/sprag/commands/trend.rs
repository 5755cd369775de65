//! `sprag trend`: what changed over the recorded history, when, by how much, how sure that is, and which commits are suspect.

use std::io::Write;
use std::path::Path;

use super::project::Project;
use super::study::{self, Along, Study};
use super::{Advice, Exit, acceptance, text};
use crate::cli::{SensitivityArg, TrendArgs, TrendFormat};
use crate::config::{self, FILE_NAME, SensitivityName};
use sprag_base::files::{check_writable, write_atomic};
use sprag_history::{self as history, HistoryError};
use sprag_measure::clock;
use sprag_model::analysis::SeriesAnalysis;
use sprag_pipeline::trend::{TrendOptions, analyse, record};
use sprag_report as report;

pub(super) fn run(folder: &Path, args: &TrendArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    if let Some(output) = &args.output {
        check_writable(&folder.join(output))?;
    }
    check_whole(args)?;
    // Before the first commit HEAD names none, and there is nothing to be along.
    let revision = Some(args.branch.as_str()).filter(|revision| *revision != "HEAD");
    let along = Along { revision, all_parents: args.all_parents };
    let mut study = study::study_along(&project, along).map_err(|error| no_commit(&project, args, error))?;
    study.line.named = revision.is_some();
    if args.record && study.line.shallow {
        return Err(Advice {
            message: "no event is recorded: this clone is shallow, so what came before is not known".to_owned(),
            hint: "run `git fetch --unshallow`; in a workflow set `fetch-depth: 0` where it checks out".to_owned(),
        }
        .into());
    }
    let selection = Selection::of(args, &study)?;
    tell_unfit(&project, &study);
    tell_early(args, &study);
    let options = TrendOptions {
        now: args.as_of.unwrap_or_else(clock::now),
        sensitivity: args.sensitivity.map(sensitivity),
        least: args.least,
        days: Some(args.days),
    };
    let output = analyse(&project, &study, &options, &|one| selection.has(one))?;
    if selection.is_all() {
        acceptance::tell_unknown(&study.ledger, &output.trend);
    }
    let text = match args.format {
        TrendFormat::Table => {
            let width = args.output.is_none().then(text::width).flatten();
            report::trend::table(&output.trend, args.all, width).into_bytes()
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

/// What is wrong where `--branch` names no commit; any other error as it is.
fn no_commit(project: &Project, args: &TrendArgs, error: sprag_pipeline::Error) -> anyhow::Error {
    if !matches!(error.cause(), Some(HistoryError::Revision { .. })) {
        return error.into();
    }
    let is_shallow = || project.store().and_then(|store| Ok(history::facts(store)?.shallow)).unwrap_or(false);
    let message = format!("`--branch {}` names no commit of this repository", text::printable(&words(&args.branch)));
    let hint = if is_shallow() {
        "this clone is shallow: run `git fetch --unshallow`, in a workflow set `fetch-depth: 0`"
    } else {
        "name a branch, a tag or a commit, as `git log` takes it; without `--branch` it is HEAD"
    };
    Advice { message, hint: hint.to_owned() }.into()
}

/// A word of a command line, in quotes where nobody would see it otherwise.
fn words(word: &str) -> String {
    if word.trim().is_empty() { format!("'{word}'") } else { word.to_owned() }
}

/// What is recorded is of the whole history, as `sprag.toml` says: a part of it would take back what it does not look at.
fn check_whole(args: &TrendArgs) -> anyhow::Result<()> {
    let others = [
        ("--suite", !args.suites.is_empty()),
        ("--machine", args.machine.is_some()),
        ("--filter", !args.filters.is_empty()),
        ("--sensitivity", args.sensitivity.is_some()),
        ("--least", args.least.is_some()),
        ("--branch", args.branch != "HEAD"),
        ("--all-parents", args.all_parents),
    ];
    match others.iter().find(|(_, is_given)| args.record && *is_given) {
        None => Ok(()),
        Some((other, _)) => Err(Advice {
            message: format!("`--record` writes what became of all events, so it does not go with `{other}`"),
            hint: format!("leave out `{other}`, or `--record`; settings that are to stay belong in `{FILE_NAME}`"),
        }
        .into()),
    }
}

fn sensitivity(arg: SensitivityArg) -> SensitivityName {
    match arg {
        SensitivityArg::Strict => SensitivityName::Strict,
        SensitivityArg::Balanced => SensitivityName::Balanced,
        SensitivityArg::Loose => SensitivityName::Loose,
    }
}

/// Which series are looked at.
struct Selection<'a> {
    suites: &'a [String],
    machine: Option<String>,
    filters: &'a [String],
}

impl<'a> Selection<'a> {
    /// # Errors
    /// When it names a suite or a machine that the history does not have, or no series is left.
    fn of(args: &'a TrendArgs, study: &Study) -> anyhow::Result<Selection<'a>> {
        let series = || study.analysis.series.iter().map(|one| &one.series);
        let none = |what: &str, asked: &str, mut known: Vec<&str>| {
            known.sort_unstable();
            known.dedup();
            let near =
                config::nearest(asked, &known).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Advice {
                message: text::printable(&format!("the history has no series of the {what} `{asked}`")),
                hint: text::printable(&format!("{near}it has: {list}")),
            }
        };
        for suite in &args.suites {
            if series().all(|one| one.suite != *suite) {
                return Err(none("suite", suite, series().map(|one| one.suite.as_str()).collect()).into());
            }
        }
        let machine = match &args.machine {
            None => None,
            Some(asked) => {
                let is_meant =
                    |id: &str, name: &str| name == asked || (asked.len() >= 8 && id.starts_with(asked.as_str()));
                let mut ids: Vec<&str> =
                    series().filter(|one| is_meant(&one.machine, &one.machine_name)).map(|one| &*one.machine).collect();
                ids.sort_unstable();
                ids.dedup();
                match ids[..] {
                    [id] => Some(id.to_owned()),
                    [] => {
                        let names = series().map(|one| one.machine_name.as_str()).collect();
                        return Err(none("machine", asked, names).into());
                    }
                    _ => {
                        let message = format!("several machines are called `{asked}`");
                        let hint = format!("name one by its id: {}", ids.join(", "));
                        return Err(Advice { message: text::printable(&message), hint }.into());
                    }
                }
            }
        };
        let selection = Selection { suites: &args.suites, machine, filters: &args.filters };
        if !study.analysis.series.is_empty() && !study.analysis.series.iter().any(|one| selection.has(one)) {
            let message = "no series of the history is selected".to_owned();
            return Err(Advice { message, hint: "a filter is a part of the id of a benchmark".to_owned() }.into());
        }
        Ok(selection)
    }

    /// Whether nothing was narrowed.
    fn is_all(&self) -> bool {
        self.suites.is_empty() && self.machine.is_none() && self.filters.is_empty()
    }

    fn has(&self, one: &SeriesAnalysis) -> bool {
        let series = &one.series;
        (self.suites.is_empty() || self.suites.contains(&series.suite))
            && self.machine.as_ref().is_none_or(|machine| *machine == series.machine)
            && (self.filters.is_empty() || self.filters.iter().any(|part| series.benchmark.contains(part.as_str())))
    }
}

/// Warns where the present that is asked for lies before what was measured.
fn tell_early(args: &TrendArgs, study: &Study) {
    let newest = study.heads.iter().map(|head| head.timestamp).max();
    if let Some((asked, newest)) = args.as_of.zip(newest).filter(|(asked, newest)| asked < newest) {
        super::warn(&format!(
            "`--as-of {}` lies before the newest run, of {}; later runs are told of all the same, and nothing is overdue",
            asked.format("%Y-%m-%dT%H:%M:%SZ"),
            newest.format("%Y-%m-%dT%H:%M:%SZ")
        ));
    }
}

/// Warns of entries in `sprag.toml` that fit no metric of the history.
fn tell_unfit(project: &Project, study: &Study) {
    let keys: Vec<String> = study
        .analysis
        .series
        .iter()
        .map(|one| format!("{} {}", one.series.benchmark, one.series.metric.name))
        .collect();
    if keys.is_empty() {
        return;
    }
    for entry in &project.config.trend.metric {
        if !keys.iter().any(|key| key.contains(&entry.part)) {
            super::warn(&format!(
                "`match = \"{}\"` under `[[trend.metric]]` in `{FILE_NAME}` fits no metric of the history",
                entry.part
            ));
        }
    }
}

//! `sprag baseline accept`: makes a proposed baseline, or what the newest run comes to, the one in use.

use std::io::Write;
use std::path::Path;

use super::place::{self, Place};
use super::take::{self, Found, Taken, Wanted};
use super::take_over::{TakenOver, Terms, take_over};
use super::{source, words};
use crate::cli::BaselineAcceptArgs;
use crate::commands::project::Project;
use crate::commands::{Advice, Exit, text, warn};
use sprag_analysis::baseline_diff;
use sprag_model::baseline::Baseline;
use sprag_model::baseline::diff::DiffKind;

/// What is to become the baseline in use.
struct Proposal {
    /// What it is, as messages call it.
    shown: String,
    baseline: Baseline,
    /// The run that it was just taken from.
    taken: Option<Box<Taken>>,
}

/// What is to be done about one proposal.
struct Step<'p> {
    shown: String,
    place: Place<'p>,
    taken_over: TakenOver,
}

pub(in crate::commands) fn accept(
    folder: &Path,
    args: &BaselineAcceptArgs,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let why = args.why.trim();
    refuse_blank(args)?;
    let project = take::open(folder)?;
    let proposals = match &args.file {
        Some(path) => vec![of_file(folder, path, args)?],
        None => of_runs(&project, args)?,
    };
    let _lock = place::lock(&project)?;
    let terms = Terms { metrics: &args.metrics, partial: args.partial, dirty: args.dirty };
    // All that may refuse comes before the first is written.
    let mut steps = Vec::new();
    for Proposal { shown, baseline, taken } in proposals {
        if let Some(taken) = &taken {
            taken.warn();
        }
        let place = Place::look(&project, &baseline.suite, &baseline.machine_class)?;
        let taken_over = take_over(&baseline, &shown, place.present(), &place.path, &terms)?;
        steps.push(Step { shown, place, taken_over });
    }
    for Step { shown, place, taken_over } in &steps {
        let TakenOver { baseline, keys } = taken_over;
        if place.present().is_some_and(|present| present.is_same(baseline)) {
            // Who accepts some metrics that are as they are accepts nothing new.
            let is_signed = keys.is_none() && place.sign(why)?;
            let more = if is_signed { " but to write who accepts it, and why" } else { "" };
            writeln!(out, "{} holds just what {shown} does: nothing to do{more}", place.path)?;
            if is_signed {
                writeln!(out, "{}", words::to_commit(&place.path, None))?;
            }
            continue;
        }
        let what = changes(place.present(), baseline);
        let archived = place.put(baseline.clone(), why, keys.clone())?;
        if let Some(archived) = &archived {
            writeln!(out, "archived {archived}")?;
        }
        writeln!(out, "wrote {}: {}{what}, from {shown}", place.path, words::count(baseline))?;
        writeln!(out, "{}", words::to_commit(&place.path, archived.as_deref()))?;
    }
    Ok(if steps.is_empty() { Exit::NotMeasured } else { Exit::Done })
}

fn refuse_blank(args: &BaselineAcceptArgs) -> Result<(), Advice> {
    if args.why.trim().is_empty() {
        return Err(Advice {
            message: "`--why` says nothing".to_owned(),
            hint: "say why the numbers may be what they are: whoever is held to them will ask".to_owned(),
        });
    }
    if args.metrics.iter().any(|text| text.trim().is_empty()) {
        let message = "`--metric` is blank, which every metric contains".to_owned();
        return Err(Advice { message, hint: "leave it out to take over all".to_owned() });
    }
    Ok(())
}

fn of_file(folder: &Path, path: &Path, args: &BaselineAcceptArgs) -> anyhow::Result<Proposal> {
    let baseline = source::read(&folder.join(path))?;
    let shown = format!("`{}`", text::printable(&path.display().to_string()));
    if !args.suites.is_empty() && !args.suites.contains(&baseline.suite) {
        let message = format!("{shown} is of the suite `{}`", baseline.suite);
        return Err(Advice { message, hint: "leave out `--suite`: the file says which it is of".to_owned() }.into());
    }
    Ok(Proposal { shown, baseline, taken: None })
}

/// What the newest runs of this machine at HEAD come to.
fn of_runs(project: &Project, args: &BaselineAcceptArgs) -> anyhow::Result<Vec<Proposal>> {
    let wanted = Wanted { suites: &args.suites, file: None, revision: None };
    let mut proposals = Vec::new();
    for found in take::take(project, &wanted)? {
        match found {
            Found::Taken(taken) => {
                let shown = format!("the run {}", taken.recorded.id.get(..8).unwrap_or(&taken.recorded.id));
                proposals.push(Proposal { shown, baseline: taken.baseline.clone(), taken: Some(taken) });
            }
            // A suite that broke, or that was asked for, is not passed over.
            Found::Nothing { why, failed } if failed || !args.suites.is_empty() => {
                let hint = "measure it with `sprag run --record`, or name the others with `--suite`".to_owned();
                return Err(Advice { message: format!("{why}: there is nothing to accept"), hint }.into());
            }
            Found::Nothing { why, .. } => warn(&format!("{why}: no baseline of it")),
        }
    }
    Ok(proposals)
}

/// ` (2 changed by up to +12.5 %, 1 new)`; nothing where there was no baseline.
fn changes(present: Option<&Baseline>, baseline: &Baseline) -> String {
    let Some(present) = present else { return String::new() };
    let found = baseline_diff::metrics(present, baseline);
    let count = |kinds: &[DiffKind]| found.iter().filter(|one| kinds.contains(&one.kind)).count();
    let mut told = Vec::new();
    let moved = count(&[DiffKind::Worse, DiffKind::Better, DiffKind::Moved]);
    if let Some(change) = found.iter().find_map(|one| one.change).filter(|_| moved > 0) {
        told.push(format!("{moved} changed by up to {}", text::percent(change)));
    }
    let kinds =
        [(DiffKind::Rule, "with another rule"), (DiffKind::Added, "new"), (DiffKind::Removed, "no longer there")];
    let others = kinds.map(|(kind, word)| (count(&[kind]), word));
    told.extend(others.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")));
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

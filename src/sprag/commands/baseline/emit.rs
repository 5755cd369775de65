//! `sprag baseline emit`: takes the values of runs as what later runs are held against, or as a proposal for that.

use std::io::Write;
use std::path::Path;

use super::place::{self, Place};
use super::take::{self, Found, Taken, Wanted};
use super::{learnt, words};
use crate::cli::BaselineEmitArgs;
use crate::commands::distinct::{NamedFile, check_distinct};
use crate::commands::project::Project;
use crate::commands::{Advice, Exit, policy, seed_gate, text, warn};
use sprag_base::files::{check_writable, write_new};
use sprag_model::baseline::Baseline;

pub(in crate::commands) fn emit(folder: &Path, args: &BaselineEmitArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if args.notes.as_ref().is_some_and(|notes| notes.trim().is_empty()) {
        return Err(Advice {
            message: "`--notes` says nothing".to_owned(),
            hint: "say why the numbers may be what they are, or leave it out".to_owned(),
        }
        .into());
    }
    if let Some(exit) = seed_gate::emit(folder, args, out)? {
        return Ok(exit);
    }
    let project = take::open(folder)?;
    let files = [
        NamedFile::read("--run", args.run.as_deref(), "the run that is taken"),
        NamedFile::written("--output", args.output.as_deref(), "the baseline"),
    ];
    check_distinct(folder, &files)?;
    let output = args.output.as_ref().map(|path| folder.join(path));
    if let Some(path) = &output {
        refuse_to_replace(path)?;
        check_writable(path)?;
    }
    let file = args.run.as_ref().map(|path| folder.join(path));
    let wanted = Wanted { suites: &args.suites, file, revision: args.from.as_deref() };
    let mut all = Vec::new();
    for found in take::take(&project, &wanted)? {
        match found {
            Found::Taken(taken) => all.push(*taken),
            Found::Nothing { why, .. } => warn(&format!("{why}: no baseline of it")),
        }
    }
    if output.is_some() && all.len() > 1 {
        let suites: Vec<&str> = all.iter().map(|one| one.baseline.suite.as_str()).collect();
        let message = format!("`--output` is for one baseline, and there are those of `{}`", suites.join("`, `"));
        return Err(Advice { message, hint: "choose one of them with `--suite`".to_owned() }.into());
    }
    let _lock = place::lock(&project)?;
    // All that may refuse comes before the first is written.
    let places = match &output {
        Some(_) => Vec::new(),
        None => all.iter().map(|taken| place_of(&project, taken)).collect::<anyhow::Result<Vec<Place<'_>>>>()?,
    };
    for (number, taken) in all.iter().enumerate() {
        taken.warn();
        if taken.baseline.dirty {
            warn("the run measured files that no commit holds; nobody can build this baseline again");
        }
        let mut archived = None;
        match &output {
            Some(path) => propose(path, taken, args, out)?,
            None => archived = replace(&places[number], taken, args, out)?,
        }
        let policy = policy::of(&project.config.rules);
        writeln!(out, "{}", learnt::words(&taken.baseline, &policy, &taken.sessions))?;
        match &args.output {
            Some(path) => {
                let shown = text::printable(&path.display().to_string());
                writeln!(out, "to make it the one in use: sprag baseline accept {shown} --why TEXT")?;
            }
            None => writeln!(out, "{}", words::to_commit(&places[number].path, archived.as_deref()))?,
        }
    }
    let keys = |taken: &Taken| taken.baseline.metrics.keys().cloned().collect();
    let judged: Vec<_> = all.iter().map(|taken| (taken.baseline.suite.as_str(), keys(taken))).collect();
    policy::tell_unfit(&project, None, &judged);
    Ok(if all.is_empty() { Exit::NotMeasured } else { Exit::Done })
}

/// Writes the baseline to a file of its own, accepted by nobody.
fn propose(path: &Path, taken: &Taken, args: &BaselineEmitArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    if taken.baseline.partial {
        warn("the run has some benchmarks only; the baseline holds no others");
    }
    let baseline = Baseline { notes: args.notes.clone().unwrap_or_default(), ..taken.baseline.clone() };
    if !write_new(path, baseline.to_json().as_bytes())? {
        refuse_to_replace(path)?;
    }
    let shown = text::printable(&path.display().to_string());
    writeln!(
        out,
        "wrote {shown}: {} on {}",
        words::count(&baseline),
        text::printable(&taken.recorded.run.machine.name)
    )?;
    Ok(())
}

/// Where the baseline goes.
fn place_of<'p>(project: &'p Project, taken: &Taken) -> anyhow::Result<Place<'p>> {
    let place = Place::look(project, &taken.baseline.suite, &taken.baseline.machine_class)?;
    if taken.baseline.partial {
        refuse_to_shrink(&place, &taken.baseline)?;
    }
    Ok(place)
}

/// Puts the baseline in its place, and gives the path of the one that lay there.
fn replace(
    place: &Place<'_>,
    taken: &Taken,
    args: &BaselineEmitArgs,
    out: &mut dyn Write,
) -> anyhow::Result<Option<String>> {
    if taken.baseline.partial {
        warn("the run has some benchmarks only; the baseline holds no others");
    }
    let baseline = Baseline { notes: args.notes.clone().unwrap_or_default(), ..taken.baseline.clone() };
    let words = words::count(&baseline);
    let archived = place.put(baseline, args.notes.as_deref().unwrap_or_default(), None)?;
    if let Some(archived) = &archived {
        writeln!(out, "archived {archived}")?;
    }
    writeln!(out, "wrote {}: {words} on {}", place.path, text::printable(&taken.recorded.run.machine.name))?;
    Ok(archived)
}

fn refuse_to_replace(path: &Path) -> Result<(), Advice> {
    if !path.exists() {
        return Ok(());
    }
    let message = format!("`{}` is there already, and its tolerances may be somebody's work", path.display());
    Err(Advice { message, hint: "name another file, or move this one away".to_owned() })
}

/// Fails where a run of some benchmarks only would take metrics out of the baseline that lies there.
fn refuse_to_shrink(place: &Place<'_>, new: &Baseline) -> anyhow::Result<()> {
    let Some(old) = place.present() else { return Ok(()) };
    let lost = old.metrics.keys().filter(|key| !new.metrics.contains_key(*key)).count();
    if lost == 0 {
        return Ok(());
    }
    Err(Advice {
        message: format!(
            "the run is of some benchmarks only, and `{}` holds {} that it did not measure",
            place.path,
            text::count(lost, "metric")
        ),
        hint: "take the baseline from a run of the whole suite, or take over what it has: `sprag baseline accept --partial`"
            .to_owned(),
    }
    .into())
}

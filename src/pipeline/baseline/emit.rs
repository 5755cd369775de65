//! Takes baselines from runs, in use at once or proposed in a file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use crate::baseline::place::{self, Place};
use crate::baseline::take::{self, RunSelection, TakeOutcome, Taken};
use crate::error::Exit;
use crate::gate::apex_x;
use crate::options::{NamedFile, check_distinct, refuse_existing};
use crate::project::Project;
use crate::text::{self, warn};
use crate::{policy, refuse};
use sprag_analysis::rules::interval;
use sprag_analysis::session_noise::{self, FEWEST_SESSIONS, MOST_SESSIONS};
use sprag_base::files::{check_writable, write_new};
use sprag_base::number::short_percent as percent;
use sprag_model::{Baseline, BaselineMetric, Choice, Policy, Rule, SessionNoise};

pub struct EmitOptions<'a> {
    pub folder: &'a Path,
    pub suites: &'a [String],
    pub run: Option<&'a Path>,
    pub from: Option<&'a str>,
    pub output: Option<&'a Path>,
    pub notes: Option<&'a str>,
}

pub fn emit(options: &EmitOptions<'_>, out: &mut dyn Write) -> crate::Result<Exit> {
    let &EmitOptions { folder, suites, run, from, output, notes } = options;
    if notes.is_some_and(|notes| notes.trim().is_empty()) {
        return refuse("`--notes` says nothing", "say why these numbers are acceptable, or leave it out");
    }
    if let Some(exit) = apex_x::emit(folder, run, suites, output, notes, out)? {
        return Ok(exit);
    }
    let project = take::open(folder)?;
    let files = [
        NamedFile::read("--run", run, "the run that is taken"),
        NamedFile::written("--output", output, "the baseline"),
    ];
    check_distinct(folder, &files)?;
    let file = output.map(|path| folder.join(path));
    if let Some(path) = &file {
        refuse_existing(path)?;
        check_writable(path)?;
    }
    let wanted = RunSelection { suites, file: run.map(|path| folder.join(path)), revision: from };
    let mut all = Vec::new();
    for outcome in take::take(&project, &wanted)? {
        match outcome {
            TakeOutcome::Taken(taken) => all.push(*taken),
            TakeOutcome::Nothing { why, .. } => warn(&format!("{why}: no baseline of it")),
        }
    }
    if output.is_some() && all.len() > 1 {
        let suites: Vec<&str> = all.iter().map(|one| one.baseline.suite.as_str()).collect();
        let message = format!("`--output` is for one baseline, and there are those of `{}`", suites.join("`, `"));
        return refuse(message, "choose one of them with `--suite`");
    }
    let _lock = place::lock(&project)?;
    let places = match &file {
        Some(_) => Vec::new(),
        None => all.iter().map(|taken| place_of(&project, taken)).collect::<crate::Result<Vec<Place<'_>>>>()?,
    };
    if let Some(place) = (1..places.len())
        .map(|at| &places[at])
        .find(|one| places.iter().filter(|other| other.path == one.path).count() > 1)
    {
        let message = format!("two machines of one class would both write {}", place.path);
        return refuse(
            message,
            "take the baseline of one: set `SPRAG_MACHINE`, or import with distinct machines and classes",
        );
    }
    for (number, taken) in all.iter().enumerate() {
        taken.warn();
        if taken.baseline.dirty {
            warn("the run measured uncommitted changes; nobody can reproduce this baseline");
        }
        if taken.baseline.partial {
            warn("the run has some benchmarks only; the baseline holds no others");
        }
        let baseline = Baseline { notes: notes.unwrap_or_default().to_owned(), ..taken.baseline.clone() };
        let words = place::count(&baseline);
        let (shown, next) = match &file {
            Some(path) => {
                if !write_new(path, baseline.to_json().as_bytes())? {
                    refuse_existing(path)?;
                }
                let given = text::path(output.unwrap_or(path));
                (text::path(path), format!("to make it the one in use: sprag baseline accept {given} --why TEXT"))
            }
            None => {
                let place = &places[number];
                let archived = place.put(baseline, notes.unwrap_or_default(), None)?;
                if let Some(archived) = &archived {
                    writeln!(out, "archived {archived}")?;
                }
                (place.path.clone(), place::to_commit(&place.path, archived.as_deref()))
            }
        };
        let policy = policy::from_rules(&project.config.rules);
        let learnt = learnt(&taken.baseline, &policy, &taken.sessions);
        for line in [format!("wrote {shown}: {words} on {}", taken.recorded.run.machine.name), learnt] {
            out.write_all(text::line(&line, 0).as_bytes())?;
        }
        writeln!(out, "{next}")?;
    }
    let keys = |taken: &Taken| taken.baseline.metrics.keys().cloned().collect();
    let judged: Vec<_> = all.iter().map(|taken| (taken.baseline.suite.as_str(), keys(taken))).collect();
    policy::warn_unmatched(&project, None, &judged);
    Ok(if all.is_empty() { Exit::NotMeasured } else { Exit::Done })
}

fn place_of<'p>(project: &'p Project, taken: &Taken) -> crate::Result<Place<'p>> {
    let place = Place::open(project, &taken.baseline.suite, &taken.baseline.machine_class)?;
    if taken.baseline.partial {
        refuse_to_shrink(&place, &taken.baseline)?;
    }
    Ok(place)
}

/// Fails if a partial run would drop metrics of the present baseline.
fn refuse_to_shrink(place: &Place<'_>, new: &Baseline) -> crate::Result<()> {
    let Some(old) = place.present() else { return Ok(()) };
    let lost = old.metrics.keys().filter(|key| !new.metrics.contains_key(*key)).count();
    if lost == 0 {
        return Ok(());
    }
    refuse(
        format!(
            "the run is of some benchmarks only, and `{}` holds {} that it did not measure",
            place.path,
            text::count(lost, "metric")
        ),
        "take the baseline from a run of the whole suite, or take over what it has: `sprag baseline accept --partial`",
    )
}

/// `estimated from 5 sessions: tolerances from 2 % to 7 %; with the same noise, 8 sessions allow 2 % to 5 %`.
fn learnt(baseline: &Baseline, policy: &Policy, sessions: &BTreeMap<String, usize>) -> String {
    let is_by_noise = |key: &str| policy.choice(key) == Choice::Learnt;
    let metrics: Vec<(&BaselineMetric, usize)> = baseline
        .metrics
        .iter()
        .filter(|(key, _)| is_by_noise(key))
        .map(|(key, metric)| (metric, sessions.get(key).copied().unwrap_or(1)))
        .collect();
    if metrics.is_empty() {
        return "the rules of the configuration judge it, whatever its noise".to_owned();
    }
    let seen = |reduce: fn(usize, usize) -> usize| metrics.iter().map(|(_, seen)| *seen).reduce(reduce).unwrap_or(1);
    let (fewest, most) = (seen(usize::min), seen(usize::max));
    let seen = if fewest == most { text::count(most, "session") } else { format!("{fewest} to {most} sessions") };
    let tolerances = span(metrics.iter().filter_map(|(metric, _)| match metric.rule {
        Rule::Interval { tolerance } => Some(tolerance),
        _ => None,
    }));
    let taught = |metric: &BaselineMetric| metric.session_noise.filter(|one| one.sessions > 0);
    let assumed = metrics.iter().filter(|(metric, _)| taught(metric).is_none()).count();
    if assumed == metrics.len() {
        let more = text::count(FEWEST_SESSIONS.saturating_sub(most).max(1), "more session");
        return format!(
            "only {seen} recorded, so noise is assumed: tolerances {tolerances}; record {more} at least an hour \
             apart to estimate it"
        );
    }
    let mut words = format!("estimated from {seen}: tolerances {tolerances}");
    if assumed > 0 {
        let metrics = text::count(assumed, "metric");
        words.push_str(&format!("; assumed for {metrics} with fewer than {FEWEST_SESSIONS} sessions"));
    }
    if fewest < MOST_SESSIONS {
        let with_all = |(metric, _): &(&BaselineMetric, usize)| {
            let noise = SessionNoise { freedom: (MOST_SESSIONS - 1) as f64, ..taught(metric)? };
            Some(session_noise::tolerance(&noise, MOST_SESSIONS, interval::CONFIDENCE))
        };
        let then = span(metrics.iter().filter_map(with_all));
        words.push_str(&format!("; with the same noise, {MOST_SESSIONS} sessions allow {then}"));
    }
    words
}

fn span(values: impl Iterator<Item = f64> + Clone) -> String {
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    if low >= high { percent(high) } else { format!("from {} to {}", percent(low), percent(high)) }
}

//! What is likely before anything is measured: suspects of events, and paths that `[bisect] prior` weighs.

use std::collections::{BTreeMap, HashSet};

use crate::config::{Config, Suite};
use crate::project::Project;
use crate::text::{self, note};
use crate::trend;
use sprag_base::glob::covers;
use sprag_history as history;
use sprag_model::EventKind;

/// The suspects of events, with a probability each.
#[derive(Default)]
pub(super) struct Likely {
    pub(super) suspects: Vec<(String, f64)>,
    /// The share that all other commits of the range have.
    others: f64,
}

/// That share where an event is searched: the analysis of its history leaves out suspects that are unlikely, not impossible.
const OTHERS: f64 = 0.05;

/// That share where ends are given: what differs between them may be no event of the history.
const UNRECORDED: f64 = 0.2;

/// The weight of a commit that changes nothing of what is built. It may not be zero, as the settings may be wrong.
const UNBUILT: f64 = 1e-6;

impl Likely {
    pub(super) fn of_event(suspects: Vec<(String, f64)>) -> Likely {
        Likely { suspects, others: OTHERS }
    }

    /// By the recorded runs of a suite: the suspects on the line of all its events.
    pub(super) fn of_history(project: &Project, suite: &str, filters: &[String], commits: &[String]) -> Likely {
        let events = trend::events(project).unwrap_or_else(|error| {
            note(&format!("the recorded history gives no prior probabilities: {}", error.chain()));
            Vec::new()
        });
        let line: HashSet<&String> = commits[1..].iter().collect();
        let is_asked = |id: &str| filters.is_empty() || filters.iter().any(|filter| id.contains(filter.as_str()));
        let mut suspects: BTreeMap<String, f64> = BTreeMap::new();
        let mut count = 0;
        for event in events.into_iter().filter(|event| event.kind == EventKind::Change) {
            let is_member = event.members.iter().any(|one| one.suite == suite && is_asked(&one.benchmark));
            let on_line = event.suspects.into_iter().filter(|one| is_member && line.contains(&one.commit.sha));
            let before = suspects.len();
            for one in on_line {
                *suspects.entry(one.commit.sha).or_default() += one.probability;
            }
            count += usize::from(suspects.len() > before);
        }
        if count > 0 {
            let (events, commits) = (text::count(count, "event"), text::count(suspects.len(), "commit"));
            note(&format!("recorded runs show {events} between the ends, which makes {commits} more likely"));
        }
        let sum: f64 = suspects.values().sum();
        let suspects = suspects.into_iter().map(|(sha, probability)| (sha, probability / sum.max(1e-9))).collect();
        Likely { suspects, others: UNRECORDED }
    }
}

/// Of each suspect of the line, from 1: positive, of any sum.
pub(super) fn of_line(
    project: &Project,
    suite: &Suite,
    commits: &[String],
    likely: &Likely,
) -> crate::Result<Vec<f64>> {
    let suspects = &commits[1..];
    let Likely { suspects: likely, others } = likely;
    let listed = suspects.iter().filter(|sha| likely.iter().any(|one| one.0 == **sha)).count();
    let even = if listed > 0 { others / (suspects.len() - listed).max(1) as f64 } else { 1.0 };
    let mut prior = Vec::new();
    for sha in suspects {
        let of_event = match likely.iter().find(|one| one.0 == *sha) {
            Some((_, probability)) => (1.0 - others) * probability.max(1e-6),
            None => even,
        };
        prior.push(of_event * of_paths(project, suite, sha)?);
    }
    Ok(prior)
}

/// The largest weight of the paths that a commit changed.
fn of_paths(project: &Project, suite: &Suite, sha: &str) -> crate::Result<f64> {
    let Config { bisect, .. } = &project.config;
    if bisect.prior.is_empty() && suite.build_inputs.is_empty() {
        return Ok(1.0);
    }
    let paths = history::changed_paths(project.store()?, sha)?;
    let is_input = |path: &String| suite.build_inputs.iter().any(|pattern| covers(pattern, path));
    if !suite.build_inputs.is_empty() && !paths.iter().any(is_input) {
        return Ok(UNBUILT);
    }
    let weights = bisect.prior.iter().filter(|(pattern, _)| paths.iter().any(|path| covers(pattern, path)));
    Ok(weights.map(|(_, weight)| *weight).reduce(f64::max).unwrap_or(1.0))
}

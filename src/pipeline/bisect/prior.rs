//! What is likely before anything is measured: suspects of an event, and paths that `[bisect] prior` weighs.

use crate::config::{Config, Suite};
use crate::project::Project;
use sprag_base::glob::covers;
use sprag_history as history;

/// The share of an event's suspects that other commits of the range have: the analysis of its history leaves out those that
/// are unlikely, not impossible.
const OTHERS: f64 = 0.05;

/// The weight of a commit that changes nothing of what is built. It may not be zero, as the settings may be wrong.
const UNBUILT: f64 = 1e-6;

/// Of each suspect of the line, from 1: positive, of any sum.
pub(super) fn of_line(
    project: &Project,
    suite: &Suite,
    commits: &[String],
    likely: &[(String, f64)],
) -> crate::Result<Vec<f64>> {
    let suspects = &commits[1..];
    let listed = suspects.iter().filter(|sha| likely.iter().any(|one| one.0 == **sha)).count();
    let even = OTHERS / (suspects.len() - listed).max(1) as f64;
    let mut prior = Vec::new();
    for sha in suspects {
        let of_event = match likely.iter().find(|one| one.0 == *sha) {
            Some((_, probability)) => (1.0 - OTHERS) * probability.max(1e-6),
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

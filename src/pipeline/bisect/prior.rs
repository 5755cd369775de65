//! What is likely before anything is measured: suspects of an event, and paths that `[bisect] prior` weighs.

use crate::config::Config;
use crate::project::Project;
use sprag_base::glob::fits;
use sprag_history as history;

/// The share of an event's suspects that other commits of the range have: the analysis of its history leaves out those that
/// are unlikely, not impossible.
const OTHERS: f64 = 0.05;

/// Of each suspect of the line, from 1: positive, of any sum.
pub(super) fn of_line(project: &Project, commits: &[String], likely: &[(String, f64)]) -> crate::Result<Vec<f64>> {
    let suspects = &commits[1..];
    let listed = suspects.iter().filter(|sha| likely.iter().any(|one| one.0 == **sha)).count();
    let even = OTHERS / (suspects.len() - listed).max(1) as f64;
    let mut prior = Vec::new();
    for sha in suspects {
        let of_event = match likely.iter().find(|one| one.0 == *sha) {
            Some((_, probability)) => (1.0 - OTHERS) * probability.max(1e-6),
            None => even,
        };
        prior.push(of_event * of_paths(project, sha)?);
    }
    Ok(prior)
}

/// The largest weight of the paths that a commit changed.
fn of_paths(project: &Project, sha: &str) -> crate::Result<f64> {
    let Config { bisect, .. } = &project.config;
    if bisect.prior.is_empty() {
        return Ok(1.0);
    }
    let paths = history::changed_paths(project.store()?, sha)?;
    let weights = bisect.prior.iter().filter(|(pattern, _)| paths.iter().any(|path| matches(pattern, path)));
    Ok(weights.map(|(_, weight)| *weight).reduce(f64::max).unwrap_or(1.0))
}

/// Whether a path or a folder that it lies in fits a pattern.
fn matches(pattern: &str, path: &str) -> bool {
    let folders = path.match_indices('/').map(|(place, _)| &path[..place]);
    folders.chain([path]).any(|path| fits(pattern.trim_end_matches('/'), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_paths_and_folders() {
        for (pattern, path, expected) in [
            ("src/kernels/**", "src/kernels/a/b.c", true),
            ("src/kernels", "src/kernels/a/b.c", true),
            ("src/kernels/", "src/kernels.c", false),
            ("src/*.c", "src/a.c", true),
            ("src/*.c", "src/a/b.c", false),
            ("**/*.cu", "kernels/deep/a.cu", true),
            ("?.c", "a.c", true),
            ("?.c", "ab.c", false),
            ("docs", "src/docs", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}

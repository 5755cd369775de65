//! The commits from one end of a line of history to the other.

use crate::error::WithContext as _;
use crate::project::Project;
use crate::refuse;
use sprag_history as history;
use sprag_model::CommitOnLine;

/// Two ends, by their ids.
pub(crate) struct Ends<'a> {
    pub(crate) first: &'a str,
    pub(crate) last: &'a str,
    /// What sentences call them.
    pub(crate) names: [String; 2],
    /// What to do where they are exchanged.
    pub(crate) exchange: String,
}

/// As [`between`]; where the first end is on a branch that was merged, by that branch up to its merge.
pub(crate) fn through_merges(project: &Project, ends: &Ends<'_>) -> crate::Result<Vec<CommitOnLine>> {
    let store = project.store()?;
    let line = history::commit_line(store, Some(ends.last)).context("cannot read the commits")?.commits;
    let has_first =
        |sha: &str| -> crate::Result<bool> { Ok(sha == ends.first || history::comes_after(store, sha, ends.first)?) };
    if line.iter().any(|commit| commit.sha == ends.first) || !has_first(ends.last)? {
        return between(project, ends);
    }
    // All commits from the merge on come after the first end.
    let (mut low, mut high) = (0, line.len() - 1);
    while low < high {
        let middle = low.midpoint(high);
        if has_first(&line[middle].sha)? { high = middle } else { low = middle + 1 }
    }
    let merge = history::find_commit(store, &line[high].sha)?;
    for side in merge.iter().flat_map(|merge| merge.parents.iter().skip(1)) {
        if has_first(side)? {
            let ends = Ends { last: side, names: ends.names.clone(), exchange: ends.exchange.clone(), ..*ends };
            let mut commits = through_merges(project, &ends)?;
            commits.extend_from_slice(&line[high..]);
            return Ok(commits);
        }
    }
    between(project, ends)
}

/// The first-parent line with both ends, oldest first.
pub(crate) fn between(project: &Project, ends: &Ends<'_>) -> crate::Result<Vec<CommitOnLine>> {
    let Ends { first, last, names: [first_name, last_name], exchange } = ends;
    let store = project.store()?;
    let line = history::commit_line(store, Some(last)).context("cannot read the commits")?;
    let mut commits = line.commits;
    if let Some(place) = commits.iter().position(|commit| commit.sha == *first) {
        return Ok(commits.split_off(place));
    }
    if history::comes_after(store, first, last)? {
        return refuse(format!("{first_name} is newer than {last_name}"), exchange);
    }
    if line.shallow {
        return refuse(
            format!("this clone is shallow and ends before it comes from {last_name} to {first_name}"),
            "run `git fetch --unshallow`; in a workflow set `fetch-depth: 0`",
        );
    }
    let [first, last] = [first, last].map(|sha| crate::text::short(sha, 12));
    if history::comes_after(store, ends.last, ends.first)? {
        return refuse(
            format!("{first_name} is on a branch that was merged into the line of {last_name}"),
            format!("`git log --first-parent {last}` lists the commits that can be the first end"),
        );
    }
    refuse(
        format!("{last_name} does not come from {first_name}, so no commits lie between them"),
        format!("`git merge-base {first} {last}` prints a commit that both come from"),
    )
}

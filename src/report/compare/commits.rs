//! The commits that are compared: those that were measured, and those with a tag that were not, for each of which stands what was
//! measured last before it.

use std::collections::{BTreeMap, BTreeSet};

use super::columns;
use crate::date;
use crate::text::{short_commit, shortened, visible};
use sprag_model::analysis::Analysis;
use sprag_model::commit::{CommitLine, CommitOnLine};
use sprag_model::series::Point;
use sprag_model::trend::Trend;

/// The most characters of a name, and of a subject.
pub(super) const NAME: usize = 160;
const SUBJECT: usize = 90;

/// A commit that was measured, or one with a tag.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ComparedCommit {
    pub(crate) sha: String,
    pub(crate) day: String,
    /// The first line of its message.
    pub(crate) subject: String,
    /// The tags that point at it.
    pub(crate) tags: Vec<String>,
    /// Its place on the line; absent without one.
    pub(crate) place: Option<usize>,
    /// The number of the nearest measured commit before it, where it was not measured itself.
    pub(crate) stands: Option<usize>,
}

impl ComparedCommit {
    /// A tag where it bears one, else seven digits.
    pub(crate) fn name(&self) -> String {
        self.tags.first().cloned().unwrap_or_else(|| short_commit(&self.sha).to_owned())
    }
}

/// The commits of which a series has a point, in the order of the line.
pub(crate) fn measured(analysis: &Analysis, trend: &Trend, line: &CommitLine) -> Vec<ComparedCommit> {
    let present: BTreeSet<&str> = columns::commits(&trend.series).into_values().flatten().flatten().collect();
    let positions = line.positions();
    let on_line: BTreeSet<usize> = present.iter().filter_map(|sha| positions.get(sha).copied()).collect();
    if !on_line.is_empty() {
        let commits = on_line.into_iter().filter_map(|place| Some((place, line.commits.get(place)?)));
        return commits.map(|(place, commit)| compared(commit, place, None)).collect();
    }
    let runs = analysis.series.iter().flat_map(|one| &one.series.points);
    let ranked: BTreeMap<(usize, &str), &Point> = runs
        .filter(|point| present.contains(&*point.commit))
        .map(|point| ((point.rank, &*point.commit), point))
        .collect();
    let mut seen = BTreeSet::new();
    let first = ranked.into_values().filter(|point| seen.insert(&*point.commit));
    first
        .map(|point| ComparedCommit {
            place: None,
            sha: point.commit.to_string(),
            day: date::day(point.time),
            subject: String::new(),
            tags: Vec::new(),
            stands: None,
        })
        .collect()
}

/// The commits with a tag that were not measured, oldest first; those before the first measured one have nothing to stand for them.
pub(super) fn tagged(line: &CommitLine, measured: &[ComparedCommit]) -> Vec<ComparedCommit> {
    let present: BTreeSet<&str> = measured.iter().map(|commit| commit.sha.as_str()).collect();
    let wanted = line.commits.iter().enumerate();
    let wanted = wanted.filter(|(_, commit)| !commit.tags.is_empty() && !present.contains(commit.sha.as_str()));
    let of = |(place, commit)| {
        let before = measured.partition_point(|one| one.place.is_some_and(|at| at < place));
        Some(compared(commit, place, Some(before.checked_sub(1)?)))
    };
    wanted.filter_map(of).collect()
}

fn compared(commit: &CommitOnLine, place: usize, stands: Option<usize>) -> ComparedCommit {
    ComparedCommit {
        place: Some(place),
        sha: commit.sha.clone(),
        day: date::day(commit.commit_time),
        subject: plain(&commit.subject, SUBJECT),
        tags: commit.tags.iter().map(|tag| plain(tag, NAME)).collect(),
        stands,
    }
}

/// Text of others that shows all it does.
pub(super) fn plain(text: &str, length: usize) -> String {
    shortened(&visible(text), length)
}

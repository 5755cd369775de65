//! The commits that are compared: those that were measured, and others with a tag, for which the commit measured last before counts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::date;
use crate::text::{short_commit, shortened, visible};
use sprag_model::{Analysis, CommitLine, CommitOnLine, Point, RunHead, Trend};

/// The longest name and the longest subject, in characters.
pub(super) const NAME: usize = 160;
const SUBJECT: usize = 90;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ComparedCommit {
    pub(crate) sha: String,
    pub(crate) day: String,
    pub(crate) subject: String,
    pub(crate) tags: Vec<String>,
    pub(crate) place: Option<usize>,
    /// The number of the nearest measured commit before it, where it was not measured itself.
    pub(crate) measured_before: Option<usize>,
}

impl ComparedCommit {
    pub(crate) fn name(&self) -> String {
        self.tags.first().cloned().unwrap_or_else(|| short_commit(&self.sha).to_owned())
    }
}

/// The commits of which a series has a point, in the order of the line.
pub(crate) fn measured(
    analysis: &Analysis,
    trend: &Trend,
    line: &CommitLine,
    heads: &[RunHead],
) -> Vec<ComparedCommit> {
    let points = trend.series.iter().flat_map(|one| one.pooled.iter());
    let present: HashSet<&str> = points.map(|point| &*point.commit).collect();
    let positions = line.positions();
    let on_line: BTreeSet<usize> = present.iter().filter_map(|sha| positions.get(sha).copied()).collect();
    if !on_line.is_empty() {
        let commits = on_line.into_iter().filter_map(|place| Some((place, line.commits.get(place)?)));
        return commits.map(|(place, commit)| compared(commit, place, None)).collect();
    }
    let runs = analysis.series.iter().flat_map(|one| &one.series.points);
    let runs = runs.filter(|point| present.contains(&*point.commit));
    let ranked: BTreeMap<(usize, &str), &Point> = runs.map(|point| ((point.rank, &*point.commit), point)).collect();
    let mut seen = BTreeSet::new();
    let described = heads.iter().filter_map(|head| head.commit.as_ref());
    let subjects: HashMap<&str, &str> = described.map(|commit| (&*commit.sha, &*commit.subject)).collect();
    let first = ranked.into_values().filter(|point| seen.insert(&*point.commit));
    let commit = |point: &Point| ComparedCommit {
        sha: point.commit.to_string(),
        day: date::day(point.time),
        subject: plain(subjects.get(&*point.commit).copied().unwrap_or_default(), SUBJECT),
        ..ComparedCommit::default()
    };
    first.map(commit).collect()
}

/// The commits with a tag that were not measured, oldest first, from the first measured one on.
pub(super) fn tagged(line: &CommitLine, measured: &[ComparedCommit]) -> Vec<ComparedCommit> {
    let present: BTreeSet<&str> = measured.iter().map(|commit| commit.sha.as_str()).collect();
    let is_wanted = |commit: &CommitOnLine| !commit.tags.is_empty() && !present.contains(commit.sha.as_str());
    let tagged = |(place, commit)| {
        let before = measured.partition_point(|one| one.place.is_some_and(|at| at < place));
        Some(compared(commit, place, Some(before.checked_sub(1)?)))
    };
    line.commits.iter().enumerate().filter(|(_, commit)| is_wanted(commit)).filter_map(tagged).collect()
}

fn compared(commit: &CommitOnLine, place: usize, measured_before: Option<usize>) -> ComparedCommit {
    ComparedCommit {
        place: Some(place),
        sha: commit.sha.clone(),
        day: date::day(commit.commit_time),
        subject: plain(&commit.subject, SUBJECT),
        tags: commit.tags.iter().map(|tag| plain(tag, NAME)).collect(),
        measured_before,
    }
}

/// Text of others without invisible characters.
pub(super) fn plain(text: &str, length: usize) -> String {
    shortened(&visible(text), length)
}

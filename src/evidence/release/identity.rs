//! Which commit a release is, and whether tags and history are still what they were.

use super::{ReleaseError, Result, branch};
use crate::releases::RELEASES_PATH;
use sprag_history::{self as history, Entries, Store};
use sprag_model::checklist::HistoryPoint;
use sprag_model::release::{Release, Releases};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub commit: String,
    pub tagged: bool,
    /// The commit whose runs are judged: the nearest one that is not a record.
    pub measured: String,
}

impl Identity {
    /// The commit of the tag, or HEAD before the release is tagged.
    pub fn find(store: &Store, release: &Release) -> Result<Identity> {
        let name = &release.name;
        let (commit, tagged) = match (&release.commit, history::tagged(store, name)?) {
            (Some(listed), Some(tag)) if *listed != tag => return Err(moved(name, &tag, listed)),
            (Some(_), Some(tag)) => (tag, true),
            (Some(commit), None) => {
                return Err(ReleaseError::damaged(
                    format!("the tag `{name}` is gone: `{RELEASES_PATH}` says that it was released as {commit}"),
                    "fetch it with `git fetch --tags`, or ask why it was deleted; a release that is not yet tagged has no \
                     `commit`",
                ));
            }
            (None, Some(tag)) => {
                return Err(ReleaseError::refused(
                    format!("the tag `{name}` exists, and `{RELEASES_PATH}` names no commit for it"),
                    format!("write `commit = \"{tag}\"` below its name"),
                ));
            }
            (None, None) => {
                let no_commit = || {
                    let message = format!("`{name}` is not yet tagged, and there is no commit");
                    ReleaseError::refused(message, "commit and measure something first")
                };
                (history::facts(store)?.commit.ok_or_else(no_commit)?, false)
            }
        };
        Identity::new(store, name, commit, tagged)
    }

    pub fn recorded(store: &Store, release: &Release, commit: &str, tagged: bool) -> Result<Identity> {
        let name = &release.name;
        if let Some(listed) = release.commit.as_deref().filter(|listed| *listed != commit) {
            return Err(ReleaseError::damaged(
                format!("this evidence of `{name}` is about {commit}, and the release is {listed}"),
                "ask for the evidence of the release",
            ));
        }
        match history::tagged(store, name)? {
            Some(tag) if tag != commit => return Err(moved(name, &tag, commit)),
            None if tagged || release.commit.is_some() => {
                return Err(ReleaseError::damaged(
                    format!("the tag `{name}`, which this evidence is about, is not in the repository"),
                    "fetch it with `git fetch --tags`, or ask why it was deleted",
                ));
            }
            _ => {}
        }
        if !history::has_commit(store, commit) {
            return Err(ReleaseError::damaged(
                format!("the commit {commit} of `{name}` is not in the repository"),
                "use a clone of the right repository, and fetch the branch that contains it",
            ));
        }
        Identity::new(store, name, commit.to_owned(), tagged)
    }

    fn new(store: &Store, name: &str, commit: String, tagged: bool) -> Result<Identity> {
        let measured = history::commit_at(store, &commit)?.ok_or_else(|| {
            let message = format!("`{name}` is {commit}, and neither it nor any commit before it contains code");
            ReleaseError::refused(message, "tag a commit that contains code")
        })?;
        Ok(Identity { commit, tagged, measured: measured.sha })
    }
}

pub fn check_tags(store: &Store, releases: &Releases) -> Result<()> {
    releases.0.iter().try_for_each(|release| check_tag(store, release))
}

/// A missing tag is not a fault here.
pub fn check_tag(store: &Store, release: &Release) -> Result<()> {
    let Some(commit) = &release.commit else { return Ok(()) };
    match history::tagged(store, &release.name)? {
        Some(tag) if tag != *commit => Err(moved(&release.name, &tag, commit)),
        _ => Ok(()),
    }
}

fn moved(name: &str, tag: &str, commit: &str) -> ReleaseError {
    ReleaseError::damaged(
        format!("the tag `{name}` moved: it points at {tag}, and the release is {commit}"),
        "put the tag back, or release under a new name: a released name is never reused",
    )
}

/// Checks that the history still begins as it did at each release that names its history.
pub fn check_history(store: &Store, releases: &Releases, now: &Entries) -> Result<()> {
    let points = releases.0.iter().filter_map(|release| Some((&release.name, release.history.as_ref()?)));
    points.into_iter().try_for_each(|(name, point)| check_point(store, name, point, now))
}

/// Checks that a history comes after a point and begins with the runs that it had there.
pub fn check_point(store: &Store, name: &str, point: &HistoryPoint, now: &Entries) -> Result<()> {
    let HistoryPoint { commit, size, root } = point;
    let tip = now.tip.as_deref().unwrap_or_default();
    let short = |sha: &str| sha.get(..12).unwrap_or(sha).to_owned();
    if tip != commit && history::comes_after(store, commit, tip)? {
        let branch = branch::short_name(&now.reference).unwrap_or("the branch that has the history");
        return Err(ReleaseError::refused(
            format!(
                "this clone does not have the history of the release `{name}` yet: {} is at {}, before {}",
                now.reference,
                short(tip),
                short(commit)
            ),
            format!("fetch and check out {branch}: `git fetch --tags`"),
        ));
    }
    let why = if !history::comes_after(store, tip, commit)? {
        format!("{} does not come after its commit {}", short(tip), short(commit))
    } else {
        let begins = usize::try_from(*size).ok().and_then(|size| now.tree.root_of(size));
        match begins {
            Some(begins) if begins.to_string() == *root => return Ok(()),
            Some(begins) => format!("the Merkle root of its first {size} runs was {root}, and is {begins}"),
            None => format!("it had {size} runs, and has {}", now.tree.len()),
        }
    };
    Err(ReleaseError::damaged(
        format!("the history was rewritten since the release `{name}`: {why}"),
        "fetch the branch as it was; `sprag history fsck --against ROOT` shows more",
    ))
}

//! Which commit a release is, and whether tags and history are still what they were.

use super::branch;
use crate::commands::project::Project;
use crate::commands::{Advice, Trouble, text};
use sprag_evidence::releases::RELEASES_PATH;
use sprag_history::{self as history, Entries, Head};
use sprag_model::checklist::HistoryPoint;
use sprag_model::release::{Release, Releases};

/// Which commit a release is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) commit: String,
    /// Whether the tag is there, at that commit.
    pub(super) tagged: bool,
    /// The commit whose runs count: the nearest one that is no record.
    pub(super) measured: String,
}

/// The commit of a release: that of its tag, or HEAD before it is tagged.
///
/// # Errors
/// When the list and the tag do not say the same, or the commit is not here.
pub(super) fn of(project: &Project, release: &Release) -> anyhow::Result<Identity> {
    let store = project.store()?;
    let name = &release.name;
    let tag = history::tagged(store, name)?;
    let (commit, tagged) = match (&release.commit, tag) {
        (Some(stated), Some(tag)) if *stated != tag => return Err(moved(name, &tag, stated).into()),
        (Some(_), Some(tag)) => (tag, true),
        (Some(commit), None) => {
            return Err(damaged(
                format!("the tag `{name}` is gone: `{RELEASES_PATH}` says that it was released as {commit}"),
                "fetch it with `git fetch --tags`, or ask why it was taken away; a release that is yet to be tagged has no \
                 `commit`"
                    .to_owned(),
            ));
        }
        (None, Some(tag)) => {
            return Err(Advice {
                message: format!("the tag `{name}` is there, and `{RELEASES_PATH}` names no commit for it"),
                hint: format!("write `commit = \"{tag}\"` below its name"),
            }
            .into());
        }
        (None, None) => match history::facts(store)?.head {
            Head::Branch { commit, .. } | Head::Detached { commit } => (commit, false),
            Head::Unborn { .. } => {
                let message = format!("`{name}` is not yet tagged, and there is no commit");
                return Err(Advice { message, hint: "commit and measure something first".to_owned() }.into());
            }
        },
    };
    with_measured(project, name, commit, tagged)
}

fn with_measured(project: &Project, name: &str, commit: String, tagged: bool) -> anyhow::Result<Identity> {
    let measured = history::commit_at(project.store()?, &commit)?.ok_or_else(|| Advice {
        message: format!("`{name}` is {}, which holds records alone", text::printable(&commit)),
        hint: "tag a commit that holds code".to_owned(),
    })?;
    Ok(Identity { commit, tagged, measured: measured.sha })
}

/// The commit that a release was recorded with, which tag and list must not deny.
///
/// # Errors
/// When they do, or the commit is not here.
pub(super) fn recorded(project: &Project, release: &Release, commit: &str, tagged: bool) -> anyhow::Result<Identity> {
    let store = project.store()?;
    let name = &release.name;
    if let Some(stated) = release.commit.as_deref().filter(|stated| *stated != commit) {
        return Err(damaged(
            format!("this evidence of `{name}` is about {}, and the release is {stated}", text::printable(commit)),
            "ask for the evidence of the release".to_owned(),
        ));
    }
    match history::tagged(store, name)? {
        Some(tag) if tag != commit => return Err(moved(name, &tag, commit).into()),
        None if tagged || release.commit.is_some() => {
            return Err(damaged(
                format!("the tag `{name}`, which this evidence is about, is not in the repository"),
                "fetch it with `git fetch --tags`, or ask why it was taken away".to_owned(),
            ));
        }
        _ => {}
    }
    if !history::has_commit(store, commit) {
        return Err(damaged(
            format!("the commit {} of `{name}` is not in the repository", text::printable(commit)),
            "it is another repository, or the branch that holds it is not fetched".to_owned(),
        ));
    }
    with_measured(project, name, commit.to_owned(), tagged)
}

fn damaged(message: String, hint: String) -> anyhow::Error {
    Trouble::Damaged(Advice { message, hint }).into()
}

/// Checks that no tag of the list moved.
///
/// # Errors
/// The first one that points at another commit than the list says.
pub(super) fn check_all(project: &Project, releases: &Releases) -> anyhow::Result<()> {
    let store = project.store()?;
    for Release { name, commit, .. } in &releases.0 {
        let Some(commit) = commit else { continue };
        if let Some(tag) = history::tagged(store, name)?.filter(|tag| tag != commit) {
            return Err(moved(name, &tag, commit).into());
        }
    }
    Ok(())
}

/// That a tag points at another commit than it must.
pub(super) fn moved(name: &str, tag: &str, commit: &str) -> Trouble {
    Trouble::Damaged(Advice {
        message: format!("the tag `{}` moved: it points at {tag}, and the release is {commit}", text::printable(name)),
        hint: "put the tag back, or release under a new name: what was released under a name stays".to_owned(),
    })
}

/// Checks that the history begins as it did at each release that names it.
///
/// # Errors
/// The first release since which it was rewritten.
pub(super) fn check_history(project: &Project, releases: &Releases, now: &Entries) -> anyhow::Result<()> {
    for release in &releases.0 {
        if let Some(point) = &release.history {
            check_point(project, &release.name, point, now)?;
        }
    }
    Ok(())
}

/// Checks that a history comes after a point and begins with what was there.
///
/// # Errors
/// That it does not: it was rewritten, or only an older state of it is here.
pub(super) fn check_point(project: &Project, name: &str, point: &HistoryPoint, now: &Entries) -> anyhow::Result<()> {
    let HistoryPoint { commit, size, root } = point;
    let tip = now.tip.as_deref().unwrap_or_default();
    let short = |sha: &str| sha.get(..12).unwrap_or(sha).to_owned();
    let since = format!("the history was rewritten since the release `{}`", text::printable(name));
    if tip != commit && history::comes_after(project.store()?, commit, tip)? {
        let branch = branch::name(&now.reference).unwrap_or("the branch that holds the history");
        return Err(Advice {
            message: format!(
                "this clone does not have the history of the release `{}` yet: {} is at {}, before {}",
                text::printable(name),
                text::printable(&now.reference),
                short(tip),
                short(commit)
            ),
            hint: format!("fetch and check out {}: `git fetch --tags`", text::printable(branch)),
        }
        .into());
    }
    let why = if !history::comes_after(project.store()?, tip, commit)? {
        format!("its commit {} is none that {} comes after", short(commit), short(tip))
    } else {
        let begins = usize::try_from(*size).ok().and_then(|size| now.tree.root_of(size));
        match begins {
            Some(begins) if begins.to_string() == *root => return Ok(()),
            Some(begins) => {
                let runs = text::count(*size as usize, "run");
                format!("its first {runs} had the Merkle root {root}, and have {begins}")
            }
            None => format!("it had {size} runs, and has {}", now.tree.len()),
        }
    };
    Err(Trouble::Damaged(Advice {
        message: format!("{since}: {why}"),
        hint: "fetch the branch as it was; `sprag history fsck --against ROOT` tells more".to_owned(),
    })
    .into())
}

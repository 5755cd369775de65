//! What a release rests on: the files of the project, its history as of a commit, and the artifacts that were named.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use chrono::{DateTime, Utc};

use super::artifacts::{self, Artifact};
use super::fault::Fault;
use super::identity::{self, Identity};
use super::stated::{Stated, find};
use super::{branch, reviewed, unasked, waivers};
use crate::cli::LookArgs;
use crate::commands::project::Project;
use crate::commands::{Advice, text};
use crate::config::{FILE_NAME, nearest};
use sprag_base::digest::sha256_hex;
use sprag_base::files::read_bounded;
use sprag_evidence::checklist::CHECKLIST_PATH;
use sprag_evidence::releases::RELEASES_PATH;
use sprag_history::{self as history, Head};
use sprag_measure::clock;
use sprag_model::checklist::{Checklist, HistoryPoint, Rests};
use sprag_model::ledger::Ledger;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::release::Release;
use sprag_model::run::RECORD_ROOT;

/// All that a checklist is filled from.
pub(super) struct Gathered {
    /// The project, its history as of `history.commit`.
    pub(super) project: Project,
    pub(super) checklist: Checklist,
    /// What was accepted and waived.
    pub(super) ledger: Ledger,
    pub(super) release: Release,
    pub(super) previous: Option<Release>,
    pub(super) identity: Identity,
    /// The present, by which waivers expire.
    pub(super) as_of: DateTime<Utc>,
    pub(super) history: HistoryPoint,
    /// The branch that holds it; absent where it is a commit.
    pub(super) branch: Option<String>,
    /// The commit whose files those of the project must be.
    pub(super) reviewed: String,
    pub(super) artifacts: BTreeMap<String, Artifact>,
}

/// The files with that extension in a folder of the project, by path; none where there is no folder.
fn names_in(root: &Path, folder: &str, extension: &str) -> anyhow::Result<Vec<String>> {
    let entries = match fs::read_dir(root.join(folder)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot list `{folder}`")),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let name = entry.with_context(|| format!("cannot list `{folder}`"))?.file_name();
        let name = name.to_string_lossy();
        if Path::new(&*name).extension().is_some_and(|one| one == extension) {
            paths.push(format!("{folder}/{name}"));
        }
    }
    paths.sort();
    Ok(paths)
}

/// What a command was asked to look at.
///
/// # Errors
/// When a file of the release cannot be read, it names no such release, or an artifact is named that no item needs; when a
/// tag moved, or the history was rewritten since a release.
pub(super) fn gather(folder: &Path, args: &LookArgs) -> anyhow::Result<Gathered> {
    let mut project = Project::open(folder)?;
    let stated = Stated::read(&project)?;
    let release = find(&stated.releases, &args.tag)?.clone();
    check_roles(&release, &stated.checklist)?;
    identity::check_all(&project, &stated.releases)?;
    let identity = identity::of(&project, &release)?;
    let source = branch::source(project.store()?, project.config.history.reference.as_deref())?;
    let entries = branch::entries(project.store()?, &source)?;
    let commit = entries.tip.clone().ok_or_else(|| Advice {
        message: "nothing is recorded yet, so nothing can be shown".to_owned(),
        hint: "measure the release first: `sprag weekly`".to_owned(),
    })?;
    identity::check_history(&project, &stated.releases, &entries)?;
    waivers::tell_astray(&stated, &release);
    unasked::tell(project.store()?, &source, &identity, &stated.checklist, &release.targets)?;
    let reviewed = head(&project)?;
    let history =
        HistoryPoint { commit: commit.clone(), size: entries.tree.len() as u64, root: entries.tree.root().to_string() };
    let artifacts = artifacts::named(&project, folder, &stated.checklist, &args.artifacts)?;
    project.pinned = Some(commit);
    Ok(Gathered {
        previous: stated.releases.before(&release).cloned(),
        checklist: stated.checklist,
        ledger: stated.ledger,
        release,
        identity,
        as_of: clock::now(),
        history,
        branch: branch::name(&entries.reference).map(str::to_owned),
        reviewed,
        artifacts,
        project,
    })
}

/// The commit that is checked out.
pub(super) fn head(project: &Project) -> anyhow::Result<String> {
    match history::facts(project.store()?)?.head {
        Head::Branch { commit, .. } | Head::Detached { commit } => Ok(commit),
        Head::Unborn { .. } => Err(Advice {
            message: "no commit is checked out, so nobody can have reviewed what a release rests on".to_owned(),
            hint: "commit `release/` first".to_owned(),
        }
        .into()),
    }
}

/// Checks that a release is signed in roles of the checklist alone.
///
/// # Errors
/// The first role that there is not.
pub(super) fn check_roles(release: &Release, checklist: &Checklist) -> anyhow::Result<()> {
    let roles: Vec<&str> = checklist.sign_off.iter().map(String::as_str).collect();
    let Some((role, owner, _)) = release.signed.iter().find(|(role, ..)| !roles.contains(&role.as_str())) else {
        return Ok(());
    };
    let near = nearest(role, &roles).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Err(Advice {
        message: text::printable(&format!(
            "`{RELEASES_PATH}` has `{owner}` sign `{}` as `{role}`, a role that `{CHECKLIST_PATH}` does not have",
            release.name
        )),
        hint: format!("{near}it has: {}", if roles.is_empty() { "none".to_owned() } else { roles.join(", ") }),
    }
    .into())
}

impl Gathered {
    /// The bytes of a file of the project: of a record as the history holds it, of any other as it lies there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn bytes(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        if path.starts_with(RECORD_ROOT) {
            let found = history::files_of(self.project.store()?, &self.history.commit, path)?;
            return found.into_iter().next().map(|(_, bytes)| bytes).with_context(|| format!("`{path}` is gone"));
        }
        read_bounded(&self.project.root.join(path), MAX_RECORD_BYTES).with_context(|| format!("cannot read `{path}`"))
    }

    /// A file of the project that a status rests on.
    ///
    /// # Errors
    /// As [`Gathered::bytes`].
    pub(super) fn rests(&self, path: &str) -> anyhow::Result<Rests> {
        let bytes = self.bytes(path)?;
        Ok(Rests { path: path.to_owned(), sha256: sha256_hex(&bytes), bytes: bytes.len() as u64 })
    }

    /// What of the files of the project, and of artifacts that lie in it, is not as the commit that is checked out holds it.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn not_reviewed(&self) -> anyhow::Result<Vec<Fault>> {
        let store = self.project.store()?;
        let mut faults = reviewed::files(store, &self.reviewed, &self.project.root, &self.project_files()?)?;
        let path = |_: &str, artifact: &Artifact| artifact.path.clone();
        faults.extend(reviewed::artifacts(store, &self.reviewed, &self.checklist, &self.artifacts, &path)?);
        Ok(faults)
    }

    /// The paths of the files of the project that a release rests on beside its history: settings, releases, checklist,
    /// ledger, baselines.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub(super) fn project_files(&self) -> anyhow::Result<Vec<String>> {
        let root = &self.project.root;
        let mut paths = vec![CHECKLIST_PATH.to_owned(), RELEASES_PATH.to_owned()];
        paths.extend(self.project.root.join(FILE_NAME).is_file().then(|| FILE_NAME.to_owned()));
        for (folder, extension) in reviewed::FOLDERS {
            paths.extend(names_in(root, folder, extension)?);
        }
        paths.sort();
        Ok(paths)
    }
}

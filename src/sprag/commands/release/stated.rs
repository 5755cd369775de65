//! What a project says about its releases: its checklist, the list of releases and the ledger.

use std::path::Path;

use anyhow::Context as _;

use crate::commands::project::Project;
use crate::commands::{Advice, ledger, text};
use crate::config::nearest;
use sprag_base::files::read_bounded;
use sprag_evidence::checklist::{CHECKLIST_PATH, read_checklist};
use sprag_evidence::releases::{RELEASES_PATH, read_releases};
use sprag_evidence::toml_text::MOST_BYTES;
use sprag_model::checklist::Checklist;
use sprag_model::ledger::Ledger;
use sprag_model::release::{Release, Releases};

/// What a project says about its releases.
pub(super) struct Stated {
    pub(super) checklist: Checklist,
    pub(super) releases: Releases,
    pub(super) ledger: Ledger,
}

impl Stated {
    /// Reads it from the files of a project.
    ///
    /// # Errors
    /// When one of them is not there or cannot be read, with the line.
    pub(super) fn read(project: &Project) -> anyhow::Result<Stated> {
        let root = &project.root;
        let checklist = read_checklist(CHECKLIST_PATH, &stated(root, CHECKLIST_PATH)?)?;
        let releases = releases(root)?;
        Ok(Stated { checklist, releases, ledger: ledger::read(project)? })
    }
}

/// The releases that a project lists.
///
/// # Errors
/// When the list is not there or cannot be read, with the line.
pub(super) fn releases(root: &Path) -> anyhow::Result<Releases> {
    Ok(read_releases(RELEASES_PATH, &stated(root, RELEASES_PATH)?)?)
}

fn stated(root: &Path, path: &str) -> anyhow::Result<Vec<u8>> {
    match read_bounded(&root.join(path), MOST_BYTES) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Advice {
            message: format!("there is no `{path}`"),
            hint: "docs/RELEASE.md says what it holds".to_owned(),
        }
        .into()),
        Err(error) => Err(error).with_context(|| format!("cannot read `{path}`")),
    }
}

/// The release of that name.
///
/// # Errors
/// That the list has none, with what was likely meant.
pub(super) fn find<'r>(releases: &'r Releases, name: &str) -> Result<&'r Release, Advice> {
    releases.find(name).ok_or_else(|| {
        let known: Vec<&str> = releases.0.iter().map(|one| one.name.as_str()).collect();
        let near = nearest(name, &known).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Advice {
            message: format!("`{RELEASES_PATH}` names no release `{}`", text::printable(name)),
            hint: format!("{near}it names: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") }),
        }
    })
}

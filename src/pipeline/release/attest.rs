//! A release attested: its evidence in a new folder, with a statement about it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::apex_x::{self, Summary};
use super::findings;
use super::load::LoadedRelease;
use super::verify::verify;
use crate::error::Context as _;
use crate::{Error, text};
use sprag_evidence::release::sign::Trusted;
use sprag_evidence::release::{Fault, ReleaseError, folder, write};
use sprag_measure::clock;
use sprag_model::checklist::FilledChecklist;

/// What to write.
pub enum Form<'a> {
    /// An in-toto statement, `SHA256SUMS` and all files that they are about, signed where there is a key.
    InToto {
        key: Option<&'a Path>,
    },
    ApexX {
        owner: Option<&'a str>,
    },
}

pub struct Attested {
    pub checklist: FilledChecklist,
    /// What the form of Apex-X comes to, where that was written.
    pub apex_x: Option<Summary>,
}

/// Attests a release into `place`, whose files must be those of the commit that is checked out
/// ([`LoadedRelease::unreviewed`]).
///
/// # Errors
/// When `place` has content, or something cannot be read or written.
pub fn attest(release: &LoadedRelease, place: &Path, form: &Form<'_>) -> crate::Result<Attested> {
    check_empty(place)?;
    let LoadedRelease { project, inputs } = release;
    let store = project.store()?;
    let checklist = findings::fill(release)?;
    folder::check_time(store, &checklist, clock::now()).map_err(|error| {
        refused(error, |fault| {
            ReleaseError::refused(
                format!("the clock of this machine is behind: this attestation {}", fault.what),
                "set the clock, and try again",
            )
        })
    })?;
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(|| format!("cannot make `{}`", parent.display()))?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755));
    let aside = builder.prefix(".sprag-").tempdir_in(parent);
    let aside = aside.with_context(|| format!("cannot write in `{}`", parent.display()))?;
    let apex_x = match form {
        Form::ApexX { owner } => Some(apex_x::write(release, &checklist, *owner, aside.path())?),
        Form::InToto { key } => {
            write::write(inputs, store, &checklist, aside.path(), *key)?;
            // Others must come to the same.
            verify(aside.path(), &project.root, Trusted::Nobody).map_err(|error| match error {
                Error::Release(error) => refused(error, |fault| {
                    ReleaseError::refused(
                        format!("the evidence does not verify: {}", fault.line()),
                        "a file changed while it was collected; try again",
                    )
                }),
                error => error,
            })?;
            None
        }
    };
    let replaced = match fs::remove_dir(place) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fs::rename(aside.path(), place),
    };
    replaced.with_context(|| format!("cannot write `{}`", place.display()))?;
    Ok(Attested { checklist, apex_x })
}

/// The error of the first disagreement; any other is as it was.
fn refused(error: ReleaseError, advice: impl FnOnce(&Fault) -> ReleaseError) -> Error {
    match &error {
        ReleaseError::Disagreement(faults) if !faults.is_empty() => advice(&faults[0]).into(),
        _ => error.into(),
    }
}

fn check_empty(place: &Path) -> crate::Result<()> {
    match fs::read_dir(place).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", place.display())),
        Ok(false) => {
            let message = format!("`{}` is not empty, and evidence is never overwritten", place.display());
            Err(ReleaseError::refused(text::printable(&message), "name a new folder with `--out`").into())
        }
    }
}

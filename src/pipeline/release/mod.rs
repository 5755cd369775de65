//! Releases: their checklists filled from the history of a project, attested, verified, and reported on its site.

mod load;
mod findings;
mod apex_x;
mod waive;
mod reports;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use chrono::NaiveDate;

use crate::error::Context as _;
use crate::project::Project;
use crate::release::load::read_declared;
use crate::{Advice, Error, text};
use sprag_evidence::release::folder::{self, EvidenceFolder};
use sprag_evidence::release::identity::{self, Identity};
use sprag_evidence::release::inputs::ReleaseInputs;
use sprag_evidence::release::sign::Trusted;
use sprag_evidence::release::{Fault, ReleaseError, branch, rederive, write};
use sprag_history::{self as history, Entries, HistoryError};
use sprag_measure::clock;
use sprag_model::checklist::{Filled, FilledChecklist, RuntimeTarget, Status};
use sprag_model::ledger::day;

pub use crate::release::apex_x::Summary;
pub use crate::release::findings::fill;
pub use crate::release::load::LoadedRelease;
pub use crate::release::reports::reports;
pub use crate::release::waive::{Proposal, Subject, WaiveOptions, propose};

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
        let hint = "set the clock, and try again";
        explained(error, |fault| {
            (format!("the clock of this machine is behind: this attestation {}", fault.what), hint)
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
            verify(aside.path(), &project.root, Trusted::Nobody).map_err(|error| {
                let hint = "a file changed while it was collected; try again";
                explained(error, |fault| (format!("the evidence does not verify: {}", fault.line()), hint))
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

/// The disagreements that an error lists; any other error as it is.
pub fn disagreements(error: Error) -> crate::Result<Vec<Fault>> {
    match error.downcast()? {
        ReleaseError::Disagreement(faults) => Ok(faults),
        error => Err(error.into()),
    }
}

/// An advice about the first disagreement; any other error as it is.
fn explained(error: impl Into<Error>, advice: impl FnOnce(&Fault) -> (String, &'static str)) -> Error {
    match disagreements(error.into()) {
        Ok(faults) => {
            let (message, hint) = faults.first().map(advice).unwrap_or_default();
            ReleaseError::refused(message, hint).into()
        }
        Err(error) => error,
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

pub struct Verified {
    pub checklist: FilledChecklist,
    pub files: usize,
    pub signature: String,
    pub notes: Vec<String>,
}

/// Verifies a folder against a clone of the repository that it is about.
///
/// # Errors
/// All disagreements; else that something cannot be read, the history was rewritten, or a tag moved.
pub fn verify(folder: &Path, repository: &Path, trusted: Trusted<'_>) -> crate::Result<Verified> {
    let store = history::open(repository).map_err(|error| match error {
        HistoryError::NoRepository(_) => Error::from(Advice::new(
            error.to_string(),
            "name a clone of the repository that the release is of with `--repository`",
        )),
        error => error.into(),
    })?;
    let evidence = EvidenceFolder::open(folder, &store)?;
    let project = Project::at(folder, repository, &evidence.checklist.history.commit)?;
    // The clone decides which branch has the history; a bare one has no settings of its own.
    let clone = Project::open(repository)?;
    let recorded = project.config.history.reference.as_deref();
    let configured = if clone.is_bare { recorded } else { clone.config.history.reference.as_deref() };
    evidence.check_branch(configured, recorded)?;
    let target = branch::source(&store, configured)?;
    let entries = evidence.check_history(&store, &project.source()?, &target)?;
    let mut faults = evidence.unreviewed(&store, &target)?;
    match rederived_differences(project, &entries, &evidence).or_else(disagreements) {
        Ok(more) => faults.extend(more),
        // Files that nobody reviewed need not make sense.
        Err(_) if !faults.is_empty() => {}
        Err(error) => return Err(error),
    }
    let signature = evidence.check_signature(trusted).or_else(|error| {
        faults.extend(disagreements(error.into())?);
        Ok::<_, Error>(String::new())
    })?;
    if !faults.is_empty() {
        return Err(ReleaseError::Disagreement(faults).into());
    }
    let notes = evidence.notes(day(clock::now()));
    Ok(Verified { files: evidence.sums.len(), checklist: evidence.checklist, signature, notes })
}

/// Derives the checklist again, where `entries` is the history that it names, and compares all that follows from it.
fn rederived_differences(project: Project, entries: &Entries, evidence: &EvidenceFolder) -> crate::Result<Vec<Fault>> {
    let recorded = &evidence.checklist;
    let declared = read_declared(&project)?;
    let release = declared.find(&recorded.release)?.clone();
    let store = project.store()?;
    identity::check_tags(store, &declared.releases)?;
    identity::check_history(store, &declared.releases, entries)?;
    let identity = Identity::recorded(store, &release, &recorded.commit, recorded.tagged)?;
    folder::check_time(store, recorded, clock::now())?;
    let inputs = ReleaseInputs {
        root: project.root.clone(),
        declared,
        release,
        identity,
        as_of: recorded.as_of,
        history: recorded.history.clone(),
        branch: recorded.branch.clone(),
        reviewed: recorded.reviewed.clone(),
        artifacts: evidence.artifacts()?,
    };
    let mut faults = rederive::unknown_files(evidence, &inputs, store)?;
    let filled = findings::fill(&LoadedRelease { project, inputs })?;
    faults.extend(rederive::differences(evidence, filled)?);
    Ok(faults)
}

pub fn table(checklist: &FilledChecklist) -> String {
    let FilledChecklist { release, commit, tagged, .. } = checklist;
    let tag = if *tagged { "tagged at" } else { "not yet tagged," };
    let short = text::short(commit, 12);
    let mut text = format!("{release} ({tag} {short}), for {}\n\n", RuntimeTarget::list(&checklist.targets));
    let row = |item: &Filled| {
        vec![glyph(item.status).to_owned(), item.status.word().to_owned(), item.id.clone(), item.why.clone()]
    };
    let rows: Vec<Vec<String>> = checklist.items.iter().map(row).collect();
    text.push_str(&text::columns(&rows, &[]));
    let mut section = |heading: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n{heading}:\n{}\n", lines.join("\n")));
        }
    };
    let today = day(checklist.as_of);
    section("ledger", checklist.items.iter().filter_map(|item| waiver(item, today)).collect());
    let next = |item: &Filled| format!("  {}: {}", item.id, item.mend.as_deref().unwrap_or("check its evidence"));
    section("next", checklist.blocking().map(next).collect());
    let counts: Vec<String> = checklist.counts().iter().map(|(word, count)| format!("{count} {word}")).collect();
    text.push_str(&format!("\n{release}: {} ({})\n", checklist.word(), counts.join(", ")));
    text.lines().map(|line| text::printable(line) + "\n").collect()
}

fn glyph(status: Status) -> &'static str {
    match status {
        Status::Pass => "✓",
        Status::Fail => "✕",
        Status::Pending => "○",
        Status::Waived => "~",
        Status::NotApplicable => "–",
    }
}

fn waiver(item: &Filled, today: NaiveDate) -> Option<String> {
    let waiver = item.waiver.as_ref()?;
    let state = match waiver.in_force {
        true => "waives it",
        false if today < waiver.date => "does not waive it yet:",
        false if today > waiver.expires => "no longer waives it:",
        false => "waives it for only some of its targets:",
    };
    Some(format!(
        "  {}: {} {state} from {} until {} ({}): {}",
        item.id, waiver.author, waiver.date, waiver.expires, waiver.entry, waiver.reason
    ))
}

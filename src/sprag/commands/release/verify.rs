//! `sprag release verify`: everything that an attestation wrote, held against the records again.

use std::io::Write;
use std::path::Path;

use super::again::{self, Recorded, bytes_of};
use super::checklist::{exit_of, table};
use super::fault::Fault;
use super::sign::{self, Trusted};
use super::{branch, sound};
use crate::cli::VerifyReleaseArgs;
use crate::commands::project::Project;
use crate::commands::{Advice, Exit, Trouble, text};
use sprag_base::digest::sha256_hex;
use sprag_evidence::envelope::{self, ENVELOPE};
use sprag_evidence::filled::{self, CHECKLIST_JSON};
use sprag_evidence::statement::STATEMENT;
use sprag_history::{self as history, HistoryError, Store};
use sprag_measure::clock;
use sprag_model::checklist::FilledChecklist;
use sprag_model::ledger::day;
use sprag_model::statement::{PAYLOAD_TYPE, pre_authentication};

struct Verified {
    checklist: FilledChecklist,
    files: usize,
    signature: String,
    notes: Vec<String>,
}

pub(super) fn run(folder: &Path, args: &VerifyReleaseArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let place = folder.join(&args.folder);
    let repository = args.repository.as_ref().map_or_else(|| folder.to_owned(), |one| folder.join(one));
    let named = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| folder.join(path));
    let (signers, key) = (named(&args.allowed_signers), named(&args.public_key));
    let trusted = match (&signers, &key) {
        (Some(signers), _) => Trusted::Signers(signers),
        (None, Some(key)) => Trusted::Key(key),
        (None, None) => Trusted::Nobody,
    };
    if !place.is_dir() {
        return Err(Advice {
            message: format!("there is no folder `{}`", text::printable(&args.folder.display().to_string())),
            hint: "name the folder that `sprag release attest --out FOLDER` wrote".to_owned(),
        }
        .into());
    }
    match check(&place, &repository, &trusted)? {
        Err(faults) => {
            if let Some(version) = other_version(&place) {
                writeln!(out, "{version}\n")?;
            }
            for fault in &faults {
                writeln!(out, "{}", fault.line())?;
            }
            let files = text::count(faults.len(), "disagreement");
            writeln!(out, "\n{}: no-go, {files}", text::printable(&args.folder.display().to_string()))?;
            Ok(Exit::Integrity)
        }
        Ok(verified) => {
            let Verified { checklist, files, signature, notes } = verified;
            let history = &checklist.history;
            out.write_all(table(&checklist).as_bytes())?;
            writeln!(out, "\nverified as of {}:", checklist.as_of.format("%Y-%m-%d %H:%M UTC"))?;
            writeln!(out, "  {} as listed, every status derived again from the records", text::count(files, "file"))?;
            writeln!(out, "  history: {} runs at {}, Merkle root {}", history.size, history.commit, history.root)?;
            writeln!(out, "  signature: {}", text::printable(&signature))?;
            for note in notes {
                writeln!(out, "  note: {}", text::printable(&note))?;
            }
            Ok(exit_of(&checklist))
        }
    }
}

/// Verifies what was just written for a project.
///
/// # Errors
/// What disagrees: something changed while it was gathered.
pub(super) fn check_own(project: &Project, folder: &Path) -> anyhow::Result<()> {
    match check(folder, &project.root, &Trusted::Nobody)? {
        Ok(_) => Ok(()),
        Err(faults) => Err(Advice {
            message: format!(
                "what was gathered does not verify: {}",
                faults.first().map_or_else(String::new, Fault::line)
            ),
            hint: "something changed meanwhile; try again".to_owned(),
        }
        .into()),
    }
}

/// That another version wrote the evidence, where its files are those that are listed: it may put the same finding in other
/// words.
fn other_version(folder: &Path) -> Option<String> {
    let sound = sound::check(folder, &|_, _| None);
    sound.ok()?.ok()?;
    let checklist: serde_json::Value = serde_json::from_slice(&bytes_of(folder, CHECKLIST_JSON).ok()?).ok()?;
    let version = checklist.get("version")?.as_str()?;
    (version != env!("CARGO_PKG_VERSION")).then(|| {
        text::printable(&format!(
            "written by sprag {version}, and this is {}: verify with sprag {version} before you take what follows for tampering",
            env!("CARGO_PKG_VERSION")
        ))
    })
}

fn check(folder: &Path, repository: &Path, trusted: &Trusted<'_>) -> anyhow::Result<Result<Verified, Vec<Fault>>> {
    let store = history::open(repository).map_err(|error| match error {
        HistoryError::NoRepository(_) => anyhow::Error::from(Advice {
            message: error.to_string(),
            hint: "name a clone of the repository that the release is of with `--repository`".to_owned(),
        }),
        error => error.into(),
    })?;
    let checklist = bytes_of(folder, CHECKLIST_JSON).ok().and_then(|bytes| filled::from_json(&bytes).ok());
    let original = |path: &str, digest: &str| original(&store, checklist.as_ref(), path, digest);
    let sums = match sound::check(folder, &original)? {
        Ok(sums) => sums,
        Err(faults) => return Ok(Err(faults)),
    };
    let bytes = bytes_of(folder, CHECKLIST_JSON)?;
    let recorded = match filled::from_json(&bytes) {
        Ok(recorded) => recorded,
        Err(error) => return Ok(Err(vec![Fault::of(CHECKLIST_JSON, error.to_string())])),
    };
    if !history::has_commit(&store, &recorded.history.commit) {
        return Err(Trouble::Damaged(Advice {
            message: format!("the history of this evidence, {}, is not in the repository", recorded.history.commit),
            hint: "it is another repository, its history was rewritten, or the branch that holds it is not fetched"
                .to_owned(),
        })
        .into());
    }
    let project = Project::at(folder, repository, &recorded.history.commit)?;
    // Which branch counts is for the clone to say; a bare one has no settings of its own.
    let clone = Project::open(repository)?;
    let its = project.config.history.reference.as_deref();
    let own = if clone.is_bare { its } else { clone.config.history.reference.as_deref() };
    if let Some(fault) = again::wrong_branch(&recorded, own, its) {
        return Ok(Err(vec![fault]));
    }
    let target = branch::source(&store, own)?;
    let then = match again::of_history(&project, &target, folder, &sums, &recorded)? {
        Ok(then) => then,
        Err(faults) => return Ok(Err(faults)),
    };
    let notes = notes(&recorded);
    let files = sums.len();
    let of = Recorded { folder, checklist: &recorded, bytes: &bytes, sums: &sums };
    let mut faults = again::not_reviewed(&store, &target, &of)?;
    match again::derive(project, &then, &of) {
        Ok(more) => faults.extend(more),
        // What nobody reviewed need not make sense.
        Err(_) if !faults.is_empty() => {}
        Err(error) => return Err(error),
    }
    let signature = signature(folder, trusted, &mut faults)?;
    Ok(if faults.is_empty() { Ok(Verified { checklist: recorded, files, signature, notes }) } else { Err(faults) })
}

/// What a file with that digest holds, as git or the checklist know it.
fn original(store: &Store, checklist: Option<&FilledChecklist>, path: &str, digest: &str) -> Option<Vec<u8>> {
    let derived = checklist.and_then(|checklist| again::derived(checklist, path));
    let commits = checklist
        .map_or_else(Vec::new, |one| vec![one.reviewed.as_str(), one.history.commit.as_str(), one.commit.as_str()]);
    let in_git = commits.into_iter().chain(["HEAD"]).filter_map(|commit| {
        let found = history::files_of(store, commit, path).ok()?;
        found.into_iter().next().filter(|(of, _)| of == path).map(|(_, bytes)| bytes)
    });
    derived.into_iter().chain(in_git).find(|bytes| sha256_hex(bytes) == digest)
}

/// What a reader should know though nothing disagrees.
fn notes(recorded: &FilledChecklist) -> Vec<String> {
    let mut notes = Vec::new();
    let today = day(clock::now());
    for item in &recorded.items {
        if let Some(waiver) = item.waiver.as_ref().filter(|waiver| waiver.in_force && waiver.expires < today) {
            notes.push(format!("the waiver of `{}` ended on {}: it is open again", item.id, waiver.expires));
        }
    }
    if recorded.version != env!("CARGO_PKG_VERSION") {
        notes.push(format!("it was written by sprag {}, and this is {}", recorded.version, env!("CARGO_PKG_VERSION")));
    }
    notes
}

/// Checks the envelope, where there is one: who signed, in words.
fn signature(folder: &Path, trusted: &Trusted<'_>, faults: &mut Vec<Fault>) -> anyhow::Result<String> {
    if !folder.join(ENVELOPE).is_file() {
        if !matches!(trusted, Trusted::Nobody) {
            faults.push(Fault::of(ENVELOPE, "is not there, and a signature was asked for"));
        }
        return Ok("none".to_owned());
    }
    let (bytes, statement) = (bytes_of(folder, ENVELOPE)?, bytes_of(folder, STATEMENT)?);
    let mut fault = |byte: Option<usize>, what: String| {
        faults.push(Fault { path: ENVELOPE.to_owned(), byte, what });
        Ok(String::new())
    };
    let (keyid, signature) = match envelope::opened(&bytes, &statement) {
        Ok(opened) => opened,
        Err((byte, what)) => return fault(byte, what),
    };
    match sign::check(&keyid, &signature, &pre_authentication(PAYLOAD_TYPE, &statement), trusted)? {
        Ok(who) => Ok(format!("by {who}")),
        Err(why) => fault(None, format!("its signature does not count: {why}")),
    }
}

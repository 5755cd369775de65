//! The root of the history, proofs that others can check without it, and checking them.

use std::io::Write;
use std::path::Path;

use crate::error::Context as _;
use crate::exit::Exit;
use crate::notices::{note, say};
use crate::project::Project;
use crate::{Advice, text};
use sprag_base::digest::Digest;
use sprag_base::files::{read_bounded, write_atomic};
use sprag_history::{self as history, Entries};
use sprag_model::history_log::{self, HistoryRoot};
use sprag_model::proof::{MAX_PROOF_BYTES, Proof, SCHEMA_VERSION};

pub fn root(folder: &Path, is_json: bool, out: &mut dyn Write) -> crate::Result<Exit> {
    let entries = entries(&Project::open(folder)?)?;
    let root = HistoryRoot {
        schema_version: history_log::SCHEMA_VERSION,
        reference: entries.reference,
        tip: entries.tip,
        size: entries.tree.len() as u64,
        root: entries.tree.root(),
    };
    if is_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&root)?)?;
        return Ok(Exit::Done);
    }
    let tip = root.tip.as_deref().map_or("no commit yet", |tip| tip.get(..12).unwrap_or(tip));
    let runs = text::count(entries.tree.len(), "run");
    writeln!(out, "{}  {runs} on {} at {tip}", root.root, text::printable(&root.reference))?;
    Ok(Exit::Done)
}

/// The list of the project's history.
pub(super) fn entries(project: &Project) -> crate::Result<Entries> {
    let store = project.store()?;
    let source = project.source()?;
    Ok(history::entries(store, &source)?)
}

/// The fewest digits that name a run.
const FEWEST_DIGITS: usize = 6;

/// What is proven.
pub enum Claim<'a> {
    /// That a run is in the history.
    Run(&'a str),
    /// That the history begins with the runs below this root.
    Since(&'a str),
}

pub fn prove(folder: &Path, claim: &Claim<'_>, output: Option<&Path>, out: &mut dyn Write) -> crate::Result<Exit> {
    let entries = entries(&Project::open(folder)?)?;
    let proof = match claim {
        Claim::Run(run) => inclusion(&entries, run)?,
        Claim::Since(since) => match consistency(&entries, parse_root(since)?) {
            Some(proof) => proof,
            None => {
                writeln!(out, "no beginning of this history has the root {since}")?;
                say(&format!("hint: run `sprag history fsck --against {since}`, which looks at merged lines too"));
                return Ok(Exit::Integrity);
            }
        },
    };
    let mut json = serde_json::to_string_pretty(&proof)?;
    json.push('\n');
    match output {
        Some(file) => write_atomic(&folder.join(file), json.as_bytes())?,
        None => write!(out, "{json}")?,
    }
    Ok(Exit::Done)
}

/// The proof that a run stands in the list.
fn inclusion(entries: &Entries, run: &str) -> crate::Result<Proof> {
    let index = find(entries, run)?;
    let size = entries.tree.len();
    Ok(Proof::Inclusion {
        schema_version: SCHEMA_VERSION,
        root: entries.tree.root(),
        size: size as u64,
        index: index as u64,
        leaf: entries.runs[index].digest,
        path: entries.tree.inclusion(index, size).context("a run of the list has no place in it")?,
    })
}

/// The proof that the list begins with the one below an earlier root, if it does.
fn consistency(entries: &Entries, old_root: Digest) -> Option<Proof> {
    let (old_size, size) = (entries.tree.size_of(&old_root)?, entries.tree.len());
    Some(Proof::Consistency {
        schema_version: SCHEMA_VERSION,
        old_root,
        old_size: old_size as u64,
        root: entries.tree.root(),
        size: size as u64,
        path: entries.tree.consistency(old_size, size)?,
    })
}

/// The place of the run that a text names.
fn find(entries: &Entries, run: &str) -> crate::Result<usize> {
    let advice = |message: String, hint: &str| Advice { message, hint: hint.to_owned() };
    if run.contains('/') {
        let place = entries.runs.iter().position(|entry| entry.path == run);
        let message = || format!("no run entered this history at `{}`", text::printable(run));
        return Ok(place.ok_or_else(|| advice(message(), "see `sprag history log` for the runs that it has"))?);
    }
    let digits = run.len() >= FEWEST_DIGITS && run.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !digits {
        let message = format!("`{}` names no run", text::printable(run));
        let hint = "give the id of a run, at least six digits of it, or the path of its record";
        return Err(advice(message, hint).into());
    }
    let named = |place: &usize| entries.runs[*place].digest.to_string().starts_with(run);
    let places: Vec<usize> = (0..entries.runs.len()).filter(named).collect();
    match places[..] {
        [only] => Ok(only),
        [] => {
            Err(advice(format!("this history has no run `{run}`"), "see `sprag history log` for the runs that it has")
                .into())
        }
        _ => Err(advice(format!("`{run}` could be any of {} runs", places.len()), "give more digits").into()),
    }
}

/// Checks a proof file, and that it ends in the given root.
pub fn check_proof(file: &Path, root: Option<&str>, out: &mut dyn Write) -> crate::Result<Exit> {
    let root = root.map(parse_root).transpose()?;
    let name = file.display();
    let bytes = read_bounded(file, MAX_PROOF_BYTES as usize).with_context(|| format!("cannot read `{name}`"))?;
    let proof = match Proof::from_json(&bytes) {
        Ok(proof) => proof,
        Err(error) => {
            let hint = "a proof is what `sprag history prove` prints; one of a newer version needs a newer sprag";
            return Err(Advice { message: format!("`{name}` {error}"), hint: hint.to_owned() }.into());
        }
    };
    let ends_in = proof.root();
    if !proof.holds() {
        writeln!(out, "the proof does not hold: its hashes do not add up to its root")?;
        return Ok(Exit::Integrity);
    }
    if root.is_some_and(|root| root != ends_in.root) {
        writeln!(out, "the proof ends in another root: {}", ends_in.root)?;
        return Ok(Exit::Integrity);
    }
    match &proof {
        Proof::Inclusion { index, leaf, size, .. } => {
            writeln!(out, "the run {leaf} is number {} of the {size} below the root {}", index + 1, ends_in.root)?;
        }
        Proof::Consistency { old_root, old_size, size, .. } => writeln!(
            out,
            "the {old_size} runs below the root {old_root} are the first of the {size} below the root {}",
            ends_in.root
        )?,
    }
    if root.is_none() {
        note("the root is the file's own; hold it against the one that was noted down, by `--root`");
    }
    Ok(Exit::Done)
}

/// Reads a root from the command line.
pub(super) fn parse_root(text: &str) -> crate::Result<Digest> {
    let hint = "give the 64 digits that `sprag history root` prints".to_owned();
    let digest = text.parse::<Digest>();
    Ok(digest.map_err(|error| Advice { message: text::printable(&error.to_string()), hint })?)
}

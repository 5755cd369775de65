//! `sprag history prove`: proofs that others can check without the history, and checking them.

use std::fs::File;
use std::io::{Read as _, Write};
use std::path::Path;

use anyhow::Context as _;

use super::root::entries;
use crate::cli::ProveArgs;
use crate::commands::project::Project;
use crate::commands::{Advice, Exit, text};
use sprag_base::digest::Digest;
use sprag_base::files::write_atomic;
use sprag_history::Entries;
use sprag_model::proof::{MAX_PROOF_BYTES, Proof, SCHEMA_VERSION};

/// The fewest digits that name a run.
const FEWEST_DIGITS: usize = 6;

pub(super) fn run(folder: &Path, args: &ProveArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if let Some(file) = &args.check {
        let root = args.root.as_deref().map(root_of).transpose()?;
        return check(&folder.join(file), root, out);
    }
    let entries = entries(&Project::open(folder)?)?;
    let proof = match (&args.run, &args.since) {
        (Some(run), _) => inclusion(&entries, run)?,
        (None, Some(since)) => match consistency(&entries, root_of(since)?) {
            Some(proof) => proof,
            None => {
                writeln!(out, "no beginning of this history has the root {since}")?;
                crate::commands::say(&format!(
                    "hint: run `sprag history fsck --against {since}`, which looks at merged lines too"
                ));
                return Ok(Exit::Integrity);
            }
        },
        (None, None) => anyhow::bail!("name a run, or an earlier root by `--since`"),
    };
    let mut json = serde_json::to_string_pretty(&proof)?;
    json.push('\n');
    match &args.output {
        Some(file) => write_atomic(&folder.join(file), json.as_bytes())?,
        None => write!(out, "{json}")?,
    }
    Ok(Exit::Done)
}

/// The proof that a run stands in the list.
fn inclusion(entries: &Entries, run: &str) -> anyhow::Result<Proof> {
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
fn find(entries: &Entries, run: &str) -> anyhow::Result<usize> {
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
fn check(file: &Path, root: Option<Digest>, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let name = file.display();
    let mut bytes = Vec::new();
    let opened = File::open(file).with_context(|| format!("cannot open `{name}`"))?;
    opened.take(MAX_PROOF_BYTES + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read `{name}`"))?;
    anyhow::ensure!(
        bytes.len() as u64 <= MAX_PROOF_BYTES,
        "`{name}` is larger than the {MAX_PROOF_BYTES} bytes that a proof may have"
    );
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
        crate::commands::note("the root is the file's own; hold it against the one that was noted down, by `--root`");
    }
    Ok(Exit::Done)
}

/// Reads a root from the command line.
pub(super) fn root_of(text: &str) -> anyhow::Result<Digest> {
    let hint = "give the 64 digits that `sprag history root` prints".to_owned();
    let digest = text.parse::<Digest>();
    Ok(digest.map_err(|error| Advice { message: text::printable(&error.to_string()), hint })?)
}

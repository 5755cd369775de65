//! The attestation in the form of Apex-X: its files where they are there, its gates from the items of the same name.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::SecondsFormat;

use super::gather::Gathered;
use crate::commands::replay::digest_of;
use crate::commands::{Advice, text};
use sprag_base::files::write_atomic;
use sprag_evidence::releases::RELEASES_PATH;
use sprag_evidence::sums;
use sprag_formats::compat::apex_x::attestation::{ARTIFACTS, Attestation, FoundFile, GATES, Metadata, Status};
use sprag_history as history;
use sprag_model::checklist::{Filled, FilledChecklist, Status as ItemStatus};

/// Writes `release_attestation.json` and `.md` into a folder: what they come to, in words, and whether that is a pass.
///
/// # Errors
/// When it is for several targets, of which this form knows one, or the files cannot be written.
pub(super) fn write(
    of: &Gathered,
    checklist: &FilledChecklist,
    owner: Option<&str>,
    into: &Path,
) -> anyhow::Result<(String, bool)> {
    let targets: Vec<&str> = checklist.targets.iter().map(|target| target.word()).collect();
    let [target] = targets[..] else {
        return Err(Advice {
            message: format!("the form of Apex-X is for one target, and not for {}", targets.join(" and ")),
            hint: format!(
                "`targets` of `{RELEASES_PATH}` says what the release is for; our own form takes all of them"
            ),
        }
        .into());
    };
    let owner = match owner {
        Some(owner) => owner.to_owned(),
        None => history::author(of.project.find_store()).0.name,
    };
    let (mut gates, mut evidence) = (BTreeMap::new(), BTreeMap::new());
    for (key, _) in GATES {
        if let Some(item) = checklist.items.iter().find(|item| item.id == key) {
            gates.insert(key.to_owned(), status(item));
            evidence.insert(key.to_owned(), words(item));
        }
    }
    let attestation = Attestation {
        metadata: Metadata {
            release_tag: checklist.release.clone(),
            commit_sha: checklist.commit.clone(),
            time: checklist.as_of.to_rfc3339_opts(SecondsFormat::Micros, true),
            release_owner: cell(&owner),
            runtime_target: target.to_owned(),
            ci_run_url: ci_run_url(),
        },
        files: ARTIFACTS.iter().map(|kind| file(of, kind.key, kind.path)).collect(),
        gates,
        evidence,
    };
    write_atomic(&into.join("release_attestation.json"), attestation.to_json().as_bytes())?;
    write_atomic(&into.join("release_attestation.md"), attestation.to_markdown().as_bytes())?;
    let summary = attestation.summary();
    let words = format!(
        "release_attestation status={} required_failed={} gates_failed={} gates_pending={}",
        summary.word(),
        summary.missing,
        summary.failed,
        summary.pending
    );
    Ok((words, summary.word() == "pass"))
}

/// What this form says of an item. What is waived does not hold: to those who read this form it stays open.
fn status(item: &Filled) -> Status {
    match item.status {
        ItemStatus::Pass => Status::Pass,
        ItemStatus::Fail => Status::Fail,
        ItemStatus::Pending | ItemStatus::Waived => Status::Pending,
        ItemStatus::NotApplicable => Status::NotApplicable,
    }
}

fn words(item: &Filled) -> String {
    let waived = item.waiver.as_ref().filter(|_| item.status == ItemStatus::Waived);
    let waived = waived.map_or_else(String::new, |one| format!("; waived by {} until {}", one.author, one.expires));
    cell(&format!("{}{waived}", item.why))
}

/// This form encodes nothing, so what would break its tables is taken out.
fn cell(words: &str) -> String {
    text::printable(&words.replace('|', "/").replace('`', "'"))
}

/// A file of this form: the artifact of that key where the checklist has one, else what lies where the form says.
fn file(of: &Gathered, key: &str, usual: &str) -> FoundFile {
    let named = of.artifacts.get(key);
    let path = named.map_or(usual, |artifact| &artifact.path);
    let place = named.map_or_else(|| of.project.root.join(usual), |artifact| artifact.file.clone());
    let content = std::fs::metadata(&place).ok().filter(std::fs::Metadata::is_file);
    let content = content.and_then(|facts| Some((digest_of(&place).ok()?, facts.len())));
    FoundFile { path: if sums::is_plain(path) { path.to_owned() } else { cell(path) }, content }
}

/// The run of GitHub's CI that this is part of, where its variables say so.
fn ci_run_url() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (server, repository) = (variable("GITHUB_SERVER_URL")?, variable("GITHUB_REPOSITORY")?);
    Some(cell(&format!("{server}/{repository}/actions/runs/{}", variable("GITHUB_RUN_ID")?)))
}

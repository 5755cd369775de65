//! The attestation in the format of Apex-X: its own list of files, and gates from items of the same name.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::SecondsFormat;

use super::load::LoadedRelease;
use crate::text;
use sprag_base::files::write_atomic;
use sprag_evidence::release::{ReleaseError, artifacts};
use sprag_evidence::releases::RELEASES_PATH;
use sprag_evidence::sums;
use sprag_formats::compat::apex_x::attestation::{ARTIFACTS, Attestation, GATES, Grade, Metadata, ReleaseFile};
use sprag_history as history;
use sprag_model::checklist::{Filled, FilledChecklist, Status as ItemStatus};

pub struct ReleaseSummary {
    pub line: String,
    pub passes: bool,
}

/// Writes `release_attestation.json` and `.md`. Fails if the release has several targets: this format has one.
pub(super) fn write(
    release: &LoadedRelease,
    checklist: &FilledChecklist,
    owner: Option<&str>,
    into: &Path,
) -> crate::Result<ReleaseSummary> {
    let targets: Vec<&str> = checklist.targets.iter().map(|target| target.word()).collect();
    let [target] = targets[..] else {
        return Err(ReleaseError::refused(
            format!("the form of Apex-X is for one target, and not for {}", targets.join(" and ")),
            format!("leave out `--format apex-x`, or name one target in `targets` of `{RELEASES_PATH}`"),
        )
        .into());
    };
    let owner = owner.map_or_else(|| history::author(release.project.find_store()).0.name, str::to_owned);
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
        files: ARTIFACTS.iter().map(|kind| file(release, kind.key, kind.path)).collect(),
        gates,
        evidence,
    };
    write_atomic(&into.join("release_attestation.json"), attestation.to_json().as_bytes())?;
    write_atomic(&into.join("release_attestation.md"), attestation.to_markdown().as_bytes())?;
    let summary = attestation.summary();
    let line = format!(
        "release_attestation status={} required_failed={} gates_failed={} gates_pending={}",
        summary.word(),
        summary.missing,
        summary.failed,
        summary.pending
    );
    Ok(ReleaseSummary { line, passes: summary.word() == "pass" })
}

/// This format has no waivers: what is waived stays open.
fn status(item: &Filled) -> Grade {
    match item.status {
        ItemStatus::Pass => Grade::Pass,
        ItemStatus::Fail => Grade::Fail,
        ItemStatus::Pending | ItemStatus::Waived => Grade::Pending,
        ItemStatus::NotApplicable => Grade::NotApplicable,
    }
}

fn words(item: &Filled) -> String {
    let waiver = item.waiver.as_ref().filter(|_| item.status == ItemStatus::Waived);
    let waived = waiver.map_or_else(String::new, |one| format!("; waived by {} until {}", one.author, one.expires));
    cell(&format!("{}{waived}", item.why))
}

fn cell(words: &str) -> String {
    text::printable(&words.replace('|', "/").replace('`', "'"))
}

/// The artifact of that key in the checklist, else the usual path.
fn file(release: &LoadedRelease, key: &str, usual: &str) -> ReleaseFile {
    let inputs = &release.inputs;
    let artifact =
        inputs.artifacts.get(key).cloned().unwrap_or_else(|| artifacts::ReleaseArtifact::inside(&inputs.root, usual));
    let content = artifacts::content(&artifact).ok().flatten();
    ReleaseFile { path: if sums::is_plain(&artifact.path) { artifact.path } else { cell(&artifact.path) }, content }
}

fn ci_run_url() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (server, repository) = (variable("GITHUB_SERVER_URL")?, variable("GITHUB_REPOSITORY")?);
    Some(cell(&format!("{server}/{repository}/actions/runs/{}", variable("GITHUB_RUN_ID")?)))
}

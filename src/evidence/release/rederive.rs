//! A checklist derived again from the records, compared with the recorded one.

use std::path::Path;

use super::artifacts::ReleaseArtifact;
use super::folder::{EvidenceFolder, is_record};
use super::inputs::ReleaseInputs;
use super::{Fault, Result, reviewed};
use crate::bundle::{self, ARTIFACTS, VERIFY_MD};
use crate::file;
use crate::filled::{self, CHECKLIST_JSON, CHECKLIST_MD};
use crate::releases::RELEASES_PATH;
use crate::statement::{self, STATEMENT};
use crate::sums::SUMS;
use sprag_base::digest::sha256_hex;
use sprag_history::Store;
use sprag_model::Statement;
use sprag_model::checklist::{Filled, FilledChecklist, RuntimeTarget};
use sprag_model::statement::{GIT_COMMIT, SHA256};

const DIFFERS: &str = "is not what the records give";

/// Files of a folder that do not belong to what its checklist is filled from, and artifacts that were not reviewed.
pub fn unknown_files(folder: &EvidenceFolder, inputs: &ReleaseInputs, store: &Store) -> Result<Vec<Fault>> {
    let ReleaseInputs { declared, artifacts, .. } = inputs;
    let mut expected = reviewed::project_files(&inputs.root)?;
    expected.extend([ARTIFACTS, CHECKLIST_JSON, CHECKLIST_MD, VERIFY_MD].map(str::to_owned));
    let is_artifact = |path: &str| artifacts.values().any(|one| one.file == Path::new(path));
    let is_expected = |path: &String| is_record(path) || expected.contains(path) || is_artifact(path);
    let unknown = folder.sums.keys().filter(|path| !is_expected(path));
    let mut faults: Vec<Fault> =
        unknown.map(|path| Fault::new(path, "does not belong to what the release depends on")).collect();
    let needed: Vec<&String> =
        declared.checklist.items.iter().flat_map(|item| &item.files).map(|file| &file.key).collect();
    if !needed.iter().all(|key| artifacts.contains_key(*key)) || !artifacts.keys().all(|key| needed.contains(&key)) {
        faults.push(Fault::new(ARTIFACTS, "does not name the artifacts of the checklist"));
    }
    let shown = |key: &str, artifact: &ReleaseArtifact| bundle::place(key, &artifact.path);
    faults.extend(reviewed::compare_artifacts(store, &inputs.reviewed, &declared.checklist, artifacts, shown)?);
    Ok(faults)
}

/// Compares all that follows from a checklist with what a folder has.
pub fn differences(folder: &EvidenceFolder, derived: FilledChecklist) -> Result<Vec<Fault>> {
    let recorded = &folder.checklist;
    // It names the program that wrote it, not this one.
    let derived = FilledChecklist { version: recorded.version.clone(), ..derived };
    let statement = folder.bytes(STATEMENT)?;
    let expected = statement::statement(&derived, &folder.sums, &sha256_hex(&folder.bytes(SUMS)?));
    let files = [
        (CHECKLIST_JSON, file::to_bytes(&derived), item_differences(recorded, &derived)),
        (CHECKLIST_MD, filled::to_markdown(&derived).into_bytes(), DIFFERS.to_owned()),
        (VERIFY_MD, bundle::to_markdown(&derived).into_bytes(), DIFFERS.to_owned()),
        (STATEMENT, file::to_bytes(&expected), statement_difference(&statement, &derived)),
    ];
    let mut faults = Vec::new();
    for (path, expected, what) in files {
        faults.extend(Fault::compare(path, &folder.bytes(path)?, &expected, what));
    }
    Ok(faults)
}

fn item_differences(recorded: &FilledChecklist, derived: &FilledChecklist) -> String {
    if recorded.targets != derived.targets {
        let [its, must] = [recorded, derived].map(|one| RuntimeTarget::list(&one.targets));
        return format!("is for {its}, and `{RELEASES_PATH}` says {must}");
    }
    let pairs = || recorded.items.iter().zip(&derived.items);
    if recorded.items.len() != derived.items.len() || pairs().any(|(one, other)| one.id != other.id) {
        return "does not have the items of the checklist".to_owned();
    }
    let words = |item: &Filled| format!("{} ({})", item.status.word(), item.why);
    let differing = pairs().filter(|(one, other)| one != other).map(|(one, other)| {
        format!("`{}` is recorded as {}, and the records say {}", one.id, words(one), words(other))
    });
    let differing: Vec<String> = differing.collect();
    if differing.is_empty() { DIFFERS.to_owned() } else { differing.join("; ") }
}

fn statement_difference(bytes: &[u8], derived: &FilledChecklist) -> String {
    let statement: Statement = match file::read(bytes) {
        Ok(statement) => statement,
        Err(error) => return error.to_string(),
    };
    for subject in &statement.subject {
        match subject.digest.get(GIT_COMMIT) {
            Some(commit) if *commit != derived.commit => {
                return format!("is about the commit {commit}, and the release is {}", derived.commit);
            }
            Some(_) if subject.digest.len() == 1 => {}
            _ => {
                let names: Vec<&str> = subject.digest.keys().map(String::as_str).collect();
                let names = if names.is_empty() { "no digest".to_owned() } else { names.join(" and ") };
                return format!("names its subject by {names}; only {GIT_COMMIT} is accepted");
            }
        }
    }
    for one in &statement.predicate.configuration {
        if let Some(algorithm) = one.digest.keys().find(|key| ![GIT_COMMIT, SHA256].contains(&key.as_str())) {
            return format!("has a digest of `{}` by {algorithm}; only {SHA256} is accepted", one.name);
        }
    }
    DIFFERS.to_owned()
}

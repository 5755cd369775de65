//! A checklist derived again from the records, and what of the recorded one is not the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use chrono::TimeDelta;

use super::artifacts::Artifact;
use super::fault::Fault;
use super::gather::{self, Gathered};
use super::stated::{self, Stated};
use super::{branch, fill, identity, reviewed};
use crate::commands::project::Project;
use crate::config::FILE_NAME;
use sprag_base::digest::sha256_hex;
use sprag_evidence::bundle::{self, ARTIFACTS, VERIFY_MD};
use sprag_evidence::filled::{self, CHECKLIST_JSON, CHECKLIST_MD};
use sprag_evidence::releases::RELEASES_PATH;
use sprag_evidence::statement::{self, STATEMENT};
use sprag_evidence::sums::{SUMS, first_difference};
use sprag_history::{self as history, Entries, Store, Target};
use sprag_measure::clock;
use sprag_model::checklist::{Filled, FilledChecklist, RuntimeTarget};
use sprag_model::run::RECORD_ROOT;
use sprag_model::statement::{GIT_COMMIT, SHA256};

/// How far the clocks of two machines may be apart.
const CLOCKS_APART: TimeDelta = TimeDelta::days(1);

pub(super) struct Recorded<'a> {
    pub(super) folder: &'a Path,
    pub(super) checklist: &'a FilledChecklist,
    pub(super) bytes: &'a [u8],
    /// The digests of its files.
    pub(super) sums: &'a BTreeMap<String, String>,
}

/// Whether a path is one of the project's own files, which people review.
pub(super) fn is_of_project(path: &str) -> bool {
    path == FILE_NAME || ["release/", "ledger/", "baselines/"].iter().any(|below| path.starts_with(below))
}

/// The bytes of a file that follows from the checklist alone.
pub(super) fn derived(checklist: &FilledChecklist, path: &str) -> Option<Vec<u8>> {
    match path {
        CHECKLIST_JSON => Some(filled::to_json(checklist)),
        CHECKLIST_MD => Some(filled::to_markdown(checklist).into_bytes()),
        VERIFY_MD => Some(bundle::to_markdown(checklist).into_bytes()),
        _ => None,
    }
}

/// Holds the records of a folder against those of the repository, and their list against its root; `target` is the branch that
/// holds them now.
///
/// # Errors
/// When the history cannot be read, a tag moved, or it was rewritten since.
pub(super) fn of_history(
    project: &Project,
    target: &Target,
    folder: &Path,
    sums: &BTreeMap<String, String>,
    recorded: &FilledChecklist,
) -> anyhow::Result<Result<Entries, Vec<Fault>>> {
    let store = project.store()?;
    let point = &recorded.history;
    let then = match branch::sound(store, &project.source()?)? {
        Ok(then) => then,
        Err(faults) => return Ok(Err(faults)),
    };
    let mut faults = Vec::new();
    let mut records: BTreeMap<String, Vec<u8>> =
        history::files_of(store, &point.commit, RECORD_ROOT)?.into_iter().collect();
    let below = format!("{RECORD_ROOT}/");
    for path in sums.keys().filter(|path| path.starts_with(&below)) {
        match records.remove(path) {
            None => faults.push(Fault::of(path, "is no record of the history")),
            Some(must) => {
                if let Some(byte) = first_difference(&bytes_of(folder, path)?, &must) {
                    let what = "is not the record of the history".to_owned();
                    faults.push(Fault { path: path.clone(), byte: Some(byte), what });
                }
            }
        }
    }
    faults.extend(records.keys().map(|path| Fault::of(path, "is a record of the history and not here")));
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    let (size, root) = (then.tree.len() as u64, then.tree.root().to_string());
    if (size, &root) != (point.size, &point.root) {
        let what = format!(
            "names {} runs with the Merkle root {}, and the history at {} has {size} with {root}",
            point.size, point.root, point.commit
        );
        return Ok(Err(vec![Fault::of(CHECKLIST_JSON, what)]));
    }
    let tip = history::list(store, target).context("cannot read the history")?.tip;
    if tip == then.tip {
        return Ok(Ok(then));
    }
    let now = match branch::sound(store, target)? {
        Ok(now) => now,
        Err(faults) => return Ok(Err(faults)),
    };
    identity::check_point(project, &recorded.release, point, &now)?;
    Ok(Ok(then))
}

/// Derives the checklist again, where `then` is the history that it rests on, and holds all that follows from it against what was recorded.
///
/// # Errors
/// When something cannot be read, or a tag moved.
pub(super) fn derive(project: Project, then: &Entries, of: &Recorded<'_>) -> anyhow::Result<Vec<Fault>> {
    let recorded = of.checklist;
    let stated = Stated::read(&project)?;
    let release = stated::find(&stated.releases, &recorded.release)?.clone();
    gather::check_roles(&release, &stated.checklist)?;
    identity::check_all(&project, &stated.releases)?;
    identity::check_history(&project, &stated.releases, then)?;
    let identity = identity::recorded(&project, &release, &recorded.commit, recorded.tagged)?;
    if let Some(fault) = wrong_time(&project, recorded)? {
        return Ok(vec![fault]);
    }
    let artifacts = match artifacts(of)? {
        Ok(artifacts) => artifacts,
        Err(fault) => return Ok(vec![fault]),
    };
    let gathered = Gathered {
        previous: stated.releases.before(&release).cloned(),
        checklist: stated.checklist,
        ledger: stated.ledger,
        release,
        identity,
        as_of: recorded.as_of,
        history: recorded.history.clone(),
        branch: recorded.branch.clone(),
        reviewed: recorded.reviewed.clone(),
        artifacts,
        project,
    };
    let mut unknown = unknown(&gathered, of)?;
    let place = |key: &str, artifact: &Artifact| bundle::place(key, &artifact.path);
    unknown.extend(reviewed::artifacts(
        gathered.project.store()?,
        &recorded.reviewed,
        &gathered.checklist,
        &gathered.artifacts,
        &place,
    )?);
    // The program that wrote it is named, and not this one.
    let again = FilledChecklist { version: recorded.version.clone(), ..fill::fill(&gathered)? };
    Ok(unknown.into_iter().chain(differences(of, &again)?).collect())
}

/// That the time by which waivers were looked at is before the history or yet to come.
pub(super) fn wrong_time(project: &Project, recorded: &FilledChecklist) -> anyhow::Result<Option<Fault>> {
    let found = history::find_commit(project.store()?, &recorded.history.commit)?;
    let is_before = found.is_some_and(|commit| commit.commit_time > recorded.as_of + CLOCKS_APART);
    let why = match (is_before, recorded.as_of > clock::now() + CLOCKS_APART) {
        (true, _) => "before the history that it rests on",
        (false, true) => "which is yet to come",
        (false, false) => return Ok(None),
    };
    let what = format!("is as of {}, {why}", recorded.as_of.format("%Y-%m-%d %H:%M UTC"));
    Ok(Some(Fault::of(CHECKLIST_JSON, what)))
}

/// That what was recorded is of another branch than the one that a clone names.
pub(super) fn wrong_branch(recorded: &FilledChecklist, own: Option<&str>, its: Option<&str>) -> Option<Fault> {
    let words = |one: Option<&str>| one.map_or_else(|| "no branch".to_owned(), |one| format!("`{one}`"));
    let short = |one: &str| one.strip_prefix("refs/heads/").unwrap_or(one).to_owned();
    if own.map(short) != its.map(short) {
        let what = format!(
            "names {} as the ref of the history, and this clone {}; a checkout of before or after that was set says another one",
            words(its),
            words(own)
        );
        return Some(Fault::of(FILE_NAME, what));
    }
    let named = own.map(short).zip(recorded.branch.as_ref()).filter(|(own, branch)| own != *branch);
    let what = named.map(|(own, branch)| format!("rests on the branch `{branch}`, and the history is on `{own}`"));
    what.map(|what| Fault::of(CHECKLIST_JSON, what))
}

/// That the files of the project are not those of a commit that the clone leads back to.
///
/// # Errors
/// When they cannot be read.
pub(super) fn not_reviewed(store: &Store, target: &Target, of: &Recorded<'_>) -> anyhow::Result<Vec<Fault>> {
    let commit = &of.checklist.reviewed;
    let is_known = |tip: &String| history::comes_after(store, tip, commit);
    for tip in branch::tips(store, target)? {
        if is_known(&tip)? {
            return reviewed::files(store, commit, of.folder, of.sums.keys().filter(|path| is_of_project(path)));
        }
    }
    let what = format!(
        "takes the project's files from the commit {commit}, to which neither HEAD nor the branch of the history leads back"
    );
    Ok(vec![Fault::of(CHECKLIST_JSON, what)])
}

/// The artifacts as they lie in the folder.
fn artifacts(of: &Recorded<'_>) -> anyhow::Result<Result<BTreeMap<String, Artifact>, Fault>> {
    let bytes = bytes_of(of.folder, ARTIFACTS)?;
    let listed = match bundle::read(&bytes) {
        Ok(listed) => listed,
        Err(error) => return Ok(Err(Fault::of(ARTIFACTS, error.to_string()))),
    };
    if let Some(byte) = first_difference(&bytes, &bundle::to_file(&listed)) {
        let what = "is not as it is written".to_owned();
        return Ok(Err(Fault { path: ARTIFACTS.to_owned(), byte: Some(byte), what }));
    }
    let mut artifacts = BTreeMap::new();
    for one in listed {
        let place = bundle::place(&one.key, &one.path);
        if one.file.as_ref().is_some_and(|file| *file != place) || one.file.is_some() != of.sums.contains_key(&place) {
            return Ok(Err(Fault::of(ARTIFACTS, format!("says of `{}` where it does not lie", one.key))));
        }
        let artifact = Artifact { file: of.folder.join(place), path: one.path };
        if artifacts.insert(one.key.clone(), artifact).is_some() {
            return Ok(Err(Fault::of(ARTIFACTS, format!("names `{}` twice", one.key))));
        }
    }
    Ok(Ok(artifacts))
}

/// What is listed and is no part of such a folder.
fn unknown(gathered: &Gathered, of: &Recorded<'_>) -> anyhow::Result<Vec<Fault>> {
    let project = gathered.project_files()?;
    let below = format!("{RECORD_ROOT}/");
    let derived = [ARTIFACTS, CHECKLIST_JSON, CHECKLIST_MD, VERIFY_MD];
    let is_artifact = |path: &str| gathered.artifacts.values().any(|one| one.file == of.folder.join(path));
    let is_known = |path: &str| {
        path.starts_with(&below)
            || derived.contains(&path)
            || project.iter().any(|one| one == path)
            || is_artifact(path)
    };
    let mut faults: Vec<Fault> = of
        .sums
        .keys()
        .filter(|path| !is_known(path))
        .map(|path| Fault::of(path, "is no part of what a release rests on"))
        .collect();
    let needed: Vec<&str> =
        gathered.checklist.items.iter().flat_map(|item| &item.files).map(|file| file.key.as_str()).collect();
    let listed = || gathered.artifacts.keys().map(String::as_str);
    if !needed.iter().all(|key| listed().any(|one| one == *key)) || !listed().all(|key| needed.contains(&key)) {
        faults.push(Fault::of(ARTIFACTS, "does not name the artifacts of the checklist"));
    }
    Ok(faults)
}

/// What follows from the checklist, where it is not what was recorded.
fn differences(of: &Recorded<'_>, again: &FilledChecklist) -> anyhow::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let mut check = |path: &str, has: &[u8], must: &[u8], what: String| {
        if let Some(byte) = first_difference(has, must) {
            faults.push(Fault { path: path.to_owned(), byte: Some(byte), what });
        }
    };
    check(CHECKLIST_JSON, of.bytes, &filled::to_json(again), items(of.checklist, again));
    let text = || "is not what the records come to".to_owned();
    check(CHECKLIST_MD, &bytes_of(of.folder, CHECKLIST_MD)?, filled::to_markdown(again).as_bytes(), text());
    check(VERIFY_MD, &bytes_of(of.folder, VERIFY_MD)?, bundle::to_markdown(again).as_bytes(), text());
    let sums = bytes_of(of.folder, SUMS)?;
    let must = statement::statement(again, of.sums, &sha256_hex(&sums));
    let has = bytes_of(of.folder, STATEMENT)?;
    check(STATEMENT, &has, &statement::to_file(&must), stated(&has, again));
    Ok(faults)
}

/// What is stated, or which items came out, otherwise.
fn items(recorded: &FilledChecklist, again: &FilledChecklist) -> String {
    if recorded.targets != again.targets {
        let [its, must] = [recorded, again].map(|one| RuntimeTarget::list(&one.targets));
        return format!("is for {its}, and `{RELEASES_PATH}` says {must}");
    }
    let pairs = || recorded.items.iter().zip(&again.items);
    if recorded.items.len() != again.items.len() || pairs().any(|(one, other)| one.id != other.id) {
        return "does not hold the items of the checklist".to_owned();
    }
    let other = |(one, other): (&Filled, &Filled)| {
        (one != other).then(|| {
            let words = |item: &Filled| format!("{} ({})", item.status.word(), item.why);
            format!("`{}` is recorded as {}, and the records say {}", one.id, words(one), words(other))
        })
    };
    let found: Vec<String> = pairs().filter_map(other).collect();
    if found.is_empty() { "is not what the records come to".to_owned() } else { found.join("; ") }
}

/// What is wrong with a statement that is not the one that follows.
fn stated(bytes: &[u8], again: &FilledChecklist) -> String {
    let statement = match statement::read(bytes) {
        Ok(statement) => statement,
        Err(error) => return error.to_string(),
    };
    for subject in &statement.subject {
        match subject.digest.get(GIT_COMMIT) {
            Some(commit) if *commit != again.commit => {
                return format!("is about the commit {commit}, and the release is {}", again.commit);
            }
            Some(_) if subject.digest.len() == 1 => {}
            _ => {
                return format!("names its subject by {}; only {GIT_COMMIT} counts", algorithms(subject.digest.keys()));
            }
        }
    }
    for one in &statement.predicate.configuration {
        if let Some(algorithm) = one.digest.keys().find(|key| ![GIT_COMMIT, SHA256].contains(&key.as_str())) {
            return format!("has a digest of `{}` by {algorithm}; only {SHA256} counts", one.name);
        }
    }
    "is not what the records come to".to_owned()
}

fn algorithms<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() { "no digest".to_owned() } else { names.join(" and ") }
}

pub(super) fn bytes_of(folder: &Path, name: &str) -> anyhow::Result<Vec<u8>> {
    let path = folder.join(name);
    fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))
}

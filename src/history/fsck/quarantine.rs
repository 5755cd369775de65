//! What was set aside: where it lies, whether it is still what it was, and what stands for contents that could not be
//! read.

use std::collections::{HashMap, HashSet};

use git2::{Oid, Repository};

use crate::error::FETCH_ALL;
use crate::fsck::tip::Fault;
use crate::fsck::tip::{Tip, TipFile};
use crate::layout;
use crate::objects::loose;
use crate::objects::partial::Promises;
use crate::reading::entries::record_digest;
use crate::reading::past::{MISSING, Past, QUARANTINE, is_here, noted, reason};
use sprag_base::digest::Digest;
use sprag_model::fsck::{Finding, FindingKind};
use sprag_model::run::{RECORD_ROOT, Run};

/// How the name of a note ends that stands for a submodule.
pub(crate) const SUBMODULE: &str = ".submodule";

/// The longest name of a file that is set aside: what a path of the layout allows for one part.
const LONGEST_NAME: usize = 100;

/// How many digits of a digest name the folder of a content.
const DIGITS: usize = 16;

/// What lies among what was set aside.
#[derive(Default)]
pub(crate) struct Quarantine {
    /// The contents: those that lie there, and those that a note stands for.
    pub(crate) contents: HashSet<Oid>,
    /// Files that are no longer what was set aside.
    pub(crate) faults: Vec<Fault>,
    pub(crate) findings: Vec<Finding>,
    /// Files that are not here, as in a partial clone.
    pub(crate) absent: Vec<String>,
}

impl Quarantine {
    /// Reads all that was set aside, and holds it against the folders that it lies in.
    pub(crate) fn read(repository: &Repository, tip: &Tip, promises: &Promises<'_>) -> Quarantine {
        let mut aside = Quarantine::default();
        let records = tip.runs.iter().chain(&tip.events);
        let recorded: HashSet<String> = records.map(|file| name_of(&file.text(), MISSING)).collect();
        for file in &tip.quarantined {
            aside.contents.insert(file.id);
            let path = file.text();
            let blob = loose::check(repository, file.id).and_then(|()| repository.find_blob(file.id));
            let blob = match blob {
                Ok(blob) => blob,
                Err(_) if promises.cover(file.id) => {
                    aside.absent.push(path);
                    continue;
                }
                Err(error) => {
                    let what = format!("was set aside, and cannot be read: {}", reason(&error));
                    aside.fault(file, FindingKind::Unreadable, what, &fetch_first(file.id));
                    continue;
                }
            };
            if let Some(digits) = folder_of(&path)
                && !stands_in(digits, &path, blob.content())
            {
                let what = "was set aside, and no longer has the content that its folder is named after";
                let advice = "run `sprag history fsck --repair` to set this content aside under its own digest";
                aside.fault(file, FindingKind::Name, what.to_owned(), advice);
            }
            // A content that is here again is to be brought back.
            let Some(id) = noted(repository, &file.path, file.id).filter(|&id| !is_here(repository, id)) else {
                continue;
            };
            aside.contents.insert(id);
            if !path.rsplit('/').next().is_some_and(|name| recorded.contains(name)) {
                let what = "marks a file that could not be read and is nowhere else in the history";
                let advice = if promises.cover(id) {
                    format!("{FETCH_ALL}; then `sprag history fsck --repair` brings it back")
                } else {
                    format!(
                        "fetch {id} from a repository that has it; then `sprag history fsck --repair` brings it back"
                    )
                };
                aside.findings.push(Finding::at(FindingKind::SetAside, &path, what).advise(advice));
            }
        }
        aside
    }

    fn fault(&mut self, file: &TipFile, kind: FindingKind, what: String, advice: &str) {
        let finding = Finding::at(kind, &file.text(), what).advise(advice);
        self.faults.push(Fault { file: file.clone(), finding });
    }
}

/// What to do about an object that nobody has promised.
pub(crate) fn fetch_first(id: Oid) -> String {
    format!(
        "fetch {id} from a repository that has it, as by `git fetch --refetch`; only if none has it, run `sprag history \
         fsck --repair` to set it aside"
    )
}

/// Notes of the past that nobody need miss: what they stand for is in the history again, or can be read.
pub(crate) fn settled(repository: &Repository, past: &Past, present: &HashMap<String, Oid>) -> HashSet<Oid> {
    let mut gone = past.files.iter().filter(|file| file.path.ends_with(MISSING) && !present.contains_key(&file.path));
    let mut settled = HashSet::new();
    let contents: HashSet<&Oid> = present.values().collect();
    for note in &mut gone {
        let stood_for = noted(repository, note.path.as_bytes(), note.blob);
        if stood_for.is_some_and(|id| contents.contains(&id) || is_here(repository, id)) {
            settled.insert(note.blob);
        }
    }
    settled
}

/// Records that were set aside though nothing is wrong with them, and that the history has nowhere else.
pub(crate) fn intact_records(repository: &Repository, tip: &Tip) -> Vec<Finding> {
    let present = tip.contents();
    let mut findings = Vec::new();
    for file in &tip.quarantined {
        if loose::check(repository, file.id).is_err() {
            continue;
        }
        let Ok(blob) = repository.find_blob(file.id) else { continue };
        let Ok((id, run)) = Run::from_record(blob.content()) else { continue };
        // One whose name has another id was changed, and is no record of what was measured.
        if !file.text().ends_with(&format!("-{id}.json")) {
            continue;
        }
        let path = run.path(&id);
        if layout::check_path(&path).is_ok() && !present.contains_key(&path) {
            let what = format!("is a sound record of `{path}`, which the history lacks");
            let advice = "if it belongs there, write it to a file by `git show` and run `sprag history add`";
            findings.push(Finding::at(FindingKind::SetAside, &file.text(), what).advise(advice));
        }
    }
    findings
}

/// Where the file at `path` is set aside, in the folder of these digits.
pub(crate) fn place(digits: &str, path: &str, ending: &str) -> String {
    format!("{RECORD_ROOT}/{QUARANTINE}/{digits}/{}", name_of(path, ending))
}

/// The digits by which a content is set aside: those of a run, where it has the form of one.
pub(crate) fn digits_of(bytes: &[u8]) -> String {
    record_digest(bytes).unwrap_or_else(|| Digest::from_parts(&[bytes])).short()
}

/// The digits by which an object is set aside that has no content to be read.
pub(crate) fn digits_of_id(id: Oid) -> String {
    id.to_string()[..DIGITS].to_owned()
}

/// The name under which the file at `path` is set aside.
fn name_of(path: &str, ending: &str) -> String {
    let inside = path.strip_prefix(RECORD_ROOT).unwrap_or(path).trim_start_matches('/');
    format!("{}{ending}", flat(inside, LONGEST_NAME - ending.len()))
}

/// The digits of the folder that a file was set aside in; absent where a repair would not have put it there.
fn folder_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix(RECORD_ROOT)?.strip_prefix('/')?.strip_prefix(QUARANTINE)?.strip_prefix('/')?;
    let (folder, name) = inside.split_once('/')?;
    let is_digits = folder.len() == DIGITS && folder.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    (is_digits && !name.contains('/')).then_some(folder)
}

/// Whether a content belongs into the folder of these digits: by its digest, or as a note of an object with that id.
fn stands_in(digits: &str, path: &str, bytes: &[u8]) -> bool {
    let is_note = path.ends_with(MISSING) || path.ends_with(SUBMODULE);
    digits_of(bytes) == digits || (is_note && bytes.starts_with(digits.as_bytes()))
}

/// A path as one name: of too long a path the end, which tells more.
fn flat(path: &str, longest: usize) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let flat: String = path.chars().map(fine).collect();
    let end = flat.len().saturating_sub(longest - 1);
    let flat = &flat[end..];
    if flat.starts_with(['.', '-']) || flat.is_empty() { format!("_{flat}") } else { flat.to_owned() }
}

//! The files of the branch, and which of them the layout has no place for.

use std::collections::{BTreeMap, HashMap};

use git2::{ObjectType, Oid, Repository, Tree, TreeEntry};

use crate::error::{FETCH_ALL, REPAIR_AND_FETCH};
use crate::layout::{self, DEEPEST, FOLDER, Kind, RECORD_DEPTH};
use crate::objects::{self, Promises, case_folded};
use crate::past::{QUARANTINE, reason};
use sprag_model::fsck::{Finding, FindingKind};
use sprag_model::run::{LAYOUT_VERSION, RECORD_ROOT};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TipFile {
    pub(crate) path: Vec<u8>,
    pub(crate) mode: i32,
    pub(crate) id: Oid,
}

impl TipFile {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }
}

pub(crate) const SET_ASIDE: &str = "run `sprag history fsck --repair` to set it aside";

pub(crate) struct Fault {
    pub(crate) file: TipFile,
    pub(crate) finding: Finding,
}

impl Fault {
    pub(crate) fn new(file: TipFile, kind: FindingKind, what: impl Into<String>, advice: impl Into<String>) -> Fault {
        Fault { finding: Finding::at(kind, &file.text(), what).advise(advice), file }
    }
}

#[derive(Default)]
pub(crate) struct Tip {
    /// Plain files that are named like runs.
    pub(crate) runs: Vec<TipFile>,
    /// Plain files that are named like events.
    pub(crate) events: Vec<TipFile>,
    /// Other plain files in folders that begin with an underscore.
    pub(crate) auxiliary: Vec<TipFile>,
    pub(crate) quarantined: Vec<TipFile>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) collisions: Vec<(TipFile, TipFile)>,
    /// Folders that cannot be read. What earlier commits had of them is among the losses.
    pub(crate) lost: Vec<TipFile>,
}

impl Tip {
    pub(crate) fn read(repository: &Repository, tree: &Tree<'_>) -> Tip {
        let mut walk = Walk { repository, tip: Tip::default() };
        walk.top(tree);
        walk.tip
    }

    pub(crate) fn contents(&self) -> HashMap<String, Oid> {
        let faulty = self.faults.iter().map(|fault| &fault.file);
        let files = self.runs.iter().chain(&self.events).chain(&self.auxiliary).chain(&self.quarantined).chain(faulty);
        files.map(|file| (file.text(), file.id)).collect()
    }
}

struct Walk<'r> {
    repository: &'r Repository,
    tip: Tip,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Runs,
    Auxiliary,
    Quarantine,
}

impl<'r> Walk<'r> {
    fn top(&mut self, tree: &Tree<'_>) {
        let Some(history) = tree.get_name(FOLDER) else { return };
        let Some(folder) = self.folder(FOLDER.as_bytes(), &history) else { return };
        for entry in &folder {
            let path = join(FOLDER.as_bytes(), entry.name_bytes());
            let text = String::from_utf8_lossy(&path).into_owned();
            let version = text.strip_prefix("history/v").and_then(|version| version.parse::<u64>().ok());
            if text == RECORD_ROOT {
                if let Some(folder) = self.folder(&path, &entry) {
                    self.enter(&path, &folder, 0, Place::Runs);
                }
            } else if version.is_some_and(|version| version > LAYOUT_VERSION) {
                let what = "is of a newer layout, and was left as it is";
                self.tip.findings.push(
                    Finding::at(FindingKind::Newer, &format!("{text}/"), what).advise("a newer sprag can read it"),
                );
            } else if entry.kind() == Some(ObjectType::Tree) {
                let what = "is not part of the layout, and is not read";
                self.tip.findings.push(Finding::at(FindingKind::Foreign, &format!("{text}/"), what));
            }
        }
    }

    fn enter(&mut self, parent: &[u8], folder: &Tree<'_>, depth: usize, place: Place) {
        self.collide(parent, folder);
        for entry in folder {
            let name = entry.name_bytes();
            if name.starts_with(b".git") {
                continue;
            }
            let path = join(parent, name);
            let place = match place {
                Place::Runs if depth == 0 && name == QUARANTINE.as_bytes() => Place::Quarantine,
                Place::Runs if depth == 0 && name.starts_with(b"_") => Place::Auxiliary,
                same => same,
            };
            if entry.name().is_err() {
                self.fault(&path, &entry, FindingKind::NotUtf8, "has a name that is not UTF-8");
            } else if entry.kind() == Some(ObjectType::Tree) {
                let deepest = if place == Place::Runs { RECORD_DEPTH } else { DEEPEST };
                if depth >= deepest {
                    self.fault(&path, &entry, FindingKind::Shape, "is a folder, where a record is a plain file");
                } else if let Some(folder) = self.folder(&path, &entry) {
                    self.enter(&path, &folder, depth + 1, place);
                }
            } else {
                self.file(path, &entry, depth, place);
            }
        }
    }

    fn file(&mut self, path: Vec<u8>, entry: &TreeEntry<'_>, depth: usize, place: Place) {
        if let Err(what) = layout::check_mode(entry.filemode()) {
            return self.fault(&path, entry, FindingKind::Mode, what);
        }
        let file = TipFile { path, mode: entry.filemode(), id: entry.id() };
        let list = match (layout::check_path(&file.text()), place) {
            (_, Place::Runs) if depth < RECORD_DEPTH => {
                let what = "is a file, where a folder of records is expected";
                return self.fault(&file.path, entry, FindingKind::Shape, what);
            }
            (Err(what), _) => return self.fault(&file.path, entry, FindingKind::Unknown, what),
            (Ok(Kind::Event), _) => &mut self.tip.events,
            (Ok(_), Place::Runs) => &mut self.tip.runs,
            (Ok(_), Place::Auxiliary) => &mut self.tip.auxiliary,
            (Ok(_), Place::Quarantine) => &mut self.tip.quarantined,
        };
        list.push(file);
    }

    fn folder(&mut self, path: &[u8], entry: &TreeEntry<'_>) -> Option<Tree<'r>> {
        if entry.kind() != Some(ObjectType::Tree) {
            self.fault(path, entry, FindingKind::Shape, "is a file, where a folder of records is expected");
            return None;
        }
        objects::find_tree(self.repository, entry.id())
            .map_err(|error| {
                let what = format!("is a folder that cannot be read: {}", reason(&error));
                let file = TipFile { path: path.to_owned(), mode: entry.filemode(), id: entry.id() };
                let is_promised = Promises::new(self.repository).is_ok_and(|promises| promises.cover(entry.id()));
                let (kind, what, advice) = match is_promised {
                    true => (FindingKind::Incomplete, format!("{what}, as in a partial clone"), FETCH_ALL.to_owned()),
                    false => (FindingKind::Unreadable, what, REPAIR_AND_FETCH.to_owned()),
                };
                self.tip.findings.push(Finding::at(kind, &file.text(), what).advise(advice));
                self.tip.lost.extend((!is_promised).then_some(file));
            })
            .ok()
    }

    fn collide(&mut self, parent: &[u8], folder: &Tree<'_>) {
        let mut names: BTreeMap<String, TipFile> = BTreeMap::new();
        for entry in folder {
            let Ok(name) = entry.name() else { continue };
            let file = TipFile { path: join(parent, name.as_bytes()), mode: entry.filemode(), id: entry.id() };
            if let Some(first) = names.get(&case_folded(name)) {
                self.tip.collisions.push((first.clone(), file));
            } else {
                names.insert(case_folded(name), file);
            }
        }
    }

    fn fault(&mut self, path: &[u8], entry: &TreeEntry<'_>, kind: FindingKind, what: impl Into<String>) {
        let file = TipFile { path: path.to_owned(), mode: entry.filemode(), id: entry.id() };
        self.tip.faults.push(Fault::new(file, kind, what, SET_ASIDE));
    }
}

fn join(parent: &[u8], name: &[u8]) -> Vec<u8> {
    [parent, b"/", name].concat()
}

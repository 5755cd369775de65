//! Built commits, each built once: what `compare --measure`, `bisect` and `backfill` measure.
//!
//! `cache` has them, and `key` says what decides a build. A commit is built in a temporary folder instead where there is
//! no cache folder, where its build is in use, or where its build step may write outside its checkout.

pub mod cache;
pub mod commit_build;
pub(crate) mod failures;
mod key;
pub mod listing;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::time::Instant;

use crate::builds::cache::{BuildCache, BuildEntry, MOST_BYTES, Slot};
use crate::builds::commit_build::{CommitBuild, Lacking, Worktree, check_out_files};
use crate::builds::failures::{is_full_disk, lasting_failure};
use crate::builds::key::{Inputs, key, stays_inside, tools};
use crate::cache::is_off;
use crate::config::Suite;
use crate::error::{Cause, WithContext as _};
use crate::project::Project;
use crate::text::warn;
use crate::{Advice, Error, refuse};
use sprag_base::number;
use sprag_base::stats::describe;
use sprag_base::{digest, glob};
use sprag_history as history;
use sprag_measure::command::CHECKOUT_WITHOUT;
use sprag_measure::command::suite::{self as processes, CommandSuite};
use sprag_measure::environment;
use sprag_measure::plan::Protocol;
use sprag_measure::suite::command::{command_suite, without_places};
use sprag_measure::suite::{CommandSettings, CommitProgram, Observer};
use sprag_model::Commit;

const TREE: &str = "tree";

/// Of what Cargo makes, what no other commit needs.
const NOT_COPIED: [&str; 3] = ["criterion", "incremental", "tmp"];

pub struct Builds<'a> {
    project: &'a Project,
    observer: &'a dyn Observer,
    cache: Option<BuildCache>,
    /// Whether a commit whose build failed before is built again.
    retry: bool,
    tools: OnceCell<String>,
    lacking: Lacking,
    /// The entries in use, by key: both sides of a comparison may have one build.
    slots: RefCell<BTreeMap<String, Weak<Slot>>>,
}

/// The files of a commit with what its build step made of them.
pub struct BuiltTree {
    pub root: PathBuf,
    /// Without a build step.
    pub settings: CommandSettings,
    _place: Place,
}

/// A program of Sprag that was built from a commit.
pub struct BuiltProgram {
    pub program: CommitProgram,
    _place: Place,
}

/// Until it is dropped, nobody removes the build.
enum Place {
    Cached { _slot: Rc<Slot> },
    Aside { _tree: Worktree },
    Program { _build: CommitBuild },
}

impl<'a> Builds<'a> {
    pub fn new(project: &'a Project, observer: &'a dyn Observer, retry: bool) -> Builds<'a> {
        let is_used = project.has_cache && !is_off();
        let is_outside = |cache: &BuildCache| !cache.folder().starts_with(&project.root);
        let cache = if is_used { BuildCache::of_user().filter(is_outside) } else { None };
        let (tools, lacking) = (OnceCell::new(), Lacking::default());
        Builds { project, observer, cache, retry, tools, lacking, slots: RefCell::default() }
    }

    /// Everything in a temporary folder, which is removed afterwards.
    pub fn aside(project: &'a Project, observer: &'a dyn Observer) -> Builds<'a> {
        Builds { cache: None, ..Builds::new(project, observer, true) }
    }

    /// What the cache has of a commit.
    pub fn peek(&self, suite: &Suite, commit: &Commit) -> crate::Result<Option<BuildEntry>> {
        let Some((cache, key)) = self.place(suite, commit)? else { return Ok(None) };
        Ok(cache.peek(&key))
    }

    /// The places of commits that are built already.
    pub fn present(&self, suite: &Suite, commits: &[String]) -> crate::Result<BTreeSet<usize>> {
        let mut present = BTreeSet::new();
        for (place, sha) in commits.iter().enumerate() {
            let entry = self.peek(suite, &commit_build::by_id(self.project, sha)?)?;
            if entry.is_some_and(|entry| entry.failure.is_none()) {
                present.insert(place);
            }
        }
        Ok(present)
    }

    /// The key of the build of each commit.
    pub fn inputs(&self, suite: &Suite, commits: &[String]) -> crate::Result<Vec<String>> {
        commits.iter().map(|sha| self.files(suite, sha)).collect()
    }

    /// The mean of what building the commits of this project took.
    pub fn usual_seconds(&self) -> Option<f64> {
        let root = self.project.root.to_string_lossy();
        let own = self.cache.iter().flat_map(BuildCache::list).filter(|one| one.entry.repository == root);
        describe::mean(&own.filter_map(|one| one.entry.seconds).collect::<Vec<f64>>())
    }

    pub fn tree(&self, suite: &Suite, commit: &Commit) -> crate::Result<BuiltTree> {
        let mut settings = suite.command_settings();
        let (root, place) = match self.filled(suite, commit, &|folder| self.make_tree(folder, &settings, commit))? {
            Some(slot) => (slot.folder.join(TREE), Place::Cached { _slot: slot }),
            None => {
                let tree = Worktree::check_out(self.project, commit, &self.lacking)?;
                self.build(&tree.root, &settings, commit)?;
                (tree.root.clone(), Place::Aside { _tree: tree })
            }
        };
        settings.build.clear();
        Ok(BuiltTree { root, settings, _place: place })
    }

    pub fn program(&self, suite: &Suite, commit: &Commit) -> crate::Result<BuiltProgram> {
        let build = || commit_build::build(self.project, suite, commit, &self.lacking, self.observer);
        let make = |folder: &Path| -> crate::Result<BTreeMap<String, String>> {
            let build = build()?;
            let place = folder.join(commit_build::NAME);
            fs::copy(&build.program.path, &place).with_context(|| format!("cannot write `{}`", place.display()))?;
            Ok(build.program.facts)
        };
        let Some(slot) = self.filled(suite, commit, &make)? else {
            let build = build()?;
            return Ok(BuiltProgram { program: build.program.clone(), _place: Place::Program { _build: build } });
        };
        let facts = slot.entry.as_ref().map(|entry| entry.facts.clone()).unwrap_or_default();
        let program = CommitProgram { path: slot.folder.join(commit_build::NAME), facts };
        Ok(BuiltProgram { program, _place: Place::Cached { _slot: slot } })
    }

    fn place(&self, suite: &Suite, commit: &Commit) -> crate::Result<Option<(&BuildCache, String)>> {
        let Some(cache) = &self.cache else { return Ok(None) };
        if !stays_inside(&suite.build) {
            return Ok(None);
        }
        let root = &self.project.root;
        let tools = self.tools.get_or_init(|| tools(root, &environment::environment(&BTreeMap::new()).key));
        let tree = self.files(suite, &commit.sha)?;
        let inputs = Inputs { repository: &root.to_string_lossy(), tree: &tree, tools };
        Ok(Some((cache, key(&inputs, suite))))
    }

    /// The key of the files that decide the build: the tree if none of them exists.
    fn files(&self, suite: &Suite, sha: &str) -> crate::Result<String> {
        let store = self.project.store()?;
        let inputs = &suite.build_inputs;
        let may_hold = |folder: &str| inputs.iter().any(|pattern| glob::may_cover_below(pattern, folder));
        let is_input = |path: &str| inputs.iter().any(|pattern| glob::covers(pattern, path));
        if !inputs.is_empty() {
            let objects = history::objects_of(store, sha, &may_hold, &is_input)?;
            if !objects.is_empty() {
                return Ok(digest::sha256_hex(objects.join("\n").as_bytes()));
            }
        }
        Ok(history::tree_id(store, sha)?)
    }

    /// The entry of the commit, made by `make` in an empty folder if it is absent. `None` if nothing can be cached.
    fn filled(
        &self,
        suite: &Suite,
        commit: &Commit,
        make: &dyn Fn(&Path) -> crate::Result<BTreeMap<String, String>>,
    ) -> crate::Result<Option<Rc<Slot>>> {
        let Some((cache, key)) = self.place(suite, commit)? else { return Ok(None) };
        let shared = self.slots.borrow().get(&key).and_then(Weak::upgrade);
        if shared.is_some() {
            return Ok(shared);
        }
        let Some(mut slot) = cache.take(&key).map_err(on_full_disk)? else { return Ok(None) };
        if let Some(failure) = slot.entry.as_ref().and_then(|entry| entry.failure.clone()) {
            if !self.retry {
                let message = format!("{failure}; it failed so before and was not tried again");
                return Err(Advice::new(
                    message,
                    "`sprag cache clear` removes that note, and `sprag backfill --retry` tries it again",
                )
                .because(Cause::CannotBuild)
                .into());
            }
            slot.forget()?;
        }
        let share = |slot: Slot| {
            let slot = Rc::new(slot);
            self.slots.borrow_mut().insert(key.clone(), Rc::downgrade(&slot));
            Ok(Some(slot))
        };
        if slot.entry.is_some() {
            return share(slot);
        }
        let entry = BuildEntry {
            repository: self.project.root.to_string_lossy().into_owned(),
            commit: commit.sha.clone(),
            subject: commit.subject.clone(),
            ..BuildEntry::default()
        };
        let start = Instant::now();
        match make(&slot.folder) {
            Ok(facts) => {
                let seconds = Some(number::round_significant(start.elapsed().as_secs_f64(), 3));
                slot.finish(BuildEntry { facts, seconds, ..entry }).map_err(on_full_disk)?;
            }
            Err(error) => {
                if let Some(failure) = lasting_failure(&error, suite) {
                    slot.finish(BuildEntry { failure: Some(failure), ..entry }).map_err(on_full_disk)?;
                }
                return Err(on_full_disk(error));
            }
        }
        if let Err(error) = cache.shrink(MOST_BYTES) {
            warn(&format!("old builds were not removed from the cache: {}", error.chain()));
        }
        share(slot)
    }

    fn make_tree(
        &self,
        folder: &Path,
        settings: &CommandSettings,
        commit: &Commit,
    ) -> crate::Result<BTreeMap<String, String>> {
        let root = folder.join(TREE);
        check_out_files(self.project, commit, &root, &self.lacking)?;
        self.copy_dependencies(&root, settings);
        self.build(&root, settings, commit)?;
        Ok(BTreeMap::new())
    }

    /// Copies what Cargo made of another commit, so that dependencies are not compiled again. Cargo compiles what is in the
    /// checkout, since its files are newer than the copies. Checkouts must not share a folder: Cargo names what it makes by the
    /// path in the workspace and would run the program of another commit.
    fn copy_dependencies(&self, root: &Path, settings: &CommandSettings) {
        let Some(cache) = &self.cache else { return };
        let folder = settings.folder.clone().unwrap_or_default();
        for below in [folder.as_path(), Path::new("")] {
            let target = root.join(below).join("target");
            if !root.join(below).join("Cargo.toml").is_file() || target.exists() {
                continue;
            }
            let place = Path::new(TREE).join(below).join("target");
            if let Some(other) = cache.newest_with(&self.project.root.to_string_lossy(), &place)
                && copy(&other, &target).is_err()
            {
                // A part would do, but a full disk must have room for the build.
                let _ = fs::remove_dir_all(&target);
            }
        }
    }

    fn build(&self, root: &Path, settings: &CommandSettings, commit: &Commit) -> crate::Result<()> {
        let suite = suite_at(root, settings, Protocol::quick())?;
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if !real(&suite.folder).starts_with(real(root)) {
            return refuse(
                format!("its `cwd` leads out of the project, so {} would not be what is measured", commit.short()),
                "name a folder of the project as `cwd` of the suite in sprag.toml",
            );
        }
        if !settings.build.is_empty() {
            self.observer.begin(&format!("building {} with `{}`", commit.short(), settings.build.join(" ")), 1);
            let built = processes::build(&suite);
            let places = |text: &str| without_places(text, root);
            built.map_err(|error| commit_build::failed(commit, &places(&error.to_string())))?;
        }
        Ok(())
    }
}

impl BuiltTree {
    pub fn command_suite(&self, protocol: Protocol) -> crate::Result<CommandSuite> {
        suite_at(&self.root, &self.settings, protocol)
    }
}

fn suite_at(root: &Path, settings: &CommandSettings, protocol: Protocol) -> crate::Result<CommandSuite> {
    let suite = command_suite(root, settings, protocol)?;
    Ok(CommandSuite { without: &CHECKOUT_WITHOUT, ..suite })
}

fn on_full_disk(error: Error) -> Error {
    let text = error.chain();
    if !is_full_disk(&text) {
        return error;
    }
    Advice::new(text, "free space on that disk: `sprag cache clear` removes built commits").into()
}

/// Copies a folder with the times of its files.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, metadata) = (entry.file_name(), entry.metadata()?);
        if NOT_COPIED.iter().any(|left_out| name == *left_out) {
            continue;
        }
        let place = to.join(&name);
        if metadata.is_dir() {
            copy(&entry.path(), &place)?;
        } else if metadata.is_file() {
            fs::copy(entry.path(), &place)?;
            fs::File::options().write(true).open(&place)?.set_modified(metadata.modified()?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_with_what_frees_it() {
        let full = on_full_disk(Error::message("cannot write: No space left on device (os error 28)"));
        assert!(full.hint().is_some_and(|hint| hint.contains("sprag cache clear")));
    }

    #[test]
    fn copies_have_the_times_of_their_originals() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for name in ["release/deps", "criterion"] {
            fs::create_dir_all(from.join(name)).expect("a folder");
        }
        let file = from.join("release/deps/one");
        fs::write(&file, "1").expect("a file");
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        fs::File::options().write(true).open(&file).and_then(|file| file.set_modified(time)).expect("it is ours");
        copy(&from, &to).expect("it can be copied");
        let copied = fs::metadata(to.join("release/deps/one")).expect("it was copied");
        assert_eq!(copied.modified().expect("a time"), time);
        assert!(!to.join("criterion").exists());
    }
}

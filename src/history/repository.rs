//! An open repository, and what libgit2 says of it.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use git2::build::{CheckoutBuilder, TreeUpdateBuilder};
use git2::{Config, ErrorCode, FileMode, ObjectType, Oid, Repository, RepositoryInitOptions, Signature};

use crate::error::{HistoryError, failed};
use crate::layout::Leaf;
use crate::objects;
use sprag_model::archive::Archive;

/// An open repository.
///
/// It may be sent to another thread but not shared with one: each thread opens its own.
pub struct Store {
    pub(crate) repository: Repository,
    pub(crate) snapshots: Option<Box<dyn Snapshots>>,
    /// About what a process left that was cut short, one sentence each.
    pub warnings: Vec<String>,
}

/// Snapshots outside git, with runs that left the branch.
pub trait Snapshots: Send + Sync {
    /// The runs of the snapshot that a note is about, by path; absent where it is not here.
    ///
    /// # Errors
    /// When the file is not the one that the note is about.
    fn runs(&self, archive: &Archive) -> Result<Option<Vec<Leaf>>, HistoryError>;

    /// The number of the first snapshot that was listed and has this run.
    fn number(&self, run: &Leaf) -> Option<usize>;

    /// The content of a run of a snapshot that was listed.
    ///
    /// # Errors
    /// When no snapshot can be read that has it.
    fn content(&self, run: &Leaf) -> Result<Vec<u8>, HistoryError>;
}

impl Store {
    /// Reads archived runs from these snapshots from now on.
    pub fn use_snapshots(&mut self, snapshots: Box<dyn Snapshots>) {
        self.snapshots = Some(snapshots);
    }
}

/// A time of git; one that no calendar holds becomes 1970.
pub(crate) fn time_of(time: git2::Time) -> DateTime<Utc> {
    DateTime::from_timestamp(time.seconds(), 0).unwrap_or_default()
}

pub(crate) fn subject_of(commit: &git2::Commit<'_>) -> String {
    String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned()
}

pub(crate) fn author_of(commit: &git2::Commit<'_>) -> String {
    String::from_utf8_lossy(commit.author().name_bytes()).into_owned()
}

// Facts of a repository.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The working tree; absent in a bare repository.
    pub workdir: Option<PathBuf>,
    /// The branch that is checked out, without `refs/heads/`; absent where HEAD is detached.
    pub branch: Option<String>,
    /// The commit of HEAD; absent before the first one.
    pub commit: Option<String>,
    pub shallow: bool,
    /// A partial clone, in which promised objects are absent.
    pub partial: bool,
}

pub fn facts(store: &Store) -> Result<Facts, HistoryError> {
    let repository = &store.repository;
    let commit = head_commit(repository)?.map(|commit| commit.id().to_string());
    let branch = head_branch(repository)?.map(|full| short_name(&full).to_owned());
    if branch.is_none() && commit.is_none() {
        let reason = "it names no branch and no commit".to_owned();
        return Err(HistoryError::Unusable { action: "read HEAD", reason });
    }
    let partial = objects::is_partial(repository).map_err(failed("read the configuration of git"))?;
    let workdir = repository.workdir().map(PathBuf::from);
    Ok(Facts { workdir, branch, commit, shallow: repository.is_shallow(), partial })
}

pub fn has_commit(store: &Store, sha: &str) -> bool {
    Oid::from_str(sha).and_then(|id| store.repository.find_commit(id)).is_ok()
}

pub(crate) fn head_commit(repository: &Repository) -> Result<Option<git2::Commit<'_>>, HistoryError> {
    match repository.head() {
        Ok(head) => objects::commit_at(repository, &head).map(Some).map_err(failed("read the commit of HEAD")),
        Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => Ok(None),
        Err(error) => Err(failed("read HEAD")(error)),
    }
}

/// The branch of HEAD, in full; absent when HEAD is detached.
pub(crate) fn head_branch(repository: &Repository) -> Result<Option<String>, HistoryError> {
    let head = repository.find_reference("HEAD").map_err(failed("read HEAD"))?;
    let Some(named) = head.symbolic_target().map_err(failed("read HEAD"))? else { return Ok(None) };
    // A branch may be an alias of another one.
    match head.resolve() {
        Ok(resolved) => resolved.name().map(|name| Some(name.to_owned())).map_err(failed("read HEAD")),
        Err(_) => Ok(Some(named.to_owned())),
    }
}

/// The file that gives commits other parents, where there is one.
pub(crate) fn grafts(repository: &Repository) -> Option<PathBuf> {
    let file = repository.commondir().join("info").join("grafts");
    std::fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0).then_some(file)
}

pub(crate) fn short_name(reference: &str) -> &str {
    reference.strip_prefix("refs/heads/").unwrap_or(reference)
}

// The author that git's configuration names.

const NOBODY: (&str, &str) = ("sprag", "sprag@localhost");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
}

/// The author that git's configuration names, and `true`; else the stand-in that record commits use, and `false`.
pub fn author(store: Option<&Store>) -> (Author, bool) {
    let config = match store {
        Some(store) => store.repository.config(),
        None => Config::open_default(),
    };
    // libgit2 gives texts of a snapshot alone.
    let config = config.and_then(|mut config| config.snapshot());
    let named = |key: &str| {
        let value = config.as_ref().ok()?.get_bytes(key).ok()?;
        Some(String::from_utf8_lossy(value).trim().to_owned()).filter(|value| !value.is_empty())
    };
    match (named("user.name"), named("user.email")) {
        (Some(name), Some(email)) => (Author { name, email }, true),
        _ => (Author { name: NOBODY.0.to_owned(), email: NOBODY.1.to_owned() }, false),
    }
}

/// Who commits at `time`, and whether that is a stand-in.
pub(crate) fn signature_at(
    repository: &Repository,
    time: DateTime<Utc>,
) -> Result<(Signature<'static>, bool), HistoryError> {
    let time = git2::Time::new(time.timestamp(), 0);
    if let Ok(named) = repository.signature() {
        let (name, email) = (String::from_utf8_lossy(named.name_bytes()), String::from_utf8_lossy(named.email_bytes()));
        if let Ok(signature) = Signature::new(&name, &email, &time) {
            return Ok((signature, false));
        }
    }
    let (name, email) = NOBODY;
    Ok((Signature::new(name, email, &time).map_err(failed("name an author"))?, true))
}

// Making a repository from nothing: what `sprag demo` builds its project with.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCommit {
    /// Files to add or to replace: path and content. The others stay.
    pub files: Vec<(String, String)>,
    pub author: Author,
    pub time: DateTime<Utc>,
    pub message: String,
}

/// Makes an empty repository with the branch `main`, whose configuration names `author`. Templates of the user, which may
/// hold hooks, are left out.
pub fn create(folder: &Path, author: &Author) -> Result<Store, HistoryError> {
    let mut options = RepositoryInitOptions::new();
    options.no_reinit(true).mkpath(true).external_template(false).initial_head("main");
    let refused = || failed("make a repository");
    let repository = Repository::init_opts(folder, &options).map_err(refused())?;
    let mut config =
        repository.config().and_then(|config| config.open_level(git2::ConfigLevel::Local)).map_err(refused())?;
    config.set_str("user.name", &author.name).map_err(refused())?;
    config.set_str("user.email", &author.email).map_err(refused())?;
    drop(config);
    Ok(Store { repository, snapshots: None, warnings: Vec::new() })
}

/// Commits files on the branch that is checked out, and gives the commit. The working tree stays as it is until
/// [`check_out`].
pub fn commit_files(store: &Store, commit: &NewCommit) -> Result<String, HistoryError> {
    let repository = &store.repository;
    let parent = head_commit(repository)?;
    let write = || {
        let mut update = TreeUpdateBuilder::new();
        for (path, content) in &commit.files {
            update.upsert(path.as_str(), repository.blob(content.as_bytes())?, FileMode::Blob);
        }
        let time = git2::Time::new(commit.time.timestamp(), 0);
        let signature = Signature::new(&commit.author.name, &commit.author.email, &time)?;
        let change = |tree: &git2::Tree<'_>| update.create_updated(repository, tree);
        objects::write_commit(repository, Some("HEAD"), parent.as_ref(), &signature, &commit.message, change)
    };
    write().map(|(id, _)| id.to_string()).map_err(failed("write a commit"))
}

pub fn tag(store: &Store, name: &str, commit: &str) -> Result<(), HistoryError> {
    let object = Oid::from_str(commit).and_then(|id| store.repository.find_object(id, Some(ObjectType::Commit)));
    let tagged = object.and_then(|object| store.repository.tag_lightweight(name, &object, false));
    tagged.map(|_| ()).map_err(failed("tag a commit"))
}

/// Writes the files of HEAD to the working tree, over whatever is there.
pub fn check_out(store: &Store) -> Result<(), HistoryError> {
    let mut options = CheckoutBuilder::new();
    options.force().disable_filters(true);
    store.repository.checkout_head(Some(&mut options)).map_err(failed("write the working tree"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, minute};

    #[test]
    fn git_reads_a_repository_made_from_nothing() {
        let fixture = Fixture::nothing();
        let ada = Author { name: "Ada".into(), email: "ada@example.com".into() };
        let store = create(&fixture.root, &ada).unwrap();
        assert_eq!(author(Some(&store)), (ada.clone(), true));
        let commit = |path: &str, number| {
            let files = vec![(path.to_owned(), "one\n".to_owned())];
            let message = format!("Commit {number}\n");
            commit_files(&store, &NewCommit { files, author: ada.clone(), time: minute(number), message }).unwrap()
        };
        let first = commit("README", 1);
        let second = commit("src/lib.rs", 2);
        tag(&store, "v1", &first).unwrap();
        check_out(&store).unwrap();
        let facts = facts(&store).unwrap();
        assert_eq!((facts.branch.as_deref(), facts.commit), (Some("main"), Some(second)));
        assert_eq!(fixture.status(), "");
        assert_eq!(
            fixture.git(&["log", "--format=%s|%an|%ct|%D"]).lines().next_back(),
            Some("Commit 1|Ada|1767600060|tag: v1")
        );
        assert_eq!(fixture.git(&["config", "--local", "user.email"]), "ada@example.com");
        fixture.fsck();
        assert!(create(&fixture.root, &ada).is_err());
    }
}

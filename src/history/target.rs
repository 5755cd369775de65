//! The repository, and the branch in it that holds the history.

use std::path::{Path, PathBuf};

use git2::{
    Branch, BranchType, Commit, Direction, ErrorCode, Oid, Reference, Refspec, Repository, RepositoryOpenFlags, Tree,
};
use sprag_model::run::LAYOUT_VERSION;

use crate::checkout::{activity, activity_on, heal};
use crate::error::{HistoryError, failed, message};
use crate::layout::FOLDER;
use crate::objects;
use crate::repository::{Store, head_branch, short_name};
use crate::salvage::borrowed;

/// Opens the repository at or above `start`: with a working tree, bare, or a linked working tree. Ends what a process began there
/// that was cut short.
pub fn open(start: &Path) -> Result<Store, HistoryError> {
    let no_ceiling: [&Path; 0] = [];
    // `discover` would lose the working tree of a git folder that lies elsewhere.
    match Repository::open_ext(start, RepositoryOpenFlags::empty(), no_ceiling) {
        Ok(repository) => {
            // A repository that may not be written to can still be read.
            let warnings = heal(&repository).unwrap_or_else(|error| vec![error.to_string()]);
            Ok(Store { repository, snapshots: None, warnings })
        }
        Err(error) if error.code() == ErrorCode::NotFound => Err(HistoryError::NoRepository(start.to_owned())),
        Err(error) => {
            let path = Repository::discover_path(start, no_ceiling);
            Err(not_opened(path.unwrap_or_else(|_| start.to_owned()), error))
        }
    }
}

fn not_opened(path: PathBuf, reason: git2::Error) -> HistoryError {
    let says = |word: &str| reason.message().contains(word);
    // libgit2 has no codes for the two formats, so its words decide; a change of them costs the hint alone.
    if reason.code() == ErrorCode::Owner {
        HistoryError::Owner(path)
    } else if says("sha256") || says("objectformat") {
        HistoryError::Sha256(path)
    } else if says("refstorage") {
        HistoryError::Reftable(path)
    } else {
        HistoryError::Unreadable { path, reason: message(&reason).to_owned() }
    }
}

/// The branch that holds the history, or HEAD where it is only read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The ref in full, such as `refs/heads/main`; `HEAD` or the digits of a commit where it is detached and only read.
    pub reference: String,
    /// The branch of a remote that is used while `reference` does not exist, as in a fresh clone.
    pub remote: Option<String>,
    /// The ref of the code, if it has records. They are read while the branch exists nowhere, and the branch begins with them.
    pub inherited: Option<String>,
    /// Whether `[history] ref` names it, so that it need not be the branch of the code.
    pub configured: bool,
}

/// The branch that records go to: the configured one, else the one that is checked out.
///
/// The first record makes a configured branch that does not exist: on top of the branch of that name at the remote, else of the
/// commits of the records that were kept with the code, else with a root commit. It may also be the first commit of an unborn branch: refusing would waste a measurement.
pub fn target(store: &Store, configured: Option<&str>) -> Result<Target, HistoryError> {
    let repository = &store.repository;
    let target = match configured {
        Some(name) => configured_branch(repository, name)?,
        None => match (head_branch(repository)?, activity(repository)) {
            (head, Some(activity)) => {
                return Err(HistoryError::Busy { activity, reference: head.unwrap_or_else(|| "HEAD".to_owned()) });
            }
            (None, None) => return Err(HistoryError::Detached),
            (Some(reference), None) => Target { reference, remote: None, inherited: None, configured: false },
        },
    };
    if let Some(activity) = activity_on(repository, &target.reference)? {
        return Err(HistoryError::Busy { activity, reference: target.reference });
    }
    Ok(target)
}

/// Where records are read from: as [`target`], but also with a detached HEAD or an operation under way. While git bisects, it is
/// the branch or commit that this began on: the commits that git checks out lack the later records.
pub fn source(store: &Store, configured: Option<&str>) -> Result<Target, HistoryError> {
    let repository = &store.repository;
    match configured {
        Some(name) => configured_branch(repository, name),
        None => Ok(Target { reference: code_reference(repository)?, remote: None, inherited: None, configured: false }),
    }
}

fn code_reference(repository: &Repository) -> Result<String, HistoryError> {
    let reference = head_branch(repository)?.or_else(|| bisected_from(repository));
    Ok(reference.unwrap_or_else(|| "HEAD".to_owned()))
}

/// The ref of the code, if its commit has records. None where the branch, which is missing here, may be at a remote: in a clone of
/// some branches or of few commits.
fn checked_out_records(repository: &Repository, branch: &str) -> Option<String> {
    let is_fetched = |name: &str| {
        let fetches = |spec: Refspec<'_>| spec.direction() == Direction::Fetch && spec.src_matches(branch);
        repository.find_remote(name).is_ok_and(|remote| remote.refspecs().any(fetches))
    };
    let remotes = repository.remotes().ok()?;
    if repository.is_shallow() || !remotes.iter().all(|name| name.ok().flatten().is_some_and(is_fetched)) {
        return None;
    }
    let reference = code_reference(repository).ok()?;
    let target = Target { reference, remote: None, inherited: None, configured: false };
    let (commit, _) = tip(repository, &target).ok()??;
    let folder = format!("{FOLDER}/v{LAYOUT_VERSION}");
    commit.tree().ok()?.get_path(Path::new(&folder)).is_ok().then_some(target.reference)
}

/// Whether this repository keeps records on a branch of its code: the one that is checked out, where git's bisection began, any
/// other local one, or the default branch of `origin`. A branch that holds nothing but records is none of code, and one whose
/// last commit removed them keeps them: that is for whoever checks the history.
pub fn keeps_records_with_code(store: &Store) -> bool {
    let repository = &store.repository;
    let keeps = |commit: Commit<'_>| {
        // What cannot be read is for whoever reads the history.
        let Ok(tree) = commit.tree() else { return true };
        let folder = tree.get_name(FOLDER).and_then(|entry| entry.to_object(repository).ok()?.into_tree().ok());
        // Of records, or kept for them; another project may have a folder of that name.
        let is_ours = |folder: Tree<'_>| {
            folder.get_name(&format!("v{LAYOUT_VERSION}")).is_some()
                || folder.iter().all(|entry| entry.name_bytes() == b".gitkeep")
        };
        tree.len() > 1 && folder.is_some_and(is_ours)
    };
    let own = source(store, None).and_then(|target| tip(repository, &target));
    let of_branch = |branch: Branch<'_>| branch.get().peel_to_commit().is_ok_and(keeps);
    let local = || repository.branches(Some(BranchType::Local)).into_iter().flatten().flatten();
    let default = || default_branch(store).and_then(|(_, commit)| commit_of(repository, &commit));
    match own {
        Err(_) => true,
        Ok(own) => {
            own.is_some_and(|(commit, _)| commit.parent(0).is_ok_and(keeps) || keeps(commit))
                || local().any(|(branch, _)| of_branch(branch))
                || default().is_some_and(keeps)
        }
    }
}

/// The default branch of `origin`, as a ref in full, and its commit here; absent where git does not say which it is.
pub fn default_branch(store: &Store) -> Option<(String, String)> {
    let branch = store.repository.find_reference("refs/remotes/origin/HEAD").ok()?.resolve().ok()?;
    let commit = branch.peel_to_commit().ok()?;
    Some((branch.name().ok()?.to_owned(), commit.id().to_string()))
}

/// Where git's bisection began: a branch in full, or the digits of a commit where HEAD was detached.
fn bisected_from(repository: &Repository) -> Option<String> {
    let began = std::fs::read_to_string(repository.path().join("BISECT_START")).ok()?;
    let began = began.trim_end();
    let reference = format!("refs/heads/{began}");
    let is_branch = repository.find_reference(&reference).is_ok();
    if is_branch { Some(reference) } else { commit_of(repository, began).map(|commit| commit.id().to_string()) }
}

/// Whether git bisects without checking out the commits that it asks about.
pub fn bisects_without_checkout(store: &Store) -> bool {
    store.repository.path().join("BISECT_HEAD").exists()
}

fn commit_of<'r>(repository: &'r Repository, digits: &str) -> Option<Commit<'r>> {
    let id = Oid::from_str(digits).ok().filter(|id| id.to_string() == digits)?;
    repository.find_commit(id).ok()
}

/// Whether objects can be added to the repository; nothing stays behind.
pub fn check_writable(store: &Store) -> Result<(), HistoryError> {
    let folder = store.repository.commondir().join("objects");
    tempfile::tempfile_in(&folder).map(drop).map_err(HistoryError::io("write to", &folder))
}

/// The newest commit of the history, and its ref; absent where there is no history yet.
pub(crate) fn tip<'r>(
    repository: &'r Repository,
    target: &Target,
) -> Result<Option<(Commit<'r>, String)>, HistoryError> {
    let names_object = |name: &str| {
        let resolved = repository.find_reference(name).and_then(|reference| reference.resolve());
        resolved.is_ok_and(|reference| reference.target().is_some())
    };
    for name in std::iter::once(&target.reference).chain(&target.remote).chain(&target.inherited) {
        if let Some(commit) = commit_of(repository, name) {
            return Ok(Some((commit, name.clone())));
        }
        match repository.find_reference(name).and_then(|reference| objects::commit_at(repository, &reference)) {
            Ok(commit) => return Ok(Some((commit, name.clone()))),
            Err(error)
                if matches!(error.code(), ErrorCode::NotFound | ErrorCode::UnbornBranch) && !names_object(name) => {}
            Err(error) => {
                repository.refname_to_id(name).map_or(Ok(()), |id| borrowed(repository, id))?;
                return Err(HistoryError::Tip { reference: name.clone(), reason: message(&error).to_owned() });
            }
        }
    }
    Ok(None)
}

fn configured_branch(repository: &Repository, name: &str) -> Result<Target, HistoryError> {
    let bad = |reason| HistoryError::BadRef { name: name.to_owned(), reason };
    let short = match name.strip_prefix("refs/heads/") {
        Some(short) => short,
        None if name == "HEAD" => return Err(bad("HEAD is not a branch")),
        None if name.starts_with("refs/tags/") => return Err(bad("a tag does not move")),
        None if name.starts_with("refs/remotes/") => return Err(bad("a remote's branch is moved by fetching alone")),
        None if name.starts_with("refs/") => return Err(bad("only refs below `refs/heads/` are branches")),
        None => name,
    };
    let reference = format!("refs/heads/{short}");
    let valid = Branch::name_is_valid(short).unwrap_or(false) && Reference::is_valid_name(&reference);
    if !valid || short == "HEAD" || short == "@" {
        return Err(bad("it is not a valid name of a branch"));
    }
    // A branch may be an alias of another one.
    let reference = match repository.find_reference(&reference).and_then(|branch| branch.resolve()) {
        Ok(resolved) => resolved.name().map_err(failed("read the ref of the history"))?.to_owned(),
        Err(error) if error.code() == ErrorCode::NotFound => reference,
        Err(error) => return Err(failed("read the ref of the history")(error)),
    };
    if !reference.starts_with("refs/heads/") {
        return Err(bad("it points to something that is not a branch"));
    }
    let remote = remote_branch(repository, &reference);
    let inherited = checked_out_records(repository, &reference).filter(|code| *code != reference);
    Ok(Target { reference, remote, inherited, configured: true })
}

/// The branch of that name of `origin`, else of the only remote that has it.
fn remote_branch(repository: &Repository, reference: &str) -> Option<String> {
    let short = short_name(reference);
    let remotes = repository.remotes().ok()?;
    let names = remotes.iter().filter_map(|name| name.ok().flatten().map(str::to_owned));
    let has = |remote: &String| repository.find_branch(&format!("{remote}/{short}"), BranchType::Remote).is_ok();
    let remotes: Vec<String> = names.filter(has).collect();
    let only = if remotes.len() == 1 { remotes.first() } else { None };
    let remote = remotes.iter().find(|remote| *remote == "origin").or(only)?;
    Some(format!("refs/remotes/{remote}/{short}"))
}

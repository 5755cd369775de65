//! A copy of one commit in another folder, in which that commit can be built and measured.
//!
//! It is not a linked working tree but a repository that borrows the objects of the one at hand. So a killed process leaves
//! nothing behind in that one, and a tag, stash or setting of a build goes with the folder. libgit2 makes it, also of a bare
//! repository: no hook and no filter runs, so the files are those that git stores.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use git2::build::CheckoutBuilder;
use git2::{ErrorClass, ErrorCode, ObjectType, Oid, Repository, RepositoryInitOptions, Tree};

use crate::error::{HistoryError, failed};
use crate::objects::{self, LooseObjects};
use crate::repository::{Store, head_branch};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingParts {
    /// By path; their folders are empty.
    pub submodules: Vec<String>,
    /// Filters that `.gitattributes` names, such as `lfs`: files behind them are as git stores them.
    pub filters: Vec<String>,
}

/// Makes a repository in `folder`, which is empty or absent, whose HEAD is the commit. It has the files of the commit and the tags
/// of this repository, but not its remotes and settings. Its one branch is named as the one that is checked out here, since tools
/// such as asv ask for that name.
pub fn check_out_copy(store: &Store, sha: &str, folder: &Path) -> Result<MissingParts, HistoryError> {
    let repository = &store.repository;
    let absent = objects::unread_files(repository, sha);
    let id = Oid::from_str(sha).map_err(absent)?;
    let loose = LooseObjects::new(repository);
    let tree = loose.find_commit(repository, id).and_then(|commit| commit.tree()).map_err(absent)?;
    let lacking = lacking(repository, &loose, &tree).map_err(absent)?;

    let mut options = RepositoryInitOptions::new();
    options.no_reinit(true).mkpath(true).external_template(false).initial_head("main");
    let own = Repository::init_opts(folder, &options).map_err(failed("make a repository"))?;
    let git_folder = own.path().to_owned();
    drop(own);
    borrow(repository, &git_folder)?;
    let write = |name: &str, text: &str| {
        let path = git_folder.join(name);
        fs::write(&path, text).map_err(HistoryError::io("write", &path))
    };
    let branch = head_branch(repository)?.unwrap_or_else(|| "refs/heads/main".to_owned());
    write("packed-refs", &format!("{sha} {branch}\n{}", tags(repository)?))?;
    write("HEAD", &format!("{sha}\n"))?;

    let own = Repository::open(folder).map_err(failed("open the new repository"))?;
    let commit = own.find_commit(id).map_err(absent)?;
    let mut options = CheckoutBuilder::new();
    options.force().disable_filters(true);
    own.checkout_tree(commit.as_object(), Some(&mut options)).map_err(|error| match error.code() {
        ErrorCode::NotFound => absent(error),
        _ => failed("write the files of a commit")(error),
    })?;
    Ok(lacking)
}

/// Lets the repository in `git_folder` read the objects of another one, also where that is shallow.
fn borrow(repository: &Repository, git_folder: &Path) -> Result<(), HistoryError> {
    let objects = repository.commondir().join("objects");
    let objects = fs::canonicalize(&objects).map_err(HistoryError::io("find", &objects))?;
    // The list of folders cannot hold a path with a line feed.
    let Some(text) = objects.to_str().filter(|text| !text.contains('\n')) else {
        let reason = "its path is not a line of text".to_owned();
        return Err(HistoryError::Unusable { action: "borrow the objects of the repository", reason });
    };
    let file = git_folder.join("objects/info/alternates");
    let write = || {
        fs::create_dir_all(git_folder.join("objects/info"))?;
        fs::write(&file, format!("{text}\n"))
    };
    write().map_err(HistoryError::io("write", &file))?;
    let shallow = repository.commondir().join("shallow");
    if shallow.exists() {
        let copy = git_folder.join("shallow");
        fs::copy(&shallow, &copy).map_err(HistoryError::io("write", &copy))?;
    }
    Ok(())
}

/// All tags as a file of packed refs, since builds like to ask `git describe` for a version.
fn tags(repository: &Repository) -> Result<String, HistoryError> {
    let mut lines = BTreeSet::new();
    for reference in repository.references_glob("refs/tags/*").map_err(failed("list the tags"))?.flatten() {
        if let (Some(id), Ok(name)) = (reference.target(), reference.name()) {
            lines.insert((name.to_owned(), id));
        }
    }
    Ok(lines.iter().map(|(name, id)| format!("{id} {name}\n")).collect())
}

/// What the tree lacks. Fails where an object is absent or broken: libgit2 would never return from writing a broken one.
fn lacking(repository: &Repository, loose: &LooseObjects, tree: &Tree<'_>) -> Result<MissingParts, git2::Error> {
    let odb = repository.odb()?;
    let (mut lacking, mut filters) = (MissingParts::default(), BTreeSet::new());
    let mut folders = vec![(String::new(), tree.clone())];
    while let Some((folder, tree)) = folders.pop() {
        for entry in &tree {
            let name = String::from_utf8_lossy(entry.name_bytes());
            let path = || format!("{folder}{name}");
            if entry.kind() == Some(ObjectType::Commit) {
                lacking.submodules.push(path());
                continue;
            }
            loose.check(entry.id())?;
            if entry.kind() == Some(ObjectType::Tree) {
                folders.push((format!("{}/", path()), repository.find_tree(entry.id())?));
                continue;
            }
            if !odb.exists(entry.id()) {
                return Err(git2::Error::new(ErrorCode::NotFound, ErrorClass::Odb, "it is not in this repository"));
            }
            if name == ".gitattributes" {
                filters.extend(filters_of(repository.find_blob(entry.id())?.content()));
            }
        }
    }
    lacking.submodules.sort();
    Ok(MissingParts { filters: filters.into_iter().collect(), ..lacking })
}

fn filters_of(content: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(content);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(|line| line.split_whitespace().skip(1));
    words.filter_map(|word| word.strip_prefix("filter=")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    #[test]
    fn a_copy_has_the_files_of_its_commit_and_leaves_the_repository_alone() {
        let fixture = Fixture::new();
        let first = fixture.git(&["rev-parse", "HEAD~1"]);
        fixture.git(&["tag", "-a", "v1", "-m", "One", "HEAD~1"]);
        fixture.write("README", "changed\n");
        let state = || {
            let head = fs::read_to_string(fixture.root.join(".git/HEAD")).unwrap();
            (fixture.status(), fixture.git(&["worktree", "list"]), fixture.git(&["for-each-ref"]), head)
        };
        let before = state();
        let copy = fixture.at("copy");
        assert_eq!(check_out_copy(&fixture.store(), &first, &copy.root).unwrap(), MissingParts::default());
        assert_eq!(fs::read_to_string(copy.root.join("README")).unwrap(), "demo\n");
        assert!(!copy.root.join("src").exists());
        assert_eq!((copy.head(), copy.git(&["describe", "--dirty"])), (first.clone(), "v1".to_owned()));
        copy.git(&["tag", "built"]);
        copy.git(&["commit", "--quiet", "--allow-empty", "-m", "Built"]);
        assert_eq!(state(), before);
        fixture.fsck();
        assert!(check_out_copy(&fixture.store(), &first, &copy.root).is_err(), "the folder is taken");
    }

    #[test]
    fn a_bare_or_shallow_repository_has_copies() {
        let fixture = Fixture::new();
        for (name, option) in [("bare", "--bare"), ("shallow", "--depth=1")] {
            let copy = fixture.at(&format!("copy-of-{name}"));
            check_out_copy(&fixture.cloned(name, &[option]).store(), &fixture.head(), &copy.root).unwrap();
            assert_eq!(copy.status(), "");
            copy.git(&["log", "--oneline"]);
        }
    }

    #[test]
    fn submodules_and_filters_are_named() {
        let fixture = Fixture::new();
        fixture.write(".gitattributes", "# filter=none\n*.bin filter=lfs diff=lfs -text\n*.txt text\n");
        fixture.git(&["add", "-A"]);
        let module = format!("160000,{},vendor/part", fixture.head());
        fixture.git(&["update-index", "--add", "--cacheinfo", &module]);
        fixture.git(&["commit", "--quiet", "-m", "Both"]);
        let missing = check_out_copy(&fixture.store(), &fixture.head(), &fixture.sibling("aside")).unwrap();
        assert_eq!((missing.submodules, missing.filters), (vec!["vendor/part".to_owned()], vec!["lfs".to_owned()]));
    }

    #[test]
    fn a_partial_clone_that_lacks_files_says_how_to_fetch_them() {
        let fixture = Fixture::new();
        let store = fixture.cloned("partial", &["--no-checkout", "--filter=blob:none"]).store();
        let error = check_out_copy(&store, &fixture.head(), &fixture.sibling("aside")).unwrap_err();
        assert!(matches!(error, HistoryError::NotHere { promised: true, .. }), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("--no-filter")));
    }

    #[test]
    fn absent_objects_and_a_file_system_that_refuses_are_errors() {
        let fixture = Fixture::new();
        let object = fixture.object("HEAD:README");
        let content = fs::read(&object).unwrap();
        let fault = |name: &str| {
            check_out_copy(&fixture.store(), &fixture.head(), &fixture.sibling(name)).unwrap_err().to_string()
        };
        fs::remove_file(&object).unwrap();
        assert!(fault("a").contains("are not all in this repository"), "{}", fault("b"));
        // Cut short: libgit2 alone would wait for the rest of it.
        fs::write(&object, &content[..content.len() / 2]).unwrap();
        fault("c");
        fs::write(&object, &content).unwrap();
        let file = fixture.sibling("file");
        fs::write(&file, "").unwrap();
        assert!(fault("file").starts_with("cannot make a repository"), "{}", fault("file"));
    }
}

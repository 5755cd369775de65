//! Making a repository from nothing: what `sprag demo` builds its project with.

use std::path::Path;

use chrono::{DateTime, Utc};
use git2::build::{CheckoutBuilder, TreeUpdateBuilder};
use git2::{ErrorCode, FileMode, ObjectType, Oid, Repository, RepositoryInitOptions, Signature};

use crate::commits::author::Author;
use crate::error::HistoryError;
use crate::store::{Store, failed};

/// A commit to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCommit {
    /// Files to add or to replace: path and content. The others stay.
    pub files: Vec<(String, String)>,
    pub author: Author,
    pub time: DateTime<Utc>,
    pub message: String,
}

/// Makes an empty repository with the branch `main`, whose own configuration names `author`.
///
/// Templates of the user, which may hold hooks, are left out.
///
/// # Errors
/// When there is a repository in the folder already, or it cannot be written.
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
    Ok(Store { repository })
}

/// Commits files on top of the branch that is checked out, and gives the commit; the working tree is left behind
/// until [`check_out`].
///
/// # Errors
/// When git or the file system refuse.
pub fn commit_files(store: &Store, commit: &NewCommit) -> Result<String, HistoryError> {
    write_commit(&store.repository, commit).map(|id| id.to_string()).map_err(failed("write a commit"))
}

/// Tags a commit with a plain tag.
///
/// # Errors
/// When the tag exists, or the commit does not.
pub fn tag(store: &Store, name: &str, commit: &str) -> Result<(), HistoryError> {
    let object = Oid::from_str(commit).and_then(|id| store.repository.find_object(id, Some(ObjectType::Commit)));
    let tagged = object.and_then(|object| store.repository.tag_lightweight(name, &object, false));
    tagged.map(|_| ()).map_err(failed("tag a commit"))
}

/// Writes the files of HEAD to the working tree, over whatever is there.
///
/// # Errors
/// When git or the file system refuse.
pub fn check_out(store: &Store) -> Result<(), HistoryError> {
    let mut options = CheckoutBuilder::new();
    options.force().disable_filters(true);
    store.repository.checkout_head(Some(&mut options)).map_err(failed("write the working tree"))
}

fn write_commit(repository: &Repository, commit: &NewCommit) -> Result<Oid, git2::Error> {
    let parent = match repository.head() {
        Ok(head) => Some(head.peel_to_commit()?),
        Err(error) if error.code() == ErrorCode::UnbornBranch => None,
        Err(error) => return Err(error),
    };
    let base = match &parent {
        Some(parent) => parent.tree()?,
        None => repository.find_tree(repository.treebuilder(None)?.write()?)?,
    };
    let mut update = TreeUpdateBuilder::new();
    for (path, content) in &commit.files {
        update.upsert(path.as_str(), repository.blob(content.as_bytes())?, FileMode::Blob);
    }
    let tree = repository.find_tree(update.create_updated(repository, &base)?)?;
    let time = git2::Time::new(commit.time.timestamp(), 0);
    let signature = Signature::new(&commit.author.name, &commit.author.email, &time)?;
    let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
    repository.commit(Some("HEAD"), &signature, &signature, &commit.message, &tree, &parents)
}

#[cfg(test)]
mod tests {
    use crate::commits::head::{Head, facts};
    use crate::testing::{Fixture, minute};

    use super::*;

    #[test]
    fn a_repository_from_nothing_is_one_that_git_likes() {
        let fixture = Fixture::nothing();
        let author = Author { name: "Ada".into(), email: "ada@example.com".into() };
        let store = create(&fixture.root, &author).unwrap();
        let commit = |path: &str, number| {
            let files = vec![(path.to_owned(), "one\n".to_owned())];
            let message = format!("Commit {number}\n");
            commit_files(&store, &NewCommit { files, author: author.clone(), time: minute(number), message }).unwrap()
        };
        let first = commit("README", 1);
        let second = commit("src/lib.rs", 2);
        tag(&store, "v1", &first).unwrap();
        check_out(&store).unwrap();
        assert_eq!(facts(&store).unwrap().head, Head::Branch { name: "main".into(), commit: second });
        assert_eq!(fixture.status(), "");
        assert_eq!(
            fixture.git(&["log", "--format=%s|%an|%ct|%D"]).lines().next_back(),
            Some("Commit 1|Ada|1767600060|tag: v1")
        );
        assert_eq!(fixture.git(&["config", "--local", "user.email"]), "ada@example.com");
        fixture.fsck();
        assert!(create(&fixture.root, &author).is_err());
    }
}

//! The commit that puts records on top of the remote's tip.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use git2::build::TreeUpdateBuilder;
use git2::{Commit, FileMode, ObjectType, Oid, Repository};

use crate::commits::author::signature_at;
use crate::error::HistoryError;
use crate::layout::FOLDER;
use crate::objects::flush;
use crate::record::message;
use crate::store::failed;
use crate::sync::compare::{Entry, TreePath, tree_of};
use sprag_model::event_record::EventRecord;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::run::{RECORD_ROOT, Run};

/// The most records whose subjects stand in the message of a commit.
const MOST_SUBJECTS: usize = 100;

/// Commits `puts` on top of `base`, by whom and how an append would.
pub(crate) fn commit_on(
    repository: &Repository,
    base: Option<Oid>,
    puts: &BTreeMap<TreePath, Entry>,
    time: DateTime<Utc>,
    reference: &str,
) -> Result<Oid, HistoryError> {
    let refused = || failed("write the commit");
    let tree = match tree_of(repository, base)? {
        Some(tree) => tree,
        None => {
            let empty = repository.treebuilder(None).and_then(|builder| builder.write());
            empty.and_then(|empty| repository.find_tree(empty)).map_err(refused())?
        }
    };
    for folder in [FOLDER, RECORD_ROOT] {
        if tree.get_path(folder.as_ref()).is_ok_and(|entry| entry.kind() != Some(ObjectType::Tree)) {
            return Err(HistoryError::NotAFolder { path: folder.to_owned(), reference: reference.to_owned() });
        }
    }
    let mut update = TreeUpdateBuilder::new();
    for (path, entry) in puts {
        update.upsert(path.as_slice(), entry.id, mode_of(entry.mode));
    }
    let tree =
        update.create_updated(repository, &tree).and_then(|tree| repository.find_tree(tree)).map_err(refused())?;
    let base = base.map(|base| repository.find_commit(base)).transpose().map_err(refused())?;
    let parents: Vec<&Commit<'_>> = base.iter().collect();
    let (author, _) = signature_at(repository, time)?;
    let message = message_of(repository, puts);
    let commit = repository.commit(None, &author, &author, &message, &tree, &parents).map_err(refused())?;
    let paths: Vec<String> = puts.keys().filter_map(|path| String::from_utf8(path.clone()).ok()).collect();
    flush::sync_commit(repository, commit, &tree, &paths)?;
    Ok(commit)
}

/// The mode as the other side has it: whether it may have it is for whoever reads the history to say.
fn mode_of(mode: i32) -> FileMode {
    match mode {
        0o100_755 => FileMode::BlobExecutable,
        0o120_000 => FileMode::Link,
        0o160_000 => FileMode::Commit,
        0o100_664 => FileMode::BlobGroupWritable,
        _ => FileMode::Blob,
    }
}

fn message_of(repository: &Repository, puts: &BTreeMap<TreePath, Entry>) -> String {
    if puts.len() > MOST_SUBJECTS {
        return format!("sprag: {} records\n", puts.len());
    }
    let subjects: Vec<String> = puts.iter().map(|(path, entry)| subject(repository, path, entry)).collect();
    message(&subjects.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The subject under which an append would have recorded it.
fn subject(repository: &Repository, path: &TreePath, entry: &Entry) -> String {
    let blob = repository.find_blob(entry.id).ok();
    let content = blob.as_ref().map(git2::Blob::content).filter(|content| content.len() <= MAX_RECORD_BYTES);
    let path = String::from_utf8_lossy(path);
    let run = |content: &[u8]| Run::from_record(content).ok().map(|(_, run)| run.subject());
    let event = |content: &[u8]| EventRecord::from_file(&path, content).ok().map(|event| event.subject());
    content.and_then(|content| run(content).or_else(|| event(content))).unwrap_or_else(|| {
        let inside = path.strip_prefix(RECORD_ROOT).map_or(&*path, |inside| inside.trim_start_matches('/'));
        format!("sprag: {}", inside.escape_debug())
    })
}

//! The list of artifacts in an attestation, and the page that says how to verify it.

use serde::{Deserialize, Serialize};

use super::sums::{self, SUMS};
use sprag_model::checklist::FilledChecklist;

pub const ARTIFACTS: &str = "artifacts.json";

pub const VERIFY_MD: &str = "VERIFY.md";

const FOLDER: &str = "artifacts";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListedFile {
    pub key: String,
    pub path: String,
    /// Its path in the attestation; absent where there was no file.
    pub file: Option<String>,
}

/// The path of an artifact in an attestation: below its key, under its own name if that is a plain one.
pub fn place(key: &str, path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = format!("{FOLDER}/{key}/{name}");
    if sums::is_plain(&plain) { plain } else { format!("{FOLDER}/{key}/file") }
}

pub fn command(folder: &str) -> String {
    format!("sprag release verify {folder} --repository CLONE")
}

/// The page that says how to verify; names of releases and commits are plain words.
pub fn to_markdown(filled: &FilledChecklist) -> String {
    let FilledChecklist { release, commit, history, version, .. } = filled;
    let tag = match filled.tagged {
        true => format!("git -C CLONE rev-parse --verify 'refs/tags/{release}^{{commit}}'   # {commit}"),
        false => format!("git -C CLONE cat-file -e {commit}   # {release} was not yet tagged"),
    };
    format!(
        include_str!("../../templates/release/VERIFY.md"),
        release = release,
        version = version,
        tag = tag,
        SUMS = SUMS,
        go = filled.word(),
        branch = filled.branch.as_ref().map_or_else(String::new, |branch| format!(", `{branch}`")),
        reviewed = filled.reviewed,
        command = command("."),
        size = history.size,
        tip = history.commit,
        root = history.root,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;

    #[test]
    fn an_artifact_lies_below_its_key_under_a_plain_name() {
        for (path, expected) in
            [("out/a.bin", "a.bin"), ("out\\a.bin", "a.bin"), ("out/a b", "file"), ("out/..", "file")]
        {
            assert_eq!(place("engine", path), format!("artifacts/engine/{expected}"));
        }
    }

    #[test]
    fn the_list_is_read_as_it_was_written() {
        let listed = vec![ListedFile { key: "a".to_owned(), path: "b c".to_owned(), file: None }];
        assert_eq!(file::read::<Vec<ListedFile>>(&file::to_bytes(&listed)).unwrap(), listed);
        let more = b"[{\"key\": \"a\", \"path\": \"b\", \"status\": \"pass\"}]";
        assert!(file::read::<Vec<ListedFile>>(more).is_err());
    }
}

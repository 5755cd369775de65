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
        "# How to verify the release {release}: {go}\n\n\
        Nothing here needs a network or us. Each command runs in this folder; `CLONE` is a whole clone of the repository, with\n\
        its tags and the branch that holds the history{branch}; what was reviewed is its commit `{reviewed}`.\n\n\
        1. The files are those that are listed:\n\n\
        \x20   sha256sum -c --strict {SUMS}\n\n\
        2. The release is the commit that was judged:\n\n\
        \x20   {tag}\n\n\
        3. Every status again from the records, byte for byte (sprag {version}):\n\n\
        \x20   {command}\n\n\
        Where it is signed (`statement.dsse.json`), say whose key counts: `--public-key FILE`, or `--allowed-signers FILE`. Without\n\
        either nothing vouches for the key, and a signature that was taken away is not missed.\n\n\
        Exit code 0: all of it holds, and the release may go. 1: all of it holds, and it may not. 4: something disagrees; the\n\
        file and the byte are named.\n\n\
        ## What to compare with a copy from elsewhere\n\n\
        - History: {size} runs at `{tip}`\n\
        - Merkle root: `{root}`\n\n\
        A history that was rewritten as a whole has another root. Release notes and mails that bear this one are what makes\n\
        that visible.\n\n\
        ## What this does not prove\n\n\
        That the numbers were measured honestly, and who wrote them: a signature says who vouches for them, and only where its\n\
        key is known from elsewhere (`--allowed-signers` or `--public-key`).\n",
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

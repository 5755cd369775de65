//! The text of a TOML file of a release, with the place of every fault.

use std::collections::BTreeSet;

use toml::Spanned;

use sprag_model::checklist::RuntimeTarget;

/// The largest of these files that is read, in bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// The version of both files.
const SCHEMA_VERSION: u64 = 1;

/// What is wrong with one of these files.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {message}")]
pub struct ChecklistError {
    pub path: String,
    pub line: usize,
    pub message: String,
}

/// A text with its path, for the place of a fault.
pub(super) struct Text<'a> {
    path: &'a str,
    text: &'a str,
}

impl<'a> Text<'a> {
    pub(super) fn of(path: &'a str, bytes: &'a [u8]) -> Result<Text<'a>, ChecklistError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Text { path, text }),
            Err(error) => {
                let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
                Err(ChecklistError { path: path.to_owned(), line, message: "is not UTF-8".to_owned() })
            }
        }
    }

    pub(super) fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, ChecklistError> {
        toml::from_str(self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            self.fault(offset, error.message().trim().replace('\n', " "))
        })
    }

    pub(super) fn fault(&self, offset: usize, message: String) -> ChecklistError {
        let line = 1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
        ChecklistError { path: self.path.to_owned(), line, message }
    }

    pub(super) fn at<T>(&self, place: &Spanned<T>, message: String) -> ChecklistError {
        self.fault(place.span().start, message)
    }

    pub(super) fn check_version(&self, version: &Spanned<u64>) -> Result<(), ChecklistError> {
        let found = *version.get_ref();
        let message = || format!("has schema version {found}, this build reads {SCHEMA_VERSION}");
        if found == SCHEMA_VERSION { Ok(()) } else { Err(self.at(version, message())) }
    }
}

pub(super) const WORD: &str = "a name has letters, digits, `_`, `-` and `.`, and begins with a letter or a digit";

/// Whether a name may become part of a path.
pub(super) fn is_word(word: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    word.len() <= 100 && word.starts_with(|c: char| c.is_ascii_alphanumeric()) && word.chars().all(fine)
}

/// The name in a field; `what` says which.
pub(super) fn word(text: &Text<'_>, what: &str, word: &Spanned<String>) -> Result<String, ChecklistError> {
    if is_word(word.get_ref()) {
        return Ok(word.get_ref().clone());
    }
    Err(text.at(word, format!("the {what} `{}` is no name: {WORD}", word.get_ref().escape_debug())))
}

/// The targets of a list, each once; `what` is for them.
pub(super) fn targets(
    text: &Text<'_>,
    what: &str,
    list: &[Spanned<String>],
) -> Result<BTreeSet<RuntimeTarget>, ChecklistError> {
    let mut targets = BTreeSet::new();
    for written in list {
        let word = written.get_ref();
        let Some(target) = RuntimeTarget::parse(word) else {
            let near = RuntimeTarget::near(word).map(|near| format!("; did you mean `{}`?", near.word()));
            let message = format!(
                "{what} is for `{}`, which is no target{}; targets: {}",
                word.escape_debug(),
                near.unwrap_or_default(),
                RuntimeTarget::list(&RuntimeTarget::ALL)
            );
            return Err(text.at(written, message));
        };
        if !targets.insert(target) {
            return Err(text.at(written, format!("{what} names the target `{word}` twice")));
        }
    }
    Ok(targets)
}

/// Whether a text is the forty digits of a commit.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

//! What the TOML files of a release have in common.

use std::collections::BTreeSet;

use toml::Spanned;

use sprag_base::digest::is_hex;
use sprag_base::toml::{TomlError, TomlText};
use sprag_model::checklist::RuntimeTarget;

pub const MOST_BYTES: usize = 1 << 20;

const SCHEMA_VERSION: u64 = 1;

pub(super) fn check_version(text: &TomlText<'_>, version: &Spanned<u64>) -> Result<(), TomlError> {
    let written = *version.get_ref();
    let message = || format!("has schema version {written}, this build reads {SCHEMA_VERSION}");
    if written == SCHEMA_VERSION { Ok(()) } else { Err(text.error_at(version, message())) }
}

pub(super) const WORD: &str = "a name has letters, digits, `_`, `-` and `.`, and begins with a letter or a digit";

pub(super) fn is_word(word: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    word.len() <= 100 && word.starts_with(|c: char| c.is_ascii_alphanumeric()) && word.chars().all(fine)
}

pub(super) fn word(text: &TomlText<'_>, what: &str, word: &Spanned<String>) -> Result<String, TomlError> {
    if is_word(word.get_ref()) {
        return Ok(word.get_ref().clone());
    }
    Err(text.error_at(word, format!("the {what} `{}` is not a name: {WORD}", word.get_ref().escape_debug())))
}

/// The targets of a list, each once; `what` names the entry in messages.
pub(super) fn targets(
    text: &TomlText<'_>,
    what: &str,
    list: &[Spanned<String>],
) -> Result<BTreeSet<RuntimeTarget>, TomlError> {
    let mut targets = BTreeSet::new();
    for written in list {
        let word = written.get_ref();
        let Some(target) = RuntimeTarget::parse(word) else {
            let near = RuntimeTarget::near(word).map(|near| format!("; did you mean `{}`?", near.word()));
            let message = format!(
                "{what} is for `{}`, which is not a target{}; targets: {}",
                word.escape_debug(),
                near.unwrap_or_default(),
                RuntimeTarget::list(&RuntimeTarget::ALL)
            );
            return Err(text.error_at(written, message));
        };
        if !targets.insert(target) {
            return Err(text.error_at(written, format!("{what} names the target `{word}` twice")));
        }
    }
    Ok(targets)
}

pub(super) fn is_commit(text: &str) -> bool {
    is_hex(text, 40..=40)
}

//! TOML files, read with the line and column of every fault.

use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};
use serde::de::DeserializeOwned;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {message}")]
pub struct TomlError {
    pub path: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub message: String,
}

/// The text of a file, with its path for messages.
#[derive(Clone, Copy, Debug)]
pub struct TomlText<'a> {
    path: &'a str,
    text: &'a str,
}

impl<'a> TomlText<'a> {
    pub fn new(path: &'a str, text: &'a str) -> TomlText<'a> {
        TomlText { path, text }
    }

    /// The text of a file of these bytes.
    pub fn from_bytes(path: &'a str, bytes: &'a [u8]) -> Result<TomlText<'a>, TomlError> {
        let (valid, fault) = match std::str::from_utf8(bytes) {
            Ok(text) => return Ok(TomlText { path, text }),
            Err(error) => (bytes.get(..error.valid_up_to()).unwrap_or_default(), error),
        };
        let text = TomlText { path, text: std::str::from_utf8(valid).unwrap_or_default() };
        Err(text.error(fault.valid_up_to(), "is not UTF-8: save the file with that encoding".to_owned()))
    }

    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, TomlError> {
        ::toml::from_str(self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            self.error(offset, error.message().trim().replace('\n', " "))
        })
    }

    /// An error at an offset in bytes.
    pub fn error(&self, offset: usize, message: String) -> TomlError {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
        TomlError { path: self.path.to_owned(), line: self.line(offset), column, message }
    }

    pub fn error_at<T>(&self, value: &Spanned<T>, message: String) -> TomlError {
        self.error(value.span().start, message)
    }

    /// An error at the last of these nested keys or indices that exists.
    pub fn error_at_key(&self, keys: &[&str], message: String) -> TomlError {
        self.error(self.offset(keys), message)
    }

    /// The line of an offset in bytes, from 1.
    pub fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    fn offset(&self, keys: &[&str]) -> usize {
        let Ok(root) = DeTable::parse(self.text) else { return 0 };
        let (mut value, mut offset) = (&DeValue::Table(root.into_inner()), 0);
        for wanted in keys {
            let inner = match value {
                DeValue::Table(table) => {
                    let entry = table.iter().find(|(key, _)| *key.get_ref() == *wanted);
                    entry.map(|(key, value)| (key.span(), value))
                }
                DeValue::Array(items) => {
                    let item = wanted.parse::<usize>().ok().and_then(|place| items.get(place));
                    item.map(|item| (item.span(), item))
                }
                _ => None,
            };
            let Some((span, inner)) = inner else { break };
            (value, offset) = (inner.get_ref(), span.start);
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        #[expect(dead_code, reason = "only its type is tested")]
        name: String,
    }

    #[test]
    fn a_fault_has_its_line_and_column() {
        let check = |text: &[u8], place: (usize, usize), words: &str| {
            let read = TomlText::from_bytes("a.toml", text).and_then(|text| text.parse::<Entry>());
            let error = read.expect_err("the text is faulty");
            assert_eq!((error.line, error.column), place, "{error}");
            assert!(error.to_string().starts_with(&format!("a.toml:{}: ", place.0)) && error.message.contains(words));
        };
        check(b"name = 3\n", (1, 8), "expected a string");
        check(b"name = \"a\"\n  nam = 1\n", (2, 3), "unknown field `nam`");
        check(b"", (1, 1), "missing field `name`");
        check(b"name = \"a\n", (1, 10), "");
        check(b"# caf\xe9\n", (1, 6), "is not UTF-8");
    }

    #[test]
    fn a_key_is_located_in_any_layout() {
        let text = "[a]\nb = 1\n[[c]]\nd = { e = 1 }\n[[c]]\n# é\nd.e = 2\n";
        let text = TomlText::from_bytes("a.toml", text.as_bytes()).expect("it is UTF-8");
        let check = |keys: &[&str], place: (usize, usize)| {
            let error = text.error_at_key(keys, String::new());
            assert_eq!((error.line, error.column), place, "{keys:?}");
        };
        check(&["a", "b"], (2, 1));
        check(&["c", "0", "d", "e"], (4, 7));
        check(&["c", "1", "d", "e"], (7, 3));
        check(&["c", "1", "absent"], (5, 1));
        check(&["absent"], (1, 1));
    }
}

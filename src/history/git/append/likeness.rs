//! Paths that are alike but for case or Unicode form.
//!
//! Git keeps `cpu` and `CPU` apart; the file systems of macOS and Windows do not, and there a checkout of both would
//! hold one file in place of two.

use std::collections::BTreeMap;
use std::path::Path;

use git2::{ErrorCode, Repository, Tree};
use unicode_normalization::UnicodeNormalization as _;

use crate::HistoryError;
use crate::git::failed;

/// The first of the paths of which a part is alike to that of another one, and that one, both up to that part.
pub(in crate::git) fn alike<'a>(paths: impl Iterator<Item = &'a str>) -> Option<(&'a str, &'a str)> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for path in paths {
        for end in path.match_indices('/').map(|(end, _)| end).chain([path.len()]) {
            let part = &path[..end];
            let other = *seen.entry(folded(part)).or_insert(part);
            if other != part {
                return Some((part, other));
            }
        }
    }
    None
}

/// Refuses a path that the tree lacks and whose folder has a name that is alike to its last part.
pub(in crate::git) fn check(repository: &Repository, tree: &Tree<'_>, path: &str) -> Result<(), HistoryError> {
    let unread = || failed("read the tree of the history");
    let (parent, name) = path.rsplit_once('/').map_or(("", path), |(parent, name)| (parent, name));
    let folder = if parent.is_empty() {
        tree.clone()
    } else {
        match tree.get_path(Path::new(parent)).and_then(|entry| entry.to_object(repository)) {
            Ok(object) => object.peel_to_tree().map_err(unread())?,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(()),
            Err(error) => return Err(unread()(error)),
        }
    };
    let wanted = folded(name);
    let other = folder.iter().find_map(|entry| {
        let other = String::from_utf8_lossy(entry.name_bytes()).into_owned();
        (folded(&other) == wanted).then_some(other)
    });
    match other {
        None => Ok(()),
        Some(other) if parent.is_empty() => Err(HistoryError::Alike { path: path.to_owned(), other }),
        Some(other) => Err(HistoryError::Alike { path: path.to_owned(), other: format!("{parent}/{other}") }),
    }
}

/// A name as a file system sees it that knows no case and one Unicode form.
pub(in crate::git) fn folded(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { name.nfc().flat_map(char::to_lowercase).nfc().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_alike_but_for_case_and_form() {
        let check = |a: &str, b: &str, expected: bool| assert_eq!(folded(a) == folded(b), expected, "{a} {b}");
        check("cpu", "CPU", true);
        check("cpu", "cpu2", false);
        check("caf\u{e9}", "cafe\u{301}", true);
        check("caf\u{e9}", "CAFE\u{301}", true);
        // The Kelvin sign.
        check("kernels", "\u{212a}ernels", true);
    }

    #[test]
    fn the_part_that_is_alike_is_named() {
        let check = |paths: &[&'static str], expected| assert_eq!(alike(paths.iter().copied()), expected);
        check(&["a/b/c", "a/b/d", "a/x"], None);
        check(&["a/B/c", "a/b/d"], Some(("a/b", "a/B")));
        check(&["a/b/c", "a/b/C"], Some(("a/b/C", "a/b/c")));
    }
}

//! Attributes of paths under which git would see records as changed.
//!
//! A record is the same bytes in the tree and in a working tree. Line endings do it no harm, whatever `.gitattributes`
//! and the configuration say of them: a record has none but the last, and that is git's own. But where a filter driver
//! or another encoding is named for it, git holds what the driver makes of the file against the tree, and `git status`
//! calls the record changed. Drivers are programs, and none is run here; so this is told and not mended.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{AttrCheckFlags, AttrValue, Index, Repository};

const LINE: &str = "history/** -filter -working-tree-encoding";

/// What to say where such an attribute holds for one of the paths, each folder looked at once. The index is that of the
/// working tree: an attribute may stand in a file that is in the index alone, and to read it again would take longer
/// than all the rest.
pub(crate) fn warning<'a>(
    repository: &Repository,
    index: &mut Index,
    paths: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let repository = Repository::open(repository.path()).ok()?;
    repository.set_index(index).ok()?;
    let mut folders = BTreeSet::new();
    let mut paths = paths.filter(|path| folders.insert(path.rsplit_once('/').map(|(folder, _)| folder)));
    let (path, attribute) = paths.find_map(|path| Some((path, harmful(&repository, path)?)))?;
    Some(format!(
        "the attribute `{attribute}` holds for `{path}`, so git may call it changed; add the line `{LINE}` to \
         .gitattributes"
    ))
}

fn harmful(repository: &Repository, path: &str) -> Option<String> {
    let value = |name: &str| {
        let value = repository.get_attr(Path::new(path), name, AttrCheckFlags::FILE_THEN_INDEX).ok()?;
        match AttrValue::from_string(value) {
            AttrValue::String(text) => Some(text.to_owned()),
            _ => None,
        }
    };
    if let Some(driver) = value("filter").filter(|driver| is_defined(repository, driver)) {
        return Some(format!("filter={driver}"));
    }
    let encoding = value("working-tree-encoding").filter(|encoding| !encoding.eq_ignore_ascii_case("UTF-8"));
    encoding.map(|encoding| format!("working-tree-encoding={encoding}"))
}

/// Whether the configuration says what a driver does with a file that is added; git passes over one that it knows not.
fn is_defined(repository: &Repository, driver: &str) -> bool {
    let Ok(config) = repository.config() else { return false };
    ["clean", "process"].iter().any(|what| config.get_entry(&format!("filter.{driver}.{what}")).is_ok())
}

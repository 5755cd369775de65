//! Reading `release/releases.toml`: which commits were released under which names.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use serde::Deserialize;
use toml::Spanned;

use super::toml_text::{check_version, is_commit, targets, word};
use sprag_base::digest::Digest;
use sprag_base::toml::{TomlError, TomlText};
use sprag_model::checklist::{HistoryPoint, RuntimeTarget};
use sprag_model::release::{Release, Releases};

pub const RELEASES_PATH: &str = "release/releases.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleasesFile {
    schema_version: Spanned<u64>,
    #[serde(default)]
    release: Vec<Spanned<ReleaseEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReleaseEntry {
    name: Spanned<String>,
    commit: Option<Spanned<String>>,
    previous: Option<Spanned<String>>,
    targets: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    signed: Vec<SignedEntry>,
    history: Option<Spanned<HistoryEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignedEntry {
    role: String,
    owner: String,
    date: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryEntry {
    commit: String,
    size: u64,
    root: String,
}

/// Reads the list of releases; `path` is for messages.
pub fn read_releases(path: &str, bytes: &[u8]) -> Result<Releases, TomlError> {
    let text = TomlText::from_bytes(path, bytes)?;
    let file: ReleasesFile = text.parse()?;
    check_version(&text, &file.schema_version)?;
    let mut releases = Releases::default();
    for entry in file.release {
        let entry = entry.into_inner();
        let name = word(&text, "name", &entry.name)?;
        if releases.find(&name).is_some() {
            return Err(text.error_at(&entry.name, format!("two releases are named `{name}`")));
        }
        if let Some(commit) = entry.commit.as_ref().filter(|commit| !is_commit(commit.get_ref())) {
            let message = format!("the commit of `{name}` is not forty lower-case hexadecimal digits");
            return Err(text.error_at(commit, message));
        }
        if let Some(previous) = entry.previous.as_ref().filter(|one| releases.find(one.get_ref()).is_none()) {
            let message =
                format!("`{name}` comes after `{}`, which is not listed above it", previous.get_ref().escape_debug());
            return Err(text.error_at(previous, message));
        }
        let targets = match &entry.targets {
            None => BTreeSet::from([RuntimeTarget::Cpu]),
            Some(list) if list.get_ref().is_empty() => {
                let message =
                    format!("`{name}` is for no target: leave `targets` out for `cpu`, or name what it is for");
                return Err(text.error_at(list, message));
            }
            Some(list) => targets(&text, &format!("`{name}`"), list.get_ref())?,
        };
        for SignedEntry { owner, date, .. } in &entry.signed {
            let day = NaiveDate::parse_from_str(date.get_ref(), "%Y-%m-%d");
            if day.is_ok_and(|day| day.to_string() == *date.get_ref()) && !owner.trim().is_empty() {
                continue;
            }
            let message = format!(
                "`{name}` is signed by `{}` on `{}`: a name and a day such as 2026-12-31 are needed",
                owner.escape_debug(),
                date.get_ref().escape_debug()
            );
            return Err(text.error_at(date, message));
        }
        let history = entry.history.map(|one| history(&text, &name, &one)).transpose()?;
        releases.0.push(Release {
            name,
            commit: entry.commit.map(Spanned::into_inner),
            previous: entry.previous.map(Spanned::into_inner),
            targets,
            signed: entry.signed.into_iter().map(|one| (one.role, one.owner, one.date.into_inner())).collect(),
            history,
        });
    }
    Ok(releases)
}

fn history(text: &TomlText<'_>, name: &str, entry: &Spanned<HistoryEntry>) -> Result<HistoryPoint, TomlError> {
    let HistoryEntry { commit, size, root } = entry.get_ref();
    if !is_commit(commit) || root.parse::<Digest>().is_err() {
        let message = format!("the history of `{name}` names no commit, or a root that is not a SHA-256");
        return Err(text.error_at(entry, message));
    }
    Ok(HistoryPoint { commit: commit.clone(), size: *size, root: root.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;

    #[test]
    fn releases_are_read_and_their_faults_named() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let good = format!(
            "schema_version = 1\n[[release]]\nname = \"v1\"\ncommit = \"{commit}\"\n[[release]]\nname = \"v2\"\nprevious = \"v1\"\n"
        );
        let releases = read_releases("r", good.as_bytes()).unwrap();
        let second = releases.find("v2").unwrap();
        assert_eq!((second.commit.as_ref(), releases.before(second)), (None, releases.find("v1")));
        file::check_faults(&good, include_str!("releases_faults.txt"), |text| {
            read_releases("r", text).expect_err("it has a fault")
        });
        assert_eq!(second.targets, BTreeSet::from([RuntimeTarget::Cpu]));
        let with = |line: &str| {
            let text = good.replacen("previous = ", &format!("{line}\nprevious = "), 1);
            read_releases("r", text.as_bytes()).expect("it is fine").0.remove(1)
        };
        let both = BTreeSet::from([RuntimeTarget::Cpu, RuntimeTarget::Torch]);
        assert_eq!(with("targets = [\"torch\", \"cpu\"]").targets, both);
        let signed = with("signed = [{ role = \"Owner\", owner = \"Ada\", date = \"2026-02-28\" }]").signed;
        assert_eq!(signed.len(), 1);
    }
}

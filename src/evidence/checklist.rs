//! Reading `release/checklist.toml`, with the line of every fault.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use super::toml_text::{WORD, check_version, is_word, targets, word};
use sprag_base::digest::Digest;
use sprag_base::toml::{TomlError, TomlText};
use sprag_model::checklist::{Checklist, Item, ItemBase, Need, NeededFile, Rollback};

pub const CHECKLIST_PATH: &str = "release/checklist.toml";

/// The facts that an environment must name unless the item lists others.
const USUAL_FACTS: [&str; 3] = ["compiler", "cpu_model", "os_release"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChecklistFile {
    schema_version: Spanned<u64>,
    #[serde(default)]
    item: Vec<Spanned<ItemEntry>>,
    #[serde(default)]
    rollback: Rollback,
    #[serde(default)]
    sign_off: Vec<SignOff>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignOff {
    role: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemEntry {
    id: Spanned<String>,
    title: Spanned<String>,
    rule: Option<Spanned<String>>,
    #[serde(default)]
    targets: Vec<Spanned<String>>,
    #[serde(default)]
    artifacts: Vec<Spanned<ArtifactEntry>>,
    producer: String,
    suite: Option<Spanned<String>>,
    against: Option<Spanned<String>>,
    suites: Option<Spanned<BTreeSet<String>>>,
    facts: Option<Spanned<Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArtifactEntry {
    key: String,
    path: String,
    sha256: Option<String>,
}

/// Reads a checklist; `path` is for messages.
pub fn read_checklist(path: &str, bytes: &[u8]) -> Result<Checklist, TomlError> {
    let text = TomlText::from_bytes(path, bytes)?;
    let file: ChecklistFile = text.parse()?;
    check_version(&text, &file.schema_version)?;
    let mut checklist = Checklist { rollback: file.rollback, ..Checklist::default() };
    let (mut ids, mut files) = (BTreeSet::new(), BTreeMap::new());
    for entry in file.item {
        let id = entry.get_ref().id.clone();
        let item = item(&text, entry)?;
        if !ids.insert(item.id.clone()) {
            return Err(text.error_at(&id, format!("two items are named `{}`", item.id)));
        }
        for needed in &item.files {
            let other = files.insert(needed.key.clone(), needed.clone());
            if other.is_some_and(|other| other != *needed) {
                let message = format!("two artifacts of different path or digest have the key `{}`", needed.key);
                return Err(text.error_at(&id, message));
            }
        }
        checklist.items.push(item);
    }
    if checklist.items.is_empty() {
        return Err(text.error(0, "has no item: a release would go whatever was measured".to_owned()));
    }
    for SignOff { role } in file.sign_off {
        if role.get_ref().trim().is_empty() || checklist.sign_off.contains(role.get_ref()) {
            return Err(text.error_at(&role, "names no role, or one a second time".to_owned()));
        }
        checklist.sign_off.push(role.into_inner());
    }
    Ok(checklist)
}

fn item(text: &TomlText<'_>, entry: Spanned<ItemEntry>) -> Result<Item, TomlError> {
    let place = entry.span().start;
    let entry = entry.into_inner();
    let id = word(text, "id", &entry.id)?;
    if entry.title.get_ref().trim().is_empty() {
        return Err(text.error_at(&entry.title, format!("the item `{id}` has an empty title")));
    }
    let Some(named) = &entry.rule else {
        let message =
            format!("the item `{id}` has no `rule`, so nothing decides it; rules: {}", Need::NAMES.join(", "));
        return Err(text.error(place, message));
    };
    let rule = rule(text, &id, named, &entry)?;
    let targets = targets(text, &format!("the item `{id}`"), &entry.targets)?;
    let files: Vec<NeededFile> =
        entry.artifacts.iter().map(|one| needed(text, &id, one)).collect::<Result<_, TomlError>>()?;
    let takes_files = matches!(rule, Need::File | Need::Replay);
    if takes_files == files.is_empty() {
        let (files, names) = if takes_files { ("files", "names no") } else { ("no files", "names") };
        let message =
            format!("the rule `{}` of the item `{id}` looks at {files}, and it {names} `artifacts`", rule.name());
        return Err(text.error_at(named, message));
    }
    Ok(Item { id, title: entry.title.into_inner(), targets, files, producer: entry.producer, rule })
}

/// The rule of that name, with the settings that it takes and no others.
fn rule(text: &TomlText<'_>, id: &str, named: &Spanned<String>, entry: &ItemEntry) -> Result<Need, TomlError> {
    let name = named.get_ref().as_str();
    let given: [(&str, Option<usize>); 4] = [
        ("suite", entry.suite.as_ref().map(|one| one.span().start)),
        ("against", entry.against.as_ref().map(|one| one.span().start)),
        ("suites", entry.suites.as_ref().map(|one| one.span().start)),
        ("facts", entry.facts.as_ref().map(|one| one.span().start)),
    ];
    let takes: &[&str] = match name {
        "suite_verdict" => &["suite", "against"],
        "parity" => &["suite"],
        "environment" => &["suite", "facts"],
        "coverage" => &["suites"],
        "file" | "replay" | "events_resolved" => &[],
        other => {
            let message = format!(
                "the item `{id}` has the rule `{}`, which there is not; rules: {}",
                other.escape_debug(),
                Need::NAMES.join(", ")
            );
            return Err(text.error_at(named, message));
        }
    };
    if let Some((key, Some(place))) = given.iter().find(|(key, place)| place.is_some() && !takes.contains(key)) {
        return Err(text.error(*place, format!("the rule `{name}` of the item `{id}` has no `{key}`")));
    }
    let suite = || {
        let suite = entry.suite.as_ref().map(|suite| suite.get_ref().clone()).filter(|suite| !suite.is_empty());
        suite.ok_or_else(|| text.error_at(named, format!("the rule `{name}` of the item `{id}` needs a `suite`")))
    };
    Ok(match name {
        "suite_verdict" => Need::SuiteVerdict { suite: suite()?, against: against(text, entry)? },
        "parity" => Need::Parity { suite: suite()? },
        "environment" => {
            let usual = || USUAL_FACTS.map(str::to_owned).to_vec();
            Need::Environment {
                suite: suite()?,
                facts: entry.facts.as_ref().map_or_else(usual, |facts| facts.get_ref().clone()),
            }
        }
        "coverage" => {
            Need::Coverage { suites: entry.suites.as_ref().map(|one| one.get_ref().clone()).unwrap_or_default() }
        }
        "replay" => Need::Replay,
        "events_resolved" => Need::EventsResolved,
        _ => Need::File,
    })
}

fn against(text: &TomlText<'_>, entry: &ItemEntry) -> Result<ItemBase, TomlError> {
    let Some(named) = &entry.against else { return Ok(ItemBase::Usual) };
    match named.get_ref().as_str() {
        "baseline" => Ok(ItemBase::Baseline),
        "previous" => Ok(ItemBase::Previous),
        other => {
            let message = format!("`against` is `baseline` or `previous`, and not `{}`", other.escape_debug());
            Err(text.error_at(named, message))
        }
    }
}

fn needed(text: &TomlText<'_>, id: &str, entry: &Spanned<ArtifactEntry>) -> Result<NeededFile, TomlError> {
    let place = entry.span().start;
    let ArtifactEntry { key, path, sha256 } = entry.get_ref();
    if !is_word(key) {
        let message = format!("the item `{id}` names the artifact `{}`: {WORD}", key.escape_debug());
        return Err(text.error(place, message));
    }
    let odd = |part: &str| part.is_empty() || part == "." || part == "..";
    if path.split('/').any(odd) || path.contains('\\') || path.chars().any(char::is_control) {
        let message = format!("the path of the artifact `{key}` leads out of the project, or is not a plain path");
        return Err(text.error(place, message));
    }
    if let Some(fault) = sha256.as_ref().and_then(|digest| digest.parse::<Digest>().err()) {
        return Err(text.error(place, format!("the digest of the artifact `{key}`: {fault}")));
    }
    Ok(NeededFile { key: key.clone(), path: path.clone(), sha256: sha256.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;
    use sprag_model::checklist::RuntimeTarget;

    const GOOD: &str = include_str!("checklist.toml");

    #[test]
    fn a_checklist_reads_as_it_is_written() {
        let checklist = read_checklist("c", GOOD.as_bytes()).unwrap();
        assert_eq!(checklist.items.len(), 2);
        assert_eq!(checklist.items[0].rule, Need::SuiteVerdict { suite: "cpu".to_owned(), against: ItemBase::Usual });
        assert!(!checklist.items[1].is_needed(&BTreeSet::from([RuntimeTarget::Cpu])));
        assert!(checklist.items[1].is_needed(&BTreeSet::from([RuntimeTarget::Cpu, RuntimeTarget::Tensorrt])));
        assert_eq!(checklist.sign_off, ["Release owner"]);
        assert_eq!(checklist.rollback.steps, ["retag"]);
    }

    #[test]
    fn each_fault_is_named_with_its_line() {
        file::check_faults(GOOD, include_str!("checklist_faults.txt"), |text| {
            read_checklist("c.toml", text).expect_err("it has a fault")
        });
        let empty = read_checklist("c.toml", b"schema_version = 1\n").expect_err("no item");
        assert!(empty.message.contains("has no item"));
    }
}

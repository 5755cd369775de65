//! Settings that a project has made in files that are replaced: they are read from the old files and put into the new ones.

use std::collections::BTreeSet;
use std::path::Path;

use crate::init::render::{ACTION, ACTION_PATH, Facts, WORKFLOWS};
use sprag_base::files::read_bounded;

#[derive(Clone, Debug, Default)]
pub struct InitOptions {
    pub dry_run: bool,
    /// Replace files that are there and hold something else.
    pub force: bool,
    pub keep: bool,
    pub download_from: Option<String>,
    pub sha256: Option<String>,
}

/// Reads `OWNER/NAME` with the characters that GitHub allows: the text ends up in an address.
pub fn repository(text: &str) -> Result<String, String> {
    let is_plain = |part: &str| {
        let plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        plain && !part.is_empty() && !part.starts_with(['.', '-'])
    };
    match text.split_once('/') {
        Some((owner, name)) if is_plain(owner) && is_plain(name) => Ok(text.to_owned()),
        _ => Err("write it as OWNER/NAME".to_owned()),
    }
}

/// Reads a SHA-256 in full.
pub fn digest(text: &str) -> Result<String, String> {
    let is_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if is_digest { Ok(text.to_owned()) } else { Err("give all 64 digits, in lower case".to_owned()) }
}

/// The most that a file of a project may hold to be looked at.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// How the names of variables end that hold suites.
const SUITES: &str = "_SUITES";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Existing {
    /// Of the release: inputs of the action whose defaults stay.
    pub pins: Vec<String>,
    workflows: Vec<(&'static str, String)>,
    /// Suites that one of them names: what none names is new.
    listed: BTreeSet<String>,
    suites: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Values {
    pub text: String,
    pub keeps: Vec<String>,
    /// Suites that no list named, each with the list that has it now.
    pub adds: Vec<String>,
}

impl Existing {
    /// What the files at `root` have, with the release put into `facts` where the user names no other.
    pub(super) fn read(root: &Path, options: &InitOptions, facts: &mut Facts) -> Existing {
        let text = |path: &str| String::from_utf8(read_bounded(&root.join(path), MOST_BYTES).ok()?).ok();
        let mut existing = Existing {
            workflows: WORKFLOWS.iter().filter_map(|(path, _)| Some((*path, text(path)?))).collect(),
            suites: [&facts.gated, &facts.hosted, &facts.device].into_iter().flatten().cloned().collect(),
            ..Existing::default()
        };
        for (name, lines) in existing.workflows.iter().flat_map(|(_, text)| entries(text)) {
            if name.ends_with(SUITES) {
                existing.listed.extend(names(&lines));
            }
        }
        facts.download_from = options.download_from.clone().unwrap_or_default();
        facts.sha256 = options.sha256.clone().unwrap_or_default();
        existing.release(&text(ACTION_PATH).unwrap_or_default(), facts);
        existing
    }

    fn release(&mut self, action: &str, facts: &mut Facts) {
        let there = |input: &str| default(action, input);
        let given = there("repository").filter(|text| repository(text).is_ok()).unwrap_or_default();
        if facts.download_from.is_empty() && !given.is_empty() {
            facts.download_from.clone_from(&given);
            self.pins.push("repository".to_owned());
        }
        let sha256 = there("sha256").filter(|text| digest(text).is_ok()).unwrap_or_default();
        if !facts.sha256.is_empty() || sha256.is_empty() || facts.download_from != given {
            return;
        }
        facts.sha256 = sha256;
        self.pins.push("sha256".to_owned());
        let is_version =
            |text: &str| text.starts_with('v') && text.bytes().all(|one| is_plain(one) || b"+-.".contains(&one));
        facts.version = there("version").filter(|text| is_version(text)).unwrap_or_default();
        match Some(&facts.version) == default(ACTION, "version").as_ref() {
            true => facts.version.clear(),
            false if facts.version.is_empty() => {}
            false => self.pins.push("version".to_owned()),
        }
    }

    /// A workflow with what the one that is there says under `env`. Lists of suites lose those that the configuration has
    /// no more, and get those that no list names: a new one and one that was taken out of all of them look alike.
    pub(super) fn values(&self, path: &str, new: &str) -> Values {
        let mut values = Values { text: new.to_owned(), ..Values::default() };
        let Some((_, there)) = self.workflows.iter().find(|(known, _)| *known == path) else { return values };
        let there = entries(there);
        for (name, lines) in entries(new) {
            let Some((_, old)) = there.iter().find(|(other, _)| *other == name) else { continue };
            let mut old = old.clone();
            if name.ends_with(SUITES) {
                let mut list: Vec<String> = names(&old).into_iter().filter(|one| self.suites.contains(one)).collect();
                let unknown: Vec<String> = names(&lines).into_iter().filter(|one| !self.listed.contains(one)).collect();
                values.adds.extend(unknown.iter().map(|one| format!("{one} to {name}")));
                list.extend(unknown);
                old = vec![format!("  {name}: \"{}\"", list.join(" "))];
            }
            if value(&old) != value(&lines) {
                values.text = values.text.replacen(&block(&lines), &block(&old), 1);
                values.keeps.push(name.to_owned());
            }
        }
        values
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What stands under `env` at the top of a workflow: names, each with its lines.
fn entries(text: &str) -> Vec<(&str, Vec<String>)> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    let lines = text.lines().map(str::trim_end).skip_while(|line| *line != "env:").skip(1);
    for line in lines.take_while(|line| line.is_empty() || line.starts_with(' ')) {
        let entry = line.strip_prefix("  ").and_then(|line| line.split_once(':'));
        match entry.filter(|(name, _)| !name.is_empty() && name.bytes().all(is_plain)) {
            Some((name, _)) => found.push((name, vec![line.to_owned()])),
            None if line.starts_with("    ") => {
                found.last_mut().into_iter().for_each(|(_, lines)| lines.push(line.to_owned()));
            }
            None => {}
        }
    }
    found
}

fn block(lines: &[String]) -> String {
    format!("\n{}\n", lines.join("\n"))
}

fn value(lines: &[String]) -> String {
    let first = lines.first().and_then(|line| line.split_once(':')).map_or("", |(_, value)| value);
    let rest = lines.iter().skip(1).map(|line| format!("\n{line}"));
    bare(first) + &rest.collect::<String>()
}

fn names(lines: &[String]) -> Vec<String> {
    value(lines).split_whitespace().map(str::to_owned).collect()
}

fn bare(value: &str) -> String {
    let value = value.split(" #").next().unwrap_or_default().trim();
    let within = |quote: char| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(value).to_owned()
}

fn default(action: &str, input: &str) -> Option<String> {
    let own = |line: &&str| line.trim_end().strip_suffix(':') != Some(&format!("  {input}"));
    let lines = action.lines().skip_while(own).skip(1).take_while(|line| line.starts_with("    "));
    lines.filter_map(|line| line.strip_prefix("    default:")).map(bare).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_up_in_an_address_is_plain() {
        assert_eq!(repository("a-b/c.d_e").as_deref(), Ok("a-b/c.d_e"));
        for bad in ["", "a", "/a", "a/", "a/b/c", "a/b c", "a/$(b)", "../a", "a/..", "-a/b", "a/b\n", "ä/b"] {
            assert!(repository(bad).is_err(), "{bad}");
        }
        assert!(digest(&"0f".repeat(32)).is_ok());
        for bad in ["", "0f", &"0F".repeat(32), &"0g".repeat(32), &"0f".repeat(33)] {
            assert!(digest(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn defaults_of_inputs_are_read() {
        let action =
            "inputs:\r\n  a:\r\n    default: \"x/y\" # why\r\n  b:\n    required: true\n  c:\n    default: v1\nruns:\n";
        let check =
            |input: &str, wanted: Option<&str>| assert_eq!(default(action, input).as_deref(), wanted, "{input}");
        check("a", Some("x/y"));
        check("b", None);
        check("c", Some("v1"));
        check("d", None);
        assert!(default(ACTION, "version").is_some_and(|version| version.starts_with('v')));
    }

    #[test]
    fn values_are_kept_and_lists_of_suites_follow_the_configuration() {
        let new = "on: x\nenv:\n  # Why.\n  A_SUITES: \"own new\"\n  EFFORT: \"\"\n  PATHS: |\n    one\n    two\n  SAME: x\n\njobs:\n  EFFORT: \"\"\n";
        let there = "env:\r\n  A_SUITES: gone own # mine\r\n  PATHS: |\r\n    three\r\n  EFFORT: --quick # fast\r\n  SAME: 'x'\r\n  MORE: 1\r\njobs:\r\n  B: c\r\n";
        let words = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<String>>();
        let existing = Existing {
            workflows: vec![("w", there.to_owned())],
            listed: words(&["gone", "own", "aside"]),
            suites: words(&["own", "new", "aside"]),
            ..Existing::default()
        };
        let Values { text, keeps, adds } = existing.values("w", new);
        assert_eq!((keeps, adds), (vec!["EFFORT".to_owned(), "PATHS".to_owned()], vec!["new to A_SUITES".to_owned()]));
        let wanted = new.replace(
            "\n  EFFORT: \"\"\n  PATHS: |\n    one\n    two\n",
            "\n  EFFORT: --quick # fast\n  PATHS: |\n    three\n",
        );
        assert_eq!(text, wanted);
        assert_eq!(
            existing.values("w", &new.replace("own new", "new aside own")).keeps,
            ["A_SUITES", "EFFORT", "PATHS"]
        );
        let as_is = |text: &str| Values { text: text.to_owned(), ..Values::default() };
        assert_eq!(existing.values("other", new), as_is(new));
        for (path, text) in WORKFLOWS {
            let same = Existing {
                workflows: vec![(path, text.to_owned())],
                suites: words(&["cpu", "gpu"]),
                ..existing.clone()
            };
            let same = Existing { listed: same.suites.clone(), ..same };
            assert_eq!(same.values(path, text), as_is(text), "{path}");
        }
    }
}

//! Where a record lies, and what must hold of a file that lies there.

use serde::{Deserialize, Serialize};
use sprag_base::digest::is_hex;
use sprag_model::archive::{self, ARCHIVE_ROOT, Archive};
use sprag_model::event_record::{EVENT_ROOT, EventName, EventRecord};
use sprag_model::record::Reader;
use sprag_model::retraction::{self, RESTORATION_ROOT, RETRACTION_ROOT, Retraction};
use sprag_model::run::{RECORD_ROOT, RecordedRun, Run};

/// The folder at the top of the tree that holds records.
pub(crate) const FOLDER: &str = "history";

/// How many folders lie between [`RECORD_ROOT`] and a record: suite, year and month.
pub(crate) const RECORD_DEPTH: usize = 3;

/// The depth to which folders that begin with an underscore are read.
pub(crate) const DEEPEST: usize = 16;

/// The mode of a plain file in a tree.
pub(crate) const PLAIN: i32 = 0o100_644;
pub(crate) const EXECUTABLE: i32 = 0o100_755;

/// What a path below [`RECORD_ROOT`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Run,
    Event,
    /// Another file in a folder whose name begins with an underscore.
    Auxiliary,
}

/// The parts of `history/v1/<suite>/<yyyy>/<mm>/<commit12>-<machine8>-<run16>.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    pub(crate) suite: &'a str,
    pub(crate) year: &'a str,
    pub(crate) month: &'a str,
    pub(crate) commit: &'a str,
    pub(crate) machine: &'a str,
    run: &'a str,
}

/// A plain file that is named like a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf {
    pub path: String,
    /// The id of its content in git, in forty hexadecimal digits.
    pub blob: String,
}

impl Leaf {
    /// A run of which only others say that it was recorded. The fault reads after the path.
    pub fn parse(path: &str, blob: &str) -> Result<Leaf, String> {
        if check_path(path)? != Kind::Run {
            return Err("is not the path of a run".to_owned());
        }
        if !is_hex(blob, 40..=40) {
            return Err("has an id that git does not make".to_owned());
        }
        Ok(Leaf { path: path.to_owned(), blob: blob.to_owned() })
    }

    /// As `<suite>/<yyyy>/<mm>`.
    pub fn folder(&self) -> &str {
        let inside = self.path.strip_prefix(RECORD_ROOT).and_then(|rest| rest.strip_prefix('/')?.rsplit_once('/'));
        inside.map_or("", |(folder, _)| folder)
    }

    pub fn suite(&self) -> &str {
        self.name().suite
    }

    /// Year and month, such as `("2026", "05")`.
    pub fn month(&self) -> (&str, &str) {
        (self.name().year, self.name().month)
    }

    /// Its first twelve digits.
    pub fn commit(&self) -> &str {
        self.name().commit
    }

    /// Its first eight digits.
    pub fn machine(&self) -> &str {
        self.name().machine
    }

    fn name(&self) -> Name<'_> {
        Name::parse(&self.path).expect("only files that are named like a record are listed")
    }
}

/// What a file at `path` is, if one may be recorded there. The rule is stricter than git's, so that a path means the same on every
/// file system.
pub(crate) fn check_path(path: &str) -> Result<Kind, String> {
    let inside = path.strip_prefix(RECORD_ROOT).and_then(|rest| rest.strip_prefix('/'));
    let Some(inside) = inside else { return Err(format!("lies outside `{RECORD_ROOT}/`")) };
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    for part in inside.split('/') {
        let odd = part.is_empty() || part.len() > 100 || part.starts_with(['.', '-']);
        if odd || !part.chars().all(fine) {
            return Err(format!("has the part `{}` in its path, which cannot name a file", part.escape_debug()));
        }
    }
    if inside.starts_with('_') {
        if Name::parse(path).is_ok() {
            return Err("is named like a run, in a folder that is not read".to_owned());
        }
        if path.strip_prefix(EVENT_ROOT).is_some_and(|rest| rest.starts_with('/')) {
            return EventName::parse(path).map(|_| Kind::Event);
        }
        return if inside.contains('/') { Ok(Kind::Auxiliary) } else { Err("lies in no folder".to_owned()) };
    }
    Name::parse(path).map(|_| Kind::Run)
}

/// Whether a plain file with this content may be recorded at `path`.
pub(crate) fn check_file(path: &str, bytes: &[u8]) -> Result<(), String> {
    match check_path(path)? {
        Kind::Run => check_record(path, PLAIN, bytes).map(drop),
        Kind::Event => EventRecord::from_file(path, bytes).map(drop),
        Kind::Auxiliary => check_auxiliary(path, bytes),
    }
}

/// Whether a file in a folder whose name begins with an underscore has the content that belongs there.
pub(crate) fn check_auxiliary(path: &str, bytes: &[u8]) -> Result<(), String> {
    if is_below(path, RETRACTION_ROOT) || is_below(path, RESTORATION_ROOT) {
        Retraction::from_file(path, bytes).map(drop)
    } else if is_below(path, ARCHIVE_ROOT) {
        Archive::from_file(path, bytes).map(drop)
    } else {
        Ok(())
    }
}

pub(crate) fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}

/// The version of a file that [`check_auxiliary`] refuses, where only a newer build can read it.
pub(crate) fn newer_version(path: &str, bytes: &[u8]) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let newest = if is_below(path, ARCHIVE_ROOT) { archive::SCHEMA_VERSION } else { retraction::SCHEMA_VERSION };
    value.get("schema_version")?.as_u64().filter(|version| *version > newest)
}

/// Reads the record at `path`, and compares its name with its content.
pub(crate) fn check_record(path: &str, mode: i32, bytes: &[u8]) -> Result<RecordedRun, String> {
    check_mode(mode)?;
    let read = Run::from_record(bytes).map_err(|error| error.to_string());
    named(path, read)
}

/// As `check_record`, of a plain file that was recorded once. Its name contains the digest of its content, which was canonical
/// then.
pub fn check_recorded(path: &str, bytes: &[u8], reader: &mut Reader) -> Result<RecordedRun, String> {
    named(path, reader.read(bytes).map_err(|error| error.to_string()))
}

fn named(path: &str, read: Result<(String, Run), String>) -> Result<RecordedRun, String> {
    let name = Name::parse(path)?;
    let (id, run) = read?;
    let commit = run.commit.as_ref().map_or(sprag_model::commit::NO_COMMIT, |commit| commit.short());
    let (year, month) = (run.timestamp.format("%Y").to_string(), run.timestamp.format("%m").to_string());
    let inside =
        Name { suite: &run.suite, year: &year, month: &month, commit, machine: run.machine.short_id(), run: &id };
    if let Some(difference) = name.difference(&inside) {
        return Err(difference);
    }
    Ok(RecordedRun { path: path.to_owned(), id, run })
}

/// The sixteen digits of the digest in the name of a run or an event; absent in other names.
pub(crate) fn digits_of(path: &str) -> Option<&str> {
    let run = Name::parse(path).map(|name| name.run);
    run.or_else(|_| EventName::parse(path).map(|name| name.digest)).ok()
}

pub(crate) fn check_mode(mode: i32) -> Result<(), String> {
    let kind = match mode {
        PLAIN => return Ok(()),
        0o100_755 => "an executable file",
        0o120_000 => "a symbolic link",
        0o160_000 => "a submodule",
        0o040_000 => "a folder",
        _ => "of an unknown mode",
    };
    Err(format!("is {kind}, where a record is a plain file"))
}

impl<'a> Name<'a> {
    pub(crate) fn parse(path: &'a str) -> Result<Name<'a>, String> {
        let misnamed = || "is not named `<suite>/<yyyy>/<mm>/<commit12>-<machine8>-<run16>.json`".to_owned();
        let inside = path.strip_prefix(RECORD_ROOT).and_then(|rest| rest.strip_prefix('/')).ok_or_else(misnamed)?;
        let [suite, year, month, file] = inside.split('/').collect::<Vec<_>>()[..] else { return Err(misnamed()) };
        let stem = file.strip_suffix(".json").ok_or_else(misnamed)?;
        let [commit, machine, run] = stem.split('-').collect::<Vec<_>>()[..] else { return Err(misnamed()) };
        let digits = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
        let hex = |text: &str, length: usize| is_hex(text, length..=length);
        let fine = digits(year, 4) && digits(month, 2) && hex(commit, 12) && hex(machine, 8) && hex(run, 16);
        if fine { Ok(Name { suite, year, month, commit, machine, run }) } else { Err(misnamed()) }
    }

    /// The first part that differs, as a fragment that reads after the path.
    fn difference(&self, content: &Name<'_>) -> Option<String> {
        let parts = [
            ("suite", self.suite, content.suite),
            ("year", self.year, content.year),
            ("month", self.month, content.month),
            ("commit", self.commit, content.commit),
            ("machine", self.machine, content.machine),
            ("id", self.run, content.run),
        ];
        let (part, named, content) = parts.into_iter().find(|(_, named, content)| named != content)?;
        Some(format!("has the {part} `{}` in its path, but in its content `{content}`", named.escape_debug()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "history/v1/cpu/2026/05/0123456789ab-01234567-0123456789abcdef.json";

    #[test]
    fn the_kind_of_a_path() {
        let check = |path: &str, expected: Option<Kind>| assert_eq!(check_path(path).ok(), expected, "{path}");
        check(NAME, Some(Kind::Run));
        check("history/v1/_notes/2026/x.json", Some(Kind::Auxiliary));
        check("history/v1/_events/2026/05/e-7c1f03-opened-0123456789abcdef.json", Some(Kind::Event));
        for path in ["_events", "_events/x.json", "_events/2026/x.json", "_events/2026/05/x.json", "_Events"] {
            check(&format!("history/v1/{path}"), None);
        }
        for part in ["", ".", "..", ".git", "-x", "a b", "a\\b", "a:b", "a\nb", "é"] {
            check(&format!("history/v1/_notes/{part}/x"), None);
        }
        for path in ["", "history", "history/v1", "history/v1/", "history/v2/_x/y", "/history/v1/_x/y", "history/v1/x"]
        {
            check(path, None);
        }
    }

    #[test]
    fn an_entry_of_others_is_a_run_that_may_be_recorded() {
        let blob = "0".repeat(40);
        let entry = Leaf::parse(NAME, &blob).expect("it is one");
        assert_eq!((entry.folder(), entry.suite(), entry.month()), ("cpu/2026/05", "cpu", ("2026", "05")));
        let hostile = NAME.replace("cpu", "c\u{1b}[31m");
        for path in ["", "x\u{1b}[31m/../../etc", &hostile, "history/v1/_notes/2026/x.json", &NAME.replace("cpu", "..")]
        {
            assert!(Leaf::parse(path, &blob).is_err(), "{path:?}");
        }
        assert!(Leaf::parse(NAME, "x").is_err_and(|fault| fault.contains("id")));
    }

    #[test]
    fn a_name_has_its_parts_or_is_refused() {
        assert!(Name::parse(NAME).is_ok());
        for (from, to) in [("2026", "26"), ("/05", "/5"), ("89ab-", "89AB-"), (".json", ""), ("-01234567", "")] {
            assert!(Name::parse(&NAME.replace(from, to)).is_err(), "{to}");
        }
    }
}

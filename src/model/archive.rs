//! The note of an archive in `history/`: which runs left the branch for a snapshot outside git, and what they were.
//!
//! The note stays on the branch, so that every clone knows those runs from lost ones and can check the snapshot. It names the
//! months by their trees: a file is covered where such a tree has it. Builds that do not know notes call the runs lost.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike as _, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record;
use crate::schema::patterns;
use sprag_base::digest::{Digest, is_hex};

pub const SCHEMA_VERSION: u64 = 1;

pub const ARCHIVE_ROOT: &str = "history/v1/_archive";

/// Runs of one year that are in a snapshot. Of several notes about one file, the newest decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub schema_version: u64,
    /// The name of the snapshot: its year, and the start of its root.
    #[schemars(extend("pattern" = r"^runs-[0-9]{4}-[0-9a-f]{16}\.parquet$"))]
    pub file: String,
    /// The size of the snapshot.
    pub bytes: u64,
    pub sha256: Digest,
    /// The number of runs in it.
    pub runs: u64,
    /// The Merkle root over the digests of its runs, in the order of their paths.
    pub root: Digest,
    /// The root of the history before they left, as `sprag history root` prints it.
    pub history_root: Digest,
    /// The number of runs below that root.
    pub history_size: u64,
    /// A commit that has all runs of the snapshot.
    #[schemars(extend("pattern" = patterns::COMMIT))]
    pub commit: String,
    /// The months that left, as `<suite>/<yyyy>/<mm>`, each with the id of its tree.
    pub folders: BTreeMap<String, String>,
    /// When they left, by the clock of that machine, to the second.
    #[schemars(extend("pattern" = patterns::SECOND))]
    pub time: DateTime<Utc>,
    /// Whether the runs are back on the branch; absent where they are not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
}

impl Archive {
    pub fn file_name(year: &str, root: &Digest) -> String {
        format!("runs-{year}-{}.parquet", root.short())
    }

    /// The path of the note, its bytes, and the subject of the commit that adds it alone.
    pub fn to_file(&self) -> (String, Vec<u8>, String) {
        let (path, bytes) = record::to_named(ARCHIVE_ROOT, self.time, self);
        let verb = if self.restored { "restore" } else { "archive" };
        (path, bytes, format!("sprag: {verb} {} runs of {}", self.runs, Archive::months([self])))
    }

    /// Reads the file at `path`, which must be as [`Archive::to_file`] writes it. The fault reads after the path.
    pub fn from_file(path: &str, bytes: &[u8]) -> Result<Archive, String> {
        let archive: Archive = record::read_named(bytes, SCHEMA_VERSION, "a note of an archive")?;
        let is_id = |text: &str| is_hex(text, 40..=40);
        let year = archive.folders.keys().next().and_then(|folder| folder.split('/').nth(1)).unwrap_or_default();
        let is_month = |folder: &str| {
            let parts: Vec<&str> = folder.split('/').collect();
            let digits = |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
            matches!(parts[..], [suite, of, month] if !suite.starts_with('_') && of == year && digits(of, 4) && digits(month, 2))
        };
        let is_valid = archive.file == Archive::file_name(year, &archive.root)
            && (0..=9999).contains(&archive.time.year())
            && is_id(&archive.commit)
            && archive.folders.iter().all(|(folder, tree)| is_month(folder) && is_id(tree));
        if !is_valid {
            return Err("is not a note of an archive: file, root and folders do not fit together".to_owned());
        }
        let (own_path, own_bytes, _) = archive.to_file();
        record::check_named(path, bytes, &(own_path, own_bytes)).map(|()| archive)
    }

    /// The notes that apply, by file: the newest of each.
    pub fn newest(notes: impl IntoIterator<Item = Archive>) -> Vec<Archive> {
        let mut newest: BTreeMap<String, Archive> = BTreeMap::new();
        for note in notes {
            let later = |other: &Archive| (other.time, other.restored) > (note.time, note.restored);
            if !newest.get(&note.file).is_some_and(later) {
                newest.insert(note.file.clone(), note);
            }
        }
        newest.into_values().collect()
    }

    /// The first and the last month of notes, as `2024-01 to 2024-03`.
    pub fn months<'a>(notes: impl IntoIterator<Item = &'a Archive>) -> String {
        let folders = notes.into_iter().flat_map(|note| note.folders.keys());
        let mut months: Vec<String> =
            folders.filter_map(|folder| Some(folder.split_once('/')?.1.replace('/', "-"))).collect();
        months.sort();
        match &months[..] {
            [] => String::new(),
            [first, .., last] if first != last => format!("{first} to {last}"),
            [first, ..] => first.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written_and_not_otherwise() {
        let root = Digest::from_parts(&[b"root"]);
        let month = |month: &str| (format!("cpu/2024/{month}"), "0123456789".repeat(4));
        let note = Archive {
            schema_version: 1,
            file: Archive::file_name("2024", &root),
            bytes: 1000,
            sha256: Digest::from_parts(&[b"file"]),
            runs: 3,
            root,
            history_root: Digest::from_parts(&[b"all"]),
            history_size: 5,
            commit: "abcdef0123".repeat(4),
            folders: ["11", "02"].map(month).into(),
            time: "2026-05-04T03:02:01Z".parse().expect("a time"),
            restored: false,
        };
        let (path, bytes, subject) = note.to_file();
        assert!(path.starts_with("history/v1/_archive/2026/05/"), "{path}");
        assert_eq!(subject, "sprag: archive 3 runs of 2024-02 to 2024-11");
        assert_eq!(Archive::from_file(&path, &bytes).as_ref(), Ok(&note));
        let text = String::from_utf8(bytes).expect("it is text");
        for (from, to, words) in [
            ("{", "", "is not JSON"),
            ("\"bytes\"", "\"byte\"", "is not a note of an archive"),
            ("\"schema_version\":1", "\"schema_version\":2", "has schema version 2"),
            ("runs-2024", "runs-2023", "do not fit together"),
            ("cpu/2024/02", "cpu/2023/02", "do not fit together"),
            ("cpu/2024/02", "_events/2024/02", "do not fit together"),
            ("cpu/2024/02", "cpu/2024/02/x", "do not fit together"),
            ("abcdef0123", "abcdef", "do not fit together"),
            ("\"runs\":3", "\"runs\": 3", "not in canonical form"),
            ("\"runs\":3", "\"runs\":4", "should be at"),
        ] {
            let fault = Archive::from_file(&path, text.replacen(from, to, 1).as_bytes()).expect_err(words);
            assert!(fault.contains(words), "{from}: {fault}");
        }
        let far = Archive { time: note.time + chrono::TimeDelta::days(366 * 8000), ..note.clone() }.to_file();
        assert!(Archive::from_file(&far.0, &far.1).is_err_and(|fault| fault.contains("not a note of an archive")));
        let odd_year = text.replace("2024", "2o24");
        assert!(Archive::from_file(&path, odd_year.as_bytes()).is_err_and(|fault| fault.contains("do not fit")));
        let later = |seconds: i64, restored: bool| Archive {
            time: note.time + chrono::TimeDelta::seconds(seconds),
            restored,
            ..note.clone()
        };
        let check = |notes: &[Archive], expected: &[Archive]| {
            assert_eq!(Archive::newest(notes.to_vec()), expected);
            assert_eq!(Archive::newest(notes.iter().rev().cloned()), expected);
        };
        check(&[], &[]);
        check(&[note.clone(), later(0, true)], &[later(0, true)]);
        check(&[note.clone(), later(1, true), later(2, false)], &[later(2, false)]);
        let other = Archive { file: "runs-2023-x.parquet".to_owned(), ..note.clone() };
        check(&[note.clone(), other.clone()], &[other, note.clone()]);
        assert_eq!(later(1, true).to_file().2, "sprag: restore 3 runs of 2024-02 to 2024-11");
        assert_eq!((Archive::months([]), Archive::months([&note])), (String::new(), "2024-02 to 2024-11".to_owned()));
    }
}

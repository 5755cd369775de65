//! Rules that neither the compiler nor Cargo checks: heavy crates, files, clocks, unsafe code, and lengths of files.

use std::path::Path;

use crate::sandbox::files;

/// The most lines a source file may have, tests included.
const MOST_LINES: usize = 800;

/// A command parses, calls and prints.
const MOST_COMMAND_LINES: usize = 150;

/// The only places that may name a heavy crate.
const DOORS: [(&str, &[&str]); 13] = [
    ("arrow_array", &["src/analysis/frame/"]),
    ("arrow_ipc", &["src/analysis/frame/"]),
    ("arrow_schema", &["src/analysis/frame/"]),
    ("arrow_select", &["src/analysis/frame/"]),
    ("parquet", &["src/analysis/frame/"]),
    ("cudarc", &["src/measure/gpu/"]),
    ("git2", &["src/history/"]),
    ("sha1", &["src/history/packs.rs"]),
    ("sha2", &["src/base/digest.rs"]),
    ("askama", &["src/report/pages/"]),
    ("clap", &["src/sprag/cli/"]),
    ("toml", &["src/base/toml.rs", "src/pipeline/config/", "src/evidence/"]),
    ("statrs", &["src/base/stats/"]),
];

/// What may touch files outside of tests; the last is compiled for tests alone.
const FILES: [&str; 8] = [
    "src/base/files.rs", "src/evidence/release/", "src/history/", "src/measure/", "src/pipeline/", "src/conformance/",
    "src/sprag/", "src/formats/golden.rs",
];

/// What may read a file that could be a pipe, past `sprag_base::files`: the repository's own `.git`, files of the system, and a test.
const READS: [&str; 4] = ["src/base/files.rs", "src/history/", "src/measure/", "src/conformance/tamper.rs"];

const UNSAFE: [&str; 2] = ["src/measure/", "src/kernels/"];

const CLOCK: [&str; 2] = ["src/measure/", "src/sprag/commands/"];

const CLOCK_WORDS: [&str; 3] = ["Utc::now", "Local::now", "SystemTime::now"];

/// Words that say nothing of a value, so that no name of ours has one.
const BANNED: &str =
    "told kept known whole beside wish errand lean means look again found sound stretches standing restless held";

#[test]
fn a_heavy_crate_has_one_door_and_so_have_files_clocks_and_unsafe() {
    let mut faults = Vec::new();
    for (path, text) in rust_files(&["src"]) {
        let begins_tests = |line: &str| matches!(line, "#[cfg(test)]" | "#![cfg(test)]");
        let tests = text.lines().position(begins_tests).unwrap_or(usize::MAX);
        let is_in = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
        for (number, line) in code_lines(&text) {
            for (name, doors) in DOORS {
                if names_crate(line, name) && !is_in(doors) {
                    faults.push(format!("{path}:{number}: names `{name}`, whose door is {}", doors.join(", ")));
                }
            }
            let touches = ["std::fs", "fs::", "File::"].iter().any(|word| names_path(line, word));
            if touches && !is_in(&FILES) && number < tests {
                faults.push(format!("{path}:{number}: touches a file, which is left to {}", FILES.join(", ")));
            }
            let reads = ["fs::read(", "fs::read_to_string(", "File::open("].iter().any(|word| line.contains(word));
            if reads && !is_in(&READS) && path != "src/formats/golden.rs" && number < tests {
                faults.push(format!("{path}:{number}: reads a file that may be a pipe: `sprag_base::files` opens it"));
            }
            if line.contains("unsafe {") && !is_in(&UNSAFE) {
                faults.push(format!("{path}:{number}: `unsafe` outside {}", UNSAFE.join(", ")));
            }
            let clock = CLOCK_WORDS.iter().find(|word| line.contains(*word));
            if let Some(word) = clock.filter(|_| !is_in(&CLOCK)) {
                faults.push(format!("{path}:{number}: `{word}` reads the wall clock"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let mut faults = Vec::new();
    for (path, text) in rust_files(&["src", "tests/it", "benches", "examples"]) {
        let lines = text.lines().count();
        let most = if path.starts_with("src/sprag/commands/") { MOST_COMMAND_LINES } else { MOST_LINES };
        if lines > most {
            faults.push(format!("{path}: {lines} lines, {most} are allowed; split it by noun"));
        }
        if !text.starts_with("//! ") {
            faults.push(format!("{path}: does not open with a word on what it is for (`//! …`)"));
        }
        if text.lines().any(hides_a_test) {
            faults.push(format!("{path}: hides a test"));
        }
        faults.extend(banned_names(&text).iter().map(|name| format!("{path}: `{name}` has a word of `BANNED`")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_checks_above_can_fail() {
    assert!(["ignore]", "should_panic(expected = \"x\")]"].iter().all(|rest| hides_a_test(&format!("    #[{rest}"))));
    assert!(!hides_a_test("    #[test]") && !hides_a_test("// ignore"));
    assert!(names_path("    fs::read(x)", "fs::") && !names_path("afs::read(x)", "fs::"));
    assert!(names_crate("use parquet::arrow::*;", "parquet") && names_crate("  let x = git2::Oid::zero();", "git2"));
    assert!(!names_crate("let parquet_rows = 3;", "parquet"));
    assert_eq!(banned_names("// held\nlet is_known = \"found\";\nNotFound WholeRun"), ["is_known", "WholeRun"]);
    assert_eq!(code_lines("// use a\nlet a = 1; // b").collect::<Vec<_>>(), [(2, "let a = 1; ")]);
}

/// Whether a line is an attribute that keeps a test from running or turns its failure into a pass.
fn hides_a_test(line: &str) -> bool {
    let attribute = line.trim_start().strip_prefix("#[").map(first_word);
    attribute.is_some_and(|word| ["ignore", "should_panic"].contains(&word))
}

/// The names with a banned word, outside of strings and comments; `NotFound` is a name of the standard library.
fn banned_names(text: &str) -> Vec<String> {
    let raw = |(place, part): (usize, _)| if place == 0 { Some(("", part)) } else { str::split_once(part, "\"#") };
    let plain: String = text.split("r#\"").enumerate().filter_map(raw).map(|(_, rest)| rest).collect();
    let plain = plain.replace("\\\\", "").replace("\\\"", "").replace("'\"'", "");
    let code = plain.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<&str>>().join("\n");
    let words = code.split('"').step_by(2).flat_map(|part| part.split(|c: char| !(c.is_alphanumeric() || c == '_')));
    let is_banned = |name: &&str| {
        let name = name.replace("NotFound", "").replace("NOT_FOUND", "");
        let is_mixed = name.contains(char::is_lowercase);
        let mut split = String::new();
        for c in name.chars() {
            if is_mixed && c.is_uppercase() {
                split.push('_');
            }
            split.push(c.to_ascii_lowercase());
        }
        split.split('_').any(|word| BANNED.split(' ').any(|banned| banned == word))
    };
    words.filter(is_banned).map(str::to_owned).collect()
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// Whether a path such as `std::fs` begins on the line.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '_' | ':' | '"' | '`')))
    })
}

fn names_crate(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = &line[start + name.len()..];
        let free = before.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '/' | '"' | '`')));
        free && (after.starts_with("::") || (after.starts_with(';') && line.trim_start().starts_with("use ")))
    })
}

/// The lines of a file with their numbers, comments left out.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let code = line.split("//").next().unwrap_or_default();
        (!code.trim().is_empty()).then_some((index + 1, code))
    })
}

/// The Rust files below folders of the project, by path from its root.
pub(crate) fn rust_files(folders: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let of = |folder: &&str| {
        let named = files(&root.join(folder)).into_iter().map(|(path, bytes)| (format!("{folder}/{path}"), bytes));
        let rust = named.filter(|(path, _)| path.ends_with(".rs"));
        rust.map(|(path, bytes)| (path, String::from_utf8(bytes).expect("a source file is text"))).collect::<Vec<_>>()
    };
    let files: Vec<(String, String)> = folders.iter().flat_map(of).collect();
    assert!(files.len() > 10, "the sources were not found");
    files
}

//! The house rules that neither the compiler nor Cargo knows: one door a heavy crate, where files, clocks and `unsafe`
//! may be met, how long a file is. The rules stand here as data. Who may import whom the crates' own `Cargo.toml` say.

use std::fs;
use std::path::{Path, PathBuf};

/// The most lines a source file may have, tests included.
const MOST_LINES: usize = 800;

/// The only places that may name a heavy crate; where that is a whole crate, its `Cargo.toml` says so.
const DOORS: [(&str, &[&str]); 9] = [
    ("polars_core", &["src/analysis/frame/"]),
    ("polars_io", &["src/analysis/frame/"]),
    ("cudarc", &["src/measure/gpu/"]),
    ("git2", &["src/history/"]),
    ("sha2", &["src/base/digest.rs"]),
    ("askama", &["src/report/pages/"]),
    ("clap", &["src/sprag/cli/"]),
    ("toml", &["src/base/toml.rs", "src/pipeline/config/", "src/evidence/"]),
    ("statrs", &["src/base/stats/"]),
];

/// The crates that may touch files, outside of tests; the last is compiled for tests alone.
const FILES: [&str; 8] = [
    "src/base/files.rs",
    "src/evidence/release/",
    "src/history/",
    "src/measure/",
    "src/pipeline/",
    "src/conformance/",
    "src/sprag/",
    "src/formats/golden.rs",
];

/// Where `unsafe` may stand.
const UNSAFE: [&str; 2] = ["src/measure/", "src/kernels/"];

/// Where the wall clock may be read.
const CLOCK: [&str; 2] = ["src/measure/", "src/sprag/commands/"];

/// Ways to read the wall clock.
const CLOCK_WORDS: [&str; 3] = ["Utc::now", "Local::now", "SystemTime::now"];

#[test]
fn a_heavy_crate_has_one_door_and_so_have_files_clocks_and_unsafe() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        // What follows is for tests alone: the foot of a file, or the whole of one.
        let begins_tests = |line: &str| matches!(line, "#[cfg(test)]" | "#![cfg(test)]");
        let tests = text.lines().position(begins_tests).unwrap_or(usize::MAX);
        for (number, line) in code_lines(&text) {
            for (name, doors) in DOORS {
                if names_crate(line, name) && !doors.iter().any(|door| path.starts_with(door)) {
                    faults.push(format!("{path}:{number}: names `{name}`, whose door is {}", doors.join(", ")));
                }
            }
            let touches = ["std::fs", "fs::", "File::"].iter().any(|word| names_path(line, word));
            let room = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
            if touches && !room(&FILES) && number < tests {
                faults.push(format!("{path}:{number}: touches a file, which is left to {}", FILES.join(", ")));
            }
            if line.contains("unsafe {") && !room(&UNSAFE) {
                faults.push(format!("{path}:{number}: `unsafe` outside {}", UNSAFE.join(", ")));
            }
            let clock = CLOCK_WORDS.iter().find(|word| line.contains(*word));
            if let Some(word) = clock.filter(|_| !CLOCK.iter().any(|room| path.starts_with(room))) {
                faults.push(format!("{path}:{number}: `{word}` reads the wall clock"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let mut faults = Vec::new();
    for (path, text) in all_rust_files() {
        let lines = text.lines().count();
        if lines > MOST_LINES {
            faults.push(format!("{path}: {lines} lines, {MOST_LINES} are allowed; split it by noun"));
        }
        if !text.starts_with("//! ") {
            faults.push(format!("{path}: does not open with a word on what it is for (`//! …`)"));
        }
        if text.lines().any(hides_a_test) {
            faults.push(format!("{path}: hides a test"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_checks_above_can_fail() {
    assert!(["ignore]", "should_panic(expected = \"x\")]"].iter().all(|rest| hides_a_test(&format!("    #[{rest}"))));
    assert!(!hides_a_test("    #[test]") && !hides_a_test("// ignore"));
    assert!(names_path("    fs::read(x)", "fs::") && !names_path("afs::read(x)", "fs::"));
    assert!(names_crate("use polars::prelude::*;", "polars"));
    assert!(names_crate("    let x = git2::Oid::zero();", "git2"));
    assert!(!names_crate("let polars_rows = 3;", "polars"));
    assert_eq!(
        code_lines("// use crate::commands\nlet a = 1; // crate::commands").map(|(_, line)| line).collect::<Vec<_>>(),
        ["let a = 1; "]
    );
}

/// Whether a line is an attribute that keeps a test from running or turns its failure into a pass.
fn hides_a_test(line: &str) -> bool {
    let attribute = line.trim_start().strip_prefix("#[").map(first_word);
    attribute.is_some_and(|word| ["ignore", "should_panic"].contains(&word))
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

fn sources() -> Vec<(String, String)> {
    all_rust_files().into_iter().filter(|(path, _)| path.starts_with("src/")).collect()
}

/// Every Rust file of the project with its path from the root.
fn all_rust_files() -> Vec<(String, String)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["src", "tests", "benches", "examples"].iter().map(|name| root.join(name)).collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name =
                    path.strip_prefix(root).expect("it lies below the root").to_string_lossy().replace('\\', "/");
                files.push((name, fs::read_to_string(&path).expect("a source file is text")));
            }
        }
    }
    assert!(files.len() > 10, "the sources were not found");
    files.sort();
    files
}

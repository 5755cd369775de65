//! The house rules that a compiler does not know: who may import whom, one door a heavy crate, short files, a word
//! on every module. The rules stand here as data.

use std::fs;
use std::path::{Path, PathBuf};

/// The most lines a source file may have, tests included.
const MOST_LINES: usize = 400;

/// Which rooms a room may import. `cmd` may import all; `main.rs` sees `cli` and `cmd` alone.
const IMPORTS: [(&str, &[&str]); 13] = [
    ("stats", &[]),
    ("model", &["stats"]),
    ("kernels", &["model", "stats"]),
    ("formats", &["model", "stats"]),
    ("history", &["model", "stats"]),
    ("frame", &["model", "stats"]),
    ("analysis", &["model", "stats"]),
    ("evidence", &["model", "stats"]),
    ("report", &["model", "stats"]),
    ("measure", &["kernels", "model", "stats"]),
    ("testing", &["analysis", "formats", "measure", "model", "stats"]),
    ("cli", &[]),
    ("config", &[]),
];

/// The only places that may name a heavy crate.
const DOORS: [(&str, &[&str]); 14] = [
    ("polars", &["src/frame/"]),
    ("cudarc", &["src/measure/gpu/"]),
    ("git2", &["src/history/git.rs", "src/history/git/"]),
    ("sha1", &["src/history/git/append/packed.rs"]),
    ("sha2", &["src/model/digest.rs"]),
    ("askama", &["src/report/pages/"]),
    ("plotters", &["src/report/chart/"]),
    ("plotters_backend", &["src/report/chart/"]),
    ("clap", &["src/cli/"]),
    ("clap_complete", &["src/cli/"]),
    ("clap_mangen", &["src/cli/"]),
    ("anyhow", &["src/cmd/", "src/main.rs"]),
    ("toml", &["src/config/", "src/evidence/"]),
    ("statrs", &["src/stats/"]),
];

/// The rooms that may touch files, outside of tests; the last is compiled for tests alone.
const FILES: [&str; 6] =
    ["src/cmd/", "src/config/", "src/history/", "src/measure/", "src/testing/", "src/formats/golden.rs"];

/// Where `unsafe` may stand.
const UNSAFE: [&str; 2] = ["src/measure/", "src/kernels/"];

/// Where the wall clock may be read.
const CLOCK: [&str; 2] = ["src/measure/", "src/cmd/"];

/// Ways to read the wall clock.
const CLOCK_WORDS: [&str; 3] = ["Utc::now", "Local::now", "SystemTime::now"];

#[test]
fn rooms_import_downwards_only() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let Some(room) = path.strip_prefix("src/").and_then(|rest| rest.split('/').next()) else { continue };
        if room == "cmd" || room == "lib.rs" {
            continue;
        }
        let allowed: &[&str] = match room {
            "main.rs" => &["cli", "cmd"],
            _ => match IMPORTS.iter().find(|(name, _)| *name == room) {
                Some((_, allowed)) => allowed,
                None => {
                    faults.push(format!("{path}: the room `{room}` is not in the table of imports"));
                    continue;
                }
            },
        };
        // What follows is for tests alone: the foot of a file, or the whole of one.
        let begins_tests = |line: &str| matches!(line, "#[cfg(test)]" | "#![cfg(test)]");
        let tests = text.lines().position(begins_tests).unwrap_or(usize::MAX);
        let lines: Vec<(usize, &str)> = code_lines(&text).collect();
        for (place, (number, line)) in lines.iter().map(|(number, line)| (*number, *line)).enumerate() {
            // A list over several lines is read as one.
            let open = line.contains("crate::{") && !line.contains('}');
            let rest = lines[place..].iter().take_while(|(_, part)| open && !part.contains('}'));
            let list: String = rest.map(|(_, part)| part.trim()).collect();
            let line = if open { format!("{list}}}") } else { line.to_owned() };
            let line = line.as_str();
            for used in used_rooms(line) {
                if used != room && !allowed.contains(&used) {
                    faults.push(format!("{path}:{number}: `{room}` imports `{used}`"));
                }
            }
            // The tests at the foot of a file lie one module deeper.
            let depth = depth(&path) + usize::from(number > tests);
            if line.contains(&"super::".repeat(depth)) {
                faults.push(format!("{path}:{number}: climbs out of its room with `super`; write `crate::…`"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

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
    assert_eq!(used_rooms("use crate::model::run::Run; crate::stats::x()"), ["model", "stats"]);
    assert_eq!(used_rooms("use sprag::{cli, cmd};"), ["cli", "cmd"]);
    assert_eq!(used_rooms("use crate::{frame, report::pages};"), ["frame", "report"]);
    assert!(["ignore]", "should_panic(expected = \"x\")]"].iter().all(|rest| hides_a_test(&format!("    #[{rest}"))));
    assert!(!hides_a_test("    #[test]") && !hides_a_test("// ignore"));
    assert_eq!([depth("src/kernels/tile/pack.rs"), depth("src/kernels/mod.rs")], [3, 1]);
    assert!(names_path("    fs::read(x)", "fs::") && !names_path("afs::read(x)", "fs::"));
    assert!(names_crate("use polars::prelude::*;", "polars"));
    assert!(names_crate("    let x = git2::Oid::zero();", "git2"));
    assert!(!names_crate("let polars_rows = 3;", "polars"));
    assert!(!names_crate("use plotters_backend::X;", "plotters"));
    assert_eq!(
        code_lines("// use crate::cmd\nlet a = 1; // crate::cmd").map(|(_, line)| line).collect::<Vec<_>>(),
        ["let a = 1; "]
    );
}

/// Whether a line is an attribute that keeps a test from running or turns its failure into a pass.
fn hides_a_test(line: &str) -> bool {
    let attribute = line.trim_start().strip_prefix("#[").map(first_word);
    attribute.is_some_and(|word| ["ignore", "should_panic"].contains(&word))
}

/// How many modules deep the file of a module lies: that many `super` reach the root of the crate.
fn depth(path: &str) -> usize {
    let inside = path.trim_start_matches("src/").trim_end_matches("/mod.rs");
    inside.split('/').count()
}

/// The names after `crate::` or `sprag::` on a line; of `{…}` each first name.
fn used_rooms(line: &str) -> Vec<&str> {
    let mut rooms = Vec::new();
    for root in ["crate::", "sprag::"] {
        for (start, _) in line.match_indices(root) {
            if line[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let rest = &line[start + root.len()..];
            match rest.strip_prefix('{').and_then(|rest| rest.rsplit_once('}')) {
                Some((list, _)) => rooms.extend(list.split(',').map(|item| first_word(item.trim()))),
                None => rooms.push(first_word(rest)),
            }
        }
    }
    // A macro or a type at the root of the crate is no room.
    rooms.retain(|room| room.starts_with(|c: char| c.is_ascii_lowercase()));
    rooms
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
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

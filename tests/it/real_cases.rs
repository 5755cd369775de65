//! Changes that other projects acknowledged, in histories that they published: each must be found at its commit.
//!
//! The histories are not part of this repository. They are read from `../shared/data/real` if that exists: `data.js` files
//! of github-action-benchmark, with runs in the order of commits, and one table. `real_cases.json` lists what was
//! acknowledged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;
use sprag_base::stats::describe;

use crate::sandbox::{Sandbox, json};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Move {
    Up,
    Down,
}
use Move::{Down, Up};

const JAGUA: &str = "jagua-rs.data.js";
const KOMA: &str = "KomaMRI.jl.data.js";
const NEUREKA: &str = "neureka.data.js";
const LIMITED: &str = "mountpoint-s3.mem_limited.peak_mem.data.js";
const UPLOAD: &str = "mountpoint-s3.incremental_upload.peak_mem.data.js";
const TIGERBEETLE: &str = "tigerbeetle-otava-demo.csv";

/// The file, the commit as the list names it, and where values go: of series with one of these names, one must move so.
type Case = (&'static str, &'static str, &'static [(Move, &'static [&'static str])]);

/// The list except [`LEFT_OUT`] and the table. All values are times, cycles or memory, so less is better.
const CASES: [Case; 14] = [
    (JAGUA, "367b69440", &[(Down, &["cde_"])]),
    (JAGUA, "9718a0bdd", &[(Down, &["cde_detect_1k/", "cde_update_1k/", "cde_collect_1k/5"])]),
    (JAGUA, "1eb339616", &[(Down, &["cde_detect_1k/", "cde_collect_1k/5"])]),
    (JAGUA, "cf5f8cb86", &[(Down, &["cde_collect_1k/", "cde_detect_1k/"])]),
    (KOMA, "e09ba4475", &[(Down, &["/CPU/"])]),
    (KOMA, "1457a4c3a", &[(Down, &["/GPU/"])]),
    (KOMA, "1b6c5becc", &[(Down, &["MRI Lab/Bloch/GPU/"])]),
    (KOMA, "4a1d50a7a", &[(Down, &["/GPU/"])]),
    (KOMA, "cf3718bfb", &[(Up, &["MRI Lab/Bloch/CPU/8 thread(s)"])]),
    (NEUREKA, "056e77d85", &[(Down, &["neureka_basic_tests:t2"])]),
    (NEUREKA, "04daf31c9", &[(Up, &["neureka_basic_tests:t5"]), (Down, &["neureka_basic_tests:t6"])]),
    (LIMITED, "438bb9c0b", &[(Down, &["mix_"]), (Up, &["rand_read", "seq_read"])]),
    (LIMITED, "a8af889f0", &[(Up, &["rand_read", "seq_read"])]),
    (UPLOAD, "b3832bfd7", &[(Down, &["mix_", "seq_write"])]),
];

/// How the list names the changes of the table, which are at these indices; the outlier at index 10 is not a change.
const TABLE: (&str, &str) = (TIGERBEETLE, "indices 15 and 71");
const TABLE_MOVES: [(u64, Move); 2] = [(15, Down), (71, Up)];
const OUTLIER: u64 = 10;

/// A step by a third, from many levels to one.
const ROUGH: (&str, u64) = ("detect/example21.csv", 682);

/// A case that no detector of lasting changes can find: the file shows one deviating run, then the old level.
const LEFT_OUT: (&str, &str) = (NEUREKA, "4dd60e6 / fe975e92b..fd4f5b40");

/// The widest range, in commits, that still says where to look.
const WIDEST: u64 = 5;

#[test]
fn acknowledged_changes_are_detected_at_their_commits() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/real");
    let Ok(list) = fs::read_to_string(folder.join("real_cases.json")) else {
        return eprintln!("skipped: there is no folder `../shared/data/real` with histories of other projects");
    };
    let list: Value = json(&list);
    let of = |entry: &Value| ["file", "commit"].map(|field| entry[field].as_str().expect("a text").to_owned());
    let mut listed: Vec<[String; 2]> = list.as_array().expect("a list").iter().map(of).collect();
    let mut expected: Vec<[String; 2]> = CASES
        .iter()
        .map(|(file, commit, _)| (*file, *commit))
        .chain([TABLE, LEFT_OUT])
        .map(|(file, commit)| [file.to_owned(), commit.to_owned()])
        .collect();
    listed.sort();
    listed.dedup();
    expected.sort();
    assert_eq!(listed, expected, "the list names other changes");

    let mut histories: BTreeMap<&str, History> = BTreeMap::new();
    let mut faults = Vec::new();
    for (file, commit, moves) in &CASES {
        let history = histories.entry(file).or_insert_with(|| History::read(&folder, file));
        let index =
            history.commits.iter().position(|id| id.starts_with(commit)).expect("a run is of the commit") as u64;
        for (direction, names) in *moves {
            let named = |series: &&String| names.iter().any(|name| series.contains(name));
            let series: Vec<&String> = history.series.keys().filter(named).collect();
            assert!(names.iter().all(|name| series.iter().any(|series| series.contains(name))), "{names:?} is nobody");
            if !series.iter().any(|series| history.moves(series, index) == Some(*direction)) {
                faults.push(format!("{file} {commit} ({index}): none of {series:?} goes {direction:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let table = History::read(&folder, TIGERBEETLE);
    for (index, direction) in TABLE_MOVES {
        assert_eq!(table.moves("tigerbeetle", index), Some(direction), "{index}");
    }
    let (_, ranges) = table.changes("tigerbeetle");
    assert!(ranges.iter().all(|[first, last]| !(first..=last).contains(&&OUTLIER)), "{ranges:?}");
    let rough = History::read(&folder, ROUGH.0);
    let name = rough.series.keys().next().expect("a series");
    assert_eq!(rough.moves(name, ROUGH.1), Some(Down), "{}", rough.report);
}

#[test]
fn a_change_elsewhere_the_other_way_or_anywhere_does_not_pass() {
    let level = |index: u64| if index < 20 { 1.0 } else { 2.0 };
    let check = |changes: &str, ranges: &str, index: u64, expected: Option<Move>| {
        let series = [("a".to_owned(), (0..40).map(|index| (index, vec![level(index)])).collect())].into();
        let report = json(&format!("{{\"a\": {{\"changes\": {changes}, \"ranges\": {ranges}}}}}"));
        let history = History { commits: Vec::new(), series, report };
        assert_eq!(history.moves("a", index), expected, "{index} {}", history.report);
    };
    check("[20]", "[[19, 21]]", 20, Some(Up));
    check("[20]", "[[19, 21]]", 22, None);
    check("[20]", "[[10, 30]]", 20, None);
    check("[]", "[]", 20, None);
    // The level before a change is the one since the change before it.
    check("[20, 30]", "[[20, 20], [30, 30]]", 30, None);
    check("[20, 30]", "[[20, 20], [30, 30]]", 20, Some(Up));
}

/// A history, and what `sprag detect` reports of it.
struct History {
    /// In the order of the runs; empty for a table.
    commits: Vec<String>,
    /// The values of each series by index.
    series: BTreeMap<String, BTreeMap<u64, Vec<f64>>>,
    report: Value,
}

impl History {
    fn read(folder: &Path, file: &str) -> History {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("`{file}`: {error}"));
        let mut commits: Vec<String> = Vec::new();
        let mut points: Vec<(String, u64, f64)> = Vec::new();
        match text.trim().strip_prefix("window.BENCHMARK_DATA = ") {
            // Runs of one commit share an index.
            Some(data) => {
                let data = json(data.trim_end_matches(';'));
                let suites = data["entries"].as_object().expect("suites by name");
                for run in suites.values().flat_map(|runs| runs.as_array().expect("a list of runs")) {
                    let commit = run["commit"]["id"].as_str().expect("a run has a commit");
                    let index = commits.iter().position(|id| id == commit).unwrap_or(commits.len());
                    if index == commits.len() {
                        commits.push(commit.to_owned());
                    }
                    for bench in run["benches"].as_array().expect("a run has benches") {
                        let name = bench["name"].as_str().expect("a bench has a name").to_owned();
                        points.push((name, index as u64, bench["value"].as_f64().expect("a bench has a value")));
                    }
                }
            }
            None => {
                let mut rows = text.lines().map(|row| row.split(',').collect::<Vec<&str>>());
                let header = rows.next().expect("a table has a header");
                let column =
                    |name: &str| header.iter().position(|cell| *cell == name).expect("the table has the column");
                let [series, index, value] = ["series", "index", "value"].map(column);
                for cells in rows {
                    let number = |cell: usize| cells[cell].parse::<f64>().expect("a number");
                    points.push((cells[series].to_owned(), number(index) as u64, number(value)));
                }
            }
        }
        let mut table = "series,index,commit,time,value\n".to_owned();
        let mut series: BTreeMap<String, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
        for (name, index, value) in points {
            let commit = commits.get(index as usize).map_or("", String::as_str);
            writeln!(table, "\"{name}\",{index},{commit},,{value}").expect("a text takes all");
            series.entry(name).or_default().entry(index).or_default().push(value);
        }
        let sandbox = Sandbox::empty();
        sandbox.write("t.csv", &table);
        History { commits, series, report: sandbox.ends(0, &["detect", "t.csv"]).json() }
    }

    /// The changes of a series and their ranges.
    fn changes(&self, series: &str) -> (Vec<u64>, Vec<[u64; 2]>) {
        let list = |field: &str| self.report[series][field].clone();
        let changes = serde_json::from_value(list("changes")).expect("a list of numbers");
        (changes, serde_json::from_value(list("ranges")).expect("a list of pairs"))
    }

    /// The direction of a series at a change whose range holds `index` and is not wider than [`WIDEST`].
    fn moves(&self, series: &str, index: u64) -> Option<Move> {
        let (changes, ranges) = self.changes(series);
        let is_it = |[first, last]: &[u64; 2]| (*first..=*last).contains(&index) && last - first < WIDEST;
        let place = ranges.iter().position(is_it)?;
        let begin = if place == 0 { 0 } else { changes[place - 1] };
        let end = changes.get(place + 1).copied().unwrap_or(u64::MAX);
        let [before, after] = [begin..changes[place], changes[place]..end].map(|part| {
            let points: Vec<f64> = self.series[series].range(part).filter_map(|(_, of)| describe::median(of)).collect();
            describe::median(&points)
        });
        match (before?, after?) {
            (before, after) if after > before => Some(Up),
            (before, after) if after < before => Some(Down),
            _ => None,
        }
    }
}

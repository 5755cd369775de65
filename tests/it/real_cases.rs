//! Changes that other projects acknowledged, in the histories that they published: each must be found at its commit.
//!
//! The histories are no part of this repository. Where they lie beside its folder, in `../shared/data/real`, they are
//! read; elsewhere there is nothing to hold. They are `data.js` of github-action-benchmark, whose runs stand in the order
//! of the commits, and one table; `real_cases.json` lists what was acknowledged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sprag_base::stats::describe;

use crate::sandbox::Sandbox;

/// A change that was acknowledged, and what of it must be found.
struct Case {
    file: &'static str,
    /// As the list names it.
    commit: &'static str,
    /// The first point of the new level.
    at: At,
    /// Whose values go where: parts of the names of the series, of which one at least must be found.
    moves: &'static [(Move, &'static [&'static str])],
}

enum At {
    Commit(&'static str),
    Index(u64),
}

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

/// The list in full but for [`LEFT_OUT`]. All values are times, cycles or memory: less is better.
const CASES: [Case; 16] = [
    case(JAGUA, "367b69440", &[(Down, &["cde_"])]),
    case(JAGUA, "9718a0bdd", &[(Down, &["cde_detect_1k/", "cde_update_1k/", "cde_collect_1k/5"])]),
    case(JAGUA, "1eb339616", &[(Down, &["cde_detect_1k/", "cde_collect_1k/5"])]),
    case(JAGUA, "cf5f8cb86", &[(Down, &["cde_collect_1k/", "cde_detect_1k/"])]),
    case(KOMA, "e09ba4475", &[(Down, &["/CPU/"])]),
    case(KOMA, "1457a4c3a", &[(Down, &["/GPU/"])]),
    case(KOMA, "1b6c5becc", &[(Down, &["MRI Lab/Bloch/GPU/"])]),
    case(KOMA, "4a1d50a7a", &[(Down, &["/GPU/"])]),
    case(KOMA, "cf3718bfb", &[(Up, &["MRI Lab/Bloch/CPU/8 thread(s)"])]),
    case(NEUREKA, "056e77d85", &[(Down, &["neureka_basic_tests:t2"])]),
    case(NEUREKA, "04daf31c9", &[(Up, &["neureka_basic_tests:t5"]), (Down, &["neureka_basic_tests:t6"])]),
    case(LIMITED, "438bb9c0b", &[(Down, &["mix_"]), (Up, &["rand_read", "seq_read"])]),
    case(LIMITED, "a8af889f0", &[(Up, &["rand_read", "seq_read"])]),
    case(UPLOAD, "b3832bfd7", &[(Down, &["mix_", "seq_write"])]),
    Case { file: TIGERBEETLE, commit: TIGERBEETLE_AT, at: At::Index(15), moves: &[(Down, &["tigerbeetle"])] },
    Case { file: TIGERBEETLE, commit: TIGERBEETLE_AT, at: At::Index(71), moves: &[(Up, &["tigerbeetle"])] },
];

const TIGERBEETLE_AT: &str = "indices 15 and 71";

/// What no detector of lasting changes can name, as file and commit: `t2` and `t3` are 15 to 21 % up in one run of one
/// commit, 199bf8a9b, and back in the next. What the file holds of the commits that the list names, fe975e92b and fd4f5b404,
/// has the level of 14875ae63 and the two before it again, and the three commits between stand alone.
const LEFT_OUT: (&str, &str) = (NEUREKA, "4dd60e6 / fe975e92b..fd4f5b40");

/// The outlier of the table that is no change.
const OUTLIER: u64 = 10;

/// The widest range that still says where to look, in commits.
const WIDEST: u64 = 5;

const fn case(file: &'static str, commit: &'static str, moves: &'static [(Move, &'static [&'static str])]) -> Case {
    Case { file, commit, at: At::Commit(commit), moves }
}

#[test]
fn acknowledged_changes_are_detected_at_their_commits() {
    let Some(folder) = folder() else {
        eprintln!("skipped: there is no folder `../shared/data/real` with histories of other projects");
        return;
    };
    let listed = parsed(&fs::read_to_string(folder.join("real_cases.json")).expect("the list is text"));
    let listed: Vec<(&str, &str)> = listed.as_array().expect("a list").iter().map(named).collect();
    let known =
        |place: &(&str, &str)| *place == LEFT_OUT || CASES.iter().any(|case| (case.file, case.commit) == *place);
    assert!(listed.iter().all(known), "the list names a change that this test does not know: {listed:?}");
    assert!(listed.contains(&LEFT_OUT), "{listed:?}");

    let mut histories: BTreeMap<&str, History> = BTreeMap::new();
    let mut faults = String::new();
    for case in &CASES {
        assert!(listed.contains(&(case.file, case.commit)), "`{}` is not in the list", case.commit);
        let history = histories.entry(case.file).or_insert_with(|| History::read(&folder, case.file));
        for (direction, names) in case.moves {
            let index = history.index(&case.at);
            let named = |series: &&String| names.iter().any(|name| series.contains(name));
            let series: Vec<&String> = history.series.keys().filter(named).collect();
            assert!(names.iter().all(|name| series.iter().any(|series| series.contains(name))), "{names:?} is nobody");
            let found = series.iter().filter(|series| history.moves(series, index) == Some(*direction));
            if found.count() == 0 {
                writeln!(faults, "{} {} ({index}): none of {series:?} goes {direction:?}", case.file, case.commit)
                    .expect("a text takes all");
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
    let printed = &histories[TIGERBEETLE].found["tigerbeetle"]["ranges"];
    assert!(ranges(printed).all(|[first, last]| !(first..=last).contains(&OUTLIER)), "{printed}");
}

#[test]
fn a_change_elsewhere_the_other_way_or_anywhere_does_not_pass() {
    let levels = |index: u64| if index < 20 { 1.0 } else { 2.0 };
    let series = BTreeMap::from([("a".to_owned(), (0..40).map(|index| (index, vec![levels(index)])).collect())]);
    let with = |changes: &str, ranges: &str| History {
        commits: vec!["0a1".to_owned(), "0b2".to_owned()],
        series: series.clone(),
        found: parsed(&format!("{{\"a\": {{\"changes\": {changes}, \"ranges\": {ranges}}}}}")),
    };
    let check = |history: &History, index: u64, expected: Option<Move>| {
        assert_eq!(history.moves("a", index), expected, "{index} {}", history.found);
    };
    check(&with("[20]", "[[19, 21]]"), 20, Some(Up));
    check(&with("[20]", "[[19, 21]]"), 22, None);
    check(&with("[20]", "[[10, 30]]"), 20, None);
    check(&with("[]", "[]"), 20, None);
    // The level before a change is the one since the change before it.
    check(&with("[20, 30]", "[[20, 20], [30, 30]]"), 30, None);
    check(&with("[20, 30]", "[[20, 20], [30, 30]]"), 20, Some(Up));
    assert_eq!(with("[]", "[]").index(&At::Commit("0b")), 1);
}

/// Where the histories lie, if they do.
fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/real");
    folder.join("real_cases.json").is_file().then_some(folder)
}

/// File and commit of an entry of the list.
fn named(entry: &Value) -> (&str, &str) {
    let text = |field: &str| entry[field].as_str().unwrap_or_else(|| panic!("{entry} has no `{field}`"));
    (text("file"), text("commit"))
}

/// A history, and what `sprag detect` finds in it.
struct History {
    /// In the order of the runs; empty for a table.
    commits: Vec<String>,
    /// The values of each series by index.
    series: BTreeMap<String, BTreeMap<u64, Vec<f64>>>,
    found: Value,
}

impl History {
    fn read(folder: &Path, file: &str) -> History {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("`{file}`: {error}"));
        let mut history = History { commits: Vec::new(), series: BTreeMap::new(), found: Value::Null };
        match text.trim().strip_prefix("window.BENCHMARK_DATA = ") {
            Some(json) => history.add_runs(&parsed(json.trim_end_matches(';'))),
            None => history.add_table(&text),
        }
        let sandbox = Sandbox::empty();
        sandbox.write("t.csv", &history.table());
        history.found = parsed(&sandbox.sprag(&["detect", "t.csv"]).expect(0).out);
        history
    }

    /// The runs of a `data.js`: several of one commit stand at one index.
    fn add_runs(&mut self, data: &Value) {
        let suites = data["entries"].as_object().expect("suites by name");
        for run in suites.values().flat_map(|runs| runs.as_array().expect("a list of runs")) {
            let commit = run["commit"]["id"].as_str().expect("a run has a commit");
            let known = self.commits.iter().position(|known| known == commit);
            let index = known.unwrap_or_else(|| {
                self.commits.push(commit.to_owned());
                self.commits.len() - 1
            });
            for bench in run["benches"].as_array().expect("a run has benches") {
                let name = bench["name"].as_str().expect("a bench has a name");
                self.add(name, index as u64, bench["value"].as_f64().expect("a bench has a value"));
            }
        }
    }

    fn add_table(&mut self, table: &str) {
        for row in table.lines().skip(1) {
            let cells: Vec<&str> = row.split(',').collect();
            let [series, index, _, _, value] = cells.as_slice() else { panic!("`{row}` has other cells") };
            self.add(series, index.parse().expect("an index"), value.parse().expect("a value"));
        }
    }

    fn add(&mut self, series: &str, index: u64, value: f64) {
        self.series.entry(series.to_owned()).or_default().entry(index).or_default().push(value);
    }

    /// The table that `sprag detect` reads.
    fn table(&self) -> String {
        let mut table = "series,index,commit,time,value\n".to_owned();
        for (name, points) in &self.series {
            for (index, values) in points {
                let commit = usize::try_from(*index).ok().and_then(|index| self.commits.get(index));
                for value in values {
                    writeln!(table, "\"{name}\",{index},{},,{value}", commit.map_or("", |commit| commit))
                        .expect("a text takes all");
                }
            }
        }
        table
    }

    fn index(&self, at: &At) -> u64 {
        match at {
            At::Index(index) => *index,
            At::Commit(prefix) => {
                let found = self.commits.iter().position(|commit| commit.starts_with(prefix));
                found.unwrap_or_else(|| panic!("no run is of `{prefix}`")) as u64
            }
        }
    }

    /// Where the series goes by a change that may lie at that index and in few other places; nowhere where none is reported.
    fn moves(&self, series: &str, index: u64) -> Option<Move> {
        let found = &self.found[series];
        let changes: Vec<u64> = numbers(&found["changes"]).collect();
        let is_it = |[first, last]: &[u64; 2]| (*first..=*last).contains(&index) && last - first < WIDEST;
        let place = ranges(&found["ranges"]).position(|range| is_it(&range))?;
        let end = |place: usize| changes.get(place).copied().unwrap_or(u64::MAX);
        let begin = if place == 0 { 0 } else { changes[place - 1] };
        let [before, after] = [begin..changes[place], changes[place]..end(place + 1)].map(|part| {
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

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

fn numbers(list: &Value) -> impl Iterator<Item = u64> {
    list.as_array().expect("a list").iter().map(|number| number.as_u64().expect("a number"))
}

fn ranges(list: &Value) -> impl Iterator<Item = [u64; 2]> {
    list.as_array().expect("a list").iter().map(|range| {
        let ends: Vec<u64> = numbers(range).collect();
        [ends[0], ends[1]]
    })
}

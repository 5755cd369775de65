//! `sprag detect`: change points in tables of histories, and how often there are false ones.

use std::fmt::Write as _;

use rayon::prelude::*;
use serde_json::{Value, json};
use sprag_analysis::changes::detect;
use sprag_analysis::changes::sensitivity::Sensitivity;
use sprag_base::stats::random::SplitMix64;

use crate::crafted::rounds;
use crate::sandbox::Sandbox;

#[allow(dead_code, reason = "the bench that it belongs to uses all of it")]
#[path = "../../benches/changepoint/generate.rs"]
mod generate;

const HEADER: &str = "series,index,commit,time,value\n";

/// Rows of a series with that many points at each level, within 0.01 %.
fn rows(name: &str, parts: &[(usize, f64)]) -> String {
    let mut random = SplitMix64::new(1);
    let values = parts.iter().flat_map(|(count, level)| vec![*level; *count]);
    values.enumerate().fold(String::new(), |mut rows, (index, level)| {
        let value = level * (1.0 + 1e-4 * random.normal());
        writeln!(rows, "{name},{index},{index:010x},{},{value}", 1_600_000_000 + index).expect("a text takes all");
        rows
    })
}

fn sandbox(table: &str) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.write("t.csv", table);
    sandbox
}

#[test]
fn changes_are_listed_by_series() {
    let table =
        [HEADER.to_owned(), rows("a/1", &[(40, 1.0), (30, 1.1)]), rows("\"b, \"\"2\"\"\"", &[(50, 3e9)])].concat();
    let sandbox = sandbox(&table);
    let steps = &sandbox.ends(0, &["detect", "t.csv"]).json()["a/1"]["steps"];
    let levels: Vec<f64> = steps[0].as_array().expect("two levels").iter().filter_map(Value::as_f64).collect();
    assert!((levels[0] - 1.0).abs() < 1e-4 && (levels[1] - 1.1).abs() < 1e-4 && levels.len() == 2, "{steps}");
    let expected = json!({
        "a/1": { "changes": [40], "drifts": [], "ranges": [[40, 40]], "steps": steps },
        "b, \"2\"": { "changes": [], "drifts": [], "ranges": [] },
    });
    assert_eq!(sandbox.ends(0, &["detect", "t.csv"]).json(), expected);
    assert_eq!(sandbox.sprag_reading(&table, &["detect", "-"]).expect(0).json(), expected);
    assert_eq!(sandbox.ends(0, &["detect", "t.csv", "--output", "made/pred.json"]).out, "");
    assert_eq!(sandbox.json("made/pred.json"), expected);
    let least = sandbox.ends(0, &["detect", "t.csv", "--least", "0.2"]);
    assert_eq!(least.json()["a/1"]["changes"], json!([]));
}

#[test]
fn values_that_alternate_are_two_modes_and_no_changes() {
    let parts: Vec<(usize, f64)> = (0..14).map(|part| ([9, 6, 11, 7][part % 4], [1.0, 1.2][part % 2])).collect();
    let sandbox = sandbox(&(HEADER.to_owned() + &rows("a", &parts)));
    let output = sandbox.ends(0, &["detect", "t.csv"]).json();
    assert_eq!((&output["a"]["changes"], &output["a"]["drifts"]), (&json!([]), &json!([])), "{output}");
    let modes = output["a"]["modes"].as_array().expect("a list of modes");
    assert_eq!(modes.len(), 1, "{output}");
    let is_near = |key: &str, expected: f64| (modes[0][key].as_f64().expect("a number") - expected).abs() < 0.03;
    assert!(is_near("low", 1.0) && is_near("high", 1.2) && is_near("share", 0.43), "{output}");
}

#[test]
fn series_of_odd_values_show_what_they_hold() {
    // Values of a series, and its changes: zeros, negative values, a gap of indices, and equal values that no noise tells apart.
    let ramp = |count: usize| (0..count).map(|place| (place % 3) as f64 * 1e-3);
    let cases: [(&str, Vec<f64>, &[usize]); 5] = [
        ("equal", vec![7.0; 60], &[]),
        ("zeros", vec![0.0; 60], &[]),
        ("from zero", [vec![0.0; 30], ramp(30).map(|one| 5.0 + one).collect()].concat(), &[30]),
        ("negative", ramp(30).map(|one| one - 5.0).chain(ramp(30).map(|one| one - 4.0)).collect(), &[30]),
        ("falls below zero", ramp(30).map(|one| 0.5 + one).chain(ramp(30).map(|one| one - 0.5)).collect(), &[30]),
    ];
    let mut table = HEADER.to_owned();
    for (name, values, _) in &cases {
        for (index, value) in values.iter().enumerate() {
            let gap = if index < 30 { 0 } else { 100_000 };
            writeln!(table, "{name},{},{index:010x},{},{value}", index + gap, 1_600_000_000 + index + gap)
                .expect("a text takes all");
        }
    }
    let output = sandbox(&table).ends(0, &["detect", "t.csv"]).json();
    for (name, _, changes) in cases {
        let expected: Vec<usize> = changes.iter().map(|change| change + 100_000).collect();
        assert_eq!(
            (&output[name]["changes"], &output[name]["drifts"]),
            (&json!(expected), &json!([])),
            "{name}: {output}"
        );
    }
}

#[test]
fn streamed_results_are_listed_by_length() {
    let sandbox = sandbox(&(HEADER.to_owned() + &rows("a", &[(40, 1.0), (10, 1.1)])));
    let printed = sandbox.ends(0, &["detect", "t.csv", "--stream"]).json();
    let printed = printed["a"].as_object().expect("an object of lengths");
    assert_eq!(printed.len(), 43);
    assert_eq!((&printed["8"], &printed["41"], &printed["50"]), (&json!([]), &json!([]), &json!([40])));
    // A clear change, once reported, stays.
    let mut lengths: Vec<usize> = printed.keys().map(|key| key.parse().expect("a length")).collect();
    lengths.sort_unstable();
    let is_reported: Vec<bool> = lengths.iter().map(|length| printed[&length.to_string()] == json!([40])).collect();
    assert!(is_reported.is_sorted(), "{is_reported:?}");
}

#[test]
fn series_that_are_too_long_to_grow_are_refused() {
    let sandbox = sandbox(&(HEADER.to_owned() + &rows("short", &[(40, 1.0)]) + &rows("long/1", &[(20_001, 1.0)])));
    sandbox.ends(2, &["detect", "t.csv", "--stream", "--output", "made.json"]).says(&[
        "`t.csv` is too long for `--stream`",
        "the longest of 2 series, `long/1`, has 20001 points",
        "hint: the limit is one series of 20000 points",
    ]);
    assert!(!sandbox.project.join("made.json").exists());
    sandbox.ends(0, &["detect", "t.csv"]);
}

#[test]
fn points_count_in_the_order_of_their_indices() {
    let ordered = rows("a", &[(40, 1.0), (30, 1.1)]);
    let mut lines: Vec<&str> = ordered.lines().collect();
    lines.reverse();
    let twice = [lines.join("\n"), "\na,69,,,1.1\na,80,,,NaN\na,81,,,\n".to_owned()].concat();
    let sandbox = sandbox(&(HEADER.to_owned() + &twice));
    let ended = sandbox.ends(0, &["detect", "t.csv"]).says(&[
        "2 rows without a finite value left out", "1 row with the index of another row",
        "1 series with rows out of order",
    ]);
    assert_eq!(ended.json()["a"]["changes"], json!([40]));
    // Indices may have gaps; commits that were not measured may be the cause as well.
    let gaps: String = ordered.lines().enumerate().fold(String::new(), |mut text, (place, line)| {
        let value = line.rsplit(',').next().unwrap_or_default();
        writeln!(text, "a,{},,,{value}", 10 * place + 5).expect("a text takes all");
        text
    });
    sandbox.write("t.csv", &(HEADER.to_owned() + &gaps));
    let report = sandbox.ends(0, &["detect", "t.csv"]).json();
    assert_eq!((&report["a"]["changes"], &report["a"]["ranges"]), (&json!([405]), &json!([[396, 405]])));
}

#[test]
fn series_too_short_to_judge_are_counted() {
    let sandbox = sandbox(&format!("{HEADER}a,0,,,1\na,1,,,2\n"));
    let ended = sandbox.ends(0, &["detect", "t.csv"]).says(&["1 series of fewer than 8 points"]);
    sandbox.write("u.csv", &format!("{HEADER}a,0,,,1\nb,1,,,2\n"));
    sandbox.ends(0, &["detect", "u.csv"]).says(&["2 series of fewer than 8 points"]);
    assert_eq!(ended.json()["a"]["changes"], json!([]));
}

/// Two points that deviate and return are likelier outliers if they are worse.
#[test]
fn strays_are_those_that_are_worse() {
    let table = |pair: [f64; 2]| {
        let mut random = SplitMix64::new(3);
        let value = |index: usize, noise: f64| match index {
            16 => pair[0],
            17 => pair[1],
            _ => 1.0 + 0.01 * noise,
        };
        let row = |index: usize| format!("a,{index},,,{}\n", value(index, random.normal()));
        sandbox(&(HEADER.to_owned() + &(0..30).map(row).collect::<String>()))
    };
    let changes = |sandbox: &Sandbox, more: &[&str]| {
        sandbox.ends(0, &[&["detect", "t.csv"], more].concat()).json()["a"]["changes"].clone()
    };
    let (slower, faster) = (table([1.10, 1.09]), table([0.90, 0.91]));
    let (none, both) = (json!([]), json!([16, 18]));
    assert_eq!([changes(&slower, &[]), changes(&faster, &[])], [none.clone(), both.clone()]);
    let more = &["--more-is-better"];
    assert_eq!([changes(&slower, more), changes(&faster, more)], [both, none]);
}

/// The default promises at most one false alarm in 20,000 points without a change, at each length, over all noises.
#[test]
fn false_alarms_are_within_the_budget() {
    let lengths = [(100, 2000), (400, 200), (30, 4000), (200, 1000), (1000, 60)];
    for (length, count) in lengths.into_iter().take(rounds(2, 5) as usize) {
        let alarms = |family: &&'static str| -> Vec<usize> {
            let of_seed = |seed: u64| {
                let values = generate::null(family, length, 77_003 + seed * 104_729).values;
                let report = detect::changes(&values, &Sensitivity::BALANCED);
                report.points.len() + report.drifts.len()
            };
            (0..count).into_par_iter().map(of_seed).collect()
        };
        let counts: Vec<usize> = generate::NOISES.iter().flat_map(alarms).collect();
        let (series, points) = (counts.len(), counts.len() * length);
        let (alarms, alarmed): (usize, usize) =
            (counts.iter().sum(), counts.iter().filter(|count| **count > 0).count());
        assert!(alarms * 20_000 <= points, "{length}: {alarms} false alarms in {points} points");
        assert!(alarmed * 100 <= series, "{length}: {alarmed} of {series} series alarmed");
    }
}

#[test]
fn counts_that_repeat_themselves_are_exact() {
    let row = |index: usize| format!("a,{index},,,{}\n", if (20..23).contains(&index) { 141 } else { 140 });
    let sandbox = sandbox(&(HEADER.to_owned() + &(0..40).map(|index| row(index).repeat(2)).collect::<String>()));
    let report = sandbox.ends(0, &["detect", "t.csv"]).json();
    assert_eq!((&report["a"]["changes"], &report["a"]["ranges"]), (&json!([20, 23]), &json!([[20, 20], [23, 23]])));
}

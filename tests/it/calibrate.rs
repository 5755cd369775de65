//! `check --calibrate`: how often the gate is wrong, estimated from a history.

use chrono::{DateTime, TimeDelta};
use serde_json::Value;
use sprag_base::stats::random::SplitMix64;
use sprag_model::{Commit, Machine, Run};

use crate::crafted;
use crate::sandbox::{Sandbox, assert_contains};
use crate::schemas;

/// A run on that day at a commit that no repository holds.
fn session(day: i64, commit: i64, milliseconds: f64) -> Run {
    let mut run = crafted::run_of_an_absent_commit(0);
    run.machine = Machine::named("sandbox", "Example CPU");
    run.timestamp = DateTime::from_timestamp(1_767_600_000, 0).expect("a time") + TimeDelta::days(day);
    let time = run.timestamp;
    run.commit =
        run.commit.map(|one| Commit { sha: format!("{commit:040x}"), author_time: time, commit_time: time, ..one });
    for estimate in &mut run.measurements[0].estimates {
        estimate.value = milliseconds * 1e-3;
        estimate.workers = vec![estimate.value];
        estimate.p50 = Some(estimate.value);
    }
    run
}

/// A project with a session a day, two of each commit; `level` gives the milliseconds of a day.
fn history(days: i64, mut level: impl FnMut(i64) -> f64) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit_with(".gitignore", "/_site\n/in\n", "Ignore what comes in");
    for day in 0..days {
        sandbox.write(&format!("in/{day}.json"), &crafted::text(&session(day, day / 2, level(day))));
    }
    sandbox.ends(0, &["history", "add", "in"]);
    sandbox
}

fn figures(sandbox: &Sandbox, code: i32) -> Value {
    let ended = sandbox.ends(code, &["check", "--calibrate", "--json"]);
    schemas::follows("calibration-1", &ended.out)
}

#[test]
fn a_quiet_history_gives_no_false_alarm() {
    let mut random = SplitMix64::new(3);
    let quiet = history(40, |_| 1.0 + 0.0005 * random.normal());
    let report = figures(&quiet, 0);
    assert_eq!((&report["series"], &report["pairs"]["reruns"]), (&1.into(), &20.into()), "{report}");
    let rules = report["rules"].as_array().expect("a list");
    let silent: Vec<&str> = rules.iter().filter_map(|rule| rule["silent"].as_str()).collect();
    assert_eq!((rules.len(), silent.len()), (10, 2), "{report}");
    for rule in rules.iter().filter(|rule| rule["rule"] != "interval, tolerance 0 %") {
        for pairs in ["reruns", "neighbours", "checks"] {
            assert_eq!(rule[pairs]["regressed"], 0, "{rule}");
        }
        let drawn = &rule["resampled"];
        assert!(drawn.is_null() || drawn.get(0).is_none_or(|drawn| drawn["tally"]["regressed"] == 0), "{rule}");
    }
    // Unchanged, then slower by 2, 5 and 10 %; the least tolerance is 2 %.
    let configured = rules[0]["resampled"].as_array().expect("a list");
    let shares: Vec<f64> =
        configured.iter().map(|drawn| drawn["tally"]["share"]["value"].as_f64().expect("one")).collect();
    assert!(shares[0] == 0.0 && shares[1] < 0.1 && shares[2..] == [1.0, 1.0], "{shares:?}");
    let text = quiet.ends(0, &["check", "--calibrate"]).out;
    assert_contains(
        &text,
        &[
            "unchanged code called slower",
            "as configured (interval)",
            "0 of 20, 0.0 %",
            "+10 %",
            "rank 1 %, p 0.05, 3 deviations cannot be replayed: it needs samples",
        ],
    );
}

#[test]
fn a_noisy_history_gives_the_rates_of_its_rules() {
    let mut random = SplitMix64::new(9);
    let noisy = history(160, |_| 1.0 + 0.04 * random.normal());
    let report = figures(&noisy, 0);
    let of = |name: &str, base: &str| {
        let all = report["rules"].as_array().expect("a list");
        all.iter().find(|rule| rule["rule"] == name && rule["base"] == base).expect("the rule is reported").clone()
    };
    let value = |tally: &Value, end: &str| tally["share"][end].as_f64().expect("a share");
    // At 5.7 % of noise, two values differ by more than 5 % in one case of five.
    let strict = of("interval, tolerance 0 %", "history");
    assert!(value(&strict["reruns"], "low") <= 0.01 && value(&strict["reruns"], "high") < 0.15, "{strict}");
    assert!(value(&strict["resampled"][0]["tally"], "value") < 0.025, "{strict}");
    let bands = of("bands 5 % and 2 %", "run");
    for pairs in ["reruns", "neighbours"] {
        assert!(value(&bands[pairs], "low") < 0.19 && value(&bands[pairs], "high") > 0.19, "{bands}");
    }
    assert_eq!(report, figures(&noisy, 0));
}

#[test]
fn what_is_too_short_says_so() {
    let short = history(4, |_| 1.0);
    short
        .ends(0, &["check", "--calibrate"])
        .prints(&["1 of 1 series too short to draw from; 4 more sessions would be enough"]);
    let none = history(1, |_| 1.0);
    assert_eq!(figures(&none, 3)["pairs"]["reruns"], 0);
    let empty = Sandbox::new();
    empty.ends(3, &["check", "--calibrate"]).prints(&["there is no series to replay"]);
    empty.ends(2, &["check", "--json"]);
    empty.ends(2, &["check", "--calibrate", "--measure"]);
    empty.ends(2, &["check", "--calibrate", "--suite", "cpy"]).says(&["did you mean `cpu`?"]);
}

#[test]
fn another_policy_and_another_machine() {
    let sandbox = history(20, |day| 1.0 + 0.02 * (day % 2) as f64);
    sandbox.write("strict.toml", "[rules]\ndefault = \"bands\"\n[rules.bands]\nfail = 0.01\nwarn = 0.01\n");
    sandbox
        .ends(0, &["check", "--calibrate", "--policy", "strict.toml"])
        .prints(&["as configured (bands)", "bands 1 % and 1 %", "10 of 10, 100.0 %"]);
    let elsewhere = sandbox.sprag_with(&[("SPRAG_MACHINE", "another")], &["check", "--calibrate"]).expect(0);
    elsewhere.says(&["this machine has no run in the history", "all machines"]);
}

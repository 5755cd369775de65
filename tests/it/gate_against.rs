//! What a run is held against: commits, releases, the sessions before, under rules of a file of their own.

use sprag::model::run::{Run, RunStatus};

use crate::crafted::Crafted;
use crate::sandbox::Ended;

/// Six sessions at the release v1.0, and a run at the commit after it.
fn released(day: i64, times: &[(&str, f64)]) -> Crafted {
    let crafted = Crafted::with_sessions(6);
    let sha = crafted.commit().sha;
    crafted.sandbox.git(&["tag", "v1.0", &sha]);
    crafted.change(day, times);
    crafted
}

#[track_caller]
fn tells(ended: &Ended, words: &[&str]) {
    for word in words {
        assert!(ended.out.contains(word), "`{word}` is not in:\n{}", ended.out);
    }
}

#[test]
fn a_slower_run_fails_whatever_it_is_held_against() {
    let crafted = released(10, &[("pack", 1.1e-3), ("scan", 2e-3)]);
    let base = crafted.sandbox.git(&["rev-parse", "v1.0"]);
    let check = |arguments: &[&str], words: &[&str]| {
        let ended = crafted.ends(1, &[&["check"][..], arguments].concat());
        tells(&ended, &["check: fail; 1 regressed, 1 unchanged", "+10."]);
        tells(&ended, words);
    };
    check(&[], &["against the release v1.0, 6 runs"]);
    check(&["--against", "v1.0"], &["against v1.0 (", "6 runs"]);
    check(&["--against", &base[..12]], &[&base[..12], "6 runs"]);
    check(&["--against", "HEAD~1"], &["against HEAD~1 ("]);
    check(&["--against", "history"], &["against the last 6 sessions before it (2026-01-01 to 2026-01-06)"]);
    crafted.ends(0, &["baseline", "emit", "--from", "v1.0"]);
    check(&[], &["against baselines/cpu.example-cpu.json (of "]);
    check(&["--against", "baseline"], &["against baselines/cpu.example-cpu.json (of "]);
    check(&["--against", "./baselines/cpu.example-cpu.json"], &["baselines/cpu.example-cpu.json (of "]);
    check(&["--baseline", "baselines/cpu.example-cpu.json"], &["baselines/cpu.example-cpu.json (of "]);
}

#[test]
fn an_unchanged_run_passes_and_nothing_to_hold_it_against_is_doubt() {
    let crafted = released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    for against in ["v1.0", "history"] {
        tells(&crafted.ends(0, &["check", "--against", against]), &["check: pass; 2 unchanged"]);
    }
    tells(&crafted.ends(3, &["check", "--against", "baseline"]), &["2 without a baseline"]);
    let words = ["`v2.0` is neither a baseline file nor a commit of this repository", "hint: name a file, a commit"];
    crafted.ends(2, &["check", "--against", "v2.0"]).says(&words);
    crafted.ends(2, &["check", "--against", "v1.0", "--baseline", "x.json"]);
    // Of the first commit there is nothing before.
    crafted.sandbox.git(&["checkout", "-q", "v1.0"]);
    crafted.ends(2, &["check", "--against", "history"]).says(&["no whole run of this machine", "hint:"]);
}

#[test]
fn sessions_at_one_commit_are_joined() {
    let crafted = released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted.record(&crafted.run(11, &[("pack", 1.21e-3), ("scan", 2e-3)]));
    let joined = crafted.ends(1, &["check", "--against", "v1.0"]);
    // The geometric mean of 1 and 1.21.
    tells(&joined, &["1100 µs", "+10."]);
    // A file is judged alone.
    let alone = crafted.ends(1, &["check", "--run", "../run.json", "--against", "v1.0"]);
    tells(&alone, &["1210 µs", "+21."]);
}

#[test]
fn another_environment_is_named_and_never_judged() {
    let crafted = released(10, &[("pack", 9e-3), ("scan", 2e-3)]);
    let run = |day| Crafted::compiled_by(crafted.run(day, &[("pack", 9e-3), ("scan", 2e-3)]), "rustc 9");
    crafted.record(&run(12));
    for against in ["v1.0", "history"] {
        let ended = crafted.ends(3, &["check", "--against", against]);
        tells(&ended, &["check: inconclusive; 2 not comparable", "compiler none → rustc 9"]);
    }
    crafted.ends(1, &["check", "--against", "v1.0", "--inconclusive", "fail"]);
    crafted.ends(0, &["check", "--against", "v1.0", "--inconclusive", "ok"]);
    // From three sessions of its own on it has a history of its own.
    for day in 13..16 {
        crafted.sandbox.write("code.rs", &format!("// {day}"));
        crafted.sandbox.commit("Change the code");
        crafted.record(&run(day));
    }
    tells(&crafted.ends(0, &["check", "--against", "history"]), &["check: pass; 2 unchanged"]);
}

#[test]
fn missing_skipped_and_empty_runs_do_not_pass() {
    let crafted = released(10, &[("pack", 1e-3)]);
    tells(&crafted.ends(1, &["check", "--against", "v1.0"]), &["1 missing, 1 unchanged"]);
    let whole = crafted.run(11, &[("pack", 1e-3), ("scan", 2e-3)]);
    let check = |code: i32, day: i64, change: &dyn Fn(&mut Run), words: &[&str]| {
        let mut run = Run { timestamp: whole.timestamp + chrono::TimeDelta::days(day), ..whole.clone() };
        change(&mut run);
        crafted.record(&run);
        tells(&crafted.ends(code, &["check", "--against", "v1.0"]), words);
    };
    check(1, 1, &|run| run.measurements.clear(), &["2 missing"]);
    let skipped = |run: &mut Run| {
        run.measurements.clear();
        (run.status, run.reason) = (RunStatus::Skipped, Some("no device".to_owned()));
    };
    check(5, 2, &skipped, &["check: not measured", "no device"]);
    let broken = |run: &mut Run| {
        run.measurements.clear();
        (run.status, run.reason) = (RunStatus::Failed, Some("it broke".to_owned()));
    };
    check(1, 3, &broken, &["check: fail", "it broke"]);
    let failed = |run: &mut Run| {
        run.measurements[1].estimates.clear();
        run.measurements[1].failure = Some("parity: wrong".to_owned());
    };
    check(1, 4, &failed, &["1 missing", "parity: wrong"]);
}

#[test]
fn rules_of_a_file_go_before_all_others() {
    // 1.2 % is less than the tolerance that follows from the noise, and more than nothing.
    let crafted = released(10, &[("pack", 1.012e-3), ("scan", 2e-3)]);
    crafted.ends(0, &["check", "--against", "v1.0"]);
    crafted.sandbox.write("strict.toml", "[rules.interval]\ntolerance = 0.0\n");
    let check = |against: &str| crafted.ends(1, &["check", "--against", against, "--policy", "strict.toml"]);
    tells(&check("v1.0"), &["1 regressed"]);
    tells(&check("history"), &["1 regressed"]);
    crafted.ends(0, &["baseline", "emit", "--from", "v1.0"]);
    tells(&check("baseline"), &["1 regressed"]);
    crafted.ends(0, &["check", "--against", "baseline"]);
    crafted
        .sandbox
        .write("lax.toml", "[[rules.metric]]\nmatch = \"pack\"\nrule = \"tolerance\"\nwith = { ratio = 9.0 }\n");
    crafted.ends(0, &["check", "--policy", "lax.toml"]);

    let refused = |text: &str, words: &[&str]| {
        crafted.sandbox.write("wrong.toml", text);
        crafted.ends(2, &["check", "--policy", "wrong.toml"]).says(&["wrong.toml"]).says(words);
    };
    refused("[rules.interval]\ntolerance = -0.1\n", &["`rules.interval.tolerance`", "from 0 to 1"]);
    refused("[rules.interval]\ntolerance = nan\n", &["tolerance"]);
    refused("[rules]\ndefault = \"intervall\"\n", &["intervall"]);
    refused("[rules.bands]\nratio = 0.1\n", &["`fail`"]);
    refused("[rules\n", &["wrong.toml"]);
    crafted.ends(2, &["check", "--policy", "absent.toml"]).says(&["absent.toml"]);
}

#[test]
fn a_bisection_is_told_good_bad_and_cannot_tell() {
    let crafted = released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    let bisect = ["check", "--bisect", "--against", "v1.0"];
    crafted.ends(0, &bisect);
    crafted.change(11, &[("pack", 1.2e-3), ("scan", 2e-3)]);
    crafted.ends(1, &bisect);
    crafted.change(12, &[("pack", 1.2e-3)]);
    // Slower and missing is slower; missing alone is another matter than speed.
    crafted.ends(1, &bisect);
    crafted.change(13, &[("pack", 1e-3)]);
    crafted.ends(125, &bisect);
    crafted.sandbox.write("code.rs", "// 14");
    crafted.sandbox.commit("Change the code");
    let other = Crafted::compiled_by(crafted.run(14, &[("pack", 9e-3), ("scan", 2e-3)]), "rustc 9");
    crafted.record(&other);
    crafted.ends(125, &bisect);
    crafted.ends(128, &["check", "--bisect", "--against", "nowhere"]).says(&["error: `nowhere` is neither", "hint:"]);
    crafted.ends(128, &["check", "--bisect", "--policy", "absent.toml"]).says(&["absent.toml"]);
}

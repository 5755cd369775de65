//! The bases of a check: baselines, commits, releases, earlier sessions; and the rules of `--policy`.

use sprag_model::{Better, Machine, Metric, Parity, ParityStatus, Run, RunStatus, Unit};

use crate::crafted::{CLASS, Crafted};
use crate::sandbox::assert_contains;

#[test]
fn a_slower_run_fails_against_every_base() {
    let crafted = Crafted::released(10, &[("pack", 1.1e-3), ("scan", 2e-3)]);
    let base = crafted.git(&["rev-parse", "v1.0"]);
    let check = |arguments: &[&str], words: &[&str]| {
        crafted
            .ends(1, &[&["check"][..], arguments].concat())
            .prints(&["check: fail; 1 regressed, 1 unchanged", "+10."])
            .prints(words);
    };
    check(&[], &["against the release v1.0, 6 runs"]);
    check(&["--against", "v1.0"], &["against v1.0 (", "6 runs"]);
    check(&["--against", &base[..12]], &[&base[..12], "6 runs"]);
    // Git means the record of the sixth session by it, and so the code that it measured.
    check(&["--against", "HEAD~2"], &["against HEAD~2 ("]);
    check(&["--against", "history"], &["against the last 6 sessions before it (2026-01-01 to 2026-01-06)"]);
    crafted.ends(0, &["baseline", "emit", "--from", "v1.0"]);
    check(&[], &["against baselines/cpu.example-cpu.json (of "]);
    check(&["--against", "baseline"], &["against baselines/cpu.example-cpu.json (of "]);
    check(&["--against", "./baselines/cpu.example-cpu.json"], &["baselines/cpu.example-cpu.json (of "]);
    check(&["--baseline", "baselines/cpu.example-cpu.json"], &["baselines/cpu.example-cpu.json (of "]);
}

#[test]
fn the_last_release_is_one_before_the_commit_that_is_judged() {
    let crafted = Crafted::released(10, &[("pack", 1.1e-3), ("scan", 2e-3)]);
    crafted.write("judged.json", &crafted.read("../run.json"));
    crafted.change(11, &[("pack", 9e-3), ("scan", 9e-3)]);
    crafted.git(&["tag", "v2.0", &crafted.measured_commit().sha]);
    crafted.change(12, &[("pack", 9e-3), ("scan", 9e-3)]);
    crafted.ends(0, &["check", "--inconclusive", "ok"]).prints(&["against the release v2.0"]);
    crafted.ends(1, &["check", "--run", "judged.json"]).prints(&["against the release v1.0, 6 runs", "1 regressed"]);
    // A newer release without a run is passed over and named.
    crafted.commit_with("code.rs", "// released and never measured", "Release");
    crafted.git(&["tag", "v3.0"]);
    crafted.change(13, &[("pack", 9e-3), ("scan", 9e-3)]);
    crafted.ends(0, &["check", "--inconclusive", "ok"]).prints(&["against the release v2.0, 1 run (none of v3.0)"]);
}

#[test]
fn an_unchanged_run_passes_and_no_baseline_is_inconclusive() {
    let crafted = Crafted::released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    for against in ["v1.0", "history"] {
        crafted.ends(0, &["check", "--against", against]).prints(&["check: pass; 2 unchanged"]);
    }
    crafted.ends(3, &["check", "--against", "baseline"]).prints(&["2 without a baseline"]);
    crafted.git(&["checkout", "-q", "v1.0"]);
    crafted.ends(2, &["check", "--against", "history"]).says(&["no complete run of this machine", "hint:"]);
}

#[test]
fn sessions_at_one_commit_are_joined() {
    let crafted = Crafted::released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted.record(&crafted.run(11, &[("pack", 1.21e-3), ("scan", 2e-3)]));
    let joined = crafted.ends(1, &["check", "--against", "v1.0"]);
    // 1.1 is the geometric mean of 1 and 1.21.
    assert_contains(&joined.out, &["1100 µs", "+10."]);
    crafted.ends(1, &["check", "--run", "../run.json", "--against", "v1.0"]).prints(&["1210 µs", "+21."]);
}

#[test]
fn another_environment_is_named_and_never_judged() {
    let crafted = Crafted::released(10, &[("pack", 9e-3), ("scan", 2e-3)]);
    let run = |day| Crafted::compiled_by(crafted.run(day, &[("pack", 9e-3), ("scan", 2e-3)]), "rustc 9");
    crafted.record(&run(12));
    for against in ["v1.0", "history"] {
        crafted
            .ends(3, &["check", "--against", against])
            .prints(&["check: inconclusive; 2 not comparable", "compiler none → rustc 9"]);
    }
    crafted.ends(1, &["check", "--against", "v1.0", "--inconclusive", "fail"]);
    crafted.ends(0, &["check", "--against", "v1.0", "--inconclusive", "ok"]);
    // From three sessions on, the new environment has its own history.
    for day in 13..16 {
        crafted.change_code(day);
        crafted.record(&run(day));
    }
    crafted.ends(0, &["check", "--against", "history"]).prints(&["check: pass; 2 unchanged"]);
}

#[test]
fn missing_skipped_and_empty_runs_do_not_pass() {
    let crafted = Crafted::released(10, &[("pack", 1e-3)]);
    crafted.ends(1, &["check", "--against", "v1.0"]).prints(&["1 missing, 1 unchanged"]);
    let complete = crafted.run(11, &[("pack", 1e-3), ("scan", 2e-3)]);
    let check = |code: i32, day: i64, change: &dyn Fn(&mut Run), words: &[&str]| {
        let mut run = Run { timestamp: complete.timestamp + chrono::TimeDelta::days(day), ..complete.clone() };
        change(&mut run);
        crafted.record(&run);
        crafted.ends(code, &["check", "--against", "v1.0"]).prints(words);
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
    let crafted = Crafted::released(10, &[("pack", 1.012e-3), ("scan", 2e-3)]);
    crafted.ends(0, &["check", "--against", "v1.0"]);
    crafted.write("strict.toml", "[rules.interval]\ntolerance = 0.0\n");
    let check = |against: &str| crafted.ends(1, &["check", "--against", against, "--policy", "strict.toml"]);
    check("v1.0").prints(&["1 regressed"]);
    check("history").prints(&["1 regressed"]);
    crafted.ends(0, &["baseline", "emit", "--from", "v1.0"]);
    check("baseline").prints(&["1 regressed"]);
    crafted.ends(0, &["check", "--against", "baseline"]);
    crafted.write("lax.toml", "[[rules.metric]]\nmatch = \"pack\"\nrule = \"tolerance\"\nwith = { ratio = 9.0 }\n");
    crafted.ends(0, &["check", "--policy", "lax.toml"]);
}

#[test]
fn a_zero_that_is_gone_or_grows_does_not_pass() {
    let crafted = Crafted::with_sessions(3);
    let leaks = Metric { name: "leaks".to_owned(), unit: Unit::One, better: Better::Lower };
    let change = |day: i64, times: &[(&str, f64)]| {
        crafted.change_code(day);
        let mut run = crafted.run(day, times);
        for one in run.measurements.iter_mut().filter(|one| one.benchmark.name == "pack") {
            one.estimates[0].metric = leaks.clone();
        }
        crafted.record(&run);
    };
    change(10, &[("pack", 0.0), ("scan", 2e-3)]);
    let compared = |code: i32, times: &[(&str, f64)], words: &[&str]| {
        change(11, times);
        let ended = crafted.ends(code, &["compare", "HEAD~2", "HEAD"]);
        assert_contains(&ended.out, words);
        assert!(!ended.out.contains("together"), "of one ratio there is no whole:\n{}", ended.out);
        crafted.git(&["reset", "-q", "--hard", "HEAD~2"]);
    };
    compared(1, &[("scan", 2e-3)], &["compare: fail; 1 missing, 1 unchanged"]);
    let words = ["compare: inconclusive; 1 inconclusive, 1 unchanged", "the baseline is 0, so there is no ratio to it"];
    compared(3, &[("pack", 9.0), ("scan", 2e-3)], &words);
    compared(3, &[("pack", 0.0), ("scan", 2e-3)], &words);
    crafted.ends(0, &["baseline", "emit"]).says(&["left out, since their value is zero", "cpu/pack @fast leaks"]);
}

#[test]
fn a_file_of_one_suite_judges_that_suite() {
    let crafted = Crafted::released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted.ends(0, &["baseline", "emit", "--from", "v1.0"]);
    let suites = "[suites.cpu]\nkind = \"cpu\"\n\n[suites.more]\nkind = \"command\"\ncommand = [\"true\"]\n";
    crafted.write("sprag.toml", suites);
    let base = "baselines/cpu.example-cpu.json";
    crafted.ends(0, &["check", "--baseline", base]).prints(&["check: pass; 2 unchanged"]);
    crafted.ends(2, &["check", "--baseline", base, "--suite", "more"]);
    crafted.write("more.json", &crate::crafted::text(&of_other_suite(&crafted)));
    crafted.write("sprag.toml", "[suites.more]\nkind = \"cpu\"\n[suites.cpu]\nkind = \"cpu\"\n");
    crafted.ends(2, &["check", "--against", "more.json"]).says(&["no complete run of this machine"]);
    crafted.ends(1, &["compare", "more.json", "HEAD"]).prints(&["compare: fail; 1 missing"]);
}

fn of_other_suite(crafted: &Crafted) -> Run {
    Crafted::of_suite("more", crafted.run(10, &[("pack", 1e-3)]))
}

#[test]
fn a_suite_that_only_the_base_has_is_missing() {
    let crafted = Crafted::released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    let more = of_other_suite(&crafted);
    crafted.record(&more);
    crafted.change(11, &[("pack", 1e-3), ("scan", 2e-3)]);
    crafted
        .ends(1, &["compare", "HEAD~2", "HEAD"])
        .prints(&["compare: fail; 1 missing, 2 unchanged", "more: `HEAD` has no run of it on Example CPU"]);
    crafted.ends(0, &["compare", "HEAD~2", "HEAD", "--suite", "cpu"]).prints(&["compare: pass"]);
    crafted.write("more.json", &crate::crafted::text(&more));
    crafted.ends(1, &["compare", "more.json", "HEAD"]).prints(&["compare: fail; 1 missing"]);
}

#[test]
fn a_damaged_record_of_what_is_judged_is_never_left_out() {
    let crafted = Crafted::released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    let paths = crafted.git(&["ls-files", "history"]);
    let newest = paths.lines().last().expect("there are records").to_owned();
    crafted.edit(&newest, "cpu/pack", "cpu/pick");
    crafted.git(&["commit", "-qam", "Change a record"]);
    let words = [newest.as_str(), "hint: `sprag history fsck`"];
    crafted.ends(4, &["check", "--against", "v1.0"]).says(&words);
    crafted.ends(4, &["compare", "v1.0", "HEAD"]).says(&words);
    crafted.ends(128, &["check", "--bisect", "--against", "v1.0"]).says(&words);
    // Among the earlier sessions it is left out and named.
    crafted.change(11, &[("pack", 1e-3), ("scan", 2e-3)]);
    let ended = crafted.ends(0, &["check", "--against", "history", "--report", "json=-"]);
    assert_contains(&ended.out, &["1 damaged record of the sessions before left out: history/"]);
    ended.says(&["quarantined"]);
}

#[test]
fn files_are_called_as_the_project_knows_them() {
    let crafted = Crafted::released(10, &[("pack", 1.1e-3), ("scan", 2e-3)]);
    crafted.ends(0, &["baseline", "emit", "--from", "v1.0"]);
    let base = "baselines/cpu.example-cpu.json";
    for named in [base, "./baselines/../baselines/cpu.example-cpu.json"] {
        for form in ["md", "sarif", "json"] {
            let ended = crafted.ends(1, &["check", "--against", named, "--report", &format!("{form}=-")]);
            assert_contains(&ended.out, &[base]);
            assert!(!ended.out.contains(crafted.project.to_str().expect("a path")), "{}", ended.out);
        }
        crafted
            .ends(1, &["check", "--baseline", named, "--report", "sarif=-"])
            .prints(&[&format!("\"uri\": \"{base}\"")]);
    }
    crafted.ends(0, &["baseline", "emit"]);
    crafted.ends(0, &["check"]).prints(&["which was taken from this very run"]);
}

#[test]
fn changed_files_are_compared_with_clean_runs_of_their_commit() {
    let crafted = Crafted::with_sessions(6);
    let mut run = crafted.run(10, &[("pack", 1.1e-3), ("scan", 2e-3)]);
    run.commit.as_mut().expect("there is one").dirty = true;
    crafted.record(&run);
    crafted
        .ends(1, &["check", "--against", "history"])
        .prints(&["against the last 6 sessions before it", "1 regressed, 1 unchanged"]);
}

#[test]
fn a_doubt_advises_what_can_be_done() {
    let crafted = Crafted::released(10, &[("pack", 1.022e-3), ("scan", 2e-3)]);
    let doubt = |arguments: &[&str]| {
        let out = crafted.ends(3, arguments).out;
        out.lines().find(|line| line.starts_with("inconclusive")).unwrap_or_else(|| panic!("{out}")).to_owned()
    };
    let check = |arguments: &[&str], end: &str| {
        let row = doubt(arguments);
        assert!(row.ends_with(end), "{row}");
    };
    check(&["check", "--against", "v1.0"], "more runs of this commit, in sessions of their own, would decide it");
    let [base, head] =
        ["v1.0", "HEAD~1"].map(|revision| crafted.git(&["rev-parse", "--short=12", &format!("{revision}^{{}}")]));
    let turns = "would decide it, and this run is one; so may a comparison in turns: ";
    let turns = format!("{turns}`sprag compare {base} {head} --measure`");
    check(&["check", "--run", "../run.json", "--against", "v1.0"], &turns);
    let mut run = crafted.run(10, &[("pack", 1.022e-3), ("scan", 2e-3)]);
    run.commit = None;
    crafted.write("alone.json", &crate::crafted::text(&run));
    let alone =
        "the 98 % interval crosses the tolerance of 2 %; about 3 more sessions would decide it, and this run is one";
    check(&["check", "--run", "alone.json", "--against", "v1.0"], alone);
    check(&["compare", "v1.0", "./alone.json"], alone);
    let markdown = crafted.ends(3, &["compare", "v1.0", "./alone.json", "--only-changed", "--format", "md"]).out;
    assert!(markdown.contains("\n1 unchanged, left out here.\n") && !markdown.contains("--measure"), "{markdown}");
    let json = crafted.ends(3, &["compare", "v1.0", "./alone.json", "--only-changed", "--json"]).out;
    crate::schemas::follows("check-1", &json);
    assert!(json.contains("\"unchanged_left_out\": 1") && !json.contains("cpu/scan"), "{json}");
}

#[test]
fn a_pattern_without_a_metric_is_reported() {
    let crafted = Crafted::released(10, &[("pack", 1e-3), ("scan", 2e-3)]);
    let entry = |text: &str| format!("[[rules.metric]]\nmatch = \"{text}\"\nrule = \"tolerance\"\n");
    crafted.write("lax.toml", &entry("pakc"));
    let words = ["warning: `match = \"pakc\"` in `lax.toml` fits no metric of cpu\n"];
    crafted.ends(0, &["check", "--policy", "lax.toml"]).says(&words);
    crafted.ends(0, &["compare", "v1.0", "HEAD", "--policy", "lax.toml"]).says(&words);
    crafted.append("sprag.toml", &(entry("pakc") + "[suites.more]\nkind = \"cpu\"\n"));
    let words = "note: `match = \"pakc\"` in `sprag.toml` fits no metric of cpu; more was not judged";
    crafted.ends(0, &["check", "--suite", "cpu"]).says(&[words]);
    crafted.write("lax.toml", &entry("pack"));
    assert!(!crafted.ends(0, &["check", "--policy", "lax.toml"]).err.contains("fits no metric"));
}

#[test]
fn a_wrong_result_is_missing_however_fast_it_was() {
    let crafted = Crafted::with_sessions(4);
    crafted.commit_with("code.rs", "// 5", "Compute something else");
    let mut run = crafted.run(5, &[("pack", 0.5e-3), ("scan", 2e-3)]);
    let parity = Parity { status: ParityStatus::Mismatch, max_abs_error: Some(1.0), tolerance: Some(1e-5) };
    run.measurements[0].parity = parity;
    crafted.record(&run);
    let wrong = "its result differs from that of its reference";
    crafted
        .ends(1, &["check", "--against", "history"])
        .prints(&["cpu/pack", "missing", wrong, "check: fail; 1 missing, 1 unchanged"]);
    let emitted = crafted.ends(0, &["baseline", "emit"]).says(&["cpu/pack", "is left out"]);
    let path =
        emitted.out.split_whitespace().find(|word| word.starts_with("baselines/")).expect("the path is reported");
    let baseline = crafted.read(path.trim_end_matches(':'));
    assert!(baseline.contains("cpu/scan") && !baseline.contains("cpu/pack"), "{baseline}");
}

#[test]
fn an_allowance_of_a_slipped_unit_decides_nothing() {
    let crafted = Crafted::with_sessions(4);
    crafted.change(5, &[("pack", 9e-3), ("scan", 2e-3)]);
    let policy = |abs: &str| format!("[rules]\ndefault = \"tolerance\"\n[rules.tolerance]\nratio = 0.1\nabs = {abs}\n");
    let check = ["check", "--against", "history", "--policy", "policy.toml"];
    crafted.write("policy.toml", &policy("0.01"));
    crafted.ends(0, &check).prints(&["check: pass; 2 unchanged"]);
    crafted.write("policy.toml", &policy("2.0"));
    crafted.ends(3, &check).prints(&["`abs` allows 2001 times the value", "2 not comparable"]);
}

#[test]
fn a_machine_that_disagrees_with_that_of_the_baseline_is_named() {
    let crafted = Crafted::with_baseline(12);
    for day in 1..=12 {
        let run = crafted.run(day, &[("pack", 1.05e-3), ("scan", 2.2e-3)]);
        crafted.record(&Run { machine: Machine::named("slow", CLASS), ..run });
    }
    let sentence = "`slow` measures `cpu` 7.5 % slower than `sandbox` of the same class, by more than 2 % in 12 of 12 sessions; \
                    most in `cpu/scan @fast`, 10.0 %";
    let check = |machine: &str| crafted.sprag_with(&[("SPRAG_MACHINE", machine)], &["check"]);
    check("slow")
        .expect(1)
        .prints(&[&format!("rough: the baseline is of `sandbox`, and {sentence}; `--against history`")]);
    // The reason is at the regressions, too, also of a file.
    let note = "may be the machine, which disagrees with that of the baseline, `sandbox`";
    let named = crafted.ends(1, &["check", "--run", "../run.json", "--json"]);
    let gate: serde_json::Value = serde_json::from_str(&named.out).expect("it is JSON");
    assert!(gate["suites"][0]["quality"][0].as_str().is_some_and(|reason| reason.contains(sentence)), "{gate:#}");
    for row in gate["suites"][0]["comparisons"].as_array().expect("it is a list") {
        assert_eq!((&row["verdict"], &row["note"]), (&"regressed".into(), &note.into()), "{row:#}");
    }
    assert!(!check("sandbox").expect(0).out.contains("disagree"));
    crafted.ends(0, &["trend"]).prints(&["machines disagree:", "slow measures cpu 7.5 % slower than sandbox"]);
    let json: serde_json::Value =
        serde_json::from_str(&crafted.ends(0, &["trend", "--format", "json"]).out).expect("it is JSON");
    assert_eq!(json["tables"]["disagreements"][0]["machine"]["name"], "slow");
    crafted.write("fleet.toml", &format!("[[machine]]\nname = \"slow\"\nclass = \"{CLASS}\"\n"));
    crafted.ends(0, &["plan", "--machines", "fleet.toml", "--suite", "cpu"]).says(&[sentence]);
    crafted.ends(0, &["site"]);
    assert_contains(
        &crafted.read("_site/machines/index.html"),
        &["Machines of one class that disagree", "12 of 12 sessions"],
    );
}

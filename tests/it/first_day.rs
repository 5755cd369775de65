//! The first day with a project of one's own: records on a branch of their own, and a gate that works at once.

use crate::sandbox::Sandbox;

/// A repository without records, whose suite reports the times in `times`, one a process, in units of 10 µs.
fn project() -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q"]);
    sandbox.write(
        "bench.sh",
        "n=$(cat .count 2>/dev/null || echo 0); n=$((n % 5 + 1)); echo $n > .count; t=$(sed -n ${n}p times)\n\
         printf '{\"schema_version\":1,\"benchmarks\":[{\"name\":\"sort\",\"metrics\":[{\"name\":\"time\",\
         \"unit\":\"s\",\"better\":\"lower\",\"value\":%se-5}]}]}' \"$t\"\n",
    );
    sandbox.write("sprag.toml", "[suites.own]\nkind = \"command\"\ncommand = [\"sh\", \"bench.sh\"]\n");
    sandbox.write(".gitignore", ".count\n");
    sandbox
}

fn change(sandbox: &Sandbox, times: [f64; 5]) {
    sandbox.commit_with("times", &times.map(|time| format!("{time}\n")).concat(), "Change the code");
    sandbox.ends(0, &["run", "--record"]);
}

#[test]
fn records_stay_off_the_branch_of_the_code() {
    let sandbox = project();
    change(&sandbox, [10.0; 5]);
    assert_eq!((sandbox.records("sprag-history").len(), sandbox.records("main").len()), (1, 0));
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "Change the code");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.ends(0, &["history", "log"]).prints(&["own"]);
    // So it is in later commits, and where HEAD is detached. Equal records of one second would be one.
    change(&sandbox, [10.5; 5]);
    sandbox.git(&["checkout", "-q", "--detach"]);
    sandbox.sprag_with(&[("SPRAG_MACHINE", "other")], &["run", "--record"]).expect(0).says(&["on sprag-history"]);
    assert_eq!(sandbox.records("sprag-history").len(), 3);
    sandbox.git(&["checkout", "-q", "main"]);
    // Whoever wants them on the branch says so.
    sandbox.append("sprag.toml", "[history]\nref = \"main\"\n");
    change(&sandbox, [10.0; 5]);
    assert_eq!(sandbox.records("main").len(), 1);
}

#[test]
fn a_gate_works_in_the_first_sitting() {
    let sandbox = project();
    change(&sandbox, [10.0, 10.1, 9.9, 10.0, 10.05]);
    sandbox.ends(0, &["baseline", "emit"]).prints(&["only 1 session recorded, so noise is assumed: tolerances 4 %"]);
    let base = sandbox.git(&["rev-parse", "--short=12", "HEAD"]);
    sandbox.commit("Take a baseline");
    // That is not new code, so nothing is to be measured again.
    sandbox.ends(0, &["check"]).prints(&[&base, "check: pass"]);
    for sides in [["HEAD", "HEAD~1"], ["HEAD~1", "HEAD"]] {
        sandbox.ends(2, &[&["compare"][..], &sides].concat()).says(&["both sides are the same commit"]);
    }
    change(&sandbox, [15.0, 15.1, 14.9, 15.0, 15.05]);
    sandbox.ends(1, &["compare", "HEAD~1", "HEAD"]).prints(&["regressed"]);
    sandbox.ends(1, &["check"]).prints(&["regressed", "+50.0 %"]);
    sandbox.ends(0, &["check", "--tolerance", "52%"]).prints(&["within the tolerance, but not certain"]);
    change(&sandbox, [10.7, 10.8, 10.6, 10.7, 10.75]);
    let command = format!("`sprag compare {base} {} --measure`", sandbox.git(&["rev-parse", "--short=12", "HEAD"]));
    sandbox.ends(3, &["check"]).prints(&["inconclusive", &command]);
    sandbox.ends(0, &["check", "--tolerance", "10%"]).prints(&["unchanged"]);
    change(&sandbox, [10.1, 10.0, 10.1, 10.2, 9.9]);
    sandbox.ends(0, &["check"]).prints(&["unchanged"]);
    // One slow process of five is not a regression, and no reason for doubt.
    change(&sandbox, [10.1, 10.0, 14.1, 10.2, 9.9]);
    sandbox.ends(0, &["check"]);
}

#[test]
fn what_regressed_on_a_busy_machine_is_to_be_confirmed() {
    let sandbox = project();
    change(&sandbox, [10.0; 5]);
    sandbox.ends(0, &["baseline", "emit"]);
    sandbox.commit_with("times", "20\n20\n20\n20\n20\n", "Change the code");
    sandbox.ends(0, &["run", "--output-run", "../run.json"]);
    let mut run = sandbox.json("../run.json");
    run["quality"] =
        serde_json::json!({ "clean": false, "reasons": ["the machine was busy: load 9.0 before the run"] });
    sandbox.write("../run.json", &run.to_string());
    sandbox.ends(0, &["history", "add", "../run.json"]);
    sandbox.ends(1, &["check"]).prints(&["load 9.0 before the run; confirm what regressed in turns: `sprag compare "]);
}

#[test]
fn a_suite_measured_twice_does_not_hide_the_others_before_a_baseline() {
    let sandbox = project();
    sandbox.append("sprag.toml", "[suites.other]\nkind = \"command\"\ncommand = [\"sh\", \"bench.sh\"]\n");
    change(&sandbox, [10.0; 5]);
    sandbox.ends(0, &["baseline", "emit"]);
    sandbox.commit("Take a baseline");
    sandbox.ends(0, &["run", "--suite", "own", "--record"]);
    sandbox.ends(0, &["check"]).prints(&["own on", "other on", "check: pass; 2 unchanged"]);
    change(&sandbox, [10.01; 5]);
    sandbox.ends(0, &["check", "--against", "HEAD~1"]).prints(&["check: pass; 2 unchanged"]);
    sandbox.ends(0, &["compare", "HEAD~1", "HEAD"]).prints(&["own/sort", "other/sort"]);
}

#[test]
fn two_runs_of_one_commit_cannot_take_turns() {
    let sandbox = project();
    sandbox.append(".gitignore", "times\n");
    change(&sandbox, [10.0, 10.1, 9.9, 10.0, 10.05]);
    sandbox.ends(0, &["baseline", "emit"]);
    sandbox.write("times", "11.2\n11.3\n11.1\n11.2\n11.25\n");
    sandbox.ends(0, &["run", "--record"]);
    let ended = sandbox.ends(3, &["check"]).prints(&["record sessions an hour or more apart"]);
    assert!(!ended.out.contains("--measure"), "{}", ended.out);
}

fn report(seconds: f64) -> String {
    let times = [seconds, seconds * 1.01, seconds * 0.99].map(|time| time.to_string()).join(", ");
    format!(
        "{{\"results\": [{{\"command\": \"sort\", \"mean\": {seconds}, \"median\": {seconds}, \"times\": [{times}]}}]}}"
    )
}

#[test]
fn imported_runs_are_gated_against_their_history() {
    let sandbox = project();
    for day in 1..=4 {
        sandbox.commit_with("times", &format!("{day}\n"), "Change the code");
        sandbox.write("../report.json", &report(1.0 + 0.001 * f64::from(day)));
        let time = format!("2026-01-0{day}");
        sandbox.ends(0, &["import", "../report.json", "--suite", "theirs", "--time", &time]);
    }
    let check = |code: i32, arguments: &[&str]| sandbox.ends(code, &[&["check"], arguments].concat());
    check(0, &["--suite", "theirs"]).prints(&["against the last 3 sessions before it", "1 unchanged"]);
    sandbox.write("../report.json", &report(1.5));
    check(1, &["--run", "../report.json", "--suite", "theirs", "--against", "history"]).prints(&["+49."]);
    check(3, &["--run", "../report.json", "--against", "history"]).prints(&["no run before this one"]);
    sandbox.commit_with("times", "5\n", "Make it slow");
    check(2, &["--suite", "theirs"])
        .says(&["no run of `theirs`, which is not a suite of sprag.toml", "sprag import FILE --suite theirs"]);
    sandbox.ends(0, &["import", "../report.json", "--suite", "theirs", "--time", "2026-01-06"]);
    check(1, &["--suite", "theirs"]).prints(&["1 regressed"]);
    check(2, &["--suite", "nope"]).says(&["there is no suite `nope`"]);
}

#[test]
fn any_command_is_timed() {
    let sandbox = project();
    sandbox.commit("Begin");
    let bench = |code: i32, arguments: &[&str]| sandbox.ends(code, &[&["bench"], arguments].concat());
    bench(0, &["--runs", "3", "--", "sh", "-c", "exit 0"]).prints(&["`exit 0`: ", "3 runs in fresh processes"]);
    bench(0, &["--runs", "3", "echo a | cat"]).prints(&["`echo a | cat`: "]);
    let both = bench(0, &["--runs", "4", "--", "true", "a", "--vs", "true", "b"]);
    both.prints(&["`true b` takes ", " times as long as `true a` (", "bench/run @default"]);
    bench(0, &["--runs", "3", "--record", "--name", "quick", "true"]);
    assert_eq!(sandbox.records("sprag-history").len(), 1);
    sandbox.ends(3, &["check", "--suite", "quick"]).prints(&["quick/run @default"]);
    // Where suites are configured, others are judged only by name.
    sandbox.ends(2, &["check"]).says(&["no complete run of this machine"]);

    bench(1, &["--", "sh", "-c", "echo bad >&2; exit 3"]).says(&["exit code 3 (bad)"]);
    bench(2, &["--record", "--name", "own", "true"]).says(&["`own` is a suite of sprag.toml"]);
    sandbox.remove("sprag.toml");
    bench(2, &["--record", "--name", "cpu", "true"]).says(&["`cpu` is a suite of Sprag itself"]);
    bench(2, &["--record", "--name", "Not a name", "true"]).says(&["lower-case"]);
}

#[test]
fn two_commands_or_programs_are_compared() {
    let sandbox = project();
    sandbox.commit_with("times", "10\n10\n10\n10\n10\n", "Begin");
    let compare =
        |code: i32, arguments: &[&str]| sandbox.ends(code, &[&["compare", "--measure", "--quick"], arguments].concat());
    let timed = sandbox.sprag(&["compare", "--measure", "--quick", "--inconclusive", "ok", "true a", "true b"]);
    timed.prints(&["bench: true b against true a", "bench/run @default", "3 process pairs"]);
    sandbox.program("old", "#!/bin/sh\nexec sh bench.sh\n");
    sandbox.program("new", "#!/bin/sh\nsh bench.sh | sed 's/10e-5/15e-5/'\n");
    compare(1, &["--suite", "own", "./old", "./new"]).prints(&["own/sort @default", "regressed", "+50.0 %"]);
    compare(2, &["--suite", "own", "HEAD", "./new"]).says(&["`./new` is a file, and the suite `own` compares commits"]);
    compare(2, &["--suite", "own", "./old", "./bench.sh"]).says(&["the other side: "]);
}

#[test]
fn a_first_check_is_no_base_for_a_verdict() {
    let sandbox = project();
    change(&sandbox, [16.0, 10.1, 9.9, 10.0, 10.05]);
    sandbox.ends(0, &["baseline", "emit"]);
    sandbox.commit("Take a baseline");
    // The first process of a quick run pays for cold caches.
    sandbox.write(".count", "0");
    sandbox.commit_with("times", "16\n10\n10\n10\n10\n", "Change the code");
    sandbox.ends(0, &["run", "--quick", "--record"]);
    sandbox.ends(3, &["check"]).prints(&["inconclusive", "--measure`"]);
    // A full run of the same commit decides, also where a quick one follows it.
    sandbox.write(".count", "0");
    sandbox.ends(0, &["run", "--record"]);
    sandbox.ends(0, &["check"]).prints(&["unchanged"]);
    sandbox.write(".count", "0");
    sandbox.ends(0, &["run", "--quick", "--record"]);
    sandbox.ends(0, &["check"]).prints(&["unchanged"]);
    let base = sandbox.git(&["rev-parse", "HEAD"]);
    change(&sandbox, [10.1, 10.0, 10.1, 10.2, 9.9]);
    sandbox.ends(0, &["check", "--against", &base]).prints(&["unchanged"]);
}

#[test]
fn a_machine_too_noisy_to_show_a_slowdown_by_half_passes_nothing() {
    let sandbox = project();
    change(&sandbox, [10.0, 14.0, 19.0, 12.0, 8.0]);
    sandbox.ends(0, &["baseline", "emit"]);
    sandbox.commit("Take a baseline");
    change(&sandbox, [12.4, 10.0, 9.0, 13.0, 20.0]);
    for arguments in [&["check"][..], &["check", "--tolerance", "10%"]] {
        sandbox.ends(3, arguments).prints(&["inconclusive", "--measure`"]);
    }
}

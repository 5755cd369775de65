//! `sprag bisect`: planted steps, named by their commits.

use std::process::Stdio;

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox, assert_contains, wait_until};

const SUITE: &str = "[suites.theirs]\nkind = \"command\"\nbuild = [\"sh\", \"build.sh\"]\ncommand = [\"sh\", \"bench.sh\"]\n\
    format = \"custom\"\n";

/// Reports `speed`, moved a little by the number of the process.
const BENCH: &str = r#"jitter=$(( ${#SPRAG_PADDING} % 7 ))
printf '{"schema_version": 1, "benchmarks": [{"name": "sort", "metrics": [
  {"name": "time", "unit": "s", "better": "lower", "value": 0.%s%s}]}]}' "$(cat built)" "$jitter"
"#;

/// A repository of commits that report these times; those of `broken` cannot be built.
pub(crate) fn history(speeds: &[&str], broken: &[usize]) -> Sandbox {
    let sandbox = Sandbox::begun();
    sandbox.write("sprag.toml", SUITE);
    sandbox.write("bench.sh", BENCH);
    sandbox.write(".gitignore", "built\n");
    for (place, speed) in speeds.iter().enumerate() {
        let build = if broken.contains(&place) { "exit 7" } else { "cp speed built" };
        add(&sandbox, &format!("Change {place}"), speed, build);
    }
    sandbox
}

/// A branch with commits that report these times.
fn branch(sandbox: &Sandbox, name: &str, speeds: &[&str]) {
    sandbox.git(&["checkout", "-q", "-b", name]);
    for (place, speed) in speeds.iter().enumerate() {
        add(sandbox, &format!("{name} {place}"), speed, "cp speed built");
    }
    sandbox.git(&["checkout", "-q", "main"]);
}

/// Merges a branch after one more commit of `main`.
fn merge(sandbox: &Sandbox, branch: &str) {
    sandbox.commit_with("other", branch, &format!("Main {branch}"));
    sandbox.git(&["merge", "-q", "--no-ff", "-m", &format!("Merge {branch}"), branch]);
}

fn add(sandbox: &Sandbox, subject: &str, speed: &str, build: &str) {
    sandbox.write("speed", speed);
    sandbox.commit_with("build.sh", &format!("# {subject}\n{build}\n"), subject);
}

fn state(sandbox: &Sandbox) -> [String; 3] {
    [&["status", "--porcelain"][..], &["for-each-ref"], &["rev-parse", "HEAD"]].map(|words| sandbox.git(words))
}

#[track_caller]
fn bisect(sandbox: &Sandbox, words: &[&str], code: i32) -> Ended {
    sandbox.ends(code, &[&["bisect"], words].concat())
}

#[track_caller]
fn report(sandbox: &Sandbox, words: &[&str], code: i32) -> Value {
    let ended = bisect(sandbox, &[words, &["--format", "json"]].concat(), code);
    crate::schemas::follows("bisect-1", &ended.out)
}

fn subjects(report: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let commits = list(&report["culprits"]).into_iter().flat_map(move |culprit| list(&culprit["commits"]));
    commits.map(|commit| commit["subject"].as_str().unwrap_or_default().to_owned()).collect()
}

#[track_caller]
fn blames(report: &Value, outcome: &str, expected: &[&str]) {
    assert_eq!(
        (subjects(report), &report["outcome"]),
        (expected.iter().map(|one| (*one).to_owned()).collect(), &outcome.into())
    );
}

/// Like [`STEP`], with enough commits for an event.
fn long_step() -> Vec<&'static str> {
    let quiet = |speed: &'static str| [speed, speed, speed, speed].repeat(4);
    [quiet("1000"), quiet("1080")].concat()
}

const STEP: [&str; 12] =
    ["1000", "1000", "1001", "1000", "999", "1000", "1000", "1001", "1080", "1080", "1081", "1080"];

#[test]
fn the_commit_of_a_step_is_named_and_nothing_else_is_touched() {
    let sandbox = history(&STEP, &[5, 6]);
    sandbox.write("notes", "untracked");
    let before = state(&sandbox);
    let planned = |words: &[&str]| drop(bisect(&sandbox, &["HEAD~11", "HEAD", "--dry-run"], 0).prints(words));
    planned(&["11 suspects", "about 7 builds", "first     ", "How long it takes is not known"]);
    let ended = bisect(&sandbox, &["HEAD~11", "HEAD"], 0).says(&["; about ", " left, at most 60 min"]);
    planned(&["about 5 builds", " if the first is like the bad end", "It takes about "]);
    ended.prints(&["Change 8", "speed +1 -1", "+8.0 %", "theirs/sort", "reproduce: sprag compare", "--suite theirs"]);
    let result = report(&sandbox, &["HEAD~11", "HEAD"], 0);
    blames(&result, "culprit", &["Change 8"]);
    assert!(result["culprits"][0]["probability"].as_f64().is_some_and(|one| one >= 0.95), "{result}");
    assert!(result["measurements"].as_array().is_some_and(|list| list.len() <= 6), "{result}");
    assert_eq!(result["culprits"][0]["commits"][0]["sha"], sandbox.git(&["rev-parse", "HEAD~3"]));
    let words = ["HEAD~11", "--format", "md", "--out", "out/report.md", "--report", "json=out/report.json"];
    assert_eq!(bisect(&sandbox, &words, 0).out, "");
    assert!(sandbox.read("out/report.md").contains("**") && sandbox.read("out/report.md").contains("Change 8"));
    assert_eq!(subjects(&sandbox.json("out/report.json")), ["Change 8"]);
    sandbox.remove("out/report.md");
    sandbox.remove("out/report.json");
    assert_eq!(state(&sandbox), before);
}

#[test]
fn commits_that_change_nothing_of_the_build_are_hardly_suspects() {
    let sandbox = history(&["1000", "1000", "1080"], &[]);
    for place in 0..6 {
        sandbox.commit_with("README", &place.to_string(), &format!("Explain {place}"));
    }
    let planned = |words: &[&str]| drop(bisect(&sandbox, &["HEAD~8", "--dry-run"], 0).prints(words));
    planned(&["8 suspects", "then about 4 commits"]);
    sandbox.append("sprag.toml", "build_inputs = [\"speed\", \"*.sh\"]\n");
    let same = "2 suspects between them. 6 other commits leave `build_inputs` as they are";
    planned(&[same, "Change 1)", "then about 1 commit,", "about 3 builds"]);
    assert_eq!(subjects(&report(&sandbox, &["HEAD~8"], 0)), ["Change 2"]);
    assert_eq!(sandbox.ends(0, &["cache", "--json"]).json().as_array().map(Vec::len), Some(3));
}

#[test]
fn what_is_interrupted_goes_on() {
    let sandbox = history(&STEP, &[]);
    bisect(&sandbox, &["--continue"], 2).says(&["no bisection was interrupted"]);
    let records = || sandbox.git(&["log", "--all", "--format=%s"]).matches("sprag: theirs").count();
    let mut child = sandbox.start(&["bisect", "HEAD~11", "HEAD", "--record"]);
    wait_until("the ends are measured", || {
        std::fs::read_to_string(sandbox.project.join(".sprag/bisect.json"))
            .is_ok_and(|text| text.contains("theirs/sort"))
    });
    let _ = child.kill();
    let _ = child.wait();
    blames(&report(&sandbox, &["--continue", "--steps", "1"], 3), "uncertain", &[]);
    let before = records();
    let ended = report(&sandbox, &["--continue"], 0);
    assert!(records() > before && before > 0, "it goes on recording: {before}");
    assert_eq!(subjects(&ended), ["Change 8"]);
    assert!(ended["end_sessions"].as_u64().is_some_and(|count| count == 3), "{ended}");
    bisect(&sandbox, &["--continue"], 2);
}

#[test]
fn a_kill_between_saving_and_recording_neither_loses_nor_doubles_a_run() {
    let sandbox = history(&STEP, &[6]);
    let good = sandbox.git(&["rev-parse", "HEAD~11"]);
    let bad = sandbox.git(&["rev-parse", "HEAD"]);
    bisect(&sandbox, &[&good, &bad, "--record", "--steps", "1"], 3);
    // The newest commit is that of the last answer.
    let newest = sandbox.git(&["show", "--format=", "--name-only", "HEAD"]);
    for is_recorded in [true, false] {
        let sandbox = sandbox.copied();
        let mut state = sandbox.json(".sprag/bisect.json");
        state["unrecorded"] = vec![sandbox.read(&newest)].into();
        sandbox.write(".sprag/bisect.json", &state.to_string());
        if !is_recorded {
            sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
        }
        let result = report(&sandbox, &["--continue"], 0);
        assert_eq!(subjects(&result), ["Change 8"]);
        assert!(sandbox.records("main").contains(&newest));
        // Of the good end, equal runs of one second are one.
        let is_answer = |path: &&String| sandbox.git(&["show", &format!("main:{path}")]).contains("\"bisect\":{");
        let measured = result["measurements"].as_array().map_or(0, Vec::len) as u64;
        let sessions = result["end_sessions"].as_u64().expect("a number");
        assert_eq!(sandbox.records("main").iter().filter(is_answer).count() as u64, measured + sessions, "{result}");
    }
}

#[test]
fn suspects_that_only_broken_commits_divide_are_one_answer() {
    let sandbox = history(&STEP, &[7, 8]);
    let result = report(&sandbox, &["HEAD~11", "HEAD"], 3);
    blames(&result, "one_of_several", &["Change 7", "Change 8", "Change 9"]);
    let skipped = result["skipped"].as_array().expect("a list");
    assert!(skipped.iter().all(|one| one["reason"].as_str().is_some_and(|why| why.contains("cannot build"))));
    assert_eq!(skipped.len(), 2);
    // Recorded, they are not tried again where nothing is cached.
    let good = sandbox.git(&["rev-parse", "HEAD~11"]);
    bisect(&sandbox, &[&good, "HEAD", "--record"], 3);
    let elsewhere = [("XDG_CACHE_HOME", "/dev/null/none")];
    let ended = sandbox.sprag_with(&elsewhere, &["bisect", &good, "--format", "json"]).expect(3);
    assert_eq!(subjects(&ended.says(&["2 commits skipped: records say"]).json()), ["Change 7", "Change 8", "Change 9"]);
}

#[test]
fn two_parts_of_a_change_and_an_undone_one_are_named() {
    let sandbox = history(&["1000", "1000", "1000", "1050", "1050", "1050", "1050", "1100", "1100"], &[]);
    blames(&report(&sandbox, &["HEAD~8", "HEAD"], 0), "two_culprits", &["Change 3", "Change 7"]);
}

#[test]
fn benchmarks_that_moved_at_different_commits_have_a_culprit_each() {
    let sandbox = Sandbox::begun();
    sandbox.write("sprag.toml", SUITE);
    sandbox.write(".gitignore", "built\n");
    // One becomes faster, the other slower.
    let pile = r#"{"name": "pile", "metrics": [{"name": "time", "unit": "s", "better": "lower", "value": 0.%s%s}]}, {"name": "sort""#;
    let script = BENCH.replace(r#"{"name": "sort""#, pile).replace("\"$(cat", "\"$(cat other)\" \"$jitter\" \"$(cat");
    sandbox.write("bench.sh", &script);
    for place in 0..10 {
        sandbox.write("other", if place < 3 { "1000" } else { "0950" });
        add(&sandbox, &format!("Change {place}"), if place < 7 { "1000" } else { "1080" }, "cp speed built");
    }
    let result = report(&sandbox, &["HEAD~9", "HEAD"], 0);
    blames(&result, "several_culprits", &["Change 3", "Change 7"]);
    let moved = |place: usize| {
        let effects = result["culprits"][place]["effects"].as_array().expect("a list");
        effects.iter().map(|one| one["benchmark"].as_str().unwrap_or_default().to_owned()).collect::<Vec<String>>()
    };
    assert!(moved(0).len() == 1 && moved(0)[0].contains("/pile"), "{result}");
    assert!(moved(1).len() == 1 && moved(1)[0].contains("/sort"), "{result}");
    assert_eq!(result["reproduce"].as_str().map(|commands| commands.lines().count()), Some(2));
}

#[test]
fn a_part_that_only_broken_commits_divide_is_not_certain() {
    let sandbox = history(&["1000", "1000", "1000", "1050", "1050", "1050", "1050", "1100", "1100"], &[3]);
    blames(&report(&sandbox, &["HEAD~8", "HEAD"], 3), "two_culprits", &["Change 3", "Change 4", "Change 7"]);
}

#[test]
fn ends_that_were_measured_too_seldom_are_uncertain() {
    let sandbox = history(&["1000", "1080"], &[]);
    // The commits have another one.
    sandbox.write("sprag.toml", &SUITE.replace("\"bench.sh\"", "\"-c\", \"sleep 0.4; sh bench.sh\""));
    // A session takes longer, so that the pairs until then are the only one.
    let result = report(&sandbox, &["HEAD~1", "HEAD", "--budget", "3s"], 3);
    assert_eq!((&result["outcome"], &result["end_sessions"]), (&"uncertain".into(), &1.into()));
    assert!(result["summary"].as_str().is_some_and(|text| text.contains("`--continue` goes on")), "{result}");
}

#[test]
fn a_branch_that_forked_before_the_good_end_is_not_searched() {
    let sandbox = history(&["1050"], &[]);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    for place in 0..3 {
        sandbox.commit_with("unrelated", &place.to_string(), &format!("Unrelated {place}"));
    }
    sandbox.git(&["checkout", "-q", "main"]);
    add(&sandbox, "Faster", "1000", "cp speed built");
    sandbox.git(&["merge", "-q", "--no-ff", "--no-commit", "side"]);
    sandbox.commit_with("speed", "1050", "Merge side");
    let result = report(&sandbox, &["HEAD~1", "HEAD"], 0);
    assert_eq!(subjects(&result), ["Merge side"]);
    let [fork, merge] = ["HEAD~2", "HEAD"].map(|name| sandbox.git(&["rev-parse", "--short=12", name]));
    let command = format!("`sprag bisect {fork} {merge}` searches it");
    assert_contains(
        result["summary"].as_str().expect("a text"),
        &["merged a branch from before the good end", &command],
    );
}

#[test]
fn a_merge_is_followed_to_the_commit_that_it_brought() {
    let sandbox = history(&["1000", "1000"], &[]);
    branch(&sandbox, "side", &["1000", "1090", "1090", "1090"]);
    merge(&sandbox, "side");
    sandbox.commit_with("other", "2", "After");
    assert_eq!(subjects(&report(&sandbox, &["HEAD~3", "HEAD"], 0)), ["side 1"]);
    assert_eq!(subjects(&report(&sandbox, &["HEAD~3", "HEAD", "--first-parent"], 0)), ["Merge side"]);
    let fork = sandbox.git(&["rev-parse", "--short=12", "HEAD~3"]);
    let hint = format!("merged a branch from before the good end: `sprag bisect {} ", fork.trim());
    bisect(&sandbox, &["HEAD~2", "HEAD~1"], 0).prints(&["Merge side", &hint]);
}

#[test]
fn of_two_merges_each_is_followed_to_the_commit_that_it_brought() {
    let sandbox = history(&["1000"], &[]);
    for (side, speeds) in [("one", ["1000", "1050", "1050"]), ("two", ["1050", "1100", "1100"])] {
        branch(&sandbox, side, &speeds);
        merge(&sandbox, side);
    }
    blames(&report(&sandbox, &["HEAD~4", "HEAD"], 0), "two_culprits", &["one 1", "two 1"]);
    // In steps of one measurement it comes to the same.
    assert_eq!(report(&sandbox, &["HEAD~4", "HEAD", "--steps", "1"], 3)["outcome"], "uncertain");
    let step = || sandbox.sprag(&["bisect", "--continue", "--steps", "1", "--format", "json"]);
    let ended = (0..20).map(|_| step()).find(|ended| ended.code != 3).expect("it ends");
    assert_eq!(subjects(&ended.expect(0).json()), ["one 1", "two 1"]);
    assert_eq!(subjects(&report(&sandbox, &["HEAD~4", "--first-parent"], 0)), ["Merge one", "Merge two"]);
}

#[test]
fn a_good_end_on_a_merged_branch_is_followed_through_its_merge() {
    let sandbox = history(&["1000"], &[]);
    branch(&sandbox, "side", &["1000", "1090", "1090"]);
    merge(&sandbox, "side");
    add(&sandbox, "After", "1200", "cp speed built");
    assert_eq!(subjects(&report(&sandbox, &["side~2", "HEAD~1"], 0)), ["side 1"]);
    assert_eq!(subjects(&report(&sandbox, &["side"], 0)), ["After"]);
    bisect(&sandbox, &["side~2", "HEAD", "--dry-run"], 0).prints(&["4 suspects", "side 0", "After"]);
}

#[test]
fn a_merge_that_is_the_cause_itself_and_one_of_three_parents_are_followed() {
    let sandbox = history(&["1000"], &[]);
    for side in ["one", "two"] {
        sandbox.git(&["checkout", "-q", "-b", side, "main"]);
        sandbox.commit_with(side, "1", &format!("Begin {side}"));
        if side == "two" {
            add(&sandbox, "Slower", "1080", "cp speed built");
        }
    }
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.commit_with("other", "1", "Main");
    sandbox.git(&["merge", "-q", "--no-ff", "--no-commit", "one"]);
    add(&sandbox, "Merge one", "0900", "cp speed built");
    sandbox.git(&["checkout", "-q", "-b", "octopus", "main~1"]);
    sandbox.git(&["merge", "-q", "-m", "Merge both", "one", "two"]);
    assert_eq!(subjects(&report(&sandbox, &["main~2", "main"], 0)), ["Merge one"]);
    assert_eq!(subjects(&report(&sandbox, &["octopus~2", "octopus"], 0)), ["Slower"]);
}

#[test]
fn equal_ends_have_no_culprit() {
    let sandbox = history(&["1000", "1000", "1000"], &[2]);
    let alike = report(&sandbox, &["HEAD~2", "HEAD~1"], 3);
    assert_eq!(alike["outcome"], "no_difference");
    assert!(alike["summary"].as_str().is_some_and(|text| text.contains("would have been shown")), "{alike}");
}

#[test]
fn recorded_runs_narrow_an_event_and_its_page_shows_how() {
    let sandbox = history(&long_step(), &[]);
    // The commits between these remain suspects.
    for back in (1..32).step_by(3) {
        sandbox.git(&["tag", &format!("v{back}"), &format!("HEAD~{back}")]);
    }
    let good = sandbox.git(&["rev-parse", "HEAD~31"]);
    let planned = |words: &[&str]| drop(bisect(&sandbox, &[&good, "--dry-run"], 0).prints(words));
    planned(&["31 suspects", "then about 6 commits"]);
    sandbox.ends(0, &["backfill", "HEAD~31..HEAD", "--releases"]);
    // What is recorded is the prior of two ends, too.
    planned(&["31 suspects", "then about 4 commits"]);
    bisect(&sandbox, &[&good, "--dry-run"], 0)
        .says(&["recorded runs show 1 event between the ends, which makes 3 commits more likely"]);
    // Where no record of the event is, one is made.
    let fresh = sandbox.copied();
    bisect(&fresh, &["--event", "worst", "--output-runs", "../fresh"], 0);
    let added = fresh.ends(0, &["history", "add", "../fresh"]);
    assert_eq!(added.out.lines().filter(|path| path.contains("/_events/")).count(), 2, "{}", added.out);
    let event = fresh.ends(0, &["trend", "--format", "json"]).json()["events"][0].clone();
    assert_eq!(event["suspects"].as_array().map(Vec::len), Some(1), "{event}");
    sandbox.ends(0, &["trend", "--record"]).says(&["recorded 1 change of events"]);
    let event = || sandbox.ends(0, &["trend", "--format", "json"]).json()["events"][0].clone();
    let id = event()["id"].as_str().expect("an id").to_owned();
    // A job that may not write hands its records on.
    let aside = sandbox.copied();
    let before = aside.git(&["rev-parse", "HEAD"]);
    bisect(&aside, &["--event", &id, "--output-runs", "../records"], 0);
    assert_eq!(aside.git(&["rev-parse", "HEAD"]), before);
    let added = aside.ends(0, &["history", "add", "../records"]).says(&["recorded ", " records on main"]);
    assert_eq!(added.out.lines().filter(|path| path.contains("/_events/")).count(), 1, "{}", added.out);
    let handed_on = aside.ends(0, &["trend", "--format", "json"]).json()["events"][0]["bisection"].clone();
    aside.ends(0, &["history", "fsck"]);
    let words = ["--event", &id, "--record"];
    // Between two ends, too, a culprit that is a suspect of the event narrows it.
    let named = sandbox.copied();
    bisect(&named, &[&good, "HEAD", "--record"], 0)
        .says(&[&format!("is a suspect of the event {id}, which is narrowed")]);
    let narrowed = named.ends(0, &["trend", "--format", "json"]).json()["events"][0].clone();
    assert_eq!((&narrowed["bisection"]["culprits"], &narrowed["id"]), (&handed_on["culprits"], &id.as_str().into()));
    let result = report(&sandbox, &words, 0);
    assert_eq!(handed_on["culprits"][0], result["culprits"][0]["commits"][0]["sha"]);
    assert_eq!(subjects(&result), ["Change 16"]);
    let log = sandbox.ends(0, &["history", "log", "--limit", "0"]).out;
    for measurement in result["measurements"].as_array().expect("a list") {
        let commit = &measurement["commit"].as_str().expect("a commit")[..12];
        let is_run = |line: &&str| line.contains(commit) && line.contains("of processes by a bisection");
        assert!(log.lines().any(|line| is_run(&line)), "{commit}: {log}");
    }
    let (event, culprit) = (event(), &result["culprits"][0]["commits"][0]["sha"]);
    assert_eq!((&event["bisection"]["culprits"][0], event["id"].as_str()), (culprit, Some(id.as_str())));
    assert_eq!(
        (event["suspects"].as_array().map(Vec::len), &event["suspects"][0]["commit"]["sha"]),
        (Some(1), culprit)
    );
    // Its runs are few pairs of some benchmarks, which is enough for a commit not to be missing.
    let culprit = &culprit.as_str().expect("a commit")[..12];
    let planned =
        |more: &[&str]| sandbox.ends(0, &[&["backfill", "--around", &id, "--dry-run"][..], more].concat()).out;
    assert!(planned(&[]).contains(culprit) && !planned(&["--missing"]).contains(culprit), "{}", planned(&[]));
    sandbox.ends(0, &["history", "fsck"]);
    sandbox.ends(0, &["site", "--out", "../site"]);
    let page = sandbox.read(&format!("../site/events/{id}.html"));
    assert!(page.contains("the culprit is ") && page.contains("as the "), "{page}");
    sandbox.ends(0, &["trend", "--event", &id]).prints(&[&id]);
    sandbox.ends(0, &["trend", "--event", "worst"]).prints(&["no open regression has several suspects"]);
    // Runs of old commits, recorded now, are nothing that a gate compares with.
    let verdict = || {
        let check = sandbox.sprag(&["check"]);
        (check.code, check.out)
    };
    let before = verdict();
    bisect(&sandbox, &["HEAD~31", "HEAD~30", "--record", "--steps", "1"], 3);
    assert_eq!(verdict(), before);
}

/// In the place of Valgrind: the count follows the build, after digits that may vary.
fn counting(sandbox: &Sandbox, noise: &str) -> String {
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo valgrind-3.19.0; exit 0; }}\nfor word; do\n\
         case \"$word\" in --callgrind-out-file=*) echo \"totals: {noise}$(cat built)\" > \"${{word#*=}}\";; esac\ndone\n\
         echo counted >> ../../../counted\n"
    );
    sandbox.program("bin/valgrind", &script);
    format!("{}:{}", sandbox.project.join("bin").display(), std::env::var("PATH").expect("there is a search path"))
}

#[test]
fn instruction_counts_decide_by_one_count_a_commit() {
    let sandbox = history(&STEP.map(|speed| if speed == "999" { "1000" } else { speed }), &[6]);
    sandbox.write(".git/info/exclude", "bin\n");
    let count = |path: &str, code: i32| {
        let words = ["bisect", "HEAD~11", "HEAD", "--instructions", "--format", "json"];
        sandbox.sprag_with(&[("PATH", path)], &words).expect(code)
    };
    let result = count(&counting(&sandbox, ""), 0).json();
    blames(&result, "culprit", &["Change 8"]);
    assert_eq!(result["metric"], "instructions");
    let cache = sandbox.temporary().with_file_name("home").join(".cache/sprag/counted");
    let counted = std::fs::read_to_string(cache).expect("it was counted").lines().count();
    assert!(result["measurements"].as_array().is_some_and(|all| all.iter().all(|one| one["pairs"] == 1)), "{result}");
    let measured = result["measurements"].as_array().map_or(0, Vec::len);
    assert!(counted <= measured + 3 && measured <= 5, "{counted} counts: {result}");
    assert!(result["reproduce"].as_str().is_some_and(|line| line.contains("--instructions")), "{result}");
    count(&counting(&sandbox, "$(date +%N)"), 2).says(&["no benchmark has the same instruction count twice"]);
    count("/nowhere", 2).says(&["instructions cannot be counted: valgrind_not_found", "hint: install"]);
}

/// Clones of the remote, by their folders.
fn clones(sandbox: &Sandbox, remote: &str, names: &[&str]) -> Vec<String> {
    let clone = |name: &&str| {
        sandbox.git(&["clone", "-q", &format!("../{remote}"), &format!("../{name}")]);
        sandbox.project.join("..").join(name).display().to_string()
    };
    names.iter().map(clone).collect()
}

/// What the remote has in a folder of the history, by path.
fn at_remote(sandbox: &Sandbox, remote: &str, folder: &str) -> Vec<(String, Value)> {
    let git = |words: &[&str]| sandbox.git(&[&["--git-dir", &format!("../{remote}")], words].concat());
    let paths = git(&["ls-tree", "-r", "--name-only", "main", &format!("history/v1/{folder}")]);
    let read = |path: &str| serde_json::from_str(&git(&["show", &format!("main:{path}")])).expect("it is JSON");
    paths.lines().map(|path| (path.to_owned(), read(path))).collect()
}

fn shared<'w>(clone: &'w str, shard: &'w str, good: &'w str) -> Vec<&'w str> {
    let options = ["bisect", good, "HEAD", "--record", "--shard", shard, "--format", "json", "--out", "out.json"];
    [&["-C", clone][..], &options].concat()
}

#[test]
fn jobs_share_a_bisection_through_a_remote() {
    let sandbox = history(&long_step(), &[]);
    sandbox.git(&["clone", "-q", "--bare", ".", "../remote.git"]);
    let clones = clones(&sandbox, "remote.git", &["first", "second", "third"]);
    let words = |clone: usize, shard: &'static str| shared(&clones[clone], shard, "HEAD~31");
    let mut jobs = [(0, "1/2"), (1, "2/2")].map(|(clone, shard)| sandbox.start(&words(clone, shard)));
    for job in &mut jobs {
        assert_eq!(job.wait().expect("it ends").code(), Some(0));
    }
    let of = |name: &str| sandbox.json(&format!("../{name}/out.json"));
    let own = |result: &Value| result["measurements"].as_array().map_or(0, Vec::len);
    assert_eq!([subjects(&of("first")), subjects(&of("second"))], [["Change 16"], ["Change 16"]]);
    // Each job announced what it measured, and none measured what another one was measuring at that time.
    let log = ["--git-dir", "../remote.git", "log", "--reverse", "--format=", "--name-only", "--diff-filter=A", "main"];
    let added = sandbox.git(&log);
    let added: Vec<&str> = added.lines().collect();
    let place = |path: &str| added.iter().position(|one| *one == path).expect("it was added");
    let bad = sandbox.git(&["rev-parse", "HEAD"]);
    let announced: Vec<(String, Value, usize)> = at_remote(&sandbox, "remote.git", "_bisect")
        .into_iter()
        .map(|(path, one)| (one["commit"].to_string(), one["job"].clone(), place(&path)))
        .collect();
    let mut spans: Vec<(String, Value, usize, usize)> = Vec::new();
    for (path, run) in at_remote(&sandbox, "remote.git", "theirs") {
        if run["config"]["bisect"].is_null() || run["commit"]["sha"] == bad {
            continue;
        }
        let (commit, job, end) =
            (run["commit"]["sha"].to_string(), &run["config"]["bisect"]["measured"][0], place(&path));
        let own = announced.iter().filter(|one| one.0 == commit && one.1 == *job && one.2 < end).map(|one| one.2).max();
        spans.push((commit, job.clone(), own.expect("it was announced"), end));
    }
    let overlap = |a: &(String, Value, usize, usize), b: &(String, Value, usize, usize)| {
        a.0 == b.0 && a.1 != b.1 && a.2 < b.3 && b.2 < a.3
    };
    assert!(!spans.is_empty() && spans.iter().all(|one| !spans.iter().any(|other| overlap(one, other))), "{spans:?}");
    sandbox.ends(0, &["-C", &clones[0], "history", "fsck"]);
    let recorded = sandbox.git(&["--git-dir", "../remote.git", "ls-tree", "-r", "--name-only", "main", "history/v1"]);
    // What others have measured need not be measured.
    let third = sandbox.ends(0, &words(2, "1/2")).says(&["the history already has"]);
    assert!(!third.err.contains("suite theirs:"), "{}", third.err);
    assert!(subjects(&of("third")) == ["Change 16"] && own(&of("third")) >= own(&of("first")), "{}", third.err);
    let now = sandbox.git(&["--git-dir", "../remote.git", "ls-tree", "-r", "--name-only", "main", "history/v1"]);
    assert_eq!(now, recorded);
}

#[test]
fn what_a_killed_job_announced_is_left_to_it_until_the_announcement_expires() {
    let sandbox = history(&[], &[]);
    let wait = sandbox.project.join("../wait").display().to_string();
    // Commits between the ends take as long as that file exists.
    let waiting = format!(
        "case \"$(head -n 1 build.sh)\" in *' 0'|*' 32') ;; *) while [ -e {wait} ]; do sleep 0.05; done ;; esac\n"
    );
    sandbox.write("bench.sh", &format!("{waiting}{BENCH}"));
    // Of an even number of suspects one commit is the middle.
    for (place, speed) in ["1000"].iter().chain(&long_step()).enumerate() {
        add(&sandbox, &format!("Change {place}"), speed, "cp speed built");
    }
    sandbox.write("../wait", "");
    let good = sandbox.git(&["rev-parse", "HEAD~32"]);
    sandbox.git(&["clone", "-q", "--bare", ".", "../remote.git"]);
    let first = clones(&sandbox, "remote.git", &["first"]).remove(0);
    let mut killed = sandbox.start(&shared(&first, "1/2", &good));
    let announced = |remote: &str| at_remote(&sandbox, remote, "_bisect");
    wait_until("a measurement is announced", || !announced("remote.git").is_empty());
    let _ = killed.kill();
    let _ = killed.wait();
    sandbox.remove("../wait");
    let (path, announcement) = announced("remote.git").remove(0);
    // What a job chooses in a copy of the remote, where the newest announcement of the other one is changed.
    let chosen = |name: &str, shard: &str, change: Option<&dyn Fn(&mut Value)>| {
        let (remote, mut announcement) = (format!("{name}.git"), announcement.clone());
        sandbox.git(&["clone", "-q", "--bare", "../remote.git", &format!("../{remote}")]);
        let folder = clones(&sandbox, &remote, &[name]).remove(0);
        if let Some(change) = change {
            announcement["number"] = 2.into();
            change(&mut announcement);
            sandbox.write(&format!("../{name}/{}", path.replace("-1.json", "-2.json")), &announcement.to_string());
            for words in [&["add", "history"][..], &["commit", "-q", "-m", "Announce it"], &["push", "-q"]] {
                sandbox.git(&[&["-C", &folder], words].concat());
            }
        }
        // Nothing is built before, so that all commits cost the same.
        let uncached = [("XDG_CACHE_HOME", "/dev/null/none")];
        sandbox.sprag_with(&uncached, &[shared(&folder, shard, &good), vec!["--steps", "1"]].concat()).expect(3);
        let job: u32 = shard[..1].parse().expect("a number");
        let own = |one: &Value| one["job"] == job && *one != announcement;
        announced(&remote).into_iter().map(|(_, one)| one).find(own).expect("it announces")["commit"].clone()
    };
    assert_ne!(chosen("left", "2/2", None), announcement["commit"]);
    // The job itself, when it begins again, is not kept from anything.
    let best = chosen("again", "1/2", None);
    assert_ne!(chosen("live", "2/2", Some(&|one| one["commit"] = best.clone())), best);
    let expire = |one: &mut Value| {
        one["commit"] = best.clone();
        one["until"] = one["time"].clone();
    };
    assert_eq!(chosen("expired", "2/2", Some(&expire)), best);
}

#[test]
fn awkward_repositories_are_bisected_or_say_why_not() {
    let rename = "sed s/sort/pile/ bench.sh > x; mv x bench.sh; cp speed built";
    let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    type Case = (&'static str, fn(&Sandbox), &'static [&'static str], i32, &'static [&'static str]);
    let cases: [Case; 5] = [
        (
            "a benchmark at one end",
            |_| (),
            &["HEAD~3", "HEAD"],
            5,
            &[
                "at both ends: `theirs/sort @default`: the bad end does not have it; `theirs/pile @default` is only at the bad end",
            ],
        ),
        ("a dirty tree", |sandbox| sandbox.append("bench.sh", "# other\n"), &["HEAD~3", "HEAD~1"], 0, &["differ"]),
        ("a pointer of LFS", |_| (), &["HEAD~3", "HEAD~1"], 0, &["behind `lfs` are as git stores them"]),
        ("a submodule", |_| (), &["HEAD~3", "HEAD~1"], 0, &["1 submodule of ", "not checked out: `part`"]),
        (
            "a suite of a GPU",
            |sandbox| sandbox.append("sprag.toml", "[suites.gpu]\nkind = \"gpu\"\n"),
            &["HEAD~3", "HEAD~1", "--suite", "gpu"],
            2,
            &["the suite `gpu` is of a kind whose builds cannot take turns"],
        ),
    ];
    let sandbox = history(&["1000"], &[]);
    sandbox.write(".gitattributes", "*.bin filter=lfs\n");
    sandbox.write("a.bin", lfs);
    let commit = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},part", commit)]);
    sandbox.git(&["config", "submodule.recurse", "false"]);
    for (subject, speed, build) in [
        ("One", "1000", "cp speed built"),
        ("Two", "1080", "cp speed built"),
        ("Three", "1080", "cp speed built"),
        ("Four", "1080", rename),
    ] {
        sandbox.write("speed", speed);
        sandbox.write("build.sh", &format!("# {subject}\n{build}\n"));
        sandbox.git(&["add", ".gitattributes", "a.bin", "speed", "build.sh"]);
        sandbox.git(&["commit", "-q", "-m", subject]);
    }
    for (name, change, words, code, says) in cases {
        let sandbox = sandbox.copied();
        change(&sandbox);
        let before = state(&sandbox);
        let ended = sandbox.sprag(&[&["bisect"], words].concat());
        assert_eq!(ended.code, code, "{name}: {}", ended.both());
        let ended = ended.says(says);
        let is_once = |words: &str| ended.err.matches(words).count() <= 1;
        assert!(is_once("behind `lfs`") && is_once("not checked out"), "{name}: {}", ended.err);
        assert_eq!(state(&sandbox), before, "{name}");
    }
    let shallow = sandbox.cloned(&["--depth", "2"], "shallow");
    sandbox.ends(2, &["-C", &shallow, "bisect", "HEAD~3", "HEAD"]).says(&["this clone is shallow", "--unshallow"]);
}

#[test]
fn why_a_commit_is_skipped_is_said_of_the_commit() {
    let sandbox = history(&["1000", "1000", "1080"], &[]);
    let script = "\"-c\", \"grep -q Change.1 build.sh && exit 7; sh bench.sh\"";
    sandbox.write("sprag.toml", &SUITE.replace("\"bench.sh\"", script));
    let result = report(&sandbox, &["HEAD~2", "HEAD"], 3);
    let commit = sandbox.git(&["rev-parse", "HEAD~1"]);
    let reason = result["skipped"][0]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(&format!("commit {}: it ended with exit code 7", &commit[..12])), "{result}");
}

#[test]
fn ends_whose_command_fails_cannot_be_measured() {
    let sandbox = history(&["1000", "1000", "1080"], &[]);
    sandbox.write("sprag.toml", &SUITE.replace("\"bench.sh\"", "\"-c\", \"exit 7\""));
    bisect(&sandbox, &["HEAD~2", "HEAD"], 5).says(&[
        "the ends cannot be measured",
        "the good end: it ended with exit code 7",
        "name ends where the suite runs",
    ]);
}

#[test]
fn the_budget_ends_a_command_that_hangs() {
    let sandbox = history(&["1000", "1000", "1080"], &[]);
    let hangs = |when: &str| {
        let script = format!("\"-c\", \"{when} && sleep 1000; sh bench.sh\"");
        sandbox.write("sprag.toml", &SUITE.replace("\"bench.sh\"", &script));
    };
    hangs("true");
    let result = report(&sandbox, &["HEAD~2", "HEAD", "--budget", "1s"], 3);
    assert_eq!((&result["outcome"], &result["end_sessions"]), (&"uncertain".into(), &0.into()));
    // Only the commit between the ends; what hangs within the budget is nothing that the commit is to blame for.
    hangs("grep -q Change.1 build.sh");
    let words = &["--continue", "--budget", "3s", "--format", "json"];
    let ended = bisect(&sandbox, words, 3)
        .says(&["has no answer: the budget ended while it was measured", "was changed in sprag.toml"]);
    assert!(!ended.err.contains("took longer"), "{}", ended.err);
    let result = ended.json();
    assert_eq!((&result["outcome"], &result["skipped"]), (&"uncertain".into(), &Value::Array(Vec::new())));
    assert_eq!(result["end_sessions"], 3, "{result}");
    assert!(!ended.err.contains("tracked files differ"), "that was said when HEAD was named: {}", ended.err);
    hangs("false");
    assert_eq!(subjects(&report(&sandbox, &["--continue"], 0)), ["Change 2"]);
}

#[test]
fn an_interrupt_leaves_the_repository_as_it_was() {
    let sandbox = history(&STEP, &[]);
    // The commits have another one. Once a session is measured, the next goes on until the interrupt, however busy the machine is.
    let slow = sandbox.temporary().join("slow");
    let bench = format!("\"-c\", \"if [ -e '{}' ]; then sleep 60; else sleep 1; fi; sh bench.sh\"", slow.display());
    sandbox.write("sprag.toml", &SUITE.replace("\"bench.sh\"", &bench));
    sandbox.write("notes", "untracked");
    let before = state(&sandbox);
    let mut command = sandbox.binary(&[], &["bisect", "HEAD~11", "HEAD"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("sprag starts");
    wait_until("a session is measured", || sandbox.project.join(".sprag/bisect.json").exists());
    std::fs::write(slow, "").expect("a file");
    bisect(&sandbox, &["HEAD~11", "HEAD"], 2).says(&["another bisection runs in this project", "hint: "]);
    let interrupt = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.expect("there is kill").success());
    assert!(!child.wait().expect("it ends").success());
    let said = std::io::read_to_string(child.stderr.take().expect("it is a pipe")).expect("it is text");
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("bisect: stopped after ") && last.ends_with("`sprag bisect --continue` goes on"),
        "{said}"
    );
    assert_eq!(state(&sandbox), before);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    bisect(&sandbox, &["--continue", "--steps", "1", "--budget", "1s"], 3);
}

//! `sprag bisect`: planted steps, named by their commits.

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox, wait_until};

const SUITE: &str = "[suites.theirs]\nkind = \"command\"\nbuild = [\"sh\", \"build.sh\"]\ncommand = [\"sh\", \"bench.sh\"]\n\
    format = \"custom\"\n";

/// Reports `speed`, moved a little by the number of the process.
const BENCH: &str = r#"jitter=$(( ${#SPRAG_PADDING} % 7 ))
printf '{"schema_version": 1, "benchmarks": [{"name": "sort", "metrics": [
  {"name": "time", "unit": "s", "better": "lower", "value": 0.%s%s}]}]}' "$(cat built)" "$jitter"
"#;

/// A repository of commits that report these times; those of `broken` cannot be built.
fn history(speeds: &[&str], broken: &[usize]) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.init();
    sandbox.write("sprag.toml", SUITE);
    sandbox.write("bench.sh", BENCH);
    sandbox.write(".gitignore", "built\n");
    for (place, speed) in speeds.iter().enumerate() {
        let build = if broken.contains(&place) { "exit 7" } else { "cp speed built" };
        add(&sandbox, &format!("Change {place}"), speed, build);
    }
    sandbox
}

fn add(sandbox: &Sandbox, subject: &str, speed: &str, build: &str) {
    sandbox.write("speed", speed);
    sandbox.write("build.sh", &format!("# {subject}\n{build}\n"));
    sandbox.commit(subject);
}

fn state(sandbox: &Sandbox) -> [String; 3] {
    [&["status", "--porcelain"][..], &["for-each-ref"], &["rev-parse", "HEAD"]].map(|words| sandbox.git(words))
}

#[track_caller]
fn bisect(sandbox: &Sandbox, words: &[&str], code: i32) -> Ended {
    sandbox.sprag(&[&["bisect"], words].concat()).expect(code)
}

#[track_caller]
fn report(sandbox: &Sandbox, words: &[&str], code: i32) -> Value {
    let ended = bisect(sandbox, &[words, &["--format", "json"]].concat(), code);
    crate::schemas::follows("bisect-1", &ended.out);
    ended.json()
}

fn subjects(report: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let commits = list(&report["culprits"]).into_iter().flat_map(move |culprit| list(&culprit["commits"]));
    commits.map(|commit| commit["subject"].as_str().unwrap_or_default().to_owned()).collect()
}

const STEP: [&str; 12] =
    ["1000", "1000", "1001", "1000", "999", "1000", "1000", "1001", "1080", "1080", "1081", "1080"];

#[test]
fn the_commit_of_a_step_is_named_and_nothing_else_is_touched() {
    let sandbox = history(&STEP, &[5, 6]);
    sandbox.write("notes", "untracked");
    let before = state(&sandbox);
    bisect(&sandbox, &["HEAD~11", "HEAD", "--dry-run"], 0).prints(&["11 suspects", "about 7 builds"]);
    let ended = bisect(&sandbox, &["HEAD~11", "HEAD"], 0);
    ended.prints(&["Change 8", "speed +1 -1", "+8.0 %", "theirs/sort", "reproduce: sprag compare", "--suite theirs"]);
    let result = report(&sandbox, &["HEAD~11", "HEAD"], 0);
    assert_eq!((subjects(&result), &result["outcome"]), (vec!["Change 8".to_owned()], &"culprit".into()));
    assert!(result["culprits"][0]["probability"].as_f64().is_some_and(|one| one >= 0.95), "{result}");
    assert!(result["measurements"].as_array().is_some_and(|list| list.len() <= 6), "{result}");
    assert_eq!(result["culprits"][0]["commits"][0]["sha"], sandbox.git(&["rev-parse", "HEAD~3"]).trim());
    bisect(&sandbox, &["HEAD~11", "HEAD", "--format", "md", "--out", "out/report.md"], 0);
    assert!(sandbox.read("out/report.md").contains("**") && sandbox.read("out/report.md").contains("Change 8"));
    sandbox.remove("out/report.md");
    assert_eq!(state(&sandbox), before);
}

#[test]
fn what_is_interrupted_goes_on() {
    let sandbox = history(&STEP, &[]);
    bisect(&sandbox, &["--continue"], 2).says(&["no bisection was interrupted"]);
    let mut child = sandbox.start(&["bisect", "HEAD~11", "HEAD"]);
    wait_until("the ends are measured", || {
        std::fs::read_to_string(sandbox.project.join(".sprag/bisect.json"))
            .is_ok_and(|text| text.contains("theirs/sort"))
    });
    let _ = child.kill();
    let _ = child.wait();
    let measured = report(&sandbox, &["--continue", "--steps", "1"], 3);
    assert_eq!((&measured["outcome"], subjects(&measured).len()), (&"uncertain".into(), 0));
    let ended = report(&sandbox, &["--continue"], 0);
    assert_eq!(subjects(&ended), ["Change 8"]);
    assert!(ended["end_sessions"].as_u64().is_some_and(|count| count == 3), "{ended}");
    bisect(&sandbox, &["--continue"], 2);
}

#[test]
fn suspects_that_only_broken_commits_divide_are_one_answer() {
    let sandbox = history(&STEP, &[7, 8]);
    let result = report(&sandbox, &["HEAD~11", "HEAD"], 3);
    assert_eq!(subjects(&result), ["Change 7", "Change 8", "Change 9"]);
    let skipped = result["skipped"].as_array().expect("a list");
    assert!(skipped.iter().all(|one| one["reason"].as_str().is_some_and(|why| why.contains("cannot build"))));
    assert_eq!(skipped.len(), 2);
}

#[test]
fn two_parts_of_a_change_and_an_undone_one_are_named() {
    let sandbox = history(&["1000", "1000", "1000", "1050", "1050", "1050", "1050", "1100", "1100"], &[]);
    let result = report(&sandbox, &["HEAD~8", "HEAD"], 0);
    assert_eq!(
        (subjects(&result).as_slice(), &result["outcome"]),
        (&["Change 3", "Change 7"].map(str::to_owned)[..], &"two_culprits".into())
    );
}

#[test]
fn a_part_that_only_broken_commits_divide_is_not_certain() {
    let sandbox = history(&["1000", "1000", "1000", "1050", "1050", "1050", "1050", "1100", "1100"], &[3]);
    let result = report(&sandbox, &["HEAD~8", "HEAD"], 3);
    let expected = ["Change 3", "Change 4", "Change 7"];
    assert_eq!((subjects(&result), &result["outcome"]), (expected.map(str::to_owned).to_vec(), &"two_culprits".into()));
}

#[test]
fn ends_that_were_measured_too_seldom_are_uncertain() {
    let sandbox = history(&["1000", "1080"], &[]);
    // The commits have another one.
    sandbox.write("sprag.toml", &SUITE.replace("\"bench.sh\"", "\"-c\", \"sleep 0.2; sh bench.sh\""));
    let result = report(&sandbox, &["HEAD~1", "HEAD", "--budget", "1s"], 3);
    assert_eq!((&result["outcome"], &result["end_sessions"]), (&"uncertain".into(), &1.into()));
    assert!(result["summary"].as_str().is_some_and(|text| text.contains("`--continue` goes on")), "{result}");
}

#[test]
fn a_branch_that_forked_before_the_good_end_is_not_searched() {
    let sandbox = history(&["1050"], &[]);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    for place in 0..3 {
        sandbox.write("unrelated", &place.to_string());
        sandbox.commit(&format!("Unrelated {place}"));
    }
    sandbox.git(&["checkout", "-q", "main"]);
    add(&sandbox, "Faster", "1000", "cp speed built");
    sandbox.git(&["merge", "-q", "--no-ff", "--no-commit", "side"]);
    sandbox.write("speed", "1050");
    sandbox.commit("Merge side");
    assert_eq!(subjects(&report(&sandbox, &["HEAD~1", "HEAD"], 0)), ["Merge side"]);
}

#[test]
fn a_merge_is_followed_to_the_commit_that_it_brought() {
    let sandbox = history(&["1000", "1000"], &[]);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    for (place, speed) in ["1000", "1090", "1090", "1090"].iter().enumerate() {
        add(&sandbox, &format!("Side {place}"), speed, "cp speed built");
    }
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("other", "1");
    sandbox.commit("Main");
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "Merge side", "side"]);
    sandbox.write("other", "2");
    sandbox.commit("After");
    assert_eq!(subjects(&report(&sandbox, &["HEAD~3", "HEAD"], 0)), ["Side 1"]);
    assert_eq!(subjects(&report(&sandbox, &["HEAD~3", "HEAD", "--first-parent"], 0)), ["Merge side"]);
}

#[test]
fn ends_that_have_no_commit_between_them_are_refused_with_what_to_do() {
    let sandbox = history(&["1000", "1000", "1000"], &[2]);
    sandbox.git(&["checkout", "-q", "--orphan", "other"]);
    sandbox.commit("Other root");
    sandbox.git(&["checkout", "-q", "main"]);
    for (words, code, says) in [
        (&["HEAD~1", "HEAD~1"][..], 2, &["are the same commit", "hint: name the last commit that was fine"][..]),
        (&["HEAD", "HEAD~1"], 2, &["is newer than the bad end", "hint: exchange them"]),
        (&["other", "HEAD"], 2, &["does not come from", "hint: `git merge-base"]),
        (&["nowhere", "HEAD"], 2, &["nowhere"]),
        (&["HEAD~1"], 2, &["BAD"]),
        (&["HEAD~2", "HEAD"], 5, &["the ends cannot be measured", "cannot build"]),
        (&["HEAD~2", "HEAD~1", "--filter", "absent"], 2, &["absent"]),
        (&["HEAD~2", "HEAD~1", "--metric", "absent"], 5, &["no benchmark has a comparable value"]),
        (&["HEAD~2", "HEAD~1", "--suite", "absent"], 2, &["there is no suite `absent`"]),
        (&["HEAD~2", "HEAD~1", "--record"], 2, &["`--record` records what became of an event"]),
        (&["HEAD~2", "HEAD~1", "--confidence", "2"], 2, &["give a share from 0.5 to 0.999"]),
        (&["HEAD~2", "HEAD~1", "--steps", "0"], 2, &["--steps"]),
        (&["HEAD~2", "HEAD~1", "--dry-run", "--format", "json"], 2, &["cannot be used with"]),
        (&["--event", "e-123456"], 2, &["no event"]),
    ] {
        bisect(&sandbox, words, code).says(says);
    }
    let alike = report(&sandbox, &["HEAD~2", "HEAD~1"], 3);
    assert_eq!(alike["outcome"], "no_difference");
    assert!(alike["summary"].as_str().is_some_and(|text| text.contains("would have been shown")), "{alike}");
}

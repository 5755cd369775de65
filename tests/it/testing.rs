//! The library in tests of other crates, and its example.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use sprag::testing::{
    INTERVAL, Measurer, PerformanceData, RANK, TestingError, Verdict, compare, compare_sections, compare_with_file,
    in_processes,
};

use crate::sandbox::{Sandbox, assert_contains};

#[path = "../../examples/perf_test.rs"]
#[expect(dead_code, reason = "its `main` is that of the example")]
mod perf_test;

/// The ground truth and the level that child processes of these tests take.
const TRUTH: &str = "TESTING_TRUTH";
const LEVEL: &str = "TESTING_LEVEL";

#[test]
fn the_example_passes_and_fails_where_it_is_slow() {
    let truth = PerformanceData::load(&perf_test::ground_truth()).expect("it lies there");
    let counted = |forms| compare(&truth, &perf_test::counted(forms).expect("there are samples"), &RANK);
    let tuned = counted(&perf_test::TUNED);
    tuned.assert_pass();
    assert_eq!(tuned.messages().len(), 2);
    assert!(tuned.quality.is_empty(), "there are enough samples: {:?}", tuned.quality);
    let slow = counted(&perf_test::PLAIN);
    assert!(slow.verdicts().all(|(_, verdict)| *verdict == Verdict::Regressed), "{:?}", slow.messages());
    let panic = std::panic::catch_unwind(|| slow.assert_pass()).expect_err("it fails");
    let printed = panic.downcast_ref::<String>().expect("a panic with values has a text");
    assert!(printed.starts_with("performance: 2 of 2 subsections fail by the rule `rank`\n"), "{printed}");
    for line in ["  comparisons.largest: regressed: +", "  comparisons.merge: regressed: +", "hint: "] {
        assert!(printed.lines().any(|one| one.starts_with(line)), "{printed}");
    }
}

#[test]
fn the_example_computes_the_same_in_both_forms_and_times_both() {
    let less = |a: u32, b: u32| a < b;
    let values = [3, 5, 9, 9, 1, 2, 7, 8];
    for forms in [perf_test::TUNED, perf_test::PLAIN] {
        assert_eq!((forms.largest)(&values, &less), [9, 9, 8, 7, 5, 3, 2, 1]);
        assert_eq!((forms.merge)(&values, &less), [1, 2, 3, 5, 7, 8, 9, 9]);
    }
    let quick = Measurer {
        samples: 20,
        sample_time: Duration::from_micros(50),
        warm_up: Duration::ZERO,
        ..Measurer::default()
    };
    let report = perf_test::timed(&quick, &perf_test::TUNED).expect("it can be measured");
    let names: Vec<&str> = report.verdicts().map(|(name, _)| name).collect();
    assert_eq!(names, ["in use.largest", "in use.merge"]);
    assert!(report.quality[0].starts_with("in-process: one process"), "{:?}", report.quality);
}

#[test]
fn both_sides_are_measured_in_several_processes() {
    let test = "testing::both_sides_are_measured_in_several_processes";
    let runs = in_processes(test, 4, || {
        // Both sides of a process share its speed.
        let own = 1.0 + f64::from(std::process::id() % 100) / 100.0;
        let mut data = PerformanceData::new();
        data.insert("before", "sum", vec![10.0 * own; 5])?;
        data.insert("after", "sum", vec![9.0 * own; 5])?;
        Ok(data)
    });
    let runs = runs.expect("all processes measure");
    let report = compare_sections(&runs, "before", "after", &INTERVAL);
    report.assert_pass();
    assert_eq!(report.verdicts().collect::<Vec<_>>(), [("after.sum", &Verdict::Improved)]);
    let back = compare_sections(&runs, "after", "before", &INTERVAL);
    assert_eq!(back.verdicts().collect::<Vec<_>>(), [("before.sum", &Verdict::Regressed)]);
}

#[test]
fn a_ground_truth_is_accepted_where_the_environment_says_so() {
    if let Some(path) = std::env::var_os(TRUTH) {
        return hold(Path::new(&path)).expect("the file can be read and written");
    }
    let sandbox = Sandbox::empty();
    let path = sandbox.project.join("tests/truth.json");
    let check = |level: &str, variables: &[(&str, &str)], passes: bool, words: &str| {
        let ended = child(&path, level, variables);
        let said = format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert_eq!(ended.status.success(), passes, "{said}");
        assert_contains(&said, &[words]);
    };
    check("100", &[], false, "run the test once with SPRAG_ACCEPT=1");
    check("100", &[("SPRAG_ACCEPT", "1"), ("CI", "true")], false, "accept on a machine of your own");
    check("100", &[("SPRAG_ACCEPT", "yes")], false, "`yes`, where `1` or nothing is understood");
    assert!(!path.exists(), "nothing of that writes a file");
    check("100", &[("SPRAG_ACCEPT", "1")], true, "");
    let accepted = fs::read(&path).expect("it was written");
    check("100", &[("CI", "true")], true, "");
    check("110", &[], false, "s.kernel: regressed: +10.00 % (100.0 to 110.0");
    check("110", &[("SPRAG_ACCEPT", "1"), ("CI", "true")], false, "accept on a machine of your own");
    assert_eq!(fs::read(&path).expect("it is there"), accepted, "nothing of that changes the file");
    check("110", &[("SPRAG_ACCEPT", "1")], true, "");
    check("110", &[], true, "");
    fs::write(&path, "{\"s\": {\"kernel\": [1, NaN]}}").expect("it can be written");
    check("110", &[], false, "truth.json` holds no performance data: sample 2 of 's.kernel' is NaN");
}

/// What a child does.
fn hold(path: &Path) -> Result<(), TestingError> {
    let level: f64 = std::env::var(LEVEL).ok().and_then(|level| level.parse().ok()).expect("the parent gives one");
    let mut data = PerformanceData::new();
    data.insert("s", "kernel", vec![level; 100])?;
    compare_with_file(path, &data, &RANK)?.assert_pass();
    Ok(())
}

fn child(path: &Path, level: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("it has a path"));
    command.args(["testing::a_ground_truth_is_accepted_where_the_environment_says_so", "--exact", "--nocapture"]);
    command.env(TRUTH, path).env(LEVEL, level).env_remove("SPRAG_ACCEPT").env_remove("CI");
    command.envs(variables.iter().copied());
    command.output().expect("it can be started")
}

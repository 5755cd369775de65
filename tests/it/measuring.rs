//! What a run holds, how long it may take, and what happens when workers fail.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::{Sandbox, assert_contains};

fn recorded(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    sandbox.ends(0, &[&["run", "--output-run", "run.json"], arguments].concat());
    sandbox.json("run.json")
}

fn benchmark<'a>(run: &'a Value, part: &str) -> &'a Value {
    let all = run["benchmarks"].as_array().expect("a list");
    all.iter().find(|one| one["id"].as_str().is_some_and(|id| id.contains(part))).unwrap_or_else(|| panic!("no {part}"))
}

#[test]
fn a_run_holds_every_estimate_its_control_and_its_calibration_kernels() {
    let run = recorded(&Sandbox::new(), &["--quick"]);
    let fast = benchmark(&run, "scan{b=1,c=128,direction=forward,steps=256} @fast");
    let metric = |name: &str| {
        let all = fast["metrics"].as_array().expect("a list");
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}"))
    };
    let value = |name: &str| metric(name)["value"].as_f64().expect("a number");
    assert!((value("tokens_per_s") - 256.0 / value("time")).abs() < 1e-3 * value("tokens_per_s"));
    assert!(value("ratio") > 0.0 && value("limit_share") > 0.0);
    assert!(value("peak_memory") >= f64::from(2 * 256 * 128 * 4), "{}", value("peak_memory"));
    assert!(metric("time")["min"].as_f64() <= metric("time")["p50"].as_f64());
    assert_eq!((&fast["role"], &fast["attributes"]["class"]), (&Value::Null, &Value::from("compute")));
    assert_eq!(fast["attributes"]["ratio_to"], "multiply-add");
    assert_eq!(benchmark(&run, "aa_control")["role"], "control");
    assert_eq!(benchmark(&run, "calibration_multiply_add")["role"], "reported");
    assert_eq!(benchmark(&run, "calibration_copy{bytes=131072}")["role"], "reported");
    assert_eq!((&run["config"]["effort"], &run["config"]["stop_reason"]), (&"quick".into(), &"processes".into()));
    let reasons = run["quality"]["reasons"].to_string();
    assert_contains(&reasons, &["only 1 worker process: a confidence interval needs at least 3"]);
}

#[test]
fn five_workers_give_intervals_and_say_what_they_could_show() {
    let run = recorded(&Sandbox::new(), &[]);
    assert_eq!(run["config"]["workers"], 5);
    for metric in benchmark(&run, "@fast")["metrics"].as_array().expect("a list") {
        assert_eq!(metric["workers"].as_array().map(Vec::len), Some(5), "{metric}");
        assert!(metric["interval"].is_array() && metric["detectable"].is_number(), "{metric}");
    }
}

#[test]
fn a_budget_ends_a_run_and_says_so() {
    let run = recorded(&Sandbox::new(), &["--budget", "1s"]);
    assert_eq!(run["config"]["effort"], "budget");
    let stop = run["config"]["stop_reason"].as_str().expect("a word");
    assert!(["budget", "precision"].contains(&stop), "{stop}");
    assert!(run["config"]["workers"].as_u64().is_some_and(|workers| workers < 100));
}

#[test]
fn workers_stay_on_the_processor_that_was_asked_for() {
    // Without permission to pin there is only the reason to see.
    let Some(processor) = sprag_measure::pinning::allowed().pop() else { return };
    let permitted = std::thread::spawn(move || sprag_measure::pinning::pin(processor)).join().expect("it ends");
    let run = recorded(&Sandbox::new(), &["--quick", "--pin", &processor.to_string()]);
    assert_eq!(run["config"]["pin"], processor);
    let reasons = run["quality"]["reasons"].to_string();
    assert_eq!(reasons.contains("did not allow"), !permitted, "{reasons}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_worker_that_is_killed_takes_only_its_benchmark_with_it() {
    let sandbox = Sandbox::new();
    // Two benchmarks, since calibration kernels are timed with each and would fail with the only one.
    let suite =
        "[project]\nname = \"sandbox\"\n[suites.cpu]\nkind = \"cpu\"\ninclude = [\"tile_ssm_scan\", \"tile_pack\"]\n";
    sandbox.commit_with("sprag.toml", suite, "Measure two");
    let mut sprag = sandbox.start(&["run", "--filter", "@reference", "--output-run", "run.json"]);
    let children = format!("/proc/{0}/task/{0}/children", sprag.id());
    let is_worker = |process: &&str| {
        let arguments = fs::read_to_string(format!("/proc/{process}/cmdline"));
        arguments.is_ok_and(|arguments| arguments.split('\0').any(|one| one == "worker"))
    };
    let worker = (0..5000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(1));
        fs::read_to_string(&children).ok()?.split_whitespace().find(is_worker).map(str::to_owned)
    });
    let worker = worker.expect("a worker is started");
    std::thread::sleep(Duration::from_millis(150));
    std::process::Command::new("kill").args(["-9", &worker]).status().expect("kill runs");
    let code = sprag.wait().expect("sprag ends").code();
    let run = sandbox.json("run.json");
    let all = run["benchmarks"].as_array().expect("a list");
    let failures: Vec<&str> = all.iter().filter_map(|one| one["failure"].as_str()).collect();
    assert_contains(&run.to_string(), &["it was ended by signal 9"]);
    assert_eq!(code, Some(i32::from(!failures.is_empty())), "{failures:?}");
    assert!(failures.len() <= 1 && all.len() > failures.len() + 1, "{failures:?}");
}

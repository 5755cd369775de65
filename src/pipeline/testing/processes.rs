//! A measurement repeated in fresh processes: the test binary started anew, for one test.
//!
//! Two processes of one binary differ in where code and data lie, and by up to some percent in speed. A process of its own
//! has one draw of that; several show how much it makes. Each child runs the one test up to the same call of
//! [`in_processes`], measures there, leaves its data in a file of the parent, and ends.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::measurer::IN_PROCESS;
use super::{PerformanceData, TestingError};
use sprag_analysis::rules::interval::FEWEST_PAIRS;
use sprag_base::files::{WriteError, write_atomic};
use sprag_model::unit::Unit;

/// The variable that tells a child where its data go.
const FILE_VARIABLE: &str = "SPRAG_TEST_PROCESS";

/// The variable that tells a child at which call it measures.
const CALL_VARIABLE: &str = "SPRAG_TEST_CALL";

/// How much of what a child said an error repeats, in bytes.
const MOST_SAID: usize = 2_000;

/// Measures in `count` processes, one after another, and gives the data of each.
///
/// `test` is the name of the calling test as the test runner prints it, such as `speed::sums_are_fast`. What comes before
/// this call in the test runs in every process; nothing after it does, but in the parent. It works with Rust's own test
/// runner, and once in a test.
///
/// ```no_run
/// use sprag_pipeline::testing::{Cases, INTERVAL, Measurer, compare_sections, in_processes};
///
/// # fn plain(values: &[f64]) -> f64 { values.iter().sum() }
/// # fn fused(values: &[f64]) -> f64 { values.iter().sum() }
/// #[test]
/// fn fused_is_no_slower() -> Result<(), sprag_pipeline::testing::TestingError> {
///     let values = vec![1.0; 4096];
///     let runs = in_processes("fused_is_no_slower", 10, || {
///         let mut cases = Cases::new();
///         cases.add("plain", "4096", || plain(&values)).add("fused", "4096", || fused(&values));
///         Measurer::default().measure(cases)
///     })?;
///     compare_sections(&runs, "plain", "fused", &INTERVAL).assert_pass();
///     Ok(())
/// }
/// ```
///
/// # Errors
/// When a process cannot be started, fails before it has measured, or has no such test; with the end of what it said. In a
/// child, when its data cannot be written or another call is the first.
#[track_caller]
pub fn in_processes(
    test: &str,
    count: usize,
    measure: impl FnOnce() -> Result<PerformanceData, TestingError>,
) -> Result<Vec<PerformanceData>, TestingError> {
    let call = std::panic::Location::caller().to_string();
    let Some(file) = std::env::var_os(FILE_VARIABLE) else {
        let mut runs = (1..=count).map(|number| child(test, &call, number, count)).collect::<Result<Vec<_>, _>>()?;
        // What each said of itself alone.
        if count >= FEWEST_PAIRS {
            runs.iter_mut().for_each(|data| data.quality.retain(|reason| reason != IN_PROCESS));
        }
        return Ok(runs);
    };
    let asked = std::env::var(CALL_VARIABLE).unwrap_or_default();
    if asked != call {
        let fault =
            format!("this process is to measure at {asked}, and came to {call} first: call `in_processes` once a test");
        return Err(TestingError::Measure(fault));
    }
    let path = Path::new(&file);
    let text = to_text(&measure()?);
    write_atomic(path, text.as_bytes())
        .map_err(|WriteError { error, .. }| TestingError::Write { path: path.to_owned(), error })?;
    // What comes after belongs to the parent.
    std::process::exit(0)
}

fn child(test: &str, call: &str, number: usize, count: usize) -> Result<PerformanceData, TestingError> {
    let fault = |reason: String| TestingError::Process { number, count, test: test.to_owned(), reason };
    let folder = tempfile::tempdir().map_err(|error| fault(error.to_string()))?;
    let file = folder.path().join("data.json");
    let program = std::env::current_exe().map_err(|error| fault(error.to_string()))?;
    let mut command = Command::new(program);
    command.args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
    command.env(FILE_VARIABLE, &file).env(CALL_VARIABLE, call);
    let ended = command.output().map_err(|error| fault(error.to_string()))?;
    match std::fs::read(&file) {
        Ok(bytes) => from_text(&bytes).map_err(fault),
        Err(_) if ended.status.success() => {
            Err(fault(format!("it never measured; does the test runner call the test `{test}`?")))
        }
        Err(_) => {
            let said = String::from_utf8_lossy(&ended.stderr);
            Err(fault(format!("it ended with {} and said:\n{}", ended.status, end_of(&said))))
        }
    }
}

fn to_text(data: &PerformanceData) -> String {
    let unit = data.unit().map(Unit::symbol);
    json!({ "data": data.to_json(), "quality": data.quality, "unit": unit }).to_string()
}

fn from_text(bytes: &[u8]) -> Result<PerformanceData, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let data = value["data"].as_str().unwrap_or_default();
    let mut data = PerformanceData::from_json(data.as_bytes()).map_err(|error| error.to_string())?;
    let reasons = value["quality"].as_array().into_iter().flatten();
    data.quality = reasons.filter_map(|reason| reason.as_str().map(str::to_owned)).collect();
    let unit = value["unit"].as_str().and_then(Unit::from_symbol);
    Ok(unit.map_or(data.clone(), |unit| data.in_unit(unit)))
}

/// The last lines of a text.
fn end_of(text: &str) -> &str {
    let text = text.trim_end();
    let mut start = text.len().saturating_sub(MOST_SAID);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_measures_for_itself() {
        let test = "testing::processes::tests::each_process_measures_for_itself";
        let runs = in_processes(test, 3, || {
            let mut data = PerformanceData::new().in_unit(Unit::Second);
            data.insert("s", "process", vec![f64::from(std::process::id())])?;
            data.quality = vec![IN_PROCESS.to_owned(), "odd \"words\"".to_owned()];
            Ok(data)
        });
        let runs = runs.expect("all of them measure");
        let mut ids: Vec<f64> = runs.iter().filter_map(|data| Some(data.samples("s", "process")?[0])).collect();
        ids.sort_unstable_by(f64::total_cmp);
        ids.dedup();
        assert_eq!(ids.len(), 3, "three processes, none of them twice");
        assert!(!ids.contains(&f64::from(std::process::id())));
        assert_eq!((runs[0].unit(), &runs[0].quality[..]), (Some(Unit::Second), &["odd \"words\"".to_owned()][..]));
    }

    #[test]
    fn a_process_that_fails_says_why() {
        let test = "testing::processes::tests::a_process_that_fails_says_why";
        let told = in_processes(test, 2, || Err(TestingError::Measure("out of luck".to_owned())));
        // In the child that is where it fails.
        let told = told.expect_err("no process measures").to_string();
        assert!(std::env::var_os(FILE_VARIABLE).is_none(), "{told}");
        assert!(
            told.starts_with(&format!("process 1 of 2 of the test `{test}` gave no result: it ended with")),
            "{told}"
        );
        assert!(told.contains("cannot measure: out of luck"), "{told}");
    }

    #[test]
    fn a_test_that_is_not_there_is_named() {
        let told = in_processes("testing::nobody", 1, || Ok(PerformanceData::new())).expect_err("there is none");
        assert!(told.to_string().ends_with("does the test runner call the test `testing::nobody`?"), "{told}");
    }

    #[test]
    fn another_call_in_the_same_test_is_refused() {
        let test = "testing::processes::tests::another_call_in_the_same_test_is_refused";
        let measure = || {
            let mut data = PerformanceData::new();
            data.insert("s", "a", vec![1.0])?;
            Ok(data)
        };
        let is_child = std::env::var_os(FILE_VARIABLE).is_some();
        let first = in_processes(test, 1, measure);
        assert_eq!(first.is_ok(), !is_child, "{first:?}");
        if is_child {
            first.expect("the child of the second call");
        }
        let told = in_processes(test, 1, measure).expect_err("it is the second").to_string();
        assert!(told.contains("call `in_processes` once a test"), "{told}");
    }

    #[test]
    fn the_end_of_a_text_begins_with_a_whole_character() {
        assert_eq!(end_of("short\n"), "short");
        let long = "é".repeat(MOST_SAID);
        assert_eq!(end_of(&format!("x{long}")).chars().count(), MOST_SAID / 2);
    }
}

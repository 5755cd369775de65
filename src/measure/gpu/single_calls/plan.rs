//! The question and the answer, and the process that answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::program::Dtype;
use super::super::settings::Settings;
use super::Subject;
use crate::MeasureError;
use crate::process::{self, WorkerCommand};

/// The version of question and answer; parent and worker are the same binary.
pub const CALLS_VERSION: u32 = 1;

/// What a process has for everything but the calls that count: start, compiling, inputs, checks.
const BASE_LIMIT: Duration = Duration::from_secs(600);

/// What each call adds to the limit: far more than any takes.
const CALL_LIMIT: Duration = Duration::from_secs(1);

/// What to call, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallsPlan {
    /// Must be [`CALLS_VERSION`].
    pub version: u32,
    /// Sizes, calls and seed.
    pub settings: Settings,
    /// The element type that runs.
    pub dtype: Dtype,
    /// The folder that keeps what was compiled.
    pub compiled: Option<PathBuf>,
    /// The configurations of the tuned forms, by name; the one used untuned where there is none.
    pub configurations: BTreeMap<Subject, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallsAnswer {
    /// Must be [`CALLS_VERSION`].
    pub version: u32,
    /// The times, or why there are none.
    pub outcome: Outcome,
}

/// Times, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The times of every operation.
    Timed(Box<CallsTimes>),
    Failed(String),
}

/// The times of every operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallsTimes {
    pub operations: BTreeMap<Subject, OperationCalls>,
    /// What each call of the whole path chose.
    pub selected: Selected,
}

/// The calls of an operation in both forms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationCalls {
    pub reference: Series,
    /// What is used: the tuned form, or where it cannot be the plain one once more.
    pub dispatch: Series,
    /// What ran tuned, or why nothing did.
    pub tuned: Result<Tuned, String>,
}

/// Calls of one form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The nanoseconds of each call that counts.
    pub nanos: Vec<u64>,
    /// The most device memory that was held from before the first call on, inputs included.
    pub peak_bytes: u64,
}

/// A tuned form as it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    /// Its kernels in the order of their launches, each once.
    pub kernels: Vec<String>,
    /// What is set of its configuration, by macro.
    pub configuration: BTreeMap<String, u32>,
    /// How often it was called at these sizes: once to be checked, to warm up, and to be timed.
    pub calls: u64,
}

/// What each call of the whole path chose, over all images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selected {
    /// Tiles of the first level.
    pub level_0: u64,
    /// Tiles of the second level.
    pub level_1: u64,
    /// What those of the first level cost.
    pub budget_b1_spent: f64,
    /// What those of the second level cost.
    pub budget_b2_spent: f64,
}

/// Times in a fresh worker process.
///
/// # Errors
/// [`MeasureError::SingleCalls`] where the process fails, or not even a plain form is right.
pub fn measure(command: &WorkerCommand, plan: &CallsPlan) -> Result<CallsTimes, MeasureError> {
    let calls = plan.settings.warmup.saturating_add(plan.settings.iters);
    // Two forms of each, and a third series where a tuned one breaks midway.
    let calls = calls.saturating_mul(3 * Subject::ALL.len() as u32);
    let limit = BASE_LIMIT + CALL_LIMIT.saturating_mul(calls);
    let answer: CallsAnswer = process::ask(&mut command.command(), plan, limit)
        .map_err(|fault| MeasureError::SingleCalls(fault.to_string()))?;
    if answer.version != CALLS_VERSION {
        let reason = format!("its report has version {}, {CALLS_VERSION} is needed", answer.version);
        return Err(MeasureError::SingleCalls(reason));
    }
    match answer.outcome {
        Outcome::Failed(failure) => Err(MeasureError::SingleCalls(failure)),
        Outcome::Timed(times) => match Subject::ALL.iter().find(|one| !times.operations.contains_key(one)) {
            Some(subject) => Err(MeasureError::SingleCalls(format!("its report has no times of `{}`", subject.word()))),
            None => Ok(*times),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> CallsPlan {
        CallsPlan {
            version: CALLS_VERSION,
            settings: Settings { iters: 2, ..Settings::FIXED },
            dtype: Dtype::F16,
            compiled: None,
            configurations: BTreeMap::from([(Subject::TilePack, "block128".to_owned())]),
        }
    }

    #[test]
    fn question_and_answer_travel() {
        let text = serde_json::to_string(&plan()).expect("a plan is JSON");
        assert!(text.contains(r#""configurations":{"tile_pack":"block128"}"#), "{text}");
        assert_eq!(serde_json::from_str::<CallsPlan>(&text).ok(), Some(plan()));
        let series = Series { nanos: vec![7], peak_bytes: 9 };
        let tuned = Tuned { kernels: vec!["tile_pack".into()], configuration: BTreeMap::new(), calls: 61 };
        let calls = |tuned| OperationCalls { reference: series.clone(), dispatch: series.clone(), tuned };
        let operations =
            BTreeMap::from([(Subject::TilePack, calls(Ok(tuned))), (Subject::Scan, calls(Err("parity".to_owned())))]);
        let times = CallsTimes {
            operations,
            selected: Selected { budget_b1_spent: 16.000000000000004, ..Selected::default() },
        };
        let answer = CallsAnswer { version: CALLS_VERSION, outcome: Outcome::Timed(Box::new(times)) };
        let text = serde_json::to_string(&answer).expect("an answer is JSON");
        assert_eq!(serde_json::from_str::<CallsAnswer>(&text).ok(), Some(answer));
    }

    #[test]
    fn a_process_that_fails_gives_its_reason() {
        let reason = |script: &str| {
            let arguments = vec!["-c".to_owned(), format!("cat >/dev/null; {script}")];
            let command = WorkerCommand { program: "/bin/sh".into(), arguments };
            measure(&command, &plan()).expect_err("there are no times").to_string()
        };
        let answer =
            |version: u32, outcome: &str| reason(&format!("echo '{{\"version\":{version},\"outcome\":{outcome}}}'"));
        assert_eq!(reason("echo no luck >&2; exit 3"), "cannot time single calls: exit status: 3 (no luck)");
        assert_eq!(answer(1, r#"{"failed":"parity: off"}"#), "cannot time single calls: parity: off");
        assert!(answer(9, r#"{"failed":""}"#).contains("version 9"));
        let selected = r#"{"level_0":0,"level_1":0,"budget_b1_spent":0.0,"budget_b2_spent":0.0}"#;
        let empty = answer(1, &format!(r#"{{"timed":{{"operations":{{}},"selected":{selected}}}}}"#));
        assert_eq!(empty, "cannot time single calls: its report has no times of `tile_pack`");
    }
}

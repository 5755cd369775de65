//! One request to a fresh worker process of this program and its answer: JSON over pipes, each with a version.

use std::process::Command;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::MeasureError;
use crate::process::{TAIL, last_words};
use sprag_base::process::{self, Bounds, End, OutputLimit};

/// The version of requests and answers. Parent and worker are the same binary, unless it was replaced in between.
pub const TASK_VERSION: u32 = 1;

/// The longest answer in bytes: the times of ten series of a million calls.
const MOST_ANSWER_BYTES: u64 = 128 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskQuestion<Q> {
    version: u32,
    pub plan: Q,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskAnswer<A> {
    version: u32,
    /// An error says why there is no result.
    pub outcome: Result<A, String>,
}

/// Why there is no answer, as a sentence or its start.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TaskError {
    #[error("{0}")]
    TimeOut(String),
    /// It cannot be started, failed, or its answer cannot be read.
    #[error("{0}")]
    NoAnswer(String),
}

/// Starts `command`, hands it the plan, and reads its answer, within the limit.
pub(crate) fn ask<Q: Serialize, A: DeserializeOwned>(
    command: &mut Command,
    plan: &Q,
    limit: Duration,
) -> Result<A, TaskError> {
    let question = serde_json::to_vec(&TaskQuestion { version: TASK_VERSION, plan });
    let question = question.expect("a plan holds nothing that JSON cannot");
    let name = command.get_program().to_string_lossy().into_owned();
    let limits = Bounds::new(limit, OutputLimit::all(MOST_ANSWER_BYTES), OutputLimit::tail(TAIL));
    let captured = process::capture(command, question, &limits)
        .map_err(|error| TaskError::NoAnswer(format!("cannot start `{name}`: {error}")))?;
    let failed = |text: String| Err(TaskError::NoAnswer(text));
    let answer: TaskAnswer<A> = match captured.end {
        End::TimeOut => {
            let text = format!("it sent no report within {} s and was stopped", limit.as_secs_f64());
            return Err(TaskError::TimeOut(text));
        }
        End::Overflow => return failed(format!("its report is longer than {MOST_ANSWER_BYTES} bytes")),
        End::Exited(status) if !status.success() => {
            let words = last_words(&String::from_utf8_lossy(&captured.stderr));
            return failed(format!("{status} ({})", words.as_deref().unwrap_or("no message")));
        }
        End::Exited(_) => match serde_json::from_slice(&captured.stdout) {
            Ok(answer) => answer,
            Err(error) => return failed(format!("its report cannot be read: {error}")),
        },
    };
    if answer.version != TASK_VERSION {
        return failed(format!("its report has version {}; this build needs {TASK_VERSION}", answer.version));
    }
    answer.outcome.map_err(TaskError::NoAnswer)
}

/// Answers in this process. A failure of the work is part of the answer.
pub fn follow<Q, A>(
    question: &TaskQuestion<Q>,
    work: impl FnOnce(&Q) -> Result<A, String>,
) -> Result<TaskAnswer<A>, MeasureError> {
    if question.version != TASK_VERSION {
        let text = format!("it has version {}; this build supports {TASK_VERSION}", question.version);
        return Err(MeasureError::Plan(text));
    }
    Ok(TaskAnswer { version: TASK_VERSION, outcome: work(&question.plan) })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn ask_script(text: &str, limit: Duration) -> Result<Vec<u32>, TaskError> {
        ask(Command::new("/bin/sh").args(["-c", text]), &[1, 2], limit)
    }

    #[test]
    fn a_request_gets_its_answer_or_a_reason() {
        let reason = |text: &str| {
            ask_script(&format!("cat >/dev/null; {text}"), Duration::from_secs(60)).expect_err("no answer").to_string()
        };
        let echo = r#"read question; echo "$question" | sed 's/"plan":\(.*\)}/"outcome":{"Ok":\1}}/'"#;
        assert_eq!(ask_script(echo, Duration::from_secs(60)), Ok(vec![1, 2]));
        assert_eq!(reason("echo out of luck >&2; exit 3"), "exit status: 3 (out of luck)");
        let noisy = "yes noise | head -n 200000 >&2; echo last words >&2; exit 1";
        assert_eq!(reason(noisy), "exit status: 1 (last words)");
        assert_eq!(reason(r#"echo '{"version":1,"outcome":{"Err":"parity: off"}}'"#), "parity: off");
        assert!(reason(r#"echo '{"version":9,"outcome":{"Ok":[]}}'"#).contains("version 9; this build needs 1"));
        assert!(reason("echo hello").contains("its report cannot be read"));
        assert!(reason("kill -9 $$").contains("signal: 9"));
        let missing = ask::<_, u32>(&mut Command::new("/nonexistent/sprag"), &1, Duration::from_secs(1));
        assert!(missing.is_err_and(|error| error.to_string().contains("cannot start `/nonexistent/sprag`")));
    }

    #[test]
    fn a_hanging_process_and_another_version_are_refused() {
        let ended = ask_script("exec sleep 600", Duration::from_millis(50));
        assert_eq!(ended, Err(TaskError::TimeOut("it sent no report within 0.05 s and was stopped".to_owned())));
        let question = |version| TaskQuestion { version, plan: 3 };
        let answer = follow(&question(TASK_VERSION), |plan| Ok(plan + 1)).expect("it is of this version");
        assert_eq!(answer, TaskAnswer { version: TASK_VERSION, outcome: Ok(4) });
        assert!(matches!(follow(&question(0), |plan| Ok(*plan)), Err(MeasureError::Plan(_))));
    }
}

//! One question to one fresh process: JSON to its standard input, JSON from its standard output, within a time limit.

use std::io::{Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::last_words::last_words;

/// The longest answer that is read, in bytes: the times of ten series of a million calls.
const MOST_ANSWER_BYTES: u64 = 128 << 20;

/// How much of what a process says on standard error is kept, in bytes from its end.
const KEPT_ERROR_BYTES: usize = 8 << 10;

/// How long a process may live on after it has closed its output.
const GRACE: Duration = Duration::from_secs(10);

/// Why there is no answer, as the start or all of a sentence.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The time was up, and the process was ended.
    #[error("{0}")]
    TimeIsUp(String),
    /// It cannot be started, ended otherwise than well, or answered with what is no answer.
    #[error("{0}")]
    NoAnswer(String),
}

/// Starts `command`, hands it the question, and reads its answer.
///
/// # Errors
/// It cannot be started, ends otherwise than well, outlives the limit (it is then ended), or answers with what is no
/// answer.
pub(super) fn ask<A: DeserializeOwned>(
    command: &mut Command,
    question: &impl Serialize,
    limit: Duration,
) -> Result<A, Fault> {
    let question = serde_json::to_vec(question).expect("a plan holds nothing that JSON cannot");
    let answer = answer(command, question, limit)?;
    serde_json::from_slice(&answer).map_err(|error| Fault::NoAnswer(format!("its report cannot be read: {error}")))
}

fn answer(command: &mut Command, question: Vec<u8>, limit: Duration) -> Result<Vec<u8>, Fault> {
    let start = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| {
            Fault::NoAnswer(format!("cannot start `{}`: {error}", command.get_program().to_string_lossy()))
        })?;
    let mut stdin = child.stdin.take().expect("its standard input is a pipe");
    // A process that ends before it reads breaks the pipe; its exit status then says why.
    thread::spawn(move || stdin.write_all(&question));
    let output = listen(child.stdout.take().expect("its standard output is a pipe"), keep_all);
    let errors = listen(child.stderr.take().expect("its standard error is a pipe"), keep_end);
    let Ok(output) = output.recv_timeout(limit) else {
        end(&mut child);
        return Err(Fault::TimeIsUp(format!("it gave no report within {} s and was ended", limit.as_secs_f64())));
    };
    if output.len() as u64 > MOST_ANSWER_BYTES {
        end(&mut child);
        return Err(Fault::NoAnswer(format!("its report is longer than {MOST_ANSWER_BYTES} bytes")));
    }
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() > limit + GRACE => {
                end(&mut child);
                return Err(Fault::TimeIsUp("it lived on after its report and was ended".to_owned()));
            }
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            Err(error) => return Err(Fault::NoAnswer(format!("cannot tell how it ended: {error}"))),
        }
    };
    if status.success() {
        return Ok(output);
    }
    let errors = errors.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    let errors = String::from_utf8_lossy(&errors);
    let last = last_words(&errors).unwrap_or_else(|| "no message".to_owned());
    Err(Fault::NoAnswer(format!("{status} ({last})")))
}

fn end(child: &mut Child) {
    // It may have ended by itself meanwhile, which is as good.
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads a stream on a thread of its own, so that a process that never ends cannot keep us waiting.
fn listen<S: Read + Send + 'static>(stream: S, keep: fn(S) -> Vec<u8>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(keep(stream)));
    receiver
}

fn keep_all(stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came before a fault is kept; the exit status tells the rest.
    let _ = stream.take(MOST_ANSWER_BYTES + 1).read_to_end(&mut bytes);
    bytes
}

fn keep_end(mut stream: impl Read) -> Vec<u8> {
    let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        kept.drain(..kept.len().saturating_sub(KEPT_ERROR_BYTES));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]);
        command
    }

    #[test]
    fn a_question_gets_its_answer_or_a_reason() {
        let ask = |text: &str| ask::<Vec<u32>>(&mut script(text), &[1, 2], Duration::from_secs(60));
        let reason = |text: &str| ask(text).map_err(|fault| fault.to_string());
        assert_eq!(ask("cat"), Ok(vec![1, 2]));
        assert_eq!(reason("echo out of luck >&2; exit 3"), Err("exit status: 3 (out of luck)".to_owned()));
        assert!(reason("echo hello").is_err_and(|error| error.contains("its report cannot be read")));
        assert!(reason("kill -9 $$").is_err_and(|error| error.contains("signal: 9")));
        let noise = "yes noise | head -n 200000 >&2; echo last words >&2; exit 1";
        assert_eq!(reason(noise), Err("exit status: 1 (last words)".to_owned()));
    }

    #[test]
    fn a_process_that_hangs_is_ended() {
        let ended = ask::<Vec<u32>>(&mut script("exec sleep 600"), &[1], Duration::from_millis(50));
        assert_eq!(ended, Err(Fault::TimeIsUp("it gave no report within 0.05 s and was ended".to_owned())));
        let missing = ask::<Vec<u32>>(&mut Command::new("/nonexistent/sprag"), &[1], Duration::from_secs(1));
        assert!(missing.is_err_and(|fault| fault.to_string().contains("cannot start `/nonexistent/sprag`")));
    }
}

//! One worker process: spawned with a plan, read line by line, stopped when it sends nothing.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::MeasureError;
use crate::plan::{Message, PLAN_VERSION, Plan};
use sprag_base::process::{Guard, ProcessGroup, describe_exit};
use sprag_base::stats::random::SplitMix64;
use sprag_base::text::one_line;

/// Bytes of the end of a worker's standard error that are kept.
const STDERR_TAIL: usize = 64 << 10;

/// How long a worker may live on after it has closed its output, and others hold its standard error open.
const GRACE: Duration = Duration::from_secs(2);

/// The longest message in bytes: a report of a thousand benchmarks takes tens of megabytes.
const LONGEST_MESSAGE: u64 = 256 << 20;

/// Starts a worker process, which reads a plan from standard input and writes messages to standard output.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

impl WorkerCommand {
    pub fn for_this_program(arguments: &[&str]) -> Result<WorkerCommand, MeasureError> {
        let program = std::env::current_exe().map_err(MeasureError::OwnProgram)?;
        Ok(WorkerCommand { program, arguments: arguments.iter().map(|one| (*one).to_owned()).collect() })
    }

    /// Starts this program as a worker for the task of that name.
    pub fn for_task(task: &str) -> Result<WorkerCommand, MeasureError> {
        WorkerCommand::for_this_program(&["worker", "--task", task])
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerFault {
    pub reason: String,
    pub at: Option<usize>,
}

/// Dropping it stops the process.
pub struct WorkerProcess {
    group: ProcessGroup,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Receiver<String>,
    at: Option<usize>,
    patience: Duration,
}

impl WorkerProcess {
    /// Starts a worker and sends it the plan as one line.
    pub fn spawn(command: &WorkerCommand, plan: &Plan) -> Result<WorkerProcess, MeasureError> {
        let (padding, value) = padding_variable(plan.protocol.seed, plan.worker);
        let mut prepared = command.command();
        prepared.env(padding, value);
        // It would make every launch synchronous, also those that a sample queues.
        prepared.env_remove("CUDA_LAUNCH_BLOCKING");
        prepared.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A kernel that never ends reads no input and writes no output, whose end would end it.
        let guard = Guard::start(Command::new(&command.program).arg("guard"));
        let mut group = ProcessGroup::spawn(&mut prepared, guard)
            .map_err(|error| MeasureError::Spawn { program: command.program.clone(), error })?;
        let child = &mut group.child;
        let stdout = child.stdout.take().expect("its standard output is a pipe");
        let stderr = child.stderr.take().expect("its standard error is a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut bytes = Vec::new();
            while matches!(reader.by_ref().take(LONGEST_MESSAGE).read_until(b'\n', &mut bytes), Ok(length) if length > 0)
            {
                let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
                bytes.clear();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let (words, stderr_words) = channel();
        std::thread::spawn(move || {
            let mut stderr = stderr;
            let (mut tail, mut chunk) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = stderr.read(&mut chunk) {
                tail.extend_from_slice(&chunk[..count]);
                tail.drain(..tail.len().saturating_sub(STDERR_TAIL));
            }
            // Nobody waits for the output of a worker that ended well.
            let _ = words.send(String::from_utf8_lossy(&tail).into_owned());
        });
        let patience = Duration::from_secs_f64(plan.protocol.patience_seconds.clamp(0.001, 1e6));
        let stdin = child.stdin.take();
        let mut process = WorkerProcess { group, stdin, lines, stderr: stderr_words, at: None, patience };
        // A worker that ends before it reads breaks the pipe; its output and exit status then show why.
        let _ = process.send(&serde_json::to_string(plan).expect("a plan holds nothing that JSON cannot"));
        Ok(process)
    }

    pub fn send(&mut self, line: &str) -> std::io::Result<()> {
        let Some(stdin) = &mut self.stdin else { return Ok(()) };
        stdin.write_all(line.as_bytes())?;
        stdin.write_all(b"\n")?;
        stdin.flush()
    }

    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// The next message that does not report progress.
    pub fn receive(&mut self) -> Result<Message, WorkerFault> {
        loop {
            let line = match self.lines.recv_timeout(self.patience) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let silent = format!("it sent nothing for {} s and was stopped", self.patience.as_secs_f64());
                    return Err(self.fault(silent));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            };
            match serde_json::from_str(&line) {
                Ok(Message::Hello(PLAN_VERSION)) => {}
                Ok(Message::Hello(version)) => {
                    let reason = format!("its messages have version {version}; this build needs {PLAN_VERSION}");
                    return Err(self.fault(reason));
                }
                Ok(Message::Begin(number)) => self.at = Some(number),
                Ok(message) => return Ok(message),
                Err(_) => {
                    let start: String = line.chars().take(60).collect();
                    return Err(
                        self.fault(format!("it wrote something other than a message: `{}`", start.escape_debug()))
                    );
                }
            }
        }
    }

    fn fault(&mut self, reason: String) -> WorkerFault {
        self.end();
        WorkerFault { reason, at: self.at }
    }

    /// Why a worker that closed its output has ended, or that it has not.
    fn ended(&mut self) -> WorkerFault {
        let start = Instant::now();
        while !self.group.has_exited() {
            if start.elapsed() > GRACE {
                return self.fault("it closed its output without exiting and was stopped".to_owned());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // Its children would hold its standard error open.
        let status = match self.group.kill() {
            Ok(status) => status,
            Err(error) => return self.fault(format!("waiting for it failed: {error}")),
        };
        let how = if status.success() { "it ended without a report".to_owned() } else { exit_text(status) };
        let stderr = self.stderr.recv_timeout(GRACE).unwrap_or_default();
        let reason = match last_words(&stderr) {
            Some(words) => format!("{how} ({words})"),
            None => how,
        };
        WorkerFault { reason, at: self.at }
    }

    fn end(&mut self) {
        self.stdin = None;
        // It may have ended already.
        let _ = self.group.kill();
    }
}

/// Bytes of the end of an output for messages.
pub(crate) const TAIL: usize = 8 << 10;

/// The start of the message of a Rust panic; its text is on the next line.
const PANIC: &str = "panicked at ";

const LINES: usize = 3;

/// The longest quotation, in characters.
const LONGEST: usize = 300;

/// The message of the first panic, else the last line with text.
pub(crate) fn last_words(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let panic = lines.iter().position(|line| line.contains(PANIC));
    let message = |place: usize| {
        let said = lines[place + 1..].iter().take_while(|line| !is_advice(line) && !line.contains(PANIC));
        said.take(LINES).copied().collect::<Vec<&str>>().join(" ")
    };
    let message = panic.map(message).filter(|message| !message.is_empty());
    let last = message.or_else(|| lines.iter().rev().find(|line| !is_advice(line)).map(|line| (*line).to_owned()))?;
    Some(last.chars().take(LONGEST).collect())
}

/// The last line that names an error, as pytest, Go and compilers do.
pub(crate) fn named_error(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines = || text.lines().map(str::trim).rev();
    let names = |line: &&str| {
        line.starts_with("E  ") || ["Error:", "error:", "panic:", "FAIL"].iter().any(|word| line.contains(word))
    };
    let line = lines().find(|line| line.starts_with("E  ")).or_else(|| lines().find(names))?;
    Some(line.trim_start_matches("E ").trim_start().chars().take(LONGEST).collect())
}

/// Whether a line is what Rust adds to every panic.
fn is_advice(line: &str) -> bool {
    line.starts_with("note: ") || line.starts_with("stack backtrace:")
}

pub(crate) fn last_lines(bytes: &[u8], count: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let clean = |line: &str| one_line(line).chars().take(LONGEST).collect::<String>();
    let mut lines: Vec<String> = text.lines().map(clean).filter(|line| !line.is_empty()).collect();
    lines.split_off(lines.len().saturating_sub(count))
}

pub(crate) fn exit_text(status: ExitStatus) -> String {
    format!("it {}", describe_exit(status))
}

/// The variable with the padding, and its most bytes.
const VARIABLE: &str = "SPRAG_PADDING";
const MOST: usize = 4096;

pub(crate) fn padding_variable(seed: u64, process: u32) -> (&'static str, String) {
    let seed = seed.wrapping_add(u64::from(process)) ^ u64::from(std::process::id());
    (VARIABLE, "x".repeat(SplitMix64::new(seed).below(MOST)))
}

#[cfg(test)]
mod tests {
    use crate::plan::Protocol;

    use super::*;

    fn fault(patience_seconds: f64, script: &str) -> WorkerFault {
        let protocol = Protocol { patience_seconds, ..Protocol::quick() };
        let plan = Plan { version: PLAN_VERSION, suite: "cpu".into(), benchmarks: Vec::new(), protocol, worker: 0 };
        let arguments = vec!["-c".into(), script.into()];
        let command = WorkerCommand { program: "/bin/sh".into(), arguments };
        let mut process = WorkerProcess::spawn(&command, &plan).expect("there is a shell");
        process.receive().expect_err("the script gives no result")
    }

    #[test]
    fn every_failure_of_a_worker_is_a_fault_with_its_place() {
        let check = |script: &str, reason: &str, at: Option<usize>| {
            assert_eq!(fault(60.0, script), WorkerFault { reason: reason.to_owned(), at }, "{script}");
        };
        check("exit 0", "it ended without a report", None);
        check("echo first >&2; echo out of luck >&2; exit 3", "it ended with exit code 3 (out of luck)", None);
        check("echo '{\"begin\":4}'; kill -9 $$", "it was ended by signal 9", Some(4));
        check("echo '{\"hello\":4}'; echo garbage", "it wrote something other than a message: `garbage`", None);
        check("echo '{\"hello\":9}'", "its messages have version 9; this build needs 4", None);
        check(
            "echo '{\"hello\":4}'; exec 1>&-; sleep 600",
            "it closed its output without exiting and was stopped",
            None,
        );
        check("echo '{\"begin\":1}'; sleep 600 >&2 & exit 4", "it ended with exit code 4", Some(1));
        let silent = fault(3.0, "echo '{\"begin\":1}'; exec sleep 600");
        assert_eq!(silent, WorkerFault { reason: "it sent nothing for 3 s and was stopped".to_owned(), at: Some(1) });
        let panic = "printf \"thread 'main' panicked at a.rs:1:2:\\nno such tile\\nnote: run with\\n\" >&2; exit 101";
        check(panic, "it ended with exit code 101 (no such tile)", None);
        let long = fault(60.0, "head -c 300000 /dev/zero | tr '\\0' x >&2; exit 1");
        assert!(long.reason.starts_with("it ended with exit code 1 (xxx"), "{}", &long.reason[..40]);
    }

    #[test]
    fn the_explanation_in_standard_error_is_extracted() {
        let check = |stderr: &str, expected: Option<&str>| {
            assert_eq!(last_words(stderr).as_deref(), expected, "{stderr}");
        };
        check("", None);
        check("first\nout of luck\n\n", Some("out of luck"));
        let panic = "thread 'main' (7) panicked at src/a.rs:3:5:\nindex out of bounds\n\
                     note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        check(panic, Some("index out of bounds"));
        let traced = "thread 'main' panicked at src/a.rs:3:5:\nno such tile\nstack backtrace:\n   0: main\n             at ./a\n";
        check(traced, Some("no such tile"));
        let two = "thread 'a' panicked at a.rs:1:1:\nassertion failed\n  left: 1\n right: 2\nthread 'main' panicked at b.rs:1:1:\njoin";
        check(two, Some("assertion failed left: 1 right: 2"));
        check(&"x".repeat(1000), Some(&"x".repeat(LONGEST)));
    }

    #[test]
    fn processes_are_padded_differently() {
        let sizes: std::collections::BTreeSet<usize> =
            (0..20).map(|process| padding_variable(123, process).1.len()).collect();
        assert!(sizes.len() > 10 && sizes.iter().all(|size| *size < MOST), "{sizes:?}");
    }
}

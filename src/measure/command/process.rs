//! One process of a command: run in a group of its own, within a time and with bounded output, and nothing left behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::guard;
use super::outputs::{self, Event, Outputs, Pipe, TAIL};
use crate::last_words::last_words;
use crate::pinning;
use crate::process::{WorkerCommand, how_it_ended};

/// How often a process is looked at that has not closed its outputs: rarely, so that looking costs it nothing.
const POLL: Duration = Duration::from_millis(50);

/// How often one is looked at that has closed them, so that it is about to end.
const POLL_CLOSED: Duration = Duration::from_millis(2);

/// A program, its arguments, and where and under which bounds it runs.
pub(crate) struct Program<'a> {
    /// The program and its arguments; never empty.
    pub(crate) command: &'a [String],
    /// The folder that it runs in.
    pub(crate) folder: &'a Path,
    /// Variables on top of those of this process.
    pub(crate) variables: &'a BTreeMap<String, String>,
    /// Variables of this process that it does not get by itself.
    pub(crate) without: &'a [&'a str],
    /// How long it may take.
    pub(crate) time_out: Duration,
    /// Bytes that it may write to each of its outputs.
    pub(crate) most_bytes: u64,
    /// Whether what it writes to its standard output is wanted.
    pub(crate) keep_output: bool,
    /// Bytes of the end of its standard error that are wanted.
    pub(crate) keep_error: usize,
    /// The processor that it is kept on; where the system chooses, absent.
    pub(crate) pin: Option<u32>,
    /// How to start a guard of its group.
    pub(crate) guard: Option<&'a WorkerCommand>,
}

/// Why a process gave nothing.
#[derive(Debug, PartialEq)]
pub(crate) enum Fault {
    /// It could not be started, so another one could not either.
    Start(String),
    /// It was killed because it took too long.
    TimeOut(String),
    /// It failed, or its output cannot be used.
    Failed(String),
}

impl Fault {
    /// What happened, in words.
    pub(crate) fn text(&self) -> &str {
        match self {
            Fault::Start(text) | Fault::TimeOut(text) | Fault::Failed(text) => text,
        }
    }
}

/// How a process came to its end, and what it wrote until then.
pub(crate) struct Ended {
    pub(crate) end: Ending,
    /// Its standard output, where that is wanted.
    pub(crate) output: Vec<u8>,
    /// The end of its standard error.
    pub(crate) error: Vec<u8>,
    /// Whether both outputs came to their end: not where something that it started has left its group with them.
    pub(crate) closed: bool,
}

/// How a process came to its end.
pub(crate) enum Ending {
    Status(ExitStatus),
    /// It took too long and was killed.
    TimeOut,
    /// It wrote more than is allowed and was killed.
    Overflow,
}

/// Runs the program to its end and gives its standard output, where that is wanted. A fault quotes at most so many of
/// the last `lines` of standard error, or where it says nothing there, of a standard output that is not wanted.
pub(super) fn run(program: &Program<'_>, lines: usize) -> Result<Vec<u8>, Fault> {
    let ended = observe(program)?;
    let is_silent = ended.error.iter().all(u8::is_ascii_whitespace);
    let said = if is_silent && !program.keep_output { &ended.output } else { &ended.error };
    let one = || last_words(&String::from_utf8_lossy(said)).unwrap_or_default();
    let clean = |text: String| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let said = match if lines == 1 { clean(one()) } else { outputs::last_lines(said, lines).join("; ") } {
        last if last.is_empty() => last,
        last => format!(" ({last})"),
    };
    // Its own end is no end of it all where something it started has left the group: that could not be killed.
    let left =
        if ended.closed { "" } else { "; a process that it started has left its group and holds its outputs open" };
    match ended.end {
        Ending::TimeOut => {
            let seconds = program.time_out.as_secs_f64();
            Err(Fault::TimeOut(format!("it took longer than {seconds} s and was killed{said}{left}")))
        }
        Ending::Overflow => {
            let most = program.most_bytes;
            Err(Fault::Failed(format!("it wrote more than {most} bytes to one of its outputs{left}")))
        }
        Ending::Status(status) if !status.success() || !ended.closed => {
            Err(Fault::Failed(format!("{}{said}{left}", how_it_ended(status))))
        }
        Ending::Status(_) => Ok(ended.output),
    }
}

/// Runs the program to its end, whatever that is.
///
/// # Errors
/// When it cannot be started or waited for.
pub(crate) fn observe(program: &Program<'_>) -> Result<Ended, Fault> {
    let mut command = Command::new(resolve(&program.command[0], program.folder));
    command.args(&program.command[1..]).current_dir(program.folder);
    for name in program.without {
        command.env_remove(name);
    }
    command.envs(program.variables);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut guard = program.guard.and_then(guard::start);
    join_group(&mut command, guard.as_ref().map_or(0, Child::id));
    let mut child = match spawn(&mut command, program.pin) {
        Ok(child) => child,
        Err(error) => {
            end_guard(&mut guard);
            return Err(Fault::Start(start_fault(program, &error)));
        }
    };
    let group = guard.as_ref().map_or(child.id(), Child::id);
    let (sender, events) = mpsc::channel();
    let most = program.most_bytes;
    outputs::watch(
        child.stdout.take(),
        Pipe::Output,
        if program.keep_output { usize::MAX } else { TAIL },
        most,
        &sender,
    );
    outputs::watch(child.stderr.take(), Pipe::Error, program.keep_error, most, &sender);
    drop(sender);

    let mut read = Outputs::default();
    let end = wait(&mut child, &events, program.time_out, &mut read);
    // Whatever else runs in the group goes too: it would disturb the next process, and holds the outputs open.
    kill_group(group);
    let _ = child.kill();
    let status = child.wait();
    end_guard(&mut guard);
    let closed = read.finish(&events);
    let status = status.map_err(|error| Fault::Failed(format!("it cannot be waited for: {error}")))?;
    let end = match end {
        End::TimeOut => Ending::TimeOut,
        // It may have ended by itself before that was seen.
        End::Reached if read.overflowed => Ending::Overflow,
        End::Reached => Ending::Status(status),
    };
    Ok(Ended { end, output: read.output, error: read.error, closed })
}

/// Starts the process from a thread that is kept on the processor, as a process begins where its parent may run.
fn spawn(command: &mut Command, pin: Option<u32>) -> std::io::Result<Child> {
    let Some(processor) = pin else { return command.spawn() };
    let spawn = || {
        // Whether this is permitted has been told already.
        let _ = pinning::pin(processor);
        command.spawn()
    };
    let started = std::thread::scope(|scope| scope.spawn(spawn).join());
    started.unwrap_or_else(|_| Err(std::io::Error::other("the thread that starts it broke down")))
}

/// Puts the process that will be started into a group: that of the number, or for 0 one of its own.
#[cfg(unix)]
pub(super) fn join_group(command: &mut Command, group: u32) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(i32::try_from(group).unwrap_or(0));
}

/// There are no groups here: only the process itself can be ended.
#[cfg(not(unix))]
pub(super) fn join_group(_command: &mut Command, _group: u32) {}

/// Why the wait for a process is over.
#[derive(PartialEq)]
enum End {
    /// It has ended, or has written too much.
    Reached,
    /// It took too long.
    TimeOut,
}

fn wait(child: &mut Child, events: &Receiver<Event>, time_out: Duration, read: &mut Outputs) -> End {
    let deadline = Instant::now() + time_out;
    loop {
        if read.overflowed || has_ended(child) {
            return End::Reached;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return End::TimeOut;
        }
        match events.recv_timeout(left.min(POLL)) {
            Ok(event) => read.take(event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left.min(POLL_CLOSED)),
        }
    }
}

/// Whether the process has ended. It is not reaped yet, so that its number still stands for its group.
#[cfg(target_os = "linux")]
fn has_ended(child: &mut Child) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // A child that cannot be asked about is left to `wait`, which says why.
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(None))
}

#[cfg(not(target_os = "linux"))]
fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

#[cfg(target_os = "linux")]
fn kill_group(group: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // A group that is empty already cannot be killed, and need not be.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(target_os = "linux"))]
fn kill_group(_group: u32) {}

fn end_guard(guard: &mut Option<Child>) {
    if let Some(guard) = guard {
        let _ = guard.kill();
        let _ = guard.wait();
    }
}

/// A program named with a folder is looked for from the folder that it runs in; a bare name in the usual places.
fn resolve(program: &str, folder: &Path) -> PathBuf {
    if program.contains('/') { folder.join(program) } else { PathBuf::from(program) }
}

fn start_fault(program: &Program<'_>, error: &std::io::Error) -> String {
    let name = program.command[0].escape_debug();
    if !program.folder.is_dir() {
        return format!("`{name}` cannot be started: there is no folder `{}`", program.folder.display());
    }
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("`{name}` cannot be started: there is no such program"),
        _ => format!("`{name}` cannot be started: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_script(script: &str, seconds: f64, most_bytes: u64) -> Result<String, Fault> {
        let command = ["/bin/sh", "-c", script].map(str::to_owned);
        let program = Program {
            command: &command,
            folder: Path::new("/"),
            variables: &BTreeMap::from([("GIVEN".to_owned(), "a value".to_owned())]),
            without: &[],
            time_out: Duration::from_secs_f64(seconds),
            most_bytes,
            keep_output: true,
            keep_error: TAIL,
            pin: None,
            guard: None,
        };
        run(&program, 2).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn failed(text: &str) -> Result<String, Fault> {
        Err(Fault::Failed(text.to_owned()))
    }

    #[test]
    fn what_a_process_writes_is_read_whole() {
        assert_eq!(run_script("echo \"$GIVEN\"; pwd; cat", 60.0, 100), Ok("a value\n/\n".to_owned()));
        // Far more than a pipe holds, on both outputs at once.
        let much = "i=0; while [ $i -lt 3000 ]; do printf '%0100d' 0; printf '%0100d' 0 >&2; i=$((i+1)); done";
        assert_eq!(run_script(much, 60.0, 300_000).map(|text| text.len()), Ok(300_000));
    }

    #[test]
    fn a_failure_says_its_status_and_last_words() {
        assert_eq!(
            run_script("echo a >&2; echo b >&2; echo c >&2; echo >&2; exit 3", 60.0, 100),
            failed("it ended with exit code 3 (b; c)")
        );
        assert_eq!(run_script("exit 4", 60.0, 100), failed("it ended with exit code 4"));
        assert_eq!(run_script("kill -9 $$", 60.0, 100), failed("it was ended by signal 9"));
        assert_eq!(
            run_script("printf 'a\\033[31m\\tb' >&2; exit 1", 60.0, 100),
            failed("it ended with exit code 1 (a [31m b)")
        );
    }

    #[test]
    fn too_much_output_ends_a_process() {
        let endless = "while :; do echo yes; done";
        assert_eq!(run_script(endless, 60.0, 10_000), failed("it wrote more than 10000 bytes to one of its outputs"));
        assert!(run_script(&format!("({endless}) >&2"), 60.0, 10_000).is_err());
    }

    #[test]
    fn a_time_out_ends_all_that_a_process_started() {
        // Each of them holds the outputs open: that they come to their end is the proof that all are gone.
        let script = "echo waiting >&2; (sleep 1000 & sleep 1000) & sleep 1000";
        let fault = Fault::TimeOut("it took longer than 1 s and was killed (waiting)".to_owned());
        assert_eq!(run_script(script, 1.0, 100), Err(fault));
    }

    #[test]
    fn a_process_left_behind_does_not_hold_up_the_end() {
        assert_eq!(run_script("sleep 1000 & echo done", 60.0, 100), Ok("done\n".to_owned()));
        let escaped = run_script("setsid sleep 5 & sleep 1; echo done", 60.0, 100);
        let fault =
            "it ended with exit code 0; a process that it started has left its group and holds its outputs open";
        assert_eq!(escaped, failed(fault));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let start = |program: &str, folder: &str| {
            let command = [program.to_owned()];
            let program = Program {
                command: &command,
                folder: Path::new(folder),
                variables: &BTreeMap::new(),
                without: &[],
                time_out: Duration::from_secs(60),
                most_bytes: 100,
                keep_output: true,
                keep_error: TAIL,
                pin: None,
                guard: None,
            };
            run(&program, 1).expect_err("it cannot be started").text().to_owned()
        };
        assert_eq!(start("sprag-no-such", "/"), "`sprag-no-such` cannot be started: there is no such program");
        assert_eq!(start("./bench", "/nowhere"), "`./bench` cannot be started: there is no folder `/nowhere`");
        assert!(start("/", "/").starts_with("`/` cannot be started: "));
        assert_eq!(resolve("bin/x", Path::new("/a")), PathBuf::from("/a/bin/x"));
        assert_eq!(resolve("cargo", Path::new("/a")), PathBuf::from("cargo"));
    }
}

//! Child processes. Each one leads a process group, or joins that of its guard, and ends with the group.
//!
//! [`capture`] runs a program to its end, with limits of time and output. [`ProcessGroup`] is for a program that communicates
//! while it runs.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::process::Signal;

/// The interval of polls while the outputs are open: long, to disturb no measurement. A closed output is noticed at once.
const POLL: Duration = Duration::from_millis(50);

/// The interval of polls once the outputs are closed, as the program is about to end.
const POLL_CLOSED: Duration = Duration::from_millis(2);

/// How long the end is awaited without a pause after the outputs closed. Most programs end within: their time is exact.
const SPIN: Duration = Duration::from_millis(1);

/// How long the outputs may stay open after the group was killed. A process that left the group may still have them open.
const OPEN_AFTER_KILL: Duration = Duration::from_secs(2);

/// How long the outputs may stay open after the end of a program whose background processes live on.
const OPEN_AFTER_EXIT: Duration = Duration::from_millis(300);

/// How long a program may take to say its version.
const PROBE: Duration = Duration::from_secs(10);

/// A running child process and its group. Dropping it kills the group.
#[derive(Debug)]
pub struct ProcessGroup {
    pub child: Child,
    started: Instant,
    guard: Option<Guard>,
    /// Whether the program is in the group of this process, which must not be signalled.
    is_foreground: bool,
    is_reaped: bool,
}

impl ProcessGroup {
    /// Starts the program in a new group, or in that of the guard.
    pub fn spawn(command: &mut Command, guard: Option<Guard>) -> io::Result<ProcessGroup> {
        join_group(command, guard.as_ref().map_or(0, |guard| guard.0.id()));
        let started = Instant::now();
        Ok(ProcessGroup { child: command.spawn()?, started, guard, is_foreground: false, is_reaped: false })
    }

    /// Starts a program that may prompt at the terminal, which only the group of this process may read; its children may outlive it.
    fn spawn_foreground(command: &mut Command) -> io::Result<ProcessGroup> {
        let started = Instant::now();
        Ok(ProcessGroup { child: command.spawn()?, started, guard: None, is_foreground: true, is_reaped: false })
    }

    /// Whether the program has ended. It is not reaped, so that its group keeps its id.
    pub fn has_exited(&mut self) -> bool {
        self.is_reaped || has_exited(&mut self.child)
    }

    /// Kills the group, and waits for the program.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        if !self.is_reaped {
            self.signal(Signal::KILL);
            // It may have ended by itself.
            let _ = self.child.kill();
        }
        self.reap()
    }

    /// Without process groups only the program itself can be ended.
    #[cfg_attr(not(unix), expect(unused_variables, reason = "there are no signals"))]
    fn signal(&self, signal: Signal) {
        if self.is_foreground {
            return;
        }
        #[cfg(unix)]
        {
            let leader = self.guard.as_ref().map_or(&self.child, |guard| &guard.0);
            // It fails for an empty group.
            let _ = rustix::process::kill_process_group(rustix::process::Pid::from_child(leader), signal);
        }
    }

    /// Waits for the program alone.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait();
        self.is_reaped = true;
        self.guard = None;
        status
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.is_reaped {
            let _ = self.kill();
        }
    }
}

/// A process that leads a group and kills it as soon as this process ends, even by a signal or a crash.
///
/// The guard waits for the end of a pipe that only this process has open. While it lives, no other group gets its id.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// Starts a guard by a command that calls [`guard_until_end`] with its standard input; `None` without process groups, and
    /// where it cannot be started.
    pub fn start(command: &mut Command) -> Option<Guard> {
        if !cfg!(unix) {
            return None;
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        join_group(command, 0);
        command.spawn().ok().map(Guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for the end of `input`, when the parent has ended, and kills the group of this process, which must lead it.
pub fn guard_until_end(mut input: impl Read) -> io::Result<()> {
    io::copy(&mut input, &mut io::sink())?;
    #[cfg(unix)]
    {
        use rustix::process::{getpgrp, getpid, kill_current_process_group};
        if getpgrp() == getpid() {
            // It fails only for a group that does not exist.
            let _ = kill_current_process_group(Signal::KILL);
        }
    }
    Ok(())
}

/// Makes the command start in the process group with this id, or for 0 in a new one.
pub fn join_group(command: &mut Command, group: u32) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, i32::try_from(group).unwrap_or(0));
    #[cfg(not(unix))]
    let _ = (command, group);
}

#[derive(Clone, Copy, Debug)]
pub struct OutputLimit {
    /// How many of the last bytes are returned.
    pub keep: usize,
    /// How many bytes the program may write before it is killed.
    pub max: u64,
}

impl OutputLimit {
    pub fn all(max: u64) -> OutputLimit {
        OutputLimit { keep: usize::MAX, max }
    }

    pub fn tail(keep: usize) -> OutputLimit {
        OutputLimit { keep, max: u64::MAX }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub time: Duration,
    pub stdout: OutputLimit,
    pub stderr: OutputLimit,
    /// The time between the signals to terminate and to kill, when `time` is up.
    pub grace: Duration,
    /// Whether background processes, such as a cache of credentials, live on when the program ends by itself.
    pub keep_background: bool,
}

impl Bounds {
    /// Without grace and background processes.
    pub fn new(time: Duration, stdout: OutputLimit, stderr: OutputLimit) -> Bounds {
        Bounds { time, stdout, stderr, grace: Duration::ZERO, keep_background: false }
    }
}

#[derive(Debug)]
pub struct Captured {
    pub end: End,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// False where a process outside the group still has an output open.
    pub outputs_closed: bool,
    /// From before the start until its end was noticed.
    pub elapsed: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(ExitStatus),
    /// Killed, as its time was up.
    TimeOut,
    /// Killed, as it wrote too much.
    Overflow,
}

/// Runs a program to its end, with `input` as its standard input.
pub fn capture(command: &mut Command, input: Vec<u8>, limits: &Bounds) -> io::Result<Captured> {
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    capture_started(ProcessGroup::spawn(command, None)?, input, limits)
}

/// Runs a program that says something of itself, such as its version, and ends soon.
pub fn probe(command: &mut Command) -> io::Result<Output> {
    let output = OutputLimit::all(1 << 20);
    let captured = capture(command, Vec::new(), &Bounds::new(PROBE, output, output))?;
    match captured.end {
        End::Exited(status) => Ok(Output { status, stdout: captured.stdout, stderr: captured.stderr }),
        End::TimeOut | End::Overflow => Err(io::Error::new(ErrorKind::TimedOut, "it does not end")),
    }
}

/// Like [`capture`], for a program that may prompt at the terminal. When its time is up, it alone is killed.
pub fn capture_foreground(command: &mut Command, input: Vec<u8>, limits: &Bounds) -> io::Result<Captured> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    capture_started(ProcessGroup::spawn_foreground(command)?, input, limits)
}

/// Like [`capture`], for a program that was started with piped outputs.
pub fn capture_started(mut group: ProcessGroup, input: Vec<u8>, limits: &Bounds) -> io::Result<Captured> {
    if let Some(mut stdin) = group.child.stdin.take() {
        // A program that ends before it reads breaks the pipe; its exit status says why.
        thread::spawn(move || stdin.write_all(&input));
    }
    let (sender, events) = mpsc::channel();
    let stdout = read_output(group.child.stdout.take(), limits.stdout, sender.clone());
    let stderr = read_output(group.child.stderr.take(), limits.stderr, sender);
    let mut open = 2;
    let stop = wait(&mut group, &events, limits.time, &mut open);
    let elapsed = group.started.elapsed();
    if stop == Stop::TimeOut && !limits.grace.is_zero() {
        terminate(&mut group, limits.grace);
    }
    let leave = limits.keep_background && stop == Stop::Exited;
    let status = if leave { group.reap() } else { group.kill() };
    let deadline = Instant::now() + if leave { OPEN_AFTER_EXIT } else { OPEN_AFTER_KILL };
    let mut overflowed = stop == Stop::Overflow;
    while open > 0 {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Closed) => open -= 1,
            Ok(Event::Overflow) => overflowed = true,
            // Another process has the pipe open; its reader is abandoned.
            Err(_) => break,
        }
    }
    let take = |bytes: &Mutex<Vec<u8>>| std::mem::take(&mut *bytes.lock().unwrap_or_else(PoisonError::into_inner));
    let end = match status? {
        _ if stop == Stop::TimeOut => End::TimeOut,
        _ if overflowed => End::Overflow,
        status => End::Exited(status),
    };
    Ok(Captured { end, stdout: take(&stdout), stderr: take(&stderr), outputs_closed: open == 0, elapsed })
}

/// How a process ended, as a clause that reads after its name.
pub fn describe_exit(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was ended by signal {signal}");
    }
    status.code().map_or_else(|| status.to_string(), |code| format!("ended with exit code {code}"))
}

enum Event {
    Overflow,
    Closed,
}

/// Why the wait for a program is over.
#[derive(Clone, Copy, PartialEq)]
enum Stop {
    Exited,
    Overflow,
    TimeOut,
}

fn wait(group: &mut ProcessGroup, events: &Receiver<Event>, limit: Duration, open: &mut usize) -> Stop {
    let start = Instant::now();
    let mut closed = None;
    loop {
        if group.has_exited() {
            return Stop::Exited;
        }
        if *open == 0 && closed.get_or_insert_with(Instant::now).elapsed() < SPIN {
            thread::yield_now();
            continue;
        }
        let left = limit.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Stop::TimeOut;
        }
        match events.recv_timeout(left.min(if *open == 0 { POLL_CLOSED } else { POLL })) {
            Ok(Event::Overflow) => return Stop::Overflow,
            Ok(Event::Closed) => *open -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(left.min(POLL_CLOSED)),
        }
    }
}

fn terminate(group: &mut ProcessGroup, grace: Duration) {
    group.signal(Signal::TERM);
    let start = Instant::now();
    while start.elapsed() < grace && !group.has_exited() {
        thread::sleep(POLL_CLOSED);
    }
}

/// Reads an output to its end on a separate thread, so that neither output can fill up and block the program.
fn read_output(
    mut pipe: Option<impl Read + Send + 'static>,
    limit: OutputLimit,
    sender: Sender<Event>,
) -> Arc<Mutex<Vec<u8>>> {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let filled = Arc::clone(&bytes);
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        let mut total = 0;
        while let Some(count) = pipe.as_mut().and_then(|pipe| read_some(pipe, &mut buffer)) {
            let before = total;
            total += count as u64;
            if total <= limit.max {
                let mut filled = filled.lock().unwrap_or_else(PoisonError::into_inner);
                filled.extend_from_slice(&buffer[..count]);
                let surplus = filled.len().saturating_sub(limit.keep);
                filled.drain(..surplus);
            } else if before <= limit.max {
                // The receiver may be gone.
                let _ = sender.send(Event::Overflow);
            }
        }
        let _ = sender.send(Event::Closed);
    });
    bytes
}

/// The number of bytes that came; absent at the end.
fn read_some(pipe: &mut impl Read, buffer: &mut [u8]) -> Option<usize> {
    loop {
        match pipe.read(buffer) {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

#[cfg(not(unix))]
enum Signal {
    TERM,
    KILL,
}

#[cfg(unix)]
fn has_exited(child: &mut Child) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // The later `wait` reports an error.
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(None))
}

#[cfg(not(unix))]
fn has_exited(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// The search path without folders that a checkout could fill: relative ones, and those inside a working tree.
pub fn trusted_path(path: &OsStr, working_trees: &[PathBuf]) -> Vec<PathBuf> {
    let inside = |folder: &Path| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let trees = working_trees.iter().flat_map(|tree| [tree.canonicalize().ok(), Some(tree.clone())]);
        trees.flatten().any(|tree| real.starts_with(&tree) || folder.starts_with(&tree))
    };
    std::env::split_paths(path).filter(|folder| folder.is_absolute() && !inside(folder)).collect()
}

pub fn find_program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    folders.iter().map(|folder| folder.join(&name)).find(|file| is_program(file))
}

#[cfg(unix)]
pub fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn limits(time: Duration, keep: usize, max: u64) -> Bounds {
        let output = OutputLimit { keep, max };
        Bounds::new(time, output, output)
    }

    fn run(script: &str, limits: &Bounds) -> Captured {
        capture(&mut shell(script), b"input\n".to_vec(), limits).expect("there is a shell")
    }

    fn manner(captured: &Captured) -> String {
        match captured.end {
            End::Exited(status) => describe_exit(status),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn outputs_are_read_while_it_runs_and_limited() {
        // Far more than the buffer of a pipe, on both outputs at once.
        let much = "i=0; while [ $i -lt 3000 ]; do printf '%0100d' $i; printf '%0100d' $i >&2; i=$((i+1)); done";
        let check = |script: &str, keep: usize, end: &str, stdout: &str, stderr: &str| {
            let captured = run(script, &limits(LONG, keep, 1 << 20));
            let (out, error) = (String::from_utf8_lossy(&captured.stdout), String::from_utf8_lossy(&captured.stderr));
            assert_eq!((&*manner(&captured), &*out, &*error), (end, stdout, stderr), "{script}");
        };
        check("cat; echo error >&2; exit 3", 100, "ended with exit code 3", "input\n", "error\n");
        check("exit 0", 100, "ended with exit code 0", "", "");
        check("kill -9 $$", 100, "was ended by signal 9", "", "");
        check(much, 4, "ended with exit code 0", "2999", "2999");
        assert_eq!(run(much, &limits(LONG, usize::MAX, 300_000)).stdout.len(), 300_000);
        assert!(capture(&mut Command::new("/nowhere/git"), Vec::new(), &limits(LONG, 4, 4)).is_err());
    }

    #[test]
    fn a_foreground_program_stays_in_our_group() {
        let own = || rustix::process::getpgrp().as_raw_nonzero().to_string();
        let group = |captured: Captured| String::from_utf8_lossy(&captured.stdout).trim().to_owned();
        let script = "ps -o pgid= -p $$; read line && test $line = input && exec sleep 1000";
        let limits = limits(Duration::from_secs(1), 100, 100);
        let captured = capture_foreground(&mut shell(script), b"input\n".to_vec(), &limits).expect("there is a shell");
        assert_eq!((captured.end, group(captured)), (End::TimeOut, own()));
        assert_ne!(group(run("ps -o pgid= -p $$", &limits)), own());
    }

    #[test]
    fn too_much_output_ends_a_program() {
        for script in ["while :; do echo yes; done", "(while :; do echo yes; done) >&2", "echo 123456789a"] {
            assert_eq!(run(script, &limits(LONG, 4, 10)).end, End::Overflow, "{script}");
        }
    }

    #[test]
    fn a_time_out_ends_all_of_the_group() {
        // Each of them has the outputs open, so that closed outputs prove that all have ended.
        let script = "echo waiting >&2; (sleep 1000 & sleep 1000) & sleep 1000";
        let captured = run(script, &limits(Duration::from_secs(1), 100, 100));
        assert_eq!((captured.end, &captured.stderr[..]), (End::TimeOut, &b"waiting\n"[..]));
        assert!(captured.outputs_closed);
    }

    #[test]
    fn a_program_may_clean_up_when_its_time_is_up() {
        let script = "trap 'echo cleared; exit 1' TERM; sleep 1000 & wait";
        let gentle = Bounds { grace: LONG, ..limits(Duration::from_secs(1), 100, 100) };
        let captured = run(script, &gentle);
        assert_eq!((captured.end, &captured.stdout[..]), (End::TimeOut, &b"cleared\n"[..]));
        let stubborn = "trap '' TERM; sleep 1000; sleep 1000";
        let limits = Bounds { grace: Duration::from_millis(50), ..limits(Duration::from_millis(300), 100, 100) };
        assert_eq!(run(stubborn, &limits).end, End::TimeOut);
    }

    #[test]
    fn background_processes_are_killed_or_live_on() {
        let script = "(sleep 2; echo late) & echo done";
        let strict = limits(LONG, 100, 100);
        let captured = run(script, &strict);
        assert_eq!((&captured.stdout[..], captured.outputs_closed), (&b"done\n"[..], true));
        let captured = run(script, &Bounds { keep_background: true, ..strict });
        assert_eq!((&captured.stdout[..], captured.outputs_closed), (&b"done\n"[..], false));
        // A process that has left the group cannot be killed with it.
        let captured = run("setsid sleep 5 & sleep 1; echo done", &strict);
        assert_eq!((manner(&captured), captured.outputs_closed), ("ended with exit code 0".to_owned(), false));
    }

    #[test]
    fn dropping_a_group_ends_it() {
        let mut command = shell("(sleep 1000 & sleep 1000) & echo ready; sleep 1000");
        let mut group = ProcessGroup::spawn(command.stdout(Stdio::piped()), None).expect("there is a shell");
        let mut stdout = group.child.stdout.take().expect("it is a pipe");
        let mut ready = [0; 6];
        stdout.read_exact(&mut ready).expect("it says that it is ready");
        assert!(!group.has_exited());
        drop(group);
        assert_eq!(stdout.read(&mut ready).expect("the pipe is open"), 0, "no process has the output open");
    }

    #[test]
    fn a_guarded_program_runs_in_the_group_of_its_guard() {
        let guard = Guard::start(&mut shell("cat")).expect("there is a shell");
        let leader = guard.0.id();
        let mut command = shell("ps -o pgid= -p $$; sleep 1000 & exit 0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let group = ProcessGroup::spawn(&mut command, Some(guard)).expect("there is a shell");
        let captured = capture_started(group, Vec::new(), &limits(LONG, 100, 100)).expect("it can be waited for");
        assert_eq!(String::from_utf8_lossy(&captured.stdout).trim(), leader.to_string());
        assert!(captured.outputs_closed);
    }
}

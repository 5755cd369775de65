//! Child processes. Each one leads a process group, or joins that of its guard, and is ended with the whole group.
//!
//! [`capture`] runs a program to its end, within a time and with bounded output. [`ProcessGroup`] is for a program that
//! is talked to while it runs.

use std::io::{self, ErrorKind, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often a program is polled that has not closed its outputs: rarely, so that polling does not disturb what it
/// measures. A program that ends closes them, which is noticed at once.
const POLL: Duration = Duration::from_millis(50);

/// How often one is polled that has closed its outputs, so that it is about to end.
const POLL_CLOSED: Duration = Duration::from_millis(2);

/// How long outputs may stay open after the group was killed: a process that left the group may hold them.
const OPEN_AFTER_KILL: Duration = Duration::from_secs(2);

/// How long outputs may stay open after the end of a program whose background processes live on.
const OPEN_AFTER_EXIT: Duration = Duration::from_millis(300);

/// A running child process and its group. Dropping it kills the group.
#[derive(Debug)]
pub struct ProcessGroup {
    pub child: Child,
    guard: Option<Guard>,
    /// Whether the program is in our own group, which must not be signalled.
    is_foreground: bool,
    is_reaped: bool,
}

impl ProcessGroup {
    /// Starts the program in a group of its own, or in that of the guard.
    pub fn spawn(command: &mut Command, guard: Option<Guard>) -> io::Result<ProcessGroup> {
        join_group(command, guard.as_ref().map_or(0, |guard| guard.0.id()));
        Ok(ProcessGroup { child: command.spawn()?, guard, is_foreground: false, is_reaped: false })
    }

    /// Starts a program that may ask at the terminal, such as for a passphrase. Only a process of our own group may read
    /// there, so that what the program starts is not ended with it.
    fn spawn_foreground(command: &mut Command) -> io::Result<ProcessGroup> {
        Ok(ProcessGroup { child: command.spawn()?, guard: None, is_foreground: true, is_reaped: false })
    }

    /// Whether the program has ended. It is not reaped, so its number still stands for its group.
    pub fn has_exited(&mut self) -> bool {
        self.is_reaped || has_exited(&mut self.child)
    }

    /// Kills whatever still runs in the group, and waits for the program.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        if !self.is_reaped {
            self.signal(Signal::Kill);
            // It may have ended by itself meanwhile, which is as good.
            let _ = self.child.kill();
        }
        self.reap()
    }

    fn signal(&self, signal: Signal) {
        if self.is_foreground {
            return;
        }
        let leader = self.guard.as_ref().map_or(&self.child, |guard| &guard.0);
        signal_group(leader, signal);
    }

    /// Waits for the program and leaves the others of its group running.
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

/// A process that leads a group and kills it as soon as this process is gone, for whatever reason.
///
/// A signal to this process alone (an interrupt, a kill, a crash) would leave the group running. The guard waits for the
/// end of a pipe that only this process holds open. While it lives, the number of its group cannot pass to another one.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// Starts a guard by a command that calls [`guard_until_end`] with its standard input. `None` where there are no
    /// process groups or it cannot be started.
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

/// Waits for the end of `input`, which means that the parent is gone, then kills the group of this process.
///
/// Returns only where this process leads no group.
pub fn guard_until_end(mut input: impl Read) -> io::Result<()> {
    io::copy(&mut input, &mut io::sink())?;
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
        if getpgrp() == getpid() {
            // It cannot fail but for a group that is gone, and this process is in it.
            let _ = kill_current_process_group(Signal::KILL);
        }
    }
    Ok(())
}

/// Has the command start in the process group with this number, or for 0 in one of its own.
pub fn join_group(command: &mut Command, group: u32) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, i32::try_from(group).unwrap_or(0));
    #[cfg(not(unix))]
    let _ = (command, group);
}

#[derive(Clone, Copy, Debug)]
pub struct OutputLimit {
    /// Bytes that are kept, from the end.
    pub keep: usize,
    /// Bytes that the program may write; with more it is killed.
    pub max: u64,
}

impl OutputLimit {
    /// Keeps everything up to `max` bytes.
    pub fn all(max: u64) -> OutputLimit {
        OutputLimit { keep: usize::MAX, max }
    }

    /// Keeps the last bytes of however much is written.
    pub fn tail(keep: usize) -> OutputLimit {
        OutputLimit { keep, max: u64::MAX }
    }
}

/// The bounds of one call of a program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub time: Duration,
    pub stdout: OutputLimit,
    pub stderr: OutputLimit,
    /// How long the group has between a request to terminate and being killed, when the time is up.
    pub grace: Duration,
    /// What the program leaves running when it ends by itself lives on, such as a cache of credentials.
    pub keep_background: bool,
}

impl Limits {
    /// Ends everything at once when the time is up, and whatever is left when the program ends.
    pub fn new(time: Duration, stdout: OutputLimit, stderr: OutputLimit) -> Limits {
        Limits { time, stdout, stderr, grace: Duration::ZERO, keep_background: false }
    }
}

#[derive(Debug)]
pub struct Captured {
    pub end: End,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// False where a process outside the group still holds one of the outputs open.
    pub outputs_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(ExitStatus),
    /// It took longer than allowed and was killed.
    TimeOut,
    /// It wrote more than allowed and was killed.
    Overflow,
}

/// Runs a program to its end: writes `input` to its standard input and reads both outputs.
pub fn capture(command: &mut Command, input: Vec<u8>, limits: &Limits) -> io::Result<Captured> {
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    capture_started(ProcessGroup::spawn(command, None)?, input, limits)
}

/// Like [`capture`], with a program that may ask at the terminal. When its time is up it alone is killed.
pub fn capture_foreground(command: &mut Command, input: Vec<u8>, limits: &Limits) -> io::Result<Captured> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    capture_started(ProcessGroup::spawn_foreground(command)?, input, limits)
}

/// Like [`capture`], with a program that was started with its outputs piped.
pub fn capture_started(mut group: ProcessGroup, input: Vec<u8>, limits: &Limits) -> io::Result<Captured> {
    if let Some(mut stdin) = group.child.stdin.take() {
        // A program that ends before it reads breaks the pipe; its exit status then says why.
        thread::spawn(move || stdin.write_all(&input));
    }
    let (sender, events) = mpsc::channel();
    let stdout = read_output(group.child.stdout.take(), limits.stdout, sender.clone());
    let stderr = read_output(group.child.stderr.take(), limits.stderr, sender);
    let mut open = 2;
    let stop = wait(&mut group, &events, limits.time, &mut open);
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
            // The reader is left behind with a pipe that somebody else holds open.
            Err(_) => break,
        }
    }
    let take = |bytes: &Mutex<Vec<u8>>| std::mem::take(&mut *bytes.lock().unwrap_or_else(PoisonError::into_inner));
    let end = match status? {
        _ if stop == Stop::TimeOut => End::TimeOut,
        // It may have ended by itself before that was seen.
        _ if overflowed => End::Overflow,
        status => End::Exited(status),
    };
    Ok(Captured { end, stdout: take(&stdout), stderr: take(&stderr), outputs_closed: open == 0 })
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
    loop {
        if group.has_exited() {
            return Stop::Exited;
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

/// Asks the group to terminate, and waits until the program has or the grace is over.
fn terminate(group: &mut ProcessGroup, grace: Duration) {
    group.signal(Signal::Terminate);
    let start = Instant::now();
    while start.elapsed() < grace && !group.has_exited() {
        thread::sleep(POLL_CLOSED);
    }
}

/// Reads an output to its end on a thread of its own, so that neither output can fill up and stop the program.
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
                // Whoever waited may have given up.
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

#[derive(Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}

#[cfg(unix)]
fn has_exited(child: &mut Child) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // A child that cannot be asked about is left to `wait`, which says why.
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(None))
}

#[cfg(not(unix))]
fn has_exited(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

#[cfg(unix)]
fn signal_group(leader: &Child, signal: Signal) {
    use rustix::process::{Pid, Signal as Number, kill_process_group};
    let number = match signal {
        Signal::Terminate => Number::TERM,
        Signal::Kill => Number::KILL,
    };
    // A group that is empty already cannot be signalled, and need not be.
    let _ = kill_process_group(Pid::from_child(leader), number);
}

/// There are no groups here: only the program itself can be ended.
#[cfg(not(unix))]
fn signal_group(_leader: &Child, _signal: Signal) {}

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

    fn limits(time: Duration, keep: usize, max: u64) -> Limits {
        let output = OutputLimit { keep, max };
        Limits::new(time, output, output)
    }

    fn run(script: &str, limits: &Limits) -> Captured {
        capture(&mut shell(script), b"input\n".to_vec(), limits).expect("there is a shell")
    }

    fn manner(captured: &Captured) -> String {
        match captured.end {
            End::Exited(status) => describe_exit(status),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn outputs_are_read_while_it_runs_and_bounded() {
        // Far more than a pipe holds, on both outputs at once.
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
    fn a_program_that_may_ask_at_the_terminal_stays_in_our_group() {
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
    fn a_time_out_ends_the_whole_group() {
        // Each of them holds the outputs open: that they close is the proof that all are gone.
        let script = "echo waiting >&2; (sleep 1000 & sleep 1000) & sleep 1000";
        let captured = run(script, &limits(Duration::from_secs(1), 100, 100));
        assert_eq!((captured.end, &captured.stderr[..]), (End::TimeOut, &b"waiting\n"[..]));
        assert!(captured.outputs_closed);
    }

    #[test]
    fn a_program_may_clear_up_when_its_time_is_up() {
        let script = "trap 'echo cleared; exit 1' TERM; sleep 1000 & wait";
        let gentle = Limits { grace: LONG, ..limits(Duration::from_secs(1), 100, 100) };
        let captured = run(script, &gentle);
        assert_eq!((captured.end, &captured.stdout[..]), (End::TimeOut, &b"cleared\n"[..]));
        let stubborn = "trap '' TERM; sleep 1000; sleep 1000";
        let limits = Limits { grace: Duration::from_millis(50), ..limits(Duration::from_millis(300), 100, 100) };
        assert_eq!(run(stubborn, &limits).end, End::TimeOut);
    }

    #[test]
    fn what_a_program_leaves_behind_is_killed_or_left_running() {
        let script = "(sleep 2; echo late) & echo done";
        let strict = limits(LONG, 100, 100);
        let captured = run(script, &strict);
        assert_eq!((&captured.stdout[..], captured.outputs_closed), (&b"done\n"[..], true));
        let captured = run(script, &Limits { keep_background: true, ..strict });
        assert_eq!((&captured.stdout[..], captured.outputs_closed), (&b"done\n"[..], false));
        // One that has left the group cannot be killed with it.
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
        assert_eq!(stdout.read(&mut ready).expect("the pipe is open"), 0, "nobody holds the output any more");
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

//! One call of a program: within a time, with its outputs read while it runs, and its whole group ended where it takes
//! too long.

use std::io::{self, ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a program is looked at that keeps its outputs open.
const POLL: Duration = Duration::from_millis(20);

/// How often one is looked at that has closed them, so that it is about to end.
const POLL_CLOSED: Duration = Duration::from_millis(1);

/// How long outputs may stay open after the program has ended: a shared connection that it left behind may hold them.
const OPEN_AFTER_END: Duration = Duration::from_millis(300);

/// How long a program has to clear its locks away when it is told to stop.
const GRACE: Duration = Duration::from_secs(2);

/// How a program came to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ending {
    Status(ExitStatus),
    /// It took too long and was stopped.
    TimeOut,
}

/// A call that is over.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) ending: Ending,
    /// The end of its standard output.
    pub(super) output: Vec<u8>,
    /// The end of its standard error.
    pub(super) error: Vec<u8>,
}

impl Ended {
    /// Its exit code, if it came to an end with one.
    pub(super) fn code(&self) -> Option<i32> {
        match self.ending {
            Ending::Status(status) => status.code(),
            Ending::TimeOut => None,
        }
    }

    /// How it ended, as a clause that reads after the name of the program.
    pub(super) fn manner(&self, limit: Duration) -> String {
        match self.ending {
            Ending::TimeOut => format!("took longer than {} s and was stopped", limit.as_secs_f64()),
            Ending::Status(status) => match (status.code(), signal(status)) {
                (Some(code), _) => format!("ended with exit code {code}"),
                (None, Some(signal)) => format!("was ended by signal {signal}"),
                (None, None) => "ended in an unknown way".to_owned(),
            },
        }
    }
}

/// Runs the program with nothing to read, and keeps the last `keep` bytes of each output.
///
/// # Errors
/// When it cannot be started or waited for.
pub(super) fn run(command: &mut Command, limit: Duration, keep: usize) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    lead_group(command);
    let mut child = command.spawn()?;
    let (sender, closed) = mpsc::channel();
    let output = watch(child.stdout.take(), keep, sender.clone());
    let error = watch(child.stderr.take(), keep, sender);
    let deadline = Instant::now() + limit;
    let (mut open, mut ended_at) = (2, None);
    let mut status = None;
    let ending = loop {
        if status.is_none() {
            status = child.try_wait()?;
        }
        let now = Instant::now();
        match status {
            Some(status) => {
                let since = *ended_at.get_or_insert(now);
                if open == 0 || now.duration_since(since) > OPEN_AFTER_END {
                    break Ending::Status(status);
                }
            }
            None if now >= deadline => {
                stop(&mut child)?;
                break Ending::TimeOut;
            }
            None => {}
        }
        match closed.recv_timeout(if open == 0 { POLL_CLOSED } else { POLL }) {
            Ok(()) => open -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(POLL_CLOSED),
        }
    };
    let take = |kept: Arc<Mutex<Vec<u8>>>| kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Ended { ending, output: take(output), error: take(error) })
}

/// Reads an output to its end on a thread of its own, so that a full pipe never stops the program.
fn watch(mut pipe: Option<impl Read + Send + 'static>, keep: usize, closed: Sender<()>) -> Arc<Mutex<Vec<u8>>> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let filled = Arc::clone(&kept);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 16 << 10];
        while let Some(count) = pipe.as_mut().and_then(|pipe| read_some(pipe, &mut buffer)) {
            let mut filled = filled.lock().unwrap_or_else(PoisonError::into_inner);
            filled.extend_from_slice(&buffer[..count]);
            let surplus = filled.len().saturating_sub(keep);
            filled.drain(..surplus);
        }
        // Whoever waited may have given up.
        let _ = closed.send(());
    });
    kept
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

/// Stops the whole group: first kindly, so that git removes its locks.
fn stop(child: &mut Child) -> io::Result<()> {
    signal_group(child, false);
    let deadline = Instant::now() + GRACE;
    // The child is left unreaped meanwhile, so that its number still stands for its group.
    while Instant::now() < deadline && !has_ended(child) {
        std::thread::sleep(POLL);
    }
    signal_group(child, true);
    let _ = child.kill();
    child.wait().map(drop)
}

#[cfg(unix)]
fn lead_group(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
}

#[cfg(not(unix))]
fn lead_group(_command: &mut Command) {}

#[cfg(target_os = "linux")]
fn has_ended(child: &mut Child) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), options), Ok(None))
}

#[cfg(not(target_os = "linux"))]
fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

#[cfg(target_os = "linux")]
fn signal_group(child: &Child, hard: bool) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // A group that is empty already cannot be stopped, and need not be.
    let _ = kill_process_group(Pid::from_child(child), if hard { Signal::KILL } else { Signal::TERM });
}

/// There are no groups here: only the program itself can be ended.
#[cfg(not(target_os = "linux"))]
fn signal_group(_child: &Child, _hard: bool) {}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal()
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn script(text: &str, limit: Duration, keep: usize) -> Ended {
        run(Command::new("/bin/sh").args(["-c", text]), limit, keep).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn outputs_are_read_while_it_runs_and_bounded() {
        let ended = script("cat; echo out; echo error >&2; exit 3", LONG, 100);
        assert_eq!((ended.code(), &ended.output[..], &ended.error[..]), (Some(3), &b"out\n"[..], &b"error\n"[..]));
        assert_eq!(ended.manner(LONG), "ended with exit code 3");
        // Far more than a pipe holds, on both outputs at once; the end of it is kept.
        let much = "i=0; while [ $i -lt 3000 ]; do printf '%0100d' $i; printf '%0100d' $i >&2; i=$((i+1)); done";
        let ended = script(much, LONG, 4);
        assert_eq!((ended.code(), &ended.output[..], &ended.error[..]), (Some(0), &b"2999"[..], &b"2999"[..]));
        assert_eq!(script("kill -9 $$", LONG, 4).manner(LONG), "was ended by signal 9");
        assert!(run(&mut Command::new("/nowhere/git"), LONG, 4).is_err());
    }

    #[test]
    fn what_takes_too_long_is_stopped() {
        let text = "trap '' INT; sleep 1000 & sleep 1000";
        let limit = Duration::from_millis(500);
        let ended = script(text, limit, 4);
        assert_eq!((ended.code(), ended.ending), (None, Ending::TimeOut));
        assert_eq!(ended.manner(limit), "took longer than 0.5 s and was stopped");
    }

    #[test]
    fn something_left_behind_does_not_hold_up_the_end() {
        let ended = script("sleep 5 & echo done", LONG, 10);
        assert_eq!((ended.code(), &ended.output[..]), (Some(0), &b"done\n"[..]));
    }
}

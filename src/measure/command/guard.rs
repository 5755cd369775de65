//! The guard of a process group: when Sprag dies, whatever it started dies too.
//!
//! A command may start processes of its own, and a signal to Sprag alone (an interrupt, a kill, a crash) would leave
//! them running. So a second Sprag leads the group of each command, waits for the end of a pipe that only the first
//! one holds open, and then kills the group, itself included. While it lives, the number of the group cannot pass to
//! another one.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use crate::process::WorkerCommand;

/// Stands guard as the hidden entry of Sprag: returns only where there is nothing that it could kill.
///
/// # Errors
/// When `input`, whose end means that the parent is gone, cannot be read.
pub fn stand(mut input: impl Read) -> std::io::Result<()> {
    std::io::copy(&mut input, &mut std::io::sink())?;
    kill_own_group();
    Ok(())
}

/// Starts the guard as the leader of a new group. `None` where the system has no such thing or it cannot be started:
/// a measurement is worth having without one.
pub(super) fn start(command: &WorkerCommand) -> Option<Child> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let mut guard = Command::new(&command.program);
    guard.args(&command.arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    super::process::join_group(&mut guard, 0);
    guard.spawn().ok()
}

/// Kills the group of this process, where this process leads it: nobody else's group is meant.
#[cfg(target_os = "linux")]
fn kill_own_group() {
    use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
    if getpgrp() == getpid() {
        // It cannot fail but for a group that is gone, and this process is in it.
        let _ = kill_current_process_group(Signal::KILL);
    }
}

#[cfg(not(target_os = "linux"))]
fn kill_own_group() {}

//! The outputs of a process: read side by side, bounded, and only so much kept as is wanted.

use std::io::{ErrorKind, Read};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// How long outputs may stay open after the whole group was killed.
const GRACE: Duration = Duration::from_secs(2);

/// The end of an output that is kept for messages, in bytes.
pub(super) const TAIL: usize = 8 << 10;

/// The longest line that a message quotes, in characters.
const MOST_LINE: usize = 300;

/// One of the two outputs of a process.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Pipe {
    Output,
    Error,
}

/// What a reader has to tell.
pub(super) enum Event {
    /// The output came to its end, and this is what was kept of it.
    Closed(Pipe, Vec<u8>),
    /// More was written than is allowed.
    Overflow,
}

/// What was read of both outputs.
#[derive(Default)]
pub(super) struct Outputs {
    pub(super) output: Vec<u8>,
    pub(super) error: Vec<u8>,
    /// Whether more was written to one of them than is allowed.
    pub(super) overflowed: bool,
    closed: usize,
}

impl Outputs {
    /// Takes in what a reader has to tell.
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Overflow => self.overflowed = true,
            Event::Closed(pipe, bytes) => {
                self.closed += 1;
                match pipe {
                    Pipe::Output => self.output = bytes,
                    Pipe::Error => self.error = bytes,
                }
            }
        }
    }

    /// Waits for the readers; whether both came to an end.
    pub(super) fn finish(&mut self, events: &Receiver<Event>) -> bool {
        let deadline = Instant::now() + GRACE;
        while self.closed < 2 {
            match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) => self.take(event),
                // The reader is left behind with a pipe that somebody else holds open.
                Err(_) => return false,
            }
        }
        true
    }
}

/// Reads an output to its end on a thread of its own, so that neither output can fill up and stop the process. Keeps
/// the last `keep` bytes.
pub(super) fn watch(
    pipe: Option<impl Read + Send + 'static>,
    name: Pipe,
    keep: usize,
    most: u64,
    sender: &Sender<Event>,
) {
    let sender = sender.clone();
    std::thread::spawn(move || {
        let (mut kept, mut total, mut told) = (Vec::new(), 0_u64, false);
        if let Some(mut pipe) = pipe {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let count = match pipe.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                total += count as u64;
                if total <= most {
                    kept.extend_from_slice(&buffer[..count]);
                    if kept.len() > keep.saturating_mul(2) {
                        kept.drain(..kept.len() - keep);
                    }
                } else if !told {
                    told = true;
                    let _ = sender.send(Event::Overflow);
                }
            }
        }
        // Whoever waited may have given up.
        let _ = sender.send(Event::Closed(name, kept));
    });
}

/// The last lines of an output that hold anything, in their order.
pub(super) fn last_lines(bytes: &[u8], count: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let clean = |line: &str| {
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        line.trim().chars().take(MOST_LINE).collect::<String>()
    };
    let mut lines: Vec<String> = text.lines().map(clean).filter(|line| !line.is_empty()).collect();
    lines.split_off(lines.len().saturating_sub(count))
}

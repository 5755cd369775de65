//! Progress on standard error: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use sprag_measure::suite::Observer;
use sprag_pipeline::text;

/// The digest of this program's sources; empty if they were not at hand.
pub(super) const BUILT_FROM: &str = env!("SPRAG_SOURCES");

pub(super) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new() -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress { bar: None };
        }
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {bar:20} {pos}/{len} {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar: Some(bar) }
    }
}

impl Progress {
    /// Prints above the bar.
    fn aside(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Observer for Progress {
    fn begin(&self, message: &str, steps: u64) {
        let message = text::printable(message);
        match &self.bar {
            Some(bar) => {
                // The one before may be finished, with lines printed since.
                if bar.is_finished() {
                    bar.reset();
                }
                bar.set_length(steps);
                bar.set_position(0);
                bar.set_message(message);
                bar.enable_steady_tick(Duration::from_millis(120));
            }
            None => text::say(&message),
        }
    }

    fn step(&self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn note(&self, message: &str) {
        self.aside(|| text::note(message));
    }

    fn warn(&self, message: &str) {
        self.aside(|| text::warn(message));
    }

    fn hint(&self, message: &str) {
        self.aside(|| text::say(&format!("hint: {message}")));
    }
}

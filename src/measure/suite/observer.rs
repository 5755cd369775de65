//! Who hears how measuring goes.

/// Shows progress and messages. A terminal has one implementation, whoever need not hear the other: `()`.
pub trait Observer {
    /// A new piece of work of `steps` steps begins.
    fn begin(&self, message: &str, steps: u64);

    /// `done` steps of the work are done.
    fn step(&self, done: u64);

    /// The work is over; what is said next must not mix with a bar.
    fn end(&self);

    /// What a user should know and need not mend.
    fn note(&self, message: &str);

    fn warn(&self, message: &str);

    /// What to do about the warning before.
    fn hint(&self, message: &str);
}

impl Observer for () {
    fn begin(&self, _message: &str, _steps: u64) {}

    fn step(&self, _done: u64) {}

    fn end(&self) {}

    fn note(&self, _message: &str) {}

    fn warn(&self, _message: &str) {}

    fn hint(&self, _message: &str) {}
}

//! Why verdicts are not plain ones: said once where many share a reason, else with the verdict.

use crate::answer;
use sprag_model::verdict::Comparison;

use super::mark::Mark;
use super::number;

/// From so many on, a reason is said once.
const MANY: usize = 3;

/// A reason that many comparisons share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shared<'a> {
    pub(super) count: usize,
    pub(super) mark: Mark,
    pub(super) reason: &'a str,
}

impl Shared<'_> {
    /// The verdict with the number of those that share it, such as `6 inconclusive`.
    pub(super) fn counted(&self) -> Mark {
        Mark { word: format!("{} {}", number::count(self.count), self.mark.word), ..self.mark }
    }
}

/// The reasons that many of the comparisons share, in the order in which they first occur.
pub(super) fn shared(comparisons: &[Comparison]) -> Vec<Shared<'_>> {
    let mut all: Vec<Shared<'_>> = Vec::new();
    for comparison in comparisons {
        let Some(reason) = comparison.verdict.reason() else { continue };
        let mark = Mark::of_comparison(comparison);
        match all.iter_mut().find(|shared| shared.reason == reason && shared.mark == mark) {
            Some(shared) => shared.count += 1,
            None => all.push(Shared { count: 1, mark, reason }),
        }
    }
    all.retain(|shared| shared.count >= MANY);
    all
}

/// What to say with the verdict: what the ledger says to it, its reason unless that is shared, and its note.
pub(super) fn own(comparison: &Comparison, shared: &[Shared<'_>]) -> String {
    let reason = comparison.verdict.reason().filter(|reason| shared.iter().all(|shared| shared.reason != *reason));
    let answer = comparison.answer.as_deref().map(|answer| answer::said(answer).words());
    let parts: Vec<&str> = answer.as_deref().into_iter().chain(reason).chain(comparison.note.as_deref()).collect();
    parts.join("; ")
}

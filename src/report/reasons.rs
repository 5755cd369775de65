//! What a verdict needs besides its mark: its reason, given once where many share it, and the answer of the ledger to a regression.

use super::mark::Mark;
use super::{date, number};
use crate::phrase::Phrase;
use crate::text::shortened;
use sprag_model::{Answer, AnswerKind, Comparison};

/// As many comparisons share one statement of their reason.
const MANY: usize = 3;

/// The longest author and place of an entry, and the longest reason in a sentence, in characters; the page of the ledger has them all.
const NAME: usize = 120;
const REASON: usize = 300;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shared<'a> {
    pub(super) count: usize,
    pub(super) mark: Mark,
    pub(super) reason: &'a str,
}

impl Shared<'_> {
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

/// What the ledger says to a comparison, its reason unless that is shared, and its note.
pub(super) fn own(comparison: &Comparison, shared: &[Shared<'_>]) -> String {
    let reason = comparison.verdict.reason().filter(|reason| shared.iter().all(|shared| shared.reason != *reason));
    let answer = comparison.answer.as_deref().map(|answer| accepted(answer).words());
    let parts: Vec<&str> = answer.as_deref().into_iter().chain(reason).chain(comparison.note.as_deref()).collect();
    parts.join("; ")
}

/// Such as `◆ accepted by Ada until 31 Dec 2026`.
pub(super) fn accepted(answer: &Answer) -> Phrase {
    let author = shortened(&answer.author, NAME);
    let [from, until] = [answer.date, answer.expires].map(date::calendar_day);
    Phrase::from(Mark::of_answer(answer)).text(match answer.kind {
        AnswerKind::Accepted | AnswerKind::Exceeded | AnswerKind::BeyondScope => format!(" by {author} until {until}"),
        AnswerKind::Expired => format!(": the acceptance by {author} expired on {until}"),
        AnswerKind::NotYet => format!(": the acceptance by {author} holds from {from} on"),
    })
}

/// Such as `◆ accepted until 31 Dec 2026`.
pub(super) fn accepted_briefly(answer: &Answer) -> Phrase {
    let [from, until] = [answer.date, answer.expires].map(date::calendar_day);
    Phrase::from(Mark::of_answer(answer)).text(match answer.kind {
        AnswerKind::Accepted => format!(" until {until}"),
        AnswerKind::Exceeded | AnswerKind::BeyondScope => String::new(),
        AnswerKind::Expired => format!(", accepted until {until}"),
        AnswerKind::NotYet => format!(", from {from} on"),
    })
}

/// Such as `◆ accepted by Ada until 31 Dec 2026. “The layout saves memory.” (ledger/2026.toml:3)`.
pub(super) fn acceptance(answer: &Answer) -> Phrase {
    let reason = shortened(&answer.reason, REASON);
    accepted(answer).text(format!(". “{reason}” (")).id(shortened(&answer.entry, NAME)).text(")")
}

//! What the ledger says to a regression, in the words of pages, feeds and Markdown.

use crate::date;
use crate::mark::Mark;
use crate::phrase::Phrase;
use crate::text::shortened;
use sprag_model::ledger::answer::{Answer, Standing};

/// The longest author, in characters.
const AUTHOR: usize = 120;

/// The longest reason in a sentence, in characters; the page of the ledger has all of it.
const REASON: usize = 300;

/// The longest place of an entry, in characters.
const ENTRY: usize = 120;

/// The state with its mark, who accepted it, and until when: `◆ accepted by Ada until 31 Dec 2026`.
pub(super) fn said(answer: &Answer) -> Phrase {
    let author = shortened(&answer.author, AUTHOR);
    let [from, until] = [answer.date, answer.expires].map(date::calendar_day);
    let words = match answer.standing {
        Standing::Accepted | Standing::Exceeded | Standing::BeyondScope => format!(" by {author} until {until}"),
        Standing::Expired => format!(": the acceptance by {author} expired on {until}"),
        Standing::NotYet => format!(": the acceptance by {author} holds from {from} on"),
    };
    Phrase::default().mark(Mark::of_answer(answer)).text(words)
}

/// The state with its mark, and until when, for tables: `◆ accepted until 31 Dec 2026`.
pub(super) fn brief(answer: &Answer) -> Phrase {
    let [from, until] = [answer.date, answer.expires].map(date::calendar_day);
    let words = match answer.standing {
        Standing::Accepted => format!(" until {until}"),
        Standing::Exceeded | Standing::BeyondScope => String::new(),
        Standing::Expired => format!(", accepted until {until}"),
        Standing::NotYet => format!(", from {from} on"),
    };
    Phrase::default().mark(Mark::of_answer(answer)).text(words)
}

/// All of it, with the reason and the place of the entry: `… until 31 Dec 2026. “The layout saves memory.” (ledger/2026.toml:3)`.
pub(super) fn in_words(answer: &Answer) -> Phrase {
    let reason = shortened(&answer.reason, REASON);
    said(answer).text(format!(". “{reason}” (")).id(shortened(&answer.entry, ENTRY)).text(")")
}

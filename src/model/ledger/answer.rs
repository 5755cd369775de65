//! The answer of the ledger to a regression.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Acceptance, State};

/// The effect of an acceptance on a regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Standing")]
pub enum AnswerKind {
    /// It is in force and covers the regression.
    Accepted,
    /// It is in force, and the regression is larger than accepted.
    Exceeded,
    /// It is in force, and something outside its scope got worse.
    BeyondScope,
    /// It has expired, so that the regression is open again.
    Expired,
    /// Its first day is yet to come.
    NotYet,
}

/// The answer of the ledger to a regression, which changes neither the figures nor the verdict.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The effect; only `accepted` closes the regression.
    #[serde(rename = "standing")]
    pub kind: AnswerKind,
    /// The id of the accepted event.
    pub event: String,
    /// The largest accepted relative change, positive is worse.
    pub at_most: f64,
    pub reason: String,
    pub author: String,
    /// The first day of its validity.
    pub date: NaiveDate,
    /// The last day of its validity.
    pub expires: NaiveDate,
    /// The file and the line of the entry, such as `ledger/2026.toml:3`.
    pub entry: String,
}

impl Answer {
    /// The answer of an acceptance on a day; the given state applies while the acceptance is in force.
    pub fn new(acceptance: &Acceptance, day: NaiveDate, kind: AnswerKind) -> Answer {
        let Acceptance { event, at_most, terms, .. } = acceptance;
        Answer {
            kind: match terms.state(day) {
                State::Expired => AnswerKind::Expired,
                State::NotYet => AnswerKind::NotYet,
                State::InForce | State::Unknown => kind,
            },
            event: event.clone(),
            at_most: *at_most,
            reason: terms.reason.clone(),
            author: terms.author.clone(),
            date: terms.date,
            expires: terms.expires,
            entry: terms.entry.to_string(),
        }
    }

    pub fn is_accepted(&self) -> bool {
        self.kind == AnswerKind::Accepted
    }

    /// Such as `accepted by Ada until 2026-12-31`.
    pub fn words(&self) -> String {
        let Answer { author, date, expires, .. } = self;
        match self.kind {
            AnswerKind::Accepted => format!("accepted by {author} until {expires}"),
            AnswerKind::Exceeded => format!("worse than {author} accepted until {expires}"),
            AnswerKind::BeyondScope => format!("beyond what {author} accepted until {expires}"),
            AnswerKind::Expired => format!("open again: the acceptance by {author} expired on {expires}"),
            AnswerKind::NotYet => format!("the acceptance by {author} holds from {date} on"),
        }
    }
}

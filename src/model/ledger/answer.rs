use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Acceptance, State};

/// What an acceptance comes to for one regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is in force and covers the regression.
    Accepted,
    /// It is in force, and the regression is larger than what it accepts.
    Exceeded,
    /// It is in force, and something got worse that its scope does not hold.
    BeyondScope,
    /// Its last day is over, so that the regression is open again.
    Expired,
    /// Its first day is yet to come.
    NotYet,
}

/// What the ledger says to a regression. Whatever it says, the figures and the verdict stay as they are.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// What it comes to; only `accepted` answers for the regression.
    pub standing: Standing,
    /// The id of the event that is accepted.
    pub event: String,
    /// The largest relative change that is accepted, positive is worse.
    pub at_most: f64,
    pub reason: String,
    pub author: String,
    /// The first day on which it holds.
    pub date: NaiveDate,
    /// The last day on which it holds.
    pub expires: NaiveDate,
    /// The file and the line of the entry, such as `ledger/2026.toml:3`.
    pub entry: String,
}

impl Answer {
    /// The answer of an acceptance on a day; `standing` applies while the acceptance is in force.
    pub fn new(acceptance: &Acceptance, day: NaiveDate, standing: Standing) -> Answer {
        let Acceptance { event, at_most, terms, .. } = acceptance;
        Answer {
            standing: match terms.state(day) {
                State::Expired => Standing::Expired,
                State::NotYet => Standing::NotYet,
                State::InForce | State::Unknown => standing,
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
        self.standing == Standing::Accepted
    }

    /// Such as `accepted by Ada until 2026-12-31`.
    pub fn words(&self) -> String {
        let Answer { author, date, expires, .. } = self;
        match self.standing {
            Standing::Accepted => format!("accepted by {author} until {expires}"),
            Standing::Exceeded => format!("worse than {author} accepted until {expires}"),
            Standing::BeyondScope => format!("beyond what {author} accepted until {expires}"),
            Standing::Expired => format!("open again: the acceptance by {author} expired on {expires}"),
            Standing::NotYet => format!("the acceptance by {author} holds from {date} on"),
        }
    }
}

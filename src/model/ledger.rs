//! The ledger: who accepted which regression, and who waived which item of a release, for how long and why.
//!
//! It lies in git as `ledger/*.toml`, where whoever reviews a change reads it. An entry is about a regression or an item of a
//! checklist; nothing in it can answer for records that do not hold together.

pub mod answer;
pub mod scope;
pub mod text;

use chrono::{DateTime, NaiveDate, Utc};

pub const FOLDER: &str = "ledger";

/// Everything that is accepted and waived, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    pub acceptances: Vec<Acceptance>,
    pub waivers: Vec<Waiver>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The file, from the root of the project, with `/`.
    pub path: String,
    /// The line on which the entry begins, from 1.
    pub line: usize,
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.path, self.line)
    }
}

/// What every entry says, whatever it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    pub reason: String,
    pub author: String,
    /// The first day on which it holds, in UTC.
    pub date: NaiveDate,
    /// The commit whose figures were looked at, forty digits.
    pub commit: String,
    /// The last day on which it holds, in UTC.
    pub expires: NaiveDate,
    pub entry: Entry,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    pub event: String,
    /// What of it is accepted, as [`scope::Scope`] reads it.
    pub scope: String,
    /// The largest relative change that is accepted, positive is worse: after over before less 1, or before over after where
    /// larger is better. What got worse by more is not accepted.
    pub at_most: f64,
    pub terms: Terms,
}

/// An item of a checklist that a release goes without.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiver {
    pub release: String,
    pub item: String,
    /// The runtime target that it is waived for; absent where it is waived for all.
    pub target: Option<String>,
    pub terms: Terms,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    InForce,
    Expired,
    NotYet,
    /// It is about what there is not, or what is no longer believed: it answers for nothing.
    Unknown,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::InForce => "in force",
            State::Expired => "expired",
            State::NotYet => "not yet",
            State::Unknown => "without effect",
        }
    }
}

/// The day of a moment, in UTC: entries count whole days.
pub fn day(time: DateTime<Utc>) -> NaiveDate {
    time.date_naive()
}

impl Terms {
    /// What has become of the entry on a day, where it is about something that there is.
    pub fn state(&self, day: NaiveDate) -> State {
        if day < self.date {
            State::NotYet
        } else if day > self.expires {
            State::Expired
        } else {
            State::InForce
        }
    }

    fn meet(&self, other: &Terms) -> bool {
        self.date.max(other.date) <= self.expires.min(other.expires)
    }
}

impl Acceptance {
    /// What has become of it on a day, where `known` tells whether an event is.
    pub fn state_among(&self, day: NaiveDate, known: impl FnOnce(&str) -> bool) -> State {
        if known(&self.event) { self.terms.state(day) } else { State::Unknown }
    }
}

impl Waiver {
    /// Whether it is about that item of that release, for that target: one without a target is about all of them.
    pub fn is_about(&self, release: &str, item: &str, target: Option<&str>) -> bool {
        let fits = self.target.as_deref().is_none_or(|own| target == Some(own));
        self.release == release && self.item == item && fits
    }
}

impl Ledger {
    /// The acceptance that speaks of an event on a day: the one in force, else the one that expired last, else the next to come.
    pub fn acceptance(&self, event: &str, day: NaiveDate) -> Option<&Acceptance> {
        telling(self.acceptances.iter().filter(|one| one.event == event), day, |one| &one.terms)
    }

    /// The waiver that speaks of an item of a release on a day, for a target or for the item as a whole: likewise.
    pub fn waiver(&self, release: &str, item: &str, target: Option<&str>, day: NaiveDate) -> Option<&Waiver> {
        let about = self.waivers.iter().filter(|one| one.is_about(release, item, target));
        telling(about, day, |one| &one.terms)
    }

    /// Two entries that speak of the same at the same time: nobody could tell which of them counts.
    pub fn duplicate(&self) -> Option<(&Entry, &Entry)> {
        let same = |one: &Acceptance, other: &Acceptance| one.event == other.event && one.terms.meet(&other.terms);
        let alike = |one: &Waiver, other: &Waiver| {
            let meet_targets = one.target.is_none() || other.target.is_none() || one.target == other.target;
            let about = one.release == other.release && one.item == other.item && meet_targets;
            about && one.terms.meet(&other.terms)
        };
        let accepted = first_pair(&self.acceptances, same).map(|(one, other)| (&one.terms, &other.terms));
        let pair = accepted.or_else(|| first_pair(&self.waivers, alike).map(|(one, other)| (&one.terms, &other.terms)));
        pair.map(|(one, other)| (&one.entry, &other.entry))
    }

    pub fn extend(&mut self, other: Ledger) {
        self.acceptances.extend(other.acceptances);
        self.waivers.extend(other.waivers);
    }
}

/// Of entries about one thing the one that is told of on a day.
fn telling<'a, T>(entries: impl Iterator<Item = &'a T>, day: NaiveDate, terms: impl Fn(&T) -> &Terms) -> Option<&'a T> {
    entries.min_by_key(|one| {
        let terms = terms(one);
        match terms.state(day) {
            State::Expired => (State::Expired, day - terms.expires),
            state => (state, terms.date - day),
        }
    })
}

fn first_pair<T>(list: &[T], holds: impl Fn(&T, &T) -> bool) -> Option<(&T, &T)> {
    let pair =
        |(place, later): (usize, &'_ T)| list[..place].iter().position(|one| holds(one, later)).map(|one| (one, place));
    let (one, other) = list.iter().enumerate().find_map(pair)?;
    Some((&list[one], &list[other]))
}

#[doc(hidden)]
pub mod example {
    //! Entries to take tests from.

    use super::*;

    /// A day, written as `2026-05-31`.
    pub fn day(text: &str) -> NaiveDate {
        text.parse().expect("it is a day")
    }

    pub fn acceptance(event: &str, date: &str, expires: &str) -> Acceptance {
        Acceptance { event: event.to_owned(), scope: "event".to_owned(), at_most: 0.25, terms: terms(date, expires) }
    }

    fn terms(date: &str, expires: &str) -> Terms {
        Terms {
            reason: "The new layout costs this, and saves memory.".to_owned(),
            author: "Ada <ada@example.com>".to_owned(),
            date: day(date),
            commit: "c".repeat(40),
            expires: day(expires),
            entry: Entry { path: "ledger/2026.toml".to_owned(), line: 1 },
        }
    }

    pub fn waiver(release: &str, item: &str, target: Option<&str>, date: &str, expires: &str) -> Waiver {
        let (release, item, target) = (release.to_owned(), item.to_owned(), target.map(str::to_owned));
        Waiver { release, item, target, terms: terms(date, expires) }
    }
}

#[cfg(test)]
mod tests {
    use super::example::{acceptance, day, waiver};
    use super::*;

    #[test]
    fn an_entry_holds_from_its_first_day_to_its_last() {
        let one = acceptance("e-0a1b2c", "2026-05-01", "2026-05-31");
        for (on, state) in [
            ("2026-04-30", State::NotYet),
            ("2026-05-01", State::InForce),
            ("2026-05-31", State::InForce),
            ("2026-06-01", State::Expired),
        ] {
            assert_eq!(one.terms.state(day(on)), state, "{on}");
            assert_eq!(one.state_among(day(on), |event| event == "e-0a1b2c"), state);
            assert_eq!(one.state_among(day(on), |_| false), State::Unknown);
        }
        assert_eq!(super::day("2026-05-31T23:59:59Z".parse().unwrap()), day("2026-05-31"));
    }

    #[test]
    fn of_several_entries_the_one_in_force_speaks_and_else_the_nearest() {
        let days = [("2026-01-01", "2026-01-31"), ("2026-03-01", "2026-03-31"), ("2026-06-01", "2026-06-30")];
        let acceptances = days.iter().map(|(date, expires)| acceptance("e-0a1b2c", date, expires)).collect();
        let waivers = vec![
            waiver("v1.0", "gpu", Some("cuda"), "2026-01-01", "2026-03-31"),
            waiver("v1.0", "docs", None, "2026-01-01", "2026-03-31"),
        ];
        let ledger = Ledger { acceptances, waivers };
        for (on, date) in [
            ("2026-01-31", "2026-01-01"),
            ("2026-02-20", "2026-01-01"),
            ("2026-03-02", "2026-03-01"),
            ("2026-05-30", "2026-03-01"),
            ("2025-12-01", "2026-01-01"),
        ] {
            assert_eq!(ledger.acceptance("e-0a1b2c", day(on)).map(|one| one.terms.date), Some(day(date)), "{on}");
        }
        assert_eq!(ledger.acceptance("e-ffffff", day("2026-01-05")), None);
        let waived =
            |item: &str, target: Option<&str>| ledger.waiver("v1.0", item, target, day("2026-02-01")).is_some();
        assert!(waived("gpu", Some("cuda")) && !waived("gpu", Some("cpu")) && !waived("gpu", None));
        assert!(waived("docs", None) && waived("docs", Some("cuda")) && !waived("other", None));
        assert!(ledger.waiver("v1.1", "docs", None, day("2026-02-01")).is_none());
    }

    #[test]
    fn two_entries_about_the_same_must_not_meet() {
        let accepted = |list: &[(&str, &str, &str)]| {
            let entry = |(line, (event, date, expires)): (usize, &(&str, &str, &str))| {
                let mut one = acceptance(event, date, expires);
                one.terms.entry.line = line;
                one
            };
            let acceptances = list.iter().enumerate().map(entry).collect();
            let ledger = Ledger { acceptances, waivers: Vec::new() };
            ledger.duplicate().map(|(one, other)| (one.line, other.line))
        };
        let first = ("e-0a1b2c", "2026-01-01", "2026-01-31");
        assert_eq!(accepted(&[first, ("e-0a1b2c", "2026-02-01", "2026-02-03")]), None);
        assert_eq!(accepted(&[first, ("e-0a1b2d", "2026-01-01", "2026-01-31")]), None);
        assert_eq!(
            accepted(&[first, ("e-ffffff", "2026-01-01", "2026-01-31"), ("e-0a1b2c", "2026-01-31", "2026-02-03")]),
            Some((0, 2))
        );
        let waived = |one: Option<&str>, other: Option<&str>| {
            let one = waiver("v1.0", "gpu", one, "2026-01-01", "2026-01-31");
            let other = waiver("v1.0", "gpu", other, "2026-01-20", "2026-02-03");
            Ledger { acceptances: Vec::new(), waivers: vec![one, other] }.duplicate().is_some()
        };
        assert!(waived(None, None) && waived(Some("a"), None) && waived(Some("a"), Some("a")));
        assert!(!waived(Some("a"), Some("b")));
    }
}

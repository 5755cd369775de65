//! The ledger: who accepted which regression, and who waived which item of a release, until when and why.
//!
//! The files `ledger/*.toml` are reviewed in git as any change. An entry concerns a regression or an item of a checklist; no
//! entry can excuse damaged records.

pub mod answer;
pub mod scope;
pub mod text;

use chrono::{DateTime, NaiveDate, Utc};
use sprag_base::digest::is_hex;
use sprag_base::words;

pub const FOLDER: &str = "ledger";

/// The entries in the order of the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    pub acceptances: Vec<Acceptance>,
    pub waivers: Vec<Waiver>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerEntry {
    /// From the root of the project, with `/`.
    pub path: String,
    /// The first line of the entry, from 1.
    pub line: usize,
}

impl std::fmt::Display for LedgerEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.path, self.line)
    }
}

/// The fields of every entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    pub reason: String,
    pub author: String,
    /// The first day of its validity, in UTC.
    pub date: NaiveDate,
    /// The commit whose figures were reviewed, forty digits.
    pub commit: String,
    /// The last day of its validity, in UTC.
    pub expires: NaiveDate,
    pub entry: LedgerEntry,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    pub event: String,
    /// As [`scope::Scope`] reads it.
    pub scope: String,
    /// The largest accepted relative change, positive is worse: after over before less 1, or the inverse where larger is better.
    pub at_most: f64,
    pub terms: Terms,
}

/// An item of a checklist that a release goes without.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiver {
    pub release: String,
    pub item: String,
    /// The waived runtime target; absent for all.
    pub target: Option<String>,
    pub terms: Terms,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    InForce,
    Expired,
    NotYet,
    /// Its event does not exist or was retracted, so that it has no effect.
    Unknown,
}

words!(State { InForce: "in force", Expired: "expired", NotYet: "not yet", Unknown: "without effect" });

/// Whether a text is `e-` and 6 to 16 digits.
pub(crate) fn is_event_id(text: &str) -> bool {
    text.strip_prefix("e-").is_some_and(|digits| is_hex(digits, 6..=16))
}

/// The day in UTC, by which entries are valid.
pub fn day(time: DateTime<Utc>) -> NaiveDate {
    time.date_naive()
}

impl Terms {
    pub fn state(&self, day: NaiveDate) -> State {
        if day < self.date {
            State::NotYet
        } else if day > self.expires {
            State::Expired
        } else {
            State::InForce
        }
    }

    fn overlaps(&self, other: &Terms) -> bool {
        self.date.max(other.date) <= self.expires.min(other.expires)
    }
}

impl Acceptance {
    pub fn state_among(&self, day: NaiveDate, exists: impl FnOnce(&str) -> bool) -> State {
        if exists(&self.event) { self.terms.state(day) } else { State::Unknown }
    }
}

impl Ledger {
    /// The acceptance of an event that counts on a day: the one in force, else the one that expired last, else the next.
    pub fn acceptance(&self, event: &str, day: NaiveDate) -> Option<&Acceptance> {
        relevant(self.acceptances.iter().filter(|one| one.event == event), day, |one| &one.terms)
    }

    /// Likewise the waiver of an item of a release, for a target or for all targets.
    pub fn waiver(&self, release: &str, item: &str, target: Option<&str>, day: NaiveDate) -> Option<&Waiver> {
        let fits = |one: &&Waiver| {
            let for_target = one.target.as_deref().is_none_or(|own| target == Some(own));
            one.release == release && one.item == item && for_target
        };
        relevant(self.waivers.iter().filter(fits), day, |one| &one.terms)
    }

    /// Two entries about the same thing at the same time, of which it is unclear which one counts.
    pub fn duplicate(&self) -> Option<(&LedgerEntry, &LedgerEntry)> {
        let accepted = first_overlap(&self.acceptances, |one| &one.terms, |one, other| one.event == other.event);
        accepted.or_else(|| {
            first_overlap(
                &self.waivers,
                |one| &one.terms,
                |one, other| {
                    let same_target = one.target.is_none() || other.target.is_none() || one.target == other.target;
                    one.release == other.release && one.item == other.item && same_target
                },
            )
        })
    }

    pub fn extend(&mut self, other: Ledger) {
        self.acceptances.extend(other.acceptances);
        self.waivers.extend(other.waivers);
    }
}

fn relevant<'a, T>(
    entries: impl Iterator<Item = &'a T>,
    day: NaiveDate,
    terms: impl Fn(&T) -> &Terms,
) -> Option<&'a T> {
    entries.min_by_key(|one| {
        let terms = terms(one);
        match terms.state(day) {
            State::Expired => (State::Expired, day - terms.expires),
            state => (state, terms.date - day),
        }
    })
}

fn first_overlap<'a, T>(
    list: &'a [T],
    terms: impl Fn(&'a T) -> &'a Terms,
    is_same: impl Fn(&T, &T) -> bool,
) -> Option<(&'a LedgerEntry, &'a LedgerEntry)> {
    list.iter().enumerate().find_map(|(place, later)| {
        let overlaps = |one: &&'a T| is_same(one, later) && terms(one).overlaps(terms(later));
        list[..place].iter().find(overlaps).map(|one| (&terms(one).entry, &terms(later).entry))
    })
}

#[doc(hidden)]
pub mod example {
    //! Entries for tests.

    use super::*;

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
            entry: LedgerEntry { path: "ledger/2026.toml".to_owned(), line: 1 },
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
    fn an_entry_is_in_force_from_its_first_day_to_its_last() {
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
    fn the_entry_in_force_counts_or_else_the_nearest() {
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
    fn two_entries_about_the_same_must_not_overlap() {
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

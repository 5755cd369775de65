//! Entries as TOML, and the checks of their fields.

use super::scope::Scope;
use super::{Acceptance, Terms, Waiver, is_event_id};
use sprag_base::digest::is_hex;

pub const MOST_REASON: usize = 1000;

/// The most characters of any other text.
pub const MOST_TEXT: usize = 300;

/// The largest change that can be accepted: a thousandfold.
pub const MOST_CHANGE: f64 = 1000.0;

/// The lines of an entry: its subject, then its terms.
fn lines(table: &str, about: &[(&str, String)], terms: [impl AsRef<str>; 5]) -> Vec<String> {
    let keys = ["reason", "author", "date", "commit", "expires"];
    let terms = keys.into_iter().zip(terms).map(|(key, value)| format!("{key} = {}", quoted(value.as_ref())));
    let about = about.iter().map(|(key, value)| format!("{key} = {value}"));
    std::iter::once(format!("[[{table}]]")).chain(about).chain(terms).collect()
}

fn terms(of: &Terms) -> [String; 5] {
    let Terms { reason, author, date, commit, expires, .. } = of;
    [reason.clone(), author.clone(), date.to_string(), commit.clone(), expires.to_string()]
}

fn change(event: &str, scope: &str, at_most: f64) -> [(&'static str, String); 3] {
    [("event", quoted(event)), ("scope", quoted(scope)), ("at_most", format!("{at_most:?}"))]
}

pub fn acceptance(of: &Acceptance) -> Vec<String> {
    lines("accept", &change(&of.event, &of.scope, of.at_most), terms(&of.terms))
}

/// Likewise, with the reason, the author and the days left empty for a person to fill in.
pub fn acceptance_to_fill(event: &str, scope: &str, at_most: f64, commit: &str) -> Vec<String> {
    lines("accept", &change(event, scope, at_most), ["", "", "", commit, ""])
}

pub fn waiver(of: &Waiver) -> Vec<String> {
    let Waiver { release, item, target, .. } = of;
    let mut about = vec![("release", quoted(release)), ("item", quoted(item))];
    about.extend(target.as_ref().map(|target| ("target", quoted(target))));
    lines("waive", &about, terms(&of.terms))
}

/// A change rounded up to a tenth of a percent, and at least that.
pub fn rounded_up(change: f64) -> f64 {
    let tenths = (change * 1000.0).ceil() / 1000.0;
    if tenths < change { tenths + 0.001 } else { tenths.max(0.001) }
}

/// The key of an invalid field, and what it must be.
pub fn acceptance_fault(of: &Acceptance) -> Option<(&'static str, String)> {
    let Acceptance { event, scope, at_most, terms } = of;
    if !is_event_id(event) {
        let must = format!(
            "is not an event id: `{}` lacks the form of `e-9a73a6`; `sprag trend` lists them",
            event.escape_debug()
        );
        return Some(("event", must));
    }
    if let Some(fault) = text_fault(scope, MOST_TEXT) {
        return Some(("scope", fault));
    }
    if Scope::parse(scope).is_none() {
        let must = "says nothing: write `event`, a part of the name of a benchmark, or `… on MACHINE`";
        return Some(("scope", must.to_owned()));
    }
    if !(*at_most > 0.0 && *at_most <= MOST_CHANGE) {
        let must = format!("must be above 0 and at most {MOST_CHANGE}, such as 0.12 for 12 % worse");
        return Some(("at_most", must));
    }
    terms_fault(terms)
}

/// The key of an invalid field, and what it must be.
pub fn waiver_fault(of: &Waiver) -> Option<(&'static str, String)> {
    let Waiver { release, item, target, terms } = of;
    let named = [("release", Some(release)), ("item", Some(item)), ("target", target.as_ref())];
    let fault = |(key, text): (&'static str, Option<&String>)| Some((key, text_fault(text?, MOST_TEXT)?));
    named.into_iter().find_map(fault).or_else(|| terms_fault(terms))
}

fn terms_fault(of: &Terms) -> Option<(&'static str, String)> {
    let Terms { reason, author, commit, .. } = of;
    let texts = [("reason", reason, MOST_REASON), ("author", author, MOST_TEXT)];
    let fault = texts.into_iter().find_map(|(key, text, most)| Some((key, text_fault(text, most)?)));
    fault.or_else(|| {
        let must = "must be the forty digits of a commit, from 0 to f, as `git rev-parse HEAD` prints them";
        (!is_hex(commit, 40..=40)).then(|| ("commit", must.to_owned()))
    })
}

fn text_fault(text: &str, most: usize) -> Option<String> {
    if text.trim().is_empty() {
        return Some("is empty: it must say something".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Some("holds a control character or a line break: it must be one line of text".to_owned());
    }
    let length = text.chars().count();
    (length > most).then(|| format!("has {length} characters, {most} are allowed"))
}

/// A text as a basic string of TOML, which has the escapes of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn a_change_is_rounded_to_what_holds_it() {
        for (change, rounded) in [(0.1201, 0.121), (0.12, 0.12), (0.0, 0.001), (0.0004, 0.001), (2.5, 2.5)] {
            assert!((rounded_up(change) - rounded).abs() < 1e-12 && rounded_up(change) >= change, "{change}");
        }
        for step in 0..2000 {
            let change = f64::from(step) * 0.000_137;
            assert!(rounded_up(change) >= change && rounded_up(change) < change + 0.002, "{change}");
        }
    }

    #[test]
    fn each_field_that_is_not_what_it_must_be_is_named() {
        let fine = example::acceptance("e-0a1b2c", "2026-05-01", "2026-05-31");
        assert_eq!(acceptance_fault(&fine), None);
        let fault = |change: &dyn Fn(&mut Acceptance)| {
            let mut one = fine.clone();
            change(&mut one);
            acceptance_fault(&one).map(|(key, _)| key)
        };
        assert_eq!(fault(&|one| one.event = "e-0A1B2C".to_owned()), Some("event"));
        assert_eq!(fault(&|one| one.event = "0a1b2c".to_owned()), Some("event"));
        assert_eq!(fault(&|one| one.scope = " on ".to_owned()), Some("scope"));
        for at_most in [0.0, -0.1, f64::NAN, f64::INFINITY, 1001.0] {
            assert_eq!(fault(&|one| one.at_most = at_most), Some("at_most"), "{at_most}");
        }
        assert_eq!(fault(&|one| one.terms.reason = "a\nb".to_owned()), Some("reason"));
        assert_eq!(fault(&|one| one.terms.reason = "x".repeat(MOST_REASON + 1)), Some("reason"));
        assert_eq!(fault(&|one| one.terms.author = "  ".to_owned()), Some("author"));
        assert_eq!(fault(&|one| one.terms.commit = "abc".to_owned()), Some("commit"));
        assert_eq!(fault(&|one| one.terms.commit = "C".repeat(40)), Some("commit"));
        let waiver = |change: &dyn Fn(&mut Waiver)| {
            let mut one = example::waiver("v1.0", "gpu", Some("cuda"), "2026-05-01", "2026-05-31");
            change(&mut one);
            waiver_fault(&one).map(|(key, _)| key)
        };
        assert_eq!(waiver(&|_| {}), None);
        assert_eq!(waiver(&|one| one.release.clear()), Some("release"));
        assert_eq!(waiver(&|one| one.item = "\u{7}".to_owned()), Some("item"));
        assert_eq!(waiver(&|one| one.target = Some(String::new())), Some("target"));
        assert_eq!(waiver(&|one| one.terms.commit.clear()), Some("commit"));
    }
}

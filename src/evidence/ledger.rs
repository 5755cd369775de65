//! Reading the ledger, `ledger/*.toml`, with the line of every fault.

use chrono::NaiveDate;
use serde::Deserialize;
use toml::Spanned;

use sprag_base::toml::{TomlError, TomlText};
use sprag_model::ledger::text::{acceptance_fault, waiver_fault};
use sprag_model::ledger::{Acceptance, LedgerEntry, Terms};
use sprag_model::{Ledger, Waiver};

pub const MOST_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    accept: Vec<Spanned<Accept>>,
    #[serde(default)]
    waive: Vec<Spanned<Waive>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Accept {
    event: String,
    scope: String,
    at_most: f64,
    reason: String,
    author: String,
    date: Spanned<String>,
    commit: String,
    expires: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Waive {
    release: String,
    item: String,
    #[serde(default)]
    target: Option<String>,
    reason: String,
    author: String,
    date: Spanned<String>,
    commit: String,
    expires: Spanned<String>,
}

/// The ledger of some files, each with its path and its bytes.
pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Ledger, TomlError> {
    let mut ledger = Ledger::default();
    for (path, bytes) in files {
        ledger.extend(read_file(path, bytes)?);
    }
    match ledger.duplicate() {
        None => Ok(ledger),
        Some((one, other)) => Err(TomlError {
            path: other.path.clone(),
            line: other.line,
            column: 1,
            message: format!(
                "speaks of the same as {one} and for some of the same days: shorten one of them, or take it out"
            ),
        }),
    }
}

fn read_file(path: &str, bytes: &[u8]) -> Result<Ledger, TomlError> {
    let text = TomlText::from_bytes(path, bytes)?;
    let file: File = text.parse().map_err(|error| TomlError { message: with_hint(error.message), ..error })?;
    let text = Source { path, text };
    let acceptances = file.accept.into_iter().enumerate().map(|(place, one)| text.acceptance(place, one));
    let waivers = file.waive.into_iter().enumerate().map(|(place, one)| text.waiver(place, one));
    Ok(Ledger { acceptances: acceptances.collect::<Result<_, _>>()?, waivers: waivers.collect::<Result<_, _>>()? })
}

/// Adds what to do to a message of the TOML reader that does not say so.
fn with_hint(message: String) -> String {
    let hint = if message.starts_with("missing field") {
        "; every entry has all of its keys, as `sprag release waive` writes them"
    } else if message.contains("expected a string") {
        "; texts and days stand in quotes, such as \"2026-12-31\""
    } else {
        ""
    };
    message + hint
}

struct Source<'a> {
    path: &'a str,
    text: TomlText<'a>,
}

impl Source<'_> {
    fn entry<T>(&self, one: &Spanned<T>) -> LedgerEntry {
        LedgerEntry { path: self.path.to_owned(), line: self.text.line(one.span().start) }
    }

    fn acceptance(&self, place: usize, one: Spanned<Accept>) -> Result<Acceptance, TomlError> {
        let entry = self.entry(&one);
        let Accept { event, scope, at_most, reason, author, date, commit, expires } = one.into_inner();
        let (date, expires) = self.days(&date, &expires)?;
        let terms = Terms { reason, author, date, commit, expires, entry };
        let read = Acceptance { event, scope, at_most, terms };
        self.check("accept", place, acceptance_fault(&read)).map(|()| read)
    }

    fn waiver(&self, place: usize, one: Spanned<Waive>) -> Result<Waiver, TomlError> {
        let entry = self.entry(&one);
        let Waive { release, item, target, reason, author, date, commit, expires } = one.into_inner();
        let (date, expires) = self.days(&date, &expires)?;
        let terms = Terms { reason, author, date, commit, expires, entry };
        let read = Waiver { release, item, target, terms };
        self.check("waive", place, waiver_fault(&read)).map(|()| read)
    }

    fn days(&self, date: &Spanned<String>, expires: &Spanned<String>) -> Result<(NaiveDate, NaiveDate), TomlError> {
        let (first, last) = (self.day("date", date)?, self.day("expires", expires)?);
        if first <= last {
            return Ok((first, last));
        }
        let message = format!("`expires` is {last}, before `date`, {first}: it would never hold");
        Err(self.text.error_at(expires, message))
    }

    fn day(&self, key: &str, text: &Spanned<String>) -> Result<NaiveDate, TomlError> {
        let written = text.get_ref();
        let day = written.parse::<NaiveDate>().ok().filter(|day| day.to_string() == *written);
        day.ok_or_else(|| {
            let message = format!(
                "`{key}` is `{}`, which is not a date: write year, month and day, such as \"2026-12-31\"",
                written.escape_debug()
            );
            self.text.error_at(text, message)
        })
    }

    fn check(&self, list: &str, place: usize, fault: Option<(&str, String)>) -> Result<(), TomlError> {
        let Some((key, fault)) = fault else { return Ok(()) };
        Err(self.text.error_at_key(&[list, &place.to_string(), key], format!("`{key}` {fault}")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file;
    use sprag_model::ledger::{example, text};

    const ENTRY: &str = "# Read by all.\n[[accept]]\nevent = \"e-0a1b2c\"\nscope = \"event\"\nat_most = 0.25\nreason = \"r\"\n\
        author = \"a\"\ndate = \"2026-05-01\"\ncommit = \"cccccccccccccccccccccccccccccccccccccccc\"\nexpires = \"2026-05-31\"\n";

    fn read_text(text: &str) -> Result<Ledger, TomlError> {
        read([("ledger/2026.toml", text.as_bytes())])
    }

    #[test]
    fn each_fault_is_named_with_its_line() {
        let ledger = read_text(ENTRY).expect("it is an entry");
        let entry = LedgerEntry { path: "ledger/2026.toml".to_owned(), line: 2 };
        assert_eq!(ledger.acceptances.iter().map(|one| &one.terms.entry).collect::<Vec<_>>(), [&entry]);
        assert_eq!(read_text("").expect("nothing is an empty ledger"), Ledger::default());
        file::check_faults(ENTRY, include_str!("ledger_faults.txt"), |text| {
            read([("ledger/2026.toml", text)]).expect_err("it has a fault")
        });
        let mut bytes = ENTRY.as_bytes().to_vec();
        bytes.extend(b"# caf\xe9\n");
        let error = read([("ledger/a.toml", bytes.as_slice())]).expect_err("it is Latin 1");
        assert_eq!(error.to_string(), "ledger/a.toml:11: is not UTF-8: save the file with that encoding");
        let error = read([("ledger/a.toml", ENTRY.as_bytes()), ("ledger/b.toml", ENTRY.as_bytes())]);
        let error = error.expect_err("it occurs twice").to_string();
        assert!(error.starts_with("ledger/b.toml:2: speaks of the same as ledger/a.toml:2"), "{error}");
    }

    proptest! {
        #[test]
        fn an_entry_is_read_as_it_was_written(
            reason in "\\PC{1,40}",
            author in "[\"'\\\\<>&#a-z\u{e9}\u{202e}]{1,20}",
            at_most in 1e-9..1000.0_f64,
            days in 0_u32..400,
            target in proptest::option::of("[a-z\"\\\\]{1,8}"),
        ) {
            prop_assume!(!reason.trim().is_empty());
            let mut accepted = example::acceptance("e-0a1b2c", "2026-05-01", "2026-05-31");
            accepted.terms.expires = accepted.terms.date + chrono::Days::new(days.into());
            accepted.at_most = at_most;
            let mut waived = example::waiver("v1.0", "gpu", target.as_deref(), "2026-05-01", "2026-05-31");
            for text in [&mut accepted.terms.reason, &mut waived.terms.reason, &mut accepted.scope, &mut waived.item] {
                text.clone_from(&reason);
            }
            accepted.scope.push_str("x on y");
            accepted.terms.author.clone_from(&author);
            waived.terms.author.clone_from(&author);
            let written = [text::acceptance(&accepted), text::waiver(&waived)].concat().join("\n");
            waived.terms.entry.line = 10;
            let expected = Ledger { acceptances: vec![accepted], waivers: vec![waived] };
            prop_assert_eq!(read_text(&written).map_err(|error| error.to_string()), Ok::<_, String>(expected).map(|mut one| {
                one.acceptances[0].terms.entry.line = 1;
                one
            }));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}a-z\"'=0-9.\n#-]{0,80}") {
            let _ = read_text(&text);
        }
    }
}

//! What is accepted and waived in the sample: entries in every state, with texts that would harm who believed them.

use chrono::{Days, NaiveDate};

use super::HOSTILE;
use sprag_model::commit::CommitLine;
use sprag_model::ledger::answer::{Answer, Standing};
use sprag_model::ledger::{Acceptance, Entry, Ledger, Terms, Waiver};
use sprag_model::trend::Trend;

/// The ledger as of a day; the open event that it names gets its answer.
pub(super) fn ledger(day: NaiveDate, line: &CommitLine, trend: &mut Trend) -> Ledger {
    let on =
        |days: i64| if days < 0 { day - Days::new(days.unsigned_abs()) } else { day + Days::new(days.unsigned_abs()) };
    let commit = line.commits.last().map(|commit| commit.sha.clone()).expect("there are commits");
    let terms = |reason: &str, author: &str, commit: &str, (from, until): (i64, i64), line| Terms {
        reason: reason.to_owned(),
        author: author.to_owned(),
        date: on(from),
        commit: commit.to_owned(),
        expires: on(until),
        entry: Entry { path: "ledger/2026.toml".to_owned(), line },
    };
    let why = format!("The new layout saves memory. {HOSTILE}");
    let accept = |event: &str, days: (i64, i64), line| Acceptance {
        event: event.to_owned(),
        scope: "event".to_owned(),
        at_most: 0.12,
        terms: terms(&why, "Ada <ada@example.com>", &commit, days, line),
    };
    let waive = |item: &str, target: Option<&str>, days: (i64, i64), line| Waiver {
        release: "v1.1".to_owned(),
        item: item.to_owned(),
        target: target.map(str::to_owned),
        terms: terms(HOSTILE, HOSTILE, &"0123456789".repeat(4), days, line),
    };
    let reverted = trend.events.iter().find(|one| !one.is_ongoing_regression()).expect("the sample has one");
    let acceptances = vec![
        accept(&trend.events[0].id, (-40, -1), 3),
        accept(&reverted.id, (-7, 80), 13),
        accept("e-404404", (-7, 80), 23),
        accept("e-505505", (1, 80), 33),
    ];
    let event = &mut trend.events[0];
    event.answer = Some(Answer::new(&acceptances[0], day, Standing::Accepted));
    let waivers = vec![
        waive("gpu-parity", Some("cuda"), (-7, 0), 43),
        waive(HOSTILE, None, (-90, -30), 53),
        waive("gone", None, (-7, 80), 63),
    ];
    Ledger { acceptances, waivers }
}

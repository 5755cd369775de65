//! The ledger and the releases of the sample: entries in every state, and releases that may go, may not go, and are damaged.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Days, NaiveDate, NaiveTime, TimeDelta};

use super::HOSTILE;
use sprag_model::checklist::{
    Filled, FilledChecklist, HistoryPoint, Rests, Rollback, RuntimeTarget, SCHEMA_VERSION, Signed, Status, Waiving,
};
use sprag_model::ledger::{Acceptance, LedgerEntry, Terms};
use sprag_model::release::{Figures, PublishedStatement, ReleaseReport, Released, Sealed};
use sprag_model::{Answer, AnswerKind, CommitLine, Ledger, Trend, Waiver};

pub(super) fn ledger(day: NaiveDate, line: &CommitLine, trend: &mut Trend) -> Ledger {
    let on = |days: i64| day + TimeDelta::days(days);
    let commit = line.commits.last().map(|commit| commit.sha.clone()).expect("there are commits");
    let terms = |reason: &str, author: &str, commit: &str, (from, until): (i64, i64), line| Terms {
        reason: reason.to_owned(),
        author: author.to_owned(),
        date: on(from),
        commit: commit.to_owned(),
        expires: on(until),
        entry: LedgerEntry { path: "ledger/2026.toml".to_owned(), line },
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
    event.answer = Some(Answer::new(&acceptances[0], day, AnswerKind::Accepted));
    let waivers = vec![
        waive("gpu-parity", Some("cuda"), (-7, 0), 43),
        waive(HOSTILE, None, (-90, -30), 53),
        waive("gone", None, (-7, 80), 63),
    ];
    Ledger { acceptances, waivers }
}

pub(super) fn releases(day: NaiveDate, line: &CommitLine) -> Released {
    let commit = line.commits.last().map(|commit| commit.sha.clone()).expect("there are commits");
    let waiver = |in_force: bool| Waiving {
        entry: "ledger/2026.toml:43".to_owned(),
        author: HOSTILE.to_owned(),
        reason: HOSTILE.to_owned(),
        date: day - Days::new(90),
        expires: if in_force { day } else { day - Days::new(1) },
        in_force,
    };
    let rests = |path: &str| Rests { path: path.to_owned(), sha256: "0123456789abcdef".repeat(4), bytes: 12_345 };
    let item = |id: &str, status: Status, waiver: Option<Waiving>| Filled {
        id: id.to_owned(),
        title: format!("What is asked {HOSTILE}"),
        rule: "suite_verdict".to_owned(),
        status,
        why: format!("1 regressed, 7 unchanged, against {HOSTILE}"),
        integrity: false,
        rests_on: vec![rests("history/v1/cpu/2026/05/a.json"), rests(HOSTILE)],
        producer: "sprag weekly".to_owned(),
        mend: status.blocks().then(|| format!("measure it again {HOSTILE}")),
        waiver,
    };
    let filled = |name: &str, tagged: bool, items: Vec<Filled>| FilledChecklist {
        schema_version: SCHEMA_VERSION,
        release: name.to_owned(),
        commit: commit.clone(),
        tagged,
        measured: if tagged { commit.clone() } else { "0123456789".repeat(4) },
        previous: (!tagged).then(|| "v1.0".to_owned()),
        targets: BTreeSet::from([RuntimeTarget::Cpu]),
        as_of: day.and_time(NaiveTime::MIN).and_utc(),
        history: HistoryPoint { commit: commit.clone(), size: 74, root: "fedcba9876543210".repeat(4) },
        branch: Some("main".to_owned()),
        reviewed: commit.clone(),
        go: items.iter().all(|item| !item.status.blocks()),
        items,
        rollback: Rollback { triggers: vec![HOSTILE.to_owned()], steps: vec![HOSTILE.to_owned()] },
        sign_off: vec![
            Signed { role: HOSTILE.to_owned(), owner: Some(HOSTILE.to_owned()), date: Some("2026-05-01".to_owned()) },
            Signed { role: "Reviewer".to_owned(), owner: None, date: None },
        ],
        version: "0.1.0".to_owned(),
    };
    let go = vec![
        item("cpu_perf_regression", Status::Pass, None),
        item("gpu-parity", Status::Waived, Some(waiver(true))),
        item("engine", Status::NotApplicable, None),
    ];
    let no_go = vec![
        item("cpu_perf_regression", Status::Fail, None),
        item("gpu-parity", Status::Pending, Some(waiver(false))),
        item("notes", Status::Pass, Some(waiver(true))),
    ];
    let figures =
        Figures { limit: "none worse".to_owned(), measured: "1 of 8 worse".to_owned(), margin: "1 over".to_owned() };
    let report = |name: &str, checklist| ReleaseReport {
        name: name.to_owned(),
        checklist,
        figures: BTreeMap::from([("cpu_perf_regression".to_owned(), figures.clone())]),
        statement: None,
    };
    let published = PublishedStatement {
        folder: "release/v1.0".to_owned(),
        statement: b"{}\n".to_vec(),
        sealed: Some(Sealed { bytes: b"{}\n".to_vec(), keyid: HOSTILE.to_owned(), checked: true }),
    };
    let mut newest = vec![
        report("v0.9", Err(format!("the tag `v0.9` moved {HOSTILE}"))),
        report("v1.0", Ok(filled("v1.0", true, go))),
        report("v1.1", Ok(filled("v1.1", false, no_go))),
    ];
    newest[1].statement = Some(Ok(published));
    let entry = LedgerEntry { path: "ledger/2026.toml".to_owned(), line: 63 };
    let what = format!("`release/checklist.toml` has no item `gone` {HOSTILE}");
    Released { newest, older: 3, unused_waivers: BTreeMap::from([(entry, what)]) }
}

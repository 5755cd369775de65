//! Which runs `sprag history log` lists.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

use crate::cli::{LogArgs, Status};
use crate::commands::{Advice, text};
use sprag_history::{self as history, Store};
use sprag_model::history_log::LoggedRun;
use sprag_model::run::RunStatus;

/// Options of `history log` as values.
pub(super) struct Filter {
    suites: Vec<String>,
    machines: Vec<String>,
    commit: Option<CommitFilter>,
    statuses: Vec<RunStatus>,
    since: Option<DateTime<Utc>>,
    until: Option<DateTime<Utc>>,
}

enum CommitFilter {
    /// Those whose id begins so.
    Prefix(String),
    Sha(String),
}

impl Filter {
    /// Reads the options; `runs` are all there are, since names are held against what exists.
    pub(super) fn of(args: &LogArgs, runs: &[LoggedRun], store: &Store) -> anyhow::Result<Filter> {
        let status = |status: &Status| match status {
            Status::Ok => RunStatus::Ok,
            Status::Skipped => RunStatus::Skipped,
            Status::Failed => RunStatus::Failed,
        };
        let suites: BTreeSet<&str> = runs.iter().map(|run| run.suite.as_str()).collect();
        if let Some(unknown) = args.suites.iter().find(|suite| !suites.contains(suite.as_str())) {
            return Err(unknown_name("suite", unknown, &suites).into());
        }
        let machines: BTreeSet<&str> = runs.iter().map(|run| run.machine.name.as_str()).collect();
        let known = |name: &String| runs.iter().any(|run| is_machine(run, name));
        if let Some(unknown) = args.machines.iter().find(|name| !known(name)) {
            return Err(unknown_name("machine", unknown, &machines).into());
        }
        Ok(Filter {
            suites: args.suites.clone(),
            machines: args.machines.clone(),
            commit: args.commit.as_deref().map(|text| commit(text, runs, store)).transpose()?,
            statuses: args.statuses.iter().map(status).collect(),
            since: args.since.as_deref().map(|text| time("--since", text, false)).transpose()?,
            until: args.until.as_deref().map(|text| time("--until", text, true)).transpose()?,
        })
    }

    /// Whether the run is asked for.
    pub(super) fn takes(&self, run: &LoggedRun) -> bool {
        let sha = run.commit.as_deref().unwrap_or_default();
        let commit = match &self.commit {
            None => true,
            Some(CommitFilter::Prefix(prefix)) => sha.starts_with(prefix.as_str()),
            Some(CommitFilter::Sha(wanted)) => sha == wanted,
        };
        commit
            && (self.suites.is_empty() || self.suites.contains(&run.suite))
            && (self.machines.is_empty() || self.machines.iter().any(|name| is_machine(run, name)))
            && (self.statuses.is_empty() || self.statuses.contains(&run.status))
            && self.since.is_none_or(|since| run.timestamp_utc >= since)
            && self.until.is_none_or(|until| run.timestamp_utc <= until)
    }
}

fn is_machine(run: &LoggedRun, name: &str) -> bool {
    run.machine.name == name || (!name.is_empty() && run.machine.id.starts_with(name))
}

/// A commit that runs measured, by the start of its id, or else what the repository says of a revision.
fn commit(text: &str, runs: &[LoggedRun], store: &Store) -> anyhow::Result<CommitFilter> {
    let is_prefix = text.len() >= 4 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_prefix && runs.iter().filter_map(|run| run.commit.as_deref()).any(|sha| sha.starts_with(text)) {
        return Ok(CommitFilter::Prefix(text.to_owned()));
    }
    match history::commit_at(store, text) {
        Ok(Some(commit)) => Ok(CommitFilter::Sha(commit.sha)),
        _ => Err(Advice {
            message: format!("no run is of `{}`, and it names no commit of this repository", text::printable(text)),
            hint: "give four digits or more of a commit's id, a tag, or a revision such as HEAD~3".to_owned(),
        }
        .into()),
    }
}

/// A date, which begins at midnight UTC and ends a second before the next, or a time with its zone.
fn time(option: &str, text: &str, is_end: bool) -> anyhow::Result<DateTime<Utc>> {
    if let Ok(date) = text.parse::<NaiveDate>() {
        let begin = date.and_hms_opt(0, 0, 0).map(|begin| begin.and_utc());
        let end = |begin: DateTime<Utc>| begin.checked_add_signed(TimeDelta::days(1) - TimeDelta::seconds(1));
        let time = if is_end { begin.and_then(end) } else { begin };
        if let Some(time) = time {
            return Ok(time);
        }
    }
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc());
    Ok(time.map_err(|_| Advice {
        message: format!("`{}` is no time for `{option}`", text::printable(text)),
        hint: "give a date such as 2026-05-31, or RFC 3339 such as 2026-05-31T12:00:00Z".to_owned(),
    })?)
}

fn unknown_name(what: &str, name: &str, known: &BTreeSet<&str>) -> Advice {
    let list: Vec<String> = known.iter().map(|name| text::printable(name)).collect();
    let hint = match &list[..] {
        [] => "the history has no runs yet".to_owned(),
        list => format!("there is: {}", list.join(", ")),
    };
    Advice { message: format!("the history has no {what} `{}`", text::printable(name)), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_or_have_a_zone() {
        let check = |text: &str, is_end: bool, expected: Option<&str>| {
            let found = time("--since", text, is_end).ok().map(|time| time.to_rfc3339());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("2026-05-31", false, Some("2026-05-31T00:00:00+00:00"));
        check("2026-05-31", true, Some("2026-05-31T23:59:59+00:00"));
        check("2026-05-31T12:00:00+02:00", true, Some("2026-05-31T10:00:00+00:00"));
        for wrong in ["", "yesterday", "2026-13-01", "2026-05-31T12:00:00", "2026-02-30"] {
            check(wrong, false, None);
        }
    }
}

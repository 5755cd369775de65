//! A filled checklist for a terminal.

use chrono::NaiveDate;

use crate::text;
use sprag_model::checklist::{Filled, FilledChecklist, RuntimeTarget, Status};
use sprag_model::ledger::day;

/// The items with their statuses, what the ledger says, and what to do next.
pub fn table(checklist: &FilledChecklist) -> String {
    let FilledChecklist { release, commit, tagged, .. } = checklist;
    let tag = if *tagged { "tagged at" } else { "not yet tagged," };
    let short = commit.get(..12).unwrap_or(commit);
    let mut text = format!("{release} ({tag} {short}), for {}\n\n", RuntimeTarget::list(&checklist.targets));
    let row = |item: &Filled| {
        vec![glyph(item.status).to_owned(), item.status.word().to_owned(), item.id.clone(), item.why.clone()]
    };
    let rows: Vec<Vec<String>> = checklist.items.iter().map(row).collect();
    text.push_str(&text::columns(&rows, &[]));
    let mut section = |heading: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("\n{heading}:\n{}\n", lines.join("\n")));
        }
    };
    let today = day(checklist.as_of);
    section("ledger", checklist.items.iter().filter_map(|item| waiver(item, today)).collect());
    let next = |item: &Filled| format!("  {}: {}", item.id, item.mend.as_deref().unwrap_or("check its evidence"));
    section("next", checklist.blocking().map(next).collect());
    let counts: Vec<String> = checklist.counts().iter().map(|(word, count)| format!("{count} {word}")).collect();
    text.push_str(&format!("\n{release}: {} ({})\n", checklist.word(), counts.join(", ")));
    text.lines().map(|line| text::printable(line) + "\n").collect()
}

fn glyph(status: Status) -> &'static str {
    match status {
        Status::Pass => "✓",
        Status::Fail => "✕",
        Status::Pending => "○",
        Status::Waived => "~",
        Status::NotApplicable => "–",
    }
}

fn waiver(item: &Filled, today: NaiveDate) -> Option<String> {
    let waiver = item.waiver.as_ref()?;
    let state = match waiver.in_force {
        true => "waives it",
        false if today < waiver.date => "does not waive it yet:",
        false if today > waiver.expires => "no longer waives it:",
        false => "waives it for only some of its targets:",
    };
    Some(format!(
        "  {}: {} {state} from {} until {} ({}): {}",
        item.id, waiver.author, waiver.date, waiver.expires, waiver.entry, waiver.reason
    ))
}

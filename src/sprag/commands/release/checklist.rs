//! `sprag release checklist`: go or no-go, what blocks, and what to do next.

use std::io::Write;
use std::path::Path;

use chrono::NaiveDate;

use super::{fill, gather};
use crate::cli::ChecklistArgs;
use crate::commands::{Exit, text, warn};
use sprag_base::files::write_atomic;
use sprag_evidence::filled::{self, CHECKLIST_JSON, CHECKLIST_MD};
use sprag_model::checklist::{Filled, FilledChecklist, RuntimeTarget, Status};
use sprag_model::ledger::day;

pub(super) fn run(folder: &Path, args: &ChecklistArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let gathered = gather::gather(folder, &args.look)?;
    for fault in gathered.not_reviewed()? {
        warn(&format!("`{}` {}: commit it, or others will not come to this", fault.path, fault.what));
    }
    let checklist = fill::fill(&gathered)?;
    if let Some(place) = &args.out {
        let place = folder.join(place);
        write_atomic(&place.join(CHECKLIST_JSON), &filled::to_json(&checklist))?;
        write_atomic(&place.join(CHECKLIST_MD), filled::to_markdown(&checklist).as_bytes())?;
    }
    out.write_all(table(&checklist).as_bytes())?;
    Ok(exit_of(&checklist))
}

/// How a command on a filled checklist ends.
pub(super) fn exit_of(checklist: &FilledChecklist) -> Exit {
    match (checklist.is_damaged(), checklist.go) {
        (true, _) => Exit::Integrity,
        (false, true) => Exit::Done,
        (false, false) => Exit::Failed,
    }
}

pub(super) fn table(checklist: &FilledChecklist) -> String {
    let FilledChecklist { release, commit, tagged, .. } = checklist;
    let short = |sha: &str| sha.get(..12).unwrap_or(sha).to_owned();
    let tag =
        if *tagged { format!("tagged at {}", short(commit)) } else { format!("not yet tagged, {}", short(commit)) };
    let mut text = format!("{release} ({tag}), for {}\n\n", RuntimeTarget::list(&checklist.targets));
    let row = |item: &Filled| {
        vec![glyph(item.status).to_owned(), item.status.word().to_owned(), item.id.clone(), item.why.clone()]
    };
    let rows: Vec<Vec<String>> = checklist.items.iter().map(row).collect();
    text.push_str(&text::columns(&rows, &[]));
    let waived: Vec<String> = checklist.items.iter().filter_map(|item| told(item, day(checklist.as_of))).collect();
    if !waived.is_empty() {
        text.push_str(&format!("\nledger:\n{}\n", waived.join("\n")));
    }
    let blocking: Vec<String> = checklist.blocking().map(next).collect();
    if !blocking.is_empty() {
        text.push_str(&format!("\nnext:\n{}\n", blocking.join("\n")));
    }
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

fn told(item: &Filled, today: NaiveDate) -> Option<String> {
    let waiver = item.waiver.as_ref()?;
    let state = match waiver.in_force {
        true => "waives it",
        false if today < waiver.date => "does not waive it yet:",
        false if today > waiver.expires => "does not waive it any more:",
        false => "waives it for some of its targets alone:",
    };
    Some(format!(
        "  {}: {} {state} from {} until {} ({}): {}",
        item.id, waiver.author, waiver.date, waiver.expires, waiver.entry, waiver.reason
    ))
}

fn next(item: &Filled) -> String {
    format!("  {}: {}", item.id, item.mend.as_deref().unwrap_or("look at what it rests on"))
}

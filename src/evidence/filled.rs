//! A filled checklist as files: `checklist.json` for programs, `CHECKLIST.md` for people.

use sprag_base::text::is_unsafe;
use sprag_model::checklist::{Filled, FilledChecklist, RuntimeTarget, Signed, Status};

pub const CHECKLIST_JSON: &str = "checklist.json";
pub const CHECKLIST_MD: &str = "CHECKLIST.md";

pub fn to_markdown(filled: &FilledChecklist) -> String {
    let cells = |all: &[String]| all.iter().map(|one| format!("- {}", cell(one))).collect::<Vec<_>>();
    let steps = filled.rollback.steps.iter().enumerate();
    let steps: Vec<String> = steps.map(|(place, one)| format!("{}. {}", place + 1, cell(one))).collect();
    let signed = |Signed { role, owner, date }: &Signed| {
        let text = |one: &Option<String>| one.as_ref().map_or_else(|| "________".to_owned(), |one| cell(one));
        format!("| {} | {} | {} |", cell(role), text(owner), text(date))
    };
    let mut owners: Vec<String> = filled.sign_off.iter().map(signed).collect();
    if !owners.is_empty() {
        owners.insert(0, "| Role | Owner | Date |\n| --- | --- | --- |".to_owned());
    }
    let items: Vec<String> = filled.items.iter().map(row).collect();
    let sections = [
        ("What blocks", "Nothing.", filled.blocking().map(blocks).collect()),
        ("What the ledger says", "It waives nothing here.", filled.items.iter().filter_map(waived).collect()),
        ("When to go back", "Nothing is planned.", cells(&filled.rollback.triggers)),
        ("How to go back", "Nothing is planned.", steps),
        ("Sign-off", "Nobody has to sign.", owners),
    ];
    let sections = sections.map(|(heading, nothing, lines)| {
        let text = if lines.is_empty() { nothing.to_owned() } else { lines.join("\n") };
        format!("## {heading}\n\n{text}\n\n")
    });
    format!(
        include_str!("../../templates/release/CHECKLIST.md"),
        release = cell(&filled.release),
        word = filled.word().to_uppercase(),
        tagged = if filled.tagged { "" } else { " (not yet tagged)" },
        commit = filled.commit,
        measured = filled.measured,
        previous = filled.previous.as_ref().map_or_else(|| "none".to_owned(), |previous| cell(previous)),
        targets = RuntimeTarget::list(&filled.targets),
        as_of = filled.as_of.format("%Y-%m-%dT%H:%M:%SZ"),
        runs = filled.history.size,
        tip = filled.history.commit,
        root = filled.history.root,
        version = cell(&filled.version),
        items = items.join("\n"),
        sections = sections.concat(),
    )
}

fn row(item: &Filled) -> String {
    let rests: Vec<String> = item
        .rests_on
        .iter()
        .map(|one| format!("`{}` {}", cell(&one.path), one.sha256.get(..16).unwrap_or("")))
        .collect();
    let rests = if rests.len() > 4 {
        format!("{}, and {} more in {CHECKLIST_JSON}", rests[..4].join(", "), rests.len() - 4)
    } else {
        rests.join(", ")
    };
    let status = match item.status {
        Status::NotApplicable => "n/a".to_owned(),
        status => format!("**{}**", status.word()),
    };
    format!(
        "| {} | {} | {} | {status} | {} | {rests} |",
        cell(&item.id),
        cell(&item.title),
        cell(&item.rule),
        cell(&item.why)
    )
}

fn blocks(item: &Filled) -> String {
    let mend = item.mend.as_ref().map_or_else(String::new, |mend| format!(" Next: {}.", cell(mend)));
    format!("- {} ({}): {}.{mend}", cell(&item.id), item.status.word(), cell(&item.why))
}

fn waived(item: &Filled) -> Option<String> {
    let waiver = item.waiver.as_ref()?;
    let state = if waiver.in_force { "in force" } else { "not in force" };
    Some(format!(
        "- {}: {} from {} until {}, {state} ({}): {}",
        cell(&item.id),
        cell(&waiver.author),
        waiver.date,
        waiver.expires,
        cell(&waiver.entry),
        cell(&waiver.reason)
    ))
}

/// Text of others inside Markdown: nothing in it begins a cell, a line, a link or a tag. Our code spans are plain words.
fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => cell.extend(['\\', character]),
            '<' => cell.push_str("&lt;"),
            '>' => cell.push_str("&gt;"),
            '&' => cell.push_str("&amp;"),
            '`' => cell.push('\''),
            '@' => cell.push_str("&#64;"),
            character if is_unsafe(character) => cell.push('\u{fffd}'),
            character => cell.push(character),
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_act() {
        assert_eq!(cell("a|b\n<img> [x](y) `c` @d"), "a\\|b\u{fffd}&lt;img&gt; \\[x\\](y) 'c' &#64;d");
    }
}

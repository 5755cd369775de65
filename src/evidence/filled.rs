//! A filled checklist as files: `checklist.json` for programs, `CHECKLIST.md` for people.

use sprag_base::text::is_unsafe;
use sprag_model::checklist::{Filled, FilledChecklist, RuntimeTarget, Signed, Status};

/// The name of the file for programs.
pub const CHECKLIST_JSON: &str = "checklist.json";

/// The name of the file for people.
pub const CHECKLIST_MD: &str = "CHECKLIST.md";

pub fn to_markdown(filled: &FilledChecklist) -> String {
    let mut out = vec![format!("# Release checklist: {}", cell(&filled.release)), String::new()];
    let none = "none".to_owned();
    out.extend([
        format!("**{}**", filled.word().to_uppercase()),
        String::new(),
        "## Release".to_owned(),
        String::new(),
        format!("- Tag: {}{}", cell(&filled.release), if filled.tagged { "" } else { " (not yet tagged)" }),
        format!("- Commit: `{}`", filled.commit),
        format!("- Commit that was measured: `{}`", filled.measured),
        format!("- Release before: {}", cell(filled.previous.as_ref().unwrap_or(&none))),
        format!("- Targets: {}", RuntimeTarget::list(&filled.targets)),
        format!("- As of: {}", filled.as_of.format("%Y-%m-%dT%H:%M:%SZ")),
        format!(
            "- History: {} runs at `{}`, Merkle root `{}`",
            filled.history.size, filled.history.commit, filled.history.root
        ),
        format!("- Filled by: sprag {}", cell(&filled.version)),
        String::new(),
        "## Items".to_owned(),
        String::new(),
        "| Item | Asked | Rule | Status | What the evidence says | Rests on |".to_owned(),
        "| --- | --- | --- | --- | --- | --- |".to_owned(),
    ]);
    out.extend(filled.items.iter().map(row));
    let blocking: Vec<String> = filled.blocking().map(blocks).collect();
    section(&mut out, "What blocks", "Nothing.", &blocking);
    let waived: Vec<String> = filled.items.iter().filter_map(waived).collect();
    section(&mut out, "What the ledger says", "It waives nothing here.", &waived);
    let texts = |all: &[String]| all.iter().map(|one| format!("- {}", cell(one))).collect::<Vec<_>>();
    section(&mut out, "When to go back", "Nothing is planned.", &texts(&filled.rollback.triggers));
    let steps: Vec<String> =
        filled.rollback.steps.iter().enumerate().map(|(place, one)| format!("{}. {}", place + 1, cell(one))).collect();
    section(&mut out, "How to go back", "Nothing is planned.", &steps);
    out.extend([String::new(), "## Sign-off".to_owned(), String::new()]);
    match filled.sign_off.is_empty() {
        true => out.push("Nobody has to sign.".to_owned()),
        false => {
            out.extend(["| Role | Owner | Date |".to_owned(), "| --- | --- | --- |".to_owned()]);
            out.extend(filled.sign_off.iter().map(|Signed { role, owner, date }| {
                let text = |one: &Option<String>| one.as_ref().map_or_else(|| "________".to_owned(), |one| cell(one));
                format!("| {} | {} | {} |", cell(role), text(owner), text(date))
            }));
        }
    }
    out.extend([
        String::new(),
        "Every status above is derived from recorded bytes; none is typed in. Sign-offs are of people.".to_owned(),
        String::new(),
    ]);
    out.join("\n")
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

fn section(out: &mut Vec<String>, heading: &str, nothing: &str, lines: &[String]) {
    out.extend([String::new(), format!("## {heading}"), String::new()]);
    match lines.is_empty() {
        true => out.push(nothing.to_owned()),
        false => out.extend(lines.iter().cloned()),
    }
}

/// Text of others inside Markdown: nothing in it begins a cell, a line, a link or a tag. Code spans stay, as ours are made
/// of plain words.
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

//! The baselines of the project, those that cannot be used too.

use std::io::Write;
use std::path::Path;

use super::source;
use crate::exit::Exit;
use crate::notices::{say, warn};
use crate::project::Project;
use crate::text;
use sprag_model::baseline::list::{BaselineList, BaselineSummary, ListedBaseline, SCHEMA_VERSION};

pub fn list(folder: &Path, with_archive: bool, is_json: bool, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let mut baselines: Vec<ListedBaseline> =
        project.baselines()?.iter().map(|file| ListedBaseline::new(file, false)).collect();
    if with_archive {
        baselines.extend(project.archived_baselines()?.iter().map(|file| ListedBaseline::new(file, true)));
    }
    let mut hints = Vec::new();
    for one in baselines.iter_mut().filter(|one| one.fault.is_some()) {
        if let Some((fault, hint)) = source::fault(&project.root.join(&one.path)) {
            one.fault = Some(fault);
            hints.push(format!("{}: {hint}", one.path));
        }
    }
    let faulty = baselines.iter().filter(|one| one.fault.is_some()).count();
    let list = BaselineList { schema_version: SCHEMA_VERSION, baselines };
    if is_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&list)?)?;
    } else if list.baselines.is_empty() {
        writeln!(out, "there is no baseline yet")?;
        say("hint: `sprag baseline emit` takes one from the newest run of this machine at HEAD");
    } else {
        write!(out, "{}", table(&list.baselines))?;
    }
    if faulty > 0 {
        warn(&format!("{} cannot be used; `sprag check` fails on one that it needs", text::count(faulty, "file")));
        hints.iter().for_each(|hint| say(&format!("hint: {}", text::printable(hint))));
    }
    Ok(Exit::Done)
}

fn table(baselines: &[ListedBaseline]) -> String {
    let head =
        ["file", "suite", "class", "machine", "metrics", "sessions", "commit", "branch", "date", "accepted by", "why"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for one in baselines {
        let mut row = vec![text::printable(&one.path)];
        match (&one.baseline, &one.fault) {
            (Some(summary), _) => row.extend(cells(summary).map(|cell| text::printable(&cell))),
            (None, fault) => row.push(text::printable(fault.as_deref().unwrap_or_default())),
        }
        rows.push(row);
    }
    // What is wrong with a file is no word of a column.
    let (fine, faulty): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.len() > 2);
    let mut text = if fine.len() > 1 { text::columns(&fine, &[5]) } else { String::new() };
    faulty.iter().for_each(|row| text.push_str(&format!("{} {}\n", row[0], row[1])));
    text
}

fn cells(baseline: &BaselineSummary) -> [String; 10] {
    let or_dash = |text: Option<&str>| text.filter(|text| !text.is_empty()).unwrap_or("–").to_owned();
    let rules: Vec<String> = baseline.rules.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
    let partial = if baseline.partial { ", partial" } else { "" };
    let (fewest, most) = baseline.sessions;
    let short = baseline.commit.as_deref().map(|sha| sha.get(..12).unwrap_or(sha));
    let accepted = baseline.accepted.as_ref();
    [
        baseline.suite.clone(),
        baseline.machine_class.clone(),
        or_dash(baseline.machine.as_deref()),
        format!("{}{partial}", rules.join(", ")),
        if fewest == most { most.to_string() } else { format!("{fewest} to {most}") },
        format!("{}{}", or_dash(short), if baseline.dirty && short.is_some() { "+" } else { "" }),
        or_dash(baseline.branch.as_deref()),
        baseline.timestamp_utc.format("%Y-%m-%d").to_string(),
        or_dash(accepted.map(|one| one.by.as_str())),
        or_dash(accepted.map(|one| one.why.as_str()).filter(|why| !why.is_empty()).or(Some(&baseline.notes))),
    ]
}

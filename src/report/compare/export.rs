//! A comparison as Markdown, to paste where people talk about it. The script of the site writes the same text for any pair.

use super::commits::ComparedCommit;
use super::data::Data;
use super::table::{Group, Table, capital};
use super::words::{ComparedRow, Kind};
use crate::markdown::{Lines, code, plain};
use crate::number;

/// The most rows of a group; what is said of the others is counted.
pub(crate) const ROWS: usize = 60;

/// The heads of the rows; the figures stand to the right.
const HEADS: [&str; 8] =
    ["Series", "Machine", "Verdict", "Level at A", "Level at B", "Change", "95\u{202f}% interval", "Could see"];

/// What is said of a commit that was not measured.
pub(crate) const UNMEASURED: &str = ", not measured: each series as it was measured last before it";

const MEANS: [&str; 2] = ["Mean", "95\u{202f}% limits"];

/// How the limits are to be read.
const OF_MEANS: &str =
    "Limits are as if all series erred together; one without change counts from none to what was measured at the two.";

/// The comparison of two commits: the verdict, what was held against what, the means, and each series that changed or may have.
pub(crate) fn markdown(data: &Data, [a, b]: [usize; 2], table: &Table) -> String {
    let mut out = Lines::default();
    out.paragraph(&format!("# {} to {}", plain(&data.name(a)), plain(&data.name(b))));
    let pieces = table.headline.iter().map(|[_, glyph, words]| format!("{glyph} {words}").trim().to_owned());
    out.paragraph(&format!("**{}**", pieces.collect::<Vec<String>>().join(" ")));
    for (letter, commit) in [('A', a), ('B', b)] {
        out.line(&format!("- {letter}: {}", side(data.commit(commit))));
    }
    out.blank();
    for [strong, words] in &table.banners {
        out.paragraph(&format!("**{}** {}", plain(strong), plain(words)));
    }
    if !table.summary.is_empty() {
        let [worse, better] = [0, 1].map(|place| capital(&table.words[place]));
        let counts = ["Suite", "Machine", "Series", &worse, &better, "No change", "No verdict"];
        let heads: Vec<&str> = counts.into_iter().chain(MEANS).collect();
        out.head(&heads, &[false, false, true, true, true, true, true, true, true]);
        for row in &table.summary {
            let counts = row.counts.map(number::count);
            let cells = [plain(&row.suite), plain(&row.machine)].into_iter().chain(counts);
            let cells = cells.chain([row.mean.clone(), row.interval.clone()]);
            out.row(&cells.collect::<Vec<String>>());
        }
        out.blank();
        out.paragraph(OF_MEANS);
    }
    let (result, counted): (Vec<&Group>, Vec<&Group>) = table.groups.iter().partition(|group| is_listed(group));
    for group in result {
        out.paragraph(&format!("## {} ({})", group.heading, number::count(group.count)));
        out.head(&HEADS, &[false, false, false, true, true, true, true, true]);
        for row in group.rows.iter().take(ROWS) {
            out.row(&cells(row));
        }
        out.blank();
        if group.count > ROWS {
            out.paragraph(&format!("And {} more.", number::count(group.count - ROWS)));
        }
    }
    let rest = counted.iter().map(|group| format!("{}: {}.", group.heading, number::count(group.count)));
    out.line(&rest.collect::<Vec<String>>().join(" "));
    out.text
}

fn is_listed(group: &Group) -> bool {
    group.rows.first().is_some_and(|row| matches!(row.kind, Kind::Worse | Kind::Better | Kind::Doubt))
        && !group.is_auxiliary()
}

fn side(commit: &ComparedCommit) -> String {
    let ComparedCommit { sha, day, subject, tags, .. } = commit;
    let tags = if tags.is_empty() { String::new() } else { format!(" {}", plain(&tags.join(", "))) };
    let unmeasured = if commit.stands.is_some() { UNMEASURED } else { "" };
    let subject = if subject.is_empty() { String::new() } else { format!(", “{}”", plain(subject)) };
    format!("{}{tags}{subject}, {day}{unmeasured}", code(sha.get(..12).unwrap_or(sha)))
}

fn cells(row: &ComparedRow) -> [String; 8] {
    let [_, glyph, word] = &row.mark;
    let verdict = format!("{glyph} {word}");
    [
        format!("{} {}", code(&row.name), plain(&row.metric)),
        plain(&row.machine),
        if row.reason.is_empty() { verdict } else { format!("{verdict}: {}", plain(&row.reason)) },
        row.before.clone(),
        row.after.clone(),
        row.change.clone(),
        row.interval.clone(),
        format!("{} {}", row.shows, row.times).trim_end().to_owned(),
    ]
}

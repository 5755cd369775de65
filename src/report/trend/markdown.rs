//! A trend as Markdown of GitHub's dialect, for a weekly digest or the summary of a job.
//!
//! A comment on GitHub holds 65,536 characters: from there on events are left out, then tables; how many is told.

use super::document::{Block, Document, Grid, Room, Section};
use super::tables;
use crate::markdown::{Lines, phrase};
use crate::number;
use sprag_model::trend::Trend;

/// The bytes that events may take, and all of it.
const MOST_BYTES_OF_EVENTS: usize = 40_000;
const MOST_BYTES: usize = 60_000;

/// The members of an event that are listed.
const MOST_MEMBERS: usize = 12;

/// The trend as Markdown; `all` lists events that may be chance or were taken back, too.
pub fn markdown(trend: &Trend, all: bool) -> String {
    let Document { headline, lines, events, hidden, sections } =
        tables::document(trend, all, &Room { members: MOST_MEMBERS });
    let mut out = Lines::default();
    out.paragraph(&format!("## {}", phrase(&headline)));
    for line in &lines {
        out.line(&format!("- {}", phrase(line)));
    }
    out.blank();
    put(&mut out, &events, MOST_BYTES_OF_EVENTS, ("event is", "events are"));
    if let Some(hidden) = &hidden {
        out.paragraph(&phrase(hidden));
    }
    put(&mut out, &sections, MOST_BYTES, ("table is", "tables are"));
    out.text.truncate(out.text.trim_end().len());
    out.text.push('\n');
    out.text
}

/// The part of it that belongs in the digest of a scheduled build: what changed over the whole history, and what may be about to.
pub fn digest(trend: &Trend) -> String {
    let room = Room { members: MOST_MEMBERS };
    let Document { headline, events, hidden, .. } = tables::document(trend, false, &room);
    let mut out = Lines::default();
    out.paragraph(&format!("## Over the whole history: {}", phrase(&headline)));
    put(&mut out, &events, MOST_BYTES_OF_EVENTS, ("event is", "events are"));
    if let Some(hidden) = &hidden {
        out.paragraph(&phrase(hidden));
    }
    put(&mut out, tables::newest_section(trend, &room).as_slice(), MOST_BYTES, ("table is", "tables are"));
    out.text.truncate(out.text.trim_end().len());
    out.text.push('\n');
    out.text
}

/// The sections that there is room for, and how many there are beyond.
fn put(out: &mut Lines, sections: &[Section], most: usize, (one, many): (&str, &str)) {
    for (place, one_section) in sections.iter().enumerate() {
        let text = section(one_section);
        if out.text.len() + text.len() > most {
            let rest = number::counted(sections.len() - place, &format!("more {one}"), &format!("more {many}"));
            out.paragraph(&format!("{rest} left out; `sprag trend --format json` has all."));
            return;
        }
        out.text.push_str(&text);
    }
}

fn section(section: &Section) -> String {
    let mut out = Lines::default();
    out.paragraph(&format!("### {}", phrase(&section.title)));
    let mut is_list = false;
    for block in &section.blocks {
        let is_fact = matches!(block, Block::Fact(..));
        if is_list && !is_fact {
            out.blank();
        }
        is_list = is_fact;
        match block {
            Block::Line(line) => out.paragraph(&phrase(line)),
            Block::Fact("", words) => out.line(&format!("- {}", phrase(words))),
            Block::Fact(label, words) => out.line(&format!("- **{label}** {}", phrase(words))),
            Block::Command(line) => out.paragraph(&format!("```sh\n{line}\n```")),
            Block::Grid(grid) => self::grid(&mut out, grid),
        }
    }
    out.blank();
    out.text
}

fn grid(out: &mut Lines, grid: &Grid) {
    if let Some(summary) = &grid.folded {
        out.paragraph(&format!("<details><summary>{summary}</summary>"));
    }
    let (heads, right): (Vec<&str>, Vec<bool>) = grid.heads.iter().copied().unzip();
    out.head(&heads, &right);
    for row in &grid.rows {
        out.row(&row.iter().map(phrase).collect::<Vec<String>>());
    }
    out.blank();
    if let Some(more) = &grid.more {
        out.paragraph(&format!("… {}", phrase(more)));
    }
    if grid.folded.is_some() {
        out.paragraph("</details>");
    }
}

//! What is told of a trend, before a form sets it: sentences, facts with a label, tables, and commands to paste.

use crate::phrase::Phrase;

/// All of it, most important first.
pub(super) struct Document {
    /// What the history shows, in one sentence.
    pub(super) headline: Phrase,
    /// What belongs right below.
    pub(super) lines: Vec<Phrase>,
    pub(super) events: Vec<Section>,
    /// How many events are not listed.
    pub(super) hidden: Option<Phrase>,
    /// What else there is.
    pub(super) sections: Vec<Section>,
}

/// A title with what stands under it.
pub(super) struct Section {
    pub(super) title: Phrase,
    pub(super) blocks: Vec<Block>,
}

/// A part of a section.
pub(super) enum Block {
    /// A sentence.
    Line(Phrase),
    /// What a word asks, and the answer.
    Fact(&'static str, Phrase),
    /// A table.
    Grid(Grid),
    /// A line for a shell.
    Command(String),
}

/// A table.
#[derive(Default)]
pub(super) struct Grid {
    /// The word in front of its first row, where it is the answer to one.
    pub(super) label: &'static str,
    /// What it is called where it is folded away.
    pub(super) folded: Option<String>,
    /// The name of each column, and whether it is aligned to the right.
    pub(super) heads: Vec<(&'static str, bool)>,
    pub(super) rows: Vec<Vec<Phrase>>,
    /// How many rows are left out, in words.
    pub(super) more: Option<Phrase>,
}

/// How much of it a form has room for.
pub(super) struct Room {
    /// The members of an event that are listed.
    pub(super) members: usize,
}

/// A cell of plain words.
pub(super) fn cell(words: impl Into<String>) -> Phrase {
    Phrase::plain(words)
}

//! What a reader passed over, told once a kind: a source may have a hundred thousand places of the same fault.

use std::collections::BTreeMap;

/// What was passed over, how often, and where first.
#[derive(Debug, Default)]
pub(super) struct Notes(BTreeMap<String, (usize, String)>);

impl Notes {
    /// Takes down that `what` was found at a place; the places of the same words are counted together.
    pub(super) fn add(&mut self, what: &str, place: impl FnOnce() -> String) {
        match self.0.get_mut(what) {
            Some((count, _)) => *count += 1,
            None => {
                self.0.insert(what.to_owned(), (1, place()));
            }
        }
    }

    /// Takes in what was found behind all of this.
    pub(super) fn append(&mut self, later: Notes) {
        for (what, (more, place)) in later.0 {
            self.0.entry(what).and_modify(|(count, _)| *count += more).or_insert((more, place));
        }
    }

    pub(super) fn sentences(self) -> Vec<String> {
        let sentence = |(what, (count, place)): (String, (usize, String))| match count {
            1 => format!("{place}: {what}"),
            _ => format!("{place}: {what}; the same at {} more places", count - 1),
        };
        self.0.into_iter().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_told_once_with_its_first_place() {
        let mut notes = Notes::default();
        notes.add("no time", || "row 2".to_owned());
        notes.add("no commit", || "row 3".to_owned());
        notes.add("no time", || "row 4".to_owned());
        let mut later = Notes::default();
        later.add("no time", || "row 5".to_owned());
        later.add("no name", || "row 6".to_owned());
        notes.append(later);
        let sentences = ["row 3: no commit", "row 6: no name", "row 2: no time; the same at 2 more places"];
        assert_eq!(notes.sentences(), sentences);
    }
}

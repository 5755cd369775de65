//! Labels that stand in a row and must not cover one another.

/// A letter is about this wide, in parts of the text's size.
const LETTER: f64 = 0.58;

/// How far a label stands from its line.
const DISTANCE: f64 = 5.0;

/// About how wide a text is.
pub(super) fn text_width(words: &str, size: f64) -> f64 {
    words.chars().count() as f64 * LETTER * size
}

/// On which side of its line a label stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// It begins at the line.
    Right,
    /// It ends at the line.
    Left,
}

/// The labels placed in a row so far.
pub(super) struct Row {
    bounds: (f64, f64),
    size: f64,
    taken: Vec<(f64, f64)>,
}

impl Row {
    /// An empty row between two bounds, for text of that size.
    pub(super) fn new(bounds: (f64, f64), size: f64) -> Row {
        Row { bounds, size, taken: Vec::new() }
    }

    /// Where the label of a line at `x` can stand, right of the line if possible, else left; nothing where there
    /// is no room.
    pub(super) fn place_beside(&mut self, x: f64, label: &str) -> Option<(f64, Side)> {
        let width = text_width(label, self.size);
        for (from, at, anchor) in
            [(x + DISTANCE, x + DISTANCE, Side::Right), (x - DISTANCE - width, x - DISTANCE, Side::Left)]
        {
            let to = from + width;
            let free = self.taken.iter().all(|(taken_from, taken_to)| to < *taken_from || from > *taken_to);
            if from >= self.bounds.0 && to <= self.bounds.1 && free {
                self.taken.push((from, to));
                return Some((at, anchor));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_clear_of_each_other_and_of_the_edge() {
        let mut row = Row::new((0.0, 200.0), 10.0);
        assert_eq!(row.place_beside(160.0, "12345678"), Some((155.0, Side::Left)));
        assert_eq!(row.place_beside(158.0, "12345678"), None);
        assert_eq!(row.place_beside(20.0, "12345"), Some((25.0, Side::Right)));
    }
}

//! Labels that stand in a row and must not cover one another.

/// A letter is about this wide, in parts of the text's size.
const LETTER: f64 = 0.58;

/// How far a label stands from its line.
const DISTANCE: f64 = 5.0;

/// How far labels of a row are apart at least.
const BETWEEN: f64 = 4.0;

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
pub(super) struct LabelRow {
    bounds: (f64, f64),
    size: f64,
    taken: Vec<(f64, f64)>,
}

impl LabelRow {
    /// An empty row between two bounds, for text of that size.
    pub(super) fn new(bounds: (f64, f64), size: f64) -> LabelRow {
        LabelRow { bounds, size, taken: Vec::new() }
    }

    /// Where the label of a line at `x` can stand, right of the line if possible, else left, on the side that none of
    /// `crossed` goes through where there is one; nothing where there is no room.
    pub(super) fn place_near(&mut self, x: f64, label: &str, crossed: &[f64]) -> Option<(f64, Side)> {
        let width = text_width(label, self.size);
        let mut sides = [(x + DISTANCE, x + DISTANCE, Side::Right), (x - DISTANCE - width, x - DISTANCE, Side::Left)];
        sides.sort_by_key(|(from, ..)| crossed.iter().filter(|line| (*from..from + width).contains(*line)).count());
        for (from, at, anchor) in sides {
            let to = from + width;
            let free = self
                .taken
                .iter()
                .all(|(taken_from, taken_to)| to + BETWEEN < *taken_from || from > *taken_to + BETWEEN);
            if from >= self.bounds.0 && to <= self.bounds.1 && free {
                self.taken.push((from, to));
                return Some((at, anchor));
            }
        }
        None
    }
}

/// What is taken already: left, top, right and bottom of each.
#[derive(Default)]
pub(super) struct Boxes {
    taken: Vec<(f64, f64, f64, f64)>,
}

impl Boxes {
    /// Whether a box covers none that is taken.
    pub(super) fn is_free(&self, (left, top, right, bottom): (f64, f64, f64, f64)) -> bool {
        self.taken.iter().all(|other| left >= other.2 || right <= other.0 || top >= other.3 || bottom <= other.1)
    }

    pub(super) fn take(&mut self, area: (f64, f64, f64, f64)) {
        self.taken.push(area);
    }
}

/// The places that a label on a level line may take, along the line.
const PLACES: u32 = 24;

/// The area of the data, where labels on level lines look for room.
pub(super) struct Field {
    across: (f64, f64),
    down: (f64, f64),
    size: f64,
    points: Vec<(f64, f64)>,
    lines: Vec<f64>,
    taken: Vec<(f64, f64, f64, f64)>,
}

impl Field {
    /// An empty field between those bounds, for text of that size.
    pub(super) fn new(across: (f64, f64), down: (f64, f64), size: f64) -> Field {
        Field { across, down, size, points: Vec::new(), lines: Vec::new(), taken: Vec::new() }
    }

    /// Points that a label should not cover.
    pub(super) fn avoid(&mut self, points: impl IntoIterator<Item = (f64, f64)>) {
        self.points.extend(points);
    }

    /// Labels that stand already.
    pub(super) fn avoid_boxes(&mut self, boxes: &Boxes) {
        self.taken.extend_from_slice(&boxes.taken);
    }

    /// A line across the field that a label should not cover.
    pub(super) fn avoid_line(&mut self, y: f64) {
        self.lines.push(y);
    }

    /// Where the label of a level at `y` begins: on the line or below it, where it covers the least.
    pub(super) fn place_on(&mut self, y: f64, label: &str) -> (f64, f64) {
        let width = text_width(label, self.size);
        let room = (self.across.1 - self.across.0 - width).max(0.0);
        let above = y - DISTANCE;
        let below = y + self.size + 2.0;
        let mut best = (self.across.0, above);
        let mut least = f64::INFINITY;
        for step in 0..PLACES {
            let x = self.across.0 + room * f64::from(step) / f64::from(PLACES - 1);
            for base in [above, below] {
                let cost = self.cost((x, base - self.size, x + width, base + 2.0));
                if cost < least {
                    (best, least) = ((x, base), cost);
                }
            }
        }
        self.taken.push((best.0, best.1 - self.size, best.0 + width, best.1 + 2.0));
        best
    }

    /// What a box covers: other labels weigh most, then the edge, lines, and points with what lies near them.
    fn cost(&self, (left, top, right, bottom): (f64, f64, f64, f64)) -> f64 {
        let margin = 6.0;
        let taken =
            self.taken.iter().filter(|other| left < other.2 && right > other.0 && top < other.3 && bottom > other.1);
        let outside = top < self.down.0 || bottom > self.down.1;
        let lines = self.lines.iter().filter(|line| (top..=bottom).contains(line));
        let points = self.points.iter().filter(|(x, y)| {
            (left - margin..=right + margin).contains(x) && (top - margin..=bottom + margin).contains(y)
        });
        1000.0 * taken.count() as f64
            + if outside { 500.0 } else { 0.0 }
            + 20.0 * lines.count() as f64
            + points.count() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_clear_of_each_other_and_of_the_edge() {
        let mut row = LabelRow::new((0.0, 200.0), 10.0);
        assert_eq!(row.place_near(160.0, "12345678", &[]), Some((155.0, Side::Left)));
        assert_eq!(row.place_near(158.0, "12345678", &[]), None);
        assert_eq!(row.place_near(20.0, "12345", &[]), Some((25.0, Side::Right)));
        let mut row = LabelRow::new((0.0, 200.0), 10.0);
        assert_eq!(row.place_near(100.0, "12345", &[110.0]), Some((95.0, Side::Left)));
        assert_eq!(row.place_near(100.0, "12345", &[80.0, 110.0]), Some((105.0, Side::Right)));
        let mut boxes = Boxes::default();
        boxes.take((0.0, 0.0, 10.0, 10.0));
        assert!(boxes.is_free((10.0, 0.0, 20.0, 10.0)) && !boxes.is_free((9.0, 9.0, 20.0, 20.0)));
    }

    #[test]
    fn a_level_is_labelled_where_it_covers_nothing() {
        let mut field = Field::new((0.0, 200.0), (0.0, 100.0), 10.0);
        field.avoid((0..10).map(|i| (f64::from(i) * 10.0, 45.0)));
        field.avoid_line(50.0);
        assert_eq!(field.place_on(50.0, "abc"), (0.0, 62.0), "below, where there is nothing");
        assert_eq!(field.place_on(5.0, "abc").1, 17.0, "not above the edge");
        let (x, y) = field.place_on(50.0, "abc");
        assert!(x > 10.0 || y != 62.0, "two labels do not cover each other");
    }
}

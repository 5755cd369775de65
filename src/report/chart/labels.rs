//! Labels that must not cover one another, nor the data. Coordinates are units of the picture.

use super::svg::Anchor;

/// The width of a letter, as a share of the text's size.
const LETTER: f64 = 0.58;

/// How far a label is from its line, and from others of its row.
const DISTANCE: f64 = 5.0;
const BETWEEN: f64 = 4.0;

pub(super) fn text_width(words: &str, size: f64) -> f64 {
    words.chars().count() as f64 * LETTER * size
}

pub(super) struct LabelRow {
    bounds: (f64, f64),
    size: f64,
    taken: Vec<(f64, f64)>,
}

impl LabelRow {
    pub(super) fn new(bounds: (f64, f64), size: f64) -> LabelRow {
        LabelRow { bounds, size, taken: Vec::new() }
    }

    /// Where the label of a line at `x` can be: on the side that fewer `crossed` lines go through, rather right; if anywhere.
    pub(super) fn place_near(&mut self, x: f64, label: &str, crossed: &[f64]) -> Option<(f64, Anchor)> {
        let width = text_width(label, self.size);
        let mut sides =
            [(x + DISTANCE, x + DISTANCE, Anchor::Start), (x - DISTANCE - width, x - DISTANCE, Anchor::End)];
        sides.sort_by_key(|(from, ..)| crossed.iter().filter(|line| (*from..from + width).contains(*line)).count());
        for (from, at, anchor) in sides {
            let to = from + width;
            let is_apart = |(left, right): &(f64, f64)| to + BETWEEN < *left || from > *right + BETWEEN;
            if from >= self.bounds.0 && to <= self.bounds.1 && self.taken.iter().all(is_apart) {
                self.taken.push((from, to));
                return Some((at, anchor));
            }
        }
        None
    }
}

/// Left, top, right and bottom.
pub(super) type Area = (f64, f64, f64, f64);

fn overlap(one: &Area, other: &Area) -> bool {
    one.0 < other.2 && one.2 > other.0 && one.1 < other.3 && one.3 > other.1
}

pub(super) fn is_free(taken: &[Area], area: &Area) -> bool {
    taken.iter().all(|other| !overlap(area, other))
}

/// How many places along its line a label may take.
const PLACES: u32 = 24;

/// The cost of a label that covers another one.
const COVERED: f64 = 1000.0;

/// The label of a horizontal line, to be written somewhere between two edges.
pub(super) struct LevelLabel {
    pub(super) class: &'static str,
    pub(super) y: f64,
    pub(super) across: (f64, f64),
    pub(super) words: String,
}

/// The area of the data, with what labels on level lines should not cover.
pub(super) struct Field {
    pub(super) down: (f64, f64),
    pub(super) size: f64,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) lines: Vec<f64>,
    pub(super) columns: Vec<f64>,
    pub(super) taken: Vec<Area>,
}

impl Field {
    /// Where a label begins, on its line or below it, where it covers the least; nowhere if it would cover another.
    pub(super) fn place(&mut self, label: &LevelLabel) -> Option<(f64, f64)> {
        let width = text_width(&label.words, self.size);
        let room = (label.across.1 - label.across.0 - width).max(0.0);
        let area = |(x, base): (f64, f64)| (x, base - self.size, x + width, base + 2.0);
        let places = (0..PLACES).flat_map(|step| {
            let x = label.across.0 + room * f64::from(step) / f64::from(PLACES - 1);
            [label.y - DISTANCE, label.y + self.size + 2.0].map(|base| (x, base))
        });
        let (cost, best) = places.map(|place| (self.cost(&area(place)), place)).min_by(|a, b| a.0.total_cmp(&b.0))?;
        self.taken.push(area(best));
        (cost < COVERED).then_some(best)
    }

    /// What an area covers: other labels weigh most, then the edge, lines, and points with what is near them.
    fn cost(&self, area: &Area) -> f64 {
        let margin = 6.0;
        let (left, top, right, bottom) = *area;
        let taken = self.taken.iter().filter(|other| overlap(area, other));
        let outside = top < self.down.0 || bottom > self.down.1;
        let lines = self.lines.iter().filter(|line| (top..=bottom).contains(line));
        let points = self.points.iter().filter(|(x, y)| {
            (left - margin..=right + margin).contains(x) && (top - margin..=bottom + margin).contains(y)
        });
        let columns = self.columns.iter().filter(|line| (left..=right).contains(line));
        COVERED * taken.count() as f64
            + if outside { 500.0 } else { 0.0 }
            + 20.0 * (lines.count() + columns.count()) as f64
            + points.count() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_clear_of_each_other_and_of_the_edge() {
        let mut row = LabelRow::new((0.0, 200.0), 10.0);
        assert_eq!(row.place_near(160.0, "12345678", &[]), Some((155.0, Anchor::End)));
        assert_eq!(row.place_near(158.0, "12345678", &[]), None);
        assert_eq!(row.place_near(20.0, "12345", &[]), Some((25.0, Anchor::Start)));
        let mut row = LabelRow::new((0.0, 200.0), 10.0);
        assert_eq!(row.place_near(100.0, "12345", &[110.0]), Some((95.0, Anchor::End)));
        assert_eq!(row.place_near(100.0, "12345", &[80.0, 110.0]), Some((105.0, Anchor::Start)));
        let taken = [(0.0, 0.0, 10.0, 10.0)];
        assert!(is_free(&taken, &(10.0, 0.0, 20.0, 10.0)) && !is_free(&taken, &(9.0, 9.0, 20.0, 20.0)));
    }

    #[test]
    fn a_level_is_labelled_where_it_covers_nothing() {
        let points = (0..10).map(|i| (f64::from(i) * 10.0, 45.0)).collect();
        let down = (0.0, 100.0);
        let mut field = Field { down, size: 10.0, points, lines: vec![50.0], columns: vec![199.0], taken: Vec::new() };
        let label = |y: f64| LevelLabel { class: "halo", y, across: (0.0, 200.0), words: "abc".to_owned() };
        assert_eq!(field.place(&label(50.0)), Some((0.0, 62.0)), "below, where there is nothing");
        assert_eq!(field.place(&label(5.0)).map(|place| place.1), Some(17.0), "not above the edge");
        let (x, y) = field.place(&label(50.0)).expect("there is room");
        assert!(x > 10.0 || y != 62.0, "two labels do not cover each other");
        field.taken.push((0.0, 0.0, 200.0, 100.0));
        assert_eq!(field.place(&label(50.0)), None, "no room is left");
    }
}

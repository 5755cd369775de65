//! A cell of a matrix: the level, the change since the release and the share of the limit.

use crate::compare::words::{Kind, Row};
use crate::link;
use crate::number;
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::unit::Scale;

/// The steps of a tint: below the first, below the second, above.
const STEPS: [f64; 2] = [0.03, 0.07];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    /// The tint where a verdict stands, `nc` where none does.
    pub(super) class: &'static str,
    /// The page of the series, or nothing.
    pub(super) page: String,
    pub(super) value: String,
    pub(super) below: String,
    /// How near it comes to its limit, or nothing.
    pub(super) share: String,
}

/// The value that stands in the cell of a series: its level at the newest commit, else what was measured there, else newest.
pub(super) fn value(series: &SeriesAnalysis, row: Option<&Row>) -> f64 {
    row.and_then(|row| row.levels[1].or(row.measured)).unwrap_or(series.latest.current)
}

/// The cell of a series; `is_one` where there is no other commit to hold it against.
pub(super) fn cell(series: &SeriesAnalysis, row: Option<&Row>, scale: Scale, share: Option<f64>, is_one: bool) -> Cell {
    let (class, below) = match row {
        Some(row) if !is_one => tint(row),
        _ => ("nc", "not compared".to_owned()),
    };
    let is_missing = row.is_some_and(|row| row.kind == Kind::Missing && row.measured.is_none());
    Cell {
        class,
        page: link::series(&series.series.id),
        value: if is_missing { number::NONE.to_owned() } else { number::value(scale, value(series, row)) },
        below,
        share: share.map_or(String::new(), |share| format!("{} of limit", number::percent_size(share))),
    }
}

/// The cell of a kernel that has no series there.
pub(super) fn absent() -> Cell {
    Cell {
        class: "nc",
        page: String::new(),
        value: number::NONE.to_owned(),
        below: "not measured".to_owned(),
        share: String::new(),
    }
}

/// The class of a cell and what stands below its value.
fn tint(row: &Row) -> (&'static str, String) {
    let [_, glyph, word] = &row.mark;
    let size = row.relative.unwrap_or(f64::INFINITY).abs();
    let step = STEPS.iter().filter(|step| size >= **step).count();
    let told = || {
        if row.relative.is_some() { format!("{glyph} {}", row.change) } else { format!("{glyph} {word}") }
    };
    match row.kind {
        Kind::Worse => (["w1", "w2", "w3"][step], told()),
        Kind::Better => (["b1", "b2", "b3"][step], told()),
        Kind::Same => ("", format!("{glyph} {word}")),
        Kind::Doubt | Kind::Environment | Kind::Missing => ("nc", format!("{glyph} {}", row.why())),
    }
}

impl Row {
    /// A few words for a cell without verdict.
    fn why(&self) -> &str {
        match self.kind {
            Kind::Doubt if self.reason == "its level drifts" => "drifts",
            Kind::Doubt if self.levels == [None; 2] => "too few points",
            Kind::Missing if self.measured.is_some() => "new",
            _ => &self.mark[2],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: Kind, relative: Option<f64>) -> Row {
        Row {
            id: String::new(),
            suite: String::new(),
            machine: String::new(),
            name: String::new(),
            metric: String::new(),
            unit: "s",
            kind,
            mark: [String::new(), "▲".to_owned(), "slower".to_owned()],
            reason: String::new(),
            before: String::new(),
            after: String::new(),
            change: relative.map_or(number::NONE.to_owned(), number::percent),
            interval: String::new(),
            shows: String::new(),
            times: String::new(),
            measured_before: Default::default(),
            measured_after: Default::default(),
            figures: Default::default(),
            levels: [Some(1.0), Some(1.1)],
            relative,
            measured: Some(1.1),
            drawn: None,
            places: None,
        }
    }

    #[test]
    fn a_tint_says_how_much_and_words_say_it_too() {
        let of = |kind, relative| tint(&row(kind, relative));
        assert_eq!(of(Kind::Worse, Some(0.081)), ("w3", "▲ +8.1\u{202f}%".to_owned()));
        assert_eq!(of(Kind::Worse, Some(0.03)), ("w2", "▲ +3.0\u{202f}%".to_owned()));
        assert_eq!(of(Kind::Better, Some(-0.02)), ("b1", "▲ \u{2212}2.0\u{202f}%".to_owned()));
        assert_eq!(of(Kind::Worse, None), ("w3", "▲ slower".to_owned()));
        assert_eq!(of(Kind::Same, None).0, "");
        assert_eq!(of(Kind::Doubt, None).0, "nc");
        let short = Row { levels: [None; 2], ..row(Kind::Doubt, None) };
        assert_eq!(tint(&short).1, "▲ too few points");
    }
}

//! The data of a path, in as few bytes as it takes: steps from point to point, which are shorter than places.
//!
//! Steps are differences of whole pixels, so none of them adds to the error of another.

use plotters_backend::BackendCoord;

use super::backend::unit;

/// A path under way.
#[derive(Default)]
pub(super) struct Pen {
    /// What is written so far.
    pub(super) path: String,
    at: BackendCoord,
    /// Whether the newest command is a line, which more steps may follow.
    in_line: bool,
    /// Whether there is a line since the pen moved.
    has_line: bool,
}

impl Pen {
    /// Begins a part of the path there.
    pub(super) fn move_to(&mut self, point: BackendCoord) {
        if self.path.is_empty() {
            self.path = format!("M{} {}", unit(point.0), unit(point.1));
        } else {
            self.path.push('m');
            self.step(point);
        }
        self.at = point;
        (self.in_line, self.has_line) = (false, false);
    }

    /// A stroke without length.
    pub(super) fn dot(&mut self) {
        self.path.push_str("h0");
        self.in_line = false;
    }

    /// A line from where the pen is; one without length counts only where it is the first, for a round cap makes it a dot.
    pub(super) fn line_to(&mut self, point: BackendCoord) {
        let (x, y) = (point.0 - self.at.0, point.1 - self.at.1);
        if (x, y) == (0, 0) && self.has_line {
            return;
        }
        self.has_line = true;
        if x == 0 || y == 0 {
            self.path.push(if y == 0 { 'h' } else { 'v' });
            self.path.push_str(&short(if y == 0 { x } else { y }));
            self.in_line = false;
        } else {
            match (self.in_line, x < 0) {
                (false, _) => self.path.push('l'),
                (true, false) => self.path.push(' '),
                (true, true) => {}
            }
            self.step(point);
            self.in_line = true;
        }
        self.at = point;
    }

    /// The way to a point as two numbers; a sign parts them, too.
    fn step(&mut self, point: BackendCoord) {
        let (x, y) = (point.0 - self.at.0, point.1 - self.at.1);
        self.path.push_str(&short(x));
        if y >= 0 {
            self.path.push(' ');
        }
        self.path.push_str(&short(y));
    }
}

/// A number of units without the zero before its point.
fn short(pixels: i32) -> String {
    let text = unit(pixels);
    match (text.strip_prefix("0."), text.strip_prefix("-0.")) {
        (Some(tenth), _) => format!(".{tenth}"),
        (_, Some(tenth)) => format!("-.{tenth}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lead_to_the_points() {
        let mut pen = Pen::default();
        pen.move_to((123, -7));
        for point in [(133, 0), (128, 5), (128, 25), (100, 25), (101, 24), (101, 24), (102, 30)] {
            pen.line_to(point);
        }
        pen.move_to((2, 3));
        pen.dot();
        assert_eq!(pen.path, "M12.3 -0.7l1 .7-.5 .5v2h-2.8l.1-.1 .1 .6m-10-2.7h0");
    }
}

//! SVG pictures, written as they are drawn. A shape names a class of the style sheet and no colour.
//!
//! Coordinates are tenths of a unit and clamped to the picture. A text has its base line at its point.

use std::fmt::Write as _;

use crate::text;

/// From the left and from the top, in tenths of a unit.
pub(super) type At = (i32, i32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A path of more points is long.
const SHORT: usize = 8;

pub(super) struct Svg {
    width: i32,
    height: i32,
    body: String,
    /// What the next shape of its kind may join.
    open: Open,
    /// Coordinates are multiples of so many tenths.
    grain: i32,
}

enum Open {
    None,
    /// Its class, its data, and where its last stroke ends.
    Path(&'static str, String, At),
    Texts(String, Vec<String>),
}

impl Svg {
    pub(super) fn new(width: i32, height: i32) -> Svg {
        Svg { width, height, body: String::new(), open: Open::None, grain: 1 }
    }

    /// On whole units, where so many points are drawn that tenths do not show.
    pub(super) fn without_tenths(self) -> Svg {
        Svg { grain: 10, ..self }
    }

    /// The picture as wide as its place; the ids of title and description begin with `id`.
    pub(super) fn captioned(mut self, class: &str, [id, title, description]: [&str; 3]) -> String {
        self.flush();
        format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
             <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>\n{}</svg>",
            self.width,
            self.height,
            text::xml(title),
            text::xml(description),
            self.body
        )
    }

    /// The picture at its natural size.
    pub(super) fn labelled(self, class: &str, label: &str) -> String {
        self.sized(class, &format!("role=\"img\" aria-label=\"{}\"", text::xml(label)))
    }

    /// The picture for a cell next to others that say the same in words.
    pub(super) fn hidden(self, class: &str) -> String {
        self.sized(class, "aria-hidden=\"true\"")
    }

    fn sized(mut self, class: &str, attributes: &str) -> String {
        self.flush();
        let (width, height) = (self.width, self.height);
        format!(
            "<svg class=\"{class}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" {attributes}>{}</svg>",
            self.body.replace('\n', "")
        )
    }

    pub(super) fn line(&mut self, class: &str, points: impl IntoIterator<Item = At>) {
        let (path, _) = self.path_data(None, points);
        self.shape(class, &path, "");
    }

    pub(super) fn area(&mut self, class: &str, corners: impl IntoIterator<Item = At>) {
        let (path, _) = self.path_data(None, corners);
        self.shape(class, &path, "Z");
    }

    fn shape(&mut self, class: &str, path: &str, end: &str) {
        if !path.is_empty() {
            self.flush();
            self.element(&format!("<path{} d=\"{path}{end}\"/>", class_attribute(class)));
        }
    }

    /// A line that shares a path with the strokes of its class right before it.
    pub(super) fn stroke(&mut self, class: &'static str, points: impl IntoIterator<Item = At>) {
        self.join(class, points, "");
    }

    /// A stroke without length, which a round cap makes a dot.
    pub(super) fn dot(&mut self, class: &'static str, center: At) {
        self.join(class, [center], "h0");
    }

    fn join(&mut self, class: &'static str, points: impl IntoIterator<Item = At>, end: &str) {
        let (mut data, from) = match std::mem::replace(&mut self.open, Open::None) {
            Open::Path(current, data, from) if current == class => (data, Some(from)),
            other => {
                self.open = other;
                self.flush();
                (String::new(), None)
            }
        };
        let (path, at) = self.path_data(from, points);
        data.push_str(&path);
        data.push_str(end);
        self.open = Open::Path(class, data, at);
    }

    pub(super) fn circle(&mut self, class: &str, center: At, radius: i32) {
        self.flush();
        let [x, y] = self.coordinates(center);
        self.element(&format!("<circle{} cx=\"{x}\" cy=\"{y}\" r=\"{}\"/>", class_attribute(class), units(radius)));
    }

    pub(super) fn text(&mut self, class: &str, words: &str, at: At, anchor: Anchor) {
        if words.is_empty() {
            return;
        }
        let [x, y] = self.coordinates(at);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let attributes = format!("{anchor}{}", class_attribute(class));
        let words = format!(" x=\"{x}\" y=\"{y}\">{}", text::xml(words));
        match &mut self.open {
            Open::Texts(current, texts) if *current == attributes => texts.push(words),
            _ => {
                self.flush();
                self.open = Open::Texts(attributes, vec![words]);
            }
        }
    }

    pub(super) fn title(&mut self, words: &str) {
        self.flush();
        let Some(start) = self.body.rfind('<').filter(|_| self.body.ends_with("/>\n")) else { return };
        let name: String = self.body[start + 1..].chars().take_while(char::is_ascii_alphabetic).collect();
        self.body.truncate(self.body.len() - "/>\n".len());
        self.element(&format!("><title>{}</title></{name}>", text::xml(words)));
    }

    fn flush(&mut self) {
        match std::mem::replace(&mut self.open, Open::None) {
            Open::None => {}
            Open::Path(class, data, _) => self.element(&format!("<path{} d=\"{data}\"/>", class_attribute(class))),
            Open::Texts(attributes, texts) if texts.len() > 1 && !attributes.is_empty() => {
                self.element(&format!("<g{attributes}><text{}</text></g>", texts.join("</text><text")));
            }
            Open::Texts(attributes, texts) => {
                texts.iter().for_each(|text| self.element(&format!("<text{attributes}{text}</text>")));
            }
        }
    }

    fn element(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// A path through points, and where it ends. In a long one each is relative to the one before, which takes half the bytes.
    fn path_data(&self, from: Option<At>, points: impl IntoIterator<Item = At>) -> (String, At) {
        let points: Vec<At> = points.into_iter().map(|at| self.clamped(at)).collect();
        let is_long = from.is_some() || points.len() > SHORT;
        let (mut path, mut before) = (String::new(), from);
        for (x, y) in points {
            let is_first = path.is_empty();
            let (command, [x_shown, y_shown]) = match before.filter(|_| is_long) {
                Some(before) => (if is_first { 'm' } else { 'l' }, [x - before.0, y - before.1]),
                None => (if is_first { 'M' } else { 'L' }, [x, y]),
            };
            let space = if y_shown < 0 { "" } else { " " };
            write!(path, "{command}{}{space}{}", units(x_shown), units(y_shown))
                .expect("writing to a String cannot fail");
            before = Some((x, y));
        }
        (path, before.unwrap_or_default())
    }

    fn clamped(&self, (x, y): At) -> At {
        let grain = self.grain;
        [(x, self.width), (y, self.height)]
            .map(|(at, most)| (at.clamp(0, 10 * most) + grain / 2) / grain * grain)
            .into()
    }

    fn coordinates(&self, at: At) -> [String; 2] {
        let (x, y) = self.clamped(at);
        [units(x), units(y)]
    }
}

pub(super) fn rectangle((left, right): (i32, i32), (top, bottom): (i32, i32)) -> [At; 4] {
    [(left, top), (right, top), (right, bottom), (left, bottom)]
}

fn class_attribute(class: &str) -> String {
    if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") }
}

/// Tenths of a unit as units.
fn units(tenths: i32) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    match (tenths.abs() / 10, tenths.abs() % 10) {
        (units, 0) => format!("{sign}{units}"),
        (units, tenths) => format!("{sign}{units}.{tenths}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_a_class_are_joined_and_text_is_escaped() {
        let mut svg = Svg::new(20, 10);
        svg.dot("dots", (10, 40));
        svg.dot("dots", (25, 40));
        svg.area("out", [(-7, 0), (10, 0), (5, 999)]);
        svg.title("a < b");
        svg.text("", "x", (123, 7), Anchor::Start);
        for words in ["y", "z", ""] {
            svg.text("halo", words, (0, 100), Anchor::End);
        }
        assert_eq!(
            svg.captioned("fill", ["a", "<b>", "x\u{202e}y"]),
            "<svg class=\"fill\" viewBox=\"0 0 20 10\" role=\"img\" aria-labelledby=\"a-t a-d\">\
             <title id=\"a-t\">&lt;b&gt;</title><desc id=\"a-d\">x\u{fffd}y</desc>\n\
             <path class=\"dots\" d=\"M1 4h0m1.5 0h0\"/>\n\
             <path class=\"out\" d=\"M0 0L1 0L0.5 10Z\"><title>a &lt; b</title></path>\n\
             <text x=\"12.3\" y=\"0.7\">x</text>\n\
             <g text-anchor=\"end\" class=\"halo\"><text x=\"0\" y=\"10\">y</text><text x=\"0\" y=\"10\">z</text></g>\n</svg>"
        );
    }
}

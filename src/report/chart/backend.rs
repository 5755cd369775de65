//! A backend of plotters that writes SVG with classes only.
//!
//! Plotters counts whole pixels; here ten of them make one unit of the picture, so that coordinates have one
//! decimal. A text stands with its base line at the point it is given; its size comes from the style sheet.

use std::convert::Infallible;
use std::fmt::Write as _;

use plotters_backend::text_anchor::HPos;
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind};

use super::ink::Ink;
use crate::text;

/// How many pixels of plotters make one unit of the picture.
pub(super) const SUBPIXELS: i32 = 10;

/// A picture under way.
pub(super) struct Svg {
    width: i32,
    height: i32,
    body: String,
    /// The path under way, which strokes of the same ink may follow.
    strokes: Option<(Ink, String)>,
    /// The texts under way, which others of their ink that are anchored alike may follow as one group.
    texts: Option<(String, Vec<String>)>,
}

/// What a reader who does not see the picture is told.
pub(super) struct Caption<'a> {
    /// Unique in the page.
    pub(super) id: &'a str,
    /// What the picture shows.
    pub(super) title: &'a str,
    pub(super) description: &'a str,
}

impl Svg {
    /// An empty picture of that size in units.
    pub(super) fn new(width: i32, height: i32) -> Svg {
        Svg { width, height, body: String::new(), strokes: None, texts: None }
    }

    /// The finished picture with its title and description as elements.
    pub(super) fn captioned(mut self, class: &str, caption: &Caption<'_>) -> String {
        self.flush();
        let Caption { id, title, description } = caption;
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

    /// The finished picture at its natural size, with a label.
    pub(super) fn labelled(mut self, class: &str, label: &str) -> String {
        self.flush();
        let (width, height) = (self.width, self.height);
        format!(
            "<svg class=\"{class}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" aria-label=\"{}\">{}</svg>",
            text::xml(label),
            self.body.replace('\n', "")
        )
    }

    /// The finished picture at its natural size, for a cell beside others that say the same in words.
    pub(super) fn hidden(mut self, class: &str) -> String {
        self.flush();
        let (width, height) = (self.width, self.height);
        format!(
            "<svg class=\"{class}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             aria-hidden=\"true\">{}</svg>",
            self.body.replace('\n', "")
        )
    }

    /// A stroke without length, which a round cap makes a dot.
    fn dot(&mut self, ink: Ink, center: BackendCoord) {
        let path = self.strokes(ink);
        move_to(path, center);
        path.push_str("h0");
    }

    /// The path of an ink whose strokes are one.
    fn strokes(&mut self, ink: Ink) -> &mut String {
        if self.texts.is_some() || self.strokes.as_ref().is_some_and(|(current, _)| *current != ink) {
            self.flush();
        }
        &mut self.strokes.get_or_insert_with(|| (ink, String::new())).1
    }

    /// Writes a text with those attributes, together with those like it that follow.
    fn text(&mut self, attributes: String, words: String) {
        if self.strokes.is_some() || self.texts.as_ref().is_some_and(|(current, _)| *current != attributes) {
            self.flush();
        }
        self.texts.get_or_insert_with(|| (attributes, Vec::new())).1.push(words);
    }

    /// Writes what is under way.
    fn flush(&mut self) {
        if let Some((ink, path)) = self.strokes.take() {
            self.element(format_args!("<path{} d=\"{path}\"/>", class_attribute(ink)));
        }
        match self.texts.take() {
            Some((attributes, texts)) if texts.len() > 1 && !attributes.is_empty() => {
                self.element(format_args!("<g{attributes}><text{}</text></g>", texts.join("</text><text")));
            }
            Some((attributes, texts)) => {
                texts.into_iter().for_each(|text| self.element(format_args!("<text{attributes}{text}</text>")));
            }
            None => {}
        }
    }

    /// Gives the newest element a title, where it has room for one.
    fn title(&mut self, words: &str) {
        let Some(start) = self.body.rfind('<').filter(|_| self.body.ends_with("/>\n")) else { return };
        let name: String = self.body[start + 1..].chars().take_while(char::is_ascii_alphabetic).collect();
        self.body.truncate(self.body.len() - "/>\n".len());
        self.element(format_args!("><title>{}</title></{name}>", text::xml(words)));
    }

    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("writing to a String cannot fail");
    }

    fn path(&mut self, ink: Ink, points: impl IntoIterator<Item = BackendCoord>, close: bool) {
        if ink.is_shared() && !close {
            add_line(self.strokes(ink), points);
            return;
        }
        self.flush();
        let mut path = String::new();
        add_line(&mut path, points);
        if path.is_empty() {
            return;
        }
        if close {
            path.push('Z');
        }
        self.element(format_args!("<path{} d=\"{path}\"/>", class_attribute(ink)));
    }
}

impl DrawingBackend for &mut Svg {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        ((self.width * SUBPIXELS).unsigned_abs(), (self.height * SUBPIXELS).unsigned_abs())
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Result<(), DrawingErrorKind<Infallible>> {
        self.dot(Ink::from_color(color.rgb), point);
        Ok(())
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        self.path(Ink::from_color(style.color().rgb), [from, to], false);
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        _fill: bool,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
        self.path(Ink::from_color(style.color().rgb), corners, true);
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        self.path(Ink::from_color(style.color().rgb), path, false);
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        _fill: bool,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let ink = Ink::from_color(style.color().rgb);
        if matches!(ink, Ink::Dots | Ink::ManyDots) {
            self.dot(ink, center);
            return Ok(());
        }
        self.flush();
        let (x, y) = (unit(center.0), unit(center.1));
        let radius = unit(i32::try_from(radius).unwrap_or(i32::MAX));
        self.element(format_args!("<circle{} cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>", class_attribute(ink)));
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vertices: I,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        self.path(Ink::from_color(style.color().rgb), vertices, true);
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(
        &mut self,
        words: &str,
        style: &T,
        position: BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let ink = Ink::from_color(style.color().rgb);
        if ink == Ink::Title {
            self.flush();
            self.title(words);
            return Ok(());
        }
        let (x, y) = (unit(position.0), unit(position.1));
        let anchor = match style.anchor().h_pos {
            HPos::Left => "",
            HPos::Center => " text-anchor=\"middle\"",
            HPos::Right => " text-anchor=\"end\"",
        };
        let text = format!(" x=\"{x}\" y=\"{y}\">{}", text::xml(words));
        self.text(format!("{anchor}{}", class_attribute(ink)), text);
        Ok(())
    }
}

fn class_attribute(ink: Ink) -> String {
    if ink.class().is_empty() { String::new() } else { format!(" class=\"{}\"", ink.class()) }
}

/// Pixels of plotters as units of the picture.
pub(super) fn unit(pixels: i32) -> String {
    let (overall, tenth) = (pixels / SUBPIXELS, (pixels % SUBPIXELS).abs());
    let sign = if pixels < 0 && overall == 0 { "-" } else { "" };
    if tenth == 0 { overall.to_string() } else { format!("{sign}{overall}.{tenth}") }
}

fn move_to(path: &mut String, point: BackendCoord) {
    path.push_str(&format!("M{} {}", unit(point.0), unit(point.1)));
}

/// A line through these points, as a part of the path of its own.
fn add_line(path: &mut String, points: impl IntoIterator<Item = BackendCoord>) {
    for (place, point) in points.into_iter().enumerate() {
        if place == 0 { move_to(path, point) } else { path.push_str(&format!("L{} {}", unit(point.0), unit(point.1))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_tenths() {
        let check = |pixels: i32, expected: &str| assert_eq!(unit(pixels), expected);
        check(0, "0");
        check(123, "12.3");
        check(-120, "-12");
        check(-7, "-0.7");
    }

    #[test]
    fn dots_share_a_path_and_text_is_escaped() {
        let mut svg = Svg::new(20, 10);
        let mut backend = &mut svg;
        for x in [10, 25] {
            backend.draw_circle((x, 40), 5, &Ink::Dots.color(), true).expect("drawing cannot fail");
        }
        backend.fill_polygon([(0, 0), (10, 0), (5, 10)], &Ink::Outside.color()).expect("drawing cannot fail");
        let color = Ink::Title.color();
        let style = plotters::style::TextStyle::from(("sans-serif", 12.0)).color(&color);
        backend.draw_text("a < b", &style, (0, 0)).expect("drawing cannot fail");
        let caption = Caption { id: "a", title: "<b>", description: "x\u{202e}y" };
        assert_eq!(
            svg.captioned("fill", &caption),
            "<svg class=\"fill\" viewBox=\"0 0 20 10\" role=\"img\" aria-labelledby=\"a-t a-d\">\
             <title id=\"a-t\">&lt;b&gt;</title><desc id=\"a-d\">x\u{fffd}y</desc>\n\
             <path class=\"dots\" d=\"M1 4h0M2.5 4h0\"/>\n\
             <path class=\"out\" d=\"M0 0L1 0L0.5 1Z\"><title>a &lt; b</title></path>\n</svg>"
        );
    }
}

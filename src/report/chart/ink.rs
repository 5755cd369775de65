//! What a stroke of a chart means. Plotters knows colours only, so each meaning travels as a colour number and
//! the backend turns it into a class of the style sheet.

use plotters::style::{Color, RGBColor, ShapeStyle};

use crate::mark::Tone;

/// What is drawn; each has its class in the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Runs are missing here.
    Gap,
    /// A line of the grid.
    Grid,
    Axis,
    Release,
    Environment,
    /// The intervals of the points.
    Band,
    /// The interval of a point that stands alone.
    Whisker,
    Baseline,
    /// The worst value that passes.
    Limit,
    /// The values in their order.
    Trace,
    Dots,
    /// The medians where they are many.
    ManyDots,
    /// A median outside the range shown.
    Outside,
    End,
    /// The newest median, got worse.
    EndWorse,
    /// The newest median, got better.
    EndBetter,
    /// A label of an axis.
    Label,
    /// A label over data.
    Halo,
    /// A weighty label over data.
    Strong,
    /// The label of an environment change.
    EnvironmentLabel,
    Level,
    /// A change for the worse.
    RiseWorse,
    /// A change for the better.
    RiseBetter,
    /// A change with the environment.
    RiseEnvironment,
    /// A drift.
    RiseDoubt,
    /// The commits that may be the cause.
    Suspect,
    /// The disc of a number, in the colour of what it numbers.
    BadgeWorse,
    BadgeBetter,
    BadgeEnvironment,
    /// The same, of a drift.
    BadgeDoubt,
    /// The number of a change, in its disc.
    BadgeNumber,
    /// The size of a change for the worse.
    WordsWorse,
    /// The size of one for the better.
    WordsBetter,
    /// The size of one with the environment.
    WordsEnvironment,
    /// The size of a drift.
    WordsDoubt,
    /// What the shape drawn before it stands for: its title, not a text of the picture.
    Title,
    /// A change of level that is neither.
    Rise,
    /// A bar, in full.
    Track,
    /// A bar.
    Bar,
    /// The bar of the row in question.
    BarWorse,
}

impl Ink {
    /// Each in the order of its declaration with its class, which is empty where the plain style of its element holds.
    const CLASSES: [(Ink, &str); 40] = [
        (Ink::Gap, "gap"),
        (Ink::Grid, "grid"),
        (Ink::Axis, "axis"),
        (Ink::Release, "rel"),
        (Ink::Environment, "envl"),
        (Ink::Band, "band"),
        (Ink::Whisker, "whisker"),
        (Ink::Baseline, "base"),
        (Ink::Limit, "limit"),
        (Ink::Trace, "trace"),
        (Ink::Dots, "dots"),
        (Ink::ManyDots, "dots many"),
        (Ink::Outside, "out"),
        (Ink::End, "end"),
        (Ink::EndWorse, "end worse"),
        (Ink::EndBetter, "end better"),
        (Ink::Label, ""),
        (Ink::Halo, "halo"),
        (Ink::Strong, "halo strong"),
        (Ink::EnvironmentLabel, "halo env"),
        (Ink::Level, "level"),
        (Ink::RiseWorse, "rise worse"),
        (Ink::RiseBetter, "rise better"),
        (Ink::RiseEnvironment, "rise env"),
        (Ink::RiseDoubt, "rise doubt"),
        (Ink::Suspect, "suspect"),
        (Ink::BadgeWorse, "badge worse"),
        (Ink::BadgeBetter, "badge better"),
        (Ink::BadgeEnvironment, "badge env"),
        (Ink::BadgeDoubt, "badge doubt"),
        (Ink::BadgeNumber, "in"),
        (Ink::WordsWorse, "halo worse"),
        (Ink::WordsBetter, "halo better"),
        (Ink::WordsEnvironment, "halo env strong"),
        (Ink::WordsDoubt, "halo doubt"),
        (Ink::Title, ""),
        (Ink::Rise, "rise"),
        (Ink::Track, "bar track"),
        (Ink::Bar, "bar"),
        (Ink::BarWorse, "bar worse"),
    ];

    pub(super) fn class(self) -> &'static str {
        Ink::CLASSES[self as usize].1
    }

    /// The end of a line, by what happened to it.
    pub(super) fn end(tone: Tone) -> Ink {
        match tone {
            Tone::Worse => Ink::EndWorse,
            Tone::Better => Ink::EndBetter,
            Tone::Environment | Tone::Doubt | Tone::Plain => Ink::End,
        }
    }

    /// Whether lines of it that follow one another are one path.
    pub(super) fn is_shared(self) -> bool {
        matches!(self, Ink::Grid | Ink::Axis | Ink::Release | Ink::Environment)
    }

    /// The colour it travels as.
    pub(super) fn color(self) -> RGBColor {
        RGBColor(self as u8, 0, 0)
    }

    /// The style of a line or an area.
    pub(super) fn shape(self) -> ShapeStyle {
        self.color().filled()
    }

    /// The meaning of a colour that came through plotters.
    pub(super) fn from_color((red, _, _): (u8, u8, u8)) -> Ink {
        Ink::CLASSES.get(usize::from(red)).map_or(Ink::Label, |(ink, _)| *ink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ink_survives_the_way_through_a_color() {
        for (place, (ink, _)) in Ink::CLASSES.into_iter().enumerate() {
            assert_eq!(ink as usize, place);
            let RGBColor(red, green, blue) = ink.color();
            assert_eq!(Ink::from_color((red, green, blue)), ink);
        }
    }
}

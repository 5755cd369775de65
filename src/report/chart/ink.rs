//! What a stroke of a chart means. Plotters knows colours only, so each meaning travels as a colour number and
//! the backend turns it into a class of the style sheet.

use plotters::style::{Color, RGBColor, ShapeStyle};

/// What is drawn; each has its class in the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Runs are missing here.
    Gap,
    /// A line of the grid.
    Grid,
    /// An axis and its ticks.
    Axis,
    /// The release line.
    Release,
    /// Where the environment changed.
    Environment,
    /// The intervals of the points.
    Band,
    /// The interval of a point that stands alone.
    Whisker,
    /// The value of the baseline.
    Baseline,
    /// The worst value that passes.
    Limit,
    /// The values in their order.
    Trace,
    /// The medians.
    Dots,
    /// The medians where they are many.
    ManyDots,
    /// A median outside the range shown.
    Outside,
    /// The newest median.
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
    /// The commits that may be the cause.
    Suspects,
    /// A level that holds.
    Level,
    /// A change of level.
    Rise,
    /// A change for the worse.
    RiseWorse,
    /// A change for the better.
    RiseBetter,
    /// A change that came with the environment.
    RiseEnvironment,
    /// A bar, in full.
    Track,
    /// A bar.
    Bar,
    /// The bar of the row in question.
    BarWorse,
}

impl Ink {
    const ALL: [Ink; 29] = [
        Ink::Gap,
        Ink::Grid,
        Ink::Axis,
        Ink::Release,
        Ink::Environment,
        Ink::Band,
        Ink::Whisker,
        Ink::Baseline,
        Ink::Limit,
        Ink::Trace,
        Ink::Dots,
        Ink::ManyDots,
        Ink::Outside,
        Ink::End,
        Ink::EndWorse,
        Ink::EndBetter,
        Ink::Label,
        Ink::Halo,
        Ink::Strong,
        Ink::EnvironmentLabel,
        Ink::Suspects,
        Ink::Level,
        Ink::Rise,
        Ink::RiseWorse,
        Ink::RiseBetter,
        Ink::RiseEnvironment,
        Ink::Track,
        Ink::Bar,
        Ink::BarWorse,
    ];

    /// The class, empty where the plain style of its element holds.
    pub(super) fn class(self) -> &'static str {
        match self {
            Ink::Gap => "gap",
            Ink::Grid => "grid",
            Ink::Axis => "axis",
            Ink::Release => "rel",
            Ink::Environment => "envl",
            Ink::Band => "band",
            Ink::Whisker => "whisker",
            Ink::Baseline => "base",
            Ink::Limit => "limit",
            Ink::Trace => "trace",
            Ink::Dots => "dots",
            Ink::ManyDots => "dots many",
            Ink::Outside => "out",
            Ink::End => "end",
            Ink::EndWorse => "end worse",
            Ink::EndBetter => "end better",
            Ink::Label => "",
            Ink::Halo => "halo",
            Ink::Strong => "halo strong",
            Ink::EnvironmentLabel => "halo env",
            Ink::Suspects => "sus",
            Ink::Level => "level",
            Ink::Rise => "rise",
            Ink::RiseWorse => "rise worse",
            Ink::RiseBetter => "rise better",
            Ink::RiseEnvironment => "rise env",
            Ink::Track => "bar track",
            Ink::Bar => "bar",
            Ink::BarWorse => "bar worse",
        }
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
        Ink::ALL.get(usize::from(red)).copied().unwrap_or(Ink::Label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ink_survives_the_way_through_a_color() {
        for ink in Ink::ALL {
            let RGBColor(red, green, blue) = ink.color();
            assert_eq!(Ink::from_color((red, green, blue)), ink);
        }
    }
}

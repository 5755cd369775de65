//! Charts: pure functions from plain data to the text of an inline SVG. A chart has no colour and no style, only classes of the
//! style sheet, so that it follows the theme of its page.

mod axis;
pub mod bar;

mod fitted;
mod labels;
pub mod mini;
pub mod script;
pub mod spark;
pub mod spread;
mod svg;
pub mod trend;
pub mod trend_chart;

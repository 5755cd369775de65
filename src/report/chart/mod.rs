//! Charts: pure functions from plain data to the text of an inline SVG.
//!
//! A chart holds no colour and no style, only classes of the style sheet, so that it follows the theme of its page.
//! It is drawn by plotters on the backend of this room, which is the only place that knows plotters.

mod axis;
mod backend;
pub mod bar;
pub mod buckets;
mod fitted;
mod ink;
mod labels;
mod layers;
pub mod mini;
mod plot;
pub mod range;
pub mod roofline;
pub mod script;
pub mod spark;
pub mod spread;
pub mod trend;
pub mod trend_chart;

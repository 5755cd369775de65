//! The pages: reports with what only pages show. Most are a `Sheet` in `templates/sheet.html`; a series, a comparison and a matrix
//! have a template of their own. This is the only room that knows askama.

mod bisection;
mod cell;
mod commit;
mod compare;
mod coverage;
mod digest;
mod digest_grid;
mod event;
mod event_list;
mod feed;
mod frame;
mod gpu;
mod ledger;
mod list;
mod machine;
mod matrix;
mod method;
mod release;
mod run;
mod search;
mod series;
mod series_chart;
mod series_fit;
mod week;

pub(super) use commit::commits;
pub(super) use compare::compare;
pub(super) use coverage::coverage;
pub(super) use digest::digest;
pub use digest::{digest_markdown, digest_text};
pub(super) use event::event;
pub(super) use event_list::event_list;
pub(super) use feed::{atom, badge, card, json, sitemap};
pub(super) use frame::missing;
pub(super) use gpu::gpu;
pub(super) use ledger::ledger;
pub(super) use machine::{machine, machine_list};
pub(super) use matrix::matrix;
pub(super) use method::method;
pub(super) use release::releases;
pub(super) use run::{run, run_list};
pub(super) use search::search;
pub(super) use series::{series, series_list};
pub use week::WEEKS;
pub(super) use week::week_pages as weeks;

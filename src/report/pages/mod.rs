//! The pages: one struct and one template each. A struct holds strings and numbers ready to show.
//!
//! This is the only room that knows askama.

mod cell;
mod commit;
mod commit_events;
mod commit_list;
mod commit_runs;
mod compare;
mod compare_index;
mod coverage;
mod digest;
mod digest_events;
mod elsewhere;
mod empty;
mod event;
mod event_list;
mod event_members;
mod event_multiples;
mod event_rows;
mod event_suspects;
mod frame;
mod gpu;
mod ledger;
mod machine;
mod machine_list;
mod machine_trust;
mod matrix;
mod method;
mod matrix_cell;
mod matrix_limits;
mod missing;
mod points;
mod release;
mod release_items;
mod release_list;
mod release_signature;
mod release_since;
mod run;
mod run_key;
mod run_list;
mod run_moved;
mod run_surroundings;
mod run_tables;
mod series;
mod series_chart;
mod series_fit;
mod series_list;
mod sheet;
mod series_newest;
mod sizes;
mod suite_section;
mod trust;
mod week;

use std::fmt;

use askama::Template;
use askama::filters::{Escaper, Html};

use super::ReportError;
use super::text;
use sprag_model::page::Page;

pub(super) use commit_list::commits;
pub(super) use compare::compare;
pub(super) use coverage::coverage;
pub(super) use digest::digest;
pub(super) use empty::empty;
pub(super) use event::event;
pub(super) use event_list::event_list;
pub(super) use gpu::gpu;
pub(super) use ledger::ledger;
pub(super) use machine::machine;
pub(super) use machine_list::machine_list;
pub(super) use matrix::matrix;
pub(super) use method::method;
pub(super) use missing::missing;
pub(super) use release_list::releases;
pub(super) use run::run;
pub(super) use run_key::RunKeys;
pub(super) use run_list::run_list;
pub(super) use series::{SeriesDraft, series};
pub(super) use series_list::series_list;
pub(super) use week::weeks;

/// The escaper of all templates: makes visible what acts unseen, then escapes HTML.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageText;

impl Escaper for PageText {
    fn write_escaped_str<W: fmt::Write>(&self, destination: W, string: &str) -> fmt::Result {
        Html.write_escaped_str(destination, &text::visible(string))
    }
}

/// The page of a template at a path of the site.
fn page(path: String, template: &impl Template) -> Result<Page, ReportError> {
    match template.render() {
        Ok(html) => Ok(Page { path, bytes: html.into_bytes() }),
        Err(error) => Err(ReportError::Template { path, reason: error.to_string() }),
    }
}

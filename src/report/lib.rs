//! Pages from findings: the static site, the digest as Markdown, the reports of the gate and of the trend.
//!
//! Nothing here reads a file or a clock, and equal input gives equal bytes. [`number`] formats numbers, and text of others passes
//! [`text`]. Every page is complete without script and network, and its links are relative, so that the site works from a folder.

pub mod chart;
pub mod date;
pub mod fit;
pub mod gate;
pub mod link;
pub mod mark;
pub mod number;
pub mod order;
pub mod phrase;
pub mod sheet;
pub mod summary;
pub mod text;
pub mod trend;

use sprag_model::method::Method;

mod catalog;
mod compare;
mod pages;
mod reasons;
mod page_selection;
mod series_selection;
mod site;

#[cfg(test)]
mod contradiction_checks;
#[cfg(test)]
mod contrast_checks;
#[cfg(test)]
mod event_checks;
#[cfg(test)]
mod ledger_checks;
#[cfg(test)]
mod sample_data;
#[cfg(test)]
mod site_checks;

pub use catalog::SiteInput;
pub use link::{check_commit_url, check_url};
pub use pages::{WEEKS, digest_markdown, digest_text};
pub use site::Site;

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("cannot name a page after the {of} `{}`: only letters, digits, `-`, `_` and `.` make a file name", .name.escape_debug())]
    Name { of: &'static str, name: String },
    /// Two pages would share a file where names differ in case only.
    #[error("would write two pages to `{0}`")]
    Duplicate(String),
    #[error("the site's URL `{}` does not begin with `https://` or `http://`, or holds blanks", .0.escape_debug())]
    Url(String),
    #[error("`[site] commit_url` is `{}`; it must begin with `https://` or `http://` and hold `{{sha}}`, which becomes the commit", .0.escape_debug())]
    CommitUrl(String),
    #[error("could not fill the template of `{path}`: {reason}")]
    Template { path: String, reason: String },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub method: Method,
    /// The path and the description of each file of all values.
    pub downloads: Vec<(String, &'static str)>,
}

//! The page that leads to the pairs of commits that have one, compares any two by script, and says how it is judged.

use std::collections::BTreeMap;

use askama::Template;

use super::compare::{Headline, ROWS_NOTE, SUMMARY_NOTE, path};
use super::frame::{Frame, Part};
use super::html::page;
use crate::ReportError;
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::compare::pairs::{Pair, Pairs};
use crate::link;
use crate::number;
use sprag_model::page::Page;

#[derive(Template)]
#[template(path = "compare_index.html")]
struct CompareIndexPage {
    frame: Frame,
    lede: String,
    lists: Vec<PairList>,
    rule: [&'static str; 8],
    /// How to read what the script shows.
    notes: [&'static str; 2],
    can_compare: bool,
}

struct PairList {
    id: &'static str,
    heading: &'static str,
    lines: Vec<PairLine>,
}

struct PairLine {
    page: String,
    a: String,
    b: String,
    day: String,
    headline: Vec<[String; 3]>,
}

/// The rule in words for a reader.
pub(super) const RULE: [&str; 8] = [
    "Levels are held against each other, as fitted to all runs of a series. Two single runs differ by chance.",
    "No change: both commits lie in one level, in levels that differ no longer, or in one drift that moves less between them than counts. A smaller change than the one that could be seen may be there.",
    "Slower or faster: they lie in different levels. The interval is that of the change between the two.",
    "Inconclusive: a commit may lie on either side of a change, in a drift, or in a series that is too short for levels.",
    "Not comparable: the two were not measured in the same environment. What differs stands beside it.",
    "Missing: measured at one of the two only.",
    "The geometric mean counts a series without change as unchanged, and leaves out those without verdict. Its limits are the means of the lower and of the upper ends, as series of one run err together; a series without change lies between none and what was measured at the two commits, give or take its noise.",
    "A commit with a tag that was not measured has of each series what was measured last before it, within fifty measured commits.",
];

/// The page, with the headlines of the pairs.
pub(super) fn index(
    catalog: &Catalog<'_>,
    data: &Data,
    pairs: &Pairs,
    headlines: &BTreeMap<Pair, Headline>,
) -> Result<Page, ReportError> {
    let lines = |pairs: &[Pair]| -> Result<Vec<PairLine>, ReportError> {
        pairs.iter().map(|pair| line(data, *pair, headlines[pair].clone())).collect()
    };
    let mut lists = vec![
        PairList { id: "baselines", heading: "Since the baselines", lines: lines(&pairs.baselines)? },
        PairList { id: "releases", heading: "Release by release", lines: lines(&pairs.releases)? },
        PairList { id: "steps", heading: "Commits against the one measured before", lines: lines(&pairs.steps)? },
    ];
    lists.retain(|list| !list.lines.is_empty());
    let commits = number::counted(data.commits.len(), "measured commit", "measured commits");
    let series = number::counted(data.series_count(), "series", "series");
    let lede = match data.commits.len() {
        0 | 1 => format!("{commits} of {series}: it takes two to compare."),
        _ => format!("{commits} and {series} can be compared."),
    };
    let frame = Frame::new(catalog, link::COMPARE, Part::Compare, "Compare".to_owned(), lede.clone());
    page(
        link::COMPARE.to_owned(),
        &CompareIndexPage {
            frame,
            lede,
            lists,
            rule: RULE,
            notes: [SUMMARY_NOTE, ROWS_NOTE],
            can_compare: data.commits.len() > 1,
        },
    )
}

fn line(data: &Data, pair: Pair, headline: Headline) -> Result<PairLine, ReportError> {
    let [a, b] = [pair.a, pair.b].map(|number| data.name(number));
    Ok(PairLine { page: path(data, pair)?, a, b, day: data.commit(pair.b).day.clone(), headline })
}

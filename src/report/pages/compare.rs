//! Two commits against each other, for the pairs that have a page; the script shows any other pair alike.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use rayon::prelude::*;

use super::commit::pieces;
use super::frame::prelude::*;
use super::frame::{Frame, page};
use super::list;
use crate::chart::bar;
use crate::compare::commits::ComparedCommit;
use crate::compare::data::Data;
use crate::compare::pairs::{Pair, Pairs};
use crate::compare::table::{self, Group, SummaryRow};
use crate::compare::words::{ComparedRow, Kind};
use crate::compare::{export, script};
use crate::sheet::{Banner, Block, Filter};
use crate::text::{capital, commit_digits};

/// The rows that a page lists of what changed, of what may have changed, and of another group: one with more is only counted.
const CHANGED_ROWS: usize = 40;
const DOUBTFUL_ROWS: usize = 10;
const OTHER_ROWS: usize = 10;

/// The newest pairs of releases have Markdown.
const NEWEST_RELEASES: usize = 2;

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage<'a> {
    frame: Frame,
    sheet: Sheet,
    sides: [Side<'a>; 2],
    has_rows: bool,
    scale: String,
    markdown: String,
    rows_note: &'static str,
    listed: Vec<Shown>,
    filter: Option<Filter>,
    counted: Vec<Shown>,
}

struct Side<'a> {
    letter: char,
    commit: &'a str,
    tags: &'a str,
    subject: &'a str,
    day: &'a str,
    unmeasured: &'static str,
}

struct Shown {
    heading: String,
    count: String,
    detectable: String,
    /// How many more only the script shows.
    rest: String,
    rows: Vec<ComparedRow>,
}

const SUMMARY_NOTE: &str = "Mean is the geometric mean of the changes of judged series; positive is worse. Its 95 % limits assume that all series err together. A series called unchanged contributes anything from no change to what was measured at the two commits, within its noise.";

const ROWS_NOTE: &str = "Levels are fitted to all runs; the change is between levels, not between two runs. Detectable is the minimum detectable effect: the smallest change that shows once eight points are measured after it, rounded up. Below it, × how many times as large the change is. Where changes are drawn, the grey band is as wide.";

impl ComparedRow {
    /// The class of its change: only a verdict has one.
    fn tint(&self) -> &str {
        if matches!(self.kind, Kind::Worse | Kind::Better) { &self.mark[0] } else { "" }
    }

    fn picture(&self) -> String {
        let is_worse = match self.kind {
            Kind::Worse => Some(true),
            Kind::Better => Some(false),
            _ => None,
        };
        self.places.map_or(String::new(), |places| bar::interval(places, is_worse))
    }

    fn is_changed(&self) -> bool {
        self.change != number::NONE
    }
}

pub(crate) fn compare(catalog: &Catalog<'_>, data: &Data) -> Result<Vec<Page>, ReportError> {
    let pairs = Pairs::new(data, catalog);
    let all: Vec<Pair> = pairs.all().into_iter().collect();
    let has_markdown =
        |pair: &Pair| pair.as_newest || pairs.releases.iter().take(NEWEST_RELEASES).any(|one| one == pair);
    let made: Result<Vec<(Vec<Page>, Phrase)>, ReportError> =
        all.par_iter().map(|pair| one(catalog, data, *pair, has_markdown(pair))).collect();
    let (made, headlines): (Vec<Vec<Page>>, Vec<Phrase>) = made?.into_iter().unzip();
    let mut pages: Vec<Page> = made.into_iter().flatten().collect();
    let headlines = all.into_iter().zip(headlines).collect();
    pages.push(index(catalog, data, &pairs, &headlines)?);
    Ok(pages)
}

/// The pairs of which the script gives the mean, too: those with a page.
pub(crate) fn averaged_pairs(catalog: &Catalog<'_>, data: &Data) -> BTreeSet<(usize, usize)> {
    Pairs::new(data, catalog).all().into_iter().map(|pair| (pair.a, pair.b)).collect()
}

fn path(data: &Data, pair: Pair) -> Result<String, ReportError> {
    let (a, b) = (&data.commit(pair.a).sha, &data.commit(pair.b).sha);
    link::file_word("commit", a)?;
    link::file_word("commit", b)?;
    Ok(pair.page(data))
}

/// The page of a pair, its Markdown, and its headline.
fn one(catalog: &Catalog<'_>, data: &Data, pair: Pair, has_markdown: bool) -> Result<(Vec<Page>, Phrase), ReportError> {
    let path = path(data, pair)?;
    let table = table::listed(data, pair.a, pair.b, most);
    let headline = pieces(&table.headline);
    let (a, b) = (data.commit(pair.a), data.commit(pair.b));
    let names = [pair.a, pair.b].map(|number| data.name(number));
    let tags = [a.tags.join(", "), b.tags.join(", ")];
    let markdown = has_markdown.then(|| {
        let bytes = export::markdown(data, [pair.a, pair.b], &table).into_bytes();
        Page { path: link::compare_markdown(&path), bytes }
    });
    let has_rows = !table.summary.is_empty();
    let groups = table.groups.into_iter().map(shown);
    let (listed, counted): (Vec<Shown>, _) = groups.partition(|group| !group.rows.is_empty());
    let title = format!("{} to {}", names[0], names[1]);
    let banner = |[strong, words]: [String; 2]| Banner {
        tone: Tone::Environment,
        words: Phrase::default().strong(strong).text(format!(" {words}")),
    };
    let template = ComparePage {
        frame: Frame::new(catalog, &path, "Compare", &title, format!("{}.", headline.words()))
            .for_subject(catalog, None),
        sheet: Sheet {
            crumb: Phrase::linked(link::COMPARE, "Compare").text(format!(" / {} and {}", names[0], names[1])),
            headline: headline.clone(),
            lede: lede(data, pair).into(),
            banners: table.banners.into_iter().map(banner).collect(),
            sections: summary(&table.summary, &table.words).into_iter().collect(),
            ..Sheet::default()
        },
        sides: [side('A', a, &tags[0]), side('B', b, &tags[1])],
        has_rows,
        rows_note: ROWS_NOTE,
        filter: (listed.iter().map(|group| group.rows.len()).sum::<usize>() > OTHER_ROWS).then(list::filter),
        listed,
        counted,
        scale: table.scale,
        markdown: markdown.as_ref().map_or("", |page| page.path.trim_start_matches("compare/")).to_owned(),
    };
    Ok((std::iter::once(self::page(path, &template)?).chain(markdown).collect(), headline))
}

fn summary(rows: &[SummaryRow], words: &[String; 2]) -> Option<Section> {
    let mark = |n: usize, tone: Tone| cell::tinted(if n > 0 { tone } else { Tone::Plain }, count(n));
    Rows::new("Counts and geometric mean by suite, element type and machine", rows)
        .column("Suite", "", |row| row.suite.clone())
        .column("Machine", "any", |row| row.machine.clone())
        .column("Series", "n opt2", |row| count(row.counts[0]))
        .column(capital(&words[0]), "n", |row| mark(row.counts[1], Tone::Worse))
        .column(capital(&words[1]), "n", |row| mark(row.counts[2], Tone::Better))
        .column("No change", "n opt2", |row| count(row.counts[3]))
        .column("No verdict", "n", |row| count(row.counts[4]))
        .column("Mean", "n", |row| Cell::noted(row.mean.clone(), row.interval.clone().into()))
        .section("sum", "Summary", SUMMARY_NOTE, "")
        .wide()
        .unless_empty()
}

fn side<'a>(letter: char, commit: &'a ComparedCommit, tags: &'a str) -> Side<'a> {
    let ComparedCommit { sha, day, subject, .. } = commit;
    Side {
        letter,
        commit: commit_digits(sha),
        tags,
        subject,
        day,
        unmeasured: if commit.measured_before.is_some() { export::UNMEASURED } else { "" },
    }
}

fn lede(data: &Data, pair: Pair) -> String {
    let between = match data.between(pair.a, pair.b) {
        0 => "No commit was measured between the two.".to_owned(),
        many => format!("{} measured between the two.", counted(many, "commit was", "commits were")),
    };
    between + if pair.as_newest { " B is always the newest commit." } else { "" }
}

fn most(kind: Kind, all: usize) -> usize {
    match kind {
        Kind::Worse | Kind::Better | Kind::Doubt => export::ROWS,
        _ if all > OTHER_ROWS => 0,
        _ => all,
    }
}

fn shown(group: Group) -> Shown {
    let is_auxiliary = group.is_auxiliary();
    let Group { heading, count: all, detectable, mut rows } = group;
    match rows.first().map(|row| row.kind).filter(|_| !is_auxiliary) {
        None => {
            rows.sort_by_key(|row| !matches!(row.kind, Kind::Worse | Kind::Better));
            rows.truncate(OTHER_ROWS);
        }
        Some(Kind::Worse | Kind::Better) => rows.truncate(CHANGED_ROWS),
        Some(Kind::Doubt) => rows.truncate(DOUBTFUL_ROWS),
        Some(_) if all > OTHER_ROWS => rows.clear(),
        Some(_) => {}
    }
    let rest = match all - rows.len() {
        0 => String::new(),
        hidden if hidden == all => String::new(),
        more => format!("{} more with script", count(more)),
    };
    Shown { heading, count: count(all), detectable, rest, rows }
}

#[derive(Template)]
#[template(path = "compare_index.html")]
struct CompareIndexPage {
    frame: Frame,
    sheet: Sheet,
    notes: [&'static str; 2],
    can_compare: bool,
    are_few: bool,
    filter: Filter,
}

pub(super) const RULE: [&str; 8] = [
    "Levels are compared, as fitted to all runs of a series. Two single runs differ by chance.",
    "No change: both commits are in one level, in levels that no longer differ, or in one drift that moves too little between them. A change below the minimum detectable effect may still be there.",
    "Slower or faster: they are in different levels. The interval is that of the change between the two.",
    "Inconclusive: a commit may be on either side of a change, in a drift, or in a series that is too short for levels.",
    "Not comparable: the two were measured in different environments. The row names what differs.",
    "Missing: measured at only one of the two.",
    "The geometric mean counts a series without change as unchanged, and leaves out those without verdict. Its limits are the means of the lower and of the upper ends, because series of one run err together. A series without change contributes anything from none to what was measured at the two commits, within its noise.",
    "A commit with a tag that was not measured uses for each series what was measured last before it, within fifty measured commits.",
];

fn index(
    catalog: &Catalog<'_>,
    data: &Data,
    pairs: &Pairs,
    headlines: &BTreeMap<Pair, Phrase>,
) -> Result<Page, ReportError> {
    let line = |pair: &Pair| -> Result<Phrase, ReportError> {
        let names = [pair.a, pair.b].map(|number| data.name(number)).join(" to ");
        let line = Phrase::linked(path(data, *pair)?, names);
        Ok(line.text(format!(", {}: ", data.commit(pair.b).day)).join(headlines[pair].clone()))
    };
    let mut sections = Vec::new();
    for (id, heading, pairs) in [
        ("baselines", "Since the baselines", &pairs.baselines),
        ("releases", "Release by release", &pairs.releases),
        ("steps", "Commits against the one measured before", &pairs.steps),
    ] {
        let lines = pairs.iter().map(line).collect::<Result<Vec<Phrase>, ReportError>>()?;
        sections.push(Section::new(id, heading).items(lines));
    }
    sections.retain(|section| !section.blocks.is_empty());
    sections.push(Section::new("rule", "How two commits are compared").items(RULE.map(Phrase::plain)));
    let commits = counted(data.commits.len(), "measured commit", "measured commits");
    let (scripted, all) = data.series_counts();
    let series = counted(scripted, "series", "series");
    let lede = match data.commits.len() {
        0 | 1 => format!("{commits} of {series}: it takes two to compare."),
        _ if scripted == all => format!("{commits} and {series} can be compared."),
        _ => format!(
            "{commits} of the {series} with a page can be compared here; `sprag compare A B` compares all {}.",
            count(all)
        ),
    };
    let template = CompareIndexPage {
        frame: Frame::new(catalog, link::COMPARE, "Compare", "Compare", lede.replace('`', "")),
        sheet: Sheet {
            headline: "Compare two commits".into(),
            lede: Phrase::quoted(&lede),
            sections,
            ..Sheet::default()
        },
        notes: [SUMMARY_NOTE, ROWS_NOTE],
        can_compare: data.commits.len() > 1,
        are_few: scripted <= script::AT_ONCE,
        filter: list::filter(),
    };
    page(link::COMPARE.to_owned(), &template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_controls_those_that_changed_come_first() {
        let row = |kind: Kind, name: &str| ComparedRow { kind, name: name.to_owned(), ..ComparedRow::default() };
        let mut rows = vec![row(Kind::Doubt, "quiet"); 12];
        rows.push(row(Kind::Worse, "slow"));
        let of = shown(Group {
            heading: "Controls and calibration".to_owned(),
            count: rows.len(),
            detectable: String::new(),
            rows,
        });
        assert_eq!((&*of.rows[0].name, of.rows.len(), &*of.rest), ("slow", OTHER_ROWS, "3 more with script"));
    }
}

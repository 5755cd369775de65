//! Two commits against each other, for the pairs that have a page; the script shows any other pair alike.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use rayon::prelude::*;

use super::cell;
use super::commit::pieces;
use super::frame::{Frame, Part, page};
use crate::catalog::Catalog;
use crate::chart::bar;
use crate::compare::commits::ComparedCommit;
use crate::compare::data::Data;
use crate::compare::export;
use crate::compare::pairs::{Pair, Pairs};
use crate::compare::table::{self, Group, SummaryRow};
use crate::compare::words::{ComparedRow, Kind};
use crate::mark::Tone;
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::sheet::{Banner, Block, Cell, Rows, Section, Sheet};
use crate::trend::words;
use crate::{ReportError, link};
use sprag_model::page::Page;

/// The rows that a page lists of what changed, and up to how many it lists of another group: beyond, none.
const CHANGED_ROWS: usize = 40;
const OTHER_ROWS: usize = 10;

/// The rows that it lists of what may have changed, where the pair is about the present. For other pairs that is mostly what
/// drifts, the same on every page and with every run another digit: these are only named.
const DOUBTFUL_ROWS: usize = 10;

/// The newest pairs of releases are about the present: mostly the newest commit against the newest release, and that against the one
/// before.
const NEWEST_RELEASES: usize = 2;

/// So many of those that are counted are named.
const NAMED: usize = 5;

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage<'a> {
    frame: Frame,
    sheet: Sheet,
    sides: [Side<'a>; 2],
    /// Whether anything was measured at both.
    has_rows: bool,
    scale: String,
    /// The page as Markdown, or nothing.
    markdown: String,
    rows_note: &'static str,
    /// The groups that have rows.
    listed: Vec<Shown>,
    /// Whether there are so many that one may look for some.
    has_filter: bool,
    counted: Vec<Shown>,
}

struct Side<'a> {
    letter: char,
    commit: &'a str,
    tags: &'a str,
    subject: &'a str,
    day: &'a str,
    /// What the page says of one that was not measured.
    unmeasured: &'static str,
}

struct Shown {
    heading: String,
    count: String,
    /// Some of those that are not listed.
    names: Vec<String>,
    rest: String,
    rows: Vec<ComparedRow>,
}

/// What a page says about the geometric means.
const SUMMARY_NOTE: &str = "Mean is the geometric mean of the changes of judged series; positive is worse. Its 95 % limits assume that all series err together. A series called unchanged contributes anything from no change to what was measured at the two commits, within its noise.";

/// What a page says about its rows.
const ROWS_NOTE: &str = "Levels are fitted to all runs; the change is between levels, not between two runs. Detectable is the minimum detectable effect: the smallest change that shows once eight points are measured after it, rounded up. Below it, × how many times as large the change is. Where changes are drawn, the grey band is as wide.";

impl ComparedRow {
    /// The colour of its change: only a verdict has one.
    fn tint(&self) -> &str {
        if matches!(self.kind, Kind::Worse | Kind::Better) { &self.mark[0] } else { "" }
    }

    /// Its change as an interval on the scale of the table.
    fn picture(&self) -> String {
        let is_worse = match self.kind {
            Kind::Worse => Some(true),
            Kind::Better => Some(false),
            _ => None,
        };
        self.places.map_or(String::new(), |places| bar::interval(places, is_worse))
    }

    /// Whether there is a change to show.
    fn is_changed(&self) -> bool {
        self.change != number::NONE
    }
}

/// The pages of all pairs that have one, and the page that leads to them and compares any two.
pub(crate) fn compare(catalog: &Catalog<'_>, data: &Data) -> Result<Vec<Page>, ReportError> {
    let pairs = Pairs::new(data, catalog);
    let all: Vec<Pair> = pairs.all().into_iter().collect();
    // The others are read for what changed, and with every run the fits behind them get another digit.
    let is_present = |pair: &Pair| pair.as_newest || pairs.releases.iter().take(NEWEST_RELEASES).any(|one| one == pair);
    let made: Result<Vec<(Vec<Page>, Phrase)>, ReportError> =
        all.par_iter().map(|pair| one(catalog, data, *pair, is_present(pair))).collect();
    let (made, headlines): (Vec<Vec<Page>>, Vec<Phrase>) = made?.into_iter().unzip();
    let mut pages: Vec<Page> = made.into_iter().flatten().collect();
    let headlines = all.into_iter().zip(headlines).collect();
    pages.push(index(catalog, data, &pairs, &headlines)?);
    Ok(pages)
}

fn path(data: &Data, pair: Pair) -> Result<String, ReportError> {
    let (a, b) = (&data.commit(pair.a).sha, &data.commit(pair.b).sha);
    link::file_word("commit", a)?;
    link::file_word("commit", b)?;
    Ok(pair.page(data))
}

/// The page of a pair, of one about the present also as Markdown, which the script writes of any; and its headline.
fn one(catalog: &Catalog<'_>, data: &Data, pair: Pair, is_present: bool) -> Result<(Vec<Page>, Phrase), ReportError> {
    let path = path(data, pair)?;
    let table = table::listed(data, pair.a, pair.b, |kind, all| most(is_present, kind, all));
    let headline = pieces(&table.headline);
    let (a, b) = (data.commit(pair.a), data.commit(pair.b));
    let names = [pair.a, pair.b].map(|number| data.name(number));
    let tags = [a.tags.join(", "), b.tags.join(", ")];
    let markdown = is_present.then(|| {
        let bytes = export::markdown(data, [pair.a, pair.b], &table).into_bytes();
        Page { path: link::compare_markdown(&path), bytes }
    });
    let has_rows = !table.summary.is_empty();
    let (rows, left_out) = if is_present { (table.summary, String::new()) } else { of_change(table.summary) };
    let groups = table.groups.into_iter().map(|group| shown(group, is_present));
    let (listed, counted): (Vec<Shown>, _) = groups.partition(|group| !group.rows.is_empty());
    let title = format!("{} to {}", names[0], names[1]);
    let banner = |[strong, words]: [String; 2]| Banner {
        tone: Tone::Environment,
        words: Phrase::default().strong(strong).text(format!(" {words}")),
    };
    let template = ComparePage {
        frame: Frame::new(catalog, &path, Part::Compare, title, format!("{}.", headline.words()))
            .for_subject(catalog, None),
        sheet: Sheet {
            crumb: Phrase::default().link(link::COMPARE, "Compare").text(format!(" / {} and {}", names[0], names[1])),
            headline: headline.clone(),
            lede: lede(data, pair).into(),
            banners: table.banners.into_iter().map(banner).collect(),
            sections: summary(&rows, &table.words, left_out).into_iter().collect(),
            ..Sheet::default()
        },
        sides: [side('A', a, &tags[0]), side('B', b, &tags[1])],
        has_rows,
        rows_note: ROWS_NOTE,
        has_filter: listed.iter().map(|group| group.rows.len()).sum::<usize>() > OTHER_ROWS,
        listed,
        counted,
        scale: table.scale,
        markdown: markdown.as_ref().map_or("", |page| page.path.trim_start_matches("compare/")).to_owned(),
    };
    Ok((std::iter::once(self::page(path, &template)?).chain(markdown).collect(), headline))
}

/// Counts and means by suite and machine.
fn summary(rows: &[SummaryRow], words: &[String; 2], left_out: String) -> Option<Section> {
    let mark = |n: usize, tone: Tone| cell::tinted(if n > 0 { tone } else { Tone::Plain }, count(n));
    Rows::new("Counts and geometric mean by suite, element type and machine", rows)
        .column("Suite", "", |row| row.suite.clone())
        .column("Machine", "any", |row| row.machine.clone())
        .column("Series", "n opt2", |row| count(row.counts[0]))
        .column(table::capital(&words[0]), "n", |row| mark(row.counts[1], Tone::Worse))
        .column(table::capital(&words[1]), "n", |row| mark(row.counts[2], Tone::Better))
        .column("No change", "n opt2", |row| count(row.counts[3]))
        .column("No verdict", "n", |row| count(row.counts[4]))
        .column("Mean", "n", |row| Cell::noted(row.mean.clone(), row.interval.clone().into()))
        .section("sum", "Summary", format!("{SUMMARY_NOTE}{left_out}"), "")
        .wide()
        .unless_empty()
}

fn side<'a>(letter: char, commit: &'a ComparedCommit, tags: &'a str) -> Side<'a> {
    let ComparedCommit { sha, day, subject, .. } = commit;
    Side {
        letter,
        commit: sha.get(..12).unwrap_or(sha),
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

/// How many of the rows of a kind the page or its Markdown may list.
fn most(is_present: bool, kind: Kind, all: usize) -> usize {
    match kind {
        Kind::Worse | Kind::Better | Kind::Doubt if is_present => export::ROWS,
        Kind::Worse | Kind::Better | Kind::Doubt => CHANGED_ROWS,
        _ if all > OTHER_ROWS => 0,
        _ => all,
    }
}

/// The rows of suites where something changed, and how many others there are.
fn of_change(mut rows: Vec<SummaryRow>) -> (Vec<SummaryRow>, String) {
    let all = rows.len();
    rows.retain(|row| row.counts[1] + row.counts[2] > 0);
    let words = match all - rows.len() {
        0 => String::new(),
        others => {
            format!(" Left out: {} without a change.", counted(others, "more row", "more rows"))
        }
    };
    (rows, words)
}

fn shown(group: Group, is_present: bool) -> Shown {
    let is_auxiliary = group.is_auxiliary();
    let Group { heading, count: all, mut rows } = group;
    let kind = rows.first().map(|row| row.kind).filter(|_| !is_auxiliary);
    let mut names = Vec::new();
    match kind {
        None => {
            // What changed comes first.
            rows.sort_by_key(|row| !matches!(row.kind, Kind::Worse | Kind::Better));
            rows.truncate(OTHER_ROWS);
        }
        Some(Kind::Worse | Kind::Better) => rows.truncate(CHANGED_ROWS),
        Some(Kind::Doubt) if is_present => rows.truncate(DOUBTFUL_ROWS),
        Some(Kind::Doubt) => {
            // On several machines and by several metrics it has one name.
            let mut seen = BTreeSet::new();
            let name = |row: ComparedRow| words::name(&format!("{}/{}", row.suite, row.name));
            names.extend(rows.drain(..).map(name).filter(|name| seen.insert(name.clone())));
        }
        Some(_) if all > OTHER_ROWS => rows.clear(),
        Some(_) => {}
    }
    let has_more_names = names.len() > NAMED;
    names.truncate(NAMED);
    let rest = match all - rows.len() {
        0 => String::new(),
        _ if has_more_names => "and others".to_owned(),
        hidden if hidden == all => String::new(),
        more => format!("{} more with script", count(more)),
    };
    Shown { heading, count: count(all), names, rest, rows }
}

#[derive(Template)]
#[template(path = "compare_index.html")]
struct CompareIndexPage {
    frame: Frame,
    sheet: Sheet,
    /// How to read what the script shows.
    notes: [&'static str; 2],
    can_compare: bool,
}

/// The rule in words for a reader.
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

/// The page that leads to all pairs and compares any two.
fn index(
    catalog: &Catalog<'_>,
    data: &Data,
    pairs: &Pairs,
    headlines: &BTreeMap<Pair, Phrase>,
) -> Result<Page, ReportError> {
    let line = |pair: &Pair| -> Result<Phrase, ReportError> {
        let names = [pair.a, pair.b].map(|number| data.name(number)).join(" to ");
        let line = Phrase::default().link(path(data, *pair)?, names);
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
    let series = counted(data.series_count(), "series", "series");
    let lede = match data.commits.len() {
        0 | 1 => format!("{commits} of {series}: it takes two to compare."),
        _ => format!("{commits} and {series} can be compared."),
    };
    let template = CompareIndexPage {
        frame: Frame::new(catalog, link::COMPARE, Part::Compare, "Compare".to_owned(), lede.clone()),
        sheet: Sheet { headline: "Compare two commits".into(), lede: lede.into(), sections, ..Sheet::default() },
        notes: [SUMMARY_NOTE, ROWS_NOTE],
        can_compare: data.commits.len() > 1,
    };
    page(link::COMPARE.to_owned(), &template)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(kind: Kind, name: &str) -> ComparedRow {
        ComparedRow { suite: "cpu".to_owned(), name: name.to_owned(), kind, ..ComparedRow::default() }
    }

    fn group(heading: &str, rows: &[(Kind, &str)]) -> Group {
        let rows: Vec<ComparedRow> = rows.iter().map(|(kind, name)| row_of(*kind, name)).collect();
        Group { heading: heading.to_owned(), count: rows.len(), rows }
    }

    fn names(shown: &Shown) -> Vec<&str> {
        shown.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn doubts_are_listed_where_a_page_is_about_the_present_and_else_named() {
        let doubts = [(Kind::Doubt, "a"), (Kind::Doubt, "a"), (Kind::Doubt, "\u{202e}b<i>"), (Kind::Doubt, "c")];
        let listed = shown(group("Inconclusive", &doubts), true);
        assert_eq!((listed.rows.len(), listed.names.len(), listed.rest.as_str()), (4, 0, ""));
        let named = shown(group("Inconclusive", &doubts), false);
        assert_eq!((named.rows.len(), named.count.as_str()), (0, "4"));
        assert_eq!(named.names, ["cpu/a", "cpu/\u{202e}b<i>", "cpu/c"]);
        let many: Vec<(Kind, &str)> = ["a", "b", "c", "d", "e", "f"].map(|name| (Kind::Doubt, name)).to_vec();
        let named = shown(group("Inconclusive", &many), false);
        assert_eq!((named.names.len(), named.rest.as_str()), (NAMED, "and others"));
    }

    #[test]
    fn of_controls_those_that_changed_come_first_whatever_the_first_is() {
        let mut rows = vec![(Kind::Doubt, "quiet"); 12];
        rows.push((Kind::Worse, "slow"));
        for is_present in [true, false] {
            let of = shown(group("Controls and calibration", &rows), is_present);
            assert_eq!((names(&of)[0], of.rows.len(), of.names.len()), ("slow", OTHER_ROWS, 0));
        }
    }

    #[test]
    fn suites_where_nothing_changed_are_counted() {
        let row = |counts: [usize; 5]| SummaryRow {
            suite: "cpu".to_owned(),
            machine: "m".to_owned(),
            counts,
            mean: String::new(),
            interval: String::new(),
        };
        let rows = vec![row([3, 1, 0, 2, 0]), row([3, 0, 0, 3, 0]), row([3, 0, 0, 2, 1]), row([3, 0, 0, 3, 0])];
        let (result, words) = of_change(rows);
        assert_eq!((result.len(), words.as_str()), (1, " Left out: 3 more rows without a change."));
        assert_eq!(of_change(result).1, "");
    }
}

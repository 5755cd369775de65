//! A commit: its runs, what changed against the commit measured before and, where it has a page for itself and not for an event
//! alone, against the last release, the events that it may be the cause of, and its neighbours on the line.

use std::collections::{BTreeMap, BTreeSet};

use super::commit_events;
use super::commit_runs;
use super::frame::Part;
use super::sheet;
use crate::ReportError;
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::compare::pairs::Pairs;
use crate::compare::table;
use crate::compare::words::{self as compared, Kind};
use crate::date;
use crate::link;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::Phrase;
use crate::sheet::{Row, Section, Sheet};
use crate::summary::Fact;
use crate::text::shortened;
use crate::trend::words;
use sprag_model::commit::CommitOnLine;
use sprag_model::event::Event;
use sprag_model::head::RunHead;
use sprag_model::page::Page;
use sprag_model::run::RunStatus;

/// The most rows of events and of runs.
pub(super) const ROWS: usize = 40;

/// The most rows of what got worse since an earlier commit, and of what got better; the comparison with it has more of them.
const CHANGED_ROWS: usize = 8;

/// The commits of the line before it that are listed.
const NEIGHBOURS: usize = 3;

/// Those after it: with each more a new commit changes one page more.
const NEWER: usize = 1;

/// The longest subject, in characters.
const SUBJECT: usize = 140;

/// What all pages of commits are made of.
pub(super) struct Commits<'c, 'a> {
    pub(super) catalog: &'c Catalog<'a>,
    data: Option<&'c Data>,
    pairs: Pairs,
    runs: BTreeMap<&'a str, Vec<&'a RunHead>>,
    suspected: BTreeMap<&'a str, Vec<(&'a Event, f64)>>,
}

/// What a commit is called and where it stands.
pub(super) struct Named<'a> {
    sha: &'a str,
    on_line: Option<(usize, &'a CommitOnLine)>,
    number: Option<usize>,
    pub(super) runs: &'a [&'a RunHead],
}

/// A commit against an earlier one.
struct Since {
    name: String,
    page: String,
    headline: Vec<[String; 3]>,
    rows: Vec<compared::Row>,
}

impl<'c, 'a> Commits<'c, 'a> {
    /// Indexes what is known of commits.
    pub(super) fn new(catalog: &'c Catalog<'a>, data: Option<&'c Data>) -> Commits<'c, 'a> {
        let mut runs: BTreeMap<&str, Vec<&RunHead>> = BTreeMap::new();
        for run in &catalog.runs {
            if let Some(commit) = &run.commit {
                runs.entry(&commit.sha).or_default().push(run);
            }
        }
        let mut suspected: BTreeMap<&str, Vec<(&Event, f64)>> = BTreeMap::new();
        for event in &catalog.trend.events {
            for suspect in commit_events::told_at(event) {
                suspected.entry(&suspect.commit.sha).or_default().push((event, suspect.probability));
            }
        }
        let pairs = data.map_or_else(Pairs::default, |data| Pairs::of(data, catalog));
        Commits { catalog, data, pairs, runs, suspected }
    }

    /// The commits that have a page, newest first.
    pub(super) fn all(&self) -> Vec<Named<'_>> {
        let mut all: Vec<Named<'_>> = self.catalog.commits().iter().map(|sha| self.named(sha)).collect();
        let newest = |one: &Named<'_>| one.runs.first().map(|run| run.timestamp);
        all.sort_by_key(|one| std::cmp::Reverse((one.on_line.map(|(place, _)| place), newest(one))));
        all
    }

    fn named(&self, sha: &'a str) -> Named<'_> {
        let place = self.catalog.position(sha);
        Named {
            sha,
            on_line: place.and_then(|place| Some((place, self.catalog.line.commits.get(place)?))),
            number: self.catalog.compared_number(sha),
            runs: self.runs.get(sha).map_or(&[], Vec::as_slice),
        }
    }

    /// The commit against that of an earlier number.
    fn since(&self, a: usize, b: usize) -> Option<Since> {
        let data = self.data?;
        let (from, to) = (data.commit(a), data.commit(b));
        let page = self.pairs.page(data, a, b).unwrap_or_else(|| link::compared(&from.sha, &to.sha));
        let (headline, rows) = table::changed(data, a, b);
        Some(Since { name: data.name(a), page, headline, rows })
    }

    /// Against the commit measured before, and against the last release, where that is another one.
    fn sinces(&self, of: &Named<'_>) -> [Option<Since>; 2] {
        let Some((number, data)) = of.number.zip(self.data) else { return [None, None] };
        let before = number.checked_sub(1);
        let release = data.releases().into_iter().rev().find(|earlier| data.measured(*earlier) < number);
        let release = release.filter(|release| Some(*release) != before);
        [before, release].map(|a| self.since(a?, number))
    }

    /// Whether the commit measured before bears a tag.
    fn is_after_release(&self, of: &Named<'_>) -> bool {
        let Some((before, data)) = of.number.and_then(|number| number.checked_sub(1)).zip(self.data) else {
            return false;
        };
        !data.commit(before).tags.is_empty()
    }
}

impl Named<'_> {
    /// A tag where it bears one, else seven digits.
    pub(super) fn name(&self) -> String {
        let tag = self.on_line.and_then(|(_, commit)| commit.tags.first());
        tag.map_or_else(|| self.sha.get(..7).unwrap_or(self.sha).to_owned(), |tag| words::name(tag))
    }

    pub(super) fn short(&self) -> &str {
        self.sha.get(..12).unwrap_or(self.sha)
    }

    pub(super) fn page(&self) -> String {
        link::commit(self.sha)
    }

    /// The first line of its message.
    pub(super) fn subject(&self) -> String {
        let recorded = || self.runs.iter().find_map(|run| run.commit.as_ref()).map(|commit| commit.subject.as_str());
        let subject = self.on_line.map(|(_, commit)| commit.subject.as_str()).or_else(recorded);
        shortened(subject.unwrap_or_default(), SUBJECT)
    }

    pub(super) fn day(&self) -> String {
        let recorded = || self.runs.iter().find_map(|run| run.commit.as_ref()).map(|commit| commit.commit_time);
        let time = self.on_line.map(|(_, commit)| commit.commit_time).or_else(recorded);
        time.map_or_else(|| number::NONE.to_owned(), date::day)
    }

    pub(super) fn tags(&self) -> String {
        self.on_line.map_or_else(String::new, |(_, commit)| words::name(&commit.tags.join(", ")))
    }
}

pub(super) fn pages(commits: &Commits<'_, '_>) -> Result<Vec<Page>, ReportError> {
    commits.all().iter().map(|of| one(commits, of)).collect()
}

fn one(commits: &Commits<'_, '_>, of: &Named<'_>) -> Result<Page, ReportError> {
    link::file_word("commit", of.sha)?;
    let name = of.name();
    let sinces = commits.sinces(of);
    let headline = Phrase::plain(format!("{name}: "));
    let headline = match &sinces[0] {
        Some(since) => pieces(headline, &since.headline),
        None => headline.text(format!("{}, and nothing before it to hold it against", runs(of.runs.len()))),
    };
    // What has no row is a fact above, and no section.
    let mut sections: Vec<Section> = changed("parent", &sinces[0]).into_iter().collect();
    // Of a commit in the range of an event the release before tells little; the fact above has the counts and leads to the rest.
    sections.extend(changed("release", &sinces[1]).filter(|_| commits.catalog.is_newest_or_release(of.sha)));
    let suspected = commits.suspected.get(of.sha).map_or(&[][..], Vec::as_slice);
    sections.extend(commit_events::section(commits.catalog, suspected));
    sections.push(commit_runs::section(commits.catalog, of.runs));
    sections.extend(of.on_line.map(|(place, _)| neighbours(commits, place)));
    let content = Sheet {
        crumb: Phrase::default().link(link::COMMIT_LIST, "Commits").text(" / ").id(of.short()),
        headline,
        lede: lede(of),
        facts: facts(commits, of, &sinces),
        sections,
    };
    sheet::of_one(commits.catalog, (of.page(), Part::Runs, format!("Commit {name}")), content)
}

fn runs(n: usize) -> String {
    counted(n, "run", "runs")
}

/// The pieces of a headline of two commits behind some words.
fn pieces(mut sentence: Phrase, pieces: &[[String; 3]]) -> Phrase {
    for (place, [class, _, words]) in pieces.iter().enumerate() {
        sentence = if place > 0 { sentence.text(" ") } else { sentence };
        sentence = match class.as_str() {
            "worse" => sentence.mark(Mark::new(Tone::Worse, "▲", words)),
            "better" => sentence.mark(Mark::new(Tone::Better, "▼", words)),
            _ => sentence.text(words),
        };
    }
    sentence
}

fn lede(of: &Named<'_>) -> Phrase {
    let subject = match of.subject() {
        none if none.is_empty() => "No subject is known".to_owned(),
        subject => format!("“{subject}”"),
    };
    let branch = of.runs.iter().find_map(|run| run.commit.as_ref()?.branch.as_deref());
    let branch = branch.map_or_else(String::new, |branch| format!(", measured on {}", words::name(branch)));
    let tags = match of.tags() {
        none if none.is_empty() => String::new(),
        tags => format!(" Tags: {tags}."),
    };
    let off = if of.on_line.is_none() { " The line of commits does not hold it." } else { "" };
    Phrase::plain(format!("{subject}, committed {}{branch}.{tags}{off}", of.day()))
}

fn facts(commits: &Commits<'_, '_>, of: &Named<'_>, sinces: &[Option<Since>; 2]) -> Vec<Fact> {
    let [before, release] = sinces;
    let since = |question, since: &Option<Since>, none: &str| match since {
        Some(since) => Fact {
            question,
            answer: Phrase::default().link(since.page.clone(), since.name.clone()),
            note: pieces(Phrase::default(), &since.headline).text("."),
        },
        None => Fact { question, answer: Phrase::plain(number::NONE), note: Phrase::plain(none) },
    };
    let no_release = if commits.is_after_release(of) {
        "It is the one above."
    } else {
        "Of no release before it was anything measured."
    };
    let suspected = commits.suspected.get(of.sha).map_or(0, Vec::len);
    let machines: BTreeSet<&str> = of.runs.iter().map(|run| run.machine.id.as_str()).collect();
    let suites: BTreeSet<&str> = of.runs.iter().map(|run| run.suite.as_str()).collect();
    let bad = of.runs.iter().filter(|run| run.status != RunStatus::Ok).count();
    let place = format!(
        "Of {} on {}; {} skipped or failed.",
        counted(suites.len(), "suite", "suites"),
        counted(machines.len(), "machine", "machines"),
        count(bad)
    );
    vec![
        since("Against the one measured before", before, "No commit was measured before it, or it gave no value."),
        since("Against the release before", release, no_release),
        Fact {
            question: "Suspect of",
            answer: Phrase::plain(if suspected == 0 {
                "No event".to_owned()
            } else {
                counted(suspected, "event", "events")
            }),
            note: Phrase::plain(match suspected {
                0 => "It lies in the range of no change.",
                _ => "An event is a change of one or many series with one cause.",
            }),
        },
        Fact { question: "Measured by", answer: Phrase::plain(runs(of.runs.len())), note: Phrase::plain(place) },
    ]
}

/// The series that changed since an earlier commit, where there are any.
fn changed(id: &'static str, since: &Option<Since>) -> Option<Section> {
    let since = since.as_ref()?;
    let of_kind = |kind: Kind| since.rows.iter().filter(move |row| row.kind == kind).take(CHANGED_ROWS);
    let listed = of_kind(Kind::Worse).chain(of_kind(Kind::Better));
    let rows = listed.map(|row| {
        let tone = if row.kind == Kind::Worse { Tone::Worse } else { Tone::Better };
        let glyph = if row.mark[1] == "▲" { "▲" } else { "▼" };
        Row::of([
            Phrase::default().link(link::series(&row.id), row.name.clone()).text(format!(" {}", row.metric)),
            Phrase::plain(&*row.machine),
            Phrase::default().mark(Mark::new(tone, glyph, &*row.mark[2])),
            Phrase::plain(&*row.before),
            Phrase::plain(&*row.after),
            Phrase::default().mark(Mark::new(tone, "", &*row.change)),
            Phrase::plain(&*row.interval),
        ])
    });
    let all = Phrase::plain("Levels that were fitted are held against each other; ")
        .link(since.page.clone(), "all series between the two")
        .text(".");
    let columns = [
        ("Series", "full"),
        ("Machine", "place"),
        ("Verdict", "verdict"),
        ("Before", "n from"),
        ("After", "n"),
        ("Change", "n push"),
        ("95\u{202f}% interval", "n ci opt2"),
    ];
    let heading = format!("Since {}", since.name);
    let mut section = Section::of_table((id, &heading, all, ""), ("Series that changed", &columns), rows.collect());
    let listed = section.table.as_ref()?.rows.len();
    if listed < since.rows.len() {
        let more = counted(since.rows.len() - listed, "more row is", "more rows are");
        section.rest = Phrase::plain(format!("{more} in the comparison."));
    }
    Some(section.told_once(&["Machine"]))
}

fn neighbours(commits: &Commits<'_, '_>, place: usize) -> Section {
    let line = &commits.catalog.line.commits;
    let around = place.saturating_sub(NEIGHBOURS)..(place + NEWER + 1).min(line.len());
    let row = |at: usize| {
        let commit = &line[at];
        let short = commit.sha.get(..12).unwrap_or(&commit.sha);
        let mark = match commits.runs.contains_key(commit.sha.as_str()) {
            true => Mark::new(Tone::Plain, "●", "measured"),
            false => Mark::new(Tone::Plain, "○", "not measured"),
        };
        let name = match commits.catalog.commit_page(&commit.sha) {
            _ if at == place => Phrase::default().strong("this commit"),
            page => Phrase::default().name(page, short),
        };
        let tags = words::name(&commit.tags.join(", "));
        Row::of([
            if tags.is_empty() { name } else { name.text(" ").strong(tags) },
            Phrase::default().mark(mark),
            Phrase::plain(shortened(&commit.subject, SUBJECT)),
            Phrase::plain(date::day(commit.commit_time)),
        ])
    };
    let columns = [("Commit", "nb"), ("State", "push"), ("Subject", "full any"), ("Committed", "nb opt")];
    let texts = ("line", "On the line", Phrase::plain("Newest first."), "");
    Section::of_table(texts, ("Commits around it, newest first", &columns), around.rev().map(row).collect())
        .told_once(&["State"])
}

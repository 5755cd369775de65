//! A commit: its runs, what changed since the commit before and the last release, its events and neighbours; and the list.

use std::collections::{BTreeMap, BTreeSet};

use super::frame::prelude::*;
use super::list::list_pages;
use super::run::{measured, quoted_subject};
use crate::compare::data::Data;
use crate::compare::pairs::Pairs;
use crate::compare::table;
use crate::compare::words::{ComparedRow, Kind};
use crate::page_selection::{EVENTS, NEWEST, RELEASES};
use crate::text::{commit_digits, short_commit};
use crate::trend::{event as trend_event, words};
use sprag_model::{CommitOnLine, Event, EventKind, RunHead, RunStatus};

const ROWS: usize = 40;

/// The most rows of what got worse since an earlier commit, and of what got better.
const CHANGED_ROWS: usize = 8;

const NEIGHBOURS: usize = 3;
const NEWER: usize = 1;

const SUBJECT: usize = 140;
const AUTHOR: usize = 80;

const LISTED: usize = 1000;

struct Commits<'c, 'a> {
    catalog: &'c Catalog<'a>,
    data: Option<&'c Data>,
    pairs: Pairs,
    runs: BTreeMap<&'a str, Vec<&'a RunHead>>,
    suspected: BTreeMap<&'a str, Vec<(&'a Event, f64)>>,
}

/// A commit with its place on the branch, and its number among those that can be compared.
struct Named<'a> {
    sha: &'a str,
    on_line: Option<(usize, &'a CommitOnLine)>,
    number: Option<usize>,
    runs: &'a [&'a RunHead],
}

struct Since {
    name: String,
    page: String,
    headline: Phrase,
    rows: Vec<ComparedRow>,
}

/// A commit, against the one measured before and against the last release.
type Listed<'a> = ([Option<Since>; 2], Named<'a>);

impl<'c, 'a> Commits<'c, 'a> {
    fn new(catalog: &'c Catalog<'a>, data: Option<&'c Data>) -> Commits<'c, 'a> {
        let mut runs: BTreeMap<&str, Vec<&RunHead>> = BTreeMap::new();
        for run in &catalog.runs {
            if let Some(commit) = &run.commit {
                runs.entry(&commit.sha).or_default().push(run);
            }
        }
        let mut suspected: BTreeMap<&str, Vec<(&Event, f64)>> = BTreeMap::new();
        // No commit is the cause of the others.
        for event in catalog.trend.events.iter().filter(|event| event.kind == EventKind::Change) {
            for suspect in &event.suspects {
                suspected.entry(&suspect.commit.sha).or_default().push((event, suspect.probability));
            }
        }
        let pairs = data.map_or_else(Pairs::default, |data| Pairs::new(data, catalog));
        Commits { catalog, data, pairs, runs, suspected }
    }

    fn all(&self) -> Vec<Named<'_>> {
        let mut all: Vec<Named<'_>> = self.catalog.selection.commits.iter().map(|sha| self.named(sha)).collect();
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

    fn since(&self, a: usize, b: usize) -> Option<Since> {
        let data = self.data?;
        let (from, to) = (data.commit(a), data.commit(b));
        let page = self.pairs.page(data, a, b).unwrap_or_else(|| link::compared(&from.sha, &to.sha));
        let (headline, rows) = table::changed(data, a, b);
        Some(Since { name: data.name(a), page, headline: pieces(&headline), rows })
    }

    /// Against the commit measured before, and against the last release unless that is the same.
    fn sinces(&self, of: &Named<'_>) -> [Option<Since>; 2] {
        let Some((number, data)) = of.number.zip(self.data) else { return [None, None] };
        let before = number.checked_sub(1);
        let release = data.releases().into_iter().rev().find(|earlier| data.measured(*earlier) < number);
        let release = release.filter(|release| Some(*release) != before);
        [before, release].map(|a| self.since(a?, number))
    }
}

impl Since {
    fn verdicts(&self) -> String {
        let kinds = [(Kind::Worse, "worse"), (Kind::Better, "better")];
        let kinds = kinds.into_iter().filter(|(kind, _)| self.rows.iter().any(|row| row.kind == *kind));
        let words: Vec<&str> = kinds.map(|(_, word)| word).collect();
        if words.is_empty() { "no change".to_owned() } else { words.join(", ") }
    }
}

impl Named<'_> {
    fn of_runs(&self, name: impl Fn(&RunHead) -> &str) -> String {
        self.runs.iter().map(|run| name(run)).collect::<BTreeSet<&str>>().into_iter().collect::<Vec<&str>>().join(", ")
    }

    fn name(&self) -> String {
        let tag = self.on_line.and_then(|(_, commit)| commit.tags.first());
        tag.map_or_else(|| short_commit(self.sha).to_owned(), |tag| words::name(tag))
    }

    /// The subject, and when it was committed.
    fn facts(&self) -> (String, String) {
        let on_line = self.on_line.map(|(_, commit)| (&*commit.subject, commit.commit_time));
        let recorded =
            || self.runs.iter().find_map(|run| run.commit.as_ref()).map(|one| (&*one.subject, one.commit_time));
        let (subject, time) = on_line.or_else(recorded).unzip();
        (shortened(subject.unwrap_or_default(), SUBJECT), or_none(time, date::day))
    }

    fn tags(&self) -> String {
        self.on_line.map_or_else(String::new, |(_, commit)| words::name(&commit.tags.join(", ")))
    }
}

pub(crate) fn commits(catalog: &Catalog<'_>, data: Option<&Data>) -> Result<Vec<Page>, ReportError> {
    let commits = Commits::new(catalog, data);
    let all = commits.all();
    let all: Vec<Listed<'_>> = all.into_iter().map(|of| (commits.sinces(&of), of)).collect();
    let mut pages = all.iter().map(|of| page(&commits, of)).collect::<Result<Vec<Page>, ReportError>>()?;
    if !pages.is_empty() {
        pages.extend(list(&commits, &all)?);
    }
    Ok(pages)
}

fn page(commits: &Commits<'_, '_>, (sinces, of): &Listed<'_>) -> Result<Page, ReportError> {
    link::file_word("commit", of.sha)?;
    let name = of.name();
    let headline = Phrase::plain(format!("{name}: "));
    let headline = match &sinces[0] {
        Some(since) => headline.join(since.headline.clone()),
        None => headline.text(format!("{}, and nothing before it to compare with", runs(of.runs.len()))),
    };
    let suspected = commits.suspected.get(of.sha).map_or(&[][..], Vec::as_slice);
    let sections = [
        changed("parent", &sinces[0]),
        changed("release", &sinces[1]),
        events_section(commits.catalog, suspected),
        Some(runs_section(commits.catalog, of.runs)),
        of.on_line.map(|(place, _)| neighbours(commits, place)),
        of.on_line.map(|_| {
            Section::new("show", "Show what it changed").commands(vec![format!("git show {}", commit_digits(of.sha))])
        }),
    ];
    let sheet = Sheet {
        crumb: Phrase::linked(link::COMMIT_LIST, "Commits").text(" / ").id(commit_digits(of.sha)),
        headline,
        lede: lede(commits.catalog, of),
        facts: facts(commits, of, sinces),
        sections: sections.into_iter().flatten().collect(),
        ..Sheet::default()
    };
    subject_page(commits.catalog, (&link::commit(of.sha), "Runs"), &format!("Commit {name}"), None, sheet)
}

fn runs(n: usize) -> String {
    counted(n, "run", "runs")
}

pub(super) fn pieces(pieces: &[[String; 3]]) -> Phrase {
    pieces.iter().enumerate().fold(Phrase::default(), |sentence, (place, [class, _, words])| {
        let sentence = if place > 0 { sentence.text(" ") } else { sentence };
        match class.as_str() {
            "worse" => sentence.mark(Mark::new(Tone::Worse, "▲", words)),
            "better" => sentence.mark(Mark::new(Tone::Better, "▼", words)),
            _ => sentence.text(words),
        }
    })
}

fn lede(catalog: &Catalog<'_>, of: &Named<'_>) -> Phrase {
    let branch = of.runs.iter().find_map(|run| run.commit.as_ref()?.branch.as_deref());
    let branch = branch.map_or_else(String::new, |branch| format!(", measured on {}", words::name(branch)));
    let tags = of.tags();
    let tags = if tags.is_empty() { tags } else { format!(" Tags: {tags}.") };
    let off = if of.on_line.is_none() { " It is not on the branch that the site follows." } else { "" };
    let (subject, day) = of.facts();
    let lede = Phrase::plain(quoted_subject(&subject));
    let lede = match of.on_line.map(|(_, commit)| commit.author.as_str()).filter(|author| !author.is_empty()) {
        None => lede,
        Some(author) => {
            let (lede, name) = (lede.text(" by "), shortened(author, AUTHOR));
            match catalog.forge_author(of.sha, author) {
                None => lede.text(name),
                url => lede.outside(url, &name),
            }
        }
    };
    let lede = lede.text(format!(", committed {day}{branch}.{tags}{off}"));
    let forge = Phrase::default().outside(catalog.forge(of.sha), "Its diff at the forge");
    lede.then(if forge.parts.is_empty() { forge } else { forge.text(".") })
}

fn facts(commits: &Commits<'_, '_>, of: &Named<'_>, sinces: &[Option<Since>; 2]) -> Vec<Fact> {
    let [before, release] = sinces;
    let since = |question, since: &Option<Since>, none: &str| match since {
        Some(since) => {
            let page = Phrase::linked(since.page.clone(), since.name.clone());
            Fact::new(question, page, since.headline.clone().text("."))
        }
        None => Fact::new(question, number::NONE, none),
    };
    let suspected = commits.suspected.get(of.sha).map_or(0, Vec::len);
    let (answer, note) = match suspected {
        0 => ("No event".to_owned(), "It is in the range of no change."),
        some => (counted(some, "event", "events"), "An event is a change of one or many series with one cause."),
    };
    let machines: BTreeSet<&str> = of.runs.iter().map(|run| run.machine.id.as_str()).collect();
    let suites: BTreeSet<&str> = of.runs.iter().map(|run| run.suite.as_str()).collect();
    let bad = of.runs.iter().filter(|run| run.status != RunStatus::Ok).count();
    let (suites, machines) = (counted(suites.len(), "suite", "suites"), counted(machines.len(), "machine", "machines"));
    let place = format!("Of {suites} on {machines}; {} skipped or failed.", count(bad));
    vec![
        since("Against the one measured before", before, "No commit was measured before it, or it gave no value."),
        since("Against the release before", release, "No release before it was measured, or it is the one above."),
        Fact::new("Suspect of", answer, note),
        Fact::new("Measured by", runs(of.runs.len()), place),
    ]
}

fn changed(id: &'static str, since: &Option<Since>) -> Option<Section> {
    let since = since.as_ref()?;
    let of_kind = |kind: Kind| since.rows.iter().filter(move |row| row.kind == kind).take(CHANGED_ROWS);
    let listed: Vec<&ComparedRow> = of_kind(Kind::Worse).chain(of_kind(Kind::Better)).collect();
    let more = since.rows.len() - listed.len();
    let listed_all = more == 0;
    let mark = |row: &ComparedRow| if row.kind == Kind::Worse { (Tone::Worse, "▲") } else { (Tone::Better, "▼") };
    let all =
        Phrase::plain("Fitted levels are compared; ").link(since.page.clone(), "all series between the two").text(".");
    let section = Rows::new(format!("Series that changed since {}", since.name), listed)
        .column("Series", "full", |row| {
            Phrase::linked(row.page.clone(), row.name.clone()).text(format!(" {}", row.metric))
        })
        .column("Machine", "place", |row| row.machine.clone())
        .column("Verdict", "verdict", |row| Mark::new(mark(row).0, mark(row).1, &*row.mark[2]))
        .column("Before", "n from", |row| row.before.clone())
        .column("After", "n", |row| row.after.clone())
        .column("Change", "n push", |row| Mark::new(mark(row).0, "", &*row.change))
        .column("95\u{202f}% interval", "n ci opt2", |row| row.interval.clone())
        .section(id, format!("Since {}", since.name), all, "")
        .unless_empty()?;
    let more = format!("{} in the comparison.", counted(more, "more row is", "more rows are"));
    let section = if listed_all { section } else { section.paragraph(more) };
    Some(section.note_equal_columns(&["Machine"]))
}

fn neighbours(commits: &Commits<'_, '_>, place: usize) -> Section {
    let line = &commits.catalog.line.commits;
    let around = place.saturating_sub(NEIGHBOURS)..(place + NEWER + 1).min(line.len());
    let name = |(at, commit): &(usize, &CommitOnLine)| {
        let name = match commits.catalog.commit_page(&commit.sha) {
            _ if *at == place => Phrase::default().strong("this commit"),
            page => Phrase::page_name(page, commit_digits(&commit.sha)),
        };
        tagged(name, words::name(&commit.tags.join(", ")))
    };
    Rows::new("Commits around it, newest first", around.rev().map(|at| (at, &line[at])))
        .column("Commit", "nb", name)
        .column("State", "push", |(_, commit)| match commits.runs.contains_key(commit.sha.as_str()) {
            true => Mark::new(Tone::Plain, "●", "measured"),
            false => Mark::new(Tone::Plain, "○", "not measured"),
        })
        .column("Subject", "full any", |(_, commit)| shortened(&commit.subject, SUBJECT))
        .column("Committed", "nb opt", |(_, commit)| date::day(commit.commit_time))
        .section("line", "Neighbouring commits", "Newest first.", "")
        .note_equal_columns(&["State"])
}

fn tagged(name: Phrase, tags: String) -> Phrase {
    if tags.is_empty() { name } else { name.text(" ").strong(tags) }
}

fn events_section(catalog: &Catalog<'_>, suspected: &[(&Event, f64)]) -> Option<Section> {
    let note = "The probability that this commit is the cause, from all series together.";
    Rows::new("Events", suspected)
        .first(ROWS)
        .column("Event", "nb", |(event, _)| Phrase::page_name(catalog.event_page(&event.id), words::name(&event.id)))
        .column("What it did", "full any", |(event, _)| trend_event::deed(event))
        .column("Probability", "n", |(_, probability)| words::probability(*probability))
        .column("State", "push", |(event, _)| trend_event::state(event))
        .section("events", "Events that it may be the cause of", note, "")
        .unless_empty()
}

fn runs_section(catalog: &Catalog<'_>, runs: &[&RunHead]) -> Section {
    Rows::new("Runs of this commit, newest first", runs)
        .first(ROWS)
        .column("Suite", "", |run| Phrase::default().to(catalog.run_page(&run.id), &*run.suite))
        .column("Machine", "place", |run| run.machine.name.clone())
        .column("Began, UTC", "nb push", |run| date::moment(run.timestamp))
        .column("Status", "", |run| Mark::of_status(run.status))
        .column("Benchmarks", "n opt2", |run| measured(run))
        .column("Numbers", "", |run| Mark::of_run_quality(run))
        .section("runs", "Runs", "", "It has no run.")
        .note_equal_columns(&["Machine", "Status", "Benchmarks", "Numbers"])
}

fn list(commits: &Commits<'_, '_>, all: &[Listed<'_>]) -> Result<Vec<Page>, ReportError> {
    let catalog = commits.catalog;
    let or_event = format!("or in the range of one of the newest {EVENTS} events");
    let measured = format!(
        "Measured commits have a page if they are among the newest {NEWEST}, the newest {RELEASES} releases, {or_event}. "
    );
    let mut lede = Phrase::plain(measured);
    if catalog.is_compared() {
        lede = lede.link(link::COMPARE, "Compare any two measured commits").text(".");
    }
    let section = Rows::new("Commits, newest first", all)
        .first(LISTED)
        .column("Commit", "nb", |(_, of)| {
            tagged(Phrase::linked(link::commit(of.sha), commit_digits(of.sha)), of.tags())
        })
        .column("Subject", "full any", |(_, of)| of.facts().0)
        .column("Committed", "nb", |(_, of)| of.facts().1)
        .column("Runs", "n push", |(_, of)| runs(of.runs.len()))
        .column("Against the one before", "any", |([since, _], _)| {
            since.as_ref().map_or_else(Phrase::default, |since| since.headline.clone())
        })
        .facet("suite", |(_, of)| of.of_runs(|run| &run.suite))
        .facet("machine", |(_, of)| of.of_runs(|run| &run.machine.name))
        .facet("verdict", |([since, _], _)| since.as_ref().map_or_else(String::new, Since::verdicts))
        .section("commits", "Newest first", "", "");
    let headline = format!("{} with a page", counted(all.len(), "commit", "commits")).into();
    let sheet = Sheet { headline, lede, sections: vec![section], ..Sheet::default() };
    list_pages(catalog, (link::COMMIT_LIST, "Runs"), "Commits", sheet)
}

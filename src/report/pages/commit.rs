//! A commit: its runs, what changed against the commit measured before and, where it has a page for itself and not for an event
//! alone, against the last release, the events that it may be the cause of, and its neighbours on the line.

use std::collections::{BTreeMap, BTreeSet};

use super::frame::Part;
use super::sheet;
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::compare::pairs::Pairs;
use crate::compare::words::Kind;
use crate::compare::{table, words as compared};
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::page_selection::{EVENTS, NEWEST, RELEASES};
use crate::phrase::{Fact, Phrase};
use crate::sheet::{Row, Section, Sheet};
use crate::text::shortened;
use crate::trend::{event as trend_event, words};
use crate::{ReportError, date, link};
use sprag_model::commit::CommitOnLine;
use sprag_model::event::{Event, EventKind, Suspect};
use sprag_model::head::RunHead;
use sprag_model::page::Page;
use sprag_model::run::RunStatus;

/// The most rows of events and of runs.
const ROWS: usize = 40;

/// The most rows of what got worse since an earlier commit, and of what got better; the comparison with it has more of them.
const CHANGED_ROWS: usize = 8;

/// The commits of the line before it that are listed.
const NEIGHBOURS: usize = 3;

/// Those after it: with each more a new commit changes one page more.
const NEWER: usize = 1;

/// The longest subject, in characters.
const SUBJECT: usize = 140;

/// What all pages of commits are made of.
struct Commits<'c, 'a> {
    pub(super) catalog: &'c Catalog<'a>,
    data: Option<&'c Data>,
    pairs: Pairs,
    runs: BTreeMap<&'a str, Vec<&'a RunHead>>,
    suspected: BTreeMap<&'a str, Vec<(&'a Event, f64)>>,
}

/// What a commit is called and where it stands.
struct Named<'a> {
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
    rows: Vec<compared::ComparedRow>,
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
            for suspect in told_at(event) {
                suspected.entry(&suspect.commit.sha).or_default().push((event, suspect.probability));
            }
        }
        let pairs = data.map_or_else(Pairs::default, |data| Pairs::new(data, catalog));
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

fn pages(commits: &Commits<'_, '_>) -> Result<Vec<Page>, ReportError> {
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
    sections.extend(events_section(commits.catalog, suspected));
    sections.push(runs_section(commits.catalog, of.runs));
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
        Row::new([
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
    let section = Section::of_table((id, &heading, all, ""), ("Series that changed", &columns), rows.collect());
    let section = match since.rows.len() - section.table()?.rows.len() {
        0 => section,
        more => section.paragraph(format!("{} in the comparison.", counted(more, "more row is", "more rows are"))),
    };
    Some(section.note_equal_columns(&["Machine"]))
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
        Row::new([
            if tags.is_empty() { name } else { name.text(" ").strong(tags) },
            Phrase::default().mark(mark),
            Phrase::plain(shortened(&commit.subject, SUBJECT)),
            Phrase::plain(date::day(commit.commit_time)),
        ])
    };
    let columns = [("Commit", "nb"), ("State", "push"), ("Subject", "full any"), ("Committed", "nb opt")];
    let texts = ("line", "On the line", Phrase::plain("Newest first."), "");
    Section::of_table(texts, ("Commits around it, newest first", &columns), around.rev().map(row).collect())
        .note_equal_columns(&["State"])
}

/// The suspects of an event on whose pages it stands. A drift, of which no commit is alone to blame, stands at its ends, and while it
/// goes on where it begins: on every page of its ramp it would change all of them for as long.
fn told_at(event: &Event) -> impl Iterator<Item = &Suspect> {
    let is_drift = event.kind == EventKind::Drift;
    let last = if trend_event::goes_on(event) { 0 } else { event.suspects.len().saturating_sub(1) };
    let places = event.suspects.iter().enumerate();
    places.filter(move |(place, _)| !is_drift || [0, last].contains(place)).map(|(_, suspect)| suspect)
}

/// The events of a commit, each with the probability that it is the cause, where there are any.
fn events_section(catalog: &Catalog<'_>, suspected: &[(&Event, f64)]) -> Option<Section> {
    let row = |(event, probability): &(&Event, f64)| {
        let share = match event.kind {
            EventKind::Change => words::probability(*probability),
            EventKind::Drift => "in the ramp".to_owned(),
            EventKind::Environment => "not to blame".to_owned(),
        };
        let page = catalog.event_page(&event.id);
        Row::new([
            Phrase::default().name(page, words::name(&event.id)),
            trend_event::deed(event),
            Phrase::plain(share),
            trend_event::state(event),
        ])
    };
    let rows = suspected.iter().map(row).collect();
    let is_drift = suspected.iter().any(|(event, _)| event.kind == EventKind::Drift);
    let drifts = " Of its ramp a drift stands at the first and the last commit, and while it goes on at the first.";
    let note = "The probability that this commit is the cause, from all series together.";
    let note = Phrase::plain(note.to_owned() + if is_drift { drifts } else { "" });
    let columns = [("Event", "nb"), ("What it did", "full any"), ("Probability", "n"), ("State", "push")];
    let texts = ("events", "Events that it may be the cause of", note, "");
    (!suspected.is_empty()).then(|| Section::of_table(texts, ("Events", &columns), rows).cut(ROWS))
}

/// The runs of a commit, the newest first.
fn runs_section(catalog: &Catalog<'_>, runs: &[&RunHead]) -> Section {
    let texts = ("runs", "Runs", Phrase::default(), "No run of it is known.");
    let is_alike = |one: &&RunHead| one.machine.id == runs[0].machine.id && came_to(one) == came_to(runs[0]);
    if runs.len() > 1 && runs.iter().all(is_alike) {
        return sentence(catalog, runs);
    }
    let row = |run: &&RunHead| {
        let [status, measured, numbers] = came_to(run);
        let (machine, time) = (Phrase::plain(&*run.machine.name), Phrase::plain(date::moment(run.timestamp)));
        Row::new([suite(Phrase::default(), catalog, run), machine, time, status, measured, numbers])
    };
    let columns = [
        ("Suite", ""),
        ("Machine", "place"),
        ("Began, UTC", "nb push"),
        ("Status", ""),
        ("Benchmarks", "n opt2"),
        ("Numbers", ""),
    ];
    Section::of_table(texts, ("Runs of this commit, newest first", &columns), runs.iter().map(row).collect())
        .note_equal_columns(&["Machine", "Status", "Benchmarks", "Numbers"])
        .cut(ROWS)
}

/// What a run came to: its status, how many benchmarks were measured, and what its numbers are worth.
fn came_to(run: &RunHead) -> [Phrase; 3] {
    let measured = match run.failed {
        _ if run.status != RunStatus::Ok => number::NONE.to_owned(),
        0 => count(run.benchmarks),
        failed => format!("{}, {} failed", count(run.benchmarks - failed), count(failed)),
    };
    let [state, numbers] =
        [Mark::of_status(run.status), Mark::of_run_quality(run)].map(|mark| Phrase::default().mark(mark));
    [state, Phrase::plain(measured), numbers]
}

/// The suite of a run, with a link to its page where it has one.
fn suite(words: Phrase, catalog: &Catalog<'_>, run: &RunHead) -> Phrase {
    match catalog.run_page(&run.id) {
        Some(page) => words.link(page, &*run.suite),
        None => words.text(&*run.suite),
    }
}

/// Runs of one machine that came to the same.
fn sentence(catalog: &Catalog<'_>, runs: &[&RunHead]) -> Section {
    let [status, measured, numbers] = came_to(runs[0]);
    let (first, last) = (runs[runs.len() - 1].timestamp, runs[0].timestamp);
    let note = Phrase::plain(format!("Each on {}: ", runs[0].machine.name))
        .join(status)
        .text(", benchmarks ")
        .join(measured)
        .text(", numbers ")
        .join(numbers)
        .text(format!(". The first began {}, the last {} UTC.", date::moment(first), date::moment(last)));
    let mut suites = Phrase::default();
    for (place, run) in runs.iter().take(ROWS).enumerate() {
        suites = suite(if place > 0 { suites.text(", ") } else { suites }, catalog, run);
    }
    let rest = match runs.len().saturating_sub(ROWS) {
        0 => Phrase::default(),
        more => Phrase::plain(format!("{} not listed here.", counted(more, "more run is", "more runs are"))),
    };
    Section::new("runs", "Runs").paragraph(note).items([suites]).paragraph(rest)
}

/// The commits that the list shows.
const LISTED: usize = 1000;

/// The pages of the commits that have one, and the list of them.
pub(crate) fn commits(catalog: &Catalog<'_>, data: Option<&Data>) -> Result<Vec<Page>, ReportError> {
    let commits = Commits::new(catalog, data);
    let mut pages = pages(&commits)?;
    if !pages.is_empty() {
        pages.push(list(&commits)?);
    }
    Ok(pages)
}

fn list(commits: &Commits<'_, '_>) -> Result<Page, ReportError> {
    let all = commits.all();
    let headline = format!("{} with a page", counted(all.len(), "commit", "commits"));
    let lede = format!(
        "Of those that were measured: at least the newest {}, the newest {} releases, and the ranges of the newest {} events. ",
        count(NEWEST),
        count(RELEASES),
        count(EVENTS)
    );
    let lede = match commits.catalog.is_compared() {
        true => Phrase::plain(lede + "Any two that were measured ").link(link::COMPARE, "can be compared").text("."),
        false => Phrase::plain(lede),
    };
    let columns = [("Commit", "nb"), ("Subject", "full any"), ("Committed", "nb"), ("Runs", "n push")];
    let texts = ("commits", "Newest first", Phrase::default(), "");
    let rows = all.iter().map(row).collect();
    let section = Section::of_table(texts, ("Commits, newest first", &columns), rows).cut(LISTED);
    let content = Sheet { headline: Phrase::plain(headline), lede, sections: vec![section], ..Sheet::default() };
    sheet::sheet(commits.catalog, (link::COMMIT_LIST.to_owned(), Part::Runs, "Commits".to_owned()), content)
}

fn row(of: &Named<'_>) -> Row {
    let (name, tags) = (Phrase::default().link(of.page(), of.short()), of.tags());
    Row::new([
        if tags.is_empty() { name } else { name.text(" ").strong(tags) },
        Phrase::plain(of.subject()),
        Phrase::plain(of.day()),
        Phrase::plain(counted(of.runs.len(), "run", "runs")),
    ])
}

#[cfg(test)]
mod tests {

    use crate::sample_data;

    use super::*;
    use crate::fit::example;

    #[test]
    fn a_drift_stands_at_its_ends_alone() {
        let suspect =
            |place: usize| Suspect { commit: example::commit(place), probability: place as f64, measured: true };
        let places = |kind: EventKind, commits: usize| -> Vec<usize> {
            let event = Event { suspects: (0..commits).map(suspect).collect(), ..example::event(kind, 3) };
            told_at(&event).map(|suspect| suspect.probability as usize).collect()
        };
        let all = |commits: usize| (0..commits).collect::<Vec<usize>>();
        assert_eq!(places(EventKind::Drift, 1), [0]);
        assert_eq!(places(EventKind::Drift, 31), [0, 30]);
        let mut goes_on = Event { suspects: (0..31).map(suspect).collect(), ..example::event(EventKind::Drift, 3) };
        goes_on.members[0].points_since = 0;
        assert_eq!(told_at(&goes_on).map(|suspect| suspect.probability as usize).collect::<Vec<_>>(), [0]);
        assert_eq!(places(EventKind::Change, 31), all(31));
        assert!(places(EventKind::Drift, 0).is_empty());
    }

    #[test]
    fn runs_that_came_to_the_same_are_a_sentence() {
        let sample = sample_data::rich();
        let mut heads = sample.heads();
        let commit = heads[0].commit.clone();
        let machine = heads[0].machine.clone();
        let result = |heads: &[RunHead]| {
            let input = sample.input(heads);
            let runs: Vec<&RunHead> = heads.iter().filter(|head| head.commit == commit).collect();
            runs_section(&Catalog::new(&input), &runs)
        };
        assert!(result(&heads).table().is_some_and(|table| table.rows.len() > 1));
        heads.retain(|head| head.commit == commit);
        heads.iter_mut().for_each(|head| head.machine = machine.clone());
        let alike = result(&heads);
        assert!(alike.table().is_none() && alike.blocks.len() == 2, "{alike:?}");
        assert!(alike.prose().contains("Each on epyc-9354: ran, benchmarks 12, numbers clean."), "{alike:?}");
        heads[0].quality.clean = false;
        heads[0].quality.reasons.push("a reason".to_owned());
        let rough = result(&heads);
        let table = rough.table().expect("the numbers of one are rough");
        assert_eq!(
            table.columns.iter().map(|column| &*column.head).collect::<Vec<_>>(),
            ["Suite", "Began, UTC", "Numbers"]
        );
    }
}

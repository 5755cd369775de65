//! A commit: its runs, what changed against the commit measured before and, where it has a page for itself and not for an event
//! alone, against the last release, the events that it may be the cause of, and its neighbours; and the list of commits.

use std::collections::{BTreeMap, BTreeSet};

use super::cell;
use super::frame::{Part, history_page, subject_page};
use super::run::{measured, quoted_subject};
use crate::catalog::Catalog;
use crate::compare::data::Data;
use crate::compare::pairs::Pairs;
use crate::compare::table;
use crate::compare::words::{ComparedRow, Kind};
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::page_selection::{EVENTS, NEWEST, RELEASES};
use crate::phrase::{Fact, Phrase};
use crate::sheet::{Rows, Section, Sheet};
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

/// The commits before it that are listed.
const NEIGHBOURS: usize = 3;

/// Those after it: with each more a new commit changes one page more.
const NEWER: usize = 1;

/// The longest subject, in characters.
const SUBJECT: usize = 140;

/// The commits that the list shows.
const LISTED: usize = 1000;

/// What all pages of commits are made of.
struct Commits<'c, 'a> {
    catalog: &'c Catalog<'a>,
    data: Option<&'c Data>,
    pairs: Pairs,
    runs: BTreeMap<&'a str, Vec<&'a RunHead>>,
    suspected: BTreeMap<&'a str, Vec<(&'a Event, f64)>>,
}

/// A commit with its place on the branch, its number among those that can be compared, and its runs.
struct Named<'a> {
    sha: &'a str,
    on_line: Option<(usize, &'a CommitOnLine)>,
    number: Option<usize>,
    runs: &'a [&'a RunHead],
}

/// A commit against an earlier one.
struct Since {
    name: String,
    page: String,
    headline: Phrase,
    rows: Vec<ComparedRow>,
}

impl<'c, 'a> Commits<'c, 'a> {
    fn new(catalog: &'c Catalog<'a>, data: Option<&'c Data>) -> Commits<'c, 'a> {
        let mut runs: BTreeMap<&str, Vec<&RunHead>> = BTreeMap::new();
        for run in &catalog.runs {
            if let Some(commit) = &run.commit {
                runs.entry(&commit.sha).or_default().push(run);
            }
        }
        let mut suspected: BTreeMap<&str, Vec<(&Event, f64)>> = BTreeMap::new();
        for event in &catalog.trend.events {
            for suspect in listed_suspects(event) {
                suspected.entry(&suspect.commit.sha).or_default().push((event, suspect.probability));
            }
        }
        let pairs = data.map_or_else(Pairs::default, |data| Pairs::new(data, catalog));
        Commits { catalog, data, pairs, runs, suspected }
    }

    /// The commits that have a page, newest first.
    fn all(&self) -> Vec<Named<'_>> {
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
        Some(Since { name: data.name(a), page, headline: pieces(&headline), rows })
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
        let before = of.number.and_then(|number| number.checked_sub(1)).zip(self.data);
        before.is_some_and(|(before, data)| !data.commit(before).tags.is_empty())
    }
}

impl Named<'_> {
    /// A tag where it bears one, else seven digits.
    fn name(&self) -> String {
        let tag = self.on_line.and_then(|(_, commit)| commit.tags.first());
        tag.map_or_else(|| self.sha.get(..7).unwrap_or(self.sha).to_owned(), |tag| words::name(tag))
    }

    fn short(&self) -> &str {
        self.sha.get(..12).unwrap_or(self.sha)
    }

    /// The first line of its message.
    fn subject(&self) -> String {
        let recorded = || self.runs.iter().find_map(|run| run.commit.as_ref()).map(|commit| commit.subject.as_str());
        let subject = self.on_line.map(|(_, commit)| commit.subject.as_str()).or_else(recorded);
        shortened(subject.unwrap_or_default(), SUBJECT)
    }

    fn day(&self) -> String {
        let recorded = || self.runs.iter().find_map(|run| run.commit.as_ref()).map(|commit| commit.commit_time);
        cell::or_none(self.on_line.map(|(_, commit)| commit.commit_time).or_else(recorded), date::day)
    }

    fn tags(&self) -> String {
        self.on_line.map_or_else(String::new, |(_, commit)| words::name(&commit.tags.join(", ")))
    }
}

/// The pages of the commits that have one, and the list of them.
pub(crate) fn commits(catalog: &Catalog<'_>, data: Option<&Data>) -> Result<Vec<Page>, ReportError> {
    let commits = Commits::new(catalog, data);
    let all = commits.all();
    let mut pages = all.iter().map(|of| page(&commits, of)).collect::<Result<Vec<Page>, ReportError>>()?;
    if !pages.is_empty() {
        pages.push(list(catalog, &all)?);
    }
    Ok(pages)
}

fn page(commits: &Commits<'_, '_>, of: &Named<'_>) -> Result<Page, ReportError> {
    link::file_word("commit", of.sha)?;
    let name = of.name();
    let sinces = commits.sinces(of);
    let headline = Phrase::plain(format!("{name}: "));
    let headline = match &sinces[0] {
        Some(since) => headline.join(since.headline.clone()),
        None => headline.text(format!("{}, and nothing before it to compare with", runs(of.runs.len()))),
    };
    // What has no row is a fact above, and no section.
    let mut sections: Vec<Section> = changed("parent", &sinces[0]).into_iter().collect();
    // For a commit in the range of an event, the fact above has the counts against the release before, and leads to the rest.
    sections.extend(changed("release", &sinces[1]).filter(|_| commits.catalog.is_newest_or_release(of.sha)));
    let suspected = commits.suspected.get(of.sha).map_or(&[][..], Vec::as_slice);
    sections.extend(events_section(commits.catalog, suspected));
    sections.push(runs_section(commits.catalog, of.runs));
    sections.extend(of.on_line.map(|(place, _)| neighbours(commits, place)));
    let sheet = Sheet {
        crumb: Phrase::default().link(link::COMMIT_LIST, "Commits").text(" / ").id(of.short()),
        headline,
        lede: lede(of),
        facts: facts(commits, of, &sinces),
        sections,
        ..Sheet::default()
    };
    subject_page(commits.catalog, (link::commit(of.sha), Part::Runs, format!("Commit {name}")), None, sheet)
}

fn runs(n: usize) -> String {
    counted(n, "run", "runs")
}

/// The headline of a comparison as a phrase.
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

fn lede(of: &Named<'_>) -> Phrase {
    let branch = of.runs.iter().find_map(|run| run.commit.as_ref()?.branch.as_deref());
    let branch = branch.map_or_else(String::new, |branch| format!(", measured on {}", words::name(branch)));
    let tags = match of.tags() {
        none if none.is_empty() => String::new(),
        tags => format!(" Tags: {tags}."),
    };
    let off = if of.on_line.is_none() { " It is not on the branch that the site follows." } else { "" };
    format!("{}, committed {}{branch}.{tags}{off}", quoted_subject(&of.subject()), of.day()).into()
}

fn facts(commits: &Commits<'_, '_>, of: &Named<'_>, sinces: &[Option<Since>; 2]) -> Vec<Fact> {
    let [before, release] = sinces;
    let since = |question, since: &Option<Since>, none: &str| match since {
        Some(since) => Fact {
            question,
            answer: Phrase::default().link(since.page.clone(), since.name.clone()),
            note: since.headline.clone().text("."),
        },
        None => Fact { question, answer: number::NONE.into(), note: none.into() },
    };
    let no_release = match commits.is_after_release(of) {
        true => "It is the one above.",
        false => "No release before it was measured.",
    };
    let suspected = commits.suspected.get(of.sha).map_or(0, Vec::len);
    let (answer, note) = match suspected {
        0 => ("No event".to_owned(), "It is in the range of no change."),
        some => (counted(some, "event", "events"), "An event is a change of one or many series with one cause."),
    };
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
        Fact { question: "Suspect of", answer: answer.into(), note: note.into() },
        Fact { question: "Measured by", answer: runs(of.runs.len()).into(), note: place.into() },
    ]
}

/// The series that changed since an earlier commit, where there are any.
fn changed(id: &'static str, since: &Option<Since>) -> Option<Section> {
    let since = since.as_ref()?;
    let of_kind = |kind: Kind| since.rows.iter().filter(move |row| row.kind == kind).take(CHANGED_ROWS);
    let listed: Vec<&ComparedRow> = of_kind(Kind::Worse).chain(of_kind(Kind::Better)).collect();
    let more = since.rows.len() - listed.len();
    let tone = |row: &ComparedRow| if row.kind == Kind::Worse { Tone::Worse } else { Tone::Better };
    let glyph = |row: &ComparedRow| if row.mark[1] == "▲" { "▲" } else { "▼" };
    let all =
        Phrase::plain("Fitted levels are compared; ").link(since.page.clone(), "all series between the two").text(".");
    let section = Rows::new(format!("Series that changed since {}", since.name), listed)
        .column("Series", "full", |row| {
            Phrase::default().link(link::series(&row.id), row.name.clone()).text(format!(" {}", row.metric))
        })
        .column("Machine", "place", |row| row.machine.clone())
        .column("Verdict", "verdict", |row| Mark::new(tone(row), glyph(row), &*row.mark[2]))
        .column("Before", "n from", |row| row.before.clone())
        .column("After", "n", |row| row.after.clone())
        .column("Change", "n push", |row| Mark::new(tone(row), "", &*row.change))
        .column("95\u{202f}% interval", "n ci opt2", |row| row.interval.clone())
        .section(id, format!("Since {}", since.name), all, "")
        .unless_empty()?;
    let section = match more {
        0 => section,
        more => section.paragraph(format!("{} in the comparison.", counted(more, "more row is", "more rows are"))),
    };
    Some(section.note_equal_columns(&["Machine"]))
}

fn neighbours(commits: &Commits<'_, '_>, place: usize) -> Section {
    let line = &commits.catalog.line.commits;
    let around = place.saturating_sub(NEIGHBOURS)..(place + NEWER + 1).min(line.len());
    let name = |(at, commit): &(usize, &CommitOnLine)| {
        let short = commit.sha.get(..12).unwrap_or(&commit.sha);
        let name = match commits.catalog.commit_page(&commit.sha) {
            _ if *at == place => Phrase::default().strong("this commit"),
            page => Phrase::default().name(page, short),
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

/// The name of a commit with its tags.
fn tagged(name: Phrase, tags: String) -> Phrase {
    if tags.is_empty() { name } else { name.text(" ").strong(tags) }
}

/// The suspects of an event whose pages list it. A drift, of which no single commit is the cause, is listed at its first and last
/// commit, and while it continues only at the first: on every page of its ramp it would change all of them for as long.
fn listed_suspects(event: &Event) -> impl Iterator<Item = &Suspect> {
    let is_drift = event.kind == EventKind::Drift;
    let last = if trend_event::goes_on(event) { 0 } else { event.suspects.len().saturating_sub(1) };
    let places = event.suspects.iter().enumerate();
    places.filter(move |(place, _)| !is_drift || [0, last].contains(place)).map(|(_, suspect)| suspect)
}

/// The events of a commit, each with the probability that it is the cause, where there are any.
fn events_section(catalog: &Catalog<'_>, suspected: &[(&Event, f64)]) -> Option<Section> {
    let is_drift = suspected.iter().any(|(event, _)| event.kind == EventKind::Drift);
    let drifts = " A drift is listed at its first and last commit, or only at the first while it continues.";
    let note = "The probability that this commit is the cause, from all series together.";
    Rows::new("Events", suspected)
        .first(ROWS)
        .column("Event", "nb", |(event, _)| {
            Phrase::default().name(catalog.event_page(&event.id), words::name(&event.id))
        })
        .column("What it did", "full any", |(event, _)| trend_event::deed(event))
        .column("Probability", "n", |(event, probability)| match event.kind {
            EventKind::Change => words::probability(*probability),
            EventKind::Drift => "in the ramp".to_owned(),
            EventKind::Environment => "not the cause".to_owned(),
        })
        .column("State", "push", |(event, _)| trend_event::state(event))
        .section(
            "events",
            "Events that it may be the cause of",
            note.to_owned() + if is_drift { drifts } else { "" },
            "",
        )
        .unless_empty()
}

/// The runs of a commit, the newest first.
fn runs_section(catalog: &Catalog<'_>, runs: &[&RunHead]) -> Section {
    let is_alike = |one: &&RunHead| one.machine.id == runs[0].machine.id && outcome(one) == outcome(runs[0]);
    if runs.len() > 1 && runs.iter().all(is_alike) {
        return sentence(catalog, runs);
    }
    Rows::new("Runs of this commit, newest first", runs.iter().map(|run| (*run, outcome(run))))
        .first(ROWS)
        .column("Suite", "", |(run, _)| Phrase::default().to(catalog.run_page(&run.id), &*run.suite))
        .column("Machine", "place", |(run, _)| run.machine.name.clone())
        .column("Began, UTC", "nb push", |(run, _)| date::moment(run.timestamp))
        .column("Status", "", |(_, [status, ..])| status.clone())
        .column("Benchmarks", "n opt2", |(_, [_, measured, _])| measured.clone())
        .column("Numbers", "", |(_, [.., numbers])| numbers.clone())
        .section("runs", "Runs", "", "It has no run.")
        .note_equal_columns(&["Machine", "Status", "Benchmarks", "Numbers"])
}

/// The status of a run, how many benchmarks were measured, and the quality of its numbers.
fn outcome(run: &RunHead) -> [Phrase; 3] {
    [Mark::of_status(run.status).into(), measured(run).into(), Mark::of_run_quality(run).into()]
}

/// Runs of one machine that had the same outcome.
fn sentence(catalog: &Catalog<'_>, runs: &[&RunHead]) -> Section {
    let [status, measured, numbers] = outcome(runs[0]);
    let (first, last) = (runs[runs.len() - 1].timestamp, runs[0].timestamp);
    let note = Phrase::plain(format!("Each on {}: ", runs[0].machine.name))
        .join(status)
        .text(", benchmarks ")
        .join(measured)
        .text(", numbers ")
        .join(numbers)
        .text(format!(". The first began {}, the last {} UTC.", date::moment(first), date::moment(last)));
    let suites = runs.iter().take(ROWS).enumerate().fold(Phrase::default(), |suites, (place, run)| {
        let suites = if place > 0 { suites.text(", ") } else { suites };
        suites.to(catalog.run_page(&run.id), &*run.suite)
    });
    let section = Section::new("runs", "Runs").paragraph(note).items([suites]);
    match runs.len().saturating_sub(ROWS) {
        0 => section,
        more => section.paragraph(format!("{} not listed here.", counted(more, "more run is", "more runs are"))),
    }
}

fn list(catalog: &Catalog<'_>, all: &[Named<'_>]) -> Result<Page, ReportError> {
    let lede = Phrase::plain(format!(
        "Measured commits have a page if they are among the newest {}, the newest {} releases, or in the range of one of the newest {} \
         events. ",
        count(NEWEST),
        count(RELEASES),
        count(EVENTS)
    ));
    let lede = match catalog.is_compared() {
        true => lede.link(link::COMPARE, "Compare any two measured commits").text("."),
        false => lede,
    };
    let section = Rows::new("Commits, newest first", all)
        .first(LISTED)
        .column("Commit", "nb", |of| tagged(Phrase::default().link(link::commit(of.sha), of.short()), of.tags()))
        .column("Subject", "full any", |of| of.subject())
        .column("Committed", "nb", |of| of.day())
        .column("Runs", "n push", |of| runs(of.runs.len()))
        .section("commits", "Newest first", "", "");
    let headline = format!("{} with a page", counted(all.len(), "commit", "commits")).into();
    let sheet = Sheet { headline, lede, sections: vec![section], ..Sheet::default() };
    history_page(catalog, (link::COMMIT_LIST.to_owned(), Part::Runs, "Commits".to_owned()), sheet)
}

#[cfg(test)]
mod tests {

    use crate::sample_data;

    use super::*;
    use crate::fit::example;

    #[test]
    fn a_drift_is_listed_at_its_ends_alone() {
        let suspect =
            |place: usize| Suspect { commit: example::commit(place), probability: place as f64, measured: true };
        let places = |kind: EventKind, commits: usize| -> Vec<usize> {
            let event = Event { suspects: (0..commits).map(suspect).collect(), ..example::event(kind, 3) };
            listed_suspects(&event).map(|suspect| suspect.probability as usize).collect()
        };
        let all = |commits: usize| (0..commits).collect::<Vec<usize>>();
        assert_eq!(places(EventKind::Drift, 1), [0]);
        assert_eq!(places(EventKind::Drift, 31), [0, 30]);
        let mut goes_on = Event { suspects: (0..31).map(suspect).collect(), ..example::event(EventKind::Drift, 3) };
        goes_on.members[0].points_since = 0;
        assert_eq!(listed_suspects(&goes_on).map(|suspect| suspect.probability as usize).collect::<Vec<_>>(), [0]);
        assert_eq!(places(EventKind::Change, 31), all(31));
        assert!(places(EventKind::Drift, 0).is_empty());
    }

    #[test]
    fn runs_with_the_same_outcome_are_a_sentence() {
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

//! An event: what, how much and where; whether it is real and not the machine; which commits; what to measure next; its members.

use super::cell;
use super::event_list::{figure, in_order, interval, linked, member_tone, tone};
use super::event_multiples;
use super::frame::subject_page;
use crate::catalog::Catalog;
use crate::chart::bar;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::{Fact, Phrase};
use crate::sheet::{Cell, Rows, Section, Sheet};
use crate::text::short_benchmark;
use crate::trend::{event as trend_event, words};
use crate::{ReportError, date, link, reasons};
use sprag_model::environment::FactChange;
use sprag_model::event::{Event, EventKind, Member, NamedCommit, Suspect};
use sprag_model::ledger::scope::Scope;
use sprag_model::ledger::text;
use sprag_model::page::Page;
use sprag_model::unit::Scale;

/// The facts of the environment, the likeliest suspects, the members and the signs that are listed, of each.
const FACTS: usize = 60;
const SUSPECTS: usize = 60;
const MEMBERS: usize = 300;
const SIGNS: usize = 4;

/// The longest subject, in characters.
const SUBJECT: usize = 160;

pub(crate) fn event(catalog: &Catalog<'_>, of: &Event) -> Result<Page, ReportError> {
    link::file_word("event", &of.id)?;
    let mut sections = vec![suspects(catalog, of)];
    sections.extend(next(of));
    sections.extend([reproduce(of), members(catalog, of)]);
    sections.extend(environment(&of.facts));
    sections.extend(ledger(of));
    sections.extend(acceptance(of));
    let sheet = Sheet {
        crumb: Phrase::default().link(link::EVENT_LIST, "Events").text(" / ").id(of.id.clone()),
        headline: trend_event::title(of),
        lede: lede(of),
        facts: vec![state(catalog, of), commits(of), real(of), machine(of)],
        sections,
        ..Sheet::default()
    };
    subject_page(catalog, (&link::event(&of.id), "Events"), &format!("Event {}", of.id), None, sheet)
}

/// Where, since when, and the commit that is the cause most likely.
fn lede(of: &Event) -> Phrase {
    let place = trend_event::place(of).text(".");
    let Some((_, commit)) = trend_event::likely(of) else { return place };
    let words = if of.suspects.len() == 1 { "One commit can be the cause:" } else { "Most likely:" };
    place.then(Phrase::plain(words).then(commit).text("."))
}

fn state(catalog: &Catalog<'_>, of: &Event) -> Fact {
    let mut note = format!("Since {}", date::day(of.since));
    if let Some(lead) = trend_event::lead(of).filter(|lead| lead.points_since > 0) {
        let points = counted(lead.points_since, "point", "points");
        note += &format!("; {points} measured since in the series that moved most");
    }
    Fact::new("State", linked(trend_event::state(of), catalog).begun(), note + ".")
}

fn commits(of: &Event) -> Fact {
    let unmeasured = of.suspects.iter().filter(|one| !one.measured).count();
    let answer = match of.kind {
        EventKind::Environment => "None".to_owned(),
        _ if unmeasured == 0 => trend_event::commits(of),
        _ => format!("{}, {} not measured", trend_event::commits(of), count(unmeasured)),
    };
    Fact::new("Suspects", answer, trend_event::range(of).begun().text("."))
}

fn real(of: &Event) -> Fact {
    let answer: Phrase = match of.sure {
        true => "Significant".into(),
        false => Mark::new(Tone::Doubt, "?", "May be chance").into(),
    };
    let chance = Phrase::plain(words::chance(of.false_discovery)).begun();
    let moved = of.members.len();
    let measured = counted(of.measured_series.max(moved), "series", "series");
    Fact::new("Is it real?", answer, chance.text(format!(". {} of {measured} measured there moved.", count(moved))))
}

fn machine(of: &Event) -> Fact {
    let mut note: Vec<String> = of.machine_signs.iter().take(SIGNS).map(|sign| words::sentence(sign)).collect();
    if !of.facts.is_empty() {
        let facts = counted(of.facts.len(), "fact of the environment", "facts of the environment");
        note.push(format!("{facts} changed there."));
    }
    let answer: Phrase = match (of.kind, note.is_empty()) {
        (EventKind::Environment, _) => Mark::new(Tone::Environment, "◇", "Yes").into(),
        (_, false) => Mark::new(Tone::Doubt, "?", "It may be").into(),
        (_, true) => "No sign of it".into(),
    };
    if note.is_empty() {
        note.push("No fact of the environment changed there, and nothing else points to the machine.".to_owned());
    }
    Fact::new("Is it the machine?", answer, note.join(" "))
}

struct SuspectRow<'e> {
    role: Mark,
    commit: &'e NamedCommit,
    measured: bool,
    probability: Option<f64>,
    is_likeliest: bool,
}

impl<'e> SuspectRow<'e> {
    fn new(role: Mark, commit: &'e NamedCommit, measured: bool) -> SuspectRow<'e> {
        SuspectRow { role, commit, measured, probability: None, is_likeliest: false }
    }
}

/// The commits of the range of an event: the likeliest causes, or where no single one is the cause the ends of the range.
fn suspects(catalog: &Catalog<'_>, of: &Event) -> Section {
    let is_change = of.kind == EventKind::Change;
    let (between, rest) = if is_change { likeliest(of) } else { ends(catalog, of) };
    let plain = |word: &str| Mark::new(Tone::Plain, "=", word);
    let good = of.last_good.iter().map(|good| SuspectRow::new(plain("last good"), good, true));
    let is_suspect = of.suspects.iter().any(|one| one.commit.sha == of.first_bad.sha);
    let bad = (!is_suspect).then(|| SuspectRow::new(plain("first bad"), &of.first_bad, true));
    let note = match of.kind {
        EventKind::Change if of.next.is_none() && of.suspects.len() > 1 => {
            "The probability that a commit is the cause, from all series together. No unmeasured commit is left that would narrow it down."
        }
        EventKind::Change => "The probability that a commit is the cause, from all series together.",
        EventKind::Drift => "The level moved evenly over these commits. No single commit is the cause.",
        EventKind::Environment => "The environment changed between these commits. No commit is the cause.",
    };
    let is_worse = tone(of) == Tone::Worse;
    let day = |row: &SuspectRow<'_>| {
        let on_line = catalog.position(&row.commit.sha).and_then(|place| catalog.line.commits.get(place));
        on_line.map_or(String::new(), |commit| date::day(commit.commit_time))
    };
    let mut rows = Rows::new("Commits in and around the range, oldest first", good.chain(between).chain(bad))
        .column("Role", "", |row| row.role.clone())
        .column("Commit", "nb", |row| {
            Phrase::page_name(catalog.commit_place(&row.commit.sha), words::name(row.commit.short()))
        })
        .column("Subject", "full any", |row| crate::text::shortened(&row.commit.subject, SUBJECT))
        .column("Date", "nb opt", day)
        .column("Runs", "", |row| match row.measured {
            true => Mark::new(Tone::Plain, "●", "measured"),
            false => Mark::new(Tone::Plain, "○", "not measured"),
        });
    if is_change {
        rows = rows
            .column("Drawn", "g opt2", |row| {
                let bar = |one| bar::draw(one, row.is_likeliest && is_worse, &words::probability(one));
                Cell::Drawn(row.probability.map_or(String::new(), bar))
            })
            .column("Probability", "n push", |row| match row.probability {
                Some(one) if row.is_likeliest => Phrase::default().strong(words::probability(one)),
                one => cell::or_none(one, words::probability).into(),
            });
    }
    let heading = if is_change { "Which commit" } else { "Between which commits" };
    rows.tint(|row| row.is_likeliest && is_worse).section("which", heading, note, "").paragraph(rest)
}

/// The likeliest suspects in their order, and what is left out.
fn likeliest(of: &Event) -> (Vec<SuspectRow<'_>>, Phrase) {
    let mut by_probability: Vec<(usize, &Suspect)> = of.suspects.iter().enumerate().collect();
    by_probability.sort_by(|a, b| b.1.probability.total_cmp(&a.1.probability).then(a.0.cmp(&b.0)));
    let left_out: f64 = by_probability.iter().skip(SUSPECTS).map(|(_, one)| one.probability).sum();
    let more = by_probability.len().saturating_sub(SUSPECTS);
    // Where two are as likely as each other, neither stands out.
    let likeliest = match by_probability.as_slice() {
        [(_, first), (_, second), ..] if first.probability > second.probability => Some(&first.commit.sha),
        _ => None,
    };
    by_probability.truncate(SUSPECTS);
    by_probability.sort_by_key(|(place, _)| *place);
    let rows = by_probability.iter().map(|(_, one)| SuspectRow {
        probability: Some(one.probability),
        is_likeliest: likeliest == Some(&one.commit.sha),
        ..SuspectRow::new(Mark::new(Tone::Doubt, "?", "suspect"), &one.commit, one.measured)
    });
    let rest = match more {
        0 => String::new(),
        more => format!("{} more are not listed here, {} together.", count(more), words::probability(left_out)),
    };
    (rows.collect(), rest.into())
}

/// The first and the last commit of a range of which none is the cause, and how many are between.
fn ends<'e>(catalog: &Catalog<'_>, of: &'e Event) -> (Vec<SuspectRow<'e>>, Phrase) {
    let row = |one: &'e Suspect, drift: &str| {
        let role = match of.kind {
            EventKind::Drift => Mark::new(Tone::Doubt, "↗", drift),
            EventKind::Change | EventKind::Environment => Mark::new(Tone::Environment, "◇", "in the range"),
        };
        SuspectRow::new(role, &one.commit, one.measured)
    };
    let (rows, between) = match of.suspects.as_slice() {
        [] => (Vec::new(), [].as_slice()),
        [one] => (vec![row(one, "in the ramp")], [].as_slice()),
        [first, between @ .., last] => {
            let end = if trend_event::goes_on(of) { "newest of the ramp" } else { "ramp ends" };
            (vec![row(first, "ramp begins"), row(last, end)], between)
        }
    };
    let measured = between.iter().filter(|one| one.measured).count();
    let mut rest = Phrase::default();
    if !between.is_empty() {
        let more = counted(between.len(), "more commit is between", "more commits are between");
        rest = rest.text(format!("{more}, {} measured.", count(measured)));
    }
    let both = of.last_good.as_ref().map(|good| [&good.sha, &of.first_bad.sha]);
    if let Some([good, bad]) = both.filter(|both| both.iter().all(|sha| catalog.compared_number(sha).is_some())) {
        rest = rest.then(Phrase::default().link(link::compared(good, bad), "Compare both sides").text("."));
    }
    (rows, rest)
}

fn next(of: &Event) -> Option<Section> {
    let next = of.next.as_ref()?;
    let step = Phrase::plain("To narrow it down, ").join(trend_event::step(of, next)).text(".");
    let section = Section::new("next", "Next").paragraph(step).half();
    Some(match words::shell_line(&next.command) {
        Some(line) => section.commands(vec![line]),
        None => section.paragraph(format!("No command to paste: {}.", trend_event::without_command(&next.command))),
    })
}

/// Commands that compare both sides: by their records, and by measuring both interleaved.
fn reproduce(of: &Event) -> Section {
    let section = Section::new("reproduce", "Reproduce");
    let section = if of.next.is_some() { section.half() } else { section };
    let Some((good, lead)) = of.last_good.as_ref().zip(trend_event::lead(of)) else {
        return section.paragraph("No commit before it is known to be good, so there is nothing to compare with.");
    };
    let short = |sha: &str| sha.get(..12).unwrap_or(sha).to_owned();
    let suite = ["--suite".to_owned(), lead.suite.clone()];
    let mut compare = vec!["sprag".to_owned(), "compare".to_owned(), short(&good.sha), short(&of.first_bad.sha)];
    compare.extend(suite);
    let mut measure = compare.clone();
    measure.extend(["--measure".to_owned(), "--filter".to_owned(), lead.benchmark.clone()]);
    let lines: Vec<String> = [compare, measure].iter().filter_map(|words| words::shell_line(words)).collect();
    if lines.is_empty() {
        return section.paragraph("No command to paste: it would hold a name that is not safe to paste.");
    }
    let note = Phrase::plain("Compares the records of both sides. With ")
        .id("--measure")
        .text(" (kinds cpu and command), builds both and measures them interleaved.");
    section.paragraph(note).commands(lines)
}

fn members(catalog: &Catalog<'_>, of: &Event) -> Section {
    let section = Section::new("members", format!("What moved: {}", counted(of.members.len(), "series", "series")));
    let (note, pictures) = event_multiples::multiples(catalog, of);
    let first: Vec<&Member> = in_order(of).into_iter().take(MEMBERS).collect();
    let metric_of = |member: &&Member| (member.metric.clone(), Some(member.before.value));
    let detectable = |member: &Member| {
        cell::or_none(catalog.series_trend(&member.series).and_then(|one| one.detectable), number::detectable)
    };
    let rows = Rows::grouped(
        "Series of the event, those that moved most first",
        cell::by_metric(first, metric_of, cell::metric_words),
    )
    .column("Series", "full", |(_, member): &(Scale, &Member)| {
        let name = words::name(short_benchmark(&member.benchmark));
        Phrase::page_name(catalog.series_page(&member.series), name)
    })
    .column("Machine", "place", |(_, member)| words::name(&member.machine.name))
    .column("Before", "n from", |(scale, member)| number::value(*scale, member.before.value))
    .column("After", "n", |(scale, member)| number::value(*scale, member.after.value))
    .column("Change", "n push", |(_, member)| cell::tinted(member_tone(of, member), figure(member.relative.as_ref())))
    .column("95\u{202f}% interval", "n opt2", |(_, member)| interval(member.relative.as_ref()))
    .column("Detectable", "n opt", |(_, member)| detectable(member))
    .column("Points since", "n opt", |(_, member)| count(member.points_since))
    .column("State", "", |(_, member)| match (member.standing, member.held) {
        (false, _) => Mark::new(Tone::Plain, "=", "gone"),
        (true, true) => Mark::new(Tone::Doubt, "?", "from an earlier analysis"),
        (true, false) => Mark::new(Tone::Plain, "●", "present"),
    });
    let rest = match of.members.len().saturating_sub(MEMBERS) {
        0 => String::new(),
        more => format!(" {} more are not listed here.", count(more)),
    };
    section.paragraph(note).drawn(pictures).rows(rows).paragraph(format!(
        "Detectable: the minimum detectable effect, which eight points after it would show in 8 of 10 cases, rounded up.{rest}"
    ))
}

fn environment(facts: &[FactChange]) -> Option<Section> {
    Rows::new("Facts of the environment before and after", facts)
        .first(FACTS)
        .column("Fact", "", |one| cell::fact(&one.fact))
        .column("Was", "from any", |one| Phrase::code(words::name(&one.was)))
        .column("Is", "any", |one| Phrase::code(words::name(&one.is)))
        .section("environment", "What changed in the environment", "", "")
        .unless_empty()
}

fn ledger(of: &Event) -> Option<Section> {
    let words = reasons::acceptance(of.answer.as_ref()?).text(". ").link(link::LEDGER, "All of the ledger").text(".");
    Some(Section::new("accepted", "In the ledger").paragraph(words))
}

/// The entry of the ledger that accepts an open regression, with what only a person can say left empty.
fn acceptance(of: &Event) -> Option<Section> {
    if !of.is_open_regression() {
        return None;
    }
    let section = Section::new("accept", "Accept it instead");
    let Some(worst) = of.worst_ongoing() else {
        return Some(section.paragraph("A level of it was zero before, so no relative change can be accepted."));
    };
    // The newest commit would be another one with each run, and the page with it: a drift that goes on is named by its first.
    let begin = of.suspects.first().filter(|_| trend_event::goes_on(of)).map_or(&of.first_bad, |first| &first.commit);
    let note = Phrase::plain("If the cost is wanted, put this into a file of ")
        .id("ledger/")
        .text(", fill the empty fields (days as ")
        .id("2026-12-31")
        .text("), and have it reviewed. ")
        .id(format!("sprag release waive --event {} --reason TEXT", of.id))
        .text(" writes it, too.");
    let lines = text::acceptance_to_fill(&of.id, Scope::EVENT, text::rounded_up(worst), &begin.sha);
    Some(section.paragraph(note).commands(lines))
}

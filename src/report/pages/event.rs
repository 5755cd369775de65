//! An event: what, how much and where; whether it is real and not the machine; which commits; what to measure next; its members.

use std::collections::BTreeSet;

use askama::Template;

use super::event_list::{figure, in_order, interval, linked, member_tone, tone};
use super::frame::prelude::*;
use crate::chart::bar;
use crate::chart::mini::{self, Mini};
use crate::fit::Fit;
use crate::reasons;
use crate::text::commit_digits;
use crate::trend::{event as trend_event, words};
use sprag_base::stats::describe;
use sprag_model::ledger::text;
use sprag_model::{Event, EventKind, FactChange, Member, NamedCommit, PooledPoint, RunHead, Scale, Scope, Suspect};

/// The facts of the environment, the likeliest suspects, the members and the signs that are listed, of each.
const FACTS: usize = 60;
const SUSPECTS: usize = 60;
const MEMBERS: usize = 300;
const SIGNS: usize = 4;

/// The suites that are measured by a command of their own.
const SUITES: usize = 4;

/// The longest subject and name of an author, in characters.
const SUBJECT: usize = 160;
const AUTHOR: usize = 80;

pub(crate) fn event(catalog: &Catalog<'_>, of: &Event) -> Result<Page, ReportError> {
    link::file_word("event", &of.id)?;
    let sections = [
        Some(suspects(catalog, of)),
        super::bisection::bisection(catalog, of),
        next(of),
        Some(reproduce(catalog, of)),
        Some(members(catalog, of)),
        environment(&of.facts),
        ledger(of),
        acceptance(of),
    ];
    let sheet = Sheet {
        crumb: Phrase::linked(link::EVENT_LIST, "Events").text(" / ").id(of.id.clone()),
        headline: trend_event::sentence(of),
        lede: lede(of),
        facts: vec![state(catalog, of), commits(of), real(of), machine(of)],
        sections: sections.into_iter().flatten().collect(),
        ..Sheet::default()
    };
    let title = format!("{} ({})", sheet.headline.words(), of.id);
    let is_of =
        |run: &&RunHead| of.members.iter().any(|it| (&it.suite, &it.machine.id) == (&run.suite, &run.machine.id));
    let newest = catalog.runs.iter().copied().find(is_of);
    subject_page(catalog, (&link::event(&of.id), "Events"), &title, newest, sheet)
}

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
        let since = if of.kind == EventKind::Drift { "after the ramp" } else { "since" };
        note += &format!("; {points} measured {since} in the series that moved most");
    }
    Fact::new("State", linked(trend_event::state(of), catalog).begun(), note + ".")
}

fn commits(of: &Event) -> Fact {
    let unmeasured = of.suspects.iter().filter(|one| !one.measured).count();
    let answer = match of.kind {
        EventKind::Environment | EventKind::Bimodal | EventKind::Unstable => "None".to_owned(),
        _ if unmeasured == 0 => trend_event::commits(of),
        _ => format!("{}, {} not measured", trend_event::commits(of), count(unmeasured)),
    };
    Fact::new("Suspects", answer, trend_event::range(of).begun().text("."))
}

fn real(of: &Event) -> Fact {
    let doubt = || Mark::new(Tone::Doubt, "?", "May be chance").into();
    let answer: Phrase = if of.sure { "Significant".into() } else { doubt() };
    let chance = Phrase::plain(words::chance(of.false_discovery)).begun();
    let (moved, measured) = (count(of.members.len()), count(of.measured_series.max(of.members.len())));
    Fact::new("Is it real?", answer, chance.text(format!(". {moved} of {measured} series measured there moved.")))
}

fn machine(of: &Event) -> Fact {
    let mut signs: Vec<String> = of.machine_signs.iter().take(SIGNS).map(|sign| words::sentence(sign)).collect();
    if !of.facts.is_empty() {
        let facts = counted(of.facts.len(), "fact of the environment", "facts of the environment");
        signs.push(format!("{facts} changed there."));
    }
    let answer: Phrase = match (of.kind, signs.is_empty()) {
        (EventKind::Environment, _) => Mark::new(Tone::Environment, "◇", "Yes").into(),
        (_, false) => Mark::new(Tone::Doubt, "?", "It may be").into(),
        (_, true) => "No sign of it".into(),
    };
    let none = "No fact of the environment changed there, and nothing else points to the machine.";
    Fact::new("Is it the machine?", answer, if signs.is_empty() { none.to_owned() } else { signs.join(" ") })
}

struct SuspectRow<'e> {
    role: Mark,
    commit: &'e NamedCommit,
    measured: bool,
    probability: Option<f64>,
    is_likeliest: bool,
}

fn row(role: Mark, commit: &NamedCommit, measured: bool) -> SuspectRow<'_> {
    SuspectRow { role, commit, measured, probability: None, is_likeliest: false }
}

/// The commits of the range: the likeliest causes, or where no single one is the cause the ends of the range.
fn suspects(catalog: &Catalog<'_>, of: &Event) -> Section {
    let is_change = of.kind == EventKind::Change;
    let (between, rest) = if is_change { likeliest(of) } else { ends(of) };
    let rest = rest.then(both_sides(catalog, of));
    let plain = |word: &str| Mark::new(Tone::Plain, "=", word);
    let last = if of.kind.alternates() { "before" } else { "last good" };
    let good = of.last_good.iter().map(|good| row(plain(last), good, true));
    let is_suspect = of.suspects.iter().any(|one| one.commit.sha == of.first_bad.sha);
    let bad = (!is_suspect).then(|| row(plain("first bad"), &of.first_bad, true));
    let note = match of.kind {
        EventKind::Change => "The probability that a commit is the cause, from all series together.",
        EventKind::Drift => "The level moved evenly over these commits. No single commit is the cause.",
        EventKind::Bimodal => "The series alternates between two levels over these commits. No commit is the cause.",
        EventKind::Unstable => "The series goes up and down over these commits. No commit is the cause.",
        EventKind::Environment => "The environment changed between these commits. No commit is the cause.",
    };
    let is_final = is_change && of.next.is_none() && of.suspects.len() > 1;
    let final_note = if is_final { " No unmeasured commit is left that would narrow it down." } else { "" };
    let note = format!("{note}{final_note}");
    let is_worse = tone(of) == Tone::Worse;
    let on_line = |row: &SuspectRow<'_>| catalog.line.commits.get(catalog.position(&row.commit.sha)?);
    let day = |row: &SuspectRow<'_>| on_line(row).map_or(String::new(), |commit| date::day(commit.commit_time));
    let author = |row: &SuspectRow<'_>| on_line(row).map_or(String::new(), |commit| shortened(&commit.author, AUTHOR));
    let mut rows = Rows::new("Commits in and around the range, oldest first", good.chain(between).chain(bad))
        .column("Role", "", |row| row.role.clone())
        .column("Commit", "nb", |one| {
            Phrase::page_name(catalog.commit_place(&one.commit.sha), words::name(one.commit.short()))
        })
        .column("Subject", "full any", |row| {
            let subject = Phrase::plain(shortened(&row.commit.subject, SUBJECT));
            let diff = catalog.forge(&row.commit.sha);
            if diff.is_some() { subject.text(" ").outside(diff, "diff") } else { subject }
        })
        .column("Author", "any opt", author)
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
                one => or_none(one, words::probability).into(),
            });
    }
    let heading = if is_change { "Which commit" } else { "Between which commits" };
    rows.tint(|row| row.is_likeliest && is_worse).section("which", heading, note, "").paragraph(rest)
}

fn likeliest(of: &Event) -> (Vec<SuspectRow<'_>>, Phrase) {
    let mut by_probability: Vec<(usize, &Suspect)> = of.suspects.iter().enumerate().collect();
    by_probability.sort_by(|a, b| b.1.probability.total_cmp(&a.1.probability).then(a.0.cmp(&b.0)));
    let left_out: f64 = by_probability.iter().skip(SUSPECTS).map(|(_, one)| one.probability).sum();
    let likeliest = match by_probability.as_slice() {
        [(_, first), (_, second), ..] if first.probability > second.probability => Some(&first.commit.sha),
        _ => None,
    };
    by_probability.truncate(SUSPECTS);
    by_probability.sort_by_key(|(place, _)| *place);
    let rows = by_probability.iter().map(|(_, one)| SuspectRow {
        probability: Some(one.probability),
        is_likeliest: likeliest == Some(&one.commit.sha),
        ..row(Mark::new(Tone::Doubt, "?", "suspect"), &one.commit, one.measured)
    });
    let rest = format!("more are not listed here, {} together.", words::probability(left_out));
    (rows.collect(), number::beyond(of.suspects.len(), SUSPECTS, &rest).into())
}

fn ends<'e>(of: &'e Event) -> (Vec<SuspectRow<'e>>, Phrase) {
    let end = |one: &'e Suspect, drift: &str| {
        let role = match of.kind {
            EventKind::Drift => Mark::new(Tone::Doubt, "↗", drift),
            EventKind::Bimodal | EventKind::Unstable => Mark::new(Tone::Doubt, "⇅", "in the range"),
            EventKind::Change | EventKind::Environment => Mark::new(Tone::Environment, "◇", "in the range"),
        };
        row(role, &one.commit, one.measured)
    };
    let last_end = if trend_event::goes_on(of) { "newest of the ramp" } else { "ramp ends" };
    let (rows, between) = match of.suspects.as_slice() {
        [] => (Vec::new(), [].as_slice()),
        [one] => (vec![end(one, "in the ramp")], [].as_slice()),
        [first, between @ .., last] => (vec![end(first, "ramp begins"), end(last, last_end)], between),
    };
    let measured = between.iter().filter(|one| one.measured).count();
    let mut rest = Phrase::default();
    if !between.is_empty() {
        let more = counted(between.len(), "more commit is between", "more commits are between");
        rest = rest.text(format!("{more}, {} measured.", count(measured)));
    }
    (rows, rest)
}

/// A link to the comparison of the last commit before the event with the first at its new level.
fn both_sides(catalog: &Catalog<'_>, of: &Event) -> Phrase {
    let bad = catalog.compared_number(&of.first_bad.sha);
    let good = good(catalog, of).and_then(|sha| catalog.compared_number(sha));
    let commits = catalog.compared();
    let Some((good, bad)) = good.zip(bad) else { return Phrase::default() };
    Phrase::linked(link::compared(&commits[good].sha, &commits[bad].sha), "Compare both sides").text(".")
}

/// The last commit before an event; where none is certainly good, the one measured before it.
fn good<'c>(catalog: &'c Catalog<'_>, of: &'c Event) -> Option<&'c str> {
    let before = || catalog.compared_number(&of.first_bad.sha)?.checked_sub(1);
    of.last_good.as_ref().map(|good| &*good.sha).or_else(|| Some(&*catalog.compared()[before()?].sha))
}

fn next(of: &Event) -> Option<Section> {
    let next = of.next.as_ref()?;
    let step = Phrase::plain("To narrow it down, ").join(trend_event::step(of, next)).text(".");
    let section = Section::new("next", "Next").paragraph(step).half();
    Some(match words::shell_line(&next.command) {
        Some(line) => match trend_event::bisection(of, next) {
            Some(bisect) => section
                .commands(vec![line])
                .paragraph("Or measure commits until one is certain:")
                .commands(vec![bisect]),
            None => section.commands(vec![line]),
        },
        None => section.paragraph(format!("No command to paste: {}.", trend_event::without_command(&next.command))),
    })
}

/// Commands that compare the records of both sides, or measure both interleaved: each suite that moved by the benchmark that moved
/// most in it.
fn reproduce(catalog: &Catalog<'_>, of: &Event) -> Section {
    let section = Section::new("reproduce", "Reproduce");
    let section = if of.next.is_some() { section.half() } else { section };
    let mut leads: Vec<&Member> = in_order(of);
    let mut seen = BTreeSet::new();
    leads.retain(|one| seen.insert(&one.suite));
    if of.kind.alternates() {
        return section.paragraph("Its levels occur on both sides, so a comparison of two commits decides nothing.");
    }
    let Some(good) = good(catalog, of).filter(|_| !leads.is_empty()) else {
        return section.paragraph("Without a series, or a commit measured before it, there is nothing to compare.");
    };
    let (good, bad) = (commit_digits(good), commit_digits(&of.first_bad.sha));
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let sides = ["sprag", "compare", good, bad];
    let compare = leads.iter().fold(words(&sides), |line, one| [line, words(&["--suite", &one.suite])].concat());
    let measure = leads
        .iter()
        .take(SUITES)
        .map(|one| [words(&sides), words(&["--suite", &one.suite, "--measure", "--filter", &one.benchmark])].concat());
    let show = match of.suspects.as_slice() {
        [only] if of.kind == EventKind::Change => words(&["git", "show", commit_digits(&only.commit.sha)]),
        _ => words(&["git", "log", "--patch", &format!("{good}..{bad}")]),
    };
    let steps = [
        ("Compare the records of both sides:", vec![compare]),
        ("Build both sides and measure them interleaved (kinds cpu and command):", measure.collect()),
        ("Show what changed:", vec![show]),
    ];
    steps.into_iter().fold(section, |section, (note, lines)| {
        match lines.iter().map(|line| words::shell_line(line)).collect::<Option<Vec<String>>>() {
            Some(lines) => section.paragraph(note).commands(lines),
            None => section.paragraph("No command to paste: it would hold a name that is not safe to paste."),
        }
    })
}

fn members(catalog: &Catalog<'_>, of: &Event) -> Section {
    let section = Section::new("members", format!("What moved: {}", counted(of.members.len(), "series", "series")));
    let (note, pictures) = multiples(catalog, of);
    let first: Vec<&Member> = in_order(of).into_iter().take(MEMBERS).collect();
    let metric_of = |member: &&Member| (member.metric.clone(), Some(member.before.value));
    let detectable = |member: &Member| {
        let detectable = catalog.series_trend(&member.series).and_then(|one| one.detectable);
        let change = member.relative.map(|relative| relative.value);
        or_none(cell::without_contradiction(detectable, change), number::detectable)
    };
    let name = |(_, member): &(Scale, &Member)| {
        Phrase::page_name(catalog.series_page(&member.series), words::name(&short_benchmark(&member.benchmark)))
    };
    let change = |member: &Member| cell::tinted(member_tone(of, member), figure(member.relative.as_ref()));
    let groups = cell::by_metric(first, metric_of, cell::metric_words);
    let rows = Rows::grouped("Series of the event, those that moved most first", groups)
        .column("Series", "full", name)
        .column("Machine", "place", |(_, member)| place_of(of, member))
        .column("Before", "n from", |(scale, member)| number::value(*scale, member.before.value))
        .column("After", "n", |(scale, member)| number::value(*scale, member.after.value))
        .column("Change", "n push", |(_, member)| change(member))
        .column("95\u{202f}% interval", "n opt2", |(_, member)| interval(member.relative.as_ref()))
        .column("Detectable", "n opt", |(_, member)| detectable(member))
        .column(if of.kind == EventKind::Drift { "Points after" } else { "Points since" }, "n opt", |(_, member)| {
            count(member.points_since)
        })
        .column("State", "", |(_, member)| match (member.is_present, member.is_carried) {
            (false, _) => Mark::new(Tone::Plain, "=", "gone"),
            (true, true) => Mark::new(Tone::Doubt, "?", "from an earlier analysis"),
            (true, false) => Mark::new(Tone::Plain, "●", "present"),
        });
    let detectable = "Detectable: the minimum detectable effect, which eight points after it would show in 8 of 10 cases, rounded up. ";
    let rest = number::beyond(of.members.len(), MEMBERS, "more are not listed here.");
    section.paragraph(note).drawn(pictures).rows(rows).paragraph((detectable.to_owned() + &rest).trim_end())
}

/// The machine of a member, behind its suite where others are of another one.
fn place_of(of: &Event, member: &Member) -> String {
    let machine = words::name(&member.machine.name);
    let is_one = of.members.iter().all(|one| one.suite == member.suite);
    if is_one { machine } else { format!("{}, {machine}", words::name(&member.suite)) }
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

/// The entry of the ledger that accepts an open regression, with the fields that only a person can fill left empty.
fn acceptance(of: &Event) -> Option<Section> {
    if !of.is_open_regression() {
        return None;
    }
    let section = Section::new("accept", "Accept it instead");
    let Some(worst) = of.worst_ongoing() else {
        return Some(section.paragraph("A level of it was zero before, so no relative change can be accepted."));
    };
    // A drift that goes on is named by its first commit, because its last one changes with each run.
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

const DRAWN: usize = 12;

/// A picture has about this many dots; of more points several share one.
const DOTS: usize = 50;

/// At least the range of an event over this is shown on each side of it.
const MARGIN: usize = 8;

#[derive(Template)]
#[template(path = "partials/multiples.html")]
struct Multiples {
    multiples: Vec<Multiple>,
}

struct Multiple {
    series: Phrase,
    machine: String,
    chart: String,
}

/// The small pictures of the first members, and what they show.
fn multiples(catalog: &Catalog<'_>, of: &Event) -> (String, String) {
    let moved = in_order(of).into_iter().filter(|member| member.relative.is_some());
    let fitted = moved.filter_map(|member| Some((member, catalog.fit(&member.series)?)));
    let drawn: Vec<(&Member, Fit<'_>)> = fitted.filter(|(_, fit)| !fit.series.pooled.is_empty()).take(DRAWN).collect();
    let Some((_, first)) = drawn.first() else { return (String::new(), String::new()) };
    let all: Vec<f64> = first.series.pooled.iter().map(|point| place(catalog, point)).collect();
    let places = window(&all, bounds(catalog, of));
    let multiple = |(member, fit): &(&Member, Fit<'_>)| {
        let name = words::name(&short_benchmark(&member.benchmark));
        let series = Phrase::default().name(catalog.series_page(&member.series), name);
        (series, place_of(of, member), mini(catalog, of, member, fit, places))
    };
    let (dots, pictures) = draw_multiples(drawn.iter().map(multiple).collect(), places);
    let shown = match of.members.len() {
        all if all == drawn.len() => String::new(),
        all => format!(" The first {} of {} are drawn.", drawn.len(), counted(all, "series", "series")),
    };
    let band = match of.kind {
        EventKind::Drift => "the ramp",
        EventKind::Bimodal | EventKind::Unstable => "where it alternates",
        EventKind::Change | EventKind::Environment => "the commits between good and bad",
    };
    let note = format!(
        "Change against the level before, one scale for all. Each dot is the median of {dots}; lines are levels; the tinted band is \
         {band}.{shown}"
    );
    (note, pictures)
}

/// Draws series on one scale, each with its name and machine; how many commits a dot is of, and the pictures.
pub(super) fn draw_multiples(drawn: Vec<(Phrase, String, Mini)>, places: (f64, f64)) -> (String, String) {
    let (names, mut minis): (Vec<(Phrase, String)>, Vec<Mini>) =
        drawn.into_iter().map(|(series, machine, mini)| ((series, machine), mini)).unzip();
    let several = minis.iter_mut().map(pool).max().unwrap_or(1);
    let scale = mini::scale(&minis, places);
    let multiple =
        |((series, machine), mini): (_, &Mini)| Multiple { series, machine, chart: mini::draw(mini, &scale) };
    let pictures = Multiples { multiples: names.into_iter().zip(&minis).map(multiple).collect() };
    let dots = if several == 1 { "one commit".to_owned() } else { format!("up to {several} commits") };
    // Only a formatter that fails could fail.
    (dots, pictures.render().unwrap_or_default())
}

/// The place of a point: that of its commit on the line, else on the axis of its machine.
pub(super) fn place(catalog: &Catalog<'_>, point: &PooledPoint) -> f64 {
    let is_there = catalog.line.commits.get(point.place).is_some_and(|commit| *commit.sha == *point.commit);
    let place = if is_there { point.place } else { catalog.position(&point.commit).unwrap_or(point.place) };
    place as f64
}

/// The places of the last commit before the event and of its first.
fn bounds(catalog: &Catalog<'_>, of: &Event) -> (f64, f64) {
    let at = |sha: &str| catalog.position(sha).map(|place| place as f64);
    let bad = at(&of.first_bad.sha).unwrap_or(0.0);
    let before = of.last_good.as_ref().and_then(|good| at(&good.sha));
    let first = of.suspects.first().and_then(|one| at(&one.commit.sha));
    (before.or(first).unwrap_or(bad).min(bad), bad)
}

/// The places that all pictures show: the range of the event with some on both sides, or as many as have a dot each.
pub(super) fn window(places: &[f64], (good, bad): (f64, f64)) -> (f64, f64) {
    let begin = places.partition_point(|place| *place <= good);
    let end = places.partition_point(|place| *place < bad).max(begin);
    let margin = (DOTS.saturating_sub(end - begin) / 2).max((end - begin) / MARGIN);
    let shown = end - begin + 2 * margin;
    let last = (begin.saturating_sub(margin) + shown).min(places.len());
    let first = last.saturating_sub(shown);
    (places[first], places[last - 1].max(places[first] + 1.0))
}

/// Lets points share a dot where there are many; returns how many do.
fn pool(mini: &mut Mini) -> usize {
    let several = (mini.dots.len() / DOTS).max(1);
    let dot = |points: &[(f64, f64)]| {
        let values: Vec<f64> = points.iter().map(|point| point.1).collect();
        let (first, last) = (points.first()?.0, points.last()?.0);
        Some((f64::midpoint(first, last), describe::median(&values)?))
    };
    if several > 1 {
        mini.dots = mini.dots.chunks(several).filter_map(dot).collect();
    }
    several
}

fn mini(catalog: &Catalog<'_>, of: &Event, member: &Member, fit: &Fit<'_>, places: (f64, f64)) -> Mini {
    let name = format!("{} on {}", words::name(&member.benchmark), member.machine.name);
    let moves = match of.kind {
        EventKind::Drift => "drifts by",
        EventKind::Bimodal | EventKind::Unstable => "alternates by",
        EventKind::Change | EventKind::Environment => "changes by",
    };
    Mini {
        suspects: bounds(catalog, of),
        at: catalog.position(&member.at.sha).map_or(-1.0, |place| place as f64),
        tone: member_tone(of, member),
        label: format!("{name} {moves} {} at {}", figure(member.relative.as_ref()), words::name(member.at.short())),
        ..against(catalog, fit, member.before.value, places)
    }
}

/// The points of a series in a range of places and its levels, as shares of a level, without a mark.
pub(super) fn against(catalog: &Catalog<'_>, fit: &Fit<'_>, level: f64, places: (f64, f64)) -> Mini {
    let points: Vec<(f64, f64)> =
        fit.series.pooled.iter().map(|point| (place(catalog, point), point.value / level)).collect();
    let at = |index: usize| points[index.min(points.len() - 1)].0;
    let levels = fit
        .pieces()
        .into_iter()
        .map(|piece| [(at(piece.points.start), piece.from / level), (at(piece.points.end), piece.to / level)]);
    Mini {
        levels: levels.collect(),
        dots: points.iter().copied().filter(|(at, _)| (places.0..=places.1).contains(at)).collect(),
        suspects: (0.0, 0.0),
        at: -1.0,
        tone: Tone::Plain,
        label: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::Tone;

    #[test]
    fn all_of_the_range_of_an_event_is_shown_with_a_bit_on_both_sides() {
        for (points, range, expected) in [
            (30, (9.0, 10.0), (0.0, 29.0)),
            (1000, (499.0, 500.0), (475.0, 524.0)),
            (1000, (989.0, 990.0), (950.0, 999.0)),
            (2000, (499.0, 1500.0), (375.0, 1624.0)),
            (2000, (0.0, 1999.0), (0.0, 1999.0)),
            (1, (5.0, 9.0), (0.0, 1.0)),
        ] {
            let places: Vec<f64> = (0..points).map(f64::from).collect();
            assert_eq!(window(&places, range), expected, "{points} points, {range:?}");
        }
    }

    #[test]
    fn many_points_share_dots() {
        let dots = (0..1250).map(|i| (f64::from(i), 1.0 + f64::from(i) / 1000.0)).collect();
        let mut mini =
            Mini { dots, levels: Vec::new(), suspects: (0.0, 0.0), at: 0.0, tone: Tone::Plain, label: String::new() };
        assert_eq!(pool(&mut mini), 25);
        assert_eq!((mini.dots.len(), mini.dots[0]), (DOTS, (12.0, 1.012)));
        assert_eq!((pool(&mut mini), mini.dots.len()), (1, DOTS), "so few have a dot each");
    }
}

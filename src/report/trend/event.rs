//! One event in sentences, and as a section of the report.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::words;
use crate::date;
use crate::mark::{Mark, Tone};
use crate::number::{self, count, counted};
use crate::phrase::{Part, Phrase};
use crate::reasons;
use crate::sheet::{Row, Section, Table};
use crate::text::short_benchmark;
use sprag_model::metric::{RATIO, TIME};
use sprag_model::{AnswerKind, Better, Direction, Event, EventKind, EventState, Level, Member, NextStep, Suspect};

const MOST_SUSPECTS: usize = 5;
/// The suites and the machines that are named, of each.
const MOST_NAMES: usize = 5;

/// The series that are listed, of an event and of a commit; and the facts and signs.
pub(super) const MOST_MEMBERS: usize = 8;
const MOST_FACTS: usize = 12;

/// Of equally likely commits so many are named.
const ALIKE: usize = 3;

pub(super) fn section(event: &Event) -> Section {
    let mut section = Section::new("", title(event)).item("where", place(event)).item("range", range(event));
    if let Some((label, words)) = likely(event) {
        section = section.item(label, words);
    }
    section = section.item("chance", chance(event)).item("state", state(event));
    if let Some(answer) = &event.answer {
        section = section.item("ledger", reasons::acceptance(answer));
    }
    section = environment(section, event);
    if let Some(next) = &event.next {
        section = command(section.item("next", step(event, next)), &next.command);
        if let Some(line) = bisection(event, next) {
            section = section.item("or", "measure commits until one is certain").commands(vec![line]);
        }
    }
    members(suspects(section, event), event)
}

/// The worst member, or where all got better the best: it names the event.
pub(crate) fn lead(event: &Event) -> Option<&Member> {
    match event.direction {
        Direction::Better => event.members.last(),
        Direction::Worse | Direction::Mixed => event.members.first(),
    }
}

pub(crate) fn mark(event: &Event) -> Mark {
    let (tone, glyph) = match event {
        one if one.state != EventState::Present => (Tone::Plain, "="),
        one if !one.sure => (Tone::Doubt, "?"),
        one if one.kind == EventKind::Environment => (Tone::Environment, "◇"),
        one if one.kind.alternates() => (Tone::Doubt, "⇅"),
        one if one.is_accepted() => (Tone::Doubt, "◆"),
        one => match one.direction {
            Direction::Worse => (Tone::Worse, "▲"),
            Direction::Better => (Tone::Better, "▼"),
            Direction::Mixed => (Tone::Worse, "▲▼"),
        },
    };
    let tone = if event.kind == EventKind::Drift && tone != Tone::Plain { Tone::Doubt } else { tone };
    Mark::new(tone, glyph, words::name(&event.id))
}

/// The least size of an event over many commits in several series of one metric, each of which has its own.
fn least_size(event: &Event) -> Option<String> {
    let lead = lead(event).filter(|_| !event.kind.is_of_one_commit())?;
    let alike = event.members.iter().filter(|one| one.metric.name == lead.metric.name);
    let sizes: Vec<f64> = alike.filter_map(|one| Some(one.relative?.value.abs())).collect();
    (sizes.len() > 1).then(|| number::percent_size(sizes.into_iter().fold(f64::INFINITY, f64::min)))
}

pub(crate) fn title(event: &Event) -> Phrase {
    let title = Phrase::from(mark(event));
    let Some(lead) = lead(event) else { return title };
    let way = words::way(&lead.metric, lead.worse);
    let kind = match event.kind {
        // An environment has no one direction; its first member is the worst.
        EventKind::Environment if event.direction == Direction::Mixed => " environment, both ways: ".to_owned(),
        EventKind::Environment => format!(" environment, {way}: "),
        EventKind::Drift | EventKind::Bimodal | EventKind::Unstable | EventKind::Change => format!(" {way}: "),
    };
    let mut change = lead.relative.map_or(String::new(), |relative| format!(" {}", words::change(&relative)));
    if event.kind == EventKind::Drift {
        change = format!(" drifts{change} over {}", counted(ramp(event, lead), "commit", "commits"));
    }
    let values = words::values_in_words(&lead.metric, lead.before.value, lead.after.value);
    let better = event.members.iter().filter(|one| one.worse.is_some_and(|worse| worse < 0.0)).count();
    let further = match event.members.len().saturating_sub(1) {
        0 => String::new(),
        more if event.direction == Direction::Mixed && !event.kind.alternates() => {
            format!("; and {}, {} better", counted(more, "more series", "more series"), count(better))
        }
        more => {
            let least = least_size(event).map_or(String::new(), |least| format!(", by {least} or more"));
            format!("; and {}{least}", counted(more, "more series", "more series"))
        }
    };
    let metric = words::name(&lead.metric.name);
    if event.kind.alternates() {
        let scale = lead.metric.unit.scale(lead.after.value);
        let [low, high] = [&lead.before, &lead.after].map(|level| number::quantity(scale, level.value));
        let (kind, levels) = match lead.high_share {
            Some(share) => {
                let shares = [1.0 - share, share].map(words::probability);
                (" bimodal: ", format!("is {low} in {} of runs, {high} in {}", shares[0], shares[1]))
            }
            None => (" unstable: ", format!("goes up and down between {low} and {high}")),
        };
        return title.text(kind).id(words::name(&lead.benchmark)).text(format!(" {metric} {levels}{further}"));
    }
    title.text(kind).id(words::name(&lead.benchmark)).text(format!(" {metric}{change}, {values}{further}"))
}

/// What happened, without the id: the title of page and feed entry, as `tile_pack{n=4096} @fast is 8.9 % slower on …`.
pub(crate) fn sentence(event: &Event) -> Phrase {
    let Some(lead) = lead(event) else { return Phrase::plain("An event without a series") };
    let mark = mark(event);
    let change = |member: &Member, glyph: &'static str| {
        let size = member.relative.map_or(String::new(), |one| number::percent_size(one.value) + " ");
        Mark::new(mark.tone, glyph, size + words::way(&member.metric, member.worse))
    };
    let name = |member: &Member| {
        let name = Phrase::code(words::name(&short_benchmark(&member.benchmark)));
        if [TIME, RATIO].contains(&&*member.metric.name) {
            name
        } else {
            name.text(format!(" {}", words::name(&member.metric.name)))
        }
    };
    let others = |named: &[&Member]| {
        let is_other = |one: &&Member| {
            named.iter().all(|other| (&one.benchmark, &one.metric) != (&other.benchmark, &other.metric))
        };
        event
            .members
            .iter()
            .filter(is_other)
            .map(|one| (&one.benchmark, &one.metric.name))
            .collect::<BTreeSet<_>>()
            .len()
    };
    let machines = match event.machines.as_slice() {
        [one] => format!(" on {}", words::name(&one.name)),
        all => format!(" on {}", counted(all.len(), "machine", "machines")),
    };
    let since = date::day(event.since);
    let best = event.members.last().filter(|best| best.worse.is_some_and(|worse| worse < 0.0));
    let (begun, subject) = match event.kind {
        EventKind::Environment => {
            (Phrase::from(Mark { word: "Environment".to_owned(), ..mark.clone() }).text(": "), name(lead))
        }
        _ => (Phrase::default(), name(lead)),
    };
    if let (Direction::Mixed, Some(best)) = (event.direction, best) {
        let more = match others(&[lead, best]) {
            0 => String::new(),
            more => format!("; and {} more", count(more)),
        };
        let worse = subject.text(" is ").mark(change(lead, "▲")).text(" and ").join(name(best));
        let both = worse
            .text(" is ")
            .mark(Mark {
                tone: if mark.tone == Tone::Worse { Tone::Better } else { mark.tone }, ..change(best, "▼")
            });
        return begun.join(both).text(format!("{machines} since {since}{more}"));
    }
    let (more, is) = match others(&[lead]) {
        0 => (String::new(), " is "),
        more => (format!(" and {} more", count(more)), " are up to "),
    };
    let mut size = change(lead, mark.glyph);
    if let Some(least) = least_size(event).filter(|least| !size.word.starts_with(least)) {
        size.word = format!("{least} to {}", size.word);
    }
    let words = match event.kind {
        EventKind::Drift => {
            let drifts = match (goes_on(event), more.is_empty()) {
                (true, true) => "drifts",
                (true, false) => "drift",
                (false, _) => "drifted",
            };
            subject.text(format!("{more} {drifts}: ")).mark(size)
        }
        EventKind::Bimodal => {
            let have = if more.is_empty() { "has" } else { "have" };
            let apart = lead.relative.map_or("apart".to_owned(), |one| number::percent_size(one.value) + " apart");
            let apart = least_size(event)
                .filter(|least| !apart.starts_with(least))
                .map_or(apart.clone(), |least| format!("{least} to {apart}"));
            subject.text(format!("{more} {have} two modes, ")).mark(Mark { word: apart, ..size })
        }
        EventKind::Unstable => {
            let goes = if more.is_empty() { "goes" } else { "go" };
            let by = lead
                .relative
                .map_or("again and again".to_owned(), |one| "by ".to_owned() + &number::percent_size(one.value));
            subject.text(format!("{more} {goes} up and down ")).mark(Mark { word: by, ..size })
        }
        EventKind::Environment | EventKind::Change => subject.text(format!("{more}{is}")).mark(size),
    };
    begun.join(words).text(format!("{machines} since {since}"))
}

/// A row of the overview: the event, its change, when, the cause, and the series that it is named by.
pub(super) fn line(event: &Event) -> Row {
    let lead = lead(event);
    let change = lead.and_then(|lead| lead.relative.as_ref());
    let cause = match (event.kind, event.suspects.len()) {
        (EventKind::Environment, _) => Phrase::plain("environment"),
        (EventKind::Change, 1) => Phrase::code(words::name(event.suspects[0].commit.short())),
        (EventKind::Change, _) => Phrase::plain(commits(event)),
        (EventKind::Drift, _) => Phrase::plain(format!("drift, {}", commits(event))),
        (EventKind::Bimodal, _) => Phrase::plain(format!("two modes, {}", commits(event))),
        (EventKind::Unstable, _) => Phrase::plain(format!("unstable, {}", commits(event))),
    };
    let mut series = lead.map_or(Phrase::default(), |lead| {
        Phrase::code(words::name(&lead.benchmark)).text(format!(" {}", words::name(&lead.metric.name)))
    });
    if event.members.len() > 1 {
        series = series.text(format!(", {} more", count(event.members.len() - 1)));
    }
    let change = number::or_none(change, |one| number::percent(one.value));
    Row::new([mark(event).into(), change.into(), date::day(event.since).into(), cause, series])
}

pub(crate) fn deed(event: &Event) -> Phrase {
    let mut deed = title(event);
    deed.parts.retain(|part| !matches!(part, Part::Mark(_)));
    if let Some(Part::Text(words)) = deed.parts.first_mut() {
        *words = words.trim_start().to_owned();
    }
    deed
}

/// Where it was seen, since when, and how many of the series there it moved.
pub(crate) fn place(event: &Event) -> Phrase {
    let named = |names: Vec<&str>, one: &str, several: &str| {
        let more = names.len().saturating_sub(MOST_NAMES);
        let more = (more > 0).then(|| counted(more, one, several));
        words::joined(&names.into_iter().take(MOST_NAMES).map(words::name).chain(more).collect::<Vec<String>>())
    };
    let machines = named(event.machines.iter().map(|one| &*one.name).collect(), "more machine", "more machines");
    let suites: BTreeSet<&str> = event.members.iter().map(|one| &*one.suite).collect();
    let suites = named(suites.into_iter().collect(), "more suite", "more suites");
    let mut text = format!("{suites} on {machines}, since {}", date::day(event.since));
    let moved = event.members.len();
    let measured = event.measured_series.max(moved);
    if measured > 1 {
        text += &format!("; {} of {} series measured there moved", count(moved), count(measured));
    }
    if let Some(typical) = event.typical.filter(|_| moved > 1) {
        text += &format!(", by {} in the median (positive is worse)", number::percent(typical));
    }
    Phrase::plain(text)
}

pub(crate) fn range(event: &Event) -> Phrase {
    let bad = event.first_bad.short();
    let range = match &event.last_good {
        Some(good) => Phrase::plain("good ").id(words::name(good.short())).text(" .. "),
        None => Phrase::default(),
    };
    let range = match (goes_on(event), event.last_good.is_some()) {
        (true, true) => range.text(format!("its newest point, and it {}", going_on(event))),
        (true, false) => range.text(format!("it {}, and no measured commit is known to be good", going_on(event))),
        (false, true) => range.text("bad ").id(words::name(bad)),
        (false, false) => {
            range.text("bad ").id(words::name(bad)).text(", and no commit measured before it is known to be good")
        }
    };
    let suspects = event.suspects.len();
    range.text(match (event.kind, suspects) {
        (_, 0) => String::new(),
        (EventKind::Environment, _) => "; no commit is to blame".to_owned(),
        (EventKind::Drift, _) => {
            let pace = pace(event).map(|pace| format!(", {} in ten of them", words::change(&pace))).unwrap_or_default();
            format!("; {}{pace}, none of them alone to blame", commits(event))
        }
        (EventKind::Bimodal, _) => format!("; {} between two levels, none of them to blame", commits(event)),
        (EventKind::Unstable, _) => format!("; {} up and down, none of them to blame", commits(event)),
        (EventKind::Change, 1) => "; one commit can be the cause".to_owned(),
        (EventKind::Change, _) => format!("; {} may be the cause", counted(suspects, "commit", "commits")),
    })
}

/// Whether it is a drift that includes the newest point of a series.
pub(crate) fn goes_on(event: &Event) -> bool {
    !event.kind.is_of_one_commit() && event.members.iter().any(is_going_on)
}

fn is_going_on(member: &Member) -> bool {
    member.is_present && member.points_since == 0
}

/// That a drift goes on, and in how many of its series.
fn going_on(event: &Event) -> String {
    match (event.members.iter().filter(|member| is_going_on(member)).count(), event.members.len()) {
        (some, all) if some < all => format!("goes on in {} of {} series", number::count(some), number::count(all)),
        _ => "goes on".to_owned(),
    }
}

pub(crate) fn end(event: &Event) -> Phrase {
    if goes_on(event) { Phrase::plain("goes on") } else { Phrase::code(words::name(event.first_bad.short())) }
}

pub(crate) fn commits(event: &Event) -> String {
    counted(event.suspects.len(), "commit", "commits")
}

/// How many commits the ramp of a member takes.
fn ramp(event: &Event, member: &Member) -> usize {
    member.commits.unwrap_or(event.suspects.len())
}

/// By how much ten commits of a drift move the level of its worst member on average; `None` for a shorter one.
fn pace(event: &Event) -> Option<Level> {
    let lead = lead(event)?;
    let (overall, commits) = (lead.relative.as_ref()?, ramp(event, lead));
    let of_ten = |relative: f64| (relative.ln_1p() * 10.0 / commits as f64).exp_m1();
    let pace = Level { value: of_ten(overall.value), lower: of_ten(overall.lower), upper: of_ten(overall.upper) };
    (commits >= 10 && pace.value.is_finite()).then_some(pace)
}

/// The label and the words of the most likely cause.
pub(crate) fn likely(event: &Event) -> Option<(&'static str, Phrase)> {
    let suspect = event.most_likely().filter(|_| event.kind == EventKind::Change)?;
    let chance = words::probability(suspect.probability);
    let alike: Vec<&Suspect> =
        event.suspects.iter().filter(|one| words::probability(one.probability) == chance).collect();
    if alike.len() > 1 {
        return Some(("likely", alike_words(&alike, &chance)));
    }
    let mut words = Phrase::code(words::name(suspect.commit.short()));
    let is_alone = event.suspects.len() == 1;
    if !is_alone {
        words = words.text(format!(" with {chance}"));
    }
    if !suspect.commit.subject.is_empty() {
        words = words.text(format!(": {}", words::subject(&suspect.commit.subject)));
    }
    Some((if is_alone { "cause" } else { "likely" }, words))
}

fn alike_words(alike: &[&Suspect], chance: &str) -> Phrase {
    let named = alike.iter().take(ALIKE).enumerate().fold(Phrase::default(), |words, (place, one)| {
        words.text(if place == 0 { "" } else { " or " }).id(words::name(one.commit.short()))
    });
    let more = match alike.len().saturating_sub(ALIKE) {
        0 => String::new(),
        more => format!(" or {}", counted(more, "other", "others")),
    };
    named.text(format!("{more}, with {chance} each"))
}

pub(crate) fn chance(event: &Event) -> Phrase {
    let words = words::chance(event.false_discovery);
    Phrase::plain(if event.sure { format!("significant: {words}") } else { format!("may be chance: {words}") })
}

pub(crate) fn state(event: &Event) -> Phrase {
    if let EventState::Reverted { by } = &event.state {
        return Phrase::plain("reverted by ").id(words::name(by));
    }
    if event.kind.alternates() && goes_on(event) {
        return now(event);
    }
    let (all, present) = (event.members.len(), event.members.iter().filter(|one| one.is_present).count());
    let mut words = match present {
        some if some == all => "still present".to_owned(),
        0 => "no longer present".to_owned(),
        some => format!("still present in {} of {}", count(some), counted(all, "series", "series")),
    };
    let earlier = event.members.iter().filter(|one| one.is_carried).count();
    if earlier > 0 {
        let earlier = counted(earlier, "series", "series");
        words += &format!("; {earlier} carried over, no longer found in the data alone");
    }
    match &event.answer {
        None => Phrase::plain(words),
        Some(answer) => Phrase::plain(words + "; ").join(reasons::accepted_briefly(answer)),
    }
}

/// At which of their levels those that still alternate are now.
fn now(event: &Event) -> Phrase {
    let (_, worse) = at_worse_level(event);
    let [worst, best] = match event.kind {
        EventKind::Unstable => ["near the worst", "near the best"],
        _ => ["at the worse", "at the better"],
    };
    match event.members.as_slice() {
        [one] => {
            let place = if worse > 0 { worst } else { best };
            Phrase::plain(format!("now {place} level, since ")).id(words::name(one.at.short()))
        }
        all => {
            let all = counted(all.len(), "series", "series");
            Phrase::plain(format!("{} of {all} now {worst} level", count(worse)))
        }
    }
}

/// How many series still alternate, and how many of them are at their worse level now.
fn at_worse_level(event: &Event) -> (usize, usize) {
    let present = || event.members.iter().filter(|one| one.is_present);
    let is_worse = |one: &&Member| one.is_high.is_some_and(|is_high| is_at_worse_level(one, is_high));
    (present().count(), present().filter(is_worse).count())
}

fn is_at_worse_level(member: &Member, is_high: bool) -> bool {
    is_high == (member.metric.better == Better::Lower)
}

/// In two or three words.
pub(crate) fn short_state(event: &Event) -> &'static str {
    let present = event.members.iter().filter(|one| one.is_present).count();
    match &event.state {
        EventState::Present if event.kind.alternates() && present > 0 => match at_worse_level(event) {
            (all, worse) if worse == all => "now worse",
            (_, 0) => "now better",
            _ => "partly worse now",
        },
        EventState::Reverted { .. } => "reverted",
        EventState::Present if event.answer.as_ref().is_some_and(|answer| answer.kind == AnswerKind::Accepted) => {
            "accepted"
        }
        EventState::Present if present == 0 => "no longer present",
        EventState::Present if present < event.members.len() => "partly present",
        EventState::Present => "still present",
    }
}

fn environment(mut section: Section, event: &Event) -> Section {
    for sign in event.machine_signs.iter().take(MOST_FACTS) {
        section = section.item("machine", words::sentence(sign));
    }
    for fact in event.facts.iter().take(MOST_FACTS) {
        let words = Phrase::plain(format!("{} was ", words::name(&fact.fact)));
        section = section.item("changed", words.id(words::name(&fact.was)).text(", is ").id(words::name(&fact.is)));
    }
    let more = event.facts.len().saturating_sub(MOST_FACTS);
    if more > 0 { section.item("", format!("and {}", counted(more, "more fact", "more facts"))) } else { section }
}

pub(crate) fn step(event: &Event, next: &NextStep) -> Phrase {
    // An event of one machine needs no name of it.
    let place = match event.machines.len() {
        0 | 1 => String::new(),
        _ => format!(" on {}", words::name(&next.machine.name)),
    };
    let by_hand = if next.checkout { ", checked out there first" } else { "" };
    let (runs, left) = (counted(next.runs, "run shows", "runs show"), words::left(next.left));
    let shows = format!("{place}{by_hand}: {runs} whether it is before or after the change, leaving {left}");
    Phrase::plain("measure ").id(words::name(next.commit.short())).text(shows)
}

pub(super) fn command(section: Section, words: &[String]) -> Section {
    match words::shell_line(words) {
        Some(line) => section.commands(vec![line]),
        None => section.item("", without_command(words)),
    }
}

/// The command that finds the commit, where commits are built for the suite.
pub(crate) fn bisection(event: &Event, next: &NextStep) -> Option<String> {
    let is_able = event.kind == EventKind::Change && event.last_good.is_some() && !next.command.is_empty();
    (is_able && !next.checkout).then(|| format!("sprag bisect --event {}", words::name(&event.id)))
}

pub(crate) fn without_command(words: &[String]) -> &'static str {
    if words.is_empty() {
        "no suite of sprag.toml measures it any more"
    } else {
        "its command holds a name that is not safe to paste; the JSON of sprag trend has the words"
    }
}

fn suspects(section: Section, event: &Event) -> Section {
    if event.kind != EventKind::Change || event.suspects.len() < 2 {
        return section;
    }
    let mut all: Vec<&Suspect> = event.suspects.iter().collect();
    all.sort_by(|a, b| b.probability.partial_cmp(&a.probability).unwrap_or(Ordering::Equal));
    let row = |one: &&Suspect| {
        Row::new([
            words::probability(one.probability).into(),
            Phrase::code(words::name(one.commit.short())),
            if one.measured { "measured" } else { "not measured" }.into(),
            words::subject(&one.commit.subject).into(),
        ])
    };
    let columns = [("Probability", "n"), ("Suspect", ""), ("", ""), ("Subject", "")];
    let rows = all.iter().take(MOST_SUSPECTS).map(row).collect();
    let section = section.with(Table { label: "suspects", ..Table::new(&columns, rows) });
    let rest = all.iter().skip(MOST_SUSPECTS).map(|one| one.probability).sum::<f64>();
    match words::and_more(all.len(), MOST_SUSPECTS) {
        none if none.is_empty() => section,
        more => section.paragraph(format!("{more}, {} together", words::probability(rest))),
    }
}

fn members(section: Section, event: &Event) -> Section {
    if event.members.len() < 2 {
        return section;
    }
    let several = event.machines.len() > 1;
    let mut all: Vec<&Member> = event.members.iter().collect();
    if event.direction == Direction::Better {
        all.reverse();
    }
    let rows = all.into_iter().take(MOST_MEMBERS).map(|one| member(one, several)).collect();
    let columns = [("Change (interval)", "n"), ("Before → after", "n"), ("Series", "")];
    let folded = Some(counted(event.members.len(), "series", "series"));
    let section = section.with(Table { label: "series", folded, ..Table::new(&columns, rows) });
    section.paragraph(words::and_more(event.members.len(), MOST_MEMBERS))
}

fn member(member: &Member, names_machine: bool) -> Row {
    let mut series = Phrase::code(words::name(&member.benchmark));
    series = series.text(format!(" {}", words::name(&member.metric.name)));
    if names_machine {
        series = series.text(format!(" on {}", words::name(&member.machine.name)));
    }
    if !member.is_present {
        series = series.text(", gone");
    } else if let Some(is_high) = member.is_high {
        let now = if is_at_worse_level(member, is_high) { ", now worse since " } else { ", now better since " };
        series = series.text(now).id(words::name(member.at.short()));
    }
    if member.is_carried {
        series = series.text(", carried");
    }
    Row::new([
        member.relative.as_ref().map_or_else(|| number::NONE.to_owned(), words::change).into(),
        words::values(member.metric.unit, member.before.value, member.after.value).into(),
        series,
    ])
}

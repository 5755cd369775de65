//! The headline of a trend, and what belongs right below it.

use super::words;
use crate::date;
use crate::mark::{Mark, Tone};
use crate::number::{count, counted};
use crate::phrase::Phrase;
use sprag_model::trend::Due;
use sprag_model::{Direction, Disagreement, Event, EventKind, EventState, Trend};

const MOST_STALE: usize = 5;

/// Whether an event is listed by default: it is significant and still present.
pub(crate) fn is_listed(event: &Event) -> bool {
    event.sure && event.state == EventState::Present
}

/// The regressions that are still present and that nobody accepts; and the changes that also made something better.
pub(crate) fn open(trend: &Trend) -> impl Iterator<Item = Mark> {
    let of = |direction| trend.events.iter().filter(move |one| one.is_open_regression() && one.direction == direction);
    [
        (of(Direction::Worse).count(), "▲", "open regression", "open regressions"),
        (of(Direction::Mixed).count(), "▲▼", "mixed change", "mixed changes"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, glyph, one, many)| Mark::new(Tone::Worse, glyph, counted(count, one, many)))
}

/// What was found and in how many series.
pub(crate) fn headline(trend: &Trend) -> Phrase {
    let coverage = &trend.coverage;
    if trend.runs == 0 {
        return Phrase::from(Mark::new(Tone::Doubt, "○", "Nothing is recorded yet."));
    }
    if coverage.total == 0 {
        let rest = format!(" {} without a series.", counted(trend.runs, "run", "runs"));
        return Phrase::from(Mark::new(Tone::Doubt, "○", "Nothing to analyse:")).text(rest);
    }
    present(trend).text(format!("; {}.", examined(trend)))
}

/// How many series are examined; where none is, why most are not.
pub(crate) fn examined(trend: &Trend) -> String {
    let coverage = &trend.coverage;
    let reason = coverage.reasons.first().filter(|_| coverage.judged == 0);
    let reason = reason.map(|one| format!("; the most common reason: {}", words::name(words::reason(&one.reason).0)));
    let total = counted(coverage.total, "series is", "series are");
    format!("{} of {total} examined{}", count(coverage.judged), reason.unwrap_or_default())
}

/// The events that are still present, by what they are.
pub(crate) fn present(trend: &Trend) -> Phrase {
    let listed = |is: &dyn Fn(&Event) -> bool| trend.events.iter().filter(|one| is_listed(one) && is(one)).count();
    let accepted = listed(&|one| one.is_ongoing_regression() && one.is_accepted());
    let environment = listed(&|one| one.kind == EventKind::Environment);
    let bimodal = listed(&|one| one.kind == EventKind::Bimodal);
    let unstable = listed(&|one| one.kind == EventKind::Unstable);
    let improvements = listed(&|one| one.kind != EventKind::Environment && one.direction == Direction::Better);
    let kinds = [
        (accepted, Tone::Doubt, "◆", "accepted regression", "accepted regressions"),
        (improvements, Tone::Better, "▼", "improvement", "improvements"),
        (environment, Tone::Environment, "◇", "environment event", "environment events"),
        (bimodal, Tone::Doubt, "⇅", "bimodal finding", "bimodal findings"),
        (unstable, Tone::Doubt, "⇅", "unstable finding", "unstable findings"),
    ];
    let present = kinds.into_iter().filter(|(count, ..)| *count > 0);
    let present = present.map(|(count, tone, glyph, one, many)| Mark::new(tone, glyph, counted(count, one, many)));
    let mut marks = open(trend).chain(present);
    let mark = marks.next().unwrap_or_else(|| match trend.coverage.judged {
        0 => Mark::new(Tone::Doubt, "?", "not enough data"),
        _ if trend.events.iter().any(|one| !one.sure) => Mark::new(Tone::Plain, "=", "no confirmed change"),
        _ => Mark::new(Tone::Plain, "=", "no change"),
    });
    let rest: String = marks.map(|mark| format!(", {}", mark.word)).collect();
    Phrase::from(mark).text(rest)
}

/// Where the trend is from and what is stale; without runs, what to do.
pub(super) fn lines(trend: &Trend) -> Vec<Phrase> {
    if trend.runs == 0 {
        return vec![
            Phrase::quoted("Measure and record: `sprag run --record`"),
            Phrase::quoted("Or take over what other tools recorded: `sprag import PATH --machine NAME`"),
        ];
    }
    let mut origin = Phrase::plain(words::name(&trend.project));
    if let Some(tip) = &trend.tip {
        origin = origin.text(" at ").id(tip.get(..7).unwrap_or(tip));
    }
    if let Some(reference) = &trend.reference {
        origin = origin.text(" of ").id(words::name(reference));
    }
    if let Some(time) = trend.as_of {
        origin = origin.text(format!(", as of {} UTC", date::moment(time)));
    }
    let mut lines = vec![origin.text(format!(", {}.", counted(trend.runs, "run", "runs")))];
    if trend.coverage.total == 0 {
        lines.push(Phrase::quoted(
            "No run has a value, or nothing matches `--suite`, `--machine` and `--filter`; `sprag history log` lists the runs.",
        ));
    }
    lines.extend(stale(trend));
    lines.extend(disagreements(trend.tables.disagreements.iter()));
    lines
}

/// A sentence for each machine that disagrees with others of its class, and what to do.
pub(crate) fn disagreements<'a>(all: impl Iterator<Item = &'a Disagreement>) -> impl Iterator<Item = Phrase> {
    all.take(MOST_STALE).map(|one| {
        let mark = Mark::new(Tone::Doubt, "?", "machines disagree:");
        let doctor = Phrase::plain(". Run ").id("sprag doctor").text(" on each of them.");
        Phrase::from(mark).text(" ").join(Phrase::quoted(&one.sentence())).join(doctor)
    })
}

/// A sentence for each suite that is older than the schedule allows.
pub(crate) fn stale(trend: &Trend) -> Vec<Phrase> {
    let stale: Vec<&Due> = trend.schedule.iter().filter(|due| due.stale).collect();
    let line = |words: String| Phrase::from(Mark::new(Tone::Doubt, "?", "stale:")).text(words);
    let of_due = |due: &&Due| {
        let age = counted(due.days.max(0) as usize, "day", "days");
        let allowed = counted(due.allowed.max(0) as usize, "day is", "days are");
        let (suite, machine) = (words::name(&due.suite), words::name(&due.machine.name));
        line(format!(" {suite} on {machine}: the newest run is {age} old, {allowed} allowed."))
    };
    let mut lines: Vec<Phrase> = stale.iter().take(MOST_STALE).map(of_due).collect();
    if stale.len() > MOST_STALE {
        let rest = counted(stale.len() - MOST_STALE, "more is", "more are");
        lines.push(line(format!(" {rest}, see the schedule.")));
    }
    lines
}

/// How many of the listed events are beyond those that are shown at once.
pub(super) fn others(listed: usize, trend: &Trend, all: bool) -> Option<Phrase> {
    let others = listed.saturating_sub(trend.most_events());
    let words = Phrase::plain(format!("… and {}: ", counted(others, "more event", "more events")));
    let shows = if others == 1 { " shows it." } else { " shows them." };
    let command = if all { "sprag trend --details --all" } else { "sprag trend --details" };
    (others > 0).then(|| words.id(command).text(shows))
}

pub(super) fn hidden(trend: &Trend) -> Option<Phrase> {
    let doubtful = trend.events.iter().filter(|one| !one.sure).count();
    let reverted = trend.events.iter().filter(|one| one.sure && !is_listed(one)).count();
    let gone = if reverted == 1 { "was reverted" } else { "were reverted" };
    let words = match (doubtful, reverted) {
        (0, 0) => return None,
        (0, gone_ones) => format!("{} {gone}", counted(gone_ones, "event", "events")),
        (some, 0) => format!("{} may be chance", counted(some, "event", "events")),
        (some, gone_ones) => {
            format!("{} may be chance, {} {gone}", counted(some, "event", "events"), count(gone_ones))
        }
    };
    let lists = if doubtful + reverted == 1 { " lists it." } else { " lists them." };
    Some(Phrase::plain(format!("{words}: ")).id("--all").text(lists))
}

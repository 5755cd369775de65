//! From drafts to events: names of commits and machines, levels of members, what still applies, and what to measure next.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::Candidate;
use super::culprit;
use super::draft::{Draft, Moved};
use super::series_changes::SeriesChanges;
use sprag_base::stats::describe;
use sprag_model::{
    Better, Direction, Environment, Event, EventKind, EventState, FactChange, Level, Member, NamedCommit, NamedMachine,
    NextStep, Suspect,
};

/// The most benchmarks that a command names: more are measured with the whole suite.
const MOST_FILTERS: usize = 4;

/// The id of an event, and whether it is significant.
pub(super) struct Confirmed {
    pub(super) id: String,
    pub(super) is_sure: bool,
    pub(super) false_discovery: f64,
}

pub(super) struct Context<'a> {
    pub(super) environments: BTreeMap<&'a str, &'a Environment>,
    /// Of each suite that can be measured, whether `run --commit` builds a commit for it.
    pub(super) suites: &'a BTreeMap<String, bool>,
}

/// All drafts as events, in the same order.
pub(super) fn events(
    drafts: &[Draft],
    confirmed: Vec<Confirmed>,
    all: &[SeriesChanges<'_>],
    context: &Context<'_>,
) -> Vec<Event> {
    let ids: Vec<String> = confirmed.iter().map(|one| one.id.clone()).collect();
    let mut owners: BTreeMap<(usize, usize), &str> = BTreeMap::new();
    for (draft, id) in drafts.iter().zip(&ids) {
        if let Moved::Changes(members) = &draft.moved {
            owners.extend(members.iter().map(|member| ((member.series, member.change), id.as_str())));
        }
    }
    drafts.iter().zip(confirmed).map(|(draft, one)| event(draft, one, all, context, &owners)).collect()
}

fn event(
    draft: &Draft,
    confirmed: Confirmed,
    all: &[SeriesChanges<'_>],
    context: &Context<'_>,
    owners: &BTreeMap<(usize, usize), &str>,
) -> Event {
    let first = &all[draft.series()[0]];
    let axis = &first.axis;
    let commit = |place: usize| axis.commits[place].clone();
    let (lo, hi) = draft.range();
    let (mut members, backs): (Vec<Member>, Vec<Option<&str>>) = match &draft.moved {
        Moved::Changes(changes) => changes.iter().map(|one| changed(one, all, owners)).unzip(),
        Moved::Drifts(drifts) => drifts.iter().map(|one| drifted(*one, all, owners)).unzip(),
        Moved::Modes(modes) => modes.iter().map(|one| (alternating(*one, all), None)).unzip(),
    };
    let size = |member: &Member| member.relative.map_or(0.0, |relative| relative.value.abs());
    members.sort_by(|a, b| {
        let by_size = || size(b).total_cmp(&size(a)).then_with(|| a.series.cmp(&b.series));
        let by_end = || by_worse(b.worse, a.worse).then_with(by_size);
        (draft.kind.alternates() && !a.is_present).cmp(&(draft.kind.alternates() && !b.is_present)).then_with(by_end)
    });
    let measured: BTreeSet<usize> =
        draft.series().into_iter().flat_map(|analysed| all[analysed].points.iter().map(|point| point.place)).collect();
    let is_gone = members.iter().all(|member| !member.is_present);
    let state = match backs.into_iter().flatten().next() {
        Some(by) if is_gone => EventState::Reverted { by: by.to_owned() },
        _ => EventState::Present,
    };
    let shown = shown(&members);
    let ways: Vec<f64> = shown.iter().filter_map(|member| member.worse).collect();
    let direction = if draft.kind.alternates() { Direction::Mixed } else { direction(&shown) };
    // A drift begins with its first commit, a change is there from its last suspect on.
    let from = if draft.kind.is_of_one_commit() { hi } else { lo };
    let since = draft.series().into_iter().filter_map(|analysed| {
        let behind = all[analysed].points.iter().filter(|point| point.place >= from);
        behind.map(|point| point.time).min()
    });
    let suspects = draft.suspects.iter().map(|(place, probability)| Suspect {
        commit: commit(*place),
        probability: *probability,
        measured: measured.contains(place),
    });
    Event {
        id: confirmed.id,
        kind: draft.kind,
        state,
        sure: confirmed.is_sure && shown.iter().any(|member| is_shown(member)),
        false_discovery: confirmed.false_discovery,
        machines: machines(draft, all),
        last_good: measured.range(..lo).next_back().map(|place| commit(*place)),
        first_bad: commit(measured.range(hi..).next().copied().unwrap_or(hi)),
        suspects: suspects.collect(),
        measured_series: draft.measured,
        worst: match direction {
            Direction::Better => ways.iter().copied().reduce(f64::min),
            _ => ways.iter().copied().reduce(f64::max),
        },
        typical: describe::median(&ways),
        direction,
        since: since.min().unwrap_or_else(|| first.points[first.points.len() - 1].time),
        machine_signs: draft.signs.sentences.clone(),
        facts: facts(draft, all, &context.environments),
        next: next(draft, all, context.suites),
        members,
        answer: None,
        bisection: None,
    }
}

/// The larger first where both are known; those without a number last.
fn by_worse(one: Option<f64>, other: Option<f64>) -> std::cmp::Ordering {
    one.unwrap_or(f64::NEG_INFINITY).total_cmp(&other.unwrap_or(f64::NEG_INFINITY))
}

/// Whether a member certainly moved: the interval of its change does not hold zero.
fn is_shown(member: &Member) -> bool {
    member.relative.is_none_or(|relative| relative.lower * relative.upper > 0.0 || relative.lower == relative.upper)
}

/// The members that show the direction and the size of an event: those that certainly moved, if there are any.
fn shown(members: &[Member]) -> Vec<&Member> {
    let shown: Vec<&Member> = members.iter().filter(|member| is_shown(member)).collect();
    if shown.is_empty() { members.iter().collect() } else { shown }
}

fn direction(members: &[&Member]) -> Direction {
    let is_worse = |member: &&Member| {
        let rise = member.after.value > member.before.value;
        member.worse.map_or(rise == (member.metric.better == Better::Lower), |worse| worse > 0.0)
    };
    match (members.iter().any(is_worse), members.iter().all(is_worse)) {
        (_, true) => Direction::Worse,
        (false, _) => Direction::Better,
        _ => Direction::Mixed,
    }
}

fn machine_of(analysed: &SeriesChanges<'_>) -> NamedMachine {
    NamedMachine { id: analysed.series.machine.clone(), name: analysed.series.machine_name.clone() }
}

fn machines(draft: &Draft, all: &[SeriesChanges<'_>]) -> Vec<NamedMachine> {
    draft.series().into_iter().map(|analysed| machine_of(&all[analysed])).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What changed at the border in the range, or at the first in the ramp of a drift.
fn facts(draft: &Draft, all: &[SeriesChanges<'_>], environments: &BTreeMap<&str, &Environment>) -> Vec<FactChange> {
    let in_ramp = |(series, drift): &(usize, usize)| {
        let drift = &all[*series].changes.drifts[*drift];
        (drift.begin..=drift.end).find_map(|index| all[*series].border(index))
    };
    let border = match &draft.moved {
        Moved::Drifts(members) => members.iter().find_map(in_ramp),
        Moved::Changes(_) | Moved::Modes(_) => draft.signs.border.clone(),
    };
    let Some((before, after)) = border else { return Vec::new() };
    let both = environments.get(before.as_str()).zip(environments.get(after.as_str()));
    both.map(|(before, after)| before.differences(after)).unwrap_or_default()
}

/// A change of level as a member, and the event that took it back.
fn changed<'o>(
    member: &Candidate,
    all: &[SeriesChanges<'_>],
    owners: &BTreeMap<(usize, usize), &'o str>,
) -> (Member, Option<&'o str>) {
    let (analysed, change) = (&all[member.series], member.change(all));
    let back = reverted(analysed, member.change + 1, change.before.value, change.after.value);
    let by = back.and_then(|later| owners.get(&(member.series, later)).copied());
    let one = Member {
        before: change.before,
        after: change.after,
        relative: Some(change.relative).filter(|relative| relative.value.is_finite()),
        worse: analysed.worse(change.relative()),
        at: analysed.axis.commits[analysed.points[change.index].place].clone(),
        points_since: analysed.count - change.index,
        chance: change.chance,
        is_carried: change.score < 1.0 && change.chance > 0.0,
        is_present: back.is_none(),
        ..bare(analysed)
    };
    (one, by)
}

/// A drift as a member, and the event that took it back.
fn drifted<'o>(
    (number, drift): (usize, usize),
    all: &[SeriesChanges<'_>],
    owners: &BTreeMap<(usize, usize), &'o str>,
) -> (Member, Option<&'o str>) {
    let analysed = &all[number];
    let drift = &analysed.changes.drifts[drift];
    let level = |value: f64| Level { value, lower: value, upper: value };
    let points = (drift.end - drift.begin) as f64;
    // The rate is a share a point; over the ramp it comes to this.
    let over_ramp = |rate: f64| {
        if analysed.changes.noise.is_some_and(|noise| noise.is_relative) {
            (points * rate.ln_1p()).exp_m1()
        } else {
            points * rate
        }
    };
    let relative = Level {
        value: over_ramp(drift.rate.value),
        lower: over_ramp(drift.rate.lower),
        upper: over_ramp(drift.rate.upper),
    };
    let later = analysed.changes.points.iter().position(|point| point.index >= drift.end);
    let back = later.and_then(|later| reverted(analysed, later, drift.before, drift.after));
    let end = drift.end.min(analysed.count - 1);
    let one = Member {
        before: level(drift.before),
        after: level(drift.after),
        relative: Some(relative).filter(|relative| relative.value.is_finite()),
        worse: analysed.worse(relative.value),
        at: analysed.axis.commits[analysed.points[end].place].clone(),
        points_since: analysed.count - drift.end.min(analysed.count),
        chance: drift.chance,
        is_carried: drift.is_carried,
        is_present: back.is_none(),
        commits: Some(analysed.points[drift.end - 1].place + 1 - analysed.points[drift.begin].place),
        ..bare(analysed)
    };
    (one, back.and_then(|later| owners.get(&(number, later)).copied()))
}

/// Levels that alternate as a member: it has none of the directions, and is present while the newest point is one of them.
fn alternating((number, modes): (usize, usize), all: &[SeriesChanges<'_>]) -> Member {
    let analysed = &all[number];
    let modes = &analysed.changes.modes[modes];
    let level = |value: f64| Level { value, lower: value, upper: value };
    let relative = (modes.high / modes.low - 1.0) * modes.low.signum();
    Member {
        before: level(modes.low),
        after: level(modes.high),
        relative: Some(level(relative)).filter(|relative| relative.value.is_finite()),
        at: analysed.axis.commits[analysed.points[modes.newest].place].clone(),
        points_since: analysed.count - modes.end,
        chance: modes.chance,
        is_present: modes.end == analysed.count,
        high_share: modes.share,
        is_high: Some(modes.is_high),
        ..bare(analysed)
    }
}

/// What a member has of its series.
fn bare(analysed: &SeriesChanges<'_>) -> Member {
    let none = Level { value: 0.0, lower: 0.0, upper: 0.0 };
    Member {
        series: analysed.series.id.clone(),
        suite: analysed.series.suite.clone(),
        benchmark: analysed.series.benchmark.clone(),
        metric: analysed.series.metric.clone(),
        machine: machine_of(analysed),
        before: none,
        after: none,
        relative: None,
        worse: None,
        at: NamedCommit::default(),
        points_since: 0,
        chance: 1.0,
        is_carried: false,
        is_present: true,
        high_share: None,
        is_high: None,
        commits: None,
    }
}

/// The first of the changes from `later` on after which the level is nearer to what it was than to what it had become.
fn reverted(analysed: &SeriesChanges<'_>, later: usize, before: f64, after: f64) -> Option<usize> {
    let is_back = |level: f64| (level - before).abs() < (level - after).abs();
    let points = analysed.changes.points.iter().enumerate().skip(later);
    points.into_iter().find(|(_, point)| is_back(point.after.value)).map(|(place, _)| place)
}

/// What to measure next: on the machine where a run is most informative, by the members that its command measures.
fn next(draft: &Draft, all: &[SeriesChanges<'_>], suites: &BTreeMap<String, bool>) -> Option<NextStep> {
    let Moved::Changes(changes) = &draft.moved else { return None };
    let axis = &all[changes[0].series].axis;
    // A commit that the repository does not hold cannot be built, and no commit shows an effect of the machine.
    if draft.kind != EventKind::Change || !axis.is_line {
        return None;
    }
    let mut machines: BTreeMap<&str, Vec<Candidate>> = BTreeMap::new();
    for change in changes {
        machines.entry(&all[change.series].series.machine).or_default().push(*change);
    }
    let probes = machines.into_values().filter_map(|own| {
        let points = || own.iter().flat_map(|one| all[one.series].points.iter());
        let is_measured = |place: usize| points().any(|point| point.place == place);
        Some((culprit::probe(&draft.suspects, culprit::gap(&own, all), is_measured)?, own))
    });
    let (probe, own) = probes.reduce(|best, other| if other.0.is_better(&best.0) { other } else { best })?;
    let commit = axis.commits[probe.place].clone();
    let series = own.iter().map(|one| all[one.series].series);
    let benchmarks = series.map(|one| (one.suite.as_str(), one.benchmark.as_str()));
    let (command, checkout) = command(Some(&commit), benchmarks, suites);
    let machine = machine_of(&all[own[0].series]);
    Some(NextStep { machine, commit, runs: probe.runs, left: probe.left, command, checkout })
}

/// The words of a command that measures benchmarks, at a commit or as they are, and whether that commit must be checked out
/// first. Where `run --commit` builds the commit for some of the `suites` it measures these; none that is there: no words.
pub(super) fn command<'a>(
    commit: Option<&NamedCommit>,
    benchmarks: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    suites: &BTreeMap<String, bool>,
) -> (Vec<String>, bool) {
    let is_built = |suite: &str| suites.get(suite).copied();
    let builds = commit.is_some() && benchmarks.clone().any(|one| is_built(one.0) == Some(true));
    let benchmarks = benchmarks.filter(|one| is_built(one.0).is_some_and(|is_built| is_built || !builds));
    let own: BTreeSet<&str> = benchmarks.clone().map(|one| one.0).collect();
    if own.is_empty() {
        return (Vec::new(), false);
    }
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut command = words(&["sprag", "run"]);
    if let Some(commit) = commit.filter(|_| builds) {
        command.extend(words(&["--commit", commit.sha.get(..12).unwrap_or(&commit.sha)]));
    }
    own.into_iter().for_each(|suite| command.extend(words(&["--suite", suite])));
    let filters: BTreeSet<&str> = benchmarks.map(|one| one.1).collect();
    if filters.len() <= MOST_FILTERS {
        filters.into_iter().for_each(|filter| command.extend(words(&["--filter", filter])));
    }
    command.push("--record".to_owned());
    (command, commit.is_some() && !builds)
}

/// The order in which events are listed: significant and present ones before reverted ones and possible chance; of these
/// regressions, then what goes both ways, improvements and the machine's; those that matter most first, and of two alike the newer.
pub(super) fn in_order(events: &mut [Event]) {
    let rank = |event: &Event| {
        let kind = match (event.kind, event.direction) {
            (EventKind::Bimodal | EventKind::Unstable, _) => 4,
            (EventKind::Environment, _) => 3,
            (_, Direction::Worse) => 0,
            (_, Direction::Mixed) => 1,
            (_, Direction::Better) => 2,
        };
        (!event.sure, event.state != EventState::Present, kind)
    };
    events.sort_by(|a, b| {
        let by_weight = weight(b).total_cmp(&weight(a));
        rank(a).cmp(&rank(b)).then(by_weight).then(b.since.cmp(&a.since)).then_with(|| a.id.cmp(&b.id))
    });
}

/// How much an event matters: its certainty times the sum of the logarithms of what its members moved by.
fn weight(event: &Event) -> f64 {
    let moved = |member: &Member| {
        let size = (member.after.value / member.before.value).ln().abs();
        if size.is_finite() { size } else { 1.0 }
    };
    (1.0 - event.false_discovery) * event.members.iter().map(moved).sum::<f64>()
}

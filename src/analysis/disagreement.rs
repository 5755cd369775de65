//! Machines of one class that disagree: one of them measures the same commits slower or faster than the others do.
//!
//! Runs of a suite are compared under one environment key, as gates compare them: the newest one under which two machines of the
//! class have enough sessions. The deviation of a machine in a series at a commit is the logarithm of its value over the median
//! of what the other machines measured there; where one of them did not measure the commit, the mean of its nearest values before
//! and after takes the place. Over the series the median is taken, over the commits of a session too: what a machine measures in
//! one go has its state in common. A session is only counted if the other machines have as many.
//!
//! Two machines disagree where the interval of the median over the newest sessions (`sign_interval.rs`, of any distribution)
//! is beyond the limit. The chance of a false alarm is shared by all that is tested: each machine and metric, then each benchmark
//! by itself. The machine that deviates most is taken out, and the others are compared again; of two that are left nobody can
//! tell which is at fault.
//!
//! Of 1,000 histories of two equal machines whose runs vary by 3 %, none gives a false alarm; 7 do where they vary by 10 %, and 6
//! where half of the variation carries on to the next run. A machine that is 5 % slower was found in all of 200 (see the tests).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sprag_base::stats::{describe, sign_interval};
use sprag_model::disagreement::LIMIT;
use sprag_model::environment::NO_MACHINE;
use sprag_model::metric::TIME;
use sprag_model::{Better, Disagreement, NamedMachine, Point, PointRun, Series, SeriesAnalysis};

use crate::rollup::from_log;
use crate::session_noise::SESSION;

/// The chance that equal machines of a class are said to disagree about a suite, if their sessions are independent: less, as their
/// deviations must also be beyond the limit. With .01 a machine that changed twenty sessions ago is found in 8 of 10 cases, not in
/// 9.5.
const CHANCE: f64 = 0.05;

/// The newest sessions that decide. Of twenty, sixteen must be beyond the limit, or all where there are up to 13,000 tests.
const SESSIONS: usize = 20;

/// With fewer sessions no interval has the confidence that two tests need.
const FEWEST: usize = 8;

/// The newest values of a series that are read.
const NEWEST: usize = 64;

/// A commit by its place on the line, in a session of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Visit {
    position: usize,
    session: usize,
}

/// What the machines of a class measured of one metric of one benchmark.
struct Measured<'a> {
    /// That of one of the machines.
    series: &'a Series,
    judged: bool,
    /// Of each machine, in order of visits: logarithms, turned such that positive is worse.
    values: Vec<Vec<(Visit, f64)>>,
}

/// A run, and a series with a value of it.
type RunOf<'a> = (&'a Series, &'a PointRun);

struct Class<'a> {
    machines: Vec<&'a Series>,
    /// Of each machine, in order.
    visits: Vec<BTreeSet<Visit>>,
    measured: Vec<Measured<'a>>,
}

/// What is tested: the series of a metric, or only those of one benchmark, with any parameters.
type Scope<'a> = (&'a str, Option<&'a str>);

/// The machines that disagree with others of their class, by suite and class, those that deviate most first.
pub fn disagreements(series: &[SeriesAnalysis]) -> Vec<Disagreement> {
    let mut classes: BTreeMap<(&str, &str), Vec<&SeriesAnalysis>> = BTreeMap::new();
    // Of an unknown class nobody can tell whether its machines are equal.
    let has_class = |one: &&SeriesAnalysis| one.series.machine_class != NO_MACHINE;
    for one in series.iter().filter(has_class).filter(|one| one.judged || one.series.metric.name == TIME) {
        classes.entry((&one.series.suite, &one.series.machine_class)).or_default().push(one);
    }
    let has_two = |all: &Vec<&SeriesAnalysis>| all.iter().any(|one| one.series.machine != all[0].series.machine);
    classes
        .into_values()
        .filter(has_two)
        .filter_map(|all| Class::new(&all))
        .flat_map(|one| one.disagreements())
        .collect()
}

fn newest(series: &Series) -> impl Iterator<Item = &Point> {
    series.points.iter().rev().filter(|point| !point.dirty && point.position.is_some()).take(NEWEST)
}

impl<'a> Class<'a> {
    fn new(all: &[&'a SeriesAnalysis]) -> Option<Class<'a>> {
        let mut runs: HashMap<usize, RunOf<'a>> = HashMap::new();
        for one in all {
            runs.extend(newest(&one.series).map(|point| (point.rank, (&one.series, &*point.of))));
        }
        let mut keys: BTreeMap<&str, BTreeMap<&str, Vec<RunOf<'_>>>> = BTreeMap::new();
        for (series, run) in runs.into_values() {
            let machines = keys.entry(&run.environment_key).or_default();
            machines.entry(&series.machine).or_default().push((series, run));
        }
        let mut compared: Vec<_> = keys.into_iter().filter_map(|(key, machines)| sessions(key, machines)).collect();
        compared.sort_by_key(|(_, newest, _)| *newest);
        let (key, _, machines) = compared.pop()?;
        let mut class = Class { machines: Vec::new(), visits: Vec::new(), measured: Vec::new() };
        let mut of_rank: HashMap<usize, (usize, Visit)> = HashMap::new();
        for (number, (series, visits)) in machines.into_iter().enumerate() {
            class.machines.push(series);
            class.visits.push(visits.iter().map(|one| one.1).collect());
            of_rank.extend(visits.into_iter().map(|(rank, visit)| (rank, (number, visit))));
        }
        let mut measured: BTreeMap<(&str, u32, &str), Measured<'a>> = BTreeMap::new();
        for one in all {
            let series = &one.series;
            let none = || Measured { series, judged: false, values: vec![Vec::new(); class.machines.len()] };
            let of = measured.entry((&series.benchmark, series.version, &series.metric.name)).or_insert_with(none);
            of.judged |= one.judged;
            let sign = if series.metric.better == Better::Higher { -1.0 } else { 1.0 };
            for point in newest(series).filter(|point| *point.environment_key == *key && point.value > 0.0) {
                if let Some((machine, visit)) = of_rank.get(&point.rank) {
                    of.values[*machine].push((*visit, sign * point.value.ln()));
                }
            }
        }
        class.measured = measured.into_values().collect();
        for values in class.measured.iter_mut().flat_map(|one| &mut one.values) {
            values.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        }
        Some(class)
    }

    fn disagreements(&self) -> Vec<Disagreement> {
        let mut left: Vec<usize> = (0..self.machines.len()).collect();
        let mut all = Vec::new();
        while left.len() > 1
            && let Some((machine, one)) = self.largest(&left)
        {
            all.push(one);
            let is_pair = left.len() == 2;
            left.retain(|other| !is_pair && *other != machine);
        }
        all
    }

    /// The machine that deviates most from the others: in all series of a metric, or else in those of one benchmark.
    fn largest(&self, machines: &[usize]) -> Option<(usize, Disagreement)> {
        let all: BTreeSet<Scope<'_>> = self.measured.iter().map(|one| (&*one.series.metric.name, None)).collect();
        let parts: BTreeSet<Scope<'_>> =
            self.measured.iter().map(|one| (&*one.series.metric.name, Some(&*one.series.name))).collect();
        // What one of two deviates by is what the other does.
        let tested = if machines.len() == 2 { &machines[..1] } else { machines };
        let of = |scopes: &BTreeSet<Scope<'_>>| {
            let confidence = 1.0 - CHANCE / 2.0 / (tested.len() * scopes.len()) as f64;
            let pairs = tested.iter().flat_map(|machine| scopes.iter().map(move |scope| (*machine, *scope)));
            let candidates = pairs.filter_map(|(machine, scope)| {
                let others: Vec<usize> = machines.iter().copied().filter(|other| *other != machine).collect();
                Some((machine, self.judged(machine, &others, scope, confidence)?))
            });
            candidates.max_by(|a, b| a.1.change.ln_1p().abs().total_cmp(&b.1.change.ln_1p().abs()))
        };
        of(&all).or_else(|| of(&parts))
    }

    fn judged(
        &self,
        machine: usize,
        others: &[usize],
        (metric, name): Scope<'_>,
        confidence: f64,
    ) -> Option<Disagreement> {
        let is_of =
            |one: &&Measured<'_>| one.series.metric.name == metric && name.is_none_or(|name| one.series.name == name);
        let mut of_visits: BTreeMap<Visit, Vec<f64>> = BTreeMap::new();
        let mut of_series: Vec<(f64, &Measured<'_>)> = Vec::new();
        for one in self.measured.iter().filter(is_of) {
            let deviations = one.deviations(machine, others);
            deviations.iter().for_each(|(visit, deviation)| of_visits.entry(*visit).or_default().push(*deviation));
            let deviations: Vec<f64> = deviations.into_iter().map(|one| one.1).collect();
            of_series.extend(describe::median(&deviations).map(|median| (median, one)));
        }
        let sessions = self.sessions(others, of_visits);
        let (limit, interval) = (LIMIT.ln_1p(), sign_interval::of_median(&sessions, confidence)?);
        let middle = describe::median(&sessions)?;
        if interval.low <= limit && interval.high >= -limit {
            return None;
        }
        // Of two machines the slower one is named.
        let turn = if others.len() == 1 && middle < 0.0 { -1.0 } else { 1.0 };
        let (machine, others) = if turn < 0.0 { (others[0], vec![machine]) } else { (machine, others.to_vec()) };
        let named = |place: usize| {
            let Series { machine, machine_name, .. } = self.machines[place];
            NamedMachine { id: machine.clone(), name: machine_name.clone() }
        };
        let (most, lead) = of_series.iter().max_by(|a, b| (a.0 * middle).total_cmp(&(b.0 * middle)))?;
        Some(Disagreement {
            suite: lead.series.suite.clone(),
            machine_class: lead.series.machine_class.clone(),
            machine: named(machine),
            others: others.into_iter().map(named).collect(),
            metric: lead.series.metric.clone(),
            judged: of_series.iter().any(|one| one.1.judged),
            name: name.map(str::to_owned),
            series: of_series.len(),
            change: from_log(turn * middle),
            sessions: sessions.len(),
            beyond: sessions.iter().filter(|one| **one * middle.signum() > limit).count(),
            most: lead.series.benchmark.clone(),
            most_change: from_log(turn * most),
        })
    }

    /// The deviation of each of the newest sessions. Those beyond the number of sessions of the others share them, and are joined.
    fn sessions(&self, others: &[usize], of_visits: BTreeMap<Visit, Vec<f64>>) -> Vec<f64> {
        let ends = of_visits.keys().next().zip(of_visits.keys().next_back());
        let Some((first, last)) = ends.map(|(first, last)| (first.position, last.position)) else { return Vec::new() };
        let during = |other: &usize| {
            let visits = &self.visits[*other];
            let before = visits.iter().rev().find(|one| one.position <= first).map_or(first, |one| one.position);
            let after = visits.iter().find(|one| one.position >= last).map_or(last, |one| one.position);
            let between = visits.iter().filter(|one| (before..=after).contains(&one.position));
            between.map(|one| one.session).collect::<BTreeSet<usize>>().len()
        };
        let most = others.iter().map(during).max().unwrap_or_default().max(1);
        let mut of_sessions: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (visit, deviations) in of_visits {
            of_sessions.entry(visit.session).or_default().extend(describe::median(&deviations));
        }
        let sessions: Vec<f64> = of_sessions.values().filter_map(|one| describe::median(one)).collect();
        let joined = sessions.chunks(sessions.len().div_ceil(most).max(1)).filter_map(describe::median);
        let joined: Vec<f64> = joined.collect();
        joined[joined.len().saturating_sub(SESSIONS)..].to_vec()
    }
}

impl Measured<'_> {
    /// Of each visit of a machine, as far as others have values there.
    fn deviations(&self, machine: usize, others: &[usize]) -> Vec<(Visit, f64)> {
        let values = self.values[machine].iter();
        let deviation = |(visit, value): &(Visit, f64)| {
            let levels: Vec<f64> =
                others.iter().filter_map(|other| level_at(&self.values[*other], visit.position)).collect();
            Some((*visit, value - describe::median(&levels)?))
        };
        values.filter_map(deviation).collect()
    }
}

/// The value at a commit, else the mean of those next to it on either side.
fn level_at(values: &[(Visit, f64)], position: usize) -> Option<f64> {
    let begin = values.partition_point(|one| one.0.position < position);
    let end = values.partition_point(|one| one.0.position <= position);
    if begin < end {
        return describe::median(&values[begin..end].iter().map(|one| one.1).collect::<Vec<f64>>());
    }
    Some(0.5 * (values[..begin].last()?.1 + values.get(end)?.1))
}

/// Of the machines with enough sessions under a key: a series, the visits of its runs, and the rank of the newest run.
type Compared<'a> = (&'a str, usize, Vec<(&'a Series, Vec<(usize, Visit)>)>);

fn sessions<'a>(key: &'a str, machines: BTreeMap<&str, Vec<RunOf<'a>>>) -> Option<Compared<'a>> {
    let of_machine = |mut runs: Vec<RunOf<'a>>| {
        runs.sort_by_key(|(_, run)| (run.time, run.rank));
        let groups = runs.chunk_by(|a, b| b.1.time - a.1.time < SESSION);
        let visits: Vec<(usize, Visit)> = groups
            .enumerate()
            .flat_map(|(session, runs)| runs.iter().map(move |(_, run)| (session, run)))
            .filter_map(|(session, run)| Some((run.rank, Visit { position: run.position?, session })))
            .collect();
        let enough = visits.last().is_some_and(|(_, visit)| visit.session + 1 >= FEWEST);
        enough.then(|| (runs[0].0, visits))
    };
    let compared: Vec<_> = machines.into_values().filter_map(of_machine).collect();
    let newest = compared.iter().flat_map(|(_, visits)| visits).map(|(rank, _)| *rank).max()?;
    (compared.len() > 1).then_some((key, newest, compared))
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::example::analysed;
    use crate::trend::example::{self, elsewhere, point};
    use sprag_base::stats::random::SplitMix64;

    /// How a fleet measures: machines, commits, and what is off.
    #[derive(Clone, Copy)]
    struct Fleet {
        machines: usize,
        commits: usize,
        /// The factor of the last machine, in benchmarks whose names contain a text, from a commit on.
        off: (f64, &'static str, usize),
        /// The deviation of all series of a run, of which the next run keeps a share, and of one series.
        noise: [f64; 3],
        /// Whether each commit is measured by one machine after another, and not by all.
        takes_turns: bool,
        hours: i64,
    }

    const EQUAL: Fleet =
        Fleet { machines: 2, commits: 30, off: (1.0, "", 0), noise: [0.03, 0.0, 0.02], takes_turns: false, hours: 24 };

    fn detected(fleet: Fleet, seed: u64) -> Vec<Disagreement> {
        let mut random = SplitMix64::new(seed);
        let [of_run, correlation, of_series] = fleet.noise;
        let mut series: Vec<Series> = Vec::new();
        for machine in 0..fleet.machines {
            let (mut state, first) = (0.0, series.len());
            series.extend((0..8).map(|number| {
                let name = ["pack", "scan"][number % 2];
                let one = Series { name: name.to_owned(), ..example::series(&format!("{name}{number}"), &[]) };
                elsewhere(one, &format!("m{machine}"))
            }));
            for commit in (0..fleet.commits).filter(|commit| !fleet.takes_turns || commit % fleet.machines == machine) {
                state = correlation * state + (1.0 - correlation * correlation).sqrt() * of_run * random.normal();
                for (number, one) in series[first..].iter_mut().enumerate() {
                    // Code gets slower, which is not the machine.
                    let level = if commit > 14 && number == 0 { 1.3 } else { 1.0 };
                    let (factor, part, since) = fleet.off;
                    let is_off = machine + 1 == fleet.machines && one.benchmark.contains(part) && commit >= since;
                    let off = if is_off { factor } else { 1.0 };
                    let value = level * off * (state + of_series * random.normal()).exp();
                    let hours = TimeDelta::hours(fleet.hours * commit as i64) + TimeDelta::minutes(machine as i64);
                    one.points.push(point(commit, value).of_run(|run| {
                        run.rank = commit * fleet.machines + machine;
                        run.time = point(0, 0.0).time + hours;
                    }));
                }
            }
        }
        disagreements(&series.into_iter().map(|one| analysed(one, true)).collect::<Vec<_>>())
    }

    fn share(fleet: Fleet, histories: u64, is: impl Fn(&[Disagreement]) -> bool) -> f64 {
        (0..histories).filter(|seed| is(&detected(fleet, *seed))).count() as f64 / histories as f64
    }

    #[test]
    fn equal_machines_hardly_ever_disagree() {
        let check = |fleet: Fleet, most: f64| {
            let rate = share(fleet, 400, |detected| !detected.is_empty());
            assert!(rate <= most, "{rate}");
        };
        check(EQUAL, 0.0);
        check(Fleet { noise: [0.1, 0.0, 0.05], ..EQUAL }, 0.01);
        check(Fleet { noise: [0.03, 0.5, 0.02], ..EQUAL }, 0.01);
        check(Fleet { takes_turns: true, commits: 60, ..EQUAL }, 0.0);
        check(Fleet { machines: 5, ..EQUAL }, 0.0);
        // One session of many commits shows the state of a machine on that day.
        check(Fleet { hours: 0, noise: [0.1, 1.0, 0.01], ..EQUAL }, 0.0);
    }

    #[test]
    fn a_machine_that_deviates_is_detected_and_named() {
        let is_named = |detected: &[Disagreement], machine: usize, others: usize| {
            detected.len() == 1 && detected[0].machine.id == format!("m{machine}") && detected[0].others.len() == others
        };
        let check = |fleet: Fleet, least: f64, is: &dyn Fn(&[Disagreement]) -> bool| {
            let rate = share(fleet, 200, is);
            assert!(rate >= least, "{rate}");
        };
        let slower = Fleet { off: (1.05, "", 0), noise: [0.01, 0.0, 0.02], ..EQUAL };
        check(slower, 0.99, &|detected| is_named(detected, 1, 1) && detected[0].name.is_none());
        check(Fleet { takes_turns: true, commits: 60, ..slower }, 0.99, &|detected| is_named(detected, 1, 1));
        check(Fleet { machines: 4, off: (0.95, "", 0), ..slower }, 0.99, &|detected| is_named(detected, 3, 3));
        check(Fleet { off: (1.05, "", 10), ..slower }, 0.9, &|detected| is_named(detected, 1, 1));
        check(Fleet { off: (1.05, "scan", 0), ..slower }, 0.95, &|detected| {
            is_named(detected, 1, 1) && detected[0].name.as_deref() == Some("scan") && detected[0].series == 4
        });
        // One of four sizes of a benchmark.
        check(Fleet { off: (1.05, "scan1", 0), ..slower }, 0.99, &|detected| detected.is_empty());
    }

    #[test]
    fn sizes_are_those_of_the_machine() {
        let detected = detected(Fleet { machines: 3, off: (1.25, "", 0), noise: [0.0, 0.0, 0.0], ..EQUAL }, 1);
        let [one] = detected.as_slice() else { panic!("one machine is off: {detected:?}") };
        assert!((one.change - 0.25).abs() < 1e-9 && (one.most_change - 0.25).abs() < 1e-9, "{one:?}");
        assert_eq!((one.series, one.sessions, one.beyond, one.judged), (8, 20, 20, true));
    }

    #[test]
    fn runs_of_other_environments_and_few_sessions_are_not_compared() {
        let off = Fleet { off: (1.5, "", 0), ..EQUAL };
        assert_eq!(detected(off, 1).len(), 1);
        assert_eq!(detected(Fleet { commits: FEWEST - 1, ..off }, 1), []);
        assert_eq!(detected(Fleet { hours: 0, ..off }, 1), []);
        let of = |machine: &str, key: &str| {
            let values: Vec<(usize, f64)> =
                (0..30).map(|place| (place, if machine == "m1" { 2.0 } else { 1.0 })).collect();
            let mut series = elsewhere(example::series("pack", &values), machine);
            for point in &mut series.points {
                let run = point.run_mut();
                (run.environment_key, run.rank) = (key.into(), 2 * run.rank + usize::from(machine == "m1"));
            }
            analysed(series, true)
        };
        assert_eq!(disagreements(&[of("m0", "e"), of("m1", "f")]), []);
        assert_eq!(disagreements(&[of("m0", "e"), of("m1", "e")]).len(), 1);
    }
}

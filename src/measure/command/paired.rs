//! Two builds of a command against each other: processes of both in turn, base, other, other, base, and so on.
//!
//! A process of the base and one of the other make a pair. Effects of the machine on both cancel in their ratio, and each
//! side goes first as often as second.

use std::collections::BTreeMap;

use crate::MeasureError;
use crate::campaign::Pace;
use crate::command::CommandFault;
use crate::command::suite::{CommandSuite, OutputReader, fault_texts, one_process, summary, unpinned};
use crate::paired::{PairedResult, is_narrow};
use crate::plan::Protocol;
use sprag_base::stats::describe;
use sprag_model::foreign::{Reported, ReportedMetric};
use sprag_model::paired::{New, Pair, Paired};
use sprag_model::{Metric, paired};

#[derive(Clone, Copy, Debug)]
pub struct CommandSides<'a> {
    /// Absent where it does not have the suite, so that all of the other is new.
    pub base: Option<&'a CommandSuite>,
    pub other: &'a CommandSuite,
}

/// Runs the command of both sides in turn and reads the output of each process; `progress` gets the number of pairs.
pub fn measure(
    sides: CommandSides<'_>,
    read: &OutputReader<'_>,
    protocol: &Protocol,
    progress: &mut dyn FnMut(u32),
) -> Result<PairedResult, MeasureError> {
    let (mut pairs, mut faults, mut pace) = (Vec::new(), Vec::new(), Pace::start(protocol));
    let mut is_of_base = false;
    let failed = |is_of_base: bool, text: String| match is_of_base {
        true => MeasureError::Command(text),
        false => MeasureError::Other(text),
    };
    for number in 0..protocol.processes {
        progress(number);
        let is_over = number > 0 && sides.other.is_over();
        if is_over || pace.stop(number, pairs.len(), || is_precise(protocol, &pool(&pairs))).is_some() {
            break;
        }
        match pair(sides, read, number) {
            // None of the benchmarks is asked for, so no other pair would report one.
            Ok(pair) if pair.base.is_empty() && pair.other.is_empty() => {
                pairs.push(pair);
                break;
            }
            Ok(pair) => pairs.push(pair),
            Err((side, CommandFault::Start(text))) => return Err(failed(side == BASE, format!("the {side}: {text}"))),
            // It would probably hang again for the whole time-out.
            Err((side, CommandFault::TimeOut(text))) if pairs.is_empty() => {
                let fault = CommandFault::TimeOut(format!("the {side}: {text}; it was not tried again"));
                return Err(failed(side == BASE, sides.other.with_setting(&fault, "timeout_seconds")));
            }
            Err((side, fault)) => {
                is_of_base |= side == BASE;
                faults.push((number + 1, format!("the {side}: {}", fault.text())));
            }
        }
    }
    if pairs.is_empty() {
        return Err(failed(is_of_base, summary("pair", &faults)));
    }
    let Pooled { judged, shown, new } = pool(&pairs);
    let all = pairs.iter().flat_map(|pair| pair.base.iter().chain(&pair.other));
    let identities = all.map(|one| (one.benchmark.id(), one.benchmark.clone())).collect();
    let mut faults = fault_texts("pair", &faults);
    let unpinned = unpinned(protocol);
    let processors = protocol.pin.into_iter().filter(|_| unpinned.is_none()).collect();
    faults.extend(unpinned);
    Ok(PairedResult { benchmarks: judged, shown, new, identities, pairs: pairs.len(), faults, processors })
}

const BASE: &str = "base";
const OTHER: &str = "other side";

type Blame = (&'static str, CommandFault);

fn pair(sides: CommandSides<'_>, read: &OutputReader<'_>, number: u32) -> Result<ReportPair, Blame> {
    // Both have the same padding, since only the build may differ.
    let base = || match sides.base {
        Some(base) => one_process(base, read, number).map_err(|fault| (BASE, fault)),
        None => Ok(Vec::new()),
    };
    let other = || one_process(sides.other, read, number).map_err(|fault| (OTHER, fault));
    if number.is_multiple_of(2) {
        Ok(ReportPair { number: number + 1, base: base()?, other: other()? })
    } else {
        let other = other()?;
        Ok(ReportPair { number: number + 1, base: base()?, other })
    }
}

/// Whether every interval is narrow enough.
fn is_precise(protocol: &Protocol, pooled: &Pooled) -> bool {
    let mut measured = pooled.judged.iter().filter(|one| one.failure.is_none() && one.incomparable.is_none());
    protocol.precision.is_some_and(|asked| measured.all(|one| is_narrow(&one.ratios(), asked)))
}

/// The reports of a process of the base and of one of the other.
struct ReportPair {
    /// From 1.
    number: u32,
    base: Vec<Reported>,
    other: Vec<Reported>,
}

struct Pooled {
    /// The judged metric of each benchmark of the base.
    judged: Vec<Paired>,
    shown: Vec<Paired>,
    new: Vec<New>,
}

/// Why a benchmark is not compared: its failure, or its different work.
type Obstacle = (Option<String>, Option<String>);

/// A benchmark as the two processes of a pair reported it.
struct Both<'a> {
    number: u32,
    base: Option<&'a Reported>,
    other: Option<&'a Reported>,
}

struct Measured<'a> {
    number: u32,
    base: &'a [ReportedMetric],
    other: &'a [ReportedMetric],
}

/// Pools the pairs, benchmarks in the order in which they were first reported.
fn pool(pairs: &[ReportPair]) -> Pooled {
    let mut ids: Vec<String> = Vec::new();
    let mut by_id: BTreeMap<String, Vec<Both<'_>>> = BTreeMap::new();
    for (place, pair) in pairs.iter().enumerate() {
        for (is_base, reported) in
            pair.base.iter().map(|one| (true, one)).chain(pair.other.iter().map(|one| (false, one)))
        {
            let all = by_id.entry(reported.benchmark.id()).or_insert_with_key(|id| {
                ids.push(id.clone());
                pairs.iter().map(|pair| Both { number: pair.number, base: None, other: None }).collect()
            });
            let side = if is_base { &mut all[place].base } else { &mut all[place].other };
            *side = Some(reported);
        }
    }
    let mut pooled = Pooled { judged: Vec::new(), shown: Vec::new(), new: Vec::new() };
    for id in ids {
        let both = &by_id[&id];
        if both.iter().all(|one| one.base.is_none()) {
            pooled.new.push(new(&id, both));
        } else {
            benchmark(&id, both, &mut pooled);
        }
    }
    pooled
}

fn new(id: &str, both: &[Both<'_>]) -> New {
    let reported = || both.iter().filter_map(|one| one.other.map(|other| (one.number, &other.result)));
    let failed = reported().find_map(|(number, result)| Some(format!("{} (pair {number})", result.as_ref().err()?)));
    let measured: Vec<&[ReportedMetric]> =
        reported().filter_map(|(_, result)| Some(result.as_ref().ok()?.as_slice())).collect();
    let first = measured.first().copied().unwrap_or_default();
    let judged = paired::judged(first.iter().map(|one| &one.metric)).map(|place| &first[place].metric);
    let Some(metric) = judged.filter(|_| failed.is_none()) else {
        return New { failure: failed, ..New::untimed(id) };
    };
    let samples =
        |metrics: &&[ReportedMetric]| describe::median(&metrics.iter().find(|one| one.metric == *metric)?.samples);
    let values: Vec<f64> = measured.iter().filter_map(samples).collect();
    New { metric: metric.clone(), value: describe::median(&values), ..New::untimed(id) }
}

fn benchmark(id: &str, both: &[Both<'_>], pooled: &mut Pooled) {
    let blank = |metric: Metric| Paired {
        benchmark: id.to_owned(),
        metric,
        class: None,
        pairs: Vec::new(),
        failure: None,
        incomparable: None,
    };
    let first: &[ReportedMetric] =
        both.iter().find_map(|one| one.base?.result.as_ref().ok()).map_or(&[], |metrics| metrics);
    let judged = paired::judged(first.iter().map(|one| &one.metric));
    let judged_metric = judged.map_or_else(Metric::time, |place| first[place].metric.clone());
    let measured = match measured(both) {
        Ok(measured) => measured,
        Err((failure, incomparable)) => {
            pooled.judged.push(Paired { failure, incomparable, ..blank(judged_metric) });
            return;
        }
    };
    for (place, one) in first.iter().enumerate() {
        let metric = one.metric.clone();
        let name = metric.name.clone();
        let compared = match pairs(&measured, &metric) {
            Ok(Ok(pairs)) => Paired { pairs, ..blank(metric) },
            Ok(Err(reason)) => Paired { incomparable: Some(reason), ..blank(metric) },
            // A further metric of one side alone is not a loss.
            Err(_) if Some(place) != judged => continue,
            Err(side) => match restated(&measured, &metric) {
                Some(reason) => Paired { incomparable: Some(reason), ..blank(metric) },
                None => Paired { failure: Some(format!("the {side} does not report its `{name}`")), ..blank(metric) },
            },
        };
        let list = if Some(place) == judged { &mut pooled.judged } else { &mut pooled.shown };
        list.push(compared);
    }
}

/// That both sides report a metric of that name, but in another unit or direction.
fn restated(measured: &[Measured<'_>], metric: &Metric) -> Option<String> {
    let is_other = |one: &&ReportedMetric| one.metric.name == metric.name && one.metric != *metric;
    let other = measured.iter().flat_map(|pair| pair.other.iter().chain(pair.base)).find(is_other)?;
    Some(metric.redefined(&other.metric))
}

fn measured<'a>(both: &[Both<'a>]) -> Result<Vec<Measured<'a>>, Obstacle> {
    if both.iter().all(|one| one.other.is_none()) {
        return Err((Some("the other side does not have it".to_owned()), None));
    }
    let mut measured = Vec::with_capacity(both.len());
    let mut first: Option<&Reported> = None;
    for Both { number, base, other } in both {
        let there = |side: &str, one: &Option<&'a Reported>| {
            one.ok_or_else(|| (Some(format!("the {side} did not report it in pair {number}")), None))
        };
        let (base, other) = (there("base", base)?, there("other side", other)?);
        let result = |side: &str, reported: &'a Reported| match &reported.result {
            Ok(metrics) => Ok(metrics.as_slice()),
            Err(reason) => Err((Some(format!("the {side}: {reason} (pair {number})")), None)),
        };
        measured.push(Measured { number: *number, base: result("base", base)?, other: result("other side", other)? });
        let first = *first.get_or_insert(base);
        for one in [base, other] {
            let (was, is) = (first.benchmark.version, one.benchmark.version);
            if was != is {
                return Err((None, Some(format!("it does different work: version {was} of it became version {is}"))));
            }
            if first.work != one.work {
                return Err((None, Some("it does different work: what one call does has changed".to_owned())));
            }
        }
    }
    Ok(measured)
}

/// The pairs of a metric, or why one of them has no ratio; or which side does not report it.
fn pairs(measured: &[Measured<'_>], metric: &Metric) -> Result<Result<Vec<Pair>, String>, &'static str> {
    let pair = |pair: &Measured<'_>| -> Result<Result<Pair, String>, &'static str> {
        let base = samples(pair.base, metric).ok_or("base")?;
        let other = samples(pair.other, metric).ok_or("other side")?;
        Ok(Pair::new(base, other).ok_or_else(|| without_ratio(metric, [base, other], pair.number)))
    };
    let pairs = measured.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    Ok(pairs.into_iter().collect())
}

fn without_ratio(metric: &Metric, sides: [&[f64]; 2], number: u32) -> String {
    let values = sides.map(|samples| describe::median(samples).unwrap_or(f64::NAN));
    let [base, other] = values.map(|value| metric.unit.scale(value).text(value));
    let name = &metric.name;
    let why = match values.iter().all(|value| *value > 0.0) {
        true => "so far apart that there is no ratio",
        false => "zero or less on one side, which has no ratio",
    };
    format!("its `{name}` is {why} ({base} against {other} in pair {number})")
}

fn samples<'r>(metrics: &'r [ReportedMetric], metric: &Metric) -> Option<&'r [f64]> {
    let samples = &metrics.iter().find(|one| one.metric == *metric)?.samples;
    Some(samples.as_slice()).filter(|samples| !samples.is_empty())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::command::suite::testing::{read, shell};
    use sprag_model::Benchmark;

    fn side(folder: &Path, script: &str) -> CommandSuite {
        shell(folder, script, Protocol::ordinary(4))
    }

    fn measured(folder: &Path, base: &str, other: &str, protocol: &Protocol) -> Result<PairedResult, String> {
        let (base, other) = (side(folder, base), side(folder, other));
        let sides = CommandSides { base: Some(&base), other: &other };
        measure(sides, &read, protocol, &mut |_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn sides_take_turns_with_equal_padding_and_each_pair_has_its_ratio() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let script =
            |name: &str, value: &str| format!("printf '%s%s ' {name} ${{#SPRAG_PADDING}} >> order; echo {value}");
        let result = measured(folder.path(), &script("b", "2"), &script("o", "3"), &Protocol::ordinary(4));
        let result = result.expect("both report");
        assert_eq!(result.benchmarks[0].pairs, vec![Pair { base: 2.0, other: 3.0, ratio: 1.5 }; 4]);
        assert_eq!((result.faults.len(), result.processors.len(), result.new.len()), (0, 0, 0));
        let order = std::fs::read_to_string(folder.path().join("order")).expect("they wrote it");
        let order: Vec<&str> = order.split_whitespace().collect();
        assert_eq!(order.iter().map(|one| &one[..1]).collect::<String>(), "boobboob");
        assert!(order.chunks(2).all(|pair| pair[0][1..] == pair[1][1..]), "{order:?}");
    }

    #[test]
    fn without_a_base_all_is_new() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let other = side(folder.path(), "echo 2");
        let result = measure(CommandSides { base: None, other: &other }, &read, &Protocol::ordinary(3), &mut |_| ());
        let result = result.expect("it reports");
        assert_eq!((result.benchmarks.len(), result.shown.len(), result.pairs), (0, 0, 3));
        assert_eq!(result.new.iter().map(|new| new.value).collect::<Vec<_>>(), [Some(2.0)]);
    }

    #[test]
    fn a_pair_with_a_fault_is_left_out_and_all_of_them_are_an_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let once = "mkdir once 2> log || { echo 3; exit; }; exit 7";
        let result = measured(folder.path(), "echo 2", once, &Protocol::ordinary(4)).expect("three pairs report");
        assert_eq!(result.faults, ["pair 1: the other side: it ended with exit code 7"]);
        assert_eq!((result.benchmarks[0].pairs.len(), result.pairs), (3, 3));
        let fault = |base: &str, other: &str| {
            measured(folder.path(), base, other, &Protocol::ordinary(3)).expect_err("there is no pair")
        };
        assert_eq!(fault("exit 3", "echo 1"), "the command gave no result: the base: it ended with exit code 3");
        assert_eq!(fault("echo 1", "echo x"), "the command gave no result: the other side: invalid float literal");
        let mut hanging = side(folder.path(), "sleep 1000");
        hanging.settings.time_out = Duration::from_millis(300);
        let (base, sides) = (side(folder.path(), "echo 1"), |base| CommandSides { base: Some(base), other: &hanging });
        let error =
            measure(sides(&base), &read, &Protocol::ordinary(3), &mut |_| ()).expect_err("it hangs").to_string();
        assert!(
            error.contains("the other side: it took longer than 0.3 s") && error.contains("not tried again"),
            "{error}"
        );
    }

    #[test]
    fn a_budget_ends_with_precision() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let result = measured(folder.path(), "echo 2", "echo 2", &Protocol::within(60.0)).expect("both report");
        assert_eq!(result.benchmarks[0].pairs.len(), 6);
        // Without a ratio nothing is left to wait for.
        let result = measured(folder.path(), "echo 0", "echo 2", &Protocol::within(60.0)).expect("both report");
        assert_eq!((result.benchmarks[0].pairs.len(), result.pairs), (0, 6));
    }

    fn reported(name: &str, metrics: &[(Metric, f64)]) -> Reported {
        let metrics =
            metrics.iter().map(|(metric, value)| ReportedMetric { metric: metric.clone(), samples: vec![*value] });
        Reported {
            benchmark: Benchmark::new("s", name, &[], "default").expect("the name is a word"),
            result: Ok(metrics.collect()),
            work: Vec::new(),
        }
    }

    fn time(name: &str, seconds: f64) -> Reported {
        reported(name, &[(Metric::time(), seconds)])
    }

    fn pooled(pairs: &[(Vec<Reported>, Vec<Reported>)]) -> Pooled {
        let pair = |(number, (base, other)): (u32, &(Vec<Reported>, Vec<Reported>))| ReportPair {
            number,
            base: base.clone(),
            other: other.clone(),
        };
        pool(&(1..).zip(pairs).map(pair).collect::<Vec<_>>())
    }

    /// Why the one benchmark of these pairs is not compared.
    fn obstacle(pairs: &[(Vec<Reported>, Vec<Reported>)]) -> String {
        let result = pooled(pairs).judged.remove(0);
        assert!(result.pairs.is_empty(), "what is not compared has no pairs");
        match (result.failure, result.incomparable) {
            (Some(failure), None) => failure,
            (None, Some(reason)) => format!("not comparable: {reason}"),
            other => panic!("one reason: {other:?}"),
        }
    }

    #[test]
    fn time_is_judged_wherever_it_stands_and_the_rest_is_shown() {
        let one = |seconds: f64, bytes: f64| {
            vec![reported("a", &[(Metric::peak_memory(), bytes), (Metric::time(), seconds)])]
        };
        let result = pooled(&[(one(2.0, 8.0), one(3.0, 4.0)), (one(2.0, 0.0), one(3.0, 0.0))]);
        let ratios =
            |list: &[Paired]| list.iter().map(|one| (one.metric.name.clone(), one.ratios())).collect::<Vec<_>>();
        assert_eq!(ratios(&result.judged), [("time".to_owned(), vec![1.5, 1.5])]);
        assert_eq!(ratios(&result.shown), [("peak_memory".to_owned(), vec![0.5, 1.0])]);
        // Without a time, the first metric is judged.
        let rate = |value: f64| vec![reported("a", &[(Metric::throughput("hits_per_s"), value)])];
        assert_eq!(ratios(&pooled(&[(rate(4.0), rate(2.0))]).judged), [("hits_per_s".to_owned(), vec![0.5])]);
    }

    #[test]
    fn a_benchmark_of_one_side_is_missing_or_new_with_its_judged_metric() {
        let result = pooled(&[(vec![time("a", 1.0), time("b", 1.0)], vec![time("b", 1.0), time("c", 1.0)])]);
        let judged: Vec<(&str, Option<&str>)> =
            result.judged.iter().map(|one| (one.benchmark.as_str(), one.failure.as_deref())).collect();
        assert_eq!(judged, [("s/a @default", Some("the other side does not have it")), ("s/b @default", None)]);
        assert_eq!(result.new, [New { value: Some(1.0), ..New::untimed("s/c @default") }]);
        let new = |others: Vec<Vec<Reported>>| {
            let pairs: Vec<_> = others.into_iter().map(|other| (vec![time("a", 1.0)], other)).collect();
            pooled(&pairs).new.remove(0)
        };
        let rate = |value: f64| vec![reported("b", &[(Metric::throughput("hits_per_s"), value)])];
        let result = new(vec![rate(4.0), rate(2.0), vec![], rate(8.0)]);
        assert_eq!((result.metric, result.value, result.failure), (Metric::throughput("hits_per_s"), Some(4.0), None));
        let broken = vec![Reported { result: Err("wrong sum".to_owned()), ..time("b", 1.0) }];
        let result = new(vec![vec![time("b", 1.0)], broken]);
        assert_eq!((result.value, result.failure.as_deref()), (None, Some("wrong sum (pair 2)")));
    }

    #[test]
    fn a_benchmark_that_is_not_measured_in_every_process_has_a_reason() {
        let fine = || vec![time("a", 1.0)];
        let broken = || vec![Reported { result: Err("wrong sum".to_owned()), ..time("a", 1.0) }];
        assert_eq!(obstacle(&[(fine(), fine()), (fine(), broken())]), "the other side: wrong sum (pair 2)");
        assert_eq!(obstacle(&[(broken(), fine())]), "the base: wrong sum (pair 1)");
        assert_eq!(obstacle(&[(fine(), fine()), (vec![], fine())]), "the base did not report it in pair 2");
        let bytes = || vec![reported("a", &[(Metric::peak_memory(), 1.0)])];
        assert_eq!(obstacle(&[(fine(), bytes())]), "the other side does not report its `time`");
        let redefined = Metric { name: "time".to_owned(), ..Metric::throughput("x") };
        let reason = Metric::time().redefined(&redefined);
        assert_eq!(
            obstacle(&[(fine(), vec![reported("a", &[(redefined, 1.0)])])]),
            format!("not comparable: {reason}")
        );
        assert!(reason.contains("lower is better, now as") && reason.ends_with("higher is better"), "{reason}");
    }

    #[test]
    fn other_work_and_zeros_are_not_comparable() {
        let fine = || vec![time("a", 1.0)];
        let mut newer = fine();
        newer[0].benchmark.version = 2;
        let version = "not comparable: it does different work: version 1 of it became version 2";
        assert_eq!(obstacle(&[(fine(), newer)]), version);
        let mut larger = fine();
        larger[0].work = vec![("bytes_per_s".to_owned(), 10.0)];
        assert!(obstacle(&[(fine(), larger)]).contains("what one call does has changed"));
        let bytes = |value: f64| vec![reported("a", &[(Metric::peak_memory(), value)])];
        let zero = "not comparable: its `peak_memory` is zero or less on one side, which has no ratio";
        assert_eq!(obstacle(&[(bytes(0.0), bytes(1.0))]), format!("{zero} (0 B against 1.000 B in pair 1)"));
        let later = obstacle(&[(bytes(1.0), bytes(1.0)), (bytes(2048.0), bytes(0.0))]);
        assert_eq!(later, format!("{zero} (2.000 KiB against 0 B in pair 2)"));
    }

    #[test]
    fn a_sample_of_zero_among_others_is_comparable() {
        let samples = |values: [f64; 3]| {
            let mut one = reported("a", &[(Metric::peak_memory(), 1.0)]);
            one.result.as_mut().expect("it reports")[0].samples = values.to_vec();
            vec![one]
        };
        let result = pooled(&[(samples([0.0, 3.0, 3.0]), samples([3.0, 3.0, 0.0]))]);
        assert_eq!(result.judged[0].pairs, [Pair { base: 3.0, other: 3.0, ratio: 1.0 }]);
        let result = pooled(&[(samples([0.0, 3.0, 3.0]), samples([6.0, 6.0, 0.0]))]);
        assert_eq!(result.judged[0].ratios(), [2.0]);
    }

    #[test]
    fn a_shown_metric_may_have_no_ratio() {
        let one = |bytes: f64| vec![reported("a", &[(Metric::time(), 1.0), (Metric::peak_memory(), bytes)])];
        let result = pooled(&[(one(0.0), one(4.0))]);
        assert_eq!((result.judged.len(), result.judged[0].ratios()), (1, vec![1.0]));
        let shown = &result.shown[0];
        assert_eq!((shown.metric.name.as_str(), shown.pairs.len()), ("peak_memory", 0));
        assert!(shown.incomparable.as_ref().is_some_and(|reason| reason.contains("0 B against 4.000 B")), "{shown:?}");
        assert!(pooled(&[(one(0.0), vec![time("a", 1.0)])]).shown.is_empty(), "the other side does not measure it");
    }
}

//! Two builds of a command against each other: processes of both in turn, base, other, other, base, and so on.
//!
//! A process of the base and one of the other make a pair. What the machine does to both in that time cancels in their
//! ratio, and since each side goes first as often as second, so does what the first does to the second.

use std::time::Instant;

use super::pair_up::{Pooled, ReportPair, pool};
use super::process::CommandFault;
use super::suite::{CommandSuite, Reader, one_process};
use crate::campaign::{Precision, should_stop};
use crate::paired::{PairedResult, is_narrow};
use crate::plan::Protocol;
use crate::{MeasureError, pinning};

/// The two builds: the base, and the other that is held against it.
#[derive(Clone, Copy, Debug)]
pub struct CommandSides<'a> {
    /// The base; absent where it does not have the suite, so that all of the other is new.
    pub base: Option<&'a CommandSuite>,
    pub other: &'a CommandSuite,
}

/// Runs the command of both sides in turn, as the protocol of pairs says, and reads what each process wrote;
/// `progress` hears how many pairs have ended.
pub fn measure(
    sides: CommandSides<'_>,
    read: &Reader<'_>,
    protocol: &Protocol,
    progress: &mut dyn FnMut(u32),
) -> Result<PairedResult, MeasureError> {
    let start = Instant::now();
    let (mut pairs, mut faults, mut precision) = (Vec::new(), Vec::new(), Precision::default());
    let mut is_of_base = false;
    let failed = |is_of_base: bool, text: String| match is_of_base {
        true => MeasureError::Command(text),
        false => MeasureError::Other(text),
    };
    for number in 0..protocol.processes {
        progress(number);
        if should_stop(protocol, number, start.elapsed().as_secs_f64()).is_some()
            || (protocol.precision.is_some() && precision.check(pairs.len(), || is_precise(protocol, &pool(&pairs))))
        {
            break;
        }
        match pair(sides, read, number) {
            Ok(pair) => pairs.push(pair),
            Err((side, CommandFault::Start(text))) => return Err(failed(side == BASE, format!("the {side}: {text}"))),
            // What hangs at once would hang again, and each time costs the whole time-out.
            Err((side, CommandFault::TimeOut(text))) if pairs.is_empty() => {
                return Err(failed(side == BASE, format!("the {side}: {text}; it was not tried again")));
            }
            Err((side, fault)) => {
                is_of_base |= side == BASE;
                faults.push((number + 1, format!("the {side}: {}", fault.text())));
            }
        }
    }
    if pairs.is_empty() {
        return Err(failed(is_of_base, summary(&faults)));
    }
    let Pooled { judged, shown, new } = pool(&pairs);
    let mut faults: Vec<String> = faults.iter().map(|(pair, text)| format!("pair {pair}: {text}")).collect();
    let permitted = |processor: u32| std::thread::scope(|scope| scope.spawn(|| pinning::pin(processor)).join());
    let processors = match protocol.pin {
        Some(processor) if permitted(processor).unwrap_or(false) => vec![processor],
        Some(processor) => {
            faults.push(format!("the system did not allow the command to be pinned to processor {processor}"));
            Vec::new()
        }
        None => Vec::new(),
    };
    Ok(PairedResult { benchmarks: judged, shown, new, pairs: pairs.len(), faults, processors })
}

const BASE: &str = "base";
const OTHER: &str = "other";

type Blame = (&'static str, CommandFault);

/// One process of each side, the base first in every other pair.
fn pair(sides: CommandSides<'_>, read: &Reader<'_>, number: u32) -> Result<ReportPair, Blame> {
    // Both get the same padding: they are to differ in nothing but the build.
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

/// Whether the interval of every benchmark is as narrow as was asked for.
fn is_precise(protocol: &Protocol, pooled: &Pooled) -> bool {
    let mut measured = pooled.judged.iter().filter(|one| one.failure.is_none() && one.incomparable.is_none());
    protocol.precision.is_some_and(|asked| measured.all(|one| is_narrow(&one.ratios(), asked)))
}

/// The faults of all pairs in one sentence; once, where each says the same.
fn summary(faults: &[(u32, String)]) -> String {
    match faults {
        [first, rest @ ..] if rest.iter().all(|fault| fault.1 == first.1) => first.1.clone(),
        _ => faults.iter().map(|(pair, text)| format!("pair {pair}: {text}")).collect::<Vec<_>>().join("; "),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use sprag_model::benchmark::Benchmark;
    use sprag_model::foreign::{Output, Reported, ReportedMetric};
    use sprag_model::metric::Metric;
    use sprag_model::paired::Pair;

    /// Reads the number on standard output as a time of the benchmark `a`.
    fn read(outputs: &[Output]) -> Result<Vec<Reported>, String> {
        let text = String::from_utf8_lossy(&outputs[0].bytes);
        let sample = text.trim().parse::<f64>().map_err(|error| error.to_string())?;
        let result = Ok(vec![ReportedMetric { metric: Metric::time(), samples: vec![sample] }]);
        let benchmark = Benchmark::new("s", "a", &[], "default").expect("the name is a word");
        Ok(vec![Reported { benchmark, result, work: Vec::new() }])
    }

    fn side(folder: &Path, script: &str) -> CommandSuite {
        CommandSuite {
            command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            folder: folder.to_owned(),
            variables: BTreeMap::new(),
            without: &[],
            build: Vec::new(),
            protocol: Protocol::ordinary(4),
            time_out: Duration::from_secs(60),
            build_time_out: Duration::from_secs(60),
            most_bytes: 1000,
            results: None,
            guard: None,
        }
    }

    fn measured(folder: &Path, base: &str, other: &str, protocol: &Protocol) -> Result<PairedResult, String> {
        let (base, other) = (side(folder, base), side(folder, other));
        let sides = CommandSides { base: Some(&base), other: &other };
        measure(sides, &read, protocol, &mut |_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn sides_take_turns_and_each_pair_has_its_ratio() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let order = folder.path().join("order");
        let script =
            |name: &str, value: &str| format!("printf '%s%s ' {name} ${{#SPRAG_PADDING}} >> order; echo {value}");
        let found = measured(folder.path(), &script("b", "2"), &script("o", "3"), &Protocol::ordinary(4));
        let found = found.expect("both report");
        assert_eq!(found.benchmarks[0].pairs, vec![Pair { base: 2.0, other: 3.0, ratio: 1.5 }; 4]);
        assert_eq!((found.faults.len(), found.processors.len(), found.new.len()), (0, 0, 0));
        let order = std::fs::read_to_string(order).expect("they wrote it");
        let order: Vec<&str> = order.split_whitespace().collect();
        let sides: String = order.iter().map(|one| &one[..1]).collect();
        assert_eq!(sides, "boobboob");
        assert!(order.chunks(2).all(|pair| pair[0][1..] == pair[1][1..]), "{order:?}");
    }

    #[test]
    fn a_pair_with_a_fault_is_left_out_and_all_of_them_are_an_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let once = "mkdir once 2> log || { echo 3; exit; }; exit 7";
        let found = measured(folder.path(), "echo 2", once, &Protocol::ordinary(4)).expect("three pairs report");
        assert_eq!(found.faults, ["pair 1: the other: it ended with exit code 7"]);
        assert_eq!((found.benchmarks[0].pairs.len(), found.pairs), (3, 3));
        let fault = |base: &str, other: &str| {
            measured(folder.path(), base, other, &Protocol::ordinary(3)).expect_err("it comes to nothing")
        };
        assert_eq!(fault("exit 3", "echo 1"), "the command gave no result: the base: it ended with exit code 3");
        assert_eq!(fault("echo 1", "echo x"), "the command gave no result: the other: invalid float literal");
        let mut hanging = side(folder.path(), "sleep 1000");
        hanging.time_out = Duration::from_millis(300);
        let base = side(folder.path(), "echo 1");
        let error =
            measure(CommandSides { base: Some(&base), other: &hanging }, &read, &Protocol::ordinary(3), &mut |_| ());
        let error = error.expect_err("it hangs").to_string();
        assert!(error.contains("the other: it took longer than 0.3 s") && error.contains("not tried again"), "{error}");
    }

    #[test]
    fn without_a_base_all_is_new() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let other = side(folder.path(), "echo 2");
        let found = measure(CommandSides { base: None, other: &other }, &read, &Protocol::ordinary(3), &mut |_| ());
        let found = found.expect("it reports");
        assert_eq!((found.benchmarks.len(), found.shown.len(), found.pairs), (0, 0, 3));
        assert_eq!(found.new.iter().map(|new| new.value).collect::<Vec<_>>(), [Some(2.0)]);
    }

    #[test]
    fn a_budget_ends_with_precision() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let found = measured(folder.path(), "echo 2", "echo 2", &Protocol::within(60.0)).expect("both report");
        assert_eq!(found.benchmarks[0].pairs.len(), 6);
        // What has no ratio is no benchmark to wait for, and its pairs have run all the same.
        let found = measured(folder.path(), "echo 0", "echo 2", &Protocol::within(60.0)).expect("both report");
        assert_eq!((found.benchmarks[0].pairs.len(), found.pairs), (0, 6));
    }
}

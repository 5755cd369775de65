//! What an item asks, what was measured and how much room there is, in a few words each: for tables beside the sentence that
//! says why.

use super::derive::{FileEvidence, Finding, ParityResult, SuiteResult};
use sprag_model::gate::Outcome;
use sprag_model::metric::Better;
use sprag_model::release::Figures;
use sprag_model::verdict::{Comparison, Verdict};

/// The figures of what was found; none where it does not hold together.
pub fn figures(found: &Finding) -> Option<Figures> {
    Some(match found {
        Finding::Damaged(_) => return None,
        Finding::NoRun { .. } => of("a whole run", "none", String::new()),
        Finding::Verdicts(judged) => verdicts(judged),
        Finding::Files(files) => of_files(files),
        Finding::Parity(checked) => parity(checked),
        Finding::Replay(_, Ok(faults)) if faults.is_empty() => of("it holds", "it holds", String::new()),
        Finding::Replay(_, Ok(faults)) => of("it holds", format!("{} faults", faults.len()), String::new()),
        Finding::Replay(_, Err(_)) => of("it holds", "it cannot be read", String::new()),
        Finding::Events { series: 0, .. } => of("0 open", "no series", String::new()),
        Finding::Events { open, accepted, .. } => {
            let margin = match (open.len(), accepted.len()) {
                (0, 0) => String::new(),
                (0, accepted) => format!("{accepted} accepted"),
                (open, _) => format!("{open} over"),
            };
            of("0 open", format!("{} open", open.len()), margin)
        }
        Finding::Coverage(coverage) => share("all judged", coverage.judged, coverage.total),
        Finding::Environments(runs) => {
            let told = runs.iter().filter(|run| !run.dirty && run.missing.is_empty()).count();
            share("all known, clean", told, runs.len())
        }
    })
}

/// How far the metric that is nearest to its limit lies from it, as a share of its baseline; below zero it lies beyond.
pub fn nearest(comparisons: &[Comparison]) -> Option<f64> {
    let is_judged = |one: &&Comparison| {
        matches!(one.verdict, Verdict::Unchanged | Verdict::Improved | Verdict::Regressed) && !one.is_accepted()
    };
    let room = |one: &Comparison| {
        let room = (one.allowed? - one.current?) / one.baseline?.abs();
        Some(if one.metric.better == Better::Higher { -room } else { room }).filter(|room| room.is_finite())
    };
    comparisons.iter().filter(is_judged).filter_map(room).min_by(f64::total_cmp)
}

fn of(limit: impl Into<String>, measured: impl Into<String>, margin: String) -> Figures {
    Figures { limit: limit.into(), measured: measured.into(), margin }
}

/// So many of all, of which each must be.
fn share(limit: &str, there: usize, all: usize) -> Figures {
    let short = all.saturating_sub(there);
    of(limit, format!("{there} of {all}"), if short > 0 { format!("{short} short") } else { String::new() })
}

fn verdicts(judged: &[SuiteResult]) -> Figures {
    let sum = |count: fn(&SuiteResult) -> usize| judged.iter().map(count).sum::<usize>();
    let worse = sum(|one| one.counts.regressed + one.counts.missing);
    let all = sum(|one| one.counts.total());
    if judged.iter().all(|one| one.outcome == Outcome::NotMeasured) {
        return of("none worse", "not measured", String::new());
    }
    let room = judged.iter().filter_map(|one| one.nearest).min_by(f64::total_cmp);
    let margin = match room {
        _ if worse > 0 => format!("{worse} over"),
        Some(room) => format!("{:.1} points", 100.0 * room).replace('-', "\u{2212}"),
        None => String::new(),
    };
    of("none worse", format!("{worse} of {all} worse"), margin)
}

fn of_files(files: &[FileEvidence]) -> Figures {
    let is_usable = |file: &&FileEvidence| {
        let FileEvidence { needed, content, fault } = file;
        let is_it =
            |(digest, bytes): &(String, u64)| *bytes > 0 && needed.sha256.as_ref().is_none_or(|one| one == digest);
        fault.is_none() && content.as_ref().is_some_and(is_it)
    };
    share("all there", files.iter().filter(is_usable).count(), files.len())
}

fn parity(checked: &[ParityResult]) -> Figures {
    let right = checked.iter().map(|one| one.checked).sum::<usize>();
    let others = checked.iter().map(|one| one.wrong.len() + one.unchecked.len()).sum::<usize>();
    share("all within tolerance", right, right + others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::checklist::NeededFile;
    use sprag_model::metric::Metric;
    use sprag_model::trend::Coverage;
    use sprag_model::verdict::Counts;

    fn check(found: &Finding, expected: [&str; 3]) {
        let Figures { limit, measured, margin } = figures(found).expect("it holds together");
        assert_eq!([limit.as_str(), measured.as_str(), margin.as_str()], expected, "{found:?}");
    }

    fn judged(regressed: usize, nearest: Option<f64>) -> SuiteResult {
        SuiteResult {
            machine: "m".to_owned(),
            outcome: if regressed > 0 { Outcome::Fail } else { Outcome::Pass },
            counts: Counts { unchanged: 8 - regressed, regressed, ..Counts::default() },
            against: String::new(),
            worse: Vec::new(),
            nearest,
        }
    }

    #[test]
    fn each_kind_of_evidence_has_its_figures() {
        let passing = vec![judged(0, Some(0.012)), judged(0, Some(0.006))];
        check(&Finding::Verdicts(passing), ["none worse", "0 of 16 worse", "0.6 points"]);
        check(&Finding::Verdicts(vec![judged(0, Some(-0.005))]), ["none worse", "0 of 8 worse", "−0.5 points"]);
        check(
            &Finding::Verdicts(vec![judged(2, Some(0.1)), judged(0, None)]),
            ["none worse", "2 of 16 worse", "2 over"],
        );
        check(&Finding::NoRun { suite: "cpu".to_owned() }, ["a whole run", "none", ""]);
        let events = |open: usize, accepted: usize| {
            let names = |count: usize| vec!["e".to_owned(); count];
            Finding::Events { series: 3, open: names(open), accepted: names(accepted) }
        };
        check(&events(0, 0), ["0 open", "0 open", ""]);
        check(&events(0, 2), ["0 open", "0 open", "2 accepted"]);
        check(&events(1, 2), ["0 open", "1 open", "1 over"]);
        let coverage = Coverage { judged: 52, total: 56, reasons: Vec::new() };
        check(&Finding::Coverage(coverage), ["all judged", "52 of 56", "4 short"]);
        let needed = NeededFile { key: "k".to_owned(), path: "p".to_owned(), sha256: Some("ab".to_owned()) };
        let file =
            |digest: &str| FileEvidence { needed: needed.clone(), content: Some((digest.to_owned(), 3)), fault: None };
        check(&Finding::Files(vec![file("ab"), file("cd")]), ["all there", "1 of 2", "1 short"]);
        check(&Finding::Replay(vec![file("ab")], Ok(Vec::new())), ["it holds", "it holds", ""]);
        let parity =
            ParityResult { machine: "m".to_owned(), checked: 5, wrong: vec!["x".to_owned()], unchecked: Vec::new() };
        check(&Finding::Parity(vec![parity]), ["all within tolerance", "5 of 6", "1 short"]);
        assert_eq!(figures(&Finding::Damaged("x".to_owned())), None);
    }

    #[test]
    fn the_room_is_that_of_the_metric_nearest_to_its_limit() {
        let one = |metric: Metric, verdict: Verdict, current: f64, allowed: f64| Comparison {
            baseline: Some(1.0),
            allowed: Some(allowed),
            current: Some(current),
            ..Comparison::bare("x", metric, "interval", verdict)
        };
        let lower = || Metric::time();
        let higher = || Metric { better: Better::Higher, ..Metric::time() };
        let all = [
            one(lower(), Verdict::Unchanged, 1.0, 1.02),
            one(higher(), Verdict::Unchanged, 0.99, 0.98),
            one(lower(), Verdict::Inconclusive("noise".to_owned()), 1.5, 1.02),
        ];
        let room = nearest(&all).expect("two are judged");
        assert!((room - 0.01).abs() < 1e-12, "{room}");
        assert_eq!(nearest(&[]), None);
    }
}

//! The status of an item, derived from its evidence. No status is made anywhere else.

use sprag_model::checklist::{Filled, Item, Need, NeededFile, Rests, RuntimeTarget, Status, Waiving};
use sprag_model::release::Figures;
use sprag_model::{Better, Comparison, Counts, Coverage, Outcome, Verdict};

const MOST_NAMED: usize = 3;

/// What the evidence says of an item, by the kind of its rule.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemFinding {
    Damaged(String),
    NoRun {
        suite: String,
    },
    /// Verdicts of the gate on the runs of a suite, one a machine.
    Verdicts(Vec<SuiteStatus>),
    Files(Vec<FileEvidence>),
    /// One a run.
    Parity(Vec<ParityResult>),
    /// The files, and the faults of the first one; or why it cannot be read.
    Replay(Vec<FileEvidence>, Result<Vec<String>, String>),
    /// The regressions that reach the commit, a few words each.
    Events {
        series: usize,
        open: Vec<String>,
        /// Those that the ledger accepts.
        accepted: Vec<String>,
    },
    Coverage(Coverage),
    /// One a run.
    Environments(Vec<EnvironmentResult>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct SuiteStatus {
    pub machine: String,
    pub outcome: Outcome,
    pub counts: Counts,
    pub against: String,
    /// The benchmarks that regressed or are missing.
    pub worse: Vec<String>,
    /// The margin of the metric nearest to its limit, as [`nearest`] gives it.
    pub nearest: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEvidence {
    pub needed: NeededFile,
    /// Digest and size; absent where it is missing.
    pub content: Option<(String, u64)>,
    /// Why it is not a file or cannot be read, as it reads after its path.
    pub fault: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParityResult {
    pub machine: String,
    pub checked: usize,
    pub wrong: Vec<String>,
    pub unchecked: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentResult {
    pub machine: String,
    pub key: String,
    /// Whether files differed from the commit.
    pub dirty: bool,
    pub missing: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Derived {
    status: Status,
    why: String,
    integrity: bool,
}

fn derived(status: Status, why: impl Into<String>) -> Derived {
    Derived { status, why: why.into(), integrity: false }
}

fn damaged(why: impl Into<String>) -> Derived {
    Derived { status: Status::Fail, why: why.into(), integrity: true }
}

/// An item with its status, and its figures unless the evidence is damaged, which no waiver covers as it does a failure.
pub fn filled(
    item: &Item,
    finding: &ItemFinding,
    rests_on: Vec<Rests>,
    waiver: Option<Waiving>,
) -> (Filled, Option<Figures>) {
    let (derived, figures) = derive(finding);
    (fill(item, derived, rests_on, waiver), figures)
}

pub fn not_applicable(item: &Item) -> Filled {
    let why = format!("for {} only", RuntimeTarget::list(&item.targets));
    fill(item, derived(Status::NotApplicable, why), Vec::new(), None)
}

fn fill(item: &Item, derived: Derived, rests_on: Vec<Rests>, waiver: Option<Waiving>) -> Filled {
    let Derived { status, why, integrity } = derived;
    let in_force = waiver.as_ref().is_some_and(|waiver| waiver.in_force);
    let status = if in_force && status.blocks() && !integrity { Status::Waived } else { status };
    Filled {
        id: item.id.clone(),
        title: item.title.clone(),
        rule: item.rule.name().to_owned(),
        status,
        why,
        integrity,
        rests_on,
        producer: item.producer.clone(),
        mend: status.blocks().then(|| mend(item, status, integrity)),
        waiver,
    }
}

fn derive(finding: &ItemFinding) -> (Derived, Option<Figures>) {
    let (derived, figures) = match finding {
        ItemFinding::Damaged(why) => return (damaged(why.clone()), None),
        ItemFinding::NoRun { suite } => (
            derived(Status::Pending, format!("{suite} has no whole run at this commit")),
            figures("a complete run", "none", ""),
        ),
        ItemFinding::Verdicts(results) => (worst(results.iter().map(verdict)), verdict_figures(results)),
        ItemFinding::Files(files) => files_result(files),
        ItemFinding::Parity(results) => {
            let right = results.iter().map(|one| one.checked).sum();
            let others: usize = results.iter().map(|one| one.wrong.len() + one.unchecked.len()).sum();
            (worst(results.iter().map(parity)), share("all within tolerance", right, right + others))
        }
        ItemFinding::Replay(files, faults) => {
            let measured = match faults {
                Ok(faults) if faults.is_empty() => "verifies".to_owned(),
                Ok(faults) => format!("{} faults", faults.len()),
                Err(_) => "cannot be read".to_owned(),
            };
            (replay(files, faults), figures("verifies", measured, ""))
        }
        ItemFinding::Events { series: 0, .. } => {
            (derived(Status::Pending, "the history has no series to look at"), figures("0 open", "no series", ""))
        }
        ItemFinding::Events { series, open, accepted } => events(*series, open, accepted),
        ItemFinding::Coverage(coverage) => (covered(coverage), share("all examined", coverage.judged, coverage.total)),
        ItemFinding::Environments(runs) => {
            let complete = runs.iter().filter(|run| !run.dirty && run.missing.is_empty()).count();
            (worst(runs.iter().map(environment)), share("all recorded, clean", complete, runs.len()))
        }
    };
    (derived, Some(figures))
}

fn figures(limit: &str, measured: impl Into<String>, margin: impl Into<String>) -> Figures {
    Figures { limit: limit.to_owned(), measured: measured.into(), margin: margin.into() }
}

fn share(limit: &str, good: usize, all: usize) -> Figures {
    let short = all.saturating_sub(good);
    let margin = if short > 0 { format!("{short} short") } else { String::new() };
    figures(limit, format!("{good} of {all}"), margin)
}

/// The worst of several, with the sentences of all of that rank.
fn worst(all: impl Iterator<Item = Derived>) -> Derived {
    let rank = |one: &Derived| match one.status {
        _ if one.integrity => 3,
        Status::Fail => 2,
        Status::Pending => 1,
        Status::Pass | Status::Waived | Status::NotApplicable => 0,
    };
    let all: Vec<Derived> = all.collect();
    let Some(worst) = all.iter().max_by_key(|one| rank(one)) else {
        return derived(Status::Pending, "there is nothing to look at");
    };
    let whys: Vec<&str> = all.iter().filter(|one| rank(one) == rank(worst)).map(|one| one.why.as_str()).collect();
    Derived { why: whys.join("; "), ..worst.clone() }
}

fn verdict(judged: &SuiteStatus) -> Derived {
    let SuiteStatus { machine, outcome, counts, against, worse, .. } = judged;
    let (words, names) = (counts.words(), named(worse));
    match outcome {
        Outcome::Pass => derived(Status::Pass, format!("{machine}: {words}, against {against}")),
        Outcome::Fail => derived(Status::Fail, format!("{machine}: {words}, against {against}{names}")),
        Outcome::Inconclusive => derived(Status::Pending, format!("{machine}: {words}, against {against}")),
        Outcome::NotMeasured => derived(Status::Pending, format!("{machine} could not measure it")),
    }
}

/// The margin of the metric that is nearest to its limit, as a share of its baseline; negative beyond the limit.
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

fn verdict_figures(results: &[SuiteStatus]) -> Figures {
    let sum = |count: fn(&SuiteStatus) -> usize| results.iter().map(count).sum::<usize>();
    let worse = sum(|one| one.counts.regressed + one.counts.missing);
    let all = sum(|one| one.counts.total());
    if results.iter().all(|one| one.outcome == Outcome::NotMeasured) {
        return figures("none worse", "not measured", "");
    }
    let margin = match results.iter().filter_map(|one| one.nearest).min_by(f64::total_cmp) {
        _ if worse > 0 => format!("{worse} over"),
        Some(room) => format!("{:.1} points", 100.0 * room).replace('-', "\u{2212}"),
        None => String::new(),
    };
    figures("none worse", format!("{worse} of {all} worse"), margin)
}

fn files_result(files: &[FileEvidence]) -> (Derived, Figures) {
    let results: Vec<Derived> = files.iter().map(file).collect();
    let usable = results.iter().filter(|one| one.status == Status::Pass).count();
    (worst(results.into_iter()), share("all present", usable, files.len()))
}

fn file(file: &FileEvidence) -> Derived {
    let FileEvidence { needed: NeededFile { key, path, sha256 }, content, fault } = file;
    match (content, fault) {
        (_, Some(fault)) => derived(Status::Fail, format!("`{path}` ({key}) {fault}")),
        (None, None) => derived(Status::Pending, format!("`{path}` ({key}) is not there")),
        (Some((_, 0)), None) => derived(Status::Fail, format!("`{path}` ({key}) is empty")),
        (Some((digest, _)), None) if sha256.as_ref().is_some_and(|expected| expected != digest) => {
            damaged(format!("`{path}` ({key}) is not the file that the checklist names by its digest"))
        }
        (Some((digest, bytes)), None) => {
            derived(Status::Pass, format!("`{path}` ({key}): {bytes} bytes, sha256 {}", start(digest)))
        }
    }
}

fn parity(checked: &ParityResult) -> Derived {
    let ParityResult { machine, checked, wrong, unchecked } = checked;
    if !wrong.is_empty() {
        return derived(Status::Fail, format!("{machine}: {} give a wrong result{}", wrong.len(), named(wrong)));
    }
    if !unchecked.is_empty() || *checked == 0 {
        let why = format!("{machine}: {} were not held against a reference{}", unchecked.len(), named(unchecked));
        return derived(Status::Pending, why);
    }
    derived(Status::Pass, format!("{machine}: {checked} benchmarks give what their references give, within tolerance"))
}

fn replay(files: &[FileEvidence], faults: &Result<Vec<String>, String>) -> Derived {
    let (there, _) = files_result(files);
    // Where there is no manifest yet, the evidence is missing; a manifest that is there must hold, and all that it is about.
    if files.first().is_none_or(|manifest| manifest.content.is_none() && manifest.fault.is_none()) {
        return there;
    }
    if there.status != Status::Pass {
        return damaged(there.why);
    }
    match faults {
        Err(why) => damaged(format!("it cannot be read: {why}")),
        Ok(faults) if faults.is_empty() => derived(Status::Pass, format!("it holds; {}", there.why)),
        Ok(faults) => damaged(format!("it does not hold: {}", faults[..faults.len().min(MOST_NAMED)].join("; "))),
    }
}

fn events(series: usize, open: &[String], accepted: &[String]) -> (Derived, Figures) {
    let (words, margin) = match accepted.len() {
        0 => (String::new(), String::new()),
        1 => (format!("; accepted: {}", accepted[0]), "1 accepted".to_owned()),
        count => (format!("; {count} accepted{}", named(accepted)), format!("{count} accepted")),
    };
    let (derived, margin) = match open.len() {
        0 => (derived(Status::Pass, format!("no open regression in {series} series{words}")), margin),
        1 => (derived(Status::Fail, format!("a regression is open: {}{words}", open[0])), "1 over".to_owned()),
        count => (
            derived(Status::Fail, format!("{count} regressions are open{}{words}", named(open))),
            format!("{count} over"),
        ),
    };
    (derived, figures("0 open", format!("{} open", open.len()), margin))
}

fn covered(coverage: &Coverage) -> Derived {
    let Coverage { judged, total, reasons } = coverage;
    if *total == 0 {
        return derived(Status::Pending, "the history has no judged series");
    }
    if judged == total {
        return derived(Status::Pass, format!("all {total} judged series can be judged at this commit"));
    }
    let words: Vec<String> =
        reasons.iter().map(|one| format!("{} {}", one.series, one.reason.replace('_', " "))).collect();
    // A first release has too few runs, which only more of them change.
    let is_early = !reasons.is_empty() && reasons.iter().all(|one| one.reason == "too_short");
    let status = if is_early { Status::Pending } else { Status::Fail };
    derived(status, format!("{judged} of {total} series can be judged: {}", words.join(", ")))
}

fn environment(run: &EnvironmentResult) -> Derived {
    let EnvironmentResult { machine, key, dirty, missing } = run;
    if *dirty {
        return derived(Status::Fail, format!("{machine} measured files that the commit does not hold"));
    }
    if !missing.is_empty() {
        return derived(Status::Fail, format!("{machine} does not tell {}", missing.join(", ")));
    }
    derived(Status::Pass, format!("{machine}: environment {key}, of a clean tree"))
}

fn mend(item: &Item, status: Status, integrity: bool) -> String {
    let made_by = || match item.producer.is_empty() {
        true => "make it".to_owned(),
        false => format!("make it with `{}`", item.producer),
    };
    if integrity {
        return "restore what was recorded from git; nothing waives this".to_owned();
    }
    match (&item.rule, status) {
        (Need::SuiteVerdict { suite, .. }, Status::Fail) => {
            format!("find the commit with `sprag trend --suite {suite}`, mend it, and measure again")
        }
        (Need::SuiteVerdict { suite, .. }, _) => format!(
            "measure it from a clean tree, `sprag run --suite {suite} --record`, with something to hold it against: \
             `sprag baseline list`"
        ),
        (Need::Parity { suite } | Need::Environment { suite, .. }, _) => {
            format!("measure it from a clean tree: `sprag run --suite {suite} --record`")
        }
        (Need::File | Need::Replay, _) => {
            let keys: Vec<String> = item.files.iter().map(|one| format!("--artifact {}=PATH", one.key)).collect();
            format!("{}, or name where it lies: `{}`", made_by(), keys.join(" "))
        }
        (Need::EventsResolved, _) => "mend it, or accept it in `ledger/`: `sprag trend` tells the events".to_owned(),
        (Need::Coverage { .. }, _) => "measure what is missing: `sprag weekly`".to_owned(),
    }
}

/// The first names of a list, as the end of a sentence.
fn named(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let more = names.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(": {}{more}", names[..names.len().min(MOST_NAMED)].join(", "))
}

fn start(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use sprag_model::{Metric, ReasonCount};

    fn item() -> Item {
        Item {
            id: "x".to_owned(),
            title: "X".to_owned(),
            targets: BTreeSet::new(),
            files: Vec::new(),
            producer: "make".to_owned(),
            rule: Need::File,
        }
    }

    fn names(count: usize) -> Vec<String> {
        vec!["b".to_owned(); count]
    }

    fn judged(outcome: Outcome, regressed: usize, nearest: Option<f64>) -> SuiteStatus {
        let counts = Counts { unchanged: 8 - regressed, regressed, ..Counts::default() };
        let (machine, against) = ("box".to_owned(), "the baseline".to_owned());
        SuiteStatus { machine, outcome, counts, against, worse: names(1), nearest }
    }

    fn parity(checked: usize, wrong: usize, unchecked: usize) -> ItemFinding {
        let (wrong, unchecked) = (names(wrong), names(unchecked));
        ItemFinding::Parity(vec![ParityResult { machine: "m".to_owned(), checked, wrong, unchecked }])
    }

    fn events(series: usize, open: usize, accepted: usize) -> ItemFinding {
        ItemFinding::Events { series, open: names(open), accepted: names(accepted) }
    }

    fn coverage(judged: usize, total: usize, reason: &str) -> ItemFinding {
        let reasons = vec![ReasonCount { reason: reason.to_owned(), series: total - judged }];
        ItemFinding::Coverage(Coverage { judged, total, reasons })
    }

    fn environment(dirty: bool, missing: usize) -> ItemFinding {
        let (machine, key, missing) = ("m".to_owned(), "k".to_owned(), names(missing));
        ItemFinding::Environments(vec![EnvironmentResult { machine, key, dirty, missing }])
    }

    fn evidence(content: Option<(&str, u64)>, sha256: Option<&str>, fault: Option<&str>) -> FileEvidence {
        let needed = NeededFile { key: "k".to_owned(), path: "p".to_owned(), sha256: sha256.map(str::to_owned) };
        let content = content.map(|(digest, bytes)| (digest.to_owned(), bytes));
        FileEvidence { needed, content, fault: fault.map(str::to_owned) }
    }

    #[test]
    fn each_kind_of_evidence_has_its_statuses() {
        use Status::{Fail, Pass, Pending, Waived};
        let (good, empty, absent) =
            (evidence(Some(("ab", 3)), None, None), evidence(Some(("ab", 0)), None, None), evidence(None, None, None));
        let (other, odd) = (evidence(Some(("ab", 3)), Some("cd"), None), evidence(None, None, Some("is no file")));
        let verdicts = |outcome| ItemFinding::Verdicts(vec![judged(outcome, 0, None)]);
        let replayed = |faults| ItemFinding::Replay(vec![good.clone()], faults);
        let plain = [
            (verdicts(Outcome::Pass), Pass),
            (verdicts(Outcome::Fail), Fail),
            (verdicts(Outcome::Inconclusive), Pending),
            (verdicts(Outcome::NotMeasured), Pending),
            (ItemFinding::Verdicts(Vec::new()), Pending),
            (ItemFinding::NoRun { suite: "cpu".to_owned() }, Pending),
            (ItemFinding::Files(vec![good.clone()]), Pass),
            (ItemFinding::Files(vec![evidence(Some(("ab", 3)), Some("ab"), None)]), Pass),
            (ItemFinding::Files(vec![good.clone(), absent.clone()]), Pending),
            (ItemFinding::Files(vec![empty.clone()]), Fail),
            (ItemFinding::Files(vec![odd.clone()]), Fail),
            (replayed(Ok(Vec::new())), Pass),
            (ItemFinding::Replay(vec![absent.clone()], Ok(Vec::new())), Pending),
            (parity(3, 0, 0), Pass),
            (parity(3, 1, 1), Fail),
            (parity(3, 0, 1), Pending),
            (parity(0, 0, 0), Pending),
            (events(3, 0, 1), Pass),
            (events(3, 5, 1), Fail),
            (events(0, 0, 1), Pending),
            (coverage(2, 2, ""), Pass),
            (coverage(1, 2, "too_noisy"), Fail),
            (coverage(1, 2, "too_short"), Pending),
            (coverage(0, 0, ""), Pending),
            (environment(false, 0), Pass),
            (environment(true, 0), Fail),
            (environment(false, 1), Fail),
        ];
        let damaged = [
            ItemFinding::Damaged("x".to_owned()),
            ItemFinding::Files(vec![other]),
            replayed(Err("is no manifest".to_owned())),
            replayed(Ok(names(1))),
            ItemFinding::Replay(vec![empty, good.clone()], Ok(Vec::new())),
            ItemFinding::Replay(vec![odd, good.clone()], Ok(Vec::new())),
            ItemFinding::Replay(vec![good.clone(), absent], Ok(Vec::new())),
        ];
        let cases = plain.into_iter().map(|(finding, status)| (finding, status, false));
        let day = chrono::NaiveDate::from_ymd_opt(2026, 5, 18).expect("a day");
        for (finding, status, integrity) in cases.chain(damaged.map(|finding| (finding, Fail, true))) {
            // A waiver in force covers what fails or is missing, and no damage.
            for (in_force, expected) in
                [(false, status), (true, if status == Pass || integrity { status } else { Waived })]
            {
                let (entry, author, reason) = ("ledger/a.toml:1".to_owned(), "A".to_owned(), "R".to_owned());
                let waiver = Waiving { entry, author, reason, date: day, expires: day, in_force };
                let (filled, figures) = filled(&item(), &finding, Vec::new(), Some(waiver));
                assert_eq!((filled.status, filled.integrity), (expected, integrity), "{finding:?}");
                assert_eq!(filled.mend.is_some(), expected.blocks());
                assert_eq!(figures.is_none(), matches!(finding, ItemFinding::Damaged(_)));
            }
        }
    }

    #[test]
    fn what_a_target_does_not_need_is_not_applicable() {
        let item = Item { targets: BTreeSet::from([RuntimeTarget::Tensorrt]), ..item() };
        let filled = not_applicable(&item);
        assert_eq!((filled.status, filled.why.as_str()), (Status::NotApplicable, "for tensorrt only"));
    }

    #[test]
    fn each_kind_of_evidence_has_its_figures() {
        let passing = |nearest| judged(Outcome::Pass, 0, nearest);
        let file = |digest: &str| evidence(Some((digest, 3)), Some("ab"), None);
        for (finding, expected) in [
            (
                ItemFinding::Verdicts(vec![passing(Some(0.012)), passing(Some(0.006))]),
                ["none worse", "0 of 16 worse", "0.6 points"],
            ),
            (ItemFinding::Verdicts(vec![passing(Some(-0.005))]), ["none worse", "0 of 8 worse", "−0.5 points"]),
            (
                ItemFinding::Verdicts(vec![judged(Outcome::Fail, 2, Some(0.1)), passing(None)]),
                ["none worse", "2 of 16 worse", "2 over"],
            ),
            (ItemFinding::NoRun { suite: "cpu".to_owned() }, ["a complete run", "none", ""]),
            (events(3, 0, 0), ["0 open", "0 open", ""]),
            (events(3, 0, 2), ["0 open", "0 open", "2 accepted"]),
            (events(3, 1, 2), ["0 open", "1 open", "1 over"]),
            (coverage(52, 56, ""), ["all examined", "52 of 56", "4 short"]),
            (ItemFinding::Files(vec![file("ab"), file("cd")]), ["all present", "1 of 2", "1 short"]),
            (ItemFinding::Replay(vec![file("ab")], Ok(Vec::new())), ["verifies", "verifies", ""]),
            (parity(5, 1, 0), ["all within tolerance", "5 of 6", "1 short"]),
        ] {
            let Figures { limit, measured, margin } = derive(&finding).1.expect("it is not damaged");
            assert_eq!([limit, measured, margin], expected, "{finding:?}");
        }
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

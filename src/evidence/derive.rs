//! Deriving the status of an item from what was found: the one place where a status is made.

use sprag_model::checklist::{Filled, Item, NeededFile, Rests, Rule, RuntimeTarget, Status, Waiving};
use sprag_model::gate::Outcome;
use sprag_model::trend::Coverage;
use sprag_model::verdict::Counts;

/// How many names a sentence lists.
const MOST_NAMED: usize = 3;

/// What was found for an item, by the kind of its rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Evidence that does not hold together, and what is wrong with it.
    Damaged(String),
    /// The suite has no run at this commit.
    NoRun { suite: String },
    /// What the gate says of the runs of a suite, one a machine.
    Verdicts(Vec<SuiteResult>),
    /// The files that were asked for.
    Files(Vec<FileEvidence>),
    /// What was checked against the references, one a run.
    Parity(Vec<ParityResult>),
    /// The files, and what of the first one does not hold; or why that cannot be told.
    Replay(Vec<FileEvidence>, Result<Vec<String>, String>),
    /// The regressions that reach the commit.
    Events {
        /// How many series were looked at.
        series: usize,
        /// Those that stand open, a few words each.
        open: Vec<String>,
        /// Those that the ledger accepts.
        accepted: Vec<String>,
    },
    /// Which series can be judged.
    Coverage(Coverage),
    /// The environments of the runs of a suite, one a run.
    Environments(Vec<EnvironmentResult>),
}

/// What the gate says of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteResult {
    /// What people call the machine.
    pub machine: String,
    /// How it came out.
    pub outcome: Outcome,
    /// How many verdicts of each kind.
    pub counts: Counts,
    /// What it was held against, in words.
    pub against: String,
    /// The benchmarks that regressed or are missing.
    pub worse: Vec<String>,
    /// How far the metric nearest to its limit lies from it, as a share of its baseline.
    pub nearest: Option<f64>,
}

/// A file that an item needs, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEvidence {
    pub needed: NeededFile,
    /// Its digest and size; absent where it is not there.
    pub content: Option<(String, u64)>,
    /// Why what is there is no file, or cannot be read.
    pub fault: Option<String>,
}

/// What a run says of its kernels against their references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParityResult {
    /// What people call the machine.
    pub machine: String,
    /// How many benchmarks were checked.
    pub checked: usize,
    /// Those whose result is wrong.
    pub wrong: Vec<String>,
    /// Those that nobody checked.
    pub unchecked: Vec<String>,
}

/// The environment of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentResult {
    /// What people call the machine.
    pub machine: String,
    pub key: String,
    /// Whether files differed from the commit.
    pub dirty: bool,
    /// The facts that it does not name.
    pub missing: Vec<String>,
}

/// What evidence comes to.
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

/// An item with its status: absent `found` where releases for these targets do not need it. A waiver in force covers what
/// fails or is not shown, and never evidence that does not hold together.
pub fn filled(item: &Item, found: Option<&Finding>, rests_on: Vec<Rests>, waiver: Option<Waiving>) -> Filled {
    let Derived { status, why, integrity } = match found {
        None => derived(Status::NotApplicable, format!("for {} only", RuntimeTarget::list(&item.targets))),
        Some(found) => derive(found),
    };
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

fn derive(found: &Finding) -> Derived {
    match found {
        Finding::Damaged(why) => damaged(why.clone()),
        Finding::NoRun { suite } => derived(Status::Pending, format!("{suite} has no whole run at this commit")),
        Finding::Verdicts(judged) => worst(judged.iter().map(verdict)),
        Finding::Files(files) => of_files(files),
        Finding::Parity(checked) => worst(checked.iter().map(parity)),
        Finding::Replay(files, faults) => replay(files, faults),
        Finding::Events { series: 0, .. } => derived(Status::Pending, "the history has no series to look at"),
        Finding::Events { series, open, accepted } => events(*series, open, accepted),
        Finding::Coverage(coverage) => covered(coverage),
        Finding::Environments(runs) => worst(runs.iter().map(surroundings)),
    }
}

/// The worst of several, with the sentences of all that are as bad.
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

fn verdict(judged: &SuiteResult) -> Derived {
    let SuiteResult { machine, outcome, counts, against, worse, .. } = judged;
    let (words, names) = (counts.words(), named(worse));
    match outcome {
        Outcome::Pass => derived(Status::Pass, format!("{machine}: {words}, against {against}")),
        Outcome::Fail => derived(Status::Fail, format!("{machine}: {words}, against {against}{names}")),
        Outcome::Inconclusive => derived(Status::Pending, format!("{machine}: {words}, against {against}")),
        Outcome::NotMeasured => derived(Status::Pending, format!("{machine} could not measure it")),
    }
}

fn of_files(files: &[FileEvidence]) -> Derived {
    worst(files.iter().map(|file| {
        let FileEvidence { needed: NeededFile { key, path, sha256 }, content, fault } = file;
        match (content, fault) {
            (_, Some(fault)) => derived(Status::Fail, format!("`{path}` ({key}) {fault}")),
            (None, None) => derived(Status::Pending, format!("`{path}` ({key}) is not there")),
            (Some((_, 0)), None) => derived(Status::Fail, format!("`{path}` ({key}) is empty")),
            (Some((found, _)), None) if sha256.as_ref().is_some_and(|wanted| wanted != found) => {
                damaged(format!("`{path}` ({key}) is not the file that the checklist names by its digest"))
            }
            (Some((found, bytes)), None) => {
                derived(Status::Pass, format!("`{path}` ({key}): {bytes} bytes, sha256 {}", start(found)))
            }
        }
    }))
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
    let there = of_files(files);
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

fn events(series: usize, open: &[String], accepted: &[String]) -> Derived {
    let accepted = match accepted.len() {
        0 => String::new(),
        1 => format!("; accepted: {}", accepted[0]),
        count => format!("; {count} accepted{}", named(accepted)),
    };
    match open.len() {
        0 => derived(Status::Pass, format!("no regression stands open in {series} series{accepted}")),
        1 => derived(Status::Fail, format!("a regression stands open: {}{accepted}", open[0])),
        count => derived(Status::Fail, format!("{count} regressions stand open{}{accepted}", named(open))),
    }
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
    derived(Status::Fail, format!("{judged} of {total} series can be judged: {}", words.join(", ")))
}

fn surroundings(run: &EnvironmentResult) -> Derived {
    let EnvironmentResult { machine, key, dirty, missing } = run;
    if *dirty {
        return derived(Status::Fail, format!("{machine} measured files that the commit does not hold"));
    }
    if !missing.is_empty() {
        return derived(Status::Fail, format!("{machine} does not tell {}", missing.join(", ")));
    }
    derived(Status::Pass, format!("{machine}: environment {key}, of a clean tree"))
}

/// What to do next about an item that came out so.
fn mend(item: &Item, status: Status, integrity: bool) -> String {
    let made_by = || match item.producer.is_empty() {
        true => "make it".to_owned(),
        false => format!("make it with `{}`", item.producer),
    };
    if integrity {
        return "restore what was recorded from git; nothing waives this".to_owned();
    }
    match (&item.rule, status) {
        (Rule::SuiteVerdict { suite, .. }, Status::Fail) => {
            format!("find the commit with `sprag trend --suite {suite}`, mend it, and measure again")
        }
        (Rule::SuiteVerdict { suite, .. }, _) => format!(
            "measure it from a clean tree, `sprag run --suite {suite} --record`, with something to hold it against: \
             `sprag baseline list`"
        ),
        (Rule::Parity { suite } | Rule::Environment { suite, .. }, _) => {
            format!("measure it from a clean tree: `sprag run --suite {suite} --record`")
        }
        (Rule::File | Rule::Replay, _) => {
            let keys: Vec<String> = item.files.iter().map(|one| format!("--artifact {}=PATH", one.key)).collect();
            format!("{}, or name where it lies: `{}`", made_by(), keys.join(" "))
        }
        (Rule::EventsResolved, _) => "mend it, or accept it in `ledger/`: `sprag trend` tells the events".to_owned(),
        (Rule::Coverage { .. }, _) => "measure what is missing: `sprag weekly`".to_owned(),
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

    fn item(rule: Rule) -> Item {
        Item {
            id: "x".to_owned(),
            title: "X".to_owned(),
            targets: BTreeSet::new(),
            files: Vec::new(),
            producer: "make".to_owned(),
            rule,
        }
    }

    fn judged(outcome: Outcome) -> Finding {
        let (machine, against) = ("box".to_owned(), "the baseline".to_owned());
        let worse = vec!["cpu/a".to_owned()];
        let counts = Counts::default();
        Finding::Verdicts(vec![SuiteResult { machine, outcome, counts, against, worse, nearest: None }])
    }

    fn waiver(in_force: bool) -> Waiving {
        let day = chrono::NaiveDate::from_ymd_opt(2026, 5, 18).expect("a day");
        let (entry, author, reason) = ("ledger/a.toml:1".to_owned(), "A".to_owned(), "R".to_owned());
        Waiving { entry, author, reason, date: day, expires: day, in_force }
    }

    fn file(content: Option<(&str, u64)>, sha256: Option<&str>, fault: Option<&str>) -> FileEvidence {
        let needed = NeededFile { key: "k".to_owned(), path: "p".to_owned(), sha256: sha256.map(str::to_owned) };
        let content = content.map(|(digest, bytes)| (digest.to_owned(), bytes));
        FileEvidence { needed, content, fault: fault.map(str::to_owned) }
    }

    fn status(found: &Finding) -> (Status, bool) {
        let filled = filled(&item(Rule::File), Some(found), Vec::new(), None);
        assert_eq!(filled.mend.is_some(), filled.status.blocks());
        (filled.status, filled.integrity)
    }

    #[test]
    fn each_kind_of_evidence_has_its_statuses() {
        use Status::{Fail, Pass, Pending};
        let plain = |found: &Finding, expected: Status| assert_eq!(status(found), (expected, false), "{found:?}");
        plain(&judged(Outcome::Pass), Pass);
        plain(&judged(Outcome::Fail), Fail);
        plain(&judged(Outcome::Inconclusive), Pending);
        plain(&judged(Outcome::NotMeasured), Pending);
        plain(&Finding::Verdicts(Vec::new()), Pending);
        plain(&Finding::NoRun { suite: "cpu".to_owned() }, Pending);
        assert_eq!(status(&Finding::Damaged("x".to_owned())), (Fail, true));
        plain(&Finding::Files(vec![file(Some(("ab", 3)), None, None)]), Pass);
        plain(&Finding::Files(vec![file(Some(("ab", 3)), Some("ab"), None)]), Pass);
        plain(&Finding::Files(vec![file(Some(("ab", 3)), None, None), file(None, None, None)]), Pending);
        plain(&Finding::Files(vec![file(Some(("ab", 0)), None, None)]), Fail);
        plain(&Finding::Files(vec![file(None, None, Some("is a folder"))]), Fail);
        assert_eq!(status(&Finding::Files(vec![file(Some(("ab", 3)), Some("cd"), None)])), (Fail, true));
        let replayed = |faults| Finding::Replay(vec![file(Some(("ab", 3)), None, None)], faults);
        plain(&replayed(Ok(Vec::new())), Pass);
        assert_eq!(status(&replayed(Err("is no manifest".to_owned()))), (Fail, true));
        assert_eq!(status(&replayed(Ok(vec!["x".to_owned()]))), (Fail, true));
        plain(&Finding::Replay(vec![file(None, None, None)], Ok(Vec::new())), Pending);
        for (manifest, artifact) in [
            (file(Some(("ab", 0)), None, None), file(Some(("ab", 3)), None, None)),
            (file(None, None, Some("is no file")), file(Some(("ab", 3)), None, None)),
            (file(Some(("ab", 3)), None, None), file(None, None, None)),
        ] {
            assert_eq!(status(&Finding::Replay(vec![manifest, artifact], Ok(Vec::new()))), (Fail, true));
        }
        let checked = |checked: usize, wrong: usize, unchecked: usize| {
            let names = |count: usize| vec!["b".to_owned(); count];
            let (wrong, unchecked) = (names(wrong), names(unchecked));
            Finding::Parity(vec![ParityResult { machine: "m".to_owned(), checked, wrong, unchecked }])
        };
        plain(&checked(3, 0, 0), Pass);
        plain(&checked(3, 1, 1), Fail);
        plain(&checked(3, 0, 1), Pending);
        plain(&checked(0, 0, 0), Pending);
        let events = |series: usize, open: usize| Finding::Events {
            series,
            open: vec!["e".to_owned(); open],
            accepted: vec!["f".to_owned()],
        };
        plain(&events(3, 0), Pass);
        plain(&events(3, 5), Fail);
        plain(&events(0, 0), Pending);
        let coverage = |judged, total| Finding::Coverage(Coverage { judged, total, reasons: Vec::new() });
        plain(&coverage(2, 2), Pass);
        plain(&coverage(1, 2), Fail);
        plain(&coverage(0, 0), Pending);
        let around = |dirty: bool, missing: &[&str]| {
            let missing = missing.iter().map(|one| (*one).to_owned()).collect();
            Finding::Environments(vec![EnvironmentResult {
                machine: "m".to_owned(),
                key: "k".to_owned(),
                dirty,
                missing,
            }])
        };
        plain(&around(false, &[]), Pass);
        plain(&around(true, &[]), Fail);
        plain(&around(false, &["compiler"]), Fail);
    }

    #[test]
    fn a_waiver_covers_what_fails_or_is_missing_and_no_damage() {
        let check = |found: &Finding, in_force: bool, expected: Status| {
            let filled = filled(&item(Rule::File), Some(found), Vec::new(), Some(waiver(in_force)));
            assert_eq!(filled.status, expected, "{found:?}");
        };
        check(&judged(Outcome::Fail), true, Status::Waived);
        check(&judged(Outcome::Inconclusive), true, Status::Waived);
        check(&judged(Outcome::Fail), false, Status::Fail);
        check(&judged(Outcome::Pass), true, Status::Pass);
        check(&Finding::Damaged("x".to_owned()), true, Status::Fail);
        check(&Finding::Replay(vec![file(Some(("a", 1)), None, None)], Ok(vec!["x".to_owned()])), true, Status::Fail);
    }

    #[test]
    fn what_a_target_does_not_need_is_not_applicable() {
        let item = Item { targets: BTreeSet::from([RuntimeTarget::Tensorrt]), ..item(Rule::File) };
        let filled = filled(&item, None, Vec::new(), Some(waiver(true)));
        assert_eq!((filled.status, filled.why.as_str()), (Status::NotApplicable, "for tensorrt only"));
    }
}

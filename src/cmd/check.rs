//! `sprag check`: the gate, current run against baseline.

use std::io::Write;
use std::path::Path;

use super::choose::{self, Chosen};
use super::project::{Project, read_baseline};
use super::{Advice, Exit, seed_gate, text, verdicts};
use crate::analysis::{compare, digest};
use crate::cli::{CheckArgs, Inconclusive};
use crate::model::analysis::NoBaseline;
use crate::model::baseline::{Baseline, BaselineFile};
use crate::model::run::{Run, RunStatus};
use crate::model::verdict::Counts;

pub(super) fn run(folder: &Path, args: &CheckArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if let Some(exit) = seed_gate::check(folder, args, out)? {
        return Ok(exit);
    }
    let project = Project::open(folder)?;
    let run_file = args.run.as_ref().map(|path| folder.join(path));
    let chosen = choose::choose(&project, &args.suites, run_file.as_deref())?;
    let baselines = project.baselines()?;
    let given = args
        .baseline
        .as_ref()
        .map(|path| BaselineFile { path: path.display().to_string(), content: read_baseline(&folder.join(path)) });
    let mut findings = Vec::new();
    for one in &chosen {
        let finding = match one {
            Chosen::Run(recorded) => judge(&recorded.run, given.as_ref(), &baselines)?,
            Chosen::Nothing { suite, machine_class, asked } => {
                not_run(suite, machine_class, *asked, given.as_ref(), &baselines)?
            }
        };
        out.write_all(finding.text.as_bytes())?;
        findings.push(finding);
    }
    let exit = exit(&findings, args.inconclusive);
    writeln!(out, "{}", summary(&findings, exit))?;
    Ok(exit)
}

/// What the check of one suite found.
struct Finding {
    /// Absent where the suite has no run.
    status: Option<RunStatus>,
    has_baseline: bool,
    counts: Counts,
    text: String,
}

type Found<'a> = Result<(&'a str, &'a Baseline), NoBaseline>;

/// The baseline for a suite: the given one, else the one of its class.
fn find<'a>(
    suite: &str,
    machine_class: &str,
    given: Option<&'a BaselineFile>,
    all: &'a [BaselineFile],
) -> anyhow::Result<Found<'a>> {
    let found = match given {
        Some(file) => digest::usable(file, suite),
        None => digest::find_baseline(all, suite, machine_class),
    };
    match found {
        // A baseline that is there and cannot be used must never look like one that is not there.
        Err(fault @ NoBaseline::Unusable { .. }) => Err(Advice {
            message: fault.to_string(),
            hint: "mend the file, or move it away and take a new one with `sprag baseline emit`".to_owned(),
        }
        .into()),
        found => Ok(found),
    }
}

fn judge(run: &Run, given: Option<&BaselineFile>, all: &[BaselineFile]) -> anyhow::Result<Finding> {
    let found = find(&run.suite, &run.machine.class, given, all)?;
    let mut head = format!("{} on {} at {}", run.suite, run.machine.name, commit_words(run));
    match (&found, run.status) {
        (_, RunStatus::Skipped | RunStatus::Failed) => {
            head.push_str(&format!(": {}, {}", run.status.word(), run.reason.as_deref().unwrap_or("no reason given")));
        }
        (Ok((path, baseline)), RunStatus::Ok) => {
            let of = baseline.commit.as_deref().map_or("no commit", |sha| sha.get(..12).unwrap_or(sha));
            head.push_str(&format!(", against {path} (of {of}, {})", baseline.timestamp_utc.format("%Y-%m-%d")));
        }
        (Err(none), RunStatus::Ok) => head.push_str(&format!(", without a baseline: {none}")),
    }
    // Without its device a machine is of another class, under which it may have no baseline. The suite was judged before
    // all the same, so a gate that cannot judge it must say so.
    let elsewhere = match (&found, run.status) {
        (Err(_), RunStatus::Skipped) => all.iter().find_map(|file| digest::usable(file, &run.suite).ok()),
        _ => None,
    };
    if let Some((path, _)) = elsewhere {
        head.push_str(&format!("; there is {path} to hold it against"));
    }
    let comparisons = digest::judge(run, &found);
    let text = format!("{}\n{}", text::printable(&head), verdicts::table(&comparisons));
    let counts = Counts::of(&comparisons);
    let has_baseline = found.is_ok() || elsewhere.is_some();
    Ok(Finding { status: Some(run.status), has_baseline, counts, text })
}

/// A suite without a run: all of its baseline is missing. Without a baseline it is in doubt if it was asked for.
fn not_run(
    suite: &str,
    machine_class: &str,
    asked: bool,
    given: Option<&BaselineFile>,
    all: &[BaselineFile],
) -> anyhow::Result<Finding> {
    let found = find(suite, machine_class, given, all)?;
    let note = "no run of this machine at HEAD";
    let comparisons = found.as_ref().map_or(Vec::new(), |(_, baseline)| compare::all_missing(baseline, note));
    let mut counts = Counts::of(&comparisons);
    if found.is_err() && asked {
        counts.no_baseline = 1;
    }
    let text = format!("{suite}: {note}\n{}", verdicts::table(&comparisons));
    Ok(Finding { status: None, has_baseline: found.is_ok(), counts, text })
}

fn commit_words(run: &Run) -> String {
    match &run.commit {
        Some(commit) => format!("{}{}", commit.short(), if commit.dirty { " (changed files)" } else { "" }),
        None => "no commit".to_owned(),
    }
}

fn exit(findings: &[Finding], inconclusive: Inconclusive) -> Exit {
    let counts = total(findings);
    let unmeasured = |finding: &&Finding| finding.status == Some(RunStatus::Skipped);
    if counts.failing() > 0 || findings.iter().any(|finding| finding.status == Some(RunStatus::Failed)) {
        return Exit::Failed;
    }
    let judged_before = findings.iter().filter(unmeasured).any(|finding| finding.has_baseline);
    let ran = findings.iter().any(|finding| finding.status == Some(RunStatus::Ok));
    if judged_before || !ran {
        return Exit::NotMeasured;
    }
    if counts.judged() < counts.total() || counts.total() == 0 {
        return verdicts::in_doubt(inconclusive);
    }
    Exit::Done
}

fn total(findings: &[Finding]) -> Counts {
    findings.iter().fold(Counts::default(), |sum, finding| sum.plus(finding.counts))
}

fn summary(findings: &[Finding], exit: Exit) -> String {
    let counts = total(findings);
    let word = match exit {
        Exit::Done => "pass",
        Exit::Failed => "fail",
        Exit::Inconclusive => "inconclusive",
        Exit::NotMeasured => "not measured",
        Exit::Usage | Exit::Integrity => "error",
    };
    format!("check: {word}; {}", verdicts::counts(&counts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::Verdict;

    fn finding(status: RunStatus, has_baseline: bool, verdicts: &[Verdict]) -> Finding {
        let mut counts = Counts::default();
        for verdict in verdicts {
            match verdict {
                Verdict::Unchanged => counts.unchanged += 1,
                Verdict::Regressed => counts.regressed += 1,
                Verdict::Missing => counts.missing += 1,
                _ => counts.no_baseline += 1,
            }
        }
        Finding { status: Some(status), has_baseline, counts, text: String::new() }
    }

    #[test]
    fn the_exit_code_fails_closed() {
        let check = |findings: &[Finding], expected: Exit| assert_eq!(exit(findings, Inconclusive::Report), expected);
        let ok = || finding(RunStatus::Ok, true, &[Verdict::Unchanged]);
        check(&[ok()], Exit::Done);
        check(&[ok(), finding(RunStatus::Skipped, false, &[])], Exit::Done);
        check(&[ok(), finding(RunStatus::Skipped, true, &[])], Exit::NotMeasured);
        check(&[finding(RunStatus::Skipped, false, &[])], Exit::NotMeasured);
        check(&[finding(RunStatus::Ok, true, &[Verdict::Unchanged, Verdict::Regressed])], Exit::Failed);
        check(&[finding(RunStatus::Ok, true, &[Verdict::Missing])], Exit::Failed);
        check(&[ok(), finding(RunStatus::Failed, true, &[])], Exit::Failed);
        check(&[finding(RunStatus::Ok, false, &[Verdict::NoBaseline])], Exit::Inconclusive);
        check(&[finding(RunStatus::Ok, true, &[])], Exit::Inconclusive);
        let doubtful = [finding(RunStatus::Ok, false, &[Verdict::NoBaseline])];
        assert_eq!(exit(&doubtful, Inconclusive::Ok), Exit::Done);
        assert_eq!(exit(&doubtful, Inconclusive::Fail), Exit::Failed);
        let regressed = [finding(RunStatus::Ok, true, &[Verdict::Regressed])];
        assert_eq!(exit(&regressed, Inconclusive::Ok), Exit::Failed);
    }
}

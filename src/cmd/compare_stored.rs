//! `sprag compare A B`: two commits, tags or files by what was measured of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use super::distinct::NamedFile;
use super::gate::{self, Against, Bases, PolicyFile, Records};
use super::project::Project;
use super::run_file::{self, RunFile};
use super::{Advice, Exit, gate_reports, text, verdicts};
use crate::cli::CompareArgs;
use crate::history;
use crate::model::gate::SuiteGate;
use crate::model::metric::Better;
use crate::model::run::RecordedRun;
use crate::model::verdict::{Comparison, Verdict};
use crate::report::gate::{gate_json, gate_markdown};

pub(super) fn run(folder: &Path, args: &CompareArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if args.effort.is_given() || !args.filters.is_empty() {
        let message =
            "`--filter`, `--quick`, `--rigorous`, `--budget` and `--pin` say what to measure, and nothing is \
                       measured"
                .to_owned();
        return Err(Advice { message, hint: "add `--measure`, or leave them out".to_owned() }.into());
    }
    let project = Project::open(folder)?;
    let policy = args.policy.as_ref().map(|path| PolicyFile::read(&folder.join(path))).transpose()?;
    let wishes = gate_reports::parse(&args.reports)?;
    gate_reports::check(folder, &wishes, files(args))?;
    let base = Against::parse(&project, folder, Some(&args.base))?;
    let other = Against::parse(&project, folder, Some(&args.other))?;
    for side in [&base, &other] {
        if let Against::Revision(revision) = side {
            refuse_unmeasured(&project, revision)?;
        }
    }
    let bases = Bases::open(&project, base.clone(), policy.as_ref())?;
    let currents = currents(&project, &other, args)?;
    let mut suites = Vec::new();
    for (newest, again) in &currents {
        suites.push(gate::judge(newest, again, bases.of(&newest.run)?, None));
    }
    suites.extend(only_in_base(&project, &bases, &base, &currents, args)?);
    if suites.is_empty() {
        return Err(Advice {
            message: format!("`{}` has no recorded run", text::printable(&args.other)),
            hint: "measure it with `sprag run --record`, or time both now with `--measure`".to_owned(),
        }
        .into());
    }
    suites.iter_mut().for_each(|suite| by_effect(&mut suite.comparisons));
    let exit = gate::exit_code(&suites, false, args.inconclusive);
    let gate = gate::finish("compare", suites, exit);
    if gate_reports::own_stdout(&wishes) {
        // A report stands there alone.
    } else if args.json {
        out.write_all(gate_json(&gate).as_bytes())?;
    } else if args.markdown {
        out.write_all(gate_markdown(&gate).as_bytes())?;
    } else {
        for suite in &gate.suites {
            out.write_all(gate::suite_text(suite, args.only_changed).as_bytes())?;
        }
        writeln!(out, "compare: {}; {}", gate.outcome.word(), verdicts::counts(&gate.counts()))?;
    }
    gate_reports::write(folder, &wishes, &gate, out)?;
    Ok(if args.bisect { gate::for_bisection(&gate, exit) } else { exit })
}

/// The files that are read.
fn files(args: &CompareArgs) -> Vec<NamedFile<'_>> {
    let side = |text| Some(Path::new(text));
    vec![
        NamedFile::read("the base", side(&args.base), "the base"),
        NamedFile::read("the other side", side(&args.other), "what is held against it"),
        NamedFile::read("--policy", args.policy.as_deref(), "the policy"),
    ]
}

/// What is compared: of each suite and machine the newest run, and the other runs of the same commit.
fn currents(
    project: &Project,
    other: &Against,
    args: &CompareArgs,
) -> anyhow::Result<Vec<(RecordedRun, Vec<RecordedRun>)>> {
    let runs = match other {
        Against::File(path) => match run_file::read(path)? {
            RunFile::Run(run) => vec![*run],
            RunFile::Baseline(_) => {
                return Err(Advice {
                    message: format!("`{}` is a baseline, and what is held against something is a run", path.display()),
                    hint: "turn the two sides around, or name a run".to_owned(),
                }
                .into());
            }
        },
        Against::Revision(revision) => {
            let commit = history::commit_at(project.store()?, revision)?;
            Records::open(project)?.at(None, commit.as_ref().map(|commit| commit.sha.as_str()))?
        }
        Against::Usual | Against::Baseline | Against::History => {
            return Err(Advice {
                message: format!("`{}` names what a run is held against, not a run", text::printable(&args.other)),
                hint: "name a commit, a tag or a run file as the second side".to_owned(),
            }
            .into());
        }
    };
    let mut groups: BTreeMap<(String, String), Vec<RecordedRun>> = BTreeMap::new();
    for one in runs {
        if args.suites.is_empty() || args.suites.contains(&one.run.suite) {
            groups.entry((one.run.suite.clone(), one.run.machine.id.clone())).or_default().push(one);
        }
    }
    Ok(groups.into_values().filter_map(|mut group| Some((group.pop()?, group))).collect())
}

/// Suites that the base has a run of and the other side has not: all of them is missing.
fn only_in_base(
    project: &Project,
    bases: &Bases<'_>,
    base: &Against,
    currents: &[(RecordedRun, Vec<RecordedRun>)],
    args: &CompareArgs,
) -> anyhow::Result<Vec<SuiteGate>> {
    let runs = match base {
        Against::Revision(revision) => {
            let commit = history::commit_at(project.store()?, revision)?;
            Records::open(project)?.at(None, commit.as_ref().map(|commit| commit.sha.as_str()))?
        }
        _ => Vec::new(),
    };
    let there: BTreeSet<(&str, &str)> =
        currents.iter().map(|(one, _)| (one.run.suite.as_str(), one.run.machine.class.as_str())).collect();
    let is_asked = |one: &&RecordedRun| args.suites.is_empty() || args.suites.contains(&one.run.suite);
    let lost: BTreeMap<(&str, &str), &RecordedRun> = runs
        .iter()
        .filter(is_asked)
        .map(|one| ((one.run.suite.as_str(), one.run.machine.class.as_str()), one))
        .filter(|(key, _)| !there.contains(key))
        .collect();
    let why = format!("`{}` has no run of it on {{}}", text::printable(&args.other));
    lost.into_iter()
        .map(|((suite, class), one)| Ok(gate::not_run(suite, class, &why.replace("{}", class), bases.of(&one.run)?)))
        .collect()
}

/// Fails where a commit has no record, and names those near it that have.
fn refuse_unmeasured(project: &Project, revision: &str) -> anyhow::Result<()> {
    let store = project.store()?;
    let records = Records::open(project)?;
    let measured = records.commits();
    let Some(commit) = history::commit_at(store, revision)? else { return Ok(()) };
    if measured.contains(commit.short()) {
        return Ok(());
    }
    let line = history::commit_line(store, None)?;
    let shas: Vec<&str> = line.commits.iter().map(|one| one.sha.get(..12).unwrap_or(&one.sha)).collect();
    let place = shas.iter().position(|sha| *sha == commit.short());
    let mut near = Vec::new();
    if let Some(place) = place {
        let before = (0..place).rev().find(|at| measured.contains(shas[*at]));
        near.extend(before.map(|at| format!("{} ({} before it)", shas[at], text::count(place - at, "commit"))));
        let after = (place + 1..shas.len()).find(|at| measured.contains(shas[*at]));
        near.extend(after.map(|at| format!("{} ({} after it)", shas[at], text::count(at - place, "commit"))));
    }
    let shown = text::printable(revision);
    let nearest =
        if near.is_empty() { String::new() } else { format!("; the nearest that has one: {}", near.join(", ")) };
    Err(Advice {
        message: format!("`{shown}` ({}) has no recorded run", commit.short()),
        hint: format!("measure it with `sprag run --commit {shown} --record`, or both now with `--measure`{nearest}"),
    }
    .into())
}

/// What is missing first, then from the worst change to the best, then what has none.
fn by_effect(comparisons: &mut [Comparison]) {
    let rank = |one: &Comparison| match (&one.verdict, one.effect) {
        (Verdict::Missing, _) => 0,
        (_, Some(_)) => 1,
        (_, None) => 2,
    };
    let worse = |one: &Comparison| {
        let change = one.effect.map_or(0.0, |effect| effect.change);
        if one.metric.better == Better::Lower { change } else { -change }
    };
    comparisons.sort_by(|a, b| {
        rank(a).cmp(&rank(b)).then_with(|| worse(b).total_cmp(&worse(a))).then_with(|| a.benchmark.cmp(&b.benchmark))
    });
}

//! `sprag compare A B`: two commits, tags or files by what was measured of them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use super::distinct::NamedFile;
use super::gate::{self, Against, Bases, MeasuredSuite, PolicyFile};
use super::project::Project;
use super::run_file::{self, RunFile};
use super::{Advice, Exit, foreign_gate, gate_reports, policy, seed_gate, text, verdicts};
use crate::cli::CompareArgs;
use sprag_history as history;
use sprag_model::gate::SuiteGate;
use sprag_model::metric::Better;
use sprag_model::run::{RecordedRun, Run};
use sprag_model::verdict::{Comparison, Verdict};

pub(super) fn run(folder: &Path, args: &CompareArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if args.effort.is_given() || !args.filters.is_empty() {
        let message =
            "`--filter`, `--quick`, `--rigorous`, `--budget` and `--pin` say what to measure, and nothing is \
                       measured"
                .to_owned();
        return Err(Advice { message, hint: "add `--measure`, or leave them out".to_owned() }.into());
    }
    if let Some(exit) = foreign_gate::compare(folder, args, files(args), out)? {
        return Ok(exit);
    }
    if let Some(exit) = seed_gate::compare(folder, args, files(args), out)? {
        return Ok(exit);
    }
    let project = Project::open(folder)?;
    let policy = args.policy.as_ref().map(|path| PolicyFile::read(&folder.join(path))).transpose()?;
    let wishes = gate_reports::parse(&args.reports)?;
    gate_reports::check(folder, &wishes, files(args))?;
    let base = Against::parse(&project, folder, Some(&args.base))?;
    let other = Against::parse(&project, folder, Some(&args.other))?;
    let bases = Bases::open(&project, base.clone(), policy.as_ref())?;
    let are_commits = [&base, &other].iter().all(|side| matches!(side, Against::Revision(_)));
    let otherwise = if are_commits { "both now with `--measure`" } else { "name another commit" };
    let refuse = |side: &Against| match side {
        Against::Revision(revision) => bases.refuse_unmeasured(revision, otherwise),
        _ => Ok(()),
    };
    refuse(&base).map_err(gate::of_base)?;
    refuse(&other)?;
    let currents = currents(&project, &bases, &other, args)?;
    let mut suites = Vec::new();
    for (newest, again) in &currents {
        let mut suite = gate::judge(newest, again, bases.for_run(&newest.run)?, None);
        gate::fit_advice(&project, &mut suite, &newest.run, matches!(other, Against::File(_)));
        suites.push(suite);
    }
    suites.extend(only_in_base(&bases, &currents, args)?);
    if suites.is_empty() {
        return Err(Advice {
            message: format!("`{}` has no whole recorded run{}", text::printable(&args.other), of_suites(args)),
            hint: "measure it with `sprag run --record`, or time both now with `--measure`".to_owned(),
        }
        .into());
    }
    for suite in &mut suites {
        suite.quality.extend(bases.faults(&suite.suite));
        by_effect(&mut suite.comparisons);
    }
    let exit = gate::exit_code(&suites, false, args.inconclusive);
    let gate = gate::finish("compare", suites, exit, (false, args.inconclusive));
    let mut text: String = gate.suites.iter().map(|suite| gate::suite_text(suite, args.only_changed)).collect();
    text.push_str(&format!("compare: {}; {}\n", gate.outcome.word(), verdicts::counts(&gate.counts())));
    let file = args.policy.as_deref().zip(policy.as_ref()).map(|(path, file)| (path, &file.policy));
    policy::tell_unfit(&project, file, &policy::judged(&gate.suites));
    gate_reports::print_comparison(folder, args, (&gate, &wishes), &text, out)?;
    Ok(if args.bisect { gate::for_bisection(&gate, exit) } else { exit })
}

/// ` of cpu, gpu`, where suites were named.
fn of_suites(args: &CompareArgs) -> String {
    if args.suites.is_empty() { String::new() } else { format!(" of {}", args.suites.join(", ")) }
}

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
    bases: &Bases<'_>,
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
            let mut runs = bases.records()?.at(None, commit.as_ref().map(|commit| commit.sha.as_str()))?;
            // A file has numbers of one suite.
            runs.retain(|one| bases.suite().is_none_or(|suite| one.run.suite == suite));
            runs
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

/// Suites that the base has numbers of and the other side has no run of: all of them is missing.
fn only_in_base(
    bases: &Bases<'_>,
    currents: &[(RecordedRun, Vec<RecordedRun>)],
    args: &CompareArgs,
) -> anyhow::Result<Vec<SuiteGate>> {
    let mut in_base = bases.measured_suites()?;
    in_base.retain(|one| args.suites.is_empty() || args.suites.contains(&one.suite));
    let is_there = |held: &MeasuredSuite, run: &Run| {
        run.suite == held.suite && (held.for_any_class || run.machine.class == held.class)
    };
    in_base.retain(|held| !currents.iter().any(|(one, _)| is_there(held, &one.run)));
    let missing = |MeasuredSuite { suite, class, for_any_class }: &MeasuredSuite| {
        let on = if *for_any_class { String::new() } else { format!(" on {class}") };
        let why = format!("`{}` has no run of it{on}", text::printable(&args.other));
        Ok(gate::not_run(suite, class, &why, bases.of_absent(suite, class, "")?))
    };
    in_base.iter().map(missing).collect()
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

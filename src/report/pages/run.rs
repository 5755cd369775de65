//! A run: whether it worked, what it measured, and in which environment; and the list of runs.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::frame::prelude::*;
use super::list::list_pages;
use crate::sheet::Banner;
use crate::text::short_digest;
use crate::trend::words;
use sprag_base::digest::sha256_hex;
use sprag_base::json;
use sprag_model::environment::KEY_FACTS;
use sprag_model::{Estimate, Measurement, ParityStatus, RecordedRun, Run, RunHead, RunStatus, Scale, Series};

/// The longest subject, branch and listed subject, in characters.
const SUBJECT: usize = 140;
const BRANCH: usize = 80;
const LISTED_SUBJECT: usize = 80;

/// The checks and failures, and the metrics that are shown.
const CHECKS: usize = 500;
const METRICS: usize = 300;

/// The page of a run, and for one that a release is derived from the file of its record.
pub(crate) fn run(catalog: &Catalog<'_>, recorded: &RecordedRun) -> Result<Vec<Page>, ReportError> {
    link::file_word("run", &recorded.id)?;
    let run = &recorded.run;
    let title = format!("{} on {}, {}", run.suite, run.machine.name, date::day(run.timestamp));
    let (environment, environment_words) = environment(catalog, recorded);
    let (checks, checks_note) = checks(run);
    let (record, file) = record(catalog, recorded);
    let rough = |reason: &String| Phrase::from(Mark::new(Tone::Doubt, "?", "rough")).text(format!(" {reason}"));
    let failed = run.measurements.iter().filter_map(|one| Some((one.benchmark.id(), one.failure.as_deref()?)));
    let failed = failed.take(CHECKS).map(|(benchmark, reason)| cell::failure(&benchmark, reason));
    let sections = [
        Section::new("rough", "Why the numbers are rough").items(run.quality.reasons.iter().map(rough)),
        Section::new("failures", "Failed benchmarks").items(failed),
        metrics(catalog, run),
        checks,
        if run.autotune.is_empty() { Section::default() } else { super::gpu::choices(recorded, 1) },
        environment,
        record,
    ];
    let reason = |reason: &String| Banner {
        tone: Tone::Doubt,
        words: Phrase::default().strong("Reason:").text(format!(" {reason}")),
    };
    let sheet = Sheet {
        crumb: Phrase::linked(link::RUN_LIST, "Runs").text(" / ").id(short_digest(&recorded.id)),
        headline: headline(run),
        banners: run.reason.iter().map(reason).collect(),
        facts: facts(catalog, run, &checks_note, environment_words),
        sections: sections.into_iter().filter(|section| !section.blocks.is_empty()).collect(),
        ..Sheet::default()
    };
    let page = subject_page(catalog, (&link::run(&recorded.id), "Runs"), &title, None, sheet)?;
    Ok(std::iter::once(page).chain(file).collect())
}

/// The file of the run, its digest, and commands that check it in a clone; and the file itself where a release is derived from it.
fn record(catalog: &Catalog<'_>, recorded: &RecordedRun) -> (Section, Option<Page>) {
    let section = Section::new("record", "Record").paragraph(Phrase::code(recorded.path.clone()));
    let (id, _, bytes) = recorded.run.to_record();
    // An older version wrote it in other bytes.
    if id != recorded.id {
        return (section, None);
    }
    let (digest, path) = (sha256_hex(&bytes), link::record(&id));
    let file = catalog.selection.records.contains(&*id).then(|| Page { path: path.clone(), bytes });
    let section = section.paragraph(Phrase::plain("SHA-256 of its bytes: ").id(digest.clone()));
    let section = match file {
        Some(_) => section
            .paragraph(
                Phrase::default().link(path, "The file").text(", byte for byte. To check it once it is downloaded:"),
            )
            .commands(vec![format!("echo '{digest}  {id}.json' | sha256sum --check")]),
        None => section,
    };
    let reference = catalog.analysis.history.reference.as_deref().unwrap_or("HEAD");
    let branch = reference.strip_prefix("refs/heads/").unwrap_or(reference);
    let show = words::shell_line(&["git".to_owned(), "show".to_owned(), format!("{branch}:{}", recorded.path)]);
    let Some(show) = show else { return (section, file) };
    let (sum, all) = (format!("{show} | sha256sum"), "sprag history fsck".to_owned());
    let note = match branch {
        "HEAD" => Phrase::plain("To check them in a clone, and then all records:"),
        _ => Phrase::plain("To check them in a clone that has the branch ").id(branch).text(", and then all records:"),
    };
    (section.paragraph(note).commands(vec![sum]).commands(vec![all]), file)
}

fn headline(run: &Run) -> Phrase {
    let failed = run.measurements.iter().filter(|measurement| measurement.failed().is_some()).count();
    let skipped = run.measurements.iter().filter(|measurement| measurement.skipped().is_some()).count();
    let measured = run.measurements.len() - failed - skipped;
    let place = format!("{} on {} ", run.suite, run.machine.name);
    match run.status {
        RunStatus::Ok if failed == 0 => {
            format!("{place}measured {}", counted(measured, "benchmark", "benchmarks")).into()
        }
        RunStatus::Ok => {
            let all = counted(measured + failed, "benchmark", "benchmarks");
            let mark = Mark::new(Tone::Worse, "✕", format!("{failed} failed"));
            Phrase::plain(format!("{place}measured {measured} of {all}, ")).mark(mark)
        }
        RunStatus::Skipped => Phrase::plain(place).mark(Mark::new(Tone::Doubt, "○", "was skipped")),
        RunStatus::Failed => Phrase::plain(place).mark(Mark::new(Tone::Worse, "✕", "failed")),
    }
}

pub(super) fn quoted_subject(subject: &str) -> String {
    if subject.is_empty() { "Unknown subject".to_owned() } else { format!("“{subject}”") }
}

fn facts(catalog: &Catalog<'_>, run: &Run, all_checked: &str, environment: String) -> Vec<Fact> {
    let (commit, commit_note): (Phrase, String) = match &run.commit {
        None => (number::NONE.into(), "Outside a repository, or before its first commit.".to_owned()),
        Some(commit) => {
            let branch = match &commit.branch {
                Some(branch) => format!(" on {}", shortened(branch, BRANCH)),
                // Imported runs may lack a branch.
                None if run.is_imported() => String::new(),
                None => " on a detached head".to_owned(),
            };
            let subject = quoted_subject(&shortened(&commit.subject, SUBJECT));
            let note = format!("{subject}{branch}, committed {}.", date::moment(commit.commit_time));
            let answer = cell::commit_link(catalog, &commit.sha);
            let changed = || answer.clone().text(" ").mark(Mark::new(Tone::Doubt, "◆", "changed"));
            let differed = " Tracked files differed from the commit.";
            if commit.dirty { (changed(), note + differed) } else { (answer, note) }
        }
    };
    let note = match run.quality.reasons.len() {
        0 if run.quality.clean && !all_checked.is_empty() => String::new(),
        0 if run.quality.clean => "No sign of trouble.".to_owned(),
        some => counted(some, "reason below.", "reasons below."),
    };
    let (numbers, numbers_note): (Phrase, String) = match run.status {
        RunStatus::Ok => (Mark::of_quality(&run.quality).into(), [&note, all_checked].join(" ").trim().to_owned()),
        RunStatus::Skipped | RunStatus::Failed => (number::NONE.into(), "Nothing was measured.".to_owned()),
    };
    let machine = Phrase::default().to(catalog.machine_page(&run.machine.id), run.machine.name.clone());
    vec![
        Fact::new("Status", Mark::of_status(run.status), format!("Began {} UTC.", date::moment(run.timestamp))),
        Fact::new("Commit", commit, commit_note),
        Fact::new("Machine", machine, format!("{}. {environment}", run.machine.class)),
        Fact::new("Numbers", numbers, numbers_note),
    ]
}

/// The checks against the reference, wrong ones first; or a sentence where all are bit-equal.
fn checks(run: &Run) -> (Section, String) {
    let is_plain = |one: &&Measurement| one.parity.status == ParityStatus::Exact && one.attributes.is_empty();
    let (plain, mut others): (Vec<&Measurement>, Vec<&Measurement>) = run.measurements.iter().partition(is_plain);
    others.sort_by_key(|one| Mark::of_parity(&one.parity).tone != Tone::Worse);
    let note = match (plain.len(), others.len()) {
        (0, _) => String::new(),
        (1, 0) => "The one benchmark is bit-equal with its reference.".to_owned(),
        (plain, 0) => format!("All {} benchmarks are bit-equal with their references.", count(plain)),
        (1, _) => "One more is bit-equal with its reference.".to_owned(),
        (plain, _) => format!("{} more are bit-equal with their references.", count(plain)),
    };
    if others.is_empty() {
        return (Section::default(), note);
    }
    let attributes = |one: &&Measurement| {
        let list = one.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<String>>();
        or_none((!list.is_empty()).then(|| list.join(", ")), std::convert::identity)
    };
    let has_attributes = others.iter().any(|one| !one.attributes.is_empty());
    let mut rows = Rows::new("Checks against the reference", others)
        .first(CHECKS)
        .column("Benchmark", "full", |one| Phrase::code(short_benchmark(&one.benchmark.id())))
        .column("Result", "", |one| Mark::of_parity(&one.parity))
        .column("Largest difference", "n opt2", |one| or_none(one.parity.max_abs_error, number::rough))
        .column("Allowed", "n opt2", |one| or_none(one.parity.tolerance, number::rough));
    if has_attributes {
        rows = rows.column("How it ran", "opt", attributes);
    }
    (rows.section("parity", "Checked against the reference", note, ""), String::new())
}

type Metric<'r> = (&'r Measurement, &'r Estimate);

fn metrics(catalog: &Catalog<'_>, run: &Run) -> Section {
    let estimates = run.measurements.iter().map(|one| one.estimates.iter().map(move |estimate| (one, estimate)));
    let mut shown: Vec<Metric<'_>> = estimates.flatten().collect();
    let rest = number::beyond(shown.len(), METRICS, "more metrics are only in the record.");
    shown.truncate(METRICS);
    let any = |is: &dyn Fn(&Estimate) -> bool| shown.iter().any(|(_, one)| is(one));
    let has_median = any(&|one| one.p50.is_some_and(|median| median != one.value));
    let has_percentile = any(&|one| one.p95.is_some());
    let counts = |one: &Estimate| (samples(one), one.workers.len());
    let common = shown.first().map(|(_, one)| counts(one)).filter(|common| !any(&|one| counts(one) != *common));
    let note = common.map_or(String::new(), |(samples, processes)| {
        let samples = counted(samples, "sample", "samples");
        format!("Each row has {samples} of {}.", counted(processes, "process", "processes"))
    });
    let (auxiliary, kernels): (Vec<Metric<'_>>, Vec<Metric<'_>>) =
        shown.into_iter().partition(|(of, _)| of.is_auxiliary());
    let metric_of = |(_, one): &Metric<'_>| (one.metric.clone(), Some(one.value));
    let groups = cell::by_metric(kernels, metric_of, cell::metric_words).into_iter().chain(cell::by_metric(
        auxiliary,
        metric_of,
        cell::auxiliary_words,
    ));
    let value = |scale: Scale, value: Option<f64>| or_none(value, |value| number::value(scale, value));
    let mut rows = Rows::grouped("Metrics of this run", groups)
        .column("Benchmark", "full", |(_, (of, one)): &(Scale, Metric<'_>)| {
            cell::series_link(catalog, &series_id(run, of, one), &of.benchmark.id())
        })
        .column("Value", "n", |(scale, (_, one))| number::value(*scale, one.value))
        .column("95\u{202f}% interval", "n ci push", |(scale, (_, one))| {
            or_none(one.interval, |interval| number::interval(*scale, interval))
        });
    if has_median {
        rows = rows.column("All samples, median", "n opt2", |(scale, (_, one))| value(*scale, one.p50));
    }
    if has_percentile {
        rows = rows.column("95th percentile", "n opt2", |(scale, (_, one))| value(*scale, one.p95));
    }
    if common.is_none() {
        rows = rows.column("Processes", "n opt2", |(_, (_, one))| count(one.workers.len())).column(
            "Samples",
            "n opt2",
            |(_, (_, one))| count(samples(one)),
        );
    }
    rows.section("benchmarks", "Benchmarks", [note, rest].join(" ").trim(), "")
}

fn samples(estimate: &Estimate) -> usize {
    usize::try_from(estimate.n).unwrap_or(usize::MAX)
}

fn series_id(run: &Run, of: &Measurement, estimate: &Estimate) -> String {
    Series::id_of(&of.benchmark.id(), of.benchmark.version, &estimate.metric.name, &run.machine.id)
}

/// The facts of the environment and the settings that differ from the run before of the suite on the machine, and whether the key
/// does. The page of the machine has all facts and settings of the newest runs.
fn environment(catalog: &Catalog<'_>, recorded: &RecordedRun) -> (Section, String) {
    let run = &recorded.run;
    let before = before(catalog, &run.machine.id, &run.suite, (run.timestamp, &recorded.id));
    let mut facts = differing(before.map(|head| &head.environment.facts), &run.environment.facts, String::clone);
    let is_in_key = |name: &str| KEY_FACTS.contains(&name);
    facts.sort_by_key(|(name, ..)| !is_in_key(name));
    let settings = differing(before.map(|head| &*head.config), &run.config, json::to_canonical);
    let key = &run.environment.key;
    let words = match before.map(|before| before.environment.key == *key) {
        None => "the first run of its suite there, see below",
        Some(true) if facts.is_empty() && settings.is_empty() => "all facts and settings as in the run before",
        Some(true) => "as in the run before; other differences are below",
        Some(false) => "differs from the run before, see below",
    };
    let note = match before.map(|before| date::moment(before.timestamp)) {
        None => "No run of its suite on this machine came before.".to_owned(),
        Some(moment) => format!("Differences from the run before of its suite on this machine, of {moment}."),
    };
    let facts = facts.into_iter().map(|(name, was, is)| {
        let key = if is_in_key(&name) { " (in the key)" } else { "" };
        (format!("{}{key}", name.replace('_', " ")), was, is)
    });
    let value = |value: Option<String>| or_none(value, std::convert::identity);
    let lines = facts.chain(settings).map(|(name, was, is)| {
        let words = Phrase::plain(format!("{name}: "));
        let words = if before.is_some() { words.id(value(was)).text(" → ") } else { words };
        words.id(value(is))
    });
    let lines: Vec<Phrase> = lines.collect();
    let section = match lines.is_empty() {
        true => Section::default(),
        false => Section::new("environment", "Environment and settings").paragraph(note).items(lines),
    };
    (section, format!("Environment {key}: {words}."))
}

/// The newest run of that suite on the machine that is older than `age`.
fn before<'a>(catalog: &Catalog<'a>, machine: &str, suite: &str, age: (DateTime<Utc>, &str)) -> Option<&'a RunHead> {
    let newest_first = &catalog.machines.get(machine)?.runs;
    let older = &newest_first[newest_first.partition_point(|head| head.timestamp > age.0)..];
    let of_suite = || older.iter().copied().filter(|head| head.suite == suite && head.age() < age);
    let newest = of_suite().next()?.timestamp;
    of_suite().take_while(|head| head.timestamp == newest).max_by_key(|head| head.age())
}

type Difference = (String, Option<String>, Option<String>);

/// The names whose values differ, or that one of the two lacks.
fn differing<T: PartialEq>(
    was: Option<&BTreeMap<String, T>>,
    is: &BTreeMap<String, T>,
    text: impl Fn(&T) -> String,
) -> Vec<Difference> {
    let was_of = |name: &String| was.and_then(|was| was.get(name));
    let names: BTreeSet<&String> = was.into_iter().flat_map(BTreeMap::keys).chain(is.keys()).collect();
    let names = names.into_iter().filter(|name| was_of(name) != is.get(*name));
    names.map(|name| (name.clone(), was_of(name).map(&text), is.get(name).map(&text))).collect()
}

const ROWS: usize = 1000;

pub(crate) fn run_list(catalog: &Catalog<'_>) -> Result<Vec<Page>, ReportError> {
    let runs = &catalog.runs;
    let not_ok = runs.iter().filter(|run| run.status != RunStatus::Ok).count();
    let mut lede = Phrase::plain(format!("Newest first. {} skipped or failed.", count(not_ok)));
    if !catalog.selection.commits.is_empty() {
        lede = lede.text(" ").link(link::COMMIT_LIST, "By commit").text(".");
    }
    if catalog.selection.runs.len() < runs.len() {
        lede =
            lede.text(" Older runs link to the comparison of their commit with the one before it, which needs script.");
    }
    let subject = |run: &&&RunHead| {
        run.commit.as_ref().map_or(String::new(), |commit| shortened(&commit.subject, LISTED_SUBJECT))
    };
    let section = Rows::new("Runs, newest first", runs)
        .first(ROWS)
        .column("Began, UTC", "nb", |run| cell::began(catalog, run))
        .column("Suite", "by-suite", |run| run.suite.clone())
        .column("Machine", "place by-machine", |run| run.machine.name.clone())
        .column("Status", "by-verdict", |run| Mark::of_status(run.status))
        .column("Benchmarks", "n", |run| measured(run))
        .column("Numbers", "", |run| Mark::of_run_quality(run))
        .column("Commit", "", |run| cell::commit(catalog, run))
        .column("Subject", "opt", subject)
        .column("Record", "opt", |run| Phrase::code(short_digest(&run.id)))
        .section("runs", "Newest first", "", "");
    let headline = counted(runs.len(), "run", "runs").into();
    let sheet = Sheet { headline, lede, sections: vec![section], ..Sheet::default() };
    list_pages(catalog, (link::RUN_LIST, "Runs"), "Runs", sheet)
}

pub(super) fn measured(run: &RunHead) -> String {
    match (run.status, run.failed) {
        (RunStatus::Ok, 0) => count(run.benchmarks),
        (RunStatus::Ok, failed) => format!("{}, {} failed", count(run.benchmarks - failed), count(failed)),
        _ => number::NONE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use crate::sheet::Block;

    #[test]
    fn a_run_is_compared_with_the_one_before() {
        let sample = sample_data::rich();
        let catalog = sample.catalog();
        let of = |run: &RecordedRun| {
            let (section, words) = environment(&catalog, run);
            let list = section.blocks.iter().filter_map(|block| match block {
                Block::List(items) => Some(items.iter().map(|item| item.words.words())),
                _ => None,
            });
            (format!("{words} {}", section.prose()), list.flatten().collect::<Vec<String>>())
        };
        let mut runs: Vec<&RecordedRun> = sample.runs.iter().filter(|run| run.run.suite == "cpu").collect();
        let machine = runs[1].run.machine.id.clone();
        runs.retain(|run| run.run.machine.id == machine);
        runs.sort_by_key(|run| run.run.timestamp);
        let all = runs[0].run.environment.facts.len() + runs[0].run.config.len();
        let mut alike = runs[1].clone();
        alike.run.environment = runs[0].run.environment.clone();
        let changed = runs.windows(2).find(|pair| pair[0].run.environment.key != pair[1].run.environment.key);
        let changed = changed.expect("its compiler changed")[1];
        for (run, expected, count, row) in [
            (runs[0], "the first run of its suite there", all, ""),
            (runs[1], ": as in the run before; other differences", 1, "load 1m: 0.0 → 0.1"),
            (runs[1], "of its suite on this machine, of 2\u{202f}Mar 2026", 1, ""),
            (&alike, "all facts and settings as in the run before.", 0, ""),
            (changed, "differs from the run before", 2, "compiler (in the key): "),
        ] {
            let (words, rows) = of(run);
            assert!(words.contains(expected) && rows.len() == count, "{words} {rows:?}");
            assert!(rows.first().is_none_or(|first| first.starts_with(row)), "{rows:?}");
        }
    }

    #[test]
    fn each_of_the_runs_that_began_at_one_time_has_another_before_it() {
        let mut sample = sample_data::rich();
        let like = sample.runs.iter().max_by_key(|run| run.run.timestamp).expect("it has runs").clone();
        let later = like.run.timestamp + chrono::Duration::days(1);
        let id = |number: usize| format!("{number:016}");
        for (number, suite) in ["one", "other", "one", "one", "other"].into_iter().enumerate() {
            let mut run = like.clone();
            (run.id, run.run.suite, run.run.timestamp) = (id(number), suite.to_owned(), later);
            sample.runs.push(run);
        }
        let catalog = sample.catalog();
        let result = |(number, suite): (usize, &str)| {
            before(&catalog, &like.run.machine.id, suite, (later, &id(number))).map(|head| head.id.clone())
        };
        let results = [(0, "one"), (1, "other"), (2, "one"), (3, "one"), (4, "other")].map(result);
        assert_eq!(results, [None, None, Some(id(0)), Some(id(2)), Some(id(1))]);
    }
}

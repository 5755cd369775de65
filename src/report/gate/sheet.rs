//! A gate as a report for a pull request or the summary of a job: the outcome, then by suite what changed, the rest folded.

use std::collections::BTreeSet;

use super::finding::{self, change, short_name, values};
use crate::mark::{self, Mark};
use crate::phrase::Phrase;
use crate::reasons;
use crate::sheet::{Row, Section, Sheet, Table, markdown};
use crate::text::{short_commit, shortened};
use crate::{date, number};
use sprag_model::{Comparison, Gate, MeanChange, Outcome, RunStatus, SuiteGate, Verdict};

/// The longest name in a cell, in characters.
const NAME: usize = 160;

/// How many rows, unchanged rows and reasons of doubt all suites together show, and of each a suite in any case.
const MOST_ROWS: usize = 200;
const MOST_UNCHANGED: usize = 80;
const MOST_DOUBTS: usize = 40;
const FEWEST: usize = 10;

const MOST_COMMANDS: usize = 12;

/// A gate as Markdown; `only_changed` leaves the unchanged comparisons out and counts them.
pub fn gate_markdown(gate: &Gate, only_changed: bool) -> String {
    let suites = gate.suites.iter().map(|suite| suite_section(gate, suite, only_changed));
    let sections = suites.chain(interleaved(gate)).collect();
    let sheet = Sheet { headline: headline(gate).into(), sections, ..Sheet::default() };
    markdown::write(&sheet, 3, markdown::COMMENT)
}

fn headline(gate: &Gate) -> String {
    let glyph = match gate.outcome {
        Outcome::Pass => "✓",
        Outcome::Fail => "✕",
        Outcome::Inconclusive => "?",
        Outcome::NotMeasured => "○",
    };
    let mut words = format!("{glyph} sprag {}: {}; {}", gate.command, gate.outcome.word(), gate.counts().words());
    let lacking = gate.suites.iter().filter(|suite| finding::was_not_judged(gate, suite)).count();
    if lacking > 0 {
        words += &format!("; {} not measured", number::counted(lacking, "suite", "suites"));
    }
    words
}

fn suite_section(gate: &Gate, suite: &SuiteGate, only_changed: bool) -> Section {
    let most = |all: usize| (all / gate.suites.len()).max(FEWEST);
    let place = suite.machine.as_ref().unwrap_or(&suite.machine_class);
    let mut section =
        Section::new("", format!("{} on {}", suite.suite, shortened(place, NAME))).paragraph(origin(suite));
    if let Some(finding) = finding::of_suite(gate, suite) {
        let title = Phrase::default().strong(finding.title).text(": ");
        section = section.paragraph(title.join(Phrase::reason(&finding.message)).text("."));
    }
    if let Some(mean) = &suite.mean_change {
        section = section.paragraph(mean_words(mean, &suite.comparisons));
    }
    let is_unchanged = |comparison: &&Comparison| comparison.verdict == Verdict::Unchanged;
    let (unchanged, others): (Vec<&Comparison>, Vec<&Comparison>) = suite.comparisons.iter().partition(is_unchanged);
    let note = common_note(&suite.comparisons);
    section = doubts(table(section, suite, note, &others, most(MOST_ROWS), None), suite, &others, most(MOST_DOUBTS));
    let count = number::count(unchanged.len());
    section = match only_changed {
        _ if unchanged.is_empty() => section,
        true => section.paragraph(format!("{count} unchanged, left out here.")),
        false => table(section, suite, note, &unchanged, most(MOST_UNCHANGED), Some(format!("{count} unchanged"))),
    };
    match note {
        Some(note) => section.paragraph(Phrase::plain("For all judged metrics: ").join(Phrase::reason(note)).text(".")),
        None => section,
    }
}

fn origin(suite: &SuiteGate) -> Phrase {
    let run = |run: &str| Phrase::plain("Run ").id(shortened(run, NAME));
    let mut words = match (&suite.run, suite.time) {
        (Some(id), Some(time)) => run(id).text(format!(" of {} UTC", date::moment(time))),
        (None, Some(time)) if suite.status == Some(RunStatus::Ok) => {
            Phrase::plain(format!("Measured {} UTC", date::moment(time)))
        }
        (Some(id), None) => run(id),
        (None, _) => Phrase::plain("No run"),
    };
    if let Some(commit) = &suite.commit {
        words = words.text(" at ").id(short_commit(&commit.sha));
        if commit.dirty {
            words = words.text(" with uncommitted changes");
        }
    }
    words = words.text(if suite.has_base { ", compared with " } else { ", without a base: " });
    words = words.join(Phrase::reason(&suite.against)).text(".");
    if suite.quality.is_empty() {
        return words;
    }
    words.text(" Rough: ").join(Phrase::reason(&suite.quality.join("; "))).text(".")
}

/// A direction is claimed only where all of the interval is on one side of zero.
fn mean_words(mean: &MeanChange, comparisons: &[Comparison]) -> Phrase {
    let [worse, better] = mark::words(comparisons.iter().map(|one| &one.metric));
    let interval = |bounds: (f64, f64)| {
        let unit = if number::factor(bounds.1).is_some() { "" } else { " %" };
        format!("(interval {}{unit}; positive is {worse})", number::percent_interval(bounds))
    };
    let words = match mean.interval {
        // Less is an error of rounding.
        Some((low, high)) if low > 1e-9 || high < -1e-9 => {
            let word = if high < 0.0 { better } else { worse };
            let size = format!("{} {word}", number::percent_size(mean.change));
            Phrase::default().strong(size).text(format!(" {}", interval((low, high))))
        }
        Some(bounds) => {
            Phrase::plain(format!("no clear change, {} {}", number::percent(mean.change), interval(bounds)))
        }
        None => Phrase::plain(format!("{} (positive is {worse})", number::percent(mean.change))),
    };
    let benchmarks = number::counted(mean.benchmarks, "benchmark", "benchmarks");
    Phrase::plain(format!("Geometric mean of {benchmarks}: ")).join(words).text(".")
}

/// `note` is that of all metrics of the suite, which rows need not repeat.
fn table(
    section: Section,
    suite: &SuiteGate,
    note: Option<&str>,
    comparisons: &[&Comparison],
    most: usize,
    folded: Option<String>,
) -> Section {
    let columns = [
        ("Verdict", ""),
        ("Benchmark", ""),
        ("Change (interval)", "n"),
        ("Detectable", "n"),
        ("Baseline → current", "n"),
    ];
    let rows = comparisons.iter().take(most).map(|comparison| row(suite, note, comparison)).collect();
    let section = section.with(Table { folded, ..Table::new(&columns, rows) });
    match comparisons.len().saturating_sub(most) {
        0 => section,
        more => {
            let rest = number::counted(more, "more row is", "more rows are");
            section.paragraph(format!("{rest} left out; the JSON report has everything."))
        }
    }
}

fn row(suite: &SuiteGate, note: Option<&str>, comparison: &Comparison) -> Row {
    let effect = finding::effect(comparison);
    let none = || number::NONE.to_owned();
    let values = values(comparison);
    let metric = shortened(&comparison.metric.name, NAME);
    Row::new([
        verdict(comparison, note),
        benchmark(suite, comparison).text(format!(" {metric}")),
        effect.map_or_else(none, change).into(),
        effect.and_then(|effect| effect.detectable).map_or_else(none, number::percent_size).into(),
        if values.is_empty() { none() } else { values }.into(),
    ])
}

fn benchmark(suite: &SuiteGate, comparison: &Comparison) -> Phrase {
    Phrase::code(shortened(short_name(&suite.suite, &comparison.benchmark), NAME))
}

/// The verdict, with the notes of this row alone. Reasons of doubt are below the table.
fn verdict(comparison: &Comparison, common: Option<&str>) -> Phrase {
    let mark = Mark::of_comparison(comparison);
    let mut words = match comparison.verdict {
        Verdict::Regressed => Phrase::default().strong(format!("{} {}", mark.glyph, mark.word)),
        _ => Phrase::from(mark),
    };
    if let Some(answer) = &comparison.answer {
        words = words.text(", ").mark(Mark::of_answer(answer)).text("; ");
        words = words.join(Phrase::reason(&finding::answer(comparison).unwrap_or_default()));
    }
    match comparison.note.as_deref().filter(|note| common != Some(note)) {
        Some(note) => words.text("; ").join(Phrase::reason(note)),
        None => words,
    }
}

fn doubts(section: Section, suite: &SuiteGate, others: &[&Comparison], most: usize) -> Section {
    let shared = reasons::shared(&suite.comparisons);
    let of_many = shared.iter().map(|one| (Phrase::from(one.counted()), one.reason));
    let own = others.iter().filter_map(|one| Some((one, one.verdict.reason()?)));
    let own = own.filter(|(_, reason)| shared.iter().all(|one| one.reason != *reason));
    let own = own.map(|(one, reason)| (benchmark(suite, one).text(" ").mark(Mark::of_comparison(one)), reason));
    let mut lines: Vec<Phrase> =
        of_many.chain(own).map(|(what, reason)| what.text(": ").join(Phrase::reason(reason))).collect();
    if lines.is_empty() {
        return section;
    }
    let more = lines.len().saturating_sub(most);
    lines.truncate(most);
    if more > 0 {
        lines.push(Phrase::plain(format!("… {} more", number::count(more))));
    }
    section.paragraph("Why some have no verdict:").items(lines)
}

/// The note that all judged metrics of a suite have, where there are several.
pub fn common_note(comparisons: &[Comparison]) -> Option<&str> {
    let is_judged =
        |one: &&Comparison| matches!(one.verdict, Verdict::Unchanged | Verdict::Improved | Verdict::Regressed);
    let judged: Vec<&Comparison> = comparisons.iter().filter(is_judged).collect();
    let note = judged.first()?.note.as_deref()?;
    (judged.len() > 1 && judged.iter().all(|one| one.note.as_deref() == Some(note))).then_some(note)
}

fn interleaved(gate: &Gate) -> Option<Section> {
    let commands: BTreeSet<String> = gate.suites.iter().filter_map(command).take(MOST_COMMANDS).collect();
    let words = Phrase::plain("To measure both sides interleaved");
    if !commands.is_empty() {
        return Some(Section::default().paragraph(words.text(":")).commands(commands.into_iter().collect()));
    }
    let section = || {
        Section::default().paragraph(words.text(": ").id("sprag compare A B --measure").text(", with the two commits."))
    };
    gate.suites.iter().any(has_two_commits).then(section)
}

/// Whether both sides are commits that can be built, and not the same one.
fn has_two_commits(suite: &SuiteGate) -> bool {
    let current = suite.commit.as_ref().filter(|commit| !commit.dirty).map(|commit| &commit.sha);
    suite.can_take_turns && suite.base_commit.as_ref().zip(current).is_some_and(|(base, current)| base != current)
}

/// Nothing where some word of it is not safe to paste.
fn command(suite: &SuiteGate) -> Option<String> {
    if !has_two_commits(suite) {
        return None;
    }
    let hex = |sha: &str| sha.get(..12).filter(|short| short.chars().all(|c| c.is_ascii_hexdigit())).map(str::to_owned);
    let base = hex(suite.base_commit.as_deref()?)?;
    let current = hex(&suite.commit.as_ref()?.sha)?;
    let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    let named = !suite.suite.starts_with('-') && is_word(&suite.suite);
    (named && base != current).then(|| format!("sprag compare {base} {current} --measure --suite {}", suite.suite))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::example;

    #[test]
    fn a_gate_reads_well() {
        insta::assert_snapshot!(gate_markdown(&example::gate(), false));
        let text = gate_markdown(&example::passing(), false);
        let command = "\n```sh\nsprag compare aaaaaaaaaaaa bbbbbbbbbbbb --measure --suite cpu\n```\n";
        assert!(text.starts_with("### ✓ sprag check: pass; 1 unchanged\n") && text.ends_with(command), "{text}");
        assert!(text.contains("<details><summary>1 unchanged</summary>\n\n| Verdict "), "{text}");
        // A measurement of just now is not a recorded run.
        let mut gate = Gate { command: "compare", ..example::passing() };
        let turns = "v1: v2 and v1 took turns in 10 process pairs";
        (gate.suites[0].run, gate.suites[0].against) = (None, turns.to_owned());
        let text = gate_markdown(&gate, true);
        for part in [
            "\nMeasured 21",
            " at `bbbbbbb`, compared with v1: v2 and v1 took turns in 10 process pairs.",
            "sprag compare: pass; 1 unchanged",
            "\n1 unchanged, left out here.\n",
            "To measure both",
        ] {
            assert!(text.contains(part), "`{part}` is not in {text}");
        }
        assert!(!text.contains("a @fast") && !text.contains("details"), "{text}");
    }

    #[test]
    fn a_direction_is_claimed_only_where_it_is_certain() {
        let no_change = "no clear change, \u{2212}0.1 % (interval \u{2212}2.0 to +1.7 %; positive is slower)";
        let faster = "**8.0 % faster** (interval \u{2212}14.0 to \u{2212}2.0 %; positive is slower)";
        for (change, interval, expected) in [
            (-0.001, Some((-0.02, 0.017)), no_change),
            (0.08, Some((0.02, 0.14)), "**8.0 % slower** (interval +2.0 to +14.0 %; positive is slower)"),
            (-0.08, Some((-0.14, -0.02)), faster),
            (0.0, Some((0.0, 0.0)), "no clear change, 0.0 % (interval 0.0 to 0.0 %; positive is slower)"),
            (-0.08, None, "\u{2212}8.0 % (positive is slower)"),
            (20.0, Some((15.0, 27.0)), "**x21.0 slower** (interval x16.0 to x28.0; positive is slower)"),
            (1e20, None, "x1.0e20 (positive is slower)"),
        ] {
            let mut gate = example::passing();
            gate.suites[0].mean_change = Some(MeanChange { benchmarks: 12, change, interval });
            let text = gate_markdown(&gate, false).replace(number::NARROW, " ");
            assert!(text.contains(&format!("\nGeometric mean of 12 benchmarks: {expected}.")), "{text}");
        }
    }

    #[test]
    fn a_note_of_all_judged_metrics_is_written_once() {
        let mut gate = example::passing();
        let note = "too few sessions";
        let noted = |verdict: Verdict, note: &str| Comparison {
            note: Some(note.to_owned()).filter(|note| !note.is_empty()),
            ..example::comparison("cpu/a @fast", 1.0, verdict)
        };
        for (comparisons, is_common) in [
            (vec![noted(Verdict::Unchanged, note), noted(Verdict::Improved, note)], true),
            (vec![noted(Verdict::Unchanged, note), noted(Verdict::Missing, ""), noted(Verdict::Improved, note)], true),
            (vec![noted(Verdict::Unchanged, note)], false),
            (vec![noted(Verdict::Unchanged, note), noted(Verdict::Regressed, "")], false),
            (
                vec![noted(Verdict::Unchanged, note), noted(Verdict::Improved, note), noted(Verdict::Regressed, "")],
                false,
            ),
            (vec![noted(Verdict::Missing, note), noted(Verdict::Missing, note)], false),
            (vec![], false),
        ] {
            assert_eq!(common_note(&comparisons), is_common.then_some(note));
            let own = comparisons.iter().filter(|one| one.note.is_some()).count();
            gate.suites[0].comparisons = comparisons;
            let text = gate_markdown(&gate, false);
            assert_eq!(text.contains("\nFor all judged metrics: too few sessions.\n"), is_common, "{text}");
            assert_eq!(text.matches(note).count(), if is_common { 1 } else { own }, "{text}");
        }
    }

    #[test]
    fn a_report_fits_into_a_comment() {
        let many = |verdict: Verdict| {
            let name = |place| format!("cpu/{}{place} @fast", "`|".repeat(80));
            (0..3000).map(move |place| example::comparison(&name(place), 1.2, verdict.clone()))
        };
        let reason = Verdict::Inconclusive("x".repeat(5000));
        let comparisons: Vec<Comparison> =
            many(Verdict::Regressed).chain(many(reason)).chain(many(Verdict::Unchanged)).collect();
        let reason = Some("@".repeat(5000));
        let suites = vec![SuiteGate { comparisons, reason, status: None, ..example::suite("cpu") }; 20];
        let text = gate_markdown(&Gate { suites, ..example::gate() }, false);
        assert!(text.chars().count() < 65_536 && text.len() > 30_000, "{}", text.len());
        assert!(text.contains("more rows are left out") && text.contains("more sections are left out"));
    }

    #[test]
    fn interleaving_is_advised_only_where_both_sides_can_be_built() {
        let check = |expected: bool, change: fn(&mut SuiteGate)| {
            let mut gate = example::passing();
            change(&mut gate.suites[0]);
            assert_eq!(interleaved(&gate).is_some(), expected);
        };
        check(true, |_| {});
        check(false, |suite| suite.can_take_turns = false);
        check(false, |suite| suite.commit.as_mut().expect("it has one").dirty = true);
        check(false, |suite| suite.commit = None);
        check(false, |suite| suite.base_commit = None);
        // One commit has no two sides.
        check(false, |suite| suite.base_commit = Some("b".repeat(40)));
        // No command is made of names that are not safe to paste.
        let unsafe_names: [fn(&mut SuiteGate); 2] = [
            |suite| suite.base_commit = Some(example::HOSTILE.to_owned()),
            |suite| suite.suite = example::HOSTILE.to_owned(),
        ];
        for change in unsafe_names {
            let mut gate = example::passing();
            change(&mut gate.suites[0]);
            let text = gate_markdown(&gate, false);
            assert!(text.contains("`sprag compare A B --measure`") && !text.contains("```sh"), "{text}");
        }
    }
}

//! What a gate found as Markdown, for a comment on a pull request or the summary of a job.
//!
//! The first line says how it came out; then, suite by suite, what is not unchanged, and folded away what is. A comment on
//! GitHub holds 65,536 characters, so rows are left out from there on, those folded away first; how many is told.

use std::collections::BTreeSet;

use super::finding::{self, Rows, change, short_name, values};
use super::share;
use crate::mark::{self, Mark};
use crate::markdown::{Lines, code, cut, mark as shown, plain};
use crate::reasons::{self, Shared};
use crate::text::{short_commit, shortened};
use crate::{date, number};
use sprag_model::gate::{Gate, MeanChange, Outcome, SuiteGate};
use sprag_model::run::RunStatus;
use sprag_model::verdict::{Comparison, Verdict};

/// The bytes that all of it may take.
const MOST_BYTES: usize = 60_000;

/// The longest name in a cell, in characters.
const NAME: usize = 160;

/// The bytes that are left, in all suites together.
struct Room {
    /// For rows of what is not unchanged.
    told: usize,
    /// For rows that are folded away.
    folded: usize,
    doubt: usize,
}

/// The whole of it as Markdown.
pub fn gate_markdown(gate: &Gate) -> String {
    markdown(gate, Rows::All)
}

/// The same, without what is unchanged: how many there are is told.
pub fn changed_markdown(gate: &Gate) -> String {
    markdown(gate, Rows::Changed)
}

fn markdown(gate: &Gate, rows: Rows) -> String {
    let mut out = Lines::default();
    out.paragraph(&format!("### {}", headline(gate)));
    let mut room = Room { told: 30_000, folded: 12_000, doubt: 8_000 };
    let mut left_out = 0;
    for suite in &gate.suites {
        let section = suite_section(gate, suite, rows, &mut room);
        if out.text.len() + section.len() <= MOST_BYTES {
            out.text.push_str(&section);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let rest = number::counted(left_out, "more suite is", "more suites are");
        out.paragraph(&format!("{rest} left out; another report has them all."));
    }
    tell(&mut out, gate);
    out.text.truncate(out.text.trim_end().len());
    out.text.push('\n');
    out.text
}

/// How it came out and the counts, in words.
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

fn suite_section(gate: &Gate, suite: &SuiteGate, rows: Rows, room: &mut Room) -> String {
    let mut out = Lines::default();
    let place = suite.machine.as_ref().unwrap_or(&suite.machine_class);
    out.paragraph(&format!("#### {} on {}", plain(&suite.suite), plain(&shortened(place, NAME))));
    out.paragraph(&origin(suite));
    if let Some(finding) = finding::of_suite(gate, suite) {
        out.paragraph(&format!("**{}**: {}.", plain(&finding.title), cut(&finding.message)));
    }
    if let Some(overall) = &suite.whole {
        out.paragraph(&overall_words(overall, &suite.comparisons));
    }
    let is_quiet = |comparison: &&Comparison| comparison.verdict == Verdict::Unchanged;
    let (quiet, loud): (Vec<&Comparison>, Vec<&Comparison>) = suite.comparisons.iter().partition(is_quiet);
    let shared = reasons::shared(&suite.comparisons);
    let noted = common_note(&suite.comparisons);
    table(&mut out, (&suite.suite, noted), &loud, &mut room.told);
    doubts(&mut out, &suite.suite, &loud, &shared, &mut room.doubt);
    match rows {
        _ if quiet.is_empty() => {}
        Rows::Changed => out.paragraph(&format!("{} unchanged, left out here.", number::count(quiet.len()))),
        Rows::All => {
            out.paragraph(&format!("<details><summary>{} unchanged</summary>", number::count(quiet.len())));
            table(&mut out, (&suite.suite, noted), &quiet, &mut room.folded);
            out.paragraph("</details>");
        }
    }
    if let Some(note) = noted {
        out.paragraph(&format!("Of all that was judged: {}.", cut(note)));
    }
    out.text
}

/// Which run was held against what.
fn origin(suite: &SuiteGate) -> String {
    let mut words = match (&suite.run, suite.time) {
        (Some(run), Some(time)) => format!("Run {} of {} UTC", code(&shortened(run, NAME)), date::moment(time)),
        // What was measured just now, for this alone, is no run.
        (None, Some(time)) if suite.status == Some(RunStatus::Ok) => format!("Measured {} UTC", date::moment(time)),
        (Some(run), None) => format!("Run {}", code(&shortened(run, NAME))),
        (None, _) => "No run".to_owned(),
    };
    if let Some(commit) = &suite.commit {
        words += &format!(" at {}", code(short_commit(&commit.sha)));
        if commit.dirty {
            words += " with changes that no commit holds";
        }
    }
    words += &match suite.has_base {
        true => format!(", held against {}.", cut(&suite.against)),
        false => format!(", held against nothing: {}.", cut(&suite.against)),
    };
    if !suite.quality.is_empty() {
        words += &format!(" Rough: {}.", cut(&suite.quality.join("; ")));
    }
    words
}

/// A direction is claimed only where the whole interval lies on one side of zero.
fn overall_words(overall: &MeanChange, comparisons: &[Comparison]) -> String {
    let (worse, better) = mark::words(comparisons.iter());
    let interval = |bounds: (f64, f64)| {
        let unit = if share::factor(bounds.1).is_some() { "" } else { " %" };
        format!("(interval {}{unit}, positive is {worse})", share::percent_interval(bounds))
    };
    let words = match overall.interval {
        // What rounding makes is no change.
        Some((low, high)) if low > 1e-9 || high < -1e-9 => {
            let word = if high < 0.0 { better } else { worse };
            format!("**{} {word}** {}", share::percent_size(overall.change), interval((low, high)))
        }
        Some(bounds) => format!("no clear change: {} {}", share::percent(overall.change), interval(bounds)),
        None => format!("{} (positive is {worse})", share::percent(overall.change)),
    };
    let benchmarks = number::counted(overall.benchmarks, "benchmark", "benchmarks");
    format!("As a whole {words}, by the geometric mean over {benchmarks}.")
}

/// `suite` is its name and the note that all of it bears, which rows need not say again.
fn table(out: &mut Lines, suite: (&str, Option<&str>), comparisons: &[&Comparison], room: &mut usize) {
    if comparisons.is_empty() {
        return;
    }
    out.head(
        &["Verdict", "Benchmark", "Change (interval)", "Could see", "Baseline → current"],
        &[false, false, true, true, true],
    );
    let mut shown_rows = 0;
    for comparison in comparisons {
        let before = out.text.len();
        out.row(&cells(suite, comparison));
        let size = out.text.len() - before;
        if size > *room {
            out.text.truncate(before);
            // A shorter row must not come after a longer one that was left out.
            *room = 0;
            break;
        }
        *room -= size;
        shown_rows += 1;
    }
    out.blank();
    if shown_rows < comparisons.len() {
        let rest = number::counted(comparisons.len() - shown_rows, "more row is", "more rows are");
        out.paragraph(&format!("{rest} left out; another report has them all."));
    }
}

fn cells((suite, noted): (&str, Option<&str>), comparison: &Comparison) -> Vec<String> {
    let effect = finding::effect(comparison);
    let none = || number::NONE.to_owned();
    let values = values(comparison);
    vec![
        verdict(comparison, noted),
        format!(
            "{} {}",
            code(&shortened(short_name(suite, &comparison.benchmark), NAME)),
            plain(&shortened(&comparison.metric.name, NAME))
        ),
        effect.map_or_else(none, change),
        effect.and_then(|effect| effect.detectable).map_or_else(none, share::percent_size),
        if values.is_empty() { none() } else { values },
    ]
}

/// The verdict, with what is to be said of this row alone. Reasons of doubt stand below the table.
fn verdict(comparison: &Comparison, noted: Option<&str>) -> String {
    let mut words = shown(&Mark::of_comparison(comparison));
    if comparison.verdict == Verdict::Regressed {
        words = format!("**{words}**");
    }
    if let Some(answer) = &comparison.answer {
        words += &format!(", {}", shown(&Mark::of_answer(answer)));
        words += &format!("; {}", cut(&finding::answer(comparison).unwrap_or_default()));
    }
    if let Some(note) = comparison.note.as_deref().filter(|note| noted != Some(note)) {
        words += &format!("; {}", cut(note));
    }
    words
}

/// Why some could not be judged: each reason once.
fn doubts(out: &mut Lines, suite: &str, loud: &[&Comparison], shared: &[Shared<'_>], room: &mut usize) {
    let mut lines: Vec<String> =
        shared.iter().map(|one| format!("- {}: {}", shown(&one.counted()), cut(one.reason))).collect();
    let own = loud.iter().filter_map(|one| Some((one, one.verdict.reason()?)));
    let own = own.filter(|(_, reason)| shared.iter().all(|one| one.reason != *reason));
    lines.extend(own.map(|(one, reason)| {
        let name = code(&shortened(short_name(suite, &one.benchmark), NAME));
        format!("- {name} {}: {}", shown(&Mark::of_comparison(one)), cut(reason))
    }));
    if lines.is_empty() {
        return;
    }
    out.paragraph("Why there is doubt:");
    for (place, line) in lines.iter().enumerate() {
        if line.len() > *room {
            *room = 0;
            out.line(&format!("- … {} more", number::count(lines.len() - place)));
            break;
        }
        *room -= line.len();
        out.line(line);
    }
    out.blank();
}

/// The note that all judged metrics of a suite bear, where there are several: said once, it is read.
pub fn common_note(comparisons: &[Comparison]) -> Option<&str> {
    let is_judged =
        |one: &&Comparison| matches!(one.verdict, Verdict::Unchanged | Verdict::Improved | Verdict::Regressed);
    let judged: Vec<&Comparison> = comparisons.iter().filter(is_judged).collect();
    let note = judged.first()?.note.as_deref()?;
    (judged.len() > 1 && judged.iter().all(|one| one.note.as_deref() == Some(note))).then_some(note)
}

const MOST_COMMANDS: usize = 12;

/// The commands that measure both sides again, in turns.
pub(super) fn tell(out: &mut Lines, gate: &Gate) {
    let commands: BTreeSet<String> = gate.suites.iter().filter_map(command).take(MOST_COMMANDS).collect();
    if commands.is_empty() {
        if !gate.suites.iter().any(has_two_commits) {
            return;
        }
        out.paragraph("To measure both sides again, in turns: `sprag compare A B --measure`, with the two commits.");
        return;
    }
    out.paragraph("To measure both sides again, in turns:");
    out.line("```sh");
    for command in &commands {
        out.line(command);
    }
    out.line("```");
}

/// Whether both sides could be built again: of two files or programs there are no commits, of one commit there are no two
/// sides, and no commit holds changed files.
fn has_two_commits(suite: &SuiteGate) -> bool {
    let current = suite.commit.as_ref().filter(|commit| !commit.dirty).map(|commit| &commit.sha);
    suite.can_take_turns && suite.base_commit.as_ref().zip(current).is_some_and(|(base, current)| base != current)
}

/// The command for a suite, where both commits are known and every word of it is safe to paste.
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
        insta::assert_snapshot!(gate_markdown(&example::gate()));
        insta::assert_snapshot!(gate_markdown(&example::passing()), @r#"
        ### ✓ sprag check: pass; 1 unchanged

        #### cpu on ci-box

        Run `00112233445566ff` of 21 Nov 2026, 04:00 UTC at `bbbbbbb`, held against baselines/cpu.example-cpu-9000.json (of aaaaaaaaaaaa, 2026-11-14).

        As a whole +0.1 % (positive is slower), by the geometric mean over 1 benchmark.

        <details><summary>1 unchanged</summary>

        | Verdict | Benchmark | Change (interval) | Could see | Baseline → current |
        | --- | --- | --: | --: | --: |
        | = no change | `a @fast` time | +0.1 % (−0.4 to +0.6) | 2.8 % | 2.000 → 2.002 ms |

        </details>

        To measure both sides again, in turns:

        ```sh
        sprag compare aaaaaaaaaaaa bbbbbbbbbbbb --measure --suite cpu
        ```
        "#);
    }

    #[test]
    fn what_was_measured_just_now_is_no_run() {
        let mut gate = Gate { command: "compare", ..example::passing() };
        let suite = &mut gate.suites[0];
        (suite.run, suite.against) = (None, "v1: v2 and v1 took turns in 10 pairs of processes".to_owned());
        let text = changed_markdown(&gate);
        for part in [
            "\nMeasured 21",
            " at `bbbbbbb`, held against v1: v2 and v1 took turns in 10 pairs of processes.",
            "sprag compare: pass; 1 unchanged",
            "\n1 unchanged, left out here.\n",
            "To measure both",
        ] {
            assert!(text.contains(part), "`{part}` is not in {text}");
        }
        assert!(!text.contains("a @fast") && !text.contains("details"), "{text}");
        // One commit has no two sides, and two programs have no commits.
        gate.suites[0].base_commit = Some("b".repeat(40));
        assert!(!gate_markdown(&gate).contains("To measure both"));
        (gate.suites[0].commit, gate.suites[0].base_commit) = (None, None);
        assert!(!gate_markdown(&gate).contains("To measure both"));
    }

    #[test]
    fn a_direction_is_told_only_where_it_is_known() {
        let check = |change: f64, interval: Option<(f64, f64)>, expected: &str| {
            let mut gate = example::passing();
            gate.suites[0].whole = Some(MeanChange { benchmarks: 12, change, interval });
            let text = gate_markdown(&gate).replace(number::NARROW, " ");
            assert!(text.contains(&format!("\nAs a whole {expected}, by the geometric mean over 12")), "{text}");
        };
        let unclear = "no clear change: \u{2212}0.1 % (interval \u{2212}2.0 to +1.7 %, positive is slower)";
        check(-0.001, Some((-0.02, 0.017)), unclear);
        check(0.08, Some((0.02, 0.14)), "**8.0 % slower** (interval +2.0 to +14.0 %, positive is slower)");
        let faster = "**8.0 % faster** (interval \u{2212}14.0 to \u{2212}2.0 %, positive is slower)";
        check(-0.08, Some((-0.14, -0.02)), faster);
        check(0.0, Some((0.0, 0.0)), "no clear change: 0.0 % (interval 0.0 to 0.0 %, positive is slower)");
        check(-0.08, None, "\u{2212}8.0 % (positive is slower)");
        check(20.0, Some((15.0, 27.0)), "**x21.0 slower** (interval x16.0 to x28.0, positive is slower)");
        check(1e20, None, "x1.0e20 (positive is slower)");
    }

    #[test]
    fn what_every_row_bears_is_said_once() {
        let mut gate = example::passing();
        let mut second = example::comparison("cpu/b @fast", 1.2, Verdict::Regressed);
        second.note = Some("too few sessions".to_owned());
        gate.suites[0].comparisons[0].note = second.note.clone();
        gate.suites[0].comparisons.push(second);
        let count = |gate: &Gate| gate_markdown(gate).matches("too few sessions").count();
        assert!(gate_markdown(&gate).contains("\nOf all that was judged: too few sessions.\n"));
        assert_eq!(count(&gate), 1);
        gate.suites[0].comparisons[1].note = None;
        assert!(gate_markdown(&gate).contains("= no change; too few sessions |"));
        assert_eq!(count(&gate), 1);
    }

    #[test]
    fn every_row_has_the_cells_of_its_head() {
        let text = gate_markdown(&example::gate());
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert!(rows.len() > 8 && rows.iter().all(|row| row.matches('|').count() == 6), "{text}");
    }

    #[test]
    fn nothing_of_others_has_a_meaning() {
        let mut gate = example::gate();
        for suite in &mut gate.suites {
            suite.suite = example::HOSTILE.to_owned();
            suite.machine = Some(example::HOSTILE.to_owned());
            suite.reason = Some(example::HOSTILE.to_owned());
            suite.against = example::HOSTILE.to_owned();
            suite.run = Some(example::HOSTILE.to_owned());
            suite.base_commit = Some(example::HOSTILE.to_owned());
            suite.quality = vec![example::HOSTILE.to_owned()];
            for comparison in &mut suite.comparisons {
                comparison.note = Some(example::HOSTILE.to_owned());
                comparison.metric.name = example::HOSTILE.to_owned();
            }
        }
        let text = gate_markdown(&gate);
        for harm in ["<script", "\u{202e}", "\u{1b}", "@someone", " #12", "[a](", "http://", "]]>"] {
            assert!(!text.contains(harm), "{harm}: {text}");
        }
        assert!(!text.lines().any(|line| line.starts_with("::")), "{text}");
        assert!(text.contains("`sprag compare A B --measure`"), "no command is made of such names");
    }

    #[test]
    fn a_comment_holds_it_whatever_there_is() {
        let many = |verdict: Verdict| {
            (0..3000).map(move |place| {
                example::comparison(&format!("cpu/{}{place} @fast", "`|".repeat(80)), 1.2, verdict.clone())
            })
        };
        let reason = Verdict::Inconclusive("x".repeat(5000));
        let comparisons: Vec<Comparison> =
            many(Verdict::Regressed).chain(many(reason)).chain(many(Verdict::Unchanged)).collect();
        let reason = Some("@".repeat(5000));
        let suites = vec![SuiteGate { comparisons, reason, status: None, ..example::suite("cpu") }; 20];
        let text = gate_markdown(&Gate { suites, ..example::gate() });
        assert!(text.chars().count() < 65_536 && text.len() > 30_000, "{}", text.len());
        assert!(
            text.contains("more rows are left out") && text.contains("more suites are left out"),
            "{}",
            &text[..500]
        );
    }

    #[test]
    fn a_note_is_common_where_all_that_was_judged_bears_it() {
        let noted = |verdict: Verdict, note: Option<&str>| Comparison {
            note: note.map(str::to_owned),
            ..example::comparison("cpu/a @fast", 1.0, verdict)
        };
        let check = |all: &[Comparison], expected: Option<&str>| assert_eq!(common_note(all), expected);
        let (same, other) = (noted(Verdict::Unchanged, Some("x")), noted(Verdict::Improved, Some("x")));
        check(&[same.clone(), other.clone()], Some("x"));
        check(&[same.clone(), noted(Verdict::Missing, None), other.clone()], Some("x"));
        check(std::slice::from_ref(&same), None);
        check(&[same.clone(), other.clone(), noted(Verdict::Regressed, None)], None);
        check(&[noted(Verdict::Missing, Some("x")), noted(Verdict::Missing, Some("x"))], None);
        check(&[], None);
    }

    fn text(gate: &Gate) -> String {
        let mut out = Lines::default();
        tell(&mut out, gate);
        out.text
    }

    #[test]
    fn turns_are_advised_only_where_both_sides_can_take_them() {
        let result = |change: &dyn Fn(&mut SuiteGate)| {
            let mut gate = example::passing();
            change(&mut gate.suites[0]);
            !text(&gate).is_empty()
        };
        assert!(result(&|_| {}));
        assert!(!result(&|suite| suite.can_take_turns = false));
        assert!(!result(&|suite| suite.commit.as_mut().expect("it has one").dirty = true));
        assert!(!result(&|suite| suite.commit = None));
        assert!(!result(&|suite| suite.base_commit = None));
        // Of one commit there are no two sides.
        assert!(!result(&|suite| suite.base_commit = Some("b".repeat(40))));
    }
}

//! What a gate found as Markdown, for a comment on a pull request or the summary of a job.
//!
//! The first line says how it came out; then, suite by suite, what is not unchanged, and folded away what is. A comment on
//! GitHub holds 65,536 characters, so rows are left out from there on, those folded away first; how many is told.

use std::collections::BTreeSet;

use super::finding::{self, change, values};
use crate::model::gate::{Gate, Outcome, SuiteGate, Whole};
use crate::model::verdict::{Comparison, Verdict};
use crate::report::catalog::{short_benchmark, short_commit};
use crate::report::date;
use crate::report::mark::{self, Mark};
use crate::report::markdown::{Lines, code, cut, mark as shown, plain};
use crate::report::number;
use crate::report::reasons::{self, Shared};
use crate::report::text::shortened;

/// The bytes that all of it may take.
const MOST_BYTES: usize = 60_000;

/// The commands that are listed.
const MOST_COMMANDS: usize = 12;

/// The longest name in a cell, in characters.
const NAME: usize = 160;

/// The bytes that are left, in all suites together.
struct Room {
    /// For rows of what is not unchanged.
    told: usize,
    /// For rows that are folded away.
    folded: usize,
    /// For reasons of doubt.
    doubt: usize,
}

/// The whole of it as Markdown.
pub fn gate_markdown(gate: &Gate) -> String {
    let mut out = Lines::default();
    out.paragraph(&format!("### {}", headline(gate)));
    let mut room = Room { told: 30_000, folded: 12_000, doubt: 8_000 };
    let mut left_out = 0;
    for suite in &gate.suites {
        let section = suite_section(gate, suite, &mut room);
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
    reproduce(&mut out, gate);
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

fn suite_section(gate: &Gate, suite: &SuiteGate, room: &mut Room) -> String {
    let mut out = Lines::default();
    let place = suite.machine.as_ref().unwrap_or(&suite.machine_class);
    out.paragraph(&format!("#### {} on {}", plain(&suite.suite), plain(&shortened(place, NAME))));
    out.paragraph(&origin(suite));
    if let Some(finding) = finding::of_suite(gate, suite) {
        out.paragraph(&format!("**{}**: {}.", plain(&finding.title), cut(&finding.message)));
    }
    if let Some(whole) = &suite.whole {
        out.paragraph(&whole_words(whole, &suite.comparisons));
    }
    let is_quiet = |comparison: &&Comparison| comparison.verdict == Verdict::Unchanged;
    let (quiet, loud): (Vec<&Comparison>, Vec<&Comparison>) = suite.comparisons.iter().partition(is_quiet);
    let shared = reasons::shared(&suite.comparisons);
    table(&mut out, &loud, &mut room.told);
    doubts(&mut out, &loud, &shared, &mut room.doubt);
    if !quiet.is_empty() {
        out.paragraph(&format!("<details><summary>{} unchanged</summary>", number::count(quiet.len())));
        table(&mut out, &quiet, &mut room.folded);
        out.paragraph("</details>");
    }
    out.text
}

/// Which run was held against what.
fn origin(suite: &SuiteGate) -> String {
    let mut words = match (&suite.run, suite.time) {
        (Some(run), Some(time)) => format!("Run {} of {} UTC", code(&shortened(run, NAME)), date::moment(time)),
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

fn whole_words(whole: &Whole, comparisons: &[Comparison]) -> String {
    let (worse, better) = mark::words(comparisons.iter());
    let word = if whole.change < 0.0 { better } else { worse };
    let interval = whole
        .interval
        .map(|interval| format!(" (interval {} %, positive is {worse})", number::percent_interval(interval)));
    let benchmarks = number::counted(whole.benchmarks, "benchmark", "benchmarks");
    format!(
        "As a whole **{} {word}**{}, by the geometric mean over {benchmarks}.",
        number::percent_size(whole.change),
        interval.unwrap_or_default(),
    )
}

fn table(out: &mut Lines, comparisons: &[&Comparison], room: &mut usize) {
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
        out.row(&cells(comparison));
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

fn cells(comparison: &Comparison) -> Vec<String> {
    let effect = comparison.effect;
    let none = || number::NONE.to_owned();
    let values = values(comparison);
    vec![
        verdict(comparison),
        format!(
            "{} {}",
            code(&shortened(short_benchmark(&comparison.benchmark), NAME)),
            plain(&shortened(&comparison.metric.name, NAME))
        ),
        effect.map_or_else(none, change),
        effect.and_then(|effect| effect.detectable).map_or_else(none, number::percent_size),
        if values.is_empty() { none() } else { values },
    ]
}

/// The verdict, with what is to be said of this row alone. Reasons of doubt stand below the table.
fn verdict(comparison: &Comparison) -> String {
    let mut words = shown(&Mark::of_comparison(comparison));
    if comparison.verdict == Verdict::Regressed {
        words = format!("**{words}**");
    }
    if let Some(note) = &comparison.note {
        words += &format!("; {}", cut(note));
    }
    words
}

/// Why some could not be judged: each reason once.
fn doubts(out: &mut Lines, loud: &[&Comparison], shared: &[Shared<'_>], room: &mut usize) {
    let mut lines: Vec<String> =
        shared.iter().map(|one| format!("- {}: {}", shown(&one.counted()), cut(one.reason))).collect();
    let own = loud.iter().filter_map(|one| Some((one, one.verdict.reason()?)));
    let own = own.filter(|(_, reason)| shared.iter().all(|one| one.reason != *reason));
    lines.extend(own.map(|(one, reason)| {
        let name = code(&shortened(short_benchmark(&one.benchmark), NAME));
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

/// The commands that measure both sides again, in turns.
fn reproduce(out: &mut Lines, gate: &Gate) {
    let commands: BTreeSet<String> = gate.suites.iter().filter_map(command).take(MOST_COMMANDS).collect();
    if commands.is_empty() {
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

/// The command for a suite, where both commits are known and every word of it is safe to paste.
fn command(suite: &SuiteGate) -> Option<String> {
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
    use crate::report::gate::example;

    #[test]
    fn a_gate_reads_well() {
        insta::assert_snapshot!(gate_markdown(&example::gate()));
        insta::assert_snapshot!(gate_markdown(&example::passing()), @r#"
        ### ✓ sprag check: pass; 1 unchanged

        #### cpu on ci-box

        Run `00112233445566ff` of 21 Nov 2026, 04:00 UTC at `bbbbbbbb`, held against baselines/cpu.example-cpu-9000.json (of aaaaaaaaaaaa, 2026-11-14).

        As a whole **0.1 % slower**, by the geometric mean over 1 benchmark.

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
}

//! What a bench of Criterion prints, in a file: the estimate of each benchmark and what goes with it.
//!
//! A benchmark is a line `name   time:   [low estimate high]`; where the name is longer than 23 bytes it stands alone on
//! the line before. Criterion prints its slope or mean for the estimate, so that is the value; the bounds are kept as
//! `low` and `high`. Lines of throughput and change belong to the benchmark before them. Colours are taken out, times
//! have units from `ps` to `s` with either letter for micro, and whatever else a terminal shows is passed over.

use serde_json::{Value, json};

use crate::frame::{Format, Read, Recognised, Source};
use crate::{FormatError, console, outputs};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Observation};
use sprag_model::metric::Metric;

pub const FORMAT: Format = Format {
    name: "criterion-text",
    title: "what a bench of Criterion prints",
    files: &[".txt"],
    recognised: Recognised::Each(is_text),
    read: Read::Each("criterion", read),
};

/// The longest name that stands on the line of its estimate, in bytes.
const SHORT_NAME: usize = 23;

/// Whether some line has an estimate. What other formats begin with is none.
fn is_text(output: &Output) -> bool {
    let start = outputs::start(output);
    let json = start.trim_start().starts_with(['{', '[']);
    !json
        && start
            .lines()
            .any(|line| bracketed(&console::plain(line), "time:").and_then(|(_, it)| three_times(it)).is_some())
}

fn read(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    let mut notes = Vec::new();
    let run = outputs::run(entries(output, &mut notes)?, &[output]);
    Ok(Source { run, notes, ..Source::default() })
}

/// The benchmarks of a text. Where a name comes twice the last counts.
pub(crate) fn entries(output: &Output, notes: &mut Vec<String>) -> Result<Vec<Entry>, FormatError> {
    let Estimates { entries, unread } = estimates(output)?;
    for line in unread {
        outputs::note(notes, format!("{} line {line}: `time:` is followed by no estimate", output.name));
    }
    outputs::counted(&output.name, outputs::newest_of_each(entries, notes))
}

#[derive(Clone, Debug, Default)]
pub struct Estimates {
    /// Each, in the order of the text: a name may come more than once.
    pub entries: Vec<Entry>,
    /// The lines, from 1, on which something looks like one and cannot be read.
    pub unread: Vec<usize>,
}

/// Every estimate of a text.
///
/// # Errors
/// When the text is not UTF-8, has too long a line or far too many estimates.
pub fn estimates(output: &Output) -> Result<Estimates, FormatError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut unread = Vec::new();
    let mut before = String::new();
    let mut samples: Option<u64> = None;
    for (number, line) in outputs::lines(output)? {
        let line = console::plain(line);
        if let Some((label, content)) = bracketed(&line, "time:") {
            let own_line = label.trim().is_empty() && line.starts_with([' ', '\t']);
            let name = if own_line && before.len() > SHORT_NAME { before.as_str() } else { label.trim() };
            match three_times(content) {
                Some(times) if !name.is_empty() => {
                    outputs::push(output, &mut entries, estimate(name, times, samples.take()))?;
                }
                _ if content.contains('%') => changed(entries.last_mut(), content),
                _ => unread.push(number),
            }
        } else if is_cut_off(&line) {
            unread.push(number);
        } else if let Some((_, content)) = bracketed(&line, "thrpt:") {
            throughput(entries.last_mut(), content);
        } else if let Some((_, content)) = bracketed(&line, "change:") {
            changed(entries.last_mut(), content);
        } else if let Some(result) = count_between(&line, ": Collecting ", " samples") {
            samples = Some(result);
        } else if let (Some(result), Some(entry)) =
            (count_between(&line, " among ", " measurements"), entries.last_mut())
        {
            counted(entry, result);
        }
        line.trim_end().clone_into(&mut before);
    }
    Ok(Estimates { entries, unread })
}

/// Whether a line ends within an estimate, as where a program was killed.
fn is_cut_off(line: &str) -> bool {
    line.split_once("time:").is_some_and(|(_, after)| after.trim_start().starts_with('[') && !after.contains(']'))
}

/// What stands before the label, and between the brackets that follow it.
fn bracketed<'a>(line: &'a str, label: &str) -> Option<(&'a str, &'a str)> {
    let (before, after) = line.split_once(label)?;
    let (content, _) = after.trim_start().strip_prefix('[')?.split_once(']')?;
    Some((before, content))
}

/// The three quantities between brackets, as texts: a number and a unit, with or without blanks between.
fn three(content: &str) -> Option<[String; 3]> {
    let mut parts: Vec<String> = Vec::with_capacity(3);
    for word in content.split_whitespace() {
        let is_number = word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
        let room = parts.len() < 3;
        match parts.last_mut().filter(|number| !is_number && !number.contains(' ')) {
            Some(number) => {
                number.push(' ');
                number.push_str(word);
            }
            None if room => parts.push(word.to_owned()),
            None => return None,
        }
    }
    parts.try_into().ok()
}

/// Three times in seconds, and the unit of the one in the middle; numbers that cannot be read are none.
fn three_times(content: &str) -> Option<([f64; 3], String)> {
    let [low, middle, high] = three(content)?;
    let times = [console::seconds(&low)?, console::seconds(&middle)?, console::seconds(&high)?];
    Some((times, console::number_and_unit(&middle).1.to_owned()))
}

fn estimate(name: &str, ([low, middle, high], unit): ([f64; 3], String), samples: Option<u64>) -> Entry {
    let check = |field: &str, value: f64| outputs::possible(&Metric::time(), field, value);
    let result = check("time", middle)
        .and_then(|value| check("lower bound", low).and(check("upper bound", high)).map(|_| value))
        .map(|value| Observation { n: samples.unwrap_or(0), ..Observation::summary(Metric::time(), &unit, value) });
    let fine = result.is_ok();
    let mut entry = outputs::entry(name, result.map(|time| vec![time]));
    if fine {
        entry.extras.insert("low".to_owned(), json!(low));
        entry.extras.insert("high".to_owned(), json!(high));
    }
    entry
}

/// Takes a line of throughput, unless it tells a change.
fn throughput(entry: Option<&mut Entry>, content: &str) {
    let Some([_, middle, _]) = three(content) else { return };
    let (Some(entry), Some((name, value))) = (entry, console::rate(&middle)) else { return };
    let unit = console::number_and_unit(&middle).1;
    let n = entry.observations.first().map_or(0, |time| time.n);
    let is_new = !entry.observations.iter().any(|one| one.metric.name == name);
    if let (false, true, Ok(rate)) =
        (entry.observations.is_empty(), is_new, outputs::summary(Metric::throughput(name), unit, name, value))
    {
        entry.observations.push(Observation { n, ..rate });
    }
}

/// Takes the change of the time since Criterion's last run, as shares.
fn changed(entry: Option<&mut Entry>, content: &str) {
    let shares: Option<Vec<f64>> = content
        .split_whitespace()
        .map(|word| word.strip_suffix('%')?.replace('\u{2212}', "-").parse::<f64>().ok().filter(|one| one.is_finite()))
        .map(|percent| percent.map(|percent| percent / 100.0))
        .collect();
    if let (Some(entry), Some([low, middle, high])) = (entry, shares.as_deref()) {
        let change: Value = json!({"low": low, "estimate": middle, "high": high});
        entry.extras.insert("change".to_owned(), change);
    }
}

/// Notes how many samples stand behind an estimate.
fn counted(entry: &mut Entry, samples: u64) {
    entry.observations.iter_mut().for_each(|observation| observation.n = samples);
}

fn count_between(line: &str, before: &str, after: &str) -> Option<u64> {
    let (_, rest) = line.split_once(before)?;
    rest.split_once(after)?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    fn entries_of(lines: &str) -> Vec<Entry> {
        golden::entries(&FORMAT, "console.txt", lines)
    }

    #[test]
    fn the_golden_text_is_read() {
        let run = FORMAT.read(&[golden::sample("criterion", "console.txt")]).expect("it is fine").runs.remove(0);
        let expected = [
            ("tile_pack/cpu_ref/kmax8", 6.9715e-6),
            ("tile_pack/cpu_ref/kmax32", 25.229e-6),
            ("tilessm_scan", 1.1699e-6),
        ];
        for (entry, (series, time)) in run.entries.iter().zip(expected) {
            assert_eq!((entry.series.as_str(), entry.observations[0].value), (series, time));
        }
        let [time, rate] = &run.entries[0].observations[..] else { panic!("two metrics") };
        assert_eq!((time.n, rate.n, rate.metric.name.as_str()), (20, 20, "elements_per_s"));
        assert_eq!((time.source_unit.as_str(), rate.source_unit.as_str()), ("µs", "Melem/s"));
        assert!((rate.value / 1.1475e6 - 1.0).abs() < 1e-12);
        assert_eq!(run.entries[0].extras["low"], json!(6.0799e-6));
    }

    #[test]
    fn lines_are_distinguished() {
        let check = |lines: &str, expected: &[(&str, f64)]| {
            let entries = entries_of(lines);
            let result: Vec<_> = entries.iter().map(|one| (one.series.as_str(), one.observations[0].value)).collect();
            assert_eq!(result, expected, "{lines}");
        };
        check("a b   time:   [1 s 2 s 3 s] trailing", &[("a b", 2.0)]);
        check("a\ttime:[1s\t2s 3s]\r\n", &[("a", 2.0)]);
        check("\u{1b}[32ma\u{1b}[0m  time:   [\u{1b}[2m1 s\u{1b}[0m \u{1b}[1m2 s\u{1b}[0m 3 s]", &[("a", 2.0)]);
        let long = "a_name_of_more_than_23_bytes";
        check(&format!("{long}\n                        time:   [1 s 2 s 3 s]"), &[(long, 2.0)]);
        check("short\n                  time:   [1 s 9 s 3 s]\nb time: [1 s 2 s 3 s]", &[("b", 2.0)]);
        check(&format!("{long}\ntime: [1 s 9 s 3 s]\nb time: [1 s 2 s 3 s]"), &[("b", 2.0)]);
        check("a time: [1 s 2 s 3 s]\na time: [1 s 4 s 5 s]", &[("a", 4.0)]);
        check("a time: [1 s 2 s]\nb time: 1 s 2 s 3 s\nc time: [1 x 2 x 3 x]\nd time: [1 s 2 s 3 s]", &[("d", 2.0)]);
        check("ps_and_mu time: [900 ms 1 s 2000000 μs]", &[("ps_and_mu", 1.0)]);
    }

    #[test]
    fn changes_and_throughputs_belong_to_the_benchmark_before() {
        let change = "a time: [1 s 2 s 4 s]\n  thrpt: [2.5 Kelem/s 5 Kelem/s 9 Kelem/s]\n  change:\n   \
                      time:   [-1.5% +2% +3.25%] (p = 0.54 > 0.05)\n  thrpt: [-1% -2% -3%]\nb time: [1 s 2 s 3 s]\n  \
                      change: [-50% +0% +1%] (p = 0.1)";
        let entries = entries_of(change);
        assert_eq!(entries[0].observations[1].value, 5000.0);
        assert_eq!(entries[0].extras["change"], json!({"low": -0.015, "estimate": 0.02, "high": 0.0325}));
        assert_eq!(entries[1].extras["change"]["low"], json!(-0.5));
        assert_eq!(entries[1].observations.len(), 1);
    }

    #[test]
    fn an_impossible_number_fails_alone_and_the_rest_is_noted() {
        let check = |line: &str, words: &str| {
            let entries = entries_of(&format!("{line}\nfine time: [1 s 2 s 3 s]"));
            golden::failed_alone(&entries, words);
        };
        check("a time: [0 s 0 s 0 s]", "its `time` is 0 s, where more than zero is needed");
        check("a time: [1 s 1.2.3 s 3 s]", "its `time` is NaN");
        check("a time: [-1 s 2 s 3 s]", "its `lower bound` is -1 s");
        check("a time: [1 s 2 s 1e400 s]", "its `upper bound` is inf");
        let imported = golden::read(&FORMAT, "console.txt", "a time: [1 s 2 s 3 s]\na time: [1 s 2 s]");
        assert_eq!(imported.notes, ["console.txt line 2: `time:` is followed by no estimate"]);
        golden::refused(&FORMAT, "c.txt", "nothing here", "lists no benchmark");
    }
}

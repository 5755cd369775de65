//! What a bench of Criterion prints, in a file: the estimate of each benchmark and what goes with it.
//!
//! A benchmark is a line `name   time:   [low estimate high]`. A name longer than 23 bytes is alone on the line before.
//! Criterion prints its slope or mean for the estimate, so that is the value; the bounds become the extras `low` and
//! `high`. Lines of throughput and change belong to the benchmark before them. Colours are removed, times have units
//! from `ps` to `s` with either letter for micro, and all other output is passed over.

use serde_json::json;

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

/// The longest name on the line of its estimate, in bytes.
const SHORT_NAME: usize = 23;

/// Whether some line has an estimate, and the text is not JSON.
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
    Ok(outputs::newest_of_each(entries, notes))
}

#[derive(Clone, Debug, Default)]
pub struct Estimates {
    /// In the order of the text: a name may come more than once.
    pub entries: Vec<Entry>,
    /// The lines, from 1, that look like an estimate and cannot be read.
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
            entry.observations.iter_mut().for_each(|observation| observation.n = result);
        }
        line.trim_end().clone_into(&mut before);
    }
    Ok(Estimates { entries, unread })
}

/// Whether a line ends within an estimate, as where a program was killed.
fn is_cut_off(line: &str) -> bool {
    line.split_once("time:").is_some_and(|(_, after)| after.trim_start().starts_with('[') && !after.contains(']'))
}

/// The text before the label, and that between the brackets after it.
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
    let fields = [("time", middle), ("lower bound", low), ("upper bound", high)];
    if let Err(reason) =
        fields.into_iter().try_for_each(|(field, value)| outputs::possible(&Metric::time(), field, value).map(drop))
    {
        return outputs::entry(name, Err(reason));
    }
    let time = Observation { n: samples.unwrap_or(0), ..Observation::summary(Metric::time(), &unit, middle) };
    let extras = [("low", low), ("high", high)].map(|(name, bound)| (name.to_owned(), json!(bound)));
    Entry { extras: extras.into(), ..outputs::entry(name, Ok(vec![time])) }
}

/// Takes a line of throughput, unless it shows a change.
fn throughput(entry: Option<&mut Entry>, content: &str) {
    let Some([_, middle, _]) = three(content) else { return };
    let (Some(entry), Some((name, value))) = (entry, console::rate(&middle)) else { return };
    let unit = console::number_and_unit(&middle).1;
    let n = entry.observations.first().map_or(0, |time| time.n);
    let is_new = !entry.observations.iter().any(|one| one.metric.name == name);
    if !entry.observations.is_empty()
        && is_new
        && let Ok(rate) = outputs::summary(Metric::throughput(name), unit, name, value)
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
        entry.extras.insert("change".to_owned(), json!({"low": low, "estimate": middle, "high": high}));
    }
}

fn count_between(line: &str, before: &str, after: &str) -> Option<u64> {
    let (_, rest) = line.split_once(before)?;
    rest.split_once(after)?.0.parse().ok()
}

//! What every reader needs of its outputs: their digest, their lines, and values that can be recorded.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{FormatError, MOST_BENCHMARKS, json};
use sprag_base::digest::RunningHash;
use sprag_base::stats::describe;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, Observation};
use sprag_model::metric::Metric;

/// The longest line that a text may have, in bytes: no program prints one, and whoever shows a line must be able to.
const LONGEST_LINE: usize = 1 << 20;

/// How much of an output is looked at to recognise it, in bytes. Programs print a good deal before their results.
const START: usize = 1 << 18;

/// How many entries are read before those of the same name are put together: no text that a person keeps has more.
pub(super) const MOST_READ: usize = 10 * MOST_BENCHMARKS;

/// How many notes are kept.
const MOST_NOTES: usize = 100;

/// How long the part of their names is that the outputs have in common: that of the folder in which all of them lie. What
/// lies in it is the same wherever the folder lies itself, and so has the same digest.
pub(super) fn common_folder(outputs: &[&Output]) -> usize {
    let folder = |output: &Output| output.name.rfind('/').map_or(0, |slash| slash + 1);
    let Some((first, others)) = outputs.split_first() else { return 0 };
    let mut length = folder(first);
    for other in others {
        while !other.name.starts_with(&first.name[..length]) {
            length = first.name[..length - 1].rfind('/').map_or(0, |slash| slash + 1);
        }
    }
    length
}

/// The SHA-256 of one output's bytes; of several, of their names within the folder that they have in common and of their
/// bytes, in order, each after its length.
pub(super) fn digest(outputs: &[&Output]) -> String {
    let mut hash = RunningHash::default();
    match outputs {
        [output] => hash.add(&output.bytes),
        several => {
            let folder = common_folder(several);
            for bytes in several.iter().flat_map(|output| [&output.name.as_bytes()[folder..], &output.bytes]) {
                hash.add(&(bytes.len() as u64).to_be_bytes());
                hash.add(bytes);
            }
        }
    }
    hash.hex()
}

/// The fault of an output that is not of its format.
pub(super) fn schema(output: &Output, reason: impl Into<String>) -> FormatError {
    FormatError::Schema { name: output.name.clone(), reason: reason.into() }
}

/// The lines of a text with their numbers from one, without ends.
pub(super) fn lines(output: &Output) -> Result<impl Iterator<Item = (usize, &str)>, FormatError> {
    let text = json::text(output)?;
    match text.lines().position(|line| line.len() > LONGEST_LINE) {
        Some(place) => Err(schema(output, format!("has a line {} of more than {LONGEST_LINE} bytes", place + 1))),
        None => Ok(text.lines().enumerate().map(|(place, line)| (place + 1, line))),
    }
}

/// The start of an output as text, for a look at it.
pub(super) fn start(output: &Output) -> Cow<'_, str> {
    String::from_utf8_lossy(output.bytes.get(..START).unwrap_or(&output.bytes))
}

/// The entries, where there is one at least and no more than one run may hold.
pub(super) fn counted(name: &str, entries: Vec<Entry>) -> Result<Vec<Entry>, FormatError> {
    match entries.len() {
        0 => Err(FormatError::Nothing(name.to_owned())),
        count if count > MOST_BENCHMARKS => Err(FormatError::Many { name: name.to_owned(), count }),
        _ => Ok(entries),
    }
}

/// Adds an entry to those of an output.
pub(super) fn push(output: &Output, entries: &mut Vec<Entry>, entry: Entry) -> Result<(), FormatError> {
    entries.push(entry);
    match entries.len() {
        count if count > MOST_READ => Err(FormatError::Many { name: output.name.clone(), count }),
        _ => Ok(()),
    }
}

/// Adds a note; of very many the first are kept, and that there were more.
pub(super) fn note(notes: &mut Vec<String>, note: String) {
    match notes.len() {
        count if count < MOST_NOTES => notes.push(note),
        MOST_NOTES => notes.push("and more of this kind".to_owned()),
        _ => {}
    }
}

/// Keeps the last of the entries that bear the same name, in the place of the first: who prints a name twice has run it
/// again. Says which.
pub(super) fn newest_of_each(entries: Vec<Entry>, notes: &mut Vec<String>) -> Vec<Entry> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        match places.get(&entry.series).and_then(|place| kept.get_mut(*place)) {
            Some(earlier) => {
                note(notes, format!("`{}` comes more than once: the last counts", entry.series.escape_debug()));
                *earlier = entry;
            }
            None => {
                places.insert(entry.series.clone(), kept.len());
                kept.push(entry);
            }
        }
    }
    kept
}

/// An entry of what was found of a benchmark, or of why it has no values. Its name is its series.
pub(super) fn entry(series: &str, found: Result<Vec<Observation>, String>) -> Entry {
    let (status, observations) = match found {
        Ok(observations) => (EntryStatus::Ok, observations),
        Err(reason) => (EntryStatus::Failed(reason), Vec::new()),
    };
    Entry { series: series.to_owned(), name: series.to_owned(), status, observations, ..Entry::default() }
}

/// The value, where the metric can have it; else why not, after the field that holds it.
pub(super) fn possible(metric: &Metric, field: &str, value: f64) -> Result<f64, String> {
    match metric.fault(value) {
        Some(fault) => Err(format!("its `{field}` is {fault}")),
        None => Ok(value),
    }
}

pub(super) fn summary(metric: Metric, source_unit: &str, field: &str, value: f64) -> Result<Observation, String> {
    let value = possible(&metric, field, value)?;
    Ok(Observation::summary(metric, source_unit, value))
}

/// An observation of samples, which their median stands for.
pub(super) fn sampled(
    metric: Metric,
    source_unit: &str,
    field: &str,
    samples: Vec<f64>,
) -> Result<Observation, String> {
    for (place, sample) in samples.iter().enumerate() {
        if let Some(fault) = metric.fault(*sample) {
            return Err(format!("sample {} of its `{field}` is {fault}", place + 1));
        }
    }
    let Some(median) = describe::median(&samples) else { return Err(format!("its `{field}` has no samples")) };
    Ok(Observation::sampled(metric, source_unit, median, samples))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(name: &str, bytes: &[u8]) -> Output {
        Output { name: name.to_owned(), bytes: bytes.to_vec() }
    }

    #[test]
    fn a_digest_tells_outputs_and_their_names_apart() {
        let (one, other) = (output("a", b"abc"), output("b", b"abc"));
        assert_eq!(digest(&[&one]), digest(&[&other]), "what a single file is called does not matter");
        let moved = [output("a", b"ab"), output("cb", b"abc")];
        assert_ne!(digest(&[&one, &other]), digest(&[&moved[0], &moved[1]]));
        assert_ne!(digest(&[&one, &other]), digest(&[&other, &one]));
    }

    #[test]
    fn a_folder_has_the_same_digest_wherever_it_lies() {
        let named = |names: [&str; 2]| names.map(|name| output(name, b"x"));
        let check = |names: [&str; 2], length: usize| {
            let outputs = named(names);
            let outputs: Vec<&Output> = outputs.iter().collect();
            assert_eq!(common_folder(&outputs), length, "{names:?}");
            digest(&outputs)
        };
        let own = check(["g/a.json", "g/b/c.json"], 2);
        assert_eq!(check(["target/criterion/g/a.json", "target/criterion/g/b/c.json"], 19), own);
        assert_eq!(check(["a.json", "b/c.json"], 0), own);
        assert_ne!(check(["g/a.json", "h/b/c.json"], 0), own);
        check(["ga/x", "gb/x"], 0);
        check(["a/b/x", "a/bc/x"], 2);
        check(["a/é/x", "a/è/x"], 2);
        check(["x", "x-bin/0.bin"], 0);
        assert_eq!(common_folder(&[]), 0);
    }

    #[test]
    fn lines_are_numbered_and_bounded() {
        let fine = output("t", b"a\r\n\nb");
        assert_eq!(lines(&fine).expect("it is fine").collect::<Vec<_>>(), [(1, "a"), (2, ""), (3, "b")]);
        let check = |bytes: &[u8], words: &str| {
            let error = lines(&output("t", bytes)).err().expect("it is refused").to_string();
            assert!(error.contains(words), "{error}");
        };
        check(b"", "t is empty");
        check(b"a\xff", "t is not UTF-8 at byte 1");
        check(format!("a\n{}", "x".repeat(LONGEST_LINE + 1)).as_bytes(), "t has a line 2 of more than");
    }

    #[test]
    fn entries_are_counted_and_the_newest_stands() {
        assert!(matches!(counted("t", Vec::new()), Err(FormatError::Nothing(_))));
        let many = vec![Entry::default(); MOST_BENCHMARKS + 1];
        assert!(matches!(counted("t", many), Err(FormatError::Many { .. })));
        let failed = |series: &str, reason: &str| entry(series, Err(reason.to_owned()));
        let mut notes = Vec::new();
        let kept = newest_of_each(vec![failed("a", "old"), failed("b", "one"), failed("a", "new")], &mut notes);
        assert_eq!(kept, [failed("a", "new"), failed("b", "one")]);
        assert_eq!(notes, ["`a` comes more than once: the last counts"]);
    }

    #[test]
    fn what_a_hostile_text_repeats_is_bounded() {
        let (output, mut entries, mut notes) = (output("t", b"x"), Vec::new(), Vec::new());
        let pushed = (0..=MOST_READ).map(|_| push(&output, &mut entries, Entry::default()));
        assert_eq!(pushed.filter(Result::is_err).count(), 1);
        (0..2 * MOST_NOTES).for_each(|_| note(&mut notes, "again".to_owned()));
        assert_eq!((notes.len(), notes.last().map(String::as_str)), (MOST_NOTES + 1, Some("and more of this kind")));
    }

    #[test]
    fn samples_that_cannot_be_are_named() {
        let check = |samples: &[f64], expected: &str| {
            assert_eq!(sampled(Metric::time(), "s", "time", samples.to_vec()), Err(expected.to_owned()));
        };
        check(&[], "its `time` has no samples");
        check(&[1.0, 0.0], "sample 2 of its `time` is 0 s, where more than zero is needed");
        check(&[f64::NAN], "sample 1 of its `time` is NaN, which is no number");
        let fine = sampled(Metric::time(), "s", "time", vec![3.0, 1.0, 2.0]).expect("it is fine");
        assert_eq!((fine.value, fine.n), (2.0, 3));
    }
}

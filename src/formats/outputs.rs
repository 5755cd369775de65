//! What every reader needs of its outputs: their digest, their lines, values that can be recorded, notes, and what to do
//! with names that come twice.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;

pub(super) use super::json::schema;
use super::{FormatError, MOST_BENCHMARKS, json};
use sprag_base::digest::RunningHash;
use sprag_base::stats::describe;
use sprag_model::foreign::{Output, Reported};
use sprag_model::imported::{Entry, EntryStatus, Imported, ImportedRun, Observation};
use sprag_model::metric::Metric;

/// The longest line of a text, in bytes: no program prints one, and a message must be able to show it.
const LONGEST_LINE: usize = 1 << 20;

/// How many bytes at the start show what an output is. Programs print a good deal before their results.
const START: usize = 1 << 18;

/// How many entries are read before those of the same name are merged.
pub(super) const MOST_READ: usize = 3 * MOST_BENCHMARKS;

const MOST_NOTES: usize = 100;

/// The length of the folder that the names of all outputs begin with. What lies in that folder has the same digest
/// wherever the folder itself lies.
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

/// The SHA-256 of one output's bytes; of several, of their names within their common folder and of their bytes, in order,
/// each after its length.
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

pub(super) fn run(entries: Vec<Entry>, outputs: &[&Output]) -> ImportedRun {
    ImportedRun { entries, digest: digest(outputs), ..ImportedRun::default() }
}

pub(super) fn imported(tool: &str, runs: Vec<ImportedRun>, notes: Vec<String>) -> Imported {
    let has_suites = runs.windows(2).any(|pair| pair[0].suite != pair[1].suite);
    Imported { tool: tool.to_owned(), tool_version: None, runs, notes, doubts: Vec::new(), has_suites }
}

/// The lines of a text with their numbers from one, without ends.
pub(super) fn lines(output: &Output) -> Result<impl Iterator<Item = (usize, &str)>, FormatError> {
    let text = json::text(output)?;
    match text.lines().position(|line| line.len() > LONGEST_LINE) {
        Some(place) => Err(schema(output, format!("has a line {} of more than {LONGEST_LINE} bytes", place + 1))),
        None => Ok(text.lines().enumerate().map(|(place, line)| (place + 1, line))),
    }
}

/// The start of an output as text, without a byte order mark; bytes that are not UTF-8 are replaced.
pub(super) fn start(output: &Output) -> Cow<'_, str> {
    let bytes = output.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&output.bytes);
    String::from_utf8_lossy(bytes.get(..START).unwrap_or(bytes))
}

/// Adds an entry to those of an output, of which [`MOST_READ`] are read.
pub(super) fn push(output: &Output, entries: &mut Vec<Entry>, entry: Entry) -> Result<(), FormatError> {
    entries.push(entry);
    match entries.len() {
        count if count > MOST_READ => Err(FormatError::Many { name: output.name.clone(), count }),
        _ => Ok(()),
    }
}

/// Adds a note; of very many only the first are listed.
pub(super) fn note(notes: &mut Vec<String>, note: String) {
    match notes.len() {
        count if count < MOST_NOTES => notes.push(note),
        MOST_NOTES => notes.push("and more of this kind".to_owned()),
        _ => {}
    }
}

/// Of the entries with the same name the last, in the place of the first: a tool that prints a name twice has run it again.
/// Notes which.
pub(super) fn newest_of_each(entries: Vec<Entry>, notes: &mut Vec<String>) -> Vec<Entry> {
    let series = |entry: &Entry| entry.series.clone();
    merged(entries, series, |earlier, later| {
        note(notes, format!("`{}` comes more than once: the last one is used", later.series.escape_debug()));
        *earlier = later;
    })
}

/// One item a key, in the order of the first; `merge` gets that and each other one.
pub(super) fn merged<T>(items: Vec<T>, key: impl Fn(&T) -> String, mut merge: impl FnMut(&mut T, T)) -> Vec<T> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut merged: Vec<T> = Vec::with_capacity(items.len());
    for item in items {
        match places.entry(key(&item)) {
            Place::Occupied(place) => merge(&mut merged[*place.get()], item),
            Place::Vacant(place) => {
                place.insert(merged.len());
                merged.push(item);
            }
        }
    }
    merged
}

/// An entry whose name is its series, with its observations or why it has none.
pub(super) fn entry(series: &str, outcome: Result<Vec<Observation>, String>) -> Entry {
    let (series, name) = (series.to_owned(), series.to_owned());
    let mut entry = Entry { series, name, ..Entry::default() };
    fill(&mut entry, outcome);
    entry
}

/// Gives an entry its observations, or fails it.
pub(super) fn fill(entry: &mut Entry, outcome: Result<Vec<Observation>, String>) {
    match outcome {
        Ok(observations) => entry.observations = observations,
        Err(reason) => fail(entry, reason),
    }
}

/// Fails an entry, which then has no values.
pub(super) fn fail(entry: &mut Entry, reason: String) {
    entry.status = EntryStatus::Failed(reason);
    entry.observations.clear();
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

/// An observation of samples, whose value is their median.
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
    let median = describe::median(&samples).ok_or_else(|| format!("its `{field}` has no samples"))?;
    Ok(Observation::sampled(metric, source_unit, median, samples))
}

/// What was passed over, how often, and where first.
#[derive(Debug, Default)]
pub(super) struct Notes(BTreeMap<String, (usize, String)>);

impl Notes {
    /// Counts what was passed over at a place together with other places of the same.
    pub(super) fn add(&mut self, what: &str, place: impl FnOnce() -> String) {
        match self.0.get_mut(what) {
            Some((count, _)) => *count += 1,
            None => {
                self.0.insert(what.to_owned(), (1, place()));
            }
        }
    }

    pub(super) fn append(&mut self, later: Notes) {
        for (what, (more, place)) in later.0 {
            self.0.entry(what).and_modify(|(count, _)| *count += more).or_insert((more, place));
        }
    }

    pub(super) fn sentences(self) -> Vec<String> {
        let sentence = |(what, (count, place)): (String, (usize, String))| match count {
            1 => format!("{place}: {what}"),
            _ => format!("{place}: {what}; the same at {} more places", count - 1),
        };
        self.0.into_iter().map(sentence).collect()
    }
}

/// One benchmark an id, in the order of the first; where there were more, it fails.
pub(super) fn unique(reported: Vec<Reported>) -> Vec<Reported> {
    let id = |one: &Reported| one.benchmark.id();
    merged(reported, id, |first, _| first.result = Err(format!("`{}` is reported more than once", id(first))))
}

/// As [`unique`], by series.
pub(super) fn unique_entries(entries: Vec<Entry>) -> Vec<Entry> {
    let series = |entry: &Entry| entry.series.clone();
    merged(entries, series, |first, _| {
        fail(first, format!("`{}` is reported more than once", first.series.escape_debug()));
    })
}

/// One entry a series, in the order of the first: the rows of one are samples of it, and one that failed fails it.
pub(super) fn sampled_entries(entries: Vec<Entry>) -> Vec<Entry> {
    merged(
        entries,
        |entry| entry.series.clone(),
        |first, later| {
            first.extras.retain(|name, value| later.extras.get(name) == Some(value));
            let metrics = |entry: &Entry| entry.observations.iter().map(|one| one.metric.clone()).collect::<Vec<_>>();
            match (&first.status, later.status.clone()) {
                (EntryStatus::Ok, EntryStatus::Ok) if metrics(first) == metrics(&later) => {
                    for (one, more) in first.observations.iter_mut().zip(later.observations) {
                        let samples = [samples(one), samples(&more)].concat();
                        one.value = describe::median(&samples).unwrap_or(one.value);
                        (one.n, one.samples) = (samples.len() as u64, samples);
                    }
                }
                (EntryStatus::Ok, EntryStatus::Ok) => fail(
                    first,
                    format!("`{}` is reported more than once, with different metrics", first.series.escape_debug()),
                ),
                (EntryStatus::Ok, status) => {
                    first.observations.clear();
                    first.status = status;
                }
                _ => {}
            }
        },
    )
}

/// The samples of an observation; its value where it is only that.
pub(super) fn samples(observation: &Observation) -> Vec<f64> {
    if observation.samples.is_empty() { vec![observation.value] } else { observation.samples.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::output;

    #[test]
    fn a_digest_distinguishes_outputs_by_content_order_and_names_within_their_folder() {
        let (one, other) = (output("a", b"abc"), output("b", b"abc"));
        assert_eq!(digest(&[&one]), digest(&[&other]), "what a single file is called does not matter");
        let moved = [output("a", b"ab"), output("cb", b"abc")];
        assert_ne!(digest(&[&one, &other]), digest(&[&moved[0], &moved[1]]));
        assert_ne!(digest(&[&one, &other]), digest(&[&other, &one]));
        let check = |names: [&str; 2], length: usize| {
            let outputs = names.map(|name| output(name, b"x"));
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
    fn entries_with_the_same_name_are_merged_in_the_place_of_the_first() {
        let failed = |series: &str, reason: &str| entry(series, Err(reason.to_owned()));
        let twice = vec![failed("a", "old"), failed("b", "one"), failed("a", "new")];
        let mut notes = Vec::new();
        assert_eq!(newest_of_each(twice.clone(), &mut notes), [failed("a", "new"), failed("b", "one")]);
        assert_eq!(notes, ["`a` comes more than once: the last one is used"]);
        assert_eq!(unique_entries(twice), [failed("a", "`a` is reported more than once"), failed("b", "one")]);
        let row =
            |series: &str, value: f64| entry(series, summary(Metric::time(), "s", "x", value).map(|one| vec![one]));
        let rows = sampled_entries(vec![row("a", 1.0), row("b", 7.0), row("a", 3.0), row("a", 2.0)]);
        let time = |value, samples: &[f64]| Observation::sampled(Metric::time(), "s", value, samples.to_vec());
        assert_eq!(rows, [entry("a", Ok(vec![time(2.0, &[1.0, 3.0, 2.0])])), row("b", 7.0)]);
        let rows = sampled_entries(vec![row("a", 1.0), failed("a", "odd"), row("b", 0.0), row("b", 1.0)]);
        assert_eq!(rows[0], failed("a", "odd"));
        assert!(matches!(&rows[1].status, EntryStatus::Failed(reason) if reason.contains("its `x` is 0")), "{rows:?}");
        let report = |name: &str| Reported::failed("s", name, 1, "first reason".to_owned());
        let unique = unique(vec![report("a"), report("b"), report("a")]);
        let reasons: Vec<_> = unique.iter().map(|one| one.result.clone().expect_err("all have failed")).collect();
        assert_eq!(reasons, ["`s/a @default` is reported more than once", "first reason"]);
    }

    #[test]
    fn repeated_entries_and_notes_are_bounded_and_counted() {
        let (output, mut entries, mut notes) = (output("t", b"x"), Vec::new(), Vec::new());
        let pushed = (0..=MOST_READ).map(|_| push(&output, &mut entries, Entry::default()));
        assert_eq!(pushed.filter(Result::is_err).count(), 1);
        (0..2 * MOST_NOTES).for_each(|_| note(&mut notes, "one more".to_owned()));
        assert_eq!((notes.len(), notes.last().map(String::as_str)), (MOST_NOTES + 1, Some("and more of this kind")));
        let noted = |list: &[(&str, usize)]| {
            let mut notes = Notes::default();
            list.iter().for_each(|(what, row)| notes.add(what, || format!("row {row}")));
            notes
        };
        let mut notes = noted(&[("no time", 2), ("no commit", 3), ("no time", 4)]);
        notes.append(noted(&[("no time", 5), ("no name", 6)]));
        let sentences = ["row 3: no commit", "row 6: no name", "row 2: no time; the same at 2 more places"];
        assert_eq!(notes.sentences(), sentences);
    }
}

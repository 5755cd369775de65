//! Files that hold one run each, and what their readers tell of a run beside its benchmarks.

use super::outputs::common_folder;
use super::{FormatError, MOST_BENCHMARKS};
use sprag_base::digest::RunningHash;
use sprag_model::foreign::Output;
use sprag_model::imported::{Imported, ImportedRun};

#[derive(Debug, Default)]
pub(super) struct Source {
    /// Its run. The digest is taken by [`each`] where it is empty.
    pub(super) run: ImportedRun,
    /// The version of the tool, where the file tells.
    pub(super) tool_version: Option<String>,
    pub(super) notes: Vec<String>,
}

/// Reads every file by itself: one run each. Several files are of a folder, of which those with one of the `endings`
/// count.
pub(super) fn each(
    tool: &str,
    outputs: &[Output],
    endings: &[&str],
    read: impl Fn(&Output) -> Result<Source, FormatError>,
) -> Result<Imported, FormatError> {
    let mut imported = Imported { tool: tool.to_owned(), tool_version: None, runs: Vec::new(), notes: Vec::new() };
    for output in relevant(outputs, endings) {
        if let Some(json) = better_told(output, outputs) {
            imported.notes.push(format!("{} is passed over, {json} tells more", output.name));
            continue;
        }
        let mut source = read(output)?;
        if source.run.entries.is_empty() {
            return Err(FormatError::Nothing(output.name.clone()));
        }
        check_count(output, source.run.entries.len())?;
        if source.run.digest.is_empty() {
            source.run.digest = digest(&[output]);
        }
        if imported.tool_version.is_some() && imported.tool_version != source.tool_version {
            imported.notes.push(format!("{} is of another version of {tool} than the first file", output.name));
        }
        imported.tool_version = imported.tool_version.or(source.tool_version);
        imported.runs.push(source.run);
        imported.notes.extend(source.notes);
    }
    if imported.runs.is_empty() { Err(FormatError::Nothing(format!("the folder of {tool}"))) } else { Ok(imported) }
}

/// Checks that a run holds no more benchmarks than it may; before they are read, where their number is known.
pub(super) fn check_count(output: &Output, count: usize) -> Result<(), FormatError> {
    if count > MOST_BENCHMARKS { Err(FormatError::Many { name: output.name.clone(), count }) } else { Ok(()) }
}

/// The files that count: one alone may be called anything.
pub(super) fn relevant<'a>(outputs: &'a [Output], endings: &[&str]) -> impl Iterator<Item = &'a Output> {
    outputs.iter().filter(move |one| outputs.len() == 1 || endings.iter().any(|ending| one.name.ends_with(ending)))
}

/// The JSON of the same name beside a CSV.
fn better_told(output: &Output, outputs: &[Output]) -> Option<String> {
    let json = format!("{}.json", output.name.strip_suffix(".csv")?);
    outputs.iter().any(|other| other.name == json).then_some(json)
}

/// The digest of the bytes of one file; of several, of their names within the folder that they have in common and of
/// their bytes, in order.
pub(super) fn digest(outputs: &[&Output]) -> String {
    let mut hash = RunningHash::default();
    let folder = common_folder(outputs);
    for output in outputs {
        if outputs.len() > 1 {
            // A name holds no zero byte, and the length tells where its bytes end.
            hash.add(&output.name.as_bytes()[folder..]);
            hash.add(&[0]);
            hash.add(output.bytes.len().to_string().as_bytes());
            hash.add(&[0]);
        }
        hash.add(&output.bytes);
    }
    hash.hex()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_tells_files_apart() {
        let output = |name: &str, text: &str| Output { name: name.to_owned(), bytes: text.as_bytes().to_vec() };
        let (one, other) = (output("a", "b1"), output("b", ""));
        assert_eq!(digest(&[&one]), sprag_base::digest::sha256_hex(b"b1"));
        assert_ne!(digest(&[&one, &other]), digest(&[&other, &one]));
        assert_ne!(digest(&[&one, &other]), digest(&[&output("a", "b"), &output("b", "1")]));
    }
}

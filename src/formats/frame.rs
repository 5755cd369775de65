//! What every format has: how its files are recognised, and how they become runs.

use super::outputs::{digest, imported};
use super::{FormatError, MOST_BENCHMARKS};
use sprag_model::foreign::Output;
use sprag_model::imported::{Imported, ImportedRun};

#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// What the command line calls it, such as `google-benchmark`.
    pub name: &'static str,
    pub title: &'static str,
    /// The endings of the names of a folder's files that are read; a file alone may be called anything.
    pub files: &'static [&'static str],
    pub(crate) recognised: Recognised,
    pub(crate) read: Read,
}

/// Which outputs make up a format: cheap, by names and the first bytes, and never by guessing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recognised {
    /// Each of them is a file of it.
    Each(fn(&Output) -> bool),
    /// Each of them whose name ends so is a file of it, and the others are passed over.
    EachNamed(&'static [&'static str], fn(&Output) -> bool),
    /// At least one of them is a file of it, and the others are passed over.
    Any(fn(&Output) -> bool),
    Folder(fn(&[Output]) -> bool),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Read {
    /// Each file is a run of that tool; the second argument is all files.
    Each(&'static str, fn(&Output, &[Output]) -> Result<Source, FormatError>),
    Together(fn(&[&Output]) -> Result<Imported, FormatError>),
    /// A history, whose runs are given in parts.
    InParts(fn(&[&Output], Take<'_>) -> Result<(), FormatError>),
}

/// Takes a part of the runs that are read. All parts are of the same tool.
pub(crate) type Take<'a> = &'a mut dyn FnMut(Imported);

/// How many runs, or files of them, a reader has in memory at once.
pub(crate) const PART: usize = 16;

/// What a file holds that is a run.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Without a digest it gets that of the file.
    pub(crate) run: ImportedRun,
    pub(crate) tool_version: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) doubts: Vec<String>,
}

impl Format {
    pub fn recognises(&self, outputs: &[Output]) -> bool {
        match self.recognised {
            Recognised::Each(is_file) => !outputs.is_empty() && outputs.iter().all(is_file),
            Recognised::EachNamed(_, is_file) => {
                let used = self.used(outputs);
                !used.is_empty() && used.into_iter().all(is_file)
            }
            Recognised::Any(is_file) => outputs.iter().any(is_file),
            Recognised::Folder(is_folder) => is_folder(outputs),
        }
    }

    /// Reads outputs, recognised or not. Each run of the result has a benchmark at least.
    pub fn read(&self, outputs: &[Output]) -> Result<Imported, FormatError> {
        let mut all: Option<Imported> = None;
        self.read_in_parts(outputs, &mut |part| match &mut all {
            Some(all) => {
                all.runs.extend(part.runs);
                all.notes.extend(part.notes);
                all.doubts.extend(part.doubts);
            }
            None => all = Some(part),
        })?;
        all.ok_or_else(|| FormatError::Nothing(self.title.to_owned()))
    }

    /// Likewise, but gives the runs of a large history in parts: all of them take many times the memory of its files.
    pub fn read_in_parts(&self, outputs: &[Output], take: &mut dyn FnMut(Imported)) -> Result<(), FormatError> {
        let used = self.used(outputs);
        let (mut most, mut tool) = (0, String::new());
        let mut counted = |part: Imported| {
            most = part.runs.iter().map(|run| run.entries.len()).fold(most, usize::max);
            tool.clone_from(&part.tool);
            take(part);
        };
        match self.read {
            Read::Each(tool, read) => counted(each(tool, read, &used, outputs)?),
            Read::Together(read) => counted(read(&used)?),
            Read::InParts(read) => read(&used, &mut counted)?,
        }
        let name = match &used[..] {
            [output] => output.name.clone(),
            _ => format!("the folder of {tool}"),
        };
        if most == 0 { Err(FormatError::Nothing(name)) } else { check_count(&name, most) }
    }

    /// The files that count: one alone may be called anything.
    fn used<'a>(&self, outputs: &'a [Output]) -> Vec<&'a Output> {
        let counts = |output: &&Output| match self.recognised {
            Recognised::EachNamed(endings, _) => endings.iter().any(|ending| output.name.ends_with(ending)),
            Recognised::Any(is_file) => is_file(output),
            Recognised::Each(_) | Recognised::Folder(_) => true,
        };
        outputs.iter().filter(|output| outputs.len() == 1 || counts(output)).collect()
    }
}

fn each(
    tool: &str,
    read: fn(&Output, &[Output]) -> Result<Source, FormatError>,
    used: &[&Output],
    outputs: &[Output],
) -> Result<Imported, FormatError> {
    let mut imported = imported(tool, Vec::new(), Vec::new());
    for output in used {
        if let Some(json) = json_of_same_name(output, outputs) {
            imported.notes.push(format!("{} is skipped; {json} has more", output.name));
            continue;
        }
        let mut source = read(output, outputs)?;
        if source.run.entries.is_empty() {
            return Err(FormatError::Nothing(output.name.clone()));
        }
        check_count(&output.name, source.run.entries.len())?;
        if source.run.digest.is_empty() {
            source.run.digest = digest(&[output]);
        }
        if imported.tool_version.is_some() && imported.tool_version != source.tool_version {
            imported.notes.push(format!("{} is of another version of {tool} than the first file", output.name));
        }
        imported.tool_version = imported.tool_version.or(source.tool_version);
        imported.runs.push(source.run);
        imported.notes.extend(source.notes);
        imported.doubts.extend(source.doubts);
    }
    Ok(imported)
}

/// Checks that a run holds no more benchmarks than it may; a reader that can tell does so before it reads them.
pub(crate) fn check_count(name: &str, count: usize) -> Result<(), FormatError> {
    if count > MOST_BENCHMARKS { Err(FormatError::Many { name: name.to_owned(), count }) } else { Ok(()) }
}

/// The name of the JSON file next to a CSV file of the same name.
fn json_of_same_name(output: &Output, outputs: &[Output]) -> Option<String> {
    let json = format!("{}.json", output.name.strip_suffix(".csv")?);
    outputs.iter().any(|other| other.name == json).then_some(json)
}

//! Reads files and folders to import, within bounds and without following links; and one file as a run, to compare it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::DateTime;

use super::convert;
use crate::config::nearest;
use crate::error::WithContext as _;
use crate::{Advice, Error, refuse};
use sprag_base::files::open;
use sprag_formats::{Format, SIDECAR, registry, word};
use sprag_model::RecordedRun;
use sprag_model::environment::NO_MACHINE;
use sprag_model::foreign::Output;

/// Ten times the largest history seen.
pub const MOST_BYTES: u64 = 256 << 20;

const MOST_FILES: usize = 200_000;

/// A file with its sidecar, or all files of a folder that some format could want.
pub fn read(path: &Path, most_bytes: u64) -> crate::Result<Vec<Output>> {
    let metadata = fs::metadata(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let mut budget = Budget { path, left: most_bytes, most_bytes };
    if metadata.is_dir() {
        return folder(path, &mut budget);
    }
    if !metadata.is_file() {
        return Err(Error::message(format!("cannot read `{}`: it is neither a file nor a folder", path.display())));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut outputs = vec![budget.read(path, &name)?];
    let sidecar = path.with_file_name(format!("{name}{SIDECAR}"));
    if fs::symlink_metadata(&sidecar).is_ok_and(|metadata| metadata.is_dir()) {
        for (file, below) in files(&sidecar, &|_| true)? {
            outputs.push(budget.read(&file, &format!("{name}{SIDECAR}/{below}"))?);
        }
    }
    Ok(outputs)
}

/// The format, and those outputs that it reads.
pub fn format(path: &Path, outputs: Vec<Output>, named: Option<&str>) -> crate::Result<(&'static Format, Vec<Output>)> {
    let format = chosen(path, &outputs, named)?;
    // A folder may have other files; a single file may have any name.
    Ok((format, if path.is_dir() { own(format, outputs) } else { outputs }))
}

fn own(format: &Format, mut outputs: Vec<Output>) -> Vec<Output> {
    outputs.retain(|output| format.files.iter().any(|end| output.name.ends_with(end)));
    outputs
}

/// If no format recognises the whole folder, those that recognise their own files in it.
fn recognised(path: &Path, outputs: &[Output]) -> Vec<&'static Format> {
    let recognising = registry::recognise(outputs);
    if !recognising.is_empty() || !path.is_dir() {
        return recognising;
    }
    let recognises = |format: &&Format| format.recognises(&own(format, outputs.to_vec()));
    registry::FORMATS.iter().filter(recognises).collect()
}

fn chosen(path: &Path, outputs: &[Output], named: Option<&str>) -> crate::Result<&'static Format> {
    let names = || registry::FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    if let Some(name) = named {
        return registry::named(name).ok_or_else(|| {
            let near = nearest(name, &registry::FORMATS.iter().map(|format| format.name).collect::<Vec<_>>());
            let hint =
                near.map_or_else(|| format!("the formats are {}", names()), |near| format!("did you mean `{near}`?"));
            Advice::new(format!("unknown import format `{name}`"), hint).into()
        });
    }
    match recognised(path, outputs)[..] {
        [format] => Ok(format),
        [] => {
            let message = format!("cannot tell the format of `{}`", path.display());
            if is_program(outputs) {
                return refuse(message + ": it is a program", "to measure it, use `sprag bench -- PROGRAM`");
            }
            let (why, alone) = match path.is_dir() {
                true => (": it is a folder", "give its files one by one, or "),
                false if outputs.iter().all(|one| one.bytes.is_empty()) => {
                    (": it is empty", "write results to it, or ")
                }
                false => ("", ""),
            };
            refuse(message + why, format!("{alone}name the format with `--format`, one of {}", names()))
        }
        ref several => {
            let options: Vec<String> = several.iter().map(|format| format!("`--format {}`", format.name)).collect();
            let message = format!("`{}` may be of several formats", path.display());
            refuse(message, format!("say which: {}", options.join(" or ")))
        }
    }
}

fn is_program(outputs: &[Output]) -> bool {
    outputs.iter().any(|one| [&b"\x7fELF"[..], b"#!"].iter().any(|head| one.bytes.starts_with(head)))
}

struct Budget<'a> {
    path: &'a Path,
    left: u64,
    most_bytes: u64,
}

impl Budget<'_> {
    fn read(&mut self, file: &Path, name: &str) -> crate::Result<Output> {
        use std::io::Read as _;
        let open = || -> std::io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            // One more byte reveals a file that is too large, or grows.
            open(file)?.take(self.left.saturating_add(1)).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = open().with_context(|| format!("cannot read `{}`", file.display()))?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let Some(left) = self.left.checked_sub(length) else {
            let message = format!("`{}` holds more than {} bytes", self.path.display(), self.most_bytes);
            return refuse(message, "allow more with `--max-bytes`");
        };
        self.left = left;
        Ok(Output { name: name.to_owned(), bytes })
    }
}

fn folder(path: &Path, budget: &mut Budget<'_>) -> crate::Result<Vec<Output>> {
    let ends: BTreeSet<&str> = registry::FORMATS.iter().flat_map(|format| format.files).copied().collect();
    let wanted = |name: &str| ends.iter().any(|end| name.ends_with(end));
    let selected = files(path, &wanted)?;
    if selected.is_empty() {
        let ends: Vec<&str> = ends.into_iter().collect();
        let message = format!("`{}` holds no file that could be imported", path.display());
        return refuse(message, format!("looked for names that end with {}", ends.join(", ")));
    }
    selected.iter().map(|(file, name)| budget.read(file, name)).collect()
}

/// Plain files with names relative to the folder, sorted; links are not followed.
fn files(root: &Path, wanted: &dyn Fn(&str) -> bool) -> crate::Result<Vec<(PathBuf, String)>> {
    let mut folders = vec![(root.to_owned(), String::new())];
    let mut selected = Vec::new();
    while let Some((folder, prefix)) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot list `{}`", folder.display()))?;
            let kind = entry.file_type().with_context(|| format!("cannot read `{}`", entry.path().display()))?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if kind.is_dir() {
                folders.push((entry.path(), format!("{name}/")));
            } else if kind.is_file() && wanted(&name) {
                selected.push((entry.path(), name));
            }
            if selected.len() > MOST_FILES {
                return Err(Error::message(format!("`{}` holds more than {MOST_FILES} files", root.display())));
            }
        }
    }
    selected.sort_by(|a, b| a.1.cmp(&b.1));
    Ok(selected)
}

/// Reads a file or folder as one run, of the suite of its tool where none is named; of several runs the newest.
pub fn foreign(path: &Path, suite: Option<&str>) -> crate::Result<RecordedRun> {
    let outputs = read(path, MOST_BYTES)?;
    // A text with Trueno's head is also one of Criterion's.
    let is_trueno = registry::recognise(&outputs).iter().any(|format| format.name == "trueno");
    let named = is_trueno.then_some("trueno");
    let is_program = is_program(&outputs);
    let (format, outputs) = format(path, outputs, named).map_err(|error| {
        let hint = match is_program {
            true => "to run two programs in turns, use `sprag compare A B --measure`",
            false => {
                "give a record, a baseline, or results in a format that `sprag import --list` names; results that \
                 need `--suite` or `--commit` are imported first with `sprag import`"
            }
        };
        Advice::new(error.to_string(), hint)
    })?;
    let mut imported =
        format.read(&outputs).with_context(|| format!("cannot read `{}` as {}", path.display(), format.name))?;
    if imported.runs.len() > 1 {
        let shown = path.display();
        crate::text::note(&format!("`{shown}` holds {} runs; the newest is used", imported.runs.len()));
    }
    imported.runs.sort_by_key(|run| run.time);
    let newest = imported.runs.pop().with_context(|| format!("`{}` holds no run", path.display()))?;
    let of = convert::ImportSource { format: format.name, tool: imported.tool, tool_version: imported.tool_version };
    // Equal files give equal runs.
    let time = newest.time.unwrap_or(DateTime::UNIX_EPOCH);
    let suite = word::suite(suite.unwrap_or(format.name), &|_| false);
    let machine = NO_MACHINE.to_owned();
    let run = convert::run(&of, newest, convert::ImportTarget { suite, commit: None, machine, time });
    Ok(RecordedRun { path: path.display().to_string(), id: run.to_record().0, run })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecars_are_read_and_sizes_limited() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("n.json");
        fs::write(&file, "{}").unwrap();
        fs::create_dir(folder.path().join("n.json-bin")).unwrap();
        fs::write(folder.path().join("n.json-bin/0.bin"), [0_u8; 4]).unwrap();
        let names: Vec<String> = read(&file, 6).unwrap().into_iter().map(|output| output.name).collect();
        assert_eq!(names, ["n.json", "n.json-bin/0.bin"]);
        let error = read(&file, 5).unwrap_err();
        assert!(error.to_string().contains("holds more than 5 bytes"), "{error}");
        assert!(read(&folder.path().join("absent"), 9).unwrap_err().to_string().contains("cannot read"));
    }

    #[cfg(unix)]
    #[test]
    fn links_in_folders_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("a.json")).unwrap();
        std::os::unix::fs::symlink("..", folder.path().join("loop")).unwrap();
        assert_eq!(files(folder.path(), &|_| true).unwrap(), []);
        fs::write(folder.path().join("b.json"), "").unwrap();
        assert_eq!(files(folder.path(), &|_| true).unwrap().len(), 1);
    }
}

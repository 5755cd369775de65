//! The files that a command leaves: which of them a process has just written, and what they hold.
//!
//! Results of an earlier run may lie in the same place, and must not be taken for new ones. Nothing is removed, as the
//! folder is the user's: before a process starts, the state of each file is noted, and only those count afterwards
//! that are new or whose state has changed. No clock is asked, so no clock can mislead.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sprag_model::foreign::Output;

#[derive(Clone, Debug)]
pub struct ResultPlace {
    pub path: PathBuf,
    /// The ends of the names of those files of a folder that are read.
    pub names: &'static [&'static str],
}

/// How deep below a folder results are looked for; beyond it lies a tree of something else.
const DEEPEST: usize = 16;

/// The most files of a folder that are looked at.
const MOST_FILES: usize = 200_000;

/// A file system may note the time of a change in steps of a tick (4 to 10 ms): a file written twice within one may look
/// untouched. So a process starts when all results are older than this.
const TICK: Duration = Duration::from_millis(25);

/// What tells a file from the same one written anew: the file itself, its size, and when it was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    identity: (u64, u64),
    length: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
}

/// The state of every result before a process starts.
#[derive(Debug, Default)]
pub(super) struct Before {
    states: BTreeMap<PathBuf, State>,
}

impl Before {
    pub(super) fn note(place: &ResultPlace) -> Result<Before, String> {
        let states: BTreeMap<PathBuf, State> = list(place)?.into_iter().collect();
        let now = SystemTime::now();
        let young =
            |state: &State| state.modified.and_then(|time| now.duration_since(time).ok()).is_some_and(|age| age < TICK);
        if states.values().any(young) {
            std::thread::sleep(TICK);
        }
        Ok(Before { states })
    }

    /// The results that were written since, in the order of their names; together no more than so many bytes.
    pub(super) fn collect(&self, place: &ResultPlace, most_bytes: u64) -> Result<Vec<Output>, String> {
        let found = list(place)?;
        let stale = found.iter().filter(|(path, state)| self.states.get(path) == Some(state)).count();
        let mut outputs = Vec::new();
        let mut left = most_bytes;
        for (path, state) in &found {
            if self.states.get(path) == Some(state) {
                continue;
            }
            let name = path.strip_prefix(&place.path).ok().filter(|name| !name.as_os_str().is_empty());
            let name = name.map_or_else(|| file_name(path), |name| name.to_string_lossy().replace('\\', "/"));
            let mut bytes = Vec::new();
            let file = File::open(path).map_err(|error| format!("`{name}` cannot be read: {error}"))?;
            file.take(left + 1).read_to_end(&mut bytes).map_err(|error| format!("`{name}` cannot be read: {error}"))?;
            left = match left.checked_sub(bytes.len() as u64) {
                Some(left) => left,
                None => return Err(format!("its results hold more than {most_bytes} bytes")),
            };
            outputs.push(Output { name, bytes });
        }
        if outputs.is_empty() {
            let older = if stale > 0 { format!("; {stale} older there were left alone") } else { String::new() };
            return Err(format!("it wrote no results to `{}`{older}", place.path.display()));
        }
        Ok(outputs)
    }
}

/// The results that lie there, in the order of their names; none where there is no such place yet.
fn list(place: &ResultPlace) -> Result<Vec<(PathBuf, State)>, String> {
    let mut found = Vec::new();
    match fs::metadata(&place.path) {
        Err(_) => return Ok(found),
        Ok(metadata) if metadata.is_file() => {
            found.push((place.path.clone(), state(&metadata)));
            return Ok(found);
        }
        Ok(metadata) if !metadata.is_dir() => {
            return Err(format!("`{}` is neither a file nor a folder", place.path.display()));
        }
        Ok(_) => {}
    }
    let mut folders = vec![(place.path.clone(), 0)];
    let mut seen = 0;
    while let Some((folder, depth)) = folders.pop() {
        let entries =
            fs::read_dir(&folder).map_err(|error| format!("`{}` cannot be listed: {error}", folder.display()))?;
        for entry in entries.flatten() {
            seen += 1;
            if seen > MOST_FILES {
                let path = place.path.display();
                return Err(format!(
                    "`{path}` holds more than {MOST_FILES} files; name the folder of the results alone"
                ));
            }
            // Of the entry itself: a link is not followed.
            let Ok(metadata) = entry.metadata() else { continue };
            let path = entry.path();
            if metadata.is_dir() && depth < DEEPEST {
                folders.push((path, depth + 1));
            } else if metadata.is_file() && is_result(&path, place) {
                found.push((path, state(&metadata)));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

fn is_result(path: &Path, place: &ResultPlace) -> bool {
    let path = path.to_string_lossy().replace('\\', "/");
    place.names.iter().any(|name| path.ends_with(name))
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(unix)]
fn state(metadata: &Metadata) -> State {
    use std::os::unix::fs::MetadataExt as _;
    State {
        identity: (metadata.dev(), metadata.ino()),
        length: metadata.len(),
        modified: metadata.modified().ok(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(not(unix))]
fn state(metadata: &Metadata) -> State {
    State { identity: (0, 0), length: metadata.len(), modified: metadata.modified().ok(), changed: (0, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: PathBuf) -> ResultPlace {
        ResultPlace { path, names: &["/new/sample.json"] }
    }

    fn names(outputs: &[Output]) -> Vec<&str> {
        outputs.iter().map(|output| output.name.as_str()).collect()
    }

    #[test]
    fn only_what_was_written_since_counts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = place(folder.path().join("results"));
        let write = |name: &str, text: &str| {
            let path = place.path.join(name);
            fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        let before = Before::note(&place).expect("a place that is not there yet");
        assert_eq!(before.collect(&place, 100), Err(format!("it wrote no results to `{}`", place.path.display())));
        write("a/new/sample.json", "1");
        write("b/new/sample.json", "2");
        write("b/new/else.json", "3");
        write("new.json", "4");
        let outputs = before.collect(&place, 100).expect("there are results");
        assert_eq!(names(&outputs), ["a/new/sample.json", "b/new/sample.json"]);

        let before = Before::note(&place).expect("the place is there");
        let fault = before.collect(&place, 100).expect_err("nothing was written");
        assert!(fault.ends_with("; 2 older there were left alone"), "{fault}");
        // The same bytes, written again.
        write("b/new/sample.json", "2");
        assert_eq!(names(&before.collect(&place, 100).expect("there is a result")), ["b/new/sample.json"]);
    }

    #[test]
    fn a_single_file_counts_when_it_is_written_or_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = place(folder.path().join("out.json"));
        fs::write(&place.path, "1").expect("a file");
        let before = Before::note(&place).expect("the file is there");
        assert!(before.collect(&place, 100).is_err());
        let other = folder.path().join("other");
        fs::write(&other, "1").expect("a file");
        fs::rename(other, &place.path).expect("it can be moved");
        let outputs = before.collect(&place, 100).expect("it is new");
        assert_eq!((names(&outputs), outputs[0].bytes.as_slice()), (vec!["out.json"], &b"1"[..]));
    }

    #[test]
    fn results_are_bounded_and_links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = place(folder.path().join("results"));
        let before = Before::note(&place).expect("a place that is not there yet");
        fs::create_dir_all(place.path.join("a/new")).expect("a folder");
        fs::write(place.path.join("a/new/sample.json"), "12345").expect("a file");
        assert_eq!(before.collect(&place, 4), Err("its results hold more than 4 bytes".to_owned()));
        assert_eq!(before.collect(&place, 5).map(|outputs| outputs.len()), Ok(1));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&place.path, place.path.join("again")).expect("a link");
            assert_eq!(before.collect(&place, 5).map(|outputs| outputs.len()), Ok(1));
        }
    }
}

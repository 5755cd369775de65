//! The configurations of CUDA kernels that were chosen before, in `.sprag/autotune.json`: read before a tuning, written
//! after it.
//!
//! Several processes may tune at once. There is no lock: whoever writes reads again first, joins both and renames the
//! new file over the old, so a reader always finds a complete file. Of two that write at the same moment the first may
//! lose its choices, and tunes again next time.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::observer::Observer;
use crate::clock;
use crate::protocol::Configurations;
use crate::tune::Choice;
use crate::workload::Workload;
use sprag_base::files::{WriteError, read_bounded, write_atomic};
use sprag_model::autotune::{Key, NewerVersion, Reading, Store, Stored};
use sprag_model::record::MAX_RECORD_BYTES;

/// The name of the file in the private folder of a project.
const FILE_NAME: &str = "autotune.json";

/// The configurations that were chosen before, for exactly these kernels, this compiler, driver and device.
pub(super) struct TunedConfigurations {
    store: Store,
    /// Absent where the project has no folder of its own that can be written.
    file: Option<PathBuf>,
    keys: BTreeMap<String, Key>,
    is_retuning: bool,
    date: DateTime<Utc>,
}

impl TunedConfigurations {
    /// Reads the file in the private folder of the project.
    pub(super) fn load(
        private_folder: &Result<PathBuf, String>,
        keys: BTreeMap<String, Key>,
        is_retuning: bool,
        observer: &dyn Observer,
    ) -> TunedConfigurations {
        let file = match private_folder {
            Ok(folder) => Some(folder.join(FILE_NAME)),
            Err(error) => {
                observer.warn(&format!("{error}; tuning results are not saved"));
                None
            }
        };
        let store = file.as_deref().map(|file| load(file, observer)).unwrap_or_default();
        TunedConfigurations { store, file, keys, is_retuning, date: clock::now() }
    }

    pub(super) fn in_use(&self) -> Configurations {
        let stored = |(id, key): (&String, &Key)| Some((id.clone(), self.store.get(key)?.selected.clone()));
        self.keys.iter().filter_map(stored).collect()
    }

    /// Whether choices are to be made anew, which also a run that tries nothing else then does.
    pub(super) fn is_retuning(&self) -> bool {
        self.is_retuning
    }

    /// Whether nothing is to be tried for a benchmark: a choice was made, and no new one is asked for.
    pub(super) fn is_settled(&self, workload: &Workload) -> bool {
        let stored = self.keys.get(&workload.benchmark.id()).and_then(|key| self.store.get(key));
        !self.is_retuning && stored.is_some_and(|stored| workload.configurations.contains(&stored.selected))
    }

    /// Stores what was chosen now, for the next run.
    pub(super) fn save(&mut self, choices: &[Choice], observer: &dyn Observer) {
        let mut new = Store::default();
        for choice in choices {
            let ratio =
                choice.candidates.iter().find(|(name, _)| *name == choice.selected).and_then(|(_, ratio)| *ratio);
            // Where not even the chosen one could be timed, nothing was learnt.
            let (Some(key), Some(ratio)) = (self.keys.get(&choice.benchmark), ratio) else { continue };
            let stored = Stored {
                selected: choice.selected.clone(),
                ratio: (ratio < 1.0).then_some(ratio),
                date: self.date,
                candidates: choice.candidates.iter().cloned().collect(),
            };
            new.keep(key.clone(), stored);
        }
        self.store = std::mem::take(&mut self.store).merged(new.clone());
        if let Some(Err(error)) = self.file.as_deref().map(|file| save(file, new, observer)) {
            observer.warn(&format!("{error}; tuning results are not saved"));
        }
    }

    pub(super) fn entry(&self, choice: &Choice) -> Value {
        let mut entry = choice.to_json();
        if let (Some(fields), Some(key)) = (entry.as_object_mut(), self.keys.get(&choice.benchmark)) {
            fields.insert("key".to_owned(), json!(key.digest()));
        }
        entry
    }
}

/// The choices of earlier runs. A file that cannot be used is a warning and holds none.
fn load(file: &Path, observer: &dyn Observer) -> Store {
    let reading = read(file).unwrap_or_else(|newer| {
        observer.warn(&format!("`{}` {newer}; tuning begins afresh", file.display()));
        observer.hint(&newer.hint());
        Reading::default()
    });
    if let Some(damage) = reading.damage {
        observer.warn(&format!("`{}` {damage}; tuning begins afresh", file.display()));
    }
    reading.store
}

/// Adds new choices to the file. A damaged file is replaced; one of a newer version stays as it is, with a warning.
fn save(file: &Path, new: Store, observer: &dyn Observer) -> Result<(), WriteError> {
    match read(file) {
        Ok(before) => write_atomic(file, before.store.merged(new).to_json().as_bytes()),
        Err(newer) => {
            observer.warn(&format!("`{}` {newer}; tuning results are not saved", file.display()));
            observer.hint(&newer.hint());
            Ok(())
        }
    }
}

fn read(file: &Path) -> Result<Reading, NewerVersion> {
    match read_bounded(file, MAX_RECORD_BYTES) {
        Ok(bytes) => Store::from_json(&bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Reading::default()),
        Err(error) => Ok(Reading { store: Store::default(), damage: Some(format!("cannot be read: {error}")) }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn choice(op: &str) -> Store {
        let text = || "x".to_owned();
        let key = Key {
            op: op.to_owned(),
            bucket: text(),
            dtype: text(),
            source_digest: text(),
            nvrtc: text(),
            driver: text(),
            device: text(),
            compute_capability: text(),
        };
        let date = chrono::DateTime::from_timestamp(1_790_000_000, 0).expect("a date");
        let mut store = Store::default();
        store.keep(key, Stored { selected: text(), ratio: None, date, candidates: BTreeMap::new() });
        store
    }

    #[test]
    fn what_two_processes_add_is_joined() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("deep").join(FILE_NAME);
        assert_eq!(load(&file, &()), Store::default());
        save(&file, choice("a"), &()).expect("it can be written");
        save(&file, choice("b"), &()).expect("it can be written");
        assert_eq!(load(&file, &()), choice("a").merged(choice("b")));
    }

    #[test]
    fn a_damaged_file_is_replaced_and_a_newer_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(FILE_NAME);
        fs::write(&file, "{\"schema_version\": 1, \"cho").expect("it can be written");
        assert_eq!(load(&file, &()), Store::default());
        save(&file, choice("a"), &()).expect("it can be written");
        assert_eq!(load(&file, &()), choice("a"));
        let newer = "{\"schema_version\": 99}";
        fs::write(&file, newer).expect("it can be written");
        assert_eq!(load(&file, &()), Store::default());
        save(&file, choice("a"), &()).expect("it is no error");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), newer);
        // A folder in its place cannot be read.
        assert_eq!(load(folder.path(), &()), Store::default());
    }
}

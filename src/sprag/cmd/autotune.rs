//! The file of tuned configurations, `.sprag/autotune.json`: read before a tuning, written after it.
//!
//! Several processes may tune at once. There is no lock: whoever writes reads again first, joins both and renames the
//! new file over the old, so a reader always finds a whole file. Of two that write at the same moment the first may
//! lose its choices, and tunes again next time.

use std::io::ErrorKind;
use std::path::Path;

use super::bounded;
use super::project::write_whole;
use sprag_model::autotune::{NewerVersion, Reading, Store};
use sprag_model::record::MAX_RECORD_BYTES;

/// The name of the file in the private folder of a project.
pub const FILE_NAME: &str = "autotune.json";

/// The choices of earlier runs. A file that cannot be used is told as a warning and holds none.
pub fn load(file: &Path) -> Store {
    let reading = read(file).unwrap_or_else(|newer| {
        super::warn(&format!("`{}` {newer}; tuning begins afresh", file.display()));
        super::say(&format!("hint: {}", newer.hint()));
        Reading::default()
    });
    if let Some(damage) = reading.damage {
        super::warn(&format!("`{}` {damage}; tuning begins afresh", file.display()));
    }
    reading.store
}

/// Adds new choices to the file. A damaged file is replaced; one of a newer version stays as it is, with a warning.
///
/// # Errors
/// When the file cannot be written.
pub fn save(file: &Path, new: Store) -> anyhow::Result<()> {
    match read(file) {
        Ok(known) => write_whole(file, known.store.merged(new).to_json().as_bytes()),
        Err(newer) => {
            super::warn(&format!("`{}` {newer}; what was tuned is not kept", file.display()));
            super::say(&format!("hint: {}", newer.hint()));
            Ok(())
        }
    }
}

fn read(file: &Path) -> Result<Reading, NewerVersion> {
    match bounded::read(file, MAX_RECORD_BYTES) {
        Ok(bytes) => Store::from_json(&bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Reading::default()),
        Err(error) => Ok(Reading { store: Store::default(), damage: Some(format!("cannot be read: {error}")) }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use sprag_model::autotune::{Key, Stored};
    use std::collections::BTreeMap;

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
        assert_eq!(load(&file), Store::default());
        save(&file, choice("a")).expect("it can be written");
        save(&file, choice("b")).expect("it can be written");
        assert_eq!(load(&file), choice("a").merged(choice("b")));
    }

    #[test]
    fn a_damaged_file_is_replaced_and_a_newer_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(FILE_NAME);
        fs::write(&file, "{\"schema_version\": 1, \"cho").expect("it can be written");
        assert_eq!(load(&file), Store::default());
        save(&file, choice("a")).expect("it can be written");
        assert_eq!(load(&file), choice("a"));
        let newer = "{\"schema_version\": 99}";
        fs::write(&file, newer).expect("it can be written");
        assert_eq!(load(&file), Store::default());
        save(&file, choice("a")).expect("it is no error");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), newer);
        // A folder in its place cannot be read.
        assert_eq!(load(folder.path()), Store::default());
    }
}

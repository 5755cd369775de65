//! Performance data in files.

use std::fs;
use std::path::Path;

use super::{PerformanceData, TestingError};
use sprag_base::files::{WriteError, write_atomic};

/// A file of more bytes is no ground truth but a slip; ten times that of the largest known one.
const MOST_BYTES: u64 = 1 << 24;

impl PerformanceData {
    /// Reads a file, as [`PerformanceData::from_json`] does.
    ///
    /// # Errors
    /// Names the file and, where it holds no such data, section and subsection.
    pub fn load(path: &Path) -> Result<PerformanceData, TestingError> {
        let read = |error| TestingError::Read { path: path.to_owned(), error };
        let size = fs::metadata(path).map_err(read)?.len();
        let fault = |fault: String| TestingError::File { path: path.to_owned(), fault };
        if size > MOST_BYTES {
            return Err(fault(format!("it has {size} bytes, and no more than {MOST_BYTES} are read")));
        }
        let bytes = fs::read(path).map_err(read)?;
        PerformanceData::from_json(&bytes).map_err(|error| match error {
            TestingError::Data(told) => fault(told),
            other => other,
        })
    }

    /// Writes a file, so that whoever looks sees the old content or the new, never part of it. Missing folders are made.
    ///
    /// # Errors
    /// Names the file; what was there then stands.
    pub fn save(&self, path: &Path) -> Result<(), TestingError> {
        write_atomic(path, self.to_json().as_bytes())
            .map_err(|WriteError { error, .. }| TestingError::Write { path: path.to_owned(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_and_read_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/er/truth.json");
        let mut data = PerformanceData::new();
        data.insert("s", "a", vec![1.5; 100]).expect("it is fine");
        data.save(&path).expect("it can be written");
        data.save(&path).expect("it can be written again");
        assert_eq!(PerformanceData::load(&path).expect("it was written so"), data);
        let beside = fs::read_dir(path.parent().expect("it has one")).expect("it can be listed").count();
        assert_eq!(beside, 1, "nothing stays beside it");
    }

    #[test]
    fn faults_name_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("truth.json");
        let told = || PerformanceData::load(&path).expect_err("it is refused").to_string();
        assert!(told().contains("truth.json") && told().contains("SPRAG_ACCEPT=1"), "{}", told());
        fs::write(&path, "{\"s\": {\"a\": []}}").expect("it can be written");
        assert!(
            told().ends_with("truth.json` holds no performance data: Subsection 's.a' cannot be empty"),
            "{}",
            told()
        );
        fs::write(&path, vec![b' '; MOST_BYTES as usize + 1]).expect("it can be written");
        assert!(told().contains("no more than"), "{}", told());
        let folder_in_the_way = PerformanceData::new().save(folder.path()).expect_err("it is a folder");
        assert!(folder_in_the_way.to_string().starts_with("cannot write `"), "{folder_in_the_way}");
    }
}

//! Running what was found, and the report of it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;

use crate::folder::{self, ConformanceError};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases that gave what was expected, in every form of their kernel.
    pub passed: usize,
    /// Cases that did not, or that this build cannot read.
    pub failed: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every family is built. Whoever reads the line expects the word.
        write!(formatter, "{} passed, {} failed, 0 skipped", self.passed, self.failed)
    }
}

#[derive(Default)]
struct Family {
    tally: Tally,
    failures: Vec<String>,
}

/// Runs every golden case below the folders and writes one line a family, each failure by name, and last the tally,
/// `N passed, M failed, 0 skipped`, which counts cases. A failed case is no error: the caller decides by the tally.
///
/// # Errors
/// A folder that does not exist or holds no golden case, a file that cannot be read or whose JSON is broken, and an
/// `out` that cannot be written. Nothing is run then.
pub fn run(folders: &[PathBuf], out: &mut dyn Write) -> Result<Tally, ConformanceError> {
    let mut found = Vec::new();
    for path in folders {
        found.extend(folder::find(path)?);
    }
    let mut families: BTreeMap<&str, Family> = BTreeMap::new();
    for case in &found {
        let family = families.entry(&case.family).or_default();
        match case.run() {
            Ok(()) => family.tally.passed += 1,
            Err(error) => {
                family.tally.failed += 1;
                let file = case.file.display();
                family.failures.push(format!("  FAILED {}/{} ({file}): {error}", case.family, case.name));
            }
        }
    }
    let mut total = Tally::default();
    for (name, family) in &families {
        writeln!(out, "{name}: {}", family.tally)?;
        for failure in &family.failures {
            writeln!(out, "{failure}")?;
        }
        total.passed += family.tally.passed;
        total.failed += family.tally.failed;
    }
    writeln!(out, "{total}")?;
    Ok(total)
}

//! The export to Parquet: two tables, each in folders `suite=/year=/month=`, a file a month.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Context as _;

use super::passing::Order;
use super::selection::{Selected, Selection};
use crate::atomic_folder::{AtomicFolder, FolderKind};
use crate::project::Project;
use sprag_analysis::frame::ParquetFile;
use sprag_history::Entry;
use sprag_model::flat::{BENCHMARKS, SAMPLES};

const EXPORT: FolderKind = FolderKind { name: "export", marker: ".sprag-export" };

const FOLDER_COLUMN: &str = "suite";

/// How much was exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    pub runs: usize,
    pub files: usize,
}

/// Writes the selected part of the history to a folder, which takes the place of an earlier export.
pub fn write(project: &Project, selected: &Selected, folder: &Path) -> crate::Result<Exported> {
    let selection = Selection::new(selected)?;
    EXPORT.check_replaceable(folder)?;
    let entries = selection.list(project)?;
    let export = AtomicFolder::begin(project, EXPORT, folder)?;
    let (mut runs, mut files) = (0, 0);
    for (place, entries) in months(&entries) {
        let mut benchmarks = ParquetFile::new(BENCHMARKS, &[FOLDER_COLUMN]);
        let mut samples = ParquetFile::new(SAMPLES, &[FOLDER_COLUMN]);
        runs += selection.pass(project, &entries, Order::OldestFirst, &mut |run| {
            selection.benchmark_rows(run).iter().for_each(|row| benchmarks.push(row));
            let values = selection.value_rows(run);
            values.iter().filter(|row| row.estimate.is_some()).for_each(|row| samples.push(row));
            Ok(())
        })?;
        for (table, file) in [(BENCHMARKS.name, benchmarks), (SAMPLES.name, samples)] {
            if file.is_empty() {
                continue;
            }
            let path = format!("{table}/{place}/part-0.parquet");
            export.write(&path, &file.into_bytes().with_context(|| format!("cannot make `{path}`"))?)?;
            files += 1;
        }
    }
    export.put()?;
    selection.warn_of_nothing(runs);
    Ok(Exported { runs, files })
}

/// The records by the folder of their suite, year and month. Numbers have no zeros in front, so that every reader takes
/// them for numbers; a suite is a word of the characters that names of files may have.
fn months(entries: &[Entry]) -> BTreeMap<String, Vec<Entry>> {
    let mut months: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        let (year, month) = entry.month();
        let (year, month) = (year.trim_start_matches('0'), month.trim_start_matches('0'));
        let place = format!("suite={}/year={year}/month={month}", entry.suite());
        months.entry(place).or_default().push(entry.clone());
    }
    months
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_lie_by_suite_year_and_month() {
        let entry = |folder: &str| Entry {
            path: format!("history/v1/{folder}/0123456789ab-01234567-0123456789abcdef.json"),
            blob: String::new(),
        };
        let entries = [entry("cpu/2026/05"), entry("gpu/2026/05"), entry("cpu/2026/05"), entry("cpu/2026/10")];
        let months = months(&entries);
        let found: Vec<(&str, usize)> = months.iter().map(|(place, runs)| (place.as_str(), runs.len())).collect();
        let expected = [
            ("suite=cpu/year=2026/month=10", 1),
            ("suite=cpu/year=2026/month=5", 2),
            ("suite=gpu/year=2026/month=5", 1),
        ];
        assert_eq!(found, expected);
    }
}

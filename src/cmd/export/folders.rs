//! The export to Parquet: two tables, each in folders `suite=/year=/month=`, a file a month.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use chrono::Datelike;

use super::selection::Selection;
use crate::cli::SelectionArgs;
use crate::cmd::Exit;
use crate::cmd::project::Project;
use crate::cmd::text::count;
use crate::cmd::whole_folder::{Kind, WholeFolder};
use crate::frame::ParquetFile;
use crate::model::flat::{BENCHMARKS, SAMPLES};
use crate::model::run::RecordedRun;

/// The folder of an export.
const EXPORT: Kind = Kind { name: "export", marker: ".sprag-export" };

/// The column that folders name.
const FOLDER_COLUMN: &str = "suite";

/// Writes the selected part of the history to a folder, which takes the place of an earlier export.
pub(super) fn write(
    project: &Project,
    args: &SelectionArgs,
    folder: &Path,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let selection = Selection::of(args)?;
    EXPORT.check(folder)?;
    EXPORT.check_place(folder)?;
    let runs = selection.load(project)?;
    let export = WholeFolder::begin(project, EXPORT, folder)?;
    let mut files = 0;
    for (place, runs) in months(&runs) {
        let mut benchmarks = ParquetFile::new(BENCHMARKS, &[FOLDER_COLUMN]);
        let mut samples = ParquetFile::new(SAMPLES, &[FOLDER_COLUMN]);
        for run in runs {
            selection.benchmark_rows(run).iter().for_each(|row| benchmarks.push(row));
            let values = selection.value_rows(run);
            values.iter().filter(|row| row.estimate.is_some()).for_each(|row| samples.push(row));
        }
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
    writeln!(out, "wrote {}: {} in {}", folder.display(), count(runs.len(), "run"), count(files, "file"))?;
    Ok(Exit::Done)
}

/// The runs by the folder of their suite, year and month. Numbers have no zeros in front, so that every reader takes them
/// for numbers; a suite is a word of the characters that names of files may have.
fn months(runs: &[RecordedRun]) -> BTreeMap<String, Vec<&RecordedRun>> {
    let mut months: BTreeMap<String, Vec<&RecordedRun>> = BTreeMap::new();
    for recorded in runs {
        let run = &recorded.run;
        let place = format!("suite={}/year={}/month={}", run.suite, run.timestamp.year(), run.timestamp.month());
        months.entry(place).or_default().push(recorded);
    }
    months
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::flat::example::{recorded, skipped};

    #[test]
    fn runs_lie_by_suite_year_and_month() {
        let runs = [recorded(), skipped(), recorded()];
        let months = months(&runs);
        let found: Vec<(&str, usize)> = months.iter().map(|(place, runs)| (place.as_str(), runs.len())).collect();
        assert_eq!(found, [("suite=cpu/year=2026/month=5", 2), ("suite=gpu/year=2026/month=5", 1)]);
    }
}

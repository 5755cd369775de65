//! The history as files for other programs: Parquet, CSV, JSON Lines, OpenMetrics, and the downloads of the site.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use crate::atomic_folder::{AtomicFolder, EXPORT};
use crate::cache;
use crate::error::WithContext as _;
use crate::options::{Period, refuse_unknown};
use crate::project::Project;
use crate::text::{self, printable, warn};
use crate::{refuse, snapshots, study};
use sprag_analysis::frame::ParquetFile;
use sprag_base::files::{AtomicFile, check_writable};
use sprag_formats::{json_lines, openmetrics, table_csv, values_csv};
use sprag_history::{self as history, Leaf};
use sprag_model::flat::{BENCHMARKS, Row, SAMPLES, Table};
use sprag_model::{Page, RecordedRun, RunHead, flat};

/// Records in memory at once.
const AT_ONCE: usize = 1_000;

const FOLDER_COLUMN: &str = "suite";

/// A part of the history; all of it by default.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    pub suites: Vec<String>,
    pub machine: Option<String>,
    /// A day in UTC, or a moment.
    pub since: Option<String>,
    /// Inclusive.
    pub until: Option<String>,
    pub metric: Option<String>,
}

impl Selected {
    fn filter(&self) -> crate::Result<impl Fn(&RunHead) -> bool + '_> {
        let period = Period::new(self.since.as_deref(), self.until.as_deref())?;
        Ok(move |run: &RunHead| {
            let is_machine = |machine: &str| run.machine.name == machine || run.machine.id == machine;
            (self.suites.is_empty() || self.suites.contains(&run.suite))
                && self.machine.as_deref().is_none_or(is_machine)
                && period.contains(run.timestamp)
        })
    }

    fn benchmark_rows<'r>(&self, recorded: &'r RecordedRun) -> Vec<Row<'r>> {
        let mut rows = flat::benchmark_rows(recorded);
        if let Some(metric) = &self.metric {
            rows.retain(|row| row.measurement.is_some_and(|one| one.estimate(metric).is_some()));
        }
        rows
    }

    fn value_rows<'r>(&self, recorded: &'r RecordedRun) -> Vec<Row<'r>> {
        let mut rows = flat::value_rows(recorded);
        if let Some(metric) = &self.metric {
            rows.retain(|row| row.estimate.is_some_and(|one| one.metric.name == *metric));
        }
        rows
    }

    fn samples<'r>(&self, recorded: &'r RecordedRun) -> Vec<Row<'r>> {
        let mut rows = self.value_rows(recorded);
        rows.retain(|row| row.estimate.is_some());
        rows
    }
}

struct Export<'a> {
    project: &'a Project,
    selected: &'a Selected,
    runs: usize,
    quarantined: usize,
    has_metric: bool,
}

impl<'a> Export<'a> {
    fn new(project: &'a Project, selected: &'a Selected) -> Export<'a> {
        Export { project, selected, runs: 0, quarantined: 0, has_metric: false }
    }

    /// Oldest first, then by id.
    fn list(&mut self) -> crate::Result<Vec<Leaf>> {
        let is_selected = self.selected.filter()?;
        let store = self.project.store()?;
        let listing = history::list(store, &self.project.source()?).context("cannot read the history")?;
        snapshots::say_absent(&listing);
        for suite in &self.selected.suites {
            refuse_unknown("suite", suite, listing.entries.iter().map(Leaf::suite))?;
        }
        let cache::Decoded { runs, quarantined } = cache::decode(self.project, store, &listing.entries)?;
        study::refuse_absent(store, listing.quarantined.iter().chain(&quarantined))?;
        self.quarantined += listing.quarantined.len() + quarantined.len() + listing.retracted.len();
        let mut runs = runs.into_heads();
        let all = runs.len();
        runs.retain(|(head, _)| listing.check_time(head.timestamp).is_ok());
        self.quarantined += all - runs.len();
        runs.retain(|(head, _)| is_selected(head));
        runs.sort_by(|(a, _), (b, _)| (a.timestamp, &a.id).cmp(&(b.timestamp, &b.id)));
        Ok(runs.into_iter().map(|(head, blob)| Leaf { path: head.path, blob }).collect())
    }

    /// Calls `take` with each readable run.
    fn pass(&mut self, entries: &[Leaf], take: &mut dyn FnMut(&RecordedRun) -> crate::Result<()>) -> crate::Result<()> {
        for part in entries.chunks(AT_ONCE) {
            for record in history::read(self.project.store()?, part).context("cannot read the history")? {
                let Ok(recorded) = record else {
                    self.quarantined += 1;
                    continue;
                };
                self.has_metric |= self.selected.metric.is_some() && !self.selected.value_rows(&recorded).is_empty();
                self.runs += 1;
                take(&recorded)?;
            }
        }
        Ok(())
    }

    /// Warns of what was left out; returns the number of runs.
    fn finish(self) -> usize {
        if self.quarantined > 0 {
            let records = text::count(self.quarantined, "record");
            warn(&format!(
                "{records} of the history not exported, as damaged, retracted or dated in the future; `sprag history log` and \
                 `sprag history fsck` show which"
            ));
        }
        if self.runs == 0 {
            warn("no run of the history matches the options; nothing is exported");
        } else if let Some(metric) = self.selected.metric.as_deref().filter(|_| !self.has_metric) {
            warn(&format!("no run that was asked for has the metric `{}`", printable(metric)));
        }
        self.runs
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Csv,
    LongCsv,
    JsonLines,
    /// The newest value of each series.
    OpenMetrics,
}

/// Writes to a file atomically, or to `out`; returns the number of runs.
pub fn write_text(
    project: &Project,
    form: Syntax,
    selected: &Selected,
    file: Option<&Path>,
    out: &mut dyn Write,
) -> crate::Result<usize> {
    if let Some(file) = file {
        check_parent(file, "--out")?;
        check_writable(file)?;
    }
    let mut export = Export::new(project, selected);
    let entries = export.list()?;
    match file {
        None => write(form, &mut export, entries, out)?,
        Some(file) => {
            let mut new = AtomicFile::create(file)?;
            write(form, &mut export, entries, &mut new)
                .with_context(|| format!("cannot write `{}`", file.display()))?;
            new.commit()?;
        }
    }
    Ok(export.finish())
}

fn write(form: Syntax, export: &mut Export<'_>, mut entries: Vec<Leaf>, out: &mut dyn Write) -> crate::Result<()> {
    let selected = export.selected;
    match form {
        Syntax::Csv => {
            out.write_all(&table_csv::header(BENCHMARKS))?;
            export.pass(&entries, &mut |run| {
                Ok(out.write_all(&table_csv::lines(BENCHMARKS, &selected.benchmark_rows(run)))?)
            })
        }
        Syntax::LongCsv => {
            let mut writer = values_csv::Writer::default();
            out.write_all(&values_csv::header())?;
            entries.reverse();
            export.pass(&entries, &mut |run| Ok(out.write_all(&writer.lines(&selected.value_rows(run)))?))
        }
        Syntax::JsonLines => {
            export.pass(&entries, &mut |run| Ok(out.write_all(&json_lines::lines(&selected.value_rows(run)))?))
        }
        Syntax::OpenMetrics => {
            let mut newest = openmetrics::NewestSamples::default();
            export.pass(&entries, &mut |run| {
                newest.take(&selected.value_rows(run));
                Ok(())
            })?;
            Ok(out.write_all(newest.text().as_bytes())?)
        }
    }
}

pub(crate) fn check_parent(path: &Path, option: &str) -> crate::Result<()> {
    let is_absent = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.is_dir();
    let Some(folder) = path.parent().filter(is_absent) else { return Ok(()) };
    let message = format!("cannot write `{}`: there is no folder `{}`", path.display(), folder.display());
    refuse(message, format!("make the folder first, or choose another place with `{option}`"))
}

/// Two Parquet tables, a file a month in folders `suite=/year=/month=`, over an earlier export. The runs and the files.
pub fn write_parquet(project: &Project, selected: &Selected, folder: &Path) -> crate::Result<(usize, usize)> {
    check_parent(folder, "--out")?;
    EXPORT.check_replaceable(folder)?;
    let mut export = Export::new(project, selected);
    let entries = export.list()?;
    let target = AtomicFolder::begin(project, EXPORT, folder)?;
    let mut files = 0;
    for (place, entries) in months(&entries) {
        let mut benchmarks = ParquetFile::new(BENCHMARKS, &[FOLDER_COLUMN]);
        let mut samples = ParquetFile::new(SAMPLES, &[FOLDER_COLUMN]);
        export.pass(&entries, &mut |run| {
            selected.benchmark_rows(run).iter().for_each(|row| benchmarks.push(row));
            selected.samples(run).iter().for_each(|row| samples.push(row));
            Ok(())
        })?;
        for (table, file) in [(BENCHMARKS.name, benchmarks), (SAMPLES.name, samples)] {
            if !file.is_empty() {
                let path = format!("{table}/{place}/part-0.parquet");
                target.write(&path, &file.into_bytes().with_context(|| format!("cannot make `{path}`"))?)?;
                files += 1;
            }
        }
    }
    target.put()?;
    Ok((export.finish(), files))
}

/// By the folder of suite, year and month. Without leading zeros every reader takes years and months for numbers.
fn months(entries: &[Leaf]) -> BTreeMap<String, Vec<Leaf>> {
    let mut months: BTreeMap<String, Vec<Leaf>> = BTreeMap::new();
    for entry in entries {
        let (year, month) = entry.month();
        let (year, month) = (year.trim_start_matches('0'), month.trim_start_matches('0'));
        let place = format!("suite={}/year={year}/month={month}", entry.suite());
        months.entry(place).or_default().push(entry.clone());
    }
    months
}

#[derive(Clone, Copy)]
enum Download {
    Text(Syntax),
    Parquet(Table),
}

/// Each file: its path in the site, and a description.
const DOWNLOADS: [(Download, &str, &str); 4] = [
    (Download::Text(Syntax::Csv), "data/benchmarks.csv", "CSV, one line per run and benchmark."),
    (Download::Text(Syntax::JsonLines), "data/values.jsonl", "JSON Lines, one object per run, benchmark and metric."),
    (Download::Parquet(BENCHMARKS), "data/benchmarks.parquet", "Parquet, the rows of the CSV."),
    (
        Download::Parquet(SAMPLES),
        "data/samples.parquet",
        "Parquet, one row per run, benchmark and metric, with the median of each process.",
    ),
];

pub fn list_downloads() -> Vec<(String, &'static str)> {
    DOWNLOADS.iter().map(|(_, path, what)| ((*path).to_owned(), *what)).collect()
}

/// `entries` are in order of time.
pub fn each_download(
    project: &Project,
    entries: &[Leaf],
    take: &mut dyn FnMut(Page) -> crate::Result<()>,
) -> crate::Result<()> {
    let all = Selected::default();
    for (download, path, _) in DOWNLOADS {
        let mut export = Export::new(project, &all);
        let bytes = match download {
            Download::Text(form) => {
                let mut text = Vec::new();
                write(form, &mut export, entries.to_vec(), &mut text).map(|()| text)
            }
            Download::Parquet(table) => {
                let mut rows = ParquetFile::new(table, &[]);
                let of_run = if table.name == SAMPLES.name { Selected::samples } else { Selected::benchmark_rows };
                let pass = export.pass(entries, &mut |run| {
                    of_run(&all, run).iter().for_each(|row| rows.push(row));
                    Ok(())
                });
                pass.and_then(|()| Ok(rows.into_bytes()?))
            }
        };
        take(Page { path: path.to_owned(), bytes: bytes.with_context(|| format!("cannot make `{path}`"))? })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::flat::example::recorded;

    const ALL: Selected = Selected { suites: Vec::new(), machine: None, since: None, until: None, metric: None };

    #[test]
    fn runs_are_selected_by_suite_machine_and_time() {
        // Of the suite `cpu` on the machine `bench`, on 4 May 2026 at 03:02:01.
        let head = RunHead::new(&recorded());
        let check = |asked: Selected, expected: bool| {
            assert_eq!(asked.filter().expect("the dates are dates")(&head), expected, "{asked:?}");
        };
        let some = |text: &str| Some(text.to_owned());
        check(ALL, true);
        check(Selected { suites: vec!["gpu".into(), "cpu".into()], ..ALL }, true);
        check(Selected { suites: vec!["gpu".into()], ..ALL }, false);
        check(Selected { machine: some("bench"), ..ALL }, true);
        check(Selected { machine: some(&head.machine.id), ..ALL }, true);
        check(Selected { machine: some("ben"), ..ALL }, false);
        check(Selected { since: some("2026-05-04"), until: some("2026-05-04"), ..ALL }, true);
        check(Selected { since: some("2026-05-05"), ..ALL }, false);
        check(Selected { until: some("2026-05-03"), ..ALL }, false);
        check(Selected { since: some("2026-05-04T03:02:01Z"), ..ALL }, true);
        check(Selected { since: some("2026-05-04T03:02:02Z"), ..ALL }, false);
        check(Selected { until: some("2026-05-04T05:02:01+02:00"), ..ALL }, true);
        check(Selected { until: some("2026-05-04T03:02:00Z"), ..ALL }, false);
        let rows = |metric: Option<&str>| {
            let asked = Selected { metric: metric.map(str::to_owned), ..ALL };
            (asked.benchmark_rows(&recorded()).len(), asked.value_rows(&recorded()).len())
        };
        assert_eq!([rows(None), rows(Some("time"))], [(3, 6), (2, 2)]);
        assert_eq!([rows(Some("ratio")), rows(Some("other"))], [(1, 1), (0, 0)]);
    }

    #[test]
    fn records_are_grouped_by_suite_year_and_month() {
        let entry = |folder: &str| Leaf {
            path: format!("history/v1/{folder}/0123456789ab-01234567-0123456789abcdef.json"),
            blob: String::new(),
        };
        let entries = [entry("cpu/2026/05"), entry("gpu/2026/05"), entry("cpu/2026/05"), entry("cpu/2026/10")];
        let months = months(&entries);
        let months: Vec<(&str, usize)> = months.iter().map(|(place, runs)| (place.as_str(), runs.len())).collect();
        let expected = [
            ("suite=cpu/year=2026/month=10", 1),
            ("suite=cpu/year=2026/month=5", 2),
            ("suite=gpu/year=2026/month=5", 1),
        ];
        assert_eq!(months, expected);
    }
}

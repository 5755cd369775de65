//! The points of a history as a dataset that engines spread over machines, detection in parts of it, and their join.
//!
//! The folder holds parts that are only ever added or replaced as a whole, each under the digest of its content, the outline of
//! the history, and a manifest that names them. The manifest comes last, so that a reader sees the old dataset or the new one.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use chrono::{DateTime, Datelike as _, Utc};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::atomic_folder::{DATASET, ExistingFolder};
use crate::config::FILE_NAME;
use crate::error::{Cause, WithContext as _};
use crate::export::check_parent;
use crate::project::{self, Project};
use crate::study::{self, Study};
use crate::trend::{self, DetectionOptions, TrendOptions};
use crate::{Advice, Error, ledger, refuse, text};
use sprag_analysis::frame::{self, PartialRow, RowsError};
use sprag_analysis::ledger::answer_events;
use sprag_analysis::trend::analyse::{self, TrendOutput};
use sprag_analysis::trend::dataset::{Dataset, GatherError, Gathered, JoinError, Parts, each_series, in_order};
use sprag_analysis::trend::outline::{Detector, Input, Outline};
use sprag_analysis::trend::series_changes::Detection;
use sprag_base::digest::sha256_hex;
use sprag_base::files::{read_bounded, write_atomic};
use sprag_model::ledger::day;
use sprag_model::trend::Tables;
use sprag_model::{Ledger, Point, Series, Trend};

const MANIFEST: &str = "manifest.json";
/// Version 1 had a folder for each month.
const SCHEMA_VERSION: u64 = 2;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Of a file of the dataset, or of a partial result.
const MOST_BYTES: usize = 4 << 30;

/// Where no other number is asked for.
const BUCKETS: u32 = 16;

/// A month of a bucket with more parts than these is written again as one.
const MOST_PARTS: usize = 8;

/// What a dataset holds. Engines read `parts` and `buckets`; the outline is MessagePack that one version of the program reads.
///
/// What `sprag detect` finds in parts are rows of Arrow or Parquet, one a series: `series`, `dataset` (the first sixteen letters of
/// the digest of the outline) and `sprag` are text, `points`, `changes` and `drifts` whole numbers, and `found` are bytes that one
/// version of the program reads.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    schema_version: u64,
    /// The version of the program.
    sprag: String,
    /// What the parts are split by: all points of a series have the same.
    partition_key: String,
    buckets: u32,
    /// The branch of the history, and its commit.
    reference: Option<String>,
    tip: Option<String>,
    runs: usize,
    series: usize,
    points: usize,
    /// The order of commits, settings, and recorded events.
    outline: PartFile,
    /// What the export was given in place of `sprag.toml` and HEAD; absent where that is nothing.
    #[serde(default, skip_serializing_if = "DetectionOptions::is_default")]
    options: DetectionOptions,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct PartFile {
    /// Below the folder of the manifest.
    path: String,
    bytes: usize,
    sha256: String,
}

/// A Parquet file of points, sorted by series and then by commit. `series`, `run`, `commit` and `environment_key` are text, `run_time`
/// is a timestamp in UTC, `value` the median in base units, and `workers` the list of the medians of its processes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Part {
    bucket: u32,
    /// Of the runs of its points, as `2026-11`.
    month: String,
    points: usize,
    file: PartFile,
}

pub struct SeriesExport {
    pub folder: PathBuf,
    /// Adds what is new, if that is possible.
    pub since_last: bool,
    /// Those of the last export, or `BUCKETS`, where absent.
    pub buckets: Option<u32>,
    /// The window of the tables.
    pub days: u32,
    pub detection: DetectionOptions,
}

pub struct Exported {
    pub points: usize,
    pub new_points: usize,
    pub series: usize,
    pub files: usize,
}

/// Points by series, of one month.
type Month<'a> = Vec<(&'a str, Vec<&'a Point>)>;

pub fn export(project: &Project, options: &SeriesExport) -> crate::Result<Exported> {
    let folder = &options.folder;
    check_parent(folder, "--out")?;
    DATASET.check(folder)?;
    let is_new = !folder.exists();
    fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    let _lock = project::locked(&folder.join(DATASET.marker), &|| text::note("waiting for another export"))?;
    let exported = export_to(project, options);
    // Another export may have come in between.
    if is_new && exported.is_err() && !folder.join(MANIFEST).exists() {
        // The user must see the error of the export.
        let _ = fs::remove_dir_all(folder);
    }
    exported
}

fn export_to(project: &Project, options: &SeriesExport) -> crate::Result<Exported> {
    let folder = &options.folder;
    let earlier = match Opened::open(folder) {
        Err(error) if options.since_last && folder.join(MANIFEST).is_file() => return Err(error),
        opened => opened.ok(),
    };
    let study = options.detection.study(project)?;
    let (days, detection) = (Some(options.days), options.detection.clone());
    let all = TrendOptions { days, detection, ..TrendOptions::events(study.present()) };
    trend::with_input(project, &study, &all, &|_| true, |input| write(&input, &study, options, earlier.as_ref()))
}

fn write(
    input: &Input<'_>,
    study: &Study,
    options: &SeriesExport,
    earlier: Option<&Opened>,
) -> crate::Result<Exported> {
    let folder = &options.folder;
    let dataset = Dataset::new(input);
    let earlier_runs = earlier.map(|earlier| earlier.dataset.runs()).unwrap_or_default();
    if !earlier_runs.is_empty() && earlier_runs.is_disjoint(&dataset.runs()) {
        let message =
            format!("`{}` holds the dataset of another history: this one has none of its runs", folder.display());
        return Err(damaged(message, "name another folder with `--out`, or remove that one first"));
    }
    // Engines refuse a folder of both versions.
    let is_new = |earlier: &&Opened| earlier.manifest.schema_version == SCHEMA_VERSION;
    let last = earlier.filter(|_| options.since_last);
    let continued = last.filter(is_new).filter(|last| dataset.continues(&last.dataset, input));
    if last.is_some() && continued.is_none() {
        text::note("runs, series or the layout of the last export are no longer as they were; all is written again");
    }
    let buckets = options.buckets.or(last.map(|last| last.manifest.buckets)).unwrap_or(BUCKETS);
    if let Some(Opened { root, manifest, .. }) = continued {
        if manifest.buckets != buckets {
            let message =
                format!("the dataset at `{}` has {} buckets, not {buckets}", root.display(), manifest.buckets);
            return refuse(message, "leave `--buckets` out, or leave `--since-last` out to write all again");
        }
        if let Some(error) = manifest.parts.par_iter().find_map_first(|part| part.file.read(root).err()) {
            return Err(error);
        }
    }
    let exported = if continued.is_some() { earlier_runs } else { HashSet::new() };
    let mut of_bucket: BTreeMap<u32, Vec<&Series>> = BTreeMap::new();
    for series in each_series(&dataset.outline, input) {
        of_bucket.entry(bucket_of(&series.id, buckets)).or_default().push(series);
    }
    let old = |bucket: u32| -> Vec<&Part> {
        continued.iter().flat_map(|old| &old.manifest.parts).filter(|part| part.bucket == bucket).collect()
    };
    let parts =
        of_bucket.par_iter().map(|(bucket, series)| write_bucket(folder, *bucket, series, &exported, &old(*bucket)));
    let parts: Vec<(Vec<Part>, usize)> = parts.collect::<crate::Result<_>>()?;
    let new_points = parts.iter().map(|one| one.1).sum();
    let parts: Vec<Part> = parts.into_iter().flat_map(|one| one.0).collect();
    let exported =
        Exported { points: dataset.n_points(), new_points, series: dataset.outline.series.len(), files: parts.len() };
    let manifest = Manifest {
        schema_version: SCHEMA_VERSION,
        sprag: VERSION.to_owned(),
        partition_key: "bucket".to_owned(),
        buckets,
        reference: dataset.outline.reference.clone(),
        tip: dataset.outline.tip.clone(),
        runs: study.heads.len(),
        series: exported.series,
        points: exported.points,
        outline: write_part(folder, "outline", "msgpack", &dataset.to_bytes())?,
        options: options.detection.clone(),
        parts,
    };
    let json = serde_json::to_vec_pretty(&manifest).context("cannot write the manifest")?;
    write_atomic(&folder.join(MANIFEST), &json)?;
    remove_others(folder, &manifest)?;
    Ok(exported)
}

/// Writes what is new of the series of a bucket, and months of many parts again. Returns its parts, and how many points.
fn write_bucket(
    folder: &Path,
    bucket: u32,
    series: &[&Series],
    exported: &HashSet<&str>,
    old: &[&Part],
) -> crate::Result<(Vec<Part>, usize)> {
    let month_of = |point: &Point| (point.time.year(), point.time.month());
    let months = |is_wanted: &dyn Fn(&Point, &str) -> bool| -> BTreeMap<String, Month<'_>> {
        let mut months: BTreeMap<String, Month<'_>> = BTreeMap::new();
        for series in series {
            for of_month in series.points.chunk_by(|a, b| month_of(a) == month_of(b)) {
                let month = of_month[0].time.format("%Y-%m").to_string();
                let points: Vec<&Point> = of_month.iter().filter(|point| is_wanted(point, &month)).collect();
                if points.is_empty() {
                    continue;
                }
                let all = months.entry(month).or_default();
                match all.last_mut().filter(|last| last.0 == series.id) {
                    Some(last) => last.1.extend(points),
                    None => all.push((&series.id, points)),
                }
            }
        }
        months
    };
    let mut of_months = months(&|point, _| !exported.contains(&*point.run));
    let new_points = of_months.values().flatten().map(|one| one.1.len()).sum();
    let count = |month: &str| old.iter().filter(|part| part.month == month).count();
    let rewritten: BTreeSet<String> = of_months.keys().filter(|month| count(month) >= MOST_PARTS).cloned().collect();
    if !rewritten.is_empty() {
        of_months.extend(months(&|_, month| rewritten.contains(month)));
    }
    let mut parts: Vec<Part> = old.iter().filter(|part| !rewritten.contains(&part.month)).copied().cloned().collect();
    let place = format!("points/bucket={bucket}");
    fs::create_dir_all(folder.join(&place)).with_context(|| format!("cannot make `{place}`"))?;
    for (month, series) in of_months {
        let bytes = frame::points_file(&series).with_context(|| format!("cannot write the points of {month}"))?;
        let file = write_part(folder, &format!("{place}/{month}"), "parquet", &bytes)?;
        parts.push(Part { bucket, month, points: series.iter().map(|one| one.1.len()).sum(), file });
    }
    parts.sort_by(|a, b| a.file.path.cmp(&b.file.path));
    Ok((parts, new_points))
}

fn bucket_of(series: &str, buckets: u32) -> u32 {
    let digest = sha256_hex(series.as_bytes());
    u32::from_str_radix(&digest[..8], 16).unwrap_or_default() % buckets.max(1)
}

fn write_part(folder: &Path, path: &str, kind: &str, bytes: &[u8]) -> crate::Result<PartFile> {
    let sha256 = sha256_hex(bytes);
    let path = format!("{path}-{}.{kind}", &sha256[..12]);
    // In place and not flushed, as there may be thousands: the manifest comes later, and readers check the digest.
    let place = folder.join(&path);
    if !read_bounded(&place, MOST_BYTES).is_ok_and(|present| present == bytes) {
        fs::write(&place, bytes).with_context(|| format!("cannot write `{path}`"))?;
    }
    Ok(PartFile { path, bytes: bytes.len(), sha256 })
}

/// Removes files of earlier exports, and what an export that broke off left.
fn remove_others(folder: &Path, manifest: &Manifest) -> crate::Result<()> {
    let own: BTreeSet<&str> = manifest.parts.iter().map(|part| part.file.path.as_str()).collect();
    for file in ExistingFolder::new(DATASET, folder).files()? {
        let is_part = file.starts_with("points/bucket=") && file.ends_with(".parquet") || file.starts_with("outline-");
        if is_part && !own.contains(file.as_str()) && file != manifest.outline.path {
            let place = folder.join(&file);
            fs::remove_file(&place).with_context(|| format!("cannot remove `{file}`"))?;
            // Fails where other files are left.
            let _ = place.parent().map(fs::remove_dir);
        }
    }
    Ok(())
}

/// A dataset that was checked against its manifest, but for its parts.
pub struct Opened {
    root: PathBuf,
    manifest: Manifest,
    dataset: Dataset,
}

fn damaged(message: impl Into<String>, hint: &str) -> Error {
    Advice::new(message, hint).because(Cause::Damaged).into()
}

const REEXPORT: &str = "export the history again with `sprag export series`, and detect in the parts of that";

const REPLACE: &str = "read `points/` of the dataset as it is, and leave out what is of another";

const REPAIR: &str =
    "a part is missing, was cut short or changed: copy the dataset again, or export it without `--since-last`";

impl Opened {
    pub fn open(root: &Path) -> crate::Result<Opened> {
        let path = root.join(MANIFEST);
        let bytes = match read_bounded(&path, MOST_BYTES) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let message = format!("there is no dataset at `{}`: it has no `{MANIFEST}`", root.display());
                return refuse(message, "name the folder that `sprag export series --out` wrote with `--dataset`");
            }
            bytes => bytes.with_context(|| format!("cannot read `{}`", path.display()))?,
        };
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(format!("`{}` is not a manifest: {error}", path.display()), REEXPORT))?;
        let version = manifest.schema_version;
        if manifest.sprag != VERSION || !(1..=SCHEMA_VERSION).contains(&version) {
            let writer = text::printable(&manifest.sprag);
            let other = if manifest.sprag == VERSION {
                format!("has schema version {version}")
            } else {
                format!("was written by sprag {writer}")
            };
            let message = format!(
                "`{}` {other}; this is {VERSION}, which reads versions 1 to {SCHEMA_VERSION} of its own",
                path.display()
            );
            return Err(damaged(message, REEXPORT));
        }
        let outline = root.join(&manifest.outline.path);
        let bytes = manifest.outline.read(root)?;
        let dataset = Dataset::from_bytes(&bytes)
            .ok_or_else(|| damaged(format!("`{}` is not the outline of a history", outline.display()), REEXPORT))?;
        Ok(Opened { root: root.to_owned(), manifest, dataset })
    }

    /// The dataset that a part belongs to.
    pub fn of_part(part: &Path) -> crate::Result<Opened> {
        let place = std::path::absolute(part).with_context(|| format!("cannot find `{}`", part.display()))?;
        match place.ancestors().find(|folder| folder.join(MANIFEST).is_file()) {
            Some(root) => Opened::open(root),
            None => refuse(
                format!("`{}` lies in no dataset: no folder above it has a `{MANIFEST}`", part.display()),
                "name the folder that `sprag export series --out` wrote with `--dataset`",
            ),
        }
    }

    fn id(&self) -> &str {
        &self.manifest.outline.sha256[..16]
    }

    /// What is found in the series of these parts, or of folders of them.
    pub fn detect(&self, given: &[PathBuf]) -> crate::Result<Vec<PartialRow>> {
        let mut buckets: BTreeMap<u32, Vec<&Part>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for path in given {
            for part in self.parts_at(path)? {
                if !seen.insert(&part.file.path) {
                    let message = format!("`{}` is given twice", part.file.path);
                    return Err(damaged(message, "name each part once, or the folders of whole buckets"));
                }
                buckets.entry(part.bucket).or_default().push(part);
            }
        }
        let parts = Parts::new(&self.dataset);
        let of_bucket = |(bucket, files): (u32, Vec<&Part>)| -> crate::Result<Vec<PartialRow>> {
            let mut gathered = parts.gather();
            for part in files {
                let bytes = part.file.read(&self.root)?;
                frame::read_points(bytes, &mut |row| gathered.take(row))
                    .map_err(|error| no_rows(&part.file.path, &error))?;
            }
            let hint = format!("give all parts of `points/bucket={bucket}` to one call, and no other");
            self.rows(gathered, &hint)
        };
        let detected: Vec<Vec<PartialRow>> = buckets.into_par_iter().map(of_bucket).collect::<crate::Result<_>>()?;
        Ok(detected.into_iter().flatten().collect())
    }

    /// Likewise, from the rows of a stream of Arrow.
    pub fn detect_stream(&self, input: impl Read) -> crate::Result<Vec<PartialRow>> {
        let parts = Parts::new(&self.dataset);
        let mut gathered = parts.gather();
        frame::read_points_stream(input, &mut |row| gathered.take(row)).map_err(|error| no_rows("-", &error))?;
        self.rows(gathered, "repartition the rows by `bucket` or by `series` before the call")
    }

    fn rows(&self, gathered: Gathered<'_>, hint: &str) -> crate::Result<Vec<PartialRow>> {
        let detection = gathered.finish().map_err(|error| {
            let hint = match error {
                GatherError::Straddles { .. } => hint,
                GatherError::Doubled { .. } => "give each row once",
                _ => REPLACE,
            };
            damaged(text::printable(&error.to_string()), hint)
        })?;
        let row = |detection: &Detection| PartialRow {
            series: detection.id.clone(),
            dataset: self.id().to_owned(),
            sprag: VERSION.to_owned(),
            points: detection.count,
            changes: detection.changes.points.len(),
            drifts: detection.changes.drifts.len(),
            detection: detection.to_bytes(),
        };
        Ok(detection.iter().map(row).collect())
    }

    /// The part of that path, or those in that folder, by the manifest: a file that is lost is one, too.
    fn parts_at(&self, given: &Path) -> crate::Result<Vec<&Part>> {
        let (path, root) = (resolved(given), resolved(&self.root));
        let below = path.strip_prefix(&root).ok();
        let is_below = |part: &&Part| below.is_some_and(|below| Path::new(&part.file.path).starts_with(below));
        let parts: Vec<&Part> = self.manifest.parts.iter().filter(is_below).collect();
        let is_folder = |below: &Path| {
            let bucket = below.strip_prefix("points").ok().and_then(Path::to_str);
            let number = bucket.and_then(|name| name.strip_prefix("bucket=")?.parse::<u32>().ok());
            below == Path::new("") || bucket == Some("") || number.is_some_and(|number| number < self.manifest.buckets)
        };
        if parts.is_empty() && !below.is_some_and(is_folder) {
            let message = format!("`{}` is not a part of the dataset at `{}`", given.display(), self.root.display());
            return Err(damaged(message, "its `manifest.json` names the parts; others are of another export"));
        }
        Ok(parts)
    }

    /// The outline, and what partial results hold of all of its series.
    fn detections(&self, from: &[PathBuf]) -> crate::Result<Vec<Detection>> {
        let mut rows = Vec::new();
        for path in partials(from)? {
            let bytes = read_bounded(&path, MOST_BYTES).with_context(|| format!("cannot read `{}`", path.display()))?;
            let read = frame::read_partials(bytes).map_err(|error| no_rows(&path.display().to_string(), &error))?;
            if let Some(other) = read.iter().find(|row| row.sprag != VERSION) {
                let message = format!(
                    "`{}` was detected by sprag {}, and this is {VERSION}",
                    path.display(),
                    text::printable(&other.sprag)
                );
                return Err(damaged(message, "detect again with one version"));
            }
            if let Some(other) = read.iter().find(|row| row.dataset != self.id()) {
                let message = format!(
                    "`{}` was detected in the dataset {}, and that at `{}` is {}",
                    path.display(),
                    text::printable(&other.dataset),
                    self.root.display(),
                    self.id()
                );
                return Err(damaged(message, "partial results join with the export that they were detected in"));
            }
            let path = path.display().to_string();
            rows.extend(read.into_iter().map(|row| (path.clone(), row)));
        }
        let partials = rows.iter().map(|(path, row)| (path.as_str(), row.series.as_str(), row.detection.as_slice()));
        in_order(&self.dataset.outline, partials).map_err(|error| {
            let message = format!("the partial results do not join: {}", text::printable(&error.to_string()));
            let hint = match error {
                JoinError::Missing { .. } => "give what was detected in all buckets, each once",
                JoinError::Doubled { .. } => "leave one of the two out",
                JoinError::Damaged { .. } | JoinError::Unknown { .. } => "detect in the parts of its bucket again",
            };
            damaged(message, hint)
        })
    }

    /// What `sprag trend` finds, from partial results. What is `recorded` follows from the events that are recorded by now.
    ///
    /// # Errors Where a part is missing or damaged; if recorded, also where an export of the history would write something else now.
    pub fn join(
        &self,
        project: &Project,
        from: &[PathBuf],
        options: &TrendOptions,
        selected: &(dyn Fn(&Series) -> bool + Sync),
        recorded: bool,
    ) -> crate::Result<(TrendOutput, Ledger)> {
        let outline = &self.dataset.outline;
        if let Some(days) = options.days.filter(|days| *days != outline.tables.days) {
            let message = format!("the tables of the dataset are of {} days, not of {days}", outline.tables.days);
            return refuse(message, "export it with the same `--days`, or leave the option out at both");
        }
        if project.root.join(FILE_NAME).exists() {
            self.check_settings(project)?;
            if !recorded {
                self.warn_recorded(project);
            }
        }
        let mut output = if recorded {
            self.check_default()?;
            let study = study::study(project)?;
            trend::check_recordable(&study)?;
            let options = self.options(options.now);
            trend::with_input(project, &study, &options, selected, |input| self.joined(&input, from))?
        } else {
            analyse::join(&Detector::new(outline), self.detections(from)?, &[], options.now, None, selected).0
        };
        let ledger = ledger::read(project)?;
        answer_events(&mut output.trend.events, &ledger, day(options.now));
        output.trend.most = project.config.trend.most();
        Ok((output, ledger))
    }

    /// Warns where the history has recorded events since the export.
    fn warn_recorded(&self, project: &Project) {
        // A join needs no history.
        let records = trend::read_event_records(project).unwrap_or_default();
        let newer = records.iter().filter(|one| !self.dataset.outline.records.contains(one)).count();
        if newer > 0 {
            let (records, root) = (text::count(newer, "record"), self.root.display());
            text::warn(&format!("the dataset at `{root}` lacks {records} of events; export it again to use them"));
        }
    }

    /// # Errors Where the project is configured otherwise than at the export.
    fn check_settings(&self, project: &Project) -> crate::Result<()> {
        let (outline, config) = (&self.dataset.outline, &project.config);
        let differs = |what: String| Err(damaged(format!("{what} than `{FILE_NAME}` says"), REEXPORT));
        if outline.project != config.project.name || outline.every_days != config.schedule.every_days {
            return differs("the dataset has another `project.name` or `schedule.every_days`".to_owned());
        }
        let setting =
            |benchmark: &str, metric: &str| trend::setting(&config.trend, &self.manifest.options, benchmark, metric);
        outline.differing(setting).map_or(Ok(()), |series| {
            let id = text::printable(&series.id);
            differs(format!("`{id}` was detected with another sensitivity or least change"))
        })
    }

    /// # Errors Where it was exported with options that neither a site nor recorded events have.
    fn check_default(&self) -> crate::Result<()> {
        let Some(option) = self.manifest.options.given() else { return Ok(()) };
        let message = format!("the dataset at `{}` was exported with `{option}`", self.root.display());
        refuse(message, "sites and recorded events follow `sprag.toml` and HEAD: leave it out of `sprag export series`")
    }

    /// # Errors Where an export of the history would write other points, commits or settings now.
    fn check_same(&self, mut now: Dataset) -> crate::Result<()> {
        now.outline.take_recorded(&self.dataset.outline);
        if sha256_hex(&now.to_bytes()) == self.manifest.outline.sha256 {
            return Ok(());
        }
        let message = format!("the dataset at `{}` is not of this history as it is now", self.root.display());
        Err(damaged(message, REEXPORT))
    }

    fn options(&self, now: DateTime<Utc>) -> TrendOptions {
        TrendOptions { days: Some(self.dataset.outline.tables.days), ..TrendOptions::events(now) }
    }

    /// What is found in the history that was exported, with what partial results hold of its series in place of detection.
    fn joined(&self, input: &Input<'_>, from: &[PathBuf]) -> crate::Result<TrendOutput> {
        let detections = |outline: &Outline| {
            self.check_same(Dataset::from_outline(outline.clone(), input))?;
            Ok(Some((self.detections(from)?, &self.dataset.outline)))
        };
        analyse::analyse_or(input, None, detections).map(|analysed| analysed.0)
    }

    /// The trend of it.
    pub fn trend(&self, project: &Project, study: &Study, from: &[PathBuf]) -> crate::Result<Trend> {
        self.check_default()?;
        let options = self.options(study.present());
        let output = trend::with_input(project, study, &options, &|_| true, |input| self.joined(&input, from))?;
        Ok(Trend { tables: Tables::default(), most: project.config.trend.most(), ..output.trend })
    }

    /// The time of the newest run.
    pub fn as_of(&self) -> Option<DateTime<Utc>> {
        self.dataset.outline.as_of
    }

    pub fn series(&self) -> Vec<&Series> {
        self.dataset.outline.series.iter().map(|one| &one.series).collect()
    }
}

impl PartFile {
    fn read(&self, root: &Path) -> crate::Result<Vec<u8>> {
        let path = root.join(&self.path);
        if !Path::new(&self.path).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(damaged(format!("`{}` leads out of the dataset", path.display()), REEXPORT));
        }
        let bytes = read_bounded(&path, MOST_BYTES)
            .with_context(|| format!("cannot read `{}`", path.display()))
            .map_err(|error| damaged(error.chain(), REPAIR))?;
        if bytes.len() == self.bytes && sha256_hex(&bytes) == self.sha256 {
            return Ok(bytes);
        }
        let message = format!("`{}` has {} of {} bytes, or others", path.display(), bytes.len(), self.bytes);
        Err(damaged(message, REPAIR))
    }
}

fn no_rows(path: &str, error: &RowsError) -> Error {
    let message = text::printable(&format!("`{path}` does not hold the rows that are expected: {error}"));
    match error {
        RowsError::Codec(_) => Advice::new(message, "write it without compression, or with Snappy or Zstandard").into(),
        _ => {
            damaged(message, "it was cut short, is of another program, or is Arrow with compression, which is not read")
        }
    }
}

/// Without links, also where it is not there.
fn resolved(path: &Path) -> PathBuf {
    let above = || Some(resolved(path.parent()?).join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(above).unwrap_or_else(|| path.to_owned())
}

/// Files, and those in folders, as engines write them.
fn partials(from: &[PathBuf]) -> crate::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in from {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
        let entries: Vec<PathBuf> = entries.with_context(|| format!("cannot read `{}`", path.display()))?;
        let is_partial = |kind: &OsStr| ["parquet", "arrow", "arrows"].iter().any(|one| kind == *one);
        // Engines begin the names of what they have not finished so.
        let is_hidden = |name: &OsStr| name.to_string_lossy().starts_with(['_', '.']);
        let is_wanted = |entry: &PathBuf| {
            (entry.is_dir() || entry.extension().is_some_and(is_partial)) && !entry.file_name().is_some_and(is_hidden)
        };
        files.extend(partials(&entries.into_iter().filter(is_wanted).collect::<Vec<PathBuf>>())?);
    }
    files.sort();
    Ok(files)
}

/// Writes partial results as a stream of Arrow.
pub fn write_stream(rows: &[PartialRow], out: &mut dyn Write) -> crate::Result<()> {
    frame::write_partials_stream(rows, out).context("cannot write what was found")
}

pub fn write_partials(rows: &[PartialRow], output: &Path) -> crate::Result<()> {
    let bytes = frame::partials_file(rows).context("cannot write what was found")?;
    Ok(write_atomic(output, &bytes)?)
}

//! `sprag detect`: change points of any table of time series.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Serialize;

use crate::cli::DetectArgs;
use sprag_analysis::changes::context::Context;
use sprag_analysis::changes::detect::{FEWEST_POINTS, changes_in_context};
use sprag_analysis::changes::exact;
use sprag_analysis::changes::sensitivity::Sensitivity;
use sprag_base::files::{check_writable, read_bounded_from, read_input, write_atomic};
use sprag_formats::series_table::{self, COLUMNS, SeriesTable, TableSeries};
use sprag_model::{Changes, Modes};
use sprag_pipeline::dataset::{self, Opened};
use sprag_pipeline::error::{Context as _, Exit};
use sprag_pipeline::options::{NamedFile, check_distinct};
use sprag_pipeline::{Advice, Result, refuse, text, trend};

/// Tens of millions of points.
const MOST_BYTES: usize = 1 << 30;

/// Of one series alone. The work grows with the square of the points: so many take a minute or two, a million would take days.
const MOST_GROWING: usize = 20_000;

#[derive(Serialize)]
struct SeriesChanges {
    changes: Vec<u64>,
    drifts: Vec<[u64; 2]>,
    ranges: Vec<[u64; 2]>,
    /// The levels before and after each change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<[f64; 2]>,
    /// Where the series alternates between two levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modes: Vec<Modes>,
}

pub(super) fn run(folder: &Path, args: &DetectArgs, input: impl Read, out: &mut dyn Write) -> Result<Exit> {
    let Some(file) = &args.file else { return in_dataset(folder, args, input, out) };
    let files = [
        NamedFile::read("FILE", Some(file), "the table"),
        NamedFile::written("--output", args.output.as_deref(), "what is found"),
    ];
    check_distinct(folder, &files)?;
    if let Some(output) = &args.output {
        check_writable(&folder.join(output))?;
    }
    let bytes = match file.as_os_str() == "-" {
        true => read_bounded_from(input, MOST_BYTES),
        false => read_input(&folder.join(file), MOST_BYTES),
    };
    let bytes = bytes.with_context(|| format!("cannot read `{}`", file.display()))?;
    let table = series_table::read(&bytes).map_err(|error| {
        let message = text::printable(&format!("`{}` is not a table of histories: {error}", file.display()));
        Advice::new(message, format!("the header is `{}`; one row is one point", COLUMNS.join(",")))
    })?;
    if args.stream {
        check_growing(&table, file)?;
    }
    warn_of(&table);
    let chosen = trend::limits(args.sensitivity);
    let sensitivity = args.least.map_or(chosen, |least| chosen.at_least(least));
    let context = Context { more_is_better: args.more_is_better, ..Context::default() };
    let changes_in = |series: &TableSeries, count: usize| changes(series, count, &sensitivity, &context);
    let json = if args.stream {
        serde_json::to_vec(&each(&table, |series| growing(series, |count| changes_in(series, count))))
    } else {
        serde_json::to_vec(&each(&table, |series| series_changes(series, &changes_in(series, series.values.len()))))
    };
    let mut json = json.context("cannot write what was found")?;
    json.push(b'\n');
    match &args.output {
        Some(output) => write_atomic(&folder.join(output), &json)?,
        None => out.write_all(&json)?,
    }
    Ok(Exit::Done)
}

/// Detects in parts of a dataset.
fn in_dataset(folder: &Path, args: &DetectArgs, input: impl Read, out: &mut dyn Write) -> Result<Exit> {
    let parts: Vec<PathBuf> = args.parquet.iter().map(|part| folder.join(part)).collect();
    let opened = match (&args.dataset, parts.first()) {
        (None, Some(part)) => Opened::of_part(part)?,
        (dataset, _) => Opened::open(&folder.join(dataset.as_deref().unwrap_or(Path::new("."))))?,
    };
    if let Some(output) = &args.output {
        check_writable(&folder.join(output))?;
    }
    let detections = if args.arrow { opened.detect_stream(input)? } else { opened.detect(&parts)? };
    match &args.output {
        Some(output) => dataset::write_partials(&detections, &folder.join(output))?,
        None => dataset::write_stream(&detections, out)?,
    }
    Ok(Exit::Done)
}

fn check_growing(table: &SeriesTable, file: &Path) -> Result<()> {
    let square = |points: usize| points.saturating_mul(points);
    let squares = table.series.iter().map(|series| square(series.values.len())).fold(0, usize::saturating_add);
    let Some(longest) = table.series.iter().max_by_key(|series| series.values.len()) else { return Ok(()) };
    if squares <= square(MOST_GROWING) {
        return Ok(());
    }
    let message = format!(
        "`{}` is too long for `--stream`, which analyses every prefix of each series: the longest of {} series, `{}`, has \
         {} points",
        file.display(),
        table.series.len(),
        longest.name,
        longest.values.len()
    );
    let hint = format!(
        "the limit is one series of {MOST_GROWING} points, or 400 of a thousand; leave out older points or `--stream`"
    );
    refuse(text::printable(&message), hint)
}

fn warn_of(table: &SeriesTable) {
    let warn = |count: usize, noun: &str, words: &str| {
        if count > 0 {
            let counted = if noun == "series" { format!("{count} series") } else { text::count(count, noun) };
            text::warn(&format!("{counted} {words}"));
        }
    };
    warn(table.without_value, "row", "without a finite value left out");
    warn(table.pooled, "row", "with the index of another row: the median of an index is used");
    warn(table.unordered, "series", "with rows out of order: they are sorted by index");
    let short = table.series.iter().filter(|series| series.values.len() < FEWEST_POINTS).count();
    warn(short, "series", &format!("of fewer than {FEWEST_POINTS} points, too few to find changes in"));
}

fn each<T: Send>(table: &SeriesTable, of: impl Fn(&TableSeries) -> T + Sync) -> BTreeMap<&str, T> {
    table.series.par_iter().map(|series| (series.name.as_str(), of(series))).collect()
}

fn changes(series: &TableSeries, count: usize, sensitivity: &Sensitivity, context: &Context<'_>) -> Changes {
    let values = &series.values[..count];
    let is_exact = series.exact.contains(&count) && exact::is_steady(values);
    if is_exact { exact::changes(values, sensitivity) } else { changes_in_context(values, sensitivity, context) }
}

fn series_changes(series: &TableSeries, changes: &Changes) -> SeriesChanges {
    let index = |place: usize| series.indices[place];
    // The end of a ramp is the first point after it, which may not exist.
    let end = |place: usize| series.indices.get(place).copied().unwrap_or_else(|| index(place - 1) + 1);
    // The change may lie anywhere between two points.
    let first = |place: usize| place.checked_sub(1).map_or(index(place), |before| index(before) + 1);
    let modes = |one: &Modes| Modes { begin: index(one.begin) as usize, end: end(one.end) as usize, ..*one };
    SeriesChanges {
        changes: changes.points.iter().map(|point| index(point.index)).collect(),
        drifts: changes.drifts.iter().map(|drift| [index(drift.begin), end(drift.end)]).collect(),
        ranges: changes.points.iter().map(|point| [first(point.first), index(point.last)]).collect(),
        steps: changes.points.iter().map(|point| [point.before.value, point.after.value]).collect(),
        modes: changes.modes.iter().map(modes).collect(),
    }
}

/// The changes of each prefix that is long enough, by its length.
fn growing(series: &TableSeries, changes: impl Fn(usize) -> Changes + Sync) -> BTreeMap<usize, Vec<u64>> {
    let changes_of =
        |count: usize| (count, changes(count).points.iter().map(|point| series.indices[point.index]).collect());
    // A series that is always too short is reported all the same.
    let first = FEWEST_POINTS.min(series.values.len());
    (first..=series.values.len()).into_par_iter().map(changes_of).collect()
}

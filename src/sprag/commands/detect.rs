//! `sprag detect`: change points of any table of time series.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::cli::DetectArgs;
use sprag_analysis::changes::context::Context;
use sprag_base::files::{check_writable, read_bounded_from, read_input, write_atomic};
use sprag_formats::series_table::{self, COLUMNS, SeriesTable};
use sprag_pipeline::dataset::{self, Opened};
use sprag_pipeline::error::{Exit, WithContext as _};
use sprag_pipeline::options::{NamedFile, check_distinct};
use sprag_pipeline::{Advice, Result, detect, refuse, text, trend};

/// Tens of millions of points.
const MOST_BYTES: usize = 1 << 30;

/// Of one series alone. The work grows with the square of the points: so many take a minute or two, a million would take days.
const MOST_GROWING: usize = 20_000;

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
    let chosen = trend::limits(args.sensitivity);
    let sensitivity = args.least.map_or(chosen, |least| chosen.at_least(least));
    let context = Context { more_is_better: args.more_is_better, joins_unstable: true, ..Context::default() };
    let json = detect::changes_json(&table, args.stream, &sensitivity, &context);
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

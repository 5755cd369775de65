//! The dataframes behind a [`Frame`], and how they are filled.
//!
//! A history repeats itself: a thousand runs name the same hundred benchmarks. So the frame is a star of three
//! tables: one row a run, one row a series, and one row a value that holds only the numbers of its run and series
//! beside what was measured.

use std::collections::HashMap;

use polars::prelude::*;

use super::catalogue::Catalogue;
use super::cells::{FrameError, number_of, texts};
use super::decoded::{DecodedRuns, Decoder};
use super::order::Order;
use super::values;
use sprag_model::commit::CommitLine;
use sprag_model::environment::Machine;
use sprag_model::head::RunHead;
use sprag_model::run::RecordedRun;

/// Recorded runs as a dataframe: one row a run, benchmark and metric.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Runs that measured something, in the order of [`Order`]; `run` is the row's number.
    pub(super) runs: DataFrame,
    /// Series, by id; `series` is the row's number.
    pub(super) series: DataFrame,
    /// Values, in the order of the runs. Grouping keeps it, so each group of rows is in commit order.
    pub(super) values: DataFrame,
}

impl Frame {
    /// Takes in the runs. `line` gives them their order.
    ///
    /// Runs that measured nothing leave no trace, nor do benchmarks that failed or computed something wrong. A run that
    /// is listed twice is one run. Name and class of a machine are those of its newest run.
    ///
    /// # Errors
    /// When an estimate holds a number that is not finite, which no record can.
    pub fn from_runs(runs: &[RecordedRun], line: &CommitLine) -> Result<Frame, FrameError> {
        let mut seen: HashMap<&str, Vec<&RecordedRun>> = HashMap::new();
        let mut decoder = Decoder::default();
        for run in runs {
            let same = seen.entry(&run.id).or_default();
            if same.iter().all(|known| known.run != run.run) {
                decoder.add("", run)?;
                same.push(run);
            }
        }
        Frame::from_decoded(&decoder.finish(), line)
    }

    /// As [`Frame::from_runs`], of runs that are decoded already, no two of them the same.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn from_decoded(decoded: &DecodedRuns, line: &CommitLine) -> Result<Frame, FrameError> {
        let order = Order::new(line);
        let rows = decoded.rows_of_runs()?;
        let mut measured: Vec<usize> = (0..rows.len()).filter(|&run| !rows[run].is_empty()).collect();
        measured.sort_by_cached_key(|&run| order.place(&decoded.heads[run]));

        let cells = decoded.values.column("cell")?.u32()?.rechunk();
        let cells = cells.cont_slice()?;
        let n_values = cells.len();
        let mut catalogue = Catalogue::new(&decoded.cells);
        let mut series = Vec::with_capacity(n_values);
        let mut runs = Vec::with_capacity(n_values);
        let mut places_of_rows = Vec::with_capacity(n_values);
        let mut places = Vec::with_capacity(measured.len());
        for (number, &run) in measured.iter().enumerate() {
            let rows = rows[run].clone();
            places.push(catalogue.enter(&decoded.heads[run], &cells[rows.clone()], &mut series));
            runs.extend(std::iter::repeat_n(number_of(number), rows.len()));
            places_of_rows.extend(rows.map(number_of));
        }
        let heads: Vec<&RunHead> = measured.iter().map(|&run| &decoded.heads[run]).collect();
        let runs_frame = runs_frame(&heads, &order, |number| catalogue.place(places[number]))?;
        let (series_frame, new_numbers) = catalogue.into_frame()?;
        for series in &mut series {
            *series = new_numbers[*series as usize];
        }
        let judged: Vec<bool> = series_frame.column("judged")?.bool()?.iter().map(Option::unwrap_or_default).collect();
        let values = values::in_order(&decoded.values, places_of_rows, runs, series, &judged)?;
        Ok(Frame { runs: runs_frame, series: series_frame, values })
    }
}

/// The runs as a frame; `place` gives the suite and machine of the run with that number.
fn runs_frame<'a>(
    runs: &[&'a RunHead],
    order: &Order<'_>,
    place: impl Fn(usize) -> (&'a str, &'a Machine),
) -> PolarsResult<DataFrame> {
    let places = || (0..runs.len()).map(&place);
    let commits = || runs.iter().map(|run| run.commit.as_ref());
    let positions = runs.iter().map(|run| order.position(run).map(number_of));
    let commit_times = commits().map(|commit| commit.map(|commit| commit.commit_time.timestamp_micros()));
    let run_times = runs.iter().map(|run| run.timestamp.timestamp_micros());
    let shas = commits().map(|commit| commit.map(|commit| commit.sha.as_str()));
    let dirty = commits().map(|commit| commit.is_some_and(|commit| commit.dirty));
    let looks_back = look_back(runs, order, &place);
    DataFrame::new(
        runs.len(),
        vec![
            Column::new("run".into(), (0..number_of(runs.len())).collect::<Vec<u32>>()),
            texts("run_id", runs.iter().map(|run| run.id.as_str())),
            texts("suite", places().map(|(suite, _)| suite)),
            texts("machine", places().map(|(_, machine)| machine.id.as_str())),
            texts("machine_name", places().map(|(_, machine)| machine.name.as_str())),
            texts("environment_key", runs.iter().map(|run| run.environment.key.as_str())),
            StringChunked::from_iter_options("commit".into(), shas).into_column(),
            Column::new("position".into(), positions.collect::<Vec<Option<u32>>>()),
            times("commit_time", commit_times),
            times("run_time", run_times.map(Some)),
            Column::new("dirty".into(), dirty.collect::<Vec<bool>>()),
            Column::new("looks_back".into(), looks_back),
        ],
    )
}

/// Of each run, whether its commit stands before one that its suite and machine measured earlier.
fn look_back<'a>(
    runs: &[&'a RunHead],
    order: &Order<'_>,
    place: impl Fn(usize) -> (&'a str, &'a Machine),
) -> Vec<bool> {
    let mut by_time: Vec<usize> = (0..runs.len()).collect();
    by_time.sort_by_key(|&run| runs[run].timestamp);
    let mut newest: HashMap<(&str, &str), usize> = HashMap::new();
    let mut looks_back = vec![false; runs.len()];
    for same_time in by_time.chunk_by(|a, b| runs[*a].timestamp == runs[*b].timestamp) {
        let key = |run: usize| (place(run).0, place(run).1.id.as_str());
        let placed = same_time.iter().filter_map(|&run| Some((run, order.position(runs[run])?)));
        for (run, position) in placed.clone() {
            looks_back[run] = newest.get(&key(run)).is_some_and(|newest| position < *newest);
        }
        for (run, position) in placed {
            let newest = newest.entry(key(run)).or_insert(position);
            *newest = position.max(*newest);
        }
    }
    looks_back
}

fn times(name: &str, micros: impl Iterator<Item = Option<i64>>) -> Column {
    let micros = Int64Chunked::from_iter_options(name.into(), micros);
    micros.into_datetime(TimeUnit::Microseconds, None).into_column()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::{line, measurement, run, run_of};
    use sprag_model::benchmark::ParityStatus;
    use sprag_model::run::RunStatus;
    use sprag_model::sample::Estimate;

    /// One row a run, benchmark and metric, with everything that is known of it.
    fn rows(frame: &Frame) -> LazyFrame {
        let series = frame.series.clone().lazy().drop(cols(["judged", "role"]));
        let runs = frame.runs.clone().lazy().drop(cols(["suite", "machine", "machine_name", "looks_back"]));
        let values = frame.values.clone().lazy().inner_join(runs, col("run"), col("run"));
        values.inner_join(series, col("series"), col("series"))
    }

    #[test]
    fn a_row_holds_all_that_is_known() {
        let mut measured = run("a", 5, &[measurement("pack", &[("time", 2.0), ("tiles_per_s", 8.0)])]);
        let time = &mut measured.run.measurements[0].estimates[0];
        time.interval = Some((1.5, 2.5));
        time.p50 = Some(2.25);
        time.workers = vec![1.75, 2.25];
        let frame = Frame::from_runs(&[measured], &line(&[("c0", 0), ("c5", 5)])).unwrap();
        let rows = rows(&frame).sort(["metric"], SortMultipleOptions::default()).collect().unwrap();
        let check = |column: &str, expected: [&str; 2]| {
            let column = rows.column(column).unwrap().cast(&DataType::String).unwrap();
            let cells: Vec<&str> = column.str().unwrap().iter().map(|cell| cell.unwrap_or("null")).collect();
            assert_eq!(cells, expected, "{}", column.name());
        };
        check("run_id", ["a", "a"]);
        check("suite", ["cpu", "cpu"]);
        check("benchmark", ["cpu/pack @fast", "cpu/pack @fast"]);
        check("name", ["pack", "pack"]);
        check("params", ["", ""]);
        check("variant", ["fast", "fast"]);
        check("version", ["1", "1"]);
        check("metric", ["tiles_per_s", "time"]);
        check("unit", ["1/s", "s"]);
        check("better", ["higher", "lower"]);
        check("machine_name", ["m", "m"]);
        check("machine_class", ["EPYC", "EPYC"]);
        check("commit", ["c5", "c5"]);
        check("position", ["1", "1"]);
        check("commit_time", ["2025-01-06 05:00:00.000000", "2025-01-06 05:00:00.000000"]);
        check("run_time", ["2025-01-06 05:00:00.000000", "2025-01-06 05:00:00.000000"]);
        check("dirty", ["false", "false"]);
        check("value", ["8.0", "2.0"]);
        check("lower", ["null", "1.5"]);
        check("upper", ["null", "2.5"]);
        let workers = rows.column("workers").unwrap().list().unwrap();
        let workers: Vec<Vec<f64>> = workers
            .amortized_iter()
            .map(|one| one.unwrap().as_ref().f64().unwrap().into_no_null_iter().collect())
            .collect();
        assert_eq!(workers, [vec![], vec![1.75, 2.25]]);
        check("judged", ["false", "true"]);
        for column in ["machine", "environment_key"] {
            assert_eq!(rows.column(column).unwrap().null_count(), 0);
        }
    }

    #[test]
    fn what_measured_nothing_leaves_no_trace() {
        let mut skipped = run_of("s", "c1", 1, 1);
        skipped.run.status = RunStatus::Skipped;
        let mut failed = measurement("pack", &[("time", 1.0)]);
        failed.failure = Some("broke".to_owned());
        let mut wrong = measurement("scan", &[("time", 1.0)]);
        wrong.parity.status = ParityStatus::Mismatch;
        let check = |runs: &[RecordedRun]| {
            let frame = Frame::from_runs(runs, &CommitLine::default()).unwrap();
            assert_eq!(frame.series().unwrap(), []);
            assert_eq!(frame.latest(&[]).unwrap(), []);
            assert_eq!(frame.weeks().unwrap(), []);
            assert_eq!(frame.suites(&[]).unwrap(), []);
            assert_eq!(frame.movers(7).unwrap(), []);
            assert_eq!(frame.geomeans(7).unwrap(), []);
            assert_eq!(frame.suite_noise().unwrap(), []);
            assert!(frame.judged().unwrap().is_empty());
        };
        check(&[]);
        check(&[skipped.clone()]);
        check(&[skipped, run("f", 2, &[failed, wrong, measurement("sort", &[])])]);
    }

    #[test]
    fn a_run_listed_twice_is_one_run() {
        let twice = run("a", 1, &[measurement("pack", &[("time", 1.0)])]);
        let other = run("b", 1, &[measurement("pack", &[("time", 2.0)])]);
        let frame = Frame::from_runs(&[twice.clone(), other, twice], &CommitLine::default()).unwrap();
        assert_eq!(frame.latest(&[]).unwrap()[0].points, 2);
        assert_eq!(frame.weeks().unwrap()[0].runs, 2);
        assert_eq!(frame.suites(&[]).unwrap()[0].runs, 2);
    }

    #[test]
    fn a_number_that_is_none_is_refused() {
        let check = |spoil: fn(&mut Estimate), expected: &str| {
            let mut run = run("a", 5, &[measurement("pack", &[("time", 2.0)])]);
            spoil(&mut run.run.measurements[0].estimates[0]);
            let error = Frame::from_runs(&[run], &CommitLine::default()).unwrap_err();
            let text = format!("put run `a` into a frame: {expected} of `cpu/pack @fast time` is not a finite number");
            assert_eq!(error.to_string(), text);
        };
        check(|estimate| estimate.value = f64::NAN, "the value");
        check(|estimate| estimate.interval = Some((f64::NEG_INFINITY, 1.0)), "the lower end");
        check(|estimate| estimate.interval = Some((1.0, f64::INFINITY)), "the upper end");
        check(|estimate| estimate.p50 = Some(f64::NAN), "the median");
        check(|estimate| estimate.p95 = Some(f64::NAN), "the 95th percentile");
        check(|estimate| estimate.min = Some(f64::NAN), "the minimum");
        check(|estimate| estimate.detectable = Some(f64::INFINITY), "the detectable change");
        check(|estimate| estimate.workers = vec![1.0, f64::NAN], "a worker's median");
    }
}

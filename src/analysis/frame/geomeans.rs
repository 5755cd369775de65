//! What moved lately as a whole: by suite, machine and element type.
//!
//! The changes are those of the movers (`movers.rs`), over the same windows. Their mean is geometric: the mean of the
//! logarithms of the ratios. Its interval is that of Student's t over the series, so it says how far the mean would
//! hold for other series of the same kind, and not how noisy the single series are.

use polars::prelude::*;

use super::cells::{Cells, FrameError};
use super::change::{add_up_in_order, from_log};
use super::table::Frame;
use sprag_base::stats::student;
use sprag_model::movers::GeomeanRow;

/// The fewest series that tell how much series differ.
const FEWEST_SERIES: usize = 3;

/// The value of the parameter `dtype` in a written list of parameters, whose keys and values hold no reserved character.
const DTYPE: &str = r"[{,]dtype=([^{},=]+)[},]";

impl Frame {
    /// Every suite, machine and element type with a judged series that has a change from the window of `days` days
    /// before to the newest: by suite, machine name and element type, where none is the first.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn geomeans(&self, days: u32) -> Result<Vec<GeomeanRow>, FrameError> {
        let changes = self
            .levels(days)?
            .filter(col("worse").is_not_null())
            .with_column(col("params").str().extract(lit(DTYPE), 1).alias("dtype"))
            .sort(["worse", "series"], SortMultipleOptions::default().with_order_descending_multi([true, false]));
        let rows = add_up_in_order(changes)?
            .group_by_stable(["suite", "machine", "dtype"].map(col))
            .agg([
                col("machine_name").first(),
                len().alias("n_series"),
                col("worse").mean().alias("mean"),
                col("worse").std(1).alias("deviation"),
                col("worse").first().alias("worst"),
                col("series_id").first().alias("worst_series"),
            ])
            .sort(["suite", "machine_name", "machine", "dtype"], SortMultipleOptions::default())
            .collect()?;
        let cells = Cells(&rows);
        let suites = cells.texts("suite")?;
        let machines = cells.texts("machine")?;
        let machine_names = cells.texts("machine_name")?;
        let dtypes = cells.optional_texts("dtype")?;
        let series = cells.counts("n_series")?;
        let means = cells.numbers("mean")?;
        let deviations = cells.optional_numbers("deviation")?;
        let worst = cells.numbers("worst")?;
        let worst_series = cells.texts("worst_series")?;
        let rows = (0..suites.len()).map(|row| {
            let change = |log: f64| from_log(Some(log)).ok_or(FrameError::Gap("mean"));
            let deviation = deviations[row].filter(|_| series[row] >= FEWEST_SERIES);
            let half = deviation.map(|deviation| half_width(deviation, series[row]));
            let interval =
                half.map(|half| Ok::<_, FrameError>((change(means[row] - half)?, change(means[row] + half)?)));
            Ok(GeomeanRow {
                suite: suites[row].to_owned(),
                machine: machines[row].to_owned(),
                machine_name: machine_names[row].to_owned(),
                dtype: dtypes[row].map(str::to_owned),
                series: series[row],
                change: change(means[row])?,
                interval: interval.transpose()?,
                worst: change(worst[row])?,
                worst_series: worst_series[row].to_owned(),
            })
        });
        rows.collect()
    }
}

/// Half the 95 % interval of a mean of so many logarithms.
fn half_width(deviation: f64, count: usize) -> f64 {
    student::two_sided_95(count - 1) * deviation / (count as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::frame::fixture::{close, measurement, run};
    use sprag_model::commit::CommitLine;
    use sprag_model::run::RecordedRun;

    /// Name, parameters, metric, value before and value now.
    type Given<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, f64, f64);

    /// Of two runs a day apart.
    fn geomeans(benchmarks: &[Given<'_>]) -> Vec<GeomeanRow> {
        let runs = [0, 1].map(|day: u8| {
            let measurements = benchmarks.iter().map(|&(name, params, metric, before, now)| {
                let mut measurement = measurement(name, &[(metric, if day == 0 { before } else { now })]);
                let params = params.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
                Arc::make_mut(&mut measurement.benchmark).params = params.collect();
                measurement
            });
            run(&day.to_string(), 24 * i64::from(day), &measurements.collect::<Vec<_>>())
        });
        frame(&runs).geomeans(1).unwrap()
    }

    fn frame(runs: &[RecordedRun]) -> Frame {
        Frame::from_runs(runs, &CommitLine::default()).unwrap()
    }

    #[test]
    fn series_are_put_together_by_their_element_type() {
        let rows = geomeans(&[
            ("a", &[("dtype", "f32"), ("n", "8")], "time", 1.0, 2.0),
            ("b", &[("c", "8"), ("dtype", "f32"), ("n", "8")], "tiles_per_s", 8.0, 1.0),
            ("c", &[("c", "1"), ("dtype", "bf16")], "time", 4.0, 1.0),
            ("d", &[], "time", 1.0, 3.0),
            ("e", &[("old-dtype", "f32"), ("dtypes", "f32"), ("x", "dtype")], "time", 1.0, 3.0),
            ("f", &[("dtype", "f64")], "time", 0.0, 3.0),
        ]);
        let found: Vec<_> = rows.iter().map(|row| (row.dtype.as_deref(), row.series)).collect();
        assert_eq!(found, [(None, 2), (Some("bf16"), 1), (Some("f32"), 2)]);
        // Ratios of 2 and 8 have the mean 4; two series tell nothing of how series differ.
        for (row, [change, worst]) in rows.iter().zip([[2.0, 2.0], [-0.75, -0.75], [3.0, 7.0]]) {
            assert!(close(Some(row.change), Some(change)) && close(Some(row.worst), Some(worst)), "{row:?}");
            assert_eq!((row.suite.as_str(), row.machine_name.as_str(), row.interval), ("cpu", "m", None));
        }
        let worst = rows.iter().map(|row| row.worst_series.as_str());
        let begin = ["cpu-d-fast-time-", "cpu-c-", "cpu-b-"];
        assert!(worst.clone().zip(begin).all(|(id, begin)| id.starts_with(begin)), "{:?}", worst.collect::<Vec<_>>());
    }

    #[test]
    fn three_series_have_an_interval() {
        // Logarithms of ratios -ln 2, 0 and ln 2: the mean is 0, the deviation ln 2, and t of two degrees of freedom
        // 4.302653 (Student 1908; any table), so the ends are 2 to the power of 4.302653 over the root of three.
        let rows =
            geomeans(&[("a", &[], "time", 2.0, 1.0), ("b", &[], "time", 1.0, 1.0), ("c", &[], "time", 1.0, 2.0)]);
        let end = 2.0_f64.powf(4.302_652_729_749_464 / 3.0_f64.sqrt());
        let (low, high) = rows[0].interval.unwrap();
        assert!(close(Some(rows[0].change), Some(0.0)), "{rows:?}");
        assert!(close(Some(low), Some(1.0 / end - 1.0)) && close(Some(high), Some(end - 1.0)), "{rows:?} {end}");
        // Series that moved alike leave nothing open.
        let rows = geomeans(&["a", "b", "c"].map(|name| (name, [].as_slice(), "time", 1.0, 2.0)));
        let (low, high) = rows[0].interval.unwrap();
        assert!(close(Some(low), Some(1.0)) && close(Some(high), Some(1.0)), "{rows:?}");
    }

    #[test]
    fn figures_survive_the_whole_range() {
        let rows = geomeans(&[
            ("a", &[], "time", 1e-150, 1e150),
            ("b", &[], "time", 1e-150, 1e150),
            ("c", &[], "time", 1e150, 1e-150),
        ]);
        let row = &rows[0];
        assert!(close(Some(row.change / 1e100), Some(1.0)) && close(Some(row.worst / 1e300), Some(1.0)), "{row:?}");
        assert_eq!(row.interval, Some((-1.0, f64::MAX)));
        let rows = geomeans(&[("a", &[], "time", 1e-300, 1e300)]);
        assert_eq!((rows[0].change, rows[0].worst), (f64::MAX, f64::MAX));
    }

    #[test]
    fn nothing_before_is_no_row() {
        assert_eq!(frame(&[run("1", 1, &[measurement("a", &[("time", 1.0)])])]).geomeans(7).unwrap(), []);
        assert_eq!(geomeans(&[("a", &[], "time", 0.0, 1.0), ("b", &[], "time", 1.0, -1.0)]), []);
    }
}

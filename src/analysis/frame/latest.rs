//! The newest value of each series beside the one before it and the baseline's.

use polars::prelude::*;

use super::cells::{Cells, FrameError, texts};
use super::change::{finite, relative};
use super::table::Frame;
use sprag_model::baseline::Baseline;
use sprag_model::rollup::LatestRow;

impl Frame {
    /// The newest value of each series, sorted by the series' id, beside the one before it and the baseline's.
    ///
    /// A change is absent where the earlier value is not above zero.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn latest(&self, baselines: &[Baseline]) -> Result<Vec<LatestRow>, FrameError> {
        let latest = self
            .newest_values(baselines)?
            .inner_join(self.runs.clone().lazy().select([col("run"), col("run_id")]), col("run"), col("run"))
            .with_columns([
                relative("current", "previous").alias("change_previous"),
                relative("current", "baseline").alias("change_baseline"),
            ])
            .sort(["series"], SortMultipleOptions::default())
            .collect()?;
        let cells = Cells(&latest);
        let series = cells.texts("series_id")?;
        let current = cells.numbers("current")?;
        let runs = cells.texts("run_id")?;
        let previous = cells.optional_numbers("previous")?;
        let baseline = cells.optional_numbers("baseline")?;
        let change_previous = cells.optional_numbers("change_previous")?;
        let change_baseline = cells.optional_numbers("change_baseline")?;
        let points = cells.counts("points")?;
        let rows = (0..series.len()).map(|row| LatestRow {
            series: series[row].to_owned(),
            current: current[row],
            run: runs[row].to_owned(),
            previous: previous[row],
            baseline: baseline[row],
            change_previous: finite(change_previous[row]),
            change_baseline: finite(change_baseline[row]),
            points: points[row],
        });
        Ok(rows.collect())
    }

    /// One row a series: what is known of it, `current` and its `run`, `previous`, `baseline`, and how many `points`.
    pub(super) fn newest_values(&self, baselines: &[Baseline]) -> Result<LazyFrame, FrameError> {
        let keys = ["suite", "machine_class", "benchmark", "metric", "unit"].map(col);
        let newest = self.values.clone().lazy().group_by_stable([col("series")]).agg([
            col("value").last().alias("current"),
            col("run").last().alias("run"),
            col("value").get(lit(-2), true).alias("previous"),
            len().alias("points"),
        ]);
        Ok(newest.inner_join(self.series.clone().lazy(), col("series"), col("series")).join(
            baseline_frame(baselines)?.lazy(),
            &keys,
            &keys,
            JoinArgs::new(JoinType::Left),
        ))
    }
}

/// The metrics of the baselines, one row each; of two baselines for one thing, the younger holds.
fn baseline_frame(baselines: &[Baseline]) -> PolarsResult<DataFrame> {
    let mut baselines: Vec<&Baseline> = baselines.iter().collect();
    baselines.sort_by_key(|baseline| (baseline.timestamp_utc, &baseline.run));
    let entries = || {
        baselines.iter().flat_map(|baseline| {
            let metrics = baseline.metrics.iter();
            metrics.filter_map(|(key, entry)| Some((*baseline, Baseline::split_key(key)?, entry)))
        })
    };
    let frame = DataFrame::new_infer_height(vec![
        texts("suite", entries().map(|(baseline, ..)| baseline.suite.as_str())),
        texts("machine_class", entries().map(|(baseline, ..)| baseline.machine_class.as_str())),
        texts("benchmark", entries().map(|(_, (benchmark, _), _)| benchmark)),
        texts("metric", entries().map(|(_, (_, metric), _)| metric)),
        texts("unit", entries().map(|(.., entry)| entry.unit.symbol())),
        Column::new("baseline".into(), entries().map(|(.., entry)| entry.value).collect::<Vec<f64>>()),
    ])?;
    let keys = ["suite", "machine_class", "benchmark", "metric", "unit"];
    let keys = Some(keys.map(str::to_owned).to_vec());
    frame.unique_stable(keys.as_deref(), UniqueKeepStrategy::Last, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::{baseline, measurement, run, time};
    use sprag_model::commit::CommitLine;
    use sprag_model::unit::Unit;

    /// The one row of a benchmark with those times, against those baselines.
    fn latest(times: &[f64], baselines: &[Baseline]) -> LatestRow {
        let runs = times
            .iter()
            .enumerate()
            .map(|(hours, &value)| run(&format!("r{hours}"), hours as i64, &[measurement("pack", &[("time", value)])]));
        let runs: Vec<_> = runs.collect();
        let mut rows = Frame::from_runs(&runs, &CommitLine::default()).unwrap().latest(baselines).unwrap();
        assert_eq!(rows.len(), 1);
        rows.remove(0)
    }

    #[test]
    fn the_newest_value_stands_beside_the_one_before() {
        let check = |times: &[f64], previous: Option<f64>, change: Option<f64>| {
            let row = latest(times, &[]);
            assert_eq!(row.current, times[times.len() - 1]);
            assert_eq!(row.run, format!("r{}", times.len() - 1));
            assert_eq!(row.points, times.len());
            assert_eq!((row.previous, row.change_previous), (previous, change), "{times:?}");
            assert_eq!((row.baseline, row.change_baseline), (None, None));
        };
        check(&[4.0], None, None);
        check(&[4.0, 5.0], Some(4.0), Some(0.25));
        check(&[9.0, 4.0, 3.0], Some(4.0), Some(-0.25));
        check(&[0.0, 3.0], Some(0.0), None);
        check(&[-1.0, 3.0], Some(-1.0), None);
        check(&[2.0, 0.0], Some(2.0), Some(-1.0));
        check(&[2.0, -2.0], Some(2.0), Some(-2.0));
        check(&[1e-150, 1e150], Some(1e-150), Some(1e150 / 1e-150));
        check(&[1e-300, 1e300], Some(1e-300), Some(f64::MAX));
    }

    #[test]
    fn the_newest_value_stands_beside_the_baseline() {
        let check = |baselines: &[Baseline], expected: Option<f64>, change: Option<f64>| {
            let row = latest(&[5.0], baselines);
            assert_eq!((row.baseline, row.change_baseline), (expected, change));
        };
        let good = baseline(&[("pack", "time", 4.0), ("scan", "time", 7.0)]);
        check(std::slice::from_ref(&good), Some(4.0), Some(0.25));
        check(&[baseline(&[("pack", "ratio", 4.0)])], None, None);
        check(&[Baseline { suite: "gpu".to_owned(), ..good.clone() }], None, None);
        check(&[Baseline { machine_class: "Xeon".to_owned(), ..good.clone() }], None, None);
        check(&[baseline(&[("pack", "time", 0.0)])], Some(0.0), None);

        let mut other_unit = good.clone();
        other_unit.metrics.values_mut().for_each(|entry| entry.unit = Unit::Byte);
        check(&[other_unit], None, None);

        let younger = Baseline { timestamp_utc: time(1), ..baseline(&[("pack", "time", 10.0)]) };
        check(&[younger.clone(), good.clone()], Some(10.0), Some(-0.5));
        check(&[good, younger], Some(10.0), Some(-0.5));
    }

    #[test]
    fn many_rows_stay_in_order() {
        // Enough rows for several threads: one commit measured 700 times, seven runs an hour, in reverse order.
        let runs = (0..700_i32).rev().map(|number| {
            let mut run = run(
                &format!("{number:04}"),
                0,
                &["a", "b", "c"].map(|name| measurement(name, &[("time", f64::from(number))])),
            );
            run.run.timestamp = time(i64::from(number / 7));
            run
        });
        let frame = Frame::from_runs(&runs.collect::<Vec<_>>(), &CommitLine::default()).unwrap();
        for row in frame.latest(&[]).unwrap() {
            assert_eq!((row.current, row.previous, row.run.as_str(), row.points), (699.0, Some(698.0), "0699", 700));
        }
        for series in frame.series().unwrap() {
            assert!(series.points.iter().map(|point| point.value).eq((0..700_i32).map(f64::from)));
        }
    }
}

//! What moved in single weeks: each judged series in a week beside the last week before in which it had a value.
//!
//! Weeks, medians and directions are those of [`Frame::weeks`], ranks and the order of rows those of [`Frame::movers`]. A
//! week is told from its own runs and those before it alone: what comes later changes nothing, but for which metric of a
//! benchmark is judged, which its newest run decides.

use polars::prelude::*;

use super::cells::{Cells, FrameError};
use super::change::{log_of, relative, worse};
use super::table::Frame;
use super::{movers, weeks};
use sprag_model::movers::WeekMovers;

impl Frame {
    /// The newest so many weeks in which something was measured and moved, newest first.
    ///
    /// # Errors
    /// When a dataframe operation fails.
    pub fn week_movers(&self, most: usize) -> Result<Vec<WeekMovers>, FrameError> {
        let by_difference = RankOptions { method: RankMethod::Ordinal, descending: true };
        let before = |column: &str| col(column).shift(lit(1)).over([col("series")]);
        let week = || col("week").cast(DataType::Int32);
        let rows = self
            .weekly_medians()?
            .with_columns([before("now")?.alias("before"), before("runs_now")?.alias("runs_before")])
            .filter(col("before").is_not_null().and(week().gt_eq(lit(self.first_week(most)?))))
            .inner_join(self.series.clone().lazy(), col("series"), col("series"))
            .with_columns([
                relative("now", "before").alias("change"),
                (col("now") - col("before")).alias("difference"),
                worse(log_of("now") - log_of("before")).alias("worse"),
            ])
            .sort(["series"], SortMultipleOptions::default())
            .with_column(
                worse(col("difference")).rank(by_difference, None).over([col("week"), col("unit")])?.alias("rank"),
            )
            .sort(
                ["week", "worse", "series"],
                SortMultipleOptions::default()
                    .with_order_descending_multi([true, true, false])
                    .with_nulls_last_multi([true, true, true]),
            )
            .collect()?;
        let mut all: Vec<WeekMovers> = Vec::new();
        for (week, row) in Cells(&rows).dates("week")?.into_iter().zip(movers::read(&rows)?) {
            match all.last_mut().filter(|of| of.week == week) {
                Some(of) => of.movers.push(row),
                None => all.push(WeekMovers { week, movers: vec![row] }),
            }
        }
        Ok(all)
    }

    /// The first of the newest so many weeks in which something was measured, in days; beyond all where there is none.
    fn first_week(&self, most: usize) -> Result<i32, FrameError> {
        let weeks = self.runs.clone().lazy().select([weeks::week().cast(DataType::Int32)]).collect()?;
        let mut weeks: Vec<i32> = weeks.column("week")?.i32()?.iter().flatten().collect();
        weeks.sort_unstable_by(|a, b| b.cmp(a));
        weeks.dedup();
        weeks.truncate(most);
        Ok(weeks.last().copied().unwrap_or(i32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::frame_of;
    use sprag_model::movers::MoverRow;

    const WEEK: i64 = 7 * 24;

    /// The weeks of values given as benchmark, hours after a Monday, value.
    fn week_movers(values: &[(&str, i64, f64)], most: usize) -> Vec<WeekMovers> {
        let values: Vec<_> = values.iter().map(|&(name, hours, value)| (name, "time", hours, value)).collect();
        frame_of(&values).week_movers(most).unwrap()
    }

    #[test]
    fn a_week_is_held_against_the_last_one_with_a_value() {
        // The second week has another benchmark only; medians of the third: 3 of (1, 3, 4), and 5.
        let values = [
            ("pack", 1, 2.0),
            ("scan", WEEK, 8.0),
            ("pack", 2 * WEEK, 1.0),
            ("pack", 2 * WEEK + 1, 3.0),
            ("pack", 2 * WEEK + 2, 4.0),
            ("scan", 2 * WEEK, 5.0),
            ("scan", 3 * WEEK, 5.0),
        ];
        let weeks = week_movers(&values, 9);
        let rows: Vec<String> = weeks
            .iter()
            .flat_map(|week| week.movers.iter().map(move |row| (week.week, row)))
            .map(|(week, row)| {
                let MoverRow { series, before, now, runs_before, runs_now, difference, rank_in_unit, .. } = row;
                format!("{week} {} {before} {now} {runs_before} {runs_now} {difference} {rank_in_unit}", &series[4..8])
            })
            .collect();
        let expected = ["2025-01-27 scan 5 5 1 1 0 1", "2025-01-20 pack 2 3 1 3 1 1", "2025-01-20 scan 8 5 1 1 -3 2"];
        assert_eq!(rows, expected);
        assert_eq!(week_movers(&values, 1).len(), 1);
        assert_eq!((week_movers(&values, 0).len(), week_movers(&values[..1], 3).len()), (0, 0));
    }

    #[test]
    fn later_runs_change_nothing() {
        let values: Vec<(&str, i64, f64)> =
            (0..40).map(|i| (["pack", "scan"][i % 2], 40 * i as i64, 1.0 + (i * 7 % 11) as f64)).collect();
        let all = week_movers(&values, 9);
        let until = 6 * WEEK;
        let early: Vec<_> = values.iter().copied().filter(|(_, hours, _)| *hours < until).collect();
        let early = week_movers(&early, 9);
        assert!(early.len() > 3 && all.ends_with(&early), "{all:?} {early:?}");
    }
}

//! The values: one row a run, benchmark and metric, with the numbers of its run and series.

use polars::prelude::*;

use crate::model::sample::Estimate;

/// The columns of the values, filled run by run in the order of the runs.
pub(super) struct Values {
    /// The number of the series as the catalogue first gave it; whoever pushes a row adds to it too.
    pub(super) series: Vec<u32>,
    run: Vec<u32>,
    value: Vec<f64>,
    lower: PrimitiveChunkedBuilder<Float64Type>,
    upper: PrimitiveChunkedBuilder<Float64Type>,
    p50: PrimitiveChunkedBuilder<Float64Type>,
    p95: PrimitiveChunkedBuilder<Float64Type>,
    n: Vec<u64>,
}

impl Values {
    pub(super) fn with_capacity(n_values: usize) -> Values {
        let optional = |name: &str| PrimitiveChunkedBuilder::new(name.into(), n_values);
        Values {
            series: Vec::with_capacity(n_values),
            run: Vec::with_capacity(n_values),
            value: Vec::with_capacity(n_values),
            lower: optional("lower"),
            upper: optional("upper"),
            p50: optional("p50"),
            p95: optional("p95"),
            n: Vec::with_capacity(n_values),
        }
    }

    pub(super) fn push(&mut self, run: u32, estimate: &Estimate) {
        self.run.push(run);
        self.value.push(estimate.value);
        self.lower.append_option(estimate.interval.map(|(lower, _)| lower));
        self.upper.append_option(estimate.interval.map(|(_, upper)| upper));
        self.p50.append_option(estimate.p50);
        self.p95.append_option(estimate.p95);
        self.n.push(estimate.n);
    }

    /// Numbers the series anew, as `series` has them.
    pub(super) fn into_frame(mut self, new_numbers: &[u32], series: &DataFrame) -> PolarsResult<DataFrame> {
        let judged = series.column("judged")?.bool()?;
        let judged: Vec<bool> = judged.iter().map(Option::unwrap_or_default).collect();
        for series in &mut self.series {
            *series = new_numbers[*series as usize];
        }
        let judged: Vec<bool> = self.series.iter().map(|&series| judged[series as usize]).collect();
        DataFrame::new(
            self.series.len(),
            vec![
                Column::new("series".into(), self.series),
                Column::new("run".into(), self.run),
                Column::new("judged".into(), judged),
                Column::new("value".into(), self.value),
                self.lower.finish().into_column(),
                self.upper.finish().into_column(),
                self.p50.finish().into_column(),
                self.p95.finish().into_column(),
                Column::new("n".into(), self.n),
            ],
        )
    }
}

//! The values: one row a run, benchmark and metric.

use polars::prelude::*;

use super::cells::FrameError;
use sprag_model::sample::Estimate;

/// The columns of the values, filled run by run: as much of an estimate as is told of a series, which a record that is
/// shown in full says more of.
pub(super) struct Values {
    run: Vec<u32>,
    cell: Vec<u32>,
    value: Vec<f64>,
    lower: PrimitiveChunkedBuilder<Float64Type>,
    upper: PrimitiveChunkedBuilder<Float64Type>,
    workers: ListPrimitiveChunkedBuilder<Float64Type>,
}

impl Default for Values {
    fn default() -> Values {
        let optional = |name: &str| PrimitiveChunkedBuilder::new(name.into(), 0);
        Values {
            run: Vec::new(),
            cell: Vec::new(),
            value: Vec::new(),
            lower: optional("lower"),
            upper: optional("upper"),
            workers: ListPrimitiveChunkedBuilder::new("workers".into(), 0, 0, DataType::Float64),
        }
    }
}

impl Values {
    pub(super) fn push(&mut self, run: u32, cell: u32, estimate: &Estimate) {
        self.run.push(run);
        self.cell.push(cell);
        self.value.push(estimate.value);
        self.lower.append_option(estimate.interval.map(|(lower, _)| lower));
        self.upper.append_option(estimate.interval.map(|(_, upper)| upper));
        self.workers.append_slice(&estimate.workers);
    }

    pub(super) fn into_frame(mut self) -> DataFrame {
        let height = self.run.len();
        let columns = vec![
            Column::new("run".into(), self.run),
            Column::new("cell".into(), self.cell),
            Column::new("value".into(), self.value),
            self.lower.finish().into_column(),
            self.upper.finish().into_column(),
            self.workers.finish().into_column(),
        ];
        DataFrame::new(height, columns).expect("all columns grow by one with each value")
    }
}

/// The values with the number of their workers, and the medians of all workers in one column: to read a list costs
/// several times as much as to read its numbers.
pub(super) fn without_lists(values: &DataFrame) -> Result<(DataFrame, DataFrame), FrameError> {
    let lists = values.column("workers")?.list()?.rechunk();
    let lengths =
        lists.downcast_as_array().offsets().as_slice().windows(2).map(|bounds| (bounds[1] - bounds[0]) as u32);
    let lengths = Column::new("n_workers".into(), lengths.collect::<Vec<u32>>());
    let medians = lists.get_inner().with_name("median".into()).into_column();
    let mut plain = values.drop("workers")?;
    plain.with_column(lengths)?;
    Ok((plain, DataFrame::new(medians.len(), vec![medians])?))
}

/// What [`without_lists`] took apart.
pub(super) fn with_lists(mut values: DataFrame, medians: &DataFrame) -> Result<DataFrame, FrameError> {
    let medians = medians.column("median")?.f64()?.rechunk();
    let lengths = values.drop_in_place("n_workers")?;
    let mut ends = Vec::with_capacity(lengths.len() + 1);
    ends.push(0_i64);
    let mut end = 0;
    for length in lengths.u32()?.iter() {
        end += i64::from(length.ok_or(FrameError::Gap("n_workers"))?);
        ends.push(end);
    }
    if medians.len() as i64 != end || medians.has_nulls() {
        return Err(FrameError::Gap("median"));
    }
    // The lists share the one column of medians; to append them one by one would copy it.
    let medians: ArrayRef = Box::new(medians.downcast_as_array().clone());
    let kind = LargeListArray::default_datatype(medians.dtype().clone());
    let lists = LargeListArray::new(kind, ends.try_into()?, medians, None);
    values.with_column(ListChunked::with_chunk("workers".into(), lists).into_column())?;
    Ok(values)
}

/// The rows with these numbers, in that order.
pub(super) fn taken(values: &DataFrame, rows: Vec<u32>) -> Result<DataFrame, FrameError> {
    let lists = values.column("workers")?.list()?.rechunk();
    let (ends, medians) = (lists.downcast_as_array().offsets().as_slice(), lists.get_inner());
    let medians = medians.f64()?.rechunk();
    let medians = medians.cont_slice()?;
    let of_row = |row: &u32| ends[*row as usize] as usize..ends[*row as usize + 1] as usize;
    // One after the other they are copied several times as quickly as polars takes lists.
    let lengths: Vec<u32> = rows.iter().map(|row| of_row(row).len() as u32).collect();
    let mut taken = Vec::with_capacity(lengths.iter().map(|length| *length as usize).sum());
    rows.iter().for_each(|row| taken.extend_from_slice(&medians[of_row(row)]));
    let medians = DataFrame::new(taken.len(), vec![Column::new("median".into(), taken)])?;
    let plain = values.drop("workers")?;
    // A column of nothing stays one value, which polars would write down for each row.
    let (nothing, something): (Vec<&Column>, Vec<&Column>) =
        plain.columns().iter().partition(|column| column.null_count() == column.len());
    let rows = IdxCa::from_vec("row".into(), rows);
    let mut taken = DataFrame::new(plain.height(), something.into_iter().cloned().collect())?.take(&rows)?;
    for column in nothing {
        taken.with_column(Column::full_null(column.name().clone(), rows.len(), column.dtype()))?;
    }
    // In their order, by which frames are put one below the other.
    let mut taken = taken.select(plain.get_column_names_owned())?;
    taken.with_column(Column::new("n_workers".into(), lengths))?;
    with_lists(taken, &medians)
}

/// The decoded values as a frame has them: each with the numbers of its run and its series there, and whether a gate
/// looks at it.
pub(super) fn in_order(
    decoded: &DataFrame,
    rows: Vec<u32>,
    runs: Vec<u32>,
    series: Vec<u32>,
    judged: &[bool],
) -> Result<DataFrame, FrameError> {
    let is_in_order = rows.len() == decoded.height() && rows.iter().zip(0..).all(|(&row, place)| row == place);
    let mut values = if is_in_order { decoded.clone() } else { taken(decoded, rows)? };
    let judged: Vec<bool> = series.iter().map(|&series| judged[series as usize]).collect();
    values.drop_in_place("cell")?;
    values.replace("run", Column::new("run".into(), runs))?;
    values.with_column(Column::new("series".into(), series))?;
    values.with_column(Column::new("judged".into(), judged))?;
    Ok(values)
}

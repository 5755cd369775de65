//! Cells of a computed frame as plain values, a column at a time.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Utc};
use polars::prelude::*;
use serde::Serialize;

use sprag_model::medians::Medians;

pub(super) struct Cells<'a>(pub(super) &'a DataFrame);

impl<'a> Cells<'a> {
    pub(super) fn texts(&self, name: &'static str) -> Result<Vec<&'a str>, FrameError> {
        self.optional_texts(name)?.into_iter().map(|cell| cell.ok_or(FrameError::Gap(name))).collect()
    }

    pub(super) fn optional_texts(&self, name: &'static str) -> Result<Vec<Option<&'a str>>, FrameError> {
        Ok(self.0.column(name)?.str()?.iter().collect())
    }

    pub(super) fn numbers(&self, name: &'static str) -> Result<Vec<f64>, FrameError> {
        self.0.column(name)?.f64()?.iter().map(|cell| cell.ok_or(FrameError::Gap(name))).collect()
    }

    pub(super) fn optional_numbers(&self, name: &'static str) -> Result<Vec<Option<f64>>, FrameError> {
        Ok(self.0.column(name)?.f64()?.iter().collect())
    }

    pub(super) fn integers(&self, name: &'static str) -> Result<Vec<u32>, FrameError> {
        self.0.column(name)?.u32()?.iter().map(|cell| cell.ok_or(FrameError::Gap(name))).collect()
    }

    /// Likewise, one by one. A column without any number is not made.
    pub(super) fn some_numbers(&self, name: &'static str) -> Result<impl Iterator<Item = Option<f64>>, FrameError> {
        let column = self.0.column(name)?;
        let height = column.len();
        let numbers = if column.null_count() < height { Some(column.f64()?) } else { None };
        let cells = numbers.into_iter().flat_map(|numbers| numbers.iter());
        Ok(cells.chain(std::iter::repeat_n(None, if numbers.is_some() { 0 } else { height })))
    }

    /// Likewise of whole numbers, none of which may be absent.
    pub(super) fn each_whole_number(&self, name: &'static str) -> Result<impl Iterator<Item = u32>, FrameError> {
        let numbers = self.0.column(name)?.u32()?;
        if numbers.has_nulls() { Err(FrameError::Gap(name)) } else { Ok(numbers.into_no_null_iter()) }
    }

    pub(super) fn optional_whole_numbers(&self, name: &'static str) -> Result<Vec<Option<u32>>, FrameError> {
        Ok(self.0.column(name)?.u32()?.iter().collect())
    }

    pub(super) fn counts(&self, name: &'static str) -> Result<Vec<usize>, FrameError> {
        Ok(self.integers(name)?.into_iter().map(|count| count as usize).collect())
    }

    pub(super) fn flags(&self, name: &'static str) -> Result<Vec<bool>, FrameError> {
        self.0.column(name)?.bool()?.iter().map(|cell| cell.ok_or(FrameError::Gap(name))).collect()
    }

    /// The lists, which share one copy of their numbers.
    pub(super) fn lists(&self, name: &'static str) -> Result<impl Iterator<Item = Option<Medians>>, FrameError> {
        let lists = self.0.column(name)?.list()?.rechunk();
        let numbers = lists.get_inner();
        let numbers: Arc<[f64]> = numbers.f64()?.rechunk().cont_slice()?.into();
        let mut ends = lists.downcast_as_array().offsets().as_slice().to_vec().into_iter();
        let mut start = ends.next().unwrap_or_default();
        Ok(ends.map(move |end| {
            let range = start as usize..end as usize;
            start = end;
            Medians::new(&numbers, range)
        }))
    }

    pub(super) fn times(&self, name: &'static str) -> Result<Vec<DateTime<Utc>>, FrameError> {
        let micros = self.0.column(name)?.datetime()?.physical().iter();
        micros.map(|cell| cell.and_then(DateTime::from_timestamp_micros).ok_or(FrameError::Gap(name))).collect()
    }

    pub(super) fn dates(&self, name: &'static str) -> Result<Vec<NaiveDate>, FrameError> {
        let days = self.0.column(name)?.date()?.physical().iter();
        days.map(|cell| cell.and_then(NaiveDate::from_epoch_days).ok_or(FrameError::Gap(name))).collect()
    }
}

/// Why the runs cannot be put into a frame or read off it.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A number that is none. Records cannot hold one, so it comes from a run that was never recorded.
    #[error("put run `{run}` into a frame: {field} of `{benchmark} {metric}` is not a finite number")]
    NotFinite {
        run: String,
        /// The written identity of the benchmark.
        benchmark: String,
        metric: String,
        /// Which number of the estimate.
        field: &'static str,
    },
    /// A column that has no gaps by construction has one.
    #[error("read the column `{0}` of a frame: it has a gap")]
    Gap(&'static str),
    /// A dataframe operation failed.
    #[error("compute over a frame")]
    Dataframe(#[from] polars::error::PolarsError),
}

/// The number of a row, as the frame holds it.
pub(super) fn number_of(row: usize) -> u32 {
    u32::try_from(row).expect("more than 2^32 runs or series do not fit into memory")
}

pub(super) fn texts<T: AsRef<str>>(name: &str, cells: impl Iterator<Item = T>) -> Column {
    StringChunked::from_iter_values(name.into(), cells).into_column()
}

pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("it holds nothing that JSON cannot")
}

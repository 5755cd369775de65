//! A folder of labelled series: `series.csv`, as `sprag detect` reads it, and `labels.json` with the truth.

use std::io;
use std::path::Path;

use serde_json::Value;
use sprag_formats::series_table;

use super::generate::{Labelled, Planted};

/// Reads the folder.
///
/// # Errors
/// When a file is not there or is not what it should be.
pub(crate) fn read(folder: &Path) -> io::Result<Vec<Labelled>> {
    let table = series_table::read(&std::fs::read(folder.join("series.csv"))?).map_err(io::Error::other)?;
    let labels: Value = serde_json::from_slice(&std::fs::read(folder.join("labels.json"))?)?;
    let labelled = |series: series_table::TableSeries| {
        let label = &labels["series"][&series.name];
        let list = |field: &str| label[field].as_array().cloned().unwrap_or_default();
        let number = |value: &Value| value.as_u64().unwrap_or(0) as usize;
        let planted = |change: &Value| Planted {
            index: number(&change["index"]),
            relative: change["rel"].as_f64().unwrap_or(f64::NAN),
            clearness: change["z"].as_f64().unwrap_or(f64::NAN),
        };
        Labelled {
            family: label["family"].as_str().unwrap_or_default().to_owned(),
            values: series.values,
            changes: list("changes").iter().map(planted).collect(),
            drifts: list("drifts").iter().map(|drift| (number(&drift[0]), number(&drift[1]))).collect(),
        }
    };
    Ok(table.series.into_iter().map(labelled).collect())
}

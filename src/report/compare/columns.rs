//! The columns of values that a suite has on a machine: one a commit and environment.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::numbers::Numbers;
use sprag_model::trend::SeriesTrend;

/// A suite and the id of a machine.
pub(super) type Place<'a> = (&'a str, &'a str);

/// An environment in which a commit was measured, and when first.
type Measured<'a> = (DateTime<Utc>, &'a Arc<str>);

/// One commit in one environment. All points of it share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// Its place among the columns of its suite on its machine.
    pub(super) column: usize,
    pub(super) number: usize,
    pub(super) environment: Arc<str>,
}

/// The columns of each place in the order of their commits; of a commit that was measured in several environments, in the
/// order in which it first was.
pub(super) fn columns<'a>(
    series: impl Iterator<Item = &'a SeriesTrend>,
    numbers: &Numbers<'_>,
) -> BTreeMap<Place<'a>, Vec<Arc<Column>>> {
    let mut first: BTreeMap<Place<'a>, Vec<Vec<Measured<'a>>>> = BTreeMap::new();
    for one in series {
        let of_place = first.entry((&one.suite, &one.machine.id)).or_default();
        for point in one.pooled.iter() {
            let Some(number) = numbers.of(one, point) else { continue };
            if of_place.len() <= number {
                of_place.resize(number + 1, Vec::new());
            }
            match of_place[number].iter_mut().find(|(_, key)| *key == &point.environment_key) {
                Some((time, _)) => *time = point.time.min(*time),
                None => of_place[number].push((point.time, &point.environment_key)),
            }
        }
    }
    let in_order = |of_place: Vec<Vec<Measured<'a>>>| {
        let mut columns = Vec::new();
        for (number, mut measured) in of_place.into_iter().enumerate() {
            measured.sort();
            for (_, key) in measured {
                let column = Column { column: columns.len(), number, environment: Arc::clone(key) };
                columns.push(Arc::new(column));
            }
        }
        columns
    };
    first.into_iter().map(|(place, columns)| (place, in_order(columns))).collect()
}

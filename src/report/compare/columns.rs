//! The columns of values that a suite has on a machine: one a commit and environment.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::model::trend::SeriesTrend;

/// A suite and the id of a machine.
pub(super) type Place<'a> = (&'a str, &'a str);

/// The number of a commit and the key of an environment.
type At<'a> = (usize, &'a Arc<str>);

/// One commit in one environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// The number of the commit.
    pub(super) number: usize,
    /// The key of the environment.
    pub(super) environment: Arc<str>,
}

/// The columns of each place in the order of their commits; of a commit that was measured in several environments, in the
/// order in which it first was.
pub(super) fn columns<'a>(
    series: impl Iterator<Item = &'a SeriesTrend>,
    numbers: &HashMap<&str, usize>,
) -> BTreeMap<Place<'a>, Vec<Column>> {
    let mut first: BTreeMap<Place<'a>, HashMap<At<'a>, DateTime<Utc>>> = BTreeMap::new();
    for one in series {
        let of_place = first.entry((&one.suite, &one.machine.id)).or_default();
        for point in one.pooled.iter() {
            let Some(number) = numbers.get(&*point.commit) else { continue };
            let time = of_place.entry((*number, &point.environment_key)).or_insert(point.time);
            *time = point.time.min(*time);
        }
    }
    let in_order = |of_place: HashMap<At<'a>, DateTime<Utc>>| {
        let mut all: Vec<(At<'_>, DateTime<Utc>)> = of_place.into_iter().collect();
        all.sort_by_key(|((number, key), time)| (*number, *time, *key));
        all.into_iter().map(|((number, key), _)| Column { number, environment: Arc::clone(key) }).collect()
    };
    first.into_iter().map(|(place, columns)| (place, in_order(columns))).collect()
}

//! The columns of values that a suite has on a machine: one a commit and environment.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use sprag_model::trend::{PooledPoint, SeriesTrend};

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
            let Some(number) = numbers.number(one, point) else { continue };
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

/// A value: whole numbers times a power of ten.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PointData {
    /// The commit and the environment.
    pub(super) of: Arc<Column>,
    /// The median over the processes of all its runs, in base units.
    pub(super) value: f64,
    /// The lowest and the highest median of a process; absent where there is one process only.
    pub(super) spread: Option<(f64, f64)>,
}

impl Deref for PointData {
    type Target = Column;

    fn deref(&self) -> &Column {
        &self.of
    }
}

/// The number of the commit at each place of a machine's axis, where it has one.
pub(super) struct Numbers<'a>(BTreeMap<&'a str, Vec<Option<usize>>>);

impl<'a> Numbers<'a> {
    /// Of the commits of which a series has a point.
    pub(super) fn new(series: &'a [SeriesTrend], number: impl Fn(&str) -> Option<usize>) -> Numbers<'a> {
        let of_place = |commit: Option<&str>| number(commit?);
        let of_machine =
            |(machine, commits): (_, Vec<Option<&str>>)| (machine, commits.into_iter().map(of_place).collect());
        Numbers(commits(series).into_iter().map(of_machine).collect())
    }

    pub(super) fn number(&self, one: &SeriesTrend, point: &PooledPoint) -> Option<usize> {
        self.0.get(one.machine.id.as_str())?.get(point.place).copied().flatten()
    }
}

/// The commits of which a series has a point, by machine and place.
pub(super) fn commits(series: &[SeriesTrend]) -> BTreeMap<&str, Vec<Option<&str>>> {
    let mut machines: BTreeMap<&str, Vec<Option<&str>>> = BTreeMap::new();
    for one in series {
        let places = machines.entry(&one.machine.id).or_default();
        for point in one.pooled.iter() {
            if places.len() <= point.place {
                places.resize(point.place + 1, None);
            }
            places[point.place].get_or_insert(&point.commit);
        }
    }
    machines
}

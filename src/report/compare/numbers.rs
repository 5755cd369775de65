//! The numbers of the commits that can be compared, by the places of points on the axes of their machines: a series has a point
//! for nearly each commit, and to look its name up each time would take longer than what is done with it.

use std::collections::BTreeMap;

use sprag_model::trend::{PooledPoint, SeriesTrend};

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

    pub(super) fn of(&self, one: &SeriesTrend, point: &PooledPoint) -> Option<usize> {
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

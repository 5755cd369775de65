//! Benchmarks that bear the same id: none of them can be told from the other, so all of that id fail.

use std::collections::{BTreeMap, HashSet};

use sprag_model::foreign::Reported;
use sprag_model::imported::{Entry, EntryStatus};

/// Leaves one entry an id, in the order of the first; where there were more, it says so and has no values.
pub(super) fn unique(reported: Vec<Reported>) -> Vec<Reported> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<Reported> = Vec::with_capacity(reported.len());
    for one in reported {
        let id = one.benchmark.id();
        match places.get(&id) {
            Some(place) => kept[*place].result = Err(format!("`{id}` is reported more than once")),
            None => {
                places.insert(id, kept.len());
                kept.push(one);
            }
        }
    }
    kept
}

/// The same for what is imported: an entry is told by its series.
pub(super) fn unique_entries(entries: Vec<Entry>) -> Vec<Entry> {
    let names: HashSet<&str> = entries.iter().map(|entry| entry.series.as_str()).collect();
    if names.len() == entries.len() {
        return entries;
    }
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        match places.get(&entry.series).and_then(|place| kept.get_mut(*place)) {
            Some(first) => {
                let reason = format!("`{}` is reported more than once", first.series.escape_debug());
                first.status = EntryStatus::Failed(reason);
                first.observations.clear();
            }
            None => {
                places.insert(entry.series.clone(), kept.len());
                kept.push(entry);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_comes_twice_fails_and_the_others_stand() {
        let report = |name: &str| Reported::failed("s", name, 1, "first reason".to_owned());
        let kept = unique(vec![report("a"), report("b"), report("a")]);
        let reasons: Vec<_> =
            kept.iter().map(|one| one.result.as_ref().expect_err("all have failed").as_str()).collect();
        assert_eq!(reasons, ["`s/a @default` is reported more than once", "first reason"]);
    }

    #[test]
    fn a_series_that_comes_twice_fails_and_the_others_stand() {
        let entry = |series: &str| Entry { series: series.to_owned(), ..Entry::default() };
        let kept = unique_entries(vec![entry("a"), entry("b"), entry("a"), entry("a")]);
        let failed = EntryStatus::Failed("`a` is reported more than once".to_owned());
        let statuses: Vec<_> = kept.iter().map(|entry| (entry.series.as_str(), &entry.status)).collect();
        assert_eq!(statuses, [("a", &failed), ("b", &EntryStatus::Ok)]);
    }
}

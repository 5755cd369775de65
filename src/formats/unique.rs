//! Benchmarks that bear the same id: none of them can be told from the other, so all of that id fail.

use std::collections::BTreeMap;

use crate::model::foreign::Reported;

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
}

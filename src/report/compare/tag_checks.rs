//! Checks of commits with a tag that were not measured.

#![cfg(test)]

use super::checks::{check, long, with};
use super::commits::ComparedCommit;
use super::export;
use super::pairs::{Pair, Pairs};
use super::table::{self, Table};
use super::words::Kind;
use crate::sample_data;

#[test]
fn a_tag_that_was_not_measured_has_of_each_series_what_was_measured_last_before_it() {
    let mut sample = sample_data::rich();
    let place = with(&sample, |data, _| {
        let places: Vec<usize> = data.commits.iter().filter_map(|commit| commit.place).collect();
        places.windows(2).find(|pair| pair[1] > pair[0] + 1).expect("some commit was not measured")[0] + 1
    });
    sample.line.commits[place].tags = vec!["v9-<a>".to_owned(), "v9b".to_owned()];
    let first = sample.line.commits[0].clone();
    with(&sample, |data, catalog| {
        assert!(data.tagged.iter().all(|one| one.sha != first.sha), "nothing was measured before the first");
        let number =
            data.commits.len() + data.tagged.iter().position(|one| one.tags[0] == "v9-<a>").expect("it is there");
        let stands = data.measured(number);
        assert_eq!(data.commits[stands].place, Some(place - 1));
        assert_eq!(data.name(number), format!("v9-<a> (as of {})", &data.commits[stands].sha[..7]));
        assert_eq!((data.between(stands, number), data.between(number, stands + 1)), (0, 0));
        assert_eq!(data.between(0, number), stands);
        let pairs = Pairs::new(data, catalog).releases;
        let with_it: Vec<&Pair> = pairs.iter().filter(|pair| pair.a == number || pair.b == number).collect();
        assert_eq!(with_it.len(), 2, "one before and one after: {pairs:?}");
        assert!(with_it.iter().all(|pair| pair.page(data).contains(&sample.line.commits[place].sha[..12])));
        let text = export::markdown(data, [0, number], &table::table(data, 0, number));
        assert!(text.contains("to v9-&lt;a&gt; (as of ") && text.contains("not measured: each series"), "{text}");
        // A series that was left out at the nearest commit was measured earlier, and its row says where.
        let mut data = data.clone();
        let one = &mut data.series[0];
        one.points.retain(|point| point.number + 2 < stands || point.number > stands);
        let earlier = one.points.iter().rev().find(|point| point.number < stands).expect("it has some").number;
        let id = one.id.clone();
        let result = table::table(&data, 0, number);
        let row = result.groups.iter().flat_map(|group| &group.rows).find(|row| row.id == id).expect("it has a row");
        assert!(row.reason.ends_with(&format!("B as of {}", data.name(earlier))), "{}", row.reason);
        // Where nothing was measured between, there is no verdict.
        let remaining = |table: &Table| {
            let row = table
                .groups
                .iter()
                .flat_map(|group| &group.rows)
                .find(|row| row.id == id)
                .cloned()
                .expect("it has a row");
            (row.kind, row.reason)
        };
        let as_of = data.name(earlier);
        let reason = format!("not measured between the two; B as of {as_of}");
        assert_eq!(remaining(&table::table(&data, earlier, number)), (Kind::Missing, reason));
        check("between", &data, &[(earlier, number), (number, earlier), (stands, number)]);
        check("as-of", &data, &[(0, number), (number, data.commits.len() - 1)]);
        // Too long ago counts for nothing.
        let mut long = long(&data, 3);
        long.tagged = vec![ComparedCommit { stands: Some(long.commits.len() - 1), ..data.tagged[0].clone() }];
        long.series[0].points.retain(|point| point.number < 10);
        let number = long.commits.len();
        let result = table::table(&long, 0, number);
        let row = result.groups.iter().flat_map(|group| &group.rows).find(|row| row.id == id).expect("it has a row");
        assert_eq!((row.kind, row.reason.as_str()), (Kind::Missing, "not measured at B"));
        check("long-ago", &long, &[(0, number), (number, 1)]);
    });
}

#[test]
fn two_tags_at_which_the_same_was_measured_are_one_release() {
    let mut sample = sample_data::rich();
    let end = sample.line.commits.len();
    let mut after = sample.line.commits[end - 1].clone();
    for tag in ["w1", "w2"] {
        after.sha = format!("{}{}", if tag == "w1" { "a" } else { "b" }, &after.sha[1..]);
        after.tags = vec![tag.to_owned()];
        sample.line.commits.push(after.clone());
    }
    with(&sample, |data, catalog| {
        let newest = data.commits.len() - 1;
        let names: Vec<String> = data.releases().into_iter().map(|number| data.commit(number).name()).collect();
        let is_tagged = !data.commits[newest].tags.is_empty();
        assert_eq!(names.iter().filter(|name| name.starts_with('w')).count(), usize::from(!is_tagged), "{names:?}");
        let pairs = Pairs::new(data, catalog).releases;
        assert!(pairs.iter().all(|pair| data.measured(pair.a) < data.measured(pair.b)), "{pairs:?}");
    });
}

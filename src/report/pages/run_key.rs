//! What the page of a run hangs on, as a digest: where that is as it was, so is the page.
//!
//! The record never changes. Around it stand the frame of the site and links to pages that come and go; what surrounded a run is
//! held against the run before it, and of a run of many metrics those are listed that lie farthest from the points before.

use std::collections::BTreeMap;

use super::frame::{Frame, Part};
use super::run_surroundings;
use crate::catalog::Catalog;
use crate::link;
use sprag_model::digest::{Digest, RunningHash};
use sprag_model::head::RunHead;

/// So many bytes of the digest of its id stand for a series.
const NAME: usize = 8;

/// What the pages of the runs of a history hang on beside the runs themselves.
pub(crate) struct RunKeys<'a> {
    around: String,
    /// Of each machine, by commit, all points of its series up to there.
    points: BTreeMap<&'a str, BTreeMap<&'a str, String>>,
}

impl<'a> RunKeys<'a> {
    /// What counts for the runs of a history.
    pub(crate) fn of(catalog: &Catalog<'a>) -> RunKeys<'a> {
        let path = link::run("any");
        let frame = Frame::new(catalog, &path, Part::Runs, String::new(), String::new()).of_one(catalog, None);
        let mut around = RunningHash::default();
        around.add(format!("{frame:?}").as_bytes());
        for one in &catalog.analysis.series {
            around.add(one.series.id.as_bytes());
            around.add(b"\n");
        }
        RunKeys { around: around.hex(), points: points(catalog) }
    }

    /// What the page of a run hangs on; `blob` stands for the content of its record.
    pub(crate) fn key(&self, catalog: &Catalog<'_>, head: &RunHead, blob: &str) -> Digest {
        let commit = head.commit.as_ref().map_or("", |commit| commit.sha.as_str());
        let points = self.points.get(head.machine.id.as_str()).and_then(|machine| machine.get(commit));
        let links = [
            catalog.analysis.suites.iter().any(|suite| suite.run == head.id),
            catalog.commit_page(commit).is_some(),
            catalog.machine_page(&head.machine.id).is_some(),
        ];
        let points = points.map_or("", String::as_str);
        let before = run_surroundings::before(catalog, &head.machine.id, &head.suite, head.age());
        let before = before.map_or("", |before| before.id.as_str());
        let parts: [&str; 6] = [&self.around, blob, &head.id, &head.path, points, before];
        Digest::of(&[parts.join("\n").as_bytes(), &links.map(u8::from)])
    }
}

fn points<'a>(catalog: &Catalog<'a>) -> BTreeMap<&'a str, BTreeMap<&'a str, String>> {
    // Of each machine, by place: the commit, and the points there one after the other.
    let mut machines: BTreeMap<&str, Vec<(&str, Vec<u8>)>> = BTreeMap::new();
    for series in &catalog.trend.series {
        let places = machines.entry(&series.machine.id).or_default();
        let name = Digest::of(&[series.series.as_bytes()]);
        let most = series.pooled.iter().map(|point| point.place + 1).max().unwrap_or(0);
        places.resize(places.len().max(most), ("", Vec::new()));
        for point in &*series.pooled {
            let (commit, told) = &mut places[point.place];
            *commit = &point.commit;
            told.extend_from_slice(&name.0[..NAME]);
            told.extend_from_slice(point.environment_key.as_bytes());
            told.extend_from_slice(&point.value.to_le_bytes());
        }
    }
    let up_to = |places: Vec<(&'a str, Vec<u8>)>| {
        let mut before = String::new();
        let measured = places.into_iter().filter(|(_, told)| !told.is_empty());
        let each = measured.map(|(commit, told)| {
            before = Digest::of(&[&told, before.as_bytes()]).to_string();
            (commit, before.clone())
        });
        each.collect()
    };
    machines.into_iter().map(|(machine, places)| (machine, up_to(places))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data::{self, Sample};

    fn keys(sample: &Sample) -> Vec<Digest> {
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let keys = RunKeys::of(&catalog);
        heads.iter().map(|head| keys.key(&catalog, head, &format!("blob of {}", head.id))).collect()
    }

    /// Of how many runs the key is another after a change of the sample.
    fn changed(change: impl FnOnce(&mut Sample)) -> usize {
        let mut sample = sample_data::rich();
        let before = keys(&sample);
        change(&mut sample);
        before.iter().zip(keys(&sample)).filter(|(before, after)| *before != after).count()
    }

    #[test]
    fn equal_input_gives_equal_keys_and_each_run_its_own() {
        assert_eq!(changed(|_| ()), 0);
        let mut all = keys(&sample_data::rich());
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn what_a_page_shows_is_in_its_key() {
        let all = sample_data::rich().runs.len();
        assert_eq!(changed(|sample| sample.analysis.project = "Other".to_owned()), all);
        assert_eq!(changed(|sample| sample.analysis.every_days += 1), all);
        assert_eq!(changed(|sample| sample.releases.newest.clear()), all);
        assert_eq!(changed(|sample| drop(sample.analysis.series.pop())), all);
        // The run that was the newest of its suite and the one that is.
        let older = sample_data::rich().runs[0].id.clone();
        assert_eq!(changed(|sample| sample.analysis.suites[0].run = older), 2);
        // An old commit has a page where it is a release, and its runs lead there.
        let tagged = changed(|sample| sample.line.commits[0].tags.push("v0".to_owned()));
        assert!((1..all).contains(&tagged), "{tagged} of {all}");
        // What surrounded a run is held against the run before it.
        let other = changed(|sample| sample.runs[0].id = "0".repeat(16));
        assert!((1..=2).contains(&other), "{other}");
    }

    #[test]
    fn a_link_that_comes_or_goes_is_in_the_key() {
        let mut sample = sample_data::rich();
        let oldest = sample.runs.iter().filter(|run| run.run.commit.is_some()).min_by_key(|run| run.run.timestamp);
        let sha = oldest.and_then(|run| run.run.commit.as_ref()).map(|commit| commit.sha.clone()).expect("it has one");
        let mut event = sample.trend.events[0].clone();
        sample.trend.events.clear();
        let before = keys(&sample);
        event.first_bad.sha.clone_from(&sha);
        sample.trend.events.push(event);
        for ((run, before), after) in sample.runs.iter().zip(before).zip(keys(&sample)) {
            if run.run.commit.as_ref().is_some_and(|commit| commit.sha == sha) {
                assert_ne!(before, after, "{}", run.id);
            }
        }
    }

    #[test]
    fn points_count_for_the_runs_from_there_on() {
        let moved = |place: fn(usize) -> usize| {
            changed(|sample| {
                let one = &mut sample.trend.series[0];
                let mut pooled = one.pooled.to_vec();
                let place = place(pooled.len());
                pooled[place].value *= 2.0;
                one.pooled = pooled.into();
            })
        };
        let (first, last) = (moved(|_| 0), moved(|count| count - 1));
        assert!(0 < last && last < first, "{last}, {first}");
    }
}

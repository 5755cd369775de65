//! The key of the page of a series, by which a page that is there is taken over: whatever changes the page changes it.

use std::collections::BTreeMap;

use super::ReportError;
use super::catalog::Catalog;
use super::pages;
use super::sample_data::{self, Sample};
use sprag_model::digest::Digest;
use sprag_model::event::EventState;
use sprag_model::verdict::Verdict;

/// Of each series the key of its page, and the page.
fn pages(sample: &Sample) -> BTreeMap<String, (Digest, Vec<u8>)> {
    let heads = sample.heads();
    let catalog = Catalog::new(&sample.input(&heads));
    let page = |draft: pages::SeriesDraft| -> Result<_, ReportError> {
        let key = draft.key();
        draft.draw().map(|page| (page.path, (key, page.bytes)))
    };
    let drafts = sample.analysis.series.iter().map(|series| pages::series(&catalog, series).and_then(page));
    drafts.collect::<Result<_, ReportError>>().expect("all pages are drawn")
}

/// Of how many series the page is another after a change of the sample, which is of all whose key is.
fn changed(what: &str, change: impl FnOnce(&mut Sample)) -> usize {
    let mut sample = sample_data::rich();
    let before = pages(&sample);
    change(&mut sample);
    let after = pages(&sample);
    let mut count = 0;
    for (path, (key, page)) in &after {
        let Some((key_before, page_before)) = before.get(path) else { continue };
        assert!(page == page_before || key != key_before, "{what}: {path} is another page, and its key is the same");
        count += usize::from(page != page_before);
    }
    count
}

#[test]
fn whatever_a_page_of_a_series_shows_is_in_its_key() {
    let all = sample_data::rich().analysis.series.len();
    assert_eq!(changed("nothing", |_| ()), 0);
    assert_eq!(changed("the project", |sample| sample.analysis.project = "Other".to_owned()), all);
    assert_eq!(changed("the schedule", |sample| sample.analysis.every_days += 1), all);
    assert_eq!(changed("the branch", |sample| sample.analysis.history.reference = None), all);
    let release = |sample: &mut Sample| sample.line.commits[0].tags.push("v0".to_owned());
    assert!(changed("an old release", release) > 0);
    let some = |what: &str, change: &dyn Fn(&mut Sample)| {
        let count = changed(what, change);
        assert!(count > 0, "{what} changes no page");
        assert!(count < all, "{what} changes all pages");
    };
    some("an old value", &|sample| sample.analysis.series[0].series.points[0].value *= 1.5);
    some("the newest value", &|sample| sample.analysis.series[0].latest.current *= 1.5);
    some("an interval", &|sample| {
        sample.analysis.series[0].series.points.last_mut().expect("it has points").interval = Some((0.5, 2.0));
    });
    some("what processes measured", &|sample| {
        sample.analysis.series.iter_mut().take(5).for_each(|one| {
            one.series.points.last_mut().expect("it has points").workers = [0.5, 0.6, 0.7].into();
        });
    });
    some("an environment", &|sample| {
        let points = &mut sample.analysis.series[0].series.points;
        let place = points.len() / 2;
        points[place].run_mut().environment_key = "another".into();
    });
    some("a run of changed files", &|sample| {
        sample.analysis.series[0].series.points.last_mut().expect("it has points").run_mut().dirty = true;
    });
    some("a verdict", &|sample| {
        let comparisons = sample.analysis.series.iter_mut().filter_map(|one| one.comparison.as_mut());
        comparisons.take(1).for_each(|comparison| comparison.verdict = Verdict::Missing);
    });
    some("a limit", &|sample| {
        let comparisons = sample.analysis.series.iter_mut().filter_map(|one| one.comparison.as_mut());
        comparisons.filter(|one| one.allowed.is_some()).take(1).for_each(|one| one.allowed = Some(1e-9));
    });
    some("whether a gate looks at it", &|sample| {
        let one = sample.analysis.series.iter_mut().find(|one| one.judged);
        one.expect("one is judged").judged = false;
    });
    some("an event that is taken back", &|sample| {
        sample.trend.events[0].state = EventState::TakenBack { by: "e-777777".to_owned() };
    });
    some("an event that may be chance", &|sample| sample.trend.events[0].sure ^= true);
    some("an event that is gone", &|sample| drop(sample.trend.events.remove(0)));
    some("what was fitted", &|sample| {
        let one = sample.trend.series.iter_mut().find(|one| !one.changes.points.is_empty());
        one.expect("one has a change").changes.points[0].after.value *= 1.5;
    });
    some("what a series can show", &|sample| sample.trend.series[0].detectable = Some(0.5));
    some("a series that is gone", &|sample| drop(sample.analysis.series.remove(0)));
}

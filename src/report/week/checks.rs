//! Checks of the reports of weeks over the made-up history.

use super::{WEEKS, weeks};
use crate::catalog::Catalog;
use crate::sample_data;

#[test]
fn a_week_reads_well_as_markdown() {
    let sample = sample_data::rich();
    let heads = sample.heads();
    let catalog = Catalog::new(&sample.input(&heads));
    let weeks = weeks(&catalog);
    assert_eq!(weeks.len(), WEEKS);
    let worst = weeks.iter().find(|week| week.monday.to_string() == "2026-11-09").expect("the week is one of them");
    insta::assert_snapshot!("week", super::sheet(&catalog, worst).markdown());
    let newest = super::sheet(&catalog, &weeks[0]).markdown();
    assert!(!newest.contains("<script") && !newest.contains('\u{202e}'), "{newest}");
    assert!(newest.contains("It is the newest week") && newest.contains("no CUDA driver library"), "{newest}");
    let moved = weeks.iter().find(|week| week.monday.to_string() == "2026-09-14").expect("the week is one of them");
    let moved = super::sheet(&catalog, moved).markdown();
    assert!(moved.contains("compiler") && moved.contains("1.91"), "{moved}");
}

#[test]
fn a_suite_that_stopped_on_a_machine_is_named_for_some_weeks() {
    let mut sample = sample_data::rich();
    let day = |text: &str| text.parse::<chrono::NaiveDate>().expect("a day");
    let gap = day("2026-11-02")..day("2026-11-16");
    let gone = sample.runs[0].run.suite.clone();
    sample.runs.retain(|run| run.run.suite != gone || !gap.contains(&run.run.timestamp.date_naive()));
    let heads = sample.heads();
    let catalog = Catalog::new(&sample.input(&heads));
    let weeks = weeks(&catalog);
    let result = |monday: &str| {
        let week = weeks.iter().find(|week| week.monday == day(monday)).expect("the week is one of them");
        (week.missing.iter().map(|run| run.suite.as_str()).collect::<Vec<_>>(), super::sheet(&catalog, week).markdown())
    };
    for monday in ["2026-11-02", "2026-11-09"] {
        let (missing, report) = result(monday);
        assert!(!missing.is_empty() && missing.iter().all(|suite| *suite == gone), "{monday}: {missing:?}");
        let said = format!("○ {} missing", missing.len());
        assert!(report.contains(&said) && report.contains("did not run") && !report.contains("✓ 2 runs"), "{report}");
    }
    for monday in ["2026-10-26", "2026-11-16"] {
        assert_eq!(result(monday).0, [""; 0], "{monday}");
    }
}

#[test]
fn what_comes_later_changes_no_figure_of_a_week() {
    let mut sample = sample_data::rich();
    sample.trend.events.clear();
    let result = |sample: &sample_data::Sample, back: usize| {
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let week = &weeks(&catalog)[back];
        let report = super::sheet(&catalog, week);
        (week.monday, report.headline, report.facts, report.sections)
    };
    let before = result(&sample, 4);
    let newest = sample.runs.iter().map(|run| run.run.timestamp).max().expect("the sample has runs");
    sample.runs.retain(|run| newest - run.run.timestamp > chrono::Duration::days(20));
    let after = result(&sample, 1);
    assert_eq!(before.0, after.0);
    assert_eq!((before.1, before.2), (after.1, after.2));
    // Links to runs and commits depend on what has a page.
    let ids =
        |sections: &[crate::sheet::Section]| sections.iter().map(|one| one.id.to_string()).collect::<Vec<String>>();
    assert_eq!(ids(&before.3), ids(&after.3));
}

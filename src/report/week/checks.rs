//! Checks of the reports of weeks over the made-up history.

use super::{WEEKS, weeks};
use crate::report::catalog::Catalog;
use crate::report::sample_data;

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
fn what_comes_later_changes_no_figure_of_a_week() {
    let mut sample = sample_data::rich();
    sample.trend.events.clear();
    let told = |sample: &sample_data::Sample, back: usize| {
        let heads = sample.heads();
        let catalog = Catalog::new(&sample.input(&heads));
        let week = &weeks(&catalog)[back];
        let report = super::sheet(&catalog, week);
        (week.monday, report.headline, report.facts, report.sections)
    };
    let before = told(&sample, 4);
    let newest = sample.runs.iter().map(|run| run.run.timestamp).max().expect("the sample has runs");
    sample.runs.retain(|run| newest - run.run.timestamp > chrono::Duration::days(20));
    let after = told(&sample, 1);
    assert_eq!(before.0, after.0);
    assert_eq!((before.1, before.2), (after.1, after.2));
    // Links to runs and commits depend on what has a page.
    let ids = |sections: &[crate::report::sheet::Section]| sections.iter().map(|one| one.id).collect::<Vec<&str>>();
    assert_eq!(ids(&before.3), ids(&after.3));
}

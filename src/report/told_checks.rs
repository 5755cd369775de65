//! Checks of what pages say in a few words: titles, empty cells, names in sentences, and where there is little to tell.

use super::Settings;
use super::link;
use super::sample_data::{self, Sample};
use super::site_checks::page;
use crate::model::page::Page;

fn site(sample: &Sample, settings: &Settings) -> Vec<Page> {
    let heads = sample.heads();
    sample_data::rendered(&sample.input(&heads), settings).expect("the sample renders")
}

#[test]
fn a_suite_that_ran_once_has_no_run_before() {
    let mut sample = sample_data::rich();
    sample.analysis.suites[0].environment_changes = None;
    sample.analysis.suites[1].environment_changes = Some(Vec::new());
    let site = site(&sample, &Settings::default());
    let digest = page(&site, link::DIGEST);
    assert!(digest.contains("class=\"q\">no run came before</td>"), "{digest}");
    assert!(digest.contains("class=\"q\">no difference that counts</td>"));
}

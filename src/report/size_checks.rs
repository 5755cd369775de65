//! No page of a large history is larger than a megabyte: lists are cut and say so.

use std::sync::Arc;

use super::catalog::Catalog;
use super::pages;
use super::sample_data::{self, Sample};
use crate::model::page::Page;

const LARGEST_PAGE: usize = 1 << 20;

/// A word as long as the names of big projects get.
const LONG: &str = "fused_attention_backward_with_dropout_and_causal_mask_and_alibi";

/// The rich sample many times over, with long names.
fn large() -> Sample {
    let mut sample = sample_data::rich();
    let few = sample.analysis.series.clone();
    for i in 0..24 {
        sample.analysis.series.extend(few.iter().cloned().map(|mut series| {
            series.series.id = format!("{i}-{}", series.series.id);
            series.series.benchmark = series.series.benchmark.replacen('/', &format!("/{LONG}_{i}_"), 1);
            series.series.name = format!("{LONG}_{i}_{}", series.series.name);
            series
        }));
    }
    sample.analysis.series.sort_by(|a, b| a.series.id.cmp(&b.series.id));
    for suite in &mut sample.analysis.suites {
        let few = suite.comparisons.clone();
        for i in 0..80 {
            suite.comparisons.extend(few.iter().cloned().map(|mut comparison| {
                comparison.benchmark = comparison.benchmark.replacen('/', &format!("/{LONG}_{i}_"), 1);
                comparison
            }));
        }
        suite.failures = (0..500).map(|i| (format!("{}/{LONG}{i} @fast", suite.suite), LONG.repeat(8))).collect();
    }
    let few = sample.runs.clone();
    for i in 0..20 {
        sample.runs.extend(few.iter().cloned().map(|mut run| {
            run.id = format!("{i:04x}{}", &run.id[4..]);
            run
        }));
    }
    let measurements = few.last().map(|run| run.run.measurements.clone()).unwrap_or_default();
    let run = &mut sample.runs[0].run;
    for i in 0..100 {
        run.measurements.extend(measurements.iter().cloned().map(|mut measurement| {
            Arc::make_mut(&mut measurement.benchmark).name = format!("{LONG}_{i}_{}", measurement.benchmark.name);
            measurement
        }));
    }
    sample
}

fn check(page: Page, cut: &str) {
    let html = String::from_utf8(page.bytes).expect("every page is UTF-8");
    assert!(html.len() < LARGEST_PAGE, "{} has {} bytes", page.path, html.len());
    assert!(html.contains(cut), "{} does not say what is left out", page.path);
}

#[test]
fn a_large_history_is_cut_and_the_pages_say_so() {
    let sample = large();
    let heads = sample.heads();
    let catalog = Catalog::new(&sample.input(&heads));
    check(pages::digest(&catalog).expect("it renders"), "better rows follow in the");
    check(pages::series_list(&catalog).expect("it renders"), "are listed");
    check(pages::run_list(&catalog).expect("it renders"), "are listed");
    check(pages::matrix(&catalog, "cpu").expect("it renders"), "cpu");
    check(pages::run(&catalog, &sample.runs[0]).expect("it renders"), "more metrics are only in the record");
    let busiest = sample.analysis.series.iter().find(|series| series.series.name.starts_with("tile_pack"));
    check(
        pages::series(&catalog, busiest.expect("the sample has it")).expect("it renders"),
        "The same kernel elsewhere",
    );
    let markdown = super::digest_markdown(&sample.analysis);
    assert!(markdown.len() < LARGEST_PAGE / 2, "{} bytes", markdown.len());
}

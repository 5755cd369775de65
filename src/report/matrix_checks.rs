//! Checks of the matrices: what their cells hold, by size and by machine, and the shares of limits.

use super::catalog::Catalog;
use super::compare::data::Data;
use super::pages;
use super::sample_data::{self, Sample};
use super::site_checks::check_balance;
use sprag_model::metric::Metric;

fn matrix(sample: &Sample, suite: &str) -> String {
    let heads = sample.heads();
    let catalog = Catalog::new(&sample.input(&heads));
    let page = pages::matrix(&catalog, &Data::new(&catalog), suite).expect("it renders");
    let html = String::from_utf8(page.bytes).expect("every page is UTF-8");
    check_balance(&page.path, &html);
    html
}

/// The heads of the columns of the first table.
fn columns(html: &str) -> Vec<&str> {
    let head = html.split("<thead>").nth(1).and_then(|rest| rest.split("</thead>").next()).expect("it has a table");
    head.split("<th scope=\"col\">").skip(2).filter_map(|rest| rest.split('<').next()).collect()
}

#[test]
fn sizes_are_columns_where_there_are_several() {
    let html = matrix(&sample_data::rich(), "cpu");
    assert_eq!(columns(&html), ["n=512", "n=4096"]);
    assert_eq!(html.matches("<h2").count(), 2, "a section a machine");
}

#[test]
fn machines_are_columns_where_there_is_one_size() {
    let mut sample = sample_data::rich();
    sample.analysis.series.retain(|one| one.series.params == "{n=512}");
    let html = matrix(&sample, "cpu");
    assert_eq!(columns(&html).len(), 2, "{:?}", columns(&html));
    assert!(html.contains("cpu by machine") && columns(&html)[0] == "epyc-9354");
    assert_eq!(html.matches("<h2").count(), 1);
}

#[test]
fn a_suite_whose_commits_are_unknown_shows_values() {
    let mut sample = sample_data::rich();
    sample.trend.series.clear();
    let html = matrix(&sample, "cpu");
    assert!(html.contains("Their commits are unknown") && html.contains("not compared"));
    assert!(html.contains("None of ") && !html.contains("#rule"), "there is no page of the rule");
}

#[test]
fn shares_of_limits_are_in_cells_in_a_picture_and_in_a_table() {
    let mut sample = sample_data::rich();
    assert!(!matrix(&sample, "cpu").contains("against their limits"));
    let judged = sample.analysis.series.iter().find(|one| one.judged && one.series.suite == "cpu");
    let mut share = judged.expect("one of the suite is judged").clone();
    share.series.id = "cpu-share".to_owned();
    (share.series.metric, share.judged, share.latest.current) = (Metric::limit_share(), false, 0.857);
    sample.analysis.series.push(share);
    let html = matrix(&sample, "cpu");
    assert!(html.contains("<span class=\"of\">85.7\u{202f}% of limit</span>"), "in its cell");
    assert_eq!(html.matches("class=\"bar\"").count(), 1, "one bar");
    assert!(
        html.contains("<td class=\"n\">85.7\u{202f}%</td>") && html.contains("series/cpu-share.html"),
        "in the table"
    );
    assert!(html.contains("1 kernel reaches 85.7\u{202f}% of the limit"), "{html}");
}

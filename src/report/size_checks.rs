//! No page of a large history is larger than a megabyte: lists are cut and say so.

use std::sync::Arc;

use super::Settings;
use super::catalog::Catalog;
use super::compare::data::Data;
use super::fit::example;
use super::link;
use super::pages;
use super::sample_data::{self, Sample};
use sprag_model::commit::CommitOnLine;
use sprag_model::event::EventKind;
use sprag_model::page::Page;
use sprag_model::series::{Point, PointRun, Series};

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
    let few = sample.trend.series.clone();
    for i in 0..24 {
        sample.trend.series.extend(few.iter().cloned().map(|mut series| {
            series.series = format!("{i}-{}", series.series);
            series.benchmark = series.benchmark.replacen('/', &format!("/{LONG}_{i}_"), 1);
            series
        }));
    }
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
    check(pages::digest(&catalog).expect("it renders"), "rows follow in the");
    check(pages::series_list(&catalog, &Settings::default()).expect("it renders"), "are listed");
    check(pages::run_list(&catalog).expect("it renders"), "are listed");
    check(pages::matrix(&catalog, &Data::of(&catalog), "cpu").expect("it renders"), "cpu");
    check(pages::run(&catalog, &sample.runs[0]).expect("it renders"), "that lie farthest from the median");
    let busiest = sample.analysis.series.iter().find(|series| series.series.name.starts_with("tile_pack"));
    check(
        pages::series(&catalog, busiest.expect("the sample has it"))
            .and_then(pages::SeriesDraft::draw)
            .expect("it renders"),
        "The same kernel elsewhere",
    );
    let compared = pages::compare(&catalog, &Data::of(&catalog)).expect("it renders");
    assert!(compared.iter().any(|page| page.path == link::COMPARE));
    for page in compared {
        let cut = match &*page.path {
            link::COMPARE => "measured commits",
            markdown if markdown.ends_with(".md") => " unchanged, ",
            _ => "All series, or other commits",
        };
        check(page, cut);
    }
    let data = Data::of(&catalog);
    let mut made = pages::commits(&catalog, Some(&data)).expect("they render");
    made.extend(pages::weeks(&catalog).expect("they render"));
    made.extend(pages::gpu(&catalog).expect("it renders"));
    assert!(made.len() > 80, "{} pages", made.len());
    for page in made {
        assert!(page.bytes.len() < LARGEST_PAGE / 4, "{} has {} bytes", page.path, page.bytes.len());
    }
    let mut newest = large();
    newest.analysis.suites[0].run.clone_from(&sample.runs[0].id);
    let catalog = Catalog::new(&newest.input(&heads));
    check(pages::run(&catalog, &newest.runs[0]).expect("it renders"), "more metrics are only in the record");
    let markdown = super::digest_markdown(&sample.analysis, &sample.trend);
    assert!(markdown.len() < LARGEST_PAGE / 2, "{} bytes", markdown.len());
}

/// How large the page of a series may be that has a thousand points and much beside them.
const LARGEST_SERIES: usize = 120_000;

/// The rich sample with a thousand commits, all measured in one series: thirty changes, a drift, wild values, long subjects.
fn long() -> (Sample, Series) {
    let mut sample = sample_data::rich();
    let commit = sample.line.commits[30].clone();
    sample.line.commits = (0..1000)
        .map(|place| {
            let tags = if place % 40 == 7 { vec![format!("v0.{}.0", place / 40)] } else { Vec::new() };
            CommitOnLine { sha: example::commit(place).sha, tags, ..commit.clone() }
        })
        .collect();
    let (run, head) = (sample.runs[0].clone(), sample.runs[0].id.clone());
    sample.runs = (0..1000)
        .map(|place| {
            let mut run = run.clone();
            run.run.measurements.clear();
            run.id = format!("{place:04x}{}", &head[4..]);
            run
        })
        .collect();
    let levels: Vec<f64> = (0..31).map(|i| 1e-3 * (1.0 + 0.04 * f64::from(i % 3))).collect();
    let changes = (1..31).map(|i| example::change(30 * i, levels[i - 1], levels[i])).collect();
    let mut trend = example::series(levels[0], 1000, changes, vec![example::drift(920, 960, levels[30], 1.1e-3)]);
    let of = sample.analysis.series.iter_mut().find(|one| one.judged && one.series.name == "tile_pack");
    let of = of.expect("the sample has it");
    trend.series.clone_from(&of.series.id);
    let point = of.series.points[0].clone();
    of.series.points = (0..1000)
        .map(|place| {
            let pooled = &mut Arc::make_mut(&mut trend.pooled)[place];
            pooled.value *= if place % 45 == 11 { 3.0 } else { 1.0 + 0.002 * (place * 7 % 5) as f64 };
            let environment = if place % 90 < 50 { "a" } else { "b" };
            let of = PointRun {
                commit: pooled.commit.clone(),
                position: Some(place),
                rank: place,
                time: pooled.time,
                environment_key: environment.into(),
                run: sample.runs[place].id.as_str().into(),
                dirty: false,
            };
            Point {
                of: of.into(),
                value: pooled.value,
                interval: Some((0.99 * pooled.value, 1.01 * pooled.value)),
                ..point.clone()
            }
        })
        .collect();
    sample.trend.events = trend
        .changes
        .points
        .iter()
        .map(|change| {
            let mut event = example::event(EventKind::Change, change.index);
            event.members[0].series.clone_from(&of.series.id);
            event
        })
        .collect();
    let series = of.series.clone();
    sample.trend.series.retain(|one| one.series != series.id);
    sample.trend.series.push(trend);
    (sample, series)
}

#[test]
fn a_series_of_a_thousand_points_has_a_small_page() {
    let (sample, series) = long();
    let heads = sample.heads();
    let catalog = Catalog::new(&sample.input(&heads));
    let of = catalog.series(&series.id).expect("it is in the sample");
    let page = pages::series(&catalog, of).and_then(pages::SeriesDraft::draw).expect("it renders");
    let html = String::from_utf8(page.bytes).expect("every page is UTF-8");
    assert!(html.len() < LARGEST_SERIES, "{} bytes", html.len());
    assert!(html.contains("The newest 50 of 1\u{202f}000 runs"), "it says what is left out");
    let wide = html.split("class=\"fill wide\"").nth(1).and_then(|rest| rest.split("</svg>").next());
    let wide = wide.expect("it has the wide chart");
    // A dot more for each change that no dot may stand across.
    let dots = wide.matches("h0").count();
    assert!((95..=165).contains(&dots), "{dots} dots");
    assert_eq!(wide.matches("class=\"badge").count(), 31, "every change has its number");
    assert!(wide.contains("above the scale"), "what lies outside the range has a title");
    assert!(html.contains("After 29 earlier changes, flat at"));
}

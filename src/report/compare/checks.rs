//! Checks that pages and the script of the site say the same of two commits.

#![cfg(test)]

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::commits::ComparedCommit;
use super::data::{Data, PointData, round_spreads};
use super::pairs::{Pair, Pairs};
use super::table::{self, Table};
use super::words::Kind;
use super::{export, script};
use crate::catalog::Catalog;
use crate::compare::segments::{Segment, SegmentStep};
use crate::sample_data::{self, Sample};
use crate::{link, number};

/// Runs the script of the site over the data of the site, without a page.
const HARNESS: &str = r#"
const fs = require("fs"), vm = require("vm"), path = require("path");
const run = (file) => vm.runInThisContext(fs.readFileSync(file, "utf8"), { filename: file });
const [root, pairs] = process.argv.slice(1);
for (const file of ["app.js", "compare.js"]) run(path.join(root, file));
for (const file of fs.readdirSync(path.join(root, "data")).sort()) run(path.join(root, "data", file));
process.stdout.write(vm.runInThisContext(`JSON.stringify(${pairs}.map(([a, b]) =>
  ({ table: sprag.table(a, b), markdown: sprag.markdown(a, b), csv: sprag.csv(a, b) })))`));
"#;

fn with<T>(sample: &Sample, of: impl FnOnce(&Data, &Catalog<'_>) -> T) -> T {
    let catalog = sample.catalog();
    of(&Data::new(&catalog), &catalog)
}

/// Compares the script's tables of these pairs with those of the pages; nothing where there is no `node`.
fn check(name: &str, data: &Data, pairs: &[(usize, usize)]) {
    let folder = std::env::temp_dir().join(format!("sprag-{name}-{}", std::process::id()));
    fs::create_dir_all(folder.join("data")).expect("the folder can be made");
    let write = |path: &str, bytes: &[u8]| fs::write(folder.join(path), bytes).expect("the folder can be written to");
    let averaged: BTreeSet<(usize, usize)> = pairs.iter().copied().step_by(2).collect();
    script::pages(data, &averaged).iter().for_each(|page| write(&page.path, &page.bytes));
    write(link::SCRIPT, include_bytes!("../../../site/app.js"));
    write(link::COMPARE_SCRIPT, include_bytes!("../../../site/compare.js"));
    let mut node = Command::new("node");
    let asked = serde_json::to_string(pairs).expect("numbers are JSON");
    let output = node.args(["-e", HARNESS, "--"]).arg(&folder).arg(asked).stderr(Stdio::inherit()).output();
    fs::remove_dir_all(&folder).ok();
    let Ok(output) = output else { return eprintln!("skipped: there is no `node` to run the script of the site with") };
    assert!(output.status.success(), "the script failed");
    let results: Vec<Value> = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    for ((a, b), result) in pairs.iter().zip(results) {
        let mut table = table(data, *a, *b);
        for row in table.summary.iter_mut().filter(|_| !averaged.contains(&(*a, *b))) {
            (row.mean, row.interval) = (number::NONE.to_owned(), String::new());
        }
        let expected = serde_json::to_value(&table).expect("a table is JSON");
        assert_same(&format!("{a} to {b}"), &expected, &result["table"]);
        assert_eq!(result["markdown"].as_str(), Some(&*export::markdown(data, [*a, *b], &table)), "{a} to {b}");
        let csv = result["csv"].as_str().expect("a text");
        let rows: usize = table.groups.iter().map(|group| group.rows.len()).sum();
        assert!(csv.lines().count() == rows + 1 && !csv.contains("\n=") && !csv.contains(",="), "{csv}");
    }
}

fn table(data: &Data, a: usize, b: usize) -> Table {
    table::listed(data, a, b, |_, all| all)
}

/// Compares what both have; the rows of the script have further figures for CSV.
fn assert_same(place: &str, expected: &Value, result: &Value) {
    match (expected, result) {
        (Value::Array(expected), Value::Array(result)) => {
            assert_eq!(expected.len(), result.len(), "{place}: {expected:?} {result:?}");
            for (number, (expected, result)) in expected.iter().zip(result).enumerate() {
                assert_same(&format!("{place}, {number}"), expected, result);
            }
        }
        (Value::Object(expected), Value::Object(result)) => {
            for (name, expected) in expected {
                assert_same(&format!("{place}, {name}"), expected, &result[name]);
            }
        }
        _ => assert_eq!(expected, result, "{place}"),
    }
}

#[test]
fn the_script_says_what_the_pages_say() {
    with(&sample_data::rich(), |data, _| {
        let last = data.commits.len() - 1;
        let pairs: Vec<(usize, usize)> =
            (0..=last).flat_map(|a| [(a, last), (last, a), (a, a), (a, (a + 1).min(last)), (a / 2, a)]).collect();
        check("compare", data, &pairs);
    });
}

#[test]
fn verdicts_and_their_words_are_in_the_data_and_not_in_the_script() {
    let lines = include_str!("../../../site/compare.js").lines().filter(|line| !line.trim_start().starts_with("//"));
    let script = lines.collect::<String>().to_lowercase();
    let words = [
        "slower", "faster", "inconclusive", "not comparable", "not measured", "missing", "without verdict", "differ on",
    ];
    let headings = super::table::GROUPS.map(|(_, heading)| heading.to_lowercase());
    let all = words.iter().copied().chain(headings.iter().map(String::as_str)).filter(|word| !word.is_empty());
    // The heads of the table of counts are those of its columns.
    let own: Vec<&str> = all.filter(|word| *word != "no change" && script.contains(word)).collect();
    assert_eq!(own, Vec::<&str>::new());
    with(&sample_data::rich(), |data, _| {
        let page = script::pages(data, &BTreeSet::new())
            .into_iter()
            .find(|page| page.path == link::COMMITS_DATA)
            .expect("it is there");
        let text = String::from_utf8(page.bytes).expect("it is UTF-8");
        for words in ["not measured at A", "not measured between the two", "not comparable", "the environment differs"]
        {
            assert!(text.contains(words), "{words}");
        }
    });
}

#[test]
fn the_script_agrees_on_odd_numbers() {
    with(&sample_data::rich(), |data, _| {
        let mut data = data.clone();
        let sizes = [0.0, 1e-12, 9.9995e-7, 0.0625, 1.5, 9.9995, 1024.5, 2_500.5, 1e6, 12_345_500.0, 1.0005e12, -1.5];
        for (place, one) in data.series.iter_mut().enumerate() {
            let size = sizes[place % sizes.len()];
            one.metric.unit = [sprag_model::unit::Unit::One, sprag_model::unit::Unit::Byte][place % 2];
            for (step, level) in one.levels.iter_mut().enumerate() {
                let value = size * (1.0 + step as f64 / 8.0);
                *level = Segment::Level([value, value - size.abs() / 64.0, value + size.abs() / 64.0]);
            }
            for step in &mut one.changes {
                step.relative = [None, Some([0.0625, -1.5, 12.0625]), Some([-0.0625, -0.99, 0.0])][place % 3];
            }
            one.deviation = [None, Some(0.0), Some(0.015)][place % 3];
            if place % 2 == 1 {
                one.points.iter_mut().for_each(|point| point.value = [0.0, 0.0, -1.5, 2.0][(place + point.number) % 4]);
                one.points.iter_mut().for_each(|point| point.spread = None);
                (one.power, one.step) = round_spreads(&mut one.points);
            }
        }
        let last = data.commits.len() - 1;
        check("odd", &data, &[(0, last), (last, 0), (0, last / 2), (last / 3, last)]);
    });
}

#[test]
fn the_script_agrees_on_drifts() {
    with(&sample_data::rich(), |data, _| {
        let mut data = data.clone();
        for (place, one) in data.series.iter_mut().enumerate() {
            let pace = [None, Some(0.0), Some(one.least / 1.5), Some(one.least), Some(1e9)][place % 5];
            one.levels.iter_mut().for_each(|segment| *segment = Segment::Drift(pace));
        }
        let last = data.commits.len() - 1;
        check("drifts", &data, &[(last - 1, last), (last, last - 1), (last - 2, last), (0, last), (last, last)]);
        // Drifts between levels: over clearly or not, and with a change behind it.
        let step = |at: usize| SegmentStep { at, first: at, last: at, relative: None, is_edge: true };
        for (place, one) in data.series.iter_mut().enumerate() {
            let level = |value: f64| Segment::Level([value, 0.99 * value, 1.01 * value]);
            let pace = [None, Some(0.0), Some(one.least / 3.5)][place / 3 % 3];
            one.levels = vec![level(1.0), Segment::Drift(pace), level([1.2, 1.001, 0.8][place % 3])];
            one.changes = vec![step(last / 4), step(last / 2)];
            if place % 2 == 1 {
                one.levels.push(level([1.5, 1.0][place / 2 % 2]));
                one.changes.push(SegmentStep { is_edge: place % 4 == 1, ..step(3 * last / 4) });
            }
        }
        let places = [0, last / 4, last / 3, last / 2, 2 * last / 3, last];
        let pairs: Vec<(usize, usize)> = places.iter().flat_map(|a| places.map(|b| (*a, b))).collect();
        check("around drifts", &data, &pairs);
    });
}

#[test]
fn the_script_agrees_on_names_that_mean_something_elsewhere() {
    with(&sample_data::rich(), |data, _| {
        let mut data = data.clone();
        let names =
            ["=1+1", "@a_b _c_ *d* [e](http://f)", "x|`y`\\<z>", "a,\"b\"", "+c", "-d #1 www.e.org", "ünï_cödé ~$"];
        let name = |place: usize| names[place % names.len()].to_owned();
        for (place, one) in data.series.iter_mut().enumerate() {
            (one.benchmark, one.machine_name) = (name(place), name(place % 3));
            one.dtype = ["", "f16", "<bf16>"][place % 3].to_owned();
        }
        for (place, commit) in data.commits.iter_mut().enumerate() {
            commit.subject = name(place);
            commit.tags.extend((place % 5 == 0).then(|| name(place)));
        }
        let last = data.commits.len() - 1;
        let tagged = |place: usize| ComparedCommit {
            measured_before: Some(place),
            tags: vec![name(place), "x".to_owned()],
            ..data.commits[1].clone()
        };
        data.tagged = [3, 17, last].map(tagged).to_vec();
        let [first, second, third] = [1, 2, 3].map(|more| last + more);
        let unmeasured = [(first, second), (second, first), (0, first), (first, last), (third, last), (second, 20)];
        check("names", &data, &[&[(0, last), (last, 0), (last / 2, last), (5, 10)][..], &unmeasured].concat());
        let markdown = export::markdown(&data, [0, last], &table(&data, 0, last));
        assert!(!markdown.contains("http://") && !markdown.contains("<z>"), "{markdown}");
    });
}

#[test]
fn a_comparison_reads_as_it_should() {
    with(&sample_data::rich(), |data, catalog| {
        let Pair { a, b, .. } = *Pairs::new(data, catalog).releases.last().expect("there are releases");
        let table = table(data, a, b);
        insta::assert_snapshot!("markdown", export::markdown(data, [a, b], &table));
        let rows = table.groups.iter().flat_map(|group| &group.rows);
        let rows: Vec<String> = rows.map(|row| serde_json::to_string(row).expect("a row is JSON")).collect();
        insta::assert_snapshot!("rows", rows.join("\n"));
    });
}

fn long(data: &Data, times: usize) -> Data {
    let mut long = data.clone();
    let commits = data.commits.len();
    for time in 1..times {
        long.commits.extend(data.commits.iter().cloned().map(|mut commit| {
            commit.sha = format!("{time}{}", &commit.sha[1..]);
            commit
        }));
        for (one, few) in long.series.iter_mut().zip(&data.series) {
            let later = |point: &PointData| PointData { number: point.number + time * commits, ..point.clone() };
            one.points.extend(few.points.iter().map(later));
        }
    }
    long
}

#[test]
fn a_chunk_is_data_and_nothing_else() {
    with(&sample_data::rich(), |data, _| {
        for page in script::pages(data, &BTreeSet::new()) {
            let text = String::from_utf8(page.bytes).expect("it is UTF-8");
            let json = text.strip_prefix("sprag.").and_then(|rest| rest.split_once('('));
            let json = json.and_then(|(_, json)| json.strip_suffix(");\n")).expect("it is one call");
            serde_json::from_str::<Value>(json).expect("its argument is JSON");
            assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\u{202e}']), "{}", page.path);
            assert!(json.len() < 1 << 20, "{} has {} bytes", page.path, json.len());
        }
    });
    let mut hostile = sample_data::rich();
    for one in &mut hostile.trend.series {
        one.benchmark = "cpu/</script><!--\u{2028}\u{2029}\"'`${x}&".to_owned();
    }
    with(&hostile, |data, _| {
        let series = script::pages(data, &BTreeSet::new())
            .into_iter()
            .find(|page| page.path == link::SERIES_DATA)
            .expect("it is there");
        let text = String::from_utf8(series.bytes).expect("it is UTF-8");
        assert!(text.contains("\\u003c/script\\u003e\\u003c!--"), "{text}");
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
    });
}

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
        let nearest = data.measured(number);
        assert_eq!(data.commits[nearest].place, Some(place - 1));
        assert_eq!(data.name(number), format!("v9-<a> (as of {})", &data.commits[nearest].sha[..7]));
        assert_eq!((data.between(nearest, number), data.between(number, nearest + 1)), (0, 0));
        assert_eq!(data.between(0, number), nearest);
        let pairs = Pairs::new(data, catalog).releases;
        let with_it: Vec<&Pair> = pairs.iter().filter(|pair| pair.a == number || pair.b == number).collect();
        assert_eq!(with_it.len(), 2, "one before and one after: {pairs:?}");
        assert!(with_it.iter().all(|pair| pair.page(data).contains(&sample.line.commits[place].sha[..12])));
        let text = export::markdown(data, [0, number], &table(data, 0, number));
        assert!(text.contains("to v9-&lt;a&gt; (as of ") && text.contains("not measured: each series"), "{text}");
        // A series that was left out at the nearest commit was measured earlier, and its row says where.
        let mut data = data.clone();
        let one = &mut data.series[0];
        one.points.retain(|point| point.number + 2 < nearest || point.number > nearest);
        let earlier = one.points.iter().rev().find(|point| point.number < nearest).expect("it has some").number;
        let id = one.id.clone();
        let row = |data: &Data, a: usize, b: usize| {
            let rows = table(data, a, b).groups.into_iter().flat_map(|group| group.rows);
            let row = rows.into_iter().find(|row| row.id == id).expect("it has a row");
            (row.kind, row.reason)
        };
        let as_of = format!("B as of {}", data.name(earlier));
        assert!(row(&data, 0, number).1.ends_with(&as_of));
        // Where nothing was measured between, there is no verdict.
        let between = row(&data, earlier, number);
        assert_eq!(between, (Kind::Missing, format!("not measured between the two; {as_of}")));
        let pairs = [(earlier, number), (number, earlier), (nearest, number), (0, number)];
        check("between", &data, &[&pairs[..], &[(number, data.commits.len() - 1)]].concat());
        // Older values do not count.
        let mut long = long(&data, 3);
        long.tagged = vec![ComparedCommit { measured_before: Some(long.commits.len() - 1), ..data.tagged[0].clone() }];
        let one = &mut long.series[0];
        one.points.retain(|point| point.number < 10);
        (one.changes, one.levels) = (Vec::new(), vec![one.levels[0]]);
        let number = long.commits.len();
        assert_eq!(row(&long, 0, number), (Kind::Missing, "not measured at B".to_owned()));
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

#[test]
fn only_pairs_with_the_newest_commit_have_a_page_named_after_it() {
    with(&sample_data::rich(), |data, catalog| {
        let pairs = Pairs::new(data, catalog);
        let newest = data.commits.len() - 1;
        let all = pairs.all();
        assert!(all.iter().any(|pair| pair.as_newest) && pairs.steps.iter().all(|pair| !pair.as_newest));
        for pair in all {
            assert_eq!(pair.page(data).ends_with("-newest.html"), pair.as_newest);
            assert!(pair.b == newest || !pair.as_newest);
            let page = pairs.page(data, pair.a, pair.b).expect("it has a page");
            let as_step = Pair { as_newest: false, ..pair };
            assert!(page == pair.page(data) || pair.as_newest && pairs.steps.contains(&as_step), "{page}");
        }
        assert_eq!(pairs.page(data, newest, newest), None);
    });
}

//! The index of the global search, loaded by the first search: every event and series, and the commits with a page.

use serde_json::{Value, json};

use super::event_list::name_and_more;
use super::frame::prelude::*;
use crate::compare::script;
use crate::text::{short_commit, visible};
use crate::trend::{event, words};

/// A part for each kind: its word, and of each entry its path, title and note.
pub(crate) fn search(catalog: &Catalog<'_>) -> Page {
    let entry = |path: String, title: &str, note: &str| json!([link::in_data(&path), visible(title), visible(note)]);
    let events = catalog.trend.events.iter().map(|of| {
        let note = format!("{}, {}, since {}", words::name(&of.id), event::short_state(of), date::day(of.since));
        entry(link::event(&of.id), &name_and_more(of).concat(), &note)
    });
    let of_role = |judged: bool| catalog.analysis.series.iter().filter(move |one| one.judged == judged);
    let series = of_role(true).chain(of_role(false)).map(|one| {
        let series = &one.series;
        let note = format!("{}, {} on {}", series.suite, series.metric.name, words::name(&series.machine_name));
        entry(catalog.series_place(&series.id), &words::name(&short_benchmark(&series.benchmark)), &note)
    });
    let commits = catalog.compared().iter().rev().filter_map(|one| {
        let name = [&[short_commit(&one.sha).to_owned()], &one.tags[..]].concat().join(" ");
        Some(entry(catalog.commit_place(&one.sha)?, &format!("{name} {}", one.subject), &one.day))
    });
    let parts: [(&str, Vec<Value>); 3] =
        [("Event", events.collect()), ("Series", series.collect()), ("Commit", commits.collect())];
    script::page(link::SEARCH_DATA.to_owned(), "search", &json!(parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data;
    use crate::site_checks::text;

    #[test]
    fn every_event_series_and_measured_commit_is_listed() {
        let sample = sample_data::rich();
        let page = search(&sample.catalog());
        let json = text(&page).strip_prefix("sprag.search(").and_then(|rest| rest.strip_suffix(");\n"));
        let parts: Vec<(String, Vec<[String; 3]>)> = serde_json::from_str(json.expect("it is a call")).expect("JSON");
        let sizes: Vec<(&str, usize)> = parts.iter().map(|(word, list)| (&**word, list.len())).collect();
        let (events, series) = (sample.trend.events.len(), sample.analysis.series.len());
        assert_eq!(sizes, [("Event", events), ("Series", series), ("Commit", sample.catalog().compared().len())]);
        assert!(parts[1].1.iter().any(|[path, title, _]| path.starts_with("series/") && title == "infer{n=512} @fast"));
    }
}

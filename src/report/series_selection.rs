//! Which series have a page of their own where not all have one: those that are asked for, and those that changed. One page shows
//! the others, from data of about a hundred a file.
//!
//! A series changed if it moved in an open regression or in an event of the newest [`RECENT_DAYS`] days, or if the gate finds it
//! slower, faster or missing. What has no verdict did not change: otherwise a new machine would give every series a page.

use std::collections::HashSet;

use chrono::TimeDelta;

use super::summary::{leading_member, leading_series};
use sprag_model::{Analysis, Event, SeriesAnalysis, Trend, Verdict};

const RECENT_DAYS: i64 = 28;

/// The most that have a page because they changed: a new compiler may move all. The first of each event come first.
const MOST: usize = 1000;

pub(super) fn selected_series<'a>(analysis: &'a Analysis, trend: &'a Trend, asked: &[String]) -> HashSet<&'a str> {
    let present: HashSet<&str> = analysis.series.iter().map(|one| one.series.id.as_str()).collect();
    let since = analysis.as_of.map(|now| now - TimeDelta::days(RECENT_DAYS));
    let (open, others): (Vec<&Event>, Vec<&Event>) = trend.events.iter().partition(|event| event.is_open_regression());
    let recent = others.into_iter().filter(|event| since.is_some_and(|since| event.since >= since));
    let events: Vec<&Event> = open.into_iter().chain(recent).collect();
    let leading = events.iter().copied().filter_map(leading_member);
    let members = events.iter().flat_map(|event| &event.members);
    let compared = analysis.series.iter().filter_map(|one| Some((one, one.comparison.as_ref()?)));
    let mut compared: Vec<(f64, &str)> = compared
        .filter(|(_, of)| matches!(of.verdict, Verdict::Regressed | Verdict::Improved | Verdict::Missing))
        .map(|(one, of)| (of.effect.map_or(0.0, |effect| effect.change.abs()), one.series.id.as_str()))
        .collect();
    compared.sort_by(|a, b| b.0.total_cmp(&a.0));
    let changed = leading_series(analysis, trend)
        .chain(leading.map(|member| member.series.as_str()))
        .chain(compared.into_iter().map(|(_, id)| id))
        .chain(members.map(|member| member.series.as_str()));
    let mut selected = HashSet::new();
    for id in changed.filter(|id| present.contains(id)) {
        if selected.len() == MOST {
            break;
        }
        selected.insert(id);
    }
    let is_asked = |one: &&SeriesAnalysis| asked.iter().any(|text| one.is_named(text));
    selected.extend(analysis.series.iter().filter(is_asked).map(|one| one.series.id.as_str()));
    selected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_data::{self, Sample};

    fn quiet() -> Sample {
        let mut sample = sample_data::rich();
        sample.trend.events.clear();
        sample.analysis.series.iter_mut().for_each(|one| one.comparison = None);
        sample.analysis.suites.iter_mut().for_each(|suite| suite.comparisons.clear());
        sample
    }

    fn selected(sample: &Sample, asked: &[&str]) -> Vec<String> {
        let asked: Vec<String> = asked.iter().map(|text| (*text).to_owned()).collect();
        let mut ids: Vec<String> =
            selected_series(&sample.analysis, &sample.trend, &asked).into_iter().map(str::to_owned).collect();
        ids.sort();
        ids
    }

    #[test]
    fn members_of_open_and_recent_events_have_a_page() {
        let rich = sample_data::rich();
        let (mut open, mut other) = (0, 0);
        for event in &rich.trend.events {
            let mut sample = quiet();
            sample.trend.events = vec![event.clone()];
            let shown = |id: &&String| rich.analysis.series.iter().any(|one| one.series.id == **id);
            let mut members: Vec<String> = event.members.iter().map(|one| &one.series).filter(shown).cloned().collect();
            members.sort();
            members.dedup();
            sample.analysis.as_of = Some(event.since + TimeDelta::days(RECENT_DAYS));
            assert_eq!(selected(&sample, &[]), members, "{}", event.id);
            sample.analysis.as_of = Some(event.since + TimeDelta::days(RECENT_DAYS + 1));
            let is_open = event.is_open_regression();
            assert_eq!(selected(&sample, &[]), if is_open { members } else { Vec::new() }, "{}", event.id);
            (open, other) = (open + usize::from(is_open), other + usize::from(!is_open));
        }
        assert!(open > 0 && other > 0, "{open} open, {other} others");
    }

    #[test]
    fn the_gate_and_the_reader_decide_for_others() {
        let mut sample = quiet();
        assert_eq!(selected(&sample, &[]), Vec::<String>::new());
        let first = sample.analysis.series[0].series.clone();
        let rich = sample_data::rich();
        let like = rich.analysis.series.iter().find_map(|one| one.comparison.clone()).expect("one is compared");
        for (verdict, has_page) in [
            (Verdict::Regressed, true),
            (Verdict::Improved, true),
            (Verdict::Missing, true),
            (Verdict::Unchanged, false),
            (Verdict::NoBaseline, false),
            (Verdict::Inconclusive("noise".into()), false),
        ] {
            let comparison = sprag_model::verdict::Comparison { verdict, ..like.clone() };
            sample.analysis.series[0].comparison = Some(comparison);
            assert_eq!(selected(&sample, &[]).len(), usize::from(has_page));
        }
        let asked = selected(&sample, &[&format!("{} {}", first.benchmark, first.metric.name), "no such"]);
        assert!(asked.contains(&first.id) && asked.len() < sample.analysis.series.len());
        // However many changed, there are no more than these, and those that are asked for.
        let comparison = sprag_model::verdict::Comparison { verdict: Verdict::Regressed, ..like };
        let mut like = sample.analysis.series[0].clone();
        like.comparison = Some(comparison);
        for number in 0..MOST + 5 {
            like.series.id = format!("s-{number}");
            sample.analysis.series.push(like.clone());
        }
        assert_eq!(selected(&sample, &[]).len(), MOST);
        assert_eq!(selected(&sample, &["cpu/", "gpu/", " "]).len(), sample.analysis.series.len());
    }
}

//! The newest points that are outliers, by machine and commit.

use std::collections::BTreeMap;

use super::event::command;
use super::series_changes::SeriesChanges;
use sprag_model::{ApartSeries, NamedMachine, NewestApart};

/// The newest commits at which points are outliers and no change yet; by machine, then in the order of commits.
pub(super) fn newest(
    all: &[SeriesChanges<'_>],
    is_selected: impl Fn(&str) -> bool,
    suites: &BTreeMap<String, bool>,
) -> Vec<NewestApart> {
    let mut groups: BTreeMap<(&str, usize), Vec<&SeriesChanges<'_>>> = BTreeMap::new();
    for analysed in all.iter().filter(|analysed| is_selected(&analysed.series.id)) {
        if let Some(apart) = &analysed.apart {
            groups.entry((&analysed.series.machine, analysed.points[apart.begin].place)).or_default().push(analysed);
        }
    }
    groups.into_iter().map(|((_, place), members)| group(place, &members, suites)).collect()
}

fn group(place: usize, members: &[&SeriesChanges<'_>], suites: &BTreeMap<String, bool>) -> NewestApart {
    let mut series: Vec<ApartSeries> = members.iter().filter_map(|analysed| of_series(analysed)).collect();
    let size = |one: &ApartSeries| one.worse.unwrap_or(f64::NEG_INFINITY);
    series.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.series.cmp(&b.series)));
    let first = members[0];
    let newest = &first.points[first.points.len() - 1];
    let commit = first.axis.commits[place].clone();
    let measured = &first.axis.commits[newest.place];
    let benchmarks = series.iter().map(|one| (one.suite.as_str(), one.benchmark.as_str()));
    let (command, checkout) = command(first.axis.is_line.then_some(measured), benchmarks, suites);
    NewestApart {
        machine: NamedMachine { id: first.series.machine.clone(), name: first.series.machine_name.clone() },
        command,
        checkout,
        runs: series.iter().map(|one| one.runs).max().unwrap_or(1),
        commit,
        series,
    }
}

fn of_series(analysed: &SeriesChanges<'_>) -> Option<ApartSeries> {
    let apart = analysed.apart.as_ref()?;
    Some(ApartSeries {
        series: analysed.series.id.clone(),
        suite: analysed.series.suite.clone(),
        benchmark: analysed.series.benchmark.clone(),
        metric: analysed.series.metric.clone(),
        level: apart.level,
        value: analysed.newest,
        worse: analysed.worse(apart.relative),
        runs: apart.runs,
    })
}

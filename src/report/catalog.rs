//! The input of the site, and the look-ups that its pages need.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{LazyLock, OnceLock};

use chrono::NaiveDate;

use super::compare::commits::{self, ComparedCommit};
use super::fit::Fit;
use super::link;
use super::page_selection::PageSelection;
use super::series_selection::selected_series;
use sprag_model::calibration::Reruns;
use sprag_model::metric::LIMIT_SHARE;
use sprag_model::release::Released;
use sprag_model::{
    Analysis, CommitLine, Event, Ledger, Machine, Measurement, Member, RecordedRun, RunHead, SeriesAnalysis,
    SeriesTrend, Trend, WeekMovers,
};

/// The most values of which two commits are compared by script for all series: they take 3 bytes each.
const COMPARED_VALUES: usize = 2_000_000;

pub(super) const GPU_DRIVER: &str = "gpu_driver";

#[derive(Clone, Copy, Debug)]
pub struct SiteInput<'a> {
    pub analysis: &'a Analysis,
    pub trend: &'a Trend,
    pub line: &'a CommitLine,
    pub heads: &'a [RunHead],
    /// Of the newest [`crate::WEEKS`] weeks, newest first.
    pub movers: &'a [WeekMovers],
    pub newest: &'a [RecordedRun],
    pub ledger: &'a Ledger,
    pub today: NaiveDate,
    pub releases: &'a Released,
    /// The verdicts of the gate where a commit was measured again.
    pub reruns: &'a [Reruns],
    /// Where the site is published, such as `https://example.org/kernels/`: feeds, the list of pages and the 404 page need it.
    pub url: Option<&'a str>,
    /// The address of a commit at a forge, with `{sha}` in the place of its name.
    pub commit_url: Option<&'a str>,
    /// Where only series that changed have a page: which others have one, by a part of `<benchmark id> <metric>`.
    pub asked: Option<&'a [String]>,
}

static NOTHING: LazyLock<(CommitLine, Ledger, Released)> = LazyLock::new(Default::default);

impl<'a> SiteInput<'a> {
    /// Without a history, a ledger and releases.
    pub fn without_history(analysis: &'a Analysis, trend: &'a Trend) -> SiteInput<'a> {
        let (line, ledger, releases) = &*NOTHING;
        SiteInput {
            analysis,
            trend,
            line,
            heads: &[],
            movers: &[],
            newest: &[],
            ledger,
            today: NaiveDate::default(),
            releases,
            reruns: &[],
            url: None,
            commit_url: None,
            asked: None,
        }
    }
}

pub(super) struct Catalog<'a> {
    pub(super) input: SiteInput<'a>,
    pub(super) analysis: &'a Analysis,
    pub(super) trend: &'a Trend,
    pub(super) line: &'a CommitLine,
    pub(super) runs: Vec<&'a RunHead>,
    pub(super) machines: BTreeMap<&'a str, MachineRuns<'a>>,
    pub(super) matrix_suites: BTreeSet<&'a str>,
    pub(super) selection: PageSelection<'a>,
    /// The series with a page of their own, where not all have one.
    series_with_page: Option<HashSet<&'a str>>,
    /// Whether two commits are compared by script for series without a page, too.
    pub(super) compares_all: bool,
    series: BTreeMap<&'a str, &'a SeriesAnalysis>,
    kernels: BTreeMap<(&'a str, &'a str), Vec<&'a SeriesAnalysis>>,
    series_trends: BTreeMap<&'a str, &'a SeriesTrend>,
    events: BTreeMap<&'a str, &'a Event>,
    members: BTreeMap<&'a str, Vec<(&'a Event, &'a Member)>>,
    /// Made on demand: the pages of runs do not need it.
    positions: OnceLock<HashMap<&'a str, usize>>,
    runs_by_id: BTreeMap<&'a str, &'a RunHead>,
    compared: OnceLock<Compared>,
}

struct Compared {
    commits: Vec<ComparedCommit>,
    places: BTreeMap<String, usize>,
}

impl<'a> Catalog<'a> {
    pub(super) fn new(input: &SiteInput<'a>) -> Catalog<'a> {
        let SiteInput { analysis, trend, line, heads, .. } = *input;
        let mut newest_first: Vec<&RunHead> = heads.iter().collect();
        newest_first.sort_by(|a, b| b.timestamp.cmp(&a.timestamp).then_with(|| a.id.cmp(&b.id)));
        let judged = analysis.series.iter().filter(|series| series.judged);
        let mut members: BTreeMap<&str, Vec<(&Event, &Member)>> = BTreeMap::new();
        for (event, member) in trend.events.iter().flat_map(|event| event.members.iter().map(move |one| (event, one))) {
            members.entry(&member.series).or_default().push((event, member));
        }
        let mut kernels: BTreeMap<(&str, &str), Vec<&SeriesAnalysis>> = BTreeMap::new();
        for one in &analysis.series {
            kernels.entry((&one.series.suite, &one.series.name)).or_default().push(one);
        }
        Catalog {
            input: *input,
            analysis,
            trend,
            line,
            machines: machines(&newest_first),
            runs: newest_first,
            matrix_suites: judged.map(|series| series.series.suite.as_str()).collect(),
            selection: PageSelection::new(input.analysis, &input.trend.events, input.line, input.heads)
                .with_releases(input.releases, heads),
            series_with_page: input.asked.map(|asked| selected_series(analysis, trend, asked)),
            compares_all: analysis.values() <= COMPARED_VALUES,
            series: analysis.series.iter().map(|series| (series.series.id.as_str(), series)).collect(),
            kernels,
            series_trends: trend.series.iter().map(|one| (one.series.as_str(), one)).collect(),
            events: trend.events.iter().map(|one| (one.id.as_str(), one)).collect(),
            members,
            positions: OnceLock::new(),
            runs_by_id: heads.iter().map(|run| (run.id.as_str(), run)).collect(),
            compared: OnceLock::new(),
        }
    }

    /// The newest runs on devices with a limit or a tuned configuration, in the order of the digest.
    pub(super) fn gpu_runs(&self) -> Vec<&'a RecordedRun> {
        let has_any = |one: &&RecordedRun| {
            let run = &one.run;
            run.environment.facts.contains_key(GPU_DRIVER)
                && (!run.autotune.is_empty() || run.measurements.iter().any(|one| limit_share(one).is_some()))
        };
        self.input.newest.iter().filter(has_any).collect()
    }

    pub(super) fn is_compared(&self) -> bool {
        self.trend.series.iter().any(|one| !one.pooled.is_empty() && self.series.contains_key(one.series.as_str()))
    }

    pub(super) fn series(&self, id: &str) -> Option<&'a SeriesAnalysis> {
        self.series.get(id).copied()
    }

    pub(super) fn kernel<'s>(&'s self, suite: &'s str, name: &'s str) -> &'s [&'a SeriesAnalysis] {
        self.kernels.get(&(suite, name)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn series_trend(&self, id: &str) -> Option<&'a SeriesTrend> {
        self.series_trends.get(id).copied()
    }

    /// Nothing where the series was not analysed.
    pub(super) fn fit(&self, id: &str) -> Option<Fit<'a>> {
        let series = self.series_trend(id)?;
        Some(Fit::new(series, self.members.get(id).map_or(&[], Vec::as_slice)))
    }

    pub(super) fn event(&self, id: &str) -> Option<&'a Event> {
        self.events.get(id).copied()
    }

    pub(super) fn event_page(&self, id: &str) -> Option<String> {
        self.events.contains_key(id).then(|| link::event(id))
    }

    pub(super) fn position(&self, sha: &str) -> Option<usize> {
        self.positions.get_or_init(|| self.line.positions()).get(sha).copied()
    }

    pub(super) fn machine_page(&self, id: &str) -> Option<String> {
        self.machines.contains_key(id).then(|| link::machine(id))
    }

    pub(super) fn run(&self, id: &str) -> Option<&'a RunHead> {
        self.runs_by_id.get(id).copied()
    }

    pub(super) fn series_page(&self, id: &str) -> Option<String> {
        self.series.contains_key(id).then(|| self.series_place(id))
    }

    /// Its own page, or the one that shows those without.
    pub(super) fn series_place(&self, id: &str) -> String {
        if self.has_page(id) { link::series(id) } else { link::viewed(id) }
    }

    pub(super) fn has_page(&self, series: &str) -> bool {
        self.series_with_page.as_ref().is_none_or(|pages| pages.contains(series))
    }

    pub(super) fn has_viewer(&self) -> bool {
        self.series_with_page.is_some()
    }

    pub(super) fn run_page(&self, id: &str) -> Option<String> {
        self.selection.runs.contains(id).then(|| link::run(id))
    }

    /// The page of a run, or else that of its commit.
    pub(super) fn run_place(&self, id: &str) -> Option<String> {
        self.run_page(id).or_else(|| self.compare_place(&self.run(id)?.commit.as_ref()?.sha))
    }

    /// The page of a commit, or its comparison with the one measured before.
    pub(super) fn commit_place(&self, sha: &str) -> Option<String> {
        self.commit_page(sha).or_else(|| self.compare_place(sha))
    }

    pub(super) fn commit_page(&self, sha: &str) -> Option<String> {
        self.selection.commits.contains(sha).then(|| link::commit(sha))
    }

    /// The page of a commit at the forge, which shows its diff.
    pub(super) fn forge(&self, sha: &str) -> Option<String> {
        self.input.commit_url.map(|url| url.replace("{sha}", sha))
    }

    /// What an author committed, where the forge is one that can be searched by a name.
    pub(super) fn forge_author(&self, sha: &str, author: &str) -> Option<String> {
        link::author_search(self.input.commit_url?, sha, author)
    }

    pub(super) fn compared(&self) -> &[ComparedCommit] {
        &self.comparable().commits
    }

    pub(super) fn compared_number(&self, sha: &str) -> Option<usize> {
        self.comparable().places.get(sha).copied()
    }

    fn comparable(&self) -> &Compared {
        self.compared.get_or_init(|| {
            let commits = if self.is_compared() {
                commits::measured(self.analysis, self.trend, self.line, self.input.heads)
            } else {
                Vec::new()
            };
            let places = commits.iter().enumerate().map(|(place, commit)| (commit.sha.clone(), place)).collect();
            Compared { commits, places }
        })
    }

    /// The comparison of a commit with the one measured before, or of the first with the one after.
    fn compare_place(&self, sha: &str) -> Option<String> {
        let number = self.compared_number(sha)?.max(1);
        Some(link::compared_with_previous(&self.compared().get(number)?.sha))
    }
}

pub(super) struct MachineRuns<'a> {
    /// As its newest run names it.
    pub(super) machine: &'a Machine,
    /// Newest first.
    pub(super) runs: Vec<&'a RunHead>,
}

fn machines<'a>(newest_first: &[&'a RunHead]) -> BTreeMap<&'a str, MachineRuns<'a>> {
    let mut machines: BTreeMap<&str, MachineRuns<'_>> = BTreeMap::new();
    for run in newest_first {
        let machine = &run.machine;
        machines.entry(&machine.id).or_insert_with(|| MachineRuns { machine, runs: Vec::new() }).runs.push(run);
    }
    machines
}

pub(super) fn limit_share(of: &Measurement) -> Option<f64> {
    of.is_usable().then(|| of.estimate(LIMIT_SHARE)).flatten().map(|one| one.value)
}

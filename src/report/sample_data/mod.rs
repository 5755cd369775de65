//! A seeded history for the tests of the pages: two suites, two machines, three kernels in two variants and two sizes, forty commits;
//! a regression, an improvement, a drift, an environment change, a skipped suite, a failed benchmark, a damaged record, hostile names.

mod findings;
mod ledger;
mod runs;
mod trend;

use super::catalog::Catalog;
use super::{ReportError, Settings, Site, SiteInput};
use sprag_model::calibration::{Reruns, Tally};
use sprag_model::method::{Constants, Figure, Limits, MeasuredTable, Method};
use sprag_model::release::Released;
use sprag_model::{Analysis, CommitLine, HistoryFacts, Ledger, Page, RecordedRun, RunHead, Trend, WeekMovers};

pub(super) struct Sample {
    pub(super) analysis: Analysis,
    pub(super) trend: Trend,
    pub(super) line: CommitLine,
    pub(super) runs: Vec<RecordedRun>,
    pub(super) movers: Vec<WeekMovers>,
    pub(super) newest: Vec<RecordedRun>,
    pub(super) ledger: Ledger,
    pub(super) releases: Released,
    pub(super) reruns: Vec<Reruns>,
    pub(super) asked: Option<Vec<String>>,
}

impl Sample {
    pub(super) fn heads(&self) -> Vec<RunHead> {
        self.runs.iter().map(RunHead::new).collect()
    }

    /// Borrows heads that are never freed: tests end soon.
    pub(super) fn catalog(&self) -> Catalog<'_> {
        Catalog::new(&self.input(Vec::leak(self.heads())))
    }

    pub(super) fn input<'a>(&'a self, heads: &'a [RunHead]) -> SiteInput<'a> {
        let Sample { analysis, trend, line, movers, newest, ledger, releases, reruns, .. } = self;
        let today = sprag_model::ledger::day(analysis.as_of.unwrap_or_default());
        SiteInput {
            line,
            heads,
            movers,
            newest,
            ledger,
            today,
            releases,
            reruns,
            asked: self.asked.as_deref(),
            ..SiteInput::without_history(analysis, trend)
        }
    }

    pub(super) fn render(&self) -> Result<Vec<Page>, ReportError> {
        let heads = self.heads();
        let input = self.input(&heads);
        let mut site = rendered(&input, &settings())?;
        let overall = Site::new(&input);
        let shown = overall.shown_runs();
        let runs: Vec<RecordedRun> = self.runs.iter().filter(|run| shown.contains(run.id.as_str())).cloned().collect();
        site.extend(overall.render_runs(&runs)?);
        site.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(site)
    }
}

pub(super) fn rendered(input: &SiteInput<'_>, settings: &Settings) -> Result<Vec<Page>, ReportError> {
    let mut site = Vec::new();
    Site::new(input).render(settings, &mut |page| {
        site.push(page);
        Ok::<(), ReportError>(())
    })?;
    site.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(site)
}

fn settings() -> Settings {
    let limits =
        |name, budget| Limits { name, budget, penalty: 12.0, clear: 4.0, steady: 3.8, rare: 4e-5, least: 0.004 };
    let list = vec![
        ("points below which nothing is looked for", Figure::Count(8)),
        ("change that is tolerated", Figure::Share(0.02)),
        ("deviations", Figure::Number(7.0)),
    ];
    let measured = MeasuredTable {
        name: "nothing",
        heading: "False alarms in noise",
        caption: "Series that hold nothing",
        heads: ["sensitivity", "points"].map(str::to_owned).to_vec(),
        rows: vec![["balanced", "30"].map(str::to_owned).to_vec()],
    };
    Settings {
        method: Method {
            sensitivities: vec![limits("strict", 0.02), limits("balanced", 0.05)],
            constants: vec![Constants { of: "Change points of a series", list }],
            measured: vec![measured],
        },
        downloads: Vec::new(),
    }
}

/// It would harm a page that does not escape it.
pub(super) const HOSTILE: &str = "</td><script>alert('x')</script>|`\"&\u{202e}evil";

pub(super) fn rich() -> Sample {
    let line = runs::commit_line();
    let runs = runs::all(&line);
    let analysis = findings::analysis(&line, &runs);
    let mut trend = trend::trend(&analysis, &line);
    let day = sprag_model::ledger::day(analysis.as_of.expect("it has runs"));
    let ledger = ledger::ledger(day, &line, &mut trend);
    let releases = ledger::releases(day, &line);
    let movers = sprag_analysis::movers::week_movers(&analysis.series, 26);
    let newest =
        analysis.suites.iter().filter_map(|suite| runs.iter().find(|run| run.id == suite.run)).cloned().collect();
    let tally = Tally { judged: 240, regressed: 2, improved: 1, inconclusive: 12, share: None };
    let reruns = vec![Reruns { suite: "cpu".to_owned(), machine: runs::machine(0).id, tally }];
    Sample { analysis, trend, line, runs, movers, newest, ledger, releases, reruns, asked: None }
}

pub(super) fn empty() -> Analysis {
    Analysis {
        project: "kernels".to_owned(),
        as_of: None,
        every_days: 7,
        history: HistoryFacts::default(),
        suites: Vec::new(),
        series: Vec::new(),
        weeks: Vec::new(),
        disagreements: Vec::new(),
    }
}

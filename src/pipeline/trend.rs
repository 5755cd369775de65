//! The events of a history: which series are analysed, what the ledger accepts, and recording events.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::builds::commit_build::can_be_built;
use crate::cache::CacheFile;
use crate::config::{self, FILE_NAME, SensitivityName, Suite, SuiteKind};
use crate::error::WithContext as _;
use crate::options::refuse_unknown;
use crate::project::Project;
use crate::refuse;
use crate::study::{self, Study};
use crate::text::{self, warn};
use sprag_analysis::changes::sensitivity::Sensitivity;
use sprag_analysis::ledger::{Accepting, ComparedRun, answer_events};
use sprag_analysis::movers;
use sprag_analysis::trend::analyse::{self, TrendOutput};
use sprag_analysis::trend::detection_cache::DetectionCache;
use sprag_analysis::trend::outline::Input;
use sprag_analysis::trend::series_changes::Setting;
use sprag_base::text::decoded;
use sprag_history::{self as history, Record};
use sprag_measure::clock;
use sprag_measure::suite::is_ours;
use sprag_model::event_record::EVENT_ROOT;
use sprag_model::ledger::day;
use sprag_model::trend::Tables;
use sprag_model::{
    CommitLine, Comparison, Event, EventKind, EventRecord, Ledger, Run, Series, SuiteGate, Trend, Verdict,
};

/// What is detected, in place of `sprag.toml` and HEAD.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DetectionOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<SensitivityName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The revision whose history orders the points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_parents: bool,
}

impl DetectionOptions {
    pub fn is_default(&self) -> bool {
        *self == DetectionOptions::default()
    }

    /// The first option that is given.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            ("--sensitivity", self.sensitivity.is_some()),
            ("--least", self.least.is_some()),
            ("--branch", self.branch.is_some()),
            ("--all-parents", self.all_parents),
        ];
        all.into_iter().find(|(_, is_given)| *is_given).map(|one| one.0)
    }

    pub fn study(&self, project: &Project) -> crate::Result<Study> {
        study::study_named(project, self.branch.as_deref(), self.all_parents)
    }
}

pub struct TrendOptions {
    pub now: DateTime<Utc>,
    pub detection: DetectionOptions,
    /// The window of the tables; no tables if absent.
    pub days: Option<u32>,
}

impl TrendOptions {
    pub fn events(now: DateTime<Utc>) -> TrendOptions {
        TrendOptions { now, detection: DetectionOptions::default(), days: None }
    }
}

pub fn analyse(
    project: &Project,
    study: &Study,
    options: &TrendOptions,
    selected: &(dyn Fn(&Series) -> bool + Sync),
) -> crate::Result<TrendOutput> {
    Ok(analyse_both(project, study, options, None, selected)?.0)
}

/// In place of an id: the worst open regression that several commits may have caused.
pub const WORST: &str = "worst";

pub const NOTHING_OPEN: &str = "no open regression has several suspects, so there is nothing to search";

/// The event that is meant, by the start of its id; `None` where the worst one is asked for and none is open.
pub fn named(project: &Project, id: &str) -> crate::Result<Option<Event>> {
    if id == WORST { worst(project) } else { event(project, id).map(Some) }
}

fn worst(project: &Project) -> crate::Result<Option<Event>> {
    Ok(worst_of(project, &events(project)?).cloned())
}

pub fn worst_of<'e>(project: &Project, events: &'e [Event]) -> Option<&'e Event> {
    let is_open = |event: &&Event| {
        let is_unsolved = event.suspects.len() > 1 && event.last_good.is_some();
        let lead = event.members.first().map(|lead| lead.suite.as_str());
        let can_be_built =
            project.config.all_suites().any(|(name, suite)| lead == Some(name) && can_be_built(project, suite));
        event.kind == EventKind::Change && event.is_open_regression() && is_unsolved && can_be_built
    };
    events.iter().find(is_open)
}

pub(crate) fn events(project: &Project) -> crate::Result<Vec<Event>> {
    Ok(output(project)?.trend.events)
}

/// What the history does not have of its events yet.
pub fn unrecorded(project: &Project) -> crate::Result<Vec<EventRecord>> {
    Ok(output(project)?.steps)
}

fn output(project: &Project) -> crate::Result<TrendOutput> {
    let study = study::study(project)?;
    analyse(project, &study, &TrendOptions::events(clock::now()), &|_| true)
}

/// The event whose id starts with these letters.
pub fn event(project: &Project, id: &str) -> crate::Result<Event> {
    let events = events(project)?;
    let named: Vec<&Event> = events.iter().filter(|event| event.id.starts_with(id)).collect();
    if named.is_empty() {
        refuse_unknown("event", id, events.iter().map(|event| event.id.as_str()))?;
    }
    match named.as_slice() {
        [only] => Ok((*only).clone()),
        _ => refuse(
            format!("several events have an id that starts with `{}`", text::printable(id)),
            "give it in full; `sprag trend` lists them",
        ),
    }
}

/// Also as of another time.
pub fn analyse_both(
    project: &Project,
    study: &Study,
    options: &TrendOptions,
    other: Option<DateTime<Utc>>,
    selected: &(dyn Fn(&Series) -> bool + Sync),
) -> crate::Result<(TrendOutput, Option<Trend>)> {
    let (mut output, mut as_of_other) =
        with_input(project, study, options, selected, |input| Ok(analyse::analyse_at(input, other)))?;
    answer_events(&mut output.trend.events, &study.ledger, day(options.now));
    output.trend.most = project.config.trend.most();
    if let Some((trend, time)) = as_of_other.as_mut().zip(other) {
        trend.most = output.trend.most;
        answer_events(&mut trend.events, &study.ledger, day(time));
    }
    Ok((output, as_of_other))
}

/// Calls `of` with what the analysis takes.
pub(crate) fn with_input<T>(
    project: &Project,
    study: &Study,
    options: &TrendOptions,
    selected: &(dyn Fn(&Series) -> bool + Sync),
    of: impl FnOnce(Input<'_>) -> crate::Result<T>,
) -> crate::Result<T> {
    let config = &project.config.trend;
    let setting = |benchmark: &str, metric: &str| setting(config, &options.detection, benchmark, metric);
    let tables = match options.days {
        None => Tables::default(),
        Some(days) => {
            let series = &study.analysis.series;
            Tables {
                days,
                movers: movers::movers(series, days),
                geomeans: movers::geomeans(series, days),
                noise: movers::suite_noise(series),
                weeks: study.analysis.weeks.clone(),
                disagreements: study.analysis.disagreements.clone(),
            }
        }
    };
    // No commit of another project, such as the demo, holds the CPU kernels.
    let is_built =
        |suite: &Suite| can_be_built(project, suite) && (suite.kind != SuiteKind::Cpu || is_ours(&project.root));
    let suites = project.config.all_suites().map(|(name, suite)| (name.to_owned(), is_built(suite))).collect();
    let records = read_event_records(project)?;
    let file = CacheFile::at(project, "detections");
    let cache = DetectionCache::from_bytes(&file.read().unwrap_or_default());
    let result = of(Input {
        analysis: &study.analysis,
        line: &study.line,
        heads: &study.heads,
        now: options.now,
        setting: &setting,
        selected,
        suites: &suites,
        records: &records,
        tables,
        cache: &cache,
    });
    if let Some(bytes) = cache.to_bytes() {
        file.write(&bytes);
    }
    result
}

pub(crate) fn setting(
    config: &config::TrendSettings,
    options: &DetectionOptions,
    benchmark: &str,
    metric: &str,
) -> Setting {
    let (name, least) = config.settings_for(benchmark, metric);
    let name = options.sensitivity.unwrap_or(name);
    let least = options.least.unwrap_or(least);
    let word = match name {
        SensitivityName::Strict => "strict",
        SensitivityName::Balanced => "balanced",
        SensitivityName::Loose => "loose",
    };
    Setting { name: word.to_owned(), least, sensitivity: limits(name).at_least(least) }
}

pub fn limits(name: SensitivityName) -> Sensitivity {
    match name {
        SensitivityName::Strict => Sensitivity::STRICT,
        SensitivityName::Balanced => Sensitivity::BALANCED,
        SensitivityName::Loose => Sensitivity::LOOSE,
    }
}

/// Warns of unreadable records; such events get ids from present data.
pub fn read_event_records(project: &Project) -> crate::Result<Vec<EventRecord>> {
    let store = project.store()?;
    let source = project.source()?;
    let files = history::plain_files(store, &source, EVENT_ROOT).context("cannot read the records of events")?;
    // Else a recorded event would get another id.
    study::refuse_absent(store, &files.quarantined)?;
    let mut records = Vec::new();
    let mut bad: Vec<(String, String)> =
        files.quarantined.into_iter().map(|one| (one.path, one.reason.to_string())).collect();
    for (path, bytes) in files.files {
        match EventRecord::from_file(&path, &bytes) {
            Ok(record) => records.push(record),
            Err(reason) => bad.push((path, reason)),
        }
    }
    for (path, reason) in bad {
        text::warn(&format!("`{path}` {reason}; `sprag history fsck` shows more"));
    }
    Ok(records)
}

/// Asks, before minutes of measuring, what the analysis asks of all records after them.
pub fn refuse_partial(project: &Project) -> crate::Result<()> {
    let store = project.store()?;
    if history::facts(store)?.partial {
        study::load(project, store)?;
        read_event_records(project)?;
    }
    Ok(())
}

/// # Errors Where a clone lacks the past that the state of events depends on.
pub fn check_recordable(study: &Study) -> crate::Result<()> {
    if study.line.shallow {
        let message = "no event is recorded: this clone is shallow, so what came before is not known";
        return refuse(message, "run `git fetch --unshallow`; in a workflow set `fetch-depth: 0` where it checks out");
    }
    Ok(())
}

pub fn record(project: &Project, steps: &[EventRecord]) -> crate::Result<()> {
    if steps.is_empty() {
        text::say("no event is new, narrowed or retracted");
        return Ok(());
    }
    let store = project.store()?;
    let target = project.target()?;
    let records: Vec<Record> = steps.iter().map(Record::from_event).collect();
    let appended = history::append(store, &target, &records, clock::now()).context("cannot record the events")?;
    appended.warnings.iter().for_each(|warning| text::warn(warning));
    let branch = text::branch(&appended.reference);
    text::say(&format!("recorded {} of events on {branch}", text::count(appended.added.len(), "change")));
    Ok(())
}

/// Marks regressions of the newest runs that the ledger answers.
pub fn answer_newest(study: &mut Study, trend: &Trend, now: DateTime<Utc>) {
    let Study { analysis, line, ledger, .. } = study;
    Accepting::new(ledger, &trend.events, line, day(now)).answer_newest(analysis);
}

/// Marks regressions of one run, compared with the commit `base`, that the ledger answers.
pub fn answer_run(
    ledger: &Ledger,
    events: &[Event],
    line: &CommitLine,
    today: NaiveDate,
    (run, base, comparisons): (&Run, Option<&str>, &mut [Comparison]),
) {
    let compared = ComparedRun {
        machine: &run.machine.id,
        machine_name: &run.machine.name,
        base,
        commit: run.commit.as_ref().map(|commit| commit.sha.as_str()),
    };
    Accepting::new(ledger, events, line, today).answer(&compared, comparisons);
}

/// Marks regressions of a gate that the ledger answers; `runs` are those of `suites`. Analyses the history only if needed.
pub fn answer_gate(
    project: &Project,
    ledger: &Ledger,
    suites: &mut [SuiteGate],
    runs: &[Option<&Run>],
) -> crate::Result<()> {
    let regressed = suites.iter().flat_map(|suite| &suite.comparisons).any(|one| one.verdict == Verdict::Regressed);
    if ledger.acceptances.is_empty() || !regressed || project.find_store().is_none() {
        return Ok(());
    }
    let (study, now) = (study::study(project)?, clock::now());
    let events = analyse(project, &study, &TrendOptions::events(now), &|_| true)?.trend.events;
    for (SuiteGate { base_commit, comparisons, .. }, run) in suites.iter_mut().zip(runs) {
        if let Some(run) = run {
            answer_run(&study.ledger, &events, &study.line, day(now), (run, base_commit.as_deref(), comparisons));
        }
    }
    Ok(())
}

/// Warns of acceptances of unknown events.
pub fn warn_unknown(ledger: &Ledger, trend: &Trend) {
    for one in &ledger.acceptances {
        if trend.events.iter().all(|event| event.id != one.event) {
            text::warn(&format!(
                "{} accepts `{}`, which is not an event of the history; it has no effect",
                one.terms.entry, one.event
            ));
        }
    }
}

pub struct SeriesFilter<'a> {
    suites: &'a [String],
    machine: Option<String>,
    filters: &'a [String],
}

impl<'a> SeriesFilter<'a> {
    pub fn new(
        suites: &'a [String],
        machine: Option<&str>,
        filters: &'a [String],
        all: &[&Series],
    ) -> crate::Result<SeriesFilter<'a>> {
        let series = || all.iter().copied();
        for suite in suites {
            refuse_unknown("series of the suite", suite, series().map(|one| one.suite.as_str()))?;
        }
        let is_meant = |id: &str, name: &str, asked: &str| name == asked || (asked.len() >= 8 && id.starts_with(asked));
        let ids = machine.map(|asked| -> BTreeSet<&str> {
            let matching = series().filter(|one| is_meant(&one.machine, &one.machine_name, asked));
            matching.map(|one| &*one.machine).collect()
        });
        if let Some((asked, ids)) = machine.zip(ids.as_ref()).filter(|(_, ids)| ids.len() != 1) {
            refuse_unknown("series of the machine", asked, series().map(|one| one.machine_name.as_str()))?;
            let ids: Vec<&str> = ids.iter().copied().collect();
            let message = format!("several machines are called `{}`", text::printable(asked));
            return refuse(message, format!("name one by its id: {}", ids.join(", ")));
        }
        let machine = ids.and_then(|ids| ids.first().map(|id| (*id).to_owned()));
        let selection = SeriesFilter { suites, machine, filters };
        if !all.is_empty() && !series().any(|one| selection.has(one)) {
            return refuse("no series of the history is selected", "a filter is a part of the id of a benchmark");
        }
        Ok(selection)
    }

    pub fn is_all(&self) -> bool {
        self.suites.is_empty() && self.machine.is_none() && self.filters.is_empty()
    }

    pub fn has(&self, series: &Series) -> bool {
        (self.suites.is_empty() || self.suites.contains(&series.suite))
            && self.machine.as_ref().is_none_or(|machine| *machine == series.machine)
            && (self.filters.is_empty()
                || self.filters.iter().any(|part| {
                    series.benchmark.contains(part.as_str()) || decoded(&series.benchmark).contains(part.as_str())
                }))
    }
}

/// Warns if `--as-of` lies before the newest run.
pub fn warn_early(as_of: Option<DateTime<Utc>>, newest: Option<DateTime<Utc>>) {
    if let Some((asked, newest)) = as_of.zip(newest).filter(|(asked, newest)| asked < newest) {
        warn(&format!(
            "`--as-of {}` lies before the newest run, of {}; later runs are shown anyway, and nothing is overdue",
            asked.format("%Y-%m-%dT%H:%M:%SZ"),
            newest.format("%Y-%m-%dT%H:%M:%SZ")
        ));
    }
}

/// Warns of entries in `sprag.toml` that match no metric.
pub fn warn_unmatched(project: &Project, study: &Study) {
    let keys: Vec<String> = study
        .analysis
        .series
        .iter()
        .map(|one| format!("{} {}", one.series.benchmark, one.series.metric.name))
        .collect();
    if keys.is_empty() {
        return;
    }
    for entry in &project.config.trend.metric {
        if !keys.iter().any(|key| key.contains(&entry.part)) {
            warn(&format!(
                "`match = \"{}\"` under `[[trend.metric]]` in `{FILE_NAME}` fits no metric of the history",
                entry.part
            ));
        }
    }
}

//! The events of a studied history, and their records.

use chrono::{DateTime, Utc};

use crate::config::{self, SensitivityName};
use crate::error::Context as _;
use crate::project::Project;
use crate::revision::can_be_built;
use crate::study::Study;
use crate::{notices, text};
use sprag_analysis::changes::sensitivity::Sensitivity;
use sprag_analysis::ledger::tell_events;
use sprag_analysis::movers;
use sprag_analysis::trend::analyse::{self, Input, Output};
use sprag_analysis::trend::series_changes::Setting;
use sprag_history::{self as history, Record};
use sprag_measure::clock;
use sprag_model::analysis::SeriesAnalysis;
use sprag_model::event_record::EventRecord;
use sprag_model::ledger::day;
use sprag_model::trend::{Tables, Trend};

/// What a trend is asked for beyond what `sprag.toml` says.
pub struct TrendOptions {
    pub now: DateTime<Utc>,
    pub sensitivity: Option<SensitivityName>,
    pub least: Option<f64>,
    /// The window of the tables beside the events; without one there are none.
    pub days: Option<u32>,
}

impl TrendOptions {
    /// The events alone, as `sprag.toml` says.
    pub fn events(now: DateTime<Utc>) -> TrendOptions {
        TrendOptions { now, sensitivity: None, least: None, days: None }
    }
}

/// The trend of a studied history.
pub fn analyse(
    project: &Project,
    study: &Study,
    options: &TrendOptions,
    selected: &(dyn Fn(&SeriesAnalysis) -> bool + Sync),
) -> crate::Result<Output> {
    Ok(analyse_both(project, study, options, None, selected)?.0)
}

/// Likewise, and as of another time.
pub fn analyse_both(
    project: &Project,
    study: &Study,
    options: &TrendOptions,
    other: Option<DateTime<Utc>>,
    selected: &(dyn Fn(&SeriesAnalysis) -> bool + Sync),
) -> crate::Result<(Output, Option<Trend>)> {
    let config = &project.config.trend;
    let setting = |benchmark: &str, metric: &str| setting(config, options, benchmark, metric);
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
            }
        }
    };
    let suites =
        project.config.known_suites().map(|(name, suite)| (name.to_owned(), can_be_built(suite.kind))).collect();
    let records = read_event_records(project)?;
    let input = Input {
        analysis: &study.analysis,
        line: &study.line,
        heads: &study.heads,
        now: options.now,
        setting: &setting,
        selected,
        suites: &suites,
        records: &records,
        tables,
    };
    let (mut output, mut as_of_other) = analyse::analyse_at(input, other);
    tell_events(&mut output.trend.events, &study.ledger, day(options.now));
    if let Some((trend, time)) = as_of_other.as_mut().zip(other) {
        tell_events(&mut trend.events, &study.ledger, day(time));
    }
    Ok((output, as_of_other))
}

fn setting(config: &config::Trend, options: &TrendOptions, benchmark: &str, metric: &str) -> Setting {
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

/// The limits of a sensitivity.
pub fn limits(name: SensitivityName) -> Sensitivity {
    match name {
        SensitivityName::Strict => Sensitivity::STRICT,
        SensitivityName::Balanced => Sensitivity::BALANCED,
        SensitivityName::Loose => Sensitivity::LOOSE,
    }
}

/// The records of events. One that cannot be read is told of and left out: an event then has the id of the present data.
fn read_event_records(project: &Project) -> crate::Result<Vec<EventRecord>> {
    let store = project.store()?;
    let source = project.source()?;
    let files = history::event_files(store, &source).context("cannot read the records of events")?;
    let mut records = Vec::new();
    let mut bad: Vec<(String, String)> = files.quarantined.into_iter().map(|one| (one.path, one.reason)).collect();
    for (path, bytes) in files.files {
        match EventRecord::from_file(&path, &bytes) {
            Ok(record) => records.push(record),
            Err(reason) => bad.push((path, reason)),
        }
    }
    for (path, reason) in bad {
        notices::warn(&format!("`{path}` {reason}; `sprag history fsck` tells more"));
    }
    Ok(records)
}

/// Commits what became of events to the history.
pub fn record(project: &Project, steps: &[EventRecord]) -> crate::Result<()> {
    if steps.is_empty() {
        notices::say("no event is new, narrowed or retracted");
        return Ok(());
    }
    let store = project.store()?;
    let target = history::target(store, project.config.history.reference.as_deref())?;
    let records: Vec<Record> = steps.iter().map(Record::from_event).collect();
    let appended = history::append(store, &target, &records, clock::now()).context("cannot record the events")?;
    appended.warnings.iter().for_each(|warning| notices::warn(warning));
    let branch = appended.reference.trim_start_matches("refs/heads/");
    notices::say(&format!("recorded {} of events on {branch}", text::count(appended.added.len(), "change")));
    Ok(())
}

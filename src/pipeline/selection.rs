//! Which series of a history are looked at.

use chrono::{DateTime, Utc};

use crate::config::{self, FILE_NAME};
use crate::notices::warn;
use crate::project::Project;
use crate::study::Study;
use crate::{Advice, text};
use sprag_model::analysis::SeriesAnalysis;

/// Which series are looked at.
pub struct Selection<'a> {
    suites: &'a [String],
    machine: Option<String>,
    filters: &'a [String],
}

impl<'a> Selection<'a> {
    pub fn new(
        suites: &'a [String],
        machine: Option<&str>,
        filters: &'a [String],
        study: &Study,
    ) -> crate::Result<Selection<'a>> {
        let series = || study.analysis.series.iter().map(|one| &one.series);
        let none = |what: &str, asked: &str, mut names: Vec<&str>| {
            names.sort_unstable();
            names.dedup();
            let near =
                config::nearest(asked, &names).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Advice {
                message: text::printable(&format!("the history has no series of the {what} `{asked}`")),
                hint: text::printable(&format!("{near}it has: {list}")),
            }
        };
        for suite in suites {
            if series().all(|one| one.suite != *suite) {
                return Err(none("suite", suite, series().map(|one| one.suite.as_str()).collect()).into());
            }
        }
        let machine = match machine {
            None => None,
            Some(asked) => {
                let is_meant = |id: &str, name: &str| name == asked || (asked.len() >= 8 && id.starts_with(asked));
                let mut ids: Vec<&str> =
                    series().filter(|one| is_meant(&one.machine, &one.machine_name)).map(|one| &*one.machine).collect();
                ids.sort_unstable();
                ids.dedup();
                match ids[..] {
                    [id] => Some(id.to_owned()),
                    [] => {
                        let names = series().map(|one| one.machine_name.as_str()).collect();
                        return Err(none("machine", asked, names).into());
                    }
                    _ => {
                        let message = format!("several machines are called `{asked}`");
                        let hint = format!("name one by its id: {}", ids.join(", "));
                        return Err(Advice { message: text::printable(&message), hint }.into());
                    }
                }
            }
        };
        let selection = Selection { suites, machine, filters };
        if !study.analysis.series.is_empty() && !study.analysis.series.iter().any(|one| selection.has(one)) {
            let message = "no series of the history is selected".to_owned();
            return Err(Advice { message, hint: "a filter is a part of the id of a benchmark".to_owned() }.into());
        }
        Ok(selection)
    }

    /// Whether nothing was narrowed.
    pub fn is_all(&self) -> bool {
        self.suites.is_empty() && self.machine.is_none() && self.filters.is_empty()
    }

    pub fn has(&self, one: &SeriesAnalysis) -> bool {
        let series = &one.series;
        (self.suites.is_empty() || self.suites.contains(&series.suite))
            && self.machine.as_ref().is_none_or(|machine| *machine == series.machine)
            && (self.filters.is_empty() || self.filters.iter().any(|part| series.benchmark.contains(part.as_str())))
    }
}

/// Warns where the present that is asked for lies before what was measured.
pub fn warn_early(as_of: Option<DateTime<Utc>>, study: &Study) {
    let newest = study.heads.iter().map(|head| head.timestamp).max();
    if let Some((asked, newest)) = as_of.zip(newest).filter(|(asked, newest)| asked < newest) {
        warn(&format!(
            "`--as-of {}` lies before the newest run, of {}; later runs are shown all the same, and nothing is overdue",
            asked.format("%Y-%m-%dT%H:%M:%SZ"),
            newest.format("%Y-%m-%dT%H:%M:%SZ")
        ));
    }
}

/// Warns of entries in `sprag.toml` that fit no metric of the history.
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

//! The heads of runs as two tables: one row a run, and one row a part that runs have in common.
//!
//! Ten suites measure a commit, on one machine, under the same circumstances: what is the same of many runs is written once
//! and, once it is read, held once. A row of a run bears the numbers of its parts, each of which is JSON.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::DateTime;
use polars::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::from_str;

use super::cells::{Cells, FrameError, json, number_of, texts};
use sprag_model::commit::Commit;
use sprag_model::environment::{Environment, Machine};
use sprag_model::head::RunHead;
use sprag_model::run::{Quality, RunStatus};

/// The columns that hold numbers of parts.
const PARTS: [&str; 5] = ["commit", "machine", "environment", "config", "outcome"];

/// What is left of a head, which many runs have in common, too.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcome {
    suite: String,
    status: RunStatus,
    reason: Option<String>,
    quality: Quality,
    benchmarks: usize,
    failed: usize,
}

/// The runs, each with the id of its blob, and the parts.
pub(super) fn to_tables(heads: &[RunHead], blobs: &[String]) -> Result<(DataFrame, DataFrame), FrameError> {
    let mut parts = Parts::default();
    let mut numbers: [Vec<u32>; PARTS.len()] = Default::default();
    for head in heads {
        let RunHead { path: _, id: _, timestamp: _, commit, machine, environment, config, .. } = head;
        let RunHead { suite, status, reason, quality, benchmarks, failed, .. } = head.clone();
        let of_run = [
            match commit {
                Some(commit) => parts.shared(commit),
                None => parts.number(&()),
            },
            parts.shared(machine),
            parts.shared(environment),
            parts.shared(config),
            parts.number(&Outcome { suite, status, reason, quality, benchmarks, failed }),
        ];
        numbers.iter_mut().zip(of_run).for_each(|(numbers, number)| numbers.push(number));
    }
    let times: Vec<i64> = heads.iter().map(|head| head.timestamp.timestamp()).collect();
    let mut columns = vec![
        texts("blob", blobs.iter().map(String::as_str)),
        texts("path", heads.iter().map(|head| head.path.as_str())),
        texts("id", heads.iter().map(|head| head.id.as_str())),
        Column::new("time".into(), times),
    ];
    columns.extend(PARTS.iter().zip(numbers).map(|(name, numbers)| Column::new((*name).into(), numbers)));
    let parts = DataFrame::new(parts.texts.len(), vec![texts("part", parts.texts.iter())])?;
    Ok((DataFrame::new(heads.len(), columns)?, parts))
}

/// The heads, and the ids of their blobs.
pub(super) fn from_tables(runs: &DataFrame, parts: &DataFrame) -> Result<(Vec<RunHead>, Vec<String>), FrameError> {
    let cells = Cells(runs);
    let parts = Cells(parts).texts("part")?;
    let [commit, machine, environment, config, outcome] = PARTS;
    let commits = of_runs(&cells, commit, &parts, |text| Ok(from_str::<Option<Commit>>(text)?.map(Arc::new)))?;
    let machines = of_runs(&cells, machine, &parts, |text| from_str::<Machine>(text).map(Arc::new))?;
    let environments = of_runs(&cells, environment, &parts, |text| from_str::<Environment>(text).map(Arc::new))?;
    let configs = of_runs(&cells, config, &parts, |text| from_str::<BTreeMap<_, _>>(text).map(Arc::new))?;
    let outcomes = of_runs(&cells, outcome, &parts, |text| from_str::<Outcome>(text).map(Arc::new))?;
    let shared = commits.into_iter().zip(machines).zip(environments).zip(configs).zip(outcomes);
    let (paths, ids) = (cells.texts("path")?, cells.texts("id")?);
    let times = runs.column("time")?.i64()?;
    let own = paths.into_iter().zip(ids).zip(times.iter());
    let head = |(((path, id), time), ((((commit, machine), environment), config), outcome)): ((_, Option<i64>), _)| {
        let outcome: Arc<Outcome> = outcome;
        let Outcome { suite, status, reason, quality, benchmarks, failed } = &*outcome;
        let timestamp = time.and_then(|time| DateTime::from_timestamp(time, 0)).ok_or(FrameError::Gap("time"))?;
        let (path, id): (&str, &str) = (path, id);
        Ok(RunHead {
            path: path.to_owned(),
            id: id.to_owned(),
            suite: suite.clone(),
            timestamp,
            commit,
            machine,
            environment,
            config,
            status: *status,
            reason: reason.clone(),
            quality: quality.clone(),
            benchmarks: *benchmarks,
            failed: *failed,
        })
    };
    let heads = own.zip(shared).map(head).collect::<Result<_, FrameError>>()?;
    Ok((heads, cells.texts("blob")?.into_iter().map(str::to_owned).collect()))
}

#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Those that are held once, by where they are.
    shared: HashMap<usize, u32>,
}

impl Parts {
    fn number(&mut self, part: &impl Serialize) -> u32 {
        let text = json(part);
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        let number = number_of(self.texts.len());
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    fn shared<T: Serialize>(&mut self, part: &Arc<T>) -> u32 {
        let place = Arc::as_ptr(part).addr();
        if let Some(number) = self.shared.get(&place) {
            return *number;
        }
        let number = self.number(&**part);
        self.shared.insert(place, number);
        number
    }
}

/// A part of each run, which is read once for all runs that have it.
fn of_runs<T: Clone>(
    runs: &Cells<'_>,
    name: &'static str,
    parts: &[&str],
    read: impl Fn(&str) -> serde_json::Result<T>,
) -> Result<Vec<T>, FrameError> {
    let mut known: Vec<Option<T>> = vec![None; parts.len()];
    let of_run = |number: u32| {
        let known = known.get_mut(number as usize).ok_or(FrameError::Gap(name))?;
        if let Some(part) = known {
            return Ok(part.clone());
        }
        let part = read(parts[number as usize]).map_err(|_| FrameError::Gap(name))?;
        Ok(known.insert(part).clone())
    };
    runs.integers(name)?.into_iter().map(of_run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fixture::{measurement, run};

    #[test]
    fn heads_are_read_back_and_share_what_is_the_same() {
        let runs = ["1", "2", "3"].map(|id| run(id, 1, &[measurement("pack", &[("time", 1.0)])]));
        let mut heads: Vec<RunHead> = runs.iter().map(RunHead::new).collect();
        heads[1].commit = None;
        heads[2].reason = Some("\"odd\"\n".to_owned());
        Arc::make_mut(&mut heads[2].environment).facts.insert("kernel".to_owned(), "other".to_owned());
        let blobs = ["a", "b", "c"].map(str::to_owned);
        let (runs, parts) = to_tables(&heads, &blobs).unwrap();
        // Two commits, machine, two environments, config, two outcomes.
        assert_eq!(parts.height(), 8);
        let (read, read_blobs) = from_tables(&runs, &parts).unwrap();
        assert_eq!((&read, &read_blobs[..]), (&heads, &blobs[..]));
        assert!(Arc::ptr_eq(&read[0].machine, &read[2].machine));
        let (again, parts_again) = to_tables(&read, &blobs).unwrap();
        assert!(again.equals_missing(&runs) && parts_again.equals_missing(&parts));
        assert!(from_tables(&runs, &parts.head(Some(7))).is_err());
    }
}

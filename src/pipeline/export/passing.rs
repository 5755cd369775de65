//! The runs of a history one after another in the order of time, so that an export holds few of them at once.

use std::collections::BTreeMap;

use crate::error::Context as _;
use chrono::{DateTime, Utc};

use sprag_history::{self as history, Entry, Store};
use sprag_model::run::{Quarantined, RecordedRun};

/// So many records are in memory at once.
const AT_ONCE: usize = 1_000;

/// Which runs come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    OldestFirst,
    NewestFirst,
}

#[derive(Debug, Default)]
pub(crate) struct Passed {
    /// How many runs were taken.
    pub runs: usize,
    /// How many records cannot be used.
    pub quarantined: usize,
}

impl Passed {
    /// Gives the runs of these records to `take`, those of equal time in the order of their ids; `take` says whether it
    /// took the run.
    pub(crate) fn pass(
        &mut self,
        store: &Store,
        entries: &[Entry],
        order: Order,
        take: &mut dyn FnMut(&RecordedRun) -> crate::Result<bool>,
    ) -> crate::Result<()> {
        // The name of a record bears the month, so the months need no reading to be put in order.
        let mut months: BTreeMap<(&str, &str), Vec<Entry>> = BTreeMap::new();
        for entry in entries {
            months.entry(entry.month()).or_default().push(entry.clone());
        }
        let mut months: Vec<Vec<Entry>> = months.into_values().collect();
        if order == Order::NewestFirst {
            months.reverse();
        }
        for month in months {
            let month = if month.len() > AT_ONCE { self.in_order(store, month)? } else { month };
            let parts = month.chunks(AT_ONCE);
            let parts: Vec<&[Entry]> =
                if order == Order::NewestFirst { parts.rev().collect() } else { parts.collect() };
            for part in parts {
                self.pass_part(store, part, order, take)?;
            }
        }
        Ok(())
    }

    /// The records of a month in the order of time, for which all of them are looked at; those that cannot be used are
    /// left out.
    fn in_order(&mut self, store: &Store, month: Vec<Entry>) -> crate::Result<Vec<Entry>> {
        type Seen = (Vec<(DateTime<Utc>, String, Entry)>, usize);
        let take = |(seen, bad): &mut Seen, place: usize, record: Result<RecordedRun, Quarantined>| match record {
            Ok(recorded) => seen.push((recorded.run.timestamp, recorded.id, month[place].clone())),
            Err(_) => *bad += 1,
        };
        let shares = history::fold(store, &month, Seen::default, take).context("cannot read the history")?;
        let mut all = Vec::with_capacity(month.len());
        for (seen, bad) in shares {
            all.extend(seen);
            self.quarantined += bad;
        }
        all.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        Ok(all.into_iter().map(|(_, _, entry)| entry).collect())
    }

    fn pass_part(
        &mut self,
        store: &Store,
        part: &[Entry],
        order: Order,
        take: &mut dyn FnMut(&RecordedRun) -> crate::Result<bool>,
    ) -> crate::Result<()> {
        let read = history::read(store, part).context("cannot read the history")?;
        let mut runs: Vec<RecordedRun> = Vec::with_capacity(read.len());
        for record in read {
            match record {
                Ok(recorded) => runs.push(recorded),
                Err(_) => self.quarantined += 1,
            }
        }
        runs.sort_by(|a, b| (a.run.timestamp, &a.id).cmp(&(b.run.timestamp, &b.id)));
        if order == Order::NewestFirst {
            runs.reverse();
        }
        for recorded in &runs {
            self.runs += usize::from(take(recorded)?);
        }
        Ok(())
    }
}

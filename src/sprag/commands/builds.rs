//! `sprag backfill`, and `sprag cache`: the built commits of the user.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::cli::{BackfillArgs, CacheArgs, CacheCommand};
use crate::commands::effort;
use crate::commands::progress::{BUILT_FROM, Progress};
use sprag_measure::suite::{Effort, Extent};
use sprag_pipeline::Result;
use sprag_pipeline::backfill::{self, BackfillRequest};
use sprag_pipeline::builds::listing;
use sprag_pipeline::error::Exit;
use sprag_pipeline::measuring::MeasureHost;
use sprag_pipeline::options::shard_option;

/// More is a typing error.
const LONGEST_AGE: f64 = 10.0 * 365.0 * 86_400.0;

/// In seconds: a commit must be built, and a week is long.
const BUDGETS: (f64, f64) = (1.0, 7.0 * 86_400.0);

pub(super) fn backfill(folder: &Path, args: BackfillArgs, out: &mut dyn Write) -> Result<Exit> {
    let extent = match (args.quick, args.rigorous) {
        (true, _) => Extent::Quick,
        (_, true) => Extent::Rigorous,
        _ => Extent::Ordinary,
    };
    let budget = args.budget.as_deref().map(|text| effort::seconds("--budget", text, BUDGETS)).transpose()?;
    let request = BackfillRequest {
        folder: folder.to_owned(),
        range: args.range,
        event: args.around,
        every: args.every.map(|every| every as usize),
        releases: args.releases,
        missing: args.missing,
        suites: args.suites,
        shard: shard_option(args.shard.as_deref())?,
        budget,
        retry: args.retry,
        dry_run: args.dry_run,
        effort: Effort { extent, pin: None },
    };
    let progress = Progress::new();
    backfill::backfill(&request, MeasureHost { observer: &progress, built_from: BUILT_FROM }, out)
}

pub(super) fn cache(args: &CacheArgs, out: &mut dyn Write) -> Result<Exit> {
    let now = SystemTime::now();
    match &args.command {
        None => listing::list(now, args.json, out),
        Some(CacheCommand::Clear { older_than }) => {
            let age = older_than.as_deref().map(|text| effort::seconds("--older-than", text, (0.0, LONGEST_AGE)));
            let since = age.transpose()?.and_then(|age| now.checked_sub(Duration::from_secs_f64(age)));
            listing::clear(since, out)
        }
    }
}

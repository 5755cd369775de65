//! `sprag cache`: the built commits of the user.

use std::io::Write;
use std::time::{Duration, SystemTime};

use crate::cli::{CacheArgs, CacheCommand};
use crate::commands::effort;
use sprag_pipeline::Result;
use sprag_pipeline::builds::listing;
use sprag_pipeline::error::Exit;

/// More is a typing error.
const LONGEST_AGE: f64 = 10.0 * 365.0 * 86_400.0;

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

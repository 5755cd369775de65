//! What `sprag cache` prints of the built commits.

use std::io::Write;
use std::time::SystemTime;

use serde::Serialize;

use crate::builds::cache::{BuildCache, ListedBuild, MOST_BYTES};
use crate::error::{Exit, WithContext as _};
use crate::text::{self, printable};
use crate::{Advice, Result};
use sprag_base::json;
use sprag_model::Unit;
use sprag_report::number;
use sprag_report::sheet::terminal::typed;

#[derive(Serialize)]
struct Line {
    commit: String,
    subject: String,
    repository: String,
    bytes: u64,
    unused_seconds: u64,
    failure: Option<String>,
}

/// The last used one first.
pub fn list(now: SystemTime, as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let cache = cache()?;
    let lines: Vec<Line> = cache.list().into_iter().map(|one| line(one, now)).collect();
    if as_json {
        write!(out, "{}", json::to_pretty(&lines))?;
        return Ok(Exit::Done);
    }
    let row = |line: &Line| {
        let state = if line.failure.is_some() { "failed to build" } else { "built" };
        let used = format!("{} ago", text::duration(line.unused_seconds as f64));
        let commit = text::short(&line.commit, 12).to_owned();
        let project = printable(line.repository.trim_end_matches('/'));
        vec![commit, printable(&line.subject), project, state.to_owned(), size(line.bytes), used]
    };
    let heads = ["commit", "subject", "project", "state", "size", "used"];
    write!(out, "{}", text::table(heads, lines.iter().map(row), &[4, 5]))?;
    let bytes = lines.iter().map(|line| line.bytes).sum();
    let (entries, folder) = (text::count(lines.len(), "build"), text::path(cache.folder()));
    writeln!(out, "{entries}, {} of at most {} in `{folder}`", size(bytes), size(MOST_BYTES))?;
    Ok(Exit::Done)
}

pub fn clear(since: Option<SystemTime>, out: &mut dyn Write) -> Result<Exit> {
    let removed = cache()?.clear(since).context("cannot clear the cache of built commits")?;
    let busy = match removed.busy {
        0 => String::new(),
        busy => format!("; {} in use stayed", text::count(busy, "build")),
    };
    writeln!(out, "removed {}, {}{busy}", text::count(removed.builds, "build"), size(removed.bytes))?;
    Ok(Exit::Done)
}

fn cache() -> Result<BuildCache> {
    let advice = || {
        Advice::new(
            "there is no folder for built commits",
            "set HOME or XDG_CACHE_HOME to a folder that can be written",
        )
    };
    BuildCache::of_user().ok_or_else(|| advice().into())
}

fn line(listed: ListedBuild, now: SystemTime) -> Line {
    let ListedBuild { entry, used, .. } = listed;
    let unused_seconds = now.duration_since(used).map_or(0, |time| time.as_secs());
    let (commit, subject, repository) = (entry.commit, entry.subject, entry.repository);
    Line { commit, subject, repository, bytes: entry.bytes, unused_seconds, failure: entry.failure }
}

fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    typed(&number::short_quantity(Unit::Byte.scale(bytes), bytes))
}

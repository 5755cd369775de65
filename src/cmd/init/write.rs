//! Writes what a project lacks, and says what was there.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Context as _;

use super::plan::{self, IGNORED, Planned};
use super::render::Facts;
use crate::cli::InitArgs;
use crate::cmd::project::{Project, write_new, write_whole};
use crate::cmd::{Advice, Exit, bounded, text, warn};
use crate::config::{Config, FILE_NAME};
use crate::history;

/// The most that a file of a project may hold to be looked at.
const MOST_BYTES: usize = 1 << 20;

/// What becomes of a file.
enum Fate {
    Written,
    Replaced,
    Same,
    Kept,
}

/// Sets a project up. Nothing that is there is replaced unless `--force` says so.
pub(in crate::cmd) fn run(folder: &Path, args: &InitArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    if history::facts(store)?.workdir.is_none() {
        let message = "this repository has no working tree, so there is no place for files".to_owned();
        return Err(Advice { message, hint: "run `sprag init` in a clone of it".to_owned() }.into());
    }
    let name = project.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let configuration = plan::configuration(&name);
    // The suites of the file that is there, or of the one that is written: never the built-in ones.
    let config = match project.root.join(FILE_NAME).symlink_metadata() {
        Ok(_) => project.config.clone(),
        Err(_) => Config::parse(&configuration.text, Path::new(FILE_NAME))?,
    };
    let (mut facts, odd) = Facts::of(&config);
    facts.download_from = args.download_from.clone().unwrap_or_default();
    facts.sha256 = args.sha256.clone().unwrap_or_default();
    for name in odd {
        warn(&format!("the workflows leave out the suite `{name}`: its name could act in a shell"));
    }

    let mut planned = vec![configuration];
    planned.extend(plan::files(&facts));
    for one in &planned {
        refuse_links(&project.root, one.path)?;
    }
    let mut kept = 0;
    for one in &planned {
        let fate = put(&project.root, one, args)?;
        kept += usize::from(matches!(fate, Fate::Kept));
        writeln!(out, "{:<12} {}", word(&fate, args.dry_run), one.path)?;
    }
    writeln!(out, "{:<12} .gitignore", ignore(&project.root, args.dry_run)?)?;
    if kept > 0 {
        let how = if args.force { "sprag.toml is never replaced" } else { "--force replaces them, but for sprag.toml" };
        writeln!(out, "\n{} stayed as they were; {how}.", text::count(kept, "file"))?;
    }
    if !args.dry_run {
        next_steps(&facts, out)?;
    }
    Ok(Exit::Done)
}

fn word(fate: &Fate, is_dry: bool) -> &'static str {
    match (fate, is_dry) {
        (Fate::Written, false) => "wrote",
        (Fate::Written, true) => "would write",
        (Fate::Replaced, false) => "replaced",
        (Fate::Replaced, true) => "would replace",
        (Fate::Same, _) => "is there",
        (Fate::Kept, _) => "kept",
    }
}

/// Refuses a path that leads through a link: it could lead out of the project.
fn refuse_links(root: &Path, path: &str) -> anyhow::Result<()> {
    let mut place = root.to_owned();
    for part in Path::new(path) {
        place.push(part);
        if place.symlink_metadata().is_ok_and(|found| found.file_type().is_symlink()) {
            let message = format!("`{}` is a link", text::printable(&place.display().to_string()));
            return Err(Advice { message, hint: "make it a plain file or folder".to_owned() }.into());
        }
    }
    Ok(())
}

fn put(root: &Path, one: &Planned, args: &InitArgs) -> anyhow::Result<Fate> {
    let path = root.join(one.path);
    if path.symlink_metadata().is_err() {
        let is_written = args.dry_run || write_new(&path, one.text.as_bytes())?;
        return Ok(if is_written { Fate::Written } else { Fate::Kept });
    }
    let there = bounded::read(&path, MOST_BYTES).ok();
    if there.as_deref() == Some(one.text.as_bytes()) {
        return Ok(Fate::Same);
    }
    if !args.force || !one.is_replaceable {
        return Ok(Fate::Kept);
    }
    if !args.dry_run {
        write_whole(&path, one.text.as_bytes())?;
    }
    Ok(Fate::Replaced)
}

/// Adds the lines that `.gitignore` lacks.
fn ignore(root: &Path, is_dry: bool) -> anyhow::Result<&'static str> {
    let path = root.join(".gitignore");
    refuse_links(root, ".gitignore")?;
    let (there, is_new) = match fs::read(&path) {
        Ok(bytes) => (bytes, false),
        Err(error) if error.kind() == ErrorKind::NotFound => (Vec::new(), true),
        Err(error) => return Err(error).context("cannot read `.gitignore`"),
    };
    let has = |wanted: &str| {
        let lines = there.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        lines
            .map(|line| line.strip_suffix(b"/").unwrap_or(line))
            .any(|line| line == wanted.as_bytes() || line == wanted.trim_start_matches('/').as_bytes())
    };
    let lacking: Vec<&str> = IGNORED.into_iter().filter(|line| !has(line)).collect();
    if lacking.is_empty() {
        return Ok("is there");
    }
    let mut text = there.clone();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    for line in lacking {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    if !is_dry {
        write_whole(&path, &text)?;
    }
    Ok(match (is_new, is_dry) {
        (true, false) => "wrote",
        (true, true) => "would write",
        (false, false) => "added to",
        (false, true) => "would add to",
    })
}

fn next_steps(facts: &Facts, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut steps = vec!["sprag weekly: measure, record, and render the site to _site/.".to_owned()];
    if facts.gated.is_empty() {
        steps.push(
            "Name a suite of the kind `command` in sprag.toml, then `sprag init --force`: pull requests are gated by it."
                .to_owned(),
        );
    }
    if facts.download_from.is_empty() || facts.sha256.is_empty() {
        steps.push(
            "`sprag init --force --download-from OWNER/NAME --sha256 DIGEST` names the release of Sprag that workflows use."
                .to_owned(),
        );
    }
    steps.push("Commit these files, and require the check `perf gate` of the branch.".to_owned());
    steps.push("On GitHub: Settings, Pages, Source: GitHub Actions.".to_owned());
    writeln!(out, "\nNext (docs/CI.md has the rest):")?;
    for (place, step) in steps.iter().enumerate() {
        writeln!(out, "  {}. {step}", place + 1)?;
    }
    Ok(())
}

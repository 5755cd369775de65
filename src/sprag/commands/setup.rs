//! `sprag init`, `demo`, `doctor` and `man`.

use std::io::Write;
use std::path::Path;

use crate::cli::{self, CiSystem, InitArgs};
use crate::commands::progress::{BUILT_FROM, Progress};
use sprag_base::files::write_atomic;
use sprag_measure::clock;
use sprag_measure::doctor::{GivenName, examine};
use sprag_measure::environment::MACHINE_VARIABLE;
use sprag_pipeline::error::{Exit, WithContext as _};
use sprag_pipeline::init::{self, Ci, CiOptions, InitOptions};
use sprag_pipeline::measuring::MeasureHost;
use sprag_pipeline::project::Project;
use sprag_pipeline::text::{self, count};
use sprag_pipeline::{Result, demo, publish, study};

pub(super) fn init(folder: &Path, args: InitArgs, out: &mut dyn Write) -> Result<Exit> {
    if args.list {
        return init::list(out);
    }
    let InitArgs { no_verify, ci, dry_run, force, keep, download_from, sha256, command, .. } = args;
    let ci = ci.map(|system| match system {
        CiSystem::Github => Ci::Github,
        CiSystem::GithubFull => Ci::GithubFull,
    });
    let ci = ci.map(|ci| CiOptions { ci, download_from, sha256 });
    let options = InitOptions { dry_run, force, keep, verify: !no_verify, ci, command };
    let progress = Progress::new();
    init::init(folder, &options, MeasureHost { observer: &progress, built_from: BUILT_FROM }, out)
}

pub(super) fn demo(folder: &Path, seed: u64, is_today: bool, out: &mut dyn Write) -> Result<Exit> {
    let facts = demo::generate(folder, seed, is_today.then(clock::now))?;
    let project = Project::open(folder)?;
    let mut study = study::study(&project)?;
    let site = publish::publish(&project, &mut study, None)?;
    writeln!(out, "{} commits and {} runs in `{}`.", facts.commits, facts.runs, folder.display())?;
    writeln!(out, "\nPlanted, for you to find:")?;
    for sentence in &facts.planted {
        writeln!(out, "- {sentence}")?;
    }
    writeln!(out, "\nIn that folder (cd {}):", folder.display())?;
    writeln!(out, "- `SPRAG_MACHINE=bench-xeon sprag check` fails, as the gate sees the regression")?;
    let as_of = if is_today { "" } else { " --as-of 2026-11-14T00:00:00Z" };
    writeln!(out, "- `sprag trend{as_of}` lists the events, and names the command that finds the commit of one")?;
    writeln!(out, "\nSite: {}", site.join("index.html").display())?;
    Ok(Exit::Done)
}

pub(super) fn doctor(folder: &Path, is_quick: bool, is_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let project = Project::open(folder)?;
    let given = project.machine_name();
    let is_variable = std::env::var(MACHINE_VARIABLE).is_ok_and(|name| !name.trim().is_empty());
    let source = match &given {
        Some(_) if is_variable => MACHINE_VARIABLE,
        Some(_) => "sprag.toml",
        None => "hardware",
    };
    let name = GivenName { given: given.as_deref(), source };
    let abilities = |facts: &_| sprag_pipeline::doctor::abilities(&project, facts);
    let findings = examine(env!("CARGO_PKG_VERSION"), name, is_quick, &abilities, &Progress::new())?;
    if is_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&findings).context("cannot write the findings")?)?;
    } else {
        out.write_all(sprag_pipeline::doctor::text(&findings).as_bytes())?;
    }
    if let Err(error) = sprag_pipeline::doctor::keep(&project, &findings) {
        text::warn(&format!("the gate cannot use these findings: {error}"));
    }
    Ok(Exit::Done)
}

pub(super) fn man(folder: &Path, out: &mut dyn Write) -> Result<Exit> {
    let pages = cli::man_pages().context("cannot render the manual")?;
    for (name, page) in &pages {
        write_atomic(&folder.join(name), page)?;
    }
    writeln!(out, "{}: {}", count(pages.len(), "page"), folder.display())?;
    Ok(Exit::Done)
}

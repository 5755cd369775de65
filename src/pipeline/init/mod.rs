//! Sets up a project: finds its benchmarks, writes `sprag.toml` and the files asked for, and tries each suite once.

mod tree;
mod cargo;
mod python;
mod native;
mod cuda;
mod others;
mod frameworks;
mod files;
mod github;

use std::io::Write;
use std::path::Path;

use crate::config::{Config, FILE_NAME};
use crate::doctor::is_installed;
use crate::error::Exit;
use crate::init::files::{Fate, Planned};
use crate::init::tree::{Offer, Tree};
use crate::measuring::{self, MeasureHost, SuiteRequest, TrtOptions};
use crate::project::Project;
use crate::text::{count, note, printable};
use crate::{Advice, refuse};
use sprag_base::files::write_atomic;
use sprag_history as history;
use sprag_measure::suite::{Effort, Extent};
use sprag_model::{Run, RunStatus};

pub use crate::init::github::{Ci, CiOptions, digest, repository};

#[derive(Clone, Debug, Default)]
pub struct InitOptions {
    pub dry_run: bool,
    /// Replace files that differ.
    pub force: bool,
    pub keep: bool,
    /// Run each suite of a new `sprag.toml` once.
    pub verify: bool,
    /// Workflows are written only then.
    pub ci: Option<CiOptions>,
    /// A command to time as a whole, in place of benchmarks that are found.
    pub command: Vec<String>,
}

/// If other files are there, nothing is written without `--keep` or `--force`.
pub fn init(folder: &Path, options: &InitOptions, host: MeasureHost<'_>, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    if history::facts(project.store()?)?.workdir.is_none() {
        let message = "this repository has no working tree, so there is no place for files";
        return refuse(message, "run `sprag init` in a clone of it");
    }
    let is_new = project.root.join(FILE_NAME).symlink_metadata().is_err();
    if !is_new && options.ci.is_none() && project.config.suites.is_empty() {
        let message = format!("`{FILE_NAME}` names no suite, and `sprag init` does not change it");
        let hint = "move it aside, run `sprag init`, and put your settings into the new one";
        return refuse(message, hint);
    }
    let tree = Tree::read(&project.root);
    if is_new && tree.is_cut {
        let (files, folders) = (tree::MOST_FILES, tree::DEEPEST);
        note(&format!(
            "files beyond the first {files}, or more than {folders} folders deep, were not searched for benchmarks"
        ));
    }
    if !is_new && !options.command.is_empty() {
        let message = format!("`{FILE_NAME}` is there, and `sprag init` does not change it");
        let offers = frameworks::timed(&Tree::read(&project.root), &options.command);
        let names: Vec<String> = project.config.suites.keys().cloned().collect();
        return refuse(message, format!("add this suite to it:\n{}", offers.section(&offers.suite_name(&names))));
    }
    let offers = match (is_new, &options.command[..]) {
        (false, _) => Vec::new(),
        (true, []) => frameworks::find(&tree),
        (true, words) => {
            let timed = frameworks::timed(&tree, words);
            startable(&project, &timed)?;
            vec![timed]
        }
    };
    if is_new && offers.is_empty() {
        return Err(nothing_detected(&tree).into());
    }
    let name = project.root.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "this project".to_owned());
    let has_records = history::keeps_records_with_code(project.store()?);
    let (text, suites) = tree::configuration(&name, &offers, has_records);
    let config = if is_new { Config::parse(&text, Path::new(FILE_NAME))? } else { project.config.clone() };
    let workflows = options.ci.as_ref().map(|ci| github::plan(&project.root, &config, ci)).unwrap_or_default();
    let mut planned = vec![Planned { path: FILE_NAME, text, purpose: "what is measured", ..Planned::default() }];
    planned.extend(workflows.planned);
    for path in planned.iter().map(|one| one.path).chain([".gitignore"]) {
        files::refuse_odd_places(&project.root, path)?;
    }
    let fates: Vec<Fate> = planned.iter().map(|one| files::fate(&project.root, one, options.force)).collect();
    if !options.force && !options.keep {
        files::refuse_others(&planned, &fates)?;
    }
    if folder.canonicalize().ok() != project.root.canonicalize().ok() {
        note(&format!("files are written to the root of the repository, `{}`", project.root.display()));
    }
    list_offers(&offers, suites, out)?;
    if is_new {
        let is_active = std::env::var_os("VIRTUAL_ENV").is_some();
        let python = offers[..suites].iter().find_map(|one| python::without_environment(&project.root, one, is_active));
        python.into_iter().chain(frameworks::also_made(&tree, &offers)).for_each(|text| note(&text));
    }
    for (one, fate) in planned.iter().zip(&fates) {
        if !options.dry_run {
            files::put(&project.root, one, *fate)?;
        }
        out.write_all(files::line(one, *fate, options.dry_run).as_bytes())?;
    }
    let ignored: Vec<String> = offers[..suites].iter().flat_map(Offer::ignored_paths).collect();
    writeln!(out, "{:<12} .gitignore", files::ignore(&project.root, &ignored, options.dry_run)?)?;
    if options.dry_run {
        return Ok(Exit::Done);
    }
    let mut exit = if is_new && options.verify { verify(&Project::open(folder)?, host, out)? } else { Exit::Done };
    let is_made = |one: &Offer| one.title == "make";
    if exit == Exit::Failed && offers[..suites].iter().any(is_made) {
        writeln!(out, "{:<12} trying that once more, built first and timed as a whole", "note")?;
        // Compiling is not part of the time.
        let timed = offers.iter().map(|one| match is_made(one) {
            true => Offer { format: "time", build: one.command.clone(), ..one.clone() },
            false => one.clone(),
        });
        let timed = tree::configuration(&name, &timed.collect::<Vec<Offer>>(), has_records).0;
        write_atomic(&project.root.join(FILE_NAME), timed.as_bytes())?;
        exit = verify(&Project::open(folder)?, host, out)?;
        if exit != Exit::Done {
            write_atomic(&project.root.join(FILE_NAME), planned[0].text.as_bytes())?;
        }
    }
    next_steps(exit, &workflows.steps, out)?;
    Ok(exit)
}

/// Refuses a command whose program is neither installed, nor in the project, nor built, before anything is written.
fn startable(project: &Project, timed: &Offer) -> crate::Result<()> {
    let Some(program) = timed.command.first() else { return Ok(()) };
    let is_here = project.root.join(program).is_file();
    let can_start = match program.contains('/') {
        true => is_here || !timed.build.is_empty(),
        false => is_installed(program),
    };
    if can_start {
        return Ok(());
    }
    let hint = match is_here {
        true => format!("a program of this folder is written `./{}`", printable(program)),
        false => "name one that is installed, or the path of one in this project".to_owned(),
    };
    refuse(format!("there is no program `{}`", printable(program)), hint)
}

/// The frameworks that `sprag init` finds.
pub fn list(out: &mut dyn Write) -> crate::Result<Exit> {
    out.write_all(frameworks::list().as_bytes())?;
    Ok(Exit::Done)
}

fn nothing_detected(tree: &Tree<'_>) -> Advice {
    let advice = frameworks::how_to_write(tree).join("\n      ");
    let message = "no benchmark was found, so there is nothing to configure";
    Advice::new(
        message,
        format!(
            "time a program as it is with `sprag init -- ./PROGRAM ARGUMENTS`, or write a benchmark and run `sprag init` again \
             (`--list` says what it finds):\n      {advice}"
        ),
    )
}

fn list_offers(offers: &[Offer], suites: usize, out: &mut dyn Write) -> crate::Result<()> {
    for (place, one) in offers.iter().enumerate() {
        let word = if place < suites { "found" } else { "left out" };
        writeln!(out, "{word:<12} {}", printable(&tree::describe(one)))?;
    }
    if suites < offers.len() {
        let left = count(offers.len() - suites, "suite");
        writeln!(out, "{:<12} {left} left out to keep `{FILE_NAME}` short; to measure them, add:", "note")?;
        let mut names: Vec<String> = Vec::new();
        for (place, one) in offers.iter().enumerate() {
            let name = one.suite_name(&names);
            if place >= suites {
                writeln!(out, "{}", one.section(&name).trim_end())?;
            }
            names.push(name);
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Measures each suite in one process.
fn verify(project: &Project, host: MeasureHost<'_>, out: &mut dyn Write) -> crate::Result<Exit> {
    let (trt, effort) = (TrtOptions::none(&project.root), Effort { extent: Extent::Quick, pin: None });
    let mut runs = Vec::new();
    for asked in project.config.select(&[])? {
        let measured = measuring::measure(project, &[asked], &SuiteRequest::all(effort, &trt), host)?.runs;
        host.observer.end();
        for run in &measured {
            out.write_all(verified(run).as_bytes())?;
        }
        runs.extend(measured);
    }
    Ok(measuring::exit(&runs))
}

fn verified(run: &Run) -> String {
    let failed: Vec<String> = match (&run.reason, run.status) {
        (Some(reason), RunStatus::Failed) => vec![reason.clone()],
        _ => {
            let failures = run.measurements.iter().filter_map(|one| Some((one.benchmark.id(), one.failed()?)));
            failures.map(|(id, failure)| format!("{id}: {failure}")).collect()
        }
    };
    let all = run.measurements.len();
    match &failed[..] {
        [] if run.status == RunStatus::Skipped => {
            format!("{:<12} {}: {}\n", "skipped", run.suite, printable(run.reason.as_deref().unwrap_or_default()))
        }
        [] => format!("{:<12} {}: {}\n", "measured", run.suite, count(all, "benchmark")),
        [first, ..] if all > 0 => {
            let some = format!("{} of {} failed", failed.len(), count(all, "benchmark"));
            format!("{:<12} {}: {some}, such as {}\n", "failed", run.suite, printable(first))
        }
        [reason, ..] => format!("{:<12} {}: {}\n", "failed", run.suite, printable(reason)),
    }
}

fn next_steps(exit: Exit, more: &[String], out: &mut dyn Write) -> crate::Result<()> {
    if exit == Exit::NotMeasured {
        writeln!(
            out,
            "\nNothing was measured: the suite needs a device with its driver, so go on where there is one."
        )?;
    } else if exit != Exit::Done {
        writeln!(out, "\nA suite does not work yet: edit it in `{FILE_NAME}`, and try `sprag run --quick`.")?;
        writeln!(
            out,
            "`sprag schema config-1` lists its keys; `format = \"time\"` times a command that prints no report."
        )?;
        return Ok(());
    }
    writeln!(out, "\nNext, after a commit of these files:")?;
    let steps = [
        ("sprag weekly", "measure, record, and render the site to _site/"),
        ("sprag baseline emit", "take that run as the baseline"),
        ("sprag check", "judge the newest run: 0 pass, 1 regressed, 3 inconclusive"),
    ];
    for (command, purpose) in steps {
        writeln!(out, "  {command:<21}{purpose}")?;
    }
    for step in more {
        writeln!(out, "  - {step}")?;
    }
    Ok(())
}

//! What a project needs for Sprag to work in it, and on GitHub: which files, their content, and writing those it lacks.

mod render;
mod existing;

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::config::{Config, FILE_NAME};
use crate::error::{Context as _, Exit};
use crate::init::existing::{Existing, MOST_BYTES, Values};
use crate::init::render::{ACTION, ACTION_PATH, Facts, WORKFLOWS};
use crate::project::Project;
use crate::refuse;
use crate::text::{self, warn};
use sprag_base::files::{read_bounded, write_atomic, write_new};
use sprag_history as history;

pub use crate::init::existing::{InitOptions, digest, repository};

const CONFIGURATION: &str = include_str!("../../../templates/project/sprag.toml");
const BASELINES: &str = include_str!("../../../templates/project/baselines/README.md");
const CHECKLIST: &str = include_str!("../../../templates/project/release/checklist.toml");
const RELEASES: &str = include_str!("../../../templates/project/release/releases.toml");
const LINTER: &str = include_str!("../../../.github/actionlint.yaml");

/// Lines that keep what is made out of git.
const IGNORED: [&str; 1] = ["/_site"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Planned {
    path: &'static str,
    text: String,
    /// Whether `--force` may replace one that differs; else it is the project's own once it is there.
    is_replaceable: bool,
    keeps: Vec<String>,
    /// What of the configuration no list in a workflow names: each with the list that gets it.
    adds: Vec<String>,
}

fn configuration(name: &str) -> Planned {
    let name = if name.trim().is_empty() { "this project" } else { name };
    // A text of JSON is a text of TOML, too, but for one character.
    let name = serde_json::Value::from(name).to_string().replace('\u{7f}', "\\u007f");
    Planned {
        path: FILE_NAME,
        text: CONFIGURATION.replace("{name}", &name),
        is_replaceable: false,
        ..Planned::default()
    }
}

fn files(facts: &Facts, existing: &Existing) -> Vec<Planned> {
    let planned = |path, text| Planned { path, text, is_replaceable: true, ..Planned::default() };
    let theirs = |path, text| Planned { path, text, ..Planned::default() };
    let mut all = vec![
        theirs("release/checklist.toml", checklist(facts)),
        theirs("release/releases.toml", RELEASES.to_owned()),
        planned("baselines/README.md", BASELINES.to_owned()),
        planned(".github/actionlint.yaml", LINTER.to_owned()),
        Planned { keeps: existing.pins.clone(), ..planned(ACTION_PATH, render::action(ACTION, facts)) },
    ];
    all.extend(WORKFLOWS.map(|(path, text)| {
        let Values { text, keeps, adds } = existing.values(path, &render::file(text, facts));
        Planned { keeps, adds, ..planned(path, text) }
    }));
    all
}

/// What must hold before a release goes: no suite of a runner without a device is slower, and no regression stands open.
fn checklist(facts: &Facts) -> String {
    let item = |suite: &String| {
        format!(
            "\n[[item]]\nid = \"suite-{suite}\"\ntitle = \"Nothing of the suite {suite} got slower\"\nrule = \"suite_verdict\"\n\
             suite = \"{suite}\"\nproducer = \"sprag weekly\"\n"
        )
    };
    CHECKLIST.replace("{items}\n", &facts.hosted.iter().map(item).collect::<String>())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Written,
    Replaced,
    Same,
    Existing,
}

/// Sets a project up. Where something else is there already nothing is written, unless it is said what to do about it.
pub fn init(folder: &Path, options: &InitOptions, out: &mut dyn Write) -> crate::Result<Exit> {
    let project = Project::open(folder)?;
    let store = project.store()?;
    if history::facts(store)?.workdir.is_none() {
        let message = "this repository has no working tree, so there is no place for files";
        return refuse(message, "run `sprag init` in a clone of it");
    }
    let name = project.root.file_name().map(|name| name.to_string_lossy().into_owned());
    let configuration = configuration(&name.unwrap_or_default());
    // The suites of the file that is there, or of the one that is written: never the built-in ones.
    let config = match project.root.join(FILE_NAME).symlink_metadata() {
        Ok(_) => project.config.clone(),
        Err(_) => Config::parse(&configuration.text, Path::new(FILE_NAME))?,
    };
    let (mut facts, odd) = Facts::from_config(&config);
    let existing = Existing::read(&project.root, options, &mut facts);
    for name in odd {
        warn(&format!("the workflows leave out the suite `{name}`: its name could act in a shell"));
    }

    let mut planned = vec![configuration];
    planned.extend(files(&facts, &existing));
    for path in planned.iter().map(|one| one.path).chain([".gitignore"]) {
        refuse_odd_places(&project.root, path)?;
    }
    let fates: Vec<Fate> = planned.iter().map(|one| fate(&project.root, one, options.force)).collect();
    if !options.force && !options.keep {
        refuse_others(&planned, &fates)?;
    }
    for (one, fate) in planned.iter().zip(&fates) {
        if !options.dry_run {
            put(&project.root, one, *fate)?;
        }
        writeln!(out, "{:<12} {}", word(*fate, options.dry_run), one.path)?;
        if *fate == Fate::Replaced && !one.keeps.is_empty() {
            writeln!(out, "{:<12} {} of it, as set there", "keeps", one.keeps.join(", "))?;
        }
        if *fate == Fate::Replaced && !one.adds.is_empty() {
            let adds = one.adds.join(", ");
            writeln!(out, "{:<12} {adds}, as no list named it: take it out again where you had", "adds")?;
        }
    }
    writeln!(out, "{:<12} .gitignore", ignore(&project.root, options.dry_run)?)?;
    if !options.dry_run {
        next_steps(&facts, out)?;
    }
    Ok(Exit::Done)
}

fn word(fate: Fate, is_dry: bool) -> &'static str {
    match (fate, is_dry) {
        (Fate::Written, false) => "wrote",
        (Fate::Written, true) => "would write",
        (Fate::Replaced, false) => "replaced",
        (Fate::Replaced, true) => "would replace",
        (Fate::Same, _) => "is there",
        (Fate::Existing, _) => "kept",
    }
}

/// Refuses where files are there that hold something else; those that are never replaced are no matter.
fn refuse_others(planned: &[Planned], fates: &[Fate]) -> crate::Result<()> {
    let others = planned.iter().zip(fates).filter(|(one, fate)| **fate == Fate::Existing && one.is_replaceable);
    let names: Vec<String> = others.map(|(one, _)| format!("`{}`", one.path)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let is_one = names.len() == 1;
    let message = format!(
        "nothing was written: {} {} there and {} something else",
        names.join(", "),
        if is_one { "is" } else { "are" },
        if is_one { "holds" } else { "hold" }
    );
    let hint =
        "`--keep` leaves such files as they are and writes the others, `--force` replaces them; `sprag.toml` and \
                those of `release/` are never replaced"
            .to_owned();
    refuse(message, hint)
}

/// Refuses a path that leads through a link, which could lead out of the project, or through what is no folder.
fn refuse_odd_places(root: &Path, path: &str) -> crate::Result<()> {
    let mut place = root.to_owned();
    let mut parts = Path::new(path).components().peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        let Ok(found) = place.symlink_metadata() else { return Ok(()) };
        let is_last = parts.peek().is_none();
        let (what, wanted) = match found.file_type() {
            kind if kind.is_symlink() => ("is a link", if is_last { "file" } else { "folder" }),
            kind if is_last && !kind.is_file() => ("is no file", "file"),
            kind if !is_last && !kind.is_dir() => ("is no folder", "folder"),
            _ => continue,
        };
        let message = format!("`{}` {what}", text::path(&place));
        return refuse(message, format!("make it a plain {wanted}, or take it away"));
    }
    Ok(())
}

fn fate(root: &Path, one: &Planned, has_force: bool) -> Fate {
    let path = root.join(one.path);
    if path.symlink_metadata().is_err() {
        return Fate::Written;
    }
    // A checkout may have ends of lines of its own.
    let there = read_bounded(&path, MOST_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match there.is_some_and(|text| text.replace("\r\n", "\n") == one.text) {
        true => Fate::Same,
        false if has_force && one.is_replaceable => Fate::Replaced,
        false => Fate::Existing,
    }
}

fn put(root: &Path, one: &Planned, fate: Fate) -> crate::Result<()> {
    let path = root.join(one.path);
    match fate {
        Fate::Same | Fate::Existing => {}
        Fate::Replaced => write_atomic(&path, one.text.as_bytes())?,
        Fate::Written => {
            if !write_new(&path, one.text.as_bytes())? {
                let message = format!("`{}` came into being meanwhile, and was left as it is", one.path);
                return refuse(message, "run `sprag init` again");
            }
        }
    }
    Ok(())
}

/// Adds the lines that `.gitignore` lacks.
fn ignore(root: &Path, is_dry: bool) -> crate::Result<&'static str> {
    let path = root.join(".gitignore");
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
        write_atomic(&path, &text)?;
    }
    Ok(match (is_new, is_dry) {
        (true, false) => "wrote",
        (true, true) => "would write",
        (false, false) => "added to",
        (false, true) => "would add to",
    })
}

fn next_steps(facts: &Facts, out: &mut dyn Write) -> crate::Result<()> {
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
    if !facts.version.is_empty() {
        let (used, ours) = (&facts.version, env!("CARGO_PKG_VERSION"));
        steps.push(format!(
            "The workflows use {used}: `sprag init --force --sha256 DIGEST` takes v{ours}, whose digest that is."
        ));
    }
    steps.push("Commit these files, and require the check `perf gate` of the branch.".to_owned());
    steps.push("On GitHub: Settings, Pages, Source: GitHub Actions.".to_owned());
    writeln!(out, "\nNext (docs/CI.md has the rest):")?;
    for (place, step) in steps.iter().enumerate() {
        writeln!(out, "  {}. {step}", place + 1)?;
    }
    Ok(())
}

//! `sprag replay`: records and verifies manifests of deterministic runs.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::cli::{RecordArgs, ReplayCommand};
use sprag_base::files::{check_writable, read_bounded, sha256_of_file, write_atomic};
use sprag_evidence::fixture::Fixture;
use sprag_evidence::manifest::{Artifact, Manifest};
use sprag_evidence::release::artifacts::parse_pairs;
use sprag_evidence::{file, play};
use sprag_pipeline::error::{Exit, WithContext as _};
use sprag_pipeline::options::{NamedFile, check_distinct};
use sprag_pipeline::{Advice, Error, Result, refuse, text};

const MOST_BYTES: usize = 64 << 20;

pub(super) fn run(folder: &Path, command: &ReplayCommand, out: &mut dyn Write) -> Result<Exit> {
    match command {
        ReplayCommand::Record(args) => record(folder, args, out),
        ReplayCommand::Verify { files, root } => verify(folder, files, root.as_deref(), out),
    }
}

fn record(folder: &Path, args: &RecordArgs, out: &mut dyn Write) -> Result<Exit> {
    check_distinct(
        folder,
        &[
            NamedFile::read("--config", args.config.as_deref(), "the settings"),
            NamedFile::read("--fixture", args.fixture.as_deref(), "the fixture"),
            NamedFile::written("--trace", args.trace.as_deref(), "the trace"),
            NamedFile::written("--manifest", args.manifest.as_deref(), "the manifest"),
            NamedFile::written("--output", args.output.as_deref(), "what comes of it"),
        ],
    )?;
    for path in [&args.trace, &args.manifest, &args.output].into_iter().flatten() {
        check_writable(&folder.join(path))?;
    }
    let bytes = match (&args.config, &args.fixture) {
        (Some(config), _) => file::to_bytes(&manifest(folder, config, args)?),
        (None, Some(fixture)) => file::to_bytes(&played_fixture(folder, fixture, args)?),
        (None, None) => return Err(Error::message("neither `--config` nor `--fixture` is given")),
    };
    match &args.output {
        Some(output) => write_atomic(&folder.join(output), &bytes)?,
        None => out.write_all(&bytes)?,
    }
    Ok(Exit::Done)
}

fn manifest(folder: &Path, config: &Path, args: &RecordArgs) -> Result<Manifest> {
    let mut artifacts: BTreeMap<String, Artifact> = BTreeMap::new();
    for (name, path) in parse_pairs(&args.artifacts)? {
        let digest = sha256_of_file(&folder.join(&path));
        let sha256 = digest.with_context(|| format!("cannot read the file `{name}`, `{path}`"))?;
        artifacts.insert(name, Artifact { path, sha256 });
    }
    let mut manifest = Manifest::new(args.seed.unwrap_or_default(), settings(folder, config)?, artifacts);
    manifest.determinism_state = Some(play::determinism_state());
    Ok(manifest)
}

fn settings(folder: &Path, config: &Path) -> Result<Map<String, Value>> {
    let bytes = read(folder, config)?;
    let refused = |reason: String| {
        let message = text::printable(&format!("`{}` holds no settings: {reason}", config.display()));
        Advice::new(message, "it must be one JSON object, with each key once and whole numbers of at most 64 bits")
    };
    match file::value(&bytes) {
        Ok(Value::Object(settings)) => Ok(settings),
        Ok(_) => Err(refused("it is not an object".to_owned()).into()),
        Err(error) => Err(refused(error.to_string()).into()),
    }
}

/// Also writes its trace and manifest if asked to.
fn played_fixture(folder: &Path, path: &Path, args: &RecordArgs) -> Result<Fixture> {
    let fixture: Fixture = file::read(&read(folder, path)?).map_err(|error| {
        let message = text::printable(&format!("`{}` is not a fixture: {error}", path.display()));
        Advice::new(message, "`sprag schema replay-fixture-1` prints what one holds")
    })?;
    let trace_path = args.trace.as_deref().unwrap_or(Path::new("trace.json")).display().to_string();
    let played = play::play(&fixture, &trace_path).with_context(|| format!("cannot run `{}`", path.display()))?;
    if let Some(trace) = &args.trace {
        write_atomic(&folder.join(trace), &file::to_bytes(&played.trace))?;
    }
    if let Some(manifest) = &args.manifest {
        write_atomic(&folder.join(manifest), &file::to_bytes(&played.manifest))?;
    }
    Ok(Fixture { expected: Some(played.expected), ..fixture })
}

fn verify(folder: &Path, files: &[PathBuf], root: Option<&Path>, out: &mut dyn Write) -> Result<Exit> {
    let root = root.map_or_else(|| folder.to_owned(), |root| folder.join(root));
    if !root.is_dir() {
        let message = format!("`--root {}` is not a folder", root.display());
        return refuse(message, "name the folder that the paths of the manifests count from");
    }
    let mut failed = 0;
    for path in files {
        let faults = faults(folder, path, &root)?;
        let shown = text::path(path);
        match faults.len() {
            0 => writeln!(out, "holds: {shown}")?,
            _ => failed += 1,
        }
        for fault in faults {
            writeln!(out, "fails: {shown}: {}", text::printable(&fault))?;
        }
    }
    Ok(if failed > 0 { Exit::Integrity } else { Exit::Done })
}

fn faults(folder: &Path, path: &Path, root: &Path) -> Result<Vec<String>> {
    let bytes = read(folder, path)?;
    let digest = |named: &str| sha256_of_file(&root.join(named)).map_err(|error| format!("cannot be read: {error}"));
    Ok(play::faults(&bytes, path, &digest)?)
}

fn read(folder: &Path, path: &Path) -> Result<Vec<u8>> {
    read_bounded(&folder.join(path), MOST_BYTES).with_context(|| format!("cannot read `{}`", path.display()))
}

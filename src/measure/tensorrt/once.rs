//! One process of `trtexec`: its arguments, how it ended, and what it left.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use super::arguments::{self, Loaded};
use super::layers::{self, LayerProfile};
use super::plan::Sweep;
use super::reason::{Reason, ReasonCode};
use super::times;
use super::transcript::{Transcript, Version};
use crate::command::process::{self, Invocation};
use crate::messages::exit_text;
use crate::padding;
use sprag_base::process::{Captured, End};
use sprag_model::shape_case::ShapeCase;

/// Bytes that a process may write to each of its outputs: far above what it says of a run.
const MOST_OUTPUT: u64 = 16 << 20;

/// Bytes of the end of its standard error that are read: what is said first may be why all else follows, and an engine
/// of many layers has a warning of each after it.
const MOST_ERROR: usize = 256 << 10;

/// Bytes that a file may have which a process leaves: the times of a million calls take 0.4 GB.
const MOST_FILE: u64 = 1 << 30;

const LONGEST_HELP: Duration = Duration::from_secs(60);

/// What the files of a process are called, in a folder of its own.
const TIMES: &str = "times.json";
const PROFILE: &str = "profile.json";
const LAYERS: &str = "layers.json";

/// A process of a sweep: which case it times, and the how manieth of that case it is, both from 0.
#[derive(Clone, Copy)]
pub(super) struct TrtexecTurn<'a> {
    pub(super) case: &'a ShapeCase,
    pub(super) number: usize,
    pub(super) process: u32,
}

/// Which version of TensorRT the program is of: it says so before its help, for which it needs no device.
pub(super) fn version(sweep: &Sweep) -> Result<Version, Reason> {
    let folder = folder()?;
    let ended = run(sweep, vec!["--help".to_owned()], folder.path(), 0, LONGEST_HELP.min(sweep.time_out))?;
    let transcript = Transcript::read(&ended.stdout, &ended.stderr);
    if let Some(version) = transcript.version {
        return Ok(version);
    }
    let reason = transcript.reason(&how(&ended.end, sweep.time_out));
    match (&ended.end, reason.code) {
        (_, ReasonCode::CudaUnavailable) => Err(reason),
        // A program that works and does not name its version is another one.
        (End::Exited(status), _) if status.success() => {
            let text = "the program found is not `trtexec`: it prints no TensorRT version";
            Err(Reason::new(ReasonCode::TrtexecNotFound, text))
        }
        _ => Err(Reason::new(ReasonCode::TrtexecNotFound, format!("`trtexec` does not start: {}", reason.text))),
    }
}

pub(super) struct Timed {
    pub(super) seconds: Vec<f64>,
    pub(super) batch: Option<u64>,
    pub(super) remarks: Vec<&'static str>,
}

pub(super) fn time(sweep: &Sweep, version: Version, turn: TrtexecTurn<'_>) -> Result<Timed, Reason> {
    let folder = folder()?;
    let options = arguments::timing(loaded(sweep, version), turn.case, sweep.settings, TIMES);
    let transcript = pass(sweep, options, folder.path(), turn)?;
    let bytes =
        left(folder.path(), TIMES)?.ok_or_else(|| Reason::new(ReasonCode::Failed, "it passed but wrote no times"))?;
    let seconds = times::seconds(&bytes, sweep.settings);
    let seconds = seconds.map_err(|error| Reason::new(ReasonCode::Failed, format!("its times {error}")))?;
    Ok(Timed { seconds, batch: transcript.batch, remarks: transcript.remarks })
}

/// How long each layer takes, in a process of its own.
pub(super) fn profile(sweep: &Sweep, version: Version, turn: TrtexecTurn<'_>) -> Result<LayerProfile, Reason> {
    let folder = folder()?;
    let options = arguments::profile(loaded(sweep, version), turn.case, sweep.settings, [PROFILE, LAYERS]);
    pass(sweep, options, folder.path(), turn)?;
    let failed = |text: String| Reason::new(ReasonCode::Failed, text);
    let bytes = left(folder.path(), PROFILE)?.ok_or_else(|| failed("it passed but wrote no profile".to_owned()))?;
    let profile = layers::read(&bytes).map_err(|error| failed(format!("its profile {error}")))?;
    Ok(LayerProfile { information: left(folder.path(), LAYERS)?, ..profile })
}

fn loaded(sweep: &Sweep, version: Version) -> Loaded<'_> {
    Loaded { engine: &sweep.engine, plugin: sweep.plugin.as_deref(), version }
}

/// Runs it to its end, at which it must say that it passed and end well.
fn pass(sweep: &Sweep, arguments: Vec<String>, folder: &Path, turn: TrtexecTurn<'_>) -> Result<Transcript, Reason> {
    let seed = turn.number as u64 + u64::from(turn.process) * 1_000;
    let ended = run(sweep, arguments, folder, seed, sweep.time_out)?;
    let transcript = Transcript::read(&ended.stdout, &ended.stderr);
    let how = how(&ended.end, sweep.time_out);
    match &ended.end {
        End::TimeOut => Err(Reason::new(ReasonCode::TimeOut, how)),
        End::Overflow => Err(Reason::new(ReasonCode::Failed, how)),
        End::Exited(status) => match transcript.passed {
            Some(true) if status.success() => Ok(transcript),
            Some(true) => Err(transcript.reason(&format!("it reported success, but {how}"))),
            Some(false) => Err(transcript.reason(&format!("it reported failure; {how}"))),
            None => Err(transcript.reason(&format!("it did not report success; {how}"))),
        },
    }
}

fn how(end: &End, time_out: Duration) -> String {
    match end {
        End::TimeOut => format!("it took longer than {} s and was killed", time_out.as_secs_f64()),
        End::Overflow => format!("it wrote more than {MOST_OUTPUT} bytes to one of its outputs"),
        End::Exited(status) => exit_text(*status),
    }
}

fn run(
    sweep: &Sweep,
    arguments: Vec<String>,
    folder: &Path,
    seed: u64,
    time_out: Duration,
) -> Result<Captured, Reason> {
    let program = sweep.trtexec.display().to_string();
    let (padding, value) = padding::variable(sweep.protocol.seed.wrapping_add(seed), 0);
    let program = Invocation {
        command: &[vec![program], arguments].concat(),
        folder,
        variables: &BTreeMap::from([(padding.to_owned(), value)]),
        without: &[],
        time_out,
        most_bytes: MOST_OUTPUT,
        keep_output: true,
        keep_error: MOST_ERROR,
        pin: sweep.protocol.pin,
        guard: sweep.guard.as_ref(),
    };
    process::observe(&program).map_err(|fault| Reason::new(ReasonCode::TrtexecNotFound, fault.text()))
}

fn folder() -> Result<tempfile::TempDir, Reason> {
    let fault =
        |error: std::io::Error| Reason::new(ReasonCode::Failed, format!("cannot create a temporary folder: {error}"));
    tempfile::Builder::new().prefix("sprag-trt-").tempdir().map_err(fault)
}

/// A file that a process left; nothing where it left none.
fn left(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, Reason> {
    let path = folder.join(name);
    if !path.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_FILE + 1).read_to_end(&mut bytes));
    read.map_err(|error| Reason::new(ReasonCode::Failed, format!("its `{name}` cannot be read: {error}")))?;
    if bytes.len() as u64 > MOST_FILE {
        return Err(Reason::new(ReasonCode::Failed, format!("its `{name}` holds more than {MOST_FILE} bytes")));
    }
    Ok(Some(bytes))
}

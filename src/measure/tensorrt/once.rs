//! One process of `trtexec`: how it is run, how it ended, and the files it wrote.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::command::{self, Invocation};
use crate::process::{exit_text, padding_variable};
use crate::tensorrt::transcript::Transcript;
use crate::tensorrt::{self, NumberedCase, Reason, ReasonCode, Sweep, TimingSettings, Version};
use sprag_base::files::{read_bounded, sha256_of_file};
use sprag_base::process::{Captured, End, find_program, is_program};
use sprag_formats::trtexec;

/// Bytes that a process may write to each of its outputs.
const MOST_OUTPUT: u64 = 16 << 20;

/// Bytes of the end of its standard error that are read: an engine of many layers has a warning of each after the cause.
const MOST_ERROR: usize = 256 << 10;

/// The largest file of a process: the times of a million calls take 0.4 GB.
const MOST_FILE: usize = 1 << 30;

const LONGEST_HELP: Duration = Duration::from_secs(60);

const TIMES: &str = "times.json";
const PROFILE: &str = "profile.json";
const LAYERS: &str = "layers.json";

/// The version of TensorRT that `trtexec` prints before its help, which needs no device.
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
        // A working program that does not print its version is another one.
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

pub(super) fn time(sweep: &Sweep, version: Version, case: &NumberedCase, process: u32) -> Result<Timed, Reason> {
    let folder = folder()?;
    let options = tensorrt::timing(sweep, version, &case.shapes, TIMES);
    let transcript = pass(sweep, options, folder.path(), case, process)?;
    let bytes =
        left(folder.path(), TIMES)?.ok_or_else(|| Reason::new(ReasonCode::Failed, "it passed but wrote no times"))?;
    let seconds = seconds(&bytes, sweep.settings);
    let seconds = seconds.map_err(|error| Reason::new(ReasonCode::Failed, format!("its times {error}")))?;
    Ok(Timed { seconds, batch: transcript.batch, remarks: transcript.remarks })
}

/// Times each layer in a separate process.
pub fn profile(sweep: &Sweep, version: Version, case: &NumberedCase) -> Result<LayerProfile, Reason> {
    let folder = folder()?;
    let options = tensorrt::profile(sweep, version, &case.shapes, [PROFILE, LAYERS]);
    pass(sweep, options, folder.path(), case, 0)?;
    let failed = |text: String| Reason::new(ReasonCode::Failed, text);
    let bytes = left(folder.path(), PROFILE)?.ok_or_else(|| failed("it passed but wrote no profile".to_owned()))?;
    let profile = read(&bytes).map_err(|error| failed(format!("its profile {error}")))?;
    Ok(LayerProfile { information: left(folder.path(), LAYERS)?, ..profile })
}

/// Runs it to its end; it must report success and exit with success.
fn pass(
    sweep: &Sweep,
    arguments: Vec<String>,
    folder: &Path,
    case: &NumberedCase,
    process: u32,
) -> Result<Transcript, Reason> {
    let seed = case.number as u64 + u64::from(process) * 1_000;
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
    let command = [vec![sweep.trtexec.display().to_string()], arguments].concat();
    let (padding, value) = padding_variable(sweep.protocol.seed.wrapping_add(seed), 0);
    let program = Invocation {
        variables: &BTreeMap::from([(padding.to_owned(), value)]),
        most_bytes: MOST_OUTPUT,
        keep_output: true,
        keep_error: MOST_ERROR,
        pin: sweep.protocol.pin,
        guard: sweep.guard.as_ref(),
        ..Invocation::new(&command, folder, time_out)
    };
    command::observe(&program).map_err(|fault| Reason::new(ReasonCode::TrtexecNotFound, fault.text()))
}

fn folder() -> Result<tempfile::TempDir, Reason> {
    let fault =
        |error: std::io::Error| Reason::new(ReasonCode::Failed, format!("cannot create a temporary folder: {error}"));
    tempfile::Builder::new().prefix("sprag-trt-").tempdir().map_err(fault)
}

/// A file that a process wrote, if any.
fn left(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, Reason> {
    let path = folder.join(name);
    if !path.is_file() {
        return Ok(None);
    }
    let fault = |error| Reason::new(ReasonCode::Failed, format!("its `{name}` cannot be read: {error}"));
    read_bounded(&path, MOST_FILE).map(Some).map_err(fault)
}

#[derive(Deserialize)]
struct TimedCall {
    #[serde(rename = "startComputeMs")]
    start: f64,
    #[serde(rename = "computeMs")]
    compute: f64,
}

/// Longer times show damage.
const LONGEST_MILLISECONDS: f64 = 1e8;

/// The seconds of the calls after warm-up and skipped calls.
fn seconds(bytes: &[u8], settings: TimingSettings) -> Result<Vec<f64>, String> {
    let entries: Vec<TimedCall> = serde_json::from_slice(bytes).map_err(|error| format!("cannot be read: {error}"))?;
    let is_valid = |entry: &&TimedCall| {
        entry.compute > 0.0 && entry.compute <= LONGEST_MILLISECONDS && (0.0..=f64::MAX).contains(&entry.start)
    };
    if let Some(entry) = entries.iter().find(|entry| !is_valid(entry)) {
        return Err(format!("hold a call of {} ms from {} ms on, which cannot be", entry.compute, entry.start));
    }
    let timed = entries.iter().filter(|entry| entry.start >= f64::from(settings.warmup_milliseconds));
    let seconds: Vec<f64> = timed.skip(settings.skipped_calls as usize).map(|entry| entry.compute * 1e-3).collect();
    if seconds.is_empty() {
        return Err(format!("hold no call after the warm-up, and {} within it", entries.len()));
    }
    Ok(seconds)
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    pub name: String,
    /// Of a call.
    pub mean_s: f64,
    /// Absent in versions that do not report it.
    pub median_s: Option<f64>,
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LayerProfile {
    pub calls: u64,
    pub layers: Vec<Layer>,
    /// Further information of `trtexec`, as it wrote it.
    pub information: Option<Vec<u8>>,
}

impl LayerProfile {
    pub fn slowest(&self) -> Option<&Layer> {
        self.layers.iter().max_by(|a, b| a.share.total_cmp(&b.share))
    }

    pub fn to_json(&self, case: &str) -> Value {
        json!({"schema_version": 1, "case": case, "calls": self.calls, "layers": self.layers})
    }
}

fn read(bytes: &[u8]) -> Result<LayerProfile, String> {
    let text = String::from_utf8_lossy(bytes);
    let (entries, _) = trtexec::profile_entries(&text).map_err(|error| format!("cannot be read: {error}"))?;
    let mut profile = LayerProfile { calls: 0, layers: Vec::new(), information: None };
    for entry in entries {
        profile.calls = entry.count.unwrap_or(profile.calls);
        let Some(name) = entry.name else { continue };
        let number = |value: Option<Value>, what: &str| match value.as_ref().map(trtexec::milliseconds) {
            Some(value) if value >= 0.0 => Ok(value),
            Some(value) => Err(format!("says {value} for `{what}` of `{}`", name.escape_debug())),
            None => Err(format!("has no `{what}` of `{}`", name.escape_debug())),
        };
        let layer = Layer {
            mean_s: number(entry.average, "averageMs")? * 1e-3,
            median_s: entry.median.map(|median| number(Some(median), "medianMs")).transpose()?.map(|ms| ms * 1e-3),
            share: number(entry.percentage, "percentage")? * 1e-2,
            name: name.clone(),
        };
        profile.layers.push(layer);
    }
    if profile.layers.is_empty() { Err("names no layer".to_owned()) } else { Ok(profile) }
}

const PROGRAM: &str = "trtexec";

const PROGRAM_VARIABLE: &str = "TRTEXEC";

/// The folder that TensorRT was unpacked to.
const ROOT_VARIABLE: &str = "TENSORRT_ROOT";

/// The folder of its packages.
const USUAL_FOLDER: &str = "/usr/src/tensorrt/bin";

/// Finds the program: the given one, that of a variable, or one in the usual places. No named program is replaced.
pub fn find(given: Option<&Path>) -> Result<PathBuf, Reason> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    find_in(given, &variable, Path::new(USUAL_FOLDER))
}

fn find_in(
    given: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<OsString>,
    usual_folder: &Path,
) -> Result<PathBuf, Reason> {
    let named = given.map(Path::to_owned).or_else(|| variable(PROGRAM_VARIABLE).map(PathBuf::from));
    if let Some(path) = named {
        let shown = path.display();
        let fault = match path.is_file() {
            _ if is_program(&path) => return Ok(absolute(path)),
            _ if !path.exists() => format!("there is no program `{shown}`"),
            true => format!("`{shown}` is not executable"),
            false => format!("`{shown}` is not a file"),
        };
        return Err(Reason::new(ReasonCode::TrtexecNotFound, fault));
    }
    let mut folders: Vec<PathBuf> =
        variable("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    folders.extend(variable(ROOT_VARIABLE).map(|root| PathBuf::from(root).join("bin")));
    folders.push(usual_folder.to_owned());
    find_program(PROGRAM, &folders).map(absolute).ok_or_else(|| {
        let places = format!("`{PROGRAM}` is neither on the search path nor where TensorRT puts it");
        Reason::new(
            ReasonCode::TrtexecNotFound,
            format!("{places}; name it with `--{PROGRAM}` or in {PROGRAM_VARIABLE}"),
        )
    })
}

/// A process starts in its own folder, where a relative path would mean another file.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EngineFile {
    pub name: String,
    pub sha256: String,
}

/// Hashes the file in parts: engines may exceed the memory.
pub(crate) fn identify(path: &Path) -> Result<EngineFile, Reason> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fault = |why: &str| Reason::new(ReasonCode::EngineMissing, format!("the engine `{name}` {why}"));
    if !path.is_file() {
        return Err(fault(if path.exists() { "is not a file" } else { "is not there" }));
    }
    if path.metadata().is_ok_and(|facts| facts.len() == 0) {
        return Err(fault("is empty"));
    }
    let sha256 = sha256_of_file(path).map_err(|error| fault(&format!("cannot be read: {error}")))?;
    Ok(EngineFile { name, sha256 })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use sprag_base::stats::describe;

    use super::*;

    const SETTINGS: TimingSettings =
        TimingSettings { warmup_milliseconds: 0, skipped_calls: 0, iterations: 1, duration_seconds: 0 };

    const GOLDEN: &[u8] = include_bytes!("../../../fixtures/golden/formats/trtexec/times.json");

    #[test]
    fn a_recorded_file_gives_the_reference_figures() {
        let expected = include_bytes!("../../../fixtures/golden/formats/trtexec/expected.json");
        let rows: serde_json::Value = serde_json::from_slice(expected).expect("the rows are JSON");
        let row = &rows[0];
        assert_eq!(row["metric"], "gpu_compute");
        let times = seconds(GOLDEN, SETTINGS).expect("the file is fine");
        assert_eq!(Some(times.len() as u64), row["n"].as_u64());
        let close = |value: Option<f64>, name: &str| {
            let expected = row[name].as_f64().expect("a number");
            assert!(value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-12), "{name}: {value:?}");
        };
        close(describe::median(&times), "p50");
        close(describe::quantile(&times, 0.95), "p95");
        close(times.iter().copied().reduce(f64::max), "max");
        let later = |warmup_milliseconds, skipped_calls| {
            seconds(GOLDEN, TimingSettings { warmup_milliseconds, skipped_calls, ..SETTINGS }).map(|times| times.len())
        };
        // Three calls begin within the first millisecond.
        assert_eq!((later(1, 0), later(1, 2), later(0, 11)), (Ok(9), Ok(7), Ok(1)));
        assert_eq!(later(500, 0), Err("hold no call after the warm-up, and 12 within it".to_owned()));
        assert!(later(0, 12).is_err());
    }

    #[test]
    fn invalid_times_are_refused() {
        let check = |text: &str, words: &str| {
            let error = seconds(text.as_bytes(), SETTINGS).expect_err("the times are faulty");
            assert!(error.contains(words), "{text}: {error}");
        };
        let entry = |start: &str, compute: &str| format!("[{{\"startComputeMs\": {start}, \"computeMs\": {compute}}}]");
        assert_eq!(seconds(entry("0", "2").as_bytes(), SETTINGS), Ok(vec![0.002]));
        let other = "[{\"endToEndMs\": [], \"startComputeMs\": 1e0, \"new\": {\"a\": null}, \"computeMs\": 2}]";
        assert_eq!(seconds(other.as_bytes(), SETTINGS), Ok(vec![0.002]));
        check(&entry("0", "1e999"), "cannot be read");
        check(&entry("0", "0"), "a call of 0 ms");
        check(&entry("0", "1e9"), "which cannot be");
        check(&entry("-1", "1"), "from -1 ms on");
        check("[{\"computeMs\": 1}]", "startComputeMs");
        check("[]", "hold no call");
        check("", "cannot be read");
        assert!(seconds("[".repeat(100_000).as_bytes(), SETTINGS).is_err());
    }

    #[test]
    fn names_without_escapes_can_be_read() {
        let layer = |name: &str| {
            format!(", {{ \"name\" : \"{name}\", \"timeMs\" : 1, \"averageMs\" : 2, \"percentage\" : 50 }}")
        };
        let names = ["a\"b", "c\\d", "e\", \"timeMs\" : 3, \"f", "plain"];
        let lines: Vec<String> = names.iter().map(|name| layer(name)).collect();
        let text = format!("[\n  {{ \"count\" : 2 }}\n{}\n]\n", lines.join("\n"));
        assert!(serde_json::from_str::<Value>(&text).is_err());
        let profile = read(text.as_bytes()).expect("it can be mended");
        assert_eq!(profile.layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>(), names);
        assert_eq!(profile.layers[0].median_s, None);
    }

    #[test]
    fn a_recorded_profile_is_read_and_a_damaged_one_is_refused() {
        let golden = include_bytes!("../../../fixtures/golden/formats/trtexec/profile.json");
        let profile = read(golden).expect("the file is fine");
        assert_eq!((profile.calls, profile.layers.len()), (20, 4));
        let slowest = profile.slowest().expect("there are layers");
        assert_eq!((slowest.name.as_str(), slowest.median_s), ("TileSSM_0", Some(0.0694087 * 1e-3)));
        assert!((slowest.share - 0.399966).abs() < 1e-9);
        assert_eq!(profile.to_json("default")["layers"][2]["name"], "TileSSM_0");
        let check = |text: &str, words: &str| {
            let error = read(text.as_bytes()).expect_err("the profile is faulty");
            assert!(error.contains(words), "{error}");
        };
        check("", "cannot be read");
        check("[{\"name\": \"a\", \"timeMs\"", "cannot be read");
        check("[{\"count\": 3}]", "names no layer");
        check("[{\"name\": \"a\", \"percentage\": 3}]", "no `averageMs` of `a`");
        check("[{\"name\": \"a\", \"averageMs\": -3}]", "says -3");
        check("{}", "cannot be read");
    }

    #[test]
    fn an_engine_is_identified_by_its_content() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("m.plan");
        let fault = || identify(&path).expect_err("it is no engine").to_string();
        let bytes = vec![7; (3 << 20) + 5];
        fs::write(&path, &bytes).expect("a file");
        let expected = EngineFile { name: "m.plan".to_owned(), sha256: sprag_base::digest::sha256_hex(&bytes) };
        assert_eq!(identify(&path), Ok(expected));
        fs::remove_file(&path).expect("it is there");
        fs::create_dir(&path).expect("a folder");
        assert_eq!(fault(), "tensorrt_engine_missing: the engine `m.plan` is not a file");
    }

    fn program(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder");
        fs::write(path, "").expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is our own file");
    }

    #[test]
    fn places_are_searched_in_order() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        let check = |given: Option<&str>, variables: &[(&str, &str)], expected: Result<&str, &str>| {
            let variable = |name: &str| {
                let set = variables.iter().find(|(key, _)| *key == name);
                set.map(|(_, value)| at(value).into_os_string())
            };
            let result = find_in(given.map(at).as_deref(), &variable, &at("usual"));
            match expected {
                Ok(path) => assert_eq!(result, Ok(at(path))),
                Err(words) => {
                    let error = result.expect_err("it cannot be found");
                    assert_eq!(error.code, ReasonCode::TrtexecNotFound);
                    assert!(error.text.contains(words), "{error}");
                }
            }
        };
        check(None, &[], Err("`trtexec` is neither on the search path"));
        check(Some("absent"), &[], Err("there is no program"));
        check(Some("."), &[], Err("is not a file"));
        program(&at("usual/trtexec"), 0o755);
        check(None, &[], Ok("usual/trtexec"));
        program(&at("root/bin/trtexec"), 0o755);
        check(None, &[("TENSORRT_ROOT", "root")], Ok("root/bin/trtexec"));
        program(&at("path/trtexec"), 0o644);
        check(None, &[("TENSORRT_ROOT", "root"), ("PATH", "path")], Ok("root/bin/trtexec"));
        program(&at("path/trtexec"), 0o755);
        check(None, &[("TENSORRT_ROOT", "root"), ("PATH", "path")], Ok("path/trtexec"));
        program(&at("mine"), 0o755);
        check(None, &[("TRTEXEC", "mine"), ("PATH", "path")], Ok("mine"));
        check(None, &[("TRTEXEC", "absent"), ("PATH", "path")], Err("there is no program"));
        check(Some("path/trtexec"), &[("TRTEXEC", "mine")], Ok("path/trtexec"));
        program(&at("mine"), 0o644);
        check(Some("mine"), &[], Err("is not executable"));
    }
}

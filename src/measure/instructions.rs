//! Counting instructions: one call of a benchmark under Valgrind's tool Callgrind, a number without noise.
//!
//! Each benchmark has its own process, so that earlier counts cannot move its memory. The worker calls it once uncounted,
//! then twice between switching counting on and off, each time followed by a dump. A count says how much work the code is,
//! not how fast it runs: Valgrind has no AVX-512, so kernels that choose their instructions at run time use AVX2 here.

use std::ffi::{CStr, OsStr};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::command::keeper::GuardedFolder;
use crate::command::suite::{CommandSuite, warm_up};
use crate::process::WorkerCommand;
use crate::task::{self, TaskError};
use crate::workload::{Order, Workload};
use sprag_base::process::probe;

const RUNNING_ON_VALGRIND: usize = 0x1001;

/// The base of the requests of the tool with the letters `C` and `T`.
const CALLGRIND: usize = ((b'C' as usize) << 24) | ((b'T' as usize) << 16);

const TOGGLE_COLLECT: usize = CALLGRIND + 2;
const DUMP_STATS_AT: usize = CALLGRIND + 3;
const START_INSTRUMENTATION: usize = CALLGRIND + 4;
const STOP_INSTRUMENTATION: usize = CALLGRIND + 5;

/// Whether Valgrind runs this program on an architecture with requests.
fn can_count() -> bool {
    send(RUNNING_ON_VALGRIND, 0) > 0
}

/// Counts the instructions of `work` and dumps them under `name`. Without Valgrind it only does `work`.
fn count_calls(name: &CStr, work: impl FnOnce()) {
    send(START_INSTRUMENTATION, 0);
    send(TOGGLE_COLLECT, 0);
    work();
    send(TOGGLE_COLLECT, 0);
    send(STOP_INSTRUMENTATION, 0);
    send(DUMP_STATS_AT, name.as_ptr() as usize);
}

/// Sends one request with its argument; returns 0 where Valgrind does not run the program.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the instructions that Valgrind knows as a request exist in assembly only")]
fn send(request: usize, argument: usize) -> usize {
    let message = [request, argument, 0, 0, 0, 0];
    let mut answer = 0_usize;
    // SAFETY: on a processor the rotations, by 128 bits in all, leave `rdi` as it was, and so does the exchange of `rbx`
    // with itself; only flags change, which `asm!` assumes. Valgrind reads the six words behind `rax`, which outlive the
    // block, and writes `rdx`. An argument that is an address points to NUL-terminated text of the caller.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") message.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

#[cfg(target_arch = "aarch64")]
#[expect(unsafe_code, reason = "the instructions that Valgrind knows as a request exist in assembly only")]
fn send(request: usize, argument: usize) -> usize {
    let message = [request, argument, 0, 0, 0, 0];
    let mut answer = 0_usize;
    // SAFETY: on a processor the rotations, by 128 bits in all, leave `x12` as it was, and so does the disjunction of
    // `x10` with itself. Valgrind reads the six words behind `x4`, which outlive the block, and writes `x3`. An
    // argument that is an address points to NUL-terminated text of the caller.
    unsafe {
        std::arch::asm!(
            "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61", "orr x10, x10, x10",
            in("x4") message.as_ptr(),
            inout("x3") answer,
            options(nostack),
        );
    }
    answer
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn send(_request: usize, _argument: usize) -> usize {
    0
}

/// The trigger of a dump by request, before its name.
const TRIGGER: &str = "desc: Trigger: Client Request:";

/// The event of executed instructions.
const EVENT: &str = "Ir";

/// The instructions and names of the dumps that the program requested, in the order of the file.
fn requested(text: &str) -> Result<Vec<(String, u64)>, String> {
    let mut counts = Vec::new();
    let (mut name, mut column): (Option<String>, Option<usize>) = (None, None);
    for (number, line) in text.lines().enumerate() {
        let fault = |what: &str| format!("line {} of the counts {what}", number + 1);
        if line.starts_with("part:") {
            if let Some(name) = &name {
                return Err(fault(&format!("begins a part before `{name}` has totals")));
            }
        } else if let Some(rest) = line.strip_prefix(TRIGGER) {
            name = Some(rest.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("events:") {
            column = rest.split_whitespace().position(|event| event == EVENT);
        } else if let Some(rest) = line.strip_prefix("totals:") {
            // Dumps of other triggers, such as the end of the program, have no name.
            let Some(name) = name.take() else { continue };
            let column = column.ok_or_else(|| fault(&format!("has totals without the event `{EVENT}`")))?;
            let value = rest.split_whitespace().nth(column).and_then(|value| value.parse().ok());
            counts.push((name, value.ok_or_else(|| fault("has no number of instructions"))?));
        }
    }
    match name {
        Some(name) => Err(format!("the counts end before `{name}` has totals")),
        None => Ok(counts),
    }
}

/// The names of the two counted calls.
const CALLS: [&std::ffi::CStr; 2] = [c"first", c"second"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountPlan {
    pub suite: String,
    pub benchmark: String,
    /// The first where absent.
    pub configuration: Option<String>,
    pub seed: u64,
}

/// Counts in this process, under Valgrind, which writes counts to a file; the widest instructions of its kernels, as `avx2`.
pub fn follow(plan: &CountPlan, workloads: &[Workload]) -> Result<String, String> {
    let workload = workloads.iter().find(|workload| workload.benchmark.id() == plan.benchmark);
    count(workload.ok_or_else(|| format!("the plan asks for `{}`, which is unknown", plan.benchmark))?, plan)?;
    Ok(isa().to_owned())
}

fn count(workload: &Workload, plan: &CountPlan) -> Result<(), String> {
    if !can_count() {
        return Err("valgrind_absent: this process does not run under Valgrind".to_owned());
    }
    // The workers that time it have compared it with its reference, which would take minutes here.
    let order = Order { seed: plan.seed, configuration: plan.configuration.as_deref(), check: false, is_twin: false };
    let mut prepared = (workload.prepare)(&order)?;
    (prepared.call)();
    for name in CALLS {
        count_calls(name, &mut prepared.call);
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn isa() -> &'static str {
    if std::arch::is_x86_feature_detected!("avx512f") {
        "avx512f"
    } else if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        "avx2"
    } else {
        "x86-64"
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn isa() -> &'static str {
    std::env::consts::ARCH
}

const NAME: &str = "valgrind";

/// Older versions lack some instructions of AVX2 code.
const OLDEST: (u32, u32) = (3, 15);

/// The time for one benchmark. Valgrind makes a program ten to fifty times slower.
pub const LIMIT: Duration = Duration::from_secs(300);

/// The variables of a counted process: they locate Valgrind's parts and the program's libraries. Others would shift the
/// stack by their size, and `VALGRIND_OPTS` would change what is counted.
const PASSED_VARIABLES: [&str; 2] = ["VALGRIND_LIB", "LD_LIBRARY_PATH"];

/// The files of Callgrind, in a temporary folder.
const COUNTS: &str = "counts";
const LOG: &str = "log";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valgrind {
    pub program: PathBuf,
    pub version: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The first counted call, and the next. They differ where the work of a call is not always the same.
    pub first: u64,
    pub second: u64,
    /// The widest instructions of its kernels, such as `avx2`.
    pub isa: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncounted {
    /// One sentence, beginning with a machine-readable code.
    pub reason: String,
    /// Whether it took too long.
    pub time_is_up: bool,
}

impl Valgrind {
    pub fn find() -> Result<Valgrind, String> {
        Valgrind::on(&std::env::var_os("PATH").unwrap_or_default())
    }

    /// The counted process has no search path, so the place must be absolute.
    fn on(path: &OsStr) -> Result<Valgrind, String> {
        let mut programs = std::env::split_paths(path).filter_map(|folder| std::path::absolute(folder.join(NAME)).ok());
        match programs.find(|program| program.is_file()) {
            Some(program) => Valgrind::at(&program),
            None => Err(format!("valgrind_not_found: there is no `{NAME}` on the search path")),
        }
    }

    fn at(program: &Path) -> Result<Valgrind, String> {
        let output = probe(Command::new(program).arg("--version"));
        let output = output.map_err(|error| format!("valgrind_failed: `{NAME}` cannot be started: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let text = text.trim();
        let version = text.strip_prefix("valgrind-").filter(|_| output.status.success());
        let version = version.ok_or_else(|| {
            format!("valgrind_failed: `valgrind --version` ended with {} and said `{}`", output.status, start(text))
        })?;
        usable_version(version)?;
        Ok(Valgrind { program: program.to_owned(), version: version.to_owned() })
    }

    /// Counts all instructions of a command and of the processes that it starts.
    pub fn count_command(&self, suite: &CommandSuite) -> Result<u64, String> {
        let folder = counts_folder()?;
        let place = |name: &str| folder.path.join(name).to_string_lossy().replace('%', "%%") + ".%p";
        let mut command = vec![self.program.to_string_lossy().into_owned()];
        let options = ["--tool=callgrind", "--trace-children=yes", "--vgdb=no", "--cache-sim=no", "--branch-sim=no"];
        command.extend(options.map(str::to_owned));
        command.push(format!("--callgrind-out-file={}", place(COUNTS)));
        command.push(format!("--log-file={}", place(LOG)));
        command.push("--".to_owned());
        command.extend(suite.settings.command.iter().cloned());
        let mut suite = suite.clone();
        (suite.settings.command, suite.settings.time_out) = (command, suite.settings.time_out.max(LIMIT));
        warm_up(&suite, 1).map_err(|error| error.to_string())?;
        let files = fs::read_dir(&folder.path).map_err(|error| format!("it left no counts: {error}"))?;
        let is_count = |name: &OsStr| name.to_string_lossy().starts_with(COUNTS);
        let counts = files.flatten().filter(|file| is_count(&file.file_name()));
        let count =
            counts.filter_map(|file| fs::read(file.path()).ok()).map(|bytes| total(&String::from_utf8_lossy(&bytes)));
        Some(count.sum()).filter(|count| *count > 0).ok_or_else(|| "it left no counts".to_owned())
    }

    /// Counts one benchmark in a fresh process; `command` starts the worker.
    pub fn count(&self, command: &WorkerCommand, plan: &CountPlan, limit: Duration) -> Result<Count, Uncounted> {
        let failed = |reason: String| Uncounted { reason: format!("callgrind_failed: {reason}"), time_is_up: false };
        let folder = counts_folder().map_err(failed)?;
        let mut valgrind = Command::new(&self.program);
        valgrind.env_clear().current_dir(&folder.path);
        for name in PASSED_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                valgrind.env(name, value);
            }
        }
        valgrind.args(["--tool=callgrind", "--vgdb=no", "--instr-atstart=no", "--collect-atstart=no"]);
        valgrind.args(["--combine-dumps=yes", "--cache-sim=no", "--branch-sim=no"]);
        valgrind.arg(option("--callgrind-out-file=", &folder.path.join(COUNTS)));
        valgrind.arg(option("--log-file=", &folder.path.join(LOG)));
        valgrind.arg("--").arg(&command.program).args(&command.arguments);
        let isa = task::ask(&mut valgrind, plan, limit).map_err(|fault| {
            let time_is_up = matches!(fault, TaskError::TimeOut(_));
            let log = fs::read(folder.path.join(LOG)).unwrap_or_default();
            match cause(&String::from_utf8_lossy(&log)) {
                Some(cause) if !time_is_up => failed(format!("{cause} ({fault})")),
                _ => Uncounted { time_is_up, ..failed(fault.to_string()) },
            }
        })?;
        let counts = fs::read(folder.path.join(COUNTS));
        let counts = counts.map_err(|error| failed(format!("it left no counts: {error}")))?;
        match &requested(&String::from_utf8_lossy(&counts)).map_err(failed)?[..] {
            [(a, first), (b, second)]
                if [a, b].map(|name| name.as_bytes()) == CALLS.map(CStr::to_bytes) && *first > 0 =>
            {
                Ok(Count { first: *first, second: *second, isa })
            }
            other => Err(failed(format!("it left {} counts, not those of the two calls", other.len()))),
        }
    }
}

/// For what Valgrind writes; it is removed also where this process is killed.
fn counts_folder() -> Result<GuardedFolder, String> {
    let keeper = WorkerCommand::for_this_program(&["guard", "--remove"]).map_err(|error| error.to_string())?;
    let folder = GuardedFolder::new(&std::env::temp_dir(), &keeper);
    folder.map_err(|error| format!("cannot create a temporary folder: {error}"))
}

/// The sum of the totals of all parts of a file.
fn total(text: &str) -> u64 {
    let totals = text.lines().filter_map(|line| line.strip_prefix("totals:"));
    totals.filter_map(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

fn usable_version(version: &str) -> Result<(), String> {
    let numbers: Vec<u32> = version.split(['.', '-']).map_while(|part| part.parse().ok()).collect();
    let [major, minor, ..] = numbers[..] else {
        return Err(format!("valgrind_failed: `{}` is not a version", start(version)));
    };
    if (major, minor) < OLDEST {
        let (oldest, second) = OLDEST;
        return Err(format!("valgrind_too_old: {version} is installed, {oldest}.{second} is needed"));
    }
    Ok(())
}

/// What Valgrind reports of an unknown instruction, the usual reason why a program dies under it.
fn cause(log: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains("unhandled instruction bytes"))?;
    let bytes = line.split_once("bytes:").map_or("", |(_, bytes)| bytes).trim();
    Some(format!("unknown_instruction: this Valgrind does not support the instruction {}", start(bytes)))
}

/// The start of foreign text, for a message.
fn start(text: &str) -> String {
    text.chars().take(80).collect()
}

fn option(name: &str, path: &Path) -> std::ffi::OsString {
    // Valgrind expands `%p` and the like in names; `%%` is a plain `%`.
    let mut option = std::ffi::OsString::from(name);
    option.push(path.to_string_lossy().replace('%', "%%"));
    option
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::workload::example;

    #[test]
    fn without_valgrind_the_work_is_done_and_nothing_is_counted() {
        let mut done = 0;
        count_calls(c"name", || done += 1);
        assert_eq!(done, 1);
        // Under Valgrind the answer is the depth of Valgrinds.
        assert!(send(RUNNING_ON_VALGRIND, 0) <= 1);
        let reason = |benchmark: &str| follow(&plan(benchmark), &example::suite()).expect_err("nothing is counted");
        if !can_count() {
            assert!(reason("cpu/right @fast").starts_with("valgrind_absent: "));
        }
        assert!(reason("cpu/nothing @fast").contains("`cpu/nothing @fast`, which is unknown"));
    }

    const TWO_PARTS: &str = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 1\ncmd:  x\npart: 1\n\n\
        desc: Trigger: Client Request: first\n\npositions: line\nevents: Ir\nsummary: 12\n\nfn=(1) x\n0 12\n\ntotals: 12\n\
        part: 2\ndesc: Trigger: Client Request: second\nevents: Dr Ir\ntotals: 3 14\n\
        part: 3\ndesc: Trigger: Program termination\nevents: Ir\ntotals: 5\n";

    #[test]
    fn each_requested_dump_has_its_total() {
        let expected = vec![("first".to_owned(), 12), ("second".to_owned(), 14)];
        assert_eq!(requested(TWO_PARTS), Ok(expected));
        assert_eq!(requested(""), Ok(Vec::new()));
        // This file was dumped at the end of the program.
        let golden = include_str!("../../fixtures/golden/formats/callgrind/callgrind.tilessm_scan.out");
        assert_eq!(requested(golden), Ok(Vec::new()));
        assert_eq!((total(TWO_PARTS), total(golden), total("totals: x")), (12 + 3 + 5, 21201, 0));
        let asked = golden.replace("Trigger: Program termination", "Trigger: Client Request: tilessm_scan");
        assert_eq!(requested(&asked), Ok(vec![("tilessm_scan".to_owned(), 21201)]));
    }

    #[test]
    fn damaged_counts_are_refused_with_a_reason() {
        let check = |text: &str, words: &str| {
            let error = requested(text).expect_err("the counts are damaged");
            assert!(error.contains(words), "{error}");
        };
        let cut = TWO_PARTS.find("totals: 12").expect("it is there");
        check(&TWO_PARTS[..cut], "the counts end before `first` has totals");
        check(&TWO_PARTS.replace("totals: 12\n", ""), "line 17 of the counts begins a part before `first`");
        check(&TWO_PARTS.replace("totals: 12", "totals: many"), "line 17 of the counts has no number");
        check(&TWO_PARTS.replace("totals: 12", "totals: 99999999999999999999"), "has no number");
        check(&TWO_PARTS.replace("totals: 3 14", "totals: 3"), "has no number");
        check(&TWO_PARTS.replace("events: Ir", "events: Dr"), "totals without the event `Ir`");
    }

    #[test]
    fn only_a_version_that_can_be_used_is_accepted() {
        let check = |text: &str, words: &str| {
            let error = usable_version(text).expect_err("it cannot be used");
            assert!(error.contains(words), "{error}");
        };
        assert_eq!(usable_version("3.19.0"), Ok(()));
        check("3.14.0", "valgrind_too_old: 3.14.0 is installed, 3.15 is needed");
        check("3", "`3` is not a version");
    }

    fn plan(benchmark: &str) -> CountPlan {
        CountPlan { suite: "cpu".into(), benchmark: benchmark.to_owned(), configuration: None, seed: 1 }
    }

    /// Writes a script and waits until it can be run: a process that another test has just forked may have it open.
    fn script(folder: &Path, text: &str) -> PathBuf {
        let program = folder.join(NAME);
        fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("a file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
        let is_busy = |error: std::io::Error| error.kind() == std::io::ErrorKind::ExecutableFileBusy;
        while Command::new(&program).arg("--version").output().is_err_and(is_busy) {
            std::thread::yield_now();
        }
        program
    }

    /// A script in place of Valgrind: `$counts` and `$log` name its files, `"$@"` is the worker.
    fn fake(text: &str) -> (tempfile::TempDir, Valgrind) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = format!(
            "[ \"$1\" = --version ] && {{ echo valgrind-3.19.0; exit 0; }}\nwhile [ \"$1\" != -- ]; do\n\
             case \"$1\" in --callgrind-out-file=*) counts=${{1#*=}};; --log-file=*) log=${{1#*=}};; esac\nshift\ndone\n\
             shift\n{text}"
        );
        let valgrind = Valgrind::at(&script(folder.path(), &text)).expect("it prints a version");
        (folder, valgrind)
    }

    fn count(script: &str, limit: Duration) -> Result<Count, Uncounted> {
        let (_folder, valgrind) = fake(script);
        let answer = "cat >/dev/null; echo '{\"version\":1,\"outcome\":{\"Ok\":\"avx2\"}}'";
        let arguments = vec!["-c".to_owned(), answer.to_owned()];
        valgrind.count(&WorkerCommand { program: "/bin/sh".into(), arguments }, &plan("cpu/x @fast"), limit)
    }

    #[test]
    fn a_count_is_that_of_the_file_or_a_reason() {
        let part = |name: &str, total: &str| {
            format!("echo 'desc: Trigger: Client Request: {name}\nevents: Ir\ntotals: {total}' >>\"$counts\"\n")
        };
        let parts = |a: (&str, &str), b: (&str, &str)| format!("{}{}exec \"$@\"", part(a.0, a.1), part(b.0, b.1));
        let long = Duration::from_secs(60);
        let counted = count(&parts(("first", "12"), ("second", "14")), long);
        assert_eq!(counted, Ok(Count { first: 12, second: 14, isa: "avx2".into() }));
        let check = |script: &str, words: &str| {
            let uncounted = count(script, long).expect_err("nothing can be counted");
            assert!(uncounted.reason.starts_with("callgrind_failed: ") && !uncounted.time_is_up, "{uncounted:?}");
            assert!(uncounted.reason.contains(words), "{} has no `{words}`", uncounted.reason);
        };
        check("exec \"$@\"", "it left no counts");
        check(&format!("{}exec \"$@\"", part("first", "12")), "it left 1 counts, not those of the two calls");
        check(&parts(("a", "1"), ("b", "2")), "it left 2 counts, not those of the two calls");
        check(&parts(("first", "0"), ("second", "0")), "it left 2 counts, not those of the two calls");
        check(&format!("{}exec \"$@\"", part("first", "many")), "no number of instructions");
        check("echo no luck >&2; exit 3", "exit status: 3 (no luck)");
        check("echo '{\"version\":1,\"outcome\":{\"Err\":\"nobody counts\"}}'", "nobody counts");
        let unknown = "echo 'vex amd64->IR: unhandled instruction bytes: 0x62 0xF1 0x7C' >\"$log\"; kill -4 $$";
        check(unknown, "unknown_instruction: this Valgrind does not support the instruction 0x62 0xF1 0x7C (signal: 4");
        let late = count("exec sleep 600", Duration::from_millis(50)).expect_err("nothing can be counted");
        assert!(late.time_is_up && late.reason.contains("was stopped"), "{late:?}");
    }

    #[test]
    fn valgrind_is_searched_on_the_path_and_must_print_its_version() {
        let (folder, valgrind) = fake("");
        assert_eq!(valgrind.version, "3.19.0");
        let check = |prints: &str, words: &str| {
            let other = tempfile::tempdir().expect("a temporary folder");
            let error = Valgrind::at(&script(other.path(), prints)).expect_err("it cannot be used");
            assert!(error.contains(words), "{error}");
        };
        check("echo valgrind-3.14.0", "valgrind_too_old: 3.14.0 is installed, 3.15 is needed");
        check("echo valgrind-3", "`3` is not a version");
        check("echo hello", "said `hello`");
        check("echo valgrind-3.19.0; exit 1", "ended with exit status: 1");
        let on =
            |path: &str| Valgrind::on(OsStr::new(path)).map_err(|reason| reason.split(':').next().map(str::to_owned));
        assert_eq!(on("/nonexistent:"), Err(Some("valgrind_not_found".to_owned())));
        let place = folder.path().display();
        assert_eq!(on(&format!("/nonexistent:{place}")), Ok(valgrind));
        fs::set_permissions(folder.path().join(NAME), fs::Permissions::from_mode(0o644)).expect("its mode");
        assert_eq!(on(&place.to_string()), Err(Some("valgrind_failed".to_owned())));
    }
}

//! The parent's side of counting: finds Valgrind, runs a worker under it, and reads what it wrote.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::totals;
use super::worker::{CALLS, COUNT_VERSION, CountPlan, CountReport};
use crate::process::{self, WorkerCommand};

/// What the program is called.
const NAME: &str = "valgrind";

/// The oldest Valgrind that is asked: before it, some instructions of AVX2 code are unknown.
const OLDEST: (u32, u32) = (3, 15);

/// How long one benchmark may take. Valgrind makes a program ten to fifty times slower, so a second becomes a minute.
pub const LIMIT: Duration = Duration::from_secs(300);

/// The variables that a counted process keeps: what finds Valgrind's parts and the program's libraries. All others are
/// taken away: their size would shift the stack, and `VALGRIND_OPTS` would change what is counted.
const PASSED_VARIABLES: [&str; 2] = ["VALGRIND_LIB", "LD_LIBRARY_PATH"];

/// The name of the file that Callgrind writes, in a folder of its own.
const COUNTS: &str = "counts";

/// The name of the file for what Valgrind says.
const LOG: &str = "log";

/// A Valgrind that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valgrind {
    pub program: PathBuf,
    /// Its version, such as `3.19.0`.
    pub version: String,
}

/// The instructions of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The first counted call, after one that was not counted.
    pub first: u64,
    /// The call after it. Where it differs, the work of a call is not always the same.
    pub second: u64,
    /// The widest instructions that a kernel could choose, such as `avx2`.
    pub isa: String,
}

/// Why a benchmark was not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncounted {
    /// One sentence, beginning with a code that programs can read.
    pub reason: String,
    /// Whether the time was up: the next benchmark may fare no better.
    pub time_is_up: bool,
}

impl Valgrind {
    /// Asks the `valgrind` of the search path for its version.
    ///
    /// # Errors
    /// Why it cannot be used, beginning with a code that programs can read.
    pub fn find() -> Result<Valgrind, String> {
        Valgrind::on(&std::env::var_os("PATH").unwrap_or_default())
    }

    /// Looks along a search path. The counted process has none, so the place must be known.
    fn on(path: &OsStr) -> Result<Valgrind, String> {
        let mut programs = std::env::split_paths(path).filter_map(|folder| std::path::absolute(folder.join(NAME)).ok());
        match programs.find(|program| program.is_file()) {
            Some(program) => Valgrind::at(&program),
            None => Err(format!("valgrind_not_found: there is no `{NAME}` on the search path")),
        }
    }

    fn at(program: &Path) -> Result<Valgrind, String> {
        let output = Command::new(program).arg("--version").output();
        let output = output.map_err(|error| format!("valgrind_failed: `{NAME}` cannot be started: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let text = text.trim();
        let version = text.strip_prefix("valgrind-").filter(|_| output.status.success());
        let version = version.ok_or_else(|| {
            format!("valgrind_failed: `valgrind --version` ended with {} and said `{}`", output.status, start(text))
        })?;
        let numbers: Vec<u32> = version.split(['.', '-']).map_while(|part| part.parse().ok()).collect();
        let [major, minor, ..] = numbers[..] else {
            return Err(format!("valgrind_failed: `{}` is no version", start(version)));
        };
        if (major, minor) < OLDEST {
            let (oldest, second) = OLDEST;
            return Err(format!("valgrind_too_old: {version} is installed, {oldest}.{second} is needed"));
        }
        Ok(Valgrind { program: program.to_owned(), version: version.to_owned() })
    }

    /// Counts one benchmark in a fresh process; `command` starts a worker that counts.
    ///
    /// # Errors
    /// Why it was not counted; other benchmarks may be.
    pub fn count(&self, command: &WorkerCommand, plan: &CountPlan, limit: Duration) -> Result<Count, Uncounted> {
        let failed = |reason: String| Uncounted { reason: format!("callgrind_failed: {reason}"), time_is_up: false };
        let folder = tempfile::Builder::new().prefix("sprag-count-").tempdir();
        let folder = folder.map_err(|error| failed(format!("there is no place for its files: {error}")))?;
        let mut valgrind = Command::new(&self.program);
        valgrind.env_clear().current_dir(folder.path());
        for name in PASSED_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                valgrind.env(name, value);
            }
        }
        valgrind.args(["--tool=callgrind", "--vgdb=no", "--instr-atstart=no", "--collect-atstart=no"]);
        valgrind.args(["--combine-dumps=yes", "--cache-sim=no", "--branch-sim=no"]);
        valgrind.arg(option("--callgrind-out-file=", &folder.path().join(COUNTS)));
        valgrind.arg(option("--log-file=", &folder.path().join(LOG)));
        valgrind.arg("--").arg(&command.program).args(&command.arguments);
        let report: CountReport = process::ask(&mut valgrind, plan, limit).map_err(|fault| {
            let time_is_up = matches!(fault, process::AskError::TimeOut(_));
            let log = fs::read(folder.path().join(LOG)).unwrap_or_default();
            match cause(&String::from_utf8_lossy(&log)) {
                Some(cause) if !time_is_up => failed(format!("{cause} ({fault})")),
                _ => Uncounted { time_is_up, ..failed(fault.to_string()) },
            }
        })?;
        if report.version != COUNT_VERSION {
            return Err(failed(format!("its report has version {}, {COUNT_VERSION} is needed", report.version)));
        }
        if let Some(failure) = report.failure {
            return Err(failed(failure));
        }
        let counts =
            fs::read(folder.path().join(COUNTS)).map_err(|error| failed(format!("it left no counts: {error}")))?;
        let found = totals::requested(&String::from_utf8_lossy(&counts)).map_err(failed)?;
        let [(first_name, first), (second_name, second)] = &found[..] else {
            return Err(failed(format!("it left {} counts, {} were asked for", found.len(), CALLS.len())));
        };
        if [first_name.as_bytes(), second_name.as_bytes()] != CALLS.map(std::ffi::CStr::to_bytes) || *first == 0 {
            return Err(failed(format!(
                "it counted `{}` {first}, `{}` {second}",
                start(first_name),
                start(second_name)
            )));
        }
        Ok(Count { first: *first, second: *second, isa: report.isa })
    }
}

/// What Valgrind says of an instruction that it does not know: the usual reason why a program dies under it.
fn cause(log: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains("unhandled instruction bytes"))?;
    let bytes = line.split_once("bytes:").map_or("", |(_, bytes)| bytes).trim();
    Some(format!("unknown_instruction: this valgrind does not know the instruction {}", start(bytes)))
}

/// The start of a text that somebody else wrote, for a message.
fn start(text: &str) -> String {
    text.chars().take(80).collect()
}

fn option(name: &str, path: &Path) -> std::ffi::OsString {
    // Valgrind replaces `%p` and the like in names; a doubled `%` stands for itself.
    let mut option = std::ffi::OsString::from(name);
    option.push(path.to_string_lossy().replace('%', "%%"));
    option
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Writes a script and waits until it can be run: a process that another test has just forked may hold it open.
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

    /// A script that stands in for Valgrind: `$counts` and `$log` name its files, `"$@"` is the worker.
    fn fake(text: &str) -> (tempfile::TempDir, Valgrind) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = format!(
            "[ \"$1\" = --version ] && {{ echo valgrind-3.19.0; exit 0; }}\nwhile [ \"$1\" != -- ]; do\n\
             case \"$1\" in --callgrind-out-file=*) counts=${{1#*=}};; --log-file=*) log=${{1#*=}};; esac\nshift\ndone\n\
             shift\n{text}"
        );
        let valgrind = Valgrind::at(&script(folder.path(), &text)).expect("it tells a version");
        (folder, valgrind)
    }

    fn count(script: &str, limit: Duration) -> Result<Count, Uncounted> {
        let (_folder, valgrind) = fake(script);
        let plan = CountPlan {
            version: 1,
            suite: "cpu".into(),
            benchmark: "cpu/x @fast".into(),
            configuration: None,
            seed: 1,
        };
        let answer = "cat >/dev/null; echo '{\"version\":1,\"failure\":null,\"isa\":\"avx2\"}'";
        let arguments = vec!["-c".to_owned(), answer.to_owned()];
        valgrind.count(&WorkerCommand { program: "/bin/sh".into(), arguments }, &plan, limit)
    }

    const LONG: Duration = Duration::from_secs(60);

    fn part(name: &str, total: &str) -> String {
        format!("echo 'desc: Trigger: Client Request: {name}\nevents: Ir\ntotals: {total}' >>\"$counts\"\n")
    }

    #[test]
    fn the_counts_are_those_of_the_file() {
        let script = format!("{}{}exec \"$@\"", part("first", "12"), part("second", "14"));
        assert_eq!(count(&script, LONG), Ok(Count { first: 12, second: 14, isa: "avx2".into() }));
    }

    #[test]
    fn what_goes_wrong_is_a_reason() {
        let check = |script: &str, words: &str| {
            let uncounted = count(script, LONG).expect_err("nothing can be counted");
            assert!(uncounted.reason.starts_with("callgrind_failed: ") && !uncounted.time_is_up, "{uncounted:?}");
            assert!(uncounted.reason.contains(words), "{} has no `{words}`", uncounted.reason);
        };
        check("exec \"$@\"", "it left no counts");
        check(&format!("{}exec \"$@\"", part("first", "12")), "it left 1 counts, 2 were asked for");
        check(&format!("{}{}exec \"$@\"", part("a", "1"), part("b", "2")), "it counted `a` 1, `b` 2");
        check(&format!("{}{}exec \"$@\"", part("first", "0"), part("second", "0")), "it counted `first` 0");
        check(&format!("{}exec \"$@\"", part("first", "many")), "no number of instructions");
        check("echo no luck >&2; exit 3", "exit status: 3 (no luck)");
        check("echo '{\"version\":7,\"failure\":null,\"isa\":\"\"}'", "version 7");
        check("echo '{\"version\":1,\"failure\":\"nobody counts\",\"isa\":\"\"}'", "nobody counts");
        let unknown = "echo 'vex amd64->IR: unhandled instruction bytes: 0x62 0xF1 0x7C' >\"$log\"; kill -4 $$";
        check(unknown, "unknown_instruction: this valgrind does not know the instruction 0x62 0xF1 0x7C (signal: 4");
    }

    #[test]
    fn a_valgrind_that_hangs_is_ended() {
        let uncounted = count("exec sleep 600", Duration::from_millis(50)).expect_err("nothing can be counted");
        assert!(uncounted.time_is_up && uncounted.reason.contains("was ended"), "{uncounted:?}");
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let (folder, valgrind) = fake("");
        assert_eq!(valgrind.version, "3.19.0");
        let check = |says: &str, words: &str| {
            let other = tempfile::tempdir().expect("a temporary folder");
            let error = Valgrind::at(&script(other.path(), says)).expect_err("it cannot be used");
            assert!(error.contains(words), "{error}");
        };
        check("echo valgrind-3.14.0", "valgrind_too_old: 3.14.0 is installed, 3.15 is needed");
        check("echo valgrind-3", "`3` is no version");
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

//! Suites of other programs, which measure themselves: Sprag runs them repeatedly, each time as a fresh process, and takes
//! the median over processes. The caller passes a function that reads their output.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::pinning;
use crate::process::{self, TAIL, WorkerCommand};
use sprag_base::process::{Bounds, Captured, End, Guard, OutputLimit, ProcessGroup, capture_started};
use sprag_base::text::one_line;

pub mod suite;
pub mod paired;
pub mod cargo;
pub mod keeper;
pub mod variables;

/// Variables that a build in a checkout must not inherit. Those of git select another repository, as in hooks and
/// `git rebase --exec`, or hold a token. Those of Cargo name a folder that several commits would share.
pub const CHECKOUT_WITHOUT: [&str; 15] = [
    "CARGO_BUILD_TARGET_DIR", "CARGO_TARGET_DIR", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_VALUE_0", "GIT_DIR",
    "GIT_INDEX_FILE", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_WORK_TREE",
];

/// A program with its limits.
pub(crate) struct Invocation<'a> {
    /// The program and its arguments; not empty.
    pub(crate) command: &'a [String],
    pub(crate) folder: &'a Path,
    pub(crate) variables: &'a BTreeMap<String, String>,
    /// The variables that it gets besides those of toolchains; absent where it gets the whole environment.
    pub(crate) passed: Option<&'a [String]>,
    pub(crate) without: &'a [&'a str],
    pub(crate) time_out: Duration,
    pub(crate) most_bytes: u64,
    /// Whether its standard output is needed.
    pub(crate) keep_output: bool,
    /// Bytes of the end of its standard error that are needed.
    pub(crate) keep_error: usize,
    /// Its processor; absent where the system chooses.
    pub(crate) pin: Option<u32>,
    pub(crate) guard: Option<&'a WorkerCommand>,
}

static NO_VARIABLES: BTreeMap<String, String> = BTreeMap::new();

impl<'a> Invocation<'a> {
    /// With the whole environment, and nothing needed of its outputs but what explains a failure.
    pub(crate) fn new(command: &'a [String], folder: &'a Path, time_out: Duration) -> Invocation<'a> {
        Invocation {
            command,
            folder,
            variables: &NO_VARIABLES,
            passed: None,
            without: &[],
            time_out,
            most_bytes: u64::MAX,
            keep_output: false,
            keep_error: TAIL,
            pin: None,
            guard: None,
        }
    }
}

/// Why a process has no result.
#[derive(Debug, PartialEq)]
pub(crate) enum CommandFault {
    Start(String),
    TimeOut(String),
    /// It failed, or its output cannot be used.
    Failed(String),
}

impl CommandFault {
    pub(crate) fn text(&self) -> &str {
        match self {
            CommandFault::Start(text) | CommandFault::TimeOut(text) | CommandFault::Failed(text) => text,
        }
    }
}

/// Runs the program and returns its standard output, where that is needed. A fault quotes at most `lines` last lines of
/// standard error, or, where that is empty, of a standard output that is not needed; one line is that which names an error.
pub(super) fn run(program: &Invocation<'_>, lines: usize) -> Result<Vec<u8>, CommandFault> {
    completed(program, lines).map(|captured| captured.stdout)
}

/// As [`run`], with all that was observed.
pub(super) fn completed(program: &Invocation<'_>, lines: usize) -> Result<Captured, CommandFault> {
    let captured = observe(program)?;
    if matches!(captured.end, End::Exited(status) if status.success() && captured.outputs_closed) {
        return Ok(captured);
    }
    let is_silent = captured.stderr.iter().all(u8::is_ascii_whitespace);
    // Runners of tests write what failed to standard output.
    let named = match process::named_error(&captured.stderr) {
        Some(_) => None,
        None => process::named_error(&captured.stdout),
    };
    let said = if is_silent && !program.keep_output { &captured.stdout } else { &captured.stderr };
    let one = || named.or_else(|| process::last_words(&String::from_utf8_lossy(said))).unwrap_or_default();
    let said = match if lines == 1 { one_line(&one()) } else { process::last_lines(said, lines).join("; ") } {
        last if last.is_empty() => last,
        last => format!(" ({last})"),
    };
    // A process that has left the group could not be killed.
    let left = if captured.outputs_closed {
        ""
    } else {
        "; a process that it started has left its group and holds its outputs open"
    };
    Err(match captured.end {
        End::TimeOut => {
            let seconds = (10.0 * program.time_out.as_secs_f64()).round() / 10.0;
            CommandFault::TimeOut(format!("it took longer than {seconds} s and was killed{said}{left}"))
        }
        End::Overflow => {
            let most = program.most_bytes;
            CommandFault::Failed(format!("it wrote more than {most} bytes to one of its outputs{left}"))
        }
        End::Exited(status) => {
            let missing = program
                .passed
                .map_or_else(String::new, |named| variables::missing(&[&captured.stderr, &captured.stdout], named));
            CommandFault::Failed(format!("{}{said}{left}{missing}", process::exit_text(status)))
        }
    })
}

pub(crate) fn observe(program: &Invocation<'_>) -> Result<Captured, CommandFault> {
    let mut command = Command::new(resolve(&program.command[0], program.folder));
    command.args(&program.command[1..]).current_dir(program.folder);
    if let Some(named) = program.passed {
        variables::restrict(&mut command, named);
    }
    for name in program.without {
        command.env_remove(name);
    }
    command.envs(program.variables);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let guard = program.guard.and_then(|guard| Guard::start(&mut guard.command()));
    let group =
        spawn(&mut command, guard, program.pin).map_err(|error| CommandFault::Start(start_fault(program, &error)))?;
    let stdout = if program.keep_output { usize::MAX } else { TAIL };
    let output = |keep| OutputLimit { keep, max: program.most_bytes };
    let limits = Bounds::new(program.time_out, output(stdout), output(program.keep_error));
    capture_started(group, Vec::new(), &limits)
        .map_err(|error| CommandFault::Failed(format!("waiting for it failed: {error}")))
}

/// Starts the process from a thread that is pinned to the processor, since a process inherits the affinity of its parent.
fn spawn(command: &mut Command, guard: Option<Guard>, pin: Option<u32>) -> io::Result<ProcessGroup> {
    let Some(processor) = pin else { return ProcessGroup::spawn(command, guard) };
    let spawn = || {
        // The caller has reported whether this is permitted.
        let _ = pinning::pin(processor);
        ProcessGroup::spawn(command, guard)
    };
    let started = std::thread::scope(|scope| scope.spawn(spawn).join());
    started.unwrap_or_else(|_| Err(io::Error::other("the thread that starts it panicked")))
}

/// A program with a folder in its name is relative to its working folder.
fn resolve(program: &str, folder: &Path) -> PathBuf {
    if program.contains('/') { folder.join(program) } else { PathBuf::from(program) }
}

fn start_fault(program: &Invocation<'_>, error: &std::io::Error) -> String {
    let name = program.command[0].escape_debug().to_string();
    if !program.folder.is_dir() {
        return format!("`{name}` cannot be started: there is no folder `{}`", program.folder.display());
    }
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            let list = name.split_whitespace().collect::<Vec<_>>().join("\", \"");
            let meant = if list == *name { String::new() } else { format!("; did you mean `[\"{list}\"]`?") };
            format!("`{name}` cannot be started: there is no such program{meant}")
        }
        _ => format!("`{name}` cannot be started: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_in(folder: &str, command: &[String], lines: usize) -> Result<String, CommandFault> {
        let program = Invocation {
            variables: &BTreeMap::from([("GIVEN".to_owned(), "a value".to_owned())]),
            keep_output: true,
            ..Invocation::new(command, Path::new(folder), Duration::from_secs(60))
        };
        run(&program, lines).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn a_process_gives_its_output_or_a_reason_in_words() {
        let check = |script: &str, expected: Result<&str, CommandFault>| {
            let command = ["/bin/sh", "-c", script].map(str::to_owned);
            assert_eq!(run_in("/", &command, 2), expected.map(str::to_owned), "{script}");
        };
        let failed = |text: &str| Err(CommandFault::Failed(text.to_owned()));
        check("echo \"$GIVEN\"; pwd; cat", Ok("a value\n/\n"));
        // As pytest and `go test` do.
        let on_output = |script: &str| {
            run_in("/", &["/bin/sh", "-c", script].map(str::to_owned), 1).expect_err("it fails").text().to_owned()
        };
        let script = "echo 'E   ModuleNotFoundError: no x'; echo 1 failed; echo 'wrote data' >&2; exit 1";
        assert_eq!(on_output(script), "it ended with exit code 1 (ModuleNotFoundError: no x)");
        let script = "echo '--- FAIL: TestX'; echo 'my error: y' >&2; exit 1";
        assert_eq!(on_output(script), "it ended with exit code 1 (my error: y)");
        check("printf 'a\\033[31m\\tb' >&2; kill -9 $$", failed("it was ended by signal 9 (a [31m b)"));
        check("sleep 1000 & echo done", Ok("done\n"));
        let escaped = failed(
            "it ended with exit code 0; a process that it started has left its group and holds its outputs open",
        );
        check("setsid sleep 5 & sleep 1; echo done", escaped);
    }

    #[test]
    fn a_missing_program_or_folder_is_named() {
        let start = |program: &str, folder: &str| {
            run_in(folder, &[program.to_owned()], 1).expect_err("it cannot be started").text().to_owned()
        };
        let words =
            "`make run all` cannot be started: there is no such program; did you mean `[\"make\", \"run\", \"all\"]`?";
        assert_eq!(start("make run all", "/"), words);
        assert!(start("/", "/").starts_with("`/` cannot be started: "));
        assert_eq!(resolve("bin/x", Path::new("/a")), PathBuf::from("/a/bin/x"));
        assert_eq!(resolve("cargo", Path::new("/a")), PathBuf::from("cargo"));
    }
}

//! A temporary project with its own git and its own home, in which the binary runs as a user would run it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

/// A suite that is quick also in an unoptimised build.
const SMALL_SUITE: &str =
    "[project]\nname = \"sandbox\"\n[suites.cpu]\nkind = \"cpu\"\ninclude = [\"tile_ssm_scan\"]\n";

/// A temporary folder with a home and, mostly, a repository.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    pub(crate) project: PathBuf,
}

/// How a command ended; in its output the path of the project is written as `[project]`.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, code, "standard output:\n{}\nstandard error:\n{}", self.out, self.err);
        self
    }

    /// Fails the test unless standard output holds all the words.
    #[track_caller]
    pub(crate) fn prints(self, words: &[&str]) -> Ended {
        assert_contains(&self.out, words);
        self
    }

    /// Fails the test unless standard error holds all the words.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Ended {
        assert_contains(&self.err, words);
        self
    }

    pub(crate) fn both(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// Standard output, which must be JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        json(&self.out)
    }
}

#[track_caller]
pub(crate) fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in:\n{text}");
    }
}

/// Waits at most a minute for a condition.
#[cfg(target_os = "linux")]
#[track_caller]
pub(crate) fn wait_until(what: &str, is_done: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_done() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits for the end of processes; a zombie has ended.
#[cfg(target_os = "linux")]
#[track_caller]
pub(crate) fn wait_for_end<'p>(processes: impl Iterator<Item = &'p str>) {
    for process in processes {
        let stat = || fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let has_ended = || stat().rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.starts_with(" Z"));
        wait_until("a process runs on", has_ended);
    }
}

#[track_caller]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

impl Sandbox {
    /// A folder and a home that names a git user.
    pub(crate) fn empty() -> Sandbox {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let project = folder.path().join("project");
        fs::create_dir_all(folder.path().join("home")).expect("a folder");
        fs::create_dir(&project).expect("a folder");
        let identity = "[user]\nname = Tester\nemail = tester@example.org\n[init]\ndefaultBranch = main\n";
        fs::write(folder.path().join("home/.gitconfig"), identity).expect("a file");
        Sandbox { folder, project }
    }

    /// A repository with a small suite and one commit.
    pub(crate) fn new() -> Sandbox {
        let sandbox = Sandbox::begun();
        sandbox.write("sprag.toml", SMALL_SUITE);
        sandbox.write(".gitignore", "/_site\n");
        sandbox.commit("Begin");
        sandbox
    }

    /// A repository without a commit. It has `history/`, so that records go to its branch.
    pub(crate) fn begun() -> Sandbox {
        let sandbox = Sandbox::empty();
        sandbox.git(&["init", "-q"]);
        sandbox.write("history/.gitkeep", "");
        sandbox
    }

    /// Clones the repository with these options to a folder next to it, whose path is returned.
    pub(crate) fn cloned(&self, options: &[&str], name: &str) -> String {
        let (url, place) = (format!("file://{}", self.project.display()), self.place(&format!("../{name}")));
        self.git(&[&["clone", "-q"], options, &[&url, &place]].concat());
        place
    }

    /// The full path of a file of the project.
    pub(crate) fn place(&self, path: &str) -> String {
        text_of(&self.project.join(path))
    }

    pub(crate) fn copied(&self) -> Sandbox {
        self.copied_to(tempfile::tempdir().expect("a temporary folder"))
    }

    fn copied_to(&self, folder: tempfile::TempDir) -> Sandbox {
        copy(self.folder.path(), folder.path());
        let project = self.project.strip_prefix(self.folder.path()).expect("the project lies below");
        Sandbox { project: folder.path().join(project), folder }
    }

    /// A copy of the sandbox that `make` gives; `make` is called once a process.
    pub(crate) fn copy_of(template: &'static OnceLock<Sandbox>, make: impl FnOnce() -> Sandbox) -> Sandbox {
        const PREFIX: &str = "sprag-template-";
        let template = template.get_or_init(|| {
            // No destructor runs for a static, so what earlier processes left is removed here.
            for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
                let modified = entry.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
                let is_old = modified.elapsed().is_ok_and(|age| age > Duration::from_secs(3600));
                if is_old && entry.file_name().to_string_lossy().starts_with(PREFIX) {
                    let _ = fs::remove_dir_all(entry.path());
                }
            }
            make().copied_to(tempfile::Builder::new().prefix(PREFIX).tempdir().expect("a temporary folder"))
        });
        template.copied()
    }

    /// The sandbox with a repository below its project as its project.
    pub(crate) fn below(mut self, path: &str) -> Sandbox {
        self.project.push(path);
        self
    }

    pub(crate) fn forget_identity(&self) {
        fs::write(self.home().join(".gitconfig"), "").expect("a file");
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project.join(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"))
    }

    /// A file of the project, which must be JSON.
    #[track_caller]
    pub(crate) fn json(&self, path: &str) -> Value {
        json(&self.read(path))
    }

    pub(crate) fn append(&self, path: &str, text: &str) {
        self.write(path, &(self.read(path) + text));
    }

    /// The text of a file with the first `from` replaced by `to`.
    #[track_caller]
    pub(crate) fn altered(&self, path: &str, from: &str, to: &str) -> String {
        let text = self.read(path);
        assert_contains(&text, &[from]);
        text.replacen(from, to, 1)
    }

    /// Replaces the first `from` in a file by `to`.
    #[track_caller]
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        self.write(path, &self.altered(path, from, to));
    }

    #[track_caller]
    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.project.join(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"));
    }

    #[cfg(unix)]
    pub(crate) fn program(&self, path: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.write(path, script);
        fs::set_permissions(self.project.join(path), fs::Permissions::from_mode(0o755)).expect("it is our own file");
    }

    pub(crate) fn commit(&self, subject: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }

    /// Writes a file and commits all that changed.
    pub(crate) fn commit_with(&self, path: &str, text: &str, subject: &str) {
        self.write(path, text);
        self.commit(subject);
    }

    /// Runs git, which must succeed, and gives its trimmed output.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self.command("git").args(arguments).output().expect("git runs");
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        text
    }

    /// Runs git; an error holds its output.
    pub(crate) fn try_git(&self, arguments: &[&str]) -> Result<(), String> {
        let output = self.command("git").args(arguments).output().expect("git runs");
        let said = [output.stdout, output.stderr].concat();
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said).into_owned()) }
    }

    pub(crate) fn binary(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_sprag"));
        command.envs(variables.iter().copied()).args(arguments);
        command
    }

    pub(crate) fn sprag(&self, arguments: &[&str]) -> Ended {
        self.sprag_with(&[], arguments)
    }

    /// Runs the binary, which must end with that code.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> Ended {
        self.sprag(arguments).expect(code)
    }

    /// Runs the binary with more variables in its environment.
    pub(crate) fn sprag_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ended {
        self.ended(self.binary(variables, arguments).output().expect("sprag runs"))
    }

    /// Runs make with the binary as `SPRAG`; `None` where there is no make.
    pub(crate) fn make(&self, arguments: &[&str]) -> Option<Ended> {
        let mut command = self.command("make");
        // Variables of a make that runs these tests.
        command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS").args(arguments);
        let ended = command.arg(concat!("SPRAG=", env!("CARGO_BIN_EXE_sprag"))).output().ok()?;
        Some(self.ended(ended))
    }

    /// Runs a script as a step of a workflow, with [`Sandbox::tool`]s first in `PATH`.
    pub(crate) fn step(&self, variables: &[(&str, &str)], script: &str) -> Ended {
        let mut command = self.command("bash");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", text_of(&self.tools()))).envs(variables.iter().copied());
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
        self.ended(command.output().expect("bash runs"))
    }

    /// Writes a program that steps find before all others.
    #[cfg(unix)]
    pub(crate) fn tool(&self, name: &str, script: &str) {
        self.program(&format!("../tools/{name}"), script);
    }

    pub(crate) fn tools(&self) -> PathBuf {
        self.folder.path().join("tools")
    }

    /// Runs the binary with `text` as its standard input.
    pub(crate) fn sprag_reading(&self, text: &str, arguments: &[&str]) -> Ended {
        self.write("../input", text);
        let input = fs::File::open(self.project.join("../input")).expect("a file");
        self.ended(self.binary(&[], arguments).stdin(input).output().expect("sprag runs"))
    }

    /// Runs the binary with that standard error and gives its exit code.
    pub(crate) fn sprag_with_errors_to(&self, errors: Stdio, arguments: &[&str]) -> i32 {
        let mut command = self.binary(&[], arguments);
        command.stdout(Stdio::null()).stderr(errors).status().expect("sprag runs").code().unwrap_or(-1)
    }

    /// Starts the binary without waiting for it.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.start_with(&[], arguments)
    }

    pub(crate) fn start_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Child {
        let mut command = self.binary(variables, arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("sprag starts")
    }

    /// Runs the binary with a limit on file sizes in blocks of 512 bytes, as on a full disk.
    pub(crate) fn sprag_with_file_limit(&self, blocks: u32, arguments: &[&str]) -> Ended {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = self.command("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_sprag")]).args(arguments);
        self.ended(command.output().expect("sh runs"))
    }

    /// Runs the binary, and stops it after so many seconds with the code 124.
    #[cfg(unix)]
    pub(crate) fn sprag_limited(&self, seconds: u32, arguments: &[&str]) -> Ended {
        let script = "\"$0\" \"$@\" & child=$!; (sleep \"$LIMIT\"; kill -9 $child) >/dev/null 2>&1 & timer=$!; \
                      wait $child; code=$?; kill $timer 2>/dev/null; [ $code != 137 ] || code=124; exit $code";
        let mut command = self.command("sh");
        command.env("LIMIT", seconds.to_string()).args(["-c", script, env!("CARGO_BIN_EXE_sprag")]).args(arguments);
        self.ended(command.output().expect("sh runs"))
    }

    /// A folder for temporary files that nothing else uses.
    pub(crate) fn temporary(&self) -> PathBuf {
        let folder = self.folder.path().join("temporary");
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// The record files at the tip of a branch.
    pub(crate) fn records(&self, branch: &str) -> Vec<String> {
        let list = self.git(&["ls-tree", "-r", "--name-only", branch, "--", "history/v1"]);
        list.lines().map(str::to_owned).collect()
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project).env("HOME", self.home()).env("XDG_CONFIG_HOME", self.home());
        command.env("XDG_CACHE_HOME", self.home().join(".cache"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0").env("SPRAG_MACHINE", "sandbox");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
            command.env_remove(name);
        }
        command
    }

    fn ended(&self, output: Output) -> Ended {
        let redact = |bytes: &[u8]| {
            let real = fs::canonicalize(&self.project).expect("the project is there");
            let text = String::from_utf8_lossy(bytes).replace(&text_of(&real), "[project]");
            text.replace(&text_of(&self.project), "[project]")
        };
        Ended { code: output.status.code().unwrap_or(-1), out: redact(&output.stdout), err: redact(&output.stderr) }
    }
}

pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it lies below").to_string_lossy().replace('\\', "/");
                files.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("the folder can be listed") {
        let (entry, to) =
            entry.map(|entry| (entry.path(), to.join(entry.file_name()))).expect("the folder can be listed");
        if entry.is_dir() {
            fs::create_dir(&to).expect("a folder");
            copy(&entry, &to);
        } else {
            fs::copy(&entry, &to).expect("a file");
        }
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

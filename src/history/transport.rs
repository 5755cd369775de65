//! Fetching and pushing one branch by the git of the user.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use sprag_base::process::{Bounds, Captured, End, OutputLimit, capture, describe_exit, find_program, trusted_path};
use sprag_base::text;

const LIMIT: Duration = Duration::from_secs(120);

/// For git to remove its locks when its time is up.
const GRACE: Duration = Duration::from_secs(2);

const OUTPUT_BYTES: usize = 256 << 10;

/// The exit code by which `git ls-remote --exit-code` says that nothing matches.
const NOTHING_MATCHES: i32 = 2;

const SETTINGS: [&str; 10] = [
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.ext.allow=never", "gc.auto=0",
    "maintenance.auto=false", "submodule.recurse=false", "fetch.prune=false", "fetch.writeCommitGraph=false",
    "push.gpgSign=false", "push.followTags=false",
];

pub(crate) struct Place {
    /// The working directory, which relative addresses such as `../other.git` start from.
    pub(crate) folder: PathBuf,
    pub(crate) git_folder: PathBuf,
    pub(crate) working_trees: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("there is no `git` in the folders of PATH that lie outside the working tree")]
    NoGit,
    #[error("`{program}` cannot be run: {source}")]
    Start { program: PathBuf, source: io::Error },
    #[error("`git {verb}` {manner}")]
    Ended { verb: &'static str, manner: String },
    #[error("{}", fault.clause())]
    Remote { fault: RemoteFault, words: String },
}

pub(crate) struct Transport {
    program: PathBuf,
    variables: Vec<(OsString, OsString)>,
    place: Place,
}

impl Transport {
    pub(crate) fn find(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        place: Place,
    ) -> Result<Transport, CallError> {
        let variables: Vec<(OsString, OsString)> = variables.into_iter().collect();
        let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()).unwrap_or_default();
        let folders = trusted_path(&path, &place.working_trees);
        let program = find_program("git", &folders).ok_or(CallError::NoGit)?;
        // Git itself finds programs such as ssh by it.
        let path = std::env::join_paths(&folders).expect("the folders were split from a search path");
        Ok(Transport { program, variables: cleaned(variables, path), place })
    }

    /// Fetches `branch` of the remote into the ref `into`, both in full, and overwrites that ref. Fetches no tags, and leaves
    /// FETCH_HEAD as it is.
    pub(crate) fn fetch(&self, remote: &str, branch: &str, into: &str) -> Result<Fetched, CallError> {
        let options = [
            "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-auto-maintenance",
            "--no-recurse-submodules", "--end-of-options", remote,
        ];
        let ended = self.call("fetch", &options, &[format!("+{branch}:{into}")])?;
        if exit_code(&ended) == Some(0) {
            return Ok(Fetched::Branch);
        }
        let output = words(&ended.stderr);
        let error = |words: String| CallError::Remote { fault: RemoteFault::from_message(&words), words };
        if !output.contains("couldn't find remote ref") {
            return Err(error(output));
        }
        let ended = self.call("ls-remote", &["--exit-code", "--end-of-options", remote], &[branch.to_owned()])?;
        match exit_code(&ended) {
            Some(NOTHING_MATCHES) => Ok(Fetched::NoBranch),
            // The branch was made in between.
            Some(0) => Err(CallError::Remote { fault: RemoteFault::Locked, words: output }),
            _ => Err(error(words(&ended.stderr))),
        }
    }

    /// Fetches objects as git does for a partial clone: what the commits here would have counts for nothing. A filter would make a
    /// clone a partial one.
    pub(crate) fn fetch_objects(&self, remote: &str, ids: &[String], is_partial: bool) -> Result<(), CallError> {
        let mut options =
            vec!["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"];
        options.extend(is_partial.then_some("--filter=blob:none"));
        options.extend(["--end-of-options", remote]);
        let ended = self.call_with(&["fetch.negotiationAlgorithm=noop"], "fetch", &options, ids)?;
        let words = words(&ended.stderr);
        let fault = RemoteFault::from_message(&words);
        if exit_code(&ended) == Some(0) { Ok(()) } else { Err(CallError::Remote { fault, words }) }
    }

    /// Pushes the commit to `branch` of the remote, without force.
    pub(crate) fn push(&self, remote: &str, commit: &str, branch: &str) -> Result<Pushed, CallError> {
        let options = [
            "--porcelain", "--no-progress", "--no-verify", "--no-signed", "--no-follow-tags",
            "--recurse-submodules=no", "--end-of-options", remote,
        ];
        let ended = self.call("push", &options, &[format!("{commit}:{branch}")])?;
        let porcelain = String::from_utf8_lossy(&ended.stdout);
        let words = words(&ended.stderr);
        let pushed = read_push(&porcelain, branch, exit_code(&ended), &words);
        pushed.ok_or_else(|| CallError::Remote { fault: RemoteFault::from_message(&words), words })
    }

    fn call(&self, verb: &'static str, options: &[&str], rest: &[String]) -> Result<Captured, CallError> {
        self.call_with(&[], verb, options, rest)
    }

    fn call_with(
        &self,
        settings: &[&str],
        verb: &'static str,
        options: &[&str],
        rest: &[String],
    ) -> Result<Captured, CallError> {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.place.folder).env_clear().envs(self.variables.iter().cloned());
        command.arg("--no-pager").arg("--git-dir").arg(&self.place.git_folder);
        for setting in SETTINGS.iter().chain(settings) {
            command.args(["-c", setting]);
        }
        command.arg(verb).args(options).args(rest);
        let start = |source| CallError::Start { program: self.program.clone(), source };
        let output = OutputLimit::tail(OUTPUT_BYTES);
        // Git may leave a shared connection or a cache of credentials running.
        let limits = Bounds { grace: GRACE, keep_background: true, ..Bounds::new(LIMIT, output, output) };
        let captured = capture(&mut command, Vec::new(), &limits).map_err(start)?;
        let manner = match captured.end {
            End::Exited(status) if status.code().is_some() => return Ok(captured),
            End::Exited(status) => describe_exit(status),
            End::TimeOut | End::Overflow => format!("took longer than {} s and was stopped", LIMIT.as_secs_f64()),
        };
        Err(CallError::Ended { verb, manner })
    }
}

fn exit_code(captured: &Captured) -> Option<i32> {
    match captured.end {
        End::Exited(status) => status.code(),
        End::TimeOut | End::Overflow => None,
    }
}

// The outcome of a fetch or a push, read from the output of git.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetched {
    Branch,
    /// The remote was reached, and has no such branch.
    NoBranch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteFault {
    Unreachable,
    /// A key, a password or a right is missing.
    Denied,
    NoRepository,
    /// Another process holds a lock of this repository.
    Locked,
    Unwritable,
    Other,
}

const UNREACHABLE: [&str; 11] = [
    "Could not resolve host", "Connection refused", "Connection timed out", "Connection closed by",
    "Failed to connect", "Couldn't connect", "unable to connect", "Network is unreachable", "No route to host",
    "Name or service not known", "Temporary failure in name resolution",
];

const DENIED: [&str; 9] = [
    "ermission denied", "uthentication failed", "could not read Username", "could not read Password",
    "Host key verification failed", "ccess denied", "returned error: 401", "returned error: 403", "dubious ownership",
];

/// Messages of a file that cannot be written here. A folder denies permission in the words of a host, so these come first.
const UNWRITABLE: [&str; 7] = [
    "nable to create", "nable to write", "ailed to write", "annot open '", "ould not open '",
    "insufficient permission for adding", "No space left on device",
];

impl RemoteFault {
    /// Recognises the English messages of git, of ssh and of the large hosts. Other messages lose the hint alone.
    pub(crate) fn from_message(message: &str) -> RemoteFault {
        let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if has(&["cannot lock ref", "Unable to create '"]) && has(&["File exists", "is at "]) {
            RemoteFault::Locked
        } else if has(&UNWRITABLE) {
            RemoteFault::Unwritable
        } else if has(&UNREACHABLE) {
            RemoteFault::Unreachable
        } else if has(&DENIED) {
            RemoteFault::Denied
        } else if has(&["does not appear to be a git repository", "epository not found", "returned error: 404"])
            || (has(&["fatal: repository '"]) && has(&["not found", "does not exist"]))
        {
            RemoteFault::NoRepository
        } else {
            RemoteFault::Other
        }
    }

    /// A clause that reads after the name of the remote.
    pub(crate) fn clause(self) -> &'static str {
        match self {
            RemoteFault::Unreachable => "cannot be reached",
            RemoteFault::Denied => "denies access",
            RemoteFault::NoRepository => "is not a repository",
            RemoteFault::Locked => "cannot be fetched from, because another git holds a lock here",
            RemoteFault::Unwritable => "cannot be fetched from, because a file cannot be written here",
            RemoteFault::Other => "cannot be used",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    Done,
    /// Another push was faster; a new fetch shows. Holds the message.
    Race(String),
    /// The remote refuses the commit for a lasting reason. Holds the message.
    Refused(String),
}

/// Reasons that pass: another push was faster, or is under way.
const RACES: [&str; 8] = [
    "fetch first", "non-fast-forward", "stale info", "cannot lock ref", "failed to update ref", "incorrect old value",
    "reference already exists", "remote failed to report status",
];

const LASTING: [&str; 4] = ["ermission denied", "insufficient permission", "No space left", "Read-only file system"];

/// Reads the output of `git push --porcelain` about one ref.
///
/// Its line is `<flag> TAB <from>:<to> TAB <summary>`. The flag is `!` for a refusal, with the reason in round brackets at the end,
/// and a space, `*` or `=` where the remote has the commit. Absent where there is no such line: the connection broke, and the
/// remote may have taken the commit or not.
fn read_push(porcelain: &str, reference: &str, code: Option<i32>, message: &str) -> Option<Pushed> {
    let line = porcelain.lines().find_map(|line| {
        let mut parts = line.splitn(3, '\t');
        let (flag, names, summary) = (parts.next()?, parts.next()?, parts.next()?);
        names.ends_with(&format!(":{reference}")).then_some((flag, summary))
    });
    match line? {
        (" " | "*" | "=", _) if code == Some(0) => Some(Pushed::Done),
        ("!", summary) => {
            let reason = printable(summary);
            let words = if message.is_empty() { reason } else { format!("{reason}: {message}") };
            let has = |list: &[&str]| list.iter().any(|word| summary.contains(word) || message.contains(word));
            let passes = RACES.iter().any(|race| summary.contains(race)) && !has(&LASTING);
            Some(if passes { Pushed::Race(words) } else { Pushed::Refused(words) })
        }
        _ => None,
    }
}

const MOST_LINES: usize = 8;

const MOST_CHARACTERS: usize = 300;

/// The last lines of the output of a program in one line, safe for a terminal and without passwords of URLs.
fn words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // Progress ends in a carriage return.
    let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).filter(|line| is_telling(line)).collect();
    let last = &lines[lines.len().saturating_sub(MOST_LINES)..];
    let shown: Vec<String> = last.iter().map(|line| without_password(&printable(line))).collect();
    shown.join("; ")
}

pub(crate) fn printable(text: &str) -> String {
    text::printable(&text::shortened(text, MOST_CHARACTERS))
}

/// Whether a line is not the advice that git adds to each failure of a remote.
fn is_telling(line: &str) -> bool {
    const ADVICE: [&str; 2] = ["Please make sure you have the correct access rights", "and the repository exists."];
    !line.is_empty() && !line.starts_with("hint: ") && !ADVICE.contains(&line)
}

fn without_password(line: &str) -> String {
    let mut clean = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        clean.push_str(before);
        let end = after.find(['/', ' ', '\'', '"', '`']).unwrap_or(after.len());
        let place = after[..end].rfind('@').map_or(0, |at| at + 1);
        rest = &after[place..];
    }
    clean.push_str(rest);
    clean
}

// The environment of git: that of the user, without what would select another repository, configuration or program.

/// Variables of git by which the user reaches a remote, in full or by how they begin (`*`). The three of the configuration name
/// files that may contain credentials.
const PASSED_VARIABLES: [&str; 10] = [
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_SSL_*", "GIT_PROXY_*", "GIT_HTTP_*",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
];

/// Nobody answers a prompt, and messages are parsed.
const SET: [(&str, &str); 5] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("LC_ALL", "C"),
    // The width of a terminal would shape the messages.
    ("COLUMNS", "200"),
];

/// Without it ssh would wait for an answer at a terminal. The user may set another value.
const ASKPASS: (&str, &str) = ("SSH_ASKPASS_REQUIRE", "force");

/// The variables for git out of those of this process; `path` is the search path.
///
/// Of the settings of `GIT_CONFIG_COUNT` those stay that carry a token or trust in a folder: `http.extraheader`, also of one URL,
/// and `safe.directory`.
fn cleaned(variables: impl IntoIterator<Item = (OsString, OsString)>, path: OsString) -> Vec<(OsString, OsString)> {
    let variables: Vec<(OsString, OsString)> = variables.into_iter().collect();
    let settings = handed_settings(&variables);
    let mut passed: Vec<(OsString, OsString)> = variables.into_iter().filter(|(name, _)| is_passed(name)).collect();
    let mut set = |name: &str, value: OsString| passed.push((name.into(), value));
    set("PATH", path);
    SET.iter().for_each(|(name, value)| set(name, value.into()));
    if !settings.is_empty() {
        set("GIT_CONFIG_COUNT", settings.len().to_string().into());
    }
    for (index, (key, value)) in settings.into_iter().enumerate() {
        set(&format!("GIT_CONFIG_KEY_{index}"), key);
        set(&format!("GIT_CONFIG_VALUE_{index}"), value);
    }
    if !passed.iter().any(|(name, _)| name == ASKPASS.0) {
        passed.push((ASKPASS.0.into(), ASKPASS.1.into()));
    }
    passed
}

fn is_passed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    if name == "PATH" || SET.iter().any(|(set, _)| *set == name) {
        return false;
    }
    let fits = |passed: &str| passed.strip_suffix('*').map_or(name == passed, |start| name.starts_with(start));
    !name.starts_with("GIT_") || PASSED_VARIABLES.iter().any(|passed| fits(passed))
}

fn handed_settings(variables: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let value = |name: String| variables.iter().find(|(other, _)| *other == *name).map(|(_, value)| value.clone());
    let count = value("GIT_CONFIG_COUNT".to_owned()).and_then(|count| count.to_str()?.parse::<usize>().ok());
    // There are no more settings than variables, whatever the count.
    let count = count.unwrap_or(0).min(variables.len());
    let setting =
        |index| Some((value(format!("GIT_CONFIG_KEY_{index}"))?, value(format!("GIT_CONFIG_VALUE_{index}"))?));
    (0..count).filter_map(setting).filter(|(key, _)| key.to_str().is_some_and(is_handed_on)).collect()
}

fn is_handed_on(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key == "safe.directory"
        || key.strip_prefix("http.").is_some_and(|rest| rest == "extraheader" || rest.ends_with(".extraheader"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_git_are_recognised() {
        for (message, expected) in [
            ("fatal: '/x' does not appear to be a git repository", RemoteFault::NoRepository),
            ("fatal: repository 'https://h/x/' not found", RemoteFault::NoRepository),
            ("remote: Repository not found.; fatal: repository 'https://h/x/' not found", RemoteFault::NoRepository),
            ("fatal: unable to access 'https://h/': Could not resolve host: h", RemoteFault::Unreachable),
            ("ssh: connect to host h port 22: Connection refused", RemoteFault::Unreachable),
            ("git@h: Permission denied (publickey).; fatal: Could not read from remote", RemoteFault::Denied),
            ("fatal: Authentication failed for 'https://h/'", RemoteFault::Denied),
            ("fatal: could not read Username for 'https://h': terminal prompts disabled", RemoteFault::Denied),
            ("error: cannot lock ref 'refs/x': Unable to create '/x.lock': File exists.", RemoteFault::Locked),
            ("error: cannot lock ref 'refs/x': is at 1 but expected 2", RemoteFault::Locked),
            ("error: cannot lock ref 'refs/x': Unable to create '/x': Permission denied", RemoteFault::Unwritable),
            (
                "fatal: unable to write loose object file: Permission denied; fatal: unpack-objects",
                RemoteFault::Unwritable,
            ),
            ("error: cannot open '.git/FETCH_HEAD': Input/output error", RemoteFault::Unwritable),
            ("fatal: shallow file has changed since we read it", RemoteFault::Other),
            ("", RemoteFault::Other),
        ] {
            assert_eq!(RemoteFault::from_message(message), expected, "{message}");
        }
    }

    #[test]
    fn a_push_is_done_or_a_race_or_refused() {
        const REF: &str = "refs/heads/main";
        let read = |porcelain: &str, code: i32, message: &str| read_push(porcelain, REF, Some(code), message);
        let line = |flag: &str, summary: &str| format!("To /x\n{flag}\t0123:{REF}\t{summary}\nDone\n");
        for (flag, summary) in [(" ", "012..345"), ("*", "[new branch]"), ("=", "[up to date]")] {
            assert_eq!(read(&line(flag, summary), 0, "remote: thanks"), Some(Pushed::Done));
        }
        for race in [
            "[rejected] (fetch first)",
            "[rejected] (non-fast-forward)",
            "[rejected] (stale info)",
            "[remote rejected] (cannot lock ref 'refs/heads/main': is at 1 but expected 2)",
            "[remote rejected] (failed to update ref)",
            "[remote rejected] (incorrect old value provided)",
            "[remote rejected] (reference already exists)",
            "[remote failure] (remote failed to report status)",
        ] {
            assert_eq!(read(&line("!", race), 1, ""), Some(Pushed::Race(race.to_owned())));
        }
        let hook = "[remote rejected] (pre-receive hook declined)";
        let lock = "[remote rejected] (failed to update ref)";
        for (summary, message, expected) in [
            (hook, "remote: no", format!("{hook}: remote: no")),
            (lock, "remote: Permission denied", format!("{lock}: remote: Permission denied")),
            // A hook that writes the words of a race has still declined.
            (hook, "remote: fetch first", format!("{hook}: remote: fetch first")),
            ("[remote rejected] (\u{1b}[2J)", "", "[remote rejected] (\\u{1b}[2J)".to_owned()),
        ] {
            assert_eq!(read(&line("!", summary), 1, message), Some(Pushed::Refused(expected)));
        }
        let other = format!("To /x\n!\t0123:{REF}-2\t[rejected] (fetch first)\n");
        for (porcelain, code) in [(String::new(), 128), (line(" ", "012..345"), 128), (other, 1)] {
            assert_eq!(read(&porcelain, code, "fatal: no"), None, "{porcelain:?}");
        }
    }

    #[test]
    fn words_are_the_last_lines_made_safe() {
        let many: String = (0..20).map(|line| format!("{line}\n")).collect();
        for (output, expected) in [
            ("", ""),
            ("fatal: no\n", "fatal: no"),
            ("remote: one        \nerror: two\n", "remote: one; error: two"),
            ("10%\r20%\rdone\n\n", "10%; 20%; done"),
            ("hint: do this\nfatal: x\n\nPlease make sure you have the correct access rights\n", "fatal: x"),
            ("remote: \u{1b}[31mred\u{1b}]0;x\u{7}", "remote: \\u{1b}[31mred\\u{1b}]0;x\\u{7}"),
            ("a\u{202e}b\u{200b}c\u{9b}d", "a\\u{202e}b\\u{200b}c\\u{9b}d"),
            ("at 'https://ada:secret@example.org/x'", "at 'https://example.org/x'"),
            ("https://a@b/c ssh://u:p@h:22/d x@y", "https://b/c ssh://h:22/d x@y"),
            (&many, "12; 13; 14; 15; 16; 17; 18; 19"),
        ] {
            assert_eq!(words(output.as_bytes()), expected, "{output:?}");
        }
        assert_eq!(words("é".repeat(400).as_bytes()).chars().count(), MOST_CHARACTERS);
        assert_eq!(words(b"a\xffb"), "a\u{fffd}b");
    }

    fn clean(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let given = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let text = |text: OsString| text.into_string().unwrap();
        cleaned(given, "/bin".into()).into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn only_variables_that_reach_the_remote_stay_of_git() {
        let passed = "HOME SSH_AUTH_SOCK https_proxy SSH_ASKPASS_REQUIRE GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS \
                      GIT_SSL_CAINFO GIT_HTTP_USER_AGENT GIT_PROXY_COMMAND GIT_CONFIG_GLOBAL";
        let removed = "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_NAMESPACE PATH GIT_EXEC_PATH \
                       GIT_CONFIG_PARAMETERS GIT_ALLOW_PROTOCOL GIT_TRACE GIT_SSHX LC_ALL GIT_EXTERNAL_DIFF";
        for (names, stays) in [(passed, true), (removed, false)] {
            for name in names.split_whitespace() {
                assert_eq!(clean(&[(name, "x")]).contains(&(name.to_owned(), "x".to_owned())), stays, "{name}");
            }
        }
        let set = clean(&[]);
        for (name, value) in [("GIT_TERMINAL_PROMPT", "0"), ("PATH", "/bin"), ("SSH_ASKPASS_REQUIRE", "force")] {
            assert!(set.contains(&(name.to_owned(), value.to_owned())));
        }
    }

    #[test]
    fn a_token_that_is_handed_over_stays() {
        let configuration = |variables: &[(&str, &str)]| -> Vec<(String, String)> {
            clean(variables).into_iter().filter(|(name, _)| name.starts_with("GIT_CONFIG")).collect()
        };
        let handed = [
            ("GIT_CONFIG_COUNT", "4"),
            ("GIT_CONFIG_KEY_0", "core.sshCommand"),
            ("GIT_CONFIG_VALUE_0", "evil"),
            ("GIT_CONFIG_KEY_1", "http.https://example.org/.extraHeader"),
            ("GIT_CONFIG_VALUE_1", "AUTHORIZATION: x"),
            ("GIT_CONFIG_KEY_2", "safe.directory"),
            ("GIT_CONFIG_VALUE_2", "/srv"),
            ("GIT_CONFIG_KEY_3", "http.proxy"),
        ];
        let expected = [
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "http.https://example.org/.extraHeader"),
            ("GIT_CONFIG_VALUE_0", "AUTHORIZATION: x"),
            ("GIT_CONFIG_KEY_1", "safe.directory"),
            ("GIT_CONFIG_VALUE_1", "/srv"),
        ];
        assert_eq!(configuration(&handed), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(configuration(&[("GIT_CONFIG_COUNT", "99999999999")]), []);
    }

    #[cfg(unix)]
    #[test]
    fn folders_that_a_checkout_could_fill_are_passed_over() {
        use std::fs;
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let tree = root.join("tree");
        for name in ["tree/bin", "outside", "empty", "plain"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for (name, mode) in [("tree/bin/git", 0o755), ("outside/git", 0o755), ("plain/git", 0o644)] {
            fs::write(root.join(name), "").unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(tree.join("bin"), root.join("link")).unwrap();
        let chosen = |entries: &[&str]| {
            let path = entries.iter().map(|entry| match *entry {
                "" | "." | "bin" => PathBuf::from(entry),
                name => root.join(name),
            });
            let path = std::env::join_paths(path).unwrap();
            find_program("git", &trusted_path(&path, std::slice::from_ref(&tree)))
        };
        let outside = Some(root.join("outside/git"));
        assert_eq!(chosen(&["outside"]), outside);
        assert_eq!(chosen(&["", ".", "bin", "tree/bin", "link", "empty", "plain", "nowhere", "outside"]), outside);
        assert_eq!(chosen(&["tree/bin", "link", "plain", "."]), None);
    }
}

//! Fetching and pushing one branch.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sprag_base::process::{Captured, End, Limits, OutputLimit, capture, describe_exit};
use sprag_base::text;

/// How long one call may take.
const LIMIT: Duration = Duration::from_secs(120);

/// How long git has to remove its locks when its time is up.
const GRACE: Duration = Duration::from_secs(2);

/// How much of the end of each output is read, in bytes.
const OUTPUT_BYTES: usize = 256 << 10;

/// The exit code by which `git ls-remote --exit-code` says that nothing matches.
const NOTHING_MATCHES: i32 = 2;

/// Settings that hold in every call, whatever the configuration of the user and of the checkout says.
const SETTINGS: [&str; 10] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.prune=false",
    "fetch.writeCommitGraph=false",
    "push.gpgSign=false",
    "push.followTags=false",
];

pub(crate) struct Place {
    /// The folder to be in: the root of the working tree, from which an address such as `../other.git` counts.
    pub(crate) folder: PathBuf,
    pub(crate) git_folder: PathBuf,
    /// Folders of which no program is run.
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
    Remote {
        /// Why, as far as it can be told.
        fault: RemoteFault,
        words: String,
    },
}

/// The git of the user, ready to be called.
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
        let program = find_git(&folders).ok_or(CallError::NoGit)?;
        Ok(Transport { program, variables: cleaned(variables, joined(&folders)), place })
    }

    /// Fetches `branch` of the remote, both in full, into the ref `into`, whatever that held.
    ///
    /// No tags, no other branches, and FETCH_HEAD stays as it is.
    pub(crate) fn fetch(&self, remote: &str, branch: &str, into: &str) -> Result<Fetched, CallError> {
        let options = [
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--end-of-options",
            remote,
        ];
        let ended = self.call("fetch", &options, &[format!("+{branch}:{into}")])?;
        if exit_code(&ended) == Some(0) {
            return Ok(Fetched::Branch);
        }
        let said = words(&ended.stderr);
        let ended = match said.contains("couldn't find remote ref") {
            true => self.call("ls-remote", &["--exit-code", "--end-of-options", remote], &[branch.to_owned()])?,
            false => return Err(CallError::Remote { fault: RemoteFault::from_message(&said), words: said }),
        };
        match exit_code(&ended) {
            Some(NOTHING_MATCHES) => Ok(Fetched::NoBranch),
            // It came into being in between.
            Some(0) => Err(CallError::Remote { fault: RemoteFault::Locked, words: said }),
            _ => {
                let words = words(&ended.stderr);
                Err(CallError::Remote { fault: RemoteFault::from_message(&words), words })
            }
        }
    }

    /// Pushes the commit to `branch` of the remote, without force: a remote that has moved on refuses.
    pub(crate) fn push(&self, remote: &str, commit: &str, branch: &str) -> Result<Pushed, CallError> {
        let options = [
            "--porcelain",
            "--no-progress",
            "--no-verify",
            "--no-signed",
            "--no-follow-tags",
            "--recurse-submodules=no",
            "--end-of-options",
            remote,
        ];
        let ended = self.call("push", &options, &[format!("{commit}:{branch}")])?;
        let porcelain = String::from_utf8_lossy(&ended.stdout);
        let words = words(&ended.stderr);
        let pushed = read_push(&porcelain, branch, exit_code(&ended), &words);
        pushed.ok_or_else(|| CallError::Remote { fault: RemoteFault::from_message(&words), words })
    }

    fn call(&self, verb: &'static str, options: &[&str], rest: &[String]) -> Result<Captured, CallError> {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.place.folder).env_clear().envs(self.variables.iter().cloned());
        command.arg("--no-pager").arg("--git-dir").arg(&self.place.git_folder);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.arg(verb).args(options).args(rest);
        let start = |source| CallError::Start { program: self.program.clone(), source };
        let output = OutputLimit::tail(OUTPUT_BYTES);
        // A shared connection or a cache of credentials that git leaves running is the user's.
        let limits = Limits { grace: GRACE, keep_background: true, ..Limits::new(LIMIT, output, output) };
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

// What a fetch or a push came to, read from what git said.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetched {
    Branch,
    /// The remote was reached, and has no such branch.
    NoBranch,
}

/// Why the remote gave nothing, as far as it can be told; the words of git go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteFault {
    Unreachable,
    /// The host said no: a key, a password, a right is missing.
    Denied,
    NoRepository,
    /// Somebody else holds a lock of this repository.
    Locked,
    /// A file of this repository could not be written.
    Unwritable,
    Other,
}

impl RemoteFault {
    /// Reads it from what git said. The words are git's own in English, and those of ssh and of the large hosts; what
    /// is not recognised costs the hint alone.
    pub(crate) fn from_message(said: &str) -> RemoteFault {
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if has(&["cannot lock ref", "Unable to create '"]) && has(&["File exists", "is at "]) {
            RemoteFault::Locked
        } else if has(&["nable to create", "nable to write", "ailed to write", "annot open '", "ould not open '"])
            || has(&["insufficient permission for adding", "No space left on device"])
        {
            // Before what is said of hosts: a folder denies permission in the same words.
            RemoteFault::Unwritable
        } else if has(&[
            "Could not resolve host",
            "Connection refused",
            "Connection timed out",
            "Connection closed by",
            "Failed to connect",
            "Couldn't connect",
            "unable to connect",
            "Network is unreachable",
            "No route to host",
            "Name or service not known",
            "Temporary failure in name resolution",
        ]) {
            RemoteFault::Unreachable
        } else if has(&[
            "ermission denied",
            "uthentication failed",
            "could not read Username",
            "could not read Password",
            "Host key verification failed",
            "ccess denied",
            "returned error: 401",
            "returned error: 403",
            "dubious ownership",
        ]) {
            RemoteFault::Denied
        } else if has(&["does not appear to be a git repository", "epository not found", "returned error: 404"])
            || (has(&["fatal: repository '"]) && has(&["not found", "does not exist"]))
        {
            RemoteFault::NoRepository
        } else {
            RemoteFault::Other
        }
    }

    /// What happened, as a clause that reads after the name of the remote.
    pub(crate) fn clause(self) -> &'static str {
        match self {
            RemoteFault::Unreachable => "cannot be reached",
            RemoteFault::Denied => "does not let us in",
            RemoteFault::NoRepository => "is no repository",
            RemoteFault::Locked => "cannot be fetched from, because another git holds a lock here",
            RemoteFault::Unwritable => "cannot be fetched from, because a file cannot be written here",
            RemoteFault::Other => "cannot be used",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    Done,
    /// Somebody else was faster, or it is not known what became of it: a new fetch tells. Holds the words.
    Race(String),
    /// The remote does not take it, now or later. Holds the words.
    Refused(String),
}

/// Reasons that pass: another push was faster, or is under way.
const RACES: [&str; 8] = [
    "fetch first",
    "non-fast-forward",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
    "incorrect old value",
    "reference already exists",
    "remote failed to report status",
];

/// Words beside such a reason by which it does not pass.
const LASTING: [&str; 4] = ["ermission denied", "insufficient permission", "No space left", "Read-only file system"];

/// Reads what `git push --porcelain` wrote of one ref, and whether git ended well.
///
/// A line `<flag> TAB <from>:<to> TAB <summary>` tells of the ref: the flag is `!` where it was refused, with the
/// reason in round brackets at the end, and a space, `*` or `=` where the remote has the commit. Absent where nothing is
/// said of it: the connection broke, and the remote may have taken the commit or not.
pub(crate) fn read_push(porcelain: &str, reference: &str, code: Option<i32>, said: &str) -> Option<Pushed> {
    let line = porcelain.lines().find_map(|line| {
        let mut parts = line.splitn(3, '\t');
        let (flag, names, summary) = (parts.next()?, parts.next()?, parts.next()?);
        names.ends_with(&format!(":{reference}")).then_some((flag, summary))
    });
    match line? {
        (" " | "*" | "=", _) if code == Some(0) => Some(Pushed::Done),
        ("!", summary) => {
            let reason = printable(summary);
            let words = if said.is_empty() { reason } else { format!("{reason}: {said}") };
            let has = |list: &[&str]| list.iter().any(|word| summary.contains(word) || said.contains(word));
            let passes = RACES.iter().any(|race| summary.contains(race)) && !has(&LASTING);
            Some(if passes { Pushed::Race(words) } else { Pushed::Refused(words) })
        }
        _ => None,
    }
}

/// The most lines that are quoted: the last ones, which hold the reason.
const MOST_LINES: usize = 8;

/// The longest line that is quoted, in characters.
const MOST_CHARACTERS: usize = 300;

/// The last lines of what a program said, in one line, with nothing in it that acts on a terminal and without the
/// password of a URL.
pub(crate) fn words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // Progress ends in a carriage return.
    let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).filter(|line| says_something(line)).collect();
    let last = &lines[lines.len().saturating_sub(MOST_LINES)..];
    let shown: Vec<String> = last.iter().map(|line| without_password(&printable(line))).collect();
    shown.join("; ")
}

/// `text` for a terminal, cut where it is long.
pub(crate) fn printable(text: &str) -> String {
    text::printable(&text::shortened(text, MOST_CHARACTERS))
}

/// Whether a line is more than the advice that git puts under each failure of a remote.
fn says_something(line: &str) -> bool {
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

// The environment that git is called in: the user's, but for everything that would turn git to another repository,
// another configuration or another program than the ones that it would take by itself.

/// Variables of git that carry how the user reaches a remote, in full or by how they begin (`*`).
///
/// The three of the configuration name files, which may say where credentials are.
const PASSED_VARIABLES: [&str; 10] = [
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_SSL_*",
    "GIT_PROXY_*",
    "GIT_HTTP_*",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

/// What is set in every call. Nobody is there to answer a prompt, and messages are parsed.
const SET: [(&str, &str); 5] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("LC_ALL", "C"),
    // Git never learns of a terminal, so the width of one must not shape what it says.
    ("COLUMNS", "200"),
];

/// What is set where the user did not: without it ssh would wait for an answer at a terminal that it cannot have.
const SET_WHERE_ABSENT: [(&str, &str); 1] = [("SSH_ASKPASS_REQUIRE", "force")];

/// Cleans the variables of this process; `path` takes the place of the search path.
///
/// Of settings that are handed over by `GIT_CONFIG_COUNT` those stay that carry a token or trust in a folder:
/// `http.extraheader`, also of one URL, and `safe.directory`.
pub(crate) fn cleaned(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    path: OsString,
) -> Vec<(OsString, OsString)> {
    let variables: Vec<(OsString, OsString)> = variables.into_iter().collect();
    let settings = handed_settings(&variables);
    let mut kept: Vec<(OsString, OsString)> = variables.into_iter().filter(|(name, _)| is_passed(name)).collect();
    let absent = |name: &str, kept: &[(OsString, OsString)]| !kept.iter().any(|(known, _)| known == name);
    for (name, value) in SET_WHERE_ABSENT {
        if absent(name, &kept) {
            kept.push((name.into(), value.into()));
        }
    }
    if !settings.is_empty() {
        kept.push(("GIT_CONFIG_COUNT".into(), settings.len().to_string().into()));
        for (index, (key, value)) in settings.into_iter().enumerate() {
            kept.push((format!("GIT_CONFIG_KEY_{index}").into(), key));
            kept.push((format!("GIT_CONFIG_VALUE_{index}").into(), value));
        }
    }
    kept.extend(SET.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    kept.push(("PATH".into(), path));
    kept
}

fn is_passed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    if name == "PATH" || SET.iter().any(|(set, _)| *set == name) {
        return false;
    }
    let fits = |kept: &str| kept.strip_suffix('*').map_or(name == kept, |start| name.starts_with(start));
    !name.starts_with("GIT_") || PASSED_VARIABLES.iter().any(|kept| fits(kept))
}

/// The settings of `GIT_CONFIG_COUNT` that stay, in their order.
fn handed_settings(variables: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let value = |name: String| variables.iter().find(|(known, _)| *known == *name).map(|(_, value)| value.clone());
    let count = value("GIT_CONFIG_COUNT".to_owned()).and_then(|count| count.to_str()?.parse::<usize>().ok());
    // A count is no reason to look for variables that cannot be there.
    let count = count.unwrap_or(0).min(variables.len());
    let pairs = (0..count).filter_map(|index| {
        let key = value(format!("GIT_CONFIG_KEY_{index}"))?;
        let stays = key.to_str().is_some_and(is_handed_on);
        stays.then_some((key, value(format!("GIT_CONFIG_VALUE_{index}"))?))
    });
    pairs.collect()
}

fn is_handed_on(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key == "safe.directory"
        || key.strip_prefix("http.").is_some_and(|rest| rest == "extraheader" || rest.ends_with(".extraheader"))
}

/// The search path without folders that what was checked out could fill: relative ones, which depend on where we are,
/// and those inside a working tree.
pub(crate) fn trusted_path(path: &OsStr, working_trees: &[PathBuf]) -> Vec<PathBuf> {
    let inside = |folder: &Path| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let trees = working_trees.iter().flat_map(|tree| [tree.canonicalize().ok(), Some(tree.clone())]);
        trees.flatten().any(|tree| real.starts_with(&tree) || folder.starts_with(&tree))
    };
    std::env::split_paths(path).filter(|folder| folder.is_absolute() && !inside(folder)).collect()
}

pub(crate) fn find_git(folders: &[PathBuf]) -> Option<PathBuf> {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    folders.iter().map(|folder| folder.join(&name)).find(|file| is_program(file))
}

/// Folders as a search path for what git itself starts, such as ssh.
pub(crate) fn joined(folders: &[PathBuf]) -> OsString {
    std::env::join_paths(folders).expect("the folders were split from a search path")
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_failed_fetch_is_told_apart() {
        let check = |said: &str, expected: RemoteFault| assert_eq!(RemoteFault::from_message(said), expected, "{said}");
        check("fatal: '/x' does not appear to be a git repository", RemoteFault::NoRepository);
        check("remote: Repository not found.; fatal: repository 'https://h/x/' not found", RemoteFault::NoRepository);
        check("fatal: unable to access 'https://h/': Could not resolve host: h", RemoteFault::Unreachable);
        check("ssh: connect to host h port 22: Connection refused", RemoteFault::Unreachable);
        check("git@h: Permission denied (publickey).; fatal: Could not read from remote", RemoteFault::Denied);
        check("fatal: could not read Username for 'https://h': terminal prompts disabled", RemoteFault::Denied);
        check("fatal: Authentication failed for 'https://h/'", RemoteFault::Denied);
        check("error: cannot lock ref 'refs/x': Unable to create '/x.lock': File exists.", RemoteFault::Locked);
        check("error: cannot lock ref 'refs/x': is at 1 but expected 2", RemoteFault::Locked);
        check("error: cannot lock ref 'refs/x': Unable to create '/x': Permission denied", RemoteFault::Unwritable);
        check(
            "fatal: unable to write loose object file: Permission denied; fatal: unpack-objects",
            RemoteFault::Unwritable,
        );
        check("error: cannot open '.git/FETCH_HEAD': Input/output error", RemoteFault::Unwritable);
        check("fatal: shallow file has changed since we read it", RemoteFault::Other);
        check("", RemoteFault::Other);
    }

    #[test]
    fn a_push_is_done_or_a_race_or_refused() {
        const REF: &str = "refs/heads/main";
        let check = |porcelain: &str, code: i32, said: &str, expected: Pushed| {
            assert_eq!(read_push(porcelain, REF, Some(code), said), Some(expected), "{porcelain:?}");
        };
        let line = |flag: &str, summary: &str| format!("To /x\n{flag}\t0123:{REF}\t{summary}\nDone\n");
        check(&line(" ", "012..345"), 0, "remote: thanks", Pushed::Done);
        check(&line("*", "[new branch]"), 0, "", Pushed::Done);
        check(&line("=", "[up to date]"), 0, "", Pushed::Done);
        for race in [
            "[rejected] (fetch first)",
            "[rejected] (non-fast-forward)",
            "[remote rejected] (cannot lock ref 'refs/heads/main': is at 1 but expected 2)",
            "[remote rejected] (failed to update ref)",
            "[remote rejected] (incorrect old value provided)",
            "[remote rejected] (reference already exists)",
            "[remote failure] (remote failed to report status)",
        ] {
            check(&line("!", race), 1, "", Pushed::Race(race.to_owned()));
        }
        let refused = |words: &str| Pushed::Refused(words.to_owned());
        let hook = "[remote rejected] (pre-receive hook declined)";
        check(&line("!", hook), 1, "remote: no", refused(&format!("{hook}: remote: no")));
        let lock = "[remote rejected] (failed to update ref)";
        check(&line("!", lock), 1, "remote: Permission denied", refused(&format!("{lock}: remote: Permission denied")));
        // A hook that speaks of a race has still declined.
        check(&line("!", hook), 1, "remote: fetch first", refused(&format!("{hook}: remote: fetch first")));
        check(&line("!", "[remote rejected] (\u{1b}[2J)"), 1, "", refused("[remote rejected] (\\u{1b}[2J)"));
        for (porcelain, code) in [
            (String::new(), 128),
            (line(" ", "012..345"), 128),
            (format!("To /x\n!\t0123:{REF}-2\t[rejected] (fetch first)\n"), 1),
        ] {
            assert_eq!(read_push(&porcelain, REF, Some(code), "fatal: no"), None, "{porcelain:?}");
        }
    }

    #[test]
    fn words_are_the_last_lines_made_safe() {
        let check = |said: &str, expected: &str| assert_eq!(words(said.as_bytes()), expected, "{said:?}");
        check("", "");
        check("fatal: no\n", "fatal: no");
        check("remote: one        \nerror: two\n", "remote: one; error: two");
        check("10%\r20%\rdone\n\n", "10%; 20%; done");
        check("hint: do this\nfatal: x\n\nPlease make sure you have the correct access rights\n", "fatal: x");
        check("remote: \u{1b}[31mred\u{1b}]0;x\u{7}", "remote: \\u{1b}[31mred\\u{1b}]0;x\\u{7}");
        check("a\u{202e}b\u{200b}c\u{9b}d", "a\\u{202e}b\\u{200b}c\\u{9b}d");
        check("at 'https://ada:secret@example.org/x'", "at 'https://example.org/x'");
        check("https://a@b/c ssh://u:p@h:22/d x@y", "https://b/c ssh://h:22/d x@y");
        let many: String = (0..20).map(|line| format!("{line}\n")).collect();
        check(&many, "12; 13; 14; 15; 16; 17; 18; 19");
        assert_eq!(words("é".repeat(400).as_bytes()).chars().count(), MOST_CHARACTERS);
        assert_eq!(words(b"a\xffb"), "a\u{fffd}b");
    }

    fn clean(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let given = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let text = |text: OsString| text.into_string().unwrap();
        let mut cleaned: Vec<(String, String)> =
            cleaned(given, "/bin".into()).into_iter().map(|(name, value)| (text(name), text(value))).collect();
        cleaned.retain(|(name, _)| SET.iter().all(|(set, _)| set != name));
        cleaned
    }

    #[test]
    fn only_what_reaches_the_remote_stays_of_git() {
        let check = |name: &str, stays: bool| {
            let found = clean(&[(name, "x")]).iter().any(|(known, value)| known == name && value == "x");
            assert_eq!(found, stays, "{name}");
        };
        for name in ["HOME", "SSH_AUTH_SOCK", "https_proxy", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS"] {
            check(name, true);
        }
        for name in ["GIT_SSL_CAINFO", "GIT_HTTP_USER_AGENT", "GIT_PROXY_COMMAND", "GIT_CONFIG_GLOBAL"] {
            check(name, true);
        }
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "PATH"] {
            check(name, false);
        }
        for name in ["GIT_EXEC_PATH", "GIT_CONFIG_PARAMETERS", "GIT_ALLOW_PROTOCOL", "GIT_TRACE", "GIT_SSHX", "LC_ALL"]
        {
            check(name, false);
        }
        check("GIT_EXTERNAL_DIFF", false);
        check("SSH_ASKPASS_REQUIRE", true);
        let set = cleaned([], "/bin".into());
        assert!(set.contains(&("GIT_TERMINAL_PROMPT".into(), "0".into())));
        assert!(set.contains(&("PATH".into(), "/bin".into())));
        assert!(set.contains(&("SSH_ASKPASS_REQUIRE".into(), "force".into())));
    }

    #[test]
    fn a_token_that_is_handed_over_stays() {
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
        let kept: Vec<(String, String)> =
            clean(&handed).into_iter().filter(|(name, _)| name.starts_with("GIT_CONFIG")).collect();
        let expected = [
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "http.https://example.org/.extraHeader"),
            ("GIT_CONFIG_VALUE_0", "AUTHORIZATION: x"),
            ("GIT_CONFIG_KEY_1", "safe.directory"),
            ("GIT_CONFIG_VALUE_1", "/srv"),
        ];
        assert_eq!(kept, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(!clean(&[("GIT_CONFIG_COUNT", "99999999999")]).iter().any(|(name, _)| name.starts_with("GIT_C")));
    }

    #[test]
    fn folders_that_a_checkout_could_fill_are_passed_over() {
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
        let check = |entries: &[&str], expected: Option<&str>| {
            let path = entries.iter().map(|entry| match *entry {
                "" | "." | "bin" => entry.to_string(),
                name => root.join(name).to_string_lossy().into_owned(),
            });
            let path = path.collect::<Vec<_>>().join(":");
            let found = find_git(&trusted_path(OsStr::new(&path), std::slice::from_ref(&tree)));
            assert_eq!(found, expected.map(|name| root.join(name)), "{path}");
        };
        check(&["outside"], Some("outside/git"));
        check(&["", ".", "bin", "tree/bin", "link", "empty", "plain", "nowhere", "outside"], Some("outside/git"));
        check(&["tree/bin", "link", "plain", "."], None);
        assert_eq!(joined(&[root.join("a"), root.join("b")]).to_string_lossy().matches(':').count(), 1);
    }
}

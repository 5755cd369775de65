//! Fetching and pushing one branch.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::transport::answer::{Fetched, Pushed, RemoteFault, read_push, words};
use crate::transport::environment::{cleaned, find_git, joined, trusted_path};
use sprag_base::process::{Captured, End, Limits, OutputLimit, capture, describe_exit};

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

/// Where the calls work.
pub(crate) struct Place {
    /// The folder to be in: the root of the working tree, from which an address such as `../other.git` counts.
    pub(crate) folder: PathBuf,
    pub(crate) git_folder: PathBuf,
    /// TreeLookup of which no program is run.
    pub(crate) working_trees: Vec<PathBuf>,
}

/// Why a call gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("there is no `git` in the folders of PATH that lie outside the working tree")]
    NoGit,
    /// It cannot be run.
    #[error("`{program}` cannot be run: {source}")]
    Start {
        /// The git that was found.
        program: PathBuf,
        source: io::Error,
    },
    /// It took too long, or was ended by a signal.
    #[error("`git {verb}` {manner}")]
    Ended {
        /// What it was asked to do.
        verb: &'static str,
        manner: String,
    },
    /// The remote gave nothing.
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
    /// Finds git by the variables of this process.
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

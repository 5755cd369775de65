//! What a fetch or a push came to, read from what git said.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// The branch is here, under the ref that was asked for.
    Branch,
    /// The remote was reached, and has no such branch.
    NoBranch,
}

/// Why the remote gave nothing, as far as it can be told; the words of git go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The host was not reached.
    Unreachable,
    /// The host said no: a key, a password, a right is missing.
    Denied,
    /// There is no repository at the address.
    NoRepository,
    /// Somebody else holds a lock of this repository.
    Locked,
    /// A file of this repository could not be written.
    Unwritable,
    Other,
}

impl Fault {
    /// Reads it from what git said. The words are git's own in English, and those of ssh and of the large hosts; what
    /// is not recognised costs the hint alone.
    pub(super) fn of(said: &str) -> Fault {
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if has(&["cannot lock ref", "Unable to create '"]) && has(&["File exists", "is at "]) {
            Fault::Locked
        } else if has(&["nable to create", "nable to write", "ailed to write", "annot open '", "ould not open '"])
            || has(&["insufficient permission for adding", "No space left on device"])
        {
            // Before what is said of hosts: a folder denies permission in the same words.
            Fault::Unwritable
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
            Fault::Unreachable
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
            Fault::Denied
        } else if has(&["does not appear to be a git repository", "epository not found", "returned error: 404"])
            || (has(&["fatal: repository '"]) && has(&["not found", "does not exist"]))
        {
            Fault::NoRepository
        } else {
            Fault::Other
        }
    }

    /// What happened, as a clause that reads after the name of the remote.
    pub(crate) fn clause(self) -> &'static str {
        match self {
            Fault::Unreachable => "cannot be reached",
            Fault::Denied => "does not let us in",
            Fault::NoRepository => "is no repository",
            Fault::Locked => "cannot be fetched from, because another git holds a lock here",
            Fault::Unwritable => "cannot be fetched from, because a file cannot be written here",
            Fault::Other => "cannot be used",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// The branch of the remote is at the commit.
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
pub(super) fn read_push(porcelain: &str, reference: &str, code: Option<i32>, said: &str) -> Option<Pushed> {
    let line = porcelain.lines().find_map(|line| {
        let mut parts = line.splitn(3, '\t');
        let (flag, names, summary) = (parts.next()?, parts.next()?, parts.next()?);
        names.ends_with(&format!(":{reference}")).then_some((flag, summary))
    });
    match line? {
        (" " | "*" | "=", _) if code == Some(0) => Some(Pushed::Done),
        ("!", summary) => {
            let reason = super::words::printable(summary);
            let words = if said.is_empty() { reason } else { format!("{reason}: {said}") };
            let has = |list: &[&str]| list.iter().any(|word| summary.contains(word) || said.contains(word));
            let passes = RACES.iter().any(|race| summary.contains(race)) && !has(&LASTING);
            Some(if passes { Pushed::Race(words) } else { Pushed::Refused(words) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_fetch_is_told_apart() {
        let check = |said: &str, expected: Fault| assert_eq!(Fault::of(said), expected, "{said}");
        check("fatal: '/x' does not appear to be a git repository", Fault::NoRepository);
        check("remote: Repository not found.; fatal: repository 'https://h/x/' not found", Fault::NoRepository);
        check("fatal: unable to access 'https://h/': Could not resolve host: h", Fault::Unreachable);
        check("ssh: connect to host h port 22: Connection refused", Fault::Unreachable);
        check("git@h: Permission denied (publickey).; fatal: Could not read from remote", Fault::Denied);
        check("fatal: could not read Username for 'https://h': terminal prompts disabled", Fault::Denied);
        check("fatal: Authentication failed for 'https://h/'", Fault::Denied);
        check("error: cannot lock ref 'refs/x': Unable to create '/x.lock': File exists.", Fault::Locked);
        check("error: cannot lock ref 'refs/x': is at 1 but expected 2", Fault::Locked);
        check("error: cannot lock ref 'refs/x': Unable to create '/x': Permission denied", Fault::Unwritable);
        check("fatal: unable to write loose object file: Permission denied; fatal: unpack-objects", Fault::Unwritable);
        check("error: cannot open '.git/FETCH_HEAD': Input/output error", Fault::Unwritable);
        check("fatal: shallow file has changed since we read it", Fault::Other);
        check("", Fault::Other);
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
}

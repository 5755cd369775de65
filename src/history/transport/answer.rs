//! What a fetch or a push came to, read from what git said.

use sprag_base::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// The branch is here, under the ref that was asked for.
    Branch,
    /// The remote was reached, and has no such branch.
    NoBranch,
}

/// Why the remote gave nothing, as far as it can be told; the words of git go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteFault {
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

/// Takes `user:password@` out of the URLs of a line.
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

#[cfg(test)]
mod tests {
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
}

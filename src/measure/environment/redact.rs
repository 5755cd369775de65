//! The last net under the facts and reasons of a record: what looks like a path or a secret does not get out, whoever
//! wrote it.

/// What stands where a path stood.
const PATH: &str = "<path>";

/// What stands where a secret may have stood.
const SECRET: &str = "<redacted>";

/// The length from which a run of letters and digits looks like a key: the shortest tokens of the common services are
/// longer, and the longest words of compilers and processors are shorter.
const SECRET_LENGTH: usize = 30;

/// `value` in one line of single blanks, with paths and secrets taken out.
pub fn redacted(value: &str) -> String {
    value.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// A word up to where a path begins in it: `--remap-path-prefix=/home/x=y` keeps its name only.
fn word(word: &str) -> String {
    if let Some(start) = path_start(word) {
        return format!("{}{PATH}", &word[..start]);
    }
    if word.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(looks_secret) {
        return SECRET.to_owned();
    }
    word.to_owned()
}

/// Where an absolute path, one below a home, or one with a drive letter begins. The slash of `GNU/Linux` begins none,
/// that of an option such as `-L/opt/x` does.
fn path_start(word: &str) -> Option<usize> {
    let begins = |at: usize| {
        word.starts_with('-')
            || word[..at].chars().next_back().is_none_or(|before| !(before.is_alphanumeric() || before == '.'))
    };
    let slash = word.match_indices('/').map(|(at, _)| at).find(|at| begins(*at) && word.len() > at + 1);
    let home = word.find("~/");
    let drive = word.match_indices(":\\").map(|(at, _)| at.saturating_sub(1)).next();
    let share = word.find("\\\\");
    [slash, home, drive, share].into_iter().flatten().min()
}

fn looks_secret(part: &str) -> bool {
    let has = |class: fn(&char) -> bool| part.chars().any(|c| class(&c));
    part.len() >= SECRET_LENGTH && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_secrets_are_taken_out_and_words_stay() {
        let check = |value: &str, expected: &str| assert_eq!(redacted(value), expected);
        check("Linux (Debian GNU/Linux 12)", "Linux (Debian GNU/Linux 12)");
        check("rustc 1.95.0 (59807616e 2026-04-14)", "rustc 1.95.0 (59807616e 2026-04-14)");
        check("AMD EPYC \n 9R14 (family 25, model 17)", "AMD EPYC 9R14 (family 25, model 17)");
        check(
            "opt-level=3 target-feature=+avx512vnni,+vpclmulqdq",
            "opt-level=3 target-feature=+avx512vnni,+vpclmulqdq",
        );
        check("target-cpu=x86-64-v3", "target-cpu=x86-64-v3");
        check("--remap-path-prefix=/home/jo=x", "--remap-path-prefix=<path>");
        check("-L/opt/secret -Llib", "-L<path> -Llib");
        check("linker=/usr/bin/ld.lld lto=fat", "linker=<path> lto=fat");
        check("/home/jo/bin/rustc", "<path>");
        check("at ~/tools", "at <path>");
        check("./bench ../tools/bench cpu/scan{c=1}", "./bench ../tools/bench cpu/scan{c=1}");
        check("cannot start `/opt/x/y`: no", "cannot start `<path> no");
        check("C:\\Users\\jo \\\\server\\share", "<path> <path>");
        check("key ghp_0123456789abcdefghijABCDEFGHIJ012345", "key <redacted>");
        check("9af13899f6a07ee44129aacdd15043d2", "<redacted>");
        check("", "");
    }
}

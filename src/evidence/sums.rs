//! `SHA256SUMS`: the digests of all files that a release rests on, in the form that `sha256sum -c --strict` reads, and
//! stricter: sorted by path, each once, plain names, SHA-256 alone.

use std::collections::BTreeMap;

use sprag_base::digest::Digest;

pub const SUMS: &str = "SHA256SUMS";

/// What is wrong with a line, from 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} {message}")]
pub struct SumsError {
    pub line: usize,
    /// What is wrong, as it reads after that.
    pub message: String,
}

pub fn text(sums: &BTreeMap<String, String>) -> String {
    sums.iter().map(|(path, digest)| format!("{digest}  {path}\n")).collect()
}

pub fn parse(bytes: &[u8]) -> Result<BTreeMap<String, String>, SumsError> {
    let fault = |line: usize, message: &str| SumsError { line, message: message.to_owned() };
    let mut sums: BTreeMap<String, String> = BTreeMap::new();
    for (place, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let number = place + 1;
        let Some(line) = line.strip_suffix(b"\n") else { return Err(fault(number, "ends without a line feed")) };
        let line = std::str::from_utf8(line).map_err(|_| fault(number, "is not UTF-8"))?;
        let digits = line.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (digest, rest) = line.split_at(digits);
        if digits != 64 {
            return Err(SumsError { line: number, message: algorithm(digits, line) });
        }
        if digest.parse::<Digest>().is_err() {
            return Err(fault(number, "writes its digest with capitals"));
        }
        let path = rest.strip_prefix("  ").ok_or_else(|| fault(number, "has no two blanks after its digest"))?;
        check_path(path).map_err(|message| SumsError { line: number, message })?;
        match sums.last_key_value() {
            Some((last, _)) if last == path => return Err(fault(number, "names a file a second time")),
            Some((last, _)) if last.as_str() > path => return Err(fault(number, "is out of order")),
            _ => {}
        }
        sums.insert(path.to_owned(), digest.to_owned());
    }
    if sums.is_empty() { Err(fault(1, "is not there: no file is listed")) } else { Ok(sums) }
}

fn algorithm(digits: usize, line: &str) -> String {
    let name = match digits {
        32 => "MD5",
        40 => "SHA-1",
        56 => "SHA-224",
        96 => "SHA-384",
        128 => "SHA-512 or BLAKE2",
        _ if line.contains(") = ") => {
            return "names its algorithm, as BSD's tools do; only `digest  path` is read".to_owned();
        }
        _ => return "does not begin with a SHA-256 of 64 digits".to_owned(),
    };
    format!("has a digest of {digits} digits, as of {name}; only SHA-256 counts")
}

/// Checks that a path stays in its folder on every system and needs no escape.
fn check_path(path: &str) -> Result<(), String> {
    let odd = |part: &str| part.is_empty() || part.len() > 200 || part.starts_with(['.', '-']);
    if path.is_empty() || path.split('/').any(odd) {
        return Err(format!("names `{}`, which is no plain path", path.escape_debug()));
    }
    match path.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'))) {
        Some(odd) => Err(format!("has `{}` in its path", odd.escape_debug())),
        None => Ok(()),
    }
}

pub fn is_plain(path: &str) -> bool {
    check_path(path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_base::digest::sha256_hex;

    fn sums() -> BTreeMap<String, String> {
        ["baselines/cpu.x.json", "checklist.json", "history/v1/cpu/2026/05/a-b-c.json"]
            .map(|path| (path.to_owned(), sha256_hex(path.as_bytes())))
            .into()
    }

    #[test]
    fn sums_read_back_and_are_those_of_the_tool() {
        let text = text(&sums());
        assert_eq!(parse(text.as_bytes()).unwrap(), sums());
        assert!(text.lines().all(|line| line.len() > 66 && &line[64..66] == "  "));
    }

    #[test]
    fn every_odd_line_is_refused_with_its_number() {
        let good = text(&sums());
        let digest = sha256_hex(b"checklist.json");
        let check = |from: &str, to: &str, line: usize, words: &str| {
            let text = good.replacen(from, to, 1);
            assert_ne!(text, good, "{from}");
            let error = parse(text.as_bytes()).expect_err(to);
            assert_eq!(error.line, line, "{to}: {error}");
            assert!(error.to_string().contains(words), "{to}: {error}");
        };
        check(&digest, &digest[..40], 2, "SHA-1");
        check(&digest, &digest.repeat(2), 2, "SHA-512");
        check(&digest, &digest[..32], 2, "MD5");
        check(&digest, &digest[..63], 2, "64 digits");
        check(&digest, &digest.to_uppercase(), 2, "capitals");
        check(&format!("{digest}  "), "SHA256 (checklist.json) = ", 2, "BSD");
        check("  checklist", " *checklist", 2, "two blanks");
        check("checklist.json", "../checklist.json", 2, "no plain path");
        check("checklist.json", "/checklist.json", 2, "no plain path");
        check("checklist.json", "check list.json", 2, "has ` `");
        check("checklist.json", "a.json", 2, "out of order");
        check("checklist.json", "baselines/cpu.x.json", 2, "a second time");
        check("c.json\n", "c.json", 3, "line feed");
        assert!(parse(b"").is_err() && parse(b"\n").is_err());
    }
}

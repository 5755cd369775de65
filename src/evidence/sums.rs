//! `SHA256SUMS`: the digests of all files of a release, as `sha256sum -c --strict` reads them; each plain path once, in order.

use std::collections::BTreeMap;

use sprag_base::digest::Digest;

pub const SUMS: &str = "SHA256SUMS";

/// Lines count from 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} {message}")]
pub struct SumsError {
    pub line: usize,
    /// As it reads after "line 1".
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
        return Err(format!("names `{}`, which is not a plain path", path.escape_debug()));
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
    fn sums_are_read_back_and_odd_lines_refused() {
        let good = text(&sums());
        assert_eq!(parse(good.as_bytes()), Ok(sums()));
        let digest = sha256_hex(b"checklist.json");
        for (from, to, line, words) in [
            (&digest[..], &digest[..40], 2, "SHA-1"),
            (&digest, &digest.repeat(2), 2, "SHA-512"),
            (&digest, &digest[..32], 2, "MD5"),
            (&digest, &digest[..63], 2, "64 digits"),
            (&digest, &digest.to_uppercase(), 2, "capitals"),
            (&format!("{digest}  "), "SHA256 (checklist.json) = ", 2, "BSD"),
            ("  checklist", " *checklist", 2, "two blanks"),
            ("checklist.json", "../checklist.json", 2, "not a plain path"),
            ("checklist.json", "/checklist.json", 2, "not a plain path"),
            ("checklist.json", "check list.json", 2, "has ` `"),
            ("checklist.json", "a.json", 2, "out of order"),
            ("checklist.json", "baselines/cpu.x.json", 2, "a second time"),
            ("c.json\n", "c.json", 3, "line feed"),
        ] {
            let error = parse(good.replacen(from, to, 1).as_bytes()).expect_err(to);
            assert_eq!(error.line, line, "{to}: {error}");
            assert!(error.to_string().contains(words), "{to}: {error}");
        }
        assert!(parse(b"").is_err() && parse(b"\n").is_err());
    }
}

//! What `init` is asked for.

#[derive(Clone, Debug, Default)]
pub struct InitOptions {
    pub dry_run: bool,
    /// Replace files that are there and hold something else.
    pub force: bool,
    /// Leave such files as they are.
    pub keep: bool,
    pub download_from: Option<String>,
    pub sha256: Option<String>,
}

/// Reads `OWNER/NAME` with the characters that GitHub allows: the text ends up in an address.
pub fn repository(text: &str) -> Result<String, String> {
    let is_plain = |part: &str| {
        let plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        plain && !part.is_empty() && !part.starts_with(['.', '-'])
    };
    match text.split_once('/') {
        Some((owner, name)) if is_plain(owner) && is_plain(name) => Ok(text.to_owned()),
        _ => Err("write it as OWNER/NAME".to_owned()),
    }
}

/// Reads a SHA-256 in full.
pub fn digest(text: &str) -> Result<String, String> {
    let is_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if is_digest { Ok(text.to_owned()) } else { Err("give all 64 digits, in lower case".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_up_in_an_address_is_plain() {
        assert_eq!(repository("a-b/c.d_e").as_deref(), Ok("a-b/c.d_e"));
        for bad in ["", "a", "/a", "a/", "a/b/c", "a/b c", "a/$(b)", "../a", "a/..", "-a/b", "a/b\n", "ä/b"] {
            assert!(repository(bad).is_err(), "{bad}");
        }
        assert!(digest(&"0f".repeat(32)).is_ok());
        for bad in ["", "0f", &"0F".repeat(32), &"0g".repeat(32), &"0f".repeat(33)] {
            assert!(digest(bad).is_err(), "{bad}");
        }
    }
}

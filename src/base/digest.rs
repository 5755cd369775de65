//! SHA-256, the only hash of the project (FIPS 180-4).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The 32 bytes of a SHA-256; as text, and in JSON, 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String", extend("pattern" = "^[0-9a-f]{64}$"))]
pub struct Digest(pub [u8; 32]);

impl Digest {
    pub fn from_parts(parts: &[&[u8]]) -> Digest {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        Digest(hash.finalize().into())
    }

    /// The digest of the bytes that a value gives a hasher: the same for equal values in the same build only, so not for
    /// anything that others read.
    pub fn from_value(value: &impl Hash) -> Digest {
        let mut input = HashInput { hash: Sha256::new(), next: Vec::with_capacity(2 * AT_ONCE) };
        value.hash(&mut input);
        input.hash.update(&input.next);
        Digest(input.hash.finalize().into())
    }

    /// The first sixteen digits, for names.
    pub fn short(&self) -> String {
        self.to_string()[..16].to_owned()
    }
}

/// How many bytes are hashed at once, as most values give a few only.
const AT_ONCE: usize = 1 << 12;

struct HashInput {
    hash: Sha256,
    next: Vec<u8>,
}

impl Hasher for HashInput {
    fn write(&mut self, bytes: &[u8]) {
        self.next.extend_from_slice(bytes);
        if self.next.len() >= AT_ONCE {
            self.hash.update(&self.next);
            self.next.clear();
        }
    }

    fn finish(&self) -> u64 {
        0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a SHA-256: that is 64 lower-case hexadecimal digits", .0.escape_debug())]
pub struct NoDigest(String);

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Digest, NoDigest> {
        if !is_hex(text, 64..=64) {
            return Err(NoDigest(text.chars().take(80).collect()));
        }
        let byte =
            |place: usize| u8::from_str_radix(&text[2 * place..2 * place + 2], 16).expect("the digits are checked");
        Ok(Digest(std::array::from_fn(byte)))
    }
}

impl TryFrom<String> for Digest {
    type Error = NoDigest;

    fn try_from(text: String) -> Result<Digest, NoDigest> {
        text.parse()
    }
}

/// The SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut hash = RunningHash::default();
    hash.add(bytes);
    hash.hex()
}

/// The SHA-256 of data in pieces, such as of a file too large for memory.
#[derive(Clone, Debug, Default)]
pub struct RunningHash(Sha256);

impl RunningHash {
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all pieces as 64 lower-case hexadecimal digits.
    pub fn hex(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Whether a text consists of that many lower-case hexadecimal digits.
pub fn is_hex(text: &str, length: RangeInclusive<usize>) -> bool {
    length.contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(HEX[usize::from(byte >> 4)]));
        text.push(char::from(HEX[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard() {
        // The one-block message sample of FIPS 180-4.
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let mut hash = RunningHash::default();
        hash.add(b"a");
        hash.add(b"bc");
        assert_eq!(hash.hex(), sha256_hex(b"abc"));
    }

    #[test]
    fn a_digest_reads_back_and_other_texts_are_refused() {
        let digest = Digest::from_parts(&[b"a", b"bc"]);
        assert_eq!(digest.to_string(), sha256_hex(b"abc"));
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.short(), "ba7816bf8f01cfea");
        let json = serde_json::to_string(&digest).expect("a text is JSON");
        assert_eq!(serde_json::from_str::<Digest>(&json).expect("it was written so"), digest);
        for wrong in ["", "ba78", &sha256_hex(b"abc").to_uppercase(), &"g".repeat(64), &"é".repeat(32)] {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
    }
}

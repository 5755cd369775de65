//! SHA-256, the only hash of the project (FIPS 180-4).

use sha2::{Digest, Sha256};

/// The SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut hash = RunningHash::default();
    hash.add(bytes);
    hash.hex()
}

/// The SHA-256 of what comes piece by piece, as of a file that is too large to be held.
#[derive(Clone, Debug, Default)]
pub struct RunningHash(Sha256);

impl RunningHash {
    /// Takes in the next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all pieces as 64 lower-case hexadecimal digits.
    pub fn hex(self) -> String {
        let digest: [u8; 32] = self.0.finalize().into();
        let mut text = String::with_capacity(64);
        for byte in digest {
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
        text
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

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
}

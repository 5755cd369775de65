//! The file of an engine: its name and what it holds, without the place where it lies.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::reason::{Reason, ReasonCode};
use sprag_base::digest::RunningHash;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFile {
    pub name: String,
    /// The SHA-256 of what it holds, 64 hexadecimal digits.
    pub sha256: String,
}

/// Reads the file through, piece by piece: engines may be larger than the memory.
pub fn identify(path: &Path) -> Result<EngineFile, Reason> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fault = |why: &str| Reason::new(ReasonCode::EngineMissing, format!("the engine `{name}` {why}"));
    if !path.is_file() {
        return Err(fault(if path.exists() { "is no file" } else { "is not there" }));
    }
    let mut hash = RunningHash::default();
    let mut buffer = vec![0; 1 << 20];
    let mut total = 0;
    let mut file = File::open(path).map_err(|error| fault(&format!("cannot be read: {error}")))?;
    loop {
        match file.read(&mut buffer).map_err(|error| fault(&format!("cannot be read: {error}")))? {
            0 => break,
            count => {
                hash.add(&buffer[..count]);
                total += count;
            }
        }
    }
    if total == 0 { Err(fault("is empty")) } else { Ok(EngineFile { name, sha256: hash.hex() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_base::digest::sha256_hex;

    #[test]
    fn an_engine_is_known_by_what_it_holds() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("m.plan");
        let fault = || identify(&path).expect_err("it is no engine").to_string();
        assert_eq!(fault(), "tensorrt_engine_missing: the engine `m.plan` is not there");
        std::fs::write(&path, "").expect("a file");
        assert_eq!(fault(), "tensorrt_engine_missing: the engine `m.plan` is empty");
        let bytes = vec![7; (3 << 20) + 5];
        std::fs::write(&path, &bytes).expect("a file");
        let expected = EngineFile { name: "m.plan".to_owned(), sha256: sha256_hex(&bytes) };
        assert_eq!(identify(&path), Ok(expected));
        std::fs::remove_file(&path).expect("it is there");
        std::fs::create_dir(&path).expect("a folder");
        assert_eq!(fault(), "tensorrt_engine_missing: the engine `m.plan` is no file");
    }
}

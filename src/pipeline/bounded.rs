//! Files that a user names or a clone brings, read whole where they are no larger than what they stand for may be.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The bytes of a file, of which there may be `most`. A device without end is a file that is too large.
///
/// # Errors
/// When it cannot be read or holds more.
pub fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        let message = format!("it holds more than the {most} bytes that are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"four");
        assert_eq!(read(&path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(&folder.path().join("absent"), 4).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

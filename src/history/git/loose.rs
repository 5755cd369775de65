//! Objects whose file in the git folder is cut short, as by a power cut.
//!
//! libgit2 never returns from reading such a file: it waits for more of a stream that has ended. So the stream is
//! followed to its end here before libgit2 is let near it. Objects in packs are read by other code, which notices.

use std::fs::File;
use std::io;

use flate2::read::ZlibDecoder;
use git2::{Oid, Repository};

/// Fails where the object lies in a file of its own that does not hold a whole stream.
pub(super) fn check(repository: &Repository, id: Oid) -> Result<(), git2::Error> {
    let name = id.to_string();
    let path = repository.commondir().join("objects").join(&name[..2]).join(&name[2..]);
    let Ok(file) = File::open(path) else { return Ok(()) };
    match io::copy(&mut ZlibDecoder::new(file), &mut io::sink()) {
        Ok(_) => Ok(()),
        Err(error) => Err(git2::Error::from_str(&format!("its file in the git folder is broken ({error})"))),
    }
}

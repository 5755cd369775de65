//! Writing many blobs as one pack.
//!
//! A thousand records as loose objects are a thousand files to make, to name and to flush, and the same again for
//! whoever reads them. A pack is two files. It is written beside under the name that `git gc` knows for what was cut
//! short, flushed, and renamed, the index last: git looks at no pack that has none. The objects lie in it whole, not as
//! differences; that is left to `git gc`, which looks at all of them together.

use std::io::{self, Write as _};
use std::path::Path;
use std::{fs, thread};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use git2::{Oid, Repository};
use sha1::{Digest as _, Sha1};
use tempfile::NamedTempFile;

use crate::error::HistoryError;
use crate::state::sync_folder;
use crate::store::failed;

/// How many bytes go into one pack, so that a place in it can be told in 31 bits.
const MOST_BYTES: usize = 1 << 30;

/// The kind of object that a blob is.
const BLOB: u8 = 3;

/// A blob as a pack holds it.
struct Packed {
    id: Oid,
    /// Its head and its compressed content.
    bytes: Vec<u8>,
    crc: u32,
}

/// Writes the blobs, flushed to the disk, each under the id that is given with it.
///
/// # Errors
/// When the folder of packs cannot be written to. No object is there then that was not there before.
pub(crate) fn write(repository: &Repository, blobs: &[(Oid, &[u8])]) -> Result<(), HistoryError> {
    let folder = repository.commondir().join("objects").join("pack");
    fs::create_dir_all(&folder).map_err(HistoryError::io("create the folder", &folder))?;
    for part in parts(blobs, MOST_BYTES) {
        write_pack(&folder, &compress_all(part)?)?;
    }
    sync_folder(&folder)?;
    let odb = repository.odb().map_err(failed("open the object database"))?;
    odb.refresh().map_err(failed("look for the new pack"))
}

/// The blobs in parts of at most so many bytes, or of one blob.
fn parts<'b, 'c>(blobs: &'b [(Oid, &'c [u8])], most_bytes: usize) -> Vec<&'b [(Oid, &'c [u8])]> {
    let mut parts = Vec::new();
    let (mut first, mut bytes) = (0, 0);
    for (place, (_, content)) in blobs.iter().enumerate() {
        if place > first && bytes + content.len() > most_bytes {
            parts.push(&blobs[first..place]);
            (first, bytes) = (place, 0);
        }
        bytes += content.len();
    }
    if first < blobs.len() {
        parts.push(&blobs[first..]);
    }
    parts
}

/// The blobs in order of id, compressed on all processors.
fn compress_all(blobs: &[(Oid, &[u8])]) -> Result<Vec<Packed>, HistoryError> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = blobs.len().div_ceil(workers).max(1);
    let compressed: Vec<io::Result<Packed>> = thread::scope(|scope| {
        let compress_share = |share: &[(Oid, &[u8])]| share.iter().map(compress).collect::<Vec<_>>();
        let workers: Vec<_> = blobs.chunks(share).map(|share| scope.spawn(move || compress_share(share))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("compressing does not panic")).collect()
    });
    let compressed: io::Result<Vec<Packed>> = compressed.into_iter().collect();
    let mut packed = compressed.map_err(HistoryError::io("compress", Path::new("a record")))?;
    packed.sort_unstable_by_key(|one| one.id);
    packed.dedup_by_key(|one| one.id);
    Ok(packed)
}

fn compress((id, content): &(Oid, &[u8])) -> io::Result<Packed> {
    let mut encoder = ZlibEncoder::new(head(BLOB, content.len()), Compression::fast());
    encoder.write_all(content)?;
    let bytes = encoder.finish()?;
    let mut crc = Crc::new();
    crc.update(&bytes);
    Ok(Packed { id: *id, bytes, crc: crc.sum() })
}

/// The head of an object: its kind and size, the low four bits first and then seven bits a byte.
fn head(kind: u8, size: usize) -> Vec<u8> {
    let mut head = vec![kind << 4 | (size & 0xf) as u8];
    let mut rest = size >> 4;
    while rest > 0 {
        if let Some(before) = head.last_mut() {
            *before |= 0x80;
        }
        head.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    head
}

/// Writes a pack of objects that stand in order of id, and its index.
fn write_pack(folder: &Path, packed: &[Packed]) -> Result<(), HistoryError> {
    let mut pack = Checked::default();
    pack.add(b"PACK");
    pack.add(&2_u32.to_be_bytes());
    pack.add(&(packed.len() as u32).to_be_bytes());
    let mut places = Vec::with_capacity(packed.len());
    for one in packed {
        places.push(pack.bytes.len() as u32);
        pack.add(&one.bytes);
    }
    let (bytes, digest) = pack.close();
    let index = index(packed, &places, &digest);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let pack = flushed(folder, "tmp_pack_", &bytes)?;
    let index = flushed(folder, "tmp_idx_", &index)?;
    for (file, end) in [(pack, "pack"), (index, "idx")] {
        let place = folder.join(format!("pack-{hex}.{end}"));
        // Where it is there already, an earlier append was cut short behind this step, and wrote the same.
        file.persist(&place).map_err(|refused| HistoryError::io("rename to", &place)(refused.error))?;
    }
    Ok(())
}

/// The index of a pack, in git's second version.
fn index(packed: &[Packed], places: &[u32], digest: &[u8; 20]) -> Vec<u8> {
    let mut index = Checked::default();
    index.add(&[0xff, b't', b'O', b'c']);
    index.add(&2_u32.to_be_bytes());
    for first in 0..=u8::MAX {
        let up_to_here = packed.partition_point(|one| one.id.as_bytes()[0] <= first);
        index.add(&(up_to_here as u32).to_be_bytes());
    }
    packed.iter().for_each(|one| index.add(one.id.as_bytes()));
    packed.iter().for_each(|one| index.add(&one.crc.to_be_bytes()));
    places.iter().for_each(|place| index.add(&place.to_be_bytes()));
    index.add(digest);
    index.close().0
}

/// Bytes that end with their own digest.
#[derive(Default)]
struct Checked {
    bytes: Vec<u8>,
    hash: Sha1,
}

impl Checked {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.hash.update(bytes);
    }

    fn close(mut self) -> (Vec<u8>, [u8; 20]) {
        let digest: [u8; 20] = self.hash.finalize().into();
        self.bytes.extend_from_slice(&digest);
        (self.bytes, digest)
    }
}

/// A file in the folder of packs, written and flushed under a name of its own; it goes if it is not renamed.
fn flushed(folder: &Path, prefix: &str, bytes: &[u8]) -> Result<NamedTempFile, HistoryError> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // As git makes them: nobody writes to an object, and who may read it is up to the mask.
        builder.permissions(fs::Permissions::from_mode(0o444));
    }
    let mut file = builder.prefix(prefix).tempfile_in(folder).map_err(HistoryError::io("write in", folder))?;
    let written = file.write_all(bytes).and_then(|()| file.as_file().sync_all());
    written.map_err(HistoryError::io("write", file.path()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use git2::ObjectType;

    use crate::testing::Fixture;

    use super::*;

    fn blob(content: &[u8]) -> (Oid, &[u8]) {
        (Oid::hash_object(ObjectType::Blob, content).expect("it can be named"), content)
    }

    #[test]
    fn git_and_libgit2_read_what_is_packed() {
        let fixture = Fixture::new();
        let store = fixture.store();
        let contents: Vec<Vec<u8>> = (0..300_usize).map(|number| format!("{number},").repeat(number).into()).collect();
        let blobs: Vec<(Oid, &[u8])> = contents.iter().map(|content| blob(content)).collect();
        write(&store.repository, &blobs).expect("it is written");
        // The same again is the same pack.
        write(&store.repository, &blobs).expect("it is written");
        for (id, content) in &blobs {
            assert_eq!(store.repository.find_blob(*id).expect("it is there").content(), *content);
        }
        let folder = fixture.root.join(".git/objects/pack");
        let mut names: Vec<_> = fs::read_dir(&folder)
            .expect("it is there")
            .map(|entry| entry.expect("it can be read").file_name().into_string().expect("it is text"))
            .collect();
        names.sort();
        assert_eq!(names.len(), 2, "{names:?}");
        fixture.git(&["verify-pack", &format!(".git/objects/pack/{}", names[0])]);
        let (id, content) = blobs[299];
        assert_eq!(fixture.git(&["cat-file", "-p", &id.to_string()]).as_bytes(), content);
        fixture.fsck();
    }

    #[test]
    fn what_is_too_much_for_one_pack_goes_into_several() {
        let contents = [vec![b'a'; 6], vec![b'b'; 4], vec![b'c'; 1], vec![b'd'; 20], vec![b'e'; 10]];
        let blobs: Vec<(Oid, &[u8])> = contents.iter().map(|content| blob(content)).collect();
        let lengths: Vec<usize> = parts(&blobs, 10).iter().map(|part| part.len()).collect();
        assert_eq!(lengths, [2, 1, 1, 1]);
        assert!(parts(&[], 10).is_empty());
    }

    #[test]
    fn the_head_of_an_object_tells_its_size() {
        assert_eq!(head(BLOB, 0), [0x30]);
        assert_eq!(head(BLOB, 15), [0x3f]);
        assert_eq!(head(BLOB, 16), [0xb0, 0x01]);
        assert_eq!(head(BLOB, 5000), [0xb8, 0xb8, 0x02]);
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let fixture = Fixture::new();
        let store = fixture.store();
        let folder = fixture.root.join(".git/objects/pack");
        fs::remove_dir_all(&folder).expect("it is empty");
        fs::write(&folder, "").expect("a file");
        let error = write(&store.repository, &[blob(b"x")]).expect_err("a file is in the way");
        assert!(error.to_string().contains("objects/pack"), "{error}");
    }
}

//! Packs: reading many objects in the order of their pack, and writing many blobs as one pack.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Write as _;
use std::thread;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use git2::{Oid, Repository};
use sha1::{Digest as _, Sha1};

use crate::error::{HistoryError, failed};
use crate::objects::LooseObjects;
use crate::state::sync_folder;

const MANY: usize = 64;

/// Listing two million objects takes 0.7 s, and the order saves 0.12 ms a record at best.
const OBJECTS_PER_RECORD: u64 = 300;

/// An object takes so many bytes in the index of a pack.
const INDEX_ENTRY: u64 = 28;

/// The places of the items in the order in which the packs hold their objects.
///
/// A pack holds most objects as differences, in chains of up to fifty neighbours, and libgit2 caches what it has put
/// together. Records are named after digests, so in the order of paths each one is put together again. 10,000 records
/// then take 1.5 s of CPU time, and 0.3 s in the order of the pack.
pub(crate) fn pack_order<T>(repository: &Repository, items: &[T], id: impl Fn(&T) -> Option<Oid>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    let pays = || items.len() as u64 * OBJECTS_PER_RECORD >= packed(repository);
    let Some(odb) = repository.odb().ok().filter(|_| items.len() >= MANY && pays()) else { return order };
    let mut places: HashMap<Oid, Option<usize>> = items.iter().filter_map(|item| Some((id(item)?, None))).collect();
    let (mut listed, mut missing) = (0, places.len());
    // libgit2 lists packs first, and the objects of a pack by their offset. Unlisted objects go last.
    let _ = odb.foreach(|object| {
        listed += 1;
        if let Some(place @ None) = places.get_mut(object) {
            *place = Some(listed);
            missing -= 1;
        }
        missing > 0
    });
    order.sort_by_cached_key(|&item| {
        let place = id(&items[item]).and_then(|id| *places.get(&id)?);
        (place.is_none(), place, item)
    });
    order
}

/// About how many objects its packs have, and those that it borrows.
fn packed(repository: &Repository) -> u64 {
    let folders = LooseObjects::new(repository);
    let files =
        folders.folders().iter().filter_map(|folder| fs::read_dir(folder.join("pack")).ok()).flatten().flatten();
    let indexes = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "idx"));
    indexes.filter_map(|index| Some(index.metadata().ok()?.len() / INDEX_ENTRY)).sum()
}

/// Half the time of the default level, for a ninth more bytes. Records are not compared, as
/// `git repack -adf` does, which takes a third off packs of small ones.
const LEVEL: u32 = 2;

/// Writes the blobs as one pack and flushes it: two files instead of one for each record. Where that fails, no object is added.
///
/// It is written in a temporary folder of a kind that `git gc` removes. The index is renamed last: git ignores a pack without
/// one.
pub(crate) fn write(repository: &Repository, blobs: &BTreeMap<Oid, &[u8]>) -> Result<(), HistoryError> {
    let objects = repository.commondir().join("objects");
    let packs = objects.join("pack");
    fs::create_dir_all(&packs).map_err(HistoryError::io("create the folder", &packs))?;
    let mut builder = tempfile::Builder::new();
    let staging = builder.prefix("tmp_objdir-sprag-").tempdir_in(&objects);
    let staging = staging.map_err(HistoryError::io("write in", &objects))?;
    let (name, pack, index) = build(blobs).map_err(failed("write a pack"))?;
    for (ending, bytes) in [("pack", pack), ("idx", index)] {
        let (written, place) = (staging.path().join(ending), packs.join(format!("pack-{name}.{ending}")));
        let write = || {
            let mut file = File::create(&written)?;
            file.write_all(&bytes)?;
            // As git makes them: nobody writes to an object.
            let mut permissions = file.metadata()?.permissions();
            permissions.set_readonly(true);
            file.set_permissions(permissions)?;
            file.sync_all()?;
            // An earlier append that was cut short may have written the same file.
            fs::rename(&written, &place)
        };
        write().map_err(HistoryError::io("write", &place))?;
    }
    sync_folder(&packs)?;
    let odb = repository.odb().map_err(failed("open the object database"))?;
    odb.refresh().map_err(failed("look for the new pack"))
}

/// The digest that names the pack and its index, and the bytes of both, by `gitformat-pack(5)`. The objects are in the order of
/// their ids.
fn build(blobs: &BTreeMap<Oid, &[u8]>) -> Result<(String, Vec<u8>, Vec<u8>), git2::Error> {
    let contents: Vec<&[u8]> = blobs.values().copied().collect();
    let mut pack = [&b"PACK\0\0\0\x02"[..], &(contents.len() as u32).to_be_bytes()].concat();
    let (mut checksums, mut offsets) = (Vec::new(), Vec::new());
    for (entry, checksum) in map_in_parallel(&contents, |blob| entry(blob)) {
        // Records are added by at most 256 MiB.
        let offset = i32::try_from(pack.len()).map_err(|_| git2::Error::from_str("it is larger than 2 GiB"))?;
        offsets.extend(offset.to_be_bytes());
        checksums.extend(checksum.to_be_bytes());
        pack.extend(entry);
    }
    let digest = Sha1::digest(&pack);
    pack.extend(digest);
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    let ids: Vec<&[u8]> = blobs.keys().map(Oid::as_bytes).collect();
    for first in 0..=u8::MAX {
        index.extend((ids.partition_point(|id| id[0] <= first) as u32).to_be_bytes());
    }
    index.extend([ids.concat(), checksums, offsets, digest.to_vec()].concat());
    index.extend(Sha1::digest(&index));
    Ok((Oid::from_bytes(&digest)?.to_string(), pack, index))
}

/// The id of an object, of its header and content.
pub(crate) fn id_of(bytes: &[u8]) -> Option<Oid> {
    Oid::from_bytes(&Sha1::digest(bytes)).ok()
}

/// A blob as an object of a pack, and its CRC-32.
fn entry(blob: &[u8]) -> (Vec<u8>, u32) {
    // The kind, and the length in seven bits a byte after the first four, lowest first.
    let (mut entry, mut byte, mut length) = (Vec::new(), 0x30 | (blob.len() & 15) as u8, blob.len() >> 4);
    while length > 0 {
        entry.push(byte | 0x80);
        (byte, length) = ((length & 0x7f) as u8, length >> 7);
    }
    entry.push(byte);
    let mut encoder = ZlibEncoder::new(entry, Compression::new(LEVEL));
    let entry = encoder.write_all(blob).and_then(|()| encoder.finish()).expect("memory takes all bytes");
    let mut checksum = Crc::new();
    checksum.update(&entry);
    (entry, checksum.sum())
}

/// So many items take less time than another thread.
const FEW: usize = 16;

/// Applies a function to all items, on all processors where there are many.
pub(crate) fn map_in_parallel<T: Sync, R: Send>(items: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(workers).max(FEW);
    if items.len() <= share {
        return items.iter().map(function).collect();
    }
    thread::scope(|scope| {
        let apply = |share: &[T]| share.iter().map(&function).collect::<Vec<_>>();
        let workers: Vec<_> = items.chunks(share).map(|share| scope.spawn(move || apply(share))).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("the function does not panic")).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use git2::ObjectType;

    use super::*;
    use crate::testing::Fixture;

    #[test]
    fn git_and_libgit2_read_a_pack_and_its_order() {
        let fixture = Fixture::new();
        let repository = Repository::open(&fixture.root).expect("it is there");
        let contents: Vec<Vec<u8>> = (0..300_usize).map(|number| format!("{number},").repeat(number).into()).collect();
        let id = |blob: &Vec<u8>| Oid::hash_object(ObjectType::Blob, blob).expect("it can be named");
        let blobs: BTreeMap<Oid, &[u8]> = contents.iter().map(|blob| (id(blob), &blob[..])).collect();
        // The same again is the same pack.
        for _ in 0..2 {
            write(&repository, &blobs).expect("it is written");
        }
        for (id, content) in &blobs {
            assert_eq!(repository.find_blob(*id).expect("it is there").content(), *content);
        }
        let ids: Vec<Oid> = contents.iter().map(id).collect();
        let objects = fixture.root.join(".git/objects");
        let names = |folder: &Path| -> Vec<String> {
            let entries = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it can be read"));
            entries.map(|entry| entry.file_name().into_string().expect("it is text")).collect()
        };
        let packs = names(&objects.join("pack"));
        assert_eq!(packs.len(), 2, "{packs:?}");
        assert!(names(&objects).iter().all(|name| !name.starts_with("tmp_")));
        fixture.fsck();
        let index = packs.iter().find(|name| name.ends_with(".idx")).expect("it has an index");
        let listed = fixture.git(&["verify-pack", "-v", &format!(".git/objects/pack/{index}")]);
        let offset = |id: &Oid| {
            let line = listed.lines().find(|line| line.starts_with(&id.to_string())).expect("it is listed");
            line.split_whitespace().nth(4).and_then(|offset| offset.parse::<u64>().ok()).expect("an offset")
        };
        let order = pack_order(&repository, &ids, |id| Some(*id));
        assert!(order.iter().map(|&place| offset(&ids[place])).is_sorted());
    }

    #[test]
    fn packs_that_are_borrowed_count() {
        let fixture = Fixture::new();
        fixture.git(&["repack", "-adq"]);
        let count = |fixture: &Fixture| packed(&Repository::open(&fixture.root).expect("it is there"));
        assert!(count(&fixture) > 0);
        assert_eq!(count(&fixture.cloned("borrower", &["--reference", "."])), count(&fixture));
    }

    #[test]
    fn objects_are_ordered_by_pack_and_offset() {
        let fixture = Fixture::new();
        let add = |folder: &str, files: usize| {
            for file in 0..files {
                let lines = (0..200).map(|line| format!("{folder} {}\n", line * (file + 1) % 97));
                fixture.write(&format!("{folder}/{file}"), &lines.collect::<String>());
            }
            crate::testing::commit(&fixture);
        };
        add("a", 90);
        fixture.git(&["repack", "-adq"]);
        add("b", 70);
        fixture.git(&["repack", "-dq"]);
        add("c", 3);
        let repository = Repository::open(&fixture.root).expect("it is there");
        let packs = fs::read_dir(repository.path().join("objects/pack")).expect("it is there");
        let mut packs: Vec<_> = packs.map(|entry| entry.expect("it can be read").path()).collect();
        packs.retain(|path| path.extension().is_some_and(|ending| ending == "idx"));
        assert_eq!(packs.len(), 2);
        let mut offsets = HashMap::new();
        for (pack, path) in packs.iter().enumerate() {
            for line in fixture.git(&["verify-pack", "-v", path.to_str().expect("it is text")]).lines() {
                if let [id, "blob", _, _, offset, ..] = line.split_whitespace().collect::<Vec<_>>()[..] {
                    offsets.insert(id.to_owned(), (pack, offset.parse::<u64>().expect("an offset")));
                }
            }
        }
        let listed = fixture.git(&["ls-tree", "-r", "HEAD"]);
        let blobs: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
        let mut order = pack_order(&repository, &blobs, |id| Oid::from_str(id).ok());
        let places: Vec<_> = order.iter().map(|&place| offsets.get(blobs[place]).copied()).collect();
        let (packed, loose) = places.split_at(places.len() - 3);
        let of_packs: Vec<_> = packed.chunk_by(|a, b| a.map(|a| a.0) == b.map(|b| b.0)).collect();
        assert!(packed.iter().all(Option::is_some), "{packed:?}");
        assert!(of_packs.len() == 2 && of_packs.iter().all(|pack| pack.is_sorted()), "{packed:?}");
        assert_eq!(loose, [None; 3]);
        order.sort();
        assert!(order.into_iter().eq(0..blobs.len()));
    }

    #[test]
    fn a_pack_that_cannot_be_written_is_an_error() {
        let fixture = Fixture::new();
        let folder = fixture.root.join(".git/objects/pack");
        fs::remove_dir_all(&folder).expect("it is empty");
        fs::write(&folder, "").expect("a file");
        let error = write(&fixture.store().repository, &BTreeMap::new()).expect_err("a file is in the way");
        assert!(error.to_string().contains("objects/pack"), "{error}");
    }
}

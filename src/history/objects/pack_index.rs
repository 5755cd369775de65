//! Where objects lie in the packs of the git folder, so that many are read in that order.
//!
//! A pack holds most objects as the difference to another one, in chains of up to fifty, and libgit2 caches some of what
//! it has put together. Objects of one chain lie side by side, but records are named after digests: in the order of their
//! paths each one is put together anew from most of its chain. 10,000 records take 1.5 s of CPU time in that order and
//! 0.3 s in the order of the pack. (A reader of packs of our own took 0.2 s, a fifth less of a whole `sprag site`.)

use std::fs;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use crate::objects::loose::object_folders;

/// The most of the indexes that is read, in bytes: of two million objects. Packs beyond that are passed over.
const MAX_INDEX_BYTES: u64 = 64 << 20;

/// From so many objects on it pays to read the indexes of the packs.
const MANY: usize = 64;

/// The indexes of the packs of a repository, and of those that it borrows, as far as they can be read.
#[derive(Default)]
pub(crate) struct PackIndexes(Vec<Index>);

impl PackIndexes {
    /// Reads the indexes, where there are enough objects to be read that it pays.
    pub(crate) fn read(repository: &Repository, objects: usize) -> PackIndexes {
        if objects < MANY {
            return PackIndexes::default();
        }
        let mut left = MAX_INDEX_BYTES;
        let folders = object_folders(repository);
        PackIndexes(folders.iter().flat_map(|objects| indexes(&objects.join("pack"), &mut left)).collect())
    }

    /// The places of the items in the order in which the packs hold their objects; those that lie in no pack come last, in
    /// the order given.
    pub(crate) fn order<T>(&self, items: &[T], id: impl Fn(&T) -> Option<Oid>) -> Vec<usize> {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_cached_key(|&item| {
            let place = id(&items[item]).and_then(|id| self.place(id));
            (place.is_none(), place, item)
        });
        order
    }

    /// In which pack an object lies, and where it begins there, in bytes.
    fn place(&self, id: Oid) -> Option<(usize, u64)> {
        self.0.iter().enumerate().find_map(|(pack, index)| Some((pack, index.offset(id)?)))
    }
}

/// The indexes in a folder, as long as they do not take more bytes than are left.
fn indexes(folder: &Path, left: &mut u64) -> Vec<Index> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "idx"));
    paths.sort();
    let mut fits = |path: &PathBuf| {
        let length = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|data| data.len());
        let rest = length.and_then(|length| left.checked_sub(length));
        *left = rest.unwrap_or(*left);
        rest.is_some()
    };
    paths.retain(|path| fits(path));
    paths.iter().filter_map(|path| Index::parse(fs::read(path).ok()?)).collect()
}

/// The index of a pack, version 2, as `gitformat-pack` describes it: 8 bytes of head; 256 numbers of 4 bytes, how many
/// ids begin with at most that byte; the ids in order, 20 bytes each; 4 bytes of checksum an object; 4 bytes of offset an
/// object, where the highest bit says that the rest is a place among the 8-byte offsets that follow.
struct Index {
    bytes: Vec<u8>,
    count: usize,
}

const FANOUT: usize = 8;
const IDS: usize = FANOUT + 256 * 4;
const LARGE: u32 = 1 << 31;

impl Index {
    fn parse(bytes: Vec<u8>) -> Option<Index> {
        let is_index = bytes.starts_with(b"\xfftOc\0\0\0\x02");
        let count = usize::try_from(number(&bytes, IDS - 4)?).ok()?;
        (is_index && bytes.len() >= IDS + count * (20 + 4 + 4)).then_some(Index { bytes, count })
    }

    /// Where the object begins in the pack, in bytes; absent where the pack does not hold it.
    fn offset(&self, id: Oid) -> Option<u64> {
        let id = id.as_bytes();
        let first = usize::from(id[0]);
        let upto = |byte: usize| Some(number(&self.bytes, FANOUT + byte * 4)? as usize);
        let (mut low, mut high) = (if first == 0 { 0 } else { upto(first - 1)? }, upto(first)?);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.bytes.get(IDS + middle * 20..IDS + middle * 20 + 20)?.cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return self.offset_of(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    fn offset_of(&self, object: usize) -> Option<u64> {
        let offsets = IDS + self.count * (20 + 4);
        let offset = number(&self.bytes, offsets + object * 4)?;
        if offset < LARGE {
            return Some(u64::from(offset));
        }
        let place = offsets + self.count * 4 + (offset - LARGE) as usize * 8;
        Some(u64::from(number(&self.bytes, place)?) << 32 | u64::from(number(&self.bytes, place + 4)?))
    }
}

/// The four bytes there, the highest first.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::testing::Fixture;

    use super::*;

    /// Commits so many files, which resemble one another.
    fn commit(fixture: &Fixture, folder: &str, files: usize) {
        fs::create_dir(fixture.root.join(folder)).unwrap();
        for file in 0..files {
            let content: String = (0..200).map(|line| format!("{folder} {}\n", line * (file + 1) % 97)).collect();
            fs::write(fixture.root.join(folder).join(file.to_string()), content).unwrap();
        }
        fixture.git(&["add", "."]);
        fixture.git(&["commit", "--quiet", "--message=More"]);
    }

    /// Every blob of the tip.
    fn blobs(fixture: &Fixture) -> Vec<Oid> {
        let listed = fixture.git(&["ls-tree", "-r", "HEAD"]);
        listed.lines().map(|line| Oid::from_str(line.split_whitespace().nth(2).unwrap()).unwrap()).collect()
    }

    #[test]
    fn objects_are_read_in_the_order_in_which_git_says_that_they_lie() {
        let fixture = Fixture::new();
        commit(&fixture, "a", 90);
        fixture.git(&["repack", "-adq"]);
        commit(&fixture, "b", 70);
        fixture.git(&["repack", "-dq"]);
        commit(&fixture, "c", 3);
        let repository = Repository::open(&fixture.root).unwrap();
        let packs = fs::read_dir(repository.path().join("objects/pack")).unwrap();
        let mut packs: Vec<_> = packs.map(|entry| entry.unwrap().path()).collect();
        packs.retain(|path| path.extension().unwrap() == "idx");
        packs.sort();
        assert_eq!(packs.len(), 2);
        let mut offsets = BTreeMap::new();
        for (pack, path) in packs.iter().enumerate() {
            for line in fixture.git(&["verify-pack", "-v", path.to_str().unwrap()]).lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                if let [id, "blob", _, _, offset, ..] = words[..] {
                    offsets.insert(Oid::from_str(id).unwrap(), (pack, offset.parse::<u64>().unwrap()));
                }
            }
        }
        let blobs = blobs(&fixture);
        let order = PackIndexes::read(&repository, blobs.len()).order(&blobs, |id| Some(*id));
        let places: Vec<_> = order.iter().map(|&place| offsets.get(&blobs[place]).copied()).collect();
        let (packed, loose) = places.split_at(places.len() - 3);
        assert!(packed.iter().all(Option::is_some) && packed.is_sorted(), "{packed:?}");
        assert_eq!(loose, [None; 3]);
        let mut places = order.clone();
        places.sort();
        assert!(places.into_iter().eq(0..blobs.len()), "{order:?}");
    }

    #[test]
    fn an_index_that_is_no_index_is_passed_over() {
        for bytes in [&b""[..], b"\xfftOc\0\0\0\x02", &[0xff; 2000]] {
            assert!(Index::parse(bytes.to_vec()).is_none());
        }
        let mut cut = b"\xfftOc\0\0\0\x02".to_vec();
        cut.extend([0, 0, 0, 9].repeat(256));
        assert!(Index::parse(cut.clone()).is_none());
        cut.extend([0xff; 9 * 28]);
        // Its offsets point beyond it.
        let index = Index::parse(cut).unwrap();
        assert_eq!(index.offset(Oid::from_bytes(&[0xff; 20]).unwrap()), None);
        assert_eq!(index.offset(Oid::from_bytes(&[0; 20]).unwrap()), None);
    }
}

//! Reads many blobs out of packs, in the order in which these hold them, in half of the time that libgit2 takes.
//!
//! An object lies in a pack as `gitformat-pack` describes it: compressed, as it is or as the difference to another one. What
//! is not as expected, or of a kind that is rare, is absent here: libgit2 has to read it, and to say what is wrong.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use git2::Oid;
use libdeflater::Decompressor;

use crate::objects::pack_index::Packs;
use sprag_model::record::MAX_RECORD_BYTES;

/// So many bytes of objects a reader keeps at hand, to put others together from: several chains of usual records.
const AT_HAND: usize = 8 << 20;

/// So many bytes of a pack are read at a time.
const READ: u64 = 1 << 18;

/// So many bytes tell kind and size of an object, and how far before it the other one begins.
const HEAD: usize = 32;

/// The longest chain that is followed; git makes none of more than 4095.
const LONGEST_CHAIN: usize = 4095;

/// The kind of object that a blob is.
const BLOB: u8 = 3;

/// The kind of what is the difference to an object that lies before it in the pack.
const DIFFERENCE: u8 = 6;

/// Reads blobs out of packs.
pub(crate) struct Unpacker<'p> {
    packs: &'p Packs,
    files: Vec<Option<PackFile>>,
    /// The number of the pack that was read last: of others nothing is kept.
    open: usize,
    inflate: Decompressor,
    kept: Kept,
}

/// Where an object begins: the number of its pack, and the byte there.
type Place = (usize, u64);

/// What a pack holds of an object.
enum Packed {
    Whole(Vec<u8>),
    /// The difference to the object that begins there.
    From(u64, Vec<u8>),
}

impl<'p> Unpacker<'p> {
    pub(crate) fn of(packs: &'p Packs) -> Unpacker<'p> {
        let files = packs.files().map(PackFile::open).collect();
        Unpacker { packs, files, open: 0, inflate: Decompressor::new(), kept: Kept::default() }
    }

    /// The content of a blob. That it is the one of this id is not checked.
    pub(crate) fn blob(&mut self, id: Oid) -> Option<Rc<Vec<u8>>> {
        let (pack, offset) = self.packs.place(id)?;
        // Along the chain to what is at hand or whole, and back.
        let mut chain = Vec::new();
        let mut next = offset;
        let mut content = loop {
            if let Some(kept) = self.kept.get((pack, next)) {
                break kept;
            }
            match self.packed(pack, next)? {
                Packed::Whole(content) => break self.kept.put((pack, next), content),
                Packed::From(base, difference) => {
                    chain.push((next, difference));
                    next = base;
                }
            }
            (chain.len() <= LONGEST_CHAIN).then_some(())?;
        };
        while let Some((offset, difference)) = chain.pop() {
            content = self.kept.put((pack, offset), applied(&difference, &content)?);
        }
        Some(content)
    }

    fn packed(&mut self, pack: usize, offset: u64) -> Option<Packed> {
        if pack != std::mem::replace(&mut self.open, pack) {
            self.files.iter_mut().flatten().for_each(PackFile::forget);
        }
        let file = self.files.get_mut(pack)?.as_mut()?;
        let mut head = file.at(offset, HEAD)?;
        let whole = head.len();
        // The kind, and the size in bits of 4, 7, 7...
        let first = byte(&mut head)?;
        let mut size = usize::from(first & 15);
        let (mut last, mut shift) = (first, 4);
        while last & 128 != 0 {
            last = byte(&mut head)?;
            size |= usize::from(last & 127).checked_shl(shift)?;
            shift += 7;
        }
        let base = match first >> 4 & 7 {
            BLOB => None,
            DIFFERENCE => {
                // How far before: bits of 7, the highest first, where each further byte counts from one more on.
                let mut last = byte(&mut head)?;
                let mut distance = u64::from(last & 127);
                while last & 128 != 0 {
                    last = byte(&mut head)?;
                    distance = (distance + 1).checked_mul(128)? | u64::from(last & 127);
                }
                Some(offset.checked_sub(distance).filter(|base| *base < offset)?)
            }
            _ => return None,
        };
        (size <= MAX_RECORD_BYTES).then_some(())?;
        let begin = offset + (whole - head.len()) as u64;
        let mut content = vec![0; size];
        let written = self.inflate.zlib_decompress(file.at(begin, most_packed(size))?, &mut content).ok()?;
        (written == size).then_some(())?;
        Some(match base {
            None => Packed::Whole(content),
            Some(base) => Packed::From(base, content),
        })
    }
}

/// The most bytes that so many take in a pack. One that takes more is rare, and is left to libgit2.
fn most_packed(size: usize) -> usize {
    size + size / 8 + 64
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

/// A pack, and a stretch of it that was read.
struct PackFile {
    file: File,
    start: u64,
    bytes: Vec<u8>,
    /// Whether the stretch reaches the end of the file.
    is_end: bool,
}

impl PackFile {
    fn open(path: &Path) -> Option<PackFile> {
        Some(PackFile { file: File::open(path).ok()?, start: 0, bytes: Vec::new(), is_end: false })
    }

    /// Lets go of what was read.
    fn forget(&mut self) {
        (self.start, self.bytes, self.is_end) = (0, Vec::new(), false);
    }

    /// What begins there: so many bytes or more, fewer at the end of the file.
    fn at(&mut self, offset: u64, length: usize) -> Option<&[u8]> {
        let end = offset + length as u64;
        let is_beyond = end > self.start + self.bytes.len() as u64 && !self.is_end;
        if offset < self.start || is_beyond {
            // Who goes back follows a chain, and goes back further.
            let back = offset < self.start;
            self.start = if back { end.saturating_sub(READ).min(offset) } else { offset };
            self.bytes.clear();
            self.file.seek(SeekFrom::Start(self.start)).ok()?;
            let wanted = (end - self.start).max(READ);
            let read = (&self.file).take(wanted).read_to_end(&mut self.bytes).ok()?;
            self.is_end = (read as u64) < wanted;
        }
        self.bytes.get(usize::try_from(offset - self.start).ok()?..)
    }
}

/// What a difference makes of its base. It begins with the sizes of both; of what follows, a byte with the highest bit set
/// says which bytes of a place and a length come next, to be copied from the base, another how many bytes to add come next.
fn applied(difference: &[u8], base: &[u8]) -> Option<Vec<u8>> {
    let mut rest = difference;
    let size_of_base = size(&mut rest)?;
    let size = size(&mut rest)?;
    (size_of_base == base.len() && size <= MAX_RECORD_BYTES).then_some(())?;
    let mut content = Vec::with_capacity(size);
    while let Some((&what, after)) = rest.split_first() {
        rest = after;
        let part = if what & 128 != 0 {
            let mut number = |bits: std::ops::Range<u8>| {
                let mut number = 0;
                for (place, bit) in bits.enumerate() {
                    if what & 1 << bit != 0 {
                        let (byte, after) = rest.split_first()?;
                        number |= usize::from(*byte) << (8 * place);
                        rest = after;
                    }
                }
                Some(number)
            };
            let (start, length) = (number(0..4)?, number(4..7)?);
            let length = if length == 0 { 0x10000 } else { length };
            base.get(start..start.checked_add(length)?)?
        } else {
            let (part, after) = rest.split_at_checked(usize::from(what)).filter(|_| what > 0)?;
            rest = after;
            part
        };
        (content.len() + part.len() <= size).then(|| content.extend_from_slice(part))?;
    }
    (content.len() == size).then_some(content)
}

/// A size in bits of 7, the lowest first.
fn size(bytes: &mut &[u8]) -> Option<usize> {
    let mut size = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let (byte, after) = bytes.split_first()?;
        *bytes = after;
        size |= usize::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Some(size);
        }
    }
    None
}

/// The objects that were put together last.
#[derive(Default)]
struct Kept {
    objects: HashMap<Place, Rc<Vec<u8>>>,
    order: VecDeque<Place>,
    bytes: usize,
}

impl Kept {
    fn get(&self, place: Place) -> Option<Rc<Vec<u8>>> {
        self.objects.get(&place).cloned()
    }

    fn put(&mut self, place: Place, content: Vec<u8>) -> Rc<Vec<u8>> {
        let content = Rc::new(content);
        self.bytes += content.len();
        self.order.push_back(place);
        self.objects.insert(place, Rc::clone(&content));
        while self.bytes > AT_HAND {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.objects.remove(&oldest).map_or(0, |content| content.len());
        }
        content
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use git2::Repository;

    use crate::objects::pack_index::tests::{blobs, commit};
    use crate::testing::Fixture;

    use super::*;

    #[test]
    fn objects_are_read_as_libgit2_reads_them() {
        let fixture = Fixture::new();
        commit(&fixture, "a", 90);
        fixture.git(&["repack", "-adq"]);
        commit(&fixture, "b", 3);
        let repository = Repository::open(&fixture.root).unwrap();
        let packs = Packs::of(&repository, 90);
        let mut reader = Unpacker::of(&packs);
        let (packed, loose): (Vec<Oid>, Vec<Oid>) =
            blobs(&fixture).into_iter().partition(|id| packs.place(*id).is_some());
        assert!(packed.len() >= 90 && loose.len() == 3);
        for id in packed {
            let bytes = reader.blob(id).expect("it lies in the pack");
            assert_eq!(bytes[..], *repository.find_blob(id).unwrap().content());
        }
        assert!(loose.into_iter().all(|id| reader.blob(id).is_none()));
        // A tree and an id of nothing are no blobs.
        let tree = Oid::from_str(fixture.git(&["rev-parse", "HEAD~1:a"]).trim()).unwrap();
        assert!(packs.place(tree).is_some());
        assert_eq!((reader.blob(tree), reader.blob(Oid::from_bytes(&[0; 20]).unwrap())), (None, None));
    }

    #[test]
    fn damaged_packs_are_left_to_libgit2() {
        let fixture = Fixture::new();
        commit(&fixture, "a", 90);
        fixture.git(&["repack", "-adq"]);
        let repository = Repository::open(&fixture.root).unwrap();
        let blobs = blobs(&fixture);
        let pack = |extension: &str| {
            let files = fs::read_dir(repository.path().join("objects/pack")).unwrap();
            let mut paths = files.map(|entry| entry.unwrap().path());
            paths.find(|path| path.extension().unwrap() == extension).unwrap()
        };
        let check = |extension: &str, damage: &dyn Fn(&mut Vec<u8>)| {
            let file = pack(extension);
            let whole = fs::read(&file).unwrap();
            let mut damaged = whole.clone();
            damage(&mut damaged);
            // Git leaves the files of packs read-only.
            fs::remove_file(&file).unwrap();
            fs::write(&file, damaged).unwrap();
            let packs = Packs::of(&repository, 90);
            let mut reader = Unpacker::of(&packs);
            let found = blobs.iter().filter(|id| reader.blob(**id).is_some()).count();
            fs::remove_file(&file).unwrap();
            fs::write(&file, whole).unwrap();
            found
        };
        assert_eq!(check("pack", &|_| {}), blobs.len());
        assert!(check("pack", &|bytes| bytes.truncate(bytes.len() / 2)) < blobs.len());
        let flip = |bytes: &mut Vec<u8>| bytes.iter_mut().skip(100).step_by(50).for_each(|byte| *byte ^= 0xff);
        assert!(check("pack", &flip) < blobs.len());
        for length in [0, 8, 1000, 1500] {
            assert_eq!(check("idx", &|bytes| bytes.truncate(length)), 0, "{length}");
        }
        assert_eq!(check("idx", &|bytes| bytes.fill(0xff)), 0);
    }
}

//! Packs: reading many objects in the order of their pack, and writing many blobs as one pack.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;

use git2::{Config, ObjectType, Odb, Oid, Repository};

use crate::error::{HistoryError, failed};
use crate::state::sync_folder;

/// From so many objects on it pays to list the packs.
const MANY: usize = 64;

/// The places of the items in the order in which the packs hold their objects.
///
/// A pack holds most objects as the difference to another one, in chains of up to fifty, and libgit2 caches some of what
/// it has put together. Objects of one chain are neighbours in the pack, but records are named after digests: read in the
/// order of their paths, each one is put together anew from most of its chain. 10,000 records take 1.5 s of CPU time in that
/// order and 0.3 s in the order of the pack.
pub(crate) fn pack_order<T>(repository: &Repository, items: &[T], id: impl Fn(&T) -> Option<Oid>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    let Some(odb) = repository.odb().ok().filter(|_| items.len() >= MANY) else { return order };
    let mut places: HashMap<Oid, Option<usize>> = items.iter().filter_map(|item| Some((id(item)?, None))).collect();
    let (mut listed, mut missing) = (0, places.len());
    // libgit2 lists packs before loose objects, and the objects of a pack by their offset. What is not listed goes last.
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

/// Has libgit2 try each record as a difference to its neighbour alone. Better differences, which take longer to find, are
/// left to `git gc`.
const SETTINGS: &str = "[pack]\n\twindowMemory = 1\n";

/// The mode of the files of a pack, as git makes them: nobody writes to an object.
const MODE: u32 = 0o444;

/// Writes the blobs as one pack, flushed to the disk. Where that fails, no object is added.
///
/// A thousand records as loose objects are a thousand files to make, to name and to flush, and the same again for
/// whoever reads them. A pack is two files. libgit2 builds it from blobs in memory, in a temporary folder of a kind that
/// `git gc` removes; then both files are flushed and renamed, the index last: git ignores a pack that has none.
pub(crate) fn write(repository: &Repository, blobs: &[&[u8]]) -> Result<(), HistoryError> {
    let objects = repository.commondir().join("objects");
    let packs = objects.join("pack");
    fs::create_dir_all(&packs).map_err(HistoryError::io("create the folder", &packs))?;
    let mut builder = tempfile::Builder::new();
    let staging = builder.prefix("tmp_objdir-sprag-").tempdir_in(&objects);
    let staging = staging.map_err(HistoryError::io("write in", &objects))?;
    let settings = staging.path().join("config");
    fs::write(&settings, SETTINGS).map_err(HistoryError::io("write", &settings))?;
    let name = build(blobs, &settings, staging.path()).map_err(failed("write a pack"))?;
    for ending in ["pack", "idx"] {
        let file = format!("pack-{name}.{ending}");
        let (written, place) = (staging.path().join(&file), packs.join(&file));
        let synced = File::open(&written).and_then(|file| file.sync_all());
        // Where it is there already, an earlier append was cut short behind this step, and wrote the same.
        synced.and_then(|()| fs::rename(&written, &place)).map_err(HistoryError::io("write", &place))?;
    }
    sync_folder(&packs)?;
    let odb = repository.odb().map_err(failed("open the object database"))?;
    odb.refresh().map_err(failed("look for the new pack"))
}

/// Builds the pack and its index in a folder; gives the digest that names them.
fn build(blobs: &[&[u8]], settings: &Path, folder: &Path) -> Result<String, git2::Error> {
    let memory = Odb::new()?;
    memory.add_new_mempack_backend(1)?;
    let ids: Result<Vec<_>, _> = blobs.iter().map(|blob| memory.write(ObjectType::Blob, blob)).collect();
    let memory = Repository::from_odb(memory)?;
    memory.set_config(&Config::open(settings)?)?;
    let mut builder = memory.packbuilder()?;
    for id in ids? {
        builder.insert_object(id, None)?;
    }
    builder.write(folder, MODE)?;
    builder.name()?.map(str::to_owned).ok_or_else(|| git2::Error::from_str("the pack has no name"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    fn commit(fixture: &Fixture, folder: &str, files: usize) {
        fs::create_dir(fixture.root.join(folder)).unwrap();
        for file in 0..files {
            let content: String = (0..200).map(|line| format!("{folder} {}\n", line * (file + 1) % 97)).collect();
            fs::write(fixture.root.join(folder).join(file.to_string()), content).unwrap();
        }
        fixture.git(&["add", "."]);
        fixture.git(&["commit", "--quiet", "--message=More"]);
    }

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
        let mut offsets = HashMap::new();
        for (pack, path) in packs.iter().enumerate() {
            for line in fixture.git(&["verify-pack", "-v", path.to_str().unwrap()]).lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                if let [id, "blob", _, _, offset, ..] = words[..] {
                    offsets.insert(Oid::from_str(id).unwrap(), (pack, offset.parse::<u64>().unwrap()));
                }
            }
        }
        let blobs = blobs(&fixture);
        let mut order = pack_order(&repository, &blobs, |id| Some(*id));
        let places: Vec<_> = order.iter().map(|&place| offsets.get(&blobs[place]).copied()).collect();
        let (packed, loose) = places.split_at(places.len() - 3);
        let of_packs: Vec<_> = packed.chunk_by(|a, b| a.unwrap().0 == b.unwrap().0).collect();
        assert!(of_packs.len() == 2 && of_packs.iter().all(|pack| pack.is_sorted()), "{packed:?}");
        assert_eq!(loose, [None; 3]);
        order.sort();
        assert!(order.into_iter().eq(0..blobs.len()));
    }

    #[test]
    fn git_and_libgit2_read_what_is_packed() {
        let fixture = Fixture::new();
        let store = fixture.store();
        let contents: Vec<Vec<u8>> = (0..300_usize).map(|number| format!("{number},").repeat(number).into()).collect();
        let blobs: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        write(&store.repository, &blobs).expect("it is written");
        // The same again is the same pack.
        write(&store.repository, &blobs).expect("it is written");
        for content in &blobs {
            let id = git2::Oid::hash_object(ObjectType::Blob, content).expect("it can be named");
            assert_eq!(store.repository.find_blob(id).expect("it is there").content(), *content);
            if content.len() == 299 * 4 {
                assert_eq!(fixture.git(&["cat-file", "-p", &id.to_string()]).as_bytes(), *content);
            }
        }
        let objects = fixture.root.join(".git/objects");
        let names = |folder: &Path| -> Vec<String> {
            let entries = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it can be read"));
            entries.map(|entry| entry.file_name().into_string().expect("it is text")).collect()
        };
        let mut packs = names(&objects.join("pack"));
        packs.sort();
        assert_eq!(packs.len(), 2, "{packs:?}");
        assert!(names(&objects).iter().all(|name| !name.starts_with("tmp_")));
        fixture.git(&["verify-pack", &format!(".git/objects/pack/{}", packs[0])]);
        fixture.fsck();
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let fixture = Fixture::new();
        let store = fixture.store();
        let folder = fixture.root.join(".git/objects/pack");
        fs::remove_dir_all(&folder).expect("it is empty");
        fs::write(&folder, "").expect("a file");
        let error = write(&store.repository, &[b"x"]).expect_err("a file is in the way");
        assert!(error.to_string().contains("objects/pack"), "{error}");
    }
}

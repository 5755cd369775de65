//! Writing many blobs as one pack.
//!
//! A thousand records as loose objects are a thousand files to make, to name and to flush, and the same again for
//! whoever reads them. A pack is two files. libgit2 builds it from blobs in memory, in a temporary folder of a kind that
//! `git gc` removes; then both files are flushed and renamed, the index last: git ignores a pack that has none.

use std::fs::{self, File};
use std::path::Path;

use git2::{Config, ObjectType, Odb, Repository};

use crate::error::HistoryError;
use crate::state::sync_folder;
use crate::store::failed;

/// Has libgit2 try each record as a difference to its neighbour alone. Better differences, which take longer to find, are
/// left to `git gc`.
const SETTINGS: &str = "[pack]\n\twindowMemory = 1\n";

/// The mode of the files of a pack, as git makes them: nobody writes to an object.
const MODE: u32 = 0o444;

/// Writes the blobs, flushed to the disk.
///
/// # Errors
/// When the folder of packs cannot be written to. No object is there then that was not there before.
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

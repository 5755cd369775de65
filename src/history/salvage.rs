//! Objects of git that are here and cannot be read.
//!
//! Git takes such an object for one that it has: it does not write it a second time, and a fetch that brings it may fail. So its
//! file is moved to `lost-found/sprag` in the git folder, and the object is missing. What can be read of a damaged pack is
//! packed before.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use git2::{OdbLookupFlags, Oid, Repository, RepositoryInitOptions};

use crate::error::{HistoryError, failed};
use crate::objects::LooseObjects;
use crate::packs::id_of;
use crate::state::sync_folder;

const PLACE: &str = "`lost-found/sprag` in the git folder";

/// Moves the files of those objects that cannot be read, and adds a sentence on each file. Those of another repository stay.
pub(crate) fn set_aside(
    repository: &Repository,
    ids: impl IntoIterator<Item = Oid>,
    moved: &mut Vec<String>,
) -> Result<(), HistoryError> {
    for id in ids.into_iter().filter(|id| !is_readable(repository, *id)) {
        let (name, objects) = (id.to_string(), repository.commondir().join("objects"));
        let file = objects.join(&name[..2]).join(&name[2..]);
        if file.exists() && !is_intact(&file, id) {
            move_aside(repository, &file, &name)?;
            moved.push(format!("moved the broken object {id} to {PLACE}"));
        }
        if !is_readable(repository, id) {
            for (index, bytes) in packs_with(&objects, id)? {
                moved.extend(set_pack_aside(repository, &index, &bytes)?);
            }
            // libgit2 goes on reading a pack that it has open.
            let fresh = Repository::open(repository.path());
            let reopened = fresh.and_then(|fresh| repository.set_odb(&fresh.odb()?));
            reopened.map_err(failed("open the object database again"))?;
        }
        borrowed(repository, id)?;
    }
    Ok(())
}

/// # Errors
/// Where the object cannot be read, and of all folders another repository's has it first.
pub(crate) fn borrowed(repository: &Repository, id: Oid) -> Result<(), HistoryError> {
    if is_readable(repository, id) {
        return Ok(());
    }
    let name = id.to_string();
    for (place, folder) in LooseObjects::new(repository).folders().iter().enumerate() {
        if folder.join(&name[..2]).join(&name[2..]).exists() || !packs_with(folder, id)?.is_empty() {
            return if place == 0 { Ok(()) } else { Err(HistoryError::Borrowed { id, folder: folder.clone() }) };
        }
    }
    Ok(())
}

/// The indexes of the packs in a folder of objects that have the object, with their bytes.
fn packs_with(objects: &Path, id: Oid) -> Result<Vec<(PathBuf, Vec<u8>)>, HistoryError> {
    let mut packs = Vec::new();
    for index in files(&objects.join("pack"))?.into_iter().filter(|file| file.extension() == Some("idx".as_ref())) {
        let bytes = fs::read(&index).map_err(HistoryError::io("read", &index))?;
        if objects_of(&bytes).contains(&id) {
            packs.push((index, bytes));
        }
    }
    Ok(packs)
}

pub(crate) fn exists(repository: &Repository, id: Oid) -> bool {
    repository.odb().is_ok_and(|odb| odb.exists_ext(id, OdbLookupFlags::NO_REFRESH))
}

fn is_readable(repository: &Repository, id: Oid) -> bool {
    repository.odb().is_ok_and(|odb| LooseObjects::new(repository).read(&odb, id).is_ok())
}

/// Whether the file of an object holds what its name says.
fn is_intact(file: &Path, id: Oid) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| ZlibDecoder::new(file).read_to_end(&mut bytes));
    read.is_ok() && id_of(&bytes) == Some(id)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, HistoryError> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    entries.map_err(HistoryError::io("list", folder))
}

/// Overwrites nothing.
fn move_aside(repository: &Repository, file: &Path, name: &str) -> Result<(), HistoryError> {
    let lost = repository.commondir().join("lost-found").join("sprag");
    fs::create_dir_all(&lost).map_err(HistoryError::io("create the folder", &lost))?;
    let mut place = lost.join(name);
    for number in 1.. {
        if !place.exists() {
            break;
        }
        place = lost.join(format!("{name}.{number}"));
    }
    fs::rename(file, &place).map_err(HistoryError::io("rename to", &place))
}

/// The ids in an index of version 2, by `gitformat-pack(5)`; none of an older one.
fn objects_of(index: &[u8]) -> Vec<Oid> {
    let count = index.get(8 + 255 * 4..8 + 256 * 4).and_then(|count| count.try_into().ok()).map(u32::from_be_bytes);
    let ids = index.get(8 + 256 * 4..8 + 256 * 4 + 20 * count.unwrap_or(0) as usize).unwrap_or_default();
    let has_ids = index.starts_with(b"\xfftOc\0\0\0\x02");
    ids.chunks_exact(20).filter(|_| has_ids).filter_map(|id| Oid::from_bytes(id).ok()).collect()
}

/// Packs what can be read of a pack, and moves its files, unless all can be read.
fn set_pack_aside(repository: &Repository, index: &Path, bytes: &[u8]) -> Result<Option<String>, HistoryError> {
    let refused = || failed("pack what can be read of a damaged pack");
    let objects = repository.commondir().join("objects");
    let (packs, stem, ids) = (objects.join("pack"), index.with_extension(""), objects_of(bytes));
    let staging = tempfile::Builder::new().prefix("tmp_objdir-sprag-").tempdir_in(&objects);
    let staging = staging.map_err(HistoryError::io("write in", &objects))?;
    // In a repository of its own, no sound copy of an object hides a damaged one.
    let mut options = RepositoryInitOptions::new();
    let alone = Repository::init_opts(staging.path().join("alone"), options.bare(true).external_template(false));
    let alone = alone.map_err(refused())?;
    let copy = alone.path().join("objects").join("pack").join(stem.file_name().unwrap_or_default());
    fs::write(copy.with_extension("idx"), bytes).map_err(HistoryError::io("write", &copy))?;
    let pack = index.with_extension("pack");
    // libgit2 opens no pack whose header or checksum is lost, as after a cut.
    let write = || {
        let (mut from, mut to) = (File::open(&pack)?, File::create(copy.with_extension("pack"))?);
        to.write_all(b"PACK\0\0\0\x02")?;
        to.write_all(&(ids.len() as u32).to_be_bytes())?;
        from.seek(SeekFrom::Start(12))?;
        io::copy(&mut from, &mut to)?;
        to.write_all(&bytes[bytes.len().saturating_sub(40)..bytes.len().saturating_sub(20)])
    };
    write().map_err(HistoryError::io("copy", &pack))?;
    let odb = alone.odb().map_err(refused())?;
    let mut builder = alone.packbuilder().map_err(refused())?;
    for id in ids.iter().filter(|id| odb.read(**id).is_ok()) {
        builder.insert_object(*id, None).map_err(refused())?;
    }
    let count = builder.object_count();
    if count == ids.len() {
        return Ok(None);
    }
    if count > 0 {
        builder.write(staging.path(), 0o444).map_err(refused())?;
        let name = format!("pack-{}", builder.name().ok().flatten().unwrap_or_default());
        if stem.with_extension("promisor").exists() {
            let marker = packs.join(&name).with_extension("promisor");
            fs::write(&marker, "").map_err(HistoryError::io("write", &marker))?;
        }
        for ending in ["pack", "idx"] {
            let (from, to) = (staging.path().join(&name), packs.join(&name).with_extension(ending));
            let sync = File::open(from.with_extension(ending)).and_then(|file| file.sync_all());
            sync.and_then(|()| fs::rename(from.with_extension(ending), &to)).map_err(HistoryError::io("write", &to))?;
        }
    }
    sync_folder(&packs)?;
    // Without its index, git ignores a pack. An index of several packs is one more cache.
    let is_part = |file: &PathBuf| file.with_extension("") == stem || file.ends_with("multi-pack-index");
    let mut parts: Vec<PathBuf> = files(&packs)?.into_iter().filter(is_part).collect();
    parts.sort_by_key(|file| file.extension() != Some("idx".as_ref()));
    for part in parts {
        move_aside(repository, &part, &part.file_name().unwrap_or_default().to_string_lossy())?;
    }
    let name = stem.file_name().unwrap_or_default().to_string_lossy();
    Ok(Some(format!(
        "moved the damaged `{name}` to {PLACE}, and packed the {count} of its {} objects that can be read",
        ids.len()
    )))
}

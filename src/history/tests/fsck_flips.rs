//! One flipped bit anywhere in a record or in an object of git is seen.
//!
//! `SPRAG_LONG_TESTS=1` tries 10,000 of them.

use std::collections::BTreeSet;
use std::fs;

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Signature, Time};

use super::fsck_fixture::{checked, history};
use crate::fsck::content::{Judged, judge};
use crate::testing::{Fixture, minute, rounds, run};
use crate::{Record, fsck, target};
use sprag_base::digest::Digest;
use sprag_model::event_record::example::opened;
use sprag_model::fsck::{FsckStatus, Severity};

/// How many bits of records are flipped.
fn flips() -> u64 {
    rounds(400, 10_000)
}

/// A number below `end` that follows from the seed.
fn pick(seed: u64, end: usize) -> usize {
    let digest = Digest::from_parts(&[&seed.to_be_bytes()]);
    let bytes: [u8; 8] = digest.0[..8].try_into().unwrap();
    (u64::from_be_bytes(bytes) % end as u64) as usize
}

fn flip(bytes: &mut [u8], seed: u64) {
    let bit = pick(seed, bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// The records of this project, and of the tests.
fn records() -> Vec<(String, Vec<u8>)> {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut found = Vec::new();
    let mut folders = vec![root.join("history/v1")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "json") {
                let path = entry.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                found.push((path, fs::read(&entry).unwrap()));
            }
        }
    }
    found.sort();
    let own = [Record::from_run(&run(1)), Record::from_event(&opened(1))];
    found.extend(own.map(|Record { path, bytes, .. }| (path, bytes)));
    found
}

#[test]
fn every_flip_in_real_records_is_seen() {
    let records = records();
    let is_usable = |(path, bytes): &(String, Vec<u8>)| matches!(judge(path, bytes), Judged::Run(_) | Judged::Event);
    assert!(records.len() > 10 && records.iter().all(is_usable));
    for seed in 0..flips() {
        let (path, bytes) = &records[seed as usize % records.len()];
        let mut bytes = bytes.clone();
        flip(&mut bytes, seed);
        assert!(matches!(judge(path, &bytes), Judged::Bad(..)), "flip {seed} of `{path}`");
    }
}

#[test]
fn every_flip_in_a_history_is_named() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let repository = &store.repository;
    let (mut update, mut paths) = (TreeUpdateBuilder::new(), BTreeSet::new());
    for seed in 0..flips() {
        let mut record = Record::from_run(&run(seed as i64));
        flip(&mut record.bytes, seed);
        update.upsert(record.path.as_str(), repository.blob(&record.bytes).unwrap(), FileMode::Blob);
        paths.insert(record.path);
    }
    let parent = repository.head().unwrap().peel_to_commit().unwrap();
    let tree = update.create_updated(repository, &parent.tree().unwrap()).unwrap();
    let tree = repository.find_tree(tree).unwrap();
    let author = Signature::new("Ada", "ada@example.com", &Time::new(1_767_700_000, 0)).unwrap();
    repository.commit(Some("HEAD"), &author, &author, "Flip", &tree, &[&parent]).unwrap();
    let report = fsck(&store, &target(&store, None).unwrap(), minute(60 * 24 * 30), None).unwrap();
    let damage = report.findings.iter().filter(|finding| finding.severity == Severity::Damage);
    let named: BTreeSet<String> = damage.filter_map(|finding| finding.path.clone()).collect();
    assert_eq!(named, paths);
    assert_eq!((report.runs, report.entries), (0, 0));
}

#[test]
fn every_flip_in_an_object_of_git_is_seen() {
    let fixture = history();
    let place = fixture.object(&format!("HEAD:{}", Record::from_run(&run(1)).path));
    let sound = fs::read(&place).unwrap();
    let bytes = checked(&fixture).root;
    let mut unharmed = 0;
    let flips = rounds(20, 400);
    for seed in 0..flips {
        let mut broken = sound.clone();
        flip(&mut broken, seed);
        fs::remove_file(&place).unwrap();
        fs::write(&place, &broken).unwrap();
        let report = checked(&fixture);
        // Some bits of a compressed stream stand for nothing: the content is then the same.
        if report.status == FsckStatus::Clean {
            assert_eq!((report.runs, report.root), (3, bytes));
            unharmed += 1;
        } else {
            assert_eq!(report.status, FsckStatus::Damaged);
        }
    }
    assert!(unharmed <= flips.div_ceil(20), "{unharmed} flips changed nothing");
}

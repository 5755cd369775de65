//! How git packs a history changes nothing of what is read from it, nor in which order it is given.

use crate::testing::{Fixture, minute, run};
use crate::{FolderCache, Record, append, fsck, list, list_cached, read, target};

/// More records than are read in the order given without a look at the packs.
const RECORDS: i64 = 90;

#[test]
fn what_is_read_and_found_is_the_same_however_the_history_is_packed() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let records: Vec<Record> = (0..RECORDS).map(|number| Record::from_run(&run(number))).collect();
    let (first, last) = records.split_at(60);
    append(&store, &target, first, minute(0)).unwrap();
    // Files that are no records, among those that are.
    for number in [7, 60, 33] {
        let record = Record::from_run(&run(1000 + number));
        fixture.write(&record.path, &String::from_utf8_lossy(&record.bytes[..100 + number as usize]));
    }
    fixture.git(&["add", "--all"]);
    fixture.git(&["commit", "--quiet", "-m", "Change the history"]);
    append(&store, &target, last, minute(1)).unwrap();
    let seen = || {
        let store = fixture.store();
        let entries = list(&store, &target).unwrap().entries;
        let read = read(&store, &entries).unwrap();
        let paths: Vec<String> = read
            .iter()
            .map(|record| record.as_ref().map_or_else(|bad| bad.path.clone(), |good| good.path.clone()))
            .collect();
        assert!(paths.iter().eq(entries.iter().map(|entry| &entry.path)));
        let loaded = fixture.load();
        let found = fsck(&store, &target, minute(2), None).unwrap().findings;
        (read, loaded.runs.len(), loaded.quarantined, found)
    };
    let before = seen();
    assert_eq!((before.1, before.2.len()), (RECORDS as usize, 3));
    assert!(before.3.len() >= 3, "{:?}", before.3);
    for arguments in [&["repack", "-dq"][..], &["repack", "-adq"], &["repack", "-adfq", "--depth=1"]] {
        fixture.git(arguments);
        assert_eq!(seen(), before, "{arguments:?}");
    }
}

#[test]
fn folders_that_are_known_are_listed_as_they_are() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let add = |numbers: std::ops::Range<i64>| {
        let records: Vec<Record> = numbers.clone().map(|number| Record::from_run(&run(number))).collect();
        append(&store, &target, &records, minute(numbers.start)).unwrap();
    };
    let read = |known: &FolderCache| {
        let (listing, news) = list_cached(&store, &target, known.clone()).unwrap();
        assert_eq!(listing, list(&store, &target).unwrap());
        news
    };
    assert_eq!(read(&FolderCache::default()), None, "there is no history");
    add(0..9);
    let first = read(&FolderCache::default()).expect("something is new");
    assert_eq!(FolderCache::from_text(&first.to_text()).as_ref(), Some(&first));
    assert_eq!(read(&first), None);
    add(9..12);
    let second = read(&first).expect("something is new");
    assert_ne!(second, first);
    assert_eq!(read(&second), None);
    // A folder that holds something else is read each time, as what is odd about it has to be told.
    let path = Record::from_run(&run(0)).path;
    let folder = path.rsplit_once('/').unwrap().0;
    fixture.write(&format!("{folder}/notes.txt"), "mine");
    fixture.git(&["add", "--all"]);
    fixture.git(&["commit", "--quiet", "-m", "Add notes"]);
    let third = read(&second).expect("something is new");
    assert_eq!(list(&store, &target).unwrap().quarantined.len(), 1);
    assert_eq!(third.len(), second.len() - 1);
    assert_eq!(read(&third), None);
}

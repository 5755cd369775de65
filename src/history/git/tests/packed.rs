//! How git packs a history changes nothing of what is read from it, nor in which order it is given.

use super::super::testing::{Fixture, minute, run};
use super::super::{Record, append, fsck, list, load, read, target};

/// More records than are read in the order given without a look at the packs.
const RECORDS: i64 = 90;

#[test]
fn what_is_read_and_found_is_the_same_however_the_history_is_packed() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let records: Vec<Record> = (0..RECORDS).map(|number| Record::of(&run(number))).collect();
    let (first, last) = records.split_at(60);
    append(&store, &target, first, minute(0)).unwrap();
    // Files that are no records, among those that are.
    for number in [7, 60, 33] {
        let record = Record::of(&run(1000 + number));
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
        let loaded = load(&store, &target).unwrap();
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

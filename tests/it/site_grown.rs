//! A site that grows with its history: each time what a clean build gives, and no file is written that need not be.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::sandbox::Sandbox;

/// The files below a folder, by path: what identifies the file on the disk, and its bytes.
fn files(folder: &Path) -> BTreeMap<String, (u64, Vec<u8>)> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder of the site") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("it lies below").to_string_lossy().into_owned();
            let inode = fs::metadata(&path).expect("a file").ino();
            files.insert(name, (inode, fs::read(&path).expect("a file of the site")));
        }
    }
    files
}

/// Renders the site over what is there and gives its files, after it was held against a clean build in another place.
fn rendered(sandbox: &Sandbox, what: &str) -> BTreeMap<String, (u64, Vec<u8>)> {
    sandbox.sprag(&["site"]).expect(0);
    let clean = sandbox.project.with_file_name("clean");
    let _ = fs::remove_dir_all(&clean);
    let there = clean.to_string_lossy().into_owned();
    sandbox.sprag_with(&[("SPRAG_CACHE", "off")], &["site", "--out", &there]).expect(0);
    let (grown, clean) = (files(&sandbox.project.join("_site")), files(&clean));
    assert!(grown.keys().eq(clean.keys()), "{what}: other pages");
    for (path, (_, bytes)) in &clean {
        assert!(grown[path].1 == *bytes, "{what}: {path} is not what a clean build gives");
    }
    grown
}

/// The paths of which the bytes differ.
fn changed(before: &BTreeMap<String, (u64, Vec<u8>)>, after: &BTreeMap<String, (u64, Vec<u8>)>) -> Vec<String> {
    let differs =
        |path: &&String| before.get(*path).map(|(_, bytes)| bytes) != after.get(*path).map(|(_, bytes)| bytes);
    after.keys().filter(differs).cloned().collect()
}

/// Fails where a file that is as it was is another one on the disk.
fn nothing_was_written_twice(before: &BTreeMap<String, (u64, Vec<u8>)>, after: &BTreeMap<String, (u64, Vec<u8>)>) {
    for (path, (inode, bytes)) in after {
        if before.get(path).is_some_and(|(_, known)| known == bytes) && path != ".sprag-site" {
            assert_eq!(before[path].0, *inode, "{path} was written though it did not change");
        }
    }
}

#[test]
fn a_grown_site_is_what_a_clean_build_gives() {
    let sandbox = Sandbox::empty();
    sprag_pipeline::demo::generate(&sandbox.project, 2).expect("the demo is generated");
    let newest = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~3"]);
    let mut before = rendered(&sandbox, "the first months");
    for back in [2, 1, 0] {
        sandbox.git(&["reset", "-q", "--hard", &format!("{newest}~{back}")]);
        let after = rendered(&sandbox, "a month more");
        assert!(!changed(&before, &after).is_empty(), "a month changed nothing");
        nothing_was_written_twice(&before, &after);
        before = after;
    }
    let again = rendered(&sandbox, "nothing new");
    assert_eq!(changed(&before, &again), Vec::<String>::new());
    nothing_was_written_twice(&before, &again);
}

#[test]
fn whatever_a_site_is_made_of_changes_it() {
    let sandbox = Sandbox::empty();
    sprag_pipeline::demo::generate(&sandbox.project, 2).expect("the demo is generated");
    let mut before = rendered(&sandbox, "as it is");
    let mut expect = |what: &str, page: &str| {
        let after = rendered(&sandbox, what);
        let changed = changed(&before, &after);
        assert!(changed.iter().any(|path| path.starts_with(page)), "{what} changed {changed:?} and not {page}");
        nothing_was_written_twice(&before, &after);
        before = after;
        changed.len()
    };
    let newest = sandbox.git(&["rev-parse", "HEAD"]);
    let toml = sandbox.read("sprag.toml");
    sandbox.write("sprag.toml", &format!("{toml}\n[schedule]\nevery_days = 3\n"));
    expect("the configuration", "index.html");
    let baseline = fs::read_dir(sandbox.project.join("baselines")).expect("there are baselines").next();
    fs::remove_file(baseline.expect("there is one").expect("an entry").path()).expect("a baseline");
    expect("a baseline that is gone", "index.html");
    sandbox.git(&["tag", "v9.9.9"]);
    expect("a tag", "compare/");
    let old = sandbox.git(&["rev-list", "--max-parents=0", "HEAD"]);
    sandbox.git(&["tag", "v0.0.0", &old]);
    expect("a tag of an old commit", "");
    sandbox.sprag(&["trend", "--record"]).expect(0);
    expect("records of events", "index.html");
    let events = files(&sandbox.project.join("_site/events"));
    let open = events.iter().find(|(_, (_, bytes))| String::from_utf8_lossy(bytes).contains("[[accept]]"));
    let event = open.expect("an event is open").0.trim_end_matches(".html");
    sandbox.write(
        "ledger/accepted.toml",
        &format!(
            "[[accept]]\nevent = \"{event}\"\nscope = \"event\"\nat_most = 9.0\nreason = \"It saves memory.\"\n\
             author = \"Ada\"\ndate = \"2020-01-01\"\ncommit = \"{newest}\"\nexpires = \"2099-12-31\"\n"
        ),
    );
    expect("an event that is accepted", "series/");
    sandbox.write("sprag.toml", &format!("{toml}\n[schedule]\nevery_days = 4\n"));
    expect("how often runs are due", "series/");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "Say nothing"]);
    fs::write(sandbox.project.join("code.rs"), "// code\n").expect("a file");
    sandbox.commit("Begin to say something");
    rendered(&sandbox, "a commit");
    sandbox.git(&["commit", "-q", "--amend", "-m", "Say something else"]);
    rendered(&sandbox, "another subject of a commit");
}

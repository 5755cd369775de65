//! The cache of decoded runs: the site is the same with it, without it and after damage.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::demo::repository;
use crate::sandbox::{Sandbox, assert_contains, files as all_files};

/// The first two months of the demo.
fn project() -> Sandbox {
    let sandbox = repository();
    sandbox.git(&["reset", "-q", "--hard", "HEAD~4"]);
    sandbox
}

fn cache(sandbox: &Sandbox) -> PathBuf {
    sandbox.project.join(".sprag/cache")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

fn runs(sandbox: &Sandbox) -> PathBuf {
    cache(sandbox).join("runs")
}

fn site(sandbox: &Sandbox, variables: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    sandbox.sprag_with(variables, &["site", "--out", "site"]).expect(0);
    let pages = all_files(&sandbox.project.join("site"));
    assert!(pages.len() > 20, "{}", pages.len());
    pages
}

#[test]
fn a_site_is_the_same_with_and_without_the_cache() {
    let sandbox = project();
    let expected = site(&sandbox, &[("SPRAG_CACHE", "off")]);
    assert!(!cache(&sandbox).exists(), "a cache was made where there should be none");
    let check = |what: &str| assert!(site(&sandbox, &[]) == expected, "{what}");
    check("cold");
    let (first, all) = (runs(&sandbox), files(&cache(&sandbox)));
    assert!(all.contains(&first) && all.len() == 4, "{all:?}");
    check("warm");
    assert_eq!(files(&cache(&sandbox)), all, "nothing new was kept");

    // The unit tests of the cache damage it in more ways.
    let mut bytes = fs::read(&first).expect("the file is there");
    let third = bytes.len() / 3;
    bytes[third] ^= 4;
    fs::write(&first, bytes).expect("the file can be written");
    check("after damage");
    fs::write(cache(&sandbox).join("notes.txt"), "mine").expect("a file");
    fs::remove_file(&first).expect("the file goes");
    check("after it was deleted");
    assert_eq!(files(&cache(&sandbox)).len(), all.len() + 1, "what is not ours stays");

    fs::remove_dir_all(cache(&sandbox)).expect("the folder goes");
    fs::write(cache(&sandbox), "in the way").expect("a file");
    check("where no cache can be");
}

#[test]
fn what_is_new_is_added_and_what_is_gone_is_not_seen() {
    let sandbox = project();
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let expected = site(&sandbox, &[("SPRAG_CACHE", "off")]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let before = site(&sandbox, &[("SPRAG_CACHE", "off")]);
    assert!(site(&sandbox, &[]) == before, "cold");
    let first = fs::read(runs(&sandbox)).expect("a file");
    sandbox.git(&["reset", "-q", "--hard", &tip]);
    assert!(site(&sandbox, &[]) == expected, "half warm");
    assert!(fs::read(runs(&sandbox)).expect("a file").len() > first.len(), "the new runs are added");
    assert!(site(&sandbox, &[]) == expected, "warm");
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert!(site(&sandbox, &[]) == before, "the newest runs are gone");
}

#[test]
fn damaged_caches_and_pages_are_rebuilt() {
    let sandbox = project();
    let expected = site(&sandbox, &[("SPRAG_CACHE", "off")]);
    assert!(site(&sandbox, &[]) == expected, "cold");
    let flip = |path: &Path| {
        let mut bytes = fs::read(path).expect("the file is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).expect("the file can be written");
    };
    for name in ["commits", "detections", "folders"] {
        flip(&cache(&sandbox).join(name));
        assert!(site(&sandbox, &[]) == expected, "{name}");
    }
    for folder in ["runs", "series"] {
        let pages = files(&sandbox.project.join("site").join(folder));
        flip(&pages[0]);
        fs::remove_file(&pages[1]).expect("a page goes");
        let checked = sandbox.ends(1, &["site", "--out", "site", "--check"]).out;
        let (differs, missing) = (format!("differs: {folder}/"), format!("missing: {folder}/"));
        assert_contains(&checked, &[&differs, &missing]);
        assert!(site(&sandbox, &[]) == expected, "pages that are not what was rendered are rendered again");
    }
    sandbox.ends(0, &["site", "--out", "site", "--check"]);
}

#[test]
fn commands_at_one_time_do_one_another_no_harm() {
    let sandbox = project();
    let mut commands: Vec<_> = (0..4).map(|_| sandbox.start(&["history", "cache"])).collect();
    for command in &mut commands {
        assert!(command.wait().expect("it ends").success());
    }
    assert_eq!(files(&cache(&sandbox)).len(), 2, "runs, and what folders list");
    let warm = sandbox.ends(0, &["history", "cache"]).out;
    assert_contains(&warm, &["kept in 1 file"]);
    let without = sandbox.sprag_with(&[("SPRAG_CACHE", "off")], &["history", "cache"]).expect(0).out;
    assert_eq!(warm.lines().next(), without.lines().next());
    assert_contains(&without, &["no cache is kept"]);
}

#[test]
fn a_cached_run_whose_record_was_damaged_is_quarantined() {
    let sandbox = project();
    sandbox.ends(0, &["history", "cache"]);
    let time = |path: &String| {
        let run = sandbox.json(path);
        run["timestamp_utc"].as_str().expect("a record has a time").to_owned()
    };
    let mut records = sandbox.records("main");
    records.sort_by_key(time);
    let lose = |path: &String| {
        let blob = sandbox.git(&["rev-parse", &format!("HEAD:{path}")]);
        let object = sandbox.project.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
        fs::remove_file(object).expect("the object is loose");
    };
    // What is judged is read from git, not from the cache.
    lose(&records[records.len() - 1]);
    let expected = site(&sandbox, &[("SPRAG_CACHE", "off")]);
    assert!(site(&sandbox, &[]) == expected);
    // So is what is only shown.
    lose(&records[0]);
    sandbox.ends(2, &["site", "--out", "other"]).says(&["cannot render the site", "SPRAG_CACHE=off"]);
    sandbox.sprag_with(&[("SPRAG_CACHE", "off")], &["site", "--out", "other"]).expect(0);
}

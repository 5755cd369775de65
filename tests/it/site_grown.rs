//! A site that grows with its history equals a clean build, and unchanged files are not written.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::crafted::{BASELINE, Crafted};
use crate::demo::repository;
use crate::sandbox::{Sandbox, files};

/// Inode and bytes of the files of a site, by path.
type Files = BTreeMap<String, (u64, Vec<u8>)>;

/// Renders the site, compares it with a clean build in another place and gives its files.
fn rendered(sandbox: &Sandbox, what: &str) -> Files {
    sandbox.ends(0, &["site"]);
    let clean = sandbox.project.with_file_name("clean");
    let _ = fs::remove_dir_all(&clean);
    let there = clean.to_string_lossy().into_owned();
    sandbox.sprag_with(&[("SPRAG_CACHE", "off")], &["site", "--out", &there]).expect(0);
    let site = sandbox.project.join("_site");
    let (grown, clean) = (files(&site), files(&clean));
    assert!(grown.keys().eq(clean.keys()), "{what}: other pages");
    for (path, bytes) in &clean {
        assert!(grown[path] == *bytes, "{what}: {path} is not what a clean build gives");
    }
    let with_inode = |(path, bytes)| {
        let inode = fs::metadata(site.join(&path)).expect("a file").ino();
        (path, (inode, bytes))
    };
    grown.into_iter().map(with_inode).collect()
}

fn changed(before: &Files, after: &Files) -> Vec<String> {
    let differs =
        |path: &&String| before.get(*path).map(|(_, bytes)| bytes) != after.get(*path).map(|(_, bytes)| bytes);
    after.keys().filter(differs).cloned().collect()
}

/// Fails if a file with unchanged bytes was written.
fn nothing_was_written_twice(before: &Files, after: &Files) {
    for (path, (inode, bytes)) in after {
        if before.get(path).is_some_and(|(_, earlier)| earlier == bytes) && path != ".sprag-site" {
            assert_eq!(before[path].0, *inode, "{path} was written though it did not change");
        }
    }
}

#[test]
fn an_incremental_site_equals_a_clean_build() {
    let sandbox = repository();
    let newest = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~5"]);
    let mut before = rendered(&sandbox, "the first months");
    for back in [4, 3] {
        sandbox.git(&["reset", "-q", "--hard", &format!("{newest}~{back}")]);
        let after = rendered(&sandbox, "a month more");
        assert!(!changed(&before, &after).is_empty(), "a month changed nothing");
        nothing_was_written_twice(&before, &after);
        before = after;
    }
    let after = rendered(&sandbox, "nothing new");
    assert_eq!(changed(&before, &after), Vec::<String>::new());
    nothing_was_written_twice(&before, &after);
}

#[test]
fn a_series_has_a_page_while_its_change_is_new() {
    let crafted = Crafted::new();
    let toml = crafted.read("sprag.toml");
    let configure = |more: &str| crafted.write("sprag.toml", &format!("{toml}\n[site]\npages = \"changed\"\n{more}"));
    let pages = |what: &str| -> String {
        let files = rendered(&crafted, what).into_keys().filter(|path| path.starts_with("series/"));
        files.filter(|path| !path.ends_with("/index.html")).collect::<Vec<String>>().join(" ")
    };
    let change = |day: i64| {
        let wobble = 1.0 + 0.001 * (day * 7 % 5) as f64;
        let scan = if day <= 12 { 2e-3 } else { 1e-3 };
        crafted.change(day, &[("pack", 1e-3 * wobble), ("scan", scan * wobble)]);
    };
    configure("");
    (1..=24).for_each(change);
    let new = pages("a new change");
    assert!(new.contains("scan") && !new.contains("pack") && new.ends_with("series/view.html"), "{new}");
    change(60);
    assert_eq!(pages("a change of two months ago"), "series/view.html");
    let rest = crafted.read("_site/data/rest-0.js");
    assert!(rest.contains("pack") && rest.contains("scan"), "{rest}");
    crafted.ends(0, &["site", "--check"]);
    configure("series = [\"/pack\", \"nothing of it\"]\n");
    let asked = pages("a series that is asked for");
    assert!(asked.contains("pack") && !asked.contains("scan"), "{asked}");
    crafted.ends(0, &["site"]).says(&["no series contains `nothing of it`, which `[site] series` asks for"]);
    crafted.write("sprag.toml", &toml);
    let all = pages("all");
    assert!(all.contains("pack") && all.contains("scan") && !all.contains("view.html"), "{all}");
}

#[test]
fn whatever_a_site_is_made_of_changes_it() {
    let crafted = Crafted::new();
    for day in 1..=24 {
        let wobble = 1.0 + 0.001 * (day * 7 % 5) as f64;
        let pack = if day <= 12 { 1e-3 } else { 1.5e-3 };
        crafted.change(day, &[("pack", pack * wobble), ("scan", 2e-3 * wobble)]);
    }
    let newest = crafted.measured_commit().sha;
    crafted.ends(0, &["baseline", "emit"]);
    let mut before = rendered(&crafted, "as it is");
    let mut expect = |what: &str, page: &str| {
        let after = rendered(&crafted, what);
        let changed = changed(&before, &after);
        assert!(changed.iter().any(|path| path.starts_with(page)), "{what} changed {changed:?} and not {page}");
        nothing_was_written_twice(&before, &after);
        before = after;
    };
    let toml = crafted.read("sprag.toml");
    crafted.write("sprag.toml", &format!("{toml}\n[schedule]\nevery_days = 3\n"));
    expect("the configuration", "index.html");
    crafted.remove(BASELINE);
    expect("a baseline that is gone", "index.html");
    crafted.git(&["tag", "v9.9.9"]);
    expect("a tag", "compare/");
    let old = crafted.git(&["rev-list", "--max-parents=0", "HEAD"]);
    crafted.git(&["tag", "v0.0.0", &old]);
    expect("a tag of an old commit", "");
    crafted.ends(0, &["trend", "--record"]).says(&["recorded 1 change"]);
    rendered(&crafted, "records of events");
    let events = files(&crafted.project.join("_site/events"));
    let open = events.iter().find(|(_, bytes)| String::from_utf8_lossy(bytes).contains("[[accept]]"));
    let event = open.expect("an event is open").0.trim_end_matches(".html");
    crafted.write(
        "ledger/accepted.toml",
        &format!(
            "[[accept]]\nevent = \"{event}\"\nscope = \"event\"\nat_most = 9.0\nreason = \"It saves memory.\"\n\
             author = \"Ada\"\ndate = \"2020-01-01\"\ncommit = \"{newest}\"\nexpires = \"2099-12-31\"\n"
        ),
    );
    expect("an event that is accepted", "series/");
    crafted.write("sprag.toml", &format!("{toml}\n[schedule]\nevery_days = 4\n"));
    expect("how often runs are due", "series/");
    crafted.git(&["commit", "-q", "--allow-empty", "-m", "Say nothing"]);
    fs::write(crafted.project.join("code.rs"), "// code\n").expect("a file");
    crafted.commit("Begin to say something");
    rendered(&crafted, "a commit");
    crafted.git(&["commit", "-q", "--amend", "-m", "Say something else"]);
    rendered(&crafted, "another subject of a commit");
}

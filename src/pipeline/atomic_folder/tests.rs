//! A folder takes the place of one of its kind, and of nothing else.

use super::*;

const SITE: FolderKind = FolderKind { name: "site", marker: ".sprag-site" };

#[test]
fn a_site_replaces_a_site_and_nothing_else() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = root.path().join("deep/_site");
    SITE.check(&folder).expect("a folder that is not there is free");
    fs::create_dir_all(parent(&folder)).expect("a folder");
    let new = root.path().join("aside/new");
    make_folder(&new.join("series")).expect("a folder");
    write_file(&new.join("index.html"), b"1").expect("a page");
    write_file(&new.join("series/a.html"), b"a").expect("a page");
    put(SITE, &new, &folder).expect("the first site");
    let new = root.path().join("aside/newer");
    make_folder(&new).expect("a folder");
    write_file(&new.join("index.html"), b"2").expect("a page");
    put(SITE, &new, &folder).expect("the second site");
    assert_eq!(fs::read_to_string(folder.join("index.html")).expect("a page"), "2");
    assert!(!folder.join("series").exists(), "a page that is gone stays");
    assert_eq!(fs::read_dir(root.path().join("deep")).expect("a folder").count(), 1, "something is left beside");
    for stranger in [".git", "CNAME", ".nojekyll"] {
        write_file(&folder.join(stranger), b"").expect("a file");
        let error = SITE.check_replaceable(&folder).expect_err("it would be lost").to_string();
        assert!(error.contains(stranger), "{error}");
        SITE.check(&folder).expect("it may be read");
        fs::remove_file(folder.join(stranger)).expect("a file");
    }
    make_folder(&folder.join("series/mine")).expect("a folder");
    for stranger in ["notes.txt", "series/a.html", "series/mine/b.html"] {
        write_file(&folder.join(stranger), b"").expect("a file");
        let error = SITE.check_replaceable(&folder).expect_err("it would be lost").to_string();
        assert!(error.contains(&format!("`{stranger}`")), "{error}");
        fs::remove_file(folder.join(stranger)).expect("a file");
    }
    // A version that listed nothing made this one.
    let listed = fs::read(folder.join(SITE.marker)).expect("the marker");
    write_file(&folder.join(SITE.marker), b"This folder was made by sprag.\n").expect("a file");
    write_file(&folder.join("CNAME"), b"").expect("a file");
    assert!(SITE.check_replaceable(&folder).is_err(), "it would be lost");
    fs::remove_file(folder.join("CNAME")).expect("a file");
    write_file(&folder.join("old.html"), b"").expect("a file");
    SITE.check_replaceable(&folder).expect("nobody knows whose it is");
    fs::remove_file(folder.join("old.html")).expect("a file");
    write_file(&folder.join(SITE.marker), &listed).expect("a file");
    SITE.check_replaceable(&folder).expect("our own site may be replaced");
    for place in [".git", ".git/hooks", ".git/hooks/_site"] {
        let error = SITE.check_replaceable(&root.path().join(place)).expect_err("it is git's").to_string();
        assert!(error.contains("lies in `.git`"), "{place}: {error}");
    }
    make_folder(&root.path().join(".git/trees/one")).expect("a folder");
    write_file(&root.path().join(".git/trees/one/.git"), b"gitdir: ../../worktrees/one").expect("a file");
    SITE.check_replaceable(&root.path().join(".git/trees/one/_site")).expect("a worktree is its user's");
    let other = FolderKind { name: "export", marker: ".sprag-export" };
    assert!(other.check(&folder).is_err(), "a site is no export");
}

#[test]
fn a_file_is_taken_over_where_it_is_the_same() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let (old, new) = (root.path().join("old"), root.path().join("new/deep/page"));
    fs::write(&old, "one").expect("a file");
    make_folder(parent(&new)).expect("a folder");
    assert!(!take_over(&old, &new, b"two") && !take_over(&old, &new, b"one and more") && !new.exists());
    assert!(take_over(&old, &new, b"one"));
    assert_eq!(fs::read(&new).expect("it is linked"), b"one");
    // Only a file of the folder itself: what a link leads to is somebody else's.
    #[cfg(unix)]
    {
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&old, &link).expect("a link");
        assert!(!take_over(&link, &root.path().join("other"), b"one"));
    }
    assert!(!take_over(&root.path().join("absent"), &root.path().join("other"), b"one"));
}

#[test]
fn foreign_files_are_left_alone() {
    let root = tempfile::tempdir().expect("a temporary folder");
    fs::write(root.path().join("thesis.tex"), "mine").expect("a file");
    let error = SITE.check(root.path()).expect_err("the folder is not ours");
    assert!(error.to_string().contains("no site of sprag"), "{error}");
    assert!(SITE.check(&root.path().join("thesis.tex")).is_err());
}

//! `history sync`: clones that share a history through a remote.

use crate::clones::Clones;

#[test]
fn two_clones_come_to_the_same_history() {
    let clones = Clones::new();
    clones.record("a", 1);
    clones.record("b", 2);
    clones.record("b", 3);
    let ended = clones.sync("a", &[]).expect(0);
    assert_eq!(ended.out, "origin/main: sent 1 record, received nothing (1 attempt)\n");
    let dry = clones.sync("b", &["--dry-run"]).expect(0);
    let paths: Vec<String> = clones.records("b").iter().map(|path| format!("  {path}\n")).collect();
    assert_eq!(dry.out, format!("origin/main: would send 2 records and receive 1 record\n{}", paths.concat()));
    assert_eq!(clones.records("remote.git").len(), 1);
    let ended = clones.sync("b", &[]).expect(0);
    assert_eq!(ended.out, "origin/main: sent 2 records, received 1 record (1 attempt)\n");
    let ended = clones.sync("a", &[]).expect(0);
    assert_eq!(ended.out, "origin/main: sent nothing, received 2 records (1 attempt)\n");
    clones.agree(&["a", "b"], 3);
    let ended = clones.sync("a", &[]).expect(0);
    assert_eq!(ended.out, "origin/main: sent nothing, received nothing (1 attempt)\n");
    assert_eq!(ended.err, "");
    assert_eq!(clones.git("a", &["rev-list", "--merges", "HEAD"]), "");
    assert_eq!(clones.git("a", &["log", "-1", "--format=%s|%an"]), "sprag: 2 records|Tester");
}

#[test]
fn one_writer_pushes_its_own_commits() {
    let clones = Clones::new();
    for number in 0..3 {
        clones.record("a", number);
    }
    let head = clones.git("a", &["rev-parse", "HEAD"]);
    clones.sync("a", &[]).expect(0);
    assert_eq!(clones.git("remote.git", &["rev-parse", "main"]), head);
    assert_eq!(clones.git("a", &["status", "--short", "--branch"]), "## main...origin/main");
}

#[test]
fn a_branch_of_its_own_is_made_at_the_remote() {
    let clones = Clones::new();
    for clone in ["a", "b"] {
        clones.write(clone, ".git/info/exclude", "sprag.toml\n");
        clones.write(clone, "sprag.toml", "[history]\nref = \"perf\"\n");
    }
    let ended = clones.sync("a", &[]).expect(0);
    assert_eq!(ended.out, "origin/perf: sent nothing, received nothing (1 attempt)\n");
    // The two histories have no commit in common.
    clones.record_on("a", Some("perf"), 1);
    clones.record_on("b", Some("perf"), 2);
    clones.sync_each(&["a", "b", "a"]);
    for clone in ["a", "b", "remote.git"] {
        let list = clones.git(clone, &["ls-tree", "-r", "--name-only", "perf"]);
        assert_eq!(list.lines().filter(|path| path.starts_with("history/v1/cpu/")).count(), 2, "{clone}");
        assert_eq!(list.lines().count(), 2, "{clone}");
    }
    clones.add("c", &[]);
    clones.write("c", "sprag.toml", "[history]\nref = \"perf\"\n");
    clones.sync("c", &[]).expect(0);
    assert_eq!(clones.git("c", &["rev-parse", "perf"]), clones.git("a", &["rev-parse", "perf"]));
    assert_eq!(clones.git("a", &["status", "--porcelain"]), "");
}

#[test]
fn a_remote_that_cannot_be_used_is_no_first_push() {
    let clones = Clones::new();
    clones.record("a", 1);
    let before = clones.records("a");
    clones.git("a", &["remote", "set-url", "origin", "../gone.git"]);
    clones.sync("a", &[]).expect(2).says(&["`origin` is not a repository", "gone.git", "hint: the records are safe"]);
    clones.git("a", &["remote", "set-url", "origin", "ssh://localhost:1/x.git"]);
    clones.sync_with("a", &[("GIT_SSH_COMMAND", "false")], &[]).expect(2).says(&["the remote `origin` "]);
    clones.git("a", &["remote", "set-url", "origin", "https://127.0.0.1:1/x.git"]);
    clones.sync("a", &[]).expect(2).says(&["the remote `origin` cannot be "]);
    clones.git("a", &["remote", "set-url", "origin", "ext::sh -c touch% ../marker"]);
    clones.sync("a", &[]).expect(2).says(&["'ext' not allowed"]);
    assert!(!clones.path("marker").exists());
    clones.git("a", &["remote", "remove", "origin"]);
    clones.sync("a", &[]).expect(2).says(&["there is no remote to sync with", "git remote add origin"]);
    clones.sync("a", &["--remote", "--upload-pack=x"]).expect(2).says(&["is not one of them"]);
    assert_eq!(clones.records("a"), before);
    assert_eq!(clones.git("a", &["for-each-ref", "refs/sprag"]), "");
}

#[test]
fn code_is_never_published() {
    let clones = Clones::new();
    clones.write("a", "lib.rs", "fn one() {}\n");
    clones.commit("a", "Add one");
    clones.record("a", 1);
    let before = clones.git("remote.git", &["rev-parse", "main"]);
    let words = ["`main` has 1 commit of code that `origin/main` lacks: `Add one`", "hint: push them yourself"];
    clones.sync("a", &[]).expect(2).says(&words);
    assert_eq!(clones.git("remote.git", &["rev-parse", "main"]), before);
    clones.git("a", &["push", "-q"]);
    clones.sync("a", &[]).expect(0);
    clones.agree(&["a"], 1);
    clones.git("a", &["checkout", "-q", "-b", "topic"]);
    clones.record("a", 2);
    clones.sync("a", &[]).expect(2).says(&["`topic` has 2 commits of code that `origin/topic` lacks"]);
}

#[test]
fn code_at_the_remote_waits_for_its_user() {
    for way in [["pull", "-q", "--rebase"].as_slice(), &["pull", "-q", "--no-rebase", "--no-edit"]] {
        let clones = Clones::new();
        clones.write("b", "lib.rs", "fn two() {}\n");
        clones.commit("b", "Add two");
        clones.git("b", &["push", "-q"]);
        clones.record("a", 1);
        clones.record("a", 2);
        let head = clones.git("a", &["rev-parse", "HEAD"]);
        let ended = clones.sync("a", &[]).expect(0);
        let ended = ended.says(&["`main` stays where it is", "run `git pull --rebase origin main`"]);
        assert_eq!(ended.out, "origin/main: sent 2 records, received nothing (1 attempt)\n");
        assert_eq!(clones.git("a", &["rev-parse", "HEAD"]), head);
        assert_eq!(clones.git("a", &["status", "--porcelain"]), "");
        clones.sync("b", &[]).expect(0);
        clones.record("b", 3);
        clones.sync("b", &[]).expect(0);
        clones.record("a", 4);
        let ended = clones.sync("a", &[]).expect(0);
        assert_eq!(ended.out, "origin/main: sent 1 record, received 1 record (1 attempt)\n");
        clones.git("a", way);
        assert!(clones.path("a/lib.rs").exists());
        clones.sync_each(&["a", "b"]);
        clones.agree(&["a", "b"], 4);
        assert_eq!(clones.git("a", &["rev-parse", "main"]), clones.git("remote.git", &["rev-parse", "main"]));
        let subjects = clones.git("a", &["log", "--format=%s"]);
        assert_eq!(subjects.lines().filter(|subject| *subject == "Add two").count(), 1, "{subjects}");
    }
}

#[test]
fn what_the_user_does_meanwhile_stays() {
    let clones = Clones::new();
    clones.record("a", 1);
    clones.sync("a", &[]).expect(0);
    clones.write("b", "staged", "staged\n");
    clones.git("b", &["add", "staged"]);
    clones.write("b", "README", "changed\n");
    clones.write("b", "untracked", "x\n");
    let status = clones.git("b", &["status", "--porcelain"]);
    clones.record("b", 2);
    clones.sync("b", &[]).expect(0);
    assert_eq!(clones.git("b", &["status", "--porcelain"]), status);
    assert_eq!(clones.records("b").len(), 2);
    for path in clones.records("b") {
        assert!(clones.path("b").join(path).exists());
    }
    // A detached HEAD moves no branch.
    clones.git("b", &["checkout", "-q", "--detach"]);
    clones.sync("b", &[]).expect(2).says(&["HEAD is detached"]);
}

#[test]
fn a_shallow_clone_takes_part() {
    let clones = Clones::new();
    for number in 0..4 {
        clones.record("a", number);
    }
    clones.sync("a", &[]).expect(0);
    clones.add("shallow", &["--depth", "1"]);
    clones.record("shallow", 10);
    clones.record("a", 11);
    clones.sync_each(&["a", "shallow", "a"]);
    clones.agree(&["a", "shallow"], 6);
    assert_eq!(clones.git("shallow", &["rev-parse", "--is-shallow-repository"]), "true");
    // Histories that do not meet: cut off above the record.
    clones.record("shallow", 12);
    clones.record("a", 13);
    clones.sync("a", &[]).expect(0);
    clones.git("shallow", &["fetch", "-q", "--depth", "1", "origin", "main"]);
    let words = ["this shallow clone ends before `main` and `origin/main` meet", "--unshallow"];
    clones.sync("shallow", &[]).expect(2).says(&words);
    clones.git("shallow", &["fetch", "-q", "--unshallow"]);
    clones.sync_each(&["shallow", "a"]);
    clones.agree(&["a", "shallow"], 8);
}

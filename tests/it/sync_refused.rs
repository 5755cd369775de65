//! `history sync` against rivals, refusals, rewritten remotes and hostile checkouts.

use crate::clones::Clones;
use crate::sandbox::assert_contains;

/// A `git` that lets another clone push before each of the first `losses` pushes.
fn rival(clones: &Clones, losses: u32) -> String {
    let real = std::env::var("PATH").expect("there is a search path");
    let bin = clones.path("bin").display().to_string();
    let count = clones.path("count").display().to_string();
    let script = format!(
        "PATH='{real}'\nfor word; do\n  if [ \"$word\" = push ]; then\n    lost=$(cat '{count}' 2>/dev/null || echo 0)\n\
         \x20   if [ \"$lost\" -lt {losses} ]; then\n      echo $((lost + 1)) > '{count}'\n\
         \x20     git -C '{rival}' commit -q --allow-empty -m \"Rival $lost\" && git -C '{rival}' push -q >&2\n\
         \x20   fi\n  fi\ndone\nexec git \"$@\"",
        rival = clones.path("b").display(),
    );
    clones.program("bin/git", &script);
    format!("{bin}:{real}")
}

#[test]
#[cfg(unix)]
fn a_lost_race_is_retried() {
    let clones = Clones::new();
    clones.record("a", 1);
    let path = rival(&clones, 3);
    clones.sync_with("a", &[("PATH", &path)], &[]).expect(0).prints(&["sent 1 record, received nothing (4 attempts)"]);
    assert_eq!(clones.git("remote.git", &["log", "--format=%s", "-2", "main"]).lines().last(), Some("Rival 2"));
    clones.agree(&["a"], 1);
}

#[test]
#[cfg(unix)]
fn a_refusal_is_reported_at_once_with_escapes() {
    let clones = Clones::new();
    clones.record("a", 1);
    clones.remote_hook("pre-receive", "printf 'protected \\033[31mred\\033]0;title\\007\\n' >&2; exit 1");
    let ended = clones.sync("a", &[]).expect(2);
    let words = ["refused them: [remote rejected] (pre-receive hook declined)", "remote: protected \\u{1b}[31mred"];
    let ended = ended.says(&words).says(&["hint: the records are safe on the local branch"]);
    assert!(!ended.err.contains('\u{1b}') && !ended.err.contains('\u{7}'), "{:?}", ended.err);
    assert_eq!((clones.records("a").len(), clones.records("remote.git").len()), (1, 0));
    assert_eq!(clones.git("a", &["for-each-ref", "refs/sprag/synced"]), "");
}

#[test]
#[cfg(unix)]
fn nothing_of_the_checkout_is_run() {
    let clones = Clones::new();
    let marker = clones.path("marker").display().to_string();
    let hooks =
        ["pre-push", "reference-transaction", "post-checkout", "pre-commit", "post-index-change", "pre-auto-gc"];
    for folder in ["a/.git/hooks", "a/hooks"] {
        for hook in hooks {
            clones.program(&format!("{folder}/{hook}"), &format!("echo {hook} >> '{marker}'"));
        }
    }
    clones.program("a/bin/git", &format!("echo git >> '{marker}'; exit 1"));
    clones.program("a/bin/ssh", &format!("echo ssh >> '{marker}'; exit 1"));
    clones.record("b", 2);
    clones.sync("b", &[]).expect(0);
    clones.record("a", 1);
    let path = std::env::var("PATH").expect("there is a search path");
    let path = format!("{}:bin:.:{path}", clones.path("a/bin").display());
    let elsewhere = clones.path("b/.git").display().to_string();
    let variables = [
        ("PATH", path.as_str()),
        ("GIT_DIR", &elsewhere),
        ("GIT_WORK_TREE", "/nowhere"),
        ("GIT_OBJECT_DIRECTORY", "/nowhere"),
        ("GIT_EXEC_PATH", "/nowhere"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_CONFIG_PARAMETERS", "'core.sshCommand'='false'"),
    ];
    for (key, value) in [
        ("core.hooksPath", "hooks"),
        ("core.fsmonitor", &format!("{}/a/hooks/pre-push", clones.sandbox.project.display())),
        ("commit.gpgSign", "true"),
        ("push.gpgSign", "if-asked"),
        ("gpg.program", "/nowhere"),
        ("core.pager", "/nowhere"),
        ("push.followTags", "true"),
        ("fetch.prune", "true"),
        ("fetch.recurseSubmodules", "true"),
        ("submodule.recurse", "true"),
    ] {
        clones.git("a", &["config", key, value]);
    }
    clones.git("a", &["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "tag", "v1"]);
    std::fs::remove_file(&marker).unwrap_or_default();
    let ended = clones.sync_with("a", &variables, &[]).expect(0);
    assert_eq!(ended.out, "origin/main: sent 1 record, received 1 record (1 attempt)\n");
    assert_eq!(std::fs::read_to_string(&marker).unwrap_or_default(), "");
    assert_eq!(clones.git("remote.git", &["tag"]), "");
    assert!(!clones.path("a/.git/FETCH_HEAD").exists());
    assert_eq!(clones.records("a"), clones.records("remote.git"));
    assert_eq!(clones.records("a").len(), 2);
}

#[test]
fn without_git_nothing_is_sent_and_nothing_lost() {
    let clones = Clones::new();
    clones.record("a", 1);
    let ended = clones.sync_with("a", &[("PATH", "bin:.:")], &[]).expect(2);
    ended.says(&["there is no `git` in the folders of PATH", "hint: install git"]);
    assert_eq!(clones.records("a").len(), 1);
}

/// Two clones with three records, the last of which is gone from the remote by a forced push.
fn rewritten() -> Clones {
    let clones = Clones::new();
    clones.record("a", 1);
    clones.record("a", 2);
    clones.sync("a", &[]).expect(0);
    clones.record("b", 3);
    clones.sync_each(&["b", "a"]);
    clones.agree(&["a", "b"], 3);
    clones.git("b", &["push", "-q", "--force", "origin", "HEAD~1:main"]);
    clones
}

#[test]
fn a_rewritten_remote_is_named_and_restored() {
    let clones = rewritten();
    let lost = clones.records("a").iter().find(|path| !clones.records("remote.git").contains(path)).cloned();
    let words = ["the history of `origin/main` was rewritten: 1 record is gone", "--after-rewrite restore"];
    clones.record("a", 4);
    clones.sync("a", &[]).expect(4).says(&words).says(&[&lost.expect("one is gone")]);
    assert_eq!(clones.records("remote.git").len(), 2);
    clones.sync("a", &["--dry-run"]).expect(4);
    clones.sync("a", &[]).expect(4);
    clones.sync("a", &["--after-rewrite", "restore"]).expect(0).prints(&["sent 2 records"]);
    clones.sync("b", &[]).expect(0);
    clones.agree(&["a", "b"], 4);
    clones.sync("a", &[]).expect(0);
}

#[test]
fn a_rewritten_remote_can_be_accepted() {
    let clones = rewritten();
    let lost = clones.git("a", &["rev-parse", "main"]);
    clones.record("a", 4);
    clones.write("a", "mine", "x\n");
    clones.git("a", &["add", "mine"]);
    let ended = clones.sync("a", &["--after-rewrite", "accept"]).expect(0);
    assert_contains(&ended.out, &["sent 1 record, received nothing"]);
    ended.says(&["the deleted records stay in this repository under `refs/sprag/let-go/origin/main/"]);
    assert_eq!(clones.git("a", &["rev-parse", &format!("refs/sprag/let-go/origin/main/{lost}")]), lost);
    assert_eq!(clones.git("a", &["status", "--porcelain"]), "A  mine");
    clones.git("a", &["rm", "-q", "--cached", "mine"]);
    std::fs::remove_file(clones.path("a/mine")).expect("it is there");
    clones.agree(&["a"], 3);
    clones.sync("a", &[]).expect(0).prints(&["sent nothing, received nothing"]);
    clones.sync("b", &[]).expect(4);
    clones.sync("b", &["--after-rewrite", "accept"]).expect(0);
    clones.agree(&["a", "b"], 3);
}

#[test]
fn a_rewritten_remote_that_lost_nothing_is_a_warning() {
    let clones = rewritten();
    clones.git("b", &["push", "-q", "--force", "origin", "HEAD:main"]);
    clones.git("b", &["commit", "-q", "--amend", "-m", "Other words"]);
    clones.git("b", &["push", "-q", "--force", "origin", "HEAD:main"]);
    clones.record("a", 4);
    clones.sync("a", &[]).expect(0).says(&["warning: the history of `origin/main` was rewritten since the last sync"]);
    clones.agree(&["a"], 4);
    assert_eq!(clones.sync("a", &[]).expect(0).err, "");
}

#[test]
fn a_record_that_a_commit_removes_is_missed() {
    let clones = Clones::new();
    let (one, two) = (clones.record("a", 1), clones.record("a", 2));
    clones.sync_each(&["a", "b"]);
    clones.git("b", &["rm", "-q", &one]);
    clones.write("b", &two, "other\n");
    clones.commit("b", "Clean up");
    clones.sync("b", &[]).expect(4).says(&["2 records are removed or changed on `main` by a commit", "restore"]);
    clones.git("b", &["push", "-q"]);
    let ended = clones.sync("a", &[]).expect(4);
    ended
        .says(&["a commit on `origin/main` took records away: 1 record is gone", "1 record is changed"])
        .says(&[&one, &two]);
    clones.sync("a", &["--after-rewrite", "restore"]).expect(0);
    clones.sync("b", &["--after-rewrite", "restore"]).expect(0);
    clones.agree(&["a", "b"], 2);
    assert_ne!(clones.git("b", &["show", &format!("main:{two}")]), "other");
    clones.git("b", &["rm", "-q", &one]);
    clones.commit("b", "Clean up again");
    clones.git("b", &["push", "-q"]);
    clones.sync("a", &["--after-rewrite", "accept"]).expect(0);
    clones.agree(&["a"], 1);
    assert!(!clones.path("a").join(&one).exists());
}

#[test]
fn a_branch_that_is_gone_is_not_recreated() {
    let clones = Clones::new();
    clones.record("a", 1);
    clones.sync("a", &[]).expect(0);
    clones.git("remote.git", &["update-ref", "-d", "refs/heads/main"]);
    clones.record("a", 2);
    clones.sync("a", &[]).expect(4).says(&["the branch `origin/main` is gone from the remote, and 1 record with it"]);
    clones.sync("a", &["--after-rewrite", "accept"]).expect(4).says(&["nothing to accept"]);
    clones.sync("a", &["--after-rewrite", "restore"]).expect(0).prints(&["sent 2 records"]);
    clones.agree(&["a"], 2);
}

#[test]
fn one_path_with_two_contents_is_named() {
    let clones = Clones::new();
    for (clone, text) in [("a", "one\n"), ("b", "two\n")] {
        clones.write(clone, "history/v1/_notes/2026/x.json", text);
        clones.commit(clone, "sprag: a note");
    }
    clones.sync("a", &[]).expect(0);
    let words = ["1 record is here and on `origin/main` with different content", "`history/v1/_notes/2026/x.json`"];
    clones.sync("b", &[]).expect(4).says(&words);
    clones.agree(&["a"], 1);
}

#[test]
fn hostile_files_of_a_remote_reach_no_working_tree() {
    let clones = Clones::new();
    clones.write("b", "history/v1/.hidden/x", "x\n");
    clones.write("b", "history/v1/_notes/2026/fine", "x\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", clones.path("b/history/v1/_notes/link")).expect("a link");
    clones.commit("b", "Odd");
    clones.git("b", &["push", "-q"]);
    let path = clones.record("a", 1);
    let ended = clones.sync("a", &[]).expect(0);
    ended.says(&["`main` stays where it is: the remote has files below `history/v1/` that are not records"]);
    assert!(clones.records("remote.git").contains(&path));
    assert!(!clones.path("a/history/v1/.hidden").exists() && !clones.path("a/history/v1/_notes").exists());
    assert_eq!(clones.git("a", &["status", "--porcelain"]), "");
}

#[test]
fn replaced_commits_and_a_mirror_are_named() {
    let clones = Clones::new();
    clones.record("a", 1);
    clones.commit("a", "sprag: nothing");
    clones.git("a", &["replace", "HEAD", "HEAD~1"]);
    let root = clones.git("a", &["rev-list", "--max-parents=0", "main"]);
    clones.write("a", ".git/info/grafts", &format!("{root}\n"));
    clones.sync("a", &[]).expect(0).says(&["`refs/replace/`", "info/grafts` replaces the parents of commits"]);
    clones.git("b", &["config", "remote.origin.fetch", "+refs/*:refs/*"]);
    clones.record("b", 2);
    clones.sync("b", &[]).expect(2).says(&["fetching from it overwrites the local branch"]);
    assert_eq!(clones.records("b").len(), 1);
}

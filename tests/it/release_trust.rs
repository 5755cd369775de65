//! What blocks a release: a damaged history, files that nobody reviewed, an incomplete clone.

use std::fs;
use std::process::Command;

use crate::released::{Project, forge, waiver};
use crate::sandbox::{Sandbox, assert_contains, files};

/// A project whose README is part of its release.
fn with_readme() -> Project {
    let project = Project::new();
    let item = "[[item]]\nid = \"readme\"\ntitle = \"Users can read\"\nrule = \"file\"\n\
                artifacts = [{ key = \"readme\", path = \"README.md\" }]\nproducer = \"an editor\"\n[rollback]";
    project.edit("release/checklist.toml", "[rollback]", item);
    project.commit_with("README.md", "# What this is\n", "Ask for a README");
    project
}

#[test]
fn a_record_that_was_edited_or_removed_is_no_go() {
    let good = Project::new();
    good.attest(&[]);
    let record = format!("history/{}", files(&good.evidence("history")).into_keys().next().expect("a record"));
    let edit = |p: &Project| p.edit(&record, "sandbox", "sandbot");
    let remove = |p: &Project| drop(p.git(&["rm", "-q", &record]));
    for (spoil, words) in [(&edit as &dyn Fn(&Project), " was changed since"), (&remove, " is gone; the commit")] {
        let project = good.copied();
        spoil(&project);
        project.commit("Touch a record");
        project.ends(4, &["history", "fsck"]);
        let named = |printed: &str| assert!(printed.contains(&record) && printed.contains("damage"), "{printed}");
        let printed = project.checklist(4, &[]).err;
        assert_contains(&printed, &["the history is damaged"]);
        named(&printed);
        let attest = ["release", "attest", "v2", "--out", "evidence-2"];
        named(&project.ends(4, &attest).err);
        assert!(!project.project.join("evidence-2").exists());
        project.verify(4, &[]).prints(&[&format!("fails: {record}: "), words]);
    }
}

#[test]
fn what_nobody_reviewed_is_neither_attested_nor_verified() {
    let good = with_readme();
    let clean = good.git(&["rev-parse", "HEAD"]);
    let place = good.project.to_string_lossy().into_owned();
    let commit = good.git(&["rev-parse", "v2"]);
    let check = |spoil: &dyn Fn(&Sandbox), words: &[&str]| {
        let project = good.copied();
        spoil(&project);
        // Files that are not committed are named, and nothing is attested.
        project
            .sprag(&["release", "checklist", "v2"])
            .says(&["commit it, or others will get another result", words[0]]);
        project
            .ends(1, &["release", "attest", "v2", "--out", "evidence"])
            .prints(&["no-go, and nothing was written: commit these files first"]);
        assert!(!project.evidence("").exists());
        // A commit elsewhere is not a commit of the repository.
        project.commit("Doctor it");
        project.sprag(&["release", "attest", "v2", "--out", "evidence"]);
        let verify = || project.ends(4, &["release", "verify", "evidence", "--repository", &place]);
        let printed = verify();
        let printed = printed.out + &printed.err;
        assert!(printed.contains("is not in the repository") || printed.contains("ancestor"), "{printed}");
        // A false claim to be of another commit is named.
        let doctored = project.git(&["rev-parse", "HEAD"]);
        for path in ["checklist.json", "VERIFY.md"] {
            let text = project.read(&format!("evidence/{path}")).replace(&doctored, &clean);
            project.write(&format!("evidence/{path}"), &text);
        }
        forge(&project.evidence(""));
        verify().prints(words);
    };
    check(
        &|sandbox| {
            let list = sandbox.read("release/checklist.toml");
            let (rest, _) = list.split_once("[[item]]\nid = \"runtime").expect("an item");
            sandbox.write("release/checklist.toml", rest);
            let releases = sandbox.read("release/releases.toml");
            let (rest, _) = releases.split_once("signed").expect("a signature");
            sandbox.write("release/releases.toml", rest);
        },
        &["release/checklist.toml", "is not the file of the commit", "release/releases.toml"],
    );
    check(
        &|sandbox| {
            let one = waiver(&commit, "9999-12-31").replace("coverage", "notes");
            sandbox.write("ledger/more.toml", &one);
        },
        &["ledger/more.toml", "is not in the commit"],
    );
    check(
        &|sandbox| fs::remove_dir_all(sandbox.project.join("baselines")).expect("a folder"),
        &["baselines/cpu.example-cpu.json", "and missing here"],
    );
    check(
        &|sandbox| sandbox.write("README.md", "# Another\n"),
        &["README.md", "at byte", "is not the file of the commit"],
    );
    good.write("out/README.md", "# Another\n");
    let elsewhere = ["release", "attest", "v2", "--out", "evidence", "--artifact", "readme=out/README.md"];
    good.ends(1, &elsewhere).prints(&["fails: out/README.md at byte 2: is not the file of the commit"]);
    // The ref of the history is for the clone to say.
    let project = good.copied();
    let branch = project.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    project.git(&["branch", "elsewhere"]);
    project.write("sprag.toml", &format!("{}\n[history]\nref = \"elsewhere\"\n", project.read("sprag.toml")));
    project.commit("Look elsewhere");
    project.attest(&[]);
    project.verify(0, &[]);
    let printed = project.ends(4, &["release", "verify", "evidence", "--repository", &place]).out;
    assert_contains(&printed, &["fails: sprag.toml: names `elsewhere` as the ref of the history"]);
    assert!(!printed.contains(&format!("`{branch}`")), "{printed}");
}

#[test]
fn a_clone_at_the_tag_verifies_and_an_older_one_is_no_forgery() {
    let project = Project::new();
    project.attest(&[]);
    let from = project.project.to_string_lossy().into_owned();
    let evidence = format!("{from}/evidence");
    let branch = project.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    assert_contains(&project.read("evidence/VERIFY.md"), &[&format!("holds the history, `{branch}`")]);
    let clone = Sandbox::empty();
    clone.git(&["clone", "-q", "--branch", "v2", &from, "."]);
    clone.ends(0, &["release", "verify", &evidence]);
    clone.git(&["checkout", "-q", "-B", &branch, "v1"]);
    let printed = clone.ends(2, &["release", "verify", &evidence]).err;
    assert_contains(&printed, &["does not have the history of the release `v2` yet"]);
    assert!(printed.contains(&format!("fetch and check out {branch}")) && !printed.contains("rewritten"), "{printed}");
    let nowhere = Sandbox::empty();
    nowhere.ends(2, &["release", "verify", &evidence]).says(&["with `--repository`"]);
    clone.ends(2, &["release", "verify", "absent"]).says(&["no folder `absent`", "release attest --out"]);
    let later = project.copied();
    let own = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    let text = later.read("evidence/checklist.json").replace(&own, "\"version\": \"0.0.1\"");
    later.write("evidence/checklist.json", &text);
    forge(&later.evidence(""));
    let printed = later.verify(4, &[]).out;
    assert!(printed.starts_with("written by sprag 0.0.1, and this is"), "{printed}");
}

#[test]
fn a_clock_that_is_behind_is_named() {
    let project = Project::new();
    let made = Command::new("git")
        .args([
            "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "--allow-empty", "-m", "Later",
        ])
        .current_dir(&project.project)
        .env("GIT_COMMITTER_DATE", "@4070908800 +0000")
        .status();
    assert!(made.expect("git runs").success());
    let attest = ["release", "attest", "v2", "--out", "evidence"];
    project.ends(2, &attest).says(&["the clock of this machine is behind", "hint: set the clock"]);
    assert!(!project.evidence("").exists());
}

#[test]
fn the_site_shows_what_is_wrong_with_a_release() {
    let project = Project::new();
    let releases = project.read("release/releases.toml");
    project.write("release/releases.toml", &format!("{releases}[[release]]\nname = \"v3\"\nprevious = \"v2\"\n"));
    project.commit("Plan the next one");
    project.git(&["tag", "v3"]);
    project.ends(0, &["site"]).says(&["the release `v3` is no-go"]);
    let page = project.read("_site/release/v3.html");
    assert_contains(&page, &["No-go", "names no commit for it"]);
    assert!(!project.read("_site/release/v2.html").contains("no-go"));
    // A waiver for an item that does not exist.
    let ledger = project.read("_site/ledger.html");
    assert!(ledger.contains("1 entry is in force") && !ledger.contains("without effect"), "{ledger}");
    let commit = project.git(&["rev-parse", "v2"]);
    for (item, printed, state) in [
        (
            "covrage",
            "</span> has no item <span class=\"id\">covrage</span>: this entry has no effect.",
            "?</i>without effect",
        ),
        ("notes", "<span class=\"id\">notes</span>", "◆</i>in force"),
    ] {
        project.write("ledger/more.toml", &waiver(&commit, "9999-12-31").replace("coverage", item));
        project.ends(0, &["site"]);
        let ledger = project.read("_site/ledger.html");
        let row = ledger.lines().find(|line| line.contains("ledger/more.toml:1")).expect("it is listed");
        assert_contains(row, &[printed, state]);
    }
    project.remove("release/checklist.toml");
    project.ends(0, &["site"]);
    let page = project.read("_site/release/v2.html");
    assert_contains(&page, &["No-go", "there is no"]);
    // Only the newest releases have a page.
    let list = project.read("_site/releases/index.html");
    assert!(list.contains("3 releases, the newest") && !list.contains("Without a page"), "{list}");
    let more: String = (4..=23).map(|number| format!("[[release]]\nname = \"v{number}\"\n")).collect();
    project.write("release/releases.toml", &format!("{releases}{more}"));
    project.ends(0, &["site"]);
    let list = project.read("_site/releases/index.html");
    assert_contains(&list, &["22 releases, the newest", "Without a page: 2 releases listed before v4."]);
    assert!(!project.project.join("_site/release/v2.html").exists());
}

#[test]
fn a_release_page_shows_the_history_of_its_release() {
    let project = Project::new();
    project.checklist(0, &["--out", "out/checklist"]);
    let json = project.json("out/checklist/checklist.json");
    let point = &json["history"];
    let has_those_runs = |page: &str| page.contains(&format!(">{} runs<", point["size"]));
    for day in 20..=24 {
        let mut slower = project.run(day, &[("pack", 1.5e-3), ("scan", 2e-3)]);
        slower.commit.as_mut().expect("a commit").sha = project.git(&["rev-parse", "v2"]);
        project.record(&slower);
    }
    project.ends(0, &["site"]);
    let page = project.read("_site/release/v2.html");
    assert!(page.contains("no-go") && page.contains("1 regressed") && !has_those_runs(&page), "{page}");
    // Later runs do not count for a release that names its history.
    let named = format!(
        "\nhistory = {{ commit = {}, size = {}, root = {} }}\nprevious",
        point["commit"], point["size"], point["root"]
    );
    project.edit("release/releases.toml", "\nprevious", &named);
    project.ends(0, &["site"]);
    let page = project.read("_site/release/v2.html");
    assert!(!page.contains("no-go") && has_those_runs(&page), "{page}");
}

#[test]
fn a_suite_that_no_item_asks_about_is_named() {
    let project = Project::new();
    let asks = |printed: &str| !printed.contains("no item of `release/checklist.toml`");
    assert!(asks(&project.checklist(0, &[]).err));
    let verdict = "rule = \"suite_verdict\"\nsuite = \"cpu\"\nagainst = \"previous\"";
    let parity = "rule = \"parity\"\nsuite = \"cpu\"";
    project.edit("release/checklist.toml", verdict, parity);
    project.commit("Ask less");
    let printed = project.checklist(0, &[]).err;
    assert!(!asks(&printed) && printed.contains("judges `cpu`, measured at"), "{printed}");
}

#[test]
fn a_page_counts_what_was_waived_after_the_newest_run() {
    let project = Project::new();
    let from = |day: &str, printed: [&str; 2], is_go: bool| {
        let ledger = project.read("ledger/v2.toml");
        let (before, rest) = ledger.split_once("date = \"").expect("a day");
        project.write(
            "ledger/v2.toml",
            &format!("{before}date = \"{day}\"{}", &rest[rest.find('"').expect("an end") + 1..]),
        );
        project.commit("Waive it from another day on");
        project.ends(0, &["site"]);
        assert_contains(&project.read("_site/ledger.html"), &[printed[0]]);
        assert_eq!(!project.read("_site/release/v2.html").contains("no-go"), is_go, "{day}");
        project.checklist(i32::from(!is_go), &[]).prints(&[printed[1]]);
        project.copied()
    };
    let sooner = from("2026-01-17", ["in force", "Ada waives it from 2026-01-17"], true);
    from("9999-01-01", ["not yet", "Ada does not waive it yet: from 9999-01-01"], false);
    sooner.checklist(0, &["--out", "out/checklist"]);
    let json = sooner.json("out/checklist/checklist.json");
    let [commit, size, root] = ["commit", "size", "root"].map(|key| json["history"][key].to_string());
    let named = format!("\nhistory = {{ commit = {commit}, size = {size}, root = {root} }}\nprevious");
    sooner.edit("release/releases.toml", "\nprevious", &named);
    sooner.commit("Name the history");
    sooner.ends(0, &["site"]);
    assert!(!sooner.read("_site/release/v2.html").contains("no-go"));
}

//! `history archive`: runs of past months leave git for a snapshot, and every command goes on as before.

use std::fs;
use std::path::PathBuf;

use sprag_history::{self as history, Record};
use sprag_model::{Benchmark, Measurement, Run};

use crate::clones::Clones;
use crate::crafted::run;
use crate::demo::repository;
use crate::sandbox::Sandbox;
use crate::schemas::follows;

/// The demo has 45 runs before this month.
const BEFORE: [&str; 4] = ["history", "archive", "--before", "2026-07"];

/// The demo, with a folder for snapshots.
fn configured() -> Sandbox {
    let sandbox = repository();
    sandbox.append("sprag.toml", "\n[history]\narchive = \"../snapshots\"\n");
    sandbox.commit("Name a folder for snapshots");
    sandbox
}

fn archive(sandbox: &Sandbox) -> PathBuf {
    let ended = sandbox.ends(0, &BEFORE);
    ended.prints(&["archived 45 runs of 2026-05 to 2026-06 in ", "/snapshots/runs-2026-"]);
    let files = fs::read_dir(sandbox.project.join("../snapshots")).expect("the folder of the snapshots");
    let files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// What commands say of all runs, without the tip of the branch and the time.
fn outputs(sandbox: &Sandbox) -> Vec<String> {
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let commands =
        ["trend --format json --all", "export csv", "export jsonl", "history log --limit 0", "check", "history root"];
    let output = |command: &&str| {
        let out = sandbox.sprag(&command.split(' ').collect::<Vec<_>>()).out;
        let lines: Vec<&str> = out.lines().filter(|line| !line.contains("\"now\": ")).collect();
        lines.join("\n").replace(&tip, "TIP").replace(&tip[..12], "TIP")
    };
    commands.iter().map(output).collect()
}

#[test]
fn a_history_reads_the_same_with_its_snapshot_and_names_what_is_missing_without() {
    let sandbox = configured();
    let (before, records) = (outputs(&sandbox), sandbox.records("HEAD"));
    archive(&sandbox);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    let left = sandbox.records("HEAD");
    let notes: Vec<&String> = left.iter().filter(|path| path.contains("/_archive/")).collect();
    assert_eq!((records.len() - left.len() + notes.len(), notes.len()), (45, 1));
    follows("archive-1", &sandbox.read(notes[0]));
    // With and without the cache, and in a clone that lacks the old records.
    assert_eq!(outputs(&sandbox), before);
    assert_eq!(outputs(&sandbox), before, "from the cache");
    let fsck = follows("history-fsck-1", &sandbox.ends(0, &["history", "fsck", "--json"]).out);
    assert_eq!(fsck["archived"], 45);
    sandbox.cloned(&["--depth", "1"], "shallow");
    let shallow = sandbox.ends(0, &["-C", "../shallow", "export", "csv"]).out;
    assert!(shallow.lines().eq(before[1].lines()), "{shallow}");
    sandbox.ends(0, &["site"]);
    sandbox.ends(0, &BEFORE).prints(&["nothing to archive: main has no run of a month that ended before 2026-07-01"]);
    // Without the snapshot, the rest is read.
    fs::rename(sandbox.project.join("../snapshots"), sandbox.project.join("../elsewhere")).expect("a folder");
    let missing = ["45 runs of 2026-05 to 2026-06 are archived and not here", "get `runs-2026-", "`archive` under"];
    for command in [&["trend"][..], &["site"], &["history", "log"], &["export", "csv"], &["check"]] {
        sandbox.sprag(command).says(&missing);
    }
    let log = sandbox.ends(0, &["history", "log", "--limit", "0"]);
    assert_eq!(log.out.lines().count(), before[3].lines().count() - 45, "{}", log.out);
    sandbox.ends(0, &["history", "fsck"]).prints(&["with 45 archived runs is not here", "45 archived, root "]);
}

#[test]
fn proofs_of_archived_runs_hold() {
    let sandbox = configured();
    let run = sandbox.records("HEAD").into_iter().find(|path| path.contains("/2026/05/")).expect("a run of May");
    let proof = sandbox.ends(0, &["history", "prove", &run]).out;
    let root = sandbox.ends(0, &["history", "root", "--json"]).json()["root"].as_str().expect("a root").to_owned();
    archive(&sandbox);
    let note = sandbox.records("HEAD").into_iter().find(|path| path.contains("/_archive/")).expect("a note");
    assert_eq!(sandbox.json(&note)["history_root"], root.as_str());
    sandbox.write("../proof.json", &proof);
    sandbox.ends(0, &["history", "prove", "--check", "../proof.json", "--root", &root]);
    sandbox.ends(0, &["history", "fsck", "--against", &root]).prints(&["are unchanged since"]);
    assert_eq!(sandbox.ends(0, &["history", "prove", &run]).out, proof);
}

#[test]
fn a_snapshot_that_was_changed_is_named() {
    let sandbox = configured();
    let file = archive(&sandbox);
    let intact = fs::read(&file).expect("the snapshot");
    let name = file.file_name().expect("a name").to_string_lossy().into_owned();
    let mut flipped = intact.clone();
    flipped[intact.len() / 2] ^= 1;
    for (bytes, words) in [
        (&flipped[..], "was changed since the runs were archived"),
        (&intact[..intact.len() - 1], "so it was cut short or replaced"),
        (b"", "has 0 of"),
        (b"PAR1 of another program", "has 23 of"),
    ] {
        fs::write(&file, bytes).expect("a file");
        for command in [&["trend"][..], &["export", "csv"], &["site"], &["history", "log"], &BEFORE] {
            sandbox.ends(4, command).says(&[&name, words, "hint: copy it again"]);
        }
        sandbox.ends(4, &["history", "fsck"]).prints(&[&name, words]);
        sandbox.ends(2, &["history", "archive", "--restore", "../snapshots", &file.to_string_lossy()]);
        sandbox.ends(4, &["history", "archive", "--restore", &file.to_string_lossy()]).says(&[&name, words]);
    }
    fs::remove_file(&file).expect("a file");
    fs::create_dir(&file).expect("a folder");
    sandbox.ends(4, &["trend"]).says(&[&name, "cannot be read"]);
}

#[test]
fn restored_runs_are_as_before() {
    let sandbox = configured();
    let (before, records) = (outputs(&sandbox), sandbox.records("HEAD"));
    let file = archive(&sandbox);
    let intact = fs::read(&file).expect("the snapshot");
    let restore = |code: i32| sandbox.ends(code, &["history", "archive", "--restore", &file.to_string_lossy()]);
    restore(0).prints(&["restored 45 runs of 2026-05 to 2026-06 from runs-2026-"]);
    assert_eq!((outputs(&sandbox), sandbox.git(&["status", "--porcelain"])), (before.clone(), String::new()));
    let runs: Vec<String> = sandbox.records("HEAD").into_iter().filter(|path| !path.contains("/_archive/")).collect();
    assert_eq!(runs, records);
    sandbox.ends(0, &["history", "fsck"]);
    restore(0).prints(&["` was restored already"]);
    // The same runs make the same file, which is kept; another one under its name is not overwritten.
    archive(&sandbox);
    assert_eq!(fs::read(&file).expect("the snapshot"), intact);
    restore(0);
    fs::write(&file, &intact[..1000]).expect("a file");
    sandbox.ends(4, &[&BEFORE[..], &["--out", "../snapshots"]].concat()).says(&["cannot be read", "move it away"]);
    assert_eq!(outputs(&sandbox), before);
    fs::remove_file(&file).expect("a file");
    archive(&sandbox);
    assert_eq!(fs::read(&file).expect("the snapshot"), intact);
    // At once another part of them goes to a file of its own.
    restore(0);
    sandbox.ends(0, &["history", "archive", "--before", "2026-06"]);
    sandbox.ends(0, &["history", "fsck"]);
    assert_eq!(outputs(&sandbox), before);
}

#[test]
fn runs_come_back_from_earlier_commits_where_their_snapshot_is_lost() {
    let sandbox = configured();
    let (before, records) = (outputs(&sandbox), sandbox.records("HEAD"));
    let file = archive(&sandbox);
    let restore =
        |clone: &str| sandbox.sprag(&["-C", clone, "history", "archive", "--restore", &file.to_string_lossy()]);
    fs::write(&file, "short").expect("a file");
    restore(".").expect(4).says(&["move it away to go on without its runs", "takes them from earlier commits"]);
    fs::remove_file(&file).expect("a file");
    sandbox
        .ends(0, &["history", "fsck"])
        .prints(&["is not here, and was not checked", "`sprag history archive --restore`"]);
    sandbox.cloned(&["--depth", "1"], "shallow");
    let below = format!("{}/x", sandbox.project.join("sprag.toml").display());
    sandbox.ends(2, &["history", "archive", "--restore", &below]).says(&["hint: check the path"]);
    restore("../shallow").expect(2).says(&["earlier commits with the runs of `runs-2026-", "git fetch --unshallow"]);
    let words = ["restored 45 runs of 2026-05 to 2026-06 from earlier commits, as `runs-2026-", "` is not there"];
    restore(".").expect(0).prints(&words);
    assert_eq!((outputs(&sandbox), sandbox.git(&["status", "--porcelain"])), (before, String::new()));
    let runs: Vec<String> = sandbox.records("HEAD").into_iter().filter(|path| !path.contains("/_archive/")).collect();
    assert_eq!(runs, records);
    sandbox.ends(0, &["history", "fsck"]).prints(&[&format!("{} runs, root ", records.len())]);
    restore(".").expect(0).prints(&["` was restored already"]);
    let file = archive(&sandbox).to_string_lossy().into_owned();
    let twice = sandbox.ends(0, &["history", "archive", "--restore", &file, &file]);
    assert_eq!(twice.out.matches("restored").count(), 1, "{}", twice.out);
}

#[test]
fn a_root_is_of_all_runs_or_there_is_none() {
    let sandbox = configured();
    let root = sandbox.ends(0, &["history", "root"]).out;
    let run = sandbox.records("HEAD").into_iter().find(|path| path.contains("/2026/05/")).expect("a run of May");
    let blob = sandbox.git(&["rev-parse", &format!("HEAD:{run}")]);
    archive(&sandbox);
    sandbox.git(&["config", "uploadpack.allowFilter", "true"]);
    for (option, words, fetch) in [
        ("--depth=1", "this is a shallow clone, which lacks earlier commits", &["--unshallow"][..]),
        ("--filter=blob:none", "cannot be read, it is not in this repository", &["--refetch", "--no-filter"]),
        ("--filter=tree:0", "cannot be read, it is not in this repository", &["--refetch", "--no-filter"]),
    ] {
        let clone = sandbox.cloned(&[option], &option.replace(':', "-"));
        let hint = format!("hint: run `git fetch {}`", fetch.join(" "));
        for command in [&["root"][..], &["prove", &run], &["prove", "--since", &root[..64]]] {
            let ended = sandbox.ends(2, &[&["-C", &clone, "history"], command].concat());
            assert_eq!(ended.out, "", "{option}");
            ended.says(&["the history is incomplete here", words, &hint]);
        }
        sandbox.git(&[&["-C", &clone, "fetch", "-q"], fetch].concat());
        assert_eq!(sandbox.ends(0, &["-C", &clone, "history", "root"]).out[..64], root[..64]);
    }
    fs::remove_file(sandbox.project.join(".git/objects").join(&blob[..2]).join(&blob[2..])).expect("an object");
    let ended = sandbox.ends(4, &["history", "root"]);
    ended.says(&["the history is damaged", &run, "hint: run `sprag history fsck`"]);
    let name = fs::read_dir(sandbox.project.join("../snapshots")).expect("a folder").next().expect("a snapshot");
    let name = name.expect("an entry").file_name().into_string().expect("a name");
    sandbox.ends(0, &["history", "archive", "--restore", &name]).prints(&["restored 45 runs"]);
    sandbox.ends(0, &["history", "fsck"]);
    assert_eq!(sandbox.ends(0, &["history", "root"]).out[..64], root[..64]);
}

#[test]
fn a_run_says_why_it_uses_no_earlier_configurations() {
    let sandbox = configured();
    fs::write(archive(&sandbox), "short").expect("a file");
    sandbox.write("sprag.toml", "[history]\narchive = \"../snapshots\"\n");
    let ended = sandbox.ends(0, &["run", "--quick", "--suite", "cpu", "--filter", "tile_ssm_scan"]);
    ended.says(&["the configurations of the last run of `cpu` are not used", "runs-2026-", "cut short or replaced"]);
    sandbox.append("sprag.toml", "[suites.theirs]\nkind = \"command\"\ncommand = [\"true\"]\n");
    let ended = sandbox.sprag(&["run", "--quick", "--suite", "theirs", "--filter", "x"]);
    ended.says(&["the last run of `theirs` was not read", "runs-2026-", "cut short or replaced"]);
}

#[test]
fn months_without_runs_and_damaged_histories_are_not_archived() {
    let sandbox = repository();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    for nothing in ["2026-05", "2026-05-31", "1970-01"] {
        let ended = sandbox.ends(0, &["history", "archive", "--before", nothing, "--out", "../s"]);
        ended.prints(&["nothing to archive: main has no run of a month that ended before"]);
    }
    let damaged = &sandbox.records("HEAD")[0];
    sandbox.commit_with(damaged, "{}\n", "Damage a record");
    let ended = sandbox.ends(4, &["history", "archive", "--before", "2026-07", "--out", "../s"]);
    ended.says(&["the history is damaged: ", damaged, "sprag history fsck"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD~1"]), head);
    assert!(!sandbox.project.join("../s").exists());
}

/// A kill at any moment leaves the runs on the branch, or the note and a whole snapshot; the next command goes on.
#[test]
fn a_kill_leaves_no_run_in_neither() {
    let template = configured();
    let before = outputs(&template);
    let took = std::time::Instant::now();
    archive(&template.copied());
    let took = took.elapsed();
    let rounds = crate::crafted::rounds(6, 100);
    for round in 1..=rounds {
        let sandbox = template.copied();
        let mut child = sandbox.start(&BEFORE);
        std::thread::sleep(took * u32::try_from(round).expect("few") / u32::try_from(rounds).expect("few"));
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        sandbox.ends(0, &["history", "log"]);
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "round {round}");
        assert_eq!(outputs(&sandbox), before, "round {round}");
        let has_left = sandbox.ends(0, &["history", "fsck", "--json"]).json()["archived"] == 45;
        if !has_left {
            sandbox.ends(0, &BEFORE);
            assert_eq!(outputs(&sandbox), before, "round {round}");
        }
    }
}

#[test]
fn clones_archive_what_the_remote_has() {
    let clones = Clones::new();
    let archive = |clone: &str| {
        let place = format!("../{clone}-snapshots");
        clones.sandbox.sprag(&["-C", clone, "history", "archive", "--before", "2026-03", "--out", &place])
    };
    let (january, march) = (clones.record("a", 1), clones.record("a", 82_000));
    archive("a").expect(2).says(&["this clone was never synced with `origin/main`", "run `sprag history sync` first"]);
    clones.sync_each(&["a", "b"]);
    let unsent = clones.record("a", 2);
    let others = clones.record("b", 3);
    archive("a").expect(0).prints(&["archived 1 run of 2026-01 in"]).says(&["name that folder as `archive` under"]);
    clones.sync("b", &[]).expect(0);
    let ended = clones.sync("a", &[]).expect(0);
    assert_eq!(ended.out, "origin/main: sent 2 records, received 1 record (1 attempt)\n");
    clones.sync("b", &[]).expect(0);
    clones.agree(&["a", "b"], 4);
    let records = clones.records("b");
    assert!([&unsent, &others, &march].iter().all(|path| records.contains(path)) && !records.contains(&january));
    for clone in ["a", "b"] {
        clones.sandbox.sprag(&["-C", clone, "history", "fsck"]).prints(&["3 runs, 1 archived"]);
    }
}

#[test]
fn two_suites_and_two_years_are_read_in_a_shallow_clone() {
    let clones = Clones::new();
    clones.write("a", "sprag.toml", "[project]\nname = \"demo\"\n[history]\narchive = \"../snapshots\"\n");
    clones.commit("a", "Name a folder for snapshots");
    let store = history::open(&clones.path("a")).expect("a repository");
    let target = history::target(&store, None).expect("a branch");
    for (suite, year) in [("aa", 2023), ("bb", 2023), ("aa", 2024), ("bb", 2024), ("aa", 2025)] {
        let one = run(1);
        let benchmark = Benchmark::new(suite, "tile_pack", &[], "fast").expect("plain words");
        let measurements = vec![Measurement::new(benchmark, one.measurements[0].estimates.clone())];
        let timestamp = format!("{year}-05-04T03:02:01Z").parse().expect("a time");
        let one = Run { suite: suite.to_owned(), timestamp, measurements, ..one };
        history::append(&store, &target, &[Record::from_run(&one)], run(1).timestamp).expect("it can be recorded");
    }
    clones.git("a", &["push", "-q", "origin", "main"]);
    clones.sync("a", &[]).expect(0);
    let sprag = |clone: &str, arguments: &[&str]| clones.sandbox.sprag(&[&["-C", clone], arguments].concat());
    let before = sprag("a", &["history", "log", "--limit", "0"]).expect(0).out;
    assert_eq!(clones.records("a").len(), 5, "{before}");
    let ended = sprag("a", &["history", "archive", "--before", "2025-01"]).expect(0);
    ended.prints(&["archived 2 runs of 2023-05 in", "archived 2 runs of 2024-05 in"]);
    clones.sync("a", &[]).expect(0);
    clones.add("shallow", &["--depth", "1"]);
    assert_eq!(sprag("shallow", &["history", "log", "--limit", "0"]).expect(0).out, before);
    assert_eq!(sprag("shallow", &["export", "csv"]).expect(0).out, sprag("a", &["export", "csv"]).expect(0).out);
}

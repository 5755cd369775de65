//! `sprag history add`: run files that anyone may have written.

use std::fs;

use sprag_model::Run;

use crate::crafted::{Crafted, name, run, run_of_an_absent_commit, text};
use crate::sandbox::Sandbox;
use crate::schemas::follows;

/// A repository with one commit, and run files in the folder `in`, which git ignores.
fn sandbox(count: i64) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit_with(".gitignore", "/_site\n/in\n", "Ignore what comes in");
    for number in 0..count {
        sandbox.write(&format!("in/{number}.json"), &text(&run(number)));
    }
    sandbox
}

#[test]
fn files_become_records_of_one_commit() {
    let sandbox = sandbox(3);
    let ended = sandbox.ends(0, &["history", "add", "in/0.json", "in/1.json"]);
    ended.says(&["recorded 2 runs on main"]);
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "3");
    let ended = sandbox.ends(0, &["history", "add", "in"]);
    let (_, path, _) = run(2).to_record();
    assert_eq!(ended.out, format!("{path}\n"));
    ended.says(&["recorded 1 run on main", "2 runs already in the history"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let ended = sandbox.ends(0, &["history", "add", "in/0.json"]).says(&["1 run already in the history of main"]);
    assert_eq!((ended.out.as_str(), sandbox.git(&["rev-parse", "HEAD"])), ("", head));
    assert_eq!((sandbox.records("main").len(), sandbox.git(&["status", "--porcelain"])), (3, String::new()));
    assert!(!sandbox.project.join(".sprag").exists(), "nothing had to be kept");
}

#[test]
fn the_layout_of_the_file_is_free_and_its_record_canonical() {
    let sandbox = sandbox(0);
    let value: serde_json::Value = serde_json::from_str(&text(&run(1))).expect("a record is JSON");
    sandbox.write("in/pretty.json", &serde_json::to_string_pretty(&value).expect("a value is JSON"));
    sandbox.ends(0, &["history", "add", "in/pretty.json"]);
    assert_eq!(sandbox.read(&run(1).to_record().1), text(&run(1)));
}

#[test]
fn standard_input_and_folders_of_folders() {
    let sandbox = sandbox(0);
    sandbox.write("in/a/b/1.json", &text(&run(1)));
    sandbox.write("in/a/notes.txt", "hello");
    sandbox.write(&format!("in/c/{}", name(&run(2))), &text(&run(2)));
    sandbox.sprag_reading(&text(&run(3)), &["history", "add", "-", "in"]).expect(0).says(&["recorded 3 runs"]);
    sandbox.sprag_reading("{}", &["history", "add", "-"]).expect(2).says(&["`standard input` is not a run record"]);
    sandbox.write("in/d/notes.txt", "hello");
    sandbox.ends(2, &["history", "add", "in/d"]).says(&["holds no file", "`.json`", "hint:"]);
}

#[test]
fn bad_files_are_named_and_nothing_or_only_the_good_is_recorded() {
    let sandbox = sandbox(2);
    let good = text(&run(1));
    for (content, words) in [
        (&good[..good.len() / 2], &["is not JSON"][..]),
        ("", &["is not JSON"]),
        ("{\"metrics\":{}}", &["is not a run record", "hint:"]),
        (&good.replace("\"schema_version\":1", "\"schema_version\":9"), &["version 9", "hint: install a newer"]),
        (&good.replace("\"suite\":", "\"suite\":\"gpu\",\"suite\":"), &["occurs twice"]),
        (&good.replace("\"n\":20", "\"n\":NaN"), &["is not JSON", "line 1"]),
        (&"[".repeat(100_000), &["is not JSON"]),
        (&good.replace("\"suite\":\"cpu\"", "\"suite\":\"../cpu\""), &["cannot name a folder"]),
        (&good.replace("\"suite\":\"cpu\"", "\"suite\":\"nul\""), &["keeps for a device"]),
        (&good.replace("tile_pack", "tile\\u202epack"), &["`\\u{202e}`"]),
        (&" ".repeat((32 << 20) + 1), &["more than the 33554432 bytes"]),
    ] {
        sandbox.write("in/bad.json", content);
        let ended = sandbox.ends(2, &["history", "add", "in"]);
        ended.says(words).says(&["`in/bad.json`", "nothing was recorded: 1 of 3 files"]);
        assert_eq!(sandbox.read("in/bad.json"), content, "the file was touched");
    }
    sandbox.remove("in/bad.json");
    assert!(sandbox.records("main").is_empty());
    sandbox.write("in/bad\u{1b}[31m.json", "{");
    let ended = sandbox.ends(1, &["history", "add", "--skip-bad", "in"]);
    ended.says(&["bad\\u{1b}[31m.json", "recorded 2 runs"]);
    assert_eq!(sandbox.records("main").len(), 2);
    sandbox.ends(1, &["history", "add", "--skip-bad", "in"]).says(&["2 runs already"]);
}

#[cfg(unix)]
#[test]
fn links_and_odd_files_are_refused() {
    let sandbox = sandbox(1);
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(sandbox.project.join(from), sandbox.project.join(to)).expect("a link");
    };
    link("in/0.json", "link.json");
    sandbox.ends(2, &["history", "add", "link.json"]).says(&["is a symbolic link", "hint:"]);
    fs::create_dir(sandbox.project.join("in/more")).expect("a folder");
    link("in", "in/more/round");
    sandbox.ends(0, &["history", "add", "in"]).says(&["`in/more/round` is a symbolic link and was not followed"]);
    link("in/0.json", "in/more/link.json");
    sandbox.ends(2, &["history", "add", "in"]).says(&["`in/more/link.json` cannot be read: it is a symbolic link"]);
    sandbox.remove("in/more/link.json");
    let pipe = sandbox.project.join("in/pipe.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    sandbox.ends(2, &["history", "add", "in"]).says(&["`in/pipe.json` cannot be read: it is a pipe or a device"]);
    sandbox.ends(2, &["history", "add", "/dev/zero"]).says(&["`/dev/zero` cannot be read: it is a pipe or a device"]);
}

#[test]
fn a_name_that_the_content_contradicts_is_damage() {
    let sandbox = sandbox(1);
    sandbox.write(&format!("in/{}", name(&run(1))), &text(&run(2)));
    let ended = sandbox.ends(4, &["history", "add", "in"]);
    ended.says(&["has the id", "in its content", "hint:"]);
    assert!(sandbox.records("main").is_empty());
    sandbox.ends(4, &["history", "add", "--skip-bad", "in"]).says(&["recorded 1 run"]);
    assert_eq!(sandbox.records("main").len(), 1);
}

#[test]
fn what_the_history_refuses_is_named_and_keeps_nothing_else_from_it() {
    let sandbox = sandbox(2);
    sandbox.ends(0, &["history", "add", "in/0.json"]);
    let mut shouted = run(5);
    shouted.suite = "CPU".to_owned();
    std::sync::Arc::make_mut(&mut shouted.measurements[0].benchmark).suite = "CPU".to_owned();
    sandbox.write("in/shouted.json", &text(&shouted));
    let words = ["`in/shouted.json`", "`history/v1/CPU` cannot be recorded next to `history/v1/cpu`", "hint: spell it"];
    sandbox.ends(2, &["history", "add", "in"]).says(&words).says(&["nothing was recorded"]);
    assert_eq!(sandbox.records("main").len(), 1);
    sandbox.ends(1, &["history", "add", "in", "--skip-bad"]).says(&words);
    assert_eq!(sandbox.records("main").len(), 2);
    // One that waits and can never be recorded does not keep others waiting.
    sandbox.write(".sprag/pending/shouted.json", &text(&shouted));
    sandbox.write(".sprag/pending/newer.json", &text(&run(1)).replace("\"schema_version\":1", "\"schema_version\":9"));
    sandbox.write(".sprag/pending/good.json", &text(&run(7)));
    sandbox.write("in/6.json", &text(&run(6)));
    let ended = sandbox.ends(0, &["history", "add", "in/6.json"]);
    ended.says(&[
        "shouted.json` was left where it is", "newer.json` has schema version 9", "1 kept from an earlier try",
    ]);
    assert_eq!(sandbox.records("main").len(), 4);
    let left = fs::read_dir(sandbox.project.join(".sprag/pending")).expect("the folder is there").count();
    assert_eq!(left, 2);
}

#[test]
fn runs_stay_pending_if_recording_is_impossible() {
    let sandbox = sandbox(2);
    sandbox.git(&["checkout", "-q", "--detach"]);
    let ended = sandbox.ends(2, &["history", "add", "in"]);
    ended.says(&["the 2 runs are not recorded", ".sprag/pending", "HEAD is detached", "hint:"]);
    assert_eq!(fs::read_dir(sandbox.project.join(".sprag/pending")).expect("the folder is there").count(), 2);
    assert_eq!(sandbox.read("in/0.json"), text(&run(0)));
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.sprag_reading(&text(&run(2)), &["history", "add", "-"]).expect(0).says(&["(2 kept from an earlier try)"]);
    assert_eq!(sandbox.records("main").len(), 3);
    assert_eq!(fs::read_dir(sandbox.project.join(".sprag/pending")).expect("the folder is there").count(), 0);
    let outside = Sandbox::empty();
    outside.write("run.json", &text(&run(1)));
    outside.ends(2, &["history", "add", "run.json"]).says(&["no git repository", "hint:"]);
}

#[test]
fn a_commit_that_is_not_here_is_a_warning() {
    let sandbox = sandbox(0);
    sandbox.write("in/run.json", &text(&run_of_an_absent_commit(1)));
    let ended = sandbox.ends(0, &["history", "add", "in"]);
    ended.says(&["warning: this repository does not hold 1 commit", "0123456789abcdef0123456789abcdef01234567"]);
    assert_eq!(sandbox.records("main").len(), 1);
}

#[test]
fn processes_that_add_at_the_same_time_lose_nothing() {
    const PROCESSES: i64 = 8;
    const RECORDS: i64 = 5;
    let sandbox = sandbox(PROCESSES * RECORDS);
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let sandbox = &sandbox;
            scope.spawn(move || {
                for number in 0..RECORDS {
                    let file = format!("in/{}.json", process * RECORDS + number);
                    let ended = sandbox.ends(0, &["history", "add", &file]);
                    assert!(!ended.err.contains("warning"), "{}", ended.err);
                }
            });
        }
    });
    let records = sandbox.records("main");
    let mut expected: Vec<String> = (0..PROCESSES * RECORDS).map(|number| run(number).to_record().1).collect();
    expected.sort();
    assert_eq!(records, expected);
    sandbox.ends(0, &["history", "add", "in"]).says(&["40 runs already in the history"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]);
}

#[test]
fn what_a_call_did_not_ask_for_is_refused_before_anything_is_sent() {
    let sandbox = sandbox(1);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let own = Crafted { sandbox };
    own.write("in/0.json", &text(&own.run(1, &[("pack", 1e-3)])));
    let add = |more: &[&str], code: i32| own.ends(code, &[&["history", "add", "in"], more].concat());
    add(&["--expect-suite", "gpu"], 2).says(&["`in/0.json` is of the suite `cpu`, where `gpu` is expected", "hint:"]);
    add(&["--expect-commit", "0123456789ab"], 2).says(&[&head, "where 0123456789ab is expected"]);
    add(&["--expect-commit", "nowhere"], 2).says(&["`nowhere` names no commit", "hint:"]);
    add(&["--max-age", "2"], 2).says(&["is dated 2026-01-01 12:00 UTC, more than 2 days ago"]);
    assert!(own.records("main").is_empty());
    let (path, event, _) = sprag_model::event_record::example::opened(1).to_file();
    let event_file = format!("in/{}", path.rsplit('/').next().expect("a path has a last part"));
    own.write(&event_file, &String::from_utf8(event).expect("a record is text"));
    add(&["--expect-suite", "cpu"], 2).says(&["is the record of an event, where runs are expected"]);
    own.remove(&event_file);
    // As in a workflow, which names the commit of records, too.
    add(&["--expect-suite", "gpu", "--expect-suite", "cpu", "--expect-commit", "HEAD"], 0);
    add(&["--expect-commit", "HEAD"], 0).says(&["already in the history"]);
    add(&["--expect-commit", &head[..12], "--max-age", "100000"], 0);
}

#[test]
fn a_run_of_the_future_is_refused_or_left_out() {
    let crafted = Crafted::with_sessions(3);
    crafted.change_code(1);
    let now = crafted.run(4, &[("pack", 1e-3), ("scan", 2e-3)]);
    let ahead = Run { timestamp: "9999-12-31T00:00:00Z".parse().expect("a time"), ..now.clone() };
    crafted.write("../ahead.json", &text(&ahead));
    let add = ["history", "add", "../ahead.json"];
    let words = ["is dated 9999-12-31 00:00 UTC, more than a day after the clock of this machine", "--allow-future"];
    crafted.ends(2, &add).says(&words);
    crafted.ends(0, &["history", "add", "../ahead.json", "--allow-future"]);
    crafted.record(&now);
    let words = "is dated 9999-12-31, more than a day after the newest commit of the history";
    crafted.ends(0, &["history", "log"]).prints(&[&format!("left out: it {words}")]);
    crafted.ends(0, &["site"]).says(&["1 record of the history quarantined"]);
    let page = crafted.read("_site/index.html");
    assert!(page.contains(words) && page.contains("2026-01-04"), "{page}");
    crafted.ends(0, &["trend"]).says(&["1 record of the history quarantined"]);
    let checked = crafted.sprag(&["check", "--report", "json=../check.json"]);
    assert!(checked.both().contains(words), "{}", checked.both());
    assert!(!crafted.read("../check.json").contains("9999-"));
    crafted.write("../table.csv", &crafted.ends(0, &["export", "csv"]).out);
    assert!(!crafted.read("../table.csv").contains("9999-"));
    let table = "suite,benchmark,metric,unit,better,commit,commit_time,machine,value\ns,b,time,s,lower,,,,1\n";
    crafted.write("../r.csv", table);
    let import = ["import", "../r.csv", "--time", "9998-01-02"];
    crafted
        .ends(2, &import)
        .says(&["1 run is dated more than a day after the clock of this machine", "--allow-future"]);
}

#[test]
fn the_log_gives_each_retracted_run_its_own_reason() {
    let crafted = Crafted::with_sessions(4);
    let reasons = || -> Vec<(String, String)> {
        let log = crafted.ends(0, &["history", "log", "--json"]).json();
        let runs = log["runs"].as_array().expect("a list of runs");
        runs.iter()
            .map(|run| (run["path"].as_str().unwrap().to_owned(), run["quality"]["reasons"].to_string()))
            .collect()
    };
    let paths: Vec<String> = reasons().into_iter().map(|(path, _)| path).collect();
    for (path, reason) in [(&paths[2], "the fan was broken"), (&paths[0], "a build ran beside it")] {
        crafted.ends(0, &["history", "retract", path, "--reason", reason]);
    }
    let expected = ["a build ran beside it", "", "the fan was broken", ""];
    for ((path, reasons), expected) in reasons().iter().zip(expected) {
        assert_eq!(reasons.contains("left out: it was retracted on"), !expected.is_empty(), "{path}: {reasons}");
        assert!(reasons.contains(expected), "{path}: {reasons}");
    }
    assert_eq!(reasons().iter().map(|(path, _)| path).collect::<Vec<_>>(), paths.iter().collect::<Vec<_>>());
}

#[test]
fn a_retracted_run_is_left_out_everywhere_and_stays_recorded() {
    let crafted = Crafted::with_sessions(3);
    let wrong = crafted.run(4, &[("pack", 9e-3), ("scan", 9e-3)]);
    crafted.record(&wrong);
    let (id, path, _) = wrong.to_record();
    let root = crafted.ends(0, &["history", "root"]).out;
    crafted.ends(2, &["history", "retract", &id, "--reason", " "]).says(&["one line", "hint:"]);
    crafted.ends(2, &["history", "retract", "0000000", "--reason", "x"]).says(&["has no run `0000000`"]);
    crafted.ends(0, &["history", "retract", &id[..8], "--reason", "the fan was broken"]).prints(&[&path]);
    let words = "was retracted on";
    crafted.ends(0, &["history", "retract", &path, "--reason", "again"]).prints(&[words, "the fan was broken"]);
    let retractions = crafted.records("main").into_iter().filter(|path| path.contains("/_retracted/"));
    let [retraction] = &retractions.collect::<Vec<_>>()[..] else { panic!("it is retracted once") };
    follows("retraction-1", &crafted.read(retraction));
    // Nothing went: the record, and the root over all runs, are as before.
    assert!(crafted.records("main").contains(&path));
    assert_eq!(crafted.ends(0, &["history", "root"]).out.split(' ').next(), root.split(' ').next());
    crafted.ends(0, &["history", "fsck"]);
    crafted.ends(0, &["history", "log"]).prints(&["left out: it was retracted on", "the fan was broken"]);
    crafted.ends(0, &["site"]).says(&["note: 1 retracted run left out"]);
    let page = crafted.read("_site/index.html");
    assert!(page.contains("the fan was broken") && !page.contains("quarantined:"), "{page}");
    crafted.ends(0, &["trend"]).says(&["1 retracted run left out"]);
    assert!(!crafted.ends(0, &["export", "csv"]).out.contains("0.009"));
    let checked = crafted.sprag(&["check", "--report", "json=../check.json"]);
    assert!(!checked.both().contains("regressed"), "{}", checked.both());
    // A retraction is undone by a third record, however often and within the same second.
    let undo = |reason: &str| crafted.ends(0, &["history", "retract", &path, "--undo", "--reason", reason]);
    for number in 0..2 {
        undo("it was the other fan").prints(&["restored `", &path]);
        undo("again").prints(&["was restored on", "it was the other fan"]);
        assert!(!crafted.ends(0, &["history", "log"]).out.contains("left out"));
        assert!(crafted.ends(0, &["export", "csv"]).out.contains("0.009"));
        crafted.ends(0, &["history", "retract", &path, "--reason", "the fan was broken"]).prints(&["retracted `"]);
        crafted.ends(0, &["history", "log"]).prints(&["left out: it was retracted on"]);
        let count = |part: &str| crafted.records("main").iter().filter(|path| path.contains(part)).count();
        assert_eq!((count("/_restored/"), count("/_retracted/")), (number + 1, number + 2));
    }
    crafted.ends(0, &["history", "fsck"]);
    // What was edited by hand vouches for nothing.
    crafted.edit(retraction, "fan", "fun");
    crafted.commit("Edit the retraction");
    crafted.ends(4, &["history", "fsck"]).prints(&[retraction, "should be at"]);
    crafted.ends(0, &["site"]).says(&["1 record of the history quarantined"]);
}

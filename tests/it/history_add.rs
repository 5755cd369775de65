//! `sprag history add`: run files that anyone may have written.

use std::fs;

use crate::crafted::{name, run, run_of_an_absent_commit, text};
use crate::sandbox::Sandbox;

/// A repository with one commit, and run files in the folder `in`, which git ignores.
fn sandbox(count: i64) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/_site\n/in\n");
    sandbox.commit("Ignore what comes in");
    for number in 0..count {
        sandbox.write(&format!("in/{number}.json"), &text(&run(number)));
    }
    sandbox
}

#[test]
fn files_become_records_of_one_commit() {
    let sandbox = sandbox(3);
    let ended = sandbox.sprag(&["history", "add", "in/0.json", "in/1.json"]).expect(0);
    ended.says(&["recorded 2 runs on main"]);
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "3");
    let ended = sandbox.sprag(&["history", "add", "in"]).expect(0);
    let (_, path, _) = run(2).to_record();
    assert_eq!(ended.out, format!("{path}\n"));
    ended.says(&["recorded 1 run on main", "2 runs already in the history"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let ended =
        sandbox.sprag(&["history", "add", "in/0.json"]).expect(0).says(&["1 run already in the history of main"]);
    assert_eq!((ended.out.as_str(), sandbox.git(&["rev-parse", "HEAD"])), ("", head));
    assert_eq!((sandbox.records("main").len(), sandbox.git(&["status", "--porcelain"])), (3, String::new()));
    assert!(!sandbox.project.join(".sprag").exists(), "nothing had to be kept");
}

#[test]
fn the_layout_of_the_file_is_free_and_its_record_canonical() {
    let sandbox = sandbox(0);
    let value: serde_json::Value = serde_json::from_str(&text(&run(1))).expect("a record is JSON");
    sandbox.write("in/pretty.json", &serde_json::to_string_pretty(&value).expect("a value is JSON"));
    sandbox.sprag(&["history", "add", "in/pretty.json"]).expect(0);
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
    sandbox.sprag(&["history", "add", "in/d"]).expect(2).says(&["holds no file", "`.json`", "hint:"]);
    sandbox.sprag(&["history", "add"]).expect(2);
    sandbox.sprag(&["history", "add", "nowhere.json"]).expect(2).says(&["`nowhere.json` cannot be read"]);
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
        let ended = sandbox.sprag(&["history", "add", "in"]).expect(2);
        ended.says(words).says(&["`in/bad.json`", "nothing was recorded: 1 of 3 files"]);
        assert_eq!(sandbox.read("in/bad.json"), content, "the file was touched");
    }
    sandbox.remove("in/bad.json");
    assert!(sandbox.records("main").is_empty());
    sandbox.write("in/bad\u{1b}[31m.json", "{");
    let ended = sandbox.sprag(&["history", "add", "--skip-bad", "in"]).expect(1);
    ended.says(&["bad\\u{1b}[31m.json", "recorded 2 runs"]);
    assert_eq!(sandbox.records("main").len(), 2);
    sandbox.sprag(&["history", "add", "--skip-bad", "in"]).expect(1).says(&["2 runs already"]);
}

#[cfg(unix)]
#[test]
fn links_and_odd_files_are_refused() {
    let sandbox = sandbox(1);
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(sandbox.project.join(from), sandbox.project.join(to)).expect("a link");
    };
    link("in/0.json", "link.json");
    sandbox.sprag(&["history", "add", "link.json"]).expect(2).says(&["is a symbolic link", "hint:"]);
    fs::create_dir(sandbox.project.join("in/more")).expect("a folder");
    link("in", "in/more/round");
    sandbox
        .sprag(&["history", "add", "in"])
        .expect(0)
        .says(&["`in/more/round` is a symbolic link and was not followed"]);
    link("in/0.json", "in/more/link.json");
    sandbox.sprag(&["history", "add", "in"]).expect(2).says(&["`in/more/link.json` is a symbolic link"]);
    sandbox.remove("in/more/link.json");
    let pipe = sandbox.project.join("in/pipe.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    sandbox.sprag(&["history", "add", "in"]).expect(2).says(&["`in/pipe.json` is no plain file"]);
    sandbox.sprag(&["history", "add", "/dev/zero"]).expect(2).says(&["`/dev/zero` is no plain file"]);
}

#[test]
fn a_name_that_the_content_contradicts_is_damage() {
    let sandbox = sandbox(1);
    sandbox.write(&format!("in/{}", name(&run(1))), &text(&run(2)));
    let ended = sandbox.sprag(&["history", "add", "in"]).expect(4);
    ended.says(&["bears the id", "but its content has", "hint:"]);
    assert!(sandbox.records("main").is_empty());
    sandbox.sprag(&["history", "add", "--skip-bad", "in"]).expect(4).says(&["recorded 1 run"]);
    assert_eq!(sandbox.records("main").len(), 1);
}

#[test]
fn what_the_history_refuses_is_named_and_keeps_nothing_else_from_it() {
    let sandbox = sandbox(2);
    sandbox.sprag(&["history", "add", "in/0.json"]).expect(0);
    let mut shouted = run(5);
    shouted.suite = "CPU".to_owned();
    std::sync::Arc::make_mut(&mut shouted.measurements[0].benchmark).suite = "CPU".to_owned();
    sandbox.write("in/shouted.json", &text(&shouted));
    let words = ["`in/shouted.json`", "`history/v1/CPU` cannot be recorded next to `history/v1/cpu`", "hint: spell it"];
    sandbox.sprag(&["history", "add", "in"]).expect(2).says(&words).says(&["nothing was recorded"]);
    assert_eq!(sandbox.records("main").len(), 1);
    sandbox.sprag(&["history", "add", "in", "--skip-bad"]).expect(1).says(&words);
    assert_eq!(sandbox.records("main").len(), 2);
    // One that waits and can never be recorded does not keep others waiting.
    sandbox.write(".sprag/pending/shouted.json", &text(&shouted));
    sandbox.write(".sprag/pending/newer.json", &text(&run(1)).replace("\"schema_version\":1", "\"schema_version\":9"));
    sandbox.write(".sprag/pending/good.json", &text(&run(7)));
    sandbox.write("in/6.json", &text(&run(6)));
    let ended = sandbox.sprag(&["history", "add", "in/6.json"]).expect(0);
    ended.says(&[
        "shouted.json` was left where it is",
        "newer.json` has schema version 9",
        "1 kept from an earlier try",
    ]);
    assert_eq!(sandbox.records("main").len(), 4);
    let left = fs::read_dir(sandbox.project.join(".sprag/pending")).expect("the folder is there").count();
    assert_eq!(left, 2);
}

#[test]
fn runs_stay_pending_if_recording_is_impossible() {
    let sandbox = sandbox(2);
    sandbox.git(&["checkout", "-q", "--detach"]);
    let ended = sandbox.sprag(&["history", "add", "in"]).expect(2);
    ended.says(&["the 2 runs are not recorded", ".sprag/pending", "HEAD is detached", "hint:"]);
    assert_eq!(fs::read_dir(sandbox.project.join(".sprag/pending")).expect("the folder is there").count(), 2);
    assert_eq!(sandbox.read("in/0.json"), text(&run(0)));
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.sprag_reading(&text(&run(2)), &["history", "add", "-"]).expect(0).says(&["(2 kept from an earlier try)"]);
    assert_eq!(sandbox.records("main").len(), 3);
    assert_eq!(fs::read_dir(sandbox.project.join(".sprag/pending")).expect("the folder is there").count(), 0);
    let outside = Sandbox::empty();
    outside.write("run.json", &text(&run(1)));
    outside.sprag(&["history", "add", "run.json"]).expect(2).says(&["no git repository", "hint:"]);
}

#[test]
fn a_commit_that_is_not_here_is_a_warning() {
    let sandbox = sandbox(0);
    sandbox.write("in/run.json", &text(&run_of_an_absent_commit(1)));
    let ended = sandbox.sprag(&["history", "add", "in"]).expect(0);
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
                    let ended = sandbox.sprag(&["history", "add", &file]).expect(0);
                    assert!(!ended.err.contains("warning"), "{}", ended.err);
                }
            });
        }
    });
    let records = sandbox.records("main");
    let mut expected: Vec<String> = (0..PROCESSES * RECORDS).map(|number| run(number).to_record().1).collect();
    expected.sort();
    assert_eq!(records, expected);
    sandbox.sprag(&["history", "add", "in"]).expect(0).says(&["40 runs already in the history"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]);
}

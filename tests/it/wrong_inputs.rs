//! Inputs that are not files, or that control a terminal: each command names them, ends with its code, and waits for nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use sprag_base::digest::is_hex;

use crate::crafted::{BASELINE, Crafted};
use crate::released::Project;
use crate::sandbox::{Ended, Sandbox, files};
use crate::{backfill, bisect, command, commits, demo, trt};

const NO_FILE: &str = "it is a pipe or a device, not a regular file";

/// Runs the binary, which must end within a minute.
#[track_caller]
fn soon(sandbox: &Sandbox, arguments: &[&str]) -> Ended {
    let limited = sandbox.sprag_limited(60, arguments);
    assert_ne!(limited.code, 124, "{arguments:?} waits");
    limited
}

fn pipe(sandbox: &Sandbox, path: &str) {
    let path = sandbox.project.join(path);
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo is there").success());
}

/// A repository with a run and a baseline.
fn repository() -> Crafted {
    let crafted = Crafted::with_baseline(1);
    crafted.commit("Take a baseline");
    crafted
}

#[test]
fn a_pipe_or_a_device_given_as_a_file_is_refused() {
    let crafted = repository();
    pipe(&crafted, "pipe");
    for path in ["pipe", "/dev/zero"] {
        for arguments in [
            "check --run FILE", "check --policy FILE", "check --baseline FILE", "detect FILE", "replay verify FILE",
            "history prove --check FILE", "history add FILE", "baseline accept --why words FILE",
            "baseline diff FILE FILE",
        ] {
            let arguments: Vec<&str> =
                arguments.split(' ').map(|word| if word == "FILE" { path } else { word }).collect();
            soon(&crafted, &arguments).expect(2).says(&[path, NO_FILE]);
        }
    }
    // What the shell hands over may be a pipe.
    let table = "series,index,commit,time,value\\na,0,,,1\\n";
    let script = format!("printf '{table}' | \"$0\" detect /dev/stdin && \"$0\" detect <(printf '{table}')");
    let ended = Command::new("bash").args(["-c", &script, env!("CARGO_BIN_EXE_sprag")]).output().expect("bash runs");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn a_pipe_among_the_files_of_a_repository_stops_nothing() {
    for (path, command, code, words) in [
        ("sprag.toml", "trend", 2, NO_FILE),
        ("baselines/cpu.x.json", "baseline list", 0, "is not a file"),
        ("ledger/x.toml", "trend", 2, "is not a file"),
        ("release/checklist.toml", "release checklist v1", 2, NO_FILE),
        ("release/releases.toml", "release checklist v1", 2, "release/"),
        (".sprag/pending/a.json", "history fsck", 0, "is not a run that can be recorded"),
        (".sprag/pending/a.json", "history add ../other.json", 0, NO_FILE),
        (".sprag/cache/runs", "trend", 0, ""),
        (".sprag/cache/folders", "site", 0, ""),
        (".git/sprag/lock", "history add ../other.json", 2, NO_FILE),
    ] {
        let crafted = repository();
        let full = crafted.project.join(path);
        let _ = std::fs::remove_dir_all(&full).or_else(|_| std::fs::remove_file(&full));
        crafted.write("../other.json", &crate::crafted::text(&crafted.run(2, &[("pack", 1e-3)])));
        pipe(&crafted, path);
        let ended = soon(&crafted, &command.split(' ').collect::<Vec<_>>());
        assert!(
            ended.both().contains(words) && ended.code == code,
            "{path}, {command}: {}\n{}",
            ended.code,
            ended.both()
        );
    }
}

#[test]
fn evidence_is_read_through_no_link() {
    let project = Project::new();
    for target in ["/dev/zero", "/etc/passwd"] {
        project.remove("out/notes.md");
        symlink(target, project.project.join("out/notes.md")).expect("a link");
        let ended = soon(&project, &["release", "checklist", "v2"]).expect(1);
        assert!(ended.both().contains("(notes) cannot be read: it is a symbolic link"), "{}", ended.both());
        std::fs::remove_file(project.project.join("out/notes.md")).expect("a link");
        project.write("out/notes.md", "x");
    }
    std::fs::rename(project.project.join("out"), project.project.join("../out")).expect("a folder");
    symlink("../out", project.project.join("out")).expect("a link");
    let ended = soon(&project, &["release", "checklist", "v2"]).expect(4);
    assert!(ended.both().contains("it is a symbolic link"), "{}", ended.both());
}

#[test]
fn an_evidence_folder_with_a_pipe_is_refused() {
    let project = Project::new();
    project.attest(&[]);
    for name in ["checklist.json", "SHA256SUMS", "statement.json"] {
        let file = project.evidence(name);
        let content = std::fs::read(&file).expect("it is there");
        std::fs::remove_file(&file).expect("it is there");
        assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo is there").success());
        let ended = soon(&project.sandbox, &["release", "verify", "evidence"]);
        assert!(
            [2, 4].contains(&ended.code) && ended.both().contains(name),
            "{name}: {}\n{}",
            ended.code,
            ended.both()
        );
        std::fs::remove_file(&file).expect("it is there");
        std::fs::write(&file, content).expect("a file");
    }
    project.verify(0, &[]);
}

#[test]
fn arguments_do_not_control_the_terminal() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["\u{1b}[31mred\u{7}"][..],
        &["trend", "--\u{1b}[2Jno"],
        &["history", "log", "--limit", "\u{1b}]0;x\u{7}"],
        &["check", "--report", "\u{1b}[31m"],
        &["detect", "--parquet", "\u{1b}[31m"],
    ] {
        let ended = sandbox.ends(2, arguments);
        assert!(!ended.both().contains(['\u{1b}', '\u{7}']), "{}", ended.both().escape_debug());
        assert!(ended.err.contains("\\u{1b}"), "{}", ended.err);
    }
}

#[test]
fn a_configured_site_stays_inside_the_project() {
    let sandbox = Sandbox::new();
    let config = sandbox.read("sprag.toml");
    let outside = sandbox.project.join("../elsewhere");
    for out in ["../elsewhere", "a/../../elsewhere", "/tmp/sprag-elsewhere"] {
        sandbox.write("sprag.toml", &format!("{config}[site]\nout = \"{out}\"\n"));
        sandbox.ends(2, &["site"]).says(&[out, "leads out of the project", "hint:", "`--out`"]);
    }
    assert!(!outside.exists());
    sandbox.write("sprag.toml", &config);
    std::fs::create_dir(&outside).expect("a folder");
    symlink(&outside, sandbox.project.join("_site")).expect("a link");
    sandbox.ends(2, &["site"]).says(&["_site` is a symbolic link", "hint:"]);
    assert_eq!(std::fs::read_dir(&outside).expect("a folder").count(), 0);
    // Whoever names the folder on the command line means it.
    sandbox.ends(0, &["site", "--out", "_site"]);
    sandbox.ends(0, &["site", "--out", "../named"]);
    assert!(outside.join("index.html").is_file() && sandbox.project.join("../named/index.html").is_file());
}

/// Exit code, arguments, and what is said of the input, with its hint, of many wrong inputs; `''` is an empty argument. A line that
/// begins with `#` names where the rows below it run, one with `write` gives a file its text, and one with `change` replaces a part
/// of that text, until the next. `UPDATE_CASES=1` writes what is said; read it.
#[test]
fn every_command_says_what_is_wrong_with_its_input() {
    const TABLE: &str = include_str!("wrong_inputs.txt");
    let rows: Vec<&str> = TABLE.lines().collect();
    let answers: Vec<String> = std::thread::scope(|scope| {
        let parts = rows.chunk_by(|_, row| !row.starts_with('#'));
        let parts: Vec<_> = parts.map(|part| scope.spawn(|| answers(part))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("every command ends")).collect()
    });
    if std::env::var_os("UPDATE_CASES").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/it/wrong_inputs.txt");
        std::fs::write(path, answers.join("\n") + "\n").expect("the table can be written");
        return;
    }
    for (row, answer) in rows.iter().zip(&answers) {
        assert_eq!(row, answer);
        let is_file = answer.starts_with(['w', 'c']);
        assert!(is_file || !answer.ends_with("| ") && !answer.contains("panicked"), "{answer}");
    }
}

/// What a row is to be, of each of these; the first names the sandbox. Commands leave it as it is but for `.sprag/`.
fn answers<'t>(part: &[&'t str]) -> Vec<String> {
    let sandbox = setup(part[0]);
    let mut written: BTreeMap<&'t str, String> = BTreeMap::new();
    let state = |written: &BTreeMap<&str, String>| {
        let git = [&["status", "--porcelain", "--ignored", ":!.sprag"][..], &["rev-parse", "HEAD"]];
        let texts: Vec<String> = written.keys().map(|file| sandbox.read(file)).collect();
        (git.map(|one| sandbox.git(one)), texts)
    };
    let mut before = state(&written);
    let mut answer = |row: &'t str| {
        let cells: Vec<&str> = row.split(" | ").collect();
        if let Some((is, file)) = cells[0].split_once(' ').filter(|(is, _)| ["write", "change"].contains(is)) {
            assert_eq!(state(&written), before, "before {row}");
            written.iter().for_each(|(file, text)| sandbox.write(file, text));
            if is == "write" {
                written.insert(file, cells[1].replace("\\n", "\n"));
                sandbox.write(file, &written[file]);
            } else {
                let text = written.entry(file).or_insert_with(|| sandbox.read(file));
                assert!(text.contains(cells[1]), "{row} in {text}");
                sandbox.write(file, &text.replace(cells[1], &cells[2].replace("\\n", "\n")));
            }
            before = state(&written);
        }
        let Some(arguments) = cells.get(1).filter(|_| !cells[0].contains(' ')) else { return row.to_owned() };
        let words: Vec<&str> = arguments.split(' ').map(|word| if word == "''" { "" } else { word }).collect();
        let ended = soon(&sandbox, &words);
        assert!(!ended.err.contains("error: ") || ended.out.is_empty(), "{row}: {}", ended.out);
        let mut lines = ended.err.lines().skip_while(|line| !line.starts_with("error")).peekable();
        let error: Vec<&str> = match lines.peek() {
            Some(_) => lines.take_while(|line| !line.is_empty() && !line.starts_with("hint")).collect(),
            None => ended.err.lines().chain(ended.out.lines()).take(1).collect(),
        };
        // The number of an error differs between systems.
        let error = error.join(" / ");
        let error = error.split(" (os error").next().unwrap_or_default();
        let hints = ended.err.lines().filter(|line| line.starts_with("hint")).map(|hint| format!(" | {hint}"));
        format!("{} | {arguments} | {}", ended.code, without_commits(&format!("{error}{}", hints.collect::<String>())))
    };
    let answers = part.iter().map(|row| answer(row)).collect();
    assert_eq!(state(&written), before, "{}", part[0]);
    answers
}

/// The text with the names of commits, which depend on the time, as `[commit]`.
fn without_commits(text: &str) -> String {
    let part = |part: &str| match part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()) {
        word if is_hex(word, 12..=12) => part.replace(word, "[commit]"),
        _ => part.to_owned(),
    };
    text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).map(part).collect()
}

fn setup(name: &str) -> Sandbox {
    let unrelated = |sandbox: &Sandbox| {
        sandbox.git(&["checkout", "-q", "--orphan", "other"]);
        sandbox.commit("Unrelated");
        sandbox.git(&["checkout", "-q", "main"]);
    };
    match name {
        "# demo" => demo::repository(),
        "# trt" => trt::sandbox("fine", "[suites.cpu]\nkind = \"cpu\""),
        "# gpu" => {
            let sandbox = Sandbox::new();
            sandbox.append("sprag.toml", "[suites.gpu]\nkind = \"gpu\"\n");
            sandbox
        }
        "# baseline" => {
            let crafted = Crafted::with_baseline(5);
            crafted.write("p.json", &crafted.read(BASELINE));
            crafted.sandbox
        }
        "# release" => Crafted::released(10, &[("pack", 1.012e-3), ("scan", 2e-3)]).sandbox,
        "# command" => command::sandbox("", ""),
        "# texts" => texts(),
        "# commits" => commits::sandbox(),
        "# bisection" => {
            let sandbox = bisect::history(&["1000", "1000", "1000"], &[2]);
            unrelated(&sandbox);
            sandbox
        }
        "# backfill" => {
            let sandbox = backfill::sandbox();
            unrelated(&sandbox);
            sandbox.git(&["checkout", "-q", "-b", "side", "c3"]);
            sandbox.commit_with("side", "", "Side");
            sandbox.git(&["checkout", "-q", "main"]);
            sandbox.git(&["merge", "-q", "--no-ff", "-m", "Merge it", "side"]);
            sandbox
        }
        "# empty" => Sandbox::new(),
        "# files" => files_of_many_kinds(),
        _ => panic!("`{name}` is not a sandbox"),
    }
}

/// The cases of Trueno, each in a folder of its name.
fn texts() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, bytes) in files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/golden/trueno/cases"))) {
        sandbox.write(&path, "");
        std::fs::write(sandbox.project.join(&path), bytes).expect("a file");
    }
    sandbox
}

fn files_of_many_kinds() -> Sandbox {
    let sandbox = repository().sandbox;
    for (path, text) in [
        ("empty", ""),
        ("text", "hello\n"),
        ("array.json", "[]"),
        ("object.json", "{}"),
        ("folder2/x", "x"),
        ("config.json", "{}"),
        ("list.json", "[1]"),
        ("long.json", "{\"a\":\n 18446744073709551616}"),
        ("twice.json", r#"{"a": 1, "a": 2}"#),
        ("t.csv", "series,index,commit,time,value\n"),
        ("bad.csv", "series,index,commit,time,value\na,x,,,y\n"),
        ("bad2.csv", "a;b\n"),
        ("baseline.txt", "a time: [1 ns 2 ns 3 ns]\n"),
        ("current.txt", "a time: [1 ns 2 ns 3 ns]\n"),
        ("deep.json", &"[".repeat(100_000)),
    ] {
        sandbox.write(path, text);
    }
    std::fs::create_dir(sandbox.project.join("folder")).expect("a folder");
    std::fs::write(sandbox.project.join("binary"), [0xff, 0, 1, 0x1b]).expect("a file");
    symlink("loop", sandbox.project.join("loop")).expect("a link");
    pipe(&sandbox, "pipe");
    sandbox
}

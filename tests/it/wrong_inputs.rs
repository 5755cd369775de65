//! Inputs that are not files, or that control a terminal: each command names them, ends with its code, and waits for nothing.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::crafted::Crafted;
use crate::released::Project;
use crate::sandbox::{Ended, Sandbox};

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
    let crafted = Crafted::with_sessions(1);
    crafted.ends(0, &["baseline", "emit"]);
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
    let sandbox = &project.sandbox;
    for target in ["/dev/zero", "/etc/passwd"] {
        sandbox.remove("out/notes.md");
        symlink(target, sandbox.project.join("out/notes.md")).expect("a link");
        let ended = soon(sandbox, &["release", "checklist", "v2"]).expect(1);
        assert!(ended.both().contains("(notes) cannot be read: it is a symbolic link"), "{}", ended.both());
        std::fs::remove_file(sandbox.project.join("out/notes.md")).expect("a link");
        sandbox.write("out/notes.md", "x");
    }
    std::fs::rename(sandbox.project.join("out"), sandbox.project.join("../out")).expect("a folder");
    symlink("../out", sandbox.project.join("out")).expect("a link");
    let ended = soon(sandbox, &["release", "checklist", "v2"]).expect(4);
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

/// Exit code, arguments, and the first line that says what is wrong, of many wrong inputs. `UPDATE_CASES=1` writes the last; read it.
#[test]
fn every_command_says_what_is_wrong_with_its_input() {
    const TABLE: &str = include_str!("wrong_inputs.txt");
    let crafted = repository();
    for (path, text) in
        [("empty", ""), ("text", "hello\n"), ("array.json", "[]"), ("object.json", "{}"), ("folder2/x", "x")]
    {
        crafted.write(path, text);
    }
    crafted.write("deep.json", &"[".repeat(100_000));
    crafted.write("bad.csv", "series,index,commit,time,value\na,x,,,y\n");
    crafted.write("bad2.csv", "a;b\n");
    std::fs::create_dir(crafted.project.join("folder")).expect("a folder");
    std::fs::write(crafted.project.join("binary"), [0xff, 0, 1, 0x1b]).expect("a file");
    symlink("loop", crafted.project.join("loop")).expect("a link");
    pipe(&crafted, "pipe");
    let answer = |row: &str| {
        let [_, arguments, _] = row.splitn(3, " | ").collect::<Vec<_>>()[..] else { panic!("`{row}` is not a row") };
        let ended = soon(&crafted, &arguments.split(' ').collect::<Vec<_>>());
        let said = ended.err.lines().find(|line| line.starts_with("error")).or(ended.err.lines().next());
        let said = said.or(ended.out.lines().next()).unwrap_or_default();
        // The number of an error differs between systems.
        let said = said.split(" (os error").next().unwrap_or_default();
        format!("{} | {arguments} | {said}", ended.code)
    };
    let rows: Vec<&str> = TABLE.lines().collect();
    let answers: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = rows
            .chunks(rows.len().div_ceil(4))
            .map(|part| scope.spawn(|| part.iter().map(|row| answer(row)).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("every command ends")).collect()
    });
    if std::env::var_os("UPDATE_CASES").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/it/wrong_inputs.txt");
        std::fs::write(path, answers.join("\n") + "\n").expect("the table can be written");
        return;
    }
    for (row, answer) in rows.iter().zip(&answers) {
        assert_eq!(row, answer);
        assert!(!answer.ends_with("| ") && !answer.contains("panicked"), "{answer}");
    }
}

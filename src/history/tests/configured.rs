//! What the configuration of a checkout asks for: hooks, filters, signing, monitors. No program of them runs.

use std::fs;
use std::sync::Arc;

use crate::testing::{Fixture, minute, run};
use crate::{Record, append, open, target};

/// A repository in which every program that git could be told of leaves a mark, and the path of the mark.
fn trapped(attributes: &str) -> (Fixture, std::path::PathBuf) {
    let fixture = Fixture::new();
    fixture.commit(".gitattributes", attributes, "Add attributes");
    let mark = fixture.sibling("mark");
    let trap = fixture.sibling("trap");
    fs::write(&trap, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 1\n", mark.display())).unwrap();
    let hooks = fixture.sibling("hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction"] {
        fs::copy(&trap, hooks.join(hook)).unwrap();
        fs::copy(&trap, fixture.root.join(".git/hooks").join(hook)).unwrap();
    }
    make_executable(&[&trap]);
    for folder in [hooks.clone(), fixture.root.join(".git/hooks")] {
        let entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        make_executable(&entries.iter().collect::<Vec<_>>());
    }
    let trap = trap.to_str().unwrap();
    for (name, value) in [
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("core.fsmonitor", trap),
        ("filter.x.clean", trap),
        ("filter.x.smudge", trap),
        ("filter.x.process", trap),
        ("filter.x.required", "true"),
        ("commit.gpgsign", "true"),
        ("gpg.program", trap),
        ("core.autocrlf", "true"),
        ("core.editor", trap),
    ] {
        fixture.git(&["config", name, value]);
    }
    fs::remove_file(&mark).ok();
    (fixture, mark)
}

fn make_executable(paths: &[&std::path::PathBuf]) {
    #[cfg(unix)]
    for path in paths {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Takes what was set as a trap out of git's way, so that it can be the judge.
fn disarm(fixture: &Fixture) {
    for name in ["core.hooksPath", "core.fsmonitor", "filter.x.process", "filter.x.required", "filter.x.smudge"] {
        fixture.git(&["config", "--unset", name]);
    }
    fs::remove_dir_all(fixture.root.join(".git/hooks")).unwrap();
}

#[cfg(unix)]
#[test]
fn no_program_runs() {
    let (fixture, mark) = trapped("* text=auto\n");
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let record = Record::from_run(&run(1));
    let appended = append(&store, &target, std::slice::from_ref(&record), minute(1)).unwrap();
    fixture.load();
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap_or_default());
    assert_eq!(appended.warnings, [""; 0]);
    assert_eq!(fs::read(fixture.root.join(&record.path)).unwrap(), record.bytes);
    disarm(&fixture);
    assert_eq!(fixture.status(), "");
    assert_eq!(fixture.git(&["log", "-1", "--format=%G?"]), "N");
    assert_eq!(fixture.git(&["show", &format!("HEAD:{}", record.path)]).as_bytes(), record.bytes.trim_ascii_end());
}

#[cfg(unix)]
#[test]
fn a_filter_that_makes_git_see_a_change_is_named() {
    let (fixture, mark) = trapped("* filter=x\n");
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let record = Record::from_run(&run(1));
    let appended = append(&store, &target, std::slice::from_ref(&record), minute(1)).unwrap();
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap_or_default());
    let [warning] = &appended.warnings[..] else { panic!("{:?}", appended.warnings) };
    assert!(warning.contains("`filter=x`") && warning.contains(".gitattributes"), "{warning}");
    disarm(&fixture);
    fixture.git(&["config", "filter.x.clean", "tr a-z A-Z"]);
    let status = || fixture.git(&["status", "--porcelain", "--", "history"]);
    assert_eq!(status().trim(), format!("M {}", record.path));
    // The line that the warning names helps.
    let line = warning.split('`').rev().nth(1).unwrap();
    fixture.write(".gitattributes", &format!("* filter=x\n{line}\n"));
    assert_eq!(status(), "");
    let again = fixture.append(&[Record::from_run(&run(2))], minute(1));
    assert_eq!(again.warnings, [""; 0]);
    assert_eq!(status(), "");
}

#[test]
fn attributes_that_do_no_harm_are_not_named() {
    let check = |attributes: &str, named: bool| {
        let fixture = Fixture::new();
        fixture.write(".gitattributes", attributes);
        fixture.git(&["add", ".gitattributes"]);
        fixture.git(&["commit", "--quiet", "-m", "Add attributes"]);
        let appended = fixture.record(1);
        assert_eq!(!appended.warnings.is_empty(), named, "{attributes}: {:?}", appended.warnings);
        assert_eq!(fixture.status().is_empty(), !named, "{attributes}: {}", fixture.status());
    };
    check("* text eol=crlf\n", false);
    check("* -text\n", false);
    check("* ident\n", false);
    check("* filter=unknown\n", false);
    check("* binary\n", false);
    check("* working-tree-encoding=UTF-8\n", false);
    check(
        "* working-tree-encoding=UTF-16\n.gitattributes -working-tree-encoding\nREADME -working-tree-encoding\n",
        true,
    );
}

#[test]
fn an_identity_that_is_included_counts() {
    let fixture = Fixture::new();
    let included = fixture.sibling("included");
    fs::write(&included, "[user]\nname = Grace\nemail = grace@example.com\n").unwrap();
    fixture.git(&["config", &format!("includeIf.gitdir:{}/.path", fixture.root.display()), included.to_str().unwrap()]);
    let store = open(&fixture.root).unwrap();
    let appended = append(&store, &target(&store, None).unwrap(), &[Record::from_run(&run(1))], minute(1)).unwrap();
    assert_eq!((appended.author.as_str(), appended.stand_in), ("Grace <grace@example.com>", false));
}

#[test]
fn paths_that_are_alike_are_refused() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let target = target(&store, None).unwrap();
    let of_suite = |suite: &str| {
        let mut run = run(1);
        run.suite = suite.to_owned();
        Arc::make_mut(&mut run.measurements[0].benchmark).suite = suite.to_owned();
        Record::from_run(&run)
    };
    let error = append(&store, &target, &[of_suite("cpu"), of_suite("CPU")], minute(1)).unwrap_err().to_string();
    assert!(error.contains("`history/v1/cpu`") && error.contains("`history/v1/CPU`"), "{error}");
    append(&store, &target, &[of_suite("cpu")], minute(1)).unwrap();
    let head = fixture.head();
    let error = append(&store, &target, &[of_suite("Cpu")], minute(1)).unwrap_err();
    assert!(error.to_string().contains("`history/v1/Cpu` cannot be recorded next to `history/v1/cpu`"), "{error}");
    assert!(error.hint().unwrap().contains("macOS"));
    assert_eq!((fixture.head(), fixture.status()), (head, String::new()));
    append(&store, &target, &[of_suite("cpu2")], minute(1)).unwrap();
    // A folder of the project's own stands in the way of the first record.
    let fixture = Fixture::new();
    fixture.commit("History/notes", "x\n", "Add notes");
    let store = fixture.store();
    let error = append(&store, &target, &[of_suite("cpu")], minute(1)).unwrap_err().to_string();
    assert!(error.contains("`history` cannot be recorded next to `History`"), "{error}");
}

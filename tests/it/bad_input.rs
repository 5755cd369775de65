//! Wrong use and failing surroundings: a clear message, the right exit code, nothing lost.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::crafted::{run, text};
use crate::sandbox::{Sandbox, assert_contains};

pub(crate) const QUARANTINED: &str = "quarantined";

#[test]
fn outside_a_repository() {
    let sandbox = Sandbox::empty();
    sandbox.ends(2, &["weekly", "--quick"]).says(&["no git repository", "hint:", "git init"]);
    sandbox.ends(2, &["site"]).says(&["no git repository"]);
    // Measuring alone needs no repository.
    let filter = ["run", "--quick", "--suite", "cpu", "--filter", "tile_ssm_scan", "--output-run", "run.json"];
    sandbox.ends(0, &filter);
    let run = sandbox.json("run.json");
    assert!(run["commit"].is_null());
}

#[test]
fn a_bare_repository_takes_records() {
    let sandbox = Sandbox::new();
    let bare = &*sandbox.cloned(&["--bare"], "bare.git");
    let arguments = ["-C", bare, "run", "--quick", "--suite", "cpu", "--filter", "tile_ssm_scan", "--record"];
    sandbox.ends(0, &arguments);
    let list = sandbox.git(&["-C", bare, "ls-tree", "-r", "--name-only", "main", "--", "history/v1"]);
    assert_eq!(list.lines().count(), 1, "{list}");
    sandbox.ends(2, &["-C", bare, "site"]).says(&["bare repository", "hint:", "--out"]);
    sandbox.ends(2, &["-C", bare, "baseline", "emit"]).says(&["bare repository", "hint:"]);
    sandbox.ends(0, &["-C", bare, "site", "--out", &sandbox.place("site")]);
}

#[test]
fn a_run_on_a_detached_head_is_recorded_later() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "--detach"]);
    sandbox.ends(2, &["weekly", "--quick"]).says(&["HEAD is detached", ".sprag/pending", "hint:", "[history]"]);
    assert_eq!(fs::read_dir(sandbox.project.join(".sprag/pending")).expect("the folder is there").count(), 1);
    assert!(sandbox.records("main").is_empty());
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.ends(0, &["run", "--quick", "--record"]);
    assert_eq!(sandbox.records("main").len(), 2, "the pending run and the new one");
}

#[test]
fn a_run_during_a_merge_stays_pending() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.commit_with("a", "side", "Side");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.commit_with("a", "main", "Main");
    sandbox.git(&["merge", "--no-commit", "--no-ff", "-s", "ours", "side"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.ends(2, &["run", "--quick", "--record"]).says(&["merge", "hint:"]);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(fs::read_dir(sandbox.project.join(".sprag/pending")).expect("the folder is there").count(), 1);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let sandbox = Sandbox::new();
    let config = sandbox.read("sprag.toml");
    sandbox.write("sprag.toml", "[project]\nnmae = \"x\"\n");
    let words = ["[project]/sprag.toml:2:1", "unknown field `nmae`", "did you mean `name`?"];
    sandbox.ends(2, &["weekly", "--quick"]).says(&words);
    sandbox.write("sprag.toml", &format!("{config}[history]\nref = \"refs/tags/x\"\n"));
    sandbox.ends(2, &["site"]).says(&["refs/tags/x"]);
}

#[test]
fn an_empty_history_gives_a_site_with_advice() {
    let sandbox = Sandbox::new();
    sandbox.ends(0, &["site"]);
    assert_contains(&sandbox.read("_site/index.html"), &["sprag weekly"]);
}

#[cfg(unix)]
#[test]
fn an_unwritable_repository_is_refused_before_measuring() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    let objects = sandbox.project.join(".git/objects");
    let set_mode = |mode| fs::set_permissions(&objects, fs::Permissions::from_mode(mode)).expect("the folder is ours");
    set_mode(0o555);
    if fs::write(objects.join("probe"), "").is_ok() {
        eprintln!("skipped: no mode keeps this user from writing");
        return;
    }
    // It ends before it measures, since no benchmark has that name.
    let arguments = ["run", "--quick", "--record", "--filter", "no_such_kernel"];
    let ended = sandbox.ends(2, &arguments);
    set_mode(0o755);
    ended.says(&["cannot write to", "will be kept, not recorded", "hint: make", "no_such_kernel"]);
}

#[test]
fn without_a_git_identity_a_stand_in_commits() {
    let sandbox = Sandbox::new();
    sandbox.forget_identity();
    sandbox.ends(0, &["run", "--quick", "--record"]);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%an <%ae>"]), "sprag <sprag@localhost>");
}

#[test]
fn before_the_first_commit() {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q"]);
    let arguments = ["run", "--quick", "--suite", "cpu", "--filter", "tile_ssm_scan", "--record"];
    sandbox.ends(0, &arguments).says(&["recorded 1 run on sprag-history"]);
    let records = sandbox.records("sprag-history");
    assert!(records.len() == 1 && records[0].contains("/000000000000-"), "{records:?}");
    sandbox.ends(0, &["site"]);
}

#[test]
fn a_shallow_clone_is_named_and_works() {
    let sandbox = Sandbox::new();
    sandbox.ends(0, &["run", "--quick", "--record"]);
    sandbox.commit("Second");
    sandbox.ends(0, &["run", "--quick", "--record"]);
    let shallow = &*sandbox.cloned(&["--depth", "2"], "shallow");
    sandbox.ends(0, &["-C", shallow, "run", "--quick", "--record"]);
    sandbox.ends(0, &["-C", shallow, "site"]);
    let page = fs::read_to_string(sandbox.project.join("../shallow/_site/index.html")).expect("the page is there");
    assert!(page.contains("shallow"), "the page says that the clone is shallow");
}

#[test]
fn a_repository_with_sha256_objects_is_refused() {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q", "--object-format=sha256"]);
    sandbox.ends(2, &["weekly", "--quick"]).says(&["SHA-256", "hint:"]);
}

#[test]
fn bad_records_are_counted_and_the_others_stay() {
    let sandbox = Sandbox::new();
    sandbox.ends(0, &["run", "--quick", "--record"]);
    let good = sandbox.records("main")[0].clone();
    let text = sandbox.read(&good);
    let folder = good.rsplit_once('/').expect("a record lies in a folder").0;
    let name = |digit: char| good.replace(&good[good.len() - 21..good.len() - 5], &digit.to_string().repeat(16));
    sandbox.write(&name('a'), &text[..text.len() / 2]);
    sandbox.write(&name('b'), "{\"name\":\"somebody else's\"}");
    sandbox.write(&name('c'), &text.replace("\"schema_version\":2", "\"schema_version\":9"));
    sandbox.write(&name('d'), &text);
    sandbox.commit_with(&format!("{folder}/notes.txt"), "hello", "Damage the history");
    sandbox.ends(0, &["site"]);
    let page = sandbox.read("_site/index.html");
    assert_contains(&page, &["tile_ssm_scan", "schema version 9", "notes.txt", "is not JSON", QUARANTINED]);
    sandbox.ends(0, &["weekly", "--quick"]).says(&["5 records of the history quarantined"]);
    assert_eq!(sandbox.records("main").len(), 7, "nothing is removed, one is added");
}

#[test]
fn an_unusable_output_folder_is_refused_before_measuring() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "x");
    sandbox.write("mine/thesis.tex", "x");
    sandbox.ends(2, &["weekly", "--quick", "--out", "file"]).says(&["file"]);
    sandbox.ends(2, &["weekly", "--quick", "--out", "file/below"]).says(&["file"]);
    sandbox.ends(2, &["weekly", "--quick", "--out", "mine"]).says(&["`sprag site` did not write", "hint:"]);
    assert!(sandbox.records("HEAD").is_empty(), "it measured all the same");
    assert_eq!(sandbox.read("mine/thesis.tex"), "x");
}

#[test]
fn usage_errors_exit_with_2() {
    let sandbox = Sandbox::new();
    sandbox.ends(2, &["wekly"]).says(&["weekly"]);
    sandbox.ends(2, &["run", "--filter", "no_such_kernel"]).says(&["no_such_kernel"]);
    sandbox.ends(2, &["run", "--suite", "cpuu"]).says(&["did you mean `cpu`?"]);
    sandbox.ends(2, &["conformance"]);
    sandbox.ends(2, &["conformance", "nowhere"]).says(&["nowhere"]);
    sandbox.ends(2, &["-C", "nowhere", "site"]).says(&["nowhere"]);
    sandbox.ends(2, &["-C", "sprag.toml", "site"]).says(&["not a folder"]);
    sandbox.ends(2, &["run", "--suite", "cpu", "--output-run", "."]).says(&["it is a folder"]);
}

/// If standard error cannot be written, the exit code still tells how the work ended.
#[test]
#[cfg(unix)]
fn the_exit_code_is_that_of_the_work() {
    let sandbox = Sandbox::new();
    sandbox.commit_with(".gitignore", "/_site\n/in\n", "Ignore what comes in");
    sandbox.write("in/bad.json", "{}");
    let table = "suite,benchmark,metric,unit,better,commit,commit_time,machine,value\ns,b,time,s,lower,,,,1\n";
    sandbox.write("in/r.csv", table);
    // A pipe without a reader, a full disk, and nothing.
    let broken: [fn() -> Stdio; 3] = [
        || std::io::pipe().expect("a pipe").1.into(),
        || std::fs::File::options().write(true).open("/dev/full").map_or(Stdio::null(), Stdio::from),
        Stdio::null,
    ];
    for (number, errors) in broken.into_iter().enumerate() {
        let check = |arguments: &[&str], code: i32| {
            assert_eq!(sandbox.sprag_with_errors_to(errors(), arguments), code, "{arguments:?}, {number}");
        };
        let file = format!("in/{number}.json");
        sandbox.write(&file, &text(&run(number as i64)));
        check(&["history", "add", &file], 0);
        assert_eq!(sandbox.records("main").len(), number + 1);
        check(&["history", "add", &file], 0);
        check(&["history", "add", "in/bad.json"], 2);
        check(&["history", "log", "--limit", "1"], 0);
        check(&["import", "in/r.csv", "--time", "2026-01-02", "--dry-run"], 0);
        check(&["import", "in/absent.csv"], 2);
    }
}

#[test]
fn a_wrong_golden_value_is_named_and_exits_with_1() {
    let sandbox = Sandbox::empty();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/apex-x/ordering.json");
    let text = std::fs::read_to_string(golden).expect("the golden cases are there");
    // The family is read from the file, not from its name.
    sandbox.write("cases/deep/renamed.json", &text);
    let right = sandbox.ends(0, &["conformance", "cases"]);
    assert_eq!(right.out.lines().last(), Some("13 passed, 0 failed, 0 skipped"));
    let damaged = text.replacen("[0,2,3,1]", "[0,2,1,3]", 1);
    assert_ne!(damaged, text, "nothing was damaged");
    sandbox.write("cases/deep/renamed.json", &damaged);
    let wrong = sandbox.ends(1, &["conformance", "cases"]);
    assert_contains(&wrong.out, &["hilbert_full_2x2"]);
    assert_eq!(wrong.out.lines().last(), Some("12 passed, 1 failed, 0 skipped"));
    sandbox.write("empty/readme.txt", "no case");
    sandbox.ends(2, &["conformance", "empty"]).says(&["empty"]);
}

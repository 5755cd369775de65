//! Baselines listed and compared with one another.

use sprag_model::Baseline;

use crate::crafted::{BASELINE, Crafted};
use crate::sandbox::assert_contains;
use crate::schemas::follows;

#[test]
fn the_list_shows_what_each_is_and_names_what_is_broken() {
    let crafted = Crafted::new();
    let none = crafted.ends(0, &["baseline", "list"]).says(&["hint: `sprag baseline emit`"]);
    assert_eq!(none.out, "there is no baseline yet\n");
    let crafted = Crafted::with_sessions(5);
    crafted.ends(0, &["baseline", "emit", "--notes", "first"]);
    crafted.change(8, &[("pack", 1.5e-3), ("scan", 2e-3)]);
    crafted.ends(0, &["baseline", "accept", "--why", "Worth \u{1b}[31mit."]);
    let list = |arguments: &[&str]| crafted.ends(0, &[&["baseline", "list"][..], arguments].concat());
    let plain = list(&[]).out;
    let sha = crafted.measured_commit().sha;
    for word in
        [BASELINE, "Example CPU", "sandbox", "2 interval", "1 to 6", &sha[..12], "2026-01-08", "Tester <tester@"]
    {
        assert_contains(&plain, &[word]);
    }
    assert!(plain.contains("Worth \\u{1b}[31mit.") && !plain.contains("archive"), "{plain}");
    list(&["--archive"]).prints(&["baselines/archive/cpu.example-cpu.20260105T120000Z-"]);

    crafted.write("baselines/cut.json", "{\"schema_version\": 2,");
    crafted.write("baselines/seed.json", "{\"metrics\": {\"a_ms\": {\"value_ms\": 1.0}}}");
    crafted.write("baselines/notes.txt", "hello");
    std::fs::create_dir(crafted.project.join("baselines/folder.json")).expect("a folder");
    let broken = list(&[]).says(&["3 files cannot be used", "hint: baselines/seed.json: it is used as it is"]);
    assert_contains(
        &broken.out,
        &[
            "baselines/cut.json is not JSON",
            "baselines/seed.json is a baseline of Apex-X, not a baseline of Sprag",
            "baselines/folder.json is not a file",
        ],
    );

    let json = list(&["--archive", "--json"]).out;
    let json = follows("baseline-list-1", &json);
    let entries = json["baselines"].as_array().expect("a list");
    let archived: Vec<bool> = entries.iter().filter_map(|one| one["archived"].as_bool()).collect();
    assert_eq!(archived, [false, false, false, false, true]);
    let own = entries.iter().find(|one| one["path"] == BASELINE).expect("it is listed");
    assert_eq!(own["baseline"]["accepted"]["why"], "Worth \u{1b}[31mit.");
    assert_eq!(own["baseline"]["accepted"]["replaces"], entries[4]["path"]);
}

#[test]
fn a_diff_shows_what_changed_and_judges_nothing() {
    let crafted = Crafted::with_sessions(5);
    let diff = |code: i32, arguments: &[&str]| crafted.ends(code, &[&["baseline", "diff"][..], arguments].concat());
    diff(2, &[]).says(&["there is no baseline to compare", "hint:"]);
    crafted.ends(0, &["baseline", "emit"]);
    assert_eq!(diff(0, &[]).says(&["has replaced no other"]).out, "");
    diff(2, &[BASELINE]).says(&["has replaced no other", "hint:"]);
    crafted.change(8, &[("pack", 1.5e-3), ("new", 1e-3)]);
    let run = diff(0, &["--run"]).out;
    assert_contains(&run, &[BASELINE, " (of ", "→ history/v1/cpu/2026/01/", "removed  cpu/scan @fast time"]);
    assert_contains(
        &run,
        &["added    cpu/new @fast time", "worse    cpu/pack @fast time", "1.000 ms", "1.500 ms", "+50.0 %"],
    );
    assert_eq!(diff(0, &["--run", BASELINE]).out, run);

    crafted.ends(0, &["baseline", "emit", "--output", "p.json"]);
    diff(0, &["p.json"]).prints(&["baselines/cpu.example-cpu.json (of ", "→ p.json (of ", "+50.0 %", "interval 10 %"]);
    crafted.ends(0, &["baseline", "accept", "p.json", "--why", "Worth it."]);
    let replaced = diff(0, &[]).out;
    assert_contains(&replaced, &["baselines/archive/", "→ baselines/cpu.example-cpu.json (of ", "+50.0 %"]);
    assert_contains(&replaced, &["accepted by Tester <tester@example.org> on ", ": Worth it."]);
    assert_eq!(diff(0, &[BASELINE]).out, replaced);
    diff(0, &["p.json"]).prints(&["2 metrics the same"]);
    diff(0, &[BASELINE, "p.json", "--suite", "cpu"]).prints(&["2 metrics the same"]);

    let json = diff(0, &["--json"]).out;
    let json = follows("baseline-diff-1", &json);
    let kinds: Vec<&str> =
        json["diffs"][0]["metrics"].as_array().expect("a list").iter().filter_map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, ["removed", "added", "worse"]);

    crafted.write("other.json", &crafted.altered(BASELINE, "\"suite\": \"cpu\"", "\"suite\": \"gpu\""));
    diff(0, &[BASELINE, "other.json"]).prints(&["their values are not of one kind: suite cpu → gpu"]);
    diff(2, &["other.json"]).says(&["there is no `baselines/gpu.example-cpu.json`", "hint:"]);
    diff(2, &[BASELINE, "--suite", "gpu"]).says(&["is of the suite `cpu`", "hint:"]);
    diff(2, &[BASELINE, "absent.json"]).says(&["absent.json` cannot be read", "hint:"]);
    diff(2, &[BASELINE, "p.json", "--run"]);
    crafted.write(BASELINE, "{");
    diff(2, &[]).says(&["is not JSON", "hint:"]);
}

#[test]
fn what_is_to_be_committed_holds_the_archive() {
    let crafted = Crafted::with_sessions(5);
    let printed = |arguments: &[&str]| {
        let out = crafted.ends(0, arguments).out;
        let archived = out.lines().find_map(|line| line.strip_prefix("archived ")).map(str::to_owned);
        let added = out.lines().find_map(|line| Some(line.split_once("git add ")?.1.to_owned()));
        (archived, added.expect("what to add is reported"))
    };
    assert_eq!(printed(&["baseline", "emit"]), (None, BASELINE.to_owned()));
    let (archived, added) = printed(&["baseline", "emit", "--notes", "again"]);
    assert_eq!(added, format!("{BASELINE} {}", archived.expect("there was one")));
    crafted.change(8, &[("pack", 1.6e-3), ("scan", 2e-3)]);
    let (archived, added) = printed(&["baseline", "accept", "--why", "Worth it."]);
    let archived = archived.expect("there was one");
    assert_eq!(added, format!("{BASELINE} {archived}"));
    crafted.remove(&archived);
    let words = format!("replaced `{archived}`, which is not here");
    assert_eq!(crafted.ends(0, &["baseline", "diff"]).says(&[&words]).out, "");
    crafted.ends(2, &["baseline", "diff", BASELINE]).says(&[&words, "hint: name two files"]);
    crafted.write(&archived, "{");
    crafted.ends(0, &["baseline", "diff"]).says(&["which cannot be read"]);
}

#[test]
fn whoever_accepts_what_is_there_is_written_down() {
    let crafted = Crafted::with_baseline(5);
    let accepted = || {
        let baseline = Baseline::from_json(crafted.read(BASELINE).as_bytes()).expect("it is one");
        baseline.accepted.expect("it is accepted")
    };
    let values = || crafted.read(BASELINE).split_once("\"metrics\": {").expect("it has some").1.to_owned();
    let (before, archive) = (values(), || crafted.project.join("baselines/archive").exists());
    assert_eq!(accepted().why, "");
    let first = crafted.ends(0, &["baseline", "accept", "--why", "first"]);
    assert_contains(
        &first.out,
        &["nothing to do except to record who accepts it, and why", &format!("git add {BASELINE}\n")],
    );
    assert_eq!((accepted().why.as_str(), accepted().replaces, values()), ("first", None, before));
    assert!(!archive());
    let text = crafted.read(BASELINE);
    let second = crafted.ends(0, &["baseline", "accept", "--why", "first"]);
    assert!(second.out.ends_with("nothing to do\n") && crafted.read(BASELINE) == text, "{}", second.out);
    crafted.git(&["config", "user.name", "Another"]);
    crafted.ends(0, &["baseline", "accept", "--why", "second"]);
    assert_eq!(crafted.read(BASELINE), text);
}

#[test]
fn noise_is_neither_worse_nor_better() {
    let crafted = Crafted::with_baseline(5);
    crafted.change(8, &[("pack", 1.01e-3), ("scan", 1e-3)]);
    crafted
        .ends(0, &["baseline", "diff", "--run"])
        .prints(&["moved   cpu/pack @fast time", "better  cpu/scan @fast time"]);
}

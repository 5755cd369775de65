//! Baselines taken, proposed, accepted and archived.

use sprag_model::{Baseline, Run};

use crate::crafted::{BASELINE, Crafted};
use crate::sandbox::assert_contains;
use crate::schemas::follows;

#[track_caller]
fn read(crafted: &Crafted, path: &str) -> Baseline {
    let text = crafted.read(path);
    follows("baseline-2", &text);
    Baseline::from_json(text.as_bytes()).unwrap_or_else(|error| panic!("{path} {error}"))
}

fn archive(crafted: &Crafted) -> Vec<String> {
    let folder = crafted.project.join("baselines/archive");
    let entries = folder.read_dir().into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

const ACCEPT: [&str; 4] = ["baseline", "accept", "--why", "The new layout is worth it."];

#[test]
fn a_baseline_learns_from_the_sessions_before_it() {
    let crafted = Crafted::with_sessions(1);
    let first = crafted.ends(0, &["baseline", "emit", "--notes", "first"]);
    assert_contains(
        &first.out,
        &["only 1 session recorded, so noise is assumed", "tolerances 10 %; record 2 more sessions"],
    );
    let baseline = read(&crafted, BASELINE);
    let accepted = baseline.accepted.clone().expect("whoever takes it is known");
    assert_eq!((accepted.by.as_str(), accepted.why.as_str()), ("Tester <tester@example.org>", "first"));
    assert_eq!((accepted.replaces, accepted.metrics), (None, None));
    assert_eq!((baseline.branch.as_deref(), baseline.machine.as_deref()), (Some("main"), Some("sandbox")));
    assert_eq!(baseline.commit, Some(crafted.measured_commit().sha));

    for day in 2..=5 {
        crafted.record(&crafted.run(day, &[("pack", 1e-3 * (1.0 + 0.01 * day as f64)), ("scan", 2e-3)]));
    }
    let more = crafted.ends(0, &["baseline", "emit"]);
    let words = ["estimated from 5 sessions: tolerances from 2 % to 12 %", "8 sessions allow from 2 % to 10 %"];
    assert!(words.iter().all(|words| more.out.contains(words)), "{}", more.out);
    let baseline = read(&crafted, BASELINE);
    assert!(baseline.metrics.values().all(|metric| metric.sessions == 5));
    assert_eq!(
        baseline.accepted.and_then(|accepted| accepted.replaces).as_deref().map(|path| &path[..18]),
        Some("baselines/archive/")
    );
    // A run file learns from the history too; one of another environment does not.
    let run = crafted.run(9, &[("pack", 1.03e-3), ("scan", 2e-3)]);
    crafted.write("../run.json", &crate::crafted::text(&run));
    crafted.ends(0, &["baseline", "emit", "--run", "../run.json"]).prints(&["estimated from 6 sessions"]);
    crafted.write("../run.json", &crate::crafted::text(&Crafted::compiled_by(run, "rustc 9")));
    crafted.ends(0, &["baseline", "emit", "--run", "../run.json"]).prints(&["only 1 session"]);
}

#[test]
fn rules_of_the_configuration_are_written_as_they_are() {
    let crafted = Crafted::with_sessions(3);
    let config = crafted.read("sprag.toml");
    crafted.append("sprag.toml", "[rules]\ndefault = \"bands\"\n");
    crafted.ends(0, &["baseline", "emit"]).prints(&["the rules of the configuration judge it"]);
    assert!(read(&crafted, BASELINE).metrics.values().all(|metric| metric.rule.name() == "bands"));
    let entry = "[[rules.metric]]\nmatch = \"pakc\"\nrule = \"bands\"\n";
    crafted.write("sprag.toml", &format!("{config}{entry}"));
    let ended = crafted.ends(0, &["baseline", "emit"]);
    ended.says(&["warning: `match = \"pakc\"` in `sprag.toml` fits no metric of cpu\n"]);
}

#[test]
fn a_proposal_is_reviewed_and_accepted() {
    let crafted = Crafted::with_baseline(4);
    let old = crafted.read(BASELINE);
    crafted.change(8, &[("pack", 1.5e-3), ("scan", 2e-3)]);
    let propose = ["baseline", "emit", "--output", "proposed.json"];
    crafted.ends(0, &propose).prints(&["sprag baseline accept proposed.json --why TEXT"]);
    assert_eq!((crafted.read(BASELINE), read(&crafted, "proposed.json").accepted), (old.clone(), None));
    crafted.ends(2, &propose).says(&["proposed.json` exists", "hint:"]);
    // After a step, the level is that of the last session alone.
    let pack = &read(&crafted, "proposed.json").metrics["cpu/pack @fast time"];
    assert_eq!((pack.value, pack.sessions), (1.5e-3, 1));

    crafted
        .ends(0, &["baseline", "accept", "proposed.json", "--why", "The new layout is worth it."])
        .prints(&["2 changed by up to +50.0 %"]);
    let accepted = read(&crafted, BASELINE).accepted.expect("it is accepted");
    assert_eq!(accepted.why, "The new layout is worth it.");
    let archived = accepted.replaces.expect("there was another");
    assert_eq!((crafted.read(&archived), archive(&crafted).len()), (old.clone(), 1));
    let second = crafted.ends(0, &["baseline", "accept", "proposed.json", "--why", "Again."]);
    assert_contains(&second.out, &["nothing to do"]);
    assert_eq!(archive(&crafted).len(), 1);
    crafted.ends(0, &["baseline", "accept", &archived, "--why", "Back again."]);
    assert_eq!(read(&crafted, BASELINE).metrics, Baseline::from_json(old.as_bytes()).expect("it was one").metrics);
    assert_eq!(archive(&crafted).len(), 2);
}

#[test]
fn the_slowdown_of_one_kernel_is_accepted_alone() {
    let crafted = Crafted::with_baseline(5);
    let old = read(&crafted, BASELINE);
    crafted.change(8, &[("pack", 1.5e-3), ("scan", 3e-3)]);
    crafted.ends(1, &["check"]);
    crafted.ends(0, &[&ACCEPT[..], &["--metric", "pack @fast"]].concat());
    let new = read(&crafted, BASELINE);
    let (pack, scan) = ("cpu/pack @fast time", "cpu/scan @fast time");
    assert_eq!((new.metrics[pack].value, &new.metrics[scan]), (1.5e-3, &old.metrics[scan]));
    assert_eq!(new.accepted.and_then(|accepted| accepted.metrics), Some(vec![pack.to_owned()]));
    crafted.ends(1, &["check"]).prints(&["1 regressed"]);
    crafted.ends(0, &ACCEPT);
    let ended = crafted.sprag(&["check"]);
    assert!(!ended.out.contains("regressed"), "{}", ended.out);
}

#[test]
fn what_is_not_fit_to_be_a_baseline_is_refused() {
    let crafted = Crafted::with_baseline(5);
    crafted.ends(2, &["baseline", "accept", "--why", " \t"]).says(&["`--why` says nothing", "hint:"]);
    let gone = ["baseline", "accept", "--why", "x", "--metric", "gone"];
    crafted.ends(2, &gone).says(&["no metric of the run", "contains `gone`", "hint:"]);
    assert_eq!(archive(&crafted), Vec::<String>::new());
    crafted.remove(BASELINE);
    crafted.write(&format!("{BASELINE}/x"), "");
    crafted.ends(2, &ACCEPT).says(&["is not a file", "hint:"]);
    crafted.ends(2, &["check"]).says(&["is not a file", "hint:"]);
}

#[test]
fn runs_that_are_dirty_partial_or_broken_have_to_be_named_so() {
    let crafted = Crafted::with_baseline(5);
    let complete = crafted.run(9, &[("pack", 1.5e-3), ("scan", 3e-3)]);
    let mut dirty = complete.clone();
    dirty.commit.as_mut().expect("there is one").dirty = true;
    crafted.record(&dirty);
    crafted.ends(2, &ACCEPT).says(&["measured uncommitted changes", "`--dirty`"]);
    crafted.ends(0, &[&ACCEPT[..], &["--dirty"]].concat());
    assert!(read(&crafted, BASELINE).dirty);

    let mut broken = Run { timestamp: complete.timestamp + chrono::TimeDelta::days(1), ..complete };
    broken.measurements[0].estimates[0].value = 1.7e-3;
    broken.measurements[1].estimates.clear();
    broken.measurements[1].failure = Some("parity: wrong".to_owned());
    crafted.record(&broken);
    crafted.ends(2, &ACCEPT).says(&["has only some benchmarks", "`--partial`", "`cpu/scan @fast` failed"]);
    crafted.ends(2, &["baseline", "emit"]).says(&["holds 1 metric that it did not measure"]);
    crafted.ends(0, &[&ACCEPT[..], &["--partial"]].concat());
    let merged = read(&crafted, BASELINE);
    assert_eq!((merged.metrics.len(), merged.partial), (2, false));
}

#[test]
fn baselines_emitted_at_once_are_all_archived() {
    const MANY: usize = 8;
    let crafted = Crafted::with_sessions(1);
    crafted.ends(0, &["baseline", "emit", "--notes", "taker 0"]);
    let notes: Vec<String> = (1..MANY).map(|number| format!("taker {number}")).collect();
    let takers: Vec<_> = notes.iter().map(|note| crafted.start(&["baseline", "emit", "--notes", note])).collect();
    for mut taker in takers {
        assert!(taker.wait().expect("our own child ends").success());
    }
    let archived = archive(&crafted).into_iter().map(|name| format!("baselines/archive/{name}"));
    let mut matching: Vec<String> =
        archived.chain([BASELINE.to_owned()]).map(|path| read(&crafted, &path).notes).collect();
    matching.sort();
    assert_eq!(matching, (0..MANY).map(|number| format!("taker {number}")).collect::<Vec<_>>());
}

#[test]
fn nothing_of_the_archive_is_written_over() {
    let crafted = Crafted::with_sessions(5);
    let mut texts: Vec<String> = Vec::new();
    for round in 0..4 {
        crafted.ends(0, &["baseline", "emit", "--notes", &format!("round {round}")]);
        texts.push(crafted.read(BASELINE));
    }
    let names = archive(&crafted);
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("cpu.example-cpu.20260105T120000Z-")), "{names:?}");
    for text in &texts[..3] {
        let matching = names.iter().filter(|name| crafted.read(&format!("baselines/archive/{name}")) == *text);
        assert_eq!(matching.count(), 1);
    }
    // The run named in a baseline must not decide where it is archived.
    let run = read(&crafted, BASELINE).run;
    crafted.edit(BASELINE, &run, "../../../../gone");
    crafted
        .ends(0, &["baseline", "emit"])
        .prints(&["archived baselines/archive/cpu.example-cpu.20260105T120000Z-gone.json"]);
    assert!(!crafted.project.join("../gone.json").exists());
    let old = include_str!("../../fixtures/records/baseline-1.json")
        .replacen("\"AMD EPYC (family 25, model 17)\"", "\"Example CPU\"", 1);
    crafted.write(BASELINE, &old);
    crafted.ends(0, &["baseline", "emit"]);
    let replaces = read(&crafted, BASELINE).accepted.and_then(|accepted| accepted.replaces).expect("it replaced one");
    assert_eq!(crafted.read(&replaces), old);
}

//! The reports of a gate.

use sprag_model::{Quality, Run};

use crate::crafted::Crafted;
use crate::sandbox::assert_contains;

/// Six sessions, then a run in which `pack` is half as slow again and `new` is new.
fn doubtful_and_regressed() -> Crafted {
    let crafted = Crafted::with_baseline(6);
    crafted.change(10, &[("pack", 1.5e-3), ("scan", 2e-3), ("new", 1e-3)]);
    crafted
}

#[test]
fn an_inconclusive_metric_can_fail_next_to_a_regression() {
    let crafted = doubtful_and_regressed();
    let report = |inconclusive: &str, format: &str| {
        crafted.ends(1, &["check", "--inconclusive", inconclusive, "--report", &format!("{format}=-")]).out
    };
    let check = |inconclusive: &str, junit: &str, github: &str| {
        let xml = report(inconclusive, "junit");
        assert_contains(&xml, &[junit, "<failure type=\"regressed\""]);
        let commands = report(inconclusive, "github");
        let printed = format!("::{github} title=sprag%3A no baseline%3A cpu/new @fast time::");
        assert_contains(&commands, &[&printed, "::error title=sprag%3A regressed%3A"]);
    };
    check("fail", "<failure type=\"no-baseline\"", "error");
    check("report", "<skipped type=\"no-baseline\"", "notice");
    check("ok", "<skipped type=\"no-baseline\"", "notice");
}

#[test]
fn a_suite_that_never_had_a_run_is_an_error_only_where_it_was_asked_for() {
    let crafted = Crafted::with_baseline(6);
    crafted.append("sprag.toml", "\n[suites.gpu]\nkind = \"gpu\"\n");
    let printed = |code: i32, more: &[&str], junit: &str, github: &str| {
        let report = |format: &str| crafted.ends(code, &[&["check", "--report", format][..], more].concat()).out;
        let (xml, commands) = (report("junit=-"), report("github=-"));
        assert_contains(&xml, &[&format!("<{junit} type=\"not-measured\"")]);
        assert_contains(&commands, &[&format!("::{github} title=sprag%3A not measured%3A gpu::")]);
    };
    let both = ["--suite", "cpu", "--suite", "gpu"];
    printed(0, &[], "skipped", "notice");
    printed(3, &both, "error", "error");
    crafted.change(10, &[("pack", 1.5e-3), ("scan", 2e-3)]);
    printed(1, &[], "skipped", "notice");
    printed(1, &both, "error", "error");
}

#[test]
fn a_value_without_an_interval_is_none() {
    let crafted = Crafted::with_sessions(6);
    crafted.append("sprag.toml", "\n[rules]\ndefault = \"tolerance\"\n");
    crafted.ends(0, &["baseline", "emit"]);
    crafted.change(10, &[("pack", 2e-3), ("scan", 3e-3)]);
    let plain = crafted.sprag(&["check"]).out;
    assert!(plain.contains("+100.") || plain.contains("+99.") && !plain.contains(" to +"), "{plain}");
    let json = crafted.sprag(&["check", "--report", "json=-"]).json();
    let suite = &json["suites"][0];
    assert!(suite["whole"]["interval"].is_null() && suite["comparisons"][0]["effect"]["interval"].is_null(), "{json}");
}

#[test]
fn quality_reasons_follow_the_head_of_a_run() {
    let crafted = Crafted::with_baseline(6);
    let quality = Quality { clean: false, reasons: vec!["throttled".to_owned()] };
    crafted.record(&Run { quality, ..crafted.run(8, &[("pack", 1e-3), ("scan", 2e-3)]) });
    let ended = crafted.ends(0, &["check"]);
    assert_eq!(ended.out.lines().nth(1), Some("rough: throttled"), "{}", ended.out);
}

#[test]
fn a_note_of_every_row_is_printed_once() {
    let crafted = Crafted::with_baseline(1);
    let note = "not enough history to know its noise";
    let count = |arguments: &[&str]| crafted.ends(0, arguments).out.matches(note).count();
    crafted.ends(0, &["check"]).prints(&[&format!("\nall metrics: {note}")]);
    assert_eq!((count(&["check"]), count(&["check", "--report", "md=-"])), (1, 1));
    assert_eq!(count(&["check", "--report", "json=-"]), 2);
}

#[test]
fn turns_are_advised_for_kinds_whose_commits_are_built() {
    let crafted = doubtful_and_regressed();
    let check = ["check", "--report", "md=-"];
    crafted.ends(1, &check).prints(&["--measure --suite cpu\n"]);
    crafted.edit("sprag.toml", "kind = \"cpu\"", "kind = \"gpu\"");
    let markdown = crafted.ends(1, &check).out;
    assert!(!markdown.contains("--measure"), "{markdown}");
}

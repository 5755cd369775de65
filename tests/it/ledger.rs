//! The ledger over whole histories: accepted events pass, and nothing else does.

use chrono::{DateTime, Days, NaiveDate, Utc};
use serde_json::Value;

use crate::demo::shop;
use crate::sandbox::{Ended, Sandbox, assert_contains};
use crate::schemas::follows;

const FILE: &str = "shop/ledger/2026.toml";

fn today() -> NaiveDate {
    DateTime::<Utc>::from(std::time::SystemTime::now()).date_naive()
}

fn in_days(days: u64) -> NaiveDate {
    today() + Days::new(days)
}

fn days_ago(days: u64) -> NaiveDate {
    today() - Days::new(days)
}

fn sprag(sandbox: &Sandbox, arguments: &[&str]) -> Ended {
    sandbox.sprag_with(&[("SPRAG_MACHINE", "bench-xeon")], &[&["-C", "shop"], arguments].concat())
}

/// The gate of the suite, without what is inconclusive in the demo.
fn check(sandbox: &Sandbox, arguments: &[&str]) -> Ended {
    sprag(sandbox, &[&["check", "--suite", "cpu", "--inconclusive", "ok"], arguments].concat())
}

fn trend(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sprag(sandbox, &["trend", "--format", "json"]).expect(0).out).expect("JSON")
}

/// The ids of the events of the step of tile_pack and of a drift.
fn events(trend: &Value) -> (String, String) {
    let find = |kind: &str| {
        let all = trend["events"].as_array().expect("a list");
        let is_it = |event: &&Value| event["kind"] == kind && event["direction"] == "worse" && event["sure"] == true;
        let id = all.iter().find(is_it).map(|event| event["id"].as_str().map(str::to_owned));
        id.flatten().expect("it was planted")
    };
    (find("change"), find("drift"))
}

fn entry(event: &str, at_most: f64, (date, expires): (NaiveDate, NaiveDate)) -> String {
    format!(
        "[[accept]]\nevent = \"{event}\"\nscope = \"event\"\nat_most = {at_most:?}\nreason = \"It saves memory.\"\n\
         author = \"Ada\"\ndate = \"{date}\"\ncommit = \"{}\"\nexpires = \"{expires}\"\n",
        "c".repeat(40)
    )
}

/// The row of the benchmark that became slower.
fn row(ended: &Ended) -> &str {
    let is_it = |line: &&str| line.contains("tile_pack") && line.contains("@fast");
    ended.out.lines().find(is_it).unwrap_or_else(|| panic!("no row of it in {}", ended.out))
}

#[test]
fn what_is_accepted_passes_with_its_figures_and_nothing_beyond_it_does() {
    let sandbox = shop();
    let (event, _) = events(&trend(&sandbox));
    let before = check(&sandbox, &[]).expect(1);
    assert!(row(&before).starts_with("regressed"), "{}", before.out);
    let figure =
        row(&before).split("  ").find(|part| part.trim().starts_with('+')).expect("it has a change").to_owned();

    let fine = (days_ago(10), in_days(30));
    sandbox.write(FILE, &entry(&event, 0.17, fine));
    let reports = ["--report", "json=gate.json", "--report", "md=gate.md"];
    let passed = check(&sandbox, &reports).expect(0);
    let until = format!("accepted by Ada until {} (ledger/2026.toml:1: It saves memory.)", fine.1);
    for part in ["accepted ", &figure, &until] {
        assert_contains(row(&passed), &[part]);
    }
    assert_contains(&passed.out, &["check: pass; ", "1 accepted"]);
    let json = sandbox.read("shop/gate.json");
    let json = follows("check-1", &json);
    let of = |json: &Value, pointer: &str| json.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!((of(&json, "/counts/accepted"), of(&json, "/counts/regressed")), (1.into(), 0.into()));
    assert_eq!(of(&json, "/suites/0/comparisons/0/verdict"), "regressed", "the verdict stays");
    assert_eq!(of(&json, "/suites/0/comparisons/0/ledger/standing"), "accepted");

    // Worse than accepted, expired, and not yet valid.
    let expired = format!("open again: the acceptance by Ada expired on {}", days_ago(1));
    for (at_most, days, words) in [
        (0.03, fine, format!("worse than Ada accepted until {}", fine.1)),
        (0.17, (days_ago(40), days_ago(1)), expired),
        (0.17, (in_days(2), in_days(9)), format!("holds from {} on", in_days(2))),
    ] {
        sandbox.write(FILE, &entry(&event, at_most, days));
        assert_contains(row(&check(&sandbox, &[]).expect(1)), &["regressed", &words]);
    }
    for scope in ["event on bench-epyc", "cpu/infer"] {
        sandbox.write(FILE, &entry(&event, 0.17, fine).replace("scope = \"event\"", &format!("scope = \"{scope}\"")));
        check(&sandbox, &[]).expect(1);
    }
    sandbox.write(FILE, &entry(&event, 0.17, fine).replace("scope = \"event\"", "scope = \"event on bench-xeon\""));
    check(&sandbox, &[]).expect(0);
    // Bisection ignores the ledger.
    let baseline = passed.out.split_once("against ").and_then(|(_, rest)| rest.split_whitespace().next());
    let baseline = baseline.expect("the baseline is reported");
    sprag(&sandbox, &["check", "--suite", "cpu", "--bisect", "--baseline", baseline]).expect(1);
}

#[test]
fn a_regression_that_came_later_is_not_what_was_accepted() {
    let sandbox = shop();
    let printed = trend(&sandbox);
    let (event, drift) = events(&printed);
    // The drift begins before the baseline, so the gate sees only part of it.
    sandbox.write(FILE, &entry(&drift, 0.9, (days_ago(10), in_days(30))));
    let other = check(&sandbox, &[]).expect(1);
    assert!(row(&other).starts_with("regressed") && !other.out.contains("Ada"), "{}", other.out);
    // An unknown event has no effect, and `trend` says so.
    sandbox.write(FILE, &entry("e-404404", 0.9, (days_ago(10), in_days(30))));
    check(&sandbox, &[]).expect(1);
    sprag(&sandbox, &["trend"]).expect(0).says(&["ledger/2026.toml:1 accepts `e-404404`", "it has no effect"]);
    // The change before the base is not in the comparison.
    sandbox.write(FILE, &entry(&event, 0.9, (days_ago(10), in_days(30))));
    let bad = printed["events"].as_array().expect("a list").iter().find(|one| one["id"] == event.as_str());
    let bad = bad.and_then(|one| one.pointer("/first_bad/sha")).and_then(Value::as_str).expect("it has a first");
    let after = check(&sandbox, &["--against", bad]);
    assert!(!after.out.contains("Ada"), "{}", after.out);
}

#[test]
fn what_is_missing_or_damaged_is_never_accepted() {
    let sandbox = shop();
    let (event, _) = events(&trend(&sandbox));
    sandbox.write(FILE, &entry(&event, 900.0, (days_ago(10), in_days(30))));
    let passed = check(&sandbox, &[]).expect(0);
    let baseline = passed.out.split_once("against ").and_then(|(_, rest)| rest.split_whitespace().next());
    let baseline = format!("shop/{}", baseline.expect("the baseline is reported"));
    let text = sandbox.read(&baseline);
    sandbox.write(&baseline, &text.replace("cpu/tile_pack", "cpu/tile_packed"));
    let missing = check(&sandbox, &[]).expect(1);
    assert_contains(&missing.out, &["missing", "2 missing"]);
    sandbox.write(&baseline, &text);
    let shop = |arguments: &[&str]| sandbox.git(&[&["-C", "shop"], arguments].concat());
    let commit = passed.out.split_once(" at ").and_then(|(_, rest)| rest.split(',').next()).expect("it is reported");
    let records = shop(&["ls-files", "history/v1/cpu"]);
    let damaged: Vec<&str> = records.lines().filter(|path| path.contains(&format!("/{commit}-"))).collect();
    assert_eq!(damaged.len(), 2, "a run of each machine: {records}");
    for record in &damaged {
        let path = format!("shop/{record}");
        let text = sandbox.read(&path);
        sandbox.write(&path, &text.replace("\"ok\"", "\"skipped\""));
        assert_ne!(sandbox.read(&path), text);
    }
    shop(&["add", "history"]);
    shop(&["commit", "-qm", "Change records"]);
    let printed = sprag(&sandbox, &["history", "fsck"]).expect(4);
    assert!(damaged.iter().all(|record| printed.out.contains(record)), "{}", printed.out);
    check(&sandbox, &[]).expect(4);
}

#[test]
fn a_fault_of_the_ledger_stops_whatever_reads_it() {
    let sandbox = shop();
    let (event, _) = events(&trend(&sandbox));
    let fine = entry(&event, 0.17, (days_ago(10), in_days(30)));
    let refused = |text: &str, words: &[&str]| {
        sandbox.write(FILE, text);
        sprag(&sandbox, &["trend"]).expect(2).says(words).says(&["hint: fix the entry"]);
    };
    let unknown = ["ledger/2026.toml:5: unknown field `reson`", "hint: fix the entry"];
    sandbox.write(FILE, &fine.replace("reason", "reson"));
    let waive = ["release", "waive", "--event", event.as_str(), "--reason", "x"];
    for arguments in [&["check"][..], &["site"], &["weekly"], &waive] {
        sprag(&sandbox, arguments).expect(2).says(&unknown);
    }
    refused(&fine.replace("reason", "reson"), &["ledger/2026.toml:5: unknown field `reson`", "`reason`"]);
    refused(&fine.replace("author = \"Ada\"\n", ""), &["ledger/2026.toml:1: missing field `author`"]);
    let expires = in_days(30).to_string();
    refused(
        &fine.replace(&expires, "2026-02-30"),
        &["ledger/2026.toml:9: `expires` is `2026-02-30`, which is not a date"],
    );
    refused(&fine.replace("0.17", "-0.17"), &["ledger/2026.toml:4: `at_most` must be above 0"]);
    refused(&format!("{fine}{fine}"), &["ledger/2026.toml:10: speaks of the same as ledger/2026.toml:1"]);
    sandbox.write(FILE, &fine);
    check(&sandbox, &[]).expect(0);
    std::fs::create_dir(sandbox.project.join("shop/ledger/folder.toml")).expect("a folder");
    sprag(&sandbox, &["trend"]).expect(2).says(&["`ledger/folder.toml` is not a file"]);
    std::fs::remove_dir(sandbox.project.join("shop/ledger/folder.toml")).expect("a folder");
    sandbox.write("shop/ledger/README.md", "[[accept]]");
    sprag(&sandbox, &["trend"]).expect(0);
}

#[test]
fn what_waive_writes_is_read_and_nothing_is_written_over() {
    let sandbox = shop();
    let (event, drift) = events(&trend(&sandbox));
    let waive = |arguments: &[&str]| sprag(&sandbox, &[&["release", "waive"], arguments].concat());
    let reason = "It \"saves\" memory \\ $(x) é";
    let written = waive(&["--event", &event, "--reason", reason]).expect(0);
    let path = format!("ledger/{event}.toml");
    let text = sandbox.read(&format!("shop/{path}"));
    let until = in_days(90);
    assert_contains(
        &written.out,
        &[
            &text,
            &format!("wrote {path}"),
            &format!("{event}: accepted by Sprag Demo <demo@example.org> until {until}"),
        ],
    );
    let passed = check(&sandbox, &[]).expect(0);
    assert!(row(&passed).starts_with("accepted ") && row(&passed).contains("It \"saves\" memory"), "{}", passed.out);
    // The same again is refused while it applies; later days get a file of their own.
    waive(&["--event", &event, "--reason", "again"]).expect(2).says(&[&format!("as {path}:1"), "nothing was written"]);
    let (date, expires) = (in_days(91).to_string(), in_days(100).to_string());
    waive(&["--event", &event, "--reason", "again", "--date", &date, "--expires", &expires])
        .expect(0)
        .prints(&[&format!("wrote ledger/{event}-2.toml")])
        .says(&["as of today the entry accepts nothing"]);
    assert_eq!(sandbox.read(&format!("shop/{path}")), text);
    let item = ["--release", "v0.5.0", "--item", "gpu_perf_regression", "--reason", "No device is lent."];
    let one = waive(&[&item[..], &["--target", "triton"]].concat()).expect(0);
    let path = "ledger/v0-5-0-gpu-perf-regression-triton.toml";
    assert_contains(&one.out, &[&format!("wrote {path}"), "in force"]);
    waive(&item).expect(2).says(&[&format!("speaks of the same as {path}:1")]);
    for (place, word, words) in [
        (1, "v0.5.1", ["names no release `v0.5.1`", "did you mean `v0.5.0`?"]),
        (1, "v0.4.0", ["`v0.4.0` does not need `gpu_perf_regression` for `triton`", "there are: none"]),
        (3, "gpu_perf_regresion", ["has no item `gpu_perf_regresion`", "did you mean `gpu_perf_regression`?"]),
        (7, "cuda", ["`v0.5.0` does not need `gpu_perf_regression` for `cuda`", "there are: triton"]),
        (7, "tritn", ["did you mean `triton`?", ""]),
    ] {
        let mut all = [&item[..], &["--target", "triton"]].concat();
        all[place] = word;
        waive(&all).expect(2).says(&words);
    }
    let improved = trend(&sandbox);
    let improved = improved["events"].as_array().expect("a list").iter().find(|one| one["direction"] == "better");
    let improved = improved.and_then(|one| one["id"].as_str()).expect("it was planted");
    for (arguments, words) in [
        (&["--event", improved, "--reason", "x"][..], &["nothing to accept"][..]),
        (&["--event", "e-404404", "--reason", "x"], &["no event `e-404404`", &drift]),
        (&["--event", &drift, "--reason", " "], &["`--reason` is empty"]),
        (&["--event", &drift, "--reason", "x", "--at-most=-1"], &["`--at-most` must be above 0"]),
        (&["--event", &drift, "--reason", "x", "--expires", "2020-01-01"], &["it would never apply"]),
        (&["--event", &drift, "--reason", "x", "--item", "y"], &[]),
        (&["--release", "v1", "--item", "x", "--reason", "x", "--at-most", "0.1"], &[]),
        (&["--reason", "x"], &[]),
    ] {
        waive(arguments).expect(2).says(words);
    }
    assert!(!sandbox.project.join(format!("shop/ledger/{drift}.toml")).exists(), "nothing of that was written");
}

#[test]
fn the_site_shows_the_ledger_and_the_text_of_an_event_is_an_entry() {
    let sandbox = shop();
    let (event, drift) = events(&trend(&sandbox));
    let page = |path: &str| {
        sprag(&sandbox, &["site"]).expect(0);
        sandbox.read(&format!("shop/_site/{path}"))
    };
    let html = page(&format!("events/{event}.html"));
    let (_, rest) = html.split_once("<pre><code>[[accept]]").expect("it is open, and can be accepted");
    let (lines, _) = rest.split_once("</code>").expect("it ends");
    let mut text = format!("[[accept]]{lines}").replace("&#34;", "\"");
    // The site's clock is that of the newest run.
    for (key, value) in [
        ("reason", "It saves memory.".to_owned()),
        ("author", "Ada".to_owned()),
        ("date", "2026-11-01".to_owned()),
        ("expires", in_days(30).to_string()),
    ] {
        let empty = format!("{key} = \"\"");
        assert_contains(&text, &[&empty]);
        text = text.replace(&empty, &format!("{key} = \"{value}\""));
    }
    sandbox.write(FILE, &text);
    check(&sandbox, &[]).expect(0);
    let report = trend(&sandbox);
    let answer = report["events"].as_array().expect("a list").iter().find(|one| one["id"] == event.as_str());
    assert_eq!(answer.and_then(|one| one.pointer("/answer/standing")), Some(&"accepted".into()));

    let html = page(&format!("events/{event}.html"));
    assert!(!html.contains("[[accept]]") && html.contains("“It saves memory.”"), "{html}");
    assert!(sandbox.read(&format!("shop/_site/events/{drift}.html")).contains("[[accept]]"), "the drift is open");
    let ledger = sandbox.read("shop/_site/ledger.html");
    assert_contains(
        &ledger,
        &["3 entries are in force", &format!("events/{event}.html"), "It saves memory.", "ledger/2026.toml:1"],
    );
    assert_contains(&sandbox.read("shop/_site/events/index.html"), &["1 accepted regression"]);
    sprag(&sandbox, &["site", "--check"]).expect(0);
    sandbox.remove(FILE);
    sprag(&sandbox, &["site", "--check"]).expect(1);
    assert_contains(&page("ledger.html"), &["2 entries are in force"]);
}

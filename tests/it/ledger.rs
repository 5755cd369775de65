//! The ledger over whole histories: what is accepted passes, and nothing else does.

use chrono::{DateTime, Days, NaiveDate, Utc};
use serde_json::Value;

use crate::demo::shop;
use crate::sandbox::{Ended, Sandbox};
use crate::schemas::follows;

const FILE: &str = "shop/ledger/2026.toml";

/// The present as the program takes it.
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

/// The gate of the suite; what is inconclusive in the demo is none of its failures.
fn check(sandbox: &Sandbox, arguments: &[&str]) -> Ended {
    sprag(sandbox, &[&["check", "--suite", "cpu", "--inconclusive", "ok"], arguments].concat())
}

fn trend(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sprag(sandbox, &["trend", "--format", "json"]).expect(0).out).expect("JSON")
}

/// The id of the event of the step of tile_pack, and that of a drift.
fn events(trend: &Value) -> (String, String) {
    let find = |kind: &str| {
        let all = trend["events"].as_array().expect("a list");
        let is_it = |event: &&Value| event["kind"] == kind && event["direction"] == "worse" && event["sure"] == true;
        let id = all.iter().find(is_it).map(|event| event["id"].as_str().map(str::to_owned));
        id.flatten().expect("it was planted")
    };
    (find("change"), find("drift"))
}

/// An entry that accepts an event, with what differs from the usual.
fn entry(event: &str, at_most: f64, (date, expires): (NaiveDate, NaiveDate)) -> String {
    format!(
        "[[accept]]\nevent = \"{event}\"\nscope = \"event\"\nat_most = {at_most:?}\nreason = \"It saves memory.\"\n\
         author = \"Ada\"\ndate = \"{date}\"\ncommit = \"{}\"\nexpires = \"{expires}\"\n",
        "c".repeat(40)
    )
}

/// The line of the table about the benchmark that became slower.
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
        assert!(row(&passed).contains(part), "{part}: {}", passed.out);
    }
    assert!(passed.out.contains("check: pass; ") && passed.out.contains("1 accepted"), "{}", passed.out);
    let json = sandbox.read("shop/gate.json");
    follows("check-1", &json);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let of = |json: &Value, pointer: &str| json.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!((of(&json, "/counts/accepted"), of(&json, "/counts/regressed")), (1.into(), 0.into()));
    assert_eq!(of(&json, "/suites/0/comparisons/0/verdict"), "regressed", "the verdict stays");
    assert_eq!(of(&json, "/suites/0/comparisons/0/ledger/standing"), "accepted");

    // What got worse by more than is accepted, what is over, and what is yet to come.
    sandbox.write(FILE, &entry(&event, 0.03, fine));
    let worse = check(&sandbox, &[]).expect(1);
    assert!(row(&worse).contains(&format!("worse than Ada accepted until {}", fine.1)), "{}", worse.out);
    sandbox.write(FILE, &entry(&event, 0.17, (days_ago(40), days_ago(1))));
    let over = check(&sandbox, &[]).expect(1);
    let words = format!("open again: the acceptance by Ada expired on {}", days_ago(1));
    assert!(row(&over).starts_with("regressed") && row(&over).contains(&words), "{}", over.out);
    sandbox.write(FILE, &entry(&event, 0.17, (in_days(2), in_days(9))));
    let early = check(&sandbox, &[]).expect(1);
    assert!(row(&early).contains(&format!("holds from {} on", in_days(2))), "{}", early.out);
    // Another machine, and another benchmark.
    for scope in ["event on bench-epyc", "cpu/infer"] {
        sandbox.write(FILE, &entry(&event, 0.17, fine).replace("scope = \"event\"", &format!("scope = \"{scope}\"")));
        check(&sandbox, &[]).expect(1);
    }
    sandbox.write(FILE, &entry(&event, 0.17, fine).replace("scope = \"event\"", "scope = \"event on bench-xeon\""));
    check(&sandbox, &[]).expect(0);
    // Bisection looks for commits, and asks nobody's leave.
    let baseline = passed.out.split_once("against ").and_then(|(_, rest)| rest.split_whitespace().next());
    let baseline = baseline.expect("the baseline is reported");
    sprag(&sandbox, &["check", "--suite", "cpu", "--bisect", "--baseline", baseline]).expect(1);
}

#[test]
fn a_regression_that_came_later_is_not_what_was_accepted() {
    let sandbox = shop();
    let printed = trend(&sandbox);
    let (event, drift) = events(&printed);
    // The baseline lies behind the begin of the drift, so that what it did is not all that the gate sees.
    sandbox.write(FILE, &entry(&drift, 0.9, (days_ago(10), in_days(30))));
    let other = check(&sandbox, &[]).expect(1);
    assert!(row(&other).starts_with("regressed") && !other.out.contains("Ada"), "{}", other.out);
    // Of an event that nobody tells nothing is accepted, and `trend` says so.
    sandbox.write(FILE, &entry("e-404404", 0.9, (days_ago(10), in_days(30))));
    check(&sandbox, &[]).expect(1);
    sprag(&sandbox, &["trend"]).expect(0).says(&["ledger/2026.toml:1 accepts `e-404404`", "it has no effect"]);
    // What is held against the commit right after the change is another thing than the change.
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
    assert!(missing.out.contains("missing") && missing.out.contains("2 missing"), "{}", missing.out);
    sandbox.write(&baseline, &text);
    // A record that was changed.
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
        let ended = sprag(&sandbox, &["trend"]).expect(2).says(words);
        assert!(ended.err.contains("hint: mend the entry"), "{}", ended.err);
    };
    let unknown = ["ledger/2026.toml:5: unknown field `reson`", "hint: mend the entry"];
    sandbox.write(FILE, &fine.replace("reason", "reson"));
    let waive = ["release", "waive", "--event", event.as_str(), "--reason", "x"];
    for arguments in [&["check"][..], &["site"], &["weekly"], &waive] {
        sprag(&sandbox, arguments).expect(2).says(&unknown);
    }
    refused(&fine.replace("reason", "reson"), &["ledger/2026.toml:5: unknown field `reson`", "`reason`"]);
    refused(&fine.replace("author = \"Ada\"\n", ""), &["ledger/2026.toml:1: missing field `author`"]);
    let expires = in_days(30).to_string();
    refused(&fine.replace(&expires, "2026-02-30"), &["ledger/2026.toml:9: `expires` is `2026-02-30`, which is no day"]);
    refused(&fine.replace("0.17", "-0.17"), &["ledger/2026.toml:4: `at_most` must be above 0"]);
    refused(&format!("{fine}{fine}"), &["ledger/2026.toml:10: speaks of the same as ledger/2026.toml:1"]);
    sandbox.write(FILE, &fine);
    check(&sandbox, &[]).expect(0);
    // What is no file, and what no one reads as an entry.
    std::fs::create_dir(sandbox.project.join("shop/ledger/folder.toml")).expect("a folder");
    sprag(&sandbox, &["trend"]).expect(2).says(&["`ledger/folder.toml` is no file"]);
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
    assert!(written.out.contains(&text) && written.out.contains(&format!("wrote {path}")), "{}", written.out);
    assert!(written.out.contains(&format!("{event}: accepted by Sprag Demo <demo@example.org> until {until}")));
    let passed = check(&sandbox, &[]).expect(0);
    assert!(row(&passed).starts_with("accepted ") && row(&passed).contains("It \"saves\" memory"), "{}", passed.out);
    // The same again is refused while it holds; for days after it there is a file of its own.
    waive(&["--event", &event, "--reason", "again"]).expect(2).says(&[&format!("as {path}:1"), "nothing was written"]);
    let (date, expires) = (in_days(91).to_string(), in_days(100).to_string());
    let later = waive(&["--event", &event, "--reason", "again", "--date", &date, "--expires", &expires]).expect(0);
    assert!(later.out.contains(&format!("wrote ledger/{event}-2.toml")), "{}", later.out);
    assert!(later.err.contains("as of today the entry accepts nothing"), "{}", later.err);
    assert_eq!(sandbox.read(&format!("shop/{path}")), text);
    // An item of a release, for one target and for all.
    let item = ["--release", "v0.5.0", "--item", "gpu_perf_regression", "--reason", "No device is lent."];
    let one = waive(&[&item[..], &["--target", "triton"]].concat()).expect(0);
    let path = "ledger/v0-5-0-gpu-perf-regression-triton.toml";
    assert!(one.out.contains(&format!("wrote {path}")) && one.out.contains("in force"), "{}", one.out);
    waive(&item).expect(2).says(&[&format!("speaks of the same as {path}:1")]);
    // What no release has.
    let unknown = |place: usize, word: &'static str, words: &[&str]| {
        let mut all = [&item[..], &["--target", "triton"]].concat();
        all[place] = word;
        waive(&all).expect(2).says(words);
    };
    unknown(1, "v0.5.1", &["names no release `v0.5.1`", "did you mean `v0.5.0`?"]);
    unknown(1, "v0.4.0", &["`v0.4.0` does not need `gpu_perf_regression` for `triton`", "there are: none"]);
    unknown(3, "gpu_perf_regresion", &["has no item `gpu_perf_regresion`", "did you mean `gpu_perf_regression`?"]);
    unknown(7, "cuda", &["`v0.5.0` does not need `gpu_perf_regression` for `cuda`", "there are: triton"]);
    unknown(7, "tritn", &["did you mean `triton`?"]);
    // What there is nothing to accept of, and what says nothing.
    let improved = trend(&sandbox);
    let improved = improved["events"].as_array().expect("a list").iter().find(|one| one["direction"] == "better");
    let improved = improved.and_then(|one| one["id"].as_str()).expect("it was planted");
    waive(&["--event", improved, "--reason", "x"]).expect(2).says(&["nothing to accept"]);
    waive(&["--event", "e-404404", "--reason", "x"]).expect(2).says(&["no event `e-404404`", &drift]);
    waive(&["--event", &drift, "--reason", " "]).expect(2).says(&["`--reason` is empty"]);
    waive(&["--event", &drift, "--reason", "x", "--at-most=-1"]).expect(2).says(&["`--at-most` must be above 0"]);
    waive(&["--event", &drift, "--reason", "x", "--expires", "2020-01-01"]).expect(2).says(&["it would never apply"]);
    waive(&["--event", &drift, "--reason", "x", "--item", "y"]).expect(2);
    waive(&["--release", "v1", "--item", "x", "--reason", "x", "--at-most", "0.1"]).expect(2);
    waive(&["--reason", "x"]).expect(2);
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
    // The clock of the site is that of the newest run, which lies before the present.
    for (key, value) in [
        ("reason", "It saves memory.".to_owned()),
        ("author", "Ada".to_owned()),
        ("date", "2026-11-01".to_owned()),
        ("expires", in_days(30).to_string()),
    ] {
        let empty = format!("{key} = \"\"");
        assert!(text.contains(&empty), "{text}");
        text = text.replace(&empty, &format!("{key} = \"{value}\""));
    }
    sandbox.write(FILE, &text);
    check(&sandbox, &[]).expect(0);
    let found = trend(&sandbox);
    let answer = found["events"].as_array().expect("a list").iter().find(|one| one["id"] == event.as_str());
    assert_eq!(answer.and_then(|one| one.pointer("/answer/standing")), Some(&"accepted".into()));

    let html = page(&format!("events/{event}.html"));
    assert!(!html.contains("[[accept]]") && html.contains("“It saves memory.”"), "{html}");
    assert!(sandbox.read(&format!("shop/_site/events/{drift}.html")).contains("[[accept]]"), "the drift is open");
    let ledger = sandbox.read("shop/_site/ledger.html");
    // Two waive items of the release that the generated project has.
    for part in ["3 entries are in force", &format!("events/{event}.html"), "It saves memory.", "ledger/2026.toml:1"] {
        assert!(ledger.contains(part), "{part}: {ledger}");
    }
    assert!(sandbox.read("shop/_site/events/index.html").contains("1 accepted regression"));
    sprag(&sandbox, &["site", "--check"]).expect(0);
    std::fs::remove_file(sandbox.project.join(FILE)).expect("a file");
    sprag(&sandbox, &["site", "--check"]).expect(1);
    assert!(page("ledger.html").contains("2 entries are in force"));
}

//! A gate as SARIF 2.1.0 (OASIS, 2020), for the alerts of code scanning.
//!
//! One run, all rules, and a result for each finding. GitHub shows a result only at a place in a file: the beginning of the baseline,
//! or of `sprag.toml`. It identifies a result by `primaryLocationLineHash` alone, which is therefore a digest of what was measured.
//! In a message braces are placeholders and brackets are links, so both become parentheses; the logical location has the exact name.

use serde_json::{Value, json};

use super::finding::{self, Finding, Kind};
use crate::text::{shortened, visible};
use sprag_base::digest::Digest;
use sprag_base::json;
use sprag_model::{Gate, SuiteGate};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

const CONFIGURATION: &str = "sprag.toml";

/// The longest message, in characters.
const MESSAGE: usize = 1000;

/// The results that GitHub takes of a run; with more it refuses the file.
const MOST_RESULTS: usize = 25_000;

pub fn gate_sarif(gate: &Gate) -> String {
    let mut findings = finding::all(gate);
    if findings.len() > MOST_RESULTS {
        findings.sort_by_key(|finding| place(finding.kind));
        findings.truncate(MOST_RESULTS);
    }
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "sprag",
                    "version": env!("CARGO_PKG_VERSION"),
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": Kind::ALL.map(|kind| rule(kind, gate.command)),
                },
            },
            "automationDetails": { "id": format!("sprag/{}/", gate.command) },
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(result).collect::<Vec<Value>>(),
        }],
    });
    json::to_indented(&log) + "\n"
}

/// Of each kind of finding its name, what happened in short and in full, and what to do; `compare` says some of it otherwise.
const RULES: &str = include_str!("../../../templates/sarif-rules.json");

fn rule(kind: Kind, command: &str) -> Value {
    let rules: Value = serde_json::from_str(RULES).expect("the file is part of the build");
    let words = &rules[kind.id()];
    let text = |name: &str| match &words["compare"][name] {
        other @ Value::String(_) if command == finding::COMPARE => json!({ "text": other }),
        _ => json!({ "text": words[name] }),
    };
    json!({
        "id": kind.id(),
        "name": words["name"],
        "shortDescription": text("short"),
        "fullDescription": text("full"),
        "help": text("help"),
        "defaultConfiguration": { "level": kind.level().word() },
        "properties": { "tags": ["performance"] },
    })
}

fn result(finding: &Finding<'_>) -> Value {
    let suite = finding.suite;
    let name = finding.comparison.map_or_else(|| suite.suite.clone(), finding::metric_name);
    // Parts are set apart by a character that names cannot hold.
    let parts = [suite.suite.as_str(), &suite.machine_class, finding.comparison.map_or("", |one| &one.benchmark)];
    let metric = finding.comparison.map_or("", |comparison| &comparison.metric.name);
    let digest = Digest::from_parts(&[parts.join("\0").as_bytes(), b"\0", metric.as_bytes()]).to_string();
    json!({
        "ruleId": finding.kind.id(),
        "ruleIndex": place(finding.kind),
        "level": finding.level.word(),
        "message": { "text": message(&format!("{}. {}.", finding.title, finding.message.trim_end_matches('.'))) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": file(suite) },
                "region": { "startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2 },
            },
            "logicalLocations": [{ "fullyQualifiedName": visible(&name), "kind": "member" }],
        }],
        "partialFingerprints": {
            "primaryLocationLineHash": format!("{}:1", &digest[..16]),
            "spragMetric/v1": digest,
        },
    })
}

fn place(kind: Kind) -> usize {
    Kind::ALL.iter().position(|one| *one == kind).expect("the list has every kind")
}

fn message(text: &str) -> String {
    let text = shortened(text, MESSAGE);
    let round = |character: char| match character {
        '{' | '[' => '(',
        '}' | ']' => ')',
        other => other,
    };
    visible(&text).chars().map(round).collect()
}

/// The baseline that the suite was compared with, where that is in the project, as a relative URI.
fn file(suite: &SuiteGate) -> String {
    let path = suite.against.split(" (").next().unwrap_or_default();
    let is_within =
        path.starts_with("baselines/") && path.ends_with(".json") && !path.split('/').any(|part| part == "..");
    if suite.has_base && is_within { uri(path) } else { CONFIGURATION.to_owned() }
}

fn uri(path: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    path.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::example;

    fn log(gate: &Gate) -> Value {
        let text = gate_sarif(gate);
        assert!(text.is_ascii());
        serde_json::from_str(&text).expect("it is JSON")
    }

    fn results(gate: &Gate) -> Vec<Value> {
        log(gate)["runs"][0]["results"].as_array().expect("a list").clone()
    }

    #[test]
    fn each_finding_is_a_result() {
        let result = |one: &Value| {
            let place = one["ruleIndex"].as_u64().expect("a number") as usize;
            assert_eq!(one["ruleId"], Kind::ALL[place].id());
            format!("{} {}", one["ruleId"].as_str().unwrap_or_default(), one["level"].as_str().unwrap_or_default())
        };
        let all: Vec<String> = results(&example::gate()).iter().map(result).collect();
        let errors = "regressed error|regressed error|missing error|inconclusive warning|not-comparable warning";
        let notes = "no-baseline note|not-measured note|not-measured error";
        assert_eq!(all.join("|"), format!("{errors}|{notes}"));
        assert_eq!(results(&example::passing()), Vec::<Value>::new());
    }

    #[test]
    fn a_gate_reads_as_a_log() {
        insta::assert_snapshot!(gate_sarif(&example::doubtful()));
    }

    #[test]
    fn what_to_do_fits_the_command() {
        let help = |command: &'static str, kind: Kind| {
            let rule = &log(&Gate { command, ..example::gate() })["runs"][0]["tool"]["driver"]["rules"][place(kind)];
            rule["help"]["text"].as_str().expect("a text").to_owned()
        };
        assert!(help("check", Kind::Regressed).contains("`sprag baseline accept --why TEXT`"));
        for kind in Kind::ALL {
            assert!(!help("compare", kind).contains("baseline emit") && !help("compare", kind).contains("accept"));
        }
    }

    #[test]
    fn a_fingerprint_is_of_what_is_measured_and_of_nothing_else() {
        let print = |change: fn(&mut SuiteGate)| {
            let mut gate = example::doubtful();
            change(&mut gate.suites[0]);
            results(&gate)[0]["partialFingerprints"]["primaryLocationLineHash"].clone()
        };
        let check = |is_same: bool, change: fn(&mut SuiteGate)| assert_eq!(print(change) == print(|_| {}), is_same);
        check(true, |suite| suite.comparisons[0].current = Some(7.0));
        check(true, |suite| suite.run = None);
        check(true, |suite| suite.machine = Some("twin".to_owned()));
        check(false, |suite| suite.comparisons[0].benchmark = "cpu/b @fast".to_owned());
        check(false, |suite| suite.comparisons[0].metric.name = "ratio".to_owned());
        check(false, |suite| suite.machine_class = "Other".to_owned());
        check(false, |suite| suite.suite = "gpu".to_owned());
    }

    #[test]
    fn a_place_is_a_file_of_the_project() {
        for (against, has_base, expected) in [
            ("baselines/cpu.x.json (of 0123456789ab, 2026-11-21)", true, "baselines/cpu.x.json"),
            ("baselines/a b%é.json", true, "baselines/a%20b%25%C3%A9.json"),
            ("baselines/../../etc/x.json", true, "sprag.toml"),
            ("/tmp/base.json (of no commit, 2026-11-21)", true, "sprag.toml"),
            ("eight sessions until 2026-11-21", true, "sprag.toml"),
            ("baselines/cpu.x.json is of another suite", false, "sprag.toml"),
        ] {
            let suite = SuiteGate { against: against.to_owned(), has_base, ..example::suite("cpu") };
            assert_eq!(file(&suite), expected);
        }
    }
}

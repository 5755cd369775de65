//! What a gate found as JUnit XML, in the form that Jenkins, GitLab and other viewers of tests read.
//!
//! There is no standard; this keeps to what the schema of Jenkins' xUnit plugin (`junit-10.xsd`) allows and to what GitLab
//! reads: the class and the name of a case, which together must be unique, its time in plain decimals, and the text
//! within `failure`, `error` and `skipped`. A suite on a machine is a `testsuite`, a judged metric a `testcase`. What is
//! worse or gone is a failure, what could not be judged is skipped with the reason, and what should have been measured
//! and was not is an error.

use crate::text::{shortened, xml};
use sprag_model::gate::{Gate, SuiteGate};
use sprag_model::unit::Unit;
use sprag_model::verdict::Comparison;

use super::finding::{self, Finding, Kind, Level};

/// The longest message, in characters.
const MESSAGE: usize = 2000;

/// The name of the case that stands for a suite as such.
const THE_SUITE: &str = "the suite";

/// The whole of it as XML.
pub fn gate_junit(gate: &Gate) -> String {
    let suites: Vec<Suite> = gate.suites.iter().map(|suite| of_suite(gate, suite)).collect();
    let total = suites.iter().fold(Tally::default(), |sum, suite| sum.plus(&suite.tally));
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text.push_str(&format!(
        "<testsuites name=\"sprag {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
        xml(gate.command),
        total.tests,
        total.failures,
        total.errors
    ));
    for suite in &suites {
        text.push_str(&suite.text);
    }
    text.push_str("</testsuites>\n");
    text
}

/// The text of a suite and what is in it.
struct Suite {
    text: String,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Tally {
    fn plus(self, other: &Tally) -> Tally {
        Tally {
            tests: self.tests + other.tests,
            failures: self.failures + other.failures,
            errors: self.errors + other.errors,
            skipped: self.skipped + other.skipped,
        }
    }

    fn add(&mut self, finding: Option<&Finding<'_>>) {
        self.tests += 1;
        match finding.map(element) {
            None => {}
            Some("failure") => self.failures += 1,
            Some("error") => self.errors += 1,
            Some(_) => self.skipped += 1,
        }
    }
}

fn of_suite(gate: &Gate, suite: &SuiteGate) -> Suite {
    let class = class_name(gate, suite);
    let (mut cases, mut tally) = (String::new(), Tally::default());
    if let Some(finding) = finding::of_suite(gate, suite) {
        tally.add(Some(&finding));
        cases.push_str(&case(&class, THE_SUITE, None, Some(&finding)));
    }
    for comparison in &suite.comparisons {
        let finding = finding::of_comparison(gate, suite, comparison);
        tally.add(finding.as_ref());
        cases.push_str(&case(&class, &finding::metric_name(comparison), seconds(comparison), finding.as_ref()));
    }
    let place = suite.machine.as_ref().unwrap_or(&suite.machine_class);
    let mut text = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        xml(&format!("{} on {place}", suite.suite)),
        tally.tests,
        tally.failures,
        tally.errors,
        tally.skipped
    );
    if let Some(time) = suite.time {
        text.push_str(&format!(" timestamp=\"{}\"", time.format("%Y-%m-%dT%H:%M:%S")));
    }
    text.push_str(">\n");
    text.push_str(&properties(suite));
    text.push_str(&cases);
    text.push_str("  </testsuite>\n");
    Suite { text, tally }
}

/// The suite; with its class of machine where the gate has it on several, for cases are told apart by class and name.
fn class_name(gate: &Gate, suite: &SuiteGate) -> String {
    let alike: Vec<&SuiteGate> = gate.suites.iter().filter(|other| other.suite == suite.suite).collect();
    if alike.len() < 2 {
        return suite.suite.clone();
    }
    let of_class = alike.iter().filter(|other| other.machine_class == suite.machine_class).count();
    match &suite.machine {
        Some(machine) if of_class > 1 => format!("{} on {machine}", suite.suite),
        _ => format!("{} on {}", suite.suite, suite.machine_class),
    }
}

fn properties(suite: &SuiteGate) -> String {
    let commit = suite.commit.as_ref().map(|commit| commit.sha.as_str());
    let quality = suite.quality.join("; ");
    let facts = [
        ("machine", suite.machine.as_deref()),
        ("machine_class", Some(suite.machine_class.as_str())),
        ("run", suite.run.as_deref()),
        ("commit", commit),
        ("against", Some(suite.against.as_str())),
        ("base_commit", suite.base_commit.as_deref()),
        ("quality", Some(quality.as_str()).filter(|quality| !quality.is_empty())),
    ];
    let mut text = String::from("    <properties>\n");
    for (name, value) in facts {
        if let Some(value) = value {
            text.push_str(&format!("      <property name=\"{name}\" value=\"{}\"/>\n", xml(value)));
        }
    }
    text.push_str("    </properties>\n");
    text
}

fn case(class: &str, name: &str, seconds: Option<f64>, finding: Option<&Finding<'_>>) -> String {
    let mut text = format!("    <testcase classname=\"{}\" name=\"{}\"", xml(class), xml(name));
    if let Some(seconds) = seconds {
        // Written without an exponent, which some readers of XML do not know.
        text.push_str(&format!(" time=\"{seconds}\""));
    }
    let Some(finding) = finding else { return text + "/>\n" };
    let element = element(finding);
    // Some viewers show the attribute, others the text.
    let message = xml(&shortened(&finding.message, MESSAGE));
    let kind = finding.kind.id();
    text.push_str(&format!(">\n      <{element} type=\"{kind}\" message=\"{message}\">{message}</{element}>\n"));
    text + "    </testcase>\n"
}

fn element(finding: &Finding<'_>) -> &'static str {
    match (finding.level, finding.kind) {
        (Level::Error, Kind::NotMeasured) => "error",
        (Level::Error, _) => "failure",
        (Level::Warning | Level::Note, _) => "skipped",
    }
}

/// Nothing takes as long, and in plain digits it would be a line of them.
const MOST_SECONDS: f64 = 1e15;

/// How long a call takes, where that is what is measured.
fn seconds(comparison: &Comparison) -> Option<f64> {
    let is_time = comparison.metric.unit == Unit::Second;
    comparison.current.filter(|seconds| is_time && (0.0..=MOST_SECONDS).contains(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::example;
    use sprag_model::gate::Outcome;
    use sprag_model::verdict::Verdict;

    /// An element with its attributes, or a text, all unescaped; enough of XML to read what is written here, and it takes
    /// nothing that is not well-formed.
    #[derive(Debug, PartialEq)]
    enum Token {
        Open(String, Vec<(String, String)>),
        Close(String),
        Text(String),
    }

    #[track_caller]
    fn parse(xml: &str) -> Vec<Token> {
        let legal =
            |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        assert!(xml.chars().all(legal), "a character that XML 1.0 does not know");
        let (mut tokens, mut open) = (Vec::new(), Vec::new());
        let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("a declaration");
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('<') {
                let (tag, after) = after.split_once('>').expect("a tag ends");
                assert!(!tag.contains('<'), "{tag}");
                rest = after;
                if let Some(name) = tag.strip_prefix('/') {
                    assert_eq!(open.pop().as_deref(), Some(name));
                    tokens.push(Token::Close(name.to_owned()));
                    continue;
                }
                let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
                let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
                tokens.push(Token::Open(name.to_owned(), parse_attributes(attributes)));
                if is_empty {
                    tokens.push(Token::Close(name.to_owned()));
                } else {
                    open.push(name.to_owned());
                }
            } else {
                let end = rest.find('<').unwrap_or(rest.len());
                let (text, after) = rest.split_at(end);
                rest = after;
                if !text.trim().is_empty() {
                    assert!(!open.is_empty(), "text outside of the document");
                    tokens.push(Token::Text(unescape(text)));
                }
            }
        }
        assert!(open.is_empty(), "{open:?}");
        tokens
    }

    #[track_caller]
    fn parse_attributes(text: &str) -> Vec<(String, String)> {
        let (mut found, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let (name, after) = rest.split_once("=\"").expect("an attribute has a value");
            let (value, after) = after.split_once('"').expect("a value ends");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
            found.push((name.to_owned(), unescape(value)));
            rest = after.strip_prefix(' ').unwrap_or(after);
            assert!(after.is_empty() || after.starts_with(' '), "{after}");
        }
        found
    }

    #[track_caller]
    fn unescape(text: &str) -> String {
        let mut parts = text.split('&');
        let mut plain = parts.next().unwrap_or_default().to_owned();
        assert!(!text.contains("]]>"), "it must not stand in a text");
        for part in parts {
            let (name, rest) = part.split_once(';').expect("an entity ends");
            let present = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("#39", '\'')];
            plain.push(present.iter().find(|(present, _)| *present == name).expect("a known entity").1);
            plain.push_str(rest);
        }
        plain
    }

    fn attribute<'a>(attributes: &'a [(String, String)], name: &str) -> Option<&'a str> {
        attributes.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn a_gate_reads_as_tests() {
        insta::assert_snapshot!(gate_junit(&example::doubtful()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="sprag check" tests="1" failures="0" errors="0">
          <testsuite name="cpu on ci-box" tests="1" failures="0" errors="0" skipped="1" timestamp="2026-11-21T04:00:00">
            <properties>
              <property name="machine" value="ci-box"/>
              <property name="machine_class" value="Example CPU 9000"/>
              <property name="run" value="00112233445566ff"/>
              <property name="commit" value="bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"/>
              <property name="against" value="baselines/cpu.example-cpu-9000.json (of aaaaaaaaaaaa, 2026-11-14)"/>
              <property name="base_commit" value="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"/>
            </properties>
            <testcase classname="cpu" name="cpu/a @fast time" time="0.00202">
              <skipped type="inconclusive" message="too few runs; +1.0 % (+0.5 to +1.5), 2.000 → 2.020 ms; a change of 2.8 % could have been seen">too few runs; +1.0 % (+0.5 to +1.5), 2.000 → 2.020 ms; a change of 2.8 % could have been seen</skipped>
            </testcase>
          </testsuite>
        </testsuites>
        "#);
        insta::assert_snapshot!(gate_junit(&example::passing()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="sprag check" tests="1" failures="0" errors="0">
          <testsuite name="cpu on ci-box" tests="1" failures="0" errors="0" skipped="0" timestamp="2026-11-21T04:00:00">
            <properties>
              <property name="machine" value="ci-box"/>
              <property name="machine_class" value="Example CPU 9000"/>
              <property name="run" value="00112233445566ff"/>
              <property name="commit" value="bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"/>
              <property name="against" value="baselines/cpu.example-cpu-9000.json (of aaaaaaaaaaaa, 2026-11-14)"/>
              <property name="base_commit" value="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"/>
            </properties>
            <testcase classname="cpu" name="cpu/a @fast time" time="0.002002"/>
          </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn what_is_counted_is_there() {
        let tokens = parse(&gate_junit(&example::gate()));
        let count = |wanted: &str| {
            tokens.iter().filter(|token| matches!(token, Token::Open(name, _) if name == wanted)).count()
        };
        let counted = [count("testsuite"), count("testcase"), count("failure"), count("error"), count("skipped")];
        assert_eq!(counted, [3, 10, 3, 1, 4]);
        let Token::Open(_, root) = &tokens[0] else { panic!("the root is first") };
        assert_eq!((attribute(root, "tests"), attribute(root, "failures")), (Some("10"), Some("3")));
        assert_eq!(attribute(root, "errors"), Some("1"));
        let cases: Vec<(&str, &str, Option<&str>)> = tokens
            .iter()
            .filter_map(|token| match token {
                Token::Open(name, all) if name == "testcase" => {
                    Some((attribute(all, "classname")?, attribute(all, "name")?, attribute(all, "time")))
                }
                _ => None,
            })
            .collect();
        assert_eq!(cases[0], ("cpu", "cpu/ssm_scan{n=512} @fast time", Some("0.002162")));
        assert_eq!(cases[1], ("cpu", "cpu/tile_pack{n=512} @fast tiles_per_s", None));
        assert_eq!(cases[9], ("trt", "the suite", None));
        let shown = "<script>alert(1)</script>]]>|`x`↵::error::gone%0A%25\u{fffd}\u{fffd}[31m\"'&@someone #12 [a](http://b) {0}\\ time";
        assert_eq!(cases[4].1, shown);
    }

    #[test]
    fn cases_of_two_machines_stay_apart() {
        let mut gate = example::passing();
        gate.suites.push(SuiteGate { machine_class: "Other CPU".to_owned(), ..gate.suites[0].clone() });
        gate.suites.push(SuiteGate { machine: Some("twin".to_owned()), ..gate.suites[0].clone() });
        let classes: Vec<String> = gate.suites.iter().map(|suite| class_name(&gate, suite)).collect();
        assert_eq!(classes, ["cpu on ci-box", "cpu on Other CPU", "cpu on twin"]);
    }

    #[test]
    fn doubt_that_fails_the_gate_is_a_failure() {
        let mut failing = Gate { outcome: Outcome::Fail, exit_code: 1, doubt_fails: true, ..example::doubtful() };
        let text = gate_junit(&failing);
        assert!(
            text.contains("failures=\"1\" errors=\"0\">") && text.contains("<failure type=\"inconclusive\""),
            "{text}"
        );
        // What regressed beside it takes nothing from it.
        failing.suites[0].comparisons.push(example::comparison("cpu/b @fast", 1.3, Verdict::Regressed));
        let text = gate_junit(&failing);
        assert!(text.contains("failures=\"2\" errors=\"0\" skipped=\"0\""), "{text}");
        let reported = gate_junit(&Gate { doubt_fails: false, ..failing });
        assert!(reported.contains("failures=\"1\" errors=\"0\" skipped=\"1\""), "{reported}");
    }

    #[test]
    fn a_time_has_no_exponent() {
        for (seconds, expected) in [(2.5e-8, "0.000000025"), (3e10, "30000000000"), (1e300, ""), (f64::INFINITY, "")] {
            let mut comparison = example::passing().suites[0].comparisons[0].clone();
            comparison.current = Some(seconds);
            assert_eq!(super::seconds(&comparison).map_or(String::new(), |seconds| seconds.to_string()), expected);
        }
    }
}

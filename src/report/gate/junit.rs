//! A gate as JUnit XML, in the form that Jenkins, GitLab and other viewers of tests read.
//!
//! There is no standard; this follows the schema of Jenkins' xUnit plugin (`junit-10.xsd`) and what GitLab reads: the class and the
//! name of a case, which together must be unique, its time in plain decimals, and the text within `failure`, `error` and `skipped`.
//! A suite on a machine is a `testsuite`, a judged metric a `testcase`. What is worse or missing is a failure, what could not be
//! judged is skipped with the reason, and what was not measured though expected is an error.

use crate::text::{shortened, xml};
use sprag_model::{Comparison, Gate, SuiteGate, Unit};

use super::finding::{self, Finding, Kind, Level};

const MESSAGE: usize = 2000;

const THE_SUITE: &str = "the suite";

pub fn gate_junit(gate: &Gate) -> String {
    let suites: Vec<(String, Tally)> = gate.suites.iter().map(|suite| of_suite(gate, suite)).collect();
    let [tests, failures, errors] = [0, 1, 2].map(|place| suites.iter().map(|(_, tally)| tally[place]).sum::<usize>());
    let suites: String = suites.into_iter().map(|(text, _)| text).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"sprag {}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">\n{suites}</testsuites>\n",
        xml(gate.command)
    )
}

/// How many cases there are, and how many of them are failures, errors and skipped.
type Tally = [usize; 4];

fn of_suite(gate: &Gate, suite: &SuiteGate) -> (String, Tally) {
    let class = class_name(gate, suite);
    let mut cases = String::new();
    let mut tally = [0; 4];
    let mut add = |name: &str, seconds: Option<f64>, finding: Option<&Finding<'_>>| {
        tally[0] += 1;
        if let Some(place) = finding.and_then(|one| ELEMENTS.iter().position(|element| *element == element_of(one))) {
            tally[place + 1] += 1;
        }
        cases += &case(&class, name, seconds, finding);
    };
    if let Some(finding) = finding::of_suite(gate, suite) {
        add(THE_SUITE, None, Some(&finding));
    }
    for comparison in &suite.comparisons {
        let finding = finding::of_comparison(gate, suite, comparison);
        add(&finding::metric_name(comparison), seconds(comparison), finding.as_ref());
    }
    let name = xml(&format!("{} on {}", suite.suite, suite.machine.as_ref().unwrap_or(&suite.machine_class)));
    let [tests, failures, errors, skipped] = tally;
    let time = suite.time.map(|time| format!(" timestamp=\"{}\"", time.format("%Y-%m-%dT%H:%M:%S")));
    let text = format!(
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"{}>\n\
         {}{cases}  </testsuite>\n",
        time.unwrap_or_default(),
        properties(suite)
    );
    (text, tally)
}

/// The suite, with its class of machine where the gate has it on several: class and name identify a case.
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
    let quality = suite.quality.join("; ");
    let facts = [
        ("machine", suite.machine.as_deref()),
        ("machine_class", Some(suite.machine_class.as_str())),
        ("run", suite.run.as_deref()),
        ("commit", suite.commit.as_ref().map(|commit| commit.sha.as_str())),
        ("against", Some(suite.against.as_str())),
        ("base_commit", suite.base_commit.as_deref()),
        ("quality", Some(quality.as_str()).filter(|quality| !quality.is_empty())),
    ];
    let property = |(name, value): (&str, Option<&str>)| {
        Some(format!("      <property name=\"{name}\" value=\"{}\"/>\n", xml(value?)))
    };
    format!("    <properties>\n{}    </properties>\n", facts.into_iter().filter_map(property).collect::<String>())
}

fn case(class: &str, name: &str, seconds: Option<f64>, finding: Option<&Finding<'_>>) -> String {
    let mut text = format!("    <testcase classname=\"{}\" name=\"{}\"", xml(class), xml(name));
    if let Some(seconds) = seconds {
        text.push_str(&format!(" time=\"{seconds}\""));
    }
    let Some(finding) = finding else { return text + "/>\n" };
    let element = element_of(finding);
    // Some viewers show the attribute, others the text.
    let message = xml(&shortened(&finding.message, MESSAGE));
    let kind = finding.kind.id();
    text.push_str(&format!(">\n      <{element} type=\"{kind}\" message=\"{message}\">{message}</{element}>\n"));
    text + "    </testcase>\n"
}

const ELEMENTS: [&str; 3] = ["failure", "error", "skipped"];

fn element_of(finding: &Finding<'_>) -> &'static str {
    match (finding.level, finding.kind) {
        (Level::Error, Kind::NotMeasured) => "error",
        (Level::Error, _) => "failure",
        (Level::Warning | Level::Note, _) => "skipped",
    }
}

/// The longest time that is written, in seconds: some readers do not accept exponents.
const MOST_SECONDS: f64 = 1e15;

fn seconds(comparison: &Comparison) -> Option<f64> {
    let is_time = comparison.metric.unit == Unit::Second;
    comparison.current.filter(|seconds| is_time && (0.0..=MOST_SECONDS).contains(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::example;
    use crate::site_checks::check_xml;
    use sprag_model::{Outcome, Verdict};

    #[test]
    fn a_gate_reads_as_tests() {
        insta::assert_snapshot!(gate_junit(&example::doubtful()));
        let case = "    <testcase classname=\"cpu\" name=\"cpu/a @fast time\" time=\"0.002002\"/>\n";
        assert!(gate_junit(&example::passing()).contains(case));
    }

    #[test]
    fn what_is_counted_is_there() {
        let text = gate_junit(&example::gate());
        check_xml("junit", &text);
        let count = |element: &str| text.matches(&format!("<{element} ")).count();
        let counted = ["testsuite", "testcase", "failure", "error", "skipped"].map(count);
        assert_eq!(counted, [3, 10, 3, 1, 4]);
        for part in [
            "<testsuites name=\"sprag check\" tests=\"10\" failures=\"3\" errors=\"1\">",
            "classname=\"cpu\" name=\"cpu/ssm_scan{n=512} @fast time\" time=\"0.002162\"",
            "classname=\"cpu\" name=\"cpu/tile_pack{n=512} @fast tiles_per_s\">",
            "classname=\"trt\" name=\"the suite\">",
            "name=\"&lt;script&gt;alert(1)&lt;/script&gt;]]&gt;|`x`↵::error::gone%0A%25\u{fffd}\u{fffd}[31m&quot;&#39;&amp;",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
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
        assert!(text.contains("failures=\"1\" errors=\"0\">"), "{text}");
        assert!(text.contains("<failure type=\"inconclusive\""), "{text}");
        // Another regression does not hide it.
        failing.suites[0].comparisons.push(example::comparison("cpu/b @fast", 1.3, Verdict::Regressed));
        let text = gate_junit(&failing);
        assert!(text.contains("failures=\"2\" errors=\"0\" skipped=\"0\""), "{text}");
        assert!(text.contains("<failure type=\"inconclusive\""), "{text}");
        let reported = gate_junit(&Gate { doubt_fails: false, ..failing });
        assert!(reported.contains("failures=\"1\" errors=\"0\" skipped=\"1\""), "{reported}");
    }

    #[test]
    fn a_time_has_no_exponent() {
        for (seconds, expected) in [(2.5e-8, "0.000000025"), (3e10, "30000000000"), (1e300, ""), (f64::INFINITY, "")] {
            let one = Comparison { current: Some(seconds), ..example::comparison("a", 1.0, Verdict::Unchanged) };
            assert_eq!(super::seconds(&one).map_or(String::new(), |seconds| seconds.to_string()), expected);
        }
    }
}

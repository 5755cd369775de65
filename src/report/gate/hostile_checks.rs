//! Hostile names, reasons and notes in a gate: each form keeps the shape that it has with tame ones.

use serde_json::Value;

use super::example::{self, HOSTILE};
use super::{gate_commands, gate_junit, gate_markdown, gate_sarif};
use sprag_model::{Gate, Verdict};

fn gate_of(text: &str) -> Gate {
    let mut gate = example::gate();
    for suite in &mut gate.suites {
        let texts = [&mut suite.suite, &mut suite.machine_class, &mut suite.against];
        let absent = [&mut suite.machine, &mut suite.run, &mut suite.reason, &mut suite.base_commit];
        texts.into_iter().chain(absent.into_iter().flatten()).for_each(|one| *one = text.to_owned());
        suite.quality = vec![text.to_owned()];
        if let Some(commit) = &mut suite.commit {
            (commit.sha, commit.subject, commit.branch) = (text.to_owned(), text.to_owned(), Some(text.to_owned()));
        }
        for (place, comparison) in suite.comparisons.iter_mut().enumerate() {
            comparison.benchmark = format!("{text}{place}");
            comparison.metric.name = text.to_owned();
            comparison.note = Some(format!("{text}{place}"));
            if let Verdict::Inconclusive(why) | Verdict::NotComparable(why) = &mut comparison.verdict {
                *why = text.to_owned();
            }
        }
    }
    gate
}

#[track_caller]
fn check<T: PartialEq + std::fmt::Debug>(form: fn(&Gate) -> String, shape: fn(&str) -> T) {
    let (tame, hostile) = (form(&gate_of("tame")), form(&gate_of(HOSTILE)));
    assert!(tame.matches("tame").count() > 8, "{tame}");
    assert_eq!(shape(&hostile), shape(&tame), "{hostile}");
    let acts = |character: char| character != '\n' && (character.is_control() || character == '\u{202e}');
    assert!(!hostile.chars().any(acts), "{hostile:?}");
}

#[test]
fn annotations_stay_one_command_a_line() {
    check(gate_commands, |text| {
        let command = |line: &str| {
            let (command, rest) = line.strip_prefix("::").and_then(|rest| rest.split_once(' ')).expect("a command");
            let (property, _) = rest.split_once("::").expect("a message");
            assert!(property.starts_with("title=") && !property.contains([':', ',']), "{line}");
            assert!(!line.replace("%25", "").replace("%3A", "").replace("%2C", "").contains('%'), "{line}");
            command.to_owned()
        };
        text.lines().map(command).collect::<Vec<String>>()
    });
}

#[test]
fn junit_keeps_its_elements_and_attributes() {
    check(gate_junit, |text| {
        let names = |tag: &str| tag.split('"').step_by(2).map(|name| name.trim().to_owned()).collect::<Vec<String>>();
        text.split('<').map(|part| part.split_once('>').map(|(tag, _)| names(tag))).collect::<Vec<_>>()
    });
}

#[test]
fn sarif_keeps_its_fields_and_has_neither_links_nor_placeholders() {
    check(gate_sarif, |text| {
        let log: Value = serde_json::from_str(text).expect("it is JSON");
        let results = log["runs"][0]["results"].as_array().expect("it has results").clone();
        for result in &results {
            let message = result["message"]["text"].as_str().expect("a text");
            assert!(!message.contains(['{', '}', '[', ']']), "{message}");
            let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str();
            assert_eq!(uri, Some("sprag.toml"));
        }
        results.iter().map(shape).collect::<Vec<String>>()
    });
}

/// The keys of a value, and of all that is in it.
fn shape(value: &Value) -> String {
    match value {
        Value::Object(all) => all.iter().map(|(key, value)| format!("{key}({})", shape(value))).collect(),
        Value::Array(all) => all.iter().map(|value| format!("[{}]", shape(value))).collect(),
        _ => String::new(),
    }
}

#[test]
fn markdown_keeps_its_lines_and_cells() {
    check(
        |gate| gate_markdown(gate, false),
        |text| {
            let bare = text.replace("\\[", "").replace("\\]", "");
            for harm in ["<script", "@someone", "](", " #12", "http://", "]]>"] {
                assert!(!bare.contains(harm), "`{harm}` is in {text}");
            }
            assert!(!text.lines().any(|line| line.starts_with("::")), "{text}");
            let cells = |line: &str| line.replace("\\|", "").matches('|').count();
            text.lines().map(cells).collect::<Vec<usize>>()
        },
    );
}

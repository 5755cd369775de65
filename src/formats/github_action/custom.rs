//! The plain lists that a program may hand to github-action-benchmark: `[{"name", "unit", "value", "range"?, "extra"?}]`.
//!
//! Which way is better stands not in the file. It is told by the format that the user names, or by the name of the file
//! where that holds `smaller` or `bigger`.

use super::super::head::{file_name, head};
use super::super::unique::unique_entries;
use super::super::{FormatError, MOST_BENCHMARKS, json};
use super::bench::{self, Bench};
use super::tool;
use sprag_base::digest;
use sprag_model::foreign::Output;
use sprag_model::imported::{Imported, ImportedRun};

/// Reads lists where smaller is better, a run each.
///
/// # Errors
/// Names the file and the line that is no such list.
pub(crate) fn read_smaller(outputs: &[Output]) -> Result<Imported, FormatError> {
    read(outputs, tool::SMALLER)
}

/// Reads lists where bigger is better, a run each.
///
/// # Errors
/// Names the file and the line that is no such list.
pub(crate) fn read_bigger(outputs: &[Output]) -> Result<Imported, FormatError> {
    read(outputs, tool::BIGGER)
}

/// Whether all outputs are such lists, and none is called after the other direction.
pub(crate) fn recognises_smaller(outputs: &[Output]) -> bool {
    recognises(outputs, "bigger")
}

/// As [`recognises_smaller`], of the other direction.
pub(crate) fn recognises_bigger(outputs: &[Output]) -> bool {
    recognises(outputs, "smaller")
}

fn recognises(outputs: &[Output], other: &str) -> bool {
    let fits = |output: &Output| {
        let head = head(output);
        let start: String = head.chars().filter(|c| !c.is_whitespace()).take(2).collect();
        let keys = ["\"name\"", "\"unit\"", "\"value\""];
        start == "[{" && keys.iter().all(|key| head.contains(key)) && !file_name(output).to_lowercase().contains(other)
    };
    !outputs.is_empty() && outputs.iter().all(fits)
}

fn read(outputs: &[Output], tool: &str) -> Result<Imported, FormatError> {
    let mut runs = Vec::with_capacity(outputs.len());
    for output in outputs {
        let name = &output.name;
        let benches: Vec<Bench> = bench::typed(name, json::text(output)?, "list of benchmarks")?;
        match benches.len() {
            0 => return Err(FormatError::Nothing(name.clone())),
            1..=MOST_BENCHMARKS => {}
            count => return Err(FormatError::Many { name: name.clone(), count }),
        }
        let entries = benches.iter().map(|bench| bench.entry(tool, bench.name.0.clone())).collect();
        let digest = digest::sha256_hex(&output.bytes);
        runs.push(ImportedRun { entries: unique_entries(entries), digest, ..ImportedRun::default() });
    }
    if runs.is_empty() {
        return Err(FormatError::Nothing("the folder of lists".to_owned()));
    }
    Ok(Imported { tool: tool.to_owned(), tool_version: None, runs, notes: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use sprag_model::imported::EntryStatus;

    fn list(text: &str) -> Output {
        Output { name: "list.json".to_owned(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn the_samples_give_the_expected_rows() {
        golden::check("custom-metric", |outputs| {
            let (bigger, smaller): (Vec<Output>, Vec<Output>) =
                outputs.iter().cloned().partition(|output| recognises_bigger(std::slice::from_ref(output)));
            let mut imported = read_smaller(&smaller)?;
            imported.runs.extend(read_bigger(&bigger)?.runs);
            Ok(imported)
        });
    }

    #[test]
    fn the_name_of_the_file_tells_which_way_is_better() {
        golden::recognised(recognises_smaller, &["custom-metric/customSmallerIsBetter.json"]);
        golden::recognised(recognises_bigger, &["custom-metric/customBiggerIsBetter.json"]);
        let unnamed = [list(r#" [ {"name": "a", "unit": "s", "value": 1}]"#)];
        assert!(recognises_smaller(&unnamed) && recognises_bigger(&unnamed));
        assert!(!recognises_smaller(&[]) && !recognises_smaller(&[list("[1]")]));
    }

    #[test]
    fn texts_and_numbers_stand_for_one_another() {
        let text = r#"[{"name": 7, "unit": "ms", "value": "1.5", "range": 0.25, "extra": "a\nb", "more": {}}]"#;
        let imported = read_smaller(&[list(text)]).expect("it is a list");
        let entry = &imported.runs[0].entries[0];
        assert_eq!((entry.series.as_str(), entry.observations[0].value), ("7", 1.5e-3));
        assert_eq!((&entry.extras["range"], &entry.extras["extra"]), (&0.25.into(), &"a\nb".into()));
    }

    #[test]
    fn a_number_that_cannot_be_fails_alone() {
        let check = |value: &str, words: &str| {
            let text = format!(r#"[{{"name":"a","unit":"s","value":{value}}},{{"name":"b","unit":"s","value":1}}]"#);
            let imported = read_smaller(&[list(&text)]).expect("the list is read");
            let [a, b] = &imported.runs[0].entries[..] else { panic!("two entries") };
            assert!(matches!(&a.status, EntryStatus::Failed(reason) if reason.contains(words)), "{:?}", a.status);
            assert_eq!((&b.status, b.observations.len(), a.observations.len()), (&EntryStatus::Ok, 1, 0));
        };
        check("NaN", "its `value` is NaN");
        check("-Infinity", "its `value` is -inf");
        check("1e999", "its `value` is inf");
        check("0", "more than zero");
        check("-3", "more than zero");
        check("1e300", "beyond");
        check("5e-324", "too little");
        check("null", "its `value` is null");
        check("\"fast\"", "its `value` is `fast`");
        check("{}", "an object");
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        let check = |bytes: &[u8], words: &str| {
            let output = Output { name: "list.json".to_owned(), bytes: bytes.to_vec() };
            let error = read_bigger(&[output]).expect_err("it is refused").to_string();
            assert!(error.contains("list.json") && error.contains(words), "{error}");
        };
        check(b"", "is empty");
        check(b"[]", "lists no benchmark");
        check(b"{}", "is no list of benchmarks: invalid type: map");
        check(b"[{\"name\":\"a\",\n\"value\":1}]", "missing field `unit` at line 2");
        check(b"[{\"name\":\"a\",\n\"unit\":\"s\",\"value\":1,\"value\":2}]", "duplicate field `value` at line 2");
        check(b"[{\"name\":[],\"unit\":\"s\",\"value\":1}]", "neither a text nor a number");
        check(b"[{\"name\":\"a\",\n\"unit", "is not JSON: EOF while parsing a string at line 2");
        check(b"[\xff]", "is not UTF-8 at byte 1");
        check("[".repeat(9000).as_bytes(), "recursion limit");
        let many = format!("[{}1]", r#"{"name":"a","unit":"s","value":1},"#.repeat(MOST_BENCHMARKS + 1));
        check(many.replace(",1]", "]").as_bytes(), "5001 benchmarks");
    }

    #[test]
    fn no_bytes_bring_it_down() {
        let outputs = [list(
            r#"[{"name":"a","unit":"s","value":1.5,"range":"± 3 %","extra":"n: 4"},{"name":"b","unit":"B","value":2}]"#,
        )];
        golden::survives(&outputs, read_smaller);
        golden::survives(&outputs, read_bigger);
    }
}

//! Running what was found, and the report of it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;

use super::{family, folder};

/// How many cases passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases that gave what was expected, in every form of their kernel.
    pub passed: usize,
    /// Cases that did not, or that this build cannot read.
    pub failed: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every family is built. Whoever reads the line expects the word.
        write!(formatter, "{} passed, {} failed, 0 skipped", self.passed, self.failed)
    }
}

#[derive(Default)]
struct Family {
    tally: Tally,
    failures: Vec<String>,
}

/// Runs every golden case below the folders and writes one line a family, each failure by name, and last the tally,
/// `N passed, M failed, 0 skipped`, which counts cases. A failed case is no error: the caller decides by the tally.
///
/// # Errors
/// A folder that does not exist or holds no golden case, a file that cannot be read or whose JSON is broken, and an
/// `out` that cannot be written. Nothing is run then.
pub fn run(folders: &[PathBuf], out: &mut dyn Write) -> Result<Tally> {
    let mut found = Vec::new();
    for path in folders {
        found.extend(folder::find(path)?);
    }
    let mut families: BTreeMap<&str, Family> = BTreeMap::new();
    for case in &found {
        let family = families.entry(&case.family).or_default();
        match family::run(&case.family, &case.value) {
            Ok(()) => family.tally.passed += 1,
            Err(error) => {
                family.tally.failed += 1;
                let file = case.file.display();
                family.failures.push(format!("  FAILED {}/{} ({file}): {error:#}", case.family, case.name));
            }
        }
    }
    let mut total = Tally::default();
    for (name, family) in &families {
        writeln!(out, "{name}: {}", family.tally)?;
        for failure in &family.failures {
            writeln!(out, "{failure}")?;
        }
        total.passed += family.tally.passed;
        total.failed += family.tally.failed;
    }
    writeln!(out, "{total}")?;
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::fs;
    use std::path::Path;

    /// The families of this build, and how many of their golden cases pass.
    const BUILT: [(&str, usize); 16] = [
        ("attestation", 6),
        ("autotune_registry", 4),
        ("fused_pack_op_unpack", 3),
        ("fusion_gate", 6),
        ("infer", 3),
        ("ordering", 13),
        ("perf_compare", 19),
        ("replay_golden", 2),
        ("replay_manifest", 6),
        ("report_markdown", 2),
        ("selection", 7),
        ("stats", 5),
        ("tile_pack", 10),
        ("tile_ssm_scan", 9),
        ("tile_unpack", 9),
        ("trt_sweep", 3),
    ];

    /// A family whose cases hold one text that is expected, in a field of another name.
    const TEXTS: (&str, usize) = ("baseline_template", 3);

    /// Families whose cases have files beside them.
    const BESIDE_FILES: [(&str, usize); 2] = [("formats", 15), ("trueno", 31)];

    /// A family whose cases hold their inputs and results side by side.
    const STATISTICS: (&str, usize) = ("statistics", 473);

    /// A family of recordings, of which nothing is expected but that they are called alike.
    const RECORDINGS: (&str, usize) = ("identical_code", 4);

    fn golden() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden")
    }

    fn report(folder: &Path) -> (Tally, String) {
        let mut out = Vec::new();
        let tally = run(&[folder.to_owned()], &mut out).unwrap();
        (tally, String::from_utf8(out).unwrap())
    }

    /// The golden file of a family; its cases.
    fn cases(family: &str) -> (Value, Vec<Value>) {
        let path = if family == "attestation" { "attestation/cases" } else { family };
        let text = fs::read_to_string(golden().join("apex-x").join(path).with_extension("json")).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        let cases = file["cases"].as_array().unwrap().clone();
        (file, cases)
    }

    #[test]
    fn every_golden_case_passes() {
        let (tally, text) = report(&golden());
        assert_eq!(tally.failed, 0, "{text}");
        assert_eq!(tally.passed, 633);
        for (family, passed) in BUILT.into_iter().chain([TEXTS, STATISTICS, RECORDINGS]).chain(BESIDE_FILES) {
            let line = format!("{family}: {passed} passed, 0 failed, 0 skipped\n");
            assert!(text.contains(&line), "no line `{line}` in\n{text}");
        }
        assert_eq!(text.lines().last().unwrap(), "633 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn a_tampered_copy_fails_by_name_wherever_it_lies() {
        for (family, passed) in BUILT {
            let (mut file, cases) = cases(family);
            let key = expectation(family);
            let position = cases.iter().position(|case| case.get(key).is_some()).unwrap();
            let leaf = leaves(&cases[position][key], "").pop().unwrap();
            let name = cases[position]["name"].as_str().unwrap();
            tamper(file.pointer_mut(&format!("/cases/{position}/{key}{leaf}")).unwrap());

            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join("a/b")).unwrap();
            fs::write(folder.path().join("a/b/renamed.dat"), file.to_string()).unwrap();
            let (tally, text) = report(folder.path());
            assert_eq!((tally.passed, tally.failed), (passed - 1, 1), "{text}");
            assert!(text.contains(&format!("  FAILED {family}/{name} (")), "{text}");
            assert!(text.contains("expected ") && text.contains(" got "), "{text}");
        }
    }

    /// Whatever is changed in what a case expects, it fails: nothing that is recorded goes uncompared.
    #[test]
    fn every_recorded_value_is_compared() {
        let mut compared = 0;
        for (family, _) in BUILT {
            let key = expectation(family);
            // The profile cases are of the same kinds, only large.
            let is_small = |case: &&Value| !case["name"].as_str().unwrap().contains("profile");
            for case in cases(family).1.iter().filter(is_small) {
                family::run(family, case).unwrap();
                let mut other = case.clone();
                if other.as_object_mut().unwrap().remove(key).is_some() {
                    other["expected_error"] = json!({"type": "ValueError", "message": "none"});
                } else {
                    other.as_object_mut().unwrap().remove("expected_error");
                    other[key] = json!({});
                }
                assert!(family::run(family, &other).is_err(), "{family}: {other} passes");
                for leaf in leaves(&case[key], "") {
                    let mut tampered = case.clone();
                    tamper(tampered.pointer_mut(&format!("/{key}{leaf}")).unwrap());
                    assert!(
                        family::run(family, &tampered).is_err(),
                        "{family}/{}: {leaf} is not compared",
                        case["name"]
                    );
                    compared += 1;
                }
            }
        }
        assert!(compared > 500, "only {compared} values were tried");
    }

    /// The field that says what a case of the family expects.
    fn expectation(family: &str) -> &'static str {
        if family == "report_markdown" { "expected_markdown" } else { "expected" }
    }

    /// Pointers to the values inside: all fields of objects, the first and the last element of lists.
    fn leaves(value: &Value, path: &str) -> Vec<String> {
        match value {
            Value::Object(fields) => {
                fields.iter().flat_map(|(name, value)| leaves(value, &format!("{path}/{name}"))).collect()
            }
            Value::Array(items) if items.is_empty() => Vec::new(),
            Value::Array(items) => {
                let mut ends = vec![0, items.len() - 1];
                ends.dedup();
                ends.into_iter().flat_map(|position| leaves(&items[position], &format!("{path}/{position}"))).collect()
            }
            Value::Null => Vec::new(),
            _ => vec![path.to_owned()],
        }
    }

    fn tamper(value: &mut Value) {
        *value = match value {
            Value::Number(number) => match number.as_i64() {
                Some(integer) => json!(integer + 1),
                None => json!(number.as_f64().unwrap() + 1.0),
            },
            Value::String(text) => json!(format!("{text}0")),
            Value::Bool(flag) => json!(!*flag),
            other => panic!("there is no way to tamper with {other}"),
        };
    }

    #[test]
    fn unknown_families_and_kinds_fail() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, value: Value| fs::write(folder.path().join(name), value.to_string()).unwrap();
        write("1.json", json!({"family": "tile_turn", "cases": [{"name": "quarter", "expected": 1}]}));
        write("2.json", json!({"family": "ordering", "cases": [{"kind": "spiral", "expected": []}, 7]}));
        let (tally, text) = report(folder.path());
        assert_eq!(tally, Tally { passed: 0, failed: 3 });
        assert!(text.contains("FAILED tile_turn/quarter (") && text.contains("family `tile_turn` is unknown"));
        assert!(text.contains("FAILED ordering/2#0 (") && text.contains("kind `spiral` is unknown"));
        assert!(text.contains("FAILED ordering/2#1 (") && text.contains("the case is not an object"));
        assert!(text.ends_with("\n0 passed, 3 failed, 0 skipped\n"));
    }
}

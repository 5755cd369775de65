//! Finding golden cases below a folder and recognising them by what their files hold.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::family::{FORMATS, IDENTICAL_CODE, SAMPLE_GATE, STATISTICS, TEXT_GATE};
use super::{formats, sample_gate, text_gate};

/// A case as it was found.
pub(super) struct Found {
    /// Its family, which may be unknown to this build.
    pub(super) family: String,
    /// Its name, or its file and place where it bears none.
    pub(super) name: String,
    pub(super) file: PathBuf,
    pub(super) value: Value,
}

/// All cases below `folder`, in the order of file names.
///
/// # Errors
/// A folder that does not exist or holds no case, a file that cannot be read, a `.json` file that does not parse, a
/// file of cases without any.
pub(super) fn find(folder: &Path) -> Result<Vec<Found>> {
    let mut files = BTreeSet::new();
    walk(folder, &mut BTreeSet::new(), &mut files)?;
    let mut found = Vec::new();
    let mut broken = Vec::new();
    for file in files {
        let bytes = fs::read(&file).with_context(|| format!("read {}", file.display()))?;
        match parse(&file, &bytes) {
            Ok(None) => {}
            Ok(Some(value)) => recognise(&file, value, &mut found).with_context(|| file.display().to_string())?,
            Err(error) => broken.push((file, error)),
        }
    }
    // Beside or below the rows of a foreign format lie samples as its tool wrote them, some in a dialect of JSON.
    let samples: BTreeSet<&Path> =
        found.iter().filter(|case| case.family == FORMATS).filter_map(|case| case.file.parent()).collect();
    let is_sample = |file: &Path| samples.iter().any(|folder| file.starts_with(folder));
    if let Some((_, error)) = broken.into_iter().find(|(file, _)| !is_sample(file)) {
        return Err(error);
    }
    if found.is_empty() {
        bail!("{} holds no golden case", folder.display());
    }
    Ok(found)
}

/// Collects the files below `path`, following links but entering each folder once.
fn walk(path: &Path, seen: &mut BTreeSet<PathBuf>, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    let metadata = fs::metadata(path).with_context(|| format!("read {}", path.display()))?;
    if metadata.is_file() {
        files.insert(path.to_owned());
    } else if metadata.is_dir() {
        let real = path.canonicalize().with_context(|| format!("read {}", path.display()))?;
        if seen.insert(real) {
            for entry in fs::read_dir(path).with_context(|| format!("read {}", path.display()))? {
                let entry = entry.with_context(|| format!("read {}", path.display()))?;
                walk(&entry.path(), seen, files)?;
            }
        }
    }
    Ok(())
}

/// The JSON value of a file, if it holds one. A file called `.json` must; others may be anything.
fn parse(file: &Path, bytes: &[u8]) -> Result<Option<Value>> {
    let named = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let looks = matches!(bytes.iter().find(|byte| !byte.is_ascii_whitespace()), Some(b'{' | b'['));
    if !named && !looks {
        return Ok(None);
    }
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(Some(value)),
        Err(error) if named => Err(error).with_context(|| format!("parse {}", file.display())),
        Err(_) => Ok(None),
    }
}

fn recognise(file: &Path, mut value: Value, found: &mut Vec<Found>) -> Result<()> {
    let is_formats = |rows: &[Value]| {
        let fields = ["series", "metric", "unit", "better", "n", "status"];
        !rows.is_empty() && rows.iter().all(|row| fields.iter().all(|field| row.get(field).is_some()))
    };
    let has = |fields: &[&str]| fields.iter().all(|field| value.get(field).is_some());
    let whole = match &value {
        Value::Array(rows) if is_formats(rows) => Some(FORMATS),
        _ if has(&["argv", "parsed_baseline_ns", "verdicts"]) => Some(TEXT_GATE),
        _ if has(&["baseline", "current", "results", "summary"]) => Some(SAMPLE_GATE),
        _ => None,
    };
    if let Some(family) = whole {
        let folder = || file.parent().and_then(Path::file_name).unwrap_or(file.as_os_str());
        let name = name_of(&value).unwrap_or_else(|| folder().to_string_lossy().into_owned());
        let value = match family {
            FORMATS => formats::case(file, value),
            TEXT_GATE => text_gate::case(file, value),
            SAMPLE_GATE => sample_gate::case(file, value),
            _ => value,
        };
        found.push(Found { family: family.to_owned(), name, file: file.to_owned(), value });
        return Ok(());
    }
    let text = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    let family = match text("family") {
        Some(family) => Some(family),
        None if has(&["what", "library", "cases"]) => Some(STATISTICS.to_owned()),
        None if has(&["what", "kernels"]) => Some(IDENTICAL_CODE.to_owned()),
        None => None,
    };
    let cases = value.get_mut("cases").map(Value::take);
    let cases = match (cases, &family) {
        (Some(Value::Array(cases)), _) => cases.into_iter().map(|case| (name_of(&case), case)).collect::<Vec<_>>(),
        (Some(_), _) => bail!("`cases` is not a list"),
        (None, Some(family)) if family == IDENTICAL_CODE => {
            let kernels = value.get_mut("kernels").and_then(Value::as_object_mut).context("`kernels` is no object")?;
            std::mem::take(kernels).into_iter().map(|(name, kernel)| (Some(name), kernel)).collect()
        }
        (None, Some(family)) => bail!("it bears the family `{family}` but no `cases`"),
        (None, None) => return Ok(()),
    };
    let Some(family) = family else { bail!("it holds `cases` of no family") };
    if cases.is_empty() {
        bail!("it holds no case");
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for (position, (name, value)) in cases.into_iter().enumerate() {
        let name = name.unwrap_or_else(|| format!("{stem}#{position}"));
        found.push(Found { family: family.clone(), name, file: file.to_owned(), value });
    }
    Ok(())
}

fn name_of(case: &Value) -> Option<String> {
    case.get("name").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: &str = r#"{"family": "ordering", "cases": [{"name": "a"}]}"#;
    const ROWS: &str = r#"[{"series": "s", "metric": "time", "unit": "s", "better": "lower", "n": 1, "status": "ok"}]"#;

    /// The families and names found among these files, or the error.
    fn check(files: &[(&str, &str)], expected: Result<&[(&str, &str)], &str>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        match (find(folder.path()), expected) {
            (Ok(found), Ok(expected)) => {
                let found: Vec<_> = found.iter().map(|case| (case.family.as_str(), case.name.as_str())).collect();
                assert_eq!(found, expected);
            }
            (Err(error), Err(says)) => assert!(format!("{error:#}").contains(says), "{error:#}"),
            (found, _) => panic!("{files:?} gave {:?}", found.map(|found| found.len())),
        }
    }

    #[test]
    fn files_are_recognised_by_what_they_hold() {
        check(&[("x/y.json", CASES)], Ok(&[("ordering", "a")]));
        check(&[("golden.txt", CASES), ("notes.md", "[1] a note")], Ok(&[("ordering", "a")]));
        check(
            &[("s.json", r#"{"what": "w", "library": {}, "cases": [{}, {}]}"#)],
            Ok(&[("statistics", "s#0"), ("statistics", "s#1")]),
        );
        check(&[("t.json", r#"{"what": "w", "kernels": {"gemm": [1]}}"#)], Ok(&[("identical_code", "gemm")]));
        check(
            &[("e.json", r#"{"name": "n", "argv": [], "parsed_baseline_ns": null, "verdicts": null}"#)],
            Ok(&[("trueno", "n")]),
        );
        check(
            &[("e.json", r#"{"name": "n", "baseline": "a", "current": "b", "results": {}, "summary": {}}"#)],
            Ok(&[("tt_metal", "n")]),
        );
        check(&[("samples.json", "[3, 4]"), ("y.json", CASES)], Ok(&[("ordering", "a")]));
    }

    #[test]
    fn samples_of_foreign_formats_may_be_no_strict_json() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("results")).unwrap();
        fs::write(folder.path().join("rows.json"), ROWS).unwrap();
        fs::write(folder.path().join("results/run.json"), "[NaN]").unwrap();
        let found = find(folder.path()).unwrap();
        assert_eq!((found.len(), found[0].family.as_str()), (1, FORMATS));
        assert!(find(&folder.path().join("results")).is_err(), "alone it is a broken file");
        check(&[("a/rows.json", ROWS), ("b/run.json", "[NaN]")], Err("run.json"));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        check(&[], Err("holds no golden case"));
        check(&[("a.json", "[3]")], Err("holds no golden case"));
        check(&[("good.json", CASES), ("bad.json", "{\"family\": ")], Err("bad.json"));
        check(&[("bad.json", "")], Err("bad.json"));
        check(&[("a.json", r#"{"cases": [1]}"#)], Err("`cases` of no family"));
        check(&[("a.json", r#"{"family": "ordering", "cases": []}"#)], Err("a.json: it holds no case"));
        check(&[("a.json", r#"{"family": "ordering", "cases": {}}"#)], Err("`cases` is not a list"));
        check(&[("a.json", r#"{"family": "ordering"}"#)], Err("no `cases`"));
        let error = find(Path::new("no/such/folder")).map(|found| found.len()).unwrap_err();
        assert!(format!("{error:#}").contains("no/such/folder"));
    }
}

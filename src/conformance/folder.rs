//! Finding golden cases below a folder and recognising them by what their files hold.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;
use sprag_base::files::read_bounded;

/// Files of a statistics oracle, with `what`, `library` and `cases`. Of one file.
pub(crate) const MOST_BYTES: usize = 256 << 20;

pub(crate) const STATISTICS: &str = "statistics";
/// Recorded timings of identical code, with `what` and `kernels`.
pub(crate) const IDENTICAL_CODE: &str = "identical_code";
/// Runs of a text-comparing gate, with `parsed_baseline_ns` and `verdicts`.
pub(crate) const TEXT_GATE: &str = "trueno";
/// Comparisons by samples, with `baseline`, `current`, `results` and `summary`.
pub(crate) const SAMPLE_GATE: &str = "tt_metal";
/// Files with the canonical rows of a foreign format.
pub(crate) const FORMATS: &str = "formats";

#[derive(Clone, Debug)]
pub(crate) struct GoldenCase {
    /// It may be unknown to this build.
    pub(crate) family: String,
    /// By default its file and place.
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) value: Value,
}

#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    #[error("read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("parse {path}")]
    Parse { path: PathBuf, source: serde_json::Error },
    #[error("{path}: {reason}")]
    Cases { path: PathBuf, reason: String },
    #[error("{0} holds no golden case")]
    Nothing(PathBuf),
    #[error("cannot write the report")]
    Write(#[from] io::Error),
}

/// All cases below `folder`, in the order of file names.
pub(crate) fn find(folder: &Path) -> Result<Vec<GoldenCase>, ConformanceError> {
    let mut result = Vec::new();
    let mut broken = Vec::new();
    for file in files_below(folder)? {
        let bytes =
            read_bounded(&file, MOST_BYTES).map_err(|source| ConformanceError::Read { path: file.clone(), source })?;
        match parse(&file, &bytes) {
            Ok(None) => {}
            Ok(Some(value)) => recognise(&file, value, &mut result)
                .map_err(|reason| ConformanceError::Cases { path: file.clone(), reason: reason.to_owned() })?,
            Err(error) => broken.push((file, error)),
        }
    }
    // The samples of a foreign format, next to its rows or below, may be in a dialect of JSON.
    let samples: BTreeSet<&Path> =
        result.iter().filter(|case| case.family == FORMATS).filter_map(|case| case.file.parent()).collect();
    let is_sample = |file: &Path| samples.iter().any(|folder| file.starts_with(folder));
    if let Some((_, error)) = broken.into_iter().find(|(file, _)| !is_sample(file)) {
        return Err(error);
    }
    if result.is_empty() { Err(ConformanceError::Nothing(folder.to_owned())) } else { Ok(result) }
}

/// The files below a path in order, following links but entering each folder once.
pub(crate) fn files_below(path: &Path) -> Result<BTreeSet<PathBuf>, ConformanceError> {
    let mut files = BTreeSet::new();
    walk(path, &mut BTreeSet::new(), &mut files)?;
    Ok(files)
}

fn walk(path: &Path, seen: &mut BTreeSet<PathBuf>, files: &mut BTreeSet<PathBuf>) -> Result<(), ConformanceError> {
    let failed = |source| ConformanceError::Read { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_file() {
        files.insert(path.to_owned());
    } else if metadata.is_dir() && seen.insert(path.canonicalize().map_err(failed)?) {
        for entry in fs::read_dir(path).map_err(failed)? {
            walk(&entry.map_err(failed)?.path(), seen, files)?;
        }
    }
    Ok(())
}

/// The JSON value of a file, if it holds one. A file called `.json` must; others may be anything.
fn parse(file: &Path, bytes: &[u8]) -> Result<Option<Value>, ConformanceError> {
    let is_named = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let may_be = matches!(bytes.iter().find(|byte| !byte.is_ascii_whitespace()), Some(b'{' | b'['));
    if !is_named && !may_be {
        return Ok(None);
    }
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(Some(value)),
        Err(source) if is_named => Err(ConformanceError::Parse { path: file.to_owned(), source }),
        Err(_) => Ok(None),
    }
}

fn recognise(file: &Path, mut value: Value, result: &mut Vec<GoldenCase>) -> Result<(), &'static str> {
    let mut push = |family: &str, name: String, value: Value| {
        result.push(GoldenCase { family: family.to_owned(), name, file: file.to_owned(), value });
    };
    let has = |value: &Value, fields: &[&str]| fields.iter().all(|field| value.get(field).is_some());
    let is_row = |row: &Value| has(row, &["series", "metric", "unit", "better", "n", "status"]);
    let single = match &value {
        Value::Array(rows) if !rows.is_empty() && rows.iter().all(is_row) => Some(FORMATS),
        _ if has(&value, &["argv", "parsed_baseline_ns", "verdicts"]) => Some(TEXT_GATE),
        _ if has(&value, &["baseline", "current", "results", "summary"]) => Some(SAMPLE_GATE),
        _ => None,
    };
    if let Some(family) = single {
        let folder = || file.parent().and_then(Path::file_name).unwrap_or(file.as_os_str());
        push(family, name_of(&value).unwrap_or_else(|| folder().to_string_lossy().into_owned()), value);
        return Ok(());
    }
    let family = match value.get("family").and_then(Value::as_str) {
        Some(family) => Some(family.to_owned()),
        None if has(&value, &["what", "library", "cases"]) => Some(STATISTICS.to_owned()),
        None if has(&value, &["what", "kernels"]) => Some(IDENTICAL_CODE.to_owned()),
        None => None,
    };
    let cases = match (value.get_mut("cases").map(Value::take), &family) {
        (Some(Value::Array(cases)), _) => cases.into_iter().map(|case| (name_of(&case), case)).collect::<Vec<_>>(),
        (Some(_), _) => return Err("`cases` is not a list"),
        (None, Some(family)) if family == IDENTICAL_CODE => {
            let kernels =
                value.get_mut("kernels").and_then(Value::as_object_mut).ok_or("`kernels` is not an object")?;
            std::mem::take(kernels).into_iter().map(|(name, kernel)| (Some(name), kernel)).collect()
        }
        (None, Some(_)) => return Err("it bears a `family` but no `cases`"),
        (None, None) => return Ok(()),
    };
    let family = family.ok_or("it holds `cases` of no family")?;
    if cases.is_empty() {
        return Err("it holds no case");
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    for (position, (name, value)) in cases.into_iter().enumerate() {
        push(&family, name.unwrap_or_else(|| format!("{stem}#{position}")), value);
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

    /// Compares the families and names found among these files, or the error.
    fn check(files: &[(&str, &str)], expected: &str) {
        let folder = tempfile::tempdir().expect("it works");
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("it works")).expect("it works");
            fs::write(file, text).expect("it works");
        }
        let list = |cases: Vec<GoldenCase>| {
            cases.iter().map(|case| format!("{} {}", case.family, case.name)).collect::<Vec<_>>().join(", ")
        };
        match (find(folder.path()).map(list), expected.strip_prefix("error: ")) {
            (Ok(cases), None) => assert_eq!(cases, expected),
            (Err(error), Some(words)) => assert!(error.to_string().contains(words), "{error}"),
            (result, _) => panic!("{files:?} gave {result:?}"),
        }
    }

    #[test]
    fn files_are_recognised_by_what_they_hold() {
        check(&[("golden.txt", CASES), ("notes.md", "[1] a note"), ("x/y.json", CASES)], "ordering a, ordering a");
        check(&[("s.json", r#"{"what": "w", "library": {}, "cases": [{}, {}]}"#)], "statistics s#0, statistics s#1");
        check(&[("t.json", r#"{"what": "w", "kernels": {"gemm": [1]}}"#)], "identical_code gemm");
        check(&[("e.json", r#"{"name": "n", "argv": [], "parsed_baseline_ns": null, "verdicts": null}"#)], "trueno n");
        let samples = r#"{"name": "n", "baseline": "a", "current": "b", "results": {}, "summary": {}}"#;
        check(&[("e.json", samples), ("samples.json", "[3, 4]")], "tt_metal n");
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        check(&[], "error: holds no golden case");
        check(&[("a.json", "[3]")], "error: holds no golden case");
        check(&[("good.json", CASES), ("bad.json", "{\"family\": ")], "error: bad.json");
        check(&[("bad.json", "")], "error: bad.json");
        check(&[("a.json", r#"{"cases": [1]}"#)], "error: `cases` of no family");
        check(&[("a.json", r#"{"family": "ordering", "cases": []}"#)], "error: a.json: it holds no case");
        check(&[("a.json", r#"{"family": "ordering", "cases": {}}"#)], "error: `cases` is not a list");
        check(&[("a.json", r#"{"family": "ordering"}"#)], "error: no `cases`");
        // The samples of a foreign format may be no strict JSON.
        check(&[("a/rows.json", ROWS), ("a/results/run.json", "[NaN]")], "formats a");
        check(&[("run.json", "[NaN]")], "error: run.json");
        check(&[("a/rows.json", ROWS), ("b/run.json", "[NaN]")], "error: run.json");
        let error = find(Path::new("no/such/folder")).expect_err("there is none");
        assert!(error.to_string().contains("no/such/folder"));
    }
}

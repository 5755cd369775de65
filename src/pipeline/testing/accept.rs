//! A ground truth in a file: held against, or made anew of what was measured where that is asked for.

use std::ffi::OsString;
use std::path::Path;

use super::report::ACCEPT_VARIABLE;
use super::{PerformanceData, Report, Rule, TestingError, compare};

/// The variable that build servers set, which accept nothing.
const CI_VARIABLE: &str = "CI";

/// Holds what was measured against the ground truth in a file, under a rule.
///
/// With `SPRAG_ACCEPT=1` in the environment the file is written in place of that, whole, and the report passes. Where `CI` is
/// set, too, this is refused: a build that accepts its own results finds nothing. A file belongs to one call of this
/// function; a second one would accept over the first.
///
/// # Errors
/// When the file cannot be read or holds no performance data, or when what was measured cannot or must not be accepted.
pub fn compare_with_file(path: &Path, current: &PerformanceData, rule: &Rule) -> Result<Report, TestingError> {
    let of = |name: &str| std::env::var_os(name);
    if wants_to_accept(of(ACCEPT_VARIABLE), of(CI_VARIABLE))? {
        return accept(path, current);
    }
    Ok(compare(&PerformanceData::load(path)?, current, rule).of_file(path))
}

fn wants_to_accept(accept: Option<OsString>, ci: Option<OsString>) -> Result<bool, TestingError> {
    let accept = accept.unwrap_or_default();
    match accept.to_str() {
        Some("" | "0") => return Ok(false),
        Some("1") => {}
        _ => {
            let value = accept.to_string_lossy();
            return Err(TestingError::Accept(format!(
                "{ACCEPT_VARIABLE} is `{value}`, where `1` or nothing is understood"
            )));
        }
    }
    let ci = ci.unwrap_or_default();
    if matches!(ci.to_str(), Some("" | "0" | "false")) {
        return Ok(true);
    }
    Err(TestingError::Accept(format!(
        "{ACCEPT_VARIABLE} is set, and so is {CI_VARIABLE}: accept on a machine of your own, look at what changed in the \
         file, and commit it"
    )))
}

fn accept(path: &Path, current: &PerformanceData) -> Result<Report, TestingError> {
    let is_whole = current.entries().next().is_some() && current.empty_section().is_none();
    if !is_whole {
        return Err(TestingError::Accept("what was measured is empty".to_owned()));
    }
    current.save(path)?;
    Ok(Report::accepted(path, &current.quality))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_wish_off_a_build_server_is_granted() {
        let check = |accept: Option<&str>, ci: Option<&str>, expected: Option<bool>| {
            let wish = wants_to_accept(accept.map(OsString::from), ci.map(OsString::from));
            assert_eq!(wish.as_ref().ok(), expected.as_ref(), "{accept:?} {ci:?}: {wish:?}");
        };
        check(None, None, Some(false));
        check(None, Some("true"), Some(false));
        check(Some(""), None, Some(false));
        check(Some("0"), Some("true"), Some(false));
        check(Some("1"), None, Some(true));
        check(Some("1"), Some(""), Some(true));
        check(Some("1"), Some("false"), Some(true));
        check(Some("1"), Some("true"), None);
        check(Some("1"), Some("1"), None);
        check(Some("yes"), None, None);
    }

    #[test]
    fn accepting_writes_the_file_and_nothing_without_samples() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("truth.json");
        let mut data = PerformanceData::new();
        assert!(accept(&path, &data).is_err() && !path.exists());
        data.insert("s", "a", vec![1.0; 100]).expect("it is fine");
        let report = accept(&path, &data).expect("it can be written");
        assert!(report.is_pass() && report.messages()[0].starts_with("accepted as the ground truth: `"));
        assert_eq!(PerformanceData::load(&path).expect("it was written so"), data);
        let again = compare_with_file(&path, &data, &super::super::RANK).expect("it can be read");
        assert!(again.is_pass(), "{:?}", again.messages());
    }
}

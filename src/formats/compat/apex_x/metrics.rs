//! The figures of a report, by the names under which a baseline holds them.
//!
//! Each suite has rules of its own: the CPU suite lists its figures under `metrics` and takes text that reads as a
//! number; the GPU suite is asked by a path of names with dots; of a sweep the summary and each case are laid flat.

use std::collections::BTreeMap;

use super::suite::SeedSuite;
use crate::compat::json::Json;

/// The figures of the summary of a sweep.
const SUMMARY: [&str; 3] = ["p50_ms_min", "p50_ms_median", "p50_ms_max"];

/// The figures of a case of a sweep.
const CASE: [&str; 2] = ["p50_ms", "p95_ms"];

/// Why no figure can be had of a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MetricsError {
    /// `metrics` is there and no object.
    #[error("`metrics` is no object")]
    NoObject,
    /// A figure that is no number, in the one suite that minds.
    #[error("`metrics` holds `{0}`, which is no number")]
    NoNumber(String),
}

/// The figures of one report, ready to be asked for.
pub(super) enum Figures<'a> {
    Listed(&'a [(String, Json)]),
    ByPath(&'a Json),
    Flat(BTreeMap<String, f64>),
}

impl Figures<'_> {
    pub(super) fn from_report(suite: SeedSuite, report: &Json) -> Result<Figures<'_>, MetricsError> {
        match suite {
            SeedSuite::Cpu => match report.get("metrics") {
                None => Ok(Figures::Listed(&[])),
                Some(metrics) => metrics.fields().map(Figures::Listed).ok_or(MetricsError::NoObject),
            },
            SeedSuite::Gpu => Ok(Figures::ByPath(report)),
            SeedSuite::Trt => Ok(Figures::Flat(flat(report))),
        }
    }

    /// The figure of that name; nothing where the report does not hold it.
    pub(super) fn get(&self, name: &str) -> Result<Option<f64>, MetricsError> {
        match self {
            Figures::Listed(fields) => match fields.iter().find(|(key, _)| key == name) {
                None | Some((_, Json::Null)) => Ok(None),
                Some((_, value)) => value.as_number().map(Some).ok_or(MetricsError::NoNumber(name.to_owned())),
            },
            Figures::ByPath(report) => {
                Ok(name.split('.').try_fold(*report, |value, key| value.get(key)).and_then(Json::plain_number))
            }
            Figures::Flat(figures) => Ok(figures.get(name).copied()),
        }
    }
}

/// The figures of a sweep by their flat names: `summary.<figure>` and `case.<label>.<figure>`. Of cases that bear the
/// same label the last counts.
pub(super) fn flat(report: &Json) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let mut add = |start: &str, holder: &Json, names: &[&str]| {
        for name in names {
            if let Some(value) = holder.get(name).and_then(Json::plain_number) {
                figures.insert(format!("{start}.{name}"), value);
            }
        }
    };
    if let Some(summary) = report.get("summary") {
        add("summary", summary, &SUMMARY);
    }
    let Some(Json::List(cases)) = report.get("cases") else { return figures };
    for case in cases {
        let label = case.get("label").and_then(Json::text).filter(|label| !label.is_empty());
        if let (Some(label), Some(metrics)) = (label, case.get("metrics")) {
            add(&format!("case.{label}"), metrics, &CASE);
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(suite: SeedSuite, report: &str, name: &str) -> Result<Option<f64>, MetricsError> {
        let report = Json::parse(report).expect("the report is JSON");
        Figures::from_report(suite, &report)?.get(name)
    }

    #[test]
    fn each_suite_finds_its_figures_by_its_own_rules() {
        let check = |suite: SeedSuite, report: &str, name: &str, expected: Option<f64>| {
            assert_eq!(get(suite, report, name), Ok(expected), "{report}: {name}");
        };
        check(SeedSuite::Cpu, r#"{"metrics": {"a": "1.25"}}"#, "a", Some(1.25));
        check(SeedSuite::Cpu, r#"{"metrics": {"a": true}}"#, "a", Some(1.0));
        check(SeedSuite::Cpu, r#"{"metrics": {"a": null}}"#, "a", None);
        check(SeedSuite::Cpu, "{}", "a", None);
        check(SeedSuite::Gpu, r#"{"a": {"b": {"c": 2}}}"#, "a.b.c", Some(2.0));
        check(SeedSuite::Gpu, r#"{"a": {"b": true}}"#, "a.b", Some(1.0));
        check(SeedSuite::Gpu, r#"{"a": {"b": "2"}}"#, "a.b", None);
        check(SeedSuite::Gpu, r#"{"a": {"b": 2}}"#, "a.b.c", None);
        check(SeedSuite::Gpu, r#"{"a.b": 2}"#, "a.b", None);
        let sweep = r#"{"summary": {"p50_ms_min": 1, "p50_ms_max": "2", "ok_count": 3}, "cases": [
            {"label": "d", "metrics": {"p50_ms": 4, "p95_ms": null}}, {"label": "", "metrics": {"p50_ms": 5}},
            {"label": "d", "status": "failed", "metrics": {"p50_ms": 6, "frames_per_s": 7}}, {"label": "e", "metrics": 8},
            {"label": 9, "metrics": {"p50_ms": 5}}, 10]}"#;
        check(SeedSuite::Trt, sweep, "summary.p50_ms_min", Some(1.0));
        check(SeedSuite::Trt, sweep, "case.d.p50_ms", Some(6.0));
        let report = Json::parse(sweep).expect("the report is JSON");
        assert_eq!(flat(&report).len(), 2, "nothing else is a figure: {:?}", flat(&report));
        check(SeedSuite::Trt, r#"{"cases": {}, "summary": []}"#, "summary.p50_ms_min", None);
    }

    #[test]
    fn the_cpu_suite_minds_what_is_no_number() {
        let none = |value: &str| get(SeedSuite::Cpu, &format!(r#"{{"metrics": {{"a": {value}}}}}"#), "a");
        assert_eq!(none("\"fast\""), Err(MetricsError::NoNumber("a".to_owned())));
        assert_eq!(none("[]"), Err(MetricsError::NoNumber("a".to_owned())));
        assert_eq!(get(SeedSuite::Cpu, r#"{"metrics": []}"#, "a"), Err(MetricsError::NoObject));
    }
}

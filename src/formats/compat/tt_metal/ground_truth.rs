//! A ground truth as tt-metal's own check reads it; [`super::import`] is stricter.
//!
//! An object of sections, each an object that lists samples under a name, in their order; of a repeated name the last list
//! counts, in the place of the first. `NaN`, `Infinity` and `-Infinity` are samples, and so are `true` and `false`.
//! Lists of fewer than 100 samples are warned of.

use serde_json::Value;

use crate::compat::{json, python};
use sprag_model::sample_gate::{GroundTruth, SampleSeries, Section};

const ENOUGH_SAMPLES: usize = 100;

/// In the words of the original.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroundTruthError {
    #[error("{0}")]
    Encoding(String),
    #[error("{0}")]
    Json(String),
    /// JSON that is not an object; the word is Python's for what it is.
    #[error("'{0}' object has no attribute 'items'")]
    Sections(&'static str),
    #[error("Section '{0}' must contain a dictionary of subsections")]
    Section(String),
    #[error("Subsection '{0}' must contain a list of samples")]
    List(String),
    #[error("Subsection '{0}' cannot be empty")]
    Empty(String),
    #[error("All samples in '{0}' must be numeric")]
    Sample(String),
}

impl GroundTruthError {
    /// What Python calls such an error.
    pub fn kind(&self) -> &'static str {
        match self {
            GroundTruthError::Encoding(_) => "UnicodeDecodeError",
            GroundTruthError::Json(_) => "JSONDecodeError",
            GroundTruthError::Sections(_) => "AttributeError",
            GroundTruthError::Section(_)
            | GroundTruthError::List(_)
            | GroundTruthError::Empty(_)
            | GroundTruthError::Sample(_) => "ValueError",
        }
    }
}

/// What the original warns of goes to `warnings`, also where it then finds a fault, the first in the order of the text.
pub fn read(bytes: &[u8], warnings: &mut Vec<String>) -> Result<GroundTruth, GroundTruthError> {
    let text = python::decode(bytes).map_err(GroundTruthError::Encoding)?;
    let value = json::parse(text).map_err(|error| GroundTruthError::Json(error.in_python))?;
    let sections = value.as_object().ok_or_else(|| GroundTruthError::Sections(kind(&value)))?;
    let sections = sections.iter().map(|(name, value)| section(name, value, warnings)).collect::<Result<_, _>>()?;
    Ok(GroundTruth { sections })
}

fn section(name: &str, value: &Value, warnings: &mut Vec<String>) -> Result<Section<SampleSeries>, GroundTruthError> {
    let lists = value.as_object().ok_or_else(|| GroundTruthError::Section(name.to_owned()))?;
    let mut entries = Vec::with_capacity(lists.len());
    for (entry, list) in lists {
        let series = series(list).map_err(|fault| fault(format!("{name}.{entry}")))?;
        let count = series.samples.len();
        if count < ENOUGH_SAMPLES {
            warnings.push(format!(
                "Section '{name}.{entry}' has only {count} samples. Results may be unreliable with fewer than \
                 {ENOUGH_SAMPLES} samples."
            ));
        }
        entries.push((entry.clone(), series));
    }
    Ok(Section { name: name.to_owned(), entries })
}

fn series(list: &Value) -> Result<SampleSeries, fn(String) -> GroundTruthError> {
    let Value::Array(items) = list else { return Err(GroundTruthError::List) };
    if items.is_empty() {
        return Err(GroundTruthError::Empty);
    }
    let samples =
        items.iter().map(json::plain_number).collect::<Option<_>>().ok_or(GroundTruthError::Sample as fn(_) -> _)?;
    Ok(SampleSeries { samples, has_long: items.iter().any(json::is_long) })
}

/// Python's word for what a value is.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> (Result<GroundTruth, GroundTruthError>, Vec<String>) {
        let mut warnings = Vec::new();
        (read(text.as_bytes(), &mut warnings), warnings)
    }

    #[test]
    fn order_and_odd_samples_are_preserved() {
        let text =
            r#"{"b": {"y": [1, NaN, -Infinity], "x": [true, false]}, "a": {}, "b": {"x": [2], "y": [3], "x": [4]}}"#;
        let (truth, warnings) = read_all(text);
        let truth = truth.expect("it is fine");
        assert_eq!(truth.sections.iter().map(|section| section.name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        let entries = &truth.sections[0].entries;
        assert_eq!((entries[0].0.as_str(), &entries[0].1.samples), ("x", &vec![4.0]));
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        let (truth, _) =
            read_all(r#"{"s": {"a": [true, false, NaN, Infinity], "b": [1e30], "c": [1000000000000000000000]}}"#);
        let entries = truth.expect("it is fine").sections.remove(0).entries;
        assert_eq!(entries[0].1.samples[..2], [1.0, 0.0]);
        assert!(entries[0].1.samples[2].is_nan() && entries[0].1.samples[3].is_infinite());
        assert_eq!([0, 1, 2].map(|place| entries[place].1.has_long), [false, false, true]);
        assert_eq!(read_all("{}").0, Ok(GroundTruth::default()));
    }

    #[test]
    fn fewer_than_a_hundred_samples_are_warned_of() {
        let list = |count: usize| vec!["1"; count].join(",");
        let warnings = read_all(&format!("{{\"s\": {{\"few\": [{}], \"enough\": [{}]}}}}", list(99), list(100))).1;
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }

    /// The other faults are in golden cases.
    #[test]
    fn what_is_no_object_has_the_name_of_its_type() {
        for (text, name) in [("null", "NoneType"), ("1.5", "float"), ("15", "int"), ("true", "bool"), ("\"\"", "str")] {
            let error = read_all(text).0.expect_err("it is refused");
            assert_eq!(error.kind(), "AttributeError");
            assert_eq!(error.to_string(), format!("'{name}' object has no attribute 'items'"));
        }
    }

    #[test]
    fn damage_is_no_panic() {
        let text = "{\"s \\u00fc\": {\"é\": [1, -2.5e-3, NaN, true, 1e400, 99999999999999999999]}}".as_bytes();
        for end in 0..text.len() {
            let _ = read(&text[..end], &mut Vec::new());
            for byte in [b'"', b'\\', b'{', b']', b'0', 0x00, 0x80, 0xff] {
                let mut damaged = text.to_vec();
                damaged[end] = byte;
                let _ = read(&damaged, &mut Vec::new());
            }
        }
    }
}

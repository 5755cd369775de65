//! Samples of benchmarks by section and subsection, as in the ground truths of tt-metal, and their files.

use std::fs;
use std::io;
use std::path::Path;

use super::TestingError;
use sprag_base::files::{read_bounded, write_atomic};
use sprag_base::json;
use sprag_formats::compat::tt_metal::ground_truth;
use sprag_model::Unit;

/// If `1`, `compare_with_file` replaces the ground truth.
pub const ACCEPT_VARIABLE: &str = "SPRAG_ACCEPT";

/// Samples of benchmarks, in sections and subsections; each subsection has at least one, and all are finite numbers.
///
/// Written as JSON it is an object of sections, each an object that lists samples under a name:
///
/// ```
/// use sprag_pipeline::testing::PerformanceData;
///
/// let data = PerformanceData::from_json(br#"{"rank_2": {"sharded": [6384, 6384.5, 6390]}}"#)?;
/// assert_eq!(data.samples("rank_2", "sharded"), Some(&[6384.0, 6384.5, 6390.0][..]));
/// let error = PerformanceData::from_json(br#"{"rank_2": {"sharded": []}}"#).unwrap_err();
/// assert_eq!(error.to_string(), "no performance data: Subsection 'rank_2.sharded' cannot be empty");
/// # Ok::<(), sprag_pipeline::testing::TestingError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerformanceData {
    /// Caveats about the samples; not stored in files.
    pub quality: Vec<String>,
    sections: Vec<(String, Vec<Subsection>)>,
    unit: Option<Unit>,
}

type Subsection = (String, Vec<f64>);

impl PerformanceData {
    /// Empty data never pass.
    pub fn new() -> PerformanceData {
        PerformanceData::default()
    }

    /// Messages then show the unit; files do not.
    pub fn in_unit(self, unit: Unit) -> PerformanceData {
        PerformanceData { unit: Some(unit), ..self }
    }

    /// Fails if there are no samples, one is not finite, or the subsection exists.
    pub fn insert(&mut self, section: &str, subsection: &str, samples: Vec<f64>) -> Result<(), TestingError> {
        self.put(section, subsection, samples).map_err(TestingError::data)
    }

    fn put(&mut self, section: &str, subsection: &str, samples: Vec<f64>) -> Result<(), String> {
        let name = format!("'{section}.{subsection}'");
        if samples.is_empty() {
            return Err(format!("Subsection {name} cannot be empty"));
        }
        if let Some(place) = samples.iter().position(|sample| !sample.is_finite()) {
            return Err(format!("sample {} of {name} is {}, which is not a number", place + 1, samples[place]));
        }
        if self.samples(section, subsection).is_some() {
            return Err(format!("{name} is there twice"));
        }
        let added = (subsection.to_owned(), samples);
        match self.sections.iter_mut().find(|(name, _)| name == section) {
            Some((_, subsections)) => subsections.push(added),
            None => self.sections.push((section.to_owned(), vec![added])),
        }
        Ok(())
    }

    pub fn samples(&self, section: &str, subsection: &str) -> Option<&[f64]> {
        self.entries().find(|entry| (entry.0, entry.1) == (section, subsection)).map(|entry| entry.2)
    }

    /// Section, subsection and samples, in order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str, &[f64])> {
        self.sections.iter().flat_map(|(section, subsections)| {
            subsections.iter().map(|(name, samples)| (section.as_str(), name.as_str(), samples.as_slice()))
        })
    }

    /// Seconds for measured data.
    pub fn unit(&self) -> Option<Unit> {
        self.unit
    }

    /// Only a file can have one.
    pub fn empty_section(&self) -> Option<&str> {
        self.sections.iter().find(|(_, subsections)| subsections.is_empty()).map(|(name, _)| name.as_str())
    }

    pub fn section_as(&self, section: &str, name: &str) -> PerformanceData {
        let sections = self.sections.iter().filter(|(one, _)| one == section);
        let sections = sections.map(|(_, subsections)| (name.to_owned(), subsections.clone())).collect();
        PerformanceData { quality: self.quality.clone(), sections, unit: self.unit }
    }

    /// Refuses what tt-metal refuses, in its words, and non-finite or too large numbers, booleans and duplicate names.
    pub fn from_json(bytes: &[u8]) -> Result<PerformanceData, TestingError> {
        PerformanceData::parse(bytes).map_err(TestingError::data)
    }

    fn parse(bytes: &[u8]) -> Result<PerformanceData, String> {
        json::check_size(bytes).map_err(|error| error.to_string())?;
        let mut quality = Vec::new();
        let truth = ground_truth::read(bytes, &mut quality).map_err(|error| error.to_string())?;
        let mut data = PerformanceData { quality, ..PerformanceData::default() };
        for section in truth.sections {
            data.sections.push((section.name.clone(), Vec::new()));
            for (name, series) in section.entries {
                if series.has_long {
                    return Err(format!("a sample of '{}.{name}' is too large a whole number", section.name));
                }
                data.put(&section.name, &name, series.samples)?;
            }
        }
        // That reader takes the last of duplicate names, and `true` as a number.
        let value = json::parse(bytes).map_err(|error| error.to_string())?;
        for (section, subsections) in value.as_object().into_iter().flatten() {
            for (name, samples) in subsections.as_object().into_iter().flatten() {
                if samples.as_array().into_iter().flatten().any(|sample| !sample.is_number()) {
                    return Err(format!("a sample of '{section}.{name}' is `true` or `false`"));
                }
            }
        }
        Ok(data)
    }

    /// One subsection a line.
    pub fn to_json(&self) -> String {
        let subsection = |(name, samples): &Subsection| {
            let samples: Vec<String> = samples.iter().map(|sample| json::float_text(*sample)).collect();
            format!("    {}: [{}]", json::to_canonical(name), samples.join(", "))
        };
        let section = |(name, subsections): &(String, Vec<Subsection>)| {
            let lines: Vec<String> = subsections.iter().map(subsection).collect();
            let body = if lines.is_empty() { String::new() } else { format!("\n{}\n  ", lines.join(",\n")) };
            format!("  {}: {{{body}}}", json::to_canonical(name))
        };
        let sections: Vec<String> = self.sections.iter().map(section).collect();
        if sections.is_empty() { "{}\n".to_owned() } else { format!("{{\n{}\n}}\n", sections.join(",\n")) }
    }
}

/// Ten times the largest ground truth seen.
const MOST_BYTES: u64 = 1 << 24;

impl PerformanceData {
    /// Errors name the file, and section and subsection.
    pub fn load(path: &Path) -> Result<PerformanceData, TestingError> {
        let shown = path.display();
        let read = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => {
                    format!(" (hint: to create it from this measurement, run the test once with {ACCEPT_VARIABLE}=1)")
                }
                _ => String::new(),
            };
            TestingError(format!("cannot read `{shown}`: {error}{hint}"))
        };
        let fault = |fault: String| TestingError(format!("`{shown}` holds no performance data: {fault}"));
        let size = fs::metadata(path).map_err(read)?.len();
        if size > MOST_BYTES {
            return Err(fault(format!("it has {size} bytes, and no more than {MOST_BYTES} are read")));
        }
        PerformanceData::parse(&read_bounded(path, MOST_BYTES as usize).map_err(read)?).map_err(fault)
    }

    /// Atomic; makes missing folders.
    pub fn save(&self, path: &Path) -> Result<(), TestingError> {
        Ok(write_atomic(path, self.to_json().as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_survive_writing_and_reading() {
        let mut data = PerformanceData::new();
        data.insert("b", "y\"\n", vec![1.0, 2.5e-9, 6384.0]).expect("it is fine");
        data.insert("a", "x", vec![-1.0, 0.1 + 0.2]).expect("it is fine");
        data.insert("b", "x", vec![3.0; 100]).expect("it is fine");
        let text = data.to_json();
        let start = "{\n  \"b\": {\n    \"y\\\"\\n\": [1.0, 2.5e-09, 6384.0],\n    \"x\": [3.0,";
        assert!(text.starts_with(start), "{text}");
        let read = PerformanceData::from_json(text.as_bytes()).expect("it was written so");
        assert_eq!(read.quality.len(), 2, "lists of fewer than 100 samples give a note");
        assert_eq!(PerformanceData { quality: Vec::new(), ..read }, data);
        assert_eq!(PerformanceData::new().to_json(), "{}\n");
        let empty = PerformanceData::from_json(b"{\"s\": {}}").expect("it is fine");
        assert_eq!((empty.to_json().as_str(), empty.empty_section()), ("{\n  \"s\": {}\n}\n", Some("s")));
        let renamed = data.section_as("a", "now");
        assert_eq!(renamed.entries().collect::<Vec<_>>(), [("now", "x", &[-1.0, 0.1 + 0.2][..])]);
    }

    #[test]
    fn invalid_data_are_refused_by_name() {
        let check = |text: &str, expected: &str| {
            let fault = PerformanceData::from_json(text.as_bytes()).expect_err(text).to_string();
            assert!(fault.contains(expected), "{fault}");
        };
        check("", "Expecting value: line 1 column 1");
        check("[1]", "'list' object has no attribute 'items'");
        check(r#"{"s": 1}"#, "Section 's' must contain a dictionary of subsections");
        check(r#"{"s": {"a": 1}}"#, "Subsection 's.a' must contain a list of samples");
        check(r#"{"s": {"a": []}}"#, "Subsection 's.a' cannot be empty");
        check(r#"{"s": {"a": [1, "2"]}}"#, "All samples in 's.a' must be numeric");
        check(r#"{"s": {"a": [1, null]}}"#, "All samples in 's.a' must be numeric");
        check(r#"{"s": {"a": [-Infinity]}}"#, "sample 1 of 's.a' is -inf");
        check(r#"{"s": {"a": [1, NaN]}}"#, "sample 2 of 's.a' is NaN");
        check(r#"{"s": {"a": [1e400]}}"#, "sample 1 of 's.a' is inf");
        check(r#"{"s": {"a": [100000000000000000000000]}}"#, "a sample of 's.a' is too large a whole number");
        check(r#"{"s": {"a": [1, true]}}"#, "a sample of 's.a' is `true` or `false`");
        check(r#"{"s": {"a": [1], "a": [2]}}"#, "`a`");
        check(r#"{"s": {"a": [1]}, "s": {"b": [2]}}"#, "`s`");
        let mut data = PerformanceData::new();
        for (samples, expected) in [
            (&[][..], Some("no performance data: Subsection 's.a' cannot be empty")),
            (&[1.0, f64::NAN], Some("no performance data: sample 2 of 's.a' is NaN, which is not a number")),
            (&[1.0], None),
            (&[1.0], Some("no performance data: 's.a' is there twice")),
        ] {
            let fault = data.insert("s", "a", samples.to_vec()).err().map(|error| error.to_string());
            assert_eq!(fault.as_deref(), expected);
        }
    }

    #[test]
    fn files_are_written_atomically_and_faults_name_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/er/truth.json");
        let fault = || PerformanceData::load(&path).expect_err("it is refused").to_string();
        assert!(fault().contains("truth.json") && fault().contains("SPRAG_ACCEPT=1"), "{}", fault());
        let mut data = PerformanceData::new();
        data.insert("s", "a", vec![1.5; 100]).expect("it is fine");
        for _ in 0..2 {
            data.save(&path).expect("it can be written");
        }
        assert_eq!(PerformanceData::load(&path).expect("it was written so"), data);
        let count = fs::read_dir(path.parent().expect("it has one")).expect("it can be listed").count();
        assert_eq!(count, 1, "no temporary file stays");
        fs::write(&path, "{\"s\": {\"a\": []}}").expect("it can be written");
        let expected = "truth.json` holds no performance data: Subsection 's.a' cannot be empty";
        assert!(fault().ends_with(expected), "{}", fault());
        fs::write(&path, vec![b' '; MOST_BYTES as usize + 1]).expect("it can be written");
        assert!(fault().contains("no more than"), "{}", fault());
        assert!(data.save(folder.path()).expect_err("it is a folder").to_string().starts_with("cannot write `"));
    }
}

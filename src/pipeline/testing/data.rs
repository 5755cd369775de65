//! Samples of benchmarks under the names of sections and subsections, as the ground truths of tt-metal hold them, and
//! files of them.

use std::fs;
use std::io;
use std::path::Path;

use super::TestingError;
use super::report::ACCEPT_VARIABLE;
use sprag_base::files::write_atomic;
use sprag_base::json;
use sprag_formats::compat::tt_metal::ground_truth;
use sprag_model::unit::Unit;

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
    /// What speaks against the samples, one sentence each; not kept in files.
    pub quality: Vec<String>,
    sections: Vec<(String, Vec<Subsection>)>,
    unit: Option<Unit>,
}

#[derive(Clone, Debug, PartialEq)]
struct Subsection {
    name: String,
    samples: Vec<f64>,
}

impl PerformanceData {
    /// No samples yet, of which nothing can be said: such data never pass.
    pub fn new() -> PerformanceData {
        PerformanceData::default()
    }

    /// The same samples, said to be of a unit: messages then bear it. Files do not.
    pub fn in_unit(self, unit: Unit) -> PerformanceData {
        PerformanceData { unit: Some(unit), ..self }
    }

    /// Adds the samples of a subsection.
    ///
    /// # Errors
    /// When there are none, one is no finite number, or the subsection has samples.
    pub fn insert(&mut self, section: &str, subsection: &str, samples: Vec<f64>) -> Result<(), TestingError> {
        self.put(section, subsection, samples).map_err(TestingError::data)
    }

    fn put(&mut self, section: &str, subsection: &str, samples: Vec<f64>) -> Result<(), String> {
        let name = format!("'{section}.{subsection}'");
        if samples.is_empty() {
            // In the words in which a file is refused.
            return Err(format!("Subsection {name} cannot be empty"));
        }
        if let Some(place) = samples.iter().position(|sample| !sample.is_finite()) {
            return Err(format!("sample {} of {name} is {}, which is no number", place + 1, samples[place]));
        }
        if self.samples(section, subsection).is_some() {
            return Err(format!("{name} is there twice"));
        }
        let added = Subsection { name: subsection.to_owned(), samples };
        match self.sections.iter_mut().find(|(name, _)| name == section) {
            Some((_, subsections)) => subsections.push(added),
            None => self.sections.push((section.to_owned(), vec![added])),
        }
        Ok(())
    }

    /// The samples of a subsection, at least one.
    pub fn samples(&self, section: &str, subsection: &str) -> Option<&[f64]> {
        self.entries().find(|entry| (entry.0, entry.1) == (section, subsection)).map(|entry| entry.2)
    }

    /// Section, subsection and samples of each subsection, in their order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str, &[f64])> {
        self.sections.iter().flat_map(|(section, subsections)| {
            subsections.iter().map(|one| (section.as_str(), one.name.as_str(), one.samples.as_slice()))
        })
    }

    /// What the samples are of, where that is known: measured ones are seconds.
    pub fn unit(&self) -> Option<Unit> {
        self.unit
    }

    /// The first section without subsections, which only a file can have.
    pub fn empty_section(&self) -> Option<&str> {
        self.sections.iter().find(|(_, subsections)| subsections.is_empty()).map(|(name, _)| name.as_str())
    }

    /// One section alone, under another name.
    pub fn section_as(&self, section: &str, name: &str) -> PerformanceData {
        let sections = self.sections.iter().filter(|(one, _)| one == section);
        let sections = sections.map(|(_, subsections)| (name.to_owned(), subsections.clone())).collect();
        PerformanceData { quality: self.quality.clone(), sections, unit: self.unit }
    }

    /// Reads data as JSON. Whatever tt-metal refuses is refused in its words; refused are also `NaN`, `Infinity`, numbers
    /// that are too large, `true` and `false` as samples, and names that come twice.
    ///
    /// # Errors
    /// The first fault, with its section and subsection.
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
        // Of a name that comes twice the reader above takes the last, and `true` is a number to it.
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

    /// The data as JSON, a subsection a line, with a line feed at the end.
    pub fn to_json(&self) -> String {
        let subsection = |one: &Subsection| {
            let samples: Vec<String> = one.samples.iter().map(|sample| json::float_text(*sample)).collect();
            format!("    {}: [{}]", json::to_canonical(&one.name), samples.join(", "))
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

/// A file of more bytes is no ground truth but a slip; ten times that of the largest known one.
const MOST_BYTES: u64 = 1 << 24;

impl PerformanceData {
    /// Reads a file, as [`PerformanceData::from_json`] does.
    ///
    /// # Errors
    /// Names the file and, where it holds no such data, section and subsection.
    pub fn load(path: &Path) -> Result<PerformanceData, TestingError> {
        let shown = path.display();
        let read = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => format!(
                    " (hint: where it is to be made of what is measured, run the test once with {ACCEPT_VARIABLE}=1)"
                ),
                _ => String::new(),
            };
            TestingError(format!("cannot read `{shown}`: {error}{hint}"))
        };
        let fault = |fault: String| TestingError(format!("`{shown}` holds no performance data: {fault}"));
        let size = fs::metadata(path).map_err(read)?.len();
        if size > MOST_BYTES {
            return Err(fault(format!("it has {size} bytes, and no more than {MOST_BYTES} are read")));
        }
        PerformanceData::parse(&fs::read(path).map_err(read)?).map_err(fault)
    }

    /// Writes a file, so that whoever looks sees the old content or the new, never part of it. Missing folders are made.
    ///
    /// # Errors
    /// Names the file; what was there then stands.
    pub fn save(&self, path: &Path) -> Result<(), TestingError> {
        Ok(write_atomic(path, self.to_json().as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_come_back_as_they_were_written() {
        let mut data = PerformanceData::new();
        data.insert("b", "y\"\n", vec![1.0, 2.5e-9, 6384.0]).expect("it is fine");
        data.insert("a", "x", vec![-1.0, 0.1 + 0.2]).expect("it is fine");
        data.insert("b", "x", vec![3.0; 100]).expect("it is fine");
        let text = data.to_json();
        assert!(
            text.starts_with("{\n  \"b\": {\n    \"y\\\"\\n\": [1.0, 2.5e-09, 6384.0],\n    \"x\": [3.0,"),
            "{text}"
        );
        let read = PerformanceData::from_json(text.as_bytes()).expect("it was written so");
        assert_eq!(read.quality.len(), 2, "lists of fewer than 100 samples are told of");
        assert_eq!(PerformanceData { quality: Vec::new(), ..read }, data);
        assert_eq!(PerformanceData::new().to_json(), "{}\n");
        let empty = PerformanceData::from_json(b"{\"s\": {}}").expect("it is fine");
        assert_eq!((empty.to_json().as_str(), empty.empty_section()), ("{\n  \"s\": {}\n}\n", Some("s")));
        let other = data.section_as("a", "now");
        assert_eq!(other.entries().collect::<Vec<_>>(), [("now", "x", &[-1.0, 0.1 + 0.2][..])]);
    }

    #[test]
    fn what_is_no_data_is_refused_by_name() {
        let check = |text: &str, expected: &str| {
            let told = PerformanceData::from_json(text.as_bytes()).expect_err(text).to_string();
            assert!(told.contains(expected), "{told}");
        };
        check("", "Expecting value: line 1 column 1");
        check("[1]", "'list' object has no attribute 'items'");
        check(r#"{"s": 1}"#, "Section 's' must contain a dictionary of subsections");
        check(r#"{"s": {"a": 1}}"#, "Subsection 's.a' must contain a list of samples");
        check(r#"{"s": {"a": []}}"#, "Subsection 's.a' cannot be empty");
        check(r#"{"s": {"a": [1, "2"]}}"#, "All samples in 's.a' must be numeric");
        check(r#"{"s": {"a": [1, null]}}"#, "All samples in 's.a' must be numeric");
        check(r#"{"s": {"a": [1, NaN]}}"#, "sample 2 of 's.a' is NaN");
        check(r#"{"s": {"a": [-Infinity]}}"#, "sample 1 of 's.a' is -inf");
        check(r#"{"s": {"a": [1e400]}}"#, "sample 1 of 's.a' is inf");
        check(r#"{"s": {"a": [100000000000000000000000]}}"#, "a sample of 's.a' is too large a whole number");
        check(r#"{"s": {"a": [1, true]}}"#, "a sample of 's.a' is `true` or `false`");
        check(r#"{"s": {"a": [1], "a": [2]}}"#, "`a`");
        check(r#"{"s": {"a": [1]}, "s": {"b": [2]}}"#, "`s`");
    }

    #[test]
    fn what_is_inserted_is_checked() {
        let mut data = PerformanceData::new();
        let mut check = |samples: &[f64], expected: &str| {
            let told = data.insert("s", "a", samples.to_vec()).err().map(|error| error.to_string());
            assert_eq!(told.as_deref(), Some(expected).filter(|text| !text.is_empty()));
        };
        check(&[], "no performance data: Subsection 's.a' cannot be empty");
        check(&[1.0, f64::NAN], "no performance data: sample 2 of 's.a' is NaN, which is no number");
        check(&[1.0], "");
        check(&[1.0], "no performance data: 's.a' is there twice");
    }

    #[test]
    fn a_file_is_written_whole_and_read_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/er/truth.json");
        let mut data = PerformanceData::new();
        data.insert("s", "a", vec![1.5; 100]).expect("it is fine");
        data.save(&path).expect("it can be written");
        data.save(&path).expect("it can be written again");
        assert_eq!(PerformanceData::load(&path).expect("it was written so"), data);
        let beside = fs::read_dir(path.parent().expect("it has one")).expect("it can be listed").count();
        assert_eq!(beside, 1, "nothing stays beside it");
    }

    #[test]
    fn faults_name_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("truth.json");
        let told = || PerformanceData::load(&path).expect_err("it is refused").to_string();
        assert!(told().contains("truth.json") && told().contains("SPRAG_ACCEPT=1"), "{}", told());
        fs::write(&path, "{\"s\": {\"a\": []}}").expect("it can be written");
        assert!(
            told().ends_with("truth.json` holds no performance data: Subsection 's.a' cannot be empty"),
            "{}",
            told()
        );
        fs::write(&path, vec![b' '; MOST_BYTES as usize + 1]).expect("it can be written");
        assert!(told().contains("no more than"), "{}", told());
        let folder_in_the_way = PerformanceData::new().save(folder.path()).expect_err("it is a folder");
        assert!(folder_in_the_way.to_string().starts_with("cannot write `"), "{folder_in_the_way}");
    }
}

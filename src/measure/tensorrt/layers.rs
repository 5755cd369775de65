//! The file of `--exportProfile`: how long each layer took.
//!
//! The first element counts the calls, each further one is a layer: its name, the sum and the mean of its times in
//! milliseconds, from about 8.6 on the median, and its percentage of all. Names stand in the file without the escapes
//! that JSON asks for, so a quote or a backslash in one breaks every strict reader: such a line is mended first.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    pub name: String,
    /// The mean time of a call, in seconds.
    pub mean_s: f64,
    /// The median, in seconds; absent where the version does not tell it.
    pub median_s: Option<f64>,
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LayerProfile {
    pub calls: u64,
    pub layers: Vec<Layer>,
    /// What else `trtexec` tells of the layers, as it wrote it; absent where it wrote nothing.
    pub information: Option<Vec<u8>>,
}

impl LayerProfile {
    pub fn slowest(&self) -> Option<&Layer> {
        self.layers.iter().max_by(|a, b| a.share.total_cmp(&b.share))
    }

    pub fn to_json(&self, case: &str) -> Value {
        json!({"schema_version": 1, "case": case, "calls": self.calls, "layers": self.layers})
    }
}

#[derive(Deserialize)]
struct Entry {
    count: Option<u64>,
    name: Option<String>,
    #[serde(rename = "averageMs")]
    average: Option<f64>,
    #[serde(rename = "medianMs")]
    median: Option<f64>,
    percentage: Option<f64>,
}

pub(super) fn read(bytes: &[u8]) -> Result<LayerProfile, String> {
    let text = String::from_utf8_lossy(bytes);
    let strict = serde_json::from_str::<Vec<Entry>>(&text);
    let entries =
        strict.or_else(|error| serde_json::from_str(&mended(&text)).map_err(|_| format!("cannot be read: {error}")))?;
    let mut profile = LayerProfile { calls: 0, layers: Vec::new(), information: None };
    for entry in entries {
        profile.calls = entry.count.unwrap_or(profile.calls);
        let Some(name) = entry.name else { continue };
        let number = |value: Option<f64>, what: &str| match value {
            Some(value) if value >= 0.0 => Ok(value),
            Some(value) => Err(format!("says {value} for `{what}` of `{}`", name.escape_debug())),
            None => Err(format!("has no `{what}` of `{}`", name.escape_debug())),
        };
        let layer = Layer {
            mean_s: number(entry.average, "averageMs")? * 1e-3,
            median_s: entry.median.map(|median| number(Some(median), "medianMs")).transpose()?.map(|ms| ms * 1e-3),
            share: number(entry.percentage, "percentage")? * 1e-2,
            name: name.clone(),
        };
        profile.layers.push(layer);
    }
    if profile.layers.is_empty() { Err("names no layer".to_owned()) } else { Ok(profile) }
}

/// The text with quotes and backslashes inside of names escaped: a name stands between `"name" : "` and the last
/// `", "timeMs"` of its line.
fn mended(text: &str) -> String {
    let line = |line: &str| {
        let start = line.find("\"name\"").and_then(|at| {
            let rest = &line[at + 6..];
            let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
            Some(line.len() - value.len())
        });
        let end = line.rfind("\"timeMs\"").and_then(|at| {
            let before = line[..at].trim_end().strip_suffix(',')?.trim_end().strip_suffix('"')?;
            Some(before.len())
        });
        match (start, end) {
            (Some(start), Some(end)) if start <= end => {
                let name = line[start..end].replace('\\', "\\\\").replace('"', "\\\"");
                format!("{}{name}{}", &line[..start], &line[end..])
            }
            _ => line.to_owned(),
        }
    };
    text.lines().map(line).collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_profile_is_read() {
        let golden = include_bytes!("../../../fixtures/golden/formats/trtexec/profile.json");
        let profile = read(golden).expect("the file is fine");
        assert_eq!((profile.calls, profile.layers.len()), (20, 4));
        let slowest = profile.slowest().expect("there are layers");
        assert_eq!((slowest.name.as_str(), slowest.median_s), ("TileSSM_0", Some(0.0694087 * 1e-3)));
        assert!((slowest.share - 0.399966).abs() < 1e-9);
        assert_eq!(profile.to_json("default")["layers"][2]["name"], "TileSSM_0");
    }

    #[test]
    fn names_without_escapes_are_mended() {
        let layer = |name: &str| {
            format!(", {{ \"name\" : \"{name}\", \"timeMs\" : 1, \"averageMs\" : 2, \"percentage\" : 50 }}")
        };
        let names = ["a\"b", "c\\d", "e\", \"timeMs\" : 3, \"f", "plain"];
        let lines: Vec<String> = names.iter().map(|name| layer(name)).collect();
        let text = format!("[\n  {{ \"count\" : 2 }}\n{}\n]\n", lines.join("\n"));
        assert!(serde_json::from_str::<Value>(&text).is_err());
        let profile = read(text.as_bytes()).expect("it can be mended");
        assert_eq!(profile.layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>(), names);
        assert_eq!(profile.layers[0].median_s, None);
    }

    #[test]
    fn what_cannot_be_mended_is_told() {
        let check = |text: &str, words: &str| {
            let error = read(text.as_bytes()).expect_err("the profile is faulty");
            assert!(error.contains(words), "{error}");
        };
        check("", "cannot be read");
        check("[{\"name\": \"a\", \"timeMs\"", "cannot be read");
        check("[{\"count\": 3}]", "names no layer");
        check("[{\"name\": \"a\", \"percentage\": 3}]", "no `averageMs` of `a`");
        check("[{\"name\": \"a\", \"averageMs\": -3}]", "says -3");
        check("{}", "cannot be read");
    }
}

//! `benchmarks.json`: what asv knows of each benchmark, whatever the commit.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::quantity::quantity;
use sprag_model::metric::{Better, Metric, TIME};
use sprag_model::unit::Unit;

/// The metric of bytes.
const MEMORY: &str = "memory";

/// The metric of any other number that a benchmark tracks.
const TRACK: &str = "track";

/// The benchmarks by name.
#[derive(Debug, Default)]
pub(super) struct Suite(BTreeMap<String, Known>);

/// What is known of a benchmark.
#[derive(Debug)]
struct Known {
    unit: String,
    param_names: Vec<String>,
    /// A hash of its code, or what its author set.
    version: Option<String>,
}

impl Suite {
    /// Reads the file; `version`, the format of the file, is the one key that names no benchmark.
    ///
    /// # Errors
    /// When it lists no benchmarks by name.
    pub(super) fn read(value: &Value) -> Result<Suite, String> {
        let Value::Object(benchmarks) = value else {
            return Err("is not asv's list of benchmarks: an object is needed".to_owned());
        };
        let mut suite = Suite::default();
        for (name, fields) in benchmarks {
            if let Value::Object(fields) = fields {
                let text = |key: &str| fields.get(key).and_then(Value::as_str);
                let names = fields.get("param_names").and_then(Value::as_array);
                let names = names.into_iter().flatten().map(|name| name.as_str().unwrap_or_default().to_owned());
                let unit = text("unit").unwrap_or_else(|| usual_unit(name)).to_owned();
                let version = text("version").map(str::to_owned);
                suite.0.insert(name.clone(), Known { unit, param_names: names.collect(), version });
            }
        }
        Ok(suite)
    }

    /// Whether a result of that version of a benchmark belongs to code that has been replaced since. asv itself leaves
    /// such results out; a benchmark that is no longer there keeps its results here.
    pub(super) fn is_outdated(&self, name: &str, version: Option<&str>) -> bool {
        let known = self.0.get(name).and_then(|known| known.version.as_deref());
        matches!((known, version), (Some(known), Some(version)) if known != version)
    }

    /// The unit of a benchmark as asv spells it.
    pub(super) fn unit(&self, name: &str) -> &str {
        self.0.get(name).map_or_else(|| usual_unit(name), |known| &known.unit)
    }

    /// The name of the parameter at that place.
    pub(super) fn param_name(&self, name: &str, place: usize) -> String {
        let known = self.0.get(name).and_then(|known| known.param_names.get(place));
        known.filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| format!("param{}", place + 1))
    }
}

/// The unit by the name of the function, which says what kind of benchmark it is.
fn usual_unit(name: &str) -> &'static str {
    let function = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    match () {
        () if function.starts_with("time") => "seconds",
        () if function.starts_with("mem") || function.starts_with("peakmem") => "bytes",
        () => "unit",
    }
}

/// The metric of a unit, and how many base units one of it is. asv knows no direction and takes less for better; a rate
/// is the one thing of which that cannot be meant.
pub(super) fn metric(unit: &str) -> (Metric, f64) {
    let name = match unit {
        "seconds" => TIME,
        "bytes" => MEMORY,
        _ => TRACK,
    };
    let quantity = quantity(unit);
    let better = if quantity.unit == Unit::PerSecond { Better::Higher } else { Better::Lower };
    (Metric { name: name.to_owned(), unit: quantity.unit, better }, quantity.factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_benchmark_is_known_by_the_list_or_by_its_name() {
        let list = json!({"a.time_x": {"unit": "seconds", "param_names": ["n", ""], "version": "v1"}, "version": 2});
        let suite = Suite::read(&list).expect("it is a list");
        assert_eq!([suite.param_name("a.time_x", 0), suite.param_name("a.time_x", 1)], ["n", "param2"]);
        assert!(suite.is_outdated("a.time_x", Some("v0")) && !suite.is_outdated("a.time_x", Some("v1")));
        assert!(!suite.is_outdated("a.time_x", None) && !suite.is_outdated("gone", Some("v0")));
        let check = |name: &str, unit: &str| assert_eq!(suite.unit(name), unit, "{name}");
        check("a.time_x", "seconds");
        check("b.TimeSuite.timeraw_y", "seconds");
        check("b.peakmem_y", "bytes");
        check("b.mem_y", "bytes");
        check("b.track_y", "unit");
        assert!(Suite::read(&json!([])).is_err());
    }

    #[test]
    fn a_unit_names_the_metric() {
        let check = |unit: &str, name: &str, base: Unit, better: Better, factor: f64| {
            assert_eq!(metric(unit), (Metric { name: name.to_owned(), unit: base, better }, factor), "{unit}");
        };
        check("seconds", "time", Unit::Second, Better::Lower, 1.0);
        check("bytes", "memory", Unit::Byte, Better::Lower, 1.0);
        check("ms", "track", Unit::Second, Better::Lower, 1e-3);
        check("tiles", "track", Unit::One, Better::Lower, 1.0);
        check("frames/s", "track", Unit::PerSecond, Better::Higher, 1.0);
    }
}

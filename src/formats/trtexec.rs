//! What `trtexec` exports of a TensorRT engine: times of each call (`--exportTimes`), or of its layers
//! (`--exportProfile`).
//!
//! A file of times is one benchmark, called after the file: `gpu_compute` (`computeMs`), `latency` (transfers and
//! compute) and, where the version has it, `enqueue`. The file holds the warm-up, too, of unknown length; the median tolerates
//! it. `enqueue` is a difference of times that are printed with six digits; where one is zero it is left out, with a note.
//! Keys are those of TensorRT 7 to 10.
//!
//! A profile is a benchmark a layer, `layer_time`: the median where the version (from 8.6) has it, else the mean. Names of
//! layers are written without escapes; where that makes the file unreadable they are escaped, with a note.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::frame::{Format, Read, Recognised, Source};
use super::{FormatError, json as strict, outputs};
use sprag_base::json;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(crate) const FORMAT: Format = Format {
    name: "trtexec",
    title: "times or the profile of layers that `trtexec` exports",
    files: &[".json"],
    recognised: Recognised::Any(|output| kind(output).is_some()),
    read: Read::Each("trtexec", read),
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Times,
    Profile,
}

fn kind(output: &Output) -> Option<Kind> {
    let start = outputs::start(output);
    let has = |key: &str| start.contains(key);
    match start.trim_start().starts_with('[') {
        true if has("\"computeMs\"") => Some(Kind::Times),
        true if has("\"averageMs\"") && has("\"timeMs\"") => Some(Kind::Profile),
        _ => None,
    }
}

fn read(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    let mut notes = Vec::new();
    let entries = match kind(output) {
        Some(Kind::Times) => vec![times(output, &mut notes)?],
        Some(Kind::Profile) => profile(output, &mut notes)?,
        None => {
            strict::text(output)?;
            return Err(outputs::schema(output, "is not a list with `computeMs` or `averageMs`"));
        }
    };
    Ok(Source { run: outputs::run(entries, &[output]), notes, ..Source::default() })
}

#[derive(Deserialize)]
struct Call {
    #[serde(rename = "computeMs")]
    compute: Option<Value>,
    #[serde(rename = "latencyMs")]
    latency: Option<Value>,
    #[serde(rename = "startEnqMs")]
    start_enqueue: Option<Value>,
    #[serde(rename = "endEnqMs")]
    end_enqueue: Option<Value>,
}

/// An entry of a profile: the number of calls, or a layer.
#[derive(Deserialize)]
pub struct ProfileEntry {
    pub count: Option<u64>,
    pub name: Option<String>,
    #[serde(rename = "averageMs")]
    pub average: Option<Value>,
    #[serde(rename = "medianMs")]
    pub median: Option<Value>,
    pub percentage: Option<Value>,
}

/// The entries of a profile, and whether names had to be escaped.
pub fn profile_entries(text: &str) -> serde_json::Result<(Vec<ProfileEntry>, bool)> {
    match list(text) {
        Ok(entries) => Ok((entries, false)),
        Err(error) => Ok((list(&escaped(text)).map_err(|_| error)?, true)),
    }
}

/// Words such as `nan` have been put in quotes, and are not numbers.
pub fn milliseconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn seconds(value: &Value) -> f64 {
    milliseconds(value) * 1e-3
}

fn metric(name: &str) -> Metric {
    Metric { name: name.to_owned(), unit: Unit::Second, better: Better::Lower }
}

fn list<T: DeserializeOwned>(text: &str) -> serde_json::Result<Vec<T>> {
    json::check_size(text.as_bytes())?;
    serde_json::from_str(&strict::quote_not_finite(text))
}

fn unreadable(output: &Output, error: serde_json::Error) -> FormatError {
    FormatError::Json { name: output.name.clone(), error }
}

fn times(output: &Output, notes: &mut Vec<String>) -> Result<Entry, FormatError> {
    let calls: Vec<Call> = list(strict::text(output)?).map_err(|error| unreadable(output, error))?;
    if let Some(place) = calls.iter().position(|call| call.compute.is_none()) {
        return Err(outputs::schema(output, format!("has no `computeMs` of call {}", place + 1)));
    }
    let column =
        |of: fn(&Call) -> &Option<Value>| calls.iter().filter_map(|call| of(call).as_ref().map(seconds)).collect();
    let compute = outputs::sampled(metric("gpu_compute"), "ms", "computeMs", column(|call| &call.compute));
    let latency: Vec<f64> = column(|call| &call.latency);
    let enqueue = calls.iter().filter_map(|call| call.end_enqueue.as_ref().zip(call.start_enqueue.as_ref()));
    let enqueue: Vec<f64> = enqueue.map(|(end, start)| (milliseconds(end) - milliseconds(start)) * 1e-3).collect();
    let result = compute.and_then(|compute| {
        let mut result = vec![compute];
        if latency.len() == calls.len() {
            result.push(outputs::sampled(metric("latency"), "ms", "latencyMs", latency)?);
        }
        if enqueue.len() == calls.len() {
            match outputs::sampled(metric("enqueue"), "ms", "endEnqMs", enqueue) {
                Ok(enqueue) => result.push(enqueue),
                Err(fault) => notes.push(format!("{}: without `enqueue`, {fault}", output.name)),
            }
        }
        Ok(result)
    });
    Ok(outputs::entry(&output.name, result))
}

fn profile(output: &Output, notes: &mut Vec<String>) -> Result<Vec<Entry>, FormatError> {
    let (layers, corrected) = profile_entries(strict::text(output)?).map_err(|error| unreadable(output, error))?;
    if corrected {
        notes.push(format!("{}: names of layers were not escaped, and were corrected", output.name));
    }
    if layers.len() > outputs::MOST_READ {
        return Err(FormatError::Many { name: output.name.clone(), count: layers.len() });
    }
    let calls = layers.iter().find_map(|layer| layer.count).unwrap_or(0);
    let entries = layers.into_iter().filter_map(|layer| {
        let name = layer.name?;
        let (field, value) = match (&layer.median, &layer.average) {
            (Some(median), _) => ("medianMs", seconds(median)),
            (None, Some(average)) => ("averageMs", seconds(average)),
            (None, None) => ("averageMs", f64::NAN),
        };
        let result = outputs::summary(metric("layer_time"), "ms", field, value);
        let mut entry = outputs::entry(&name, result.map(|time| vec![Observation { n: calls, ..time }]));
        let percentage = layer.percentage.filter(Value::is_number);
        entry.extras.extend(percentage.map(|percentage| ("percentage".to_owned(), percentage)));
        let average = layer.average.filter(Value::is_number).map(|average| Value::from(seconds(&average)));
        entry.extras.extend(average.map(|average| ("average".to_owned(), average)));
        Some(entry)
    });
    Ok(outputs::unique_entries(entries.collect()))
}

/// The text with names escaped: the name of a layer reaches from `"name" : "` to the last `", "timeMs"` of it.
fn escaped(text: &str) -> String {
    let mut layers = text.split("\"name\" : \"");
    let mut escaped = layers.next().unwrap_or_default().to_owned();
    for layer in layers {
        let (name, rest) = layer.rsplit_once("\", \"timeMs\"").unwrap_or_default();
        escaped.push_str(&format!("\"name\" : {}, \"timeMs\"{rest}", Value::from(name)));
    }
    escaped
}

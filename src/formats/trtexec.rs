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
use serde_json::{Value, json};

use super::frame::{Format, Read, Recognised, Source};
use super::{FormatError, json as strict, outputs};
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

#[derive(Deserialize)]
struct Layer {
    count: Option<u64>,
    name: Option<String>,
    #[serde(rename = "averageMs")]
    average: Option<Value>,
    #[serde(rename = "medianMs")]
    median: Option<Value>,
    percentage: Option<Value>,
}

/// Words such as `nan` have been put in quotes, and are not numbers.
fn milliseconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn seconds(value: &Value) -> f64 {
    milliseconds(value) * 1e-3
}

fn metric(name: &str) -> Metric {
    Metric { name: name.to_owned(), unit: Unit::Second, better: Better::Lower }
}

fn list<T: DeserializeOwned>(output: &Output, text: &str) -> Result<Vec<T>, FormatError> {
    strict::check_size(&output.name, text)?;
    let text = strict::quote_not_finite(text);
    serde_json::from_str(&text).map_err(|error| FormatError::Json { name: output.name.clone(), error })
}

fn times(output: &Output, notes: &mut Vec<String>) -> Result<Entry, FormatError> {
    let calls: Vec<Call> = list(output, strict::text(output)?)?;
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
    let text = strict::text(output)?;
    let layers: Vec<Layer> = match list(output, text) {
        Ok(layers) => layers,
        Err(error) => {
            let layers = list(output, &mended(text)).map_err(|_| error)?;
            notes.push(format!("{}: names of layers were not escaped, and were corrected", output.name));
            layers
        }
    };
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
        let average = layer.average.filter(Value::is_number).map(|average| json!(seconds(&average)));
        entry.extras.extend(average.map(|average| ("average".to_owned(), average)));
        Some(entry)
    });
    Ok(outputs::unique_entries(entries.collect()))
}

/// The text with names escaped: a name reaches from `"name" : "` to the next `", "timeMs"`.
fn mended(text: &str) -> String {
    const BEGIN: &str = "\"name\" : \"";
    const END: &str = "\", \"timeMs\"";
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let Some((name, _)) = after.split_once(END) else { break };
        mended.push_str(before);
        mended.push_str(BEGIN);
        for character in name.chars() {
            match character {
                '"' | '\\' => mended.extend(['\\', character]),
                control if control.is_control() => mended.push_str(&format!("\\u{:04x}", u32::from(control))),
                other => mended.push(other),
            }
        }
        rest = after.get(name.len()..).unwrap_or_default();
    }
    mended.push_str(rest);
    mended
}

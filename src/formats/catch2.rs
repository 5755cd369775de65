//! What the XML reporter of Catch2 (`-r xml`) prints of `BENCHMARK`s: the mean of each in nanoseconds, with its bounds.
//!
//! The samples are not printed. A benchmark is called after its test case. All other elements are passed over.

use super::frame::{Format, Read, Recognised, Source};
use super::{FormatError, field, json, outputs};
use serde_json::Value;
use sprag_model::foreign::Output;
use sprag_model::imported::{ImportedRun, Observation};
use sprag_model::metric::Metric;

pub(crate) const FORMAT: Format = Format {
    name: "catch2",
    title: "Catch2, XML reporter",
    files: &[".xml"],
    recognised: Recognised::Each(is_report),
    read: Read::Each("catch2", read),
};

fn is_report(output: &Output) -> bool {
    let start = outputs::start(output);
    ["<Catch2TestRun", "<Catch "].iter().any(|tag| start.contains(tag))
}

/// A benchmark whose figures come in the elements after it.
#[derive(Default)]
struct Open {
    name: String,
    samples: Option<u64>,
}

fn read(output: &Output, _: &[Output]) -> Result<Source, FormatError> {
    let (mut entries, mut test, mut open) = (Vec::new(), String::new(), None::<Open>);
    let text = json::text(output)?;
    for tag in text.split('<').skip(1).map(tag) {
        let (element, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let text = |name: &str| attribute(attributes, name);
        match (element.trim_end_matches('/'), &open) {
            ("TestCase", _) => test = text("name").unwrap_or_default(),
            ("BenchmarkResults", _) => {
                let name = format!("{test}/{}", text("name").unwrap_or_default());
                open = Some(Open { name, samples: text("samples").and_then(|count| count.parse().ok()) });
            }
            ("mean", Some(benchmark)) => {
                let mut entry = outputs::entry(&benchmark.name, mean(benchmark, text("value")));
                for (key, bound) in [("low", "lowerBound"), ("high", "upperBound")] {
                    let value = text(bound).and_then(|value| seconds(bound, &value).ok());
                    field::extra(&mut entry.extras, key, value);
                }
                outputs::push(output, &mut entries, entry)?;
                open = None;
            }
            ("failed", Some(benchmark)) => {
                let reason = field::reason(text("message").as_deref());
                outputs::push(output, &mut entries, outputs::entry(&benchmark.name, Err(reason)))?;
                open = None;
            }
            _ => {}
        }
    }
    let run = ImportedRun { entries: outputs::sampled_entries(entries), ..ImportedRun::default() };
    Ok(Source { run, ..Source::default() })
}

/// To the first `>` outside quotes, where Catch2 leaves it as it is.
fn tag(rest: &str) -> &str {
    let mut is_quoted = false;
    let end = rest.find(|character| {
        is_quoted ^= character == '"';
        character == '>' && !is_quoted
    });
    &rest[..end.unwrap_or(rest.len())]
}

fn mean(benchmark: &Open, value: Option<String>) -> Result<Vec<Observation>, String> {
    let value = seconds("mean", &value.ok_or("its `mean` has no value")?)?;
    let observation = Observation::summary(Metric::time(), "ns", value);
    Ok(vec![Observation { n: benchmark.samples.unwrap_or_default(), ..observation }])
}

fn seconds(key: &str, nanoseconds: &str) -> Result<f64, String> {
    field::figure(key, &Value::from(nanoseconds), &Metric::time(), 1e-9)
}

/// The value of an attribute, with its entities replaced.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let rest = attributes.split(&format!("{name}=\"")).nth(1)?;
    let value = rest.split('"').next()?;
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    Some(entities.iter().fold(value.to_owned(), |text, (entity, character)| text.replace(entity, character)))
}

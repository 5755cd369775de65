//! The profile that Callgrind writes (`callgrind.out`): how many instructions a program executed.
//!
//! The line `events:` names what was counted, `totals:` at the end or `summary:` in the head shows how often, in that
//! order; zeros at the end of such a line may be missing. A file may hold several parts, as of threads: they are added
//! up. The costs of functions are not read. Of the format's version 1.

use serde_json::{Map, Value, json};

use super::frame::{Format, Read, Recognised};
use super::{FormatError, outputs};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Imported};
use sprag_model::metric::Metric;

pub(crate) const FORMAT: Format = Format {
    name: "callgrind",
    title: "a profile that Callgrind writes",
    files: &[".out"],
    recognised: Recognised::Any(is_profile),
    read: Read::Together(read),
};

const INSTRUCTIONS: &str = "Ir";

fn is_profile(output: &Output) -> bool {
    let start = outputs::start(output);
    start.lines().next() == Some("# callgrind format")
        || start.lines().take(20).any(|line| line.starts_with("creator: callgrind"))
}

/// Each profile is a benchmark that is called after its file.
fn read(outputs: &[&Output]) -> Result<Imported, FormatError> {
    let mut version = None;
    let mut entries = Vec::with_capacity(outputs.len());
    for output in outputs {
        let profile = profile(output)?;
        let creator = profile.creator.as_deref().and_then(|creator| creator.strip_prefix("callgrind-"));
        version = version.or(creator.map(str::to_owned));
        entries.push(entry(output, profile)?);
    }
    let runs = vec![outputs::run(entries, outputs)];
    Ok(Imported { tool_version: version, ..outputs::imported("callgrind", runs, Vec::new()) })
}

#[derive(Default)]
struct Profile {
    creator: Option<String>,
    events: Vec<String>,
    counts: Vec<f64>,
    parts: u64,
}

impl Profile {
    fn add(&mut self, part: &mut Option<Vec<f64>>) {
        let Some(part) = part.take() else { return };
        self.parts += 1;
        self.counts.resize(self.counts.len().max(part.len()), 0.0);
        for (count, more) in self.counts.iter_mut().zip(part) {
            *count += more;
        }
    }
}

fn profile(output: &Output) -> Result<Profile, FormatError> {
    let mut profile = Profile::default();
    // The counts of the part that is being read; its totals come after its summary and replace it.
    let mut part: Option<Vec<f64>> = None;
    for (number, line) in outputs::lines(output)? {
        let Some((key, value)) = line.split_once(':') else { continue };
        match key {
            "creator" if profile.creator.is_none() => profile.creator = Some(value.trim().to_owned()),
            "part" => profile.add(&mut part),
            "events" => {
                let events: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
                if !profile.events.is_empty() && profile.events != events {
                    let reason = format!("counts other events from line {number} on than before");
                    return Err(outputs::schema(output, reason));
                }
                profile.events = events;
            }
            "summary" | "totals" => {
                let counts: Option<Vec<f64>> =
                    value.split_whitespace().map(|word| word.parse::<u64>().ok().map(|count| count as f64)).collect();
                let counts = counts.filter(|counts| !counts.is_empty() && counts.len() <= profile.events.len());
                let reason = || format!("has no counts of its events in line {number}");
                part = Some(counts.ok_or_else(|| outputs::schema(output, reason()))?);
            }
            _ => {}
        }
    }
    profile.add(&mut part);
    match profile.parts {
        0 => Err(outputs::schema(output, "has neither `totals` nor `summary`: it is cut short, or no profile")),
        _ => Ok(profile),
    }
}

fn entry(output: &Output, profile: Profile) -> Result<Entry, FormatError> {
    let Some(place) = profile.events.iter().position(|event| event == INSTRUCTIONS) else {
        return Err(outputs::schema(output, format!("does not count `{INSTRUCTIONS}`")));
    };
    let instructions = profile.counts.get(place).copied().unwrap_or(0.0);
    let result = if instructions > 0.0 {
        outputs::summary(Metric::instructions(), "instructions", INSTRUCTIONS, instructions).map(|one| vec![one])
    } else {
        Err(format!("its `{INSTRUCTIONS}` is 0: nothing was collected"))
    };
    let mut entry = outputs::entry(&output.name, result);
    let counts = profile.counts.into_iter().chain(std::iter::repeat(0.0));
    let events: Map<String, Value> = profile.events.into_iter().zip(counts.map(|count| json!(count))).collect();
    entry.extras.extend(profile.creator.map(|creator| ("creator".to_owned(), json!(creator))));
    entry.extras.insert("events".to_owned(), Value::Object(events));
    Ok(entry)
}

//! The files that tango leaves of a comparison of two builds: `<bench>.csv`, without a head, one line a sample.
//!
//! A line holds the nanoseconds that the baseline and the candidate took together for so many calls each, and the number
//! of calls; `/` in the name of a bench is `-` in that of its file. A bench becomes two benchmarks, `<bench>@baseline`
//! and `<bench>@candidate`. An extra of the latter is the median of the ratios of simultaneous samples: both sides of a
//! sample are disturbed alike. Of tango 0.4 to 0.9.

use serde_json::json;

use super::frame::{Format, Read, Recognised};
use super::{FormatError, outputs};
use sprag_base::stats::describe;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Imported};
use sprag_model::metric::Metric;

pub(crate) const FORMAT: Format = Format {
    name: "tango",
    title: "the samples that tango leaves of a comparison",
    files: &[".csv"],
    recognised: Recognised::Any(is_comparison),
    read: Read::Together(read),
};

/// Whether it is a CSV that begins with three numbers.
fn is_comparison(output: &Output) -> bool {
    is_read(output) && outputs::start(output).lines().next().is_some_and(|line| three_numbers(line).is_some())
}

fn is_read(output: &Output) -> bool {
    output.name.to_ascii_lowercase().ends_with(".csv")
}

fn read(outputs: &[&Output]) -> Result<Imported, FormatError> {
    let mut entries = Vec::with_capacity(2 * outputs.len());
    for output in outputs {
        entries.extend(bench(output)?);
    }
    Ok(outputs::imported("tango", vec![outputs::run(entries, outputs)], Vec::new()))
}

fn bench(output: &Output) -> Result<[Entry; 2], FormatError> {
    let (mut baseline, mut candidate) = (Vec::new(), Vec::new());
    for (number, line) in outputs::lines(output)?.filter(|(_, line)| !line.trim().is_empty()) {
        let Some([one, other, calls]) = three_numbers(line) else {
            let reason = format!("has no three numbers in line {number}: two times in nanoseconds, and calls");
            return Err(outputs::schema(output, reason));
        };
        baseline.push(one / calls / 1e9);
        candidate.push(other / calls / 1e9);
    }
    let ratios: Vec<f64> = baseline.iter().zip(&candidate).map(|(one, other)| other / one).collect();
    let length = output.name.len().saturating_sub(if is_read(output) { ".csv".len() } else { 0 });
    let name = output.name.get(..length).unwrap_or(&output.name);
    let mut sides = [("baseline", baseline), ("candidate", candidate)].map(|(side, samples)| {
        let result = outputs::sampled(Metric::time(), "ns", side, samples).map(|time| vec![time]);
        let entry = outputs::entry(&format!("{name}@{side}"), result);
        Entry { name: name.to_owned(), variant: Some(side.to_owned()), ..entry }
    });
    if let (Some(ratio), [baseline, candidate]) = (describe::median(&ratios), &mut sides)
        && !baseline.observations.is_empty()
        && !candidate.observations.is_empty()
    {
        candidate.extras.insert("median_paired_ratio".to_owned(), json!(ratio));
    }
    Ok(sides)
}

fn three_numbers(line: &str) -> Option<[f64; 3]> {
    let numbers: Option<Vec<f64>> = line.split(',').map(|cell| cell.trim().parse().ok()).collect();
    numbers?.try_into().ok()
}

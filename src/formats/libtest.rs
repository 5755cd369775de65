//! What `cargo bench` prints of `#[bench]` functions and of bencher: `test name ... bench:  1,234 ns/iter (+/- 56) = 81 MB/s`.
//!
//! The number is the median of its samples, which are not printed; the one behind `+/-` becomes the extra `spread`.

use serde_json::Value;

use super::frame::{Format, Read, Recognised};
use super::outputs::{self, sampled_entries};
use super::{FormatError, console, field};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Imported, Observation};
use sprag_model::metric::Metric;

pub(crate) const FORMAT: Format = Format {
    name: "libtest",
    title: "what `cargo bench` prints of `#[bench]` functions",
    files: &[".txt"],
    recognised: Recognised::Each(|output| outputs::start(output).lines().any(|line| entry(line).is_some())),
    read: Read::Together(read),
};

fn read(used: &[&Output]) -> Result<Imported, FormatError> {
    let mut entries = Vec::new();
    for output in used {
        for (_, line) in outputs::lines(output)? {
            if let Some(entry) = entry(&console::plain(line)) {
                outputs::push(output, &mut entries, entry)?;
            }
        }
    }
    Ok(outputs::imported("libtest", vec![outputs::run(sampled_entries(entries), used)], Vec::new()))
}

fn entry(line: &str) -> Option<Entry> {
    let (name, result) = line.trim().strip_prefix("test ")?.split_once("... bench:")?;
    let (time, rest) = result.split_once(" ns/iter")?;
    let number = |text: &str| Value::from(text.trim().replace(',', ""));
    let observed = |key: &str, text: &str, metric: Metric, unit: &str, factor: f64| {
        let value = field::figure(key, &number(text), &metric, factor)?;
        Ok(Observation::summary(metric, unit, value))
    };
    let rate = rest.split_once("= ").and_then(|(_, rate)| rate.trim().strip_suffix(" MB/s"));
    let rate = rate.map(|rate| observed("MB/s", rate, Metric::throughput("bytes_per_s"), "MB/s", 1e6));
    let time = observed("ns/iter", time, Metric::time(), "ns", 1e-9);
    let mut entry = outputs::entry(name.trim(), std::iter::once(time).chain(rate).collect());
    let spread = rest.split_once("(+/- ").and_then(|(_, spread)| spread.split_once(')'));
    let spread = spread.and_then(|(spread, _)| field::figure("spread", &number(spread), &Metric::time(), 1e-9).ok());
    field::extra(&mut entry.extras, "spread", spread);
    Some(entry)
}

//! What `go test -bench` prints: a line `BenchmarkName-8  300  402 ns/op  16 B/op` for each repetition of a benchmark.
//!
//! The number of processors at the end of a name is a parameter where the lines differ in it (`-cpu`), else an extra. The
//! package is a parameter. Rows of one benchmark (`-count`) are samples.

use serde_json::Value;

use super::frame::{Format, Read, Recognised};
use super::outputs::{self, sampled_entries};
use super::{FormatError, console, field, quantity};
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, Imported, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

pub(crate) const FORMAT: Format = Format {
    name: "go",
    title: "what `go test -bench` prints",
    files: &[".txt"],
    recognised: Recognised::Each(|output| outputs::start(output).lines().any(|line| row(line).is_some())),
    read: Read::Together(read),
};

/// A name with its numbers of processors and iterations, and pairs of a number and a unit.
struct Row<'l> {
    name: &'l str,
    processors: Option<&'l str>,
    measured: Vec<(&'l str, &'l str)>,
}

fn row(line: &str) -> Option<Row<'_>> {
    let mut words = line.split_whitespace();
    let full = words.next().and_then(|name| name.strip_prefix("Benchmark"))?;
    words.next()?.parse::<u64>().ok()?;
    let words: Vec<&str> = words.collect();
    let measured: Vec<(&str, &str)> = words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let is_count = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (name, processors) = match full.rsplit_once('-') {
        Some((name, count)) if is_count(&count) => (name, Some(count)),
        _ => (full, None),
    };
    measured.iter().any(|(_, unit)| unit.contains('/')).then_some(Row { name, processors, measured })
}

fn read(used: &[&Output]) -> Result<Imported, FormatError> {
    let (mut entries, mut run) = (Vec::new(), ImportedRun::default());
    for output in used {
        let mut package = None;
        for (_, line) in outputs::lines(output)? {
            let line = console::plain(line);
            match line.split_once(": ") {
                Some(("pkg", name)) => package = Some(field::one_line(name)),
                Some(("cpu", name)) => drop(run.facts.insert("cpu_model".to_owned(), field::one_line(name))),
                Some(("goos", name)) => drop(run.facts.insert("os".to_owned(), field::one_line(name))),
                Some(("goarch", name)) => drop(run.facts.insert("arch".to_owned(), field::one_line(name))),
                _ => {}
            }
            if let Some(row) = row(&line) {
                outputs::push(output, &mut entries, entry(&row, package.as_deref()))?;
            }
        }
    }
    let processors = |entry: &Entry| entry.extras.get(PROCESSORS).cloned();
    if entries.iter().any(|entry| processors(entry) != processors(&entries[0])) {
        for entry in &mut entries {
            let count = entry.extras.remove(PROCESSORS).map_or_else(|| "1".to_owned(), |count| count.to_string());
            entry.series = format!("{}-{count}", entry.series);
            entry.params.insert(PROCESSORS.to_owned(), count);
        }
    }
    Ok(outputs::imported(
        "go",
        vec![ImportedRun { facts: run.facts, ..outputs::run(sampled_entries(entries), used) }],
        Vec::new(),
    ))
}

const PROCESSORS: &str = "processors";

fn entry(row: &Row<'_>, package: Option<&str>) -> Entry {
    let series = package.map_or_else(|| row.name.to_owned(), |package| format!("{package}.{}", row.name));
    // A rate of nothing, such as of errors, is not a figure of a benchmark.
    let is_figure =
        |(number, unit): &&(&str, &str)| metric(unit).0.unit != Unit::PerSecond || number.parse() != Ok(0.0);
    let observed = row.measured.iter().filter(is_figure).map(|(number, unit)| {
        let (metric, factor) = metric(unit);
        field::figure(unit, &Value::from(*number), &metric, factor)
            .map(|value| Observation::summary(metric, unit, value))
    });
    let mut entry = outputs::entry(&series, observed.collect());
    row.name.clone_into(&mut entry.name);
    entry.params.extend(package.map(|package| ("pkg".to_owned(), package.to_owned())));
    let processors = row.processors.and_then(|count| count.parse::<u64>().ok());
    entry.extras.extend(processors.map(|count| (PROCESSORS.to_owned(), Value::from(count))));
    entry
}

/// The metric of a unit, and how many base units one of it is.
fn metric(unit: &str) -> (Metric, f64) {
    match unit {
        "ns/op" => (Metric::time(), 1e-9),
        "B/op" => (Metric { name: "allocated_bytes".to_owned(), unit: Unit::Byte, better: Better::Lower }, 1.0),
        "MB/s" => (Metric::throughput("bytes_per_s"), 1e6),
        unit => {
            let quantity::Quantity { unit: base, factor } = quantity::quantity(unit);
            let better = if base == Unit::PerSecond { Better::Higher } else { Better::Lower };
            (Metric { name: unit.replace('/', "_per_"), unit: base, better }, factor)
        }
    }
}

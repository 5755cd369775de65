//! A file of either form, read as one run.

use super::{csv, json};
use crate::Format;
use crate::{FormatError, peek, source};
use sprag_model::foreign::Output;
use sprag_model::imported::Imported;

/// What the registry lists.
pub(crate) const FORMAT: Format =
    Format { name: "google-benchmark", title: "Google Benchmark, JSON or CSV", recognises, read, files: FILES };

const FILES: &[&str] = &[".json", ".csv"];

fn recognises(outputs: &[Output]) -> bool {
    let mut files = source::relevant(outputs, FILES).peekable();
    files.peek().is_some() && files.all(|output| is_json(output) || csv::is_csv(output))
}

fn is_json(output: &Output) -> bool {
    let keys = peek::key_paths(output);
    let is_benchmark = ["benchmarks.real_time", "benchmarks.cpu_coefficient", "context.num_cpus"];
    keys.contains("context") && is_benchmark.iter().any(|key| keys.contains(*key))
}

fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    source::each("google-benchmark", outputs, FILES, |output| {
        if csv::is_csv(output) { csv::read(output) } else { json::read(output) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn the_samples_are_read() {
        golden::check("google-benchmark", read);
        golden::check_recognition(&FORMAT, "google-benchmark", &["out.json", "out.csv"]);
    }

    #[test]
    fn a_csv_is_passed_over_beside_its_json_and_read_alone() {
        let both = read(&golden::samples("google-benchmark")).expect("it is read");
        assert_eq!(
            (both.runs.len(), &both.notes[..]),
            (1, &["out.csv is passed over, out.json tells more".to_owned()][..])
        );
        let csv = read(&[golden::sample("google-benchmark", "out.csv")]).expect("it is read");
        let [entry] = &csv.runs[0].entries[..] else { panic!("one benchmark: {csv:?}") };
        assert_eq!(entry.series, "TileSSM/fp32/repeats:3");
        assert_eq!(entry.observations[0].samples, [7.61515e-6, 7.35304e-6, 4.71985e-6]);
        assert_eq!(entry.extras["items_per_second"], 2.76435e8);
    }

    #[test]
    fn damage_makes_no_panic() {
        for name in ["out.json", "out.csv"] {
            golden::survives(&[golden::sample("google-benchmark", name)], read);
        }
    }
}

//! Files of a folder, each with the files of times that it names.

use super::file;
use crate::Format;
use crate::{FormatError, peek, source};
use sprag_model::foreign::Output;
use sprag_model::imported::Imported;

/// What the registry lists.
pub(crate) const FORMAT: Format =
    Format { name: "nvbench", title: "nvbench, JSON with or without files of times", recognises, read, files: FILES };

const FILES: &[&str] = &[".json", ".bin"];

/// The endings of files that are reports themselves.
const REPORTS: &[&str] = &[".json"];

fn recognises(outputs: &[Output]) -> bool {
    let mut files = source::relevant(outputs, REPORTS).peekable();
    files.peek().is_some() && files.all(is_report)
}

fn is_report(output: &Output) -> bool {
    let keys = peek::key_paths(output);
    ["meta.version.nvbench", "devices.sm_version", "benchmarks.states"].iter().any(|key| keys.contains(*key))
}

fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    source::each("nvbench", outputs, REPORTS, |output| file::read(output, outputs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn the_sample_is_read_with_its_times() {
        golden::check("nvbench", read);
        golden::check_recognition(&FORMAT, "nvbench", &["nvbench.json"]);
    }

    #[test]
    fn a_report_without_its_times_is_read_too() {
        let with = read(&golden::samples("nvbench")).expect("it is read");
        let without = read(&[golden::sample("nvbench", "nvbench.json")]).expect("it is read");
        let (one, other) = (&with.runs[0].entries[0].observations[0], &without.runs[0].entries[0].observations[0]);
        assert_eq!((one.value, one.n, other.samples.len()), (other.value, other.n, 0));
        assert_eq!(one.n, 950);
        assert_ne!(with.runs[0].digest, without.runs[0].digest);
        assert!(with.notes.is_empty() && without.notes[0].contains("3 files of times"), "{:?}", without.notes);
    }

    #[test]
    fn damage_makes_no_panic() {
        golden::survives(&golden::samples("nvbench"), read);
        golden::survives(&[golden::sample("nvbench", "nvbench.json")], read);
    }
}

//! A file of either form, read as one run.

use super::{csv, json};
use crate::Format;
use crate::outputs;
use crate::{FormatError, peek, source, table};
use sprag_model::foreign::Output;
use sprag_model::imported::Imported;

/// What the registry lists.
pub(crate) const FORMAT: Format =
    Format { name: "hyperfine", title: "hyperfine, JSON or CSV", recognises, read, files: FILES };

const FILES: &[&str] = &[".json", ".csv"];

/// How tables for people begin: Markdown, Org mode and AsciiDoc.
const TABLES: [&str; 4] = ["| Command | Mean [", "| Command  |  Mean [", "[cols=\"<,>", "|Command \n|Mean ["];

fn recognises(outputs: &[Output]) -> bool {
    let mut files = source::relevant(outputs, FILES).peekable();
    files.peek().is_some()
        && files.all(|output| is_json(output) || table::begins(output, csv::HEADER) || is_table(output))
}

fn is_json(output: &Output) -> bool {
    let keys = peek::key_paths(output);
    ["results.command", "results.mean"].iter().all(|key| keys.contains(*key))
}

fn is_table(output: &Output) -> bool {
    TABLES.iter().any(|start| output.bytes.starts_with(start.as_bytes()))
}

fn read(outputs: &[Output]) -> Result<Imported, FormatError> {
    source::each("hyperfine", outputs, FILES, |output| {
        if is_table(output) {
            let reason =
                "is a table for people, whose numbers are rounded; export with `--export-json` and import that";
            return Err(outputs::schema(output, reason));
        }
        if table::begins(output, csv::HEADER) { csv::read(output) } else { json::read(output) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    #[test]
    fn the_samples_are_read() {
        golden::check("hyperfine", read);
        golden::check_recognition(&FORMAT, "hyperfine", &["v1.15.json", "v1.15.md", "v1.20.csv", "v1.20.json"]);
        let csv = read(&[golden::sample("hyperfine", "v1.20.csv")]).expect("it is read");
        assert_eq!(csv.runs[0].entries[0].observations[0].value, 0.17600885100000002);
    }

    #[test]
    fn a_table_for_people_is_refused_with_a_hint() {
        let error = read(&[golden::sample("hyperfine", "v1.15.md")]).expect_err("it is refused").to_string();
        assert!(error.starts_with("v1.15.md is a table for people") && error.contains("--export-json"), "{error}");
    }

    #[test]
    fn damage_makes_no_panic() {
        for name in ["v1.15.json", "v1.20.csv", "v1.20.json"] {
            golden::survives(&[golden::sample("hyperfine", name)], read);
        }
    }
}

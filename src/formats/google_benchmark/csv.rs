//! The CSV form: no context, no names of runs, six digits.

use std::collections::BTreeMap;

use super::repetition::{self, Repetition};
use crate::source::Source;
use crate::table::{self, Table};
use crate::{FormatError, field};
use sprag_model::foreign::Output;
use sprag_model::imported::ImportedRun;
use sprag_model::metric::Metric;

/// How the header begins; what stands above it is the context, for people.
const HEADER: &str = "name,iterations,real_time,cpu_time,time_unit";

const NO_COUNTERS: [&str; 9] = [
    "name",
    "real_time",
    "cpu_time",
    "time_unit",
    "label",
    "error_occurred",
    "error_message",
    "skipped",
    "skip_message",
];

/// Whether it looks like this form.
pub(super) fn is_csv(output: &Output) -> bool {
    table::begins(output, HEADER)
}

pub(super) fn read(output: &Output) -> Result<Source, FormatError> {
    let table = table::read(output, HEADER)?;
    let mut repetitions: Vec<Repetition> = table.rows().map(|row| repetition(&table, row)).collect();
    repetition::name_aggregates(&mut repetitions);
    let run = ImportedRun { entries: repetition::entries(&repetitions), ..ImportedRun::default() };
    Ok(Source { run, ..Source::default() })
}

fn repetition(table: &Table, row: &table::Row) -> Repetition {
    let cell = |column: &str| table.cell(row, column).unwrap_or_default();
    let time_unit = cell("time_unit").to_owned();
    let time = |column: &str| {
        let factor = repetition::seconds(&time_unit)?;
        field::possible(column, cell(column).parse().ok(), &Metric::time(), factor)
    };
    let skipped = (cell("error_occurred") == "true" || cell("skipped") == "true")
        .then(|| [cell("error_message"), cell("skip_message")].concat());
    let number = |(column, cell): (&str, &str)| {
        let number: f64 = cell.parse().ok()?;
        (number.is_finite() && !NO_COUNTERS.contains(&column)).then(|| (field::told(column), number))
    };
    let counters: BTreeMap<String, f64> = table.cells(row).filter_map(number).collect();
    let label = Some(cell("label").to_owned()).filter(|label| !label.is_empty());
    Repetition {
        name: cell("name").to_owned(),
        aggregate: None,
        skipped,
        real_time: Some(time("real_time")),
        cpu_time: time("cpu_time").ok(),
        repetitions: None,
        label,
        counters,
        time_unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::imported::EntryStatus;

    fn file(rows: &str) -> Output {
        let header = "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,\
                      error_occurred,error_message,\"hits\"";
        let text = format!("2026-11-21T01:53:55+00:00\nRunning ./gb\n{header}\n{rows}");
        Output { name: "gb.csv".to_owned(), bytes: text.into_bytes() }
    }

    #[test]
    fn lines_are_read_below_a_context() {
        let source = read(&file(
            "\"a\"\"b,c\",9,4,3,ns,,,\"x y\",,,2.5\r\n\"b\",,,,,,,,true,\"no \"\"device\"\"\",\r\n\"n\",1,nan,1,ms,,,,,,\n\
             \"m_mean\",2,5,5,us,,,,,,\n\"m_stddev\",2,1,1,us,,,,,,\n",
        ));
        let entries = source.expect("it is read").run.entries;
        let [a, b, n, m] = &entries[..] else { panic!("four benchmarks: {entries:?}") };
        assert_eq!(
            (a.series.as_str(), a.observations[0].value, &a.extras["hits"]),
            ("a\"b,c", 4.0 * 1e-9, &2.5.into())
        );
        assert_eq!(a.extras["label"], "x y");
        assert_eq!(b.status, EntryStatus::Skipped("no \"device\"".to_owned()));
        assert_eq!(n.status, EntryStatus::Failed("its `real_time` is NaN, which is no number".to_owned()));
        assert_eq!((m.series.as_str(), &m.extras["statistic"]), ("m", &"mean".into()));
    }

    #[test]
    fn a_row_of_another_width_names_its_line() {
        let error = read(&file("\"a\",9,4,3,ns\n")).map(|_| ()).expect_err("it is refused").to_string();
        assert!(error.contains("gb.csv has 5 cells in line 4, its header has 11"), "{error}");
    }
}

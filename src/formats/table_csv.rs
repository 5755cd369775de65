//! Flat rows as CSV by RFC 4180: a header, one line a row, lines that end in CR and LF, UTF-8.
//!
//! Numbers are written so that they read back to the same bits. A cell of text that a spreadsheet would take for a formula
//! gets an apostrophe in front (CWE-1236); a number never does, as its minus is not a formula.

use chrono::SecondsFormat;

use sprag_base::json::float_text;
use sprag_model::flat::{Cell, Row, Table};

pub fn header(table: Table) -> Vec<u8> {
    line(table.columns().map(|column| column.name.to_owned()))
}

pub fn lines(table: Table, rows: &[Row<'_>]) -> Vec<u8> {
    rows.iter().flat_map(|row| line(table.columns().map(|column| cell_text(&(column.cell)(row))))).collect()
}

pub fn line(cells: impl Iterator<Item = String>) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for cell in cells {
        writer.write_field(cell).expect("memory takes every field");
    }
    writer.write_record(None::<&[u8]>).expect("memory takes every record");
    writer.into_inner().expect("memory takes what is left")
}

/// A text that no spreadsheet takes for a formula, also after white space or with the wide forms of the signs.
pub fn guarded(text: &str) -> String {
    let is_formula = text.starts_with(['\t', '\r'])
        || text.trim_start().starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

pub fn unguarded(text: &str) -> &str {
    text.strip_prefix('\'').filter(|rest| guarded(rest) != *rest).unwrap_or(text)
}

fn cell_text(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Absent => String::new(),
        Cell::Text(text) => guarded(text),
        Cell::Integer(integer) => integer.to_string(),
        Cell::Number(value) => float_text(*value),
        Cell::Time(time) => time.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Numbers(values) => values.iter().map(|value| float_text(*value)).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::flat::example::recorded;
    use sprag_model::flat::{BENCHMARKS, benchmark_rows};

    #[test]
    fn only_text_like_a_formula_is_guarded() {
        let check = |text: &str, expected: &str| assert_eq!(guarded(text), expected);
        for text in ["=1+1", "'quoted'", "'=1", "plain", "'"] {
            assert_eq!(unguarded(&guarded(text)), if text == "'=1" { "=1" } else { text });
        }
        check("=1+1", "'=1+1");
        check("+a", "'+a");
        check("-a", "'-a");
        check("@SUM(A1)", "'@SUM(A1)");
        check(" =1", "' =1");
        check("\u{a0}=1", "'\u{a0}=1");
        check("\t1", "'\t1");
        check("\r=1", "'\r=1");
        check("\n=1", "'\n=1");
        check("\u{ff1d}1", "'\u{ff1d}1");
        check("a=1", "a=1");
        check("cpu/tile_pack @fast", "cpu/tile_pack @fast");
        check("'x", "'x");
        check("", "");
        assert_eq!(cell_text(&Cell::Number(-1.5e-7)), "-1.5e-07");
        assert_eq!(cell_text(&Cell::Integer(-3)), "-3");
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut recorded = recorded();
        recorded.run.commit.as_mut().expect("it has a commit").branch = Some("=a,\"b\"\r\nc".to_owned());
        let rows = benchmark_rows(&recorded);
        let text = [header(BENCHMARKS), lines(BENCHMARKS, &rows)].concat();
        assert!(text.ends_with(b"\r\n"));
        let mut reader = csv::Reader::from_reader(text.as_slice());
        let names: Vec<String> = reader.headers().expect("a header").iter().map(str::to_owned).collect();
        let place = |name: &str| names.iter().position(|one| one == name).expect("the column is there");
        let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("it is CSV");
        assert_eq!(records.len(), 3);
        assert_eq!(&records[0][place("branch")], "'=a,\"b\"\r\nc");
        assert_eq!(&records[0][place("time_s")], "0.25");
        assert_eq!(&records[0][place("commit_time")], "2026-05-04T02:02:01Z");
        assert_eq!(&records[2][place("time_s")], "");
        assert_eq!(&records[2][place("dirty")], "false");
    }

    proptest::proptest! {
        #[test]
        fn every_number_reads_back_to_the_same_bits(bits in proptest::num::u64::ANY) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                proptest::prop_assert_eq!(float_text(value).parse::<f64>().expect("a number").to_bits(), bits);
            }
        }
    }
}

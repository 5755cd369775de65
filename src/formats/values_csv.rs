//! The long CSV, which `import` reads: `suite,benchmark,metric,unit,better,commit,commit_time,machine,value,params`.
//!
//! A line is one metric of one benchmark on one commit and machine; of several runs there the newest is used. The variant
//! follows the name, ` @fast`, unless it is `default`; parameters are `k=v`, joined by `;`, or a JSON object where one of
//! them holds a `;`. Text is guarded as in [`table_csv`].

use std::collections::HashSet;

use chrono::SecondsFormat;

use super::table_csv;
use sprag_base::json;
use sprag_model::benchmark::Benchmark;
use sprag_model::flat::Row;
use sprag_model::foreign::DEFAULT_VARIANT;

pub const COLUMNS: [&str; 10] =
    ["suite", "benchmark", "metric", "unit", "better", "commit", "commit_time", "machine", "value", "params"];

/// Writes the lines of rows, which are to come newest first.
#[derive(Debug, Default)]
pub struct Writer {
    written: HashSet<[String; 5]>,
}

pub fn header() -> Vec<u8> {
    table_csv::line(COLUMNS.into_iter().map(str::to_owned))
}

impl Writer {
    /// One line a row that holds a value of a commit, unless a newer run of that commit gave one.
    pub fn lines(&mut self, rows: &[Row<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for row in rows {
            let run = &row.recorded.run;
            let (Some(measurement), Some(estimate), Some(commit)) = (row.measurement, row.estimate, &run.commit) else {
                continue;
            };
            let benchmark = &measurement.benchmark;
            let id = format!("{} {}", benchmark.id(), benchmark.version);
            let metric = &estimate.metric;
            let key = [run.suite.clone(), id, metric.name.clone(), commit.sha.clone(), run.machine.id.clone()];
            if !self.written.insert(key) {
                continue;
            }
            bytes.extend(table_csv::line(
                [
                    table_csv::guarded(&run.suite),
                    table_csv::guarded(&name(benchmark)),
                    table_csv::guarded(&metric.name),
                    metric.unit.symbol().to_owned(),
                    metric.better.word().to_owned(),
                    commit.sha.clone(),
                    commit.commit_time.to_rfc3339_opts(SecondsFormat::AutoSi, true),
                    table_csv::guarded(&run.machine.name),
                    json::float_text(estimate.value),
                    table_csv::guarded(&params(benchmark)),
                ]
                .into_iter(),
            ));
        }
        bytes
    }
}

fn name(benchmark: &Benchmark) -> String {
    match benchmark.variant.as_str() {
        DEFAULT_VARIANT => benchmark.name.clone(),
        variant => format!("{} @{variant}", benchmark.name),
    }
}

/// The parameters as `k=v;k=v`, or as JSON where that could not be read back.
fn params(benchmark: &Benchmark) -> String {
    let is_plain = |text: &String| !text.contains(';') && !text.starts_with('{') && text.trim() == text;
    if !benchmark.params.iter().flat_map(|(key, value)| [key, value]).all(is_plain) {
        return json::to_canonical(&benchmark.params);
    }
    let list: Vec<String> = benchmark.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
    list.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sprag_model::RecordedRun;
    use sprag_model::flat::example::{recorded, skipped};
    use sprag_model::flat::value_rows;

    #[test]
    fn parameters_can_be_read_back() {
        let check = |list: &[(&str, &str)], expected: &str| {
            let list: Vec<(&str, String)> = list.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
            let benchmark = Benchmark::new("cpu", "sort", &list, "fast").expect("the words are words");
            assert_eq!(params(&benchmark), expected);
        };
        check(&[], "");
        check(&[("n", "1000"), ("of", "u64")], "n=1000;of=u64");
        check(&[("n", "1;2")], r#"{"n":"1;2"}"#);
        check(&[("n", " 1")], r#"{"n":" 1"}"#);
    }

    #[test]
    fn of_a_commit_the_newest_value_is_written() {
        let old = recorded();
        let mut new = old.run.clone();
        new.timestamp += chrono::TimeDelta::hours(1);
        new.measurements.truncate(1);
        new.measurements[0].estimates.truncate(1);
        new.measurements[0].estimates[0].value = 0.5;
        let new = RecordedRun::from(new);
        let mut writer = Writer::default();
        let lines = [&new, &old, &skipped()].map(|one| writer.lines(&value_rows(one))).concat();
        let text = String::from_utf8([header(), lines].concat()).expect("it is UTF-8");
        let commit = "0123456789abcdef0123456789abcdef01234567,2026-05-04T02:02:01Z,bench";
        let expected = [
            "suite,benchmark,metric,unit,better,commit,commit_time,machine,value,params".to_owned(),
            format!("cpu,tile_pack @fast,time,s,lower,{commit},0.5,c=64;t=8"),
            format!("cpu,tile_pack @fast,ratio,1,lower,{commit},1.5,c=64;t=8"),
            format!("cpu,tile_pack @fast,tiles_per_s,1/s,higher,{commit},4096.0,c=64;t=8"),
            format!("cpu,tile_pack @fast,peak_memory,B,lower,{commit},8192.0,c=64;t=8"),
            format!("cpu,sort,time,s,lower,{commit},2.0,n=1000"),
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}

//! The JSON form.

use serde_json::{Map, Value};

use crate::outputs;
use crate::source::{self, Source};
use crate::{FormatError, field, json};
use sprag_base::stats::describe;
use sprag_model::foreign::Output;
use sprag_model::imported::{Entry, EntryStatus, ImportedRun, Observation};
use sprag_model::metric::{Better, Metric};
use sprag_model::unit::Unit;

/// Figures of a command that are kept beside its times, in seconds.
const FIGURES: [&str; 3] = ["stddev", "user", "system"];

pub(super) fn read(output: &Output) -> Result<Source, FormatError> {
    let value = json::parse_with_not_finite(output)?;
    let Some(Value::Array(results)) = value.get("results") else {
        return Err(outputs::schema(output, "is no export of hyperfine: it has no list `results`"));
    };
    source::check_count(output, results.len())?;
    let mut entries = Vec::with_capacity(results.len());
    for (place, result) in results.iter().enumerate() {
        // A command may be empty, so its presence alone counts.
        let command = result.get("command").and_then(Value::as_str);
        let command =
            command.ok_or_else(|| outputs::schema(output, format!("has no command at `results[{place}]`")))?;
        entries.push(entry(command, result));
    }
    Ok(Source { run: ImportedRun { entries, ..ImportedRun::default() }, ..Source::default() })
}

fn entry(command: &str, result: &Value) -> Entry {
    let parameters = result.get("parameters");
    let mut entry = Entry {
        series: command.to_owned(),
        name: command.to_owned(),
        params: field::params(parameters),
        ..Entry::default()
    };
    let kept = parameters.and_then(field::plain).filter(Value::is_object);
    entry.extras.insert("parameters".to_owned(), kept.unwrap_or_else(|| Value::Object(Map::new())));
    for figure in FIGURES {
        field::extra(&mut entry.extras, figure, result.get(figure).and_then(Value::as_f64));
    }
    match time(result) {
        Ok(time) => entry.observations.push(time),
        Err(reason) => entry.status = EntryStatus::Failed(reason),
    }
    let codes = result.get("exit_codes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // A process that a signal ended has no exit code.
    let broken = codes.iter().filter(|code| code.as_i64() != Some(0)).count();
    if broken > 0 {
        entry.extras.insert("failed_runs".to_owned(), Value::from(broken));
    }
    if broken > 0 && broken == codes.len() {
        entry.status = EntryStatus::Failed("every run of it ended with a failure".to_owned());
    }
    match memory(result) {
        Ok(memory) => entry.observations.extend(memory),
        Err(reason) => entry.status = EntryStatus::Failed(reason),
    }
    if entry.status != EntryStatus::Ok {
        entry.observations.clear();
    }
    entry
}

/// The time of a run; of an export without single times, its median, which the oldest lack too.
fn time(result: &Value) -> Result<Observation, String> {
    let metric = Metric::time();
    let samples = field::all_measured(result, "times", &metric, 1.0)?;
    let told = if result.get("median").is_some() { "median" } else { "mean" };
    let value = match describe::median(&samples) {
        Some(median) if told == "mean" => median,
        _ => field::measured(result, told, &metric, 1.0)?,
    };
    Ok(Observation::sampled(metric, "s", value, samples))
}

/// The most memory that each run took, where it was measured.
fn memory(result: &Value) -> Result<Option<Observation>, String> {
    let metric = Metric { name: "memory".to_owned(), unit: Unit::Byte, better: Better::Lower };
    let samples = field::all_measured(result, "memory_usage_byte", &metric, 1.0)?;
    Ok(describe::median(&samples).map(|value| Observation::sampled(metric, "B", value, samples)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(results: &str) -> Output {
        Output { name: "h.json".to_owned(), bytes: format!("{{\"results\": [{results}]}}").into_bytes() }
    }

    fn entries(results: &str) -> Vec<Entry> {
        read(&file(results)).unwrap_or_else(|error| panic!("{error}")).run.entries
    }

    #[test]
    fn every_known_form_is_read() {
        let check = |fields: &str, value: f64, n: u64| {
            let entries = entries(&format!("{{\"command\": \"c\"{fields}}}"));
            let [Entry { status: EntryStatus::Ok, observations, .. }] = &entries[..] else { panic!("{entries:?}") };
            assert_eq!((observations[0].value, observations[0].n), (value, n), "{fields}");
        };
        check(
            r#","mean":2,"stddev":null,"median":1,"times":[1,3,1],"exit_codes":[0,0,0],"memory_usage_byte":[9]"#,
            1.0,
            3,
        );
        check(r#","mean":2,"median":1"#, 1.0, 0);
        check(r#","mean":2"#, 2.0, 0);
        check(r#","mean":2,"times":[1,1,4]"#, 1.0, 3);
        check(
            r#","mean":2,"median":1,"times":null,"new":{"a":[]},"exit_codes":[0,1],"memory_usage_byte":null"#,
            1.0,
            0,
        );
    }

    #[test]
    fn parameters_and_failures_are_told() {
        let entries = entries(
            r#"{"command":"sleep 1","median":1,"parameters":{"n":"1","m":2},"exit_codes":[0,null]},
               {"command":"false","median":1,"exit_codes":[1,null]}"#,
        );
        assert_eq!(entries[0].params, [("m", "2"), ("n", "1")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());
        assert_eq!(entries[0].extras["failed_runs"], 1);
        assert_eq!(entries[1].status, EntryStatus::Failed("every run of it ended with a failure".to_owned()));
    }

    #[test]
    fn a_command_at_fault_fails_alone() {
        let check = |fields: &str, words: &str| {
            let entries = entries(&format!(r#"{{"command":"b"{fields}}}, {{"command":"g","median":1}}"#));
            let EntryStatus::Failed(reason) = &entries[0].status else { panic!("{fields}: {entries:?}") };
            assert!(reason.contains(words) && entries[0].observations.is_empty(), "{reason}");
            assert_eq!(entries[1].status, EntryStatus::Ok);
        };
        check("", "it has no `mean`");
        check(r#","median":null"#, "it has no `median`");
        check(r#","median":1,"times":[1,0]"#, "its `times[1]` is 0 s");
        check(r#","median":1,"times":[NaN]"#, "its `times[0]` is NaN");
        check(r#","median":1,"times":7"#, "no list");
        check(r#","median":-1"#, "its `median` is -1 s");
        check(r#","median":1,"memory_usage_byte":[-1]"#, "its `memory_usage_byte[0]` is -1 B");
        check(r#","median":1,"memory_usage_byte":["x"]"#, "no number");
    }

    #[test]
    fn what_is_no_export_is_refused() {
        let check = |output: Output, words: &str| {
            let error = read(&output).map(|_| ()).expect_err("it is refused").to_string();
            assert!(error.starts_with("h.json ") && error.contains(words), "{error}");
        };
        check(file("7"), "no command at `results[0]`");
        check(file(r#"{"command":"a","command":"b"}"#), "`command` stands twice");
        check(Output { name: "h.json".to_owned(), bytes: b"{}".to_vec() }, "no list `results`");
        check(Output { name: "h.json".to_owned(), bytes: b"{\"results\":[{\"command\":\"\xff\"}]}".to_vec() }, "UTF-8");
    }
}

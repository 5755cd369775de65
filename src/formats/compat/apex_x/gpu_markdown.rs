//! The report for people to read, out of its JSON: whoever wrote it, both say the same.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use sprag_base::json;

/// What stands for a number that is not there.
const NOTHING: &str = "n/a";

/// The Markdown of a report.
///
/// # Errors
/// Names the first field that is needed and absent or of another kind.
pub fn to_markdown(report: &Value) -> Result<String, String> {
    let report = Node { value: report, path: String::new() };
    let environment = report.get("environment")?;
    let status = report.get("status")?.text()?;
    let mut text = String::from("# Apex-X GPU Benchmark Report\n\n");
    bullet(&mut text, "status", status);
    for name in ["device", "requested_dtype", "effective_dtype"] {
        bullet(&mut text, name, environment.get(name)?.text()?);
    }
    bullet(&mut text, "timestamp_utc", report.get("timestamp_utc")?.text()?);
    if environment.get("fp8_requested")?.value == true {
        let is_enabled = environment.find("fp8_enabled").is_some_and(|enabled| enabled.value == true);
        let reason = environment.find("fp8_fallback_reason").map(|reason| reason.value.as_str().unwrap_or("None"));
        match is_enabled {
            true => bullet(&mut text, "fp8", "enabled"),
            false => bullet(&mut text, "fp8", &format!("fallback` reason=`{}", reason.unwrap_or("unknown"))),
        }
    }
    text.push_str(&autotune(report.find("triton_autotune"))?);
    if status != "ok" {
        bullet(&mut text, "reason", report.get("reason")?.text()?);
        // The seed ends so.
        text.push('\n');
        return Ok(text);
    }
    let benchmarks = report.get("benchmarks")?;
    text.push_str(&tile_ops(&benchmarks.get("tile_ops")?)?);
    text.push_str(&scan(&benchmarks.get("tilessm")?)?);
    text.push_str(&end_to_end(&benchmarks.get("end_to_end_infer")?)?);
    Ok(text)
}

/// The registry; a report without one, or without its summary, reads as one of which nothing is counted.
fn autotune(autotune: Option<Node<'_>>) -> Result<String, String> {
    let mut text = String::from("\n## Triton Autotune Registry\n\n");
    let find = |name: &str| autotune.as_ref().and_then(|autotune| autotune.find(name));
    let summary = find("summary");
    let count = |name: &str| summary.as_ref().and_then(|summary| summary.find(name));
    for name in ["cache_entries", "launches", "cache_hits", "cache_misses"] {
        bullet(&mut text, name, &count(name).map_or_else(|| Ok("0".to_owned()), |count| count.number())?);
    }
    let rate = count("cache_hit_rate").filter(|rate| rate.value.is_f64());
    bullet(&mut text, "cache_hit_rate", &rate.map_or_else(|| Ok(NOTHING.to_owned()), |rate| rate.number())?);
    let entries = find("entries").map_or_else(|| Ok(Vec::new()), |entries| entries.items())?;
    if entries.is_empty() {
        return Ok(text);
    }
    let head = ["op", "kernel", "shape bucket", "selected config", "source", "launches"];
    text.push('\n');
    table(&mut text, &head, 5);
    for entry in entries {
        let config = one_line(entry.get("selected_config")?.object()?);
        let words = ["op_name", "kernel_name", "shape_bucket"].map(|name| entry.get(name)?.text().map(str::to_owned));
        let [op, kernel, bucket] = words;
        let source = entry.get("selection_source")?.text()?.to_owned();
        row(&mut text, &[op?, kernel?, bucket?, config, source, entry.get("launches")?.number()?]);
    }
    Ok(text)
}

fn tile_ops(tile_ops: &Node<'_>) -> Result<String, String> {
    let mut text = String::from("\n## Tile Ops\n\n");
    let head = ["op", "dispatch backend", "ref p50 ms", "dispatch p50 ms", "ref p95 ms", "dispatch p95 ms"];
    table(&mut text, &head, 2);
    for (key, name) in [("tilepack", "TilePack"), ("tileunpack", "TileUnpack"), ("fusion_gate", "FusionGate")] {
        let one = tile_ops.get(key)?;
        let mut cells = vec![name.to_owned(), one.get("backend")?.text()?.to_owned()];
        for percentile in ["p50_ms", "p95_ms"] {
            for form in ["reference", "dispatch"] {
                cells.push(one.get(form)?.get(percentile)?.number()?);
            }
        }
        row(&mut text, &cells);
    }
    Ok(text)
}

fn scan(scan: &Node<'_>) -> Result<String, String> {
    let mut text = String::from("\n## TileSSM\n\n");
    table(&mut text, &["path", "backend", "p50 ms", "p95 ms", "tokens/s"], 2);
    let columns = ["p50_ms", "p95_ms", "tokens_per_s"];
    let mut line = |path: &str, backend: &str, numbers: Vec<String>| {
        let words = [path, backend].map(str::to_owned);
        row(&mut text, &[words.to_vec(), numbers].concat());
    };
    line("torch ref", "torch", scan.get("torch_reference")?.numbers(&columns)?);
    line("dispatch", scan.get("backend")?.text()?, scan.get("triton_dispatch")?.numbers(&columns)?);
    let plugin = scan.get("tensorrt_plugin")?;
    match plugin.get("status")?.text()? {
        "ok" => line("TensorRT plugin", "trt", plugin.get("metrics")?.numbers(&columns)?),
        _ => line("TensorRT plugin", "skipped", vec![NOTHING.to_owned(); columns.len()]),
    }
    Ok(text)
}

fn end_to_end(infer: &Node<'_>) -> Result<String, String> {
    let mut text = String::from("\n## End-to-End Infer\n\n");
    table(&mut text, &["path", "p50 ms", "p95 ms", "frames/s", "peak memory mb"], 1);
    let columns = ["p50_ms", "p95_ms", "frames_per_s", "peak_memory_mb"];
    let mut line = |path: &str, numbers: Vec<String>| row(&mut text, &[vec![path.to_owned()], numbers].concat());
    line("torch eager", infer.get("torch_eager")?.numbers(&columns)?);
    line("torch + triton fast-path", infer.get("torch_triton_fastpath")?.numbers(&columns)?);
    let engine = infer.get("tensorrt_engine")?;
    if engine.get("status")?.text()? == "ok" {
        line("TensorRT engine", engine.get("metrics")?.numbers(&columns)?);
        return Ok(text);
    }
    line("TensorRT engine", vec![NOTHING.to_owned(); columns.len()]);
    let reason = engine.get("reason")?.text()?;
    writeln!(text, "\nTensorRT engine benchmark skipped: `{reason}`.").expect("writing to a String cannot fail");
    Ok(text)
}

fn bullet(text: &mut String, name: &str, value: &str) {
    writeln!(text, "- {name}: `{value}`").expect("writing to a String cannot fail");
}

/// The head of a table, whose columns are of text up to number `words` and of numbers from there on.
fn table(text: &mut String, head: &[&str], words: usize) {
    let cells = |cells: Vec<&str>| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<String>>();
    row(text, &cells(head.to_vec()));
    row(text, &cells((0..head.len()).map(|column| if column < words { "---" } else { "---:" }).collect()));
}

/// A line of a table. Cells stand as they are: the seed escapes nothing, and its shape buckets hold `|`.
fn row(text: &mut String, cells: &[String]) {
    writeln!(text, "| {} |", cells.join(" | ")).expect("writing to a String cannot fail");
}

/// A configuration in one line, its keys sorted.
fn one_line(config: &Map<String, Value>) -> String {
    let mut keys: Vec<&String> = config.keys().collect();
    keys.sort_unstable();
    let field = |key: &String| {
        format!("{}: {}", json::to_canonical(&Value::from(key.as_str())), json::to_canonical(&config[key]))
    };
    format!("{{{}}}", keys.into_iter().map(field).collect::<Vec<_>>().join(", "))
}

/// A value inside the report, with how it was reached.
struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    fn find(&self, name: &str) -> Option<Node<'a>> {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        self.value.get(name).map(|value| Node { value, path })
    }

    fn get(&self, name: &str) -> Result<Node<'a>, String> {
        let inside = || if self.path.is_empty() { String::new() } else { format!(" in `{}`", self.path) };
        self.find(name).ok_or_else(|| format!("has no `{name}`{}", inside()))
    }

    fn text(&self) -> Result<&'a str, String> {
        self.value.as_str().ok_or_else(|| format!("has `{}`, which is no text", self.path))
    }

    fn items(&self) -> Result<Vec<Node<'a>>, String> {
        let items = self.value.as_array().ok_or_else(|| format!("has `{}`, which is no list", self.path))?;
        let node = |(place, value)| Node { value, path: format!("{}[{place}]", self.path) };
        Ok(items.iter().enumerate().map(node).collect())
    }

    fn object(&self) -> Result<&'a Map<String, Value>, String> {
        self.value.as_object().ok_or_else(|| format!("has `{}`, which is no object", self.path))
    }

    /// A count as it is, a float with four decimals.
    fn number(&self) -> Result<String, String> {
        match self.value {
            Value::Null => Ok(NOTHING.to_owned()),
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() => Ok(format!("{float:.4}")),
                _ => Ok(number.to_string()),
            },
            _ => Err(format!("has `{}`, which is no number", self.path)),
        }
    }

    fn numbers(&self, names: &[&str]) -> Result<Vec<String>, String> {
        names.iter().map(|name| self.get(name)?.number()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn golden() -> (Value, String) {
        let file: Value = serde_json::from_str(include_str!("../../../../fixtures/golden/apex-x/report_markdown.json"))
            .expect("the golden cases are JSON");
        let case = &file["cases"][0];
        (case["report"].clone(), case["expected_markdown"].as_str().expect("the case has its text").to_owned())
    }

    #[test]
    fn a_report_reads_as_the_seed_writes_it() {
        let (report, expected) = golden();
        assert_eq!(to_markdown(&report), Ok(expected));
    }

    #[test]
    fn a_skipped_report_says_why() {
        let report = json!({
            "status": "skipped",
            "reason": "cuda_unavailable",
            "timestamp_utc": "T",
            "environment": {
                "device": "cpu", "requested_dtype": "fp8", "effective_dtype": "float32", "fp8_requested": true,
                "fp8_fallback_reason": "fp8_requires_cuda",
            },
            "benchmarks": {},
            "triton_autotune": {
                "summary": {
                    "cache_entries": 0, "launches": 0, "cache_hits": 0, "cache_misses": 0, "cache_hit_rate": null,
                },
                "entries": [],
            },
        });
        let expected = "# Apex-X GPU Benchmark Report\n\n- status: `skipped`\n- device: `cpu`\n\
            - requested_dtype: `fp8`\n- effective_dtype: `float32`\n- timestamp_utc: `T`\n\
            - fp8: `fallback` reason=`fp8_requires_cuda`\n\n## Triton Autotune Registry\n\n- cache_entries: `0`\n\
            - launches: `0`\n- cache_hits: `0`\n- cache_misses: `0`\n- cache_hit_rate: `n/a`\n\
            - reason: `cuda_unavailable`\n\n";
        assert_eq!(to_markdown(&report).as_deref(), Ok(expected));
        for without in [json!({"entries": []}), json!({"summary": {}}), json!({})] {
            let report = Value::Object(
                report
                    .as_object()
                    .cloned()
                    .map(|mut fields| {
                        fields.insert("triton_autotune".to_owned(), without);
                        fields
                    })
                    .expect("an object"),
            );
            assert_eq!(to_markdown(&report).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn a_measured_engine_and_plugin_have_numbers() {
        let (mut report, _) = golden();
        let metrics = json!({
            "p50_ms": 0.5, "p95_ms": 1, "tokens_per_s": 3.0, "frames_per_s": 2000.0, "peak_memory_mb": null,
        });
        report["benchmarks"]["tilessm"]["tensorrt_plugin"] = json!({"status": "ok", "metrics": metrics});
        report["benchmarks"]["end_to_end_infer"]["tensorrt_engine"] = json!({"status": "ok", "metrics": metrics});
        let text = to_markdown(&report).expect("it is a report");
        assert!(text.contains("| TensorRT plugin | trt | 0.5000 | 1 | 3.0000 |\n"), "{text}");
        assert!(text.ends_with("| TensorRT engine | 0.5000 | 1 | 2000.0000 | n/a |\n"), "{text}");
    }

    #[test]
    fn halves_are_rounded_to_even_as_python_does() {
        let check = |value: f64, expected: &str| {
            let value = json!(value);
            assert_eq!(Node { value: &value, path: String::new() }.number().as_deref(), Ok(expected));
        };
        check(0.03125, "0.0312");
        check(0.09375, "0.0938");
        check(2.0 / 3.0, "0.6667");
        check(1e15, "1000000000000000.0000");
    }

    #[test]
    fn what_is_missing_is_named() {
        let check = |path: &str, value: Option<Value>, expected: &str| {
            let (mut report, _) = golden();
            let (parent, key) = path.rsplit_once('/').expect("a path");
            let parent = report.pointer_mut(parent).and_then(Value::as_object_mut).expect("it is there");
            match value {
                Some(value) => parent.insert(key.to_owned(), value),
                None => parent.remove(key),
            };
            assert_eq!(to_markdown(&report), Err(expected.to_owned()));
        };
        check("/status", None, "has no `status`");
        check("/benchmarks/tilessm/backend", None, "has no `backend` in `benchmarks.tilessm`");
        check("/triton_autotune/entries", Some(json!(3)), "has `triton_autotune.entries`, which is no list");
        let wrong = "has `benchmarks.tile_ops.tilepack.dispatch.p50_ms`, which is no number";
        check("/benchmarks/tile_ops/tilepack/dispatch/p50_ms", Some(json!("fast")), wrong);
        check("/environment/device", Some(json!(0)), "has `environment.device`, which is no text");
    }
}

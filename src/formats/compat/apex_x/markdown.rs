//! The reports of the GPU suite and of a sweep as Markdown, made of their JSON.

use std::fmt::Write as _;

use serde_json::Value;

use sprag_base::json;

/// In place of an absent number.
const NOTHING: &str = "n/a";

/// # Errors
/// Names the first needed field that is absent or of another kind, to be read after "the report".
pub fn gpu_report(report: &Value) -> Result<String, String> {
    let status = text(report, "status")?;
    let mut markdown = String::from("# Apex-X GPU Benchmark Report\n\n");
    bullet(&mut markdown, "status", status);
    for name in ["device", "requested_dtype", "effective_dtype"] {
        bullet(&mut markdown, name, text(report, &format!("environment.{name}"))?);
    }
    bullet(&mut markdown, "timestamp_utc", text(report, "timestamp_utc")?);
    if field(report, "environment.fp8_requested")? == true {
        let reason = report["environment"].get("fp8_fallback_reason").map(|reason| reason.as_str().unwrap_or("None"));
        match report["environment"]["fp8_enabled"] == true {
            true => bullet(&mut markdown, "fp8", "enabled"),
            false => bullet(&mut markdown, "fp8", &format!("fallback` reason=`{}", reason.unwrap_or("unknown"))),
        }
    }
    autotune(&mut markdown, report)?;
    if status != "ok" {
        bullet(&mut markdown, "reason", text(report, "reason")?);
        // Apex-X ends so.
        markdown.push('\n');
        return Ok(markdown);
    }
    tile_ops(&mut markdown, report)?;
    scan(&mut markdown, report)?;
    end_to_end(&mut markdown, report)?;
    Ok(markdown)
}

/// The registry; a report without one, or without its summary, reads as one of which nothing is counted.
fn autotune(markdown: &mut String, report: &Value) -> Result<(), String> {
    markdown.push_str("\n## Triton Autotune Registry\n\n");
    let path = |name: &str| format!("triton_autotune.summary.{name}");
    let is_there = |name: &str| field(report, &path(name)).is_ok();
    for name in ["cache_entries", "launches", "cache_hits", "cache_misses"] {
        let count = if is_there(name) { number(report, &path(name))? } else { "0".to_owned() };
        bullet(markdown, name, &count);
    }
    let rate = field(report, &path("cache_hit_rate")).ok().filter(|rate| rate.is_f64()).and_then(number_text);
    bullet(markdown, "cache_hit_rate", rate.as_deref().unwrap_or(NOTHING));
    let entries = match report["triton_autotune"].get("entries") {
        None => return Ok(()),
        Some(entries) => entries.as_array().ok_or("has `triton_autotune.entries`, which is not a list")?,
    };
    if entries.is_empty() {
        return Ok(());
    }
    markdown.push('\n');
    table(markdown, &["op", "kernel", "shape bucket", "selected config", "source", "launches"], 5);
    for (place, entry) in entries.iter().enumerate() {
        let cells = || {
            let word = |name: &str| text(entry, name).map(str::to_owned);
            let config = one_line(field(entry, "selected_config")?);
            let source = word("selection_source")?;
            Ok([
                word("op_name")?,
                word("kernel_name")?,
                word("shape_bucket")?,
                config,
                source,
                number(entry, "launches")?,
            ])
        };
        let cells = cells().map_err(|fault: String| format!("{fault} in `triton_autotune.entries[{place}]`"))?;
        row(markdown, &cells);
    }
    Ok(())
}

/// A configuration in one line, its keys sorted.
fn one_line(config: &Value) -> String {
    let mut fields: Vec<_> = config.as_object().into_iter().flatten().collect();
    fields.sort_unstable_by_key(|(key, _)| *key);
    let field = |(key, value)| format!("{}: {}", json::to_canonical(key), json::to_canonical(value));
    format!("{{{}}}", fields.into_iter().map(field).collect::<Vec<_>>().join(", "))
}

fn tile_ops(markdown: &mut String, report: &Value) -> Result<(), String> {
    markdown.push_str("\n## Tile Ops\n\n");
    let head = ["op", "dispatch backend", "ref p50 ms", "dispatch p50 ms", "ref p95 ms", "dispatch p95 ms"];
    table(markdown, &head, 2);
    for (key, name) in [("tilepack", "TilePack"), ("tileunpack", "TileUnpack"), ("fusion_gate", "FusionGate")] {
        let path = format!("benchmarks.tile_ops.{key}");
        let mut cells = vec![name.to_owned(), text(report, &format!("{path}.backend"))?.to_owned()];
        for figure in ["reference.p50_ms", "dispatch.p50_ms", "reference.p95_ms", "dispatch.p95_ms"] {
            cells.push(number(report, &format!("{path}.{figure}"))?);
        }
        row(markdown, &cells);
    }
    Ok(())
}

fn scan(markdown: &mut String, report: &Value) -> Result<(), String> {
    const COLUMNS: [&str; 3] = ["p50_ms", "p95_ms", "tokens_per_s"];
    markdown.push_str("\n## TileSSM\n\n");
    table(markdown, &["path", "backend", "p50 ms", "p95 ms", "tokens/s"], 2);
    let plugin = match text(report, "benchmarks.tilessm.tensorrt_plugin.status")? {
        "ok" => ("trt", Some("tensorrt_plugin.metrics")),
        _ => ("skipped", None),
    };
    let backend = text(report, "benchmarks.tilessm.backend")?;
    let rows = [
        ("torch ref", "torch", Some("torch_reference")),
        ("dispatch", backend, Some("triton_dispatch")),
        ("TensorRT plugin", plugin.0, plugin.1),
    ];
    for (path, backend, block) in rows {
        let figures = numbers(report, "benchmarks.tilessm", block, COLUMNS)?;
        row(markdown, &[vec![path.to_owned(), backend.to_owned()], figures].concat());
    }
    Ok(())
}

fn end_to_end(markdown: &mut String, report: &Value) -> Result<(), String> {
    const COLUMNS: [&str; 4] = ["p50_ms", "p95_ms", "frames_per_s", "peak_memory_mb"];
    markdown.push_str("\n## End-to-End Infer\n\n");
    table(markdown, &["path", "p50 ms", "p95 ms", "frames/s", "peak memory mb"], 1);
    let is_measured = text(report, "benchmarks.end_to_end_infer.tensorrt_engine.status")? == "ok";
    let rows = [
        ("torch eager", Some("torch_eager")),
        ("torch + triton fast-path", Some("torch_triton_fastpath")),
        ("TensorRT engine", is_measured.then_some("tensorrt_engine.metrics")),
    ];
    for (path, block) in rows {
        let figures = numbers(report, "benchmarks.end_to_end_infer", block, COLUMNS)?;
        row(markdown, &[vec![path.to_owned()], figures].concat());
    }
    if !is_measured {
        let reason = text(report, "benchmarks.end_to_end_infer.tensorrt_engine.reason")?;
        markdown.push_str(&format!("\nTensorRT engine benchmark skipped: `{reason}`.\n"));
    }
    Ok(())
}

/// The figures of a block of a benchmark, all absent without a block.
fn numbers<const N: usize>(
    report: &Value,
    benchmark: &str,
    block: Option<&str>,
    columns: [&str; N],
) -> Result<Vec<String>, String> {
    let figure = |column: &str| match block {
        Some(block) => number(report, &format!("{benchmark}.{block}.{column}")),
        None => Ok(NOTHING.to_owned()),
    };
    columns.into_iter().map(figure).collect()
}

/// What a report of a sweep lacks is left out, or is `n/a` in the table.
pub fn sweep(report: &Value) -> String {
    let word = |holder: &Value, name: &str, default: &str| holder[name].as_str().unwrap_or(default).to_owned();
    let mut markdown = String::from("# Apex-X TensorRT Engine Shape Sweep\n\n");
    bullet(&mut markdown, "status", &word(report, "status", "unknown"));
    bullet(&mut markdown, "timestamp_utc", &word(report, "timestamp_utc", ""));
    bullet(&mut markdown, "trt_engine_path", &word(&report["config"], "trt_engine_path", ""));
    if report["status"] == "skipped" {
        bullet(&mut markdown, "reason", &word(report, "reason", "unknown"));
        markdown.push('\n');
        return markdown;
    }
    markdown.push_str("\n## Summary\n\n");
    for name in ["ok_count", "skipped_count", "failed_count"] {
        bullet(&mut markdown, name, &report["summary"][name].as_u64().unwrap_or(0).to_string());
    }
    for name in ["p50_ms_min", "p50_ms_max", "p50_ms_median"] {
        if let Some(value) = report["summary"][name].as_f64() {
            bullet(&mut markdown, name, &format!("{value:.4}"));
        }
    }
    markdown.push_str("\n## Cases\n\n| case | status | mode | p50 ms | p95 ms | fps | reason |\n");
    markdown.push_str("| --- | --- | --- | ---: | ---: | ---: | --- |\n");
    for case in report["cases"].as_array().into_iter().flatten() {
        let number = |name: &str| {
            let value = Some(&case["metrics"][name]).filter(|value| value.is_f64()).and_then(number_text);
            value.unwrap_or(NOTHING.to_owned())
        };
        let cells = [
            word(case, "label", "unknown"),
            word(case, "status", "unknown"),
            word(case, "mode", NOTHING),
            number("p50_ms"),
            number("p95_ms"),
            number("frames_per_s"),
            // Apex-X escapes nothing; a reason may quote what a program wrote, and must not end its cell.
            word(case, "reason", "").replace('|', "\\|"),
        ];
        row(&mut markdown, &cells);
    }
    markdown
}

fn bullet(markdown: &mut String, name: &str, value: &str) {
    writeln!(markdown, "- {name}: `{value}`").expect("writing to a String cannot fail");
}

/// The head of a table: columns of text up to number `words`, columns of numbers from there on.
fn table(markdown: &mut String, head: &[&str], words: usize) {
    row(markdown, head);
    row(markdown, &(0..head.len()).map(|column| if column < words { "---" } else { "---:" }).collect::<Vec<_>>());
}

/// A line of a table. Apex-X escapes nothing, and its shape buckets hold `|`.
fn row<S: AsRef<str>>(markdown: &mut String, cells: &[S]) {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    writeln!(markdown, "| {} |", cells.join(" | ")).expect("writing to a String cannot fail");
}

/// The value at a path of names with dots.
fn field<'a>(report: &'a Value, path: &str) -> Result<&'a Value, String> {
    let result = path.split('.').try_fold(report, |value, key| value.get(key));
    result.ok_or_else(|| format!("has no `{path}`"))
}

fn text<'a>(report: &'a Value, path: &str) -> Result<&'a str, String> {
    field(report, path)?.as_str().ok_or_else(|| format!("has `{path}`, which is not text"))
}

fn number(report: &Value, path: &str) -> Result<String, String> {
    number_text(field(report, path)?).ok_or_else(|| format!("has `{path}`, which is not a number"))
}

/// An integer unchanged, a float with four decimals.
fn number_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(NOTHING.to_owned()),
        Value::Number(number) if number.is_f64() => Some(format!("{:.4}", number.as_f64()?)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The report of the GPU suite among the golden cases, whose Markdown the conformance run compares.
    fn golden() -> Value {
        let file: Value = serde_json::from_str(include_str!("../../../../fixtures/golden/apex-x/report_markdown.json"))
            .expect("the golden cases are JSON");
        file["cases"][0]["report"].clone()
    }

    #[test]
    fn a_skipped_report_says_why() {
        let mut report = golden();
        report["status"] = json!("skipped");
        report["reason"] = json!("cuda_unavailable");
        report["environment"]["fp8_requested"] = json!(true);
        report["environment"]["fp8_fallback_reason"] = json!("fp8_requires_cuda");
        let expected = "- fp8: `fallback` reason=`fp8_requires_cuda`\n\n## Triton Autotune Registry\n\n\
            - cache_entries: `0`\n- launches: `0`\n- cache_hits: `0`\n- cache_misses: `0`\n- cache_hit_rate: `n/a`\n\
            - reason: `cuda_unavailable`\n\n";
        for registry in [json!({"entries": []}), json!({"summary": {"cache_hit_rate": null}}), json!({})] {
            report["triton_autotune"] = registry;
            let markdown = gpu_report(&report).expect("it is a report");
            assert!(markdown.ends_with(expected), "{markdown}");
        }
        let skipped = json!({"status": "skipped", "reason": "cuda_unavailable"});
        assert!(sweep(&skipped).ends_with("\n- reason: `cuda_unavailable`\n\n"));
        assert!(sweep(&json!([])).contains("- status: `unknown`"), "any JSON has a text");
    }

    #[test]
    fn a_measured_engine_and_plugin_have_numbers() {
        let mut report = golden();
        let metrics = json!({
            "p50_ms": 0.03125, "p95_ms": 1, "tokens_per_s": 2.0 / 3.0, "frames_per_s": 1e15, "peak_memory_mb": null,
        });
        report["benchmarks"]["tilessm"]["tensorrt_plugin"] = json!({"status": "ok", "metrics": metrics});
        report["benchmarks"]["end_to_end_infer"]["tensorrt_engine"] = json!({"status": "ok", "metrics": metrics});
        let markdown = gpu_report(&report).expect("it is a report");
        // A half is rounded to even, as Python does.
        assert!(markdown.contains("| TensorRT plugin | trt | 0.0312 | 1 | 0.6667 |\n"), "{markdown}");
        assert!(markdown.ends_with("| TensorRT engine | 0.0312 | 1 | 1000000000000000.0000 | n/a |\n"), "{markdown}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let check = |path: &str, value: Option<Value>, expected: &str| {
            let mut report = golden();
            let (parent, key) = path.rsplit_once('/').expect("a path");
            let parent = report.pointer_mut(parent).and_then(Value::as_object_mut).expect("it is there");
            match value {
                Some(value) => parent.insert(key.to_owned(), value),
                None => parent.remove(key),
            };
            assert_eq!(gpu_report(&report), Err(expected.to_owned()));
        };
        check("/status", None, "has no `status`");
        check("/benchmarks/tilessm/backend", None, "has no `benchmarks.tilessm.backend`");
        check("/triton_autotune/entries", Some(json!(3)), "has `triton_autotune.entries`, which is not a list");
        check(
            "/triton_autotune/entries",
            Some(json!([{}])),
            "has no `selected_config` in `triton_autotune.entries[0]`",
        );
        let wrong = "has `benchmarks.tile_ops.tilepack.dispatch.p50_ms`, which is not a number";
        check("/benchmarks/tile_ops/tilepack/dispatch/p50_ms", Some(json!("fast")), wrong);
        check("/environment/device", Some(json!(0)), "has `environment.device`, which is not text");
    }
}

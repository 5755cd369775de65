//! `sprag kernels`: whether every CUDA kernel compiles in every variant, and whether it is right on the device.

use std::io::Write;

use serde_json::{Value, json};

use crate::cli::{KernelsCheckArgs, KernelsCommand, KernelsCompileArgs};
use crate::commands::progress::Progress;
use sprag_measure::gpu::{facts, survey};
use sprag_measure::parity;
use sprag_measure::suite::Observer as _;
use sprag_pipeline::error::Exit;
use sprag_pipeline::{Advice, Result, text};

/// The version of the JSON of both commands.
const SCHEMA_VERSION: u32 = 1;

pub(super) fn run(command: &KernelsCommand, out: &mut dyn Write) -> Result<Exit> {
    match command {
        KernelsCommand::Compile(args) => compile(args, out),
        KernelsCommand::Check(args) => check(args, out),
    }
}

/// Compiles every variant. What does not compile fails the command; registers that spill are told.
fn compile(args: &KernelsCompileArgs, out: &mut dyn Write) -> Result<Exit> {
    let compiled = match survey::compile(&args.architectures) {
        Ok(compiled) => compiled,
        Err(error) => return skipped("kernels", &error.to_string(), args.json, out),
    };
    let failed = compiled.iter().filter(|one| one.status != "ok").count();
    let spilling = compiled.iter().filter(|one| one.spill_bytes.is_some_and(|bytes| bytes > 0)).count();
    let faults = failed + if args.no_spills { spilling } else { 0 };
    if args.json {
        let status = if faults > 0 { "failed" } else { "ok" };
        writeln!(out, "{}", serde_json::to_string_pretty(&compile_report(status, &compiled))?)?;
        return Ok(exit(faults));
    }
    let number =
        |value: Option<u32>, unit: &str| value.map_or_else(|| "–".to_owned(), |value| format!("{value}{unit}"));
    let row = |one: &survey::CompiledKernel| {
        let variant: Vec<String> = one.defines.iter().map(|(name, value)| format!("{name}={value}")).collect();
        vec![
            one.entry.clone(),
            one.dtype.to_owned(),
            variant.join(" "),
            one.arch.clone(),
            number(one.registers, ""),
            number(one.shared_bytes, " B"),
            number(one.spill_bytes, " B"),
        ]
    };
    let shown = compiled.iter().filter(|one| args.all || one.spill_bytes.is_some_and(|bytes| bytes > 0));
    let heads = ["kernel", "type", "variant", "for", "registers", "shared", "spills"];
    write!(out, "{}", text::table(heads, shown.map(row), &[4, 5, 6]))?;
    for one in compiled.iter().filter(|one| one.status != "ok") {
        let survey::CompiledKernel { file, dtype, defines, arch, log, .. } = one;
        let log = text::printable(log.as_deref().unwrap_or_default());
        writeln!(out, "failed: {file} ({dtype}, {defines:?}, {arch}): {log}")?;
    }
    let most = compiled.iter().filter_map(|one| one.registers).max().unwrap_or(0);
    writeln!(
        out,
        "{} kernels compiled, {failed} failed, {spilling} spill; the most registers of a thread are {most}",
        compiled.len() - failed
    )?;
    Ok(exit(faults))
}

fn check(args: &KernelsCheckArgs, out: &mut dyn Write) -> Result<Exit> {
    let device = match facts::read() {
        Ok(device) => device,
        Err(error) => return skipped("checks", &error.to_string(), args.json, out),
    };
    let checks = survey::checks(&args.filters, device.compute_capability);
    if checks.is_empty() {
        return Err(Advice::new(
            format!("no check is called `{}`", args.filters.join("` or `")),
            "name a part of an operation, shape, element type or configuration, such as `tile_pack`",
        )
        .into());
    }
    let progress = Progress::new();
    progress.begin(
        &format!("compiling kernels, then {} on {}", text::count(checks.len(), "check"), device.model),
        checks.len() as u64,
    );
    let checked = survey::check(&checks, args.seed, &mut |done| progress.step(done as u64))?;
    progress.end();
    let is_wrong = |one: &&survey::Checked| !matches!(one.status, "exact" | "within");
    let wrong = checked.iter().filter(is_wrong).count();
    let broken = (checked.len() < checks.len())
        .then(|| format!("the device broke after {} of {}", checked.len(), text::count(checks.len(), "check")));
    if args.json {
        let status = if wrong > 0 { "failed" } else { "ok" };
        let report = check_report(status, broken.as_deref(), &device.model, &checked);
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(exit(wrong));
    }
    for one in checked.iter().filter(is_wrong) {
        let how = one.reason.clone().unwrap_or_else(|| parity::difference(one.max_abs_error));
        let configuration = one.configuration.as_deref().unwrap_or("reference");
        let how = text::printable(&how);
        writeln!(out, "{}: {} {} {} {configuration}: {how}", one.status, one.operation, one.shape, one.dtype)?;
    }
    if let Some(broken) = broken {
        writeln!(out, "{broken}")?;
    }
    writeln!(out, "{} on {}: {wrong} failed", text::count(checked.len(), "check"), text::printable(&device.model))?;
    Ok(exit(wrong))
}

fn compile_report(status: &str, compiled: &[survey::CompiledKernel]) -> Value {
    json!({ "schema_version": SCHEMA_VERSION, "status": status, "kernels": compiled })
}

fn check_report(status: &str, reason: Option<&str>, device: &str, checked: &[survey::Checked]) -> Value {
    json!({
        "schema_version": SCHEMA_VERSION,
        "status": status,
        "reason": reason,
        "device": device,
        "checks": checked,
    })
}

fn skipped_report(list: &str, reason: &str) -> Value {
    json!({ "schema_version": SCHEMA_VERSION, "status": "skipped", "reason": reason, list: Vec::<Value>::new() })
}

fn skipped(list: &str, reason: &str, is_json: bool, out: &mut dyn Write) -> Result<Exit> {
    if is_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&skipped_report(list, reason))?)?;
    } else {
        writeln!(out, "skipped: {}", text::printable(reason))?;
    }
    Ok(Exit::NotMeasured)
}

fn exit(faults: usize) -> Exit {
    if faults > 0 { Exit::Failed } else { Exit::Done }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_is_printed_follows_its_schema() {
        let published = |text: &str| serde_json::from_str::<Value>(text).expect("it is JSON");
        let compile_schema = published(include_str!("../../../schemas/kernels-compile-1.json"));
        let check_schema = published(include_str!("../../../schemas/kernels-check-1.json"));
        let check = |schema: &Value, document: Value, expected: bool| {
            assert_eq!(jsonschema::is_valid(schema, &document), expected, "{document}");
        };
        let kernel = survey::CompiledKernel {
            file: "scan.cu",
            entry: "scan".to_owned(),
            dtype: "f16",
            defines: BTreeMap::from([("BLOCK", 128)]),
            arch: "sm_90".to_owned(),
            status: "ok",
            registers: Some(32),
            shared_bytes: None,
            spill_bytes: Some(0),
            log: None,
        };
        check(&compile_schema, compile_report("ok", &[kernel]), true);
        check(&compile_schema, skipped_report("kernels", "no NVRTC"), true);
        check(&compile_schema, skipped_report("checks", "no NVRTC"), false);
        check(&compile_schema, json!({ "schema_version": 1, "status": "ok", "kernels": [{}] }), false);
        let checked = survey::Checked {
            operation: "scan",
            shape: "b=1".to_owned(),
            dtype: "f16",
            form: "tuned",
            configuration: Some("block128".to_owned()),
            status: "within",
            max_abs_error: Some(1e-3),
            tolerance: Some(1e-2),
            reason: None,
        };
        check(&check_schema, check_report("ok", None, "H200", std::slice::from_ref(&checked)), true);
        check(&check_schema, check_report("failed", Some("the device broke"), "H200", &[checked]), true);
        check(&check_schema, check_report("fine", None, "H200", &[]), false);
        check(&check_schema, skipped_report("checks", "no device"), true);
    }
}

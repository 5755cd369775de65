//! `sprag kernels`: whether every CUDA kernel, Sprag's or a suite's, compiles in every variant and is right on the device.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::{KernelsCheckArgs, KernelsCompileArgs};
use crate::commands::progress::Progress;
use sprag_measure::gpu::custom::settings::CustomScope;
use sprag_measure::gpu::{DeviceError, facts, survey};
use sprag_measure::parity;
use sprag_measure::suite::Observer as _;
use sprag_pipeline::error::Exit;
use sprag_pipeline::measuring::custom_scope;
use sprag_pipeline::project::Project;
use sprag_pipeline::{Result, refuse, text};

/// Fails if a variant does not compile.
pub(super) fn compile(folder: &Path, args: &KernelsCompileArgs, out: &mut dyn Write) -> Result<Exit> {
    let own = own_kernels(folder, args.suite.as_deref())?;
    let compiled = match survey::compile(&args.architectures, own.as_ref().map(|(scope, _)| scope)) {
        Ok(compiled) => compiled,
        Err(DeviceError::Custom(fault)) => return refuse(fault, "fix the kernel's section in sprag.toml"),
        Err(error) => return skipped("kernels", &error.to_string(), args.json, out),
    };
    let failed = compiled.iter().filter(|one| one.status != "ok").count();
    let spills = |one: &survey::CompiledKernel| one.spill_bytes.is_some_and(|bytes| bytes > 0);
    let spilling = compiled.iter().filter(|one| spills(one)).count();
    let faults = failed + if args.no_spills { spilling } else { 0 };
    if args.json {
        let status = if faults > 0 { "failed" } else { "ok" };
        writeln!(out, "{}", serde_json::to_string_pretty(&report(status, "kernels", &compiled))?)?;
        return Ok(exit(faults));
    }
    let number = |value: Option<u32>, unit| value.map_or(text::NONE.to_owned(), |value| format!("{value}{unit}"));
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
    let shown = compiled.iter().filter(|one| args.all || spills(one));
    let heads = ["kernel", "type", "variant", "for", "registers", "shared", "spills"];
    write!(out, "{}", text::table(heads, shown.map(row), &[4, 5, 6]))?;
    for one in compiled.iter().filter(|one| one.status != "ok") {
        let survey::CompiledKernel { file, dtype, defines, arch, log, .. } = one;
        let log = text::printable(log.as_deref().unwrap_or_default());
        writeln!(out, "failed: {file} ({dtype}, {defines:?}, {arch}): {log}")?;
    }
    let most = compiled.iter().filter_map(|one| one.registers).max().unwrap_or(0);
    let done = compiled.len() - failed;
    write!(out, "{done} kernels compiled, {failed} failed, {spilling} spill; ")?;
    writeln!(out, "at most {most} registers per thread")?;
    Ok(exit(faults))
}

pub(super) fn check(folder: &Path, args: &KernelsCheckArgs, out: &mut dyn Write) -> Result<Exit> {
    let own = own_kernels(folder, args.suite.as_deref())?;
    let device = match facts::read() {
        Ok(device) => device,
        Err(error) => return skipped("checks", &error.to_string(), args.json, out),
    };
    let checks = survey::checks(own.as_ref().map(|(scope, _)| scope), &args.filters, device.compute_capability);
    if checks.is_empty() {
        let message = format!("no check is called `{}`", args.filters.join("` or `"));
        let hint = "name a part of an operation, shape, element type or configuration, such as `tile_pack`";
        return refuse(message, hint);
    }
    let progress = Progress::new();
    let count = text::count(checks.len(), "check");
    progress.begin(&format!("compiling kernels, then {count} on {}", device.model), checks.len() as u64);
    let mut step = |done| progress.step(done as u64);
    let checked = match &own {
        None => survey::check(&checks, args.seed, &mut step)?,
        Some((scope, patience)) => survey::check_apart(scope, &checks, (args.seed, *patience), &mut step)?,
    };
    progress.end();
    let is_wrong = |one: &&survey::Checked| !matches!(one.status, "exact" | "within" | "unchecked");
    let wrong = checked.iter().filter(is_wrong).count();
    let broken = (checked.len() < checks.len()).then(|| format!("the device broke after {} of {count}", checked.len()));
    if args.json {
        let status = if wrong > 0 { "failed" } else { "ok" };
        writeln!(out, "{}", serde_json::to_string_pretty(&check_report(status, broken, &device.model, &checked))?)?;
        return Ok(exit(wrong));
    }
    for one in checked.iter().filter(is_wrong) {
        let how = one.reason.clone().unwrap_or_else(|| parity::difference(one.max_abs_error));
        let how = how.lines().map(text::printable).collect::<Vec<_>>().join("\n    ");
        let survey::Checked { status, operation, shape, dtype, configuration, .. } = one;
        let configuration = configuration.as_deref().unwrap_or("reference");
        writeln!(out, "{status}: {operation} {shape} {dtype} {configuration}: {how}")?;
    }
    broken.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let unchecked = checked.iter().filter(|one| one.status == "unchecked").count();
    let without = if unchecked > 0 { format!(", {unchecked} without a reference") } else { String::new() };
    let (count, model) = (text::count(checked.len(), "check"), text::printable(&device.model));
    writeln!(out, "{count} on {model}: {wrong} failed{without}")?;
    Ok(exit(wrong))
}

/// Those of a suite, and how long a check may take.
fn own_kernels(folder: &Path, suite: Option<&str>) -> Result<Option<(CustomScope, Duration)>> {
    suite.map(|name| custom_scope(&Project::open(folder)?, name)).transpose()
}

fn skipped(list: &str, reason: &str, is_json: bool, out: &mut dyn Write) -> Result<Exit> {
    if is_json {
        let mut report = report("skipped", list, &[(); 0]);
        report["reason"] = reason.into();
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        writeln!(out, "skipped: {}", text::printable(reason))?;
    }
    Ok(Exit::NotMeasured)
}

/// The JSON of both commands; `list` names the findings.
fn report(status: &str, list: &str, findings: &impl Serialize) -> Value {
    json!({ "schema_version": 1, "status": status, list: findings })
}

fn check_report(status: &str, broken: Option<String>, device: &str, checked: &[survey::Checked]) -> Value {
    let mut report = report(status, "checks", &checked);
    (report["reason"], report["device"]) = (broken.into(), device.into());
    report
}

fn exit(faults: usize) -> Exit {
    if faults > 0 { Exit::Failed } else { Exit::Done }
}

#[cfg(test)]
mod tests;

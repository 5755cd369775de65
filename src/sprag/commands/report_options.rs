//! The options of `run` for GPU suites, TensorRT and reports of Apex-X: which go together, and what they come to.

use std::path::{Path, PathBuf};

use super::Advice;
use crate::cli::RunArgs;
use crate::config::{Suite, SuiteKind};
use sprag_formats::compat::apex_x::cpu_report;
use sprag_measure::gpu::settings::Settings;
use sprag_measure::seed_report::GpuReportOptions;
use sprag_measure::tensorrt::plugin_of_environment;
use sprag_model::shape_case::ShapeCase;
use sprag_pipeline::measuring::apex_x_report::{ApexXReport, ReportKind};
use sprag_pipeline::measuring::suites::GpuOverride;
use sprag_pipeline::measuring::trt::TrtOptions;

/// Refuses options that have no effect on what would run.
pub(super) fn check(args: &RunArgs, asked: &[(&str, &Suite)]) -> Result<(), Advice> {
    let has = |kind: SuiteKind| asked.iter().any(|(_, suite)| suite.kind == kind);
    let refuse = |message: String, hint: &str| Err(Advice { message, hint: hint.to_owned() });
    let (shared, sizes, calls, cpu) = (shared(args), of_gpu_sizes(args), of_gpu_calls(args), of_cpu(args));
    if let Some(option) = shared.first().filter(|_| !has(SuiteKind::Gpu) && !has(SuiteKind::Trt)) {
        let hint = match *option {
            "--warmup" | "--iters" if has(SuiteKind::Cpu) => {
                "a CPU suite has `--infer-warmup`, `--infer-iters`, `--micro-warmup` and `--micro-iters`"
            }
            _ => "name a suite of kind `gpu` or `trt` with `--suite`",
        };
        return refuse(format!("`{option}` is an option of GPU suites and of TensorRT, and none would run"), hint);
    }
    if let Some(option) = sizes.iter().chain(&calls).next().filter(|_| !has(SuiteKind::Gpu)) {
        let hint = "name a suite of kind `gpu` with `--suite`";
        return refuse(format!("`{option}` is an option of GPU suites, and none would run"), hint);
    }
    if let Some(option) = cpu.first().filter(|_| !has(SuiteKind::Cpu)) {
        let hint = "a GPU suite has `--warmup` and `--iters`";
        return refuse(format!("`{option}` is an option of CPU suites, and none would run"), hint);
    }
    let seed = args.report.seed.map(|_| "--seed");
    if let Some(option) = calls.into_iter().chain(shared).chain(seed).next().filter(|_| !has(SuiteKind::Trt))
        && args.output.is_none()
        && args.report.output_md.is_none()
    {
        let hint = "name its file with `--output-json` or, of a GPU suite, `--output-md`";
        return refuse(format!("`{option}` says how a report is timed, and no report is asked for"), hint);
    }
    Ok(())
}

/// What a suite of TensorRT is to time by the options.
pub(super) fn trt(folder: &Path, args: &RunArgs) -> TrtOptions {
    let (report, trt) = (&args.report, &args.trt);
    TrtOptions {
        engine: report.trt_engine_path.as_ref().map(|path| (folder.join(path), path.display().to_string())),
        plugin: report.trt_plugin_lib.as_ref().map(|path| folder.join(path)),
        trtexec: trt.trtexec.as_ref().map(|path| folder.join(path)),
        shape_cases: trt.shape_cases.clone(),
        warmup: report.warmup,
        iterations: report.iters,
        seed: report.seed,
        profile: trt.trt_profile.as_ref().map(|path| folder.join(path)),
        ..TrtOptions::none(folder)
    }
}

/// The report that was asked for, if any.
pub(super) fn report(folder: &Path, args: &RunArgs, asked: &[(&str, &Suite)]) -> anyhow::Result<Option<ApexXReport>> {
    let [json, markdown] = [&args.output, &args.report.output_md].map(|path| path.as_ref().map(|one| folder.join(one)));
    Ok(ApexXReport::new(json, markdown, asked, |kind| {
        Ok(match kind {
            SuiteKind::Cpu => Some(ReportKind::Cpu(cpu_settings(args))),
            SuiteKind::Gpu => Some(ReportKind::Gpu(Box::new(gpu_report_options(folder, args)?))),
            SuiteKind::Trt => Some(ReportKind::Trt),
            SuiteKind::Command => None,
        })
    })?)
}

/// What a GPU suite runs by the options: the sizes where one is named, the element type where it is.
pub(super) fn gpu_override(args: &RunArgs) -> Result<GpuOverride, Advice> {
    let sizes = of_gpu_sizes(args);
    if sizes.is_empty() {
        return Ok(GpuOverride::default());
    }
    let settings = gpu_settings(args)?;
    Ok(GpuOverride {
        profile: sizes.iter().any(|option| *option != "--dtype").then_some(settings.profile),
        dtype: args.gpu.dtype.map(|_| settings.dtype),
    })
}

/// How often each CPU kernel is called.
fn cpu_settings(args: &RunArgs) -> cpu_report::Settings {
    let calls = &args.single_calls;
    cpu_report::Settings {
        infer_warmup: calls.infer_warmup.unwrap_or(5),
        infer_iters: calls.infer_iters.unwrap_or(30),
        micro_warmup: calls.micro_warmup.unwrap_or(5),
        micro_iters: calls.micro_iters.unwrap_or(50),
        seed: args.report.seed.unwrap_or(123),
    }
}

/// What the report of a GPU suite is timed on: the fixed profile, but for what is given.
fn gpu_settings(args: &RunArgs) -> Result<Settings, Advice> {
    let (gpu, mut settings) = (&args.gpu, Settings::FIXED);
    let profile = &mut settings.profile;
    set(&mut profile.batch, gpu.batch);
    set(&mut profile.channels, gpu.channels);
    set(&mut profile.height, gpu.height);
    set(&mut profile.width, gpu.width);
    set(&mut profile.tile_size, gpu.tile_size);
    set(&mut profile.kmax, gpu.kmax);
    set(&mut profile.scan.steps, gpu.steps);
    (profile.scan.batch, profile.scan.channels) = (profile.batch, profile.channels);
    set(&mut settings.dtype, gpu.dtype);
    set(&mut settings.warmup, args.report.warmup);
    set(&mut settings.iters, args.report.iters);
    set(&mut settings.seed, args.report.seed);
    set(&mut settings.budgets.b1, gpu.budget_b1);
    set(&mut settings.budgets.b2, gpu.budget_b2);
    set(&mut settings.budgets.total, gpu.budget_total);
    settings.check().map_err(|error| Advice { message: error.to_string(), hint: error.hint() })?;
    gpu.trt_input_shapes.iter().try_for_each(|shape| input_shape(shape))?;
    Ok(settings)
}

/// What the report of a GPU suite is made of.
fn gpu_report_options(folder: &Path, args: &RunArgs) -> Result<GpuReportOptions, Advice> {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let plugin = args.report.trt_plugin_lib.as_ref().map(text);
    let plugin = plugin.or_else(|| plugin_of_environment(folder).map(|(_, shown)| shown));
    Ok(GpuReportOptions {
        settings: gpu_settings(args)?,
        engine: args.report.trt_engine_path.as_ref().map(text).unwrap_or_default(),
        plugin: plugin.unwrap_or_default(),
        shapes: args.gpu.trt_input_shapes.clone(),
        folder: folder.to_owned(),
    })
}

/// Refuses a text that is no shape of an input.
fn input_shape(text: &str) -> Result<(), Advice> {
    ShapeCase::parse(text).map(drop).map_err(|error| Advice {
        message: format!("`--trt-input-shape` `{}`: {error}", text.escape_debug()),
        hint: "give the name of an input and its dimensions, each above zero, as in `tokens=1x256x128`".to_owned(),
    })
}

fn set<T>(setting: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *setting = given;
    }
}

fn given<const N: usize>(options: [(&'static str, bool); N]) -> Vec<&'static str> {
    options.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
}

fn shared(args: &RunArgs) -> Vec<&'static str> {
    let report = &args.report;
    given([
        ("--warmup", report.warmup.is_some()),
        ("--iters", report.iters.is_some()),
        ("--trt-engine-path", report.trt_engine_path.is_some()),
        ("--trt-plugin-lib", report.trt_plugin_lib.is_some()),
        ("--output-md", report.output_md.is_some()),
    ])
}

/// The options that say what a GPU suite runs, for its record and its report alike.
fn of_gpu_sizes(args: &RunArgs) -> Vec<&'static str> {
    let gpu = &args.gpu;
    given([
        ("--batch", gpu.batch.is_some()),
        ("--channels", gpu.channels.is_some()),
        ("--height", gpu.height.is_some()),
        ("--width", gpu.width.is_some()),
        ("--tile-size", gpu.tile_size.is_some()),
        ("--kmax", gpu.kmax.is_some()),
        ("--steps", gpu.steps.is_some()),
        ("--dtype", gpu.dtype.is_some()),
    ])
}

/// The options that only its report knows.
fn of_gpu_calls(args: &RunArgs) -> Vec<&'static str> {
    let gpu = &args.gpu;
    given([
        ("--budget-b1", gpu.budget_b1.is_some()),
        ("--budget-b2", gpu.budget_b2.is_some()),
        ("--budget-total", gpu.budget_total.is_some()),
        ("--trt-input-shape", !gpu.trt_input_shapes.is_empty()),
    ])
}

fn of_cpu(args: &RunArgs) -> Vec<&'static str> {
    let calls = &args.single_calls;
    given([
        ("--infer-warmup", calls.infer_warmup.is_some()),
        ("--infer-iters", calls.infer_iters.is_some()),
        ("--micro-warmup", calls.micro_warmup.is_some()),
        ("--micro-iters", calls.micro_iters.is_some()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_a_name_and_dimensions() {
        let fine = |text: &str| assert!(input_shape(text).is_ok(), "{text}");
        fine("tokens=1x256x128");
        fine(" tokens = 1 256x128 ");
        fine("a=7");
        let check = |text: &str, words: &str| {
            let message = input_shape(text).expect_err("it is no shape").message;
            assert!(message.starts_with("`--trt-input-shape` ") && message.contains(words), "{message}");
        };
        check("", "a shape case is empty");
        check("tokens", "`tokens`: the shape `tokens` has no `=`");
        check(" =1x2", "names no tensor before its `=`");
        check("a=x", "the shape `a=x` has no sizes");
        check("a=1x0", "has a size that is not above zero");
        check("a=1xb", "has the size `b`, which is no whole number");
    }
}

//! The options of `run` for GPU suites, TensorRT and reports of Apex-X: which go together, and what they come to.

use std::path::{Path, PathBuf};

use crate::cli::RunArgs;
use sprag_formats::compat::apex_x::cpu_report;
use sprag_measure::gpu::settings::Settings;
use sprag_measure::seed_report::GpuReportOptions;
use sprag_measure::tensorrt::plugin_of_environment;
use sprag_model::shape_case::ShapeCase;
use sprag_pipeline::config::{Suite, SuiteKind};
use sprag_pipeline::measuring::GpuOverride;
use sprag_pipeline::measuring::apex_x_report::{ApexXReport, ReportKind};
use sprag_pipeline::measuring::trt::TrtOptions;
use sprag_pipeline::{Advice, Result, refuse};

/// Refuses options that have no effect on what would run.
pub(super) fn check(args: &RunArgs, asked: &[(&str, &Suite)]) -> Result<(), Advice> {
    let has = |kind: SuiteKind| asked.iter().any(|(_, suite)| suite.kind == kind);
    let (has_gpu, has_trt, has_cpu) = (has(SuiteKind::Gpu), has(SuiteKind::Trt), has(SuiteKind::Cpu));
    let given = given(args);
    let first = |groups: &[Group]| {
        groups.iter().find_map(|group| given.iter().find(|(of, _)| of == group)).map(|(_, option)| *option)
    };
    if let Some(option) = first(&[Group::Shared]).filter(|_| !has_gpu && !has_trt) {
        let hint = match option {
            "--warmup" | "--iters" if has_cpu => {
                "a CPU suite has `--infer-warmup`, `--infer-iters`, `--micro-warmup` and `--micro-iters`"
            }
            _ => "name a suite of kind `gpu` or `trt` with `--suite`",
        };
        return refuse(format!("`{option}` is an option of GPU suites and of TensorRT, and none would run"), hint);
    }
    if let Some(option) = first(&[Group::GpuSizes, Group::GpuCalls]).filter(|_| !has_gpu) {
        let hint = "name a suite of kind `gpu` with `--suite`";
        return refuse(format!("`{option}` is an option of GPU suites, and none would run"), hint);
    }
    if let Some(option) = first(&[Group::Cpu]).filter(|_| !has_cpu) {
        let hint = "a GPU suite has `--warmup` and `--iters`";
        return refuse(format!("`{option}` is an option of CPU suites, and none would run"), hint);
    }
    let timing = first(&[Group::GpuCalls, Group::Shared]).or(args.report.seed.map(|_| "--seed"));
    if let Some(option) = timing.filter(|_| !has_trt && args.output.is_none() && args.report.output_md.is_none()) {
        let hint = "name its file with `--output-json` or, of a GPU suite, `--output-md`";
        return refuse(format!("`{option}` says how a report is timed, and no report is asked for"), hint);
    }
    Ok(())
}

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

pub(super) fn report(folder: &Path, args: &RunArgs, asked: &[(&str, &Suite)]) -> Result<Option<ApexXReport>> {
    let [json, markdown] = [&args.output, &args.report.output_md].map(|path| path.as_ref().map(|one| folder.join(one)));
    ApexXReport::new(json, markdown, asked, |kind| {
        Ok(match kind {
            SuiteKind::Cpu => Some(ReportKind::Cpu(cpu_settings(args))),
            SuiteKind::Gpu => Some(ReportKind::Gpu(Box::new(gpu_report_options(folder, args)?))),
            SuiteKind::Trt => Some(ReportKind::Trt),
            SuiteKind::Command => None,
        })
    })
}

/// What a GPU suite runs by the options: the sizes where one is named, the element type where it is.
pub(super) fn gpu_override(args: &RunArgs) -> Result<GpuOverride, Advice> {
    let given = given(args);
    let mut sizes = given.iter().filter(|(group, _)| *group == Group::GpuSizes).peekable();
    if sizes.peek().is_none() {
        return Ok(GpuOverride::default());
    }
    let settings = gpu_settings(args)?;
    Ok(GpuOverride {
        profile: sizes.any(|(_, option)| *option != "--dtype").then_some(settings.profile),
        dtype: args.gpu.dtype.map(|_| settings.dtype),
    })
}

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
    settings.check().map_err(|error| Advice::new(error.to_string(), error.hint()))?;
    gpu.trt_input_shapes.iter().try_for_each(|shape| input_shape(shape))?;
    Ok(settings)
}

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

fn input_shape(text: &str) -> Result<(), Advice> {
    ShapeCase::parse(text).map(drop).map_err(|error| {
        Advice::new(
            format!("`--trt-input-shape` `{}`: {error}", text.escape_debug()),
            "give the name of an input and its dimensions, each above zero, as in `tokens=1x256x128`",
        )
    })
}

fn set<T>(setting: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *setting = given;
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Group {
    /// Suites on a GPU and of TensorRT.
    Shared,
    /// GPU suites, for their record and their report alike.
    GpuSizes,
    /// GPU suites, for their report alone.
    GpuCalls,
    Cpu,
}

fn given(args: &RunArgs) -> Vec<(Group, &'static str)> {
    let (report, gpu, calls) = (&args.report, &args.gpu, &args.single_calls);
    let all = [
        (Group::Shared, "--warmup", report.warmup.is_some()),
        (Group::Shared, "--iters", report.iters.is_some()),
        (Group::Shared, "--trt-engine-path", report.trt_engine_path.is_some()),
        (Group::Shared, "--trt-plugin-lib", report.trt_plugin_lib.is_some()),
        (Group::Shared, "--output-md", report.output_md.is_some()),
        (Group::GpuSizes, "--batch", gpu.batch.is_some()),
        (Group::GpuSizes, "--channels", gpu.channels.is_some()),
        (Group::GpuSizes, "--height", gpu.height.is_some()),
        (Group::GpuSizes, "--width", gpu.width.is_some()),
        (Group::GpuSizes, "--tile-size", gpu.tile_size.is_some()),
        (Group::GpuSizes, "--kmax", gpu.kmax.is_some()),
        (Group::GpuSizes, "--steps", gpu.steps.is_some()),
        (Group::GpuSizes, "--dtype", gpu.dtype.is_some()),
        (Group::GpuCalls, "--budget-b1", gpu.budget_b1.is_some()),
        (Group::GpuCalls, "--budget-b2", gpu.budget_b2.is_some()),
        (Group::GpuCalls, "--budget-total", gpu.budget_total.is_some()),
        (Group::GpuCalls, "--trt-input-shape", !gpu.trt_input_shapes.is_empty()),
        (Group::Cpu, "--infer-warmup", calls.infer_warmup.is_some()),
        (Group::Cpu, "--infer-iters", calls.infer_iters.is_some()),
        (Group::Cpu, "--micro-warmup", calls.micro_warmup.is_some()),
        (Group::Cpu, "--micro-iters", calls.micro_iters.is_some()),
    ];
    all.into_iter().filter(|(.., is_given)| *is_given).map(|(group, option, _)| (group, option)).collect()
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

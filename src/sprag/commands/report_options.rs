//! What the options of `run` for GPU suites, TensorRT and reports of Apex-X come to.

use std::path::{Path, PathBuf};

use crate::cli::RunArgs;
use crate::commands::run_options::{OptionGroup, given};
use sprag_formats::compat::apex_x::cpu_report;
use sprag_measure::apex_x_report::GpuReportOptions;
use sprag_measure::gpu::settings::GpuSettings;
use sprag_measure::tensorrt::plugin_of_environment;
use sprag_model::ShapeCase;
use sprag_pipeline::config::{Suite, SuiteKind};
use sprag_pipeline::measuring::apex_x_report::{ApexXReport, ReportKind};
use sprag_pipeline::measuring::{GpuOverride, TrtOptions};
use sprag_pipeline::{Advice, Result};

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
            SuiteKind::Command | SuiteKind::Cuda => None,
        })
    })
}

pub(super) fn gpu_override(args: &RunArgs) -> Result<GpuOverride, Advice> {
    let given = given(args);
    let mut sizes = given.iter().filter(|(group, _)| *group == OptionGroup::GpuSizes).peekable();
    if sizes.peek().is_none() {
        return Ok(GpuOverride::default());
    }
    let settings = gpu_settings(args)?;
    Ok(GpuOverride {
        profile: sizes.any(|(_, option)| *option != "--dtype").then_some(settings.profile),
        dtype: args.gpu.dtype.map(|_| settings.dtype),
    })
}

fn cpu_settings(args: &RunArgs) -> cpu_report::CpuSettings {
    let calls = &args.single_calls;
    cpu_report::CpuSettings {
        infer_warmup: calls.infer_warmup.unwrap_or(5),
        infer_iters: calls.infer_iters.unwrap_or(30),
        micro_warmup: calls.micro_warmup.unwrap_or(5),
        micro_iters: calls.micro_iters.unwrap_or(50),
        seed: args.report.seed.unwrap_or(123),
    }
}

/// The fixed profile with the given options.
fn gpu_settings(args: &RunArgs) -> Result<GpuSettings, Advice> {
    let (gpu, mut settings) = (&args.gpu, GpuSettings::FIXED);
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
        let message = format!("`--trt-input-shape` `{}`: {error}", text.escape_debug());
        Advice::new(message, "give the name of an input and its dimensions, each above zero, as in `tokens=1x256x128`")
    })
}

fn set<T>(setting: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *setting = given;
    }
}

//! Which options of `run` for kinds of suites and for reports are given, and whether they have an effect.

use crate::cli::RunArgs;
use sprag_pipeline::config::{Suite, SuiteKind};
use sprag_pipeline::{Advice, Result, refuse};

/// Refuses options without effect on what would run.
pub(super) fn check(args: &RunArgs, asked: &[(&str, &Suite)]) -> Result<(), Advice> {
    use OptionGroup::{Cpu, GpuCalls, GpuSizes, Shared};
    let has = |kind: SuiteKind| asked.iter().any(|(_, suite)| suite.kind == kind);
    let (has_gpu, has_trt, has_cpu) = (has(SuiteKind::Gpu), has(SuiteKind::Trt), has(SuiteKind::Cpu));
    let given = given(args);
    let first = |groups: &[OptionGroup]| given.iter().find(|(of, _)| groups.contains(of)).map(|(_, option)| *option);
    let shared_hint = match first(&[Shared]) {
        Some("--warmup" | "--iters") if has_cpu => {
            "a CPU suite has `--infer-warmup`, `--infer-iters`, `--micro-warmup` and `--micro-iters`"
        }
        _ => "name a suite of kind `gpu` or `trt` with `--suite`",
    };
    for (groups, has_effect, suites, hint) in [
        (&[Shared][..], has_gpu || has_trt, "GPU suites and of TensorRT", shared_hint),
        (&[GpuSizes, GpuCalls], has_gpu, "GPU suites", "name a suite of kind `gpu` with `--suite`"),
        (&[Cpu], has_cpu, "CPU suites", "a GPU suite has `--warmup` and `--iters`"),
    ] {
        if let Some(option) = first(groups).filter(|_| !has_effect) {
            return refuse(format!("`{option}` is an option of {suites}, and none would run"), hint);
        }
    }
    let timing = first(&[GpuCalls, Shared]).or(args.report.seed.map(|_| "--seed"));
    match timing.filter(|_| !has_trt && args.output.is_none() && args.report.output_md.is_none()) {
        None => Ok(()),
        Some(option) => refuse(
            format!("`{option}` says how a report is timed, and no report is asked for"),
            "name its file with `--output-json` or, of a GPU suite, `--output-md`",
        ),
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum OptionGroup {
    /// Of GPU suites, for record and report.
    GpuSizes,
    /// Of GPU suites, for the report only.
    GpuCalls,
    /// Of GPU suites and TensorRT.
    Shared,
    Cpu,
}

pub(super) fn given(args: &RunArgs) -> Vec<(OptionGroup, &'static str)> {
    use OptionGroup::{Cpu, GpuCalls, GpuSizes, Shared};
    let (report, gpu, calls) = (&args.report, &args.gpu, &args.single_calls);
    let all = [
        (GpuSizes, "--batch", gpu.batch.is_some()),
        (GpuSizes, "--channels", gpu.channels.is_some()),
        (GpuSizes, "--height", gpu.height.is_some()),
        (GpuSizes, "--width", gpu.width.is_some()),
        (GpuSizes, "--tile-size", gpu.tile_size.is_some()),
        (GpuSizes, "--kmax", gpu.kmax.is_some()),
        (GpuSizes, "--steps", gpu.steps.is_some()),
        (GpuSizes, "--dtype", gpu.dtype.is_some()),
        (GpuCalls, "--budget-b1", gpu.budget_b1.is_some()),
        (GpuCalls, "--budget-b2", gpu.budget_b2.is_some()),
        (GpuCalls, "--budget-total", gpu.budget_total.is_some()),
        (GpuCalls, "--trt-input-shape", !gpu.trt_input_shapes.is_empty()),
        (Shared, "--warmup", report.warmup.is_some()),
        (Shared, "--iters", report.iters.is_some()),
        (Shared, "--trt-engine-path", report.trt_engine_path.is_some()),
        (Shared, "--trt-plugin-lib", report.trt_plugin_lib.is_some()),
        (Shared, "--output-md", report.output_md.is_some()),
        (Cpu, "--infer-warmup", calls.infer_warmup.is_some()),
        (Cpu, "--infer-iters", calls.infer_iters.is_some()),
        (Cpu, "--micro-warmup", calls.micro_warmup.is_some()),
        (Cpu, "--micro-iters", calls.micro_iters.is_some()),
    ];
    all.into_iter().filter(|(.., is_given)| *is_given).map(|(group, option, _)| (group, option)).collect()
}

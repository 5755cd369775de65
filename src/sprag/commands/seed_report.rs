//! `sprag run --output`: the reports that the tools of the seed, Apex-X, read.

mod options;

use std::io::Write;
use std::path::{Path, PathBuf};

use super::progress::Progress;
use super::project::Project;
use super::suites::{GpuOverride, MeasuredSuites};
use super::{Advice, text};
use crate::cli::RunArgs;
use crate::config::{Suite, SuiteKind};
use sprag_base::files::{check_writable, write_atomic};
use sprag_formats::compat::apex_x::{self, trt_report};
use sprag_measure::seed_report::{GpuReportOptions, cpu_report, gpu_report};
use sprag_measure::suite::Observer as _;

/// A report that was asked for and can be written.
pub(super) struct Wanted {
    suite: String,
    json: Option<PathBuf>,
    markdown: Option<PathBuf>,
    what: What,
}

/// What a report is timed on, by the kind of its suite.
enum What {
    Cpu(apex_x::cpu_report::Settings),
    Gpu(Box<GpuReportOptions>),
    /// The sweep over shapes, of what was measured for the record.
    Trt,
}

/// What the report needs, checked before anything is measured; `None` where none is asked for.
///
/// # Errors
/// When options do not go together, another number of suites than one would run, there is no report of its kind, or a
/// file cannot be written.
pub(super) fn wanted(folder: &Path, args: &RunArgs, asked: &[(&str, &Suite)]) -> anyhow::Result<Option<Wanted>> {
    options::check(args, asked)?;
    let [json, markdown] = [&args.output, &args.report.output_md].map(|path| path.as_ref().map(|one| folder.join(one)));
    let option = match (&json, &markdown) {
        (None, None) => return Ok(None),
        (Some(_), _) => "--output",
        (None, Some(_)) => "--output-md",
    };
    let advice = |message: String| Advice {
        message,
        hint: "name one suite of kind `cpu`, `gpu` or `trt` with `--suite`; `--output-run` writes the record of any"
            .to_owned(),
    };
    let [(name, suite)] = asked else {
        let count = asked.len();
        return Err(advice(format!("`{option}` takes the report of one suite, and {count} would run")).into());
    };
    let what = match suite.kind {
        SuiteKind::Cpu => What::Cpu(options::cpu_settings(args)),
        SuiteKind::Gpu => What::Gpu(Box::new(options::gpu_report_options(folder, args)?)),
        SuiteKind::Trt => What::Trt,
        SuiteKind::Command => {
            let message = format!("`{option}` writes the report of kernels or of TensorRT, and `{name}` is neither");
            return Err(advice(message).into());
        }
    };
    for path in [&json, &markdown].into_iter().flatten() {
        check_writable(path)?;
    }
    Ok(Some(Wanted { suite: (*name).to_owned(), json, markdown, what }))
}

/// What a GPU suite runs by the options: the sizes where one is named, the element type where it is.
///
/// # Errors
/// Names the first setting that cannot be.
pub(super) fn gpu_override(args: &RunArgs) -> Result<GpuOverride, Advice> {
    let sizes = options::of_gpu_sizes(args);
    if sizes.is_empty() {
        return Ok(GpuOverride::default());
    }
    let settings = options::gpu_settings(args)?;
    Ok(GpuOverride {
        profile: sizes.iter().any(|option| *option != "--dtype").then_some(settings.profile),
        dtype: args.gpu.dtype.map(|_| settings.dtype),
    })
}

/// Times the kernels and writes the report. Whether it came about: where a kernel is wrong or the process fails there
/// is no report, an older file stands as it was, and a warning says why.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write(
    wanted: &Wanted,
    measured: &MeasuredSuites,
    project: &Project,
    progress: &Progress,
    out: &mut dyn Write,
) -> anyhow::Result<bool> {
    let texts = match &wanted.what {
        What::Cpu(settings) => {
            progress.begin("single calls for the report", 1);
            let report = cpu_report(&wanted.suite, settings)?;
            progress.end();
            report.map(|json| (json, String::new()))
        }
        What::Gpu(asked) => match measured.runs.iter().find(|run| run.suite == wanted.suite) {
            Some(run) => {
                progress.begin("single calls for the report", 1);
                let compiled = project.private_folder().ok().map(|folder| folder.join("compiled"));
                let report = gpu_report(asked, run, compiled, progress)?;
                progress.end();
                report.and_then(|report| gpu_texts(&report))
            }
            None => Err("the suite gave no times for the report".to_owned()),
        },
        What::Trt => match measured.sweeps.first() {
            Some(report) => Ok((report.to_json(), trt_report::to_markdown(&report.to_value()))),
            None => Err("no case of the sweep was asked for".to_owned()),
        },
    };
    let files: Vec<&PathBuf> = [&wanted.json, &wanted.markdown].into_iter().flatten().collect();
    let (json, markdown) = match texts {
        Ok(texts) => texts,
        Err(reason) => {
            for path in files {
                super::warn(&format!("{reason}; `{}` is not written", path.display()));
            }
            return Ok(false);
        }
    };
    for (path, content) in [(&wanted.json, json), (&wanted.markdown, markdown)] {
        let Some(path) = path else { continue };
        write_atomic(path, content.as_bytes())?;
        writeln!(out, "wrote {}", text::printable(&path.display().to_string()))?;
    }
    Ok(true)
}

/// A report as JSON and as Markdown.
fn gpu_texts(report: &apex_x::gpu_report::GpuReport) -> Result<(String, String), String> {
    let markdown =
        apex_x::gpu_report::to_markdown(&report.to_value()?).map_err(|fault| format!("the report {fault}"))?;
    Ok((report.to_json()?, markdown))
}

//! `sprag run --output`: reports for the tools of Apex-X.

use std::io::Write;
use std::path::PathBuf;

use crate::Advice;
use crate::config::{Suite, SuiteKind};
use crate::measuring::MeasuredSuites;
use crate::project::Project;
use crate::text::{self, warn};
use sprag_base::files::{check_writable, write_atomic};
use sprag_formats::compat::apex_x::{self, markdown};
use sprag_measure::apex_x_report::{GpuReportOptions, cpu_report, gpu_report};
use sprag_measure::suite::Observer;

pub struct ApexXReport {
    suite: String,
    json: Option<PathBuf>,
    markdown: Option<PathBuf>,
    kind: ReportKind,
}

pub enum ReportKind {
    Cpu(apex_x::cpu_report::CpuSettings),
    Gpu(Box<GpuReportOptions>),
    Trt,
}

impl ApexXReport {
    /// Checks everything before measuring. `kind` gives the settings for the kind of the suite; `None` if no file is named.
    pub fn new(
        json: Option<PathBuf>,
        markdown: Option<PathBuf>,
        asked: &[(&str, &Suite)],
        kind: impl FnOnce(SuiteKind) -> Result<Option<ReportKind>, Advice>,
    ) -> crate::Result<Option<ApexXReport>> {
        let option = match (&json, &markdown) {
            (None, None) => return Ok(None),
            (Some(_), _) => "--output",
            (None, Some(_)) => "--output-md",
        };
        let advice = |message: String| {
            Advice::new(
                message,
                "name one suite of kind `cpu`, `gpu` or `trt` with `--suite`; `--output-run` writes the record of any",
            )
        };
        let [(name, suite)] = asked else {
            let count = asked.len();
            return Err(advice(format!("`{option}` takes the report of one suite, and {count} would run")).into());
        };
        let Some(kind) = kind(suite.kind)? else {
            let message = format!("`{option}` writes the report of kernels or of TensorRT, and `{name}` is neither");
            return Err(advice(message).into());
        };
        for path in [&json, &markdown].into_iter().flatten() {
            check_writable(path)?;
        }
        Ok(Some(ApexXReport { suite: (*name).to_owned(), json, markdown, kind }))
    }
}

/// Returns whether the report was written. If a kernel is wrong or its process fails, a warning says so and an older file stays.
pub fn write(
    report: &ApexXReport,
    measured: &MeasuredSuites,
    project: &Project,
    observer: &dyn Observer,
    out: &mut dyn Write,
) -> crate::Result<bool> {
    let texts = match &report.kind {
        ReportKind::Cpu(settings) => {
            observer.begin("single calls for the report", 1);
            let text = cpu_report(&report.suite, settings)?;
            observer.end();
            text.map(|json| (json, String::new()))
        }
        ReportKind::Gpu(asked) => match measured.runs.iter().find(|run| run.suite == report.suite) {
            Some(run) => {
                observer.begin("single calls for the report", 1);
                let compiled = project.private_folder().ok().map(|folder| folder.join("compiled"));
                let gpu = gpu_report(asked, run, compiled, observer)?;
                observer.end();
                gpu.and_then(|gpu| gpu_texts(&gpu))
            }
            None => Err("the suite gave no times for the report".to_owned()),
        },
        ReportKind::Trt => match measured.sweeps.first() {
            Some(sweep) => Ok((sweep.to_json(), markdown::sweep(&sweep.to_value()))),
            None => Err("no case of the sweep was asked for".to_owned()),
        },
    };
    let files: Vec<&PathBuf> = [&report.json, &report.markdown].into_iter().flatten().collect();
    let (json, markdown) = match texts {
        Ok(texts) => texts,
        Err(reason) => {
            for path in files {
                warn(&format!("{reason}; `{}` is not written", path.display()));
            }
            return Ok(false);
        }
    };
    for (path, content) in [(&report.json, json), (&report.markdown, markdown)] {
        let Some(path) = path else { continue };
        write_atomic(path, content.as_bytes())?;
        writeln!(out, "wrote {}", text::path(path))?;
    }
    Ok(true)
}

fn gpu_texts(report: &apex_x::gpu_report::GpuReport) -> Result<(String, String), String> {
    let markdown = markdown::gpu_report(&report.to_value()?).map_err(|fault| format!("the report {fault}"))?;
    Ok((report.to_json()?, markdown))
}

//! `sprag run --output`: the report of the seed's CPU suite, timed by one more process.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::cpu_suite::worker_command;
use super::progress::Progress;
use super::project::{check_writable, write_whole};
use super::{Advice, text};
use crate::cli::{RunArgs, SingleCallArgs};
use crate::config::{Suite, SuiteKind};
use crate::formats::apex_x::cpu_report::{self, Place, Settings, Timings};
use crate::measure::seed::{self, SEED_VERSION, SeedPlan};
use crate::measure::{environment, gpu};

/// A report that was asked for and can be written.
pub(super) struct Wanted {
    path: PathBuf,
    suite: String,
    calls: SingleCallArgs,
}

/// What the report needs, checked before anything is measured; `None` where none is asked for.
///
/// # Errors
/// When another number of suites than one would run, it is not one of CPU kernels, or the file cannot be written.
pub(super) fn wanted(folder: &Path, args: &RunArgs, asked: &[(&str, &Suite)]) -> anyhow::Result<Option<Wanted>> {
    let Some(path) = args.output.as_ref().map(|path| folder.join(path)) else { return Ok(None) };
    let hint = "name one suite of kind `cpu` with `--suite`; `--output-run` writes the record of any suite".to_owned();
    let message = match asked {
        [(_, suite)] if suite.kind == SuiteKind::Cpu => None,
        [(name, _)] => Some(format!("`--output` writes the report of a CPU suite, and `{name}` is none")),
        more => Some(format!("`--output` takes the report of one suite, and {} would run", more.len())),
    };
    if let Some(message) = message {
        return Err(Advice { message, hint }.into());
    }
    check_writable(&path)?;
    Ok(Some(Wanted { path, suite: asked[0].0.to_owned(), calls: args.single_calls }))
}

/// Times the kernels and writes the report. Whether it came about: where a kernel is wrong or the process fails there
/// is no report, an older file stands as it was, and a warning says why.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(wanted: &Wanted, progress: &Progress, out: &mut dyn Write) -> anyhow::Result<bool> {
    progress.begin("single calls for the report", 1);
    let settings = Settings {
        infer_warmup: wanted.calls.infer_warmup,
        infer_iters: wanted.calls.infer_iters,
        micro_warmup: wanted.calls.micro_warmup,
        micro_iters: wanted.calls.micro_iters,
        seed: wanted.calls.seed,
    };
    let plan = SeedPlan {
        version: SEED_VERSION,
        suite: wanted.suite.clone(),
        infer_warmup: settings.infer_warmup,
        infer_iters: settings.infer_iters,
        micro_warmup: settings.micro_warmup,
        micro_iters: settings.micro_iters,
        seed: settings.seed,
    };
    let times = seed::measure(&worker_command("seed")?, &plan);
    progress.end();
    let times = match times {
        Ok(times) => times,
        Err(error) => {
            super::warn(&format!("{error}; `{}` is not written", wanted.path.display()));
            return Ok(false);
        }
    };
    let milliseconds = |nanos: &[u64]| nanos.iter().map(|nanos| *nanos as f64 / 1e6).collect();
    let timings = Timings {
        infer: milliseconds(&times.infer),
        tile_pack: milliseconds(&times.tile_pack),
        tile_unpack: milliseconds(&times.tile_unpack),
        fusion_gate: milliseconds(&times.fusion_gate),
    };
    let facts = environment::environment(&BTreeMap::new()).facts;
    let place = Place { platform: platform(&facts), cuda_available: gpu::probe::device().is_ok() };
    let Some(report) = cpu_report::to_json(&settings, &place, &timings) else {
        super::warn(&format!("a kernel gave no times; `{}` is not written", wanted.path.display()));
        return Ok(false);
    };
    write_whole(&wanted.path, report.as_bytes())?;
    writeln!(out, "wrote {}", text::printable(&wanted.path.display().to_string()))?;
    Ok(true)
}

/// The platform as Python words it, such as `Linux-6.1.0-x86_64-with-glibc2.36`.
fn platform(facts: &BTreeMap<String, String>) -> String {
    let system = match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "macOS",
        "windows" => "Windows",
        other => other,
    };
    let mut platform = system.to_owned();
    for part in [facts.get("os_release").map(String::as_str), Some(std::env::consts::ARCH)].into_iter().flatten() {
        platform.push_str(&format!("-{}", part.replace(' ', "_")));
    }
    if let Some(libc) = facts.get("libc") {
        platform.push_str(&format!("-with-{}", libc.replace(' ', "")));
    }
    platform
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_is_worded_as_python_does() {
        let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let full = platform(&BTreeMap::from([fact("os_release", "6.1.0-9"), fact("libc", "glibc 2.36")]));
        let architecture = std::env::consts::ARCH;
        assert!(full.ends_with(&format!("-6.1.0-9-{architecture}-with-glibc2.36")), "{full}");
        assert!(platform(&BTreeMap::new()).ends_with(architecture));
    }
}

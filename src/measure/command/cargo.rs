//! Builds one program of a Cargo package and reads from Cargo where it lies and what its build script set.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::MeasureError;
use crate::command::suite::BUILD_LINES;
use crate::command::{self, Invocation};
use crate::process::WorkerCommand;

/// Bytes of Cargo's messages.
const MOST_MESSAGES: u64 = 256 << 20;

pub struct CargoBuild<'a> {
    pub folder: &'a Path,
    pub program: &'a str,
    /// Cargo reuses what lies there.
    pub target: &'a Path,
    pub time_out: Duration,
    pub without: &'a [&'a str],
    /// Starts a guard, which ends the build where this process dies.
    pub guard: Option<&'a WorkerCommand>,
}

#[derive(Debug, PartialEq)]
pub struct Built {
    /// The next build replaces it.
    pub program: PathBuf,
    /// Those that the build script of its package set for the compiler.
    pub variables: BTreeMap<String, String>,
}

/// Builds the program as users do: optimized, with the dependencies of `Cargo.lock`.
pub fn build(build: &CargoBuild<'_>) -> Result<Built, MeasureError> {
    forget(build.target, build.program);
    let target = build.target.to_string_lossy();
    let words = ["cargo", "build", "--release", "--locked", "--message-format", "json-render-diagnostics"];
    let more = ["--bin", build.program, "--target-dir", &target];
    let command: Vec<String> = words.into_iter().chain(more).map(str::to_owned).collect();
    let program = Invocation {
        passed: Some(&[]),
        without: build.without,
        most_bytes: MOST_MESSAGES,
        keep_output: true,
        guard: build.guard,
        ..Invocation::new(&command, build.folder, build.time_out)
    };
    match command::run(&program, BUILD_LINES) {
        Ok(output) => parse_build(&output, build.program)
            .ok_or_else(|| MeasureError::Build(format!("cargo built no program `{}`", build.program))),
        Err(fault) => Err(MeasureError::Build(fault.text().to_owned())),
    }
}

/// Makes Cargo rebuild the package: it compares the times of files, which are equal in two checkouts.
fn forget(target: &Path, package: &str) {
    let below = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    // A target triple adds a folder.
    for folder in std::iter::once(target.to_owned()).chain(below(target)) {
        for entry in below(&folder.join("release/.fingerprint")) {
            let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.rsplit_once('-').is_some_and(|(name, _)| name == package) {
                let _ = fs::remove_dir_all(entry);
            }
        }
    }
}

#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    target: Option<Target>,
    #[serde(default)]
    env: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// The program of that name in Cargo's messages, with the variables of its build script.
fn parse_build(output: &[u8], name: &str) -> Option<Built> {
    let text = String::from_utf8_lossy(output);
    let messages: Vec<CargoMessage> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let is_it = |target: &Target| target.name == name && target.kind.iter().any(|kind| kind == "bin");
    let of_program =
        messages.iter().rfind(|one| one.reason == "compiler-artifact" && one.target.as_ref().is_some_and(is_it))?;
    let script =
        messages.iter().rfind(|one| one.reason == "build-script-executed" && one.package_id == of_program.package_id);
    Some(Built {
        program: of_program.executable.clone()?,
        variables: script.map(|one| one.env.iter().cloned().collect()).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_package_itself_is_forgotten() {
        let target = tempfile::tempdir().expect("a temporary folder");
        let folders = ["release/.fingerprint/", "some-target/release/.fingerprint/"];
        let exists = |name: &str| folders.map(|folder| target.path().join(folder).join(name).exists());
        for (folder, name) in folders.iter().flat_map(|folder| [(folder, "sprag-0a"), (folder, "sprag-more-0b")]) {
            fs::create_dir_all(target.path().join(folder).join(name)).expect("a folder");
        }
        forget(target.path(), "sprag");
        assert_eq!((exists("sprag-0a"), exists("sprag-more-0b")), ([false; 2], [true; 2]));
        forget(&target.path().join("nowhere"), "sprag");
    }

    #[test]
    fn the_program_and_its_own_build_script_are_listed() {
        let output = r#"
{"reason":"build-script-executed","package_id":"other 1","env":[["SPRAG_FLAGS","theirs"]]}
{"reason":"compiler-artifact","package_id":"path+file:///p#sprag@0.1.0","target":{"kind":["lib"],"name":"sprag"},"executable":null}
{"reason":"build-script-executed","package_id":"path+file:///p#sprag@0.1.0","env":[["SPRAG_FLAGS","opt-level=3"]]}
{"reason":"compiler-artifact","package_id":"path+file:///p#sprag@0.1.0","target":{"kind":["bin"],"name":"sprag"},"executable":"/t/release/sprag"}
{"reason":"build-finished","success":true}
what a wrapper says
"#;
        let build = parse_build(output.as_bytes(), "sprag").expect("it is listed");
        assert_eq!(build.program, PathBuf::from("/t/release/sprag"));
        assert_eq!(build.variables, BTreeMap::from([("SPRAG_FLAGS".to_owned(), "opt-level=3".to_owned())]));
        assert_eq!(parse_build(output.as_bytes(), "else"), None);
        assert_eq!(parse_build(b"", "sprag"), None);
    }
}

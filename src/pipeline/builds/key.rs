//! What decides a build, as one digest: the files of the commit, the step that builds them, and the tools with their settings.

use std::process::Command;

use serde::Serialize;
use serde_json::json;

use crate::config::Suite;
use sprag_base::process::probe;
use sprag_base::{digest, json};
use sprag_measure::command::CHECKOUT_WITHOUT;

/// Variables that compilers and build tools read; those that end with `_` are prefixes.
const VARIABLES: [&str; 35] = [
    "AR", "CC", "CFLAGS", "CGO_", "CMAKE_", "CPATH", "CPLUS_INCLUDE_PATH", "CPPFLAGS", "C_INCLUDE_PATH", "CUDAARCHS",
    "CUDACXX", "CXX", "CXXFLAGS", "CARGO_BUILD_", "CARGO_ENCODED_RUSTFLAGS", "CARGO_PROFILE_", "CARGO_TARGET_",
    "GOAMD64", "GOARCH", "GOEXPERIMENT", "GOFLAGS", "GOOS", "GOTOOLCHAIN", "JAVA_HOME", "JAVA_TOOL_OPTIONS", "LD",
    "LDFLAGS", "LIBRARY_PATH", "MAKEFLAGS", "NVCC_", "PKG_CONFIG_PATH", "RUSTC", "RUSTFLAGS", "RUSTUP_TOOLCHAIN",
    "VIRTUAL_ENV",
];

/// Tools that say which version they are.
const TOOLS: [&str; 9] = [
    "cc --version", "c++ --version", "go version", "java -version", "node --version", "nvcc --version",
    "python3 --version", "rustc -vV", "zig version",
];

#[derive(Serialize)]
pub(super) struct Inputs<'a> {
    /// Trees borrow its objects.
    pub(super) repository: &'a str,
    /// The id of the commit's tree, or a digest of its files that decide.
    pub(super) tree: &'a str,
    pub(super) tools: &'a str,
}

pub(super) fn key(inputs: &Inputs<'_>, suite: &Suite) -> String {
    let all = json!({
        "inputs": inputs, "kind": suite.kind.word(), "build": suite.build, "cwd": suite.cwd, "env": suite.env,
    });
    digest::sha256_hex(json::to_canonical(&all).as_bytes())[..16].to_owned()
}

/// The tools that the search path leads to, and the variables that they read. `machine` says where they run.
pub(super) fn tools(folder: &std::path::Path, machine: &str) -> String {
    let version = |words: &str| {
        let mut words = words.split(' ');
        let output = probe(Command::new(words.next()?).args(words).current_dir(folder)).ok()?;
        Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let versions: Vec<Option<String>> = TOOLS.iter().map(|words| version(words)).collect();
    let mut variables: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .filter(|(name, _)| decides(name))
        .collect();
    variables.sort();
    digest::sha256_hex(json::to_canonical(&(machine, versions, variables)).as_bytes())
}

fn decides(variable: &str) -> bool {
    let fits = |name: &str| if name.ends_with('_') { variable.starts_with(name) } else { variable == name };
    VARIABLES.into_iter().any(fits) && !CHECKOUT_WITHOUT.contains(&variable)
}

/// Whether what the step makes lies in its checkout alone: an installation changes what other commits find.
pub(super) fn stays_inside(build: &[String]) -> bool {
    let mut words = build.iter().flat_map(|word| word.split(|c: char| c.is_whitespace() || ";&|()".contains(c)));
    !build.is_empty() && words.all(|word| !["install", "develop"].contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_decides_a_build_changes_its_key() {
        let inputs = || Inputs { repository: "/project", tree: "1", tools: "cc 14" };
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let suite = || Suite { build: words("make bench"), ..Suite::default() };
        let variable = [("CFLAGS".to_owned(), "-O3".to_owned())];
        let keys = [
            key(&inputs(), &suite()),
            key(&Inputs { tree: "2", ..inputs() }, &suite()),
            key(&Inputs { tools: "cc 15", ..inputs() }, &suite()),
            key(&Inputs { repository: "/other", ..inputs() }, &suite()),
            key(&inputs(), &Suite { build: words("make all"), ..suite() }),
            key(&inputs(), &Suite { cwd: Some("below".into()), ..suite() }),
            key(&inputs(), &Suite { env: variable.into(), ..suite() }),
        ];
        assert_eq!(keys.iter().collect::<std::collections::BTreeSet<_>>().len(), keys.len());
        assert_eq!(keys[0], key(&inputs(), &Suite { command: words("./bench"), processes: Some(3), ..suite() }));
    }

    #[test]
    fn variables_of_tools_decide_and_a_step_that_installs_is_not_cached() {
        for (name, expected) in [
            ("CC", true),
            ("CCACHE_DIR", false),
            ("CARGO_PROFILE_BENCH_LTO", true),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", true),
            ("CARGO_TARGET_DIR", false),
            ("PATH", false),
            ("RUSTC_WRAPPER", false),
        ] {
            assert_eq!(decides(name), expected, "{name}");
        }
        for (build, expected) in [
            (&["make", "bench"][..], true),
            (&["sh", "-c", "cmake -S . -B build && cmake --build build"], true),
            (&["pip", "install", "-e", "."], false),
            (&["sh", "-c", "cd py; maturin develop --release"], false),
            (&[], false),
        ] {
            let build: Vec<String> = build.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(stays_inside(&build), expected, "{build:?}");
        }
    }
}

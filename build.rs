//! Tells the program which compiler and which flags built it, and from which sources: they are part of a run's
//! environment, and of the trust in it.

#[path = "src/measure/sources.rs"]
#[expect(unreachable_pub, reason = "the program uses the same file, where these are public")]
mod sources;

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    println!("cargo:rustc-env=SPRAG_COMPILER={}", compiler());
    println!("cargo:rustc-env=SPRAG_FLAGS={}", flags());
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    for part in sources::PARTS {
        println!("cargo:rerun-if-changed={part}");
    }
    // A package without one of them, as from a registry, has no folder that it could be the build of.
    println!("cargo:rustc-env=SPRAG_SOURCES={}", sources::digest(Path::new(&root)).unwrap_or_default());
    println!("cargo:rustc-env=SPRAG_TARGET={}", env::var("TARGET").unwrap_or_default());
}

/// The first line of `rustc --version`, such as `rustc 1.95.0 (59807616e 2026-04-14)`.
fn compiler() -> String {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(rustc).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if text.is_empty() { "unknown".to_owned() } else { text }
}

/// The settings that change the machine code. An allow-list: other flags may hold paths of the builder.
fn flags() -> String {
    let mut flags = vec![format!("opt-level={}", env::var("OPT_LEVEL").unwrap_or_default())];
    let encoded = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    for word in encoded.split('\u{1f}').map(|word| word.trim_start_matches("-C")) {
        if ["target-cpu=", "target-feature=", "opt-level=", "lto=", "codegen-units="]
            .iter()
            .any(|key| word.starts_with(key))
        {
            flags.push(word.to_owned());
        }
    }
    flags.join(" ")
}

//! Tells the program which compiler and which flags built it: they are part of a run's environment.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    println!("cargo:rustc-env=SPRAG_COMPILER={}", compiler());
    println!("cargo:rustc-env=SPRAG_FLAGS={}", flags());
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

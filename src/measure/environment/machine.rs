//! Which computer this is: by the name its owner gave it, else by a digest of its hardware.

use super::cpu::{self, Cpu};
use super::memory;
use sprag_model::environment::Machine;
use std::collections::BTreeMap;

/// The variable that names this computer.
pub const MACHINE_VARIABLE: &str = "SPRAG_MACHINE";

/// This computer: by the given name, else by a digest of its hardware. `gpu` is its GPU model, where it has one.
pub fn machine(name: Option<&str>, gpu: Option<&str>) -> Machine {
    let cpu = Cpu::read();
    let class = gpu.map_or_else(|| cpu.class(), str::to_owned);
    match name.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => Machine::named(name, &class),
        None => {
            let cores = cpu::cores();
            let mut hardware = BTreeMap::from([
                ("vendor".to_owned(), cpu.vendor.clone()),
                ("model".to_owned(), cpu.class()),
                ("cores".to_owned(), cores.to_string()),
                ("memory_gib".to_owned(), memory::memory_and_swap_gib().0.to_string()),
            ]);
            if let Some(gpu) = gpu {
                hardware.insert("gpu".to_owned(), gpu.to_owned());
            }
            let name = match gpu {
                Some(gpu) => gpu.to_owned(),
                None => format!("{}, {cores} {}", cpu.brand, if cores == 1 { "core" } else { "cores" }),
            };
            Machine::from_hardware(&hardware, &name, &class)
        }
    }
}

/// The platform as Python words it, such as `Linux-6.1.0-x86_64-with-glibc2.36`.
pub fn platform(facts: &BTreeMap<String, String>) -> String {
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
    fn a_given_name_decides_which_machine_this_is() {
        let named = machine(Some("bench-1"), None);
        assert_eq!(named.name, "bench-1");
        assert_eq!(named.id, machine(Some(" bench-1 "), None).id);
        let unnamed = machine(None, None);
        assert_eq!(unnamed, machine(Some("  "), None));
        assert_ne!(unnamed.id, named.id);
        assert_eq!(unnamed.class, named.class);
        assert_eq!(machine(None, Some("NVIDIA H200")).class, "NVIDIA H200");
    }

    #[test]
    fn a_platform_is_worded_as_python_does() {
        let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let full = platform(&BTreeMap::from([fact("os_release", "6.1.0-9"), fact("libc", "glibc 2.36")]));
        let architecture = std::env::consts::ARCH;
        assert!(full.ends_with(&format!("-6.1.0-9-{architecture}-with-glibc2.36")), "{full}");
        assert!(platform(&BTreeMap::new()).ends_with(architecture));
    }
}

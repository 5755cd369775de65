//! The machine and the circumstances of a run: facts by allow-list, never a host, user or path name.

use std::collections::BTreeMap;
use std::process::Command;

use sysinfo::System;

use crate::model::environment::{Environment, Machine};

/// The variable that names this computer.
pub const MACHINE_VARIABLE: &str = "SPRAG_MACHINE";

/// This computer: by the given name, else by a digest of its hardware. `gpu` is its GPU model, where it has one.
pub fn machine(name: Option<&str>, gpu: Option<&str>) -> Machine {
    let cpu = Cpu::read();
    let class = gpu.map_or_else(|| cpu.class(), str::to_owned);
    match name.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => Machine::named(name, &class),
        None => {
            let mut hardware = BTreeMap::from([
                ("vendor".to_owned(), cpu.vendor.clone()),
                ("model".to_owned(), cpu.class()),
                ("cores".to_owned(), cores().to_string()),
                ("memory_gib".to_owned(), memory_gib().to_string()),
            ]);
            if let Some(gpu) = gpu {
                hardware.insert("gpu".to_owned(), gpu.to_owned());
            }
            let name = match gpu {
                Some(gpu) => gpu.to_owned(),
                None => format!("{}, {} cores", cpu.brand, cores()),
            };
            Machine::from_hardware(&hardware, &name, &class)
        }
    }
}

/// What holds here and now. `device` adds the facts of a GPU, such as its driver.
pub fn environment(device: &BTreeMap<String, String>) -> Environment {
    let cpu = Cpu::read();
    let mut facts = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| {
        let value = value.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        if let Some(value) = value.filter(|text| !text.is_empty()) {
            facts.insert(name.to_owned(), value);
        }
    };
    put("cpu_model", Some(format!("{} {}", cpu.brand, cpu.signature).trim().to_owned()));
    put("cpu_features", Some(cpu.features.join(" ")));
    put("microcode", first_value("/proc/cpuinfo", "microcode"));
    put("cores", Some(cores().to_string()));
    put("memory_gib", Some(memory_gib().to_string()));
    put("os_release", System::kernel_version());
    put("os", System::long_os_version());
    put("libc", libc_version());
    put("virtual_machine", cpu.virtual_machine.map(|is| if is { "yes" } else { "no" }.to_owned()));
    put("governor", read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    put("huge_pages", read("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| bracketed(&text)));
    put("load_1m", Some(format!("{:.2}", System::load_average().one)));
    put("compiler", Some(env!("SPRAG_COMPILER").to_owned()));
    put("flags", Some(env!("SPRAG_FLAGS").to_owned()));
    put("target", Some(env!("SPRAG_TARGET").to_owned()));
    put("sprag", Some(env!("CARGO_PKG_VERSION").to_owned()));
    for (name, value) in device {
        put(name, Some(value.clone()));
    }
    Environment::from_facts(facts)
}

/// What the processor says of itself.
struct Cpu {
    vendor: String,
    brand: String,
    signature: String,
    features: Vec<String>,
    virtual_machine: Option<bool>,
}

impl Cpu {
    #[cfg(target_arch = "x86_64")]
    fn read() -> Cpu {
        let cpuid = raw_cpuid::CpuId::new();
        let vendor = cpuid.get_vendor_info().map(|info| info.as_str().to_owned());
        let brand = cpuid.get_processor_brand_string().map(|info| info.as_str().trim().to_owned());
        let info = cpuid.get_feature_info();
        let signature = info
            .as_ref()
            .map(|info| format!("(family {}, model {})", info.family_id(), info.model_id()))
            .unwrap_or_default();
        let extended = cpuid.get_extended_feature_info();
        let has = |name: &str, present: Option<bool>| present.unwrap_or(false).then(|| name.to_owned());
        let features = [
            has("sse4.2", info.as_ref().map(|info| info.has_sse42())),
            has("avx", info.as_ref().map(|info| info.has_avx())),
            has("avx2", extended.as_ref().map(|info| info.has_avx2())),
            has("fma", info.as_ref().map(|info| info.has_fma())),
            has("avx512f", extended.as_ref().map(|info| info.has_avx512f())),
        ];
        Cpu {
            vendor: vendor.unwrap_or_else(|| "unknown vendor".to_owned()),
            brand: brand.filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown CPU".to_owned()),
            signature,
            features: features.into_iter().flatten().collect(),
            virtual_machine: info.map(|info| info.has_hypervisor()),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn read() -> Cpu {
        let mut system = System::new();
        system.refresh_cpu_all();
        let first = system.cpus().first();
        let text = |value: Option<&str>, absent: &str| {
            value.map(str::trim).filter(|text| !text.is_empty()).unwrap_or(absent).to_owned()
        };
        Cpu {
            vendor: text(first.map(|cpu| cpu.vendor_id()), "unknown vendor"),
            brand: text(first.map(|cpu| cpu.brand()), std::env::consts::ARCH),
            signature: String::new(),
            features: Vec::new(),
            virtual_machine: None,
        }
    }

    fn class(&self) -> String {
        format!("{} {}", self.brand, self.signature).trim().to_owned()
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Whole gibibytes, rounded: the exact figure moves with the kernel's own needs.
fn memory_gib() -> u64 {
    let mut system = System::new();
    system.refresh_memory();
    (system.total_memory() as f64 / f64::from(1 << 30)).round() as u64
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The value of the first `name : value` line of a file under `/proc`.
fn first_value(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The chosen word of a kernel setting such as `always [madvise] never`.
fn bracketed(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// Such as `glibc 2.36`; absent where the C library does not say.
fn libc_version() -> Option<String> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
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
    fn facts_are_of_the_allow_list_and_stable() {
        let allowed = [
            "cpu_model",
            "cpu_features",
            "microcode",
            "cores",
            "memory_gib",
            "os_release",
            "os",
            "libc",
            "virtual_machine",
            "governor",
            "huge_pages",
            "load_1m",
            "compiler",
            "flags",
            "target",
            "sprag",
        ];
        let environment = environment(&BTreeMap::new());
        for name in environment.facts.keys() {
            assert!(allowed.contains(&name.as_str()), "{name}");
        }
        for name in ["cpu_model", "compiler", "flags", "cores"] {
            assert!(environment.facts.contains_key(name), "{name}");
        }
        assert_eq!(environment.key, super::environment(&BTreeMap::new()).key);
        let driver = BTreeMap::from([("gpu_driver".to_owned(), "580.1".to_owned())]);
        assert_ne!(environment.key, super::environment(&driver).key);
    }

    #[test]
    fn the_chosen_word_of_a_setting_is_found() {
        assert_eq!(bracketed("always [madvise] never"), Some("madvise".to_owned()));
        assert_eq!(bracketed("none"), None);
    }
}

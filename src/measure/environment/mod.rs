//! The machine and the circumstances of a run: facts by allow-list, never a host, user or path name.
//!
//! Each module reads one part of the system. What cannot be read is absent, never a guess.

mod cpu;
pub mod pressure;
pub mod redact;

use std::collections::BTreeMap;
use std::process::Command;

use sysinfo::System;

use self::cpu::Cpu;
use sprag_base::process::probe;
use sprag_model::environment::DURATION;
use sprag_model::{Environment, Machine};

/// Every fact that may be recorded; others are dropped.
///
/// Names are part of records and do not change. Which of them the environment key covers says
/// [`sprag_model::environment::KEY_FACTS`]; what is offered of a GPU, [`crate::gpu::nvml`].
pub const FACT_NAMES: [&str; 59] = [
    "allowed_cpus", "aslr", "boost", "cache_l1d_bytes", "cache_l1i_bytes", "cache_l2_bytes", "cache_l3_bytes",
    "cache_l4_bytes", "clock_source", "compiler", "container", "cores", "counters", "cpu_features", "cpu_model",
    "cpu_quota_cores", DURATION, "flags", "governor", "gpu_clock_max_memory_mhz", "gpu_clock_max_sm_mhz",
    "gpu_compute_capability", "gpu_compute_mode", "gpu_driver", "gpu_ecc", "gpu_l2_bytes", "gpu_memory_bytes",
    "gpu_mig", "gpu_multiprocessors", "gpu_pcie", "gpu_persistence", "gpu_power_limit_watts", "gpu_uuid_hash",
    "gpu_vbios", "huge_pages", "huge_pages_defrag", "hypervisor", "libc", "load_1m", "load_1m_after", "memory_gib",
    "microcode", "numa_nodes", "nvml", "nvrtc", "os", "os_release", "page_bytes", "perf_event_paranoid", "pinning",
    "sockets", "sprag", "steal_share", "swap_gib", "target", "tensorrt", "threads_per_core", "throttled_periods",
    "virtual_machine",
];

/// The environment here and now. `more` adds facts of a GPU or of the pressure during a run. Values lose paths and secrets.
pub fn environment(more: &BTreeMap<String, String>) -> Environment {
    let more = more.iter().map(|(name, value)| (name.as_str(), Some(value.clone())));
    Environment::from_facts(allowed(gathered().into_iter().chain(more)))
}

/// The environment of programs that Sprag only starts: how it was built itself is none of their facts.
pub fn environment_of_programs(more: &BTreeMap<String, String>) -> Environment {
    let mut facts = environment(&BTreeMap::new()).facts;
    facts.retain(|name, _| !BUILD_FACTS.contains(&name.as_str()));
    facts.extend(allowed(more.iter().map(|(name, value)| (name.as_str(), Some(value.clone())))));
    Environment::from_facts(facts)
}

/// How this build of Sprag was made.
const BUILD_FACTS: [&str; 3] = ["compiler", "flags", "target"];

fn allowed<'a>(facts: impl Iterator<Item = (&'a str, Option<String>)>) -> BTreeMap<String, String> {
    facts
        .filter(|(name, _)| FACT_NAMES.contains(name))
        .filter_map(|(name, value)| Some((name.to_owned(), redact::redacted(&value?))))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

fn gathered() -> Vec<(&'static str, Option<String>)> {
    let cpu = Cpu::read();
    let cpuinfo = cpu::read("/proc/cpuinfo").unwrap_or_default();
    let (memory_gib, swap_gib) = cpu::memory_and_swap_gib();
    let word = |value: Option<&str>| value.map(str::to_owned);
    let count = |value: Option<usize>| value.map(|number| number.to_string());
    let mut facts = vec![
        ("cpu_model", Some(cpu.class())),
        ("cpu_features", Some(cpu.features.join(" "))),
        ("microcode", word(cpu::named_value(&cpuinfo, "microcode"))),
        ("cores", Some(cores().to_string())),
        ("threads_per_core", count(cpu::threads_per_core())),
        ("sockets", count(cpu::sockets(&cpuinfo))),
        ("numa_nodes", count(cpu::read("/sys/devices/system/node/online").and_then(|list| cpu::list_length(&list)))),
        ("allowed_cpus", cpu::placement().map(|(allowed, _)| allowed.to_string())),
        ("pinning", word(cpu::placement().map(|(_, may_pin)| if may_pin { "permitted" } else { "not permitted" }))),
        ("cpu_quota_cores", pressure::quota_cores().map(|cores| cores.to_string())),
        ("memory_gib", Some(memory_gib.to_string())),
        ("swap_gib", Some(swap_gib.to_string())),
        ("page_bytes", cpu::page_bytes().map(|bytes| bytes.to_string())),
        ("huge_pages", cpu::setting("/sys/kernel/mm/transparent_hugepage/enabled")),
        ("huge_pages_defrag", cpu::setting("/sys/kernel/mm/transparent_hugepage/defrag")),
        ("os_release", System::kernel_version()),
        ("os", System::long_os_version()),
        ("libc", libc_version()),
        ("virtual_machine", word(cpu.virtual_machine.map(|is| if is { "yes" } else { "no" }))),
        ("hypervisor", word(cpu.hypervisor)),
        ("container", word(cpu::container())),
        ("governor", cpu::read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("boost", word(cpu::boost())),
        ("clock_source", cpu::read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        ("aslr", word(cpu::address_randomisation())),
        (
            "perf_event_paranoid",
            cpu::read("/proc/sys/kernel/perf_event_paranoid").filter(|one| one.parse::<i32>().is_ok()),
        ),
        ("counters", word(cpu::counters())),
        ("load_1m", Some(format!("{:.2}", System::load_average().one))),
        ("compiler", word(Some(env!("SPRAG_COMPILER")))),
        ("flags", word(Some(env!("SPRAG_FLAGS")))),
        ("target", word(Some(env!("SPRAG_TARGET")))),
        ("sprag", word(Some(env!("CARGO_PKG_VERSION")))),
    ];
    facts.extend(cpu::caches().into_iter().map(|(name, bytes)| (name, Some(bytes.to_string()))));
    facts
}

/// How many processors this process may use at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Such as `glibc 2.36`; absent where the C library does not report it.
fn libc_version() -> Option<String> {
    let output = probe(Command::new("getconf").arg("GNU_LIBC_VERSION")).ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub const MACHINE_VARIABLE: &str = "SPRAG_MACHINE";

/// This computer, by name or else by a digest of its hardware. `gpu` is its GPU model.
pub fn machine(name: Option<&str>, gpu: Option<&str>) -> Machine {
    let cpu = Cpu::read();
    let class = gpu.map_or_else(|| cpu.class(), str::to_owned);
    match name.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => Machine::named(name, &class),
        None => {
            let cores = cores();
            let mut hardware = BTreeMap::from([
                ("vendor".to_owned(), cpu.vendor.clone()),
                ("model".to_owned(), cpu.class()),
                ("cores".to_owned(), cores.to_string()),
                ("memory_gib".to_owned(), cpu::memory_and_swap_gib().0.to_string()),
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

/// As Python names it, such as `Linux-6.1.0-x86_64-with-glibc2.36`.
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
    use sprag_model::environment::KEY_FACTS;

    use super::*;

    #[test]
    fn facts_are_of_the_allow_list_and_stable() {
        assert!(FACT_NAMES.is_sorted() && KEY_FACTS.iter().all(|name| FACT_NAMES.contains(name)));
        for (name, _) in gathered() {
            assert!(FACT_NAMES.contains(&name), "{name} is gathered and not allowed");
        }
        let now = environment(&BTreeMap::new());
        assert!(now.facts.keys().all(|name| FACT_NAMES.contains(&name.as_str())), "{:?}", now.facts);
        for name in ["cpu_model", "compiler", "flags", "cores", "memory_gib", "target"] {
            assert!(now.facts.contains_key(name), "{name}");
        }
        assert_eq!(now.key, environment(&BTreeMap::new()).key);
        let driver = BTreeMap::from([("gpu_driver".to_owned(), "580.1".to_owned())]);
        assert_ne!(now.key, environment(&driver).key);
    }

    #[test]
    fn other_facts_and_private_values_are_dropped() {
        let offered = [
            ("user_name", Some("jo".to_owned())),
            ("governor", Some("powersave\n".to_owned())),
            ("flags", Some("lto=fat linker=/home/jo/ld".to_owned())),
            ("boost", None),
            ("libc", Some("  ".to_owned())),
        ];
        let facts = allowed(offered.into_iter());
        let expected = [("flags", "lto=fat linker=<path>"), ("governor", "powersave")];
        assert_eq!(facts, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }

    /// The key of a recorded run of 2026. A change of it would cut every recorded series off from its baseline.
    #[test]
    fn the_key_of_recorded_facts_is_frozen() {
        let frozen = [
            ("compiler", "rustc 1.95.0 (59807616e 2026-04-14)"),
            ("cpu_features", "sse4.2 avx avx2 fma avx512f"),
            ("cpu_model", "AMD EPYC (family 25, model 17)"),
            ("flags", "opt-level=3"),
            ("libc", "glibc 2.36"),
            ("microcode", "0x1000065"),
            ("os_release", "6.18.44-fc-v669"),
            ("cores", "2"),
        ];
        let facts = frozen.iter().map(|(name, value)| (*name, Some((*value).to_owned())));
        let recorded = Environment::from_facts(allowed(facts));
        assert_eq!(recorded.key, "fd0451b48469becd");
        let others = FACT_NAMES.iter().filter(|name| !KEY_FACTS.contains(name));
        let mut richer = recorded.facts.clone();
        richer.extend(others.map(|name| ((*name).to_owned(), "anything".to_owned())));
        assert_eq!(Environment::key_of(&richer), recorded.key);
    }

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

    #[test]
    fn no_fact_names_the_user_the_home_or_the_host() {
        let variables = ["HOME", "USER", "LOGNAME", "HOSTNAME"].map(|name| std::env::var(name).ok());
        let host = cpu::read("/proc/sys/kernel/hostname");
        let private: Vec<String> = variables.into_iter().chain([host]).flatten().collect();
        for (name, value) in environment(&BTreeMap::new()).facts {
            for word in value.split(' ') {
                assert!(!private.iter().any(|private| private == word), "`{name}` holds `{word}`");
                assert!(!word.starts_with(['/', '~']) && !word.contains('@'), "`{name}` holds `{word}`");
            }
        }
    }
}

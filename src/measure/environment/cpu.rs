//! What the processor says of itself: identity, instruction sets, caches, threads a core, sockets, hypervisor.

use super::text;
use std::collections::BTreeSet;

/// Where Linux describes the caches of the first processor.
const CACHE_FOLDER: &str = "/sys/devices/system/cpu/cpu0/cache";

/// The most cache entries that are looked at: no processor has as many.
const MOST_CACHES: usize = 16;

/// Identity and instruction sets.
pub(super) struct Cpu {
    pub(super) vendor: String,
    pub(super) brand: String,
    /// Family and model, in brackets.
    pub(super) signature: String,
    pub(super) features: Vec<String>,
    /// Whether a hypervisor runs it; absent where it does not say.
    pub(super) virtual_machine: Option<bool>,
    /// Which hypervisor; absent where there is none or it has no name.
    pub(super) hypervisor: Option<&'static str>,
}

impl Cpu {
    #[cfg(target_arch = "x86_64")]
    pub(super) fn read() -> Cpu {
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
            hypervisor: cpuid.get_hypervisor_info().and_then(|info| hypervisor_name(&info.identify())),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn read() -> Cpu {
        let mut system = sysinfo::System::new();
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
            hypervisor: None,
        }
    }

    /// Brand, family and model: what machines of one class share.
    pub(super) fn class(&self) -> String {
        format!("{} {}", self.brand, self.signature).trim().to_owned()
    }
}

#[cfg(target_arch = "x86_64")]
fn hypervisor_name(hypervisor: &raw_cpuid::Hypervisor) -> Option<&'static str> {
    use raw_cpuid::Hypervisor;
    match hypervisor {
        Hypervisor::Xen => Some("Xen"),
        Hypervisor::VMware => Some("VMware"),
        Hypervisor::HyperV => Some("Hyper-V"),
        Hypervisor::KVM => Some("KVM"),
        Hypervisor::QEMU => Some("QEMU"),
        Hypervisor::Bhyve => Some("bhyve"),
        Hypervisor::QNX => Some("QNX"),
        Hypervisor::ACRN => Some("ACRN"),
        Hypervisor::Unknown(..) => None,
    }
}

/// How many processors this process may use at once, at least one.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The caches that the first processor reaches: the name of the fact, and bytes.
pub(super) fn caches() -> Vec<(&'static str, u64)> {
    (0..MOST_CACHES)
        .map_while(|index| {
            let part = |name: &str| text::read(format!("{CACHE_FOLDER}/index{index}/{name}"));
            Some(cache(&part("level")?, &part("type")?, &part("size")?))
        })
        .flatten()
        .collect()
}

/// One cache as Linux describes it: level, type and size.
fn cache(level: &str, kind: &str, size: &str) -> Option<(&'static str, u64)> {
    let name = match (level, kind) {
        ("1", "Data" | "Unified") => "cache_l1d_bytes",
        ("1", "Instruction") => "cache_l1i_bytes",
        ("2", "Data" | "Unified") => "cache_l2_bytes",
        ("3", "Data" | "Unified") => "cache_l3_bytes",
        ("4", "Data" | "Unified") => "cache_l4_bytes",
        _ => return None,
    };
    Some((name, text::byte_size(size)?))
}

/// How many threads a core runs: above one, two of our processors may share the units of one core.
pub(super) fn threads_per_core() -> Option<usize> {
    text::list_length(&text::read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")?)
}

/// How many processors in sockets `/proc/cpuinfo` tells apart; absent where it tells none.
pub(super) fn sockets(cpuinfo: &str) -> Option<usize> {
    let ids: BTreeSet<&str> = cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(key, _)| key.trim() == "physical id")
        .map(|(_, value)| value.trim())
        .collect();
    (!ids.is_empty()).then_some(ids.len())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// How many processors this process may run on.
    pub(super) allowed: u32,
    pub(super) may_pin: bool,
}

/// Asks for the processors allowed to this thread, and for leave to run on just those; absent where it cannot be asked.
#[cfg(target_os = "linux")]
pub(super) fn placement() -> Option<Placement> {
    // On a thread of its own, as a thread keeps what it has asked for.
    let asked = std::thread::spawn(|| {
        let allowed = rustix::thread::sched_getaffinity(None).ok()?;
        let may_pin = rustix::thread::sched_setaffinity(None, &allowed).is_ok();
        Some(Placement { allowed: allowed.count(), may_pin })
    });
    asked.join().ok().flatten()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn placement() -> Option<Placement> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_known_by_level_and_type() {
        assert_eq!(cache("1", "Data", "48K"), Some(("cache_l1d_bytes", 48 << 10)));
        assert_eq!(cache("1", "Instruction", "32K"), Some(("cache_l1i_bytes", 32 << 10)));
        assert_eq!(cache("3", "Unified", "32768K"), Some(("cache_l3_bytes", 32 << 20)));
        assert_eq!(cache("2", "Instruction", "32K"), None);
        assert_eq!(cache("9", "Unified", "32K"), None);
        assert_eq!(cache("2", "Unified", "much"), None);
    }

    #[test]
    fn sockets_are_told_apart_by_number() {
        assert_eq!(sockets("physical id\t: 0\ncore id : 1\n\nphysical id\t: 1\n\nphysical id\t: 0\n"), Some(2));
        assert_eq!(sockets("processor : 0\nBogoMIPS : 50\n"), None);
        assert_eq!(sockets(""), None);
    }

    #[test]
    fn this_machine_has_a_processor_with_a_class() {
        let cpu = Cpu::read();
        assert!(!cpu.class().is_empty() && !cpu.vendor.is_empty() && cores() >= 1);
        assert!(cpu.hypervisor.is_none() || cpu.virtual_machine == Some(true));
        assert!(caches().iter().all(|(_, bytes)| *bytes > 0));
    }

    #[test]
    fn where_it_can_be_asked_some_processor_is_allowed() {
        if let Some(placement) = placement() {
            assert!(placement.allowed >= 1 && cores() <= placement.allowed as usize);
        }
    }
}

//! What the processor and the system report: identity, instruction sets, caches, topology, hypervisor, container, counters.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sysinfo::System;

/// The caches of the first processor on Linux, and the most that are read.
const CACHE_FOLDER: &str = "/sys/devices/system/cpu/cpu0/cache";
const MOST_CACHES: usize = 16;

pub(super) struct Cpu {
    pub(super) vendor: String,
    pub(super) brand: String,
    /// Family and model, in brackets.
    pub(super) signature: String,
    pub(super) features: Vec<String>,
    pub(super) virtual_machine: Option<bool>,
    pub(super) hypervisor: Option<&'static str>,
}

impl Cpu {
    #[cfg(target_arch = "x86_64")]
    pub(super) fn read() -> Cpu {
        let cpuid = raw_cpuid::CpuId::new();
        let vendor = cpuid.get_vendor_info().map(|info| info.as_str().to_owned());
        let brand = cpuid.get_processor_brand_string().map(|info| info.as_str().trim().to_owned());
        let info = cpuid.get_feature_info();
        let signature = info.as_ref().map(|info| format!("(family {}, model {})", info.family_id(), info.model_id()));
        let extended = cpuid.get_extended_feature_info();
        let features = [
            ("sse4.2", info.as_ref().map(|info| info.has_sse42())),
            ("avx", info.as_ref().map(|info| info.has_avx())),
            ("avx2", extended.as_ref().map(|info| info.has_avx2())),
            ("fma", info.as_ref().map(|info| info.has_fma())),
            ("avx512f", extended.as_ref().map(|info| info.has_avx512f())),
        ];
        let present = features.into_iter().filter(|(_, present)| *present == Some(true));
        Cpu {
            vendor: vendor.unwrap_or_else(|| "unknown vendor".to_owned()),
            brand: brand.filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown CPU".to_owned()),
            signature: signature.unwrap_or_default(),
            features: present.map(|(name, _)| name.to_owned()).collect(),
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

/// Names of facts, and bytes.
pub(super) fn caches() -> Vec<(&'static str, u64)> {
    (0..MOST_CACHES)
        .map_while(|index| {
            let part = |name: &str| read(format!("{CACHE_FOLDER}/index{index}/{name}"));
            Some(cache(&part("level")?, &part("type")?, &part("size")?))
        })
        .flatten()
        .collect()
}

fn cache(level: &str, kind: &str, size: &str) -> Option<(&'static str, u64)> {
    let name = match (level, kind) {
        ("1", "Data" | "Unified") => "cache_l1d_bytes",
        ("1", "Instruction") => "cache_l1i_bytes",
        ("2", "Data" | "Unified") => "cache_l2_bytes",
        ("3", "Data" | "Unified") => "cache_l3_bytes",
        ("4", "Data" | "Unified") => "cache_l4_bytes",
        _ => return None,
    };
    Some((name, byte_size(size)?))
}

/// Above one, two processors may share the units of one core.
pub(super) fn threads_per_core() -> Option<usize> {
    list_length(&read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")?)
}

/// How many sockets `/proc/cpuinfo` lists; absent where it lists none.
pub(super) fn sockets(cpuinfo: &str) -> Option<usize> {
    let entries = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let ids: BTreeSet<&str> =
        entries.filter(|(key, _)| key.trim() == "physical id").map(|(_, value)| value.trim()).collect();
    (!ids.is_empty()).then_some(ids.len())
}

/// How many processors are allowed to this thread, and whether it may run on just those; absent if unknown.
pub(super) fn placement() -> Option<(u32, bool)> {
    #[cfg(target_os = "linux")]
    {
        // On a separate thread, which the request affects.
        let asked = std::thread::spawn(|| {
            let allowed = rustix::thread::sched_getaffinity(None).ok()?;
            let may_pin = rustix::thread::sched_setaffinity(None, &allowed).is_ok();
            Some((allowed.count(), may_pin))
        });
        asked.join().ok().flatten()
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}

/// Whether the processor may exceed its base clock rate: `on` or `off`. A machine has at most one of the two files.
pub(super) fn boost() -> Option<&'static str> {
    let boost = read("/sys/devices/system/cpu/cpufreq/boost");
    let no_turbo = read("/sys/devices/system/cpu/intel_pstate/no_turbo");
    parse_boost(boost.as_deref(), no_turbo.as_deref())
}

fn parse_boost(boost: Option<&str>, no_turbo: Option<&str>) -> Option<&'static str> {
    match (boost, no_turbo) {
        (Some("1"), _) | (None, Some("0")) => Some("on"),
        (Some("0"), _) | (None, Some("1")) => Some("off"),
        _ => None,
    }
}

/// Whether addresses are laid out at random: `full`, `partial` or `off`.
pub(super) fn address_randomisation() -> Option<&'static str> {
    parse_randomisation(&read("/proc/sys/kernel/randomize_va_space")?)
}

fn parse_randomisation(level: &str) -> Option<&'static str> {
    match level {
        "0" => Some("off"),
        "1" => Some("partial"),
        "2" => Some("full"),
        _ => None,
    }
}

const GIBIBYTE: f64 = (1_u64 << 30) as f64;

/// In whole gibibytes: the exact figure moves with the kernel's own needs.
pub(super) fn memory_and_swap_gib() -> (u64, u64) {
    let mut system = System::new();
    system.refresh_memory();
    let rounded = |bytes: u64| (bytes as f64 / GIBIBYTE).round() as u64;
    (rounded(system.total_memory()), rounded(system.total_swap()))
}

pub(super) fn page_bytes() -> Option<u64> {
    parse_page_bytes(&read("/proc/self/smaps")?)
}

fn parse_page_bytes(smaps: &str) -> Option<u64> {
    byte_size(named_value(smaps, "KernelPageSize")?)
}

/// The chosen word of a kernel setting such as `always [madvise] never`.
pub(super) fn setting(path: &str) -> Option<String> {
    bracketed(&read(path)?).map(str::to_owned)
}

fn bracketed(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

/// Trimmed; absent where the file cannot be read or is empty.
pub(super) fn read(path: impl AsRef<std::path::Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The value of the first `name : value` line.
pub(super) fn named_value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// How many numbers a list such as `0-3,8` has.
pub(super) fn list_length(text: &str) -> Option<usize> {
    let mut length = 0_usize;
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        length = length.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(length)
}

/// Bytes of `32K`, `1024 kB` or `2M`.
pub(super) fn byte_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "" => 1,
        "K" | "kB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// The evidence for a container.
#[derive(Clone, Debug, Default)]
struct Signs {
    /// `/.dockerenv` and `/run/.containerenv` exist.
    docker_file: bool,
    podman_file: bool,
    kubernetes_variable: bool,
    /// The variable `container`, which systemd's container interface requires.
    container_variable: Option<String>,
    /// `/proc/1/cgroup`.
    first_process_groups: Option<String>,
    /// The root file system, such as `overlay` or `/dev/vda`.
    root_source: Option<String>,
}

/// The kind of the container around this process; absent where the system does not show it.
pub(super) fn container() -> Option<&'static str> {
    if !Path::new("/proc/1").exists() {
        return None;
    }
    Some(make(&Signs {
        docker_file: Path::new("/.dockerenv").exists(),
        podman_file: Path::new("/run/.containerenv").exists(),
        kubernetes_variable: std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
        container_variable: std::env::var("container").ok(),
        first_process_groups: read("/proc/1/cgroup"),
        root_source: read("/proc/self/mountinfo").and_then(|mounts| root_source(&mounts)),
    }))
}

/// Kubernetes goes first, since its pods also show the signs of the runtime below it.
fn make(signs: &Signs) -> &'static str {
    let groups = signs.first_process_groups.as_deref().unwrap_or_default();
    let variable = signs.container_variable.as_deref().unwrap_or_default();
    let has = |word: &str| groups.contains(word);
    // Virtual machines made from an image of Docker have its file, but their own disk.
    let root = signs.root_source.as_deref().unwrap_or_default();
    let own_disk = root.starts_with("/dev/") && !root.starts_with("/dev/mapper/");
    if signs.kubernetes_variable || has("/kubepods") || has("kubepods.slice") {
        "kubernetes"
    } else if signs.podman_file || variable == "podman" || has("/libpod-") {
        "podman"
    } else if (signs.docker_file && !own_disk) || variable == "docker" || has("/docker/") || has("/docker-") {
        "docker"
    } else if variable.starts_with("lxc") || has("/lxc/") || has("/lxc.payload") {
        "lxc"
    } else if variable == "systemd-nspawn" {
        "systemd-nspawn"
    } else if !variable.is_empty() {
        "other"
    } else {
        "none"
    }
}

/// The source of the last mount on `/`.
fn root_source(mounts: &str) -> Option<String> {
    let mut roots = mounts.lines().filter_map(|line| line.split_once(" - "));
    let (_, system) = roots.rfind(|(place, _)| place.split(' ').nth(4) == Some("/"))?;
    system.split(' ').nth(1).map(str::to_owned)
}

/// `EPERM` and `EACCES`: the system call is filtered, or the counters are closed to ordinary users.
const REFUSED: [i32; 2] = [1, 13];

/// What an error of opening a counter means; other codes say that there is no such counter.
fn refusal(code: Option<i32>) -> &'static str {
    if code.is_some_and(|code| REFUSED.contains(&code)) { "not permitted" } else { "none" }
}

/// Whether performance counters are `available`, `not permitted` or `none`; absent on other systems.
pub(super) fn counters() -> Option<&'static str> {
    let mut counter = match open_instruction_counter()? {
        Ok(counter) => counter,
        Err(error) => return Some(refusal(error.raw_os_error())),
    };
    // Under some hypervisors a counter opens and never moves.
    let mut count = [0; 8];
    let counts = counter.read_exact(&mut count).is_ok() && u64::from_ne_bytes(count) > 0;
    Some(if counts { "available" } else { "none" })
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn open_instruction_counter() -> Option<io::Result<File>> {
    None
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[expect(
    unsafe_code,
    reason = "opening a performance counter has no safe wrapper in the standard library or in rustix"
)]
fn open_instruction_counter() -> Option<io::Result<File>> {
    use std::ffi::{c_int, c_long};
    use std::os::fd::FromRawFd as _;

    /// `perf_event_attr`, version 0, as words: kind `PERF_TYPE_HARDWARE` (0) and size 64, `PERF_COUNT_HW_INSTRUCTIONS` (1),
    /// and as the sixth word the flags `exclude_kernel` and `exclude_hv`, without which ordinary users may not count.
    const ATTRIBUTES: [u64; 8] = [64 << 32, 1, 0, 0, 0, (1 << 5) | (1 << 6), 0, 0];
    /// `PERF_FLAG_FD_CLOEXEC`: worker processes do not inherit it.
    const CLOSE_ON_EXEC: c_long = 1 << 3;

    let (this_thread, any_cpu, no_group): (c_long, c_long, c_long) = (0, -1, -1);
    let mut attributes = ATTRIBUTES;
    // SAFETY: the arguments are those of `perf_event_open`, each as wide as a register: a pointer to 64 bytes of attributes
    // that live until the call returns and whose size field is 64, a thread, a processor, a group and flags. The kernel
    // reads the attributes, writes at most as many bytes, and keeps no pointer.
    let result = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw mut attributes, this_thread, any_cpu, no_group, CLOSE_ON_EXEC)
    };
    Some(match c_int::try_from(result) {
        // SAFETY: the kernel has just made this descriptor for us, and nobody else knows of it.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { File::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_identified_by_level_and_type() {
        assert_eq!(cache("1", "Data", "48K"), Some(("cache_l1d_bytes", 48 << 10)));
        assert_eq!(cache("1", "Instruction", "32K"), Some(("cache_l1i_bytes", 32 << 10)));
        assert_eq!(cache("3", "Unified", "32768K"), Some(("cache_l3_bytes", 32 << 20)));
        assert_eq!(cache("2", "Instruction", "32K"), None);
        assert_eq!(cache("9", "Unified", "32K"), None);
        assert_eq!(cache("2", "Unified", "much"), None);
    }

    #[test]
    fn sockets_are_counted_by_number() {
        assert_eq!(sockets("physical id\t: 0\ncore id : 1\n\nphysical id\t: 1\n\nphysical id\t: 0\n"), Some(2));
        assert_eq!(sockets("processor : 0\nBogoMIPS : 50\n"), None);
        assert_eq!(sockets(""), None);
    }

    #[test]
    fn this_machine_has_a_processor_and_memory() {
        let cpu = Cpu::read();
        assert!(!cpu.class().is_empty() && !cpu.vendor.is_empty());
        assert!(cpu.hypervisor.is_none() || cpu.virtual_machine == Some(true));
        assert!(caches().iter().all(|(_, bytes)| *bytes > 0));
        assert!(memory_and_swap_gib().0 > 0);
        let cores = crate::environment::cores();
        assert!(cores >= 1 && placement().is_none_or(|(allowed, _)| allowed >= 1 && cores <= allowed as usize));
    }

    #[test]
    fn boost_is_allowed_or_forbidden() {
        let check = |boost, no_turbo, expected| assert_eq!(parse_boost(boost, no_turbo), expected);
        check(Some("1"), None, Some("on"));
        check(Some("0"), None, Some("off"));
        check(None, Some("0"), Some("on"));
        check(None, Some("1"), Some("off"));
        check(None, None, None);
        check(Some("maybe"), None, None);
    }

    #[test]
    fn randomisation_has_three_levels() {
        let expected = [Some("off"), Some("partial"), Some("full"), None, None];
        assert_eq!(["0", "1", "2", "3", ""].map(parse_randomisation), expected);
    }

    #[test]
    fn the_page_size_is_that_of_the_first_mapping() {
        let text = "55-56 r--p 00 fe:00 1 x\nSize: 8 kB\nKernelPageSize:        4 kB\nMMUPageSize: 4 kB\n";
        assert_eq!(parse_page_bytes(text), Some(4096));
        assert_eq!(parse_page_bytes("KernelPageSize: big\n"), None);
        assert_eq!(parse_page_bytes(""), None);
    }

    #[test]
    fn the_chosen_word_of_a_setting_is_read() {
        assert_eq!(bracketed("always [madvise] never"), Some("madvise"));
        assert_eq!(bracketed("none"), None);
        assert_eq!(bracketed("[open"), None);
    }

    #[test]
    fn values_are_read_by_name() {
        let text = "processor\t: 0\nmicrocode\t: 0x1000065\nmodel name\t: A: B\n";
        assert_eq!(named_value(text, "microcode"), Some("0x1000065"));
        assert_eq!(named_value(text, "model name"), Some("A: B"));
        assert_eq!(named_value(text, "code"), None);
        assert_eq!(named_value("no colon", "no colon"), None);
        assert_eq!(read("/nonexistent/file"), None);
    }

    #[test]
    fn lists_are_counted() {
        let check = |text: &str, expected: Option<usize>| assert_eq!(list_length(text), expected, "{text}");
        check("0", Some(1));
        check("0-3,8\n", Some(5));
        check("0,64", Some(2));
        check("", None);
        check("3-1", None);
        check("a-b", None);
        check("0-18446744073709551615", None);
    }

    #[test]
    fn sizes_are_bytes() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(byte_size(text), expected, "{text}");
        check("32K", Some(32 << 10));
        check("4 kB", Some(4096));
        check("2M", Some(2 << 20));
        check("512", Some(512));
        check("1G", Some(1 << 30));
        check("", None);
        check("K", None);
        check("3 cows", None);
        check("99999999999999999G", None);
    }

    #[test]
    fn the_container_follows_from_its_signs() {
        let check = |signs: Signs, expected: &str| assert_eq!(make(&signs), expected, "{signs:?}");
        let groups = |text: &str| Signs { first_process_groups: Some(text.to_owned()), ..Signs::default() };
        let variable = |text: &str| Signs { container_variable: Some(text.to_owned()), ..Signs::default() };
        check(Signs::default(), "none");
        check(groups("0::/init.scope"), "none");
        check(Signs { docker_file: true, ..Signs::default() }, "docker");
        let on = |source: &str| Signs { docker_file: true, root_source: Some(source.to_owned()), ..Signs::default() };
        check(on("overlay"), "docker");
        check(on("/dev/mapper/docker-254:0-1"), "docker");
        check(on("/dev/vda"), "none");
        check(groups("5:cpu:/docker/0123456789abcdef"), "docker");
        check(groups("0::/system.slice/docker-0123.scope"), "docker");
        check(Signs { podman_file: true, ..Signs::default() }, "podman");
        check(groups("0::/machine.slice/libpod-0123.scope"), "podman");
        check(Signs { docker_file: true, kubernetes_variable: true, ..Signs::default() }, "kubernetes");
        check(groups("0::/kubepods.slice/kubepods-burstable.slice/x"), "kubernetes");
        check(groups("4:cpu:/lxc/web"), "lxc");
        check(variable("lxc-libvirt"), "lxc");
        check(variable("podman"), "podman");
        check(variable("systemd-nspawn"), "systemd-nspawn");
        // An unknown value may be private.
        check(variable("my-secret-name"), "other");
    }

    #[test]
    fn the_root_file_system_is_the_last_mount() {
        let text = "1 0 0:1 / / rw - rootfs rootfs rw\n27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                    22 27 0:21 / /proc rw - proc proc rw\n";
        assert_eq!(root_source(text).as_deref(), Some("/dev/vda"));
        assert_eq!(root_source("1 0 0:1 / / rw - overlay"), None);
        assert_eq!(root_source("nonsense"), None);
    }

    #[test]
    fn a_refusal_differs_from_an_absence() {
        assert_eq!([Some(1), Some(13)].map(refusal), ["not permitted"; 2]);
        assert_eq!([Some(2), Some(19), Some(38), Some(95), None].map(refusal), ["none"; 5]);
        assert_eq!(counters(), counters());
    }
}

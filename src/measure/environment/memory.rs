//! Memory: how much there is, in pages of which size, and whether the kernel makes huge pages by itself.

use sysinfo::System;

use super::text;

const GIBIBYTE: f64 = (1_u64 << 30) as f64;

/// Main memory and swap in whole gibibytes, rounded: the exact figure moves with the kernel's own needs.
pub(super) fn memory_and_swap_gib() -> (u64, u64) {
    let mut system = System::new();
    system.refresh_memory();
    let rounded = |bytes: u64| (bytes as f64 / GIBIBYTE).round() as u64;
    (rounded(system.total_memory()), rounded(system.total_swap()))
}

pub(super) fn page_bytes() -> Option<u64> {
    parse_page_bytes(&text::read("/proc/self/smaps")?)
}

fn parse_page_bytes(smaps: &str) -> Option<u64> {
    text::byte_size(text::named_value(smaps, "KernelPageSize")?)
}

/// When the kernel gives huge pages: `always`, `madvise` or `never`.
pub(super) fn huge_pages() -> Option<String> {
    setting("/sys/kernel/mm/transparent_hugepage/enabled")
}

/// How hard the kernel tries to make room for a huge page, such as `madvise`.
pub(super) fn huge_pages_defrag() -> Option<String> {
    setting("/sys/kernel/mm/transparent_hugepage/defrag")
}

fn setting(path: &str) -> Option<String> {
    text::read(path).and_then(|text| text::bracketed(&text).map(str::to_owned))
}

pub(super) fn numa_nodes() -> Option<usize> {
    text::list_length(&text::read("/sys/devices/system/node/online")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_size_is_that_of_the_first_mapping() {
        let text = "55-56 r--p 00 fe:00 1 x\nSize: 8 kB\nKernelPageSize:        4 kB\nMMUPageSize: 4 kB\n";
        assert_eq!(parse_page_bytes(text), Some(4096));
        assert_eq!(parse_page_bytes("KernelPageSize: big\n"), None);
        assert_eq!(parse_page_bytes(""), None);
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(memory_and_swap_gib().0 > 0);
    }
}

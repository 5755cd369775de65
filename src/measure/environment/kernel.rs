//! Settings of the operating system's kernel that move results, and the C library above it.

use std::process::Command;

use super::text;

/// How the kernel chooses the clock rate of the first processor, such as `performance`.
pub(super) fn governor() -> Option<String> {
    text::read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// Whether the processor may exceed its base clock rate: `on` or `off`.
pub(super) fn boost() -> Option<&'static str> {
    let boost = text::read("/sys/devices/system/cpu/cpufreq/boost");
    let no_turbo = text::read("/sys/devices/system/cpu/intel_pstate/no_turbo");
    parse_boost(boost.as_deref(), no_turbo.as_deref())
}

/// `boost` says what is allowed, `no_turbo` what is forbidden; a machine has one of the two files at most.
fn parse_boost(boost: Option<&str>, no_turbo: Option<&str>) -> Option<&'static str> {
    match (boost, no_turbo) {
        (Some("1"), _) | (None, Some("0")) => Some("on"),
        (Some("0"), _) | (None, Some("1")) => Some("off"),
        _ => None,
    }
}

/// What the kernel tells the time by, such as `tsc`; a slow one costs microseconds a reading.
pub(super) fn clock_source() -> Option<String> {
    text::read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// Whether addresses are laid out at random: `full`, `partial` or `off`.
pub(super) fn address_randomisation() -> Option<&'static str> {
    parse_randomisation(&text::read("/proc/sys/kernel/randomize_va_space")?)
}

fn parse_randomisation(text: &str) -> Option<&'static str> {
    match text {
        "0" => Some("off"),
        "1" => Some("partial"),
        "2" => Some("full"),
        _ => None,
    }
}

/// How much of the performance counters is closed to ordinary users; from 3 on, all of it.
pub(super) fn perf_event_paranoid() -> Option<i32> {
    text::read("/proc/sys/kernel/perf_event_paranoid")?.parse().ok()
}

/// Such as `glibc 2.36`; absent where the C library does not say.
pub(super) fn libc_version() -> Option<String> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            ["0", "1", "2", "3", ""].map(parse_randomisation),
            [Some("off"), Some("partial"), Some("full"), None, None]
        );
    }
}

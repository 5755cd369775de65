//! The platform in one word.

use std::collections::BTreeMap;

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
    fn a_platform_is_worded_as_python_does() {
        let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let full = platform(&BTreeMap::from([fact("os_release", "6.1.0-9"), fact("libc", "glibc 2.36")]));
        let architecture = std::env::consts::ARCH;
        assert!(full.ends_with(&format!("-6.1.0-9-{architecture}-with-glibc2.36")), "{full}");
        assert!(platform(&BTreeMap::new()).ends_with(architecture));
    }
}

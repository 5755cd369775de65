//! Whether this process runs in a container, and of which make. Never which one: names and ids stay out.

use std::path::Path;

use super::text;

#[derive(Clone, Debug, Default)]
struct Signs {
    /// `/.dockerenv` is there.
    docker_file: bool,
    /// `/run/.containerenv` is there.
    podman_file: bool,
    kubernetes_variable: bool,
    /// The variable `container`, which systemd's container interface asks managers to set.
    container_variable: Option<String>,
    /// `/proc/1/cgroup`: control groups of the first process.
    first_process_groups: Option<String>,
    /// What the root file system lies on, such as `overlay` or `/dev/vda`.
    root_source: Option<String>,
}

/// The make of the container around this process; absent where the system is not one that we can ask.
pub(super) fn container() -> Option<&'static str> {
    if !Path::new("/proc/1").exists() {
        return None;
    }
    Some(make(&Signs {
        docker_file: Path::new("/.dockerenv").exists(),
        podman_file: Path::new("/run/.containerenv").exists(),
        kubernetes_variable: std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
        container_variable: std::env::var("container").ok(),
        first_process_groups: text::read("/proc/1/cgroup"),
        root_source: text::read("/proc/self/mountinfo").and_then(|mounts| root_source(&mounts)),
    }))
}

/// Kubernetes goes first, since its pods bear the signs of the runtime below it as well.
fn make(signs: &Signs) -> &'static str {
    let groups = signs.first_process_groups.as_deref().unwrap_or_default();
    let variable = signs.container_variable.as_deref().unwrap_or_default();
    let has = |word: &str| groups.contains(word);
    // Virtual machines made from an image of Docker keep its file, on a disk of their own.
    let own_disk = signs
        .root_source
        .as_deref()
        .is_some_and(|source| source.starts_with("/dev/") && !source.starts_with("/dev/mapper/"));
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

/// What the last mount on `/` lies on.
fn root_source(mounts: &str) -> Option<String> {
    let mut roots = mounts.lines().filter_map(|line| line.split_once(" - "));
    let (_, system) = roots.rfind(|(place, _)| place.split(' ').nth(4) == Some("/"))?;
    system.split(' ').nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_make_follows_from_the_signs() {
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
        // A value that nobody has told us of is not passed on.
        check(variable("my-secret-name"), "other");
    }

    #[test]
    fn the_root_file_system_is_the_last_mounted_there() {
        let text = "1 0 0:1 / / rw - rootfs rootfs rw\n27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                    22 27 0:21 / /proc rw - proc proc rw\n";
        assert_eq!(root_source(text).as_deref(), Some("/dev/vda"));
        assert_eq!(root_source("1 0 0:1 / / rw - overlay"), None);
        assert_eq!(root_source("nonsense"), None);
    }
}

//! The control group of this process: how much processor time it may have, and how often it was held back.
//!
//! Version 1 keeps a tree of groups a controller, version 2 one tree for all. A limit on any group above ours holds for
//! us too, so every folder up to the root of what we can see is asked.

use std::path::{Path, PathBuf};

use super::text;

/// How often and how long the processes of a group were held back since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Throttled {
    /// Scheduler periods in which the group had used up its share.
    pub(super) periods: u64,
    /// Seconds that its processes waited for the next period.
    pub(super) seconds: f64,
}

/// The processors that the limits allow, such as 1.5; absent where there is no limit.
pub(super) fn quota_cores() -> Option<f64> {
    folders().iter().filter_map(|folder| quota_of(folder)).min_by(f64::total_cmp)
}

/// Held back so far, all groups above us taken together; absent where the system does not count it.
pub(super) fn throttled() -> Option<Throttled> {
    let counts = folders().into_iter().filter_map(|folder| parse_throttled(&text::read(folder.join("cpu.stat"))?));
    counts.reduce(|a, b| Throttled { periods: a.periods + b.periods, seconds: a.seconds + b.seconds })
}

fn folders() -> Vec<PathBuf> {
    let groups = text::read("/proc/self/cgroup").unwrap_or_default();
    let mounts = text::read("/proc/self/mountinfo").unwrap_or_default();
    group_folders(&groups, &mounts)
}

fn quota_of(folder: &Path) -> Option<f64> {
    if let Some(text) = text::read(folder.join("cpu.max")) {
        return parse_cpu_max(&text);
    }
    let part = |name: &str| text::read(folder.join(name));
    parse_quota(&part("cpu.cfs_quota_us")?, &part("cpu.cfs_period_us")?)
}

/// `cpu.max` of version 2: the quota and its period in microseconds, or `max` for no limit.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    parse_quota(quota, period)
}

/// Quota over period, both in microseconds; version 1 says -1 for no limit.
fn parse_quota(quota: &str, period: &str) -> Option<f64> {
    let quota: i64 = quota.trim().parse().ok()?;
    let period: i64 = period.trim().parse().ok()?;
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// `cpu.stat`: version 2 counts microseconds (`throttled_usec`), version 1 nanoseconds (`throttled_time`).
fn parse_throttled(text: &str) -> Option<Throttled> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()
    };
    let micros = value("throttled_usec").map(|micros| micros as f64 * 1e-6);
    let seconds = micros.or_else(|| value("throttled_time").map(|nanos| nanos as f64 * 1e-9));
    Some(Throttled { periods: value("nr_throttled")?, seconds: seconds.unwrap_or(0.0) })
}

/// The folders of our group and those above it, innermost first; none where the groups are out of sight.
fn group_folders(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut ours = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    // On a machine with both versions, the controller is with version 1 if it has a tree there.
    let first = ours.clone().find(|(controllers, _)| controllers.split(',').any(|name| name == "cpu"));
    let Some((controllers, path)) = first.or_else(|| ours.find(|(controllers, _)| controllers.is_empty())) else {
        return Vec::new();
    };
    let found = mounts.lines().filter_map(mount).find(|mount| match controllers {
        "" => mount.kind == "cgroup2",
        _ => mount.kind == "cgroup" && mount.options.split(',').any(|name| name == "cpu"),
    });
    let Some(mount) = found else { return Vec::new() };
    // In a container the mount may begin at our own group, whose path then is that of the host.
    let below = match mount.root {
        "/" => path,
        root => path.strip_prefix(root).unwrap_or(""),
    };
    let below = if below.contains("..") { "" } else { below.trim_matches('/') };
    let top = Path::new(mount.point);
    let own = top.join(below);
    own.ancestors().take_while(|folder| folder.starts_with(top)).map(Path::to_owned).collect()
}

/// A mounted file system, as a line of `/proc/self/mountinfo` tells of it.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

fn mount(line: &str) -> Option<Mount<'_>> {
    let (place, system) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let mut system = system.split(' ');
    Some(Mount { root: place.next()?, point: place.next()?, kind: system.next()?, options: system.nth(1)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_a_number_of_processors() {
        assert_eq!(parse_cpu_max("150000 100000"), Some(1.5));
        assert_eq!(parse_cpu_max("max 100000"), None);
        assert_eq!(parse_cpu_max("100000"), None);
        assert_eq!(parse_cpu_max("100000 0"), None);
        assert_eq!(parse_cpu_max(""), None);
        assert_eq!(parse_quota("50000", "100000"), Some(0.5));
        assert_eq!(parse_quota("-1", "100000"), None);
        assert_eq!(parse_quota("a", "b"), None);
    }

    #[test]
    fn being_held_back_is_counted_by_both_versions() {
        let two = "usage_usec 99\nnr_periods 10\nnr_throttled 3\nthrottled_usec 2500000\n";
        assert_eq!(parse_throttled(two), Some(Throttled { periods: 3, seconds: 2.5 }));
        let one = "nr_periods 10\nnr_throttled 4\nthrottled_time 1500000000";
        assert_eq!(parse_throttled(one), Some(Throttled { periods: 4, seconds: 1.5 }));
        assert_eq!(parse_throttled("usage_usec 99\nuser_usec 1"), None);
        assert_eq!(parse_throttled("nr_throttled many"), None);
        assert_eq!(parse_throttled(""), None);
    }

    #[test]
    fn our_group_and_those_above_are_found() {
        let check = |groups: &str, mounts: &str, expected: &[&str]| {
            let folders = group_folders(groups, mounts);
            assert_eq!(folders, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{groups}");
        };
        let two = "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        check("0::/a/b.scope", two, &["/sys/fs/cgroup/a/b.scope", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]);
        check("0::/", two, &["/sys/fs/cgroup"]);
        check("0::/../outside", two, &["/sys/fs/cgroup"]);
        let one = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
        let both = format!("41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n{one}");
        let groups = "5:memory:/m\n4:cpuset:/s\n1:cpu,cpuacct:/x\n0::/y\n";
        check(groups, &both, &["/sys/fs/cgroup/cpu,cpuacct/x", "/sys/fs/cgroup/cpu,cpuacct"]);
        let docker = "32 31 0:29 /docker/12 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
        check("1:cpu:/docker/12", docker, &["/sys/fs/cgroup/cpu"]);
        check("1:cpu:/docker/12/in", docker, &["/sys/fs/cgroup/cpu/in", "/sys/fs/cgroup/cpu"]);
        check("", &both, &[]);
        check("0::/a", "", &[]);
        check("nonsense", "nonsense", &[]);
    }
}

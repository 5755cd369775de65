//! Pressure on a run from outside: processor time that the host took, CPU limits of control groups, load.
//!
//! [`Pressure`] is read before and after a run, and [`PressureChange`] is the difference. [`reasons`] says what of it
//! is a problem with the numbers. What the system does not report is absent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use sysinfo::System;

use crate::environment::cpu;

/// The share of wanted processor time that the host may take: beyond a hundredth clock rate and caches are affected, too.
const MOST_STEAL: f64 = 0.01;

const OWN_LOAD: f64 = 1.0;

use sprag_base::number::percent;
use sprag_model::environment::DURATION;
use sprag_model::run::BUSY;

/// The part of the other processors that programs of others may use: then none of ours waits for them yet. Loads are averages
/// over a minute, and do not see what disturbs a run of a second.
const MOST_OTHERS: f64 = 0.5;

#[derive(Clone, Debug)]
pub struct Pressure {
    at: Instant,
    ticks: Option<Ticks>,
    /// Ticks of this process and of those that it started and that ended.
    own: Option<u64>,
    throttled: Option<Throttled>,
    waiting_seconds: Option<f64>,
    load: Option<f64>,
}

/// Processor time since the boot, in ticks of the kernel, for all processors together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    processors: u64,
    busy: u64,
    /// Work waited while the host ran others.
    stolen: u64,
    idle: u64,
}

impl Pressure {
    pub fn read() -> Pressure {
        // On Windows the library reports a load of zero.
        let load = (!cfg!(windows)).then(|| System::load_average().one);
        Pressure {
            at: Instant::now(),
            ticks: cpu::read("/proc/stat").and_then(|text| parse_ticks(&text)),
            own: cpu::read("/proc/self/stat").and_then(|text| parse_own(&text)),
            throttled: throttled(),
            waiting_seconds: cpu::read("/proc/pressure/cpu").and_then(|text| parse_waiting_seconds(&text)),
            load,
        }
    }

    pub fn since(&self, earlier: &Pressure) -> PressureChange {
        let seconds = self.at.saturating_duration_since(earlier.at).as_secs_f64();
        let throttled = self.throttled.zip(earlier.throttled);
        let waiting = self.waiting_seconds.zip(earlier.waiting_seconds).filter(|_| seconds > 0.0);
        PressureChange {
            seconds,
            steal_share: self.ticks.zip(earlier.ticks).map(|(after, before)| steal_share(before, after)),
            others: self.ticks.zip(earlier.ticks).zip(self.own.zip(earlier.own)).and_then(|((after, before), own)| {
                others(before, after, own.0.saturating_sub(own.1)).map(|others| (others, after.processors))
            }),
            throttled_periods: throttled.map(|(after, before)| after.periods.saturating_sub(before.periods)),
            throttled_seconds: throttled.map(|(after, before)| (after.seconds - before.seconds).max(0.0)),
            waiting_share: waiting.map(|(after, before)| ((after - before) / seconds).clamp(0.0, 1.0)),
            load_before: earlier.load,
            load_after: self.load,
        }
    }
}

/// What happened between two readings. Loads are averages over a minute, in tasks; shares are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PressureChange {
    pub seconds: f64,
    /// Of the time that our processors wanted to work, the share in which the host ran others.
    pub steal_share: Option<f64>,
    /// How many processors programs of others used on average, and how many there are.
    pub others: Option<(f64, u64)>,
    /// Scheduler periods in which our control group, or one above it, had used up its processor time.
    pub throttled_periods: Option<u64>,
    pub throttled_seconds: Option<f64>,
    /// The share of the time in which some task of this machine waited for a processor.
    pub waiting_share: Option<f64>,
    pub load_before: Option<f64>,
    pub load_after: Option<f64>,
}

impl PressureChange {
    /// The facts of a run's environment.
    pub fn facts(&self) -> BTreeMap<String, String> {
        [
            (DURATION, Some(format!("{:.1}", self.seconds))),
            ("steal_share", self.steal_share.map(|share| format!("{share:.4}"))),
            ("throttled_periods", self.throttled_periods.map(|periods| periods.to_string())),
            ("load_1m_after", self.load_after.map(|load| format!("{load:.2}"))),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
    }
}

/// Problems with numbers measured on a machine of `cores` processors, one sentence fragment a reason.
pub fn reasons(change: &PressureChange, cores: usize) -> Vec<String> {
    let mut reasons = Vec::new();
    let cores_text = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    let before = change.load_before.filter(|load| *load > cores as f64);
    let after = change.load_after.filter(|load| *load > cores as f64 + OWN_LOAD);
    let own = format!(" on {cores_text} ({OWN_LOAD:.1} of it from this run)");
    let load = match (before, after) {
        (Some(before), Some(after)) => Some(format!("{before:.1} before the run and {after:.1} after it{own}")),
        (None, Some(after)) => Some(format!("{after:.1} after the run{own}")),
        (Some(before), None) => Some(format!("{before:.1} before the run on {cores_text}")),
        (None, None) => None,
    };
    let others = change.others.filter(|(used, all)| *used > MOST_OTHERS * (*all as f64 - 1.0).max(1.0));
    let others = others.map(|(used, _)| format!("other programs used {used:.1} of its processors on average"));
    let busy = load.map(|load| format!("load {load}")).or(others);
    reasons.extend(busy.map(|what| format!("{BUSY}: {what}")));
    if let Some(share) = change.steal_share.filter(|share| *share > MOST_STEAL) {
        let (share, most) = (percent(share, 1), percent(MOST_STEAL, 0));
        reasons.push(format!("the host took {share} of the processor time, over the limit of {most}"));
    }
    if let Some(periods) = change.throttled_periods.filter(|periods| *periods > 0) {
        let times = if periods == 1 { "once".to_owned() } else { format!("{periods} times") };
        let seconds = change.throttled_seconds.unwrap_or(0.0);
        reasons.push(format!(
            "the CPU limit of the control group stopped the processes {times}, for {seconds:.2} s in all"
        ));
    }
    reasons
}

/// The line `cpu` of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user.
fn parse_ticks(stat: &str) -> Option<Ticks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let numbers: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, iowait, irq, softirq, stolen, ..] = numbers[..] else { return None };
    let busy = [nice, system, irq, softirq].iter().try_fold(user, |sum, part| sum.checked_add(*part))?;
    let is_processor = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let processors = stat.lines().filter(is_processor).count() as u64;
    Some(Ticks { processors, busy, stolen, idle: idle.checked_add(iowait)? })
}

/// `/proc/self/stat`: user and system time of the process, and of its children that ended. Its name may hold anything.
fn parse_own(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let times: Vec<u64> = rest.split_whitespace().skip(11).take(4).map_while(|word| word.parse().ok()).collect();
    (times.len() == 4).then(|| times.iter().sum())
}

/// The processors that programs of others used on average; `None` where no time passed.
fn others(before: Ticks, after: Ticks, own: u64) -> Option<f64> {
    let busy = after.busy.saturating_sub(before.busy);
    let all = busy + after.stolen.saturating_sub(before.stolen) + after.idle.saturating_sub(before.idle);
    (all > 0).then(|| busy.saturating_sub(own) as f64 / all as f64 * after.processors as f64)
}

/// Stolen time as a share of the time with work. Many idle processors would hide that the measuring one is taken away.
fn steal_share(before: Ticks, after: Ticks) -> f64 {
    let stolen = after.stolen.saturating_sub(before.stolen) as f64;
    let wanted = after.busy.saturating_sub(before.busy) as f64 + stolen;
    if wanted > 0.0 { stolen / wanted } else { 0.0 }
}

/// `/proc/pressure/cpu`: the time that some task has waited.
fn parse_waiting_seconds(pressure: &str) -> Option<f64> {
    let line = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    Some(total.parse::<u64>().ok()? as f64 * 1e-6)
}

/// Throttling of a control group since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Throttled {
    /// Scheduler periods in which the group had used up its share.
    periods: u64,
    seconds: f64,
}

/// The processors that the limits allow, such as 1.5.
pub(super) fn quota_cores() -> Option<f64> {
    folders().iter().filter_map(|folder| quota_of(folder)).min_by(f64::total_cmp)
}

/// The sum over all groups above us.
fn throttled() -> Option<Throttled> {
    let counts = folders().into_iter().filter_map(|folder| parse_throttled(&cpu::read(folder.join("cpu.stat"))?));
    counts.reduce(|a, b| Throttled { periods: a.periods + b.periods, seconds: a.seconds + b.seconds })
}

fn folders() -> Vec<PathBuf> {
    let groups = cpu::read("/proc/self/cgroup").unwrap_or_default();
    let mounts = cpu::read("/proc/self/mountinfo").unwrap_or_default();
    group_folders(&groups, &mounts)
}

fn quota_of(folder: &Path) -> Option<f64> {
    let part = |name: &str| cpu::read(folder.join(name));
    match part("cpu.max") {
        // Version 2: quota and period in microseconds, or `max` without a limit.
        Some(text) => text.split_once(' ').and_then(|(quota, period)| parse_quota(quota, period)),
        None => parse_quota(&part("cpu.cfs_quota_us")?, &part("cpu.cfs_period_us")?),
    }
}

/// Quota over period, both in microseconds; version 1 has a quota of -1 without a limit.
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

/// The folders of our group and those above it, innermost first; none where they are not visible.
fn group_folders(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut ours = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    // Where both versions are mounted, the controller is with version 1 if it has a tree there.
    let first = ours.clone().find(|(controllers, _)| controllers.split(',').any(|name| name == "cpu"));
    let Some((controllers, path)) = first.or_else(|| ours.find(|(controllers, _)| controllers.is_empty())) else {
        return Vec::new();
    };
    let mounted = mounts.lines().filter_map(mount).find(|mount| match controllers {
        "" => mount.kind == "cgroup2",
        _ => mount.kind == "cgroup" && mount.options.split(',').any(|name| name == "cpu"),
    });
    let Some(mount) = mounted else { return Vec::new() };
    // In a container the mount may begin at our own group, whose path is then that of the host.
    let below = match mount.root {
        "/" => path,
        root => path.strip_prefix(root).unwrap_or(""),
    };
    let below = if below.contains("..") { "" } else { below.trim_matches('/') };
    let top = Path::new(mount.point);
    let own = top.join(below);
    own.ancestors().take_while(|folder| folder.starts_with(top)).map(Path::to_owned).collect()
}

/// A line of `/proc/self/mountinfo`.
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
    fn ticks_are_read_off_the_first_line() {
        let text = "cpu  100 20 30 900 50 1 2 7 3 0\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n";
        assert_eq!(parse_ticks(text), Some(Ticks { processors: 1, busy: 153, stolen: 7, idle: 950 }));
        assert_eq!(parse_ticks("cpu0 1 2 3 4 5 6 7 8"), None);
        assert_eq!(parse_ticks("cpu  1 2 3 4 5 6 7"), None);
        assert_eq!(parse_ticks("cpu  1 2 x 4 5 6 7 8"), None);
        assert_eq!(parse_ticks(""), None);
        assert_eq!(parse_ticks("cpu  18446744073709551615 2 3 4 5 6 7 8"), None);
    }

    #[test]
    fn steal_is_a_share_of_the_time_with_work() {
        let ticks = |busy, stolen| Ticks { processors: 1, busy, stolen, idle: 0 };
        assert_eq!(steal_share(ticks(100, 5), ticks(190, 15)), 0.1);
        assert_eq!(steal_share(ticks(100, 5), ticks(100, 5)), 0.0);
        // A counter that goes back, as after a migration, is not a steal.
        assert_eq!(steal_share(ticks(100, 5), ticks(50, 1)), 0.0);
    }

    #[test]
    fn what_others_use_is_all_but_our_own() {
        assert_eq!(parse_own("7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0"), Some(127));
        assert_eq!(parse_own("7 (name) S 1 2 3"), None);
        let ticks = |busy, idle| Ticks { processors: 4, busy, stolen: 0, idle };
        assert_eq!(others(ticks(100, 50), ticks(300, 250), 50), Some(1.5));
        // Times of children that ended are counted at their end, and may be more than those of the run.
        assert_eq!(others(ticks(100, 50), ticks(300, 250), 500), Some(0.0));
        assert_eq!(others(ticks(100, 50), ticks(100, 50), 0), None);
    }

    #[test]
    fn waiting_is_read_in_seconds() {
        let text = "some avg10=0.60 avg60=16.93 avg300=12.24 total=1952384\nfull avg10=0.00 total=0\n";
        assert_eq!(parse_waiting_seconds(text), Some(1.952384));
        assert_eq!(parse_waiting_seconds("some avg10=0.60"), None);
        assert_eq!(parse_waiting_seconds("some total=-1"), None);
        assert_eq!(parse_waiting_seconds(""), None);
    }

    #[test]
    fn only_what_is_over_the_limits_is_a_reason() {
        let quiet = PressureChange {
            steal_share: Some(0.01),
            throttled_periods: Some(0),
            load_before: Some(2.0),
            load_after: Some(3.0),
            ..PressureChange::default()
        };
        let check = |alter: fn(&mut PressureChange), cores: usize, expected: &str| {
            let mut change = quiet.clone();
            alter(&mut change);
            assert_eq!(reasons(&change, cores).join("; "), expected, "{change:?}");
        };
        check(|change| *change = PressureChange::default(), 1, "");
        check(|change| change.others = Some((0.5, 2)), 2, "");
        let busy = "the machine was busy: other programs used 1.2 of its processors on average";
        check(|change| change.others = Some((1.24, 2)), 2, busy);
        check(|_| (), 2, "");
        let both = "the machine was busy: load 2.0 before the run and 3.0 after it on 1 core (1.0 of it from this run)";
        check(|_| (), 1, both);
        check(|change| change.load_after = None, 1, "the machine was busy: load 2.0 before the run on 1 core");
        let after = "the machine was busy: load 3.0 after the run on 1 core (1.0 of it from this run)";
        check(|change| change.load_before = None, 1, after);
        let stolen = "the host took 3.4 % of the processor time, over the limit of 1 %";
        check(|change| change.steal_share = Some(0.034), 2, stolen);
        let often = "the CPU limit of the control group stopped the processes 12 times, for 0.50 s in all";
        check(|change| (change.throttled_periods, change.throttled_seconds) = (Some(12), Some(0.5)), 2, often);
        let once = "the CPU limit of the control group stopped the processes once, for 0.00 s in all";
        check(|change| change.throttled_periods = Some(1), 2, once);
    }

    #[test]
    fn two_readings_give_a_change_whose_facts_are_allowed() {
        let before = Pressure::read();
        let change = Pressure::read().since(&before);
        assert!(change.seconds >= 0.0);
        for share in [change.steal_share, change.waiting_share] {
            assert!(share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{change:?}");
        }
        let change = PressureChange { steal_share: Some(0.0123), throttled_periods: Some(0), ..change };
        let facts = change.facts();
        assert!(facts.keys().all(|name| crate::environment::FACT_NAMES.contains(&name.as_str())), "{facts:?}");
        assert_eq!([&facts["steal_share"], &facts["throttled_periods"]], ["0.0123", "0"]);
    }

    #[test]
    fn a_quota_is_a_number_of_processors() {
        assert_eq!(parse_quota("150000", "100000"), Some(1.5));
        assert_eq!(parse_quota("50000", "100000"), Some(0.5));
        assert_eq!(parse_quota("a", "b"), None);
        assert_eq!(parse_quota("-1", "100000"), None);
        assert_eq!(parse_quota("max", "100000"), None);
        assert_eq!(parse_quota("100000", "0"), None);
    }

    #[test]
    fn throttling_is_counted_by_both_versions() {
        let two = "usage_usec 99\nnr_periods 10\nnr_throttled 3\nthrottled_usec 2500000\n";
        assert_eq!(parse_throttled(two), Some(Throttled { periods: 3, seconds: 2.5 }));
        let one = "nr_periods 10\nnr_throttled 4\nthrottled_time 1500000000";
        assert_eq!(parse_throttled(one), Some(Throttled { periods: 4, seconds: 1.5 }));
        assert_eq!(parse_throttled("usage_usec 99\nuser_usec 1"), None);
        assert_eq!(parse_throttled("nr_throttled many"), None);
        assert_eq!(parse_throttled(""), None);
    }

    #[test]
    fn our_group_and_those_above_are_listed() {
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

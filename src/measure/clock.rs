//! The clocks: the monotonic one and that of the thread, which time kernels, and the one that dates runs.

use std::time::Instant;

use chrono::{DateTime, Timelike, Utc};

use sprag_model::sample::Sample;

/// A stretch is preempted when its wall time exceeds its thread time by this share …
const PREEMPTED_SHARE: f64 = 0.05;

/// … and this much: what two readings of the clocks and an interrupt take. Measured on virtual machines, where reading
/// the thread clock costs about 0.3 µs.
const PREEMPTED_NANOS: f64 = 2_000.0;

/// A measured duration in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The same duration in seconds, as records hold it.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// The same duration in milliseconds, as the reports of the seed hold it.
    pub fn milliseconds(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// Times one call of `work` on the monotonic clock.
pub fn time(work: impl FnOnce()) -> Nanos {
    let start = Instant::now();
    work();
    Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Times `calls` calls of `work` as one sample, on both clocks where the work stays on this thread.
pub fn sample(calls: u32, on_this_thread: bool, work: &mut dyn FnMut()) -> Sample {
    let before = if on_this_thread { thread_time() } else { None };
    let wall = time(|| {
        for _ in 0..calls {
            work();
        }
    });
    let after = before.and_then(|_| thread_time());
    let cpu = before.zip(after).map(|(before, after)| Nanos(after.0.saturating_sub(before.0)));
    let a_call = |nanos: Nanos| nanos.seconds() / f64::from(calls);
    Sample { wall: a_call(wall), cpu: cpu.map(a_call), preempted: cpu.is_some_and(|cpu| is_preempted(wall, cpu)) }
}

/// What this thread has been running, where the system tells.
pub fn thread_time() -> Option<Nanos> {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let seconds = u64::try_from(time.tv_sec).ok()?;
        Some(Nanos(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?))
    }
    #[cfg(not(target_os = "linux"))]
    {
        None
    }
}

/// The present time, to the second.
pub fn now() -> DateTime<Utc> {
    let now = Utc::now();
    now.with_nanosecond(0).unwrap_or(now)
}

/// Whether the thread was kept from running during a stretch.
fn is_preempted(wall: Nanos, cpu: Nanos) -> bool {
    wall.0 as f64 > cpu.0 as f64 * (1.0 + PREEMPTED_SHARE) + PREEMPTED_NANOS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_preempted_by_share_and_size() {
        let check = |wall, cpu, expected| assert_eq!(is_preempted(Nanos(wall), Nanos(cpu)), expected, "{wall} {cpu}");
        check(100_000, 100_000, false);
        check(106_900, 100_000, false);
        check(107_100, 100_000, true);
        check(3_900, 2_000, false);
        check(4_200, 2_000, true);
        check(90_000, 100_000, false);
    }

    #[test]
    fn a_sleeping_thread_does_not_run() {
        let slept = sample(1, true, &mut || std::thread::sleep(std::time::Duration::from_millis(20)));
        assert!(slept.wall >= 0.02);
        if let Some(cpu) = slept.cpu {
            assert!(cpu < slept.wall && slept.preempted, "{slept:?}");
        }
        let elsewhere = sample(1, false, &mut || std::thread::sleep(std::time::Duration::from_millis(1)));
        assert_eq!((elsewhere.cpu, elsewhere.preempted), (None, false));
    }

    #[test]
    fn a_sample_is_divided_by_its_calls() {
        let mut count = 0;
        let taken = sample(50, true, &mut || {
            count += 1;
            std::thread::sleep(std::time::Duration::from_micros(200));
        });
        assert_eq!(count, 50);
        assert!(taken.wall >= 200e-6 && taken.wall < 50.0 * 200e-6, "{taken:?}");
    }
}

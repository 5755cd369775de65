//! The clocks: monotonic and per thread, which time kernels, and the wall clock, which dates runs.

use std::time::Instant;

use chrono::{DateTime, Timelike, Utc};

use crate::doctor::findings::Clock;
use sprag_base::number;
use sprag_model::Sample;

/// A sample is preempted when its wall time exceeds its thread time by this share …
const PREEMPTED_SHARE: f64 = 0.05;

/// … and this much: two readings of the clocks and an interrupt. On virtual machines a reading takes about 0.3 µs.
const PREEMPTED_NANOS: f64 = 2_000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanos(pub u64);

impl Nanos {
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    pub fn milliseconds(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

pub fn time(work: impl FnOnce()) -> Nanos {
    let start = Instant::now();
    work();
    Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Times `calls` calls as one sample, on both clocks where the work stays on this thread.
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

/// How long this thread has been running, where the system reports it.
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

pub fn now() -> DateTime<Utc> {
    let now = Utc::now();
    now.with_nanosecond(0).unwrap_or(now)
}

fn is_preempted(wall: Nanos, cpu: Nanos) -> bool {
    wall.0 as f64 > cpu.0 as f64 * (1.0 + PREEMPTED_SHARE) + PREEMPTED_NANOS
}

/// Readings in a batch: some hundred microseconds, far below a scheduler slice. Of several batches one is undisturbed.
const READINGS: usize = 1_000;
const BATCHES: usize = 20;

pub fn wall() -> Clock {
    let start = std::time::Instant::now();
    examine(|| Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)))
}

/// The clock of the timing thread, where there is one.
pub fn thread() -> Option<Clock> {
    thread_time()?;
    Some(examine(|| thread_time().unwrap_or(Nanos(0))))
}

fn examine(mut read: impl FnMut() -> Nanos) -> Clock {
    let mut readings = [Nanos(0); READINGS];
    let mut resolution: Option<Nanos> = None;
    let mut fastest = f64::INFINITY;
    for _ in 0..BATCHES {
        let taken = time(|| readings.fill_with(&mut read));
        fastest = fastest.min(taken.seconds() / READINGS as f64);
        resolution = resolution.into_iter().chain(smallest_step(&readings)).min();
    }
    let digits = |seconds| number::round_significant(seconds, 3);
    Clock { resolution: resolution.map(Nanos::seconds).map(digits), cost: digits(fastest) }
}

/// The smallest positive difference between neighbours.
fn smallest_step(readings: &[Nanos]) -> Option<Nanos> {
    readings.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).filter(|step| *step > 0).min().map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preemption_needs_a_share_and_a_size() {
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
    fn resolution_is_the_smallest_positive_step() {
        let check = |readings: &[u64], expected: Option<u64>| {
            let readings: Vec<Nanos> = readings.iter().copied().map(Nanos).collect();
            assert_eq!(smallest_step(&readings), expected.map(Nanos));
        };
        check(&[10, 10, 50, 70, 70, 110], Some(20));
        check(&[5, 5, 5], None);
        check(&[9, 3, 3], None);
        check(&[], None);
        let mut now = 0;
        let coarse = examine(|| {
            now += 1;
            Nanos(now / 100 * 4_000)
        });
        assert_eq!((coarse.resolution, examine(|| Nanos(7)).resolution), (Some(4e-6), None));
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

    #[test]
    fn the_clocks_of_this_machine_move() {
        assert!(wall().resolution.is_some_and(|step| step > 0.0) && wall().cost > 0.0);
        assert!(thread().is_none_or(|clock| clock.resolution.is_some() && clock.cost > 0.0));
    }
}

//! What the clocks can tell: the smallest step that a clock makes, and what reading it costs.
//!
//! A clock is read many times in a row. The smallest difference above zero between neighbours is its step, as far as
//! can be seen from outside; the time of a whole batch over its readings is the cost, of the fastest of some batches.

use super::clock::{self, Nanos};

/// Readings in a batch: some hundred microseconds, far below a slice of the scheduler.
const READINGS: usize = 1_000;

/// Batches, so that one of them is left alone by others.
const BATCHES: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockCost {
    /// The smallest step seen, in seconds; absent where the clock did not move.
    pub resolution: Option<f64>,
    /// What a reading takes, in seconds.
    pub cost: f64,
}

/// The monotonic clock that times kernels.
pub fn wall() -> ClockCost {
    let start = std::time::Instant::now();
    of_clock(|| Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)))
}

/// The clock of the timing thread; absent where there is none.
pub fn thread() -> Option<ClockCost> {
    clock::thread_time()?;
    Some(of_clock(|| clock::thread_time().unwrap_or(Nanos(0))))
}

fn of_clock(mut read: impl FnMut() -> Nanos) -> ClockCost {
    let mut readings = [Nanos(0); READINGS];
    let mut resolution: Option<Nanos> = None;
    let mut fastest = f64::INFINITY;
    for _ in 0..BATCHES {
        let taken = clock::time(|| readings.fill_with(&mut read));
        fastest = fastest.min(taken.seconds() / READINGS as f64);
        resolution = resolution.into_iter().chain(smallest_step(&readings)).min();
    }
    ClockCost { resolution: resolution.map(Nanos::seconds), cost: fastest }
}

/// The smallest difference above zero between neighbours.
fn smallest_step(readings: &[Nanos]) -> Option<Nanos> {
    readings.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).filter(|step| *step > 0).min().map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_step_is_above_zero() {
        let check = |readings: &[u64], expected: Option<u64>| {
            let readings: Vec<Nanos> = readings.iter().copied().map(Nanos).collect();
            assert_eq!(smallest_step(&readings), expected.map(Nanos));
        };
        check(&[10, 10, 50, 70, 70, 110], Some(20));
        check(&[5, 5, 5], None);
        check(&[9, 3], None);
        check(&[], None);
    }

    #[test]
    fn a_scripted_clock_is_seen_through() {
        let mut now = 0;
        let coarse = of_clock(|| {
            now += 1;
            Nanos(now / 100 * 4_000)
        });
        assert_eq!(coarse.resolution, Some(Nanos(4_000).seconds()));
        assert_eq!(of_clock(|| Nanos(7)).resolution, None);
    }

    #[test]
    fn the_clocks_of_this_machine_move() {
        assert!(wall().resolution.is_some_and(|step| step > 0.0) && wall().cost > 0.0);
        assert!(thread().is_none_or(|clock| clock.resolution.is_some() && clock.cost > 0.0));
    }
}

//! Whether a device was throttled while a block was timed.
//!
//! A block is throttled when the device reports a reason at either end that is neither idling nor a setting, when a counter
//! of throttled time has moved, or when the clock that a kernel saw is below 95 % of the median of earlier ones. Such a block
//! is taken again, up to three times after a pause, and the last one is marked. After several throttled blocks in a row, each
//! is taken once until one is not throttled. Nothing here sets a clock, a limit or a mode.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use sprag_base::stats::describe;

/// Reasons of the driver that mean slowing down: power cap 0x4, hardware slowdown 0x8, thermal slowdown by software
/// 0x20 and by hardware 0x40, power brake 0x80 (NVML, "clocks event reasons").
const SLOWED: u64 = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// A clock below this share of the median is slow.
const SLOW_CLOCK: f64 = 0.95;

/// Fewer clocks give no median.
const FEWEST_CLOCKS: usize = 5;

/// How often a throttled block is taken again.
const MOST_RETRIES: u32 = 3;

/// Retries have not helped after so many throttled blocks in a row.
const MOST_IN_VAIN: u32 = 3;

/// The clock falls after a longer idle time.
const LONGEST_IDLE: Duration = Duration::from_millis(100);

pub const PAUSE: Duration = Duration::from_millis(50);

/// The state of a device; absent values are not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceState {
    /// Why its clocks are not at their highest, as bits of the driver.
    pub reasons: Option<u64>,
    /// Throttling by power and heat since the start of the device.
    pub throttled_nanos: Option<u64>,
    /// Of its multiprocessors as the driver reports it, in MHz.
    pub clock: Option<u32>,
    pub memory_clock: Option<u32>,
    pub temperature: Option<u32>,
    /// In milliwatts.
    pub power: Option<u32>,
    /// Since the driver was loaded, in millijoules.
    pub energy: Option<u64>,
    /// Of its multiprocessors in a kernel, in Hz.
    pub seen_clock: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockState {
    pub throttled: bool,
    pub retries: u32,
    /// At either end, as bits of the driver.
    pub reasons: u64,
    /// Of the multiprocessors after the block, in MHz: in a kernel, else as the driver reports it.
    pub clock: Option<f64>,
    pub memory_clock: Option<u32>,
    pub temperature: Option<u32>,
    /// After the block, in milliwatts.
    pub power: Option<u32>,
    /// Of the block, in millijoules.
    pub energy: Option<u64>,
}

/// Watches a device over the blocks of a worker.
pub struct Watch {
    read: Box<dyn Fn() -> DeviceState>,
    warm: Box<dyn Fn()>,
    busy_until: Cell<Option<Instant>>,
    clocks: RefCell<Vec<f64>>,
    /// Blocks in a row that stayed throttled.
    in_vain: Cell<u32>,
}

impl Watch {
    /// `warm` gives the device work until its clock has risen.
    pub fn new(read: impl Fn() -> DeviceState + 'static, warm: impl Fn() + 'static) -> Watch {
        Watch {
            read: Box::new(read),
            warm: Box::new(warm),
            busy_until: Cell::new(None),
            clocks: RefCell::new(Vec::new()),
            in_vain: Cell::new(0),
        }
    }

    /// Warms the device up after an idle time.
    pub fn wake(&self) {
        if self.busy_until.get().is_none_or(|until| until.elapsed() > LONGEST_IDLE) {
            (self.warm)();
        }
    }

    pub fn worked(&self) {
        self.busy_until.set(Some(Instant::now()));
    }

    pub fn state(&self) -> DeviceState {
        (self.read)()
    }

    /// The state between two moments, the later of which is now.
    pub fn between(&self, before: &DeviceState, after: &DeviceState, retries: u32) -> BlockState {
        let reasons = before.reasons.unwrap_or(0) | after.reasons.unwrap_or(0);
        let moved = |from: Option<u64>, to: Option<u64>| from.zip(to).map(|(from, to)| to.saturating_sub(from));
        let was_limited = moved(before.throttled_nanos, after.throttled_nanos).is_some_and(|nanos| nanos > 0);
        let slow = after.seen_clock.is_some_and(|clock| self.is_slow(clock));
        if let Some(clock) = after.seen_clock.filter(|_| !slow) {
            self.clocks.borrow_mut().push(clock);
        }
        BlockState {
            throttled: reasons & SLOWED != 0 || was_limited || slow,
            retries,
            reasons,
            clock: after.seen_clock.map(|hertz| (hertz * 1e-6).round()).or(after.clock.map(f64::from)),
            memory_clock: after.memory_clock,
            temperature: after.temperature,
            power: after.power,
            energy: moved(before.energy, after.energy),
        }
    }

    /// Whether a block that came out so is to be taken again.
    pub fn wants_another(&self, block: &BlockState) -> bool {
        let in_vain = self.in_vain.get();
        let retry = block.throttled && block.retries < MOST_RETRIES && in_vain < MOST_IN_VAIN;
        if !retry {
            self.in_vain.set(if block.throttled { in_vain + 1 } else { 0 });
        }
        retry
    }

    fn is_slow(&self, clock: f64) -> bool {
        let clocks = self.clocks.borrow();
        clocks.len() >= FEWEST_CLOCKS && describe::median(&clocks).is_some_and(|median| clock < median * SLOW_CLOCK)
    }
}

pub fn reason_words(reasons: u64) -> Vec<&'static str> {
    let words = [
        (0x1, "idle"),
        (0x2, "application clocks"),
        (0x4, "power cap"),
        (0x8, "hardware slowdown"),
        (0x10, "sync boost"),
        (0x20, "heat"),
        (0x40, "heat (hardware)"),
        (0x80, "power brake"),
        (0x100, "display clocks"),
    ];
    words.into_iter().filter(|(bit, _)| reasons & bit != 0).map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> Watch {
        Watch::new(DeviceState::default, || ())
    }

    #[test]
    fn a_reason_a_counter_or_a_slow_clock_is_throttling() {
        let plain = DeviceState { reasons: Some(0), throttled_nanos: Some(7), ..DeviceState::default() };
        let check = |before: DeviceState, after: DeviceState, expected: bool| {
            assert_eq!(watch().between(&before, &after, 0).throttled, expected, "{before:?} {after:?}");
        };
        check(plain, plain, false);
        check(DeviceState::default(), DeviceState::default(), false);
        check(DeviceState { reasons: Some(0x1 | 0x2 | 0x10), ..plain }, plain, false);
        for bit in [0x4, 0x8, 0x20, 0x40, 0x80] {
            check(DeviceState { reasons: Some(bit), ..plain }, plain, true);
            check(plain, DeviceState { reasons: Some(bit), ..plain }, true);
        }
        check(plain, DeviceState { throttled_nanos: Some(8), ..plain }, true);
        check(DeviceState::default(), DeviceState { throttled_nanos: Some(8), ..plain }, false);
    }

    #[test]
    fn a_clock_is_slow_against_those_seen_before() {
        let at = |hertz: f64| DeviceState { seen_clock: Some(hertz), ..DeviceState::default() };
        let watch = watch();
        let see = |hertz: f64| watch.between(&DeviceState::default(), &at(hertz), 0).throttled;
        assert!(!see(1e9), "nothing was seen before");
        for _ in 0..FEWEST_CLOCKS {
            assert!(!see(2e9));
        }
        assert!(see(1.85e9) && !see(1.95e9));
        // A slow clock does not lower the median.
        assert!((0..20).all(|_| see(1.5e9)));
        assert_eq!(watch.between(&DeviceState::default(), &at(1.98e9), 2).clock, Some(1980.0));
    }

    #[test]
    fn a_device_that_idled_is_warmed_up() {
        let count = std::rc::Rc::new(Cell::new(0));
        let counted = count.clone();
        let watch = Watch::new(DeviceState::default, move || counted.set(counted.get() + 1));
        watch.wake();
        watch.worked();
        watch.wake();
        assert_eq!(count.get(), 1);
    }

    #[test]
    fn waiting_ends_where_it_does_not_help() {
        let watch = watch();
        let taken = |throttled: &dyn Fn(u32) -> bool| {
            let block = |retries| BlockState { throttled: throttled(retries), retries, ..BlockState::default() };
            (0..).find(|retries| !watch.wants_another(&block(*retries))).expect("it ends") + 1
        };
        assert_eq!((taken(&|_| false), taken(&|retries| retries < 2)), (1, 3));
        assert_eq!([0; 5].map(|_| taken(&|_| true)), [4, 4, 4, 1, 1]);
        assert_eq!([taken(&|_| false), taken(&|_| true)], [1, 4]);
    }

    #[test]
    fn energy_is_that_of_the_block() {
        let state = |energy| DeviceState { energy: Some(energy), ..DeviceState::default() };
        assert_eq!(watch().between(&state(100), &state(130), 1).energy, Some(30));
        assert_eq!(reason_words(0x24), ["power cap", "heat"]);
    }
}

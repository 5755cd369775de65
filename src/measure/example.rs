//! A small suite for the tests of this room.

use crate::workload::{Calibration, Class, Companion, Order, Prepared, Workload};
use sprag_model::benchmark::Benchmark;
use sprag_model::sample::Role;

/// `right` is right, `wrong` is not, `broken` cannot be made, `control` is timed against itself.
pub(super) fn suite() -> Vec<Workload> {
    let control = Workload { role: Role::Control, companion: Companion::Twin, ..workload("control", right) };
    vec![workload("right", right), workload("wrong", wrong), workload("broken", broken), control]
}

pub(super) fn workload(name: &str, prepare: fn(&Order<'_>) -> Result<Prepared, String>) -> Workload {
    Workload {
        benchmark: Benchmark::new("cpu", name, &[], "fast").expect("the name is a word"),
        role: Role::Tracked,
        class: Class::Compute,
        threads: 1,
        work: ("tiles_per_s", 10.0),
        companion: Companion::Calibration(Calibration::MultiplyAdd),
        limit: None,
        configurations: Vec::new(),
        tuned_with: None,
        prepare: Box::new(prepare),
    }
}

pub(super) fn right(_: &Order<'_>) -> Result<Prepared, String> {
    let mut sum = 0_u64;
    let call = move || sum = std::hint::black_box(sum.wrapping_mul(3).wrapping_add(1));
    Ok(Prepared {
        parity: crate::parity::compare(&[1.0], &[1.0], 0.0),
        peak_bytes: Some(64),
        call: Box::new(call),
        meter: None,
    })
}

fn wrong(_: &Order<'_>) -> Result<Prepared, String> {
    let call = || unreachable!("a benchmark with a wrong result must not be timed");
    Ok(Prepared {
        parity: crate::parity::compare(&[1.5], &[1.0], 1e-6),
        peak_bytes: None,
        call: Box::new(call),
        meter: None,
    })
}

fn broken(_: &Order<'_>) -> Result<Prepared, String> {
    Err("the shape does not divide".to_owned())
}

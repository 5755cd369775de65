//! A performance test of a crate that uses Sprag: copy it, and put your kernels in.
//!
//!     cargo run --release --example perf_test            # passes
//!     cargo run --release --example perf_test -- --slow  # the plain forms in place of the tuned ones: fails with messages
//!
//! Counted work, such as comparisons, bytes or instructions, is the same on every machine, so it is compared with a ground
//! truth in a file. Time is not, so both forms are timed now, in turns. In your crate, make each function that gives a report
//! a `#[test]` that calls `assert_pass`.

use std::cell::Cell;
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sprag::testing::{
    Cases, Measurer, PerformanceData, RANK, Report, TestingError, compare_sections, compare_with_file,
};

/// The values that a kernel gets, and how many of the largest it finds.
const VALUES: usize = 1024;
const LARGEST: usize = 16;

/// The inputs that are counted; fewer than 100 samples give a warning.
const INPUTS: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let forms = match std::env::args().nth(1).as_deref() {
        None => TUNED,
        Some("--slow") => PLAIN,
        Some(other) => return Err(format!("`{other}` is not known; `--slow` is").into()),
    };
    compare_with_file(&ground_truth(), &counted(&forms)?, &RANK)?.assert_pass();
    timed(&Measurer::default(), &forms)?.assert_pass();
    writeln!(std::io::stdout(), "pass: no more work than before, and no slower than the plain forms")?;
    Ok(())
}

/// With SPRAG_ACCEPT=1 in the environment, the example writes this file.
pub(crate) fn ground_truth() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/perf-test/ground-truth.json")
}

/// The comparisons of each kernel, one sample an input.
pub(crate) fn counted(forms: &Forms) -> Result<PerformanceData, TestingError> {
    let count = |kernel: &dyn Fn(&[u32], Less<'_>) -> Vec<u32>| -> Vec<f64> {
        let of_input = |seed: u64| {
            let comparisons = Cell::new(0_u32);
            kernel(&input(seed), &|a, b| {
                comparisons.set(comparisons.get() + 1);
                a < b
            });
            f64::from(comparisons.get())
        };
        (1..=INPUTS).map(of_input).collect()
    };
    let mut data = PerformanceData::new();
    data.insert("comparisons", "largest", count(&forms.largest))?;
    data.insert("comparisons", "merge", count(&forms.merge))?;
    Ok(data)
}

/// Times the given forms against the plain ones, in turns.
pub(crate) fn timed(measurer: &Measurer, forms: &Forms) -> Result<Report, TestingError> {
    let input = input(1);
    let mut cases = Cases::new();
    for (section, forms) in [("plain", &PLAIN), ("in use", forms)] {
        let input = &input;
        cases.add(section, "largest", move || (forms.largest)(input, &|a, b| a < b));
        cases.add(section, "merge", move || (forms.merge)(input, &|a, b| a < b));
    }
    let measured = measurer.measure(cases)?;
    Ok(compare_sections(&[measured], "plain", "in use", &RANK))
}

type Less<'l> = &'l dyn Fn(u32, u32) -> bool;

pub(crate) struct Forms {
    /// The largest values, the largest first.
    pub(crate) largest: fn(&[u32], Less<'_>) -> Vec<u32>,
    /// The two sorted halves of a list as one sorted list.
    pub(crate) merge: fn(&[u32], Less<'_>) -> Vec<u32>,
}

pub(crate) const TUNED: Forms = Forms { largest: largest_in_one_pass, merge: merge_from_both_ends };

pub(crate) const PLAIN: Forms = Forms { largest: largest_in_many_passes, merge: merge_by_insertion };

fn largest_in_one_pass(values: &[u32], less: Less<'_>) -> Vec<u32> {
    let mut largest: Vec<u32> = Vec::with_capacity(LARGEST + 1);
    for &value in values {
        if largest.len() == LARGEST && !less(largest[LARGEST - 1], value) {
            continue;
        }
        let place = largest.iter().position(|one| less(*one, value)).unwrap_or(largest.len());
        largest.insert(place, value);
        largest.truncate(LARGEST);
    }
    largest
}

fn largest_in_many_passes(values: &[u32], less: Less<'_>) -> Vec<u32> {
    let mut rest = values.to_vec();
    let mut largest = Vec::new();
    while largest.len() < LARGEST && !rest.is_empty() {
        let place = (1..rest.len()).fold(0, |best, place| if less(rest[best], rest[place]) { place } else { best });
        largest.push(rest.swap_remove(place));
    }
    largest
}

fn merge_from_both_ends(values: &[u32], less: Less<'_>) -> Vec<u32> {
    let (mut left, mut right) = values.split_at(values.len() / 2);
    let mut merged = Vec::with_capacity(values.len());
    while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
        if less(*second, *first) {
            merged.push(*second);
            right = right_rest;
        } else {
            merged.push(*first);
            left = left_rest;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    merged
}

fn merge_by_insertion(values: &[u32], less: Less<'_>) -> Vec<u32> {
    let (left, right) = values.split_at(values.len() / 2);
    let mut merged = left.to_vec();
    for &value in right {
        let place = merged.iter().position(|one| less(value, *one)).unwrap_or(merged.len());
        merged.insert(place, value);
    }
    merged
}

/// Two sorted halves of values that the seed determines.
fn input(seed: u64) -> Vec<u32> {
    // The generator of Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8, 2003.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    let mut values: Vec<u32> = (0..VALUES).map(|_| next()).collect();
    values[..VALUES / 2].sort_unstable();
    values[VALUES / 2..].sort_unstable();
    values
}

//! Padding of a process' environment, of random size.
//!
//! The size of the environment shifts the stack, which moves results (Mytkowicz and others, "Producing wrong data
//! without doing anything obviously wrong", ASPLOS 2009); a size drawn for each process makes variance of that bias.

use sprag_base::stats::random::SplitMix64;

/// The variable that the padding is handed over in.
const VARIABLE: &str = "SPRAG_PADDING";

/// The most padding, in bytes.
const MOST: usize = 4096;

pub(super) fn variable(seed: u64, process: u32) -> (&'static str, String) {
    let seed = seed.wrapping_add(u64::from(process)) ^ u64::from(std::process::id());
    (VARIABLE, "x".repeat(SplitMix64::new(seed).below(MOST)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn processes_are_padded_differently() {
        let sizes: BTreeSet<usize> = (0..20).map(|process| variable(123, process).1.len()).collect();
        assert!(sizes.len() > 10 && sizes.iter().all(|size| *size < MOST), "{sizes:?}");
    }
}

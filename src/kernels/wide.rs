//! Runs work with the widest vector instructions of this CPU.
//!
//! The crate is built for plain x86-64, so one binary runs everywhere. Work that gains from wider vectors is safe code in a
//! [`Work::run`] that is always inlined; [`run`] compiles it three times and picks one at run time. No fused multiply-add
//! is used: every width performs the same operations in the same order, so results do not depend on the CPU.
//!
//! Measured on an AMD EPYC of family 25 (Zen 4), one thread, as shares of the time at the plain width: the scan takes
//! 0.40 with AVX-512 and 0.52 with AVX2, the alphas of the fusion gate 0.33 and 0.53, the whole gate 0.8. Kernels that
//! only move tiles gain nothing, so they stay at the plain width.

/// A piece of work over slices.
pub(super) trait Work {
    type Output;

    /// Implementations and what they call are `#[inline(always)]`, else they stay at the plain width.
    fn run(self, width: Width) -> Self::Output;
}

/// A vector width. A value proves that this CPU has the instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Width(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Width {
    /// The widest of this CPU. The standard library caches what the CPU reports.
    #[inline]
    pub(super) fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if Self::has_avx512() {
                return Width(Level::Avx512);
            }
            if std::is_x86_feature_detected!("avx2") {
                return Width(Level::Avx2);
            }
        }
        Width(Level::Plain)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn is_avx512(self) -> bool {
        self.0 == Level::Avx512
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn has_avx512() -> bool {
        std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512vl")
    }

    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "only x86-64 adds to it"))]
        let mut all = vec![Width(Level::Plain)];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(std::is_x86_feature_detected!("avx2").then_some(Width(Level::Avx2)));
            all.extend(Self::has_avx512().then_some(Width(Level::Avx512)));
        }
        all
    }
}

#[inline]
pub(super) fn run<W: Work>(width: Width, work: W) -> W::Output {
    match width.0 {
        Level::Plain => work.run(Width(Level::Plain)),
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "vectors twice as wide as the target's; the module's head states the gain")]
        // SAFETY: a `Width` of this level is made only where the CPU was found to have AVX2.
        Level::Avx2 => unsafe { run_avx2(work) },
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "vectors four times as wide as the target's; the module's head states the gain")]
        // SAFETY: a `Width` of this level is made only where the CPU was found to have these parts of AVX-512.
        Level::Avx512 => unsafe { run_avx512(work) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2<W: Work>(work: W) -> W::Output {
    work.run(Width(Level::Avx2))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512<W: Work>(work: W) -> W::Output {
    work.run(Width(Level::Avx512))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Total<'a>(&'a [f32]);

    impl Work for Total<'_> {
        type Output = (f32, Width);

        #[inline(always)]
        fn run(self, width: Width) -> (f32, Width) {
            (self.0.iter().fold(0.0, |total, value| total * 0.7 + value * 1.1), width)
        }
    }

    #[test]
    fn every_width_gives_the_same_bits_and_knows_itself() {
        let values: Vec<f32> = (0..999u16).map(|position| f32::from(position).sin()).collect();
        let (plain, _) = Total(&values).run(Width(Level::Plain));
        for width in Width::all() {
            let (total, at) = run(width, Total(&values));
            assert_eq!((total.to_bits(), at), (plain.to_bits(), width));
        }
        assert_eq!(Width::all().last(), Some(&Width::widest()));
    }
}

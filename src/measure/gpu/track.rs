//! The tracks by which a call is timed; the timer says what each is for.

use serde::{Deserialize, Serialize};

/// The most sets of buffers: small kernels would take thousands.
const MOST_SETS: usize = 2000;

/// How many times the second-level cache the buffers of a rotating track exceed it.
const CACHES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Track {
    /// Replays of a graph on the same memory.
    Hot,
    /// Replays of a graph over more memory than the caches hold.
    Rotating,
    /// Single calls after the cache was overwritten.
    Cold,
    /// Launch and wait, by the host's clock.
    Host,
}

impl Track {
    pub const ALL: [Track; 4] = [Track::Hot, Track::Rotating, Track::Cold, Track::Host];

    pub fn word(self) -> &'static str {
        match self {
            Track::Hot => "hot",
            Track::Rotating => "rotating",
            Track::Cold => "cold",
            Track::Host => "host",
        }
    }

    /// How many sets of buffers of so many bytes it takes.
    pub fn sets(self, bytes: usize, cache_bytes: usize) -> usize {
        match self {
            Track::Rotating => (CACHES * cache_bytes).div_ceil(bytes.max(1)).clamp(2, MOST_SETS),
            Track::Hot | Track::Cold | Track::Host => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_exceeds_the_cache() {
        assert_eq!(Track::Rotating.sets(16 << 20, 50 << 20), 10);
        assert_eq!(Track::Rotating.sets(6 << 30, 50 << 20), 2);
        assert_eq!(Track::Rotating.sets(0, 50 << 20), MOST_SETS);
        assert_eq!(Track::Hot.sets(1, 50 << 20), 1);
    }
}

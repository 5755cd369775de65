//! The tunable part of the kernels that move tiles.

/// How the work on tiles is cut.
///
/// Planes of a map lie a large power of two apart, so the same row of all channels falls into a few sets of the cache
/// and lines are thrown out before the neighbouring tile comes to use their other half. A small block of channels
/// goes over all tiles before the next block begins, which spreads the rows in use over the sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileConfig {
    /// Channels that go over all tiles together; 0 takes all channels at once.
    pub channel_block: usize,
}

impl TileConfig {
    /// The words under which a tuned variant is recorded, such as `channel_block=16`.
    pub fn name(self) -> String {
        match self.channel_block {
            0 => "channel_block=all".to_owned(),
            channels => format!("channel_block={channels}"),
        }
    }

    pub(crate) fn block(self, channels: usize) -> usize {
        if self.channel_block == 0 { channels } else { self.channel_block.min(channels) }
    }

    /// The same where the threads of the current rayon pool share the blocks, so that each thread has one.
    pub(crate) fn shared_block(self, channels: usize) -> usize {
        self.block(channels).min(channels.div_ceil(rayon::current_num_threads()))
    }
}

#[cfg(test)]
mod tests {
    use super::TileConfig;

    #[test]
    fn a_block_has_a_name_and_never_more_channels_than_the_map() {
        let check = |channel_block, name: &str, block| {
            let config = TileConfig { channel_block };
            assert_eq!((config.name().as_str(), config.block(6)), (name, block));
        };
        check(0, "channel_block=all", 6);
        check(4, "channel_block=4", 4);
        check(16, "channel_block=16", 6);
    }
}

//! The form of a kernel, and the configuration of a tuned one: what the macros of its variants are set to.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain code, one thread an output.
    Reference,
    /// The fast form, so configured.
    Tuned(Config),
}

/// How a tuned kernel is built and launched. A kernel ignores what it has no use for, and its candidates leave it zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Config {
    pub block: u32,
    /// Bytes that a thread reads or writes at once, at most: 4, 8 or 16. Rows that are not so aligned take less.
    pub vector: u32,
    /// Independent accesses of a thread that are under way together.
    pub unroll: u32,
    /// How much a block takes before it ends: steps of a long scan, tiles that a warp reads together, rounds of a copy,
    /// channels of a gate.
    pub chunk: u32,
}

impl Config {
    /// Its name, such as `block256 vector16 unroll4`; what is zero is left out.
    pub fn name(self) -> String {
        let parts = [("block", self.block), ("vector", self.vector), ("unroll", self.unroll), ("chunk", self.chunk)];
        let named: Vec<String> =
            parts.iter().filter(|(_, value)| *value > 0).map(|(word, value)| format!("{word}{value}")).collect();
        named.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_what_is_set() {
        let config = Config { block: 256, vector: 16, unroll: 4, chunk: 0 };
        assert_eq!(config.name(), "block256 vector16 unroll4");
        assert_eq!(Config::default().name(), "");
    }
}

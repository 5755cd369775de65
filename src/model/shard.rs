//! Shards: one suite divided over several jobs, whose runs are merged again.
//!
//! The shard of a benchmark follows from a digest of its suite, name and parameters without the number of threads. Forms of a
//! kernel that are compared with one another (reference, fast, on more threads) therefore share a shard, and every benchmark
//! is on exactly one. Records of shards merge as a set: in any order, any number of times, and only when none is missing.

mod assembly;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::benchmark::Benchmark;
use sprag_base::digest;

pub use self::assembly::{Assembly, CompleteRun, IncompleteRun, assemble};

/// The setting of a run that names its shard, such as `2/4`.
pub const SHARD: &str = "shard";

/// The setting of a run that lists the shards with benchmarks: no others will have a record.
pub const OCCUPIED: &str = "shards_with_benchmarks";

/// The setting of a merged run with the number of its shards.
pub const MERGED: &str = "merged_shards";

/// More than any suite has benchmarks.
const MOST_SHARDS: u32 = 10_000;

const THREADS: &str = "threads";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShardError(String);

/// One of `count` parts of a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    count: u32,
    index: u32,
}

impl Shard {
    /// The shard `index` of `count`, counted from 1.
    pub fn new(index: u64, count: u64) -> Result<Shard, ShardError> {
        match (u32::try_from(index), u32::try_from(count)) {
            (Ok(small), Ok(many)) if many <= MOST_SHARDS && (1..=many).contains(&small) => {
                Ok(Shard { index: small, count: many })
            }
            _ => {
                Err(ShardError(format!("{index}/{count} is not a shard: n is from 1 to {MOST_SHARDS}, i from 1 to n")))
            }
        }
    }

    /// Reads `i/n`.
    pub fn parse(text: &str) -> Result<Shard, ShardError> {
        let number = |part: &str| part.trim().parse::<u64>().ok();
        match text.split_once('/').map(|(index, count)| (number(index), number(count))) {
            Some((Some(index), Some(count))) => Shard::new(index, count),
            _ => Err(ShardError(format!("`{}` is not a shard: it must be `i/n`, such as `2/4`", text.escape_debug()))),
        }
    }

    /// From 1.
    pub fn index(self) -> u32 {
        self.index
    }

    pub fn count(self) -> u32 {
        self.count
    }

    /// The shard of a run with these settings; absent where they name none, or an invalid one.
    pub fn from_config(config: &BTreeMap<String, Value>) -> Option<Shard> {
        Shard::parse(config.get(SHARD)?.as_str()?).ok()
    }

    pub fn holds(self, benchmark: &Benchmark) -> bool {
        place(&group(benchmark), self.count) == self.index
    }

    /// Whether an indivisible suite is on this shard.
    pub fn holds_suite(self, suite: &str) -> bool {
        place(suite, self.count) == self.index
    }

    /// The shards of its division that have any of the benchmarks: the list of [`OCCUPIED`].
    pub fn occupied<'a>(self, benchmarks: impl IntoIterator<Item = &'a Benchmark>) -> Vec<u32> {
        let places: BTreeSet<u32> = benchmarks.into_iter().map(|one| place(&group(one), self.count)).collect();
        places.into_iter().collect()
    }

    /// The settings of a run of this shard.
    pub fn settings(self, occupied: &[u32]) -> [(String, Value); 2] {
        [(SHARD.to_owned(), Value::from(self.to_string())), (OCCUPIED.to_owned(), Value::from(occupied.to_vec()))]
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The identity without variant, version and number of threads: what keeps benchmarks on one shard.
fn group(benchmark: &Benchmark) -> String {
    let mut group = Benchmark { variant: String::new(), ..benchmark.clone() };
    group.params.remove(THREADS);
    format!("{}/{}{}", group.suite, group.name, group.params_text())
}

/// The shard of a key, from 1: the first 60 bits of its SHA-256, modulo `count`. It never changes.
fn place(key: &str, count: u32) -> u32 {
    let digits = digest::sha256_hex(key.as_bytes());
    let number = u64::from_str_radix(&digits[..15], 16).expect("a digest is made of hexadecimal digits");
    (number % u64::from(count)) as u32 + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn benchmark(name: &str, params: &[(&str, &str)], variant: &str) -> Benchmark {
        let params: Vec<(&str, String)> = params.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        Benchmark::new("cpu", name, &params, variant).expect("the parts are words")
    }

    #[test]
    fn a_shard_is_written_as_it_is_read() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(Shard::parse(text).ok().map(|shard| shard.to_string()).as_deref(), expected, "{text}");
        };
        check("2/4", Some("2/4"));
        check("1/1", Some("1/1"));
        check("10000/10000", Some("10000/10000"));
        for text in ["", "2", "0/4", "5/4", "-1/4", "1/0", "1/10001", "a/b", "1/2/3", "1/99999999999999999999"] {
            check(text, None);
        }
        assert_eq!(
            Shard::new(5, 4).map_err(|error| error.to_string()),
            Err("5/4 is not a shard: n is from 1 to 10000, i from 1 to n".to_owned())
        );
    }

    #[test]
    fn forms_of_a_kernel_share_a_shard() {
        let forms = [
            benchmark("tile_pack", &[("c", "128")], "reference"),
            benchmark("tile_pack", &[("c", "128")], "fast"),
            benchmark("tile_pack", &[("c", "128"), ("threads", "2")], "fast"),
        ];
        for count in 1..60 {
            let forms_on = |index| forms.iter().filter(|form| Shard { index, count }.holds(form)).count();
            assert!((1..=count).map(forms_on).all(|forms_on| [0, forms.len()].contains(&forms_on)));
        }
        // Frozen: records of different versions of Sprag must merge.
        assert_eq!(place("cpu/tile_pack{c=128}", 1000), 306);
    }

    proptest! {
        #[test]
        fn every_benchmark_is_on_exactly_one_shard(
            names in proptest::collection::vec("[a-z_]{1,12}", 1..20), count in 1_u32..50,
        ) {
            let benchmarks: Vec<Benchmark> = names.iter().map(|name| benchmark(name, &[], "fast")).collect();
            for one in &benchmarks {
                let places: Vec<u32> = (1..=count).filter(|&index| Shard { index, count }.holds(one)).collect();
                prop_assert_eq!(places.len(), 1);
                let occupied = Shard { index: 1, count }.occupied(&benchmarks);
                prop_assert!(occupied.contains(&places[0]));
            }
            let suites = (1..=count).filter(|&index| Shard { index, count }.holds_suite(&names[0])).count();
            prop_assert_eq!(suites, 1);
        }
    }
}

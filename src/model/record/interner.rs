//! Benchmarks that are checked and made once: a history names the same hundred of them ten thousand times.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::text::Text;
use crate::benchmark::{Benchmark, BenchmarkError};

/// Benchmarks whose parts were found to make their id.
#[derive(Default)]
pub(super) struct Interner {
    /// With their ids, in the order in which they were met.
    all: Vec<(String, Arc<Benchmark>)>,
    places: HashMap<String, usize>,
    /// The place after the last one that was asked for: runs of a suite list their benchmarks in one order.
    next: usize,
}

/// The parts of a benchmark as a record has them.
pub(super) struct Identity<'r> {
    pub(super) suite: &'r str,
    pub(super) name: &'r str,
    pub(super) params: &'r BTreeMap<Text<'r>, Text<'r>>,
    pub(super) variant: &'r str,
    pub(super) version: u32,
}

impl Interner {
    /// The benchmark that was made of this id last.
    fn get(&mut self, id: &str) -> Option<&Arc<Benchmark>> {
        let is_next = self.all.get(self.next).is_some_and(|(one, _)| one == id);
        let place = if is_next { self.next } else { *self.places.get(id)? };
        self.next = place + 1;
        self.all.get(place).map(|(_, benchmark)| benchmark)
    }

    /// The benchmark of these parts, which must be fit to be one and make that id.
    pub(super) fn intern(&mut self, id: &str, identity: &Identity<'_>) -> Result<Arc<Benchmark>, String> {
        if let Some(benchmark) = self.get(id).filter(|benchmark| identity.is(benchmark)) {
            return Ok(Arc::clone(benchmark));
        }
        let benchmark = identity.benchmark();
        benchmark.check().map_err(|error: BenchmarkError| error.to_string())?;
        if benchmark.id() != id {
            return Err(format!("its parts make `{}`", benchmark.id()));
        }
        let benchmark = Arc::new(benchmark);
        self.places.insert(id.to_owned(), self.all.len());
        self.all.push((id.to_owned(), Arc::clone(&benchmark)));
        Ok(benchmark)
    }
}

impl Identity<'_> {
    fn is(&self, benchmark: &Benchmark) -> bool {
        let pairs = benchmark.params.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        self.version == benchmark.version
            && self.name == benchmark.name
            && self.variant == benchmark.variant
            && self.suite == benchmark.suite
            && self.params.iter().map(|(key, value)| (key.as_str(), value.as_str())).eq(pairs)
    }

    fn benchmark(&self) -> Benchmark {
        let owned = |text: &Text<'_>| text.as_str().to_owned();
        Benchmark {
            suite: self.suite.to_owned(),
            name: self.name.to_owned(),
            params: self.params.iter().map(|(key, value)| (owned(key), owned(value))).collect(),
            variant: self.variant.to_owned(),
            version: self.version,
        }
    }
}

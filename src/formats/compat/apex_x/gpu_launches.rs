//! The registry of the GPU report: which configuration each tuned kernel ran with, where that came from, and how often it
//! was called.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::autotune::{AutotuneSnapshot, Launched, Registry, Source, shape_bucket};
use super::gpu_report::GpuConfig;
use sprag_base::words;
use sprag_model::run::Run;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimedOperation {
    TilePack,
    TileUnpack,
    FusionGate,
    Scan,
    /// The path of an image through the model, with the choice of tiles.
    EndToEnd,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedForm {
    /// Its kernels in the order of their launches, each once.
    pub kernels: Vec<String>,
    /// Its configuration, by macro.
    pub configuration: BTreeMap<String, u32>,
    /// The calls at these sizes: once to be checked, to warm up, and to be timed.
    pub calls: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChosenLaunches {
    /// By name; an operation without one runs its untuned configuration.
    pub configurations: BTreeMap<TimedOperation, String>,
    sources: BTreeMap<TimedOperation, Source>,
}

// Its name in benchmarks.
words!(TimedOperation {
    TilePack: "tile_pack",
    TileUnpack: "tile_unpack",
    FusionGate: "fusion_gate",
    Scan: "tile_ssm_scan",
    EndToEnd: "ff_path",
});

impl TimedOperation {
    /// In the order in which they are timed.
    pub const ALL: [TimedOperation; 5] = [
        TimedOperation::TilePack,
        TimedOperation::TileUnpack,
        TimedOperation::FusionGate,
        TimedOperation::Scan,
        TimedOperation::EndToEnd,
    ];

    /// Its name in the registry: Apex-X's, or ours for what Apex-X does not count.
    fn op_name(self) -> &'static str {
        match self {
            TimedOperation::TilePack => "tilepack",
            TimedOperation::TileUnpack => "tileunpack_priority",
            TimedOperation::FusionGate => "fusiongate_fuse",
            TimedOperation::Scan => "tilessm_scan",
            TimedOperation::EndToEnd => "ff_path",
        }
    }

    fn shape(self, config: &GpuConfig, dtype: &str) -> String {
        let names: &[&str] = match self {
            TimedOperation::TilePack | TimedOperation::TileUnpack => {
                &["batch", "channels", "height", "width", "kmax", "tile_size"]
            }
            TimedOperation::FusionGate => &["batch", "channels", "height", "width", "n_elements"],
            TimedOperation::Scan => &["batch", "channels", "steps"],
            TimedOperation::EndToEnd => &["batch", "channels", "height", "width", "kmax"],
        };
        let sizes = [
            ("batch", config.batch),
            ("channels", config.channels),
            ("height", config.height),
            ("width", config.width),
            ("kmax", config.kmax),
            ("tile_size", config.tile_size),
            ("steps", config.steps),
            ("n_elements", config.batch * config.channels * config.height * config.width),
        ];
        let sizes = sizes.into_iter().filter(|(name, _)| names.contains(name));
        let fields = sizes.map(|(name, size)| (name, json!(size))).chain([("dtype", json!(dtype))]);
        shape_bucket(&fields.map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl ChosenLaunches {
    /// The choices of a run for the benchmarks that `id` names.
    pub fn from_run(run: &Run, id: impl Fn(TimedOperation) -> Option<String>) -> ChosenLaunches {
        let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        let mut chosen = ChosenLaunches::default();
        for operation in TimedOperation::ALL {
            let Some(id) = id(operation) else { continue };
            let entry = run.autotune.iter().find(|entry| text(entry, "benchmark").as_ref() == Some(&id));
            let source = entry.and_then(|entry| text(entry, "source")).and_then(|word| source(&word));
            if let Some((selected, source)) = entry.and_then(|entry| text(entry, "selected")).zip(source) {
                chosen.configurations.insert(operation, selected);
                chosen.sources.insert(operation, source);
            }
        }
        chosen
    }

    fn source(&self, operation: TimedOperation) -> Source {
        self.sources.get(&operation).copied().unwrap_or(Source::Heuristic)
    }

    /// The registry of tuned operations. A launch is a call of the operation, whichever number of kernels it takes; what
    /// ran in its plain form is not in it, as in Apex-X.
    pub fn snapshot<'a>(
        &self,
        tuned: impl Iterator<Item = (TimedOperation, &'a TunedForm)>,
        config: &GpuConfig,
        dtype: &str,
    ) -> AutotuneSnapshot {
        let mut registry = Registry::default();
        for (operation, TunedForm { kernels, configuration, calls }) in tuned {
            let launched = Launched {
                op_name: operation.op_name().to_owned(),
                kernel_name: kernels.join("+"),
                shape_bucket: operation.shape(config, dtype),
                selected_config: configuration.iter().map(|(name, value)| (name.clone(), json!(value))).collect(),
                selection_source: self.source(operation),
            };
            registry.record_many(launched, *calls);
        }
        registry.snapshot()
    }
}

/// The word of Apex-X's registry for that of a run.
fn source(word: &str) -> Option<Source> {
    let words = [("default", Source::Heuristic), ("tuned", Source::Autotuned), ("incumbent", Source::RegistryCache)];
    words.into_iter().find(|(candidate, _)| *candidate == word).map(|(_, source)| source)
}

#[cfg(test)]
mod tests {
    use super::super::gpu_report::tests::config;
    use super::*;
    use sprag_model::Machine;

    fn run(autotune: Vec<Value>) -> Run {
        let time = "2026-11-01T04:00:00Z".parse().expect("a time");
        Run { autotune, ..Run::new("gpu", time, Machine::named("box", "GPU")) }
    }

    #[test]
    fn shapes_have_the_fields_of_the_seed() {
        let check = |operation: TimedOperation, expected: &str| {
            assert_eq!(operation.shape(&config(), "float16"), expected);
        };
        let tiles = "batch=1|channels=128|dtype=float16|height=128|kmax=32|tile_size=8|width=128";
        check(TimedOperation::TilePack, tiles);
        check(TimedOperation::TileUnpack, tiles);
        let gate = "batch=1|channels=128|dtype=float16|height=128|n_elements=2097152|width=128";
        check(TimedOperation::FusionGate, gate);
        check(TimedOperation::Scan, "batch=1|channels=128|dtype=float16|steps=256");
        check(TimedOperation::EndToEnd, "batch=1|channels=128|dtype=float16|height=128|kmax=32|width=128");
    }

    #[test]
    fn the_choices_of_a_run_are_read_with_their_sources() {
        let entry = |benchmark: &str, selected: &str, source: &str| json!({ "benchmark": benchmark, "selected": selected, "source": source, "candidates": {} });
        let run = run(vec![
            entry("TilePack", "a", "default"),
            entry("TileUnpack", "b", "tuned"),
            entry("FusionGate", "c", "incumbent"),
            entry("Scan", "d", "guessed"),
            json!("damaged"),
        ]);
        let chosen = ChosenLaunches::from_run(&run, |operation| Some(format!("{operation:?}")));
        let check = |operation: TimedOperation, selected: Option<&str>, source: Source| {
            assert_eq!(chosen.configurations.get(&operation).map(String::as_str), selected);
            assert_eq!(chosen.source(operation), source);
        };
        check(TimedOperation::TilePack, Some("a"), Source::Heuristic);
        check(TimedOperation::TileUnpack, Some("b"), Source::Autotuned);
        check(TimedOperation::FusionGate, Some("c"), Source::RegistryCache);
        check(TimedOperation::Scan, None, Source::Heuristic);
        check(TimedOperation::EndToEnd, None, Source::Heuristic);
        assert_eq!(ChosenLaunches::from_run(&run, |_| None), ChosenLaunches::default());
    }

    #[test]
    fn tuned_calls_are_counted() {
        let configuration = BTreeMap::from([("BLOCK".to_owned(), 128), ("VECTOR".to_owned(), 16)]);
        let tuned = |kernels: &[&str], calls| TunedForm {
            kernels: kernels.iter().map(|name| (*name).to_owned()).collect(),
            configuration: configuration.clone(),
            calls,
        };
        let (pack, path) = (tuned(&["tile_pack"], 61), tuned(&["ff_means", "ff_finish"], 3));
        let tuned = [(TimedOperation::TilePack, &pack), (TimedOperation::EndToEnd, &path)];
        let snapshot = ChosenLaunches::default().snapshot(tuned.into_iter(), &config(), "float16");
        let summary = snapshot.summary;
        assert_eq!((summary.cache_entries, summary.launches, summary.cache_misses), (2, 64, 2));
        let [path, pack] = &snapshot.entries[..] else { panic!("two entries") };
        assert_eq!((path.op_name.as_str(), path.kernel_name.as_str()), ("ff_path", "ff_means+ff_finish"));
        assert_eq!((pack.launches, pack.cache_hits, pack.cache_misses), (61, 60, 1));
        let config = BTreeMap::from([("BLOCK".to_owned(), json!(128)), ("VECTOR".to_owned(), json!(16))]);
        assert_eq!((&pack.selected_config, pack.selection_source), (&config, Source::Heuristic));
    }
}

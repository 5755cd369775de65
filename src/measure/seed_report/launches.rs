//! The registry of the report: which configuration each tuned kernel ran with, where that came from, and how often it
//! was called.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::gpu::settings::{Profile, Settings};
use crate::gpu::single_calls::{CallsTimes, Subject, Tuned};
use sprag_model::autotune::{Launched, Registry, Snapshot, Source, shape_bucket};
use sprag_model::run::Run;

/// What a run chose for the operations of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chosen {
    /// The configurations by name; of what is not among them the one used untuned runs.
    pub(super) configurations: BTreeMap<Subject, String>,
    sources: BTreeMap<Subject, Source>,
}

impl Chosen {
    /// Reads the choices of a run, made for the benchmark that `id` names for each operation.
    pub(super) fn from_run(run: &Run, id: impl Fn(Subject) -> Option<String>) -> Chosen {
        let mut chosen = Chosen::default();
        for subject in Subject::ALL {
            let Some(id) = id(subject) else { continue };
            let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
            let Some(entry) = run.autotune.iter().find(|entry| text(entry, "benchmark").as_ref() == Some(&id)) else {
                continue;
            };
            let source = text(entry, "source").and_then(|word| source(&word));
            if let Some((selected, source)) = text(entry, "selected").zip(source) {
                chosen.configurations.insert(subject, selected);
                chosen.sources.insert(subject, source);
            }
        }
        chosen
    }

    fn source(&self, subject: Subject) -> Source {
        self.sources.get(&subject).copied().unwrap_or(Source::Heuristic)
    }
}

/// The word of the seed's registry for that of a run.
fn source(word: &str) -> Option<Source> {
    match word {
        "default" => Some(Source::Heuristic),
        "tuned" => Some(Source::Autotuned),
        "incumbent" => Some(Source::RegistryCache),
        _ => None,
    }
}

/// What was called, tuned, as the registry tells it. A launch is a call of the operation, whichever number of kernels it
/// takes; what ran in its plain form is not in it, as in the seed.
pub(super) fn snapshot(times: &CallsTimes, settings: &Settings, dtype: &str, chosen: &Chosen) -> Snapshot {
    let mut registry = Registry::default();
    for (subject, calls) in &times.operations {
        let Ok(Tuned { kernels, configuration, calls }) = &calls.tuned else { continue };
        let launched = Launched {
            op_name: op_name(*subject).to_owned(),
            kernel_name: kernels.join("+"),
            shape_bucket: shape_bucket(&fields(*subject, settings, dtype)),
            selected_config: configuration.iter().map(|(name, value)| (name.clone(), json!(value))).collect(),
            selection_source: chosen.source(*subject),
        };
        registry.record_many(launched, *calls);
    }
    registry.snapshot()
}

/// The operation's name in the registry: the seed's, and ours for what the seed does not count.
fn op_name(subject: Subject) -> &'static str {
    match subject {
        Subject::TilePack => "tilepack",
        Subject::TileUnpack => "tileunpack_priority",
        Subject::FusionGate => "fusiongate_fuse",
        Subject::Scan => "tilessm_scan",
        Subject::EndToEnd => "ff_path",
    }
}

/// The exact sizes, by the seed's names.
fn fields(subject: Subject, settings: &Settings, dtype: &str) -> BTreeMap<String, Value> {
    let Profile { batch, channels, height, width, tile_size, kmax, scan } = settings.profile;
    let map =
        [("batch", json!(batch)), ("channels", json!(channels)), ("height", json!(height)), ("width", json!(width))];
    let (mut fields, own) = match subject {
        Subject::TilePack | Subject::TileUnpack => {
            (map.to_vec(), vec![("kmax", json!(kmax)), ("tile_size", json!(tile_size))])
        }
        Subject::FusionGate => {
            let elements: u64 = [batch, channels, height, width].into_iter().map(u64::from).product();
            (map.to_vec(), vec![("n_elements", json!(elements))])
        }
        Subject::Scan => {
            let sizes = vec![("batch", json!(scan.batch)), ("channels", json!(scan.channels))];
            (sizes, vec![("steps", json!(scan.steps))])
        }
        Subject::EndToEnd => (map.to_vec(), vec![("kmax", json!(kmax))]),
    };
    fields.extend(own);
    fields.push(("dtype", json!(dtype)));
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::single_calls::{OperationCalls, Selected, Series};
    use sprag_model::environment::{Environment, Machine};
    use sprag_model::run::{Quality, RunStatus};

    fn times(tuned: &[(Subject, Result<Tuned, String>)]) -> CallsTimes {
        let series = Series { nanos: vec![1], peak_bytes: 1 };
        let calls = |tuned: &Result<Tuned, String>| OperationCalls {
            reference: series.clone(),
            dispatch: series.clone(),
            tuned: tuned.clone(),
        };
        let operations = tuned.iter().map(|(subject, tuned)| (*subject, calls(tuned))).collect();
        CallsTimes { operations, selected: Selected::default() }
    }

    fn tuned(kernels: &[&str], calls: u64) -> Result<Tuned, String> {
        let configuration = BTreeMap::from([("BLOCK".to_owned(), 128), ("VECTOR".to_owned(), 16)]);
        Ok(Tuned { kernels: kernels.iter().map(|name| (*name).to_owned()).collect(), configuration, calls })
    }

    fn run(autotune: Vec<Value>) -> Run {
        Run {
            suite: "gpu".to_owned(),
            timestamp: "2026-11-01T04:00:00Z".parse().expect("a time"),
            commit: None,
            machine: Machine { id: "m".to_owned(), name: "box".to_owned(), class: "GPU".to_owned() },
            environment: Environment::from_facts(BTreeMap::new()),
            config: BTreeMap::new(),
            status: RunStatus::Ok,
            reason: None,
            quality: Quality { clean: true, reasons: Vec::new() },
            measurements: Vec::new(),
            autotune,
        }
    }

    #[test]
    fn shapes_have_the_fields_of_the_seed() {
        let check = |subject: Subject, expected: &str| {
            assert_eq!(shape_bucket(&fields(subject, &Settings::FIXED, "float16")), expected);
        };
        let tiles = "batch=1|channels=128|dtype=float16|height=128|kmax=32|tile_size=8|width=128";
        check(Subject::TilePack, tiles);
        check(Subject::TileUnpack, tiles);
        check(Subject::FusionGate, "batch=1|channels=128|dtype=float16|height=128|n_elements=2097152|width=128");
        check(Subject::Scan, "batch=1|channels=128|dtype=float16|steps=256");
        check(Subject::EndToEnd, "batch=1|channels=128|dtype=float16|height=128|kmax=32|width=128");
    }

    #[test]
    fn the_choices_of_a_run_are_found_with_their_sources() {
        let entry = |benchmark: &str, selected: &str, source: &str| json!({ "benchmark": benchmark, "selected": selected, "source": source, "candidates": {} });
        let run = run(vec![
            entry("TilePack", "a", "default"),
            entry("TileUnpack", "b", "tuned"),
            entry("FusionGate", "c", "incumbent"),
            entry("Scan", "d", "guessed"),
            json!("damaged"),
        ]);
        let chosen = Chosen::from_run(&run, |subject| Some(format!("{subject:?}")));
        let check = |subject: Subject, selected: Option<&str>, source: Source| {
            assert_eq!(chosen.configurations.get(&subject).map(String::as_str), selected);
            assert_eq!(chosen.source(subject), source);
        };
        check(Subject::TilePack, Some("a"), Source::Heuristic);
        check(Subject::TileUnpack, Some("b"), Source::Autotuned);
        check(Subject::FusionGate, Some("c"), Source::RegistryCache);
        check(Subject::Scan, None, Source::Heuristic);
        check(Subject::EndToEnd, None, Source::Heuristic);
        assert_eq!(Chosen::from_run(&run, |_| None), Chosen::default());
    }

    #[test]
    fn what_ran_tuned_is_counted_and_nothing_else() {
        let times = times(&[
            (Subject::TilePack, tuned(&["tile_pack"], 61)),
            (Subject::TileUnpack, Err("parity: off".to_owned())),
            (Subject::EndToEnd, tuned(&["ff_means", "ff_finish"], 3)),
        ]);
        let snapshot = snapshot(&times, &Settings::FIXED, "float16", &Chosen::default());
        assert_eq!(
            (snapshot.summary.cache_entries, snapshot.summary.launches, snapshot.summary.cache_misses),
            (2, 64, 2)
        );
        let [path, pack] = &snapshot.entries[..] else { panic!("two entries") };
        assert_eq!((path.op_name.as_str(), path.kernel_name.as_str()), ("ff_path", "ff_means+ff_finish"));
        assert_eq!((pack.launches, pack.cache_hits, pack.cache_misses), (61, 60, 1));
        let config = BTreeMap::from([("BLOCK".to_owned(), json!(128)), ("VECTOR".to_owned(), json!(16))]);
        assert_eq!((&pack.selected_config, pack.selection_source), (&config, Source::Heuristic));
    }
}

//! How long each layer of an engine takes, one more process a case.

use std::path::Path;

use super::observer::Observer;
use crate::tensorrt::layers::{Layer, LayerProfile};
use crate::tensorrt::sweep::{self, Sweep, SweepResult};
use sprag_base::files::{WriteError, write_atomic};
use sprag_base::json;
use sprag_model::run::Run;

pub(super) const SLOWEST_LAYER: &str = "slowest_layer";

/// The most that is recorded of the name of a layer, in characters: fused layers bear the names of all their parts.
const MOST_NAME: usize = 180;

/// Times the layers of each case that was measured, writes a file a case to `folder`, and notes the slowest layer with
/// the benchmark. A case whose layers cannot be told or written is warned of: its times stand.
pub(super) fn time_layers(sweep: &Sweep, result: &SweepResult, folder: &Path, run: &mut Run, observer: &dyn Observer) {
    observer.begin(&format!("suite {}: the layers of each case", sweep.suite), result.cases.len() as u64);
    for (place, (case, measurement)) in result.recorded().zip(&mut run.measurements).enumerate() {
        observer.step(place as u64);
        if case.outcome.is_err() {
            continue;
        }
        let label = case.case.label();
        match sweep::profile(sweep, result.version, &case.case) {
            Ok(profile) => {
                let slowest = profile.slowest().map(layer_text);
                measurement.attributes.extend(slowest.map(|text| (SLOWEST_LAYER.to_owned(), text)));
                if let Err(error) = write(&profile, &label, folder) {
                    observer.warn(&format!("cannot write the layers of {label}: {error}"));
                }
            }
            Err(reason) => observer.warn(&format!("no layer times of {label}: {reason}")),
        }
    }
}

fn layer_text(layer: &Layer) -> String {
    let mut name: String = layer.name.chars().take(MOST_NAME).collect();
    if name.len() < layer.name.len() {
        name.push_str("...");
    }
    format!("{name} ({:.1} %)", layer.share * 100.0)
}

fn write(profile: &LayerProfile, label: &str, folder: &Path) -> Result<(), WriteError> {
    let text = json::to_pretty(&profile.to_json(label));
    write_atomic(&folder.join(format!("{label}.layers.json")), text.as_bytes())?;
    if let Some(information) = &profile.information {
        write_atomic(&folder.join(format!("{label}.layer-information.json")), information)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_layer_is_cut() {
        let layer = |name: &str| Layer { name: name.to_owned(), mean_s: 1.0, median_s: None, share: 0.4 };
        assert_eq!(layer_text(&layer("/stem/Conv + /stem/Relu")), "/stem/Conv + /stem/Relu (40.0 %)");
        assert_eq!(layer_text(&layer(&"é".repeat(180))), format!("{} (40.0 %)", "é".repeat(180)));
        assert_eq!(layer_text(&layer(&"é".repeat(500))), format!("{}... (40.0 %)", "é".repeat(180)));
    }
}

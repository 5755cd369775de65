//! What `trtexec` is told.

use std::path::Path;

use super::transcript::Version;
use sprag_model::shape_case::ShapeCase;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimingSettings {
    /// Milliseconds that it is called before times count.
    pub warmup_milliseconds: u32,
    /// Calls after that which do not count either.
    pub skipped_calls: u32,
    /// Calls that count, at least.
    pub iterations: u32,
    /// Seconds that calls are timed for, at least.
    pub duration_seconds: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded<'a> {
    pub(super) engine: &'a Path,
    pub(super) plugin: Option<&'a Path>,
    pub(super) version: Version,
}

/// The first version whose plugins are loaded by another option.
const DYNAMIC_PLUGINS: Version = Version { major: 10, minor: 0, patch: 0 };

/// The arguments of a run that times the calls of a case and leaves the times in `times`: one stream, a graph of each
/// call, no copies to or from the device, and a host that does not sleep.
pub(super) fn timing(loaded: Loaded<'_>, case: &ShapeCase, settings: TimingSettings, times: &str) -> Vec<String> {
    let mut arguments = common(loaded, case);
    let iterations = settings.iterations.saturating_add(settings.skipped_calls);
    arguments.extend([
        format!("--warmUp={}", settings.warmup_milliseconds),
        format!("--duration={}", settings.duration_seconds),
        format!("--iterations={iterations}"),
        "--infStreams=1".to_owned(),
        "--useCudaGraph".to_owned(),
        "--useSpinWait".to_owned(),
        "--noDataTransfers".to_owned(),
        "--percentile=50,95,99".to_owned(),
        format!("--exportTimes={times}"),
    ]);
    arguments
}

/// The arguments of a run that times each layer of a case. A graph would hide the layers.
pub(super) fn profile(loaded: Loaded<'_>, case: &ShapeCase, settings: TimingSettings, files: [&str; 2]) -> Vec<String> {
    let mut arguments = common(loaded, case);
    let [profile, layers] = files;
    arguments.extend([
        format!("--warmUp={}", settings.warmup_milliseconds),
        format!("--duration={}", settings.duration_seconds),
        format!("--iterations={}", settings.iterations),
        "--infStreams=1".to_owned(),
        "--noDataTransfers".to_owned(),
        "--dumpProfile".to_owned(),
        "--separateProfileRun".to_owned(),
        "--profilingVerbosity=detailed".to_owned(),
        format!("--exportProfile={profile}"),
        format!("--exportLayerInfo={layers}"),
    ]);
    arguments
}

fn common(loaded: Loaded<'_>, case: &ShapeCase) -> Vec<String> {
    let mut arguments = vec![format!("--loadEngine={}", loaded.engine.display())];
    if !case.shapes.is_empty() {
        let shapes: Vec<String> =
            case.shapes.iter().map(|shape| format!("{}:{}", name(&shape.name), shape.sizes_text())).collect();
        arguments.push(format!("--shapes={}", shapes.join(",")));
    }
    if let Some(plugin) = loaded.plugin {
        let is_new = loaded.version >= DYNAMIC_PLUGINS;
        let option = if is_new { "--dynamicPlugins" } else { "--plugins" };
        arguments.push(format!("{option}={}", plugin.display()));
    }
    arguments
}

/// The name of an input. One with a colon is quoted, as the sizes follow the last colon.
fn name(name: &str) -> String {
    if name.contains(':') { format!("'{name}'") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(major: u32) -> Loaded<'static> {
        Loaded {
            engine: Path::new("/m.plan"),
            plugin: Some(Path::new("/p.so")),
            version: Version { major, minor: 6, patch: 0 },
        }
    }

    const SETTINGS: TimingSettings =
        TimingSettings { warmup_milliseconds: 500, skipped_calls: 3, iterations: 10, duration_seconds: 0 };

    #[test]
    fn a_run_is_told_what_to_time_and_how() {
        let case = ShapeCase::parse("image:0=1x3x8x8;centers=4x2").expect("the case is fine");
        let arguments = timing(loaded(10), &case, SETTINGS, "t.json").join(" ");
        let expected = "--loadEngine=/m.plan --shapes='image:0':1x3x8x8,centers:4x2 --dynamicPlugins=/p.so --warmUp=500 \
                        --duration=0 --iterations=13 --infStreams=1 --useCudaGraph --useSpinWait --noDataTransfers \
                        --percentile=50,95,99 --exportTimes=t.json";
        assert_eq!(arguments, expected);
        let plain = timing(Loaded { plugin: None, ..loaded(10) }, &ShapeCase::default(), SETTINGS, "t.json");
        assert_eq!(plain[..2], ["--loadEngine=/m.plan", "--warmUp=500"]);
        let layers = profile(loaded(8), &ShapeCase::default(), SETTINGS, ["p.json", "l.json"]).join(" ");
        assert!(
            layers.contains("--plugins=/p.so --warmUp") && layers.ends_with("--exportLayerInfo=l.json"),
            "{layers}"
        );
        assert!(!layers.contains("Graph") && layers.contains("--iterations=10 "), "{layers}");
    }
}

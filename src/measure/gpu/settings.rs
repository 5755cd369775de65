//! The sizes of the GPU suite, and how single calls of Apex-X's report are made. Worker processes receive these values.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::gpu::program::Dtype;
use sprag_base::words;
use sprag_kernels::scan::ScanShape;
use sprag_kernels::shape::MapShape;

/// The side of a tile of the model's first level; the second level has half of it.
pub const MODEL_TILE: u32 = 16;

/// The most elements of a map or of tokens: kernels index them with 32 bits.
const MOST_ELEMENTS: u64 = i32::MAX as u64;

/// The most calls, whose times are all in memory.
pub const MOST_CALLS: u32 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub batch: u32,
    pub channels: u32,
    pub height: u32,
    pub width: u32,
    pub tile_size: u32,
    pub kmax: u32,
    pub scan: Scan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scan {
    pub batch: u32,
    pub steps: u32,
    pub channels: u32,
}

/// For the single calls of Apex-X's report.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuSettings {
    pub profile: Profile,
    pub dtype: AskedDtype,
    /// Calls of each kernel before those that count.
    pub warmup: u32,
    pub iters: u32,
    pub seed: u64,
    pub budgets: Budgets,
}

/// The budgets of the selection of tiles in the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    pub b1: f64,
    pub b2: f64,
    pub total: f64,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    #[error("`{name}` is {value}; it must be from {least} to {most}")]
    Range { name: &'static str, value: u64, least: u64, most: u64 },
    #[error("`{name}` is {value}, which tiles of {tile} pixels do not fill")]
    Uneven { name: &'static str, value: u32, tile: u32 },
    #[error("`kmax` is {kmax}, and an image has {tiles} tiles of {tile} pixels")]
    Tiles { kmax: u32, tiles: u64, tile: u32 },
    #[error("a call has {elements} {what}, at most {MOST_ELEMENTS} are allowed")]
    Large { elements: u128, what: &'static str },
    #[error("`{name}` is {value}; it must be zero or more")]
    Budget { name: &'static str, value: f64 },
}

impl SettingsError {
    pub fn hint(&self) -> String {
        match self {
            SettingsError::Range { name, .. } => format!("omit `{name}` to use the value of the fixed profile"),
            SettingsError::Uneven { tile, .. } => format!("take a multiple of {tile}"),
            SettingsError::Tiles { tiles, tile, .. } if *tile == MODEL_TILE => {
                format!("take at most {tiles}: the model's first level has tiles of {MODEL_TILE} pixels")
            }
            SettingsError::Tiles { tiles, .. } => format!("take at most {tiles}, smaller tiles or a larger map"),
            SettingsError::Large { .. } => "take fewer images or channels, or a smaller map".to_owned(),
            SettingsError::Budget { .. } => "a tile costs 0.8, so the fixed profile's 16 allows twenty".to_owned(),
        }
    }
}

impl Profile {
    /// The published profile of Apex-X: launches show, since its kernels take microseconds.
    pub const FIXED: Profile = Profile {
        batch: 1,
        channels: 128,
        height: 128,
        width: 128,
        tile_size: 8,
        kmax: 32,
        scan: Scan { batch: 1, steps: 256, channels: 128 },
    };

    /// Far beyond the caches: memory bounds its kernels.
    pub const LARGE: Profile = Profile {
        batch: 32,
        channels: 256,
        height: 256,
        width: 256,
        tile_size: 8,
        kmax: 512,
        scan: Scan { batch: 8, steps: 16_384, channels: 1024 },
    };

    pub fn map(&self) -> MapShape {
        let [batch, channels, height, width] =
            [self.batch, self.channels, self.height, self.width].map(|size| size as usize);
        MapShape { batch, channels, height, width }
    }

    pub fn tokens(&self) -> ScanShape {
        let Scan { batch, steps, channels } = self.scan;
        ScanShape { batch: batch as usize, steps: steps as usize, channels: channels as usize }
    }

    pub fn tiles(&self) -> u64 {
        tiles(self.height, self.width, self.tile_size)
    }

    pub fn check(&self) -> Result<(), SettingsError> {
        let sizes = [
            ("batch", self.batch),
            ("channels", self.channels),
            ("height", self.height),
            ("width", self.width),
            ("tile_size", self.tile_size),
            ("kmax", self.kmax),
            ("batch", self.scan.batch),
            ("steps", self.scan.steps),
            ("channels", self.scan.channels),
        ];
        for (name, value) in sizes {
            range(name, value, 1, MOST_ELEMENTS)?;
        }
        check_tiles(self, self.tile_size)?;
        let product = |sizes: [u32; 4]| sizes.iter().map(|size| u128::from(*size)).product::<u128>();
        let counts = [
            (product([self.batch, self.channels, self.height, self.width]), "elements of a map"),
            (product([self.scan.batch, self.scan.steps, self.scan.channels, 1]), "tokens"),
        ];
        match counts.into_iter().find(|(elements, _)| *elements > u128::from(MOST_ELEMENTS)) {
            Some((elements, what)) => Err(SettingsError::Large { elements, what }),
            None => Ok(()),
        }
    }
}

impl GpuSettings {
    /// The published profile of Apex-X with its settings.
    pub const FIXED: GpuSettings = GpuSettings {
        profile: Profile::FIXED,
        dtype: AskedDtype::Fp16,
        warmup: 10,
        iters: 50,
        seed: 123,
        budgets: Budgets { b1: 16.0, b2: 8.0, total: 32.0 },
    };

    pub fn check(&self) -> Result<(), SettingsError> {
        self.profile.check()?;
        check_tiles(&self.profile, MODEL_TILE)?;
        range("warmup", self.warmup, 0, u64::from(MOST_CALLS))?;
        range("iters", self.iters, 1, u64::from(MOST_CALLS))?;
        let budgets =
            [("budget_b1", self.budgets.b1), ("budget_b2", self.budgets.b2), ("budget_total", self.budgets.total)];
        match budgets.into_iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)) {
            Some((name, value)) => Err(SettingsError::Budget { name, value }),
            None => Ok(()),
        }
    }
}

/// Whether tiles of that side fill the map in sufficient number.
fn check_tiles(profile: &Profile, tile: u32) -> Result<(), SettingsError> {
    for (name, value) in [("height", profile.height), ("width", profile.width)] {
        if value % tile != 0 {
            return Err(SettingsError::Uneven { name, value, tile });
        }
    }
    let tiles = tiles(profile.height, profile.width, tile);
    if u64::from(profile.kmax) > tiles {
        return Err(SettingsError::Tiles { kmax: profile.kmax, tiles, tile });
    }
    Ok(())
}

fn tiles(height: u32, width: u32, tile: u32) -> u64 {
    u64::from(height / tile) * u64::from(width / tile)
}

fn range(name: &'static str, value: u32, least: u64, most: u64) -> Result<(), SettingsError> {
    let value = u64::from(value);
    if (least..=most).contains(&value) { Ok(()) } else { Err(SettingsError::Range { name, value, least, most }) }
}

/// The first compute capability with 8-bit elements, as in Apex-X.
const FP8_CAPABILITY: (u32, u32) = (9, 0);

/// An element type as it is asked for; whether it can run depends on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AskedDtype {
    /// 16-bit floating point.
    Fp16,
    /// 16-bit floating point with the range of 32 bits.
    Bf16,
    /// 32-bit floating point.
    Fp32,
    /// 8-bit floating point, where the device has it.
    Fp8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveDtype {
    pub dtype: Dtype,
    /// Why requested 8-bit elements do not run.
    pub fallback_reason: Option<&'static str>,
}

impl AskedDtype {
    /// What runs on a device of that compute capability; without a device 32-bit elements, as in Apex-X on CPUs.
    pub fn effective(self, capability: Option<(u32, u32)>) -> EffectiveDtype {
        let dtype = match (self, capability) {
            (_, None) | (AskedDtype::Fp32, _) => Dtype::F32,
            (AskedDtype::Bf16, _) => Dtype::Bf16,
            (AskedDtype::Fp8, _) if fp8_unavailable(capability).is_none() => Dtype::E4m3,
            (AskedDtype::Fp16 | AskedDtype::Fp8, _) => Dtype::F16,
        };
        let fallback_reason = if self == AskedDtype::Fp8 { fp8_unavailable(capability) } else { None };
        EffectiveDtype { dtype, fallback_reason }
    }
}

words!(AskedDtype { Fp16: "fp16", Bf16: "bf16", Fp32: "fp32", Fp8: "fp8" });

impl EffectiveDtype {
    /// As in reports, such as `float16`.
    pub fn word(self) -> &'static str {
        match self.dtype {
            Dtype::F32 => "float32",
            Dtype::F16 => "float16",
            Dtype::Bf16 => "bfloat16",
            Dtype::E4m3 => "float8_e4m3fn",
        }
    }
}

/// Why 8-bit elements cannot run, in Apex-X's words.
pub fn fp8_unavailable(capability: Option<(u32, u32)>) -> Option<&'static str> {
    match capability {
        None => Some("fp8_requires_cuda"),
        Some(capability) if capability < FP8_CAPABILITY => Some("compute_capability_below_sm90"),
        Some(_) => None,
    }
}

/// Maps with so many elements exceed the second-level cache of every device.
const LARGE_ELEMENTS: u64 = 1 << 26;

/// What runs, as worker processes receive it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuScope {
    pub profiles: Vec<Profile>,
    /// The control has the first of them.
    pub dtypes: Vec<Dtype>,
    /// For compiled kernels.
    pub compiled: Option<PathBuf>,
}

impl GpuScope {
    pub fn recorded(&self) -> BTreeMap<String, Value> {
        let profiles = serde_json::to_value(&self.profiles).expect("sizes are numbers");
        let dtypes: Vec<&str> = self.dtypes.iter().map(|dtype| dtype.word()).collect();
        BTreeMap::from([("profiles".to_owned(), profiles), ("dtypes".to_owned(), json!(dtypes))])
    }
}

impl Profile {
    /// Whether memory bounds the kernels, not launching them, since maps exceed the second-level cache.
    pub fn is_large(&self) -> bool {
        let sizes = [self.batch, self.channels, self.height, self.width];
        sizes.iter().map(|size| u64::from(*size)).fold(1, u64::saturating_mul) >= LARGE_ELEMENTS
    }
}

/// Small kernels would need thousands.
const MOST_SETS: usize = 2000;

/// How often the buffers of a rotating track exceed the second-level cache.
const CACHES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Track {
    /// Replays of a graph on the same memory.
    Hot,
    /// Replays of a graph over more memory than the caches hold.
    Rotating,
    /// Single calls after overwriting the cache.
    Cold,
    /// Launch and wait, by the host's clock.
    Host,
}

impl Track {
    pub const ALL: [Track; 4] = [Track::Hot, Track::Rotating, Track::Cold, Track::Host];

    /// The sets of buffers of so many bytes.
    pub fn sets(self, bytes: usize, cache_bytes: usize) -> usize {
        match self {
            Track::Rotating => (CACHES * cache_bytes).div_ceil(bytes.max(1)).clamp(2, MOST_SETS),
            Track::Hot | Track::Cold | Track::Host => 1,
        }
    }
}

words!(Track { Hot: "hot", Rotating: "rotating", Cold: "cold", Host: "host" });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profiles_can_run() {
        assert_eq!(Profile::FIXED.check(), Ok(()));
        assert_eq!(Profile::LARGE.check(), Ok(()));
        assert_eq!(GpuSettings::FIXED.check(), Ok(()));
        assert_eq!((Profile::FIXED.tiles(), Profile::LARGE.tiles()), (256, 1024));
    }

    #[test]
    fn a_device_decides_which_type_runs() {
        let check = |asked: AskedDtype, capability, word: &str, reason: Option<&str>| {
            let effective = asked.effective(capability);
            assert_eq!((effective.word(), effective.fallback_reason), (word, reason), "{asked:?} {capability:?}");
        };
        check(AskedDtype::Fp16, Some((8, 0)), "float16", None);
        check(AskedDtype::Bf16, Some((9, 0)), "bfloat16", None);
        check(AskedDtype::Fp32, Some((9, 0)), "float32", None);
        check(AskedDtype::Fp8, Some((9, 0)), "float8_e4m3fn", None);
        check(AskedDtype::Fp8, Some((10, 0)), "float8_e4m3fn", None);
        check(AskedDtype::Fp8, Some((8, 9)), "float16", Some("compute_capability_below_sm90"));
        check(AskedDtype::Fp8, None, "float32", Some("fp8_requires_cuda"));
        check(AskedDtype::Fp16, None, "float32", None);
    }

    #[test]
    fn settings_and_types_are_serialized() {
        let text = serde_json::to_string(&GpuSettings::FIXED).expect("settings are JSON");
        assert!(text.contains("\"dtype\":\"fp16\""), "{text}");
        assert_eq!(serde_json::from_str::<GpuSettings>(&text).ok(), Some(GpuSettings::FIXED));
        for dtype in [AskedDtype::Fp16, AskedDtype::Bf16, AskedDtype::Fp32, AskedDtype::Fp8] {
            assert_eq!(serde_json::to_value(dtype).ok(), Some(json!(dtype.word())));
        }
    }

    #[test]
    fn a_scope_is_serialized_and_recorded() {
        let scope = GpuScope {
            profiles: vec![Profile::FIXED, Profile::LARGE],
            dtypes: vec![Dtype::F16, Dtype::Bf16, Dtype::F32],
            compiled: Some("kept".into()),
        };
        let text = serde_json::to_string(&scope).expect("a scope is JSON");
        assert_eq!(serde_json::from_str::<GpuScope>(&text).ok(), Some(scope.clone()));
        let recorded = scope.recorded();
        assert_eq!(recorded["dtypes"], json!(["f16", "bf16", "f32"]));
        assert_eq!(recorded["profiles"][0]["channels"], 128);
        assert!(!recorded.contains_key("compiled"), "it depends on the machine");
        assert!(!Profile::FIXED.is_large() && Profile::LARGE.is_large());
    }

    #[test]
    fn a_rotation_exceeds_the_cache() {
        assert_eq!(Track::Rotating.sets(16 << 20, 50 << 20), 10);
        assert_eq!(Track::Rotating.sets(6 << 30, 50 << 20), 2);
        assert_eq!(Track::Rotating.sets(0, 50 << 20), MOST_SETS);
        assert_eq!(Track::Hot.sets(1, 50 << 20), 1);
    }
}

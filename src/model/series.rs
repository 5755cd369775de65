//! A series: one metric of one benchmark on one machine, over the commits.

use std::ops::Deref;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::medians::Medians;
use super::metric::Metric;
use super::sample::Role;
use sprag_base::digest;

/// The most characters of an id before its digits.
const SLUG: usize = 60;

/// The points of one benchmark and metric on one machine, in commit order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Safe as a file name.
    pub id: String,
    pub suite: String,
    pub benchmark: String,
    pub name: String,
    /// Its parameters as `{k=v,…}`, or nothing.
    pub params: String,
    pub variant: String,
    pub version: u32,
    /// Of its newest run.
    pub role: Role,
    pub metric: Metric,
    pub machine: String,
    pub machine_name: String,
    pub machine_class: String,
    /// In the order of commits, then of time.
    #[serde(skip)]
    pub points: Vec<Point>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PointRun {
    /// Forty digits; empty where the run had no commit.
    pub commit: Arc<str>,
    /// Its place on the commit line; absent for other commits.
    pub position: Option<usize>,
    /// The place of its run among all runs that measured something, in the order of points.
    pub rank: usize,
    pub time: DateTime<Utc>,
    pub environment_key: Arc<str>,
    pub run: Arc<str>,
    pub dirty: bool,
}

/// The value of a run in a series. It dereferences to its run, which the points of all series share.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub of: Arc<PointRun>,
    /// In base units.
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    /// One median a worker process, in the order of execution.
    pub workers: Medians,
}

impl Deref for Point {
    type Target = PointRun;

    fn deref(&self) -> &PointRun {
        &self.of
    }
}

impl Point {
    /// Changes to the run apply to this point alone.
    pub fn run_mut(&mut self) -> &mut PointRun {
        Arc::make_mut(&mut self.of)
    }

    /// The same value, of a changed run.
    pub fn of_run(mut self, differ: impl FnOnce(&mut PointRun)) -> Point {
        differ(self.run_mut());
        self
    }
}

impl Series {
    /// A slug of the benchmark and metric, at most 60 characters long, and eight digits of the digest of all four arguments.
    pub fn id_of(benchmark: &str, version: u32, metric: &str, machine: &str) -> String {
        let identity = format!("{benchmark}\u{0}{version}\u{0}{metric}\u{0}{machine}");
        let digest = &digest::sha256_hex(identity.as_bytes())[..8];
        format!("{}-{digest}", slug(&format!("{benchmark} {metric}"), SLUG))
    }

    /// Whether a text has the form of [`Series::id_of`].
    pub fn is_id(text: &str) -> bool {
        let Some((slug, digits)) = text.rsplit_once('-') else { return false };
        let is_slug = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        (1..=SLUG).contains(&slug.len())
            && !slug.starts_with('-')
            && slug.bytes().all(is_slug)
            && digest::is_hex(digits, 8..=8)
    }

    /// Whether its benchmark is a control or a calibration kernel.
    pub fn is_auxiliary(&self) -> bool {
        self.role.is_auxiliary(&self.variant)
    }

    /// The series without its points.
    pub fn bare(&self) -> Series {
        let Series { id, suite, benchmark, name, params, variant, machine, machine_name, machine_class, .. } = self;
        Series {
            id: id.clone(),
            suite: suite.clone(),
            benchmark: benchmark.clone(),
            name: name.clone(),
            params: params.clone(),
            variant: variant.clone(),
            version: self.version,
            role: self.role,
            metric: self.metric.clone(),
            machine: machine.clone(),
            machine_name: machine_name.clone(),
            machine_class: machine_class.clone(),
            points: Vec::new(),
        }
    }

    pub fn newest(&self) -> Option<&Point> {
        self.points.last()
    }
}

/// Lower-case ASCII letters and digits of `text` with single dashes between, at most `length` long.
///
/// ```
/// assert_eq!(sprag_model::series::slug("AMD EPYC (family 25)", 60), "amd-epyc-family-25");
/// ```
pub fn slug(text: &str, length: usize) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        if slug.len() >= length {
            break;
        }
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let trimmed = slug.trim_end_matches('-');
    if trimmed.is_empty() { "x".to_owned() } else { trimmed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_safe_and_distinct() {
        let a = Series::id_of("cpu/tile_pack{c=64} @fast", 1, "time", "m");
        let b = Series::id_of("cpu/tile_pack{c=64} @fast", 2, "time", "m");
        assert!(a.starts_with("cpu-tile-pack-c-64-fast-time-"), "{a}");
        assert_ne!(a, b);
        let long = Series::id_of(&"cpu/tile pack ".repeat(20), 1, "time", "m");
        for id in [&a, &b, &long, &Series::id_of("日本", 1, "本", "m")] {
            assert!(Series::is_id(id), "{id}");
        }
        let (long_digits, long_slug) = (format!("{long}0"), format!("{}-01234567", "x".repeat(61)));
        let wrong = ["", "x", "-01234567", "x-0123456", "x-0123456g", "X-01234567", "../x-01234567", "-x-01234567"];
        for wrong in wrong.into_iter().chain(["x.html-01234567", &long_digits, &long_slug]) {
            assert!(!Series::is_id(wrong), "{wrong}");
        }
        assert_eq!(slug("../../<script>é", 60), "script");
        assert_eq!(slug("日本", 60), "x");
    }
}

//! The report of Trueno's gate: benchmarks compared by two bands of change.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    Regressed,
    Warned,
    Improved,
    Unchanged,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BandRow {
    pub name: String,
    pub base_nanos: f64,
    pub current_nanos: f64,
    /// `(current - base) / base`.
    pub change: f64,
    pub band: Band,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BandReport {
    /// The change beyond which a benchmark has regressed: 0.05 is 5 %.
    pub fail: f64,
    /// The change beyond which it is treated as a warning or an improvement.
    pub warn: f64,
    /// The benchmarks of both sides, by name.
    pub rows: Vec<BandRow>,
    pub missing: Vec<String>,
    /// Benchmarks that the base lacks.
    pub new: Vec<String>,
}

impl BandReport {
    pub fn in_band(&self, band: Band) -> impl Iterator<Item = &BandRow> {
        self.rows.iter().filter(move |row| row.band == band)
    }

    /// Whether nothing has regressed. Missing benchmarks pass.
    pub fn passes(&self) -> bool {
        self.in_band(Band::Regressed).next().is_none()
    }
}

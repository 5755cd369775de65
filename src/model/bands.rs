//! What two sets of times come to by two bands of change: what Trueno's gate reports.

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
    /// Its time on the base, in nanoseconds.
    pub base_nanos: f64,
    /// Its time now, in nanoseconds.
    pub current_nanos: f64,
    /// `(current - base) / base`.
    pub change: f64,
    pub band: Band,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BandReport {
    /// The change beyond which a benchmark has regressed: 0.05 is 5 %.
    pub fail: f64,
    /// The change beyond which it is warned of or has improved.
    pub warn: f64,
    /// The benchmarks of both sides, by name.
    pub rows: Vec<BandRow>,
    pub missing: Vec<String>,
    /// Benchmarks that the base lacks, in their order.
    pub new: Vec<String>,
}

impl BandReport {
    pub fn in_band(&self, band: Band) -> impl Iterator<Item = &BandRow> {
        self.rows.iter().filter(move |row| row.band == band)
    }

    /// Whether nothing has regressed. What is missing passes.
    pub fn passes(&self) -> bool {
        self.in_band(Band::Regressed).next().is_none()
    }
}

//! The parameters of the method, for its page.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Method {
    /// The strictest first.
    pub sensitivities: Vec<Limits>,
    pub constants: Vec<Constants>,
    /// How often the rules were right and wrong on labelled data.
    pub measured: Vec<MeasuredTable>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    pub name: &'static str,
    /// The false alarms allowed in 1,000 points of series without changes.
    pub budget: f64,
    /// The cost of a further change, in variances of the noise.
    pub penalty: f64,
    /// The least difference of the ranks and means of two long sides, as a normal deviate.
    pub clear: f64,
    /// The least step relative to autocorrelated noise, as a normal deviate.
    pub steady: f64,
    /// The probability below which a run of few points differs from its surroundings.
    pub rare: f64,
    /// The least relative change that counts.
    pub least: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    pub of: &'static str,
    /// The meaning and the value of each.
    pub list: Vec<(&'static str, Figure)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    Count(usize),
    /// A share of a whole, or a relative change.
    Share(f64),
    Number(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredTable {
    /// Unique.
    pub name: &'static str,
    pub heading: &'static str,
    pub caption: &'static str,
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

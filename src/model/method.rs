//! The rules by which everything is judged, in figures: what a page of the method shows.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Method {
    /// How much it takes to call something a change, the strictest first.
    pub sensitivities: Vec<Limits>,
    pub constants: Vec<Constants>,
    /// How often the rules were right and wrong where the truth was known.
    pub measured: Vec<MeasuredTable>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    pub name: &'static str,
    /// The false alarms that are allowed in 1,000 points of series that hold nothing.
    pub budget: f64,
    /// What a further change costs, in squares of the deviation of the noise.
    pub penalty: f64,
    /// What ranks and means of two long sides must differ by, as normal deviates; ranks by less where means are far apart.
    pub clear: f64,
    /// What a step must stand by against noise that wanders, as a normal deviate; by less where means are far apart.
    pub steady: f64,
    /// The chance below which a run of few points is apart from its surroundings.
    pub rare: f64,
    /// The least relative change that counts.
    pub least: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    pub of: &'static str,
    /// The constants: what each is, and its value.
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
    /// A word for it, unlike that of any other.
    pub name: &'static str,
    pub heading: &'static str,
    /// What was counted, in one sentence.
    pub caption: &'static str,
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

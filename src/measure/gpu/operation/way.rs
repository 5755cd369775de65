//! Which way a scan reads its tokens, and how two ways become one.

/// Which way the tokens are read. Both directions have the same parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Forward,
    Backward,
    Both(Merge),
}

impl Way {
    /// The word of benchmark parameters.
    pub fn word(self) -> &'static str {
        match self {
            Way::Forward => "forward",
            Way::Backward => "backward",
            Way::Both(Merge::Sum) => "sum",
            Way::Both(Merge::Average) => "average",
            Way::Both(Merge::Even) => "even",
            Way::Both(Merge::Gated) => "gated",
            Way::Both(Merge::GatedBySample) => "gated_by_sample",
        }
    }
}

impl Initial {
    /// The word of benchmark parameters.
    pub fn word(self) -> &'static str {
        match self {
            Initial::Zero => "zero",
            Initial::Shared => "shared",
            Initial::EachWay => "each_way",
        }
    }
}

/// How two directions become one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    Sum,
    Average,
    /// Half of each, by a gate that is not given.
    Even,
    Gated,
    /// By a gate a sample and channel.
    GatedBySample,
}

/// The state before the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    Zero,
    /// `[B,C]`, for every direction.
    Shared,
    /// `[B,2,C]`, the forward state first.
    EachWay,
}

impl Merge {
    /// The value of the macro `MERGE`.
    pub(super) fn code(self) -> u32 {
        match self {
            Merge::Sum => 1,
            Merge::Average => 2,
            Merge::Even | Merge::Gated | Merge::GatedBySample => 3,
        }
    }
}

//! One ramp of a series: where it lies, how far it leads, and where it bends.

/// From so many points after its end a ramp costs at least what a step does: so long a level began no drift.
pub(super) const OVER: usize = 50;

/// The narrowest ramp, in points: what is steeper is a step that a few points blur.
pub(super) const NARROWEST: usize = 10;

/// A ramp, even or bent.
#[derive(Clone)]
pub(super) struct Ramp {
    pub(super) begin: usize,
    /// The first point after it.
    pub(super) end: usize,
    /// The points between which it lies: the changes, or the ends, before and after the steps that it explains.
    pub(super) around: (usize, usize),
    /// How far it leads, on the scale of the values.
    pub(super) size: f64,
    /// Whether it is there only because it was reported before.
    pub(super) is_retained: bool,
    /// Where it bends, with its beginning and its end; none of an even one.
    pub(super) knots: Vec<Knot>,
}

/// A place of a ramp that bends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knot {
    /// The first point after it.
    pub(super) place: usize,
    /// The share of the ramp that lies behind there.
    pub(super) share: f64,
}

impl Ramp {
    /// The share of it that lies behind at a point.
    pub(super) fn behind(&self, place: usize) -> f64 {
        let even =
            |begin: usize, end: usize| ((place as f64 - begin as f64 + 0.5) / (end - begin) as f64).clamp(0.0, 1.0);
        let next = self.knots.partition_point(|knot| knot.place <= place);
        match (next.checked_sub(1).and_then(|before| self.knots.get(before)), self.knots.get(next)) {
            (Some(one), Some(other)) => one.share + even(one.place, other.place) * (other.share - one.share),
            _ => even(self.begin, self.end),
        }
    }
}

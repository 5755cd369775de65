//! The fitted constants of change points.

/// The fitted constants: `benches/CONSTANTS.md` shows what each is worth, made by `cargo bench --bench changepoint -- constants`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Single outliers are clipped before the partition to so many deviations beyond both neighbours.
    pub isolated: f64,
    /// The autocorrelation that is treated as chance, times the root of the number of points.
    pub chance_correlation: f64,
    /// The penalty of a change that is certain where autocorrelation is estimated, in squares of the deviation.
    pub certain_penalty: f64,
    /// The price of a change where autocorrelation is weighed against changes, in units of twice the log likelihood.
    pub change_price: f64,
    /// The extra limit against autocorrelated noise in short series, shared out over the points.
    pub short_series: f64,
    /// The same, shared out over the square of the points.
    pub short_series_square: f64,
    /// The weight of the deviation of the whole series in that of two sides or a level, in points.
    pub prior_points: f64,
    /// The share of the largest value that ranks of so many points can give which is enough.
    pub rank_ceiling: f64,
    /// The power of how far means clear their limit by which ranks and the test against autocorrelated noise may fall short.
    pub excess_power: f64,
    /// Points on either side whose roughness counts for a short side of a long series.
    pub surroundings: usize,
    /// How much clearer such a short side must be.
    pub surroundings_factor: f64,
    /// The limits fall by this share for each proven change, half as much for the first.
    pub relief: f64,
    /// The share of the limits that stays at least.
    pub most_relief: f64,
    /// Points on either side by which a step may be large enough alone.
    pub nearby: usize,
    /// The fewest of these points.
    pub fewest_nearby: usize,
    /// Deviations of the noise that make a step large enough alone.
    pub large: f64,
    /// Deviations of these points that it must have as well.
    pub large_nearby: f64,
    /// Points of the longest run that is judged by its surroundings.
    pub longest_run: usize,
    /// The fewest points around a run, half of those by which two or three points are proven apart.
    pub fewest_around: usize,
    /// Deviations from which on a point is an outlier.
    pub outlier: f64,
    /// Points next to a run whose tail is tested by itself.
    pub near: usize,
    /// The fewest of these, and of the nearest, that count.
    pub fewest_near: usize,
    /// The nearest points to a run, whose deviation is used where it is larger.
    pub nearest: usize,
    /// The share of the points around a run that makes up the tail.
    pub tail: f64,
    /// The weight of the prior of the tail, in points.
    pub tail_prior_points: f64,
    /// The mean excess of the prior of the tail, in deviations.
    pub tail_prior_reach: f64,
    /// How much reach beyond its limit makes up for ranks that few points cannot give.
    pub reach_for_rank: f64,
    /// How much farther longer runs must reach.
    pub longer_run_reach: f64,
    /// Points from which on a run is tested against autocorrelated noise and must reach farther.
    pub autocorrelated_run: usize,
    /// How much farther runs of two, three and more points must reach in short series: the square of this over the points.
    pub short_series_reach: [f64; 3],
    /// The most deviations between points of a run.
    pub spread: f64,
    /// The same between two points.
    pub spread_of_two: f64,
    /// The same, as a share of the distance of the run.
    pub spread_share: f64,
    /// Deviations beyond all other points that prove two points.
    pub two_apart: f64,
    /// Deviations beyond all other points that prove three points.
    pub three_apart: f64,
    /// The most squares of three such points about their mean, in squares of the deviation.
    pub three_scatter: f64,
    /// Deviations beyond both levels from which on a point hardly decides where a change is.
    pub beyond: f64,
    /// The deviance that such a point counts at most.
    pub outlier_deviance: f64,
    /// The deviance within which a place is in the range of a change.
    pub range_deviance: f64,
    /// Deviations from its level, or course, to which a point is clipped where courses are compared.
    pub clipped: f64,
    /// The width at which a ramp costs what a step does, in points.
    pub ramp_width: f64,
    /// How quickly the price of a ramp falls with the logarithm of its width, in squares of the deviation.
    pub ramp_discount: f64,
    /// What a ramp next to a step costs more than that step, in squares of the deviation.
    pub ramp_next_to_step: f64,
    /// How many more squares than a step a ramp that goes on may leave to delay the newest step, in squares of the deviation.
    pub newest_margin: f64,
    /// The fewest points after a newest step without which it is not tested again.
    pub newest_points: usize,
    /// How far a drift must lead, in deviations of its points about it.
    pub drift_reach: f64,
    /// The points of the narrowest drift without steps, or a third of its segment.
    pub drift_width: usize,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning::FITTED
    }
}

impl Tuning {
    pub const FITTED: Tuning = Tuning {
        isolated: 2.5,
        chance_correlation: 2.0,
        certain_penalty: 20.0,
        change_price: 9.0,
        short_series: 3.0,
        short_series_square: 105.0,
        prior_points: 8.0,
        rank_ceiling: 0.8,
        excess_power: 0.167,
        surroundings: 30,
        surroundings_factor: 1.16,
        relief: 0.08,
        most_relief: 0.75,
        nearby: 8,
        fewest_nearby: 5,
        large: 7.0,
        large_nearby: 4.5,
        longest_run: 7,
        fewest_around: 6,
        outlier: 6.0,
        near: 30,
        fewest_near: 12,
        nearest: 10,
        tail: 0.15,
        tail_prior_points: 28.0,
        tail_prior_reach: 0.55,
        reach_for_rank: 5.0,
        longer_run_reach: 1.15,
        autocorrelated_run: 4,
        short_series_reach: [36.0, 24.0, 15.0],
        spread: 5.0,
        spread_of_two: 2.1,
        spread_share: 0.1,
        two_apart: 3.6,
        three_apart: 1.55,
        three_scatter: 4.0,
        beyond: 2.4,
        outlier_deviance: 2.0,
        range_deviance: 6.0,
        clipped: 3.0,
        ramp_width: 46.0,
        ramp_discount: 12.0,
        ramp_next_to_step: 4.5,
        newest_margin: 4.0,
        newest_points: 8,
        drift_reach: 1.8,
        drift_width: 50,
    };
}

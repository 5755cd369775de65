//! What each fitted constant is worth: the figures without it.

use std::io::{self, Write};

use sprag_analysis::changes::sensitivity::Sensitivity;
use sprag_analysis::changes::tuning::Tuning;

use super::documented::{Ablation, rows};
use super::generate::{self, Labelled};
use super::score::share;
use super::{SERIES, nulls, predictions, tally};

/// Where the constants are, with their meaning and value.
const SOURCE: &str = include_str!("../../src/analysis/changes/tuning.rs");

/// Lengths and numbers of series without a change, of each family.
const NULLS: [(usize, u64); 5] = [(30, 4000), (100, 2000), (200, 1000), (400, 500), (1000, 120)];

/// Infinitely many, as far as series go.
const ALL: usize = usize::MAX / 4;

const ABLATIONS: [Ablation<Tuning>; 47] = [
    ("isolated", "no clipping", |t| t.isolated = f64::INFINITY),
    ("chance_correlation", "0", |t| t.chance_correlation = 0.0),
    ("certain_penalty", "that of a change", |t| t.certain_penalty = 12.0),
    ("change_price", "0", |t| t.change_price = 0.0),
    ("short_series", "0", |t| t.short_series = 0.0),
    ("short_series_square", "0", |t| t.short_series_square = 0.0),
    ("prior_points", "0", |t| t.prior_points = 0.0),
    ("rank_ceiling", "1", |t| t.rank_ceiling = 1.0),
    ("excess_power", "0", |t| t.excess_power = 0.0),
    ("surroundings", "none", |t| t.surroundings = 0),
    ("surroundings_factor", "1", |t| t.surroundings_factor = 1.0),
    ("relief", "0", |t| t.relief = 0.0),
    ("most_relief", "a half", |t| t.most_relief = 0.5),
    ("nearby", "no such test", |t| t.nearby = 0),
    ("fewest_nearby", "as many as `nearby`", |t| t.fewest_nearby = t.nearby),
    ("large", "0", |t| t.large = 0.0),
    ("large_nearby", "0", |t| t.large_nearby = 0.0),
    ("longest_run", "no short runs", |t| t.longest_run = 0),
    ("fewest_around", "2", |t| t.fewest_around = 2),
    ("outlier", "no outliers", |t| t.outlier = 1e9),
    ("near", "all points", |t| t.near = ALL),
    ("fewest_near", "never", |t| t.fewest_near = ALL),
    ("nearest", "none", |t| t.nearest = 0),
    ("tail", "the fewest points", |t| t.tail = 0.0),
    ("tail_prior_points", "1", |t| t.tail_prior_points = 1.0),
    ("tail_prior_reach", "1 deviation", |t| t.tail_prior_reach = 1.0),
    ("reach_for_rank", "0", |t| t.reach_for_rank = 0.0),
    ("longer_run_reach", "1", |t| t.longer_run_reach = 1.0),
    ("autocorrelated_run", "never", |t| t.autocorrelated_run = ALL),
    ("short_series_reach", "0", |t| t.short_series_reach = [0.0; 3]),
    ("spread", "any", |t| t.spread = f64::INFINITY),
    ("spread_of_two", "as of more", |t| t.spread_of_two = t.spread),
    ("spread_share", "0", |t| t.spread_share = 0.0),
    ("two_apart", "no such test", |t| t.two_apart = f64::INFINITY),
    ("three_apart", "no such test", |t| t.three_apart = f64::INFINITY),
    ("three_scatter", "any", |t| t.three_scatter = f64::INFINITY),
    ("beyond", "no limit", |t| t.beyond = f64::INFINITY),
    ("outlier_deviance", "0", |t| t.outlier_deviance = 0.0),
    ("range_deviance", "3.84, by theory", |t| t.range_deviance = 3.84),
    ("clipped", "no clipping", |t| t.clipped = 1e9),
    ("ramp_width", "1", |t| t.ramp_width = 1.0),
    ("ramp_discount", "0", |t| t.ramp_discount = 0.0),
    ("ramp_next_to_step", "0", |t| t.ramp_next_to_step = 0.0),
    ("newest_margin", "no such test", |t| t.newest_points = ALL),
    ("newest_points", "1", |t| t.newest_points = 1),
    ("drift_reach", "0", |t| t.drift_reach = 0.0),
    ("drift_width", "any", |t| t.drift_width = 0),
];

/// Series of which figures are taken.
struct Sets {
    folder: Vec<Labelled>,
    generated: Vec<Labelled>,
    nulls: Vec<Vec<Labelled>>,
}

impl Sets {
    /// The cells of a row: F1 within five points of both sets, the precision of the generated one, and the most false alarms in
    /// 1,000 points of series without a change, over all lengths.
    fn figures(&self, sensitivity: &Sensitivity) -> String {
        let of = |series: &[Labelled]| tally(series, &predictions(series, sensitivity), 5, |_| true);
        let (folder, generated) = (of(&self.folder), of(&self.generated));
        let alarms = self.nulls.iter().map(|nulls| {
            let nulls = of(nulls);
            1000.0 * share(nulls.null_changes + nulls.null_drifts, nulls.null_points)
        });
        let alarms = alarms.fold(0.0, f64::max);
        format!("{:.3} | {:.3} | {:.3} | {alarms:.3}", folder.f1(), generated.f1(), generated.precision())
    }
}

/// Writes the table of the constants in Markdown.
pub(crate) fn write(folder: Vec<Labelled>, out: &mut impl Write) -> io::Result<()> {
    let families = || generate::NOISES.iter().chain(&generate::SHAPES);
    let generated =
        families().flat_map(|family| (0..SERIES).map(|seed| generate::any(family, 1_000_003 + seed * 7919))).collect();
    let nulls = NULLS.iter().map(|(length, count)| nulls(*length, *count)).collect();
    let sets = Sets { folder, generated, nulls };
    writeln!(
        out,
        "# Constants of change points\n\n\
         The fitted constants of `src/analysis/changes/tuning.rs`, with what the default sensitivity finds without each. F1 within five \
         points is that of the labelled and of the generated series, and the precision that of the generated ones. False alarms are those \
         in 1,000 points of series without a change. Each constant was fitted to these series and to real histories. Some change \
         little here: they matter for outliers next to a step and for drifts that grow, which unit tests cover. Nor can several of them \
         go: without two of `isolated`, `fewest_nearby` and `spread_share`, less than the promised 0.9 of the detectable changes is found.\n\n\
         `cargo bench --bench changepoint -- constants FOLDER > benches/CONSTANTS.md` makes this page again; FOLDER holds \
         labelled series.\n\n\
         | constant | value | meaning | without it | F1, labelled | F1, generated | precision | false alarms |\n\
         |---|--:|---|---|--:|--:|--:|--:|"
    )?;
    let figures = |tuning: &Tuning| {
        let mut sensitivity = Sensitivity::BALANCED;
        sensitivity.tuning = *tuning;
        sets.figures(&sensitivity)
    };
    rows(out, SOURCE, (&Sensitivity::BALANCED.tuning, &ABLATIONS), figures)
}

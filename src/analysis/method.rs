//! The constants of the rules, each with what it is: what a page of the method shows is what the code has.

use super::changes::{self, sensitivity::Sensitivity};
use super::rules::{self, interval};
use super::{family, session_noise, trend};
use sprag_model::method::{Constants, Figure, Limits};

/// The limits of all sensitivities, the strictest first.
pub fn sensitivities() -> Vec<Limits> {
    let of = |name: &'static str, of: Sensitivity| Limits {
        name,
        budget: of.budget,
        penalty: of.penalty,
        clear: of.clear,
        steady: of.steady,
        rare: of.rare,
        least: of.least,
    };
    vec![of("strict", Sensitivity::STRICT), of("balanced", Sensitivity::BALANCED), of("loose", Sensitivity::LOOSE)]
}

/// The constants of the analysis, in the order in which a reader meets them.
pub fn constants() -> Vec<Constants> {
    vec![
        Constants {
            of: "Verdicts against a baseline",
            list: vec![
                ("tolerance, unless the baseline estimated another", Figure::Share(interval::TOLERANCE)),
                ("confidence of the interval of a verdict (rule `interval`)", Figure::Share(interval::CONFIDENCE)),
                (
                    "confidence of the interval of a run, and of verdicts by other rules",
                    Figure::Share(rules::CONFIDENCE),
                ),
                ("how often a change of the minimum detectable effect is found", Figure::Share(rules::POWER)),
                ("fewest process pairs of two builds", Figure::Count(interval::FEWEST_PAIRS)),
                ("false discovery rate among the changes of one run", Figure::Share(family::FALSE_DISCOVERIES)),
                (
                    "fewest sessions to estimate the noise of a series from",
                    Figure::Count(session_noise::FEWEST_SESSIONS),
                ),
                ("most sessions that are used", Figure::Count(session_noise::MOST_SESSIONS)),
            ],
        },
        changes::constants(),
        trend::constants(),
    ]
}

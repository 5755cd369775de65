//! Cases of effects over several levels of repetition.

use anyhow::{Context as _, Result};

use super::recorded::{Got, compare, nested};
use crate::cmd::conformance::case::Fields;
use crate::cmd::conformance::expected::Tolerance;
use sprag_base::stats::kalibera_jones::{Levels, effect};

const TOLERANCE: Tolerance = Tolerance::new(0.0, 1e-10);

/// What levels are called, the highest first; a design names as many from the right as it has.
const NAMES: [&str; 3] = ["builds", "executions", "iterations"];

pub(super) fn run(case: &Fields<'_>) -> Result<()> {
    let levels = |name: &str| -> Result<(Levels, usize)> {
        let (values, shape) = nested(name, case.get(name)?)?;
        let levels = Levels::new(&values, &shape).with_context(|| format!("`{name}` has no levels"))?;
        Ok((levels, shape.len()))
    };
    let ((old, depth), (new, _)) = (levels("a")?, levels("b")?);
    let confidence = case.number("confidence")?;
    let effect = effect(&old, &new, confidence).context("there is no effect")?;
    let costs = case.numbers("cost_levels")?;
    let repetitions = old.best_repetitions(&costs).context("`cost_levels` is not a cost a level")?;
    let design = NAMES[NAMES.len().saturating_sub(depth)..].join(" x ");
    let results = [
        ("design", Got::Text(design)),
        ("mean_a", Got::Number(Some(old.mean))),
        ("mean_b", Got::Number(Some(new.mean))),
        ("h_a", Got::Number(old.half_width(confidence))),
        ("h_b", Got::Number(new.half_width(confidence))),
        ("ratio", Got::Number(Some(effect.ratio))),
        ("unbounded", Got::Flag(effect.interval.is_none())),
        ("lo", Got::Number(effect.interval.map(|(low, _)| low))),
        ("hi", Got::Number(effect.interval.map(|(_, high)| high))),
        ("optimal_reps_a_lower_levels", Got::Counts(repetitions)),
        ("s2_levels_a", Got::Numbers(old.variances)),
        ("s2_levels_b", Got::Numbers(new.variances)),
        ("t2_levels_a", Got::Numbers(old.components)),
        ("t2_levels_b", Got::Numbers(new.components)),
    ];
    compare(case, &["a", "b", "confidence", "cost_levels"], &results, TOLERANCE)
}

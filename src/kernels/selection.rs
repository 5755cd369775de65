//! Deterministic choice of tiles under budgets: greedy on one level, split to finer levels, hysteresis over time.
//!
//! All arithmetic is `f64` in the documented order, because replay hashes the raw scores. Ids are positions in the given
//! arrays; ties go to the smaller id.

use crate::KernelError;
use crate::ordering::{OrderMode, order};
use crate::quadtree::{CHILDREN, children, finer};
use crate::shape::{Grid, check_length};

/// How much a sum of costs may exceed a budget, so that costs which add up to it exactly on paper fit.
pub const BUDGET_SLACK: f64 = 1e-9;

/// The smallest divisor of a utility; smaller, zero or negative costs are treated as this in the score.
pub const SMALLEST_COST: f64 = 1e-9;

/// Pads `ids` with -1 to `kmax` places, as fixed-size buffers of a device require.
pub fn kmax_buffer(ids: &[u32], kmax: usize) -> Vec<i64> {
    let padding = std::iter::repeat_n(-1, kmax.saturating_sub(ids.len()));
    ids.iter().map(|&id| i64::from(id)).chain(padding).collect()
}

fn score(utility: f64, cost: f64) -> f64 {
    utility / if cost > SMALLEST_COST { cost } else { SMALLEST_COST }
}

/// Sorts candidates by score, highest first, then by id.
fn rank(candidates: &mut [u32], score_of: impl Fn(u32) -> f64) {
    candidates.sort_unstable_by(|&a, &b| {
        let by_score = score_of(b).partial_cmp(&score_of(a)).expect("scores of finite numbers are never NaN");
        by_score.then(a.cmp(&b))
    });
}

fn check_finite(what: &'static str, values: &[f64]) -> Result<(), KernelError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(position) => Err(KernelError::NotFinite { what, position }),
        None => Ok(()),
    }
}

fn check_budget(what: &'static str, value: f64) -> Result<(), KernelError> {
    if value.is_finite() && value >= 0.0 { Ok(()) } else { Err(KernelError::Budget { what, value }) }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidates<'a> {
    pub utilities: &'a [f64],
    pub delta_costs: &'a [f64],
    /// Finite and not negative.
    pub budget: f64,
    pub kmax: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// By score. Their number is the `valid_count` of the buffer.
    pub selected: Vec<u32>,
    /// The sum of their costs, added in this order.
    pub spent: f64,
    pub ordered_candidates: Vec<u32>,
    pub scores: Vec<f64>,
    /// `selected`, padded with -1 to `kmax`.
    pub kmax_buffer: Vec<i64>,
}

/// Greedy choice: walks the candidates by score and takes what still fits.
///
/// With utility `u` and cost `c`, the score is `u / max(c, 1e-9)`. The walk goes from the highest score to the lowest,
/// ties by id, and stops when `kmax` are taken. A candidate is taken when `spent + c <= budget + 1e-9`, with the raw cost,
/// which may be zero or negative.
pub fn select(candidates: &Candidates<'_>) -> Result<Selection, KernelError> {
    let Candidates { utilities, delta_costs, budget, kmax } = *candidates;
    check_length("delta_costs", delta_costs.len(), utilities.len())?;
    check_finite("utilities", utilities)?;
    check_finite("delta_costs", delta_costs)?;
    check_budget("budget", budget)?;
    let count = u32::try_from(utilities.len()).map_err(|_| KernelError::Empty { what: "utilities" })?;

    let scores: Vec<f64> = utilities.iter().zip(delta_costs).map(|(&utility, &cost)| score(utility, cost)).collect();
    let mut ordered_candidates: Vec<u32> = (0..count).collect();
    rank(&mut ordered_candidates, |id| scores[id as usize]);

    let mut selected = Vec::with_capacity(kmax.min(utilities.len()));
    let mut spent = 0.0;
    for &id in &ordered_candidates {
        if selected.len() == kmax {
            break;
        }
        let cost = delta_costs[id as usize];
        if spent + cost <= budget + BUDGET_SLACK {
            selected.push(id);
            spent += cost;
        }
    }
    let kmax_buffer = kmax_buffer(&selected, kmax);
    Ok(Selection { selected, spent, ordered_candidates, scores, kmax_buffer })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// A utility above this switches a tile on.
    pub theta_on: f64,
    /// A utility above this keeps a tile on.
    pub theta_off: f64,
    pub max_active: usize,
}

/// The mask after one step of hysteresis.
///
/// A tile is on when its utility exceeds `theta_on`, or exceeds `theta_off` and it was on before. When more than
/// `max_active` are on, those that were on before take precedence, then the highest utility, then the smallest id.
pub fn update(utilities: &[f64], previous: &[bool], thresholds: &Thresholds) -> Result<Vec<bool>, KernelError> {
    check_length("previous_mask", previous.len(), utilities.len())?;
    check_finite("utilities", utilities)?;
    let is_on = |(&utility, &was_on): (&f64, &bool)| {
        utility > thresholds.theta_on || (utility > thresholds.theta_off && was_on)
    };
    let mut mask: Vec<bool> = utilities.iter().zip(previous).map(is_on).collect();
    let mut active: Vec<usize> = (0..mask.len()).filter(|&id| mask[id]).collect();
    if active.len() > thresholds.max_active {
        active.sort_by(|&a, &b| {
            let by_utility = utilities[b].partial_cmp(&utilities[a]).expect("utilities were checked to be finite");
            previous[b].cmp(&previous[a]).then(by_utility).then(a.cmp(&b))
        });
        for &id in &active[thresholds.max_active..] {
            mask[id] = false;
        }
    }
    Ok(mask)
}

/// The lists cover the whole grid of the parents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitRule<'a> {
    pub utilities: &'a [f64],
    pub overheads: &'a [f64],
    /// Finite and not negative.
    pub budget: f64,
    pub kmax: usize,
    pub order: OrderMode,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    pub parents: Vec<u32>,
    /// All candidates by score; empty where nothing could be split from the outset.
    pub parent_order: Vec<u32>,
    /// The sum of their overheads.
    pub spent: f64,
    /// In the order in which they were appended.
    pub children: Vec<u32>,
    /// The children in the order of the finer grid.
    pub ordered: Vec<u32>,
    pub grid: Grid,
    /// `ordered`, padded with -1 to `kmax`. The number of children is its `valid_count`.
    pub kmax_buffer: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TwoStage {
    pub coarse: Selection,
    pub split: Split,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ThreeStage {
    pub two_stage: TwoStage,
    pub split: Split,
}

/// Greedy choice on the tiles of `grid`, then a split of the chosen.
pub fn two_stage(candidates: &Candidates<'_>, rule: &SplitRule<'_>, grid: Grid) -> Result<TwoStage, KernelError> {
    check_length("utilities", candidates.utilities.len(), grid.tiles() as usize)?;
    let coarse = select(candidates)?;
    let split = split(&coarse.selected, rule, grid)?;
    Ok(TwoStage { coarse, split })
}

/// Two stages, then a split of the children. `second.utilities` and `second.overheads` cover the finer grid.
pub fn three_stage(
    candidates: &Candidates<'_>,
    first: &SplitRule<'_>,
    second: &SplitRule<'_>,
    grid: Grid,
) -> Result<ThreeStage, KernelError> {
    let two_stage = two_stage(candidates, first, grid)?;
    let split = split(&two_stage.split.ordered, second, two_stage.split.grid)?;
    Ok(ThreeStage { two_stage, split })
}

/// Splits tiles of `grid`, best first.
///
/// Parents are ranked by `split utility / max(overhead, 1e-9)`, ties by id. One is passed over when
/// `spent + overhead > budget + 1e-9` or when four more children would exceed `kmax`. The children are then put into the
/// order of the finer grid.
pub fn split(candidates: &[u32], rule: &SplitRule<'_>, grid: Grid) -> Result<Split, KernelError> {
    let tiles = grid.tiles() as usize;
    check_length("split_utilities", rule.utilities.len(), tiles)?;
    check_length("split_overheads", rule.overheads.len(), tiles)?;
    check_finite("split_utilities", rule.utilities)?;
    check_finite("split_overheads", rule.overheads)?;
    check_budget("split_budget", rule.budget)?;
    grid.check(candidates)?;

    let mut split = Split {
        parents: Vec::new(),
        parent_order: Vec::new(),
        spent: 0.0,
        children: Vec::new(),
        ordered: Vec::new(),
        grid: finer(grid)?,
        kmax_buffer: Vec::new(),
    };
    if rule.kmax > 0 && rule.budget > 0.0 {
        split.parent_order = candidates.to_vec();
        rank(&mut split.parent_order, |id| score(rule.utilities[id as usize], rule.overheads[id as usize]));
        for &parent in &split.parent_order {
            let overhead = rule.overheads[parent as usize];
            let affordable = split.spent + overhead <= rule.budget + BUDGET_SLACK;
            if affordable && split.children.len() + CHILDREN <= rule.kmax {
                split.parents.push(parent);
                split.children.extend(children(parent, grid)?);
                split.spent += overhead;
            }
        }
        split.ordered.clone_from(&split.children);
        order(&mut split.ordered, split.grid, rule.order)?;
    }
    split.kmax_buffer = kmax_buffer(&split.ordered, rule.kmax);
    Ok(split)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ONES: [f64; 4] = [1.0; 4];

    fn check(utilities: &[f64], delta_costs: &[f64], budget: f64, kmax: usize, expected: &[u32], spent: f64) {
        let selection = select(&Candidates { utilities, delta_costs, budget, kmax }).unwrap();
        assert_eq!((selection.selected.as_slice(), selection.spent), (expected, spent));
    }

    #[test]
    fn few_places_signed_zeros_and_negative_costs_are_handled() {
        check(&[1.0, 2.0], &[1.0, 1.0], 9.0, 1, &[1], 1.0);
        check(&[1.0, 2.0], &[1.0, 1.0], 9.0, 0, &[], 0.0);
        check(&[], &[], 1.0, 3, &[], 0.0);
        check(&[-0.0, 0.0], &[1.0, 1.0], 1.0, 2, &[0], 1.0);
        check(&[1.0, 1.0], &[1.0, -1.0], 0.0, 2, &[1, 0], 0.0);
    }

    #[test]
    fn bad_input_is_refused() {
        let good = Candidates { utilities: &[1.0], delta_costs: &[1.0], budget: 1.0, kmax: 1 };
        let refused = |candidates: Candidates<'_>, expected| assert_eq!(select(&candidates), Err(expected));
        refused(
            Candidates { utilities: &[f64::NAN], ..good },
            KernelError::NotFinite { what: "utilities", position: 0 },
        );
        refused(Candidates { budget: -1.0, ..good }, KernelError::Budget { what: "budget", value: -1.0 });
        refused(
            Candidates { delta_costs: &[f64::INFINITY], ..good },
            KernelError::NotFinite { what: "delta_costs", position: 0 },
        );
        let length = KernelError::Length { what: "delta_costs", expected: 1, got: 0 };
        refused(Candidates { delta_costs: &[], ..good }, length);
        assert!(select(&Candidates { budget: f64::NAN, ..good }).is_err());
        let thresholds = Thresholds { theta_on: 0.6, theta_off: 0.45, max_active: 1 };
        assert!(update(&[f64::NAN], &[true], &thresholds).is_err());
        assert!(update(&[0.5], &[], &thresholds).is_err());
        let split = |candidates: &[u32], rule| split(candidates, &rule, Grid::new(2, 2).unwrap());
        assert!(split(&[0], rule(&[1.0], &ONES, 1.0, 4)).is_err());
        assert!(split(&[0], rule(&ONES, &[f64::NAN; 4], 1.0, 4)).is_err());
        assert!(split(&[4], rule(&ONES, &ONES, 1.0, 4)).is_err());
        assert!(split(&[0], rule(&ONES, &ONES, -1.0, 4)).is_err());
    }

    proptest! {
        #[test]
        fn a_selection_respects_its_limits(
            pairs in prop::collection::vec((-1.0f64..1.0, 0.0f64..2.0), 0..40),
            budget in 0.0f64..10.0,
            kmax in 0usize..20,
        ) {
            let (utilities, delta_costs): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let candidates = Candidates { utilities: &utilities, delta_costs: &delta_costs, budget, kmax };
            let selection = select(&candidates).unwrap();
            prop_assert!(selection.selected.len() <= kmax);
            prop_assert!(selection.spent <= budget + BUDGET_SLACK);
            prop_assert_eq!(selection.kmax_buffer.len(), kmax.max(selection.selected.len()));
            let mut once = selection.ordered_candidates.clone();
            once.sort_unstable();
            prop_assert_eq!(once, (0..utilities.len() as u32).collect::<Vec<_>>());
            // A candidate was passed over because it did not fit, or because `kmax` were taken.
            if selection.selected.len() < kmax {
                for id in 0..utilities.len() as u32 {
                    let fits = selection.spent + delta_costs[id as usize] <= budget;
                    prop_assert!(selection.selected.contains(&id) || !fits);
                }
            }
        }
    }

    #[test]
    fn a_dip_does_not_switch_off_and_the_limit_prefers_what_was_on() {
        let check = |utilities: &[f64], previous: &[u8], max_active: usize, expected: &[u8]| {
            let previous: Vec<bool> = previous.iter().map(|&bit| bit == 1).collect();
            let mask = update(utilities, &previous, &Thresholds { theta_on: 0.6, theta_off: 0.45, max_active });
            assert_eq!(mask.unwrap().into_iter().map(u8::from).collect::<Vec<_>>(), expected);
        };
        check(&[0.7, 0.5, 0.5, 0.45, 0.6], &[0, 1, 0, 1, 0], 9, &[1, 1, 0, 0, 0]);
        check(&[0.7, 0.5, 0.65, 0.2, 0.9], &[0, 1, 0, 1, 1], 2, &[0, 1, 0, 0, 1]);
        check(&[0.8, 0.8, 0.9], &[0, 0, 0], 2, &[1, 0, 1]);
        check(&[0.8], &[1], 0, &[0]);
    }

    fn rule<'a>(utilities: &'a [f64], overheads: &'a [f64], budget: f64, kmax: usize) -> SplitRule<'a> {
        SplitRule { utilities, overheads, budget, kmax, order: OrderMode::Hilbert }
    }

    #[test]
    fn a_dear_parent_is_passed_over_and_a_full_buffer_ends_the_splits() {
        let grid = Grid::new(2, 2).unwrap();
        let dear = split(&[0, 1, 2], &rule(&[9.0, 2.0, 1.0, 0.0], &[5.0, 1.0, 1.0, 1.0], 2.0, 8), grid).unwrap();
        assert_eq!((dear.parents.as_slice(), dear.spent), ([1, 2].as_slice(), 2.0));
        let full = split(&[0, 1, 2], &rule(&[9.0, 2.0, 1.0, 0.0], &ONES, 9.0, 7), grid).unwrap();
        assert_eq!(full.parents, [0]);
    }

    #[test]
    fn nothing_to_spend_is_no_split_and_no_order() {
        let grid = Grid::new(2, 2).unwrap();
        for rule in [rule(&ONES, &ONES, 0.0, 8), rule(&ONES, &ONES, 1.0, 0)] {
            let none = split(&[0, 1], &rule, grid).unwrap();
            assert!(none.parents.is_empty() && none.parent_order.is_empty() && none.children.is_empty());
            assert_eq!(none.kmax_buffer, vec![-1; rule.kmax]);
        }
    }
}

//! Choice over levels: greedy on the coarse level, then split the chosen tiles that deserve it.
//!
//! A split ranks the parents by `split utility / max(overhead, 1e-9)`, highest first, ties by id, and for each: passes
//! over it when `spent + overhead > budget + 1e-9` or when four more children would exceed `kmax`; else takes it and
//! appends its four children. The children are then put into the order of the finer grid. Two stages split the
//! greedy choice; three stages split the children once more.

use super::super::KernelError;
use super::super::ordering::{OrderMode, order};
use super::super::quadtree::{CHILDREN, children, finer};
use super::super::shape::{Grid, check_length};
use super::greedy::{Candidates, Selection, select};
use super::{BUDGET_SLACK, check_budget, check_finite, kmax_buffer, rank, score};

/// What a split is decided from. The lists cover the whole grid of the parents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplitRule<'a> {
    /// Utility of splitting each tile, finite.
    pub utilities: &'a [f64],
    /// Cost of splitting each tile, finite.
    pub overheads: &'a [f64],
    /// What may be spent, finite and not negative.
    pub budget: f64,
    pub kmax: usize,
    pub order: OrderMode,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    pub parents: Vec<u32>,
    /// All candidates by score; empty where nothing could be split from the outset.
    pub parent_order: Vec<u32>,
    /// The running sum of their overheads.
    pub spent: f64,
    /// Children in the order in which they were appended.
    pub children: Vec<u32>,
    /// Children in the order of the finer grid.
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
    /// The split of the second level.
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

/// Splits tiles of `grid`, best first, while budget and places last.
///
/// # Errors
/// Lists that do not cover the grid, a number that is not finite, a negative budget, a candidate outside the grid, a
/// finer grid too large to count.
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
    use super::*;

    const ONES: [f64; 4] = [1.0; 4];

    fn rule<'a>(utilities: &'a [f64], overheads: &'a [f64], budget: f64, kmax: usize) -> SplitRule<'a> {
        SplitRule { utilities, overheads, budget, kmax, order: OrderMode::Hilbert }
    }

    #[test]
    fn the_chosen_are_split_by_rank_and_their_children_ordered() {
        let candidates = Candidates { utilities: &[0.9, 0.1, 0.8, 0.7], delta_costs: &ONES, budget: 3.0, kmax: 3 };
        let rule = rule(&[0.2, 0.9, 0.6, 0.6], &ONES, 2.0, 10);
        let outcome = two_stage(&candidates, &rule, Grid::new(2, 2).unwrap()).unwrap();
        assert_eq!(outcome.coarse.selected, [0, 2, 3]);
        assert_eq!(outcome.split.parent_order, [2, 3, 0]);
        assert_eq!(outcome.split.parents, [2, 3]);
        assert_eq!(outcome.split.spent, 2.0);
        assert_eq!(outcome.split.children, [8, 9, 12, 13, 10, 11, 14, 15]);
        assert_eq!(outcome.split.ordered, [8, 12, 13, 9, 10, 14, 15, 11]);
        assert_eq!(outcome.split.kmax_buffer, [8, 12, 13, 9, 10, 14, 15, 11, -1, -1]);
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

    #[test]
    fn the_second_split_starts_from_the_children() {
        let candidates = Candidates { utilities: &[1.0], delta_costs: &[1.0], budget: 1.0, kmax: 1 };
        let first = rule(&[1.0], &[1.0], 1.0, 4);
        let second = rule(&[0.1, 0.4, 0.3, 0.2], &ONES, 2.0, 8);
        let outcome = three_stage(&candidates, &first, &second, Grid::new(1, 1).unwrap()).unwrap();
        assert_eq!(outcome.split.parent_order, [1, 2, 3, 0]);
        assert_eq!(outcome.split.parents, [1, 2]);
        assert_eq!(outcome.split.children, [2, 3, 6, 7, 8, 9, 12, 13]);
    }

    #[test]
    fn lists_must_cover_the_grid_and_be_finite() {
        let grid = Grid::new(2, 2).unwrap();
        assert!(split(&[0], &rule(&[1.0], &ONES, 1.0, 4), grid).is_err());
        assert!(split(&[0], &rule(&ONES, &[f64::NAN; 4], 1.0, 4), grid).is_err());
        assert!(split(&[4], &rule(&ONES, &ONES, 1.0, 4), grid).is_err());
        assert!(split(&[0], &rule(&ONES, &ONES, -1.0, 4), grid).is_err());
    }
}

//! Cases of `selection`: lists of ids exact, numbers within 1e-12.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::case::{judge, take_kind, unknown_kind};
use crate::expected::{Results, Tolerance, exactly, near};
use crate::failure::{Outcome, narrow};
use crate::tensor::{Number, plain};
use sprag_kernels::ordering::OrderMode;
use sprag_kernels::selection::{
    Candidates, Selection, SplitRule, Thresholds, TwoStage as TwoStages, select, three_stage, two_stage, update,
};
use sprag_kernels::shape::Grid;

/// For budgets and scores.
const NUMBERS: Tolerance = Tolerance::new(1e-12, 0.0);

pub(crate) fn run(mut case: Value) -> Outcome {
    match take_kind(&mut case)?.as_str() {
        "greedy" => judge(case, |case: &Case<Greedy>| case.inputs.run()),
        "two_stage" => judge(case, |case: &Case<TwoStage>| case.inputs.run()),
        "three_stage" => judge(case, |case: &Case<ThreeStage>| case.inputs.run()),
        "hysteresis_budget" => judge(case, |case: &Case<Hysteresis>| case.inputs.run()),
        kind => Err(unknown_kind(kind)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case<I> {
    inputs: I,
}

/// Numbers, some of which JSON cannot write.
#[derive(Deserialize)]
#[serde(from = "Vec<Number>")]
struct Numbers(Vec<f64>);

impl From<Vec<Number>> for Numbers {
    fn from(numbers: Vec<Number>) -> Numbers {
        Numbers(plain(&numbers))
    }
}

fn candidates<'a>(utilities: &'a Numbers, costs: &'a Numbers, budget: Number, kmax: i64) -> Outcome<Candidates<'a>> {
    let kmax = narrow("kmax", kmax)?;
    Ok(Candidates { utilities: &utilities.0, delta_costs: &costs.0, budget: budget.0, kmax })
}

fn rule<'a>(
    utilities: &'a Numbers,
    overheads: &'a Numbers,
    budget: Number,
    kmax: i64,
    order: &Option<String>,
) -> Outcome<SplitRule<'a>> {
    let (kmax, order) = (narrow("kmax", kmax)?, order.as_deref().map(OrderMode::parse).transpose()?);
    let (utilities, overheads) = (&utilities.0[..], &overheads.0[..]);
    Ok(SplitRule { utilities, overheads, budget: budget.0, kmax, order: order.unwrap_or_default() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Greedy {
    utilities: Numbers,
    delta_costs: Numbers,
    budget: Number,
    kmax: i64,
}

impl Greedy {
    fn run(&self) -> Outcome<Results> {
        let candidates = candidates(&self.utilities, &self.delta_costs, self.budget, self.kmax)?;
        Ok(vec![("expected", near(selection(&select(&candidates)?), NUMBERS))])
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TwoStage {
    l0_utilities: Numbers,
    l0_delta_costs: Numbers,
    budget_b1: Number,
    kmax_l0: i64,
    l0_grid_h: i64,
    l0_grid_w: i64,
    split_utilities: Numbers,
    split_overheads: Numbers,
    budget_b2: Number,
    kmax_l1: i64,
    l1_order_mode: Option<String>,
}

impl TwoStage {
    fn run(&self) -> Outcome<Results> {
        let coarse = candidates(&self.l0_utilities, &self.l0_delta_costs, self.budget_b1, self.kmax_l0)?;
        let order = &self.l1_order_mode;
        let split = rule(&self.split_utilities, &self.split_overheads, self.budget_b2, self.kmax_l1, order)?;
        let result = two_stage(&coarse, &split, grid(self.l0_grid_h, self.l0_grid_w)?)?;
        Ok(vec![("expected", near(two_stages(&result), NUMBERS))])
    }
}

fn grid(height: i64, width: i64) -> Outcome<Grid> {
    Ok(Grid::new(narrow("l0_grid_h", height)?, narrow("l0_grid_w", width)?)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThreeStage {
    l0_utilities: Numbers,
    l0_delta_costs: Numbers,
    budget_b1: Number,
    kmax_l0: i64,
    l0_grid_h: i64,
    l0_grid_w: i64,
    split_utilities_l0: Numbers,
    split_overheads_l0: Numbers,
    budget_b2: Number,
    kmax_l1: i64,
    l1_order_mode: Option<String>,
    split_utilities_l1: Numbers,
    split_overheads_l1: Numbers,
    budget_b3: Number,
    kmax_l2: i64,
    l2_order_mode: Option<String>,
}

impl ThreeStage {
    fn run(&self) -> Outcome<Results> {
        let coarse = candidates(&self.l0_utilities, &self.l0_delta_costs, self.budget_b1, self.kmax_l0)?;
        let (order_l1, order_l2) = (&self.l1_order_mode, &self.l2_order_mode);
        let first = rule(&self.split_utilities_l0, &self.split_overheads_l0, self.budget_b2, self.kmax_l1, order_l1)?;
        let second = rule(&self.split_utilities_l1, &self.split_overheads_l1, self.budget_b3, self.kmax_l2, order_l2)?;
        let result = three_stage(&coarse, &first, &second, grid(self.l0_grid_h, self.l0_grid_w)?)?;
        let split = &result.split;
        let fields = json!({
            "two_stage": two_stages(&result.two_stage),
            "split_l1_parent_indices": split.parents,
            "split_l1_parent_order": split.parent_order,
            "split_l1_spent_budget": split.spent,
            "l2_indices": split.children,
            "l2_ordered_indices": split.ordered,
            "l2_grid_h": split.grid.height(),
            "l2_grid_w": split.grid.width(),
            "l2_kmax_buffer": split.kmax_buffer,
            "l2_valid_count": split.ordered.len(),
        });
        Ok(vec![("expected", near(fields, NUMBERS))])
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hysteresis {
    utilities: Numbers,
    prev_mask: Vec<u8>,
    theta_on: f64,
    theta_off: f64,
    max_active: i64,
}

impl Hysteresis {
    fn run(&self) -> Outcome<Results> {
        let thresholds = Thresholds {
            theta_on: self.theta_on,
            theta_off: self.theta_off,
            max_active: narrow("max_active", self.max_active)?,
        };
        let previous: Vec<bool> = self.prev_mask.iter().map(|&bit| bit != 0).collect();
        let mask: Vec<u8> = update(&self.utilities.0, &previous, &thresholds)?.into_iter().map(u8::from).collect();
        Ok(vec![("expected", exactly(mask))])
    }
}

fn selection(result: &Selection) -> Value {
    json!({
        "selected_indices": result.selected,
        "spent_budget": result.spent,
        "ordered_candidates": result.ordered_candidates,
        "scores": result.scores,
        "kmax_buffer": result.kmax_buffer,
        "valid_count": result.selected.len(),
    })
}

fn two_stages(result: &TwoStages) -> Value {
    let split = &result.split;
    json!({
        "l0": selection(&result.coarse),
        "split_parent_indices": split.parents,
        "split_parent_order": split.parent_order,
        "split_spent_budget": split.spent,
        "l1_indices": split.children,
        "l1_ordered_indices": split.ordered,
        "l1_grid_h": split.grid.height(),
        "l1_grid_w": split.grid.width(),
        "l1_kmax_buffer": split.kmax_buffer,
        "l1_valid_count": split.ordered.len(),
    })
}

//! Cases of `selection`: lists of ids exact, numbers within 1e-12.

use anyhow::{Result, bail};
use serde_json::Value;

use super::case::{Fields, Form, Stop, each, judge, unknown};
use super::expected::{Tolerance, count, id_list, integer_list, number_list, one_number};
use sprag_kernels::ordering::OrderMode;
use sprag_kernels::selection::greedy::{Candidates, Selection, select};
use sprag_kernels::selection::hysteresis::{Thresholds, update};
use sprag_kernels::selection::stages::{Split, SplitRule, ThreeStage, TwoStage, three_stage, two_stage};
use sprag_kernels::shape::Grid;

/// For budgets and scores.
const NUMBERS: Tolerance = Tolerance::new(1e-12, 0.0);

pub(super) fn run(case: &Value) -> Result<()> {
    match Fields::any(case, "the case")?.text("kind")? {
        "greedy" => run_greedy(case),
        "two_stage" => run_two_stage(case),
        "three_stage" => run_three_stage(case),
        "hysteresis_budget" => run_hysteresis(case),
        kind => bail!("kind `{kind}` is unknown to this build"),
    }
}

/// The numbers of a greedy choice, owned.
struct Choice {
    utilities: Vec<f64>,
    delta_costs: Vec<f64>,
    budget: f64,
    kmax: usize,
}

impl Choice {
    fn read(inputs: &Fields<'_>, [utilities, delta_costs, budget, kmax]: [&str; 4]) -> Result<Self, Stop> {
        Ok(Choice {
            utilities: inputs.numbers(utilities)?,
            delta_costs: inputs.numbers(delta_costs)?,
            budget: inputs.number(budget)?,
            kmax: inputs.integer(kmax)?,
        })
    }

    fn candidates(&self) -> Candidates<'_> {
        let Choice { utilities, delta_costs, budget, kmax } = self;
        Candidates { utilities, delta_costs, budget: *budget, kmax: *kmax }
    }

    /// The same four numbers are what a split is decided from.
    fn rule(&self, order: OrderMode) -> SplitRule<'_> {
        let Choice { utilities, delta_costs, budget, kmax } = self;
        SplitRule { utilities, overheads: delta_costs, budget: *budget, kmax: *kmax, order }
    }
}

fn run_greedy(case: &Value) -> Result<()> {
    let names = ["utilities", "delta_costs", "budget", "kmax"];
    let read = |case: &Fields<'_>| Choice::read(&Fields::of(case.get("inputs")?, "`inputs`", &names)?, names);
    judge(case, &["kind", "inputs"], Form::ONE, read, |_, choice| Ok(select(&choice.candidates())?), compare_selection)
}

/// What more than one stage is computed from.
struct Stages {
    grid: Grid,
    choice: Choice,
    splits: Vec<(Choice, OrderMode)>,
}

const COARSE: [&str; 4] = ["l0_utilities", "l0_delta_costs", "budget_b1", "kmax_l0"];
const GRID: [&str; 2] = ["l0_grid_h", "l0_grid_w"];

/// Reads the stages; a split is named by its four numbers and its order, which may be absent.
fn read_stages(case: &Fields<'_>, splits: &[([&str; 4], &str)]) -> Result<Stages, Stop> {
    let of_splits = splits.iter().flat_map(|(names, order)| names.iter().chain([order])).copied();
    let names: Vec<&str> = COARSE.into_iter().chain(GRID).chain(of_splits).collect();
    let inputs = Fields::of(case.get("inputs")?, "`inputs`", &names)?;
    let split = |&(names, order): &([&str; 4], &str)| {
        let order = match inputs.optional(order) {
            None => OrderMode::default(),
            Some(_) => OrderMode::parse(inputs.text(order)?)?,
        };
        Ok((Choice::read(&inputs, names)?, order))
    };
    Ok(Stages {
        grid: Grid::new(inputs.integer(GRID[0])?, inputs.integer(GRID[1])?)?,
        choice: Choice::read(&inputs, COARSE)?,
        splits: splits.iter().map(split).collect::<Result<_, Stop>>()?,
    })
}

fn run_two_stage(case: &Value) -> Result<()> {
    let split = (["split_utilities", "split_overheads", "budget_b2", "kmax_l1"], "l1_order_mode");
    let compute = |_, stages: &Stages| {
        let (split, order) = &stages.splits[0];
        Ok(two_stage(&stages.choice.candidates(), &split.rule(*order), stages.grid)?)
    };
    judge(case, &["kind", "inputs"], Form::ONE, |case| read_stages(case, &[split]), compute, compare_two_stage)
}

fn run_three_stage(case: &Value) -> Result<()> {
    let splits = [
        (["split_utilities_l0", "split_overheads_l0", "budget_b2", "kmax_l1"], "l1_order_mode"),
        (["split_utilities_l1", "split_overheads_l1", "budget_b3", "kmax_l2"], "l2_order_mode"),
    ];
    let compute = |_, stages: &Stages| {
        let rule = |split: usize| stages.splits[split].0.rule(stages.splits[split].1);
        Ok(three_stage(&stages.choice.candidates(), &rule(0), &rule(1), stages.grid)?)
    };
    let read = |case: &Fields<'_>| read_stages(case, &splits);
    judge(case, &["kind", "inputs"], Form::ONE, read, compute, |name, expected, got: &ThreeStage| match name {
        "two_stage" => each(name, expected, |name, expected| compare_two_stage(name, expected, &got.two_stage)),
        "split_l1_parent_indices" => compare_split("parents", expected, &got.split),
        "split_l1_parent_order" => compare_split("parent_order", expected, &got.split),
        "split_l1_spent_budget" => compare_split("spent", expected, &got.split),
        _ => compare_split(name.strip_prefix("l2_").unwrap_or("?"), expected, &got.split),
    })
}

fn run_hysteresis(case: &Value) -> Result<()> {
    let read = |case: &Fields<'_>| {
        let names = ["utilities", "prev_mask", "theta_on", "theta_off", "max_active"];
        let inputs = Fields::of(case.get("inputs")?, "`inputs`", &names)?;
        let thresholds = Thresholds {
            theta_on: inputs.number("theta_on")?,
            theta_off: inputs.number("theta_off")?,
            max_active: inputs.integer("max_active")?,
        };
        let mask: Vec<u8> = inputs.integers("prev_mask")?;
        Ok((inputs.numbers("utilities")?, mask.into_iter().map(|bit| bit != 0).collect::<Vec<bool>>(), thresholds))
    };
    let compute =
        |_, (utilities, mask, thresholds): &(Vec<f64>, Vec<bool>, Thresholds)| Ok(update(utilities, mask, thresholds)?);
    judge(case, &["kind", "inputs"], Form::ONE, read, compute, |name, expected, got: &Vec<bool>| match name {
        "expected" => integer_list(name, expected, &got.iter().map(|&on| i64::from(on)).collect::<Vec<i64>>()),
        _ => unknown(name),
    })
}

fn compare_selection(name: &str, expected: &Value, got: &Selection) -> Result<()> {
    match name {
        "selected_indices" => id_list(name, expected, &got.selected),
        "spent_budget" => one_number(name, expected, got.spent, NUMBERS),
        "ordered_candidates" => id_list(name, expected, &got.ordered_candidates),
        "scores" => number_list(name, expected, &got.scores, NUMBERS),
        "kmax_buffer" => integer_list(name, expected, &got.kmax_buffer),
        "valid_count" => count(name, expected, got.selected.len()),
        _ => unknown(name),
    }
}

fn compare_two_stage(name: &str, expected: &Value, got: &TwoStage) -> Result<()> {
    match name {
        "l0" => each(name, expected, |name, expected| compare_selection(name, expected, &got.coarse)),
        "split_parent_indices" => compare_split("parents", expected, &got.split),
        "split_parent_order" => compare_split("parent_order", expected, &got.split),
        "split_spent_budget" => compare_split("spent", expected, &got.split),
        _ => compare_split(name.strip_prefix("l1_").unwrap_or("?"), expected, &got.split),
    }
}

fn compare_split(name: &str, expected: &Value, got: &Split) -> Result<()> {
    match name {
        "parents" => id_list(name, expected, &got.parents),
        "parent_order" => id_list(name, expected, &got.parent_order),
        "spent" => one_number(name, expected, got.spent, NUMBERS),
        "indices" => id_list(name, expected, &got.children),
        "ordered_indices" => id_list(name, expected, &got.ordered),
        "grid_h" => count(name, expected, got.grid.height() as usize),
        "grid_w" => count(name, expected, got.grid.width() as usize),
        "kmax_buffer" => integer_list(name, expected, &got.kmax_buffer),
        "valid_count" => count(name, expected, got.ordered.len()),
        _ => unknown(name),
    }
}

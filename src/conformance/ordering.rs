//! Cases of `ordering`: orders of tiles, distances along the Hilbert curve, the quadtree. All exact.

use serde::Deserialize;
use serde_json::Value;

use crate::case::{judge, take_kind, unknown_kind};
use crate::expected::{Results, exactly};
use crate::failure::{Outcome, narrow_all};
use sprag_kernels::KernelError;
use sprag_kernels::ordering::{OrderMode, hilbert_distance, order};
use sprag_kernels::quadtree::{children, descendants, finer};
use sprag_kernels::shape::Grid;

pub(crate) fn run(mut case: Value) -> Outcome {
    match take_kind(&mut case)?.as_str() {
        "order" => judge(case, ordered),
        "hilbert_distance" => judge(case, distances),
        "quadtree" => judge(case, grow),
        kind => Err(unknown_kind(kind)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    grid_h: u32,
    grid_w: u32,
    mode: String,
    indices: Vec<i64>,
}

fn ordered(inputs: &Order) -> Outcome<Results> {
    let grid = Grid::new(inputs.grid_h, inputs.grid_w)?;
    let mut ordered: Vec<u32> = narrow_all("indices", &inputs.indices)?;
    order(&mut ordered, grid, OrderMode::parse(&inputs.mode)?)?;
    Ok(vec![("expected", exactly(ordered))])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Distances {
    order_n: u32,
    points_tx_ty: Vec<[u32; 2]>,
}

fn distances(inputs: &Distances) -> Outcome<Results> {
    let distance = |&[x, y]: &[u32; 2]| hilbert_distance(inputs.order_n, x, y);
    let distances: Vec<u64> = inputs.points_tx_ty.iter().map(distance).collect::<Result<_, _>>()?;
    Ok(vec![("expected", exactly(distances))])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parents {
    l0_grid_h: u32,
    l0_grid_w: u32,
    l0_parents: Vec<i64>,
}

fn grow(inputs: &Parents) -> Outcome<Results> {
    let grid = Grid::new(inputs.l0_grid_h, inputs.l0_grid_w)?;
    let parents: Vec<u32> = narrow_all("l0_parents", &inputs.l0_parents)?;
    let first = finer(grid)?;
    let second = finer(first)?;
    let children_of = |ids: &[u32], grid: Grid| ids.iter().map(|&id| children(id, grid)).collect::<Result<Vec<_>, _>>();
    let of_parents = children_of(&parents, grid)?;
    let grandchildren = children_of(of_parents.as_flattened(), first)?;
    let coordinates: Vec<_> = of_parents.as_flattened().iter().map(|&id| first.position(id)).collect();
    let descendants: Vec<Vec<u32>> =
        parents.iter().map(|&parent| Ok(descendants(parent, grid)?.to_vec())).collect::<Result<_, KernelError>>()?;
    Ok(vec![
        ("l1_grid", exactly([first.height(), first.width()])),
        ("l2_grid", exactly([second.height(), second.width()])),
        ("l1_child_coords", exactly(coordinates)),
        ("l1_child_indices", exactly(of_parents)),
        ("l2_child_indices", exactly(grandchildren)),
        ("l2_descendants", exactly(descendants)),
    ])
}

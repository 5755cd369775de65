//! Cases of `ordering`: orders of tiles, distances along the Hilbert curve, the quadtree. All exact.

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::case::{Fields, Form, Stop, judge, list, narrow, unknown};
use super::expected::{id_list, id_lists, integer_list};
use sprag_kernels::ordering::{OrderMode, hilbert_distance, order};
use sprag_kernels::quadtree::{children, descendants, finer};
use sprag_kernels::shape::Grid;

pub(super) fn run(case: &Value) -> Result<()> {
    match Fields::any(case, "the case")?.text("kind")? {
        "order" => run_order(case),
        "hilbert_distance" => run_distance(case),
        "quadtree" => run_quadtree(case),
        kind => bail!("kind `{kind}` is unknown to this build"),
    }
}

fn run_order(case: &Value) -> Result<()> {
    let read = |case: &Fields<'_>| {
        let grid = Grid::new(case.integer("grid_h")?, case.integer("grid_w")?)?;
        let mode = OrderMode::parse(case.text("mode")?)?;
        Ok((grid, mode, case.integers::<u32>("indices")?))
    };
    let compute = |_, (grid, mode, indices): &(Grid, OrderMode, Vec<u32>)| {
        let mut ordered = indices.clone();
        order(&mut ordered, *grid, *mode)?;
        Ok(ordered)
    };
    let fields = ["kind", "grid_h", "grid_w", "mode", "indices"];
    judge(case, &fields, Form::ONE, read, compute, |name, expected, got: &Vec<u32>| match name {
        "expected" => id_list(name, expected, got),
        _ => unknown(name),
    })
}

fn run_distance(case: &Value) -> Result<()> {
    let read = |case: &Fields<'_>| {
        let mut points = Vec::new();
        for point in list("points_tx_ty", case.get("points_tx_ty")?)? {
            let point: Vec<u32> = narrow("points_tx_ty", &super::case::integers("points_tx_ty", point)?)?;
            points.push(<[u32; 2]>::try_from(point).map_err(|_| Stop::Refused("a point has two parts".to_owned()))?);
        }
        Ok((case.integer("order_n")?, points))
    };
    let compute = |_, (side, points): &(u32, Vec<[u32; 2]>)| {
        let distances: Result<Vec<u64>, _> = points.iter().map(|&[x, y]| hilbert_distance(*side, x, y)).collect();
        Ok(distances?)
    };
    let fields = ["kind", "order_n", "points_tx_ty"];
    judge(case, &fields, Form::ONE, read, compute, |name, expected, got: &Vec<u64>| match name {
        "expected" => {
            let got: Vec<i64> = got.iter().map(|&distance| i64::try_from(distance)).collect::<Result<_, _>>()?;
            integer_list(name, expected, &got)
        }
        _ => unknown(name),
    })
}

/// What the quadtree says of some tiles of the coarsest level.
struct Tree {
    /// Grids of the first and the second finer level.
    grids: [Grid; 2],
    children: Vec<[u32; 4]>,
    /// Children of each of those children.
    grandchildren: Vec<[u32; 4]>,
    /// All sixteen grandchildren of each parent.
    descendants: Vec<[u32; 16]>,
}

fn run_quadtree(case: &Value) -> Result<()> {
    let read = |case: &Fields<'_>| {
        let grid = Grid::new(case.integer("l0_grid_h")?, case.integer("l0_grid_w")?)?;
        Ok((grid, case.integers::<u32>("l0_parents")?))
    };
    let fields = ["kind", "l0_grid_h", "l0_grid_w", "l0_parents"];
    judge(case, &fields, Form::ONE, read, |_, (grid, parents)| grow(*grid, parents), compare_tree)
}

fn grow(grid: Grid, parents: &[u32]) -> Result<Tree, Stop> {
    let first = finer(grid)?;
    let children_of = |ids: &[u32], grid: Grid| ids.iter().map(|&id| children(id, grid)).collect::<Result<Vec<_>, _>>();
    let of_parents = children_of(parents, grid)?;
    Ok(Tree {
        grids: [first, finer(first)?],
        grandchildren: children_of(of_parents.as_flattened(), first)?,
        children: of_parents,
        descendants: parents.iter().map(|&parent| descendants(parent, grid)).collect::<Result<_, _>>()?,
    })
}

fn compare_tree(name: &str, expected: &Value, tree: &Tree) -> Result<()> {
    let [first, second] = tree.grids;
    match name {
        "l1_grid" => id_list(name, expected, &[first.height(), first.width()]),
        "l2_grid" => id_list(name, expected, &[second.height(), second.width()]),
        "l1_child_indices" => id_lists(name, expected, &tree.children),
        "l2_child_indices" => id_lists(name, expected, &tree.grandchildren),
        "l2_descendants" => id_lists(name, expected, &tree.descendants),
        "l1_child_coords" => {
            let position = |&id: &u32| {
                let (row, column) = first.position(id);
                [row, column]
            };
            let positions: Vec<[u32; 2]> = tree.children.as_flattened().iter().map(position).collect();
            ensure!(!positions.is_empty(), "`{name}` has no parent to compare");
            id_lists(name, expected, &positions)
        }
        _ => unknown(name),
    }
}

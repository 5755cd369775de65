//! The events of the made-up history: the changes that `runs.rs` plants.

use super::runs;
use sprag_model::environment::FactChange;
use sprag_model::event::{Direction, EventKind};
use sprag_model::series::Series;

/// An event of the sample; places count the commits of its line from 0.
pub(super) struct Planted {
    pub(super) id: &'static str,
    pub(super) kind: EventKind,
    pub(super) direction: Direction,
    /// The first commit that surely has it; of a drift, the first after its ramp.
    pub(super) at: usize,
    /// The commits that may be the cause, with their probabilities.
    pub(super) suspects: Vec<(usize, f64)>,
    /// The event that took it back.
    pub(super) taken_back_by: Option<&'static str>,
    pub(super) false_discovery: f64,
    pub(super) signs: Vec<String>,
    pub(super) facts: Vec<FactChange>,
    /// How many runs at the likeliest suspect decide its side, and how many suspects are left then.
    pub(super) next: Option<(usize, f64)>,
    pub(super) moves: fn(&Series) -> bool,
}

impl Planted {
    fn change(id: &'static str, direction: Direction, at: usize, moves: fn(&Series) -> bool) -> Planted {
        Planted {
            id,
            kind: EventKind::Change,
            direction,
            at,
            suspects: vec![(at, 1.0)],
            taken_back_by: None,
            false_discovery: 0.0005,
            signs: Vec::new(),
            facts: Vec::new(),
            next: None,
            moves,
        }
    }
}

/// All of them, in the order of the trend.
pub(super) fn all() -> Vec<Planted> {
    let is_tile = |series: &Series| series.benchmark == "cpu/tile_pack{n=4096} @fast";
    let is_fusion = |series: &Series| {
        series.suite == "cpu" && (series.name.as_str(), series.variant.as_str()) == ("fusion_gate", "fast")
    };
    let is_large = |series: &Series| {
        series.benchmark == "cpu/infer{n=4096} @reference" && series.machine_name == runs::FIRST_MACHINE
    };
    let is_small = |series: &Series| {
        series.benchmark == "cpu/infer{n=512} @reference" && series.machine_name == runs::FIRST_MACHINE
    };
    let drifts = |series: &Series| series.benchmark == "gpu/fusion_gate{n=512} @cuda_graph";
    let is_second = |series: &Series| {
        series.machine_name == runs::SECOND_MACHINE && series.benchmark != "gpu/fusion_gate{n=512} @cuda_graph"
    };
    vec![
        Planted {
            suspects: vec![(34, 0.05), (35, 0.23), (36, 0.72)],
            next: Some((2, 1.3)),
            ..Planted::change("e-7c1f03", Direction::Worse, 36, is_tile)
        },
        Planted {
            kind: EventKind::Drift,
            suspects: (18..28).map(|place| (place, 0.1)).collect(),
            false_discovery: 0.004,
            ..Planted::change("e-5b20d9", Direction::Worse, 28, drifts)
        },
        Planted {
            suspects: vec![(19, 0.004), (20, 0.996)],
            ..Planted::change("e-2ac860", Direction::Better, 20, is_fusion)
        },
        Planted::change("e-d1470b", Direction::Better, 26, is_large),
        Planted {
            kind: EventKind::Environment,
            signs: vec!["23 of 24 series on the machine moved together.".to_owned()],
            facts: vec![FactChange { fact: "compiler".to_owned(), was: "1.90".to_owned(), is: "1.91".to_owned() }],
            ..Planted::change("e-90e3aa", Direction::Better, 28, is_second)
        },
        Planted {
            taken_back_by: Some("e-d1470b"),
            suspects: vec![(14, 0.1), (15, 0.2), (16, 0.4), (17, 0.3)],
            ..Planted::change("e-66b0f2", Direction::Worse, 17, is_large)
        },
        Planted {
            suspects: vec![(29, 0.2), (30, 0.45), (31, 0.35)],
            false_discovery: 0.3,
            next: Some((4, 1.9)),
            ..Planted::change("e-1f9be4", Direction::Worse, 31, is_small)
        },
    ]
}

//! What a selection chose, level by level, as one value whose digest tells whether a run came out the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use sprag_base::digest::sha256_hex;
use sprag_base::json;

const LEVELS: [&str; 3] = ["l0", "l1", "l2"];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    pub level: String,
    /// What was chosen, in the order in which it was taken.
    pub indices: Vec<u64>,
    /// The same in the order in which it is worked on.
    pub ordered_indices: Vec<u64>,
    /// How it came to that: candidates, scores, buffers.
    pub meta: Map<String, Value>,
    /// What was spent, by the name of the budget.
    pub budgets_used: BTreeMap<String, f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    pub run_meta: Map<String, Value>,
    /// One or more, from the coarsest level.
    pub selections: Vec<Selection>,
}

#[derive(Debug, PartialEq, thiserror::Error)]
pub enum TraceError {
    #[error("a trace needs a selection")]
    Empty,
    #[error("`{0}` is no level: l0, l1 or l2")]
    Level(String),
    #[error("`ordered_indices` of {0} are not its `indices` in another order")]
    Order(String),
    #[error("the budget `{budget}` of {level} is {spent}, which no budget can be")]
    Budget { level: String, budget: String, spent: f64 },
}

impl Trace {
    /// A trace of selections that hold together. The name of a level may have blanks around it and capitals.
    pub fn new(run_meta: Map<String, Value>, mut selections: Vec<Selection>) -> Result<Trace, TraceError> {
        if selections.is_empty() {
            return Err(TraceError::Empty);
        }
        for selection in &mut selections {
            let level = selection.level.trim().to_lowercase();
            if !LEVELS.contains(&level.as_str()) {
                return Err(TraceError::Level(selection.level.clone()));
            }
            let sorted = |indices: &[u64]| {
                let mut indices = indices.to_vec();
                indices.sort_unstable();
                indices
            };
            if sorted(&selection.indices) != sorted(&selection.ordered_indices) {
                return Err(TraceError::Order(level));
            }
            let unfit = selection.budgets_used.iter().find(|(_, spent)| !(spent.is_finite() && **spent >= 0.0));
            if let Some((budget, spent)) = unfit {
                return Err(TraceError::Budget { level, budget: budget.clone(), spent: *spent });
            }
            selection.level = level;
        }
        Ok(Trace { run_meta, selections })
    }

    pub fn sha256(&self) -> String {
        sha256_hex(json::to_canonical(self).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection() -> Selection {
        Selection {
            level: "l0".to_owned(),
            indices: vec![3, 1, 3],
            ordered_indices: vec![1, 3, 3],
            meta: Map::new(),
            budgets_used: BTreeMap::from([("b1".to_owned(), 2.0)]),
        }
    }

    #[test]
    fn a_trace_holds_together() {
        let of = |selections: Vec<Selection>| Trace::new(Map::new(), selections);
        let trace = of(vec![Selection { level: " L0 ".to_owned(), ..selection() }]).expect("it is one");
        assert_eq!(trace.selections, [selection()]);
        let text =
            r#"{"run_meta":{},"selections":[{"budgets_used":{"b1":2.0},"indices":[3,1,3],"level":"l0","meta":{},"#;
        let text = text.to_owned() + r#""ordered_indices":[1,3,3]}]}"#;
        assert_eq!(trace.sha256(), sha256_hex(text.as_bytes()));
        assert_eq!(of(Vec::new()), Err(TraceError::Empty));
        let level = Selection { level: "l3".to_owned(), ..selection() };
        assert_eq!(of(vec![selection(), level]), Err(TraceError::Level("l3".to_owned())));
        let order = Selection { ordered_indices: vec![1, 1, 3], ..selection() };
        assert_eq!(of(vec![order]), Err(TraceError::Order("l0".to_owned())));
        for spent in [-0.5, f64::INFINITY] {
            let over = Selection { budgets_used: BTreeMap::from([("b1".to_owned(), spent)]), ..selection() };
            let told = of(vec![over]).expect_err("it is refused").to_string();
            assert!(told.contains("the budget `b1` of l0"), "{told}");
        }
    }
}

//! Cases of the rank-sum test among those of a statistics oracle: `U` exact, chances to a relative 1e-12.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::case::Fields;
use sprag_base::stats::mann_whitney::{self, Method};

/// How far a chance may lie from the recorded one, as a share of it.
const TOLERANCE: f64 = 1e-12;

/// The fields of a case: those that end in `_hp` are of a reference with sixty digits.
const FIELDS: [&str; 12] = [
    "name",
    "x",
    "y",
    "ties",
    "method",
    "u1",
    "p_two_sided",
    "p_greater",
    "p_less",
    "p_two_sided_hp",
    "p_greater_hp",
    "p_less_hp",
];

pub(super) fn run(case: &Value) -> Result<()> {
    let case = Fields::of(case, "the case", &FIELDS)?;
    let (first, second) = (case.numbers("x")?, case.numbers("y")?);
    let found = mann_whitney::test(&first, &second, Method::Auto).context("the test refuses the values")?;
    let method = match found.method {
        Method::Exact => "exact",
        Method::Asymptotic | Method::Auto => "asymptotic",
    };
    let expected = case.text("method")?;
    ensure!(method == expected, "`method`: expected {expected}, got {method} (exact)");
    let expected = case.number("u1")?;
    ensure!(found.u == expected, "`u1`: expected {expected:?}, got {:?} (exact)", found.u);
    let mut pooled = [first, second].concat();
    pooled.sort_unstable_by(f64::total_cmp);
    let (expected, ties) = (case.flag("ties")?, pooled.windows(2).any(|pair| pair[0] == pair[1]));
    ensure!(ties == expected, "`ties`: expected {expected}, got {ties} (exact)");
    for (name, got) in [("p_two_sided", found.two_sided), ("p_greater", found.greater), ("p_less", found.less)] {
        for name in [name.to_owned(), format!("{name}_hp")] {
            let expected = case.number(&name)?;
            if (got - expected).abs() > TOLERANCE * expected.abs() {
                bail!("`{name}`: expected {expected:e}, got {got:e} (tolerance {TOLERANCE:e} * |expected|)");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_recorded_value_of_every_case_is_compared() {
        let text = include_str!("../../../../fixtures/golden/stats/mann_whitney.json");
        let golden: Value = serde_json::from_str(text).expect("the golden cases are JSON");
        let cases = golden["cases"].as_array().expect("there are cases");
        assert_eq!(cases.len(), 68);
        for case in cases {
            run(case).expect("it passes");
            for field in &FIELDS[3..] {
                let mut tampered = case.clone();
                tampered[field] = match &case[field] {
                    Value::Bool(flag) => json!(!flag),
                    Value::String(text) => json!(format!("{text}0")),
                    number => json!(number.as_f64().expect("a number") * (1.0 + 1e-11) + 1e-300),
                };
                // Zero is the least that `U` can be.
                if case[field] == json!(0.0) {
                    tampered[field] = json!(1.0);
                }
                assert!(run(&tampered).is_err(), "{field} of {} is not compared", case["name"]);
                tampered.as_object_mut().expect("an object").remove(*field);
                assert!(run(&tampered).is_err(), "{field} of {} can be absent", case["name"]);
            }
            let mut more = case.clone();
            more["more"] = json!(1);
            assert!(run(&more).is_err());
        }
    }
}

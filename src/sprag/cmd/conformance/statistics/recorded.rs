//! Results that stand among the inputs of a case, each compared with what this build gives. A result that is missing or
//! that this build does not know fails.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::cmd::conformance::case::{Fields, list, number, unknown};
use crate::cmd::conformance::expected::{Tolerance, number_list, one_number};

/// What this build gives for one field. What has no answer is recorded as null.
pub(super) enum Got {
    /// A number within the tolerance.
    Number(Option<f64>),
    /// Numbers within the tolerance.
    Numbers(Vec<f64>),
    /// A whole number, exact.
    Count(u64),
    Counts(Vec<Option<u64>>),
    Flag(bool),
    Text(String),
    Fields(Option<Vec<(&'static str, Got)>>),
}

/// Compares every field of the case that is none of the inputs.
pub(super) fn compare(
    case: &Fields<'_>,
    inputs: &[&str],
    results: &[(&'static str, Got)],
    tolerance: Tolerance,
) -> Result<()> {
    fields(case, &[inputs, &["name"]].concat(), results, tolerance)?;
    Ok(())
}

fn fields(case: &Fields<'_>, inputs: &[&str], results: &[(&str, Got)], tolerance: Tolerance) -> Result<()> {
    for name in case.names() {
        if !inputs.contains(&name) && !results.iter().any(|(result, _)| *result == name) {
            return unknown(name);
        }
    }
    results.iter().try_for_each(|(name, got)| field(name, case.get(name)?, got, tolerance))
}

fn field(name: &str, expected: &Value, got: &Got, tolerance: Tolerance) -> Result<()> {
    let exact = |got: Value| {
        ensure!(*expected == got, "`{name}`: expected {expected}, got {got} (exact)");
        Ok(())
    };
    match got {
        Got::Number(Some(_)) | Got::Fields(Some(_)) if expected.is_null() => {
            bail!("`{name}`: expected that it is not defined, got an answer")
        }
        Got::Number(Some(got)) => one_number(name, expected, *got, tolerance),
        Got::Numbers(got) => number_list(name, expected, got, tolerance),
        // Some libraries write their counts as floats.
        Got::Count(got) => one_number(name, expected, *got as f64, Tolerance::EXACT),
        Got::Counts(got) => exact(Value::from(got.as_slice())),
        Got::Flag(got) => exact(Value::from(*got)),
        Got::Text(got) => exact(Value::from(got.as_str())),
        Got::Fields(Some(results)) => {
            let object = Fields::any(expected, &format!("`{name}`"))?;
            fields(&object, &[], results, tolerance).with_context(|| format!("`{name}`"))
        }
        Got::Number(None) | Got::Fields(None) => {
            ensure!(expected.is_null(), "`{name}`: expected {expected}, got no answer");
            Ok(())
        }
    }
}

/// Numbers in lists of lists, in order, and how many each level of lists holds, the outermost first.
pub(super) fn nested(name: &str, value: &Value) -> Result<(Vec<f64>, Vec<usize>)> {
    let items = list(name, value)?;
    if !items.iter().any(Value::is_array) {
        let numbers = items.iter().map(number).collect::<Result<Vec<f64>>>().with_context(|| format!("`{name}`"))?;
        return Ok((numbers, vec![items.len()]));
    }
    let (mut numbers, mut shape) = (Vec::new(), None);
    for item in items {
        let (of_item, shape_of_item) = nested(name, item)?;
        numbers.extend(of_item);
        let same = *shape.get_or_insert_with(|| shape_of_item.clone()) == shape_of_item;
        ensure!(same, "`{name}` is not as deep or long everywhere");
    }
    Ok((numbers, [vec![items.len()], shape.unwrap_or_default()].concat()))
}

//! Cases of distribution functions and their inverses.

use anyhow::{Result, bail};

use super::recorded::{Got, compare};
use crate::cmd::conformance::case::Fields;
use crate::cmd::conformance::expected::Tolerance;
use sprag_base::stats::{normal, student};

const NORMAL: Tolerance = Tolerance::new(0.0, 1e-13);
const STUDENT: Tolerance = Tolerance::new(0.0, 1e-11);

pub(super) fn run(case: &Fields<'_>) -> Result<()> {
    let x = case.number("x")?;
    let (inputs, tolerance, got): (&[&str], Tolerance, Option<f64>) = match case.text("f")? {
        "norm_cdf" => (&["f", "x"], NORMAL, Some(normal::cdf(x))),
        "norm_ppf" => (&["f", "x"], NORMAL, normal::quantile(x)),
        "t_sf" => (&["f", "x", "df"], STUDENT, student::sf(x, case.number("df")?)),
        "t_ppf" => (&["f", "x", "df"], STUDENT, student::quantile(x, case.number("df")?)),
        function => bail!("function `{function}` is unknown to this build"),
    };
    let mut results = vec![("y", Got::Number(got))];
    // The same value from many more digits, where there is one.
    results.extend(case.optional("y_hp").map(|_| ("y_hp", Got::Number(got))));
    compare(case, inputs, &results, tolerance)
}

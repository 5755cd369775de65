//! Cases of `report_markdown`: the Markdown of a report, byte for byte.

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::case::Fields;
use sprag_formats::compat::apex_x::{gpu_report, trt_report};

pub(super) fn run(case: &Value) -> Result<()> {
    let fields = Fields::of(case, "the case", &["name", "kind", "report", "expected_markdown"])?;
    let (report, expected) = (fields.get("report")?, fields.text("expected_markdown")?);
    let got = match fields.text("kind")? {
        "gpu_bench" => gpu_report::to_markdown(report),
        "trt_sweep" => Ok(trt_report::to_markdown(report)),
        kind => bail!("kind `{kind}` is unknown to this build"),
    };
    let got = got.map_err(|fault| anyhow::anyhow!("the report {fault}"))?;
    ensure!(got == expected, "expected {expected:?}, got {got:?} (exact)");
    Ok(())
}

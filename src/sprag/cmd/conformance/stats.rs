//! Cases of `stats`: what the seed's reports state of single calls. All exact.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::case::{Fields, Form, Stop, judge, unknown};
use sprag_base::json;
use sprag_formats::compat::apex_x::single_calls::{Summary, summarise};

pub(super) fn run(case: &Value) -> Result<()> {
    let read = |case: &Fields<'_>| Ok((case.numbers("timings_ms")?, case.number("work_items")?));
    let compute = |_, (timings, work): &(Vec<f64>, f64)| {
        let summary = summarise(timings).ok_or_else(|| Stop::Refused("there are no times".to_owned()))?;
        Ok((summary, summary.throughput(*work)))
    };
    let fields = ["timings_ms", "work_items"];
    judge(case, &fields, Form::ONE, read, compute, |name, expected, (summary, throughput): &(Summary, Option<f64>)| {
        let got = match name {
            "p50_ms" => Some(summary.p50),
            "p95_ms" => Some(summary.p95),
            "throughput_per_s" => *throughput,
            _ => return unknown(name),
        };
        let [expected, got] = [expected, &Value::from(got)].map(json::to_canonical);
        ensure!(expected == got, "`{name}`: expected {expected}, got {got} (exact)");
        Ok(())
    })
}

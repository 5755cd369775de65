//! The CPU suite: the kernels at two fixed profiles, in their plain and their fast form.
//!
//! The `small` profile is one map of 64 channels with ten tiles of 16 pixels, and the small inference model; the
//! `wide` profile is one map of 128 channels with 32 tiles of 8 pixels, a scan of 256 steps, and the feature-fusion
//! module end to end. Sizes are part of each benchmark's identity. A `CpuKernel` declares a kernel once; its workloads,
//! parity checks, tuning, the control and instruction counts follow from it.

mod check;
mod kernels;

pub(crate) use self::check::tile_ids;
use self::check::{CpuKernel, threads};
use crate::MeasureError;
use crate::workload::{Class, Workload};
use sprag_kernels::Form;

/// All workloads of the suite, in the order in which tables list them.
pub fn workloads(suite: &str) -> Result<Vec<Workload>, MeasureError> {
    let kernels: Vec<CpuKernel> = kernels::kernels();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut workloads = Vec::new();
    for kernel in &kernels {
        // Two threads on one core only take turns.
        for form in kernel.forms.iter().filter(|form| threads(**form) as usize <= cores) {
            workloads.push(kernel.workload(suite, *form)?);
        }
    }
    let control = kernels.iter().find(|kernel| kernel.class == Class::Cache && kernel.forms.contains(&Form::Fast(())));
    if let Some(control) = control {
        workloads.push(control.control(suite)?);
    }
    Ok(workloads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Order;
    use sprag_model::ParityStatus;

    #[test]
    fn every_kernel_is_there_and_ids_are_unique() {
        let workloads = workloads("cpu").expect("`cpu` is a word");
        let ids: std::collections::BTreeSet<String> = workloads.iter().map(|one| one.benchmark.id()).collect();
        assert_eq!(ids.len(), workloads.len());
        for name in
            ["infer", "tile_pack", "tile_unpack", "fusion_gate", "tile_ssm_scan", "fused_pack_op_unpack", "ff_path"]
        {
            assert!(ids.iter().any(|id| id.starts_with(&format!("cpu/{name}{{"))), "{name}");
        }
    }

    #[test]
    fn every_kernel_but_the_largest_is_right_and_can_be_called() {
        // The feature-fusion module takes seconds without optimisation; the golden cases check it.
        for workload in workloads("cpu").expect("`cpu` is a word").iter().filter(|one| one.benchmark.name != "ff_path")
        {
            let order = Order { seed: 7, configuration: None, check: true, is_twin: false };
            let mut prepared =
                (workload.prepare)(&order).unwrap_or_else(|error| panic!("{}: {error}", workload.benchmark));
            let expected = match workload.benchmark.variant.as_str() {
                "reference" => [ParityStatus::Reference, ParityStatus::Reference],
                _ => [ParityStatus::Exact, ParityStatus::Within],
            };
            assert!(expected.contains(&prepared.parity.status), "{}: {:?}", workload.benchmark, prepared.parity);
            (prepared.call)();
        }
    }
}

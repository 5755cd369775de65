//! The counted process: makes one benchmark ready, calls it once, and counts two more calls.

use serde::{Deserialize, Serialize};

use super::request;
use crate::MeasureError;
use crate::workload::{Order, Workload};

/// The version of plan and report; parent and worker are the same binary.
pub const COUNT_VERSION: u32 = 1;

/// The names of the two counted calls: equal work gives equal counts.
pub(super) const CALLS: [&std::ffi::CStr; 2] = [c"first", c"second"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountPlan {
    /// Must be [`COUNT_VERSION`].
    pub version: u32,
    /// The suite that the benchmark is named under.
    pub suite: String,
    pub benchmark: String,
    /// The configuration to use; its first where absent.
    pub configuration: Option<String>,
    /// What its inputs follow from.
    pub seed: u64,
}

/// How the counting went; the counts themselves are in the file that Valgrind writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountReport {
    /// Must be [`COUNT_VERSION`].
    pub version: u32,
    /// Why nothing was counted.
    pub failure: Option<String>,
    /// The widest instructions that a kernel could choose at run time, such as `avx2`.
    pub isa: String,
}

/// Counts in this process, which Valgrind must run. What cannot be counted is a failure in the report.
///
/// # Errors
/// When the plan is of another version, or asks for a benchmark that is unknown.
pub fn follow(plan: &CountPlan, workloads: &[Workload]) -> Result<CountReport, MeasureError> {
    if plan.version != COUNT_VERSION {
        return Err(MeasureError::Plan(format!("it has version {}, this build follows {COUNT_VERSION}", plan.version)));
    }
    let workload = workloads.iter().find(|workload| workload.benchmark.id() == plan.benchmark);
    let workload =
        workload.ok_or_else(|| MeasureError::Plan(format!("it asks for `{}`, which is unknown", plan.benchmark)))?;
    Ok(CountReport { version: COUNT_VERSION, failure: count(workload, plan).err(), isa: isa().to_owned() })
}

fn count(workload: &Workload, plan: &CountPlan) -> Result<(), String> {
    if !request::can_count() {
        return Err("valgrind_absent: nobody counts the instructions of this process".to_owned());
    }
    // The workers that time have compared it with its reference, which would take minutes here.
    let order = Order { seed: plan.seed, configuration: plan.configuration.as_deref(), check: false, is_twin: false };
    let mut prepared = (workload.prepare)(&order)?;
    (prepared.call)();
    for name in CALLS {
        request::count(name, &mut prepared.call);
    }
    Ok(())
}

/// The widest instructions that this process is told of.
#[cfg(target_arch = "x86_64")]
fn isa() -> &'static str {
    if std::arch::is_x86_feature_detected!("avx512f") {
        "avx512f"
    } else if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        "avx2"
    } else {
        "x86-64"
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn isa() -> &'static str {
    std::env::consts::ARCH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu;

    #[test]
    fn without_valgrind_nothing_is_made_up() {
        let workloads = cpu::workloads("cpu").expect("`cpu` is a word");
        let plan = CountPlan {
            version: COUNT_VERSION,
            suite: "cpu".into(),
            benchmark: workloads[0].benchmark.id(),
            configuration: None,
            seed: 1,
        };
        if !request::can_count() {
            let report = follow(&plan, &workloads).expect("the plan can be followed");
            assert!(report.failure.is_some_and(|reason| reason.starts_with("valgrind_absent: ")));
        }
        let old = CountPlan { version: 0, ..plan.clone() };
        assert!(matches!(follow(&old, &workloads), Err(MeasureError::Plan(_))));
        let unknown = CountPlan { benchmark: "cpu/nothing @fast".into(), ..plan };
        assert!(matches!(follow(&unknown, &workloads), Err(MeasureError::Plan(_))));
    }
}

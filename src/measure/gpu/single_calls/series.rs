//! Calls one after the other, on the device of this process.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::DeviceError;
use super::super::device::Device;
use super::super::instance::{Instance, Supply};
use super::super::operation::{Config, Form, Operation};
use super::super::parity;
use super::super::program::Program;
use super::choosing::{Choosing, selected};
use super::{
    CALLS_VERSION, CallsAnswer, CallsPlan, CallsTimes, OperationCalls, Outcome, Selected, Series, Subject, Tuned,
};
use crate::{MeasureError, clock};
use sprag_model::benchmark::{Parity, ParityStatus};

/// The most characters of a reason that stands in a report.
const MOST_REASON: usize = 300;

/// Times in this process. What cannot be timed is a failure in the answer, without any times.
///
/// # Errors
/// When the plan is of another version.
pub fn follow(plan: &CallsPlan) -> Result<CallsAnswer, MeasureError> {
    if plan.version != CALLS_VERSION {
        return Err(MeasureError::Plan(format!("it has version {}, this build follows {CALLS_VERSION}", plan.version)));
    }
    let outcome = times(plan).map_or_else(Outcome::Failed, |times| Outcome::Timed(Box::new(times)));
    Ok(CallsAnswer { version: CALLS_VERSION, outcome })
}

fn times(plan: &CallsPlan) -> Result<CallsTimes, String> {
    let device = Device::of_this_thread(plan.compiled.as_deref()).map_err(|error| error.to_string())?;
    let mut times = CallsTimes { operations: BTreeMap::new(), selected: Selected::default() };
    for subject in Subject::ALL {
        let operation = subject.operation(&plan.settings)?;
        let calls = both_forms(&device, plan, subject, &operation);
        times.operations.insert(subject, calls.map_err(|reason| format!("`{}`: {reason}", subject.word()))?);
        if subject == Subject::EndToEnd {
            times.selected = selected(&operation);
        }
    }
    Ok(times)
}

/// The plain form, then the tuned one. Where the tuned one fails, the plain one is what a caller gets.
fn both_forms(
    device: &Rc<Device>,
    plan: &CallsPlan,
    subject: Subject,
    operation: &Operation,
) -> Result<OperationCalls, String> {
    let plain =
        || series(device, plan, operation, Form::Reference).map(|(series, _)| series).map_err(|fault| reason(&fault));
    let config = config(operation, plan.configurations.get(&subject))?;
    let reference = plain()?;
    let (dispatch, tuned) = match series(device, plan, operation, Form::Tuned(config)) {
        Ok((series, calls)) => {
            let program = operation.program(plan.dtype, Form::Tuned(config));
            (series, Ok(Tuned { kernels: kernels(&program), configuration: macros(config), calls }))
        }
        // A device that is broken fails here once more, and then there are no times at all.
        Err(fault) => (plain()?, Err(reason(&fault))),
    };
    Ok(OperationCalls { reference, dispatch, tuned })
}

/// Checks a form and times its calls; beside the times how often it was called.
fn series(
    device: &Rc<Device>,
    plan: &CallsPlan,
    operation: &Operation,
    form: Form,
) -> Result<(Series, u64), DeviceError> {
    let CallsPlan { settings, dtype, .. } = plan;
    let program = operation.program(*dtype, form);
    let supply = Supply::of_set(settings.seed, 0);
    let is_beyond_cpu = parity::is_beyond_cpu(&program);
    if is_beyond_cpu {
        // There the tuned form is held against the plain one, which small shapes must vouch for.
        let (parity, shape) = parity::check_uneven(device, operation, *dtype, form, settings.seed)?;
        right(&parity, &shape.unwrap_or_default())?;
    }
    let instance = Instance::new(device, program, supply)?;
    if !is_beyond_cpu || form != Form::Reference {
        right(&parity::at_shape(device, &instance, operation, (*dtype, form), supply)?, &operation.label())?;
    }
    let context = &device.context;
    let choosing = Choosing::from_operation(operation, instance.program());
    let mut calls = 1;
    let mut call = || -> Result<(), DeviceError> {
        calls += 1;
        if let Some(choosing) = &choosing {
            choosing.choose(&instance)?;
        }
        instance.call()?;
        context.wait()
    };
    // What the check freed is given back by then.
    context.wait()?;
    context.reset_highest();
    for _ in 0..settings.warmup {
        call()?;
    }
    let mut timed = |_| {
        let mut done = Ok(());
        let nanos = clock::time(|| done = call());
        done.map(|()| nanos.0)
    };
    let nanos = (0..settings.iters).map(&mut timed).collect::<Result<Vec<u64>, DeviceError>>()?;
    // The pool may hand out more than was asked for.
    let peak_bytes = context.pool_high_water().unwrap_or(0).max(context.highest() as u64);
    Ok((Series { nanos, peak_bytes }, calls))
}

fn right(parity: &Parity, shape: &str) -> Result<(), DeviceError> {
    if parity.status == ParityStatus::Mismatch {
        return Err(DeviceError::Wrong { shape: shape.to_owned(), error: parity.max_abs_error });
    }
    Ok(())
}

/// The configuration of that name, the first where none is named.
fn config(operation: &Operation, name: Option<&String>) -> Result<Config, String> {
    let candidates = operation.candidates();
    let Some(name) = name else { return Ok(candidates[0]) };
    let found = candidates.into_iter().find(|candidate| candidate.name() == *name);
    found.ok_or_else(|| format!("it has no configuration `{name}`"))
}

/// The kernels of a program in the order of their launches, each once.
fn kernels(program: &Program) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for kernel in program.kernels() {
        if !names.iter().any(|name| name == kernel.entry) {
            names.push(kernel.entry.to_owned());
        }
    }
    names
}

/// What a configuration sets, by macro.
fn macros(config: Config) -> BTreeMap<String, u32> {
    let Config { block, vector, unroll, chunk } = config;
    let all = [("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("CHUNK", chunk)];
    all.into_iter().filter(|(_, value)| *value > 0).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An error as it stands in a report: one line, and not the whole log of a compiler.
fn reason(error: &DeviceError) -> String {
    let text = error.to_string();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(MOST_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::program::Dtype;
    use crate::gpu::settings::Settings;

    fn pack() -> Operation {
        Subject::TilePack.operation(&Settings::FIXED).expect("the fixed profile can be")
    }

    #[test]
    fn a_configuration_is_taken_by_its_name() {
        let candidates = pack().candidates();
        assert_eq!(config(&pack(), None), Ok(candidates[0]));
        assert_eq!(config(&pack(), Some(&candidates[1].name())), Ok(candidates[1]));
        assert_eq!(config(&pack(), Some(&"fast".to_owned())), Err("it has no configuration `fast`".to_owned()));
        let macros = macros(Config { block: 128, vector: 16, unroll: 2, chunk: 0 });
        let expected = [("BLOCK", 128), ("UNROLL", 2), ("VECTOR", 16)].map(|(name, value)| (name.to_owned(), value));
        assert_eq!(macros, BTreeMap::from(expected));
    }

    #[test]
    fn each_kernel_is_named_once() {
        let path = Subject::EndToEnd.operation(&Settings::FIXED).expect("the fixed profile can be");
        let program = path.program(Dtype::F16, Form::Tuned(path.candidates()[0]));
        assert_eq!(kernels(&program), ["ff_means", "ff_modulation", "ff_convolve", "ff_finish"]);
    }

    #[test]
    fn a_reason_is_one_line() {
        let log = "tile_pack.cu(3): error: no\n1 error\n".to_owned();
        let error = DeviceError::Compile { file: "tile_pack.cu", log };
        assert_eq!(reason(&error), "nvrtc_compile_failed: tile_pack.cu: tile_pack.cu(3): error: no");
        let wrong = DeviceError::Wrong { shape: "b=1".to_owned(), error: None };
        assert!(reason(&wrong).starts_with("parity: the result at b=1 "), "{}", reason(&wrong));
        assert_eq!(reason(&DeviceError::Compiler("x".repeat(1000))).len(), MOST_REASON);
    }

    #[test]
    fn a_plan_of_another_version_is_refused() {
        let plan = CallsPlan {
            version: 0,
            settings: Settings::FIXED,
            dtype: Dtype::F16,
            compiled: None,
            configurations: BTreeMap::new(),
        };
        assert!(matches!(follow(&plan).map(|_| ()), Err(MeasureError::Plan(_))));
    }
}

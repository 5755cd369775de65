//! Single calls on the device, timed as Apex-X does: some to warm up and then those that count, each launched
//! and awaited within its time, by the host's clock, one operation after the other in one fresh process.
//!
//! Only Apex-X's own report needs them. Of a kernel of microseconds such a call shows mostly the launch and the wait. Each
//! form is checked on poisoned outputs before. Where the tuned form cannot run or is wrong, the plain one replaces it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::gpu::DeviceError;
use crate::gpu::device::Device;
use crate::gpu::instance::{Instance, Supply};
use crate::gpu::operation::fusion_gate::fusion_gate;
use crate::gpu::operation::tile_unpack::{TileUnpack, drawn_levels};
use crate::gpu::operation::tiled::tile_pack;
use crate::gpu::operation::{
    Draw, GpuForm, InitialState, LaunchConfig, Operation, ScanWay, SelectTiles, Tiled, TokenScan, ff_path,
};
use crate::gpu::parity;
use crate::gpu::program::{Content, DeviceProgram, Dtype};
use crate::gpu::settings::GpuSettings;
use crate::process::WorkerCommand;
use crate::{MeasureError, clock, task};
use sprag_formats::compat::apex_x::gpu_launches::{TimedOperation, TunedForm};
use sprag_formats::compat::apex_x::gpu_report::{Calls, SelectedTiles};
use sprag_kernels::tile::Overlap;
use sprag_model::{Parity, ParityStatus};

/// The seeds of the ids are those of the report plus these, as in Apex-X.
const PACK_IDS_SEED: u64 = 1;
const UNPACK_IDS_SEED: u64 = 2;

/// The time for everything but the calls: start, compiling, inputs, checks.
const BASE_LIMIT: Duration = Duration::from_secs(600);

/// Added to the limit for each call.
const CALL_LIMIT: Duration = Duration::from_secs(1);

/// The longest reason in a report, in characters.
const MOST_REASON: usize = 300;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuCallsPlan {
    pub settings: GpuSettings,
    pub dtype: Dtype,
    pub compiled: Option<PathBuf>,
    /// Of the tuned forms, by name; the untuned one where absent.
    pub configurations: BTreeMap<TimedOperation, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuCalls {
    pub operations: BTreeMap<TimedOperation, BothForms>,
    pub selection: SelectedTiles,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BothForms {
    pub reference: Calls,
    /// The tuned form, or where it fails the plain one once more.
    pub dispatch: Calls,
    /// Why the tuned form did not run.
    pub tuned: Result<TunedForm, String>,
}

pub(super) fn measure(command: &WorkerCommand, plan: &GpuCallsPlan) -> Result<GpuCalls, MeasureError> {
    let calls = plan.settings.warmup.saturating_add(plan.settings.iters);
    // Two forms of each, and a third series where the tuned one fails midway.
    let calls = calls.saturating_mul(3 * TimedOperation::ALL.len() as u32);
    let limit = BASE_LIMIT + CALL_LIMIT.saturating_mul(calls);
    let answer = task::ask(&mut command.command(), plan, limit);
    let times: GpuCalls = answer.map_err(|fault| MeasureError::SingleCalls(fault.to_string()))?;
    match TimedOperation::ALL.iter().find(|one| !times.operations.contains_key(one)) {
        Some(one) => Err(MeasureError::SingleCalls(format!("its report has no times of `{}`", one.word()))),
        None => Ok(times),
    }
}

pub fn follow(plan: &GpuCallsPlan) -> Result<GpuCalls, String> {
    let device = Device::of_this_thread(plan.compiled.as_deref()).map_err(|error| error.to_string())?;
    let mut times = GpuCalls::default();
    for timed in TimedOperation::ALL {
        let operation = operation(timed, &plan.settings)?;
        let calls = both_forms(&device, plan, timed, &operation);
        times.operations.insert(timed, calls.map_err(|reason| format!("`{}`: {reason}", timed.word()))?);
        if timed == TimedOperation::EndToEnd {
            times.selection = selection(&operation)?;
        }
    }
    Ok(times)
}

pub(super) fn operation(timed: TimedOperation, settings: &GpuSettings) -> Result<Operation, String> {
    let GpuSettings { profile, seed, budgets, .. } = settings;
    let tiled = |offset: u64| {
        let (side, count) = (profile.tile_size as usize, profile.kmax as usize);
        let tiles = Tiled::drawn(profile.map(), side, count, Draw::Distinct, seed.wrapping_add(offset));
        tiles.map_err(|error| error.to_string())
    };
    match timed {
        TimedOperation::TilePack => Ok(tile_pack(tiled(PACK_IDS_SEED)?)),
        TimedOperation::TileUnpack => {
            let tiles = tiled(UNPACK_IDS_SEED)?;
            let levels = drawn_levels(tiles.ids().len(), seed.wrapping_add(UNPACK_IDS_SEED));
            let unpack = TileUnpack::on_grid(tiles, Some(levels), Overlap::Override);
            unpack.map(TileUnpack::operation).map_err(|error| error.to_string())
        }
        TimedOperation::FusionGate => Ok(fusion_gate(profile.map())),
        TimedOperation::Scan => {
            let (way, initial) = (ScanWay::Forward, InitialState::Zero);
            Ok(TokenScan { tokens: profile.tokens(), way, initial }.operation())
        }
        TimedOperation::EndToEnd => {
            let module = ff_path::config(profile.kmax as usize, budgets.b1, budgets.b2);
            ff_path::FfPath::new(profile.map(), module, *seed).map(ff_path::FfPath::operation)
        }
    }
}

/// Chooses tiles and uploads their ids, as a caller does in each call.
fn choose(select: &SelectTiles, instance: &Instance) -> Result<(), DeviceError> {
    let selection = select().map_err(DeviceError::Program)?;
    let lists = [selection.l0, selection.l1];
    for (place, ids) in id_places(instance.program()).into_iter().zip(lists.iter().filter(|ids| !ids.is_empty())) {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        instance.buffer(place).upload(&bytes)?;
    }
    Ok(())
}

fn id_places(program: &DeviceProgram) -> Vec<usize> {
    let holds_ids = |place: &usize| matches!(program.buffers[*place].content, Content::Integers(_));
    (0..program.buffers.len()).filter(holds_ids).collect()
}

/// The choice of each call of the operation, if any.
fn selection(operation: &Operation) -> Result<SelectedTiles, String> {
    let Some(select) = &operation.selection else { return Ok(SelectedTiles::default()) };
    let selection = select()?;
    Ok(SelectedTiles {
        level_0: selection.l0.len() as u64,
        level_1: selection.l1.len() as u64,
        budget_b1_spent: selection.spent_b1,
        budget_b2_spent: selection.spent_b2,
    })
}

/// Times the plain form, then the tuned one, or the plain one again where the tuned one fails.
fn both_forms(
    device: &Rc<Device>,
    plan: &GpuCallsPlan,
    timed: TimedOperation,
    operation: &Operation,
) -> Result<BothForms, String> {
    let plain = || {
        series(device, plan, operation, GpuForm::Reference).map(|(series, _)| series).map_err(|fault| reason(&fault))
    };
    let config = operation.configuration(plan.configurations.get(&timed).map(String::as_str))?;
    let reference = plain()?;
    let (dispatch, tuned) = match series(device, plan, operation, GpuForm::Tuned(config)) {
        Ok((series, calls)) => {
            let program = operation.program(plan.dtype, GpuForm::Tuned(config));
            (series, Ok(TunedForm { kernels: kernels(&program), configuration: macros(config), calls }))
        }
        // A broken device fails here again, and then there are no times at all.
        Err(fault) => (plain()?, Err(reason(&fault))),
    };
    Ok(BothForms { reference, dispatch, tuned })
}

/// Checks a form and times its calls; returns the times and the number of calls.
fn series(
    device: &Rc<Device>,
    plan: &GpuCallsPlan,
    operation: &Operation,
    form: GpuForm,
) -> Result<(Calls, u64), DeviceError> {
    let GpuCallsPlan { settings, dtype, .. } = plan;
    let program = operation.program(*dtype, form);
    let supply = Supply::of_set(settings.seed, 0);
    let is_beyond_cpu = parity::is_beyond_cpu(&program);
    if is_beyond_cpu {
        // The plain form is the reference of the tuned one here, so small shapes must verify it.
        let (parity, shape) = parity::check_uneven(device, operation, *dtype, form, settings.seed)?;
        right(&parity, &shape.unwrap_or_default())?;
    }
    let instance = Instance::new(device, program, supply)?;
    if !is_beyond_cpu || form != GpuForm::Reference {
        right(&parity::at_shape(device, &instance, operation, (*dtype, form), supply)?, &operation.label())?;
    }
    let context = &device.context;
    let mut calls = 1;
    let mut call = || -> Result<(), DeviceError> {
        calls += 1;
        if let Some(select) = &operation.selection {
            choose(select.as_ref(), &instance)?;
        }
        instance.call()?;
        context.wait()
    };
    // This frees what the check used.
    context.wait()?;
    context.reset_highest();
    for _ in 0..settings.warmup {
        call()?;
    }
    let mut timed = |_| {
        let mut done = Ok(());
        let nanos = clock::time(|| done = call());
        done.map(|()| nanos.milliseconds())
    };
    let milliseconds = (0..settings.iters).map(&mut timed).collect::<Result<Vec<f64>, DeviceError>>()?;
    // The pool may hand out more than requested.
    let peak_bytes = context.pool_high_water().unwrap_or(0).max(context.highest() as u64);
    Ok((Calls { milliseconds, peak_bytes: Some(peak_bytes) }, calls))
}

fn right(parity: &Parity, shape: &str) -> Result<(), DeviceError> {
    if parity.status == ParityStatus::Mismatch {
        return Err(DeviceError::Wrong { shape: shape.to_owned(), error: parity.max_abs_error });
    }
    Ok(())
}

/// The kernels of a program in the order of their first launches.
fn kernels(program: &DeviceProgram) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for kernel in program.kernels() {
        if !names.iter().any(|name| *name == kernel.entry) {
            names.push(kernel.entry.to_string());
        }
    }
    names
}

fn macros(config: LaunchConfig) -> BTreeMap<String, u32> {
    let LaunchConfig { block, vector, unroll, chunk } = config;
    let all = [("BLOCK", block), ("VECTOR", vector), ("UNROLL", unroll), ("CHUNK", chunk)];
    all.into_iter().filter(|(_, value)| *value > 0).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The first line of an error, without the log of a compiler.
fn reason(error: &DeviceError) -> String {
    let text = error.to_string();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(MOST_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::settings::Budgets;

    fn fixed(timed: TimedOperation) -> Operation {
        operation(timed, &GpuSettings::FIXED).expect("the fixed profile can be")
    }

    #[test]
    fn operations_have_the_sizes_of_the_profile() {
        let check = |timed: TimedOperation, expected: &str| {
            let operation = fixed(timed);
            assert_eq!(format!("{} {}", operation.name, operation.label()), expected);
            assert_eq!(timed.word(), operation.name);
        };
        check(TimedOperation::TilePack, "tile_pack b=1 c=128 h=128 w=128 t=8 k=32");
        check(TimedOperation::TileUnpack, "tile_unpack b=1 c=128 h=128 w=128 t=8 k=32 overlap=override");
        check(TimedOperation::FusionGate, "fusion_gate b=1 c=128 h=128 w=128");
        check(TimedOperation::Scan, "tile_ssm_scan b=1 steps=256 c=128 way=forward initial=zero");
        check(TimedOperation::EndToEnd, "ff_path b=1 c=128 h=128 w=128 l0=20 l1=32");
    }

    #[test]
    fn drawn_values_follow_from_the_seed() {
        let program = |timed: TimedOperation, seed: u64| {
            let operation = operation(timed, &GpuSettings { seed, ..GpuSettings::FIXED }).expect("the sizes can be");
            operation.program(Dtype::F16, GpuForm::Reference)
        };
        for timed in [TimedOperation::TilePack, TimedOperation::TileUnpack, TimedOperation::EndToEnd] {
            assert_eq!(program(timed, 1), program(timed, 1));
            assert_ne!(program(timed, 1), program(timed, 2), "{timed:?}");
        }
        let mut settings = GpuSettings::FIXED;
        settings.profile.height = 100;
        assert!(operation(TimedOperation::TilePack, &settings).is_err(), "tiles do not fill the map");
    }

    #[test]
    fn the_ids_of_both_levels_have_buffers() {
        let check = |b1: f64, b2: f64, expected: &[usize], tiles: [u64; 2], spent: [f64; 2]| {
            let settings = GpuSettings { budgets: Budgets { b1, b2, total: 32.0 }, ..GpuSettings::FIXED };
            let operation = operation(TimedOperation::EndToEnd, &settings).expect("the sizes are valid");
            let program = operation.program(Dtype::F16, GpuForm::Reference);
            let lengths: Vec<usize> =
                id_places(&program).into_iter().map(|place| program.buffers[place].count).collect();
            assert_eq!(lengths, expected, "{b1} {b2}");
            let selection = selection(&operation).expect("the sizes are valid");
            assert_eq!([selection.level_0, selection.level_1], tiles);
            assert_eq!([selection.budget_b1_spent, selection.budget_b2_spent], spent);
        };
        // The published profile spends as much as Apex-X does.
        check(16.0, 8.0, &[20, 32], [20, 32], [16.000000000000004, 8.0]);
        check(16.0, 0.0, &[20], [20, 0], [16.000000000000004, 0.0]);
        check(0.0, 8.0, &[], [0, 0], [0.0, 0.0]);
        assert!(fixed(TimedOperation::TilePack).selection.is_none(), "its ids are given");
    }

    #[test]
    fn an_answer_without_an_operation_is_refused() {
        let plan = GpuCallsPlan {
            settings: GpuSettings { iters: 2, ..GpuSettings::FIXED },
            dtype: Dtype::F16,
            compiled: None,
            configurations: BTreeMap::from([(TimedOperation::TilePack, "block128".to_owned())]),
        };
        let text = serde_json::to_string(&plan).expect("a plan is JSON");
        assert!(text.contains(r#""configurations":{"tile_pack":"block128"}"#), "{text}");
        let outcome = serde_json::to_string(&GpuCalls::default()).expect("times are JSON");
        let script = format!(r#"cat >/dev/null; echo '{{"version":1,"outcome":{{"Ok":{outcome}}}}}'"#);
        let command = WorkerCommand { program: "/bin/sh".into(), arguments: vec!["-c".to_owned(), script] };
        let error = measure(&command, &plan).expect_err("there are no times").to_string();
        assert_eq!(error, "cannot time single calls: its report has no times of `tile_pack`");
    }

    #[test]
    fn configurations_are_selected_by_name_and_each_kernel_is_named_once() {
        let pack = fixed(TimedOperation::TilePack);
        let candidates = &pack.candidates;
        assert_eq!(pack.configuration(None), Ok(candidates[0]));
        assert_eq!(pack.configuration(Some(&candidates[1].name())), Ok(candidates[1]));
        assert_eq!(pack.configuration(Some("fast")), Err("it has no configuration `fast`".to_owned()));
        let macros = macros(LaunchConfig { block: 128, vector: 16, unroll: 2, chunk: 0 });
        let expected = [("BLOCK", 128), ("UNROLL", 2), ("VECTOR", 16)].map(|(name, value)| (name.to_owned(), value));
        assert_eq!(macros, BTreeMap::from(expected));
        let path = fixed(TimedOperation::EndToEnd);
        let program = path.program(Dtype::F16, GpuForm::Tuned(path.candidates[0]));
        let entries = ["ff_means", "ff_modulation", "ff_convolve", "ff_finish"];
        assert!(program.launches().map(|launch| &*launch.kernel.entry).eq(entries.repeat(2)));
        assert_eq!(kernels(&program), entries);
    }

    #[test]
    fn a_reason_is_one_line() {
        let log = "tile_pack.cu(3): error: no\n1 error\n".to_owned();
        let error = DeviceError::Compile { file: "tile_pack.cu".to_owned(), log };
        assert_eq!(reason(&error), "nvrtc_compile_failed: tile_pack.cu: tile_pack.cu(3): error: no");
        let wrong = DeviceError::Wrong { shape: "b=1".to_owned(), error: None };
        assert!(reason(&wrong).starts_with("parity: the result at b=1 "), "{}", reason(&wrong));
        assert_eq!(reason(&DeviceError::Compiler("x".repeat(1000))).len(), MOST_REASON);
    }
}

//! Single calls on the device, timed as the seed, Apex-X, does: some to warm up and then those that count, each launched
//! and waited for inside of its time, by the host's clock, one operation after the other in one fresh process.
//!
//! It serves the seed's own report and nothing else. Of a kernel that takes microseconds such a call shows the launch and
//! the wait more than the kernel; the tracks of the suite tell them apart. Each form is checked on poisoned outputs before
//! it is timed. Where the tuned form cannot run or is wrong, the plain one is timed in its place, and the answer says so.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::device::Device;
use super::error::DeviceError;
use super::instance::{Instance, Supply};
use super::operation::fusion_gate::FusionGate;
use super::operation::scan::ScanOperation;
use super::operation::tile_pack::TilePack;
use super::operation::tile_unpack::TileUnpack;
use super::operation::{Config, Draw, Form, Initial, Operation, Rule, Tiled, Way, ff_path};
use super::parity;
use super::program::{Content, Dtype, Program};
use super::settings::Settings;
use crate::process::{self, WorkerCommand};
use crate::{MeasureError, clock};
use sprag_kernels::fusion::Gate;
use sprag_kernels::scan::ScanShape;
use sprag_kernels::shape::MapShape;
use sprag_kernels::tile::Overlap;
use sprag_model::benchmark::{Parity, ParityStatus};

/// What the seeds of the ids lie above that of the report, as the seed has it.
const PACK_IDS_SEED: u64 = 1;
const UNPACK_IDS_SEED: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    TilePack,
    /// Puts tiles with levels back into a copy of maps; of two the later one wins.
    TileUnpack,
    /// Mixes two maps by a gate.
    FusionGate,
    /// Scans tokens from first to last.
    Scan,
    /// The whole path of an image through the model, with the choice of tiles.
    EndToEnd,
}

impl Subject {
    pub const ALL: [Subject; 5] =
        [Subject::TilePack, Subject::TileUnpack, Subject::FusionGate, Subject::Scan, Subject::EndToEnd];

    /// Its name, as benchmarks bear it.
    pub fn word(self) -> &'static str {
        match self {
            Subject::TilePack => "tile_pack",
            Subject::TileUnpack => "tile_unpack",
            Subject::FusionGate => "fusion_gate",
            Subject::Scan => "tile_ssm_scan",
            Subject::EndToEnd => "ff_path",
        }
    }

    pub fn operation(self, settings: &Settings) -> Result<Operation, String> {
        let Settings { profile, seed, budgets, .. } = settings;
        let size = |value: u32| value as usize;
        let map = MapShape {
            batch: size(profile.batch),
            channels: size(profile.channels),
            height: size(profile.height),
            width: size(profile.width),
        };
        let tiled = |offset: u64| {
            let (side, count) = (size(profile.tile_size), size(profile.kmax));
            Tiled::drawn(map, side, count, Draw::Distinct, seed.wrapping_add(offset))
        };
        match self {
            Subject::TilePack => {
                tiled(PACK_IDS_SEED).map(TilePack).map(Operation::new).map_err(|error| error.to_string())
            }
            Subject::TileUnpack => tiled(UNPACK_IDS_SEED)
                .and_then(|tiles| {
                    let levels = seed.wrapping_add(UNPACK_IDS_SEED);
                    let rule = Rule::drawn(tiles.ids().len(), Overlap::Override, levels);
                    TileUnpack::new(tiles, rule).map(Operation::new)
                })
                .map_err(|error| error.to_string()),
            Subject::FusionGate => Ok(Operation::new(FusionGate { map, gate: Gate::default() })),
            Subject::Scan => {
                let tokens = ScanShape {
                    batch: size(profile.scan.batch),
                    steps: size(profile.scan.steps),
                    channels: size(profile.scan.channels),
                };
                Ok(Operation::new(ScanOperation { tokens, way: Way::Forward, initial: Initial::Zero }))
            }
            Subject::EndToEnd => {
                let module = ff_path::config(size(profile.kmax), budgets.b1, budgets.b2);
                ff_path::FfPath::new(map, module, *seed).map(Operation::new)
            }
        }
    }
}

/// The version of question and answer; parent and worker are the same binary.
pub const CALLS_VERSION: u32 = 1;

/// What a process has for everything but the calls that count: start, compiling, inputs, checks.
const BASE_LIMIT: Duration = Duration::from_secs(600);

/// What each call adds to the limit: far more than any takes.
const CALL_LIMIT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallsPlan {
    /// Must be [`CALLS_VERSION`].
    pub version: u32,
    pub settings: Settings,
    /// The element type that runs.
    pub dtype: Dtype,
    pub compiled: Option<PathBuf>,
    /// The configurations of the tuned forms, by name; the one used untuned where there is none.
    pub configurations: BTreeMap<Subject, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallsAnswer {
    /// Must be [`CALLS_VERSION`].
    pub version: u32,
    /// The times, or why there are none.
    pub outcome: Outcome,
}

/// Times, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Timed(Box<CallsTimes>),
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallsTimes {
    pub operations: BTreeMap<Subject, OperationCalls>,
    /// What each call of the whole path chose.
    pub selected: Selected,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationCalls {
    pub reference: Series,
    /// What is used: the tuned form, or where it cannot be the plain one once more.
    pub dispatch: Series,
    /// What ran tuned, or why nothing did.
    pub tuned: Result<Tuned, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The nanoseconds of each call that counts.
    pub nanos: Vec<u64>,
    /// The most device memory that was held from before the first call on, inputs included.
    pub peak_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    pub kernels: Vec<String>,
    pub configuration: BTreeMap<String, u32>,
    /// How often it was called at these sizes: once to be checked, to warm up, and to be timed.
    pub calls: u64,
}

/// What each call of the whole path chose, over all images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selected {
    pub level_0: u64,
    /// Tiles of the second level.
    pub level_1: u64,
    /// What those of the first level cost.
    pub budget_b1_spent: f64,
    /// What those of the second level cost.
    pub budget_b2_spent: f64,
}

pub fn measure(command: &WorkerCommand, plan: &CallsPlan) -> Result<CallsTimes, MeasureError> {
    let calls = plan.settings.warmup.saturating_add(plan.settings.iters);
    // Two forms of each, and a third series where a tuned one breaks midway.
    let calls = calls.saturating_mul(3 * Subject::ALL.len() as u32);
    let limit = BASE_LIMIT + CALL_LIMIT.saturating_mul(calls);
    let answer: CallsAnswer = process::ask(&mut command.command(), plan, limit)
        .map_err(|fault| MeasureError::SingleCalls(fault.to_string()))?;
    if answer.version != CALLS_VERSION {
        let reason = format!("its report has version {}, {CALLS_VERSION} is needed", answer.version);
        return Err(MeasureError::SingleCalls(reason));
    }
    match answer.outcome {
        Outcome::Failed(failure) => Err(MeasureError::SingleCalls(failure)),
        Outcome::Timed(times) => match Subject::ALL.iter().find(|one| !times.operations.contains_key(one)) {
            Some(subject) => Err(MeasureError::SingleCalls(format!("its report has no times of `{}`", subject.word()))),
            None => Ok(*times),
        },
    }
}

/// The choice of tiles, and where their ids go.
struct Choosing<'a> {
    shape: &'a ff_path::FfPath,
    places: Vec<usize>,
}

impl<'a> Choosing<'a> {
    /// The choice of an operation; `None` where it makes none.
    fn from_operation(operation: &'a Operation, program: &Program) -> Option<Choosing<'a>> {
        let shape = operation.selection()?;
        let holds_ids = |place: &usize| matches!(program.buffers[*place].content, Content::Integers(_));
        Some(Choosing { shape, places: (0..program.buffers.len()).filter(holds_ids).collect() })
    }

    /// Chooses, and hands the ids to the device. They are handed over in each call: that they are the same as in the last
    /// one is chance, and no caller can count on it.
    fn choose(&self, instance: &Instance) -> Result<(), DeviceError> {
        let selection = self.shape.select().map_err(DeviceError::Program)?;
        let lists = [selection.l0, selection.l1];
        for (place, ids) in self.places.iter().zip(lists.iter().filter(|ids| !ids.is_empty())) {
            let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
            instance.buffer(*place).upload(&bytes)?;
        }
        Ok(())
    }
}

/// What each call of the operation chooses; nothing where it makes no choice.
fn selected(operation: &Operation) -> Selected {
    let Some(shape) = operation.selection() else { return Selected::default() };
    let selection = shape.selection();
    Selected {
        level_0: selection.l0.len() as u64,
        level_1: selection.l1.len() as u64,
        budget_b1_spent: selection.spent_b1,
        budget_b2_spent: selection.spent_b2,
    }
}

/// The most characters of a reason that stands in a report.
const MOST_REASON: usize = 300;

/// Times in this process. What cannot be timed is a failure in the answer, without any times.
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

fn kernels(program: &Program) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for kernel in program.kernels() {
        if !names.iter().any(|name| name == kernel.entry) {
            names.push(kernel.entry.to_owned());
        }
    }
    names
}

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
    use super::super::operation::Form;
    use super::super::settings::Budgets;
    use super::*;

    #[test]
    fn the_operations_have_the_sizes_that_are_asked_for() {
        let check = |subject: Subject, expected: &str| {
            let operation = subject.operation(&Settings::FIXED).expect("the fixed profile can be");
            assert_eq!(format!("{} {}", operation.name(), operation.label()), expected);
            assert_eq!(subject.word(), operation.name());
        };
        check(Subject::TilePack, "tile_pack b=1 c=128 h=128 w=128 t=8 k=32");
        check(Subject::TileUnpack, "tile_unpack b=1 c=128 h=128 w=128 t=8 k=32 overlap=override");
        check(Subject::FusionGate, "fusion_gate b=1 c=128 h=128 w=128");
        check(Subject::Scan, "tile_ssm_scan b=1 steps=256 c=128 way=forward initial=zero");
        check(Subject::EndToEnd, "ff_path b=1 c=128 h=128 w=128 l0=20 l1=32");
    }

    #[test]
    fn what_is_drawn_follows_from_the_seed() {
        let of =
            |subject: Subject, seed: u64| format!("{:?}", subject.operation(&Settings { seed, ..Settings::FIXED }));
        for subject in [Subject::TilePack, Subject::TileUnpack, Subject::EndToEnd] {
            assert_eq!(of(subject, 1), of(subject, 1));
            assert_ne!(of(subject, 1), of(subject, 2), "{subject:?}");
        }
        let mut settings = Settings::FIXED;
        settings.profile.height = 100;
        assert!(Subject::TilePack.operation(&settings).is_err(), "tiles do not fill the map");
    }

    fn plan() -> CallsPlan {
        CallsPlan {
            version: CALLS_VERSION,
            settings: Settings { iters: 2, ..Settings::FIXED },
            dtype: Dtype::F16,
            compiled: None,
            configurations: BTreeMap::from([(Subject::TilePack, "block128".to_owned())]),
        }
    }

    #[test]
    fn question_and_answer_travel() {
        let text = serde_json::to_string(&plan()).expect("a plan is JSON");
        assert!(text.contains(r#""configurations":{"tile_pack":"block128"}"#), "{text}");
        assert_eq!(serde_json::from_str::<CallsPlan>(&text).ok(), Some(plan()));
        let series = Series { nanos: vec![7], peak_bytes: 9 };
        let tuned = Tuned { kernels: vec!["tile_pack".into()], configuration: BTreeMap::new(), calls: 61 };
        let calls = |tuned| OperationCalls { reference: series.clone(), dispatch: series.clone(), tuned };
        let operations =
            BTreeMap::from([(Subject::TilePack, calls(Ok(tuned))), (Subject::Scan, calls(Err("parity".to_owned())))]);
        let times = CallsTimes {
            operations,
            selected: Selected { budget_b1_spent: 16.000000000000004, ..Selected::default() },
        };
        let answer = CallsAnswer { version: CALLS_VERSION, outcome: Outcome::Timed(Box::new(times)) };
        let text = serde_json::to_string(&answer).expect("an answer is JSON");
        assert_eq!(serde_json::from_str::<CallsAnswer>(&text).ok(), Some(answer));
    }

    #[test]
    fn a_process_that_fails_gives_its_reason() {
        let reason = |script: &str| {
            let arguments = vec!["-c".to_owned(), format!("cat >/dev/null; {script}")];
            let command = WorkerCommand { program: "/bin/sh".into(), arguments };
            measure(&command, &plan()).expect_err("there are no times").to_string()
        };
        let answer =
            |version: u32, outcome: &str| reason(&format!("echo '{{\"version\":{version},\"outcome\":{outcome}}}'"));
        assert_eq!(reason("echo no luck >&2; exit 3"), "cannot time single calls: exit status: 3 (no luck)");
        assert_eq!(answer(1, r#"{"failed":"parity: off"}"#), "cannot time single calls: parity: off");
        assert!(answer(9, r#"{"failed":""}"#).contains("version 9"));
        let selected = r#"{"level_0":0,"level_1":0,"budget_b1_spent":0.0,"budget_b2_spent":0.0}"#;
        let empty = answer(1, &format!(r#"{{"timed":{{"operations":{{}},"selected":{selected}}}}}"#));
        assert_eq!(empty, "cannot time single calls: its report has no times of `tile_pack`");
    }

    #[test]
    fn the_ids_of_both_levels_have_their_places() {
        let check = |b1: f64, b2: f64, expected: &[usize], selected_tiles: [u64; 2]| {
            let settings = Settings { budgets: Budgets { b1, b2, total: 32.0 }, ..Settings::FIXED };
            let operation = Subject::EndToEnd.operation(&settings).expect("the sizes can be");
            let program = operation.program(Dtype::F16, Form::Reference);
            let choosing = Choosing::from_operation(&operation, &program).expect("the path chooses");
            let lengths: Vec<usize> = choosing.places.iter().map(|place| program.buffers[*place].count).collect();
            assert_eq!(lengths, expected, "{b1} {b2}");
            let selected = selected(&operation);
            assert_eq!([selected.level_0, selected.level_1], selected_tiles);
        };
        check(16.0, 8.0, &[20, 32], [20, 32]);
        check(16.0, 0.0, &[20], [20, 0]);
        check(0.0, 8.0, &[], [0, 0]);
    }

    #[test]
    fn the_published_profile_spends_what_the_seed_spends() {
        let operation = Subject::EndToEnd.operation(&Settings::FIXED).expect("the sizes can be");
        let selected = selected(&operation);
        assert_eq!((selected.budget_b1_spent, selected.budget_b2_spent), (16.000000000000004, 8.0));
        let pack = Subject::TilePack.operation(&Settings::FIXED).expect("the sizes can be");
        let program = pack.program(Dtype::F16, Form::Reference);
        assert!(Choosing::from_operation(&pack, &program).is_none(), "its ids are given");
    }

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

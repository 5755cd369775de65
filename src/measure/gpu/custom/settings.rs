//! The description of a CUDA kernel of the user, as `sprag.toml` holds it and worker processes receive it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expression::{Expression, ExpressionError, Names};
use super::source::is_image;
use crate::command::variables;
use crate::gpu::program::Data;

/// A CUDA kernel of your own, and how it is launched, checked and timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CudaKernel")]
pub struct KernelSettings {
    /// The name of the benchmark.
    pub name: String,
    /// The source (`.cu`) or compiled kernel (`.ptx`, `.cubin`, `.fatbin`), relative to the root of the project.
    pub file: String,
    /// The `extern "C"` function. Default: `name`.
    pub entry: Option<String>,
    /// What the kernel takes, in the order of its parameters.
    #[serde(default)]
    pub arguments: Vec<ArgumentSettings>,
    /// Blocks of a launch: one to three expressions.
    pub grid: GridTerms,
    /// Threads of a block: one to three expressions.
    pub block: GridTerms,
    /// Bytes of dynamic shared memory of a block. Default: 0.
    pub shared: Option<Term>,
    /// The shapes to time: names and their values. They are the parameters of the benchmark.
    #[serde(default)]
    pub shapes: Vec<Names>,
    /// More shapes whose results are checked and that are not timed, such as sizes that no block divides.
    #[serde(default)]
    pub check_shapes: Vec<Names>,
    /// Constants that the tuner chooses from these values; the first is the default. The source sees them as macros.
    #[serde(default)]
    pub constants: BTreeMap<String, Vec<i64>>,
    /// Leaves out combinations of constants for which this expression is 0.
    #[serde(rename = "where")]
    pub condition: Option<Term>,
    /// Folders of headers, relative to the root of the project. The folder of the source is always one.
    #[serde(default)]
    pub include: Vec<String>,
    /// More options of NVRTC, such as `--use_fast_math`.
    #[serde(default)]
    pub options: Vec<String>,
    /// What the result is compared with.
    pub reference: Reference,
    /// How far a result may be from the reference: `|got - expected| <= tolerance * (1 + |expected|)`. Default: 1e-5, for
    /// `f64` 1e-12, `f16` 4e-3, `bf16` 2e-2, `e4m3` 0.13, integers 0.
    pub tolerance: Option<f64>,
    /// The bytes that a call must read and write. The kernel is then timed next to a device copy of as many bytes.
    pub bytes: Option<Term>,
    /// The operations of a call, from which the throughput follows.
    pub flops: Option<Term>,
}

/// An argument of a kernel: a buffer, which has a `shape`, or a number, which has a `value`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CudaArgument")]
pub struct ArgumentSettings {
    /// The name, for messages and `.npy` files.
    pub name: String,
    /// The type of the number, or of the elements of the buffer.
    #[serde(rename = "type")]
    pub element: Data,
    /// The value of a number: a number, or an expression of the shape and the constants.
    pub value: Option<Value>,
    /// The sizes of a buffer: expressions of the shape and the constants.
    pub shape: Option<GridTerms>,
    /// Whether the kernel reads or writes the buffer. Default: `input`.
    #[serde(default)]
    pub role: BufferRole,
    /// The content of a buffer that the kernel reads: `normal`, `uniform`, `iota`, `zeros`, a number, or a `.npy` file in whose
    /// path `{n}` is the value of `n`. Default: `normal`; for integers `zeros`.
    pub fill: Option<Value>,
    /// The least value of `uniform`. Default: 0.
    pub low: Option<Value>,
    /// The end of the values of `uniform`, which integers do not reach. Default: 1; integers need it.
    pub high: Option<Value>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CudaRole")]
pub enum BufferRole {
    /// The kernel reads it.
    #[default]
    Input,
    /// The kernel writes all of it.
    Output,
    /// The kernel reads it and writes its result there.
    Update,
    /// The kernel writes and reads it, and no result is there.
    Scratch,
}

/// An integer, or an expression such as `ceil_div(n, 256)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected an integer or an expression such as `\"ceil_div(n, 256)\"`")]
#[schemars(rename = "CudaExpression")]
pub enum Term {
    Integer(i64),
    Text(String),
}

/// One expression, or a list of up to three for x, y and z.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected an integer, an expression such as `\"ceil_div(n, 256)\"`, or a list of them")]
#[schemars(rename = "CudaSizes")]
pub enum GridTerms {
    One(Term),
    List(Vec<Term>),
}

/// A number or a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number or a text")]
#[schemars(rename = "CudaValue")]
pub enum Value {
    Integer(i64),
    Number(f64),
    Text(String),
}

/// `none`, or one of: another kernel, a program, or files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a table with `file` and `entry` and optionally `grid`, `block` and `shared`, or with `command`, or \
                 with `files`; or the word `\"none\"`"
)]
#[schemars(rename = "CudaReference")]
pub enum Reference {
    Word(NoReference),
    Kernel(ReferenceKernel),
    Command(ReferenceCommand),
    Files(ReferenceFiles),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CudaNoReference")]
pub enum NoReference {
    /// Nothing checks the result.
    None,
}

/// A kernel with the same parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CudaReferenceKernel")]
pub struct ReferenceKernel {
    /// Its file. Default: that of the kernel.
    pub file: Option<String>,
    /// Its `extern "C"` function.
    pub entry: String,
    /// Blocks of its launch. Default: those of the kernel with the first value of each constant.
    pub grid: Option<GridTerms>,
    /// Threads of its block. Default: those of the kernel with the first value of each constant.
    pub block: Option<GridTerms>,
    /// Bytes of dynamic shared memory of its block. Default: 0.
    pub shared: Option<Term>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CudaReferenceCommand")]
pub struct ReferenceCommand {
    /// A program and its arguments. It gets two more: a folder with `NAME.npy` for each argument that the kernel reads, and an empty
    /// folder, to which it writes `NAME.npy` for each result.
    pub command: Vec<String>,
    /// The variables that it gets besides those of toolchains and of the system, such as `["DATA_DIR", "MY_*"]`. Default: none.
    #[serde(default)]
    pub pass_env: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CudaReferenceFiles")]
pub struct ReferenceFiles {
    /// A `.npy` file for each result, in whose path `{n}` is the value of `n`.
    pub files: BTreeMap<String, String>,
}

/// The keys below the kernel, and the fault.
pub type KernelFault = (Vec<String>, String);

/// More are a typing error; each is checked and timed three times.
const MOST_CONFIGURATIONS: usize = 200;

/// Parameters of every benchmark.
const TRACK: &str = "track";

impl BufferRole {
    pub fn is_result(self) -> bool {
        matches!(self, BufferRole::Output | BufferRole::Update)
    }
}

impl ArgumentSettings {
    pub fn is_read(&self) -> bool {
        self.value.is_none() && matches!(self.role, BufferRole::Input | BufferRole::Update)
    }

    pub fn is_written(&self) -> bool {
        self.role != BufferRole::Input
    }
}

impl Term {
    pub fn expression(&self) -> Result<Expression, ExpressionError> {
        match self {
            Term::Integer(number) => Expression::parse(&number.to_string()),
            Term::Text(text) => Expression::parse(text),
        }
    }

    pub fn value(&self, names: &Names) -> Result<i64, ExpressionError> {
        self.expression()?.value(names)
    }
}

impl GridTerms {
    pub fn list(&self) -> Vec<&Term> {
        match self {
            GridTerms::One(term) => vec![term],
            GridTerms::List(terms) => terms.iter().collect(),
        }
    }
}

impl Value {
    /// The expression of a number of integer type.
    pub fn term(&self) -> Option<Term> {
        match self {
            Value::Integer(number) => Some(Term::Integer(*number)),
            Value::Text(text) => Some(Term::Text(text.clone())),
            Value::Number(_) => None,
        }
    }
}

impl KernelSettings {
    pub fn entry(&self) -> &str {
        self.entry.as_deref().unwrap_or(&self.name)
    }

    /// The combinations of constants that the condition allows at a shape, the one of defaults first.
    pub fn configurations(&self, shape: &Names) -> Result<Vec<Names>, String> {
        let mut all = vec![Names::new()];
        for (name, values) in &self.constants {
            let with = |before: &Names, value: &i64| {
                let mut names = before.clone();
                names.insert(name.clone(), *value);
                names
            };
            all = all.iter().flat_map(|before| values.iter().map(move |value| with(before, value))).collect();
        }
        let Some(condition) = &self.condition else { return Ok(all) };
        let mut allowed = Vec::new();
        for constants in all {
            let names = shape.iter().chain(&constants).map(|(name, value)| (name.clone(), *value)).collect();
            if condition.value(&names).map_err(|error| format!("`where`: {error}"))? != 0 {
                allowed.push(constants);
            }
        }
        if allowed.is_empty() { Err("`where` leaves no combination of constants".to_owned()) } else { Ok(allowed) }
    }

    /// The constants that nothing but the source can use: no expression names them.
    pub fn constants_of_source(&self) -> Vec<&str> {
        let expressions = self.expressions().into_iter().filter(|(keys, _)| *keys != ["where"]);
        let expressions: Vec<Expression> = expressions.filter_map(|(_, term)| term.expression().ok()).collect();
        let is_used = |name: &str| expressions.iter().any(|one| one.uses(name));
        self.constants.keys().map(String::as_str).filter(|name| !is_used(name)).collect()
    }

    /// What is wrong with it that shows without the files.
    pub fn fault(&self) -> Option<KernelFault> {
        self.general_fault()
            .or_else(|| self.shape_fault())
            .or_else(|| self.arguments.iter().enumerate().find_map(|(place, one)| self.argument_fault(place, one)))
            .or_else(|| self.expression_fault())
            .or_else(|| self.reference_fault())
    }

    fn general_fault(&self) -> Option<KernelFault> {
        let is_image = is_image(&self.file);
        let entries = self.entry.iter().map(|entry| ("entry", entry));
        let bad_entry = entries.clone().find(|(_, entry)| !is_identifier(entry));
        if let Some((key, entry)) = bad_entry {
            return fault(&[key], format!("`{}` is not the name of a function", entry.escape_debug()));
        }
        let of_reference = match &self.reference {
            Reference::Kernel(kernel) => kernel.file.as_deref(),
            _ => None,
        };
        let files = [("file", Some(self.file.as_str())), ("reference", of_reference)];
        if let Some((key, Some(file))) = files.into_iter().find(|(_, file)| file.is_some_and(is_outside)) {
            let why = "must be a path from the root of the project, without `..`, so that commits can be compared";
            return fault(&[key], format!("`{}` {why}", file.escape_debug()));
        }
        if !is_image && !self.file.ends_with(".cu") {
            return fault(&["file"], "the file must end with `.cu`, `.ptx`, `.cubin` or `.fatbin`");
        }
        if is_image && !(self.constants.is_empty() && self.include.is_empty() && self.options.is_empty()) {
            let text = "is compiled already, so `constants`, `include` and `options` have no effect";
            return fault(&["file"], format!("`{}` {text}", self.file));
        }
        if let Some(place) = self.options.iter().position(|one| one.starts_with("-arch") || one.contains("gpu-arch")) {
            return fault(&["options", &place.to_string()], "the architecture is that of the device");
        }
        let paths = ["-I", "-include", "--include-path", "--pre-include"];
        if let Some(place) = self.options.iter().position(|one| paths.iter().any(|path| one.starts_with(path))) {
            return fault(&["options", &place.to_string()], "name folders of headers in `include`");
        }
        let tolerance = self.tolerance.filter(|one| !(one.is_finite() && *one >= 0.0));
        tolerance.and_then(|one| fault(&["tolerance"], format!("{one} is not a tolerance; it must be zero or more")))
    }

    fn shape_fault(&self) -> Option<KernelFault> {
        if self.shapes.is_empty() {
            return fault(&["name"], "there is no shape to time; give one, as in `shapes = [{ n = 1000000 }]`");
        }
        for (key, shapes) in [("shapes", &self.shapes), ("check_shapes", &self.check_shapes)] {
            for (place, shape) in shapes.iter().enumerate() {
                let here = [key, &place.to_string()];
                if !shape.keys().eq(self.shapes[0].keys()) {
                    return fault(&here, "all shapes must have the same names");
                }
                if shapes[..place].contains(shape) {
                    return fault(&here, "the shape is listed twice");
                }
            }
        }
        for name in self.shapes[0].keys().chain(self.constants.keys()) {
            let is_twice = self.shapes[0].contains_key(name) && self.constants.contains_key(name);
            if !is_identifier(name) || name == TRACK || is_twice {
                let key = if self.constants.contains_key(name) { "constants" } else { "shapes" };
                let why = if is_twice { "is also the name of a constant" } else { "cannot be a name here" };
                return fault(&[key, name], format!("`{}` {why}", name.escape_debug()));
            }
        }
        for (name, values) in &self.constants {
            if values.is_empty() || values.iter().collect::<BTreeSet<_>>().len() < values.len() {
                return fault(&["constants", name], "it needs at least one value, and none twice");
            }
        }
        let combinations = self.constants.values().map(Vec::len).fold(1, usize::saturating_mul);
        let text = format!("{combinations} combinations of constants, at most {MOST_CONFIGURATIONS} are allowed");
        fault(&["constants"], text).filter(|_| combinations > MOST_CONFIGURATIONS)
    }

    fn argument_fault(&self, place: usize, argument: &ArgumentSettings) -> Option<KernelFault> {
        let place_text = place.to_string();
        let at = |key: &str, text: String| fault(&["arguments", &place_text, key], text);
        let ArgumentSettings { name, element, value, shape, role, fill, low, high } = argument;
        if !is_identifier(name) || self.arguments[..place].iter().any(|other| other.name == *name) {
            return at("name", format!("`{}` is not a name, or is there twice", name.escape_debug()));
        }
        let is_buffer = match (value, shape) {
            (Some(_), None) => false,
            (None, Some(_)) => true,
            _ => return at("name", format!("`{name}` needs either a `shape`, if it is a buffer, or a `value`")),
        };
        let is_integer = element.is_integer();
        if !is_buffer && (fill.is_some() || *role != BufferRole::Input) {
            return at("name", format!("`{name}` is a number, which has no `fill` and no `role`"));
        }
        let numbers = [("value", value), ("fill", fill), ("low", low), ("high", high)];
        let is_bad = |one: &Option<Value>| matches!(one, Some(Value::Number(number)) if !number.is_finite());
        if let Some((key, _)) = numbers.into_iter().find(|(_, one)| is_bad(one)) {
            return at(key, format!("`{name}` must be finite"));
        }
        if is_integer && matches!(value, Some(Value::Number(_))) {
            return at("value", format!("`{name}` is an integer, its value is not"));
        }
        if matches!(role, BufferRole::Output | BufferRole::Scratch) && fill.is_some() {
            return at("fill", format!("`{name}` is written by the kernel, so `fill` has no effect"));
        }
        let text = match fill {
            Some(Value::Text(text)) => Some(text.as_str()),
            Some(Value::Number(_)) if is_integer => {
                return at("fill", format!("`{name}` holds integers, so `fill` must be one"));
            }
            _ => None,
        };
        if let Some(text) = text.filter(|text| !FILLS.contains(text) && !text.ends_with(".npy")) {
            let all = FILLS.join("`, `");
            let why = format!("is not a known `fill`; use `{all}`, a number or a `.npy` file");
            return at("fill", format!("`{}` {why}", text.escape_debug()));
        }
        if text == Some("normal") && is_integer {
            return at("fill", format!("`{name}` holds integers, which are not drawn from `normal`; take `uniform`"));
        }
        if text == Some("uniform") && is_integer && high.is_none() {
            let why = "holds integers, so `uniform` needs the bound `high`, which is exclusive";
            return at("fill", format!("`{name}` {why}"));
        }
        let bounds = [("low", low), ("high", high)];
        if let Some((key, _)) = bounds.iter().find(|(_, bound)| bound.is_some() && text != Some("uniform")) {
            return at(key, "it applies to `fill = \"uniform\"` only".to_owned());
        }
        let is_fraction = |bound: &Option<Value>| matches!(bound, Some(Value::Number(_)));
        let bad = bounds.iter().find(|(_, bound)| is_integer && is_fraction(bound));
        bad.and_then(|(key, _)| at(key, format!("`{name}` holds integers, so the bound must be one")))
    }

    /// Every expression, with its keys.
    fn expressions(&self) -> Vec<(Vec<String>, Term)> {
        let mut all = Vec::new();
        let mut add = |keys: &[&str], term: Option<Term>| {
            all.extend(term.map(|term| (keys.iter().map(|key| (*key).to_owned()).collect(), term)));
        };
        let lists = [("grid", &self.grid), ("block", &self.block)];
        for (key, terms) in lists {
            terms.list().into_iter().for_each(|term| add(&[key], Some(term.clone())));
        }
        let singles =
            [("shared", &self.shared), ("where", &self.condition), ("bytes", &self.bytes), ("flops", &self.flops)];
        for (key, term) in singles {
            add(&[key], term.clone());
        }
        for (place, argument) in self.arguments.iter().enumerate() {
            let place = place.to_string();
            let sizes = argument.shape.iter().flat_map(GridTerms::list).cloned();
            sizes.for_each(|term| add(&["arguments", &place, "shape"], Some(term)));
            for (key, value) in [("value", &argument.value), ("low", &argument.low), ("high", &argument.high)] {
                add(&["arguments", &place, key], value.as_ref().and_then(Value::term));
            }
        }
        if let Reference::Kernel(kernel) = &self.reference {
            for terms in kernel.grid.iter().chain(&kernel.block) {
                terms.list().into_iter().for_each(|term| add(&["reference"], Some(term.clone())));
            }
            add(&["reference"], kernel.shared.clone());
        }
        all
    }

    fn expression_fault(&self) -> Option<KernelFault> {
        let mut sizes = vec![("grid", &self.grid), ("block", &self.block)];
        if let Reference::Kernel(kernel) = &self.reference {
            sizes.extend(kernel.grid.iter().chain(&kernel.block).map(|terms| ("reference", terms)));
        }
        if let Some((key, _)) = sizes.iter().find(|(_, terms)| !(1..=3).contains(&terms.list().len())) {
            return fault(&[key], "give one to three sizes, for x, y and z");
        }
        let names: Vec<&str> = self.shapes[0].keys().chain(self.constants.keys()).map(String::as_str).collect();
        self.expressions().into_iter().find_map(|(keys, term)| {
            let error = term.expression().map_or_else(Some, |one| one.unknown_name(&names))?;
            Some((keys, error.pointed()))
        })
    }

    fn reference_fault(&self) -> Option<KernelFault> {
        let results: Vec<&str> =
            self.arguments.iter().filter(|one| one.role.is_result()).map(|one| one.name.as_str()).collect();
        if results.is_empty() {
            let text = "no argument is a result; give one `role = \"output\"` or `role = \"update\"`";
            return fault(&["arguments"], text);
        }
        match &self.reference {
            Reference::Command(one) if one.command.first().is_none_or(|program| program.trim().is_empty()) => {
                fault(&["reference"], "`command` names no program")
            }
            Reference::Command(one) => {
                variables::fault(&one.pass_env).and_then(|text| fault(&["reference"], format!("`pass_env{text}")))
            }
            Reference::Kernel(kernel) if !is_identifier(&kernel.entry) => {
                fault(&["reference"], format!("`{}` is not the name of a function", kernel.entry.escape_debug()))
            }
            Reference::Kernel(kernel)
                if kernel.entry == self.entry()
                    && kernel.file.as_ref().is_none_or(|file| is_same(file, &self.file)) =>
            {
                fault(&["reference"], "the kernel would be compared with itself")
            }
            Reference::Files(files) if !files.files.keys().eq(results.iter().collect::<BTreeSet<_>>()) => {
                fault(&["reference"], format!("`files` must name a `.npy` file for each of `{}`", results.join("`, `")))
            }
            _ => None,
        }
    }
}

/// Whether two paths in the project name one file.
fn is_same(a: &str, b: &str) -> bool {
    let parts = |path| Path::new(path).components().filter(|part| *part != Component::CurDir).collect::<Vec<_>>();
    parts(a) == parts(b)
}

fn is_outside(path: &str) -> bool {
    Path::new(path).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The words of `fill`.
const FILLS: [&str; 4] = ["normal", "uniform", "iota", "zeros"];

pub fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn fault(keys: &[&str], text: impl Into<String>) -> Option<KernelFault> {
    Some((keys.iter().map(|key| (*key).to_owned()).collect(), text.into()))
}

/// What runs, as worker processes receive it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomScope {
    pub root: PathBuf,
    pub kernels: Vec<KernelSettings>,
    /// For compiled kernels.
    pub compiled: Option<PathBuf>,
}

//! What a suite of TensorRT is to time: the settings of `sprag.toml`, and options of the command line over them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Advice;
use super::project::{Project, check_writable};
use crate::cli::RunArgs;
use crate::config::{Suite, SuiteKind};
use sprag_measure::tensorrt::measurements::benchmark;
use sprag_measure::tensorrt::sweep::{NumberedCase, Settings};
use sprag_model::shape_case::ShapeCase;

/// The variable that names a library with plugins, as the seed knows it.
const PLUGIN_VARIABLE: &str = "APEXX_TRT_PLUGIN_LIB";

/// The seed of a sweep that is given none.
const DEFAULT_SEED: u64 = 123;

/// The library with plugins that the environment names, and how it does, where that file is there. A relative path
/// counts from `folder`, where the user is.
pub(super) fn plugin_of_environment(folder: &Path) -> Option<(PathBuf, String)> {
    let text = std::env::var_os(PLUGIN_VARIABLE).filter(|text| !text.is_empty())?;
    let path = folder.join(&text);
    path.is_file().then(|| (path, text.to_string_lossy().into_owned()))
}

/// Options of the command line; paths count from where the user is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TrtOptions {
    /// The engine, and how the user wrote it.
    engine: Option<(PathBuf, String)>,
    plugin: Option<PathBuf>,
    /// That of the environment, for where neither an option nor a setting names one.
    usual_plugin: Option<PathBuf>,
    trtexec: Option<PathBuf>,
    shape_cases: Vec<String>,
    warmup: Option<u32>,
    iterations: Option<u32>,
    seed: Option<u64>,
    /// Where the times of layers go.
    pub(super) profile: Option<PathBuf>,
}

/// What one suite is to time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TrtPlan {
    pub(super) engine: PathBuf,
    /// The engine as the user wrote it.
    pub(super) engine_text: String,
    pub(super) plugin: Option<PathBuf>,
    pub(super) trtexec: Option<PathBuf>,
    /// The cases as the user wrote them.
    pub(super) shape_cases: Vec<String>,
    pub(super) cases: Vec<NumberedCase>,
    pub(super) settings: Settings,
    pub(super) seed: u64,
}

impl TrtOptions {
    /// Those of a command that has none of these options.
    pub(super) fn none(folder: &Path) -> TrtOptions {
        let usual_plugin = plugin_of_environment(folder).map(|(path, _)| path);
        TrtOptions { usual_plugin, ..TrtOptions::default() }
    }

    /// Reads the options of `run`, and checks with them each suite of TensorRT that was asked for.
    ///
    /// # Errors
    /// Options where no such suite, or more than one, would run; an engine that nobody names; a shape case that cannot
    /// be; a folder for the times of layers that cannot be written to.
    pub(super) fn of(
        folder: &Path,
        args: &RunArgs,
        project: &Project,
        asked: &[(&str, &Suite)],
    ) -> anyhow::Result<TrtOptions> {
        let (report, trt) = (&args.report, &args.trt);
        let none = TrtOptions::none(folder);
        let options = TrtOptions {
            engine: report.trt_engine_path.as_ref().map(|path| (folder.join(path), path.display().to_string())),
            plugin: report.trt_plugin_lib.as_ref().map(|path| folder.join(path)),
            trtexec: trt.trtexec.as_ref().map(|path| folder.join(path)),
            shape_cases: trt.shape_cases.clone(),
            warmup: report.warmup,
            iterations: report.iters,
            seed: report.seed,
            profile: trt.trt_profile.as_ref().map(|path| folder.join(path)),
            usual_plugin: none.usual_plugin.clone(),
        };
        let suites = asked.iter().filter(|(_, suite)| suite.kind == SuiteKind::Trt).count();
        // The others are those of a GPU suite, too.
        let is_own = trt.trtexec.is_some() || !trt.shape_cases.is_empty() || trt.trt_profile.is_some();
        let message = match suites {
            0 if is_own => Some("these options are for a suite of TensorRT, and none would run".to_owned()),
            2.. if options != none => {
                Some(format!("these options are for one suite of TensorRT, and {suites} would run"))
            }
            _ => None,
        };
        if let Some(message) = message {
            return Err(Advice { message, hint: "name the suite, as with `--suite trt`".to_owned() }.into());
        }
        options.check(project, asked)?;
        if let Some(profile) = &options.profile {
            check_writable(&profile.join("layers.json"))?;
        }
        Ok(options)
    }

    /// Tells before anything is measured what would end it later.
    ///
    /// # Errors
    /// The first suite of TensorRT whose plan cannot be.
    pub(super) fn check(&self, project: &Project, asked: &[(&str, &Suite)]) -> Result<(), Advice> {
        let suites = asked.iter().filter(|(_, suite)| suite.kind == SuiteKind::Trt);
        suites.into_iter().try_for_each(|(name, suite)| self.plan(project, name, suite).map(drop))
    }

    /// What a suite is to time.
    ///
    /// # Errors
    /// As [`TrtOptions::of`].
    pub(super) fn plan(&self, project: &Project, name: &str, suite: &Suite) -> Result<TrtPlan, Advice> {
        let in_project = |path: &Option<PathBuf>| path.as_ref().map(|path| project.root.join(path));
        let configured = || Some((in_project(&suite.engine)?, suite.engine.as_ref()?.display().to_string()));
        let Some((engine, engine_text)) = self.engine.clone().or_else(configured) else {
            return Err(Advice {
                message: format!("the suite `{name}` is told of no engine"),
                hint: "name the file that TensorRT has built: `--trt-engine-path model.plan`".to_owned(),
            });
        };
        let is_option = !self.shape_cases.is_empty();
        let shape_cases = if is_option { self.shape_cases.clone() } else { suite.shape_cases.clone() };
        let place =
            if is_option { "`--shape-case`".to_owned() } else { format!("`suites.{name}.shape_cases` in sprag.toml") };
        Ok(TrtPlan {
            engine,
            engine_text,
            plugin: self.plugin.clone().or_else(|| in_project(&suite.plugin_lib)).or_else(|| self.usual_plugin.clone()),
            trtexec: self.trtexec.clone().or_else(|| in_project(&suite.trtexec)),
            cases: numbered(&place, &shape_cases)?,
            shape_cases,
            settings: Settings {
                warmup_milliseconds: suite.warmup_milliseconds(),
                skipped_calls: self.warmup.unwrap_or(0),
                iterations: self.iterations.unwrap_or_else(|| suite.iterations()),
                // Who asks for a number of calls asks for no more.
                duration_seconds: if self.iterations.is_some() { 0 } else { suite.duration_seconds() },
            },
            seed: self.seed.unwrap_or(DEFAULT_SEED),
        })
    }
}

/// The cases of a sweep: first the one that gives no shapes, then those of the texts.
fn numbered(place: &str, texts: &[String]) -> Result<Vec<NumberedCase>, Advice> {
    let hint = || "write it as `name=dims` pieces, such as `image=1x3x128x128;centers=1024x2`".to_owned();
    let mut cases = vec![NumberedCase { number: 0, shapes: ShapeCase::default() }];
    // Each is a series of its own, so no two may be called the same.
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    for (place_of_text, text) in texts.iter().enumerate() {
        let number = place_of_text + 1;
        let shown = text.escape_debug();
        let fault = |why: String| Advice { message: format!("{place} `{shown}`: {why}"), hint: hint() };
        let shapes = ShapeCase::parse(text).map_err(|error| fault(error.to_string()))?;
        let twice = shapes
            .shapes
            .iter()
            .enumerate()
            .find(|(at, one)| shapes.shapes[..*at].iter().any(|earlier| earlier.name == one.name));
        if let Some((_, shape)) = twice {
            return Err(fault(format!("the shape of `{}` is given twice", shape.name.escape_debug())));
        }
        if let Some(earlier) = ids.insert(benchmark("trt", &shapes).id(), number) {
            return Err(fault(format!("it is the same as the shape case number {earlier}")));
        }
        cases.push(NumberedCase { number, shapes });
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(texts: &[&str]) -> Result<Vec<String>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let cases = numbered("`--shape-case`", &texts).map_err(|advice| advice.message)?;
        Ok(cases.iter().map(NumberedCase::label).collect())
    }

    #[test]
    fn the_first_case_gives_no_shapes() {
        assert_eq!(labels(&[]), Ok(vec!["default".to_owned()]));
        let expected = ["default", "case_001_1_3", "case_002_2"].map(str::to_owned).to_vec();
        assert_eq!(labels(&["a=1x3;b=4", "a=2"]), Ok(expected));
    }

    #[test]
    fn a_case_that_cannot_be_is_named() {
        let check = |texts: &[&str], words: &str| {
            let error = labels(texts).expect_err("it cannot be");
            assert!(error.contains(words), "{error}");
        };
        check(&["a=1", "a=1;image:2"], "`--shape-case` `a=1;image:2`: the shape `image:2` has no `=`");
        check(&["a=1;a=2"], "the shape of `a` is given twice");
        check(&["a=1;b=2", "b=2;a=1"], "the same as the shape case number 1");
    }
}

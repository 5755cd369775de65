//! What a suite of TensorRT is to time: the settings of `sprag.toml`, and options of the command line over them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{Suite, SuiteKind};
use crate::project::Project;
use crate::{Advice, refuse};
use sprag_base::files::check_writable;
use sprag_measure::suite::TrtSuite;
use sprag_measure::tensorrt::plugin_of_environment;
use sprag_measure::tensorrt::sweep::{self, TimingSettings};

/// The seed of a sweep that is given none.
const DEFAULT_SEED: u64 = 123;

/// Options of the command line; paths count from where the user is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrtOptions {
    pub engine: Option<(PathBuf, String)>,
    pub plugin: Option<PathBuf>,
    /// That of the environment, for where neither an option nor a setting names one.
    pub usual_plugin: Option<PathBuf>,
    pub trtexec: Option<PathBuf>,
    pub shape_cases: Vec<String>,
    pub warmup: Option<u32>,
    pub iterations: Option<u32>,
    pub seed: Option<u64>,
    pub profile: Option<PathBuf>,
}

impl TrtOptions {
    /// Those of a command that has none of these options.
    pub fn none(folder: &Path) -> TrtOptions {
        let usual_plugin = plugin_of_environment(folder).map(|(path, _)| path);
        TrtOptions { usual_plugin, ..TrtOptions::default() }
    }

    /// Refuses options where no suite of TensorRT, or more than one, would run, and checks each such suite.
    pub fn check_given(&self, project: &Project, asked: &[(&str, &Suite)]) -> crate::Result<()> {
        let suites = asked.iter().filter(|(_, suite)| suite.kind == SuiteKind::Trt).count();
        // The others are those of a GPU suite, too.
        let is_own = self.trtexec.is_some() || !self.shape_cases.is_empty() || self.profile.is_some();
        let none = TrtOptions { usual_plugin: self.usual_plugin.clone(), ..TrtOptions::default() };
        let message = match suites {
            0 if is_own => Some("these options are for a suite of TensorRT, and none would run".to_owned()),
            2.. if *self != none => {
                Some(format!("these options are for one suite of TensorRT, and {suites} would run"))
            }
            _ => None,
        };
        if let Some(message) = message {
            return refuse(message, "name the suite, as with `--suite trt`");
        }
        self.check(project, asked)?;
        if let Some(profile) = &self.profile {
            check_writable(&profile.join("layers.json"))?;
        }
        Ok(())
    }

    /// Tells before anything is measured what would end it later.
    pub fn check(&self, project: &Project, asked: &[(&str, &Suite)]) -> Result<(), Advice> {
        let suites = asked.iter().filter(|(_, suite)| suite.kind == SuiteKind::Trt);
        suites.into_iter().try_for_each(|(name, suite)| self.plan(project, name, suite).map(drop))
    }

    pub fn plan(&self, project: &Project, name: &str, suite: &Suite) -> Result<TrtSuite, Advice> {
        let in_project = |path: &Option<PathBuf>| path.as_ref().map(|path| project.root.join(path));
        let configured = || Some((in_project(&suite.engine)?, suite.engine.as_ref()?.display().to_string()));
        let Some((engine, engine_text)) = self.engine.clone().or_else(configured) else {
            return refuse(
                format!("the suite `{name}` has no engine configured"),
                "name the file that TensorRT has built: `--trt-engine-path model.plan`",
            );
        };
        let is_option = !self.shape_cases.is_empty();
        let shape_cases = if is_option { self.shape_cases.clone() } else { suite.shape_cases.clone() };
        let place =
            if is_option { "`--shape-case`".to_owned() } else { format!("`suites.{name}.shape_cases` in sprag.toml") };
        Ok(TrtSuite {
            engine,
            engine_text,
            plugin: self.plugin.clone().or_else(|| in_project(&suite.plugin_lib)).or_else(|| self.usual_plugin.clone()),
            trtexec: self.trtexec.clone().or_else(|| in_project(&suite.trtexec)),
            cases: sweep::number_cases(&shape_cases).map_err(|fault| {
                Advice::new(
                    format!("{place} {fault}"),
                    "write it as `name=dims` pieces, such as `image=1x3x128x128;centers=1024x2`",
                )
            })?,
            shape_cases,
            settings: TimingSettings {
                warmup_milliseconds: suite.warmup_milliseconds(),
                skipped_calls: self.warmup.unwrap_or(0),
                iterations: self.iterations.unwrap_or_else(|| suite.iterations()),
                // Who asks for a number of calls asks for no more.
                duration_seconds: if self.iterations.is_some() { 0 } else { suite.duration_seconds() },
            },
            seed: self.seed.unwrap_or(DEFAULT_SEED),
            time_out: Duration::from_secs(suite.timeout_seconds()),
            layers_folder: self.profile.clone(),
        })
    }
}

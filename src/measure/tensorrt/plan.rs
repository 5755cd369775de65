//! What a sweep times: an engine, its cases, and what each is called.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::arguments::TimingSettings;
use super::reason::{Reason, ReasonCode};
use crate::plan::Protocol;
use crate::process::WorkerCommand;
use sprag_model::benchmark::Benchmark;
use sprag_model::foreign::recordable;
use sprag_model::shape_case::ShapeCase;

/// What all cases of an engine are called; their shapes tell them apart.
const NAME: &str = "engine";

const VARIANT: &str = "tensorrt";

const DEFAULT: (&str, &str) = ("case", "default");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedCase {
    /// From 0, which is the case that gives no shapes.
    pub number: usize,
    pub shapes: ShapeCase,
}

impl NumberedCase {
    pub fn label(&self) -> String {
        self.shapes.label(self.number)
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {why}", .text.escape_debug())]
pub struct ShapeCaseFault {
    pub text: String,
    pub why: String,
}

/// The cases of a sweep: first the one that gives no shapes, then those of the texts.
pub fn number_cases(texts: &[String]) -> Result<Vec<NumberedCase>, ShapeCaseFault> {
    let mut cases = vec![NumberedCase { number: 0, shapes: ShapeCase::default() }];
    // Each is a series of its own, so no two may be called the same.
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    for (number, text) in (1..).zip(texts) {
        let fault = |why: String| ShapeCaseFault { text: text.clone(), why };
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

#[derive(Clone, Debug)]
pub struct Sweep {
    pub suite: String,
    pub trtexec: PathBuf,
    pub engine: PathBuf,
    pub plugin: Option<PathBuf>,
    pub cases: Vec<NumberedCase>,
    pub settings: TimingSettings,
    pub time_out: Duration,
    pub protocol: Protocol,
    /// How to start a guard, which ends `trtexec` where this process dies.
    pub guard: Option<WorkerCommand>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    pub case: NumberedCase,
    /// How many images a call takes: the first size of the first shape, else of the first input that `trtexec` tells
    /// the dimensions of; absent where neither does.
    pub batch: Option<u64>,
    /// The seconds of the calls of each process; or why there are none.
    pub outcome: Result<Vec<Vec<f64>>, Reason>,
}

impl CaseResult {
    /// Why the case is left out of the record: nobody gave shapes for it, and the engine does not take those of 1 that
    /// `trtexec` sets instead. That is no failure of what was asked for.
    pub fn left_out(&self) -> Option<&Reason> {
        let reason = self.outcome.as_ref().err()?;
        (self.case.shapes.shapes.is_empty() && reason.code == ReasonCode::ShapeOutsideProfile).then_some(reason)
    }
}

/// The identity of a case: its shapes, wherever it stands among others.
pub fn benchmark(suite: &str, case: &ShapeCase) -> Benchmark {
    let mut params: BTreeMap<String, String> = BTreeMap::new();
    for shape in &case.shapes {
        // Names are the engine's, and may hold what no parameter may.
        params.insert(recordable(&shape.name), recordable(&shape.sizes_text()));
    }
    if params.is_empty() {
        params.insert(DEFAULT.0.to_owned(), DEFAULT.1.to_owned());
    }
    Benchmark { suite: suite.to_owned(), name: NAME.to_owned(), params, variant: VARIANT.to_owned(), version: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(texts: &[&str]) -> Result<Vec<String>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let cases = number_cases(&texts).map_err(|fault| fault.to_string())?;
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
        check(&["a=1", "a=1;image:2"], "`a=1;image:2`: the shape `image:2` has no `=`");
        check(&["a=1;a=2"], "the shape of `a` is given twice");
        check(&["a=1;b=2", "b=2;a=1"], "the same as the shape case number 1");
    }
}

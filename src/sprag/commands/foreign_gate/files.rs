//! The two files of a check, known by what they hold.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::cli::CheckArgs;
use crate::commands::Advice;
use sprag_base::files::read_bounded;
use sprag_formats::compat::{trueno, tt_metal};
use sprag_formats::criterion;
use sprag_model::foreign::Output;

/// The most bytes of a file: a hundred times the largest that is known.
const MOST_BYTES: usize = 16 << 20;

/// What both files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What a bench of Criterion prints, with or without the head of Trueno.
    Text,
    /// Ground truth of tt-metal.
    GroundTruth,
}

impl Kind {
    fn of(output: &Output) -> Option<Kind> {
        let outputs = std::slice::from_ref(output);
        if tt_metal::import::recognises(outputs) {
            Some(Kind::GroundTruth)
        } else if trueno::import::recognises(outputs) || criterion::text::recognises(outputs) {
            Some(Kind::Text)
        } else {
            None
        }
    }

    /// What it is, with its article.
    pub(super) fn words(self) -> &'static str {
        match self {
            Kind::Text => "a text of Criterion",
            Kind::GroundTruth => "a ground truth of tt-metal",
        }
    }

    /// What reports call the suite of such a file.
    pub(super) fn suite(self) -> &'static str {
        match self {
            Kind::Text => "criterion",
            Kind::GroundTruth => "tt-metal",
        }
    }

    /// Whether a file could be of the kind for all that its first character tells.
    fn may_be(self, output: &Output) -> bool {
        let is_json = output.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        is_json == (self == Kind::GroundTruth) || output.bytes.is_empty()
    }
}

/// Two files of one kind, each called what the user calls it.
pub(super) struct Pair {
    pub(super) kind: Kind,
    pub(super) baseline: Output,
    pub(super) current: Output,
}

/// The pair of two files of one kind; `None` where they are not that.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn pair_of(folder: &Path, base: &str, other: &str) -> anyhow::Result<Option<Pair>> {
    let [base, other] = [base, other].map(Path::new);
    if [base, other].iter().any(|path| !folder.join(path).is_file()) {
        return Ok(None);
    }
    let [baseline, current] = [read(folder, base)?, read(folder, other)?];
    let kind = Kind::of(&baseline).filter(|kind| Kind::of(&current) == Some(*kind));
    Ok(kind.map(|kind| Pair { kind, baseline, current }))
}

/// Fails where both are one file, whose numbers would hold against themselves.
///
/// # Errors
/// That.
pub(super) fn refuse_itself(folder: &Path, pair: &Pair) -> Result<(), Advice> {
    let real = |output: &Output| fs::canonicalize(folder.join(&output.name)).ok();
    if real(&pair.baseline).is_some_and(|base| real(&pair.current) == Some(base)) {
        let message = format!("`{}` is held against itself", pair.current.name);
        return Err(Advice { message, hint: "name the file of another run".to_owned() });
    }
    Ok(())
}

fn read(folder: &Path, path: &Path) -> anyhow::Result<Output> {
    let name = path.display().to_string();
    let bytes = read_bounded(&folder.join(path), MOST_BYTES).with_context(|| format!("cannot read `{name}`"))?;
    Ok(Output { name, bytes })
}

/// The pair that `--run` and `--baseline` name; `None` where neither file is of a kind.
///
/// # Errors
/// When only one of them is, or they are of two kinds.
pub(super) fn pair(folder: &Path, args: &CheckArgs) -> anyhow::Result<Option<Pair>> {
    // One that cannot be read may be of none of the kinds, and is told of by its other reader then.
    let seen = [&args.run, &args.baseline].map(|path| path.as_deref().map(|path| read(folder, path)));
    let kinds = [&seen[0], &seen[1]].map(|file| file.as_ref()?.as_ref().ok().and_then(Kind::of));
    let kind = match kinds {
        [None, None] => return Ok(None),
        [Some(kind), None] | [None, Some(kind)] => kind,
        [Some(kind), Some(other)] if kind == other => kind,
        [Some(current), Some(baseline)] => {
            let [run, base] = names(args);
            let message = format!("`{run}` is {}, and `{base}` is {}", current.words(), baseline.words());
            return Err(Advice { message, hint: hint(current) }.into());
        }
    };
    if args.summary.is_some() || args.trend_output.is_some() {
        let message =
            format!("`--summary` and `--trend-output` are of a report of Apex-X, and here is {}", kind.words());
        return Err(Advice { message, hint: "leave them out".to_owned() }.into());
    }
    if !args.suites.is_empty() {
        let message =
            format!("`--suite` names suites of Sprag, and these files are not of it: there is {}", kind.words());
        return Err(Advice { message, hint: "leave it out".to_owned() }.into());
    }
    let [current, baseline] = match seen {
        [Some(current), Some(baseline)] => [current?, baseline?],
        [Some(_), None] | [None, _] => {
            let [run, base] = names(args);
            let (there, lacks) = if base.is_empty() { (run, "--baseline") } else { (base, "--run") };
            let message = format!("`{there}` is {}, and `{lacks}` names no other to go with it", kind.words());
            return Err(Advice { message, hint: hint(kind) }.into());
        }
    };
    if let Some(other) = [&current, &baseline].into_iter().find(|output| !kind.may_be(output)) {
        let message = format!("`{}` is not {}, as the other file is", other.name, kind.words());
        return Err(Advice { message, hint: hint(kind) }.into());
    }
    Ok(Some(Pair { kind, baseline, current }))
}

/// The two paths, as the user wrote them.
fn names(args: &CheckArgs) -> [String; 2] {
    [&args.run, &args.baseline].map(|path| path.as_ref().map_or(String::new(), |path| path.display().to_string()))
}

fn hint(kind: Kind) -> String {
    format!("give two files of one kind: `--run CURRENT --baseline BASELINE`, each {}", kind.words())
}

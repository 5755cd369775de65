//! Files that should be baselines of ours: read, or named for what they are.

use std::path::Path;

use crate::gate::apex_x;
use crate::run_file::baseline_hint;
use crate::{Advice, refuse, text};
use sprag_base::files::read_bounded;
use sprag_formats::registry;
use sprag_model::baseline::Baseline;
use sprag_model::foreign::Output;
use sprag_model::record::MAX_RECORD_BYTES;
use sprag_model::run::Run;

pub(super) fn read(path: &Path) -> Result<Baseline, Advice> {
    let shown = text::path(path);
    let bytes = read_bounded(path, MAX_RECORD_BYTES).map_err(|error| {
        Advice::new(
            format!("`{shown}` cannot be read: {error}"),
            "`sprag baseline list --archive` tells which files there are",
        )
    })?;
    Baseline::from_json(&bytes).map_err(|error| {
        let (message, hint) = match other(&bytes) {
            Some(Other { is, hint }) => (format!("`{shown}` is {is}, not a baseline of Sprag"), hint),
            None => (format!("`{shown}` {error}"), baseline_hint(&error).to_owned()),
        };
        Advice::new(message, hint)
    })
}

/// Likewise, of one of these suites; of any where none is named.
pub(super) fn read_of(path: &Path, shown: &str, suites: &[String]) -> Result<Baseline, Advice> {
    let baseline = read(path)?;
    if !suites.is_empty() && !suites.contains(&baseline.suite) {
        let message = format!("`{}` is of the suite `{}`", text::printable(shown), baseline.suite);
        return refuse(message, "leave out `--suite`: the file says which it is of");
    }
    Ok(baseline)
}

/// What a file of the project is that is no baseline of ours: `is a baseline of Apex-X, not one of Sprag`.
pub(super) fn fault(path: &Path) -> Option<(String, String)> {
    let Other { is, hint } = other(&read_bounded(path, MAX_RECORD_BYTES).ok()?)?;
    Some((format!("is {is}, not a baseline of Sprag"), hint))
}

struct Other {
    is: String,
    hint: String,
}

fn other(bytes: &[u8]) -> Option<Other> {
    let judged = |is: &str| Other {
        is: is.to_owned(),
        hint: "it is judged by as it is: `sprag check --run CURRENT --baseline FILE`, with a file of its own kind"
            .to_owned(),
    };
    if Run::from_json(bytes).is_ok() {
        return Some(Other {
            is: "the record of a run".to_owned(),
            hint: "take a baseline from it: `sprag baseline emit --run FILE --output BASELINE.json`".to_owned(),
        });
    }
    if apex_x::is_apex_x_baseline(bytes) {
        return Some(judged("a baseline of Apex-X"));
    }
    let output = Output { name: "file".to_owned(), bytes: bytes.to_vec() };
    let formats = registry::recognise(&[output]);
    // A baseline of Trueno has a head of its own, and what follows is a text of Criterion.
    let format = formats.iter().find(|one| one.name == "trueno").or(formats.first())?;
    Some(match format.name {
        "trueno" => judged("a baseline of Trueno"),
        "tt-metal" => judged("ground truth of tt-metal"),
        name => Other {
            is: format!("of the format `{name}`"),
            hint: "`sprag import FILE` makes records of it, of which a baseline can be taken".to_owned(),
        },
    })
}

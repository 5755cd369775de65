//! Which files a project gets, and what is in them.

use super::existing::{Existing, Values};
use super::render::{self, ACTION, ACTION_PATH, Facts, WORKFLOWS};
use crate::config::FILE_NAME;

const CONFIGURATION: &str = include_str!("../../../../templates/project/sprag.toml");
const BASELINES: &str = include_str!("../../../../templates/project/baselines/README.md");
const CHECKLIST: &str = include_str!("../../../../templates/project/release/checklist.toml");
const RELEASES: &str = include_str!("../../../../templates/project/release/releases.toml");
const LINTER: &str = include_str!("../../../../.github/actionlint.yaml");

/// Lines that keep what is made out of git.
pub(super) const IGNORED: [&str; 1] = ["/_site"];

/// A file to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Planned {
    /// Where, from the root of the project.
    pub(super) path: &'static str,
    pub(super) text: String,
    /// Whether `--force` may replace one that differs; else it is the project's own once it is there.
    pub(super) is_replaceable: bool,
    /// What in it is as the project has it already.
    pub(super) keeps: Vec<String>,
    /// What of the configuration no list in a workflow names: each with the list that gets it.
    pub(super) adds: Vec<String>,
}

/// The configuration of a project that has none.
pub(super) fn configuration(name: &str) -> Planned {
    let name = if name.trim().is_empty() { "this project" } else { name };
    // A text of JSON is a text of TOML, too, but for one character.
    let name = serde_json::Value::from(name).to_string().replace('\u{7f}', "\\u007f");
    Planned {
        path: FILE_NAME,
        text: CONFIGURATION.replace("{name}", &name),
        is_replaceable: false,
        ..Planned::default()
    }
}

/// All other files, with what the project has set in those that are there.
pub(super) fn files(facts: &Facts, kept: &Existing) -> Vec<Planned> {
    let planned = |path, text| Planned { path, text, is_replaceable: true, ..Planned::default() };
    let theirs = |path, text| Planned { path, text, ..Planned::default() };
    let mut all = vec![
        theirs("release/checklist.toml", checklist(facts)),
        theirs("release/releases.toml", RELEASES.to_owned()),
        planned("baselines/README.md", BASELINES.to_owned()),
        planned(".github/actionlint.yaml", LINTER.to_owned()),
        Planned { keeps: kept.pins.clone(), ..planned(ACTION_PATH, render::action(ACTION, facts)) },
    ];
    all.extend(WORKFLOWS.map(|(path, text)| {
        let Values { text, keeps, adds } = kept.values(path, &render::file(text, facts));
        Planned { keeps, adds, ..planned(path, text) }
    }));
    all
}

/// What must hold before a release goes: no suite of a runner without a device is slower, and no regression stands open.
fn checklist(facts: &Facts) -> String {
    let item = |suite: &String| {
        format!(
            "\n[[item]]\nid = \"suite-{suite}\"\ntitle = \"Nothing of the suite {suite} got slower\"\nrule = \"suite_verdict\"\n\
             suite = \"{suite}\"\nproducer = \"sprag weekly\"\n"
        )
    };
    CHECKLIST.replace("{items}\n", &facts.hosted.iter().map(item).collect::<String>())
}

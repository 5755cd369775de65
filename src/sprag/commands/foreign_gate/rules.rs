//! By which rule each benchmark of two files is judged: as the project or a policy says, where that rule can.

use std::path::{Path, PathBuf};

use super::files::Kind;
use crate::commands::project::Project;
use crate::commands::{Advice, policy, text};
use crate::config::{Config, FILE_NAME};
use sprag_base::stats::describe;
use sprag_model::rule::{Choice, Policy, Rule};

/// The rules of a project, or of a policy that is named, for files of one kind.
pub(super) struct FileRules {
    kind: Kind,
    /// The rule of the kind, with the parameters that are stated for it.
    pub(super) own: Rule,
    policy: Policy,
    /// The file that `--policy` names.
    file: Option<PathBuf>,
    project: Project,
}

impl FileRules {
    /// Reads them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn read(folder: &Path, file: Option<&Path>, kind: Kind) -> anyhow::Result<FileRules> {
        let project = Project::open(folder)?;
        let rules = match file {
            Some(path) => Config::load_rules(&folder.join(path))?,
            None => project.config.rules.clone(),
        };
        let own = match kind {
            Kind::Text => policy::bands(&rules),
            Kind::GroundTruth => policy::rank(&rules),
        };
        Ok(FileRules { kind, own, policy: policy::of(&rules), file: file.map(Path::to_owned), project })
    }

    /// The rule of the benchmark whose key this is. The rule `interval` as the default, which it is where nothing is said,
    /// stands for that of the kind.
    ///
    /// # Errors
    /// When the rule that is named for it cannot judge such a file.
    pub(super) fn of(&self, key: &str) -> Result<Rule, Advice> {
        let entry = self.policy.exceptions.iter().find(|one| key.contains(&one.part));
        let (name, why) = match entry.map_or(self.policy.default, |one| one.choice) {
            Choice::Learnt | Choice::Fixed(Rule::Interval { .. }) if entry.is_none() => return Ok(self.own),
            Choice::Learnt | Choice::Fixed(Rule::Interval { .. }) => {
                ("interval", "a file says nothing of sessions, nor of processes that took turns")
            }
            Choice::Fixed(Rule::Rank { .. }) if self.kind == Kind::Text => ("rank", "it holds no samples"),
            Choice::Fixed(rule) => return Ok(rule),
        };
        let shown = self.file.as_ref().map_or(FILE_NAME.to_owned(), |path| path.display().to_string());
        let by = match entry {
            Some(entry) => format!("the entry with `match = \"{}\"`", entry.part),
            None => "the default".to_owned(),
        };
        let message = format!(
            "{by} in `{shown}` has `{key}` judged by `{name}`, which cannot judge {}: {why}",
            self.kind.words()
        );
        let able = match self.kind {
            Kind::Text => "`bands` and `tolerance`",
            Kind::GroundTruth => "`rank`, `bands` and `tolerance`",
        };
        let hint = format!("{able} can: name one there, or in a file of its own for such files with `--policy`");
        Err(Advice { message: text::printable(&message), hint })
    }

    /// Tells of entries that fit no benchmark of what was judged.
    pub(super) fn tell_unfit(&self, judged: &[policy::Judged<'_>]) {
        policy::tell_unfit(&self.project, self.file.as_deref().map(|path| (path, &self.policy)), judged);
    }
}

/// The rules by which benchmarks are judged with their parameters, for a headline, that of most first.
pub(super) fn words<'r>(rules: impl Iterator<Item = &'r Rule>) -> String {
    let mut counted: Vec<(&Rule, usize)> = Vec::new();
    for rule in rules {
        match counted.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, count)) => *count += 1,
            None => counted.push((rule, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    match counted[..] {
        [(rule, _)] => words_of(rule),
        _ => {
            let one =
                |(rule, count): &(&Rule, usize)| format!("{} ({})", words_of(rule), text::count(*count, "benchmark"));
            counted.iter().map(one).collect::<Vec<String>>().join("; ")
        }
    }
}

fn words_of(rule: &Rule) -> String {
    let percent = |share: f64| format!("{} %", significant(share * 100.0));
    match rule {
        Rule::Bands { fail, warn } => {
            format!("bands: more than {} worse fails, more than {} is told of", percent(*fail), percent(*warn))
        }
        Rule::Rank { noise_threshold, significance, mad_multiplier } => format!(
            "rank: more than {} and {mad_multiplier} deviations worse fails at p < {significance}",
            percent(*noise_threshold)
        ),
        Rule::Tolerance { ratio, abs } if *abs > 0.0 => {
            format!("tolerance: more than {} and {abs} worse fails", percent(*ratio))
        }
        Rule::Tolerance { ratio, .. } => format!("tolerance: more than {} worse fails", percent(*ratio)),
        Rule::Interval { .. } => rule.name().to_owned(),
    }
}

/// A number without the digits that rounding made.
fn significant(number: f64) -> f64 {
    describe::round_significant(number, 6)
}

//! Advice on inconclusive verdicts against stored results: only what the reader can do.

use crate::project::Project;
use crate::text;
use sprag_analysis::rules::remedy::{Remedy, refit};
use sprag_measure::environment;
use sprag_model::gate::SuiteGate;
use sprag_model::run::Run;
use sprag_model::verdict::Verdict;

#[derive(Clone, Copy)]
struct Remedies {
    /// Which further runs would settle it; `None` for a file, or a run of uncommitted changes.
    runs: Option<&'static str>,
    turns: bool,
}

/// Adapts the advice in every inconclusive verdict, and sets whether both sides could take turns.
pub fn fit_advice(project: &Project, suite: &mut SuiteGate, run: &Run, is_file: bool) {
    suite.can_take_turns = can_be_built(project, run) && !run.is_imported();
    let reasons = suite.comparisons.iter_mut().filter_map(|one| match &mut one.verdict {
        Verdict::Inconclusive(reason) => Some(reason),
        _ => None,
    });
    let reasons: Vec<&mut String> = reasons.collect();
    if reasons.is_empty() {
        return;
    }
    let remedies = Remedies::new(project, run, suite.base_commit.is_some(), is_file);
    for reason in reasons {
        *reason = refit(reason, |remedy| remedies.words(remedy));
    }
}

fn can_be_built(project: &Project, run: &Run) -> bool {
    project.config.suites.get(&run.suite).is_some_and(|suite| suite.kind.can_be_built())
}

impl Remedies {
    fn new(project: &Project, run: &Run, has_base_commit: bool, is_file: bool) -> Remedies {
        let is_clean = run.commit.as_ref().is_some_and(|commit| !commit.dirty);
        let can_be_built = can_be_built(project, run);
        // Other suites may name the machine by its device, which is not probed here.
        let is_here =
            || !can_be_built || environment::machine(project.machine_name().as_deref(), None).id == run.machine.id;
        let is_recorded = is_clean && project.find_store().is_some();
        let runs = if is_file || !is_recorded {
            None
        } else if run.is_imported() {
            Some("of this commit, imported,")
        } else {
            Some(if is_here() { "of this commit," } else { "of this commit on its machine," })
        };
        let turns = is_recorded && has_base_commit && can_be_built && !run.is_imported() && is_here();
        Remedies { runs, turns }
    }

    /// `None` if it cannot be followed.
    fn words(self, remedy: Remedy) -> Option<String> {
        let words = remedy.words();
        match (remedy, self.runs) {
            (Remedy::Pairs(_), _) => Some(words),
            (Remedy::Runs(_), Some(runs)) => Some(words.replace("of this commit,", runs)),
            (Remedy::Runs(more), None) => {
                let sessions = text::count(more, "session");
                let words = format!("about {sessions} more would settle it, and this run is one");
                let turns = "; builds that take turns may, too: `sprag compare A B --measure`";
                Some(if self.turns { words + turns } else { words })
            }
            (Remedy::Turns | Remedy::TurnsAlone, _) if self.turns => Some(words),
            (Remedy::Turns, _) => Some("more runs are unlikely to settle it".to_owned()),
            (Remedy::TurnsAlone, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_fit_what_the_reader_can_do() {
        let check = |runs: Option<&'static str>, turns: bool, remedy: Remedy, expected: Option<&str>| {
            assert_eq!(Remedies { runs, turns }.words(remedy).as_deref(), expected, "{runs:?} {turns} {remedy:?}");
        };
        let three = Remedy::Runs(3);
        check(Some("of this commit,"), true, three, Some(&three.words()));
        let there = "about 3 more runs of this commit on its machine, in sessions of their own, would settle it";
        check(Some("of this commit on its machine,"), false, three, Some(there));
        let imported = "about 3 more runs of this commit, imported, in sessions of their own, would settle it";
        check(Some("of this commit, imported,"), false, three, Some(imported));
        let alone = "about 3 sessions more would settle it, and this run is one";
        check(None, false, three, Some(alone));
        let turns = format!("{alone}; builds that take turns may, too: `sprag compare A B --measure`");
        check(None, true, three, Some(&turns));
        check(Some("of this commit,"), true, Remedy::Turns, Some(&Remedy::Turns.words()));
        check(None, false, Remedy::Turns, Some("more runs are unlikely to settle it"));
        check(None, false, Remedy::TurnsAlone, None);
        check(Some("of this commit,"), true, Remedy::TurnsAlone, Some(&Remedy::TurnsAlone.words()));
    }
}

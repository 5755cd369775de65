//! Advice on inconclusive verdicts against stored results: only what the reader can do.

use crate::builds::commit_build;
use crate::project::Project;
use crate::text;
use sprag_analysis::rules::remedy::{CONFIRM, Remedy, TURNS, refit};
use sprag_measure::environment;
use sprag_model::run::BUSY;
use sprag_model::{Run, SuiteGate, Verdict};

struct Remedies {
    /// Which further runs would decide it; `None` for a file, or a run of uncommitted changes.
    runs: Option<&'static str>,
    /// The command that builds both sides and has them take turns.
    turns: Option<String>,
    /// The same for uncommitted changes, in words.
    after_commit: Option<String>,
}

/// Adapts the advice of inconclusive verdicts, says whether sides could take turns, and asks to confirm what a busy machine did.
pub fn fit_advice(project: &Project, suite: &mut SuiteGate, run: &Run, is_file: bool) {
    let regressed = suite.counts().regressed > 0;
    suite.can_take_turns = can_be_built(project, run) && !run.is_imported();
    let reasons = suite.comparisons.iter_mut().filter_map(|one| match &mut one.verdict {
        Verdict::Inconclusive(reason) => Some(reason),
        _ => None,
    });
    let reasons: Vec<&mut String> = reasons.collect();
    let busy = suite.quality.iter_mut().find(|reason| regressed && reason.starts_with(BUSY));
    if reasons.is_empty() && busy.is_none() {
        return;
    }
    let remedies = Remedies::new(project, run, suite.base_commit.as_deref(), is_file);
    if let (Some(reason), Some(turns)) = (busy, &remedies.turns) {
        reason.push_str(&format!("{CONFIRM}`{turns}`"));
    }
    for reason in reasons {
        *reason = refit(reason, |remedy| remedies.words(remedy));
    }
}

fn can_be_built(project: &Project, run: &Run) -> bool {
    project.config.suites.get(&run.suite).is_some_and(|suite| commit_build::can_be_built(project, suite))
}

impl Remedies {
    fn new(project: &Project, run: &Run, base: Option<&str>, is_file: bool) -> Remedies {
        let clean = run.commit.as_ref().filter(|commit| !commit.dirty);
        let can_be_built = can_be_built(project, run);
        // Other suites may name the machine by its device, which is not probed here.
        let is_here =
            || !can_be_built || environment::machine(project.machine_name().as_deref(), None).id == run.machine.id;
        let clean = clean.filter(|_| project.find_store().is_some());
        let runs = if is_file || clean.is_none() {
            None
        } else if run.is_imported() {
            Some("of this commit, imported,")
        } else {
            Some(if is_here() { "of this commit," } else { "of this commit on its machine," })
        };
        let sides = base
            .zip(clean)
            .filter(|(base, commit)| *base != commit.sha && can_be_built && !run.is_imported() && is_here());
        let suite = if project.config.suites.len() > 1 { format!(" --suite {}", run.suite) } else { String::new() };
        let command =
            |base: &str, other: &str| format!("sprag compare {} {other} --measure{suite}", text::short(base, 12));
        let is_dirty = run.commit.as_ref().is_some_and(|commit| commit.dirty);
        let dirty = base.filter(|_| is_dirty && can_be_built && is_here());
        let after = |base| format!("commit the changes, and let the builds take turns: `{}`", command(base, "HEAD"));
        let turns = sides.map(|(base, commit)| command(base, commit.short()));
        Remedies { runs, turns, after_commit: dirty.map(after) }
    }

    /// `None` if it cannot be followed.
    fn words(&self, remedy: Remedy) -> Option<String> {
        let words = remedy.words().replace(TURNS, self.turns.as_deref().unwrap_or(TURNS));
        match (remedy, self.runs) {
            (Remedy::Pairs(_), _) => Some(words),
            (Remedy::Runs(_), Some(runs)) => Some(words.replace("of this commit,", runs)),
            (Remedy::Runs(more), None) => {
                let sessions = text::count(more, "more session");
                let words = format!("about {sessions} would decide it, and this run is one");
                let turns = |command| format!("; so may a comparison in turns: `{command}`");
                Some(words + &self.turns.as_ref().map(turns).unwrap_or_default())
            }
            (Remedy::Turns | Remedy::TurnsAlone, _) if self.turns.is_some() => Some(words),
            (Remedy::Turns, _) => Some("more runs are unlikely to help".to_owned()),
            (Remedy::TurnsAlone, Some(_)) => {
                Some("record sessions an hour or more apart to estimate its noise".to_owned())
            }
            (Remedy::TurnsAlone, None) => self.after_commit.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_fit_what_the_reader_can_do() {
        let check = |runs: Option<&'static str>, turns: bool, remedy: Remedy, expected: Option<&str>| {
            let command = turns.then(|| TURNS.to_owned());
            let remedies = Remedies { runs, turns: command, after_commit: None };
            assert_eq!(remedies.words(remedy).as_deref(), expected, "{runs:?} {turns} {remedy:?}");
        };
        let three = Remedy::Runs(3);
        check(Some("of this commit,"), true, three, Some(&three.words()));
        let there = "about 3 more runs of this commit on its machine, in sessions of their own, would decide it";
        check(Some("of this commit on its machine,"), false, three, Some(there));
        let imported = "about 3 more runs of this commit, imported, in sessions of their own, would decide it";
        check(Some("of this commit, imported,"), false, three, Some(imported));
        let alone = "about 3 more sessions would decide it, and this run is one";
        check(None, false, three, Some(alone));
        let turns = format!("{alone}; so may a comparison in turns: `sprag compare A B --measure`");
        check(None, true, three, Some(&turns));
        check(Some("of this commit,"), true, Remedy::Turns, Some(&Remedy::Turns.words()));
        check(None, false, Remedy::Turns, Some("more runs are unlikely to help"));
        check(None, false, Remedy::TurnsAlone, None);
        let sessions = "record sessions an hour or more apart to estimate its noise";
        check(Some("of this commit, imported,"), false, Remedy::TurnsAlone, Some(sessions));
        let turns = Some("sprag compare 0af9 1bc2 --measure --suite c".to_owned());
        let named = Remedies { runs: None, turns, after_commit: None };
        let words = named.words(Remedy::TurnsAlone);
        assert_eq!(
            words.as_deref(),
            Some("compare both builds in turns: `sprag compare 0af9 1bc2 --measure --suite c`")
        );
        check(Some("of this commit,"), true, Remedy::TurnsAlone, Some(&Remedy::TurnsAlone.words()));
    }
}

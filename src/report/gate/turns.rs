//! The commands that measure both sides of a gate again, in turns: for those who doubt it.

use std::collections::BTreeSet;

use crate::markdown::Lines;
use sprag_model::gate::{Gate, SuiteGate};

const MOST_COMMANDS: usize = 12;

/// The commands that measure both sides again, in turns.
pub(super) fn tell(out: &mut Lines, gate: &Gate) {
    let commands: BTreeSet<String> = gate.suites.iter().filter_map(command).take(MOST_COMMANDS).collect();
    if commands.is_empty() {
        if !gate.suites.iter().any(has_two_commits) {
            return;
        }
        out.paragraph("To measure both sides again, in turns: `sprag compare A B --measure`, with the two commits.");
        return;
    }
    out.paragraph("To measure both sides again, in turns:");
    out.line("```sh");
    for command in &commands {
        out.line(command);
    }
    out.line("```");
}

/// Whether both sides could be built again: of two files or programs there are no commits, of one commit there are no two
/// sides, and no commit holds changed files.
fn has_two_commits(suite: &SuiteGate) -> bool {
    let current = suite.commit.as_ref().filter(|commit| !commit.dirty).map(|commit| &commit.sha);
    suite.can_take_turns && suite.base_commit.as_ref().zip(current).is_some_and(|(base, current)| base != current)
}

/// The command for a suite, where both commits are known and every word of it is safe to paste.
fn command(suite: &SuiteGate) -> Option<String> {
    if !has_two_commits(suite) {
        return None;
    }
    let hex = |sha: &str| sha.get(..12).filter(|short| short.chars().all(|c| c.is_ascii_hexdigit())).map(str::to_owned);
    let base = hex(suite.base_commit.as_deref()?)?;
    let current = hex(&suite.commit.as_ref()?.sha)?;
    let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    let named = !suite.suite.starts_with('-') && is_word(&suite.suite);
    (named && base != current).then(|| format!("sprag compare {base} {current} --measure --suite {}", suite.suite))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::example;

    fn text(gate: &Gate) -> String {
        let mut out = Lines::default();
        tell(&mut out, gate);
        out.text
    }

    #[test]
    fn turns_are_advised_only_where_both_sides_can_take_them() {
        let told = |change: &dyn Fn(&mut SuiteGate)| {
            let mut gate = example::passing();
            change(&mut gate.suites[0]);
            !text(&gate).is_empty()
        };
        assert!(told(&|_| {}));
        assert!(!told(&|suite| suite.can_take_turns = false));
        assert!(!told(&|suite| suite.commit.as_mut().expect("it has one").dirty = true));
        assert!(!told(&|suite| suite.commit = None));
        assert!(!told(&|suite| suite.base_commit = None));
        // Of one commit there are no two sides.
        assert!(!told(&|suite| suite.base_commit = Some("b".repeat(40))));
    }
}

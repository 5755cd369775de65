//! What to do next about an item that holds a release up.

use sprag_model::checklist::{Item, Rule, Status};

/// What to do next about an item that came out so.
pub(super) fn mend(item: &Item, status: Status, integrity: bool) -> String {
    let made_by = || match item.producer.is_empty() {
        true => "make it".to_owned(),
        false => format!("make it with `{}`", item.producer),
    };
    if integrity {
        return "restore what was recorded from git; nothing waives this".to_owned();
    }
    match (&item.rule, status) {
        (Rule::SuiteVerdict { suite, .. }, Status::Fail) => {
            format!("find the commit with `sprag trend --suite {suite}`, mend it, and measure again")
        }
        (Rule::SuiteVerdict { suite, .. }, _) => format!(
            "measure it from a clean tree, `sprag run --suite {suite} --record`, with something to hold it against: \
             `sprag baseline list`"
        ),
        (Rule::Parity { suite } | Rule::Environment { suite, .. }, _) => {
            format!("measure it from a clean tree: `sprag run --suite {suite} --record`")
        }
        (Rule::File | Rule::Replay, _) => {
            let keys: Vec<String> = item.files.iter().map(|one| format!("--artifact {}=PATH", one.key)).collect();
            format!("{}, or name where it lies: `{}`", made_by(), keys.join(" "))
        }
        (Rule::EventsResolved, _) => "mend it, or accept it in `ledger/`: `sprag trend` tells the events".to_owned(),
        (Rule::Coverage { .. }, _) => "measure what is missing: `sprag weekly`".to_owned(),
    }
}

//! Why the newest state of a series is not judged, in words.

use crate::number::{count, counted};
use crate::text::shortened;
use sprag_model::trend::NotJudged;

/// The longest word of a failure, in characters.
const LONGEST: usize = 160;

/// A reason as a clause, such as `it has 3 points of 8`.
pub fn why_not_judged(reason: &NotJudged) -> String {
    let days = |days: i64| counted(days.max(0) as usize, "day", "days");
    match reason {
        NotJudged::TooShort { points, needed } => {
            format!("it has {}, and {} are needed", counted(*points, "point", "points"), count(*needed))
        }
        NotJudged::Stale { days: old, allowed } => {
            format!("its newest point is {} old, and {} are allowed", days(*old), days(*allowed))
        }
        NotJudged::MissingAtTip { last } => {
            format!("the newest run has no value of it, the last is of {}", shortened(last.short(), LONGEST))
        }
        NotJudged::EnvironmentChanged { points, needed } => format!(
            "the environment changed: {} there since, of {} needed",
            counted(*points, "point is", "points are"),
            count(*needed)
        ),
        NotJudged::Failing { why } => format!("its benchmark failed: {}", shortened(why, LONGEST)),
        NotJudged::NoCommit => "none of its runs is of a commit that is known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::example::commit;

    #[test]
    fn every_reason_has_its_words() {
        let check = |reason: NotJudged, expected: &str| assert_eq!(why_not_judged(&reason), expected);
        check(NotJudged::TooShort { points: 1, needed: 8 }, "it has 1 point, and 8 are needed");
        check(NotJudged::Stale { days: 30, allowed: 7 }, "its newest point is 30 days old, and 7 days are allowed");
        check(
            NotJudged::MissingAtTip { last: commit(28) },
            "the newest run has no value of it, the last is of 000001c",
        );
        check(
            NotJudged::EnvironmentChanged { points: 1, needed: 3 },
            "the environment changed: 1 point is there since, of 3 needed",
        );
        check(NotJudged::Failing { why: "signal 11".to_owned() }, "its benchmark failed: signal 11");
        check(NotJudged::NoCommit, "none of its runs is of a commit that is known");
    }
}

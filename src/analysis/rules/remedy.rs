//! What would decide a doubt: the last part of its reason.
//!
//! A rule knows what its data lack, and not what a reader can do about that: two files have no further runs, and builds
//! of another machine cannot take turns on this one. So the words are made and recognised here, and a caller that knows
//! what can be done has them say that ([`refit`]).

const BETWEEN: &str = "; ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// So many more runs of the commit that is judged.
    Runs(usize),
    /// So many more pairs of processes that take turns.
    Pairs(usize),
    /// Builds that take turns, where runs would have to be too many.
    Turns,
    /// Builds that take turns, where others of the machine move the number.
    TurnsAlone,
}

/// The command of two builds that take turns, as a rule writes it.
pub const TURNS: &str = "sprag compare A B --measure";

/// What follows the reason of a busy machine, before the command.
pub const CONFIRM: &str = "; confirm what regressed in turns: ";

impl Remedy {
    /// The remedy in words, without a full stop.
    pub fn words(self) -> String {
        match self {
            Remedy::Runs(1) => "about 1 more run of this commit, in a session of its own, would decide it".to_owned(),
            Remedy::Runs(more) => {
                format!("about {more} more runs of this commit, in sessions of their own, would decide it")
            }
            Remedy::Pairs(1) => "about 1 more process pair would decide it".to_owned(),
            Remedy::Pairs(more) => format!("about {more} more process pairs would decide it"),
            Remedy::Turns => {
                "more runs are unlikely to help: compare both builds in turns, by `sprag compare A B --measure`"
                    .to_owned()
            }
            Remedy::TurnsAlone => "compare both builds in turns: `sprag compare A B --measure`".to_owned(),
        }
    }

    /// A reason of doubt that ends with this.
    pub fn after(self, why: &str) -> String {
        format!("{why}{BETWEEN}{}", self.words())
    }

    fn read(words: &str) -> Option<Remedy> {
        let count = words.strip_prefix("about ").and_then(|rest| rest.split(' ').next()?.parse().ok());
        let counted = count.map(|count| [Remedy::Runs(count), Remedy::Pairs(count)]);
        let all = counted.into_iter().flatten().chain([Remedy::Turns, Remedy::TurnsAlone]);
        all.into_iter().find(|remedy| remedy.words() == words)
    }
}

/// A reason of doubt with other words for what would decide it, or with none; one that names no remedy stays as it is.
pub fn refit(reason: &str, words: impl Fn(Remedy) -> Option<String>) -> String {
    let Some((why, last)) = reason.rsplit_once(BETWEEN) else { return reason.to_owned() };
    match Remedy::read(last) {
        None => reason.to_owned(),
        Some(remedy) => words(remedy).map_or_else(|| why.to_owned(), |words| format!("{why}{BETWEEN}{words}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_read_back() {
        for remedy in
            [Remedy::Runs(1), Remedy::Runs(14), Remedy::Pairs(1), Remedy::Pairs(999), Remedy::Turns, Remedy::TurnsAlone]
        {
            let reason = remedy.after("the interval is wide; so it is");
            assert_eq!(
                refit(&reason, |remedy| Some(format!("{remedy:?}"))),
                format!("the interval is wide; so it is; {remedy:?}")
            );
            assert_eq!(refit(&reason, |_| None), "the interval is wide; so it is");
            assert_eq!(refit(&reason, |remedy| Some(remedy.words())), reason);
        }
        // What names none stays as it is.
        for reason in ["too few runs", "why; about 3 more", "about 3 more process pairs would decide it", "why; ", ""] {
            assert_eq!(refit(reason, |_| None), reason);
        }
    }
}
